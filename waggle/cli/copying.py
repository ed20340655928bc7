"""Copying skills to where an agent looks for them: what would be copied, and doing it.

What must stay true: a folder that is not a copy of the skill is never touched, and nothing outside a skill's own folder
is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from waggle import files, skillfile
from waggle._defaults import SKILL_FILE_BYTES
from waggle.errors import SkillFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from waggle.routes import Route
    from waggle.store import Store

__all__ = ["Copy", "apply_copies", "plan_copies"]


@dataclass(frozen=True, slots=True)
class Copy:
    """What becomes of one skill.

    Attributes:
        name: the skill.
        to: the folder of the copy.
        status: ``new``, ``updated``, ``unchanged``; ``skipped`` when it is not fit to be copied and nobody named it;
            ``refused`` when it was named, or when something else lies in its place.
        reason: why it is skipped or refused; else empty.
        content: bytes of the files to write, by path relative to the folder; those that are the same there are left
            out.
    """

    name: str
    to: Path
    status: Literal["new", "updated", "unchanged", "skipped", "refused"]
    reason: str = ""
    content: dict[str, bytes] = field(default_factory=dict, repr=False)


def plan_copies(stores: Iterable[Store], to: Path, names: Sequence[str] = ()) -> list[Copy]:
    """Say what copying skills would do; reads both sides and writes nothing.

    Args:
        stores: of equal names, the first store's is copied.
        to: the folder that is to hold the skills' folders.
        names: the skills; none means all.

    Returns:
        One entry a skill, by name.

    Raises:
        SkillFileError: a skill that was named does not exist.
        OSError: a store or a file cannot be read.
    """
    held: dict[str, tuple[Store, Route]] = {}
    for store in stores:
        for route in store.contents().routes:
            held.setdefault(route.name, (store, route))
    for name in names:
        if name not in held:
            raise SkillFileError(to / name, None, f"there is no skill {name!r}; `waggle ls` lists what there is")
    return [_plan(*held[name], to / name, named=bool(names)) for name in sorted(set(names or held))]


def _plan(store: Store, route: Route, to: Path, *, named: bool) -> Copy:
    folder = store.path_of(route.name)
    unfit = ""
    if route.disabled:
        unfit = f"it is switched off: {route.disabled.reason}"
    elif not folder.is_dir():
        unfit = "it is a single file of the original's form, which agents do not read"
    if unfit:
        return Copy(route.name, to, "refused" if named else "skipped", unfit)
    content = {
        path.relative_to(folder).as_posix(): _bytes(folder, path.relative_to(folder).as_posix())
        for path in store.files_of(route.name)
    }
    if not to.exists() and not to.is_symlink():
        return Copy(route.name, to, "new", content=content)
    if not _is_copy(to, route):
        return Copy(route.name, to, "refused", "the folder there is not a copy of this skill; move it away")
    changed = {name: data for name, data in content.items() if not _holds(to / name, data)}
    return Copy(route.name, to, "updated" if changed else "unchanged", content=changed)


def _bytes(folder: Path, name: str) -> bytes:
    path = files.safe_join(folder, name)  # a skill may come with a stranger's repository
    try:
        return files.read_bytes(path, limit=SKILL_FILE_BYTES)
    except ValueError as error:
        raise SkillFileError(path, None, str(error)) from None


def _is_copy(to: Path, route: Route) -> bool:
    if to.is_symlink() or not to.is_dir():
        return False
    path = to / "route.json"
    try:
        copied = skillfile.parse_route(path, files.read_bytes(path, limit=SKILL_FILE_BYTES))
    except (OSError, ValueError):  # SkillFileError is one
        return False
    return copied.fingerprint == route.fingerprint


def _holds(path: Path, data: bytes) -> bool:
    try:
        return not path.is_symlink() and files.read_bytes(path, limit=SKILL_FILE_BYTES) == data
    except (OSError, ValueError):
        return False


def apply_copies(copies: Iterable[Copy]) -> None:
    """Write what was planned; a second time there is nothing left to do.

    Raises:
        StoreUnavailable: the place cannot be written; skills before this one are copied.
    """
    for copy in copies:
        if copy.status == "new":
            files.new_directory(copy.to, copy.content)
        elif copy.status == "updated":
            for name, data in copy.content.items():
                files.replace(files.safe_join(copy.to, name), data)

"""Skills where agents look for them: what is there of a store, what should be, and bringing it there.

A skill is exported as a link to its folder, or as a copy that says where it came from and what it was. So both tell
whose they are, wherever the tree is moved to. What must stay true: what is not ours is never touched, not even what was
ours until a person edited it; every exported skill passes the standard's validator; each is written whole or not at
all; nothing outside a skill's own folder is read.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from waggle import files, frontmatter, locate, skilltext
from waggle._defaults import SKILL_FILE_BYTES
from waggle.errors import InvalidSkillName, SkillFileError, StoreError, StoreUnavailable, WaggleError
from waggle.routes import Route, Scope, check_skill_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from waggle.locate import Project
    from waggle.store import Store

__all__ = ["HOSTS", "Export", "Form", "Status", "apply_exports", "folder_of_host", "plan_exports"]

#: Folders in which hosts look for skills, below a project's root or the user's home.
HOSTS: Final = {"claude": ".claude/skills", "agents": ".agents/skills"}

#: How a skill is there.
Form = Literal["link", "copy"]

#: What becomes of one skill: ``new`` where it is missing; ``updated`` when it is not what the store has by now;
#: ``unchanged``; ``stale`` when its skill is gone or switched off; ``skipped`` when it is not fit to be exported and
#: nobody named it; ``refused`` when it was named, when it cannot be read, or when a person edited the copy.
Status = Literal["new", "updated", "unchanged", "stale", "skipped", "refused"]


@dataclass(frozen=True, slots=True)
class Export:
    """One skill at one place.

    Attributes:
        name: the skill's name in its store.
        to: its folder, or link, there. The folder's name is another one where the skill's is taken, or is none that
            every system can have.
        status: what has to be done.
        form: link or copy; None where nothing is written.
        reason: why it is updated, stale, skipped or refused, or why it is a copy under another name; else empty.
        target: what the link says.
        content: bytes of the copy's files, by path relative to its folder.
    """

    name: str
    to: Path
    status: Status
    form: Form | None = None
    reason: str = ""
    target: str = field(default="", repr=False)
    content: Mapping[str, bytes] = field(default_factory=dict, repr=False)


def folder_of_host(name: str, project: Project, scope: Scope) -> Path:
    """Where a host looks for the skills of a project, or of the user.

    Args:
        name: one of `HOSTS`, or any other directory.
        project: whose root counts.
        scope: the user's folders are below the home directory.

    Raises:
        StoreError: a link leads out of the project: it may be anybody's repository.
        StoreUnavailable: the user has no home directory.
    """
    inner = HOSTS.get(name)
    if inner is None:
        return Path(name)
    if scope is Scope.PROJECT:
        return files.safe_join(project.root, inner)
    try:
        return Path.home() / inner
    except RuntimeError:
        raise StoreUnavailable(None, "no home directory is known for this user", "name the folder: --to DIR") from None


# --- what should be done -----------------------------------------------------------------------------------------


def plan_exports(store: Store, to: Path, names: Sequence[str] = (), *, form: Form | None = None) -> list[Export]:
    """Say what exporting skills to one folder would do; reads both sides and writes nothing.

    Args:
        store: whose skills.
        to: the folder that is to hold the skills' folders; it need not exist.
        names: the skills; none means all.
        form: link or copy; None links where store and folder lie in one tree, and leaves what is right as it is.

    Returns:
        One entry a skill, by name, and one more for each export that is left of a skill that is gone.

    Raises:
        SkillFileError: a skill that was named does not exist.
        StoreUnavailable: the folder is the store's own.
        OSError: a store or a file cannot be read.
    """
    place = _Place(store, Path(os.path.realpath(to)), form)
    if place.to == place.source:
        raise StoreUnavailable(to, "is the folder of the skills themselves", "name the folder where an agent looks")
    routes = {route.name: route for route in store.contents().routes}
    for name in names:
        if name not in routes and name not in place.ours:
            raise SkillFileError(to / name, None, f"there is no skill {name!r}; `waggle ls` lists what there is")
    found: list[Export] = []
    unreadable = store.names() - routes.keys()
    for name in sorted(set(names or {*routes, *place.ours})):
        if name in unreadable:
            found += place.left_alone(name, "its skill cannot be read; `waggle verify` says why")
        elif name not in routes:
            found += place.left_over(name, "its skill is gone")
        else:
            found += _plan(place, routes[name], named=bool(names))
    return found


def _plan(place: _Place, route: Route, *, named: bool) -> list[Export]:
    if route.disabled:
        reason = f"it is switched off: {route.disabled.reason}"
        left = place.left_over(route.name, reason)
        return left or [Export(route.name, place.to / route.name, "refused" if named else "skipped", None, reason)]
    if not place.store.path_of(route.name).is_dir():
        reason = "it is a single file of the original's form, which agents do not read"
        return [Export(route.name, place.to / route.name, "refused" if named else "skipped", None, reason)]
    try:
        return place.planned(route)
    except (WaggleError, OSError) as error:  # one that cannot be read hides no other
        return place.left_alone(route.name, str(error))


@dataclass(frozen=True, slots=True)
class _Ours:
    """An export that is there.

    Attributes:
        name: of its folder or link.
        content: of the copy; None of a link, or when it cannot be read as we would have written it.
        form: link or copy.
        edited: a person changed the copy.
    """

    name: str
    form: Form
    content: Mapping[str, bytes] | None = None
    edited: bool = False


class _Place:
    """One folder for exports of one store."""

    def __init__(self, store: Store, to: Path, form: Form | None) -> None:
        self.store = store
        self.source = Path(os.path.realpath(store.directory))
        self.to = to
        self._form = form
        self.ours = self._found()
        self._taken = {each.name for many in self.ours.values() for each in many}

    def _found(self) -> dict[str, list[_Ours]]:
        """Our exports that are there, by the skill's name; the one of the skill's own name first."""
        found: dict[str, list[_Ours]] = {}
        try:
            with os.scandir(self.to) as entries:
                present = sorted(entry.name for entry in entries if not files.is_leftover(entry.name))
        except (FileNotFoundError, NotADirectoryError):
            present = []
        for name in present:
            whose, ours = self._whose(self.to / name)
            if ours:
                found.setdefault(whose, []).append(ours)
        for name, many in found.items():
            many.sort(key=lambda each: (each.name != name, each.name))
        return found

    def _whose(self, path: Path) -> tuple[str, _Ours | None]:
        if path.is_symlink():
            name = self._skill_at(str(path.readlink()))
            return name, _Ours(name, "link") if name == path.name else None
        try:
            text = files.read_bytes(path / "SKILL.md", limit=SKILL_FILE_BYTES).decode()
            metadata = frontmatter.read(path / "SKILL.md", text).values.get("metadata")
        except (OSError, ValueError):  # nothing that we wrote
            return "", None
        if (path / "SKILL.md").is_symlink() or not isinstance(metadata, dict):
            return "", None
        pointer, digest = metadata.get(_FROM), metadata.get(_DIGEST)
        name = self._skill_at(pointer) if isinstance(pointer, str) else ""
        if not name or not isinstance(digest, str):
            return "", None
        try:
            content = _content(path)
        except (WaggleError, OSError):
            return name, _Ours(path.name, "copy", edited=True)
        return name, _Ours(path.name, "copy", content, edited=_digest(content) != digest)

    def _skill_at(self, pointer: str) -> str:
        """The name of the skill that a link or a copy comes from; empty when it is not one of this store."""
        at = os.path.normpath(self.to / pointer)
        if pointer.startswith(_HOME):
            try:
                at = os.path.normpath(locate.user_data_dir() / pointer.removeprefix(_HOME))
            except WaggleError:
                return ""
        parent, name = os.path.split(at)
        return name if os.path.realpath(parent) == str(self.source) else ""

    def pointer(self, name: str) -> str:
        """Where a skill lies, as a copy says it: it holds wherever the tree is, and tells nothing of a machine."""
        try:
            home = Path(os.path.realpath(locate.user_data_dir()))
        except WaggleError:
            home = None
        if home and self.source.is_relative_to(home):
            return _HOME + (self.source / name).relative_to(home).as_posix()
        return self.target(name)

    def target(self, name: str) -> str:
        """Where a skill lies, as a link says it."""
        try:
            return Path(os.path.relpath(self.source / name, self.to)).as_posix()
        except ValueError:  # on another drive
            return (self.source / name).as_posix()

    # --- one skill ---

    def planned(self, route: Route) -> list[Export]:
        """What has to be done for a skill that is to be here."""
        here = self.ours.get(route.name, [])
        first = here[0] if here else None
        name, reason = (first.name, "") if first else self._free_name(route.name)
        to = self.to / name
        source = self.store.path_of(route.name)
        content = _content(source)
        text = _text(content.get("SKILL.md"), source)
        strict = _strict(text, source / "SKILL.md", route, name, {})
        may_link = name == route.name and strict == text
        if not reason and not may_link and self._form == "link":
            reason = "it is a copy, since its front matter is not written as every reader takes it"
        copied = _marked(content, _strict(text, source / "SKILL.md", route, name, {_FROM: self.pointer(route.name)}))
        form = self._form or (first.form if first and _is(first, copied) else None)
        form = "link" if may_link and (form == "link" or (form is None and self._is_one_tree())) else "copy"
        export = Export(route.name, to, "new", form, reason, self.target(route.name), copied)
        extra = [self._stale(route.name, each, "there is another one of the same skill") for each in here[1:]]
        if first is None:
            return [export, *extra]
        if first.edited:
            why = "a person edited it; take the change to the skill itself, then delete this folder"
            return [replace(export, status="refused", form=None, reason=why), *extra]
        if first.form == form and (form == "link" or first.content == copied):
            return [replace(export, status="unchanged"), *extra]
        changed = "the skill has changed since" if first.form == form else f"it is a {first.form}"
        return [replace(export, status="updated", reason=changed), *extra]

    def left_over(self, name: str, reason: str) -> list[Export]:
        """What is here of a skill that is to be here no longer."""
        return [self._stale(name, each, reason) for each in self.ours.get(name, [])]

    def left_alone(self, name: str, reason: str) -> list[Export]:
        """What is here of a skill of which nobody knows what it should be; said of the skill alone where nothing is."""
        return [Export(name, self.to / name, "refused", None, reason)]

    def _stale(self, name: str, ours: _Ours, reason: str) -> Export:
        if ours.edited:
            return Export(name, self.to / ours.name, "refused", None, f"{reason}, and a person edited it; delete it")
        return Export(name, self.to / ours.name, "stale", ours.form, reason)

    def _free_name(self, name: str) -> tuple[str, str]:
        """A name for the folder that nobody has, and every system can have; and why it is not the skill's own."""
        own = _legal(name)
        reason = "" if own == name else "its own name is none that every system can have"
        for ending in ("", "-waggle", *(f"-waggle-{number}" for number in range(2, 100))):
            chosen = own[: _LONGEST_NAME - len(ending)].rstrip("-") + ending
            if chosen not in self._taken and not os.path.lexists(self.to / chosen):
                self._taken.add(chosen)
                return chosen, reason
            reason = "its own name is taken by something that is not ours"
        raise StoreUnavailable(self.to / own, "every name for it is taken", "delete what is not needed there")

    def _is_one_tree(self) -> bool:
        """Whether store and folder are moved, copied and committed together, so that a link between them holds."""
        if self.store.scope is Scope.USER:
            home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - it never raises
            return self.source.is_relative_to(home) and self.to.is_relative_to(home)
        there, here = (_project_of(path) for path in (self.source, self.to))
        return there is not None and there == here


def _project_of(path: Path) -> Path | None:
    """Root of the project that a folder lies, or would lie, in; None where it is in none."""
    root = locate.find_project(next(each for each in (path, *path.parents) if each.exists())).root
    return root if locate.is_marked(root) else None


def _is(ours: _Ours, copied: Mapping[str, bytes]) -> bool:
    return ours.form == "link" or ours.content == copied


# --- what a copy holds --------------------------------------------------------------------------------------------

_FROM: Final = "waggle-from"  #: where the skill lies, relative to the folder that holds the copy's
_DIGEST: Final = "waggle-exported"  #: digest of the copy without this line
_HOME: Final = "$WAGGLE_HOME/"
_KEYS: Final = ("license", "compatibility", "allowed-tools")  #: optional ones of the standard
_LONGEST_NAME: Final = 64
_LONGEST: Final = {"description": 1024, "compatibility": 500}
#: Names that Windows keeps for devices, in any folder.
_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.ASCII)


def _legal(name: str) -> str:
    """A skill's name, or what is next to it among the names of the standard that no system keeps for itself."""
    try:
        check_skill_name(name)
    except InvalidSkillName:
        name = re.sub("[^a-z0-9]+", "-", name.lower())[:_LONGEST_NAME].strip("-") or "skill"
    return f"{name}-skill" if _DEVICES.fullmatch(name) else name


def _content(folder: Path) -> dict[str, bytes]:
    """The files of a skill's folder, by path relative to it.

    Raises:
        StoreError: a link in it leads out of it: a skill may come with a stranger's repository.
        SkillFileError: one is too large, or no file.
        OSError: one cannot be read.
    """
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or files.is_leftover(path.name):
            continue
        name = path.relative_to(folder).as_posix()
        inside = files.safe_join(folder, name)
        try:
            found[name] = files.read_bytes(inside, limit=SKILL_FILE_BYTES)
        except ValueError as error:
            raise SkillFileError(inside, None, str(error)) from None
    return found


def _text(data: bytes | None, folder: Path) -> str:
    if data is None:
        raise SkillFileError(folder, None, "SKILL.md is missing; mine the sessions again, or delete the folder")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8: byte {error.start} cannot be read"
        raise SkillFileError(folder / "SKILL.md", None, problem) from None


def _strict(text: str, path: Path, route: Route, name: str, marks: Mapping[str, str]) -> str:
    """A ``SKILL.md`` with the front matter that the standard asks for, whatever a person made of it.

    Keys that the standard has not go into its ``metadata``; what has no text there is left out.
    """
    front = frontmatter.read(path, text)
    metadata: dict[str, str] = {}
    values: dict[str, str | Mapping[str, str]] = {"name": name, "description": ""}
    given = front.values.get("metadata")
    for key, value in {**front.values, **(given if isinstance(given, dict) else {})}.items():
        said = " ".join(each for each in value if isinstance(each, str)) if isinstance(value, list) else value
        if not isinstance(said, str) or key == "name":
            continue
        top = key in front.values and (key == "description" or key in _KEYS)
        (values if top else metadata)[key] = said[: _LONGEST.get(key)] if top else said
    if not str(values["description"]).strip():
        values["description"] = skilltext.describe(route)
    body = front.body if front.body.startswith("\n") or not front.body else f"\n{front.body}"
    return f"{frontmatter.render({**values, 'metadata': {**metadata, **marks}})}{body}"


def _marked(content: Mapping[str, bytes], text: str) -> dict[str, bytes]:
    """A copy's files, the digest of all of them in its ``SKILL.md``."""
    copied = {**content, "SKILL.md": text.encode()}
    after = next(line for line in text.split("\n") if line.startswith(f"  {_FROM}: "))
    marked = text.replace(f"{after}\n", f"{after}\n{_digest_line(_digest(copied))}", 1)
    return {**copied, "SKILL.md": marked.encode()}


def _digest_line(digest: str) -> str:
    return f"  {_DIGEST}: {frontmatter.scalar(digest)}\n"


_LINE: Final = re.compile(rf"^{re.escape(_digest_line('@')).replace('@', '[0-9a-f]{16}')}".encode(), re.MULTILINE)


def _digest(content: Mapping[str, bytes]) -> str:
    """Digest of a copy's files, 16 hex digits; the line that tells it plays no part."""
    total = hashlib.sha256()
    for name in sorted(content):
        data = _LINE.sub(b"", content[name], count=1) if name == "SKILL.md" else content[name]
        total.update(f"{name}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    return total.hexdigest()[:16]


# --- doing it -----------------------------------------------------------------------------------------------------


def apply_exports(exports: Iterable[Export], *, prune: bool = False) -> list[Export]:
    """Write what was planned; a second time there is nothing left to do.

    Args:
        exports: as `plan_exports` gives them.
        prune: remove what is stale.

    Returns:
        The same, with the form that each was really given: where links cannot be made, a copy.

    Raises:
        StoreUnavailable: the place cannot be written, or something came to be there meanwhile; what stands before is
            done, and what was there is as it was.
    """
    done: list[Export] = []
    for export in exports:
        form = export.form
        if export.status in ("new", "updated"):
            form = _write(export)
        elif export.status == "stale" and prune:
            files.remove(export.to)
        done.append(replace(export, form=form))
    return done


def _write(export: Export) -> Form:
    instead = export.status == "updated"
    if export.form == "link":
        try:
            files.new_link(export.to, export.target, instead=instead)
        except StoreError:
            if not instead and os.path.lexists(export.to):
                raise
        else:
            return "link"
    files.new_directory(export.to, export.content, instead=instead)
    return "copy"

"""Checking what lies in a store: ledger and skill files. Reads everything, changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from waggle import files, frontmatter, jsonvalue, routes, skillfile
from waggle._defaults import LEDGER_LINE_BYTES, SKILL_FILE_BYTES
from waggle.errors import InvalidSkillName, SkillFileError
from waggle.ledger import check_ledger
from waggle.script import run_script
from waggle.store import read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from waggle.jsonvalue import JsonObject
    from waggle.routes import Route
    from waggle.store import Store

__all__ = ["Finding", "verify_store"]

#: What the Agent Skills standard allows in front matter; a key beside these is refused by some hosts.
_KEYS = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})
_LONGEST_DESCRIPTION = 1024  # characters, by the same standard


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
        path: the file.
        problem: what is wrong, and what to do about it.
        line: its line, from 1, or None.
        kind: ``problem``; ``corrupt`` for a line in a ledger that is no record; ``note`` for what is no fault.
    """

    path: Path
    problem: str
    line: int | None = None
    kind: Literal["problem", "corrupt", "note"] = "problem"

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else f"{self.path}"
        return f"{where}: {'note: ' if self.kind == 'note' else ''}{self.problem}"

    def as_json(self) -> JsonObject:
        """What ``verify --json`` says of it."""
        return {"path": str(self.path), "line": self.line, "kind": self.kind, "problem": self.problem}


def verify_store(store: Store) -> tuple[list[Finding], int]:
    """Check a store's ledger and every skill in it.

    Returns:
        What was found, ledger first, then by skill; and the number of skills looked at.
    """
    found = list(_ledger(store.ledger_path))
    try:
        listing = store.contents()
        folders = sorted(entry for entry in store.directory.iterdir() if entry.is_dir())
    except FileNotFoundError:
        return found, 0
    except OSError as error:
        return [*found, Finding(store.directory, f"cannot be read: {error.strerror or error}")], 0
    found += [Finding(error.path, error.problem, error.line) for error in listing.invalid]
    routes = {route.name: route for route in listing.routes}
    unreadable = {error.path for error in listing.invalid} | {error.path.parent for error in listing.invalid}
    count = len(listing.routes) + len(listing.invalid)
    for folder in folders:
        if folder.name.startswith(".") or folder.is_symlink() or folder in unreadable:
            continue
        route = routes.get(folder.name)
        count += route is None
        found += _skill(folder, route, store)
    return found, count


# --- ledger ---------------------------------------------------------------------------------------------------


def _ledger(path: Path) -> Iterator[Finding]:
    try:
        check = check_ledger(path)
        offsets = _offsets(path, set(check.bad_lines)) if check.bad_lines else {}
    except (OSError, ValueError) as error:
        yield Finding(path, f"cannot be read: {getattr(error, 'strerror', None) or error}")
        return
    for number in check.bad_lines:
        at = f" (byte {offsets[number]:,})" if number in offsets else ""
        problem = f"not a record{at}; the others are read all the same, and `waggle gc` drops this line"
        yield Finding(path, problem, number, "corrupt")
    if check.torn_at is not None:
        last = check.records + len(check.bad_lines) + 1
        problem = f"the last line was cut short, at byte {check.torn_at:,}, as by a crash; nothing else is lost"
        yield Finding(path, problem, last, "note")


def _offsets(path: Path, wanted: Collection[int]) -> dict[int, int]:
    """Where lines begin, in bytes, by number; one whose place cannot be told for sure is left out."""
    found: dict[int, int] = {}
    number = 0
    for block in files.read_blocks(path, longest=LEDGER_LINE_BYTES):
        offset: int | None = block.offset
        for line in block.lines:
            number += 1
            if number in wanted and offset is not None:
                found[number] = offset
            # An empty line may stand for one that was too long to be given, whose length is not known.
            offset = offset + len(line) + 1 if line and offset is not None else None
    return found


# --- skills ---------------------------------------------------------------------------------------------------


def _skill(folder: Path, route: Route | None, store: Store) -> Iterator[Finding]:
    """Check one folder; without a route it is a skill that people wrote, of which only the front matter is checked."""
    path = folder / "SKILL.md"
    text = None
    try:
        text = read_text(path)
        yield from _front_matter(path, text, folder.name)
    except FileNotFoundError:
        yield Finding(path, "is missing; delete the folder, or mine the sessions again")
    except SkillFileError as error:
        yield Finding(error.path, error.problem, error.line)
    except OSError as error:
        yield Finding(path, f"cannot be read: {error.strerror or error}")
    if route is None:
        return
    yield from _route_file(folder / "route.json", route)
    # With or without its script: that one is missing is told by itself.
    as_we_write = (skillfile.with_generated_part(text, route, has_script=has) for has in (True, False) if text)
    if text and not any(as_we_write):
        yield Finding(path, "the generated part was edited by hand; it is left as it is from now on", kind="note")
    yield from _script(folder / "scripts" / "run.sh", run_script(route, store.tools))


def _front_matter(path: Path, text: str, folder: str) -> Iterator[Finding]:
    values = frontmatter.read(path, text).values

    def wrong(key: str, problem: str) -> Finding:
        lines = text.replace("\r\n", "\n").split("\n")
        line = next((number for number, line in enumerate(lines, 1) if line.startswith(f"{key}:")), None)
        return Finding(path, problem, line)

    for key in values.keys() - _KEYS:
        yield wrong(key, f"the standard has no key {key!r}; put it under 'metadata', or correct its spelling")
    name, description = values.get("name"), values.get("description")
    if not isinstance(name, str):
        yield wrong("name", "a 'name' is missing; it is the folder's name")
    elif name != folder:
        yield wrong("name", f"the name is {name!r}, the folder's {folder!r}; rename one of them")
    else:
        try:
            routes.check_skill_name(name)
        except InvalidSkillName as error:
            yield wrong("name", str(error))
    if not isinstance(description, str) or not description.strip():
        yield wrong("description", "a 'description' is missing; say what the skill does and when to use it")
    elif len(description) > _LONGEST_DESCRIPTION:
        problem = f"the description has {len(description):,} characters; at most {_LONGEST_DESCRIPTION:,} are allowed"
        yield wrong("description", problem)


def _route_file(path: Path, route: Route) -> Iterator[Finding]:
    try:
        fields = jsonvalue.loads(files.read_bytes(path, limit=SKILL_FILE_BYTES))
    except (OSError, ValueError) as error:  # changed since it was listed
        yield Finding(path, f"cannot be read: {error}")
        return
    written = fields.get("fingerprint") if isinstance(fields, dict) else None
    if written != route.fingerprint:
        problem = f"the fingerprint is {written!r}, but the steps give {route.fingerprint!r}: they were edited"
        yield Finding(path, f"{problem}; take the file back from git, or delete the skill's folder")


def _script(path: Path, expected: str | None) -> Iterator[Finding]:
    try:
        actual: str | None = read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        actual = None
    except (OSError, ValueError) as error:
        yield Finding(path, f"cannot be read: {error}")
        return
    if actual == expected:
        return
    if actual is None:
        yield Finding(path, "is missing; the skill can do without it", kind="note")
    else:
        yield Finding(path, "is not what is generated from route.json; read it before you run it", kind="note")

"""Stores: one directory of skills, one scope. What is on disk, and every change to it.

A store writes a skill whole or not at all, under a lock that other processes respect, and never over what a person has
edited. The formats are in `waggle.skillfile` and `waggle.singlefile`; what should change is decided elsewhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from waggle import files, locate, singlefile, skillfile, skilltext
from waggle._defaults import SKILL_FILE_BYTES
from waggle.errors import SkillFileError
from waggle.routes import Disabled, Route, Scope, check_skill_name
from waggle.script import run_script
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from datetime import datetime

    from waggle.locate import Project

__all__ = [
    "Form",
    "Listing",
    "Meta",
    "Promotion",
    "Status",
    "Store",
    "load_routes",
    "project_store",
    "read_text",
    "user_store",
]

#: How routes are written: as directories of the Agent Skills standard, or as the original's single files.
Form = Literal["skill", "file"]

_GITIGNORE: Final = f"""\
# Written by waggle: records of this machine, not for the repository.
ledger.jsonl
counts.json
*.lock
{files.LEFTOVER_PREFIX}*
"""


class Status(StrEnum):
    """What came of a promotion."""

    CREATED = "created"
    KNOWN = "known"  #: it was there already; the new occurrences were added to its count
    EDITED = "edited"  #: a person changed the stored route or its generated text; their version stays


@dataclass(frozen=True, slots=True)
class Promotion:
    """What came of writing one route.

    Attributes:
        name: the skill's name.
        status: created, already known, or edited by a person.
    """

    name: str
    status: Status


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything in a store.

    Attributes:
        routes: readable routes, switched-off ones included, in the order of their file names.
        invalid: what could not be read, with file and reason.
    """

    routes: tuple[Route, ...] = ()
    invalid: tuple[SkillFileError, ...] = ()


@dataclass(frozen=True, slots=True)
class Meta:
    """One row of a listing.

    Attributes:
        name: the skill's name.
        description: what it does, one or two sentences.
        script: its shell form, None when it has none.
        path: its folder, or its file in the original's form.
    """

    name: str
    description: str
    script: str | None
    path: Path


@dataclass(frozen=True)
class Store:
    """One directory of skills.

    Attributes:
        directory: holds one folder, or in the original's form one ``.md`` file, a skill. It need not exist.
        ledger_path: the reuse log that belongs to it.
        scope: whose habits it holds; routes read from it have this scope.
        form: how new routes are written. Both forms are always read.
        tools: tells which steps have a shell form.
    """

    directory: Path
    ledger_path: Path
    scope: Scope = Scope.PROJECT
    form: Form = "skill"
    tools: ToolTable = field(default_factory=ToolTable, compare=False, repr=False)

    # --- reading ---

    def _entries(self) -> list[os.DirEntry[str]]:
        """Everything that may be a skill, by name; a missing directory holds nothing."""
        try:
            with os.scandir(self.directory) as entries:
                found = [entry for entry in entries if not entry.name.startswith(".")]
        except FileNotFoundError:
            return []
        return sorted(found, key=lambda entry: entry.name)

    def contents(self) -> Listing:
        """Read every skill. One that cannot be read never hides another.

        Raises:
            OSError: the directory is there and cannot be read: not the same as an empty one.
        """
        routes: list[Route] = []
        invalid: list[SkillFileError] = []
        for entry in self._entries():
            try:
                route = self._read(entry)
            except SkillFileError as error:
                invalid.append(error)
            except OSError as error:
                invalid.append(SkillFileError(Path(entry.path), None, f"cannot be read: {error.strerror or error}"))
            else:
                if route is not None:
                    routes.append(route)
        return Listing(tuple(routes), tuple(invalid))

    def _read(self, entry: os.DirEntry[str]) -> Route | None:
        path = Path(entry.path)
        if entry.is_symlink():
            raise SkillFileError(path, None, "is a link; a store holds only files of its own")
        if entry.is_dir():
            if entry.name.endswith(".md"):
                raise SkillFileError(path, None, "is a directory and named like a file")
            return self._read_directory(path, entry.name)
        if not entry.name.endswith(".md"):
            return None
        route = singlefile.parse(path, read_text(path))
        return replace(route, scope=self.scope) if route else None

    def _read_directory(self, path: Path, name: str) -> Route | None:
        route_path = path / "route.json"
        try:
            data = files.read_bytes(route_path, limit=SKILL_FILE_BYTES)
        except FileNotFoundError:
            return None  # a skill that people wrote
        except ValueError as error:
            raise SkillFileError(route_path, None, str(error)) from None
        route = skillfile.parse_route(route_path, data)
        if route.name != name:
            raise SkillFileError(route_path, None, f"is named {route.name!r}, its folder {name!r}; rename one of them")
        return route if route.scope is self.scope else replace(route, scope=self.scope)

    def read(self, name: str) -> Route | None:
        """Read one route, or None when there is none of this name.

        Raises:
            SkillFileError: it cannot be read.
            InvalidSkillName: no skill can have this name.
        """
        for entry in self._entries():
            if entry.name in (name, f"{name}.md") and (route := self._read(entry)):
                return route
        check_skill_name(name.replace("_", "-"))
        return None

    def metas(self) -> list[Meta]:
        """Rows for a listing, by name; switched-off and unreadable skills are left out.

        Raises:
            OSError: the directory is there and cannot be read.
        """
        rows = [
            Meta(route.name, skilltext.describe(route), run_script(route, self.tools), self.path_of(route.name))
            for route in load_routes(self)
        ]
        return sorted(rows, key=lambda row: row.name)

    def names(self) -> set[str]:
        """Names of everything that may be a skill, readable or not: those whose history must not be forgotten.

        Raises:
            OSError: the directory is there and cannot be read: not the same as an empty one.
        """
        inner = {route.name for route in self.contents().routes}
        return inner | {entry.name.removesuffix(".md") for entry in self._entries()}

    def path_of(self, name: str) -> Path:
        """Where a skill lies, or would lie: its folder, or its file in the original's form."""
        single = self.directory / f"{name}.md"
        return single if single.is_file() else self.directory / name

    def files_of(self, name: str) -> Iterator[Path]:
        """Paths of the files that make up a skill, sorted; what a crashed writer left is none of them."""
        path = self.path_of(name)
        if path.is_file():
            yield path
        else:
            found = (inner for inner in path.rglob("*") if inner.is_file() and not files.is_leftover(inner.name))
            yield from sorted(found)

    def is_edited(self, route: Route) -> bool:
        """Whether a person has changed a skill or added a file to it."""
        if (self.directory / f"{route.name}.md").is_file():
            return False  # the single file holds nothing that invites editing
        try:
            return self._differs(route)
        except SkillFileError:
            return True  # nothing we wrote is too large, or no UTF-8

    def _differs(self, route: Route) -> bool:
        written = self.rendered(route)
        folder = self.directory / route.name
        present = {path.relative_to(folder).as_posix() for path in self.files_of(route.name)}
        if present != set(written):
            return True
        script = written.get("scripts/run.sh")
        if script is not None and read_text(folder / "scripts/run.sh") != script:
            return True
        return not skillfile.is_as_generated(read_text(folder / "SKILL.md"), route, has_script=script is not None)

    # --- writing ---

    def can_hold(self, route: Route) -> bool:
        """Whether the store's form can express the route; the single file needs a script."""
        return self.form == "skill" or singlefile.original_script(route) is not None

    def name_for(self, route: Route) -> str:
        """Name the route has in this store."""
        if self.form == "skill":
            return route.name
        script = singlefile.original_script(route)
        if script is None:
            raise ValueError("the route has no script; ask can_hold first")
        return singlefile.original_name(script)

    def promote(self, route: Route) -> Promotion:
        """Write a route that was learned. Promoting it again adds to its counts; two processes may do it at once.

        Raises:
            StoreUnavailable: there is no place to write.
            StoreLocked: another process held the lock for too long.
        """
        name = self.name_for(route)
        with self._locked():
            if self.form == "file":
                path = self.directory / f"{name}.md"
                if path.exists():
                    return Promotion(name, Status.KNOWN)
                files.replace(path, _encoded(self.rendered(route)[path.name]))
                return Promotion(name, Status.CREATED)
            folder = self.directory / check_skill_name(name)
            if not folder.exists():
                rendered = {relative: _encoded(text) for relative, text in self.rendered(route).items()}
                files.new_directory(folder, rendered)
                return Promotion(name, Status.CREATED)
            return Promotion(name, self._add_counts(folder, route))

    def _add_counts(self, folder: Path, route: Route) -> Status:
        try:
            stored = self._read_directory(folder, route.name)
        except SkillFileError:
            return Status.EDITED
        if stored is None or stored.fingerprint != route.fingerprint:
            return Status.EDITED
        merged = replace(stored, count=stored.count + route.count, support=stored.support + route.support)
        return Status.KNOWN if self._rewrite(merged) else Status.EDITED

    def renew(self, route: Route) -> bool:
        """Write what is counted of a reach route by now over what it was written with; when and why it was made stays.

        Returns:
            False when it is not there, does something else, or its text was edited by a person.
        """
        with self._locked():
            stored = self.read(route.name)
            if stored is None or stored.fingerprint != route.fingerprint:
                return False
            return self._rewrite(
                replace(route, scope=stored.scope, learned_at=stored.learned_at, disabled=stored.disabled)
            )

    def disable(self, name: str, reason: str, at: datetime) -> bool:
        """Switch a route off; it stays for inspection.

        Returns:
            False when it is not there or already off.
        """
        with self._locked():
            route = self.read(name)
            if route is None or route.disabled:
                return False
            off = replace(route, disabled=Disabled(at, reason))
            path = self.directory / f"{name}.md"
            if path.is_file():
                files.replace(path, _encoded(singlefile.with_disabled(read_text(path))))
            else:
                self._rewrite(off)
            return True

    def remove(self, name: str) -> bool:
        """Delete a skill; False when it was already gone."""
        with self._locked():
            return files.remove(self.directory / name) or files.remove(self.directory / f"{name}.md")

    def _rewrite(self, new: Route) -> bool:
        """Write a route's changed counts or state; False when a person edited the generated text, which then stays."""
        folder = self.directory / new.name
        files.replace(folder / "route.json", _encoded(skillfile.render_route(new)))
        path = folder / "SKILL.md"
        has_script = (folder / "scripts" / "run.sh").is_file()
        text = skillfile.with_generated_part(read_text(path), new, has_script=has_script)
        if text is None:
            return False
        files.replace(path, _encoded(text))
        return True

    def rendered(self, route: Route) -> dict[str, str]:
        """The files of a skill as they are written, by path relative to its folder; in the original's form one file."""
        if self.form == "file":
            return {f"{self.name_for(route)}.md": singlefile.render(route) or ""}
        script = run_script(route, self.tools)
        found = {
            "SKILL.md": skillfile.render_skill(route, has_script=script is not None),
            "route.json": skillfile.render_route(route),
        }
        if script is not None:
            found["scripts/run.sh"] = script
        return found

    def _locked(self) -> AbstractContextManager[None]:
        if self.directory.parent.name == ".waggle":
            ignore = self.directory.parent / ".gitignore"
            if not ignore.exists():
                files.replace(ignore, _encoded(_GITIGNORE))
        return files.lock(self.directory)


def read_text(path: Path) -> str:
    """Read a skill file's text.

    Raises:
        SkillFileError: too large, not a regular file, or not UTF-8.
        OSError: it cannot be read, or is not there.
    """
    try:
        return files.read_bytes(path, limit=SKILL_FILE_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SkillFileError(path, None, f"is not UTF-8: byte {error.start} cannot be read") from None
    except ValueError as error:
        raise SkillFileError(path, None, str(error)) from None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def load_routes(store: Store) -> list[Route]:
    """Routes of a store that may be replayed, in the order of their file names.

    Unreadable and switched-off ones are left out.

    Raises:
        OSError: the directory is there and cannot be read.
    """
    return [route for route in store.contents().routes if not route.disabled]


def project_store(
    project: Project,
    *,
    location: Literal["tree", "home"] = "tree",
    form: Form = "skill",
    tools: ToolTable | None = None,
) -> Store:
    """Store of a project's habits.

    Args:
        project: from `waggle.locate.find_project`.
        location: ``tree`` keeps skills in the checkout, where people read them in git, and the ledger beside those of
            the main worktree; ``home`` keeps both in the user data directory, under the project's identity.
        form: how new routes are written.
        tools: the host's tools.
    """
    if location == "home":
        base = locate.user_data_dir() / "proj" / project.key
        skills, ledger = base / "skills", base / "ledger.jsonl"
    else:
        skills, ledger = project.root / ".waggle" / "skills", project.main_root / ".waggle" / "ledger.jsonl"
    return Store(skills, ledger, Scope.PROJECT, form, tools or ToolTable())


def user_store(*, form: Form = "skill", tools: ToolTable | None = None) -> Store:
    """Store of the user's habits, in every project.

    Raises:
        StoreUnavailable: no user data directory can be determined; the error names the variable to set.
    """
    base = locate.user_data_dir()
    return Store(base / "skills", base / "ledger.jsonl", Scope.USER, form, tools or ToolTable())

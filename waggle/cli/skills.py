"""Commands about stored skills: ``ls``, ``show``, ``export``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from waggle import _render, files, jsonvalue, skillfile, skilltext
from waggle._defaults import EXIT_OK, EXIT_PROBLEMS, SKILL_FILE_BYTES
from waggle.cli import options
from waggle.cli.effect import settled_json
from waggle.cli.place import open_place, stats_of, texts
from waggle.errors import SkillFileError
from waggle.exports import HOSTS, Form, apply_exports, folder_of_host, plan_exports
from waggle.ledger import Stat
from waggle.routes import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from waggle.jsonvalue import JsonObject
    from waggle.routes import Route
    from waggle.store import Store

__all__ = ["Found", "export", "find_skill", "ls", "ranked", "show"]


@dataclass(frozen=True, slots=True)
class Found:
    """A stored route with what its ledger says of it.

    Attributes:
        route: the route.
        store: where it lies.
        stat: what its ledger adds up to.
    """

    route: Route
    store: Store
    stat: Stat

    def as_json(self) -> JsonObject:
        """What ``ls --json`` says of it."""
        route, stat = self.route, self.stat
        return {
            "name": route.name,
            "scope": route.scope.value,
            "uses": stat.uses,
            "yield": stat.yield_tokens,
            "fails": stat.fails,
            **settled_json(stat),
            "seen": route.count,
            "sessions": route.support,
            "disabled": route.disabled.reason if route.disabled else None,
            "description": skilltext.describe(route),
            "path": str(self.store.path_of(route.name)),
        }


def ranked(stores: Iterable[Store]) -> tuple[list[Found], list[SkillFileError]]:
    """All routes of some stores, and what could not be read.

    The routes that saved most come first: most net tokens, then most lookups used, then by name.

    Raises:
        StoreUnavailable: a ledger cannot be read.
        OSError: a store's directory is there and cannot be read.
    """
    found: list[Found] = []
    invalid: list[SkillFileError] = []
    for store in stores:
        listing, stats = store.contents(), stats_of(store)
        found += [Found(route, store, stats.get(route.name) or Stat()) for route in listing.routes]
        invalid += listing.invalid
    found.sort(key=lambda each: (-each.stat.net_tokens, -each.stat.used, each.route.name))
    return found, invalid


def find_skill(stores: Sequence[Store], name: str) -> Found:
    """One skill by name, from the first store that has it.

    Raises:
        SkillFileError: no store has it, or it cannot be read.
        InvalidSkillName: no skill can have this name.
    """
    for store in stores:
        route = store.read(name)
        if route:
            return Found(route, store, stats_of(store).get(name) or Stat())
    raise SkillFileError(stores[0].directory, None, f"there is no skill {name!r}; `waggle ls` lists what there is")


# --- ls -------------------------------------------------------------------------------------------------------

_LS_COLUMNS: Final = (
    _render.Column("name"),
    _render.Column("scope"),
    _render.Column("used", number=True),
    _render.Column("detours", number=True),
    _render.Column("saved", number=True),
    _render.Column("spent", number=True),
    _render.Column("fails", number=True),
    _render.Column("seen", number=True),
    _render.Column("what it does"),
)


@click.command()
@options.project
@options.scope("Only the project's skills, or only the user's. Default: both.")
@options.as_json
def ls(*, directory: Path, scope: Scope | None, as_json: bool) -> int:
    """List skills, those that saved most first.

    "used" counts the lookups that the agent would have asked for before its next write, "detours" those it never did;
    "saved" and "spent" are the tokens of the turns saved and of the detours, estimated at four bytes a token; "fails"
    counts the replays that gave nothing, "seen" the occurrences when the route was learned. `waggle show` has the rest.
    """
    found, invalid = ranked(open_place(directory).stores(scope))
    if as_json:
        _render.document({"skills": [each.as_json() for each in found], "invalid": texts(invalid)})
        return EXIT_OK
    if found:
        _render.out(_render.table(_LS_COLUMNS, [_row(each) for each in found]))
    else:
        _render.note("There are no skills yet; `waggle mine TRACE...` learns them from recorded sessions.")
    for problem in invalid:
        _render.note(str(problem))
    return EXIT_OK


def _row(found: Found) -> list[str]:
    route, stat = found.route, found.stat
    about = skilltext.about(route)
    if route.disabled:
        about = f"(switched off: {route.disabled.reason}) {about}"
    numbers = (stat.used, stat.detours, stat.saved_tokens, stat.spent_tokens, stat.fails, route.count)
    return [route.name, route.scope.value, *(f"{number:,}" for number in numbers), about]


# --- show -----------------------------------------------------------------------------------------------------


@click.command()
@click.argument("name")
@options.project
@options.scope("Look only in the project's store, or only in the user's. Default: the project's, then the user's.")
@options.as_json
def show(*, name: str, directory: Path, scope: Scope | None, as_json: bool) -> int:
    """Show one skill.

    Prints its text as it is, where its files lie, and what came of it.
    """
    found = find_skill(open_place(directory).stores(scope), name)
    paths = list(found.store.files_of(name))
    text = _skill_text(paths)
    if as_json:
        route = jsonvalue.loads(skillfile.render_route(found.route))
        lies: list[jsonvalue.JsonValue] = [str(path) for path in paths]
        _render.document({"route": route, "ledger": _stat_json(found.stat), "files": lies, "skill": text})
        return EXIT_OK
    stat = found.stat
    used = f", last used {_stamp(stat.last_used)}" if stat.last_used else ""
    ledger = f"uses {stat.uses:,}, yield {stat.yield_tokens:,} tokens, fails {stat.fails:,}{used}"
    places = [f"  {_render.plain(str(path))}" for path in paths]
    lines = [text.rstrip("\n"), "", "Files:", *places, "Ledger:", f"  {ledger}", *_settled_lines(stat)]
    _render.out("\n".join(lines))
    return EXIT_OK


def _settled_lines(stat: Stat) -> list[str]:
    lines: list[str] = []
    if stat.precision is not None:
        tokens = f"saved {stat.saved_tokens:,} tokens, spent {stat.spent_tokens:,}"
        lines.append(f"  lookups used {stat.used:,}, detours {stat.detours:,}, {tokens}")
    if stat.held_precision is not None:
        lines.append(f"  held back: {stat.held_used:,} would have been used, {stat.held_detours:,} not")
    return lines


def _skill_text(paths: Sequence[Path]) -> str:
    """The text that people and agents read: ``SKILL.md``, or the original's single file."""
    for path in paths:
        if path.suffix == ".md" and (path.name == "SKILL.md" or len(paths) == 1):
            return files.read_bytes(path, limit=SKILL_FILE_BYTES).decode("utf-8", "surrogateescape")
    raise SkillFileError(paths[0].parent, None, "SKILL.md is missing; mine the sessions again, or delete the folder")


def _stamp(at: datetime | None) -> str | None:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


def _stat_json(stat: Stat) -> JsonObject:
    return {
        "uses": stat.uses,
        "yield": stat.yield_tokens,
        "fails": stat.fails,
        "last_used": _stamp(stat.last_used),
        "last_failed": _stamp(stat.last_failed),
        "last_promoted": _stamp(stat.last_promoted),
        "last_demoted": _stamp(stat.last_demoted),
        **settled_json(stat),
        "last_settled": _stamp(stat.last_settled),
    }


# --- export ---------------------------------------------------------------------------------------------------

#: What ``--check`` says of what ``export`` would do.
_FOUND: Final = {"new": "missing", "updated": "behind", "unchanged": "current"}
_EXPORT_COLUMNS: Final = tuple(_render.Column(title) for title in ("status", "form", "folder", "why"))


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--to",
    "places",
    multiple=True,
    metavar="claude|agents|DIR",
    help="Where agents look: .claude/skills, .agents/skills, or any folder; may be given several times. Default: both.",
)
@click.option("--link", "form", flag_value="link", help="Link each skill. Default: where both are in one tree.")
@click.option("--copy", "form", flag_value="copy", help="Copy each skill. Default: where a link would not hold.")
@click.option("--check", is_flag=True, help="Only say what is missing, behind, edited or stale; exit code 1 if any is.")
@click.option("--prune", is_flag=True, help="Remove exports whose skill is gone or switched off.")
@options.project
@options.scope("The project's skills to the project's folders, or the user's to the user's. Default: the project's.")
@options.dry_run
@options.as_json
def export(
    *,
    names: tuple[str, ...],
    places: tuple[str, ...],
    form: Form | None,
    check: bool,
    prune: bool,
    directory: Path,
    scope: Scope | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Put skills where agents look for them.

    Without a NAME, exports all that are not switched off, as relative links, or as copies that are brought up to date.
    Edit the skill and not its copy: a copy that was edited is named and left alone, and the exit code is 1. What is not
    ours is never touched: a skill whose name is taken there gets another one, which ends in -waggle.
    """
    place = open_place(directory)
    scope = scope or Scope.PROJECT
    wanted = [folder_of_host(name, place.project, scope) for name in places or HOSTS]
    folders = dict.fromkeys(Path(os.path.realpath(folder)) for folder in wanted)  # one may be a link to another
    exports = [each for folder in folders for each in plan_exports(place.store(scope), folder, names, form=form)]
    if not (check or dry_run):
        exports = apply_exports(exports, prune=prune)

    def said(status: str) -> str:
        return _FOUND.get(status, status) if check else "removed" if prune and status == "stale" else status

    rows = [[said(each.status), each.form or "", str(each.to), each.reason] for each in exports]
    if as_json:
        keys = ("status", "form", "to", "reason")
        shown: list[jsonvalue.JsonValue] = [
            {"name": each.name, **dict(zip(keys, row, strict=True))} for each, row in zip(exports, rows, strict=True)
        ]
        to: list[jsonvalue.JsonValue] = [str(folder) for folder in folders]
        _render.document({"check": check, "dry_run": dry_run, "to": to, "skills": shown})
    elif rows:
        _render.out(_render.table(_EXPORT_COLUMNS, rows))
    else:
        _render.note("There are no skills to export; `waggle ls` lists what there is.")
    wrong = {"refused", "new", "updated", "stale"} if check else {"refused"}
    return EXIT_PROBLEMS if any(each.status in wrong for each in exports) else EXIT_OK

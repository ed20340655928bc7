"""The demo: learn from the shipped sessions, replay others, write the skill files, and tell what came of it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import waggle
from waggle import _render, files
from waggle._defaults import SKILL_FILE_BYTES
from waggle.cli.measuring import RULES, in_groups, measure_groups, results_json, verdicts
from waggle.errors import TraceError
from waggle.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from waggle.cli.measuring import Group
    from waggle.evaluate import Report
    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.routes import Route
    from waggle.traces import Trace

__all__ = ["Demo", "Library", "demo_json", "demo_text", "run_demo", "shipped_sessions"]

_LEARN_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Library:
    """What one rule learned from one group, as files.

    Attributes:
        rule: name of the rule.
        group: whose habits.
        folder: where the skills lie.
        routes: in the order they were learned.
    """

    rule: str
    group: str
    folder: Path
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class Demo:
    """Everything the demo found.

    Attributes:
        sessions: sessions read.
        groups: what every rule showed, the total last.
        libraries: the skill files, by rule and group; only those with skills.
    """

    sessions: int
    groups: tuple[Group, ...]
    libraries: tuple[Library, ...]

    @property
    def shown(self) -> tuple[Library, Route] | None:
        """The skill to show: of those with everything, the one seen most often; of several, the first by name."""
        rule = RULES[_SHOWN].name
        skills = [(library, route) for library in self.libraries if library.rule == rule for route in library.routes]
        return min(skills, key=lambda skill: (-skill[1].count, skill[1].name), default=None)


def shipped_sessions() -> Path:
    """The folder of the shipped sessions, ``examples/sessions`` in the checkout that this package runs from.

    Raises:
        TraceError: it is not there: the package was installed without its repository.
    """
    folder = Path(waggle.__file__).resolve().parent.parent / "examples" / "sessions"
    if not folder.is_dir():
        problem = (
            "the sessions of the demo are not there; run it from a checkout of the repository, or measure sessions of "
            "your own with `waggle replay TRACE...`"
        )
        raise TraceError(str(folder), None, problem)
    return folder


def run_demo(traces: Sequence[Trace], to: Path, *, on_trace: Callable[[Trace], None] = lambda _: None) -> Demo:
    """Learn on the first half of each group's tasks, replay the rest, and write what was learned as skill files.

    Args:
        traces: the sessions.
        to: the folder for the skills, ``TO/RULE/GROUP/NAME/SKILL.md``. A skill that is there already is left as it is.
        on_trace: called after each session, learned or replayed, by each rule.

    Raises:
        StoreUnavailable: the folder cannot be written.
    """
    groups = measure_groups(in_groups(traces, learn_share=_LEARN_SHARE), on_trace=on_trace)
    libraries = [
        _write(Library(rule.name, group.name, to / rule.name / _slug(group.name), tuple(routes)))
        for position, rule in enumerate(RULES)
        for group in groups
        if group.libraries and (routes := group.libraries[position].routes)
    ]
    return Demo(len(traces), tuple(groups), tuple(libraries))


def _slug(group: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", group.lower()).strip("-")


def _write(library: Library) -> Library:
    store = Store(library.folder, library.folder / "ledger.jsonl")
    for route in library.routes:
        if not store.path_of(route.name).exists():
            store.promote(route)
    return library


# --- for people -----------------------------------------------------------------------------------------------

#: The rule whose groups are shown one by one, and whose skill is shown in full: everything but the choice by tokens.
_SHOWN: Final = next(position for position, rule in enumerate(RULES) if rule.name == "curation")

_COUNTS: Final = (
    "sessions",
    "turns",
    "ceiling",
    "routes",
    "lookups",
    "used",
    "saved",
    "share",
    "tokens saved",
    "spent",
)
_COLUMNS: Final = (
    _render.Column("agent (repository)"),
    *(_render.Column(title, number=True) for title in _COUNTS),
)
_RULE_COLUMNS: Final = (
    _render.Column("rule"),
    *(
        _render.Column(title, number=True)
        for title in ("routes", "lookups", "used", "saved", "share", "tokens saved", "spent")
    ),
)


def _counts(report: Report) -> list[str]:
    made = [report.routes, *(report.total(what) for what in ("lookups", "used", "saved"))]
    tokens = [report.total(what) for what in ("tokens_saved", "tokens_spent")]
    return [*(f"{number:,}" for number in made), f"{report.saved.value:.1%}", *(f"{number:,}" for number in tokens)]


def _row(report: Report, name: str) -> list[str]:
    sessions = f"{report.learned_on:,} + {len(report.scores):,}"
    return [name, sessions, *(f"{report.total(what):,}" for what in ("turns", "ceiling")), *_counts(report)]


def demo_text(demo: Demo) -> str:
    """The demo's report; ends with one skill in full and the folders of all."""
    total = demo.groups[-1]
    lines = [
        f"{demo.sessions} recorded sessions of public coding agents. In each group, routes are learned on the",
        "sessions of the first half of the tasks and replayed on those of the other half (a + b). A turn is",
        "saved when all its calls had been answered before; the ceiling counts turns that only read, with",
        "arguments that stood in earlier results. Spent is what detours, and lines beyond those asked for,",
        "add to every turn after them.",
        "",
        "What each part brings, all groups together; each rule adds one part to the one above:",
        "",
        _render.table(
            _RULE_COLUMNS, [[rule.title, *_counts(report)] for rule, report in zip(RULES, total.reports, strict=True)]
        ),
        "",
        f'By agent, with "{RULES[_SHOWN].title}":',
        "",
        _render.table(_COLUMNS, [_row(group.reports[_SHOWN], group.name) for group in demo.groups]),
        "",
        "What saved turns there:",
        "",
        *_fired(demo),
        "",
        "What it comes to:",
        "",
        *(f"- {verdict}" for verdict in verdicts(total)),
    ]
    return "\n".join([*lines, "", *_skills(demo)])


def _fired(demo: Demo) -> list[str]:
    """The skills that were used most, with their lookups."""
    made: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for score in demo.groups[-1].reports[_SHOWN].scores:
        made.update(score.fired)
        used.update(score.used_by)
    ranked = sorted(used, key=lambda name: (-used[name], name))[:_LISTED]
    rest = sum(made.values()) - sum(made[name] for name in ranked)
    lines = [f"- {name}: {used[name]:,} of {made[name]:,} lookups used" for name in ranked]
    return [*lines, f"- {rest:,} lookups of others"] if lines else ["- nothing"]


_LISTED: Final = 6  # skills that are listed


def _skills(demo: Demo) -> list[str]:
    if demo.shown is None:
        return ["No skill was learned, so no file was written."]
    library, route = demo.shown
    path = library.folder / route.name / "SKILL.md"
    lines = [f"The skill seen most often, {path}:", "", *(f"    {line}" for line in _text(path).split("\n")), ""]
    lines += ["All skill files of this rule (those of the others lie beside them):", ""]
    shown = RULES[_SHOWN].name
    rows = [
        [each.rule, each.group, f"{len(each.routes):,}", str(each.folder)]
        for each in demo.libraries
        if each.rule == shown
    ]
    columns = (*(_render.Column(title) for title in ("rule", "learned from")), _render.Column("skills", number=True))
    return [*lines, _render.table([*columns, _render.Column("folder")], rows)]


def _text(path: Path) -> str:
    return files.read_bytes(path, limit=SKILL_FILE_BYTES).decode("utf-8", "replace").strip()


# --- for programs ---------------------------------------------------------------------------------------------


def demo_json(demo: Demo) -> JsonObject:
    """The same as JSON."""
    libraries: list[JsonObject] = [
        {
            "rule": each.rule,
            "group": each.group,
            "folder": str(each.folder),
            "skills": [route.name for route in each.routes],
        }
        for each in demo.libraries
    ]
    shown = demo.shown
    return {
        "sessions": demo.sessions,
        **results_json(demo.groups),
        "libraries": cast("list[JsonValue]", libraries),
        "shown": str(shown[0].folder / shown[1].name / "SKILL.md") if shown else None,
    }

"""The measuring instrument behind ``waggle replay`` and ``waggle demo``: rules side by side on the same sessions.

What is counted, and how, is in `waggle.evaluate`; here sessions are put into groups, and reports into a table.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from waggle import _render
from waggle.cli.place import counted
from waggle.config import ManagerConfig
from waggle.evaluate import Library, Report, bootstrap, group_of, measure, split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from waggle.jsonvalue import JsonObject
    from waggle.tools import ToolTable
    from waggle.traces import Trace

__all__ = ["RULES", "Group", "Rule", "Side", "in_groups", "measure_groups", "report_table", "results_json", "verdicts"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One column of the table.

    Attributes:
        name: its key in JSON and the name of its folder.
        title: its heading.
        config: the rule.
        curated: routes that hardly anybody asked for are switched off before the replay, as ``waggle gc`` does.
    """

    name: str
    title: str
    config: ManagerConfig
    curated: bool = False


_BOUND: Final = ManagerConfig(shell_forms=False, containment=False, across_sessions=False)

#: The columns, in order: each adds one part to the one before. A rule is added here and nowhere else.
RULES: Final = (
    Rule("original", "original's rule", ManagerConfig.original()),
    Rule("bound", "bound values", _BOUND),
    Rule("containment", "+ containment", replace(_BOUND, containment=True)),
    Rule("shell", "+ shell reads", replace(_BOUND, containment=True, shell_forms=True)),
    Rule("sessions", "+ sessions", ManagerConfig()),
    Rule("curation", "+ curation", ManagerConfig(), curated=True),
    Rule("tokens", "by tokens", ManagerConfig(threshold=None), curated=True),
)


@dataclass(frozen=True, slots=True)
class Side:
    """The sessions of one group, split.

    Attributes:
        group: whose memory, from `waggle.evaluate.group_of`.
        learn: sessions to learn on.
        replay: sessions to replay; no task is on both sides.
        left_out: sessions given to learn on that share a task with one that is replayed.
    """

    group: str
    learn: list[Trace]
    replay: list[Trace]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """What every rule showed on one group.

    Attributes:
        name: whose memory; ``total`` for all groups together.
        reports: one a rule, in the order of the rules.
        libraries: what each rule learned, in the same order; none for the total.
    """

    name: str
    reports: tuple[Report, ...]
    libraries: tuple[Library, ...] = ()


def in_groups(traces: Sequence[Trace], *, learn_share: float, learn_from: Sequence[Trace] | None = None) -> list[Side]:
    """Put sessions into groups by agent and repository, and split each by task.

    Args:
        traces: the sessions; all of them are replayed when `learn_from` is given.
        learn_share: share of the tasks to learn on, 0 to 1.
        learn_from: other sessions to learn on.

    Returns:
        The groups with at least one session to replay, by name.
    """
    replayed, learned = _by_group(traces), _by_group(learn_from or ())
    sides: list[Side] = []
    for group in sorted(replayed):
        if learn_from is None:
            sides.append(Side(group, *split(replayed[group], learn_share)))
        else:
            tasks = {trace.split_key for trace in replayed[group]}
            fit = [trace for trace in learned[group] if trace.split_key not in tasks]
            sides.append(Side(group, fit, replayed[group], len(learned[group]) - len(fit)))
    return [side for side in sides if side.replay]


def _by_group(traces: Sequence[Trace]) -> dict[str, list[Trace]]:
    groups: dict[str, list[Trace]] = defaultdict(list)
    for trace in traces:
        groups[group_of(trace)].append(trace)
    return groups


def measure_groups(
    sides: Sequence[Side],
    *,
    tools: ToolTable | None = None,
    rules: Sequence[Rule] = RULES,
    on_trace: Callable[[Trace], None] = lambda _: None,
) -> list[Group]:
    """Learn and replay every group by every rule.

    Args:
        sides: from `in_groups`.
        tools: what is known of the hosts' tools.
        rules: the columns.
        on_trace: called after each session, learned or replayed, by each rule.

    Returns:
        The groups in the order given, and last, when there are any, the total; its intervals resample the tasks of all.
    """
    groups: list[Group] = []
    for side in sides:
        measured = [
            measure(
                side.group,
                rule.title,
                side.learn,
                side.replay,
                rule.config,
                tools=tools,
                curated=rule.curated,
                on_trace=on_trace,
            )
            for rule in rules
        ]
        groups.append(Group(side.group, *zip(*measured, strict=True)))
    if groups:
        by_rule = zip(*(group.reports for group in groups), strict=True)
        groups.append(Group("total", tuple(_total(reports) for reports in by_rule)))
    return groups


def _total(reports: Sequence[Report]) -> Report:
    scores = tuple(score for report in reports for score in report.scores)
    learned_on, routes = sum(r.learned_on for r in reports), sum(r.routes for r in reports)
    return Report("total", reports[0].rule, learned_on, routes, scores, bootstrap(scores))


# --- for people -----------------------------------------------------------------------------------------------


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _saved(report: Report) -> str:
    return f"{report.total('saved'):,} ({_percent(report.saved.value)})"


def _precision(report: Report) -> str:
    return "-" if report.precision is None else _percent(report.precision)


#: The rows under each group: what is counted, and how it is written.
_MEASURES: Final[tuple[tuple[str, Callable[[Report], str]], ...]] = (
    ("sessions learned on", lambda report: f"{report.learned_on:,}"),
    ("sessions replayed", lambda report: f"{len(report.scores):,}"),
    ("turns", lambda report: f"{report.total('turns'):,}"),
    ("ceiling", lambda report: f"{report.total('ceiling'):,}"),
    ("routes", lambda report: f"{report.routes:,}"),
    ("turns saved", _saved),
    ("  95 % interval", lambda report: f"{_percent(report.saved.low)} to {_percent(report.saved.high)}"),
    ("lookups", lambda report: f"{report.total('lookups'):,}"),
    ("used", lambda report: f"{report.total('used'):,}"),
    ("precision", _precision),
    ("detours a session", lambda report: f"{report.detours_per_session:.2f}"),
    ("tokens saved", lambda report: f"{report.total('tokens_saved'):,}"),
    ("tokens spent", lambda report: f"{report.total('tokens_spent'):,}"),
)


def report_table(groups: Sequence[Group], rules: Sequence[Rule] = RULES) -> str:
    """One block of rows a group, one column a rule."""
    columns = [_render.Column(""), *(_render.Column(rule.title, number=True) for rule in rules)]
    rows: list[list[str]] = []
    for group in groups:
        rows.append([group.name, *("" for _ in rules)])
        rows += [[f"  {name}", *(write(report) for report in group.reports)] for name, write in _MEASURES]
    return _render.table(columns, rows)


def verdicts(total: Group, rules: Sequence[Rule] = RULES) -> list[str]:
    """Say in plain words, one line a rule, what its column comes to."""
    return [f"{rule.title}: {_verdict(report)}" for rule, report in zip(rules, total.reports, strict=True)]


def _verdict(report: Report) -> str:
    turns, saved, ceiling = report.total("turns"), report.total("saved"), report.total("ceiling")
    gained, spent = report.total("tokens_saved"), report.total("tokens_spent")
    if not saved:
        made = report.total("lookups")
        fired = (
            f"it made {counted(made, 'lookup')}, of no use"
            if made
            else f"it learned {counted(report.routes, 'route')} and none fired"
        )
        if not report.routes:
            fired = "it learned no route"
        return f"nothing to save here with this rule: {fired} (0 of {turns:,} turns; the ceiling is {ceiling:,})."
    text = f"saved {saved:,} of {turns:,} turns ({_percent(saved / turns)}; the ceiling is {ceiling:,})"
    if report.saved.low <= 0:
        text += ", which may be chance: its interval reaches 0"
    if spent > gained:
        return f"{text}. It cost more than it saved: {spent:,} tokens spent, {gained:,} saved."
    return f"{text} and {gained:,} tokens, for {spent:,} spent."


# --- for programs ---------------------------------------------------------------------------------------------


def results_json(groups: Sequence[Group], rules: Sequence[Rule] = RULES) -> JsonObject:
    """The same numbers, unrounded; shares are between 0 and 1, ``precision`` is null without lookups."""
    return {
        "rules": [{"name": rule.name, "title": rule.title} for rule in rules],
        "groups": [
            {
                "group": group.name,
                "rules": {rule.name: _report_json(r) for rule, r in zip(rules, group.reports, strict=True)},
            }
            for group in groups
        ],
    }


def _report_json(report: Report) -> JsonObject:
    fired: dict[str, int] = defaultdict(int)
    for score in report.scores:
        for name, lookups in score.fired.items():
            fired[name] += lookups
    return {
        "learned_on": report.learned_on,
        "replayed": len(report.scores),
        "turns": report.total("turns"),
        "ceiling": report.total("ceiling"),
        "routes": report.routes,
        "saved": report.total("saved"),
        "saved_share": report.saved.value,
        "saved_low": report.saved.low,
        "saved_high": report.saved.high,
        "lookups": report.total("lookups"),
        "used": report.total("used"),
        "precision": report.precision,
        "detours": report.total("detours"),
        "detours_per_session": report.detours_per_session,
        "tokens_saved": report.total("tokens_saved"),
        "tokens_spent": report.total("tokens_spent"),
        "fired": dict(sorted(fired.items())),
    }

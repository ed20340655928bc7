"""``waggle why`` and ``waggle why-not``: where a route's values come from, and why it was or was not made."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from waggle import _render
from waggle._defaults import EXIT_OK, REACH_THRESHOLD
from waggle.cli import options
from waggle.cli.place import counted, open_place, texts
from waggle.cli.sessions import reading
from waggle.cli.skills import find_skill
from waggle.reach.routes import counts_of, target_key
from waggle.reach.spoken import evidence, spoken_range, spoken_site, spoken_target
from waggle.reach.table import COUNTS_FILE, ReachTable, read_counts
from waggle.reach.targets import read_target
from waggle.receipts import Answer, occurrences
from waggle.receipts import why_not as answers_of
from waggle.routes import param_names

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.cli.place import Place
    from waggle.cli.skills import Found
    from waggle.errors import TraceError
    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.receipts import Occurrence, WhyNot
    from waggle.routes import Route, Scope

__all__ = ["why", "why_not"]

_SHOWN = 20  # occurrences or answers that are printed one by one


def _table(place: Place, found: Found) -> ReachTable:
    """The project's counts with the route in it, as a manager would have it."""
    config = place.settings.manager_config()
    table = ReachTable(config.threshold, read_counts(found.store.ledger_path.with_name(COUNTS_FILE)))
    after = found.route.after
    if after and not found.route.disabled:
        table.allow(after.site, target_key(after), found.route.name, counts_of(after))
    return table


# --- why --------------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("name")
@click.argument("traces", type=click.Path(allow_dash=True), nargs=-1, metavar="[TRACE]...")
@options.named
@options.project
@options.scope("Look only in the project's store, or only in the user's. Default: the project's, then the user's.")
@options.as_json
def why(
    *, name: str, traces: tuple[str, ...], named: str | None, directory: Path, scope: Scope | None, as_json: bool
) -> int:
    """Show where a route's values come from, and how often that was right.

    With TRACE, also the single occurrences in those sessions: what the route names there, what the agent read before
    its next write, and which disagreed.
    """
    place = open_place(directory)
    found = find_skill(place.stores(scope), name)
    listed: list[Occurrence] = []
    problems: list[TraceError] = []
    if traces and found.route.after:
        with reading(traces, "reading", named) as given:
            listed = occurrences(found.route, given.sessions, place.tools)
        problems = given.problems
    table = _table(place, found)
    if as_json:
        _render.document({**_why_json(found.route, table, listed), "problems": texts(problems)})
        return EXIT_OK
    lines = _reach_lines(found.route, table) if found.route.after else _mined_lines(found.route)
    _render.out("\n".join([found.route.name, "", *lines]))
    if listed:
        agreed = sum(each.agreed for each in listed)
        columns = [_render.Column(title) for title in ("session", "call", "", "it names", "the agent read")]
        disagreed = [each for each in listed if not each.agreed]
        shown = [*disagreed[:_SHOWN], *[each for each in listed if each.agreed][: max(_SHOWN - len(disagreed), 3)]]
        rows = [
            [
                each.session,
                str(each.call),
                "agreed" if each.agreed else "disagreed",
                each.would_read or "-",
                each.read or "-",
            ]
            for each in shown
        ]
        _render.out(f"\n{counted(len(listed), 'occurrence')}, {agreed} agreed\n{_render.table(columns, rows)}")
    return EXIT_OK


def _reach_lines(route: Route, table: ReachTable) -> list[str]:
    after = route.after
    assert after is not None  # noqa: S101 - the caller looked; this tells the type checker
    key = target_key(after)
    lines = [f"After {spoken_site(after.site)}:", ""]
    lines += [f"  {name}: {source}" for name, source in spoken_target(read_target(key))]
    threshold = REACH_THRESHOLD if table.threshold is None else table.threshold
    rows = [
        [
            row.details or "all",
            f"{row.times:,}",
            f"{row.read:,}",
            f"{row.choice.chance:.0%}",
            "yes" if row.choice.worth > 0 else "no",
            spoken_range(row.choice) or "-",
        ]
        for row in evidence(table.counts_for(key, after.site), key, after.site, threshold)
    ]
    titles = ("where", "times", "then read", "chance", "made", "lines")
    columns = [_render.Column(title, number=title in ("times", "then read", "chance")) for title in titles]
    return [*lines, "", _render.table(columns, rows)] if rows else lines


def _mined_lines(route: Route) -> list[str]:
    lines = [f"The same {len(route.steps)} calls, {route.count} times in {counted(route.support, 'session')}."]
    for param, name in zip(route.params, param_names(route.params), strict=True):
        lines.append(f"  {name}: open; {param.key} of call {param.step + 1} came from no one place")
    return lines


def _why_json(route: Route, table: ReachTable, listed: list[Occurrence]) -> JsonObject:
    told: JsonObject = {"name": route.name, "occurrences": route.count, "sessions": route.support}
    if route.after:
        key = target_key(route.after)
        threshold = REACH_THRESHOLD if table.threshold is None else table.threshold
        rows: list[JsonValue] = [
            {
                "where": row.details,
                "times": row.times,
                "read": row.read,
                "chance": row.choice.chance,
                "made": row.choice.worth > 0,
                "lines": spoken_range(row.choice),
            }
            for row in evidence(table.counts_for(key, route.after.site), key, route.after.site, threshold)
        ]
        told |= {
            "after": spoken_site(route.after.site),
            "values": dict(spoken_target(read_target(key))),
            "evidence": rows,
        }
    found: list[JsonValue] = [
        {"session": each.session, "call": each.call, "names": each.would_read, "read": each.read, "agreed": each.agreed}
        for each in listed
    ]
    return {**told, "listed": found}


# --- why-not ----------------------------------------------------------------------------------------------------------


@click.command("why-not")
@click.argument("name")
@options.traces
@click.option("--at", type=click.IntRange(min=0), metavar="CALL", help="Only after this call, counted from 0.")
@options.named
@options.project
@options.scope("Look only in the project's store, or only in the user's. Default: the project's, then the user's.")
@options.as_json
def why_not(
    *,
    name: str,
    traces: tuple[str, ...],
    at: int | None,
    named: str | None,
    directory: Path,
    scope: Scope | None,
    as_json: bool,
) -> int:
    """Say why a route was or was not made in recorded sessions.

    One answer a call: its leading calls were not made, the result names no value for a parameter, what it would read
    is known already, a write made it stale, the chance is too small, the session's lookups are used up, it is held
    back, or it is switched off. In a live session other routes draw on the same lookups, which plays no part here.
    """
    place = open_place(directory)
    found = find_skill(place.stores(scope), name)
    table = _table(place, found)
    answers: list[tuple[str, WhyNot]] = []
    with reading(traces, "reading", named) as given:
        for trace in given.sessions:
            told = answers_of(found.route, trace, place.tools, table, place.settings.manager_config())
            answers += [(trace.session, each) for each in told if at is None or each.call == at]
    if as_json:
        listed: list[JsonValue] = [
            {"session": session, "call": each.call, "answer": each.answer.value, "detail": each.detail}
            for session, each in answers
        ]
        _render.document({"name": name, "answers": listed, "problems": texts(given.problems)})
        return EXIT_OK
    counts = Counter(each.answer for _, each in answers)
    _render.out("\n".join(f"{counts[answer]:>6}  {answer.value}" for answer in Answer if counts[answer]))
    telling = [pair for pair in answers if at is not None or pair[1].answer is not Answer.NO_MATCH]
    columns = [_render.Column(title) for title in ("session", "call", "answer", "why")]
    rows = [[session, str(each.call), each.answer.value, each.detail] for session, each in telling[:_SHOWN]]
    if rows:
        _render.out("\n" + _render.table(columns, rows))
    if len(telling) > _SHOWN:
        _render.note(f"{len(telling) - _SHOWN} more; --json has all, --at shows one call")
    return EXIT_OK

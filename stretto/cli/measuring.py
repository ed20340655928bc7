"""Commands that measure on recorded sessions: ``replay``, ``ceiling``, ``costs``."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto._defaults import EXIT_OK
from stretto.cli import options, session_options
from stretto.cli.reading import reading
from stretto.cli.writing import check_new_place, picture_kind, write
from stretto.deciders.decide import DECIDERS, decider_named
from stretto.deciders.reach import Reach
from stretto.flow.file import read_flow
from stretto.live import binder_of
from stretto.review.bootstrap import Row, ratio
from stretto.review.ceiling import ceiling
from stretto.review.costs import costs
from stretto.review.replay import replay
from stretto.review.replay_page import ceiling_page, costs_page, replay_page
from stretto.review.split import units
from stretto.review.summary import costs_json, interval_json, summary
from stretto.speculator import Prepared
from waggle import _render, jsonvalue
from waggle.redact import redact_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from stretto.cli.options import Asked, Option, Served
    from stretto.cli.reading import Reading
    from stretto.cli.session_options import Part, Sources
    from stretto.deciders.model import Decider
    from stretto.deciders.oracle import Oracle
    from stretto.review.ceiling import CeilingScore
    from stretto.review.score import ReplayScore
    from stretto.sessions.episode import Episode
    from waggle.jsonvalue import JsonObject

__all__ = ["count_ceiling", "count_costs", "replay_flow"]


_BY: Option = click.option(
    "--by",
    "--units",
    "by",
    type=click.Choice(("task", "customer")),
    default="task",
    metavar="[task|customer]",
    help="What intervals resample: tasks, or tasks together that are about one customer. Default: task.",
)

_PROMPT_TOKENS: Option = click.option(
    "--prompt-tokens",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Length of the system prompt and the tools' descriptions, for sessions without recorded usage. Default: 0.",
)


def _units(sessions: Reading, kind: str) -> Mapping[str, str]:
    return units(sessions.episodes()) if kind == "customer" else {}


# --- replay ---------------------------------------------------------------------------------------------------


@click.command("replay")
@options.flow
@session_options.sources()
@session_options.rest
@click.option(
    "--decider",
    "deciders",
    type=click.Choice(DECIDERS),
    multiple=True,
    metavar="[reach|habit|arbiter]",
    help="Who weighs the lookups; given several times, they are set side by side. Default: the flow's own.",
)
@options.oracle
@options.served
@click.option(
    "--same-result",
    is_flag=True,
    help="A lookup also answers a call when both agree on every argument that both pass, and on the result.",
)
@click.option(
    "--plain", is_flag=True, help="The original's rules: no derived values, no user's words, no counts of uses."
)
@click.option(
    "--decisions",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write every decision that was weighed, with what becomes of its options, for stretto evaluate.",
)
@click.option(
    "--explore",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Chance of taking another lookup than the decider's, 0 to 1, so that what is written can be evaluated. "
    "Default: 0.",
)
@click.option("--explore-seed", type=int, default=0, metavar="N", help="Of these draws. Default: 0.")
@options.force
@_BY
@_PROMPT_TOKENS
@options.picture("what was saved, and whether the scores hold")
@options.dry_run
@options.as_json
def replay_flow(
    *,
    flow_path: Path,
    sources: Sources,
    part: Part,
    deciders: Sequence[str],
    asked: Asked,
    served: Served,
    same_result: bool,
    plain: bool,
    by: str,
    prompt_tokens: int,
    decisions: Path | None,
    explore: float,
    explore_seed: int,
    force: bool,
    picture: Path | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Measure how many turns a flow would have saved.

    The agent acts as recorded, and the flow makes lookups after each call that is still made. A turn, replies to the
    user included, is saved when lookups answered all of its calls; every other lookup is a detour. From the record,
    savings are exact or too low, and detours too few. It tells something of a flow on tasks it was not learned from.
    """
    kind = picture_kind(picture)
    if decisions is not None:
        check_new_place(decisions, force=force)
    lines: list[JsonObject] = []
    flow, oracle = read_flow(flow_path), asked.oracle()
    prepared = Prepared(flow)
    prepared.binder = binder_of(flow, derive=not plain, speak=not plain)
    with reading(sources, part, rest=True) as sessions:
        # What the flow knows of a tool goes before what these sessions say of it.
        manifest, unit_of = sessions.manifest.updated(flow.manifest), _units(sessions, by)
        again = partial(
            replay,
            prepared,
            threshold=served.threshold,
            per_call=served.per_call,
            per_session=served.per_session,
            same_result=same_result,
            weigh=True,
            manifest=manifest,
            prompt_tokens=prompt_tokens,
            explore=explore,
            explore_seed=explore_seed,
            on_decision=lines.append if decisions is not None else None,
        )
        results = {
            name: summary(list(_scores(sessions, again, _decider(name, oracle, plain=plain), unit_of)))
            for name in dict.fromkeys(deciders or (flow.default_decider,))
        }
    if picture is not None:
        from stretto.review.replay_plot import draw_replay  # noqa: PLC0415 - needs matplotlib

        write(picture, draw_replay(results, kind=kind), dry_run=dry_run)
    if decisions is not None:
        write(decisions, b"".join(jsonvalue.dumps(redact_value(line)) + b"\n" for line in lines), dry_run=dry_run)
    if as_json:
        told: JsonObject = {"threshold": served.threshold, "plain": plain, "same_result": same_result, "by": by}
        measured: JsonObject = {name: each.as_json() for name, each in results.items()}
        _render.document({**told, "results": measured, "problems": sessions.problems})
    else:
        _render.out(replay_page(results).removesuffix("\n"))
    return EXIT_OK


def _decider(name: str, oracle: Oracle | None, *, plain: bool) -> Callable[[Episode], Decider]:
    """Who decides in a session."""
    if name == "reach" and plain:
        return lambda _: Reach(uses=False)
    return lambda episode: decider_named(name, oracle, task=episode.task)


def _scores(
    sessions: Reading,
    again: Callable[..., ReplayScore],
    decider: Callable[[Episode], Decider],
    unit_of: Mapping[str, str],
) -> Iterator[ReplayScore]:
    for episode in sessions.episodes():
        yield again(episode, unit=unit_of.get(episode.id, ""), decider=decider(episode))


# --- ceiling, costs -------------------------------------------------------------------------------------------


@click.command("ceiling")
@session_options.sources()
@session_options.rest
@_BY
@options.as_json
def count_ceiling(*, sources: Sources, part: Part, by: str, as_json: bool) -> int:
    """Count the turns that a flow could save at all.

    A turn is in the ceiling when all of its calls read, and every value they pass was in results before; with the
    user's words, also in what the user wrote. Shares are of all turns, replies to the user included.
    """
    found: dict[str, list[CeilingScore]] = defaultdict(list)
    with reading(sources, part, rest=True) as sessions:
        manifest, unit_of = sessions.manifest, dict(_units(sessions, by))
        for episode in sessions.episodes():
            found[episode.domain] += ceiling((episode,), manifest, units=unit_of)
    results = dict(sorted(found.items()))
    if len(results) > 1:
        results["all"] = [score for scores in results.values() for score in scores]
    if as_json:
        measured: JsonObject = {name: _ceiling_json(scores) for name, scores in results.items()}
        _render.document({"by": by, "domains": measured, "problems": sessions.problems})
    else:
        _render.out(ceiling_page(results).removesuffix("\n"))
    return EXIT_OK


def _ceiling_json(scores: Sequence[CeilingScore]) -> JsonObject:
    def share(part: str) -> JsonObject:
        return interval_json(ratio(Row(each.unit, getattr(each, part), each.turns) for each in scores))

    return {
        "sessions": len(scores),
        "turns": sum(each.turns for each in scores),
        **{part: share(part) for part in ("replies", "reads", "writes", "ceiling", "with_words")},
    }


@click.command("costs")
@session_options.sources()
@session_options.rest
@_PROMPT_TOKENS
@options.as_json
def count_costs(*, sources: Sources, part: Part, prompt_tokens: int, as_json: bool) -> int:
    """Count what a saved turn is worth, and a detour costs.

    In input tokens: beta is the context that a turn in the ceiling reads, and its calls in every turn after it; delta
    is a result in every turn after it. A lookup pays from the chance theta* = delta / (beta + delta) on, which is the
    threshold to serve a flow with. Tokens are those recorded, else four bytes each.
    """
    with reading(sources, part, rest=True) as sessions:
        found = costs(sessions.episodes(), sessions.manifest, prompt_tokens=prompt_tokens)
    if as_json:
        _render.document({**costs_json(found), "problems": sessions.problems})
    else:
        _render.out(costs_page(found).removesuffix("\n"))
    return EXIT_OK

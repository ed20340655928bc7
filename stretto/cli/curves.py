"""The command ``learn-curve``: what is saved by a flow learned from ten sessions, thirty, a hundred, all."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from stretto._defaults import CURVE_LEARN_SHARE, CURVE_ORDERS, CURVE_SIZES, EXIT_OK
from stretto.cli import learn_options, options, session_options
from stretto.cli.parts import chooser
from stretto.cli.reading import provenance, reading
from stretto.cli.writing import picture_kind, write
from stretto.learning import Evidence, LearnOptions, learn_counts, plan_of
from stretto.review.curve import learning_curve
from stretto.review.curve_plot import draw
from stretto.review.replay_page import curve_page
from stretto.review.split import units
from stretto.review.summary import curve_json
from waggle import _render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from stretto.cli.reading import Reading
    from stretto.cli.session_options import Part, Sources
    from stretto.flow.model import Flow, Provenance
    from stretto.review.curve import Point
    from stretto.sessions.corpus import Recorded
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonObject

__all__ = ["learn_curve"]


@dataclass(slots=True)
class _Group:
    """Sessions of one domain, or of one agent in it: those learned from, and those replayed."""

    lessons: list[Recorded] = field(default_factory=list)
    replayed: list[Episode] = field(default_factory=list)


class _Sizes(click.ParamType[tuple[int, ...]]):
    name = "sizes"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Read ``10,30,100``."""
        if isinstance(value, tuple):
            return value
        try:
            sizes = tuple(sorted({int(size) for size in str(value).split(",")}))
        except ValueError:
            sizes = (0,)
        if sizes[0] < 1:
            self.fail(f"{value!r} is no list of numbers from 1 on, such as 10,30,100", param, ctx)
        return sizes


@click.command("learn-curve")
@session_options.sources()
@session_options.part
@learn_options.learned(sequence=False)
@click.option(
    "--sizes",
    type=_Sizes(),
    default=CURVE_SIZES,
    metavar="N,N,...",
    help=f"Sessions to learn from; all of them are always the last. Default: {','.join(map(str, CURVE_SIZES))}.",
)
@click.option(
    "--orders",
    type=click.IntRange(min=1),
    default=CURVE_ORDERS,
    metavar="N",
    help=f"Random orders of the sessions. Default: {CURVE_ORDERS}.",
)
@click.option("--seed", type=int, default=0, metavar="N", help="Of these orders. Default: 0.")
@click.option("--per-agent", is_flag=True, help="A curve an agent, of its own sessions. Default: a curve a domain.")
@options.decider("reach")
@options.threshold
@options.picture("the curves")
@options.dry_run
@options.as_json
def learn_curve(
    *,
    sources: Sources,
    part: Part,
    learned: LearnOptions,
    sizes: tuple[int, ...],
    orders: int,
    seed: int,
    per_agent: bool,
    decider: str | None,
    threshold: float,
    picture: Path | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Measure what more sessions to learn from are worth.

    Learns from the first N successful sessions of some random orders, and replays the flow on the sessions of all other
    tasks: half of the tasks is learned from unless --train-tasks or --train-fraction say otherwise.
    """
    kind = picture_kind(picture)
    if part.tasks is None and part.fraction is None:
        part = replace(part, fraction=CURVE_LEARN_SHARE)
    with reading(sources) as sessions:
        unit_of = units(sessions.episodes())
        groups = _groups(sessions, part, per_agent=per_agent)
    curves: dict[str, list[Point]] = {}
    made = provenance(sessions.conventions)
    with _render.progress("flows", sum(_flows(group, sizes, orders) for group in groups.values())) as done:
        for name, group in groups.items():
            curves[name] = learning_curve(
                group.lessons,
                group.replayed,
                partial(_learned, manifest=sessions.manifest, learned=learned, made=made),
                sizes=sizes,
                orders=orders,
                seed=seed,
                units=unit_of,
                on_flow=lambda: done(1),
                decider=decider or "reach",
                threshold=threshold,
            )
    if picture is not None:
        write(picture, draw(curves, kind=kind), dry_run=dry_run)
    if as_json:
        measured: JsonObject = {name: curve_json(points) for name, points in curves.items()}
        told: JsonObject = {"threshold": threshold, "orders": orders, "seed": seed, "curves": measured}
        _render.document({**told, "problems": sessions.problems})
    else:
        _render.out(curve_page(curves).removesuffix("\n"))
    return EXIT_OK


def _groups(sessions: Reading, part: Part, *, per_agent: bool) -> Mapping[str, _Group]:
    """Sessions by domain or agent, those with something on both sides; by name."""
    learns = chooser(replace(part, trials=None), sessions.episodes())
    groups: defaultdict[str, _Group] = defaultdict(_Group)
    for recorded in sessions:
        episode = recorded.episode
        group = groups[f"{episode.domain} {episode.agent_model}" if per_agent else episode.domain]
        if not learns(episode):
            group.replayed.append(episode)
        elif episode.succeeded and (part.trials is None or episode.trial < part.trials):
            group.lessons.append(recorded)  # further trials of these tasks are not replayed
    found = {name: groups[name] for name in sorted(groups)}
    for name, group in found.items():
        if not (group.lessons and group.replayed):
            missing = "session to replay" if group.lessons else "successful session to learn from"
            _render.note(f"{name}: there is no {missing}, so there is no curve")
    return {name: group for name, group in found.items() if group.lessons and group.replayed}


def _flows(group: _Group, sizes: Sequence[int], orders: int) -> int:
    return orders * sum(size < len(group.lessons) for size in sizes) + 1


def _learned(lessons: Sequence[Recorded], *, manifest: Manifest, learned: LearnOptions, made: Provenance) -> Flow:
    evidence = Evidence()
    for recorded in lessons:
        evidence.add(recorded)
    return learn_counts(lessons, plan_of(evidence, manifest, learned), made)

"""Commands that compare ways to serve a flow: ``evaluate``, ``search``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from stretto._defaults import (
    EXIT_OK,
    MIN_ESS,
    SEARCH_GENERATIONS,
    SEARCH_POPULATION,
    SEARCH_SEED,
    SEARCH_TIMEOUT_S,
)
from stretto.cli import options, session_options
from stretto.cli.jsonfile import read_json
from stretto.cli.reading import reading
from stretto.cli.session_options import Sources
from stretto.cli.writing import check_flow_place, picture_kind, write, write_flow
from stretto.deciders.decide import DECIDERS
from stretto.errors import UsageError
from stretto.flow.file import read_flow
from stretto.review.check_command import CommandScorer
from stretto.review.evaluate import evaluate, target_from_text
from stretto.review.evaluate_page import evaluate_page
from stretto.review.logged import read_decisions
from stretto.review.search import replay_scorer, rescore, search, settings_from_json
from stretto.review.search_page import search_page
from waggle import _render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.cli.session_options import Part
    from stretto.flow.model import Flow
    from stretto.review.search import Check, Scorer, Searched, Setting

__all__ = ["Tries", "evaluate_logs", "search_thresholds"]


@click.command("evaluate")
@click.argument("logs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--target",
    "targets",
    multiple=True,
    required=True,
    metavar="NAME=DECIDER@THRESHOLD",
    help="A way to decide; may be given several times. DECIDER: habit, reach, or arbiter for the one that was logged.",
)
@click.option(
    "--min-ess",
    type=click.FloatRange(min=0),
    default=MIN_ESS,
    metavar="N",
    help=f"Effective sample, in decisions, below which estimates by weights are refused. Default: {MIN_ESS:g}.",
)
@options.as_json
def evaluate_logs(*, logs: Sequence[Path], targets: Sequence[str], min_ess: float, as_json: bool) -> int:
    """Estimate what other deciders would have done.

    Deciders and thresholds are compared on decisions that were logged. LOG is a flow log whose decisions carry a
    policy, which exploring writes, and labels.
    """
    wanted = [target_from_text(text) for text in targets]
    comparison = evaluate(read_decisions(logs), wanted, min_ess=min_ess)
    if as_json:
        _render.document(comparison.as_json())
    else:
        _render.out(evaluate_page(comparison).removesuffix("\n"))
    return EXIT_OK


# --- search ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tries:
    """Which settings a search tries.

    Attributes:
        deciders: to choose from; none for all the flow can be served with.
        population: settings kept a generation.
        generations: rounds of as many new ones.
        seed: of the draws.
        rescore: an earlier search, whose front is tried again instead.
    """

    deciders: tuple[str, ...]
    population: int
    generations: int
    seed: int
    rescore: Path | None

    def search(self, flow: Flow, score: Scorer) -> Searched:
        """Try them."""
        settings = () if self.rescore is None else settings_from_json(read_json(self.rescore))
        most = len(settings) if self.rescore else self.population * (self.generations + 1)
        with _render.progress("settings", most) as done:

            def scored(setting: Setting) -> Check:
                check = score(setting)
                done(1)
                return check

            if self.rescore is not None:
                return rescore(settings, scored)
            return search(
                flow,
                scored,
                deciders=self.deciders or None,
                population=self.population,
                generations=self.generations,
                seed=self.seed,
            )


_TRIES = {
    "deciders": click.option(
        "--decider",
        "deciders",
        type=click.Choice(DECIDERS),
        multiple=True,
        metavar="[reach|habit|arbiter]",
        help="A decider to choose from; may be given several times. Default: all the flow can be served with.",
    ),
    "population": click.option(
        "--population",
        type=click.IntRange(min=2),
        default=SEARCH_POPULATION,
        metavar="N",
        help=f"Settings kept a generation. Default: {SEARCH_POPULATION}.",
    ),
    "generations": click.option(
        "--generations",
        type=click.IntRange(min=0),
        default=SEARCH_GENERATIONS,
        metavar="N",
        help=f"Rounds of as many new ones. Default: {SEARCH_GENERATIONS}.",
    ),
    "seed": click.option(
        "--seed", type=int, default=SEARCH_SEED, metavar="N", help=f"Of the draws. Default: {SEARCH_SEED}."
    ),
    "rescore": click.option(
        "--rescore",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Try the front of an earlier search again, as its --json printed it, instead of searching.",
    ),
}


@click.command("search")
@options.flow
@session_options.sources(files=False)
@session_options.rest
@options.gathered("tries", Tries, _TRIES)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=SEARCH_TIMEOUT_S,
    metavar="SECONDS",
    help=f"Longest time of one COMMAND. Default: {SEARCH_TIMEOUT_S:g}.",
)
@click.option(
    "--work",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where COMMAND's flows and what it leaves are kept. Default: a temporary directory.",
)
@click.option("--pick", type=click.IntRange(min=1), metavar="N", help="Write the N-th setting of the front to --out.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FLOW",
    help="Where the flow with the thresholds of --pick is written. What is there is replaced if it is a flow.",
)
@options.force
@options.picture("turns saved over detours")
@options.dry_run
@options.as_json
def search_thresholds(
    *,
    flow_path: Path,
    sources: Sources,
    part: Part,
    tries: Tries,
    command: tuple[str, ...],
    timeout: float,
    work: Path | None,
    pick: int | None,
    out: Path | None,
    force: bool,
    picture: Path | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Search for a better threshold of every site.

    Sought are settings that save more turns with fewer detours; printed are those that no other beats. Each is scored
    by replaying the sessions, or by COMMAND, which is run with --flow FILE --flow-decider NAME --out DIR behind its
    arguments and prints a line CHECK {"turns": ..., "turns_saved": ..., "detours": ..., "episodes_with_detour": ...,
    "episodes": ...}.
    """
    kind = picture_kind(picture)
    if (pick is None) is not (out is None):
        raise UsageError("--pick and --out go together: which setting to write, and where")
    if out is not None:
        check_flow_place(out, force=force)
    if command and sources != Sources():
        raise UsageError("settings are scored by the sessions or by COMMAND; give one of them")
    flow = read_flow(flow_path)
    if command:
        with TemporaryDirectory(prefix="stretto-search-") as temporary:
            found = tries.search(flow, CommandScorer(command, flow, work or Path(temporary), timeout_s=timeout))
        problems = []
    else:
        with reading(sources, part, rest=True) as sessions:
            score = replay_scorer(flow, sessions.episodes())
        found, problems = tries.search(flow, score), sessions.problems
    if picture is not None:
        from stretto.review.figures import draw_front  # noqa: PLC0415 - needs matplotlib

        write(picture, draw_front(found, kind=kind), dry_run=dry_run)
    if as_json:
        _render.document({**found.as_json(), "problems": problems})
    else:
        _render.out(search_page(found).removesuffix("\n"))
    if pick is not None and out is not None:
        _write_picked(flow, found, pick, out, dry_run=dry_run)
    return EXIT_OK


def _write_picked(flow: Flow, found: Searched, pick: int, out: Path, *, dry_run: bool) -> None:
    if pick > len(found.front):
        raise UsageError(f"the front has {len(found.front)} settings; there is no --pick {pick}")
    setting = found.front[pick - 1].setting
    write_flow(out, setting.applied(flow), dry_run=dry_run)
    _render.note(f"the setting was found for the decider {setting.decider}; serve it with that one")

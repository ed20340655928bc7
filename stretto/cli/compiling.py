"""The command ``compile``: a flow of benchmark results, with hints and an arbiter where they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto._defaults import EXIT_OK, ORACLE_BUDGET
from stretto.arbiter_training import with_arbiter
from stretto.bindings.feeds import feeds_of
from stretto.cli import learn_options, options, session_options
from stretto.cli.learning import flow_json, learned_line, learned_notes
from stretto.cli.predicates import read_predicates
from stretto.cli.reading import provenance, reading
from stretto.cli.writing import check_flow_place, write_flow
from stretto.deciders.oracle import CachingOracle, MockOracle, ReplayOracle
from stretto.errors import UsageError
from stretto.learning import LearnOptions, learn
from waggle import _render
from waggle.cli.place import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.arbiter_training import Trained
    from stretto.cli.options import Option
    from stretto.cli.reading import Reading
    from stretto.cli.session_options import Part, Sources
    from stretto.deciders.oracle import Oracle
    from stretto.flow.model import Flow

__all__ = ["Fitted", "compile_results"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The arbiter that was asked for.

    Attributes:
        kind: of oracle, ``replay`` or ``mock``; None for no arbiter.
        cache: answers given before; those that are asked for are added.
        budget: dollars it may cost.
        model: whom the oracle asks; it is a part of every question.
        predicates: a file with what is asked beside.
    """

    kind: str | None
    cache: Path | None
    budget: float
    model: str | None
    predicates: Path | None

    def check(self) -> None:
        """Look whether the options go together.

        Raises:
            UsageError: they do not.
        """
        if self.kind is None:
            for option, value in (("cache", self.cache), ("model", self.model)):
                if value is not None:
                    raise UsageError(f"--oracle-{option} is for fitting an arbiter; give --oracle")
            if self.predicates is not None:
                raise UsageError("--predicates are asked by an arbiter; give --oracle")
        if self.kind == "replay" and self.cache is None:
            raise UsageError("--oracle replay answers from a cache: give --oracle-cache")

    def oracle(self, *, dry_run: bool) -> Oracle:
        """Whom to ask; nothing is kept in a dry run."""
        if self.cache is None or (dry_run and self.kind == "mock"):
            return MockOracle()
        if self.kind == "replay":
            return ReplayOracle(self.cache)
        return CachingOracle(MockOracle(), self.cache, budget=self.budget)


_OPTIONS: Final[Mapping[str, Option]] = {
    "kind": options.ORACLE["kind"],
    "cache": click.option(
        "--oracle-cache",
        "cache",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The answers given before; `mock` adds those it makes up.",
    ),
    "budget": click.option(
        "--oracle-budget",
        "budget",
        type=click.FloatRange(min=0),
        default=ORACLE_BUDGET,
        metavar="DOLLARS",
        help=f"What the oracle may cost. Default: {ORACLE_BUDGET:g}.",
    ),
    "model": click.option(
        "--oracle-model",
        "model",
        metavar="NAME",
        help="Whom the oracle asks; answers given before are found only under the same name. Default: its kind.",
    ),
    "predicates": click.option(
        "--predicates",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Yes/no questions to ask beside: a list of id, favors, question, yes and no, in JSON. Default: none.",
    ),
}


@click.command("compile")
@session_options.sources(results_only=True)
@session_options.part
@learn_options.learned()
@click.option(
    "--dataflow-hints", is_flag=True, help="Count which lookups feed which arguments of writes, for whoever reads it."
)
@options.gathered("fitted", Fitted, _OPTIONS)
@options.out
@options.force
@options.dry_run
@options.as_json
def compile_results(
    *,
    sources: Sources,
    part: Part,
    learned: LearnOptions,
    dataflow_hints: bool,
    fitted: Fitted,
    out: Path,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Compile a flow from results of tau-bench.

    Learns as `learn` does. With --oracle it also fits an arbiter: at every decision of the successful sessions the
    oracle is asked what the agent does next, and the weights are those that foretell best what the agent did. Each
    fifth of the tasks is judged by weights of the others.
    """
    check_flow_place(out, force=force)
    fitted.check()
    trained: Trained | None = None
    with reading(sources, part, order="start" if learned.half_life else "session") as sessions:
        flow = learn(sessions, learned, provenance=provenance())
        if dataflow_hints:
            flow.sites.feeds = feeds_of(sessions.episodes(), flow.manifest)
        if fitted.kind is not None:
            trained = _trained(flow, sessions, fitted, dry_run=dry_run)
            flow = trained.flow
    learned_notes(flow, learned)
    write_flow(out, flow, dry_run=dry_run)
    if as_json:
        cases, unanswered = (trained.cases, trained.unanswered) if trained else (0, 0)
        told = flow_json(flow, sessions, out, dry_run=dry_run)
        _render.document({**told, "arbiter_cases": cases, "unanswered": unanswered})
    else:
        _render.out(learned_line(flow, sessions, out))
    return EXIT_OK


def _trained(flow: Flow, sessions: Reading, fitted: Fitted, *, dry_run: bool) -> Trained:
    predicates = () if fitted.predicates is None else read_predicates(fitted.predicates)
    model = fitted.model if fitted.model is not None else fitted.kind or ""
    oracle = fitted.oracle(dry_run=dry_run)
    trained = with_arbiter(flow, sessions, oracle, model=model, predicates=predicates)
    if trained.unanswered:
        _render.note(f"{counted(trained.unanswered, 'decision')} without an answer: {trained.first_problem}")
    return trained

"""The demo: learn flows from the shipped sessions, show what they look up, and replay them on other customers.

Not responsible for measuring (`stretto.review.replay`), nor for which sessions are learned from: those in
``examples/flows`` were dealt to two sides once, by customer and task.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

import stretto
from stretto._defaults import EXIT_OK
from stretto.bindings.derive import describe
from stretto.cli import options
from stretto.cli.demo_procedures import compile_shipped, procedures_json, procedures_text
from stretto.cli.reading import provenance
from stretto.deciders.decide import decider_named
from stretto.deciders.reach import Reach
from stretto.errors import SessionLogError
from stretto.flow.file import write_flow
from stretto.learning import learn
from stretto.review.replay import replay_all
from stretto.review.show import show
from stretto.review.shown import Verdict
from stretto.review.split import units
from stretto.review.summary import summary
from stretto.sessions.corpus import open_corpus
from waggle import _render

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stretto.flow.model import Flow
    from stretto.review.bootstrap import Interval
    from stretto.review.shown import BindingShown, SourceShown
    from stretto.review.summary import Summary
    from waggle.jsonvalue import JsonObject

__all__ = ["Demo", "DemoFlow", "demo", "demo_json", "demo_text", "run_demo", "shipped_flows"]

#: The domains, and the one whose flow is shown.
_DOMAINS: Final = ("airline", "retail")
_SHOWN: Final = "retail"

#: The rules that are set side by side: title, decider, and whether values may come from where the original has none.
_RULES: Final = (("habit", "habit", False), ("reach", "reach", False), ("everything", "reach", True))


@dataclass(frozen=True, slots=True)
class DemoFlow:
    """One domain's flow and what it saved.

    Attributes:
        domain: its name.
        flow: what was learned.
        path: its file.
        given: sessions on the side that was learned from, those that failed included.
        results: by the title of the rule.
    """

    domain: str
    flow: Flow
    path: Path
    given: int
    results: dict[str, Summary]

    @property
    def best(self) -> Summary:
        """With everything a flow has."""
        return self.results[_RULES[-1][0]]


@dataclass(frozen=True, slots=True)
class Demo:
    """Everything the demo found, by domain."""

    flows: tuple[DemoFlow, ...]


def shipped_flows() -> Path:
    """The folder of the shipped sessions, ``examples/flows`` in the checkout that this package runs from.

    Raises:
        SessionLogError: it is not there: the package was installed without its repository.
    """
    folder = Path(stretto.__file__).resolve().parent.parent / "examples" / "flows"
    if not folder.is_dir():
        problem = (
            "the sessions of the demo are not there; run it from a checkout of the repository, or learn from sessions"
            " of your own with `stretto learn`"
        )
        raise SessionLogError(str(folder), None, problem)
    return folder


def run_demo(sessions: Path, to: Path, *, on_session: Callable[[], None] = lambda: None) -> Demo:
    """Learn a flow of each domain, write it, and replay it by each rule.

    Args:
        sessions: the folder with ``DOMAIN-learn.jsonl.gz`` and ``DOMAIN-replay.jsonl.gz``.
        to: the folder for the flows, ``TO/DOMAIN.flow.json``; what is there is replaced.
        on_session: called after each session that was gone through.

    Raises:
        SessionLogError: a file is not there or cannot be read.
        StoreUnavailable: the folder cannot be written.
    """
    return Demo(tuple(_domain(domain, sessions, to, on_session) for domain in _DOMAINS))


def _domain(domain: str, sessions: Path, to: Path, on_session: Callable[[], None]) -> DemoFlow:
    given = open_corpus(sessions / f"{domain}-learn.jsonl.gz", domain=domain)
    flow = learn(given, provenance=provenance(), on_session=on_session)
    path = to / f"{domain}.flow.json"
    write_flow(path, flow)
    others = open_corpus(sessions / f"{domain}-replay.jsonl.gz", domain=domain)
    episodes = [recorded.episode for recorded in others]
    manifest, unit_of = others.manifest.updated(flow.manifest), units(episodes)
    results: dict[str, Summary] = {}
    for title, name, ours in _RULES:
        decider = decider_named(name) if ours or name != "reach" else Reach(uses=False)
        scores = []
        for score in replay_all(
            flow, episodes, units=unit_of, derive=ours, speak=ours, decider=decider, manifest=manifest
        ):
            scores.append(score)
            on_session()
        results[title] = summary(scores)
    return DemoFlow(domain, flow, path, sum(1 for _ in given), results)


# --- for people -----------------------------------------------------------------------------------------------


def _columns(words: Sequence[str], numbers: Sequence[str]) -> list[_render.Column]:
    return [*map(_render.Column, words), *(_render.Column(title, number=True) for title in numbers)]


def _share(interval: Interval) -> str:
    return f"{interval.value:.1%} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _mean(interval: Interval) -> str:
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def _rows(each: DemoFlow) -> list[list[str]]:
    """A row a rule; what all of them have in common stands in the first."""
    total = each.best.total
    sessions = f"{each.flow.provenance.habit_episodes} of {each.given} + {each.best.episodes}"
    common = [each.domain, sessions, f"{total.turns:,}", f"{total.ceiling:,}"]
    rows: list[list[str]] = []
    for title, one in each.results.items():
        counts = [f"{number:,}" for number in (one.total.lookups, one.total.used, one.total.saved)]
        rows.append([*common, title, *counts, _share(one.saved), _mean(one.detours)])
        common = [""] * len(common)
    return rows


def demo_text(demo: Demo) -> str:
    """The demo's report: what was learned, what it looks up, and what that saved."""
    shown = next(each for each in demo.flows if each.domain == _SHOWN)
    rows = [row for each in demo.flows for row in _rows(each)]
    columns = [
        *_columns(("domain",), ("sessions", "turns", "ceiling")),
        *_columns(("rule",), ("lookups", "used", "saved", "share of turns", "detours a session")),
    ]
    return "\n".join(
        [
            "Recorded sessions of agents that serve customers. In each domain a flow is learned from the successful",
            "ones of one half of the customers and replayed on those of the other half (a of b + c), with a lookup",
            "wherever its score reaches 0.3. All of the agent's turns count, replies to the customer included; one is",
            "saved when lookups had answered all its calls. Intervals (95 %) resample customers. The first two rules",
            "are the original's; the third adds derived values, the user's words, and counts of what was used.",
            "",
            _render.table(columns, rows),
            "",
            f"What the {shown.domain} flow looks up, on the whole:",
            "",
            _looks_up(shown.flow),
            "",
            "What it comes to:",
            "",
            *(f"- {_verdict(each)}" for each in demo.flows),
            "",
            f"The whole review of a flow: stretto flow-show {shown.path}",
        ]
    )


def _looks_up(flow: Flow) -> str:
    """A row for each site at which a flow looks something up, histories pooled."""
    shown = show(flow)
    bindings = {each.lookup: each for each in shown.bindings}
    rows: list[list[str]] = []
    for site in shown.sites:
        one = site.reach
        if one is not None and one.verdict is Verdict.LOOKS_UP and one.lookup and one.chance is not None:
            numbers = [f"{number:.2f}" for number in (one.share, one.chance, one.score)]
            rows.append([site.site, one.lookup, *numbers, _sources(bindings[one.lookup], site.site)])
    columns = [
        *_columns(("after", "looks up"), ("tool", "arguments", "score")),
        _render.Column("values from"),
    ]
    return _render.table(columns, rows) or "nothing"


def _sources(binding: BindingShown, site: str) -> str:
    """Where each argument comes from: of several places, one in what the site's own tool returned goes first."""
    said: list[str] = []
    for each in binding.arguments:
        places = sorted(each.sources, key=lambda source: source.tool != site)
        said += [f"{each.argument}: {_place(source)}" for source in places[:1]]
    return "; ".join(said)


def _place(source: SourceShown) -> str:
    if source.kind == "spoken":
        return f"the user's words, like {source.path}"
    where = describe(source.path) if source.kind in ("derived", "record") else source.path
    return f"{source.tool} at {where}"


def _verdict(each: DemoFlow) -> str:
    best = each.best
    if not best.total.saved:
        return f"{each.domain}: nothing saved of {best.total.turns:,} turns; the ceiling is {best.total.ceiling:,}."
    return (
        f"{each.domain}: {best.total.saved:,} of {best.total.turns:,} turns saved, {_share(best.saved)} of all and"
        f" {best.of_ceiling.value:.0%} of the ceiling; {best.total.used:,} of {best.total.lookups:,} lookups used,"
        f" {_mean(best.detours)} detours a session."
    )


# --- for programs ---------------------------------------------------------------------------------------------


def demo_json(demo: Demo) -> JsonObject:
    """The same as JSON."""
    return {
        each.domain: {
            "flow": str(each.path),
            "sessions": {
                "given": each.given,
                "learned_from": each.flow.provenance.habit_episodes,
                "replayed": each.best.episodes,
            },
            "results": {title: one.as_json() for title, one in each.results.items()},
        }
        for each in demo.flows
    }


@click.command()
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    default=Path("demo-flows"),
    metavar="DIR",
    help="Where the flows are written. Default: ./demo-flows.",
)
@options.as_json
def demo(*, to: Path, as_json: bool) -> int:
    """Learn flows from real sessions, replay others; compile one procedure, and refuse another.

    Shows what a flow looks up after which call, and what that saves on the sessions of other customers; then sessions
    of one intent that become a procedure, and some that do not, with the reasons. Uses the sessions in examples and no
    network; takes a few seconds. What is made is written as files; doing it again changes nothing but the time in them.
    """
    sessions = shipped_flows()
    with _render.progress("learning and replaying", None) as done:
        found = run_demo(sessions, to, on_session=lambda: done(1))
    made, refused = compile_shipped(sessions.parent, to)
    if as_json:
        _render.document({**demo_json(found), "procedures": procedures_json(made, refused)})
    else:
        _render.out(demo_text(found))
        _render.out("")
        _render.out(procedures_text(made, refused, to))
    return EXIT_OK

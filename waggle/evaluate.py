"""Measuring: learn on some recorded sessions, replay others (`waggle.playback`), and count with intervals.

What is learned on one task is never measured on another session of it. Pure but for `Manager`, which is used without a
store.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from waggle._defaults import BOOTSTRAP_ROUNDS, MIN_SETTLED, MIN_USED_SHARE
from waggle.manager import Manager
from waggle.playback import Means, Score, call_of, directory_of, means_of, playback
from waggle.reach.counts import ReachCounts
from waggle.tools import ToolTable
from waggle.traces import Ended, Started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from waggle.calls import Call
    from waggle.config import ManagerConfig
    from waggle.routes import Route
    from waggle.session import Session
    from waggle.traces import Trace

__all__ = [
    "Interval",
    "Library",
    "Report",
    "Score",
    "bootstrap",
    "curated_library",
    "group_of",
    "learn",
    "measure",
    "play",
    "replay_trace",
    "split",
]


# --- groups and splits ----------------------------------------------------------------------------------------


def group_of(trace: Trace) -> str:
    """Whose memory a session belongs to: the host, and the repository it was recorded in where the source names one."""
    host = trace.agent.partition("/")[0]
    repository, found, _ = trace.source.partition(":")
    return f"{host} ({repository})" if found and repository.count("/") == 1 else host


def split(traces: Sequence[Trace], learn_share: float = 0.5) -> tuple[list[Trace], list[Trace]]:
    """Split sessions by task: the first tasks, in the order met, to learn on, and the rest to replay.

    Args:
        traces: sessions of one group.
        learn_share: share of the tasks to learn on, 0 to 1.

    Returns:
        Sessions to learn on, sessions to replay. No task is in both.
    """
    keys = list(dict.fromkeys(trace.split_key for trace in traces))
    known = set(keys[: round(len(keys) * learn_share)])
    return [t for t in traces if t.split_key in known], [t for t in traces if t.split_key not in known]


# --- learning -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Library:
    """What was learned from some sessions.

    Attributes:
        routes: in the order they were learned.
        counts: of what is read after what.
    """

    routes: tuple[Route, ...] = ()
    counts: ReachCounts = field(default_factory=ReachCounts)


def play(trace: Trace, session: Session) -> None:
    """Report a recorded session as a host would: starts and ends of calls in their order, then the end."""
    for event in trace.events():
        match event:
            case Started(step):
                session.start(step.call)
            case Ended(step) if step.result is not None:
                session.observe(call_of(step), step.result)
            case _:
                pass
    session.close()


def learn(
    traces: Iterable[Trace],
    config: ManagerConfig,
    tools: ToolTable | None = None,
    *,
    on_trace: Callable[[Trace], None] = lambda _: None,
) -> Library:
    """Learn routes from recorded sessions, one after another, as a manager does live.

    Args:
        traces: in the order in which they took place.
        config: the rules.
        tools: what is known of the host's tools.
        on_trace: called after each session.

    Returns:
        What was learned.
    """
    manager = Manager(replace(config, learn=True, replay=False), tools=tools)
    for number, trace in enumerate(traces):
        play(trace, manager.session(str(number), directory=directory_of(trace)))
        manager.end(str(number))
        manager.flush()
        on_trace(trace)
    return Library(tuple(manager.learned()), manager.counts())


def replay_trace(
    trace: Trace,
    library: Library,
    config: ManagerConfig,
    tools: ToolTable,
    means: Means,
    *,
    makes: Callable[[Call], bool] = lambda _: True,
) -> Score:
    """Replay one session against a fixed library; see `waggle.playback.playback`.

    Args:
        trace: the session.
        library: what was learned on others.
        config: caps and rules.
        tools: what is known of the host's tools.
        means: from `means_of` of the sessions learned on.
        makes: whether the host makes this lookup.
    """
    fixed = replace(config, learn=False, replay=True)
    manager = Manager(fixed, tools=tools, routes=library.routes, counts=library.counts)
    directory = directory_of(trace)
    session = manager.session(directory=directory)
    return playback(
        trace,
        session,
        tools,
        means,
        directory=directory,
        shell_forms=config.shell_forms,
        containment=config.containment,
        makes=makes,
    )


def curated_library(
    library: Library, traces: Iterable[Trace], config: ManagerConfig, tools: ToolTable, means: Means
) -> Library:
    """Replay a library on the sessions it was learned on, and switch off what curation would: chronic detours.

    These sessions are not new to it, so this keeps more than live use would.
    """
    lookups: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for trace in traces:
        score = replay_trace(trace, library, config, tools, means)
        lookups.update(score.fired)
        used.update(score.used_by)
    chronic = {name for name, made in lookups.items() if made >= MIN_SETTLED and used[name] < MIN_USED_SHARE * made}
    return replace(library, routes=tuple(route for route in library.routes if route.name not in chronic))


# --- reports --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Interval:
    """A share with its 95 % interval, from resampling tasks.

    Attributes:
        value: the share, 0 to 1.
        low: lower end.
        high: upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Report:
    """What a library showed on the sessions it had not seen.

    Attributes:
        group: whose memory, from `group_of`.
        rule: name of the rules it was learned by.
        learned_on: sessions learned on.
        routes: routes in the library.
        scores: one a replayed session.
        saved: share of turns saved.
    """

    group: str
    rule: str
    learned_on: int
    routes: int
    scores: tuple[Score, ...]
    saved: Interval

    def total(self, what: str) -> int:
        """Sum of one count of `Score` over the sessions."""
        return sum(getattr(score, what) for score in self.scores)

    @property
    def precision(self) -> float | None:
        """Share of lookups that were used; None without lookups."""
        lookups = self.total("lookups")
        return self.total("used") / lookups if lookups else None

    @property
    def detours_per_session(self) -> float:
        """Detours divided by sessions; 0 without sessions."""
        return self.total("detours") / len(self.scores) if self.scores else 0.0


def bootstrap(scores: Sequence[Score], *, seed: int = 0, rounds: int = BOOTSTRAP_ROUNDS) -> Interval:
    """Share of turns saved, with the interval that resampling whole tasks gives (percentile bootstrap, 95 %)."""
    by_task: dict[str, tuple[int, int]] = {}
    for score in scores:
        saved, turns = by_task.get(score.task, (0, 0))
        by_task[score.task] = (saved + score.saved, turns + score.turns)
    pairs = list(by_task.values())
    value = _share(pairs)
    draw = random.Random(seed)  # noqa: S311 - resampling, not a secret; seeded so that a report can be repeated
    shares = sorted(_share(draw.choices(pairs, k=len(pairs))) for _ in range(rounds)) if pairs else [0.0]
    return Interval(value, shares[int(0.025 * (len(shares) - 1))], shares[int(0.975 * (len(shares) - 1))])


def _share(pairs: Iterable[tuple[int, int]]) -> float:
    saved, turns = (sum(column) for column in zip(*pairs, strict=True)) if pairs else (0, 0)
    return saved / turns if turns else 0.0


def measure(
    group: str,
    rule: str,
    learn_on: Sequence[Trace],
    replay_on: Sequence[Trace],
    config: ManagerConfig,
    *,
    tools: ToolTable | None = None,
    curated: bool = False,
    on_trace: Callable[[Trace], None] = lambda _: None,
) -> tuple[Report, Library]:
    """Learn on some sessions, replay others, and count.

    Args:
        group: whose memory, for the report.
        rule: name of the rules, for the report.
        learn_on: sessions to learn on, in order.
        replay_on: other sessions; none may share a task with those.
        config: the rules.
        tools: what is known of the host's tools.
        curated: switch off what hardly answered a call of the sessions learned on, see `curated_library`.
        on_trace: called after each session, learned or replayed.

    Raises:
        ValueError: a task is on both sides.
    """
    tools = tools or ToolTable()
    if shared := {t.split_key for t in learn_on} & {t.split_key for t in replay_on}:
        raise ValueError(f"learned and measured on the same task: {min(shared)}")
    library = learn(learn_on, config, tools, on_trace=on_trace)
    means = means_of(learn_on, tools)
    if curated:
        library = curated_library(library, learn_on, config, tools, means)
    scores: list[Score] = []
    for trace in replay_on:
        scores.append(replay_trace(trace, library, config, tools, means))
        on_trace(trace)
    return Report(group, rule, len(learn_on), len(library.routes), tuple(scores), bootstrap(scores)), library

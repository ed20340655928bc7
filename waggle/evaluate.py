"""Replaying recorded sessions: how many turns a library of routes would have saved an agent that acts as recorded.

What is learned on one task is never measured on another session of it. A lookup is answered only by the call that the
agent itself made later, before its next write; every other lookup is a detour. A turn is an assistant message that
calls tools; it is saved only when all of its calls were answered before it.

Pure but for `Manager`, which is used without a store.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from waggle import jsonvalue
from waggle._defaults import BOOTSTRAP_ROUNDS, BYTES_PER_TOKEN
from waggle.calls import Effect, Outcome, Result
from waggle.manager import Manager
from waggle.tools import ToolTable
from waggle.traces import Ended, Started, split_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from waggle.calls import Call
    from waggle.config import ManagerConfig
    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.routes import Route
    from waggle.session import Session
    from waggle.traces import Trace, TraceStep

__all__ = [
    "Interval",
    "Report",
    "Score",
    "bootstrap",
    "group_of",
    "learn",
    "mean_result_tokens",
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


def play(trace: Trace, session: Session) -> None:
    """Report a recorded session as a host would: starts and ends of calls in their order, then the end."""
    for event in trace.events():
        match event:
            case Started(step):
                session.start(step.call)
            case Ended(step) if step.result is not None:
                session.observe(_call(step), step.result)
            case _:
                pass
    session.close()


def _call(step: TraceStep) -> Call:
    """The call as it can be judged: one whose arguments were cut in the recording may have done anything."""
    return replace(step.call, reads=False) if step.args_cut else step.call


def learn(
    traces: Iterable[Trace],
    config: ManagerConfig,
    tools: ToolTable | None = None,
    *,
    on_trace: Callable[[Trace], None] = lambda _: None,
) -> list[Route]:
    """Learn routes from recorded sessions, one after another, as a manager does live.

    Args:
        traces: in the order in which they took place.
        config: the rules.
        tools: what is known of the host's tools.
        on_trace: called after each session.

    Returns:
        Routes in the order they were learned.
    """
    manager = Manager(replace(config, learn=True, replay=False), tools=tools)
    for number, trace in enumerate(traces):
        play(trace, manager.session(str(number)))
        manager.end(str(number))
        on_trace(trace)
    return manager.learned()


# --- replay ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Score:
    """What one replayed session shows.

    Attributes:
        session: its id.
        task: the unit to resample by, `Trace.split_key`.
        turns: assistant messages that call tools.
        saved: turns all of whose calls were answered before them.
        ceiling: turns after the first whose calls all read, with every argument's value present in earlier results.
        lookups: made on the agent's behalf.
        used: lookups that answered a call.
        tokens_saved: for each saved turn, the context it would have read again, and its calls in every turn after it.
        tokens_spent: for each detour, its result in every turn after it; results of detours are not recorded, so each
            counts as the tool's mean.
        fired: lookups by route.
    """

    session: str
    task: str
    turns: int = 0
    saved: int = 0
    ceiling: int = 0
    lookups: int = 0
    used: int = 0
    tokens_saved: int = 0
    tokens_spent: int = 0
    fired: Mapping[str, int] = field(default_factory=dict)

    @property
    def detours(self) -> int:
        """Lookups the agent never asked for before its next write."""
        return self.lookups - self.used


def replay_trace(
    trace: Trace, routes: Sequence[Route], config: ManagerConfig, tools: ToolTable, mean_tokens: Mapping[str, float]
) -> Score:
    """Replay one session against a fixed library.

    Calls of one turn are all made before any of them answers, so a lookup can only answer a later turn; strategies are
    asked once a turn, after its last result.

    Args:
        trace: the session.
        routes: the library.
        config: caps and rules.
        tools: what is known of the host's tools.
        mean_tokens: from `mean_result_tokens` of the sessions learned on.
    """
    manager = Manager(replace(config, learn=False, replay=True), tools=tools, routes=routes)
    return _Replay(trace, tools, mean_tokens).score(manager.session())


class _Replay:
    """One walk through a recorded session."""

    def __init__(self, trace: Trace, tools: ToolTable, mean_tokens: Mapping[str, float]) -> None:
        self._trace = trace
        self._tools = tools
        self._mean_tokens = mean_tokens
        steps = trace.steps
        args = [_arguments(step.call, tools) for step in steps]
        self._writes = [
            step.args_cut or tools.effect(step.call.tool, given) is Effect.WRITE
            for step, given in zip(steps, args, strict=True)
        ]
        self._extents = [tools.extent(step.call.tool, given) for step, given in zip(steps, args, strict=True)]
        self._turns: dict[int, list[int]] = {}
        for index, step in enumerate(steps):
            self._turns.setdefault(step.turn, []).append(index)
        self._after = 0  # the first call that is still to come
        self._taken: set[int] = set()  # calls that a lookup answers
        self._made: list[tuple[Result, int | None]] = []  # result handed out, and the call it was taken from

    def score(self, session: Session) -> Score:
        steps = self._trace.steps
        saved = lookups = used = tokens_saved = tokens_spent = 0
        fired: dict[str, int] = defaultdict(int)
        context = 0
        for left, indexes in zip(range(len(self._turns) - 1, -1, -1), self._turns.values(), strict=True):
            made = sum(_call_tokens(steps[index].call) for index in indexes)
            still_open = [index for index in indexes if index not in self._taken]
            used += len(indexes) - len(still_open)
            if not still_open:
                saved += 1
                tokens_saved += context + made * left
            context += made + sum(_result_tokens(steps[index].result) for index in indexes)
            for index in still_open:
                session.start(_call(steps[index]))
            for index in still_open:
                session.observe(_call(steps[index]), steps[index].result or _NO_RESULT)
            self._after = indexes[-1] + 1
            fold = session.follow(self._run) if still_open else None
            for lookup in fold.lookups if fold else ():
                lookups += 1
                fired[lookup.source] += 1
                answer = next(index for result, index in self._made if result is lookup.result)
                if answer is None:
                    mean = self._mean_tokens.get(lookup.tool, self._mean_tokens.get("", 0.0))
                    tokens_spent += round(mean * left)
                else:
                    self._taken.add(answer)
            self._made.clear()
        return Score(
            self._trace.session,
            self._trace.split_key,
            len(self._turns),
            saved,
            self._ceiling(),
            lookups,
            used,
            tokens_saved,
            tokens_spent,
            dict(fired),
        )

    def _run(self, tool: str, args: dict[str, Any]) -> Result:
        """Answer a lookup from the agent's own next such call, if one comes before its next write."""
        given = {name: jsonvalue.to_json(value)[0] for name, value in args.items()}
        extent = self._tools.extent(tool, given)
        answer: int | None = None
        for index in range(self._after, len(self._extents)):
            if self._writes[index]:
                break
            recorded = self._trace.steps[index].result
            if self._extents[index] == extent and index not in self._taken and recorded and recorded.ok:
                answer = index
                break
        recorded = self._trace.steps[answer].result if answer is not None else None
        result = replace(recorded) if recorded else Result(cut=True)  # a copy, to be told from every other
        self._made.append((result, answer))
        return result

    def _ceiling(self) -> int:
        """Turns after the first whose calls all read, with every argument's value present in earlier results."""
        steps, count, seen = self._trace.steps, 0, ""
        for number, indexes in enumerate(self._turns.values()):
            calls = [steps[index] for index in indexes]
            if number and all(self._in_reach(step, seen) for step in calls):
                count += 1
            seen += "\n".join(["", *(step.result.text for step in calls if step.result)])
        return count

    def _in_reach(self, step: TraceStep, seen: str) -> bool:
        args = _arguments(step.call, self._tools)
        return (
            not step.args_cut
            and self._tools.may_repeat(step.call.tool, args)
            and all(_present(value, seen) for value in args.values())
        )


_NO_RESULT = Result(ok=False, outcome=Outcome.ABORTED)


def _arguments(call: Call, tools: ToolTable) -> JsonObject:
    return tools.essential(call.tool, {name: jsonvalue.to_json(value)[0] for name, value in call.args.items()})


def _present(value: JsonValue, seen: str) -> bool:
    """Whether a value could have been taken from earlier results; a flag, or nothing, needs no source."""
    match value:
        case None | bool() | "":
            return True
        case str():
            return value in seen
        case list():
            return all(_present(item, seen) for item in value)
        case dict():
            return all(_present(item, seen) for item in value.values())
        case _:
            return re.search(rf"(?<!\d){re.escape(str(value))}(?!\d)", seen) is not None


def _call_tokens(call: Call) -> int:
    return len(jsonvalue.dumps(jsonvalue.to_json(dict(call.args))[0])) // BYTES_PER_TOKEN


def _result_tokens(result: Result | None) -> int:
    """Length of a result as the agent read it, what the recording left out included."""
    return result.est_tokens + split_cut(result.text)[1] // BYTES_PER_TOKEN if result else 0


def mean_result_tokens(traces: Iterable[Trace], tools: ToolTable) -> dict[str, float]:
    """Mean length of the results of successful reads in estimated tokens, by tool; ``""`` is the mean over all."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for trace in traces:
        for step in trace.steps:
            reads = tools.effect(step.call.tool, _arguments(step.call, tools)) is Effect.READ
            if reads and step.result and step.result.ok:
                for key in (step.call.tool, ""):
                    totals[key][0] += _result_tokens(step.result)
                    totals[key][1] += 1
    return {tool: total / count for tool, (total, count) in totals.items()}


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
    on_trace: Callable[[Trace], None] = lambda _: None,
) -> tuple[Report, list[Route]]:
    """Learn on some sessions, replay others, and count.

    Args:
        group: whose memory, for the report.
        rule: name of the rules, for the report.
        learn_on: sessions to learn on, in order.
        replay_on: other sessions; none may share a task with those.
        config: the rules.
        tools: what is known of the host's tools.
        on_trace: called after each session, learned or replayed.

    Raises:
        ValueError: a task is on both sides.
    """
    tools = tools or ToolTable()
    if shared := {t.split_key for t in learn_on} & {t.split_key for t in replay_on}:
        raise ValueError(f"learned and measured on the same task: {min(shared)}")
    routes = learn(learn_on, config, tools, on_trace=on_trace)
    mean_tokens = mean_result_tokens(learn_on, tools)
    scores: list[Score] = []
    for trace in replay_on:
        scores.append(replay_trace(trace, routes, config, tools, mean_tokens))
        on_trace(trace)
    return Report(group, rule, len(learn_on), len(routes), tuple(scores), bootstrap(scores)), routes

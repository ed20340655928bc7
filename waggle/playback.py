"""Replaying one recorded session: how many turns a library would have saved an agent that acts as recorded.

A call of the agent is answered when lookups made since its last write cover what it asks for, alone or together with
what it has read itself; every lookup that answers no call is a detour. A turn is an assistant message that calls tools;
it is saved only when all of its calls were answered before it. Calls of one turn are all made before any of them
answers, so a lookup can only answer a later turn.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue
from waggle._defaults import BYTES_PER_TOKEN
from waggle.calls import Call, Effect, Outcome, Result, Step
from waggle.extents import Coverage, Extent, Extents
from waggle.traces import split_cut
from waggle.values import Content

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.replay import Lookup
    from waggle.session import Session
    from waggle.tools import ToolTable
    from waggle.traces import Trace, TraceStep

__all__ = ["Means", "Score", "arguments_of", "call_of", "directory_of", "means_of", "playback"]


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
        tokens_spent: for each detour, its result in every turn after it; for each used lookup, what it shows beyond the
            calls that it answers. Results of lookups are not recorded, so each counts as long as its lines are on
            average, or as the tool's mean.
        fired: lookups by route.
        used_by: of these, used.
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
    used_by: Mapping[str, int] = field(default_factory=dict)

    @property
    def detours(self) -> int:
        """Lookups the agent never asked for before its next write."""
        return self.lookups - self.used


@dataclass(frozen=True, slots=True)
class Means:
    """How long results are, from the sessions learned on.

    Attributes:
        tokens: mean length of a successful read's result in estimated tokens, by tool; ``""`` is the mean over all.
        line_tokens: mean length of a line of a file, by tool.
        longest: longest result that the host let through, in characters, by tool.
    """

    tokens: Mapping[str, float]
    line_tokens: Mapping[str, float]
    longest: Mapping[str, int]


def call_of(step: TraceStep) -> Call:
    """The call as it can be judged: one whose arguments were cut in the recording may have done anything."""
    return replace(step.call, reads=False) if step.args_cut else step.call


@dataclass(slots=True)
class _Made:
    """A lookup that was made."""

    lookup: Lookup
    left: int  # turns after it
    tokens: float  # length of its result, estimated
    answered: int = 0  # tokens of the calls that it answered
    used: bool = False

    def spent(self) -> float:
        """Tokens that it costs: all of a detour; of what was used, what it shows beyond the calls it answers."""
        return (max(self.tokens - self.answered, 0) if self.used else self.tokens) * self.left


class _Recorded:
    """A trace's calls as steps, with what their answers cover."""

    def __init__(self, trace: Trace, tools: ToolTable, directory: str, *, shell_forms: bool, containment: bool) -> None:
        self.steps: list[Step] = []
        self.results = [step.result or _NO_RESULT for step in trace.steps]
        self.extents: list[tuple[Extent, ...]] = []
        self.turns: dict[int, list[int]] = {}
        self._where = Extents(tools, directory, containment=containment)
        self._tools = tools
        self._shell_forms = shell_forms
        for index, step in enumerate(trace.steps):
            args = arguments_of(step.call, tools)
            form, values = tools.spoken(step.call.tool, args) if shell_forms and not step.args_cut else ("", args)
            effect = Effect.WRITE if step.args_cut else tools.effect(step.call.tool, args)
            outcome = self.results[index].outcome or Outcome.OK
            self.steps.append(Step(index, step.call.tool, values, outcome, effect, form=form))
            self.extents.append(self.covered(self.steps[-1]) if effect is Effect.READ else ())
            self.turns.setdefault(step.turn, []).append(index)

    def covered(self, step: Step) -> tuple[Extent, ...]:
        """What a read's answer covers."""
        return self._where.of_step(step)

    def step_of(self, tool: str, args: JsonObject) -> Step:
        """A lookup as a step."""
        form, values = self._tools.spoken(tool, args) if self._shell_forms else ("", args)
        return Step(0, tool, values, form=form)


_NO_RESULT: Final = Result(ok=False, outcome=Outcome.ABORTED)


def playback(
    trace: Trace,
    session: Session,
    tools: ToolTable,
    means: Means,
    *,
    directory: str = "",
    shell_forms: bool = True,
    containment: bool = True,
    makes: Callable[[Call], bool] = lambda _: True,
) -> Score:
    """Replay one session; strategies are asked once a turn, after its last result.

    Args:
        trace: the session.
        session: follows it, with a fixed library.
        tools: what is known of the host's tools.
        means: from `means_of` of the sessions learned on.
        directory: where the session's relative paths count from.
        shell_forms: read shell commands as structured reads.
        containment: a lookup answers what it covers; off, only the very same call.
        makes: whether the host makes this lookup; one that it does not make fails, and counts for nothing.
    """
    recorded = _Recorded(trace, tools, directory, shell_forms=shell_forms, containment=containment)
    return _Playback(trace, recorded, means, makes).score(session, tools)


class _Playback:
    """One walk through a recorded session."""

    def __init__(self, trace: Trace, recorded: _Recorded, means: Means, makes: Callable[[Call], bool]) -> None:
        self._trace = trace
        self._recorded = recorded
        self._means = means
        self._makes = makes
        self._made: dict[int, _Made] = {}  # by number; those since the last write can still be used
        self._all: list[_Made] = []
        self._known = Coverage()  # what was read or looked up since the last write
        self._own = Coverage()  # what the agent read itself
        self._next = 0

    def score(self, session: Session, tools: ToolTable) -> Score:
        recorded, steps = self._recorded, self._trace.steps
        saved = tokens_saved = context = 0
        lefts = range(len(recorded.turns) - 1, -1, -1)
        messages = _message_tokens(self._trace)
        for left, (turn, indexes) in zip(lefts, recorded.turns.items(), strict=True):
            made = sum(_call_tokens(steps[index].call) for index in indexes)
            context += messages.get(turn, 0)
            still_open = [index for index in indexes if not self._answered(index)]
            if not still_open:
                saved += 1
                tokens_saved += context + made * left
            context += made + sum(_result_tokens(steps[index].result) for index in indexes)
            for index in still_open:
                session.start(call_of(steps[index]))
            for index in still_open:
                session.observe(call_of(steps[index]), steps[index].result or _NO_RESULT)
                self._note(index)
            if still_open:
                self._follow(session, indexes[-1] + 1, left)
        fired = Counter(made.lookup.source for made in self._all)
        spent = sum(made.spent() for made in self._all)
        return Score(
            self._trace.session,
            self._trace.split_key,
            len(recorded.turns),
            saved,
            _ceiling(self._trace, tools),
            len(self._all),
            sum(made.used for made in self._all),
            tokens_saved,
            round(spent),
            dict(fired),
            dict(Counter(made.lookup.source for made in self._all if made.used)),
        )

    def _answered(self, index: int) -> bool:
        """Whether a call was answered before it was made; the agent's own reads alone are no answer of ours."""
        result = self._recorded.results[index]
        extents = self._wanted(self._recorded.steps[index].tool, self._recorded.extents[index])
        if not extents or not result.ok or self._own.find(extents) is not None:
            return False
        numbers = self._known.find(extents)
        if numbers is None:
            return False
        for number in numbers:
            if made := self._made.get(number):
                made.used = True
                made.answered += _result_tokens(result)
        self._own.add(self._offered(self._recorded.steps[index].tool, self._recorded.extents[index]), 0)
        return True

    def _note(self, index: int) -> None:
        """Take in a call that the agent made itself."""
        step = self._recorded.steps[index]
        if step.effect is Effect.WRITE:
            self._known.clear()
            self._own.clear()
            self._made.clear()
        elif step.reads and step.ok:
            self._next += 1
            extents = self._offered(step.tool, self._recorded.extents[index])
            self._known.add(extents, self._next)
            self._own.add(extents, self._next)

    def _follow(self, session: Session, after: int, left: int) -> None:
        handed: dict[int, tuple[Extent, ...]] = {}

        def run(tool: str, args: dict[str, Any]) -> Result:
            given = {name: jsonvalue.to_json(value)[0] for name, value in args.items()}
            if not self._makes(Call(tool, given)):
                return Result(ok=False)
            extents = self._recorded.covered(self._recorded.step_of(tool, given))
            result = self._likely_answer(extents, after)
            handed[id(result)] = extents
            return result

        fold = session.follow(run)
        for lookup in fold.lookups if fold else ():
            if id(lookup.result) not in handed:  # it was not made
                continue
            extents = handed[id(lookup.result)]
            made = _Made(lookup, left, self._length(lookup, extents))
            self._next += 1
            self._all.append(made)
            self._made[self._next] = made
            self._known.add(self._offered(lookup.tool, extents), self._next)

    def _likely_answer(self, extents: tuple[Extent, ...], after: int) -> Result:
        """The result of the agent's own next read, before its next write, that a lookup covers; else nothing."""
        recorded = self._recorded
        for index in range(after, len(recorded.steps)):
            if recorded.steps[index].effect is Effect.WRITE:
                break
            wanted, result = recorded.extents[index], recorded.results[index]
            if wanted and result.ok and all(any(one.covers(each) for one in extents) for each in wanted):
                return replace(result)  # a copy, to be told from every other
        return Result(cut=True)

    def _offered(self, tool: str, extents: tuple[Extent, ...]) -> tuple[Extent, ...]:
        """What an answer covers, as far as the host's longest result reaches; of a whole file also "the whole file"."""
        lines = self._lines(tool)
        cut = [each._replace(last=min(each.last, each.first + lines)) if each.first > 0 else each for each in extents]
        return (*cut, *(_whole(each) for each in extents if each.last - each.first > lines))

    def _wanted(self, tool: str, extents: tuple[Extent, ...]) -> tuple[Extent, ...]:
        """What a call asks for: of more lines than the host can show, "the whole file"."""
        lines = self._lines(tool)
        return tuple(_whole(each) if each.last - each.first > lines else each for each in extents)

    def _lines(self, tool: str) -> float:
        """Lines that the longest result holds which the host let through; no limit where none was seen."""
        chars = self._means.longest.get(tool, 0)
        return chars / BYTES_PER_TOKEN / self._means.line_tokens.get(tool, _LINE_TOKENS) if chars else math.inf

    def _length(self, lookup: Lookup, extents: tuple[Extent, ...]) -> float:
        """Tokens of a lookup's result, estimated."""
        means = self._means
        lines = sum(each.last - each.first + 1 for each in extents)
        mean = means.tokens.get(lookup.tool, means.tokens.get("", 0.0))
        if 0 < lines < _MANY_LINES:
            return min(lines, self._lines(lookup.tool)) * means.line_tokens.get(lookup.tool, _LINE_TOKENS)
        return mean


def _whole(extent: Extent) -> Extent:
    return extent._replace(resource=("whole", extent.resource))


_LINE_TOKENS: Final = 10.0  # of a line of code, where none was seen
_MANY_LINES: Final = 1000  # lines: a longer range is a whole file, whose length nobody knows


# --- what a trace says -----------------------------------------------------------------------------------------------


def directory_of(trace: Trace) -> str:
    """Where a session's relative paths count from: as recorded, else the folder that most of its paths agree on.

    A host knows this and says so; most recordings do not. A path that a call names in full and a result names in short
    differ by it. Empty when nothing tells.
    """
    if trace.cwd:
        return trace.cwd
    full, short = _paths_in(trace)
    votes: Counter[str] = Counter()
    for path in sorted(short):
        for candidate, count in full.get(posixpath.basename(path), Counter()).items():
            if candidate.endswith(f"/{path}"):
                votes[candidate.removesuffix(f"/{path}")] += count
    return max(sorted(votes), key=votes.__getitem__) if votes else ""


def _paths_in(trace: Trace) -> tuple[dict[str, Counter[str]], set[str]]:
    """Paths that calls name in full, by their last part, and paths that results name in short."""
    full: dict[str, Counter[str]] = defaultdict(Counter)
    short: set[str] = set()
    for step in trace.steps:
        texts = [value[:_TEXT_CHARS] for value in step.call.args.values() if isinstance(value, str)]
        for path in (path for text in texts for path in _FULL_PATH.findall(text)):
            full[posixpath.basename(path)][path.rstrip("/")] += 1
        named = Content({}, step.result).files[:_NAMED] if step.result else ()
        paths = {posixpath.normpath(each.path) for each in named if each.path}
        short |= {path for path in paths if "/" in path and not path.startswith(("/", ".."))}
    return full, short


_FULL_PATH: Final = re.compile(r"/[\w./@+-]+")
_TEXT_CHARS: Final = 4000  # of an argument that are looked through
_NAMED: Final = 30  # files of a result that are looked at


def arguments_of(call: Call, tools: ToolTable) -> JsonObject:
    """The arguments of a recorded call that matter, as JSON values."""
    return tools.essential(call.tool, {name: jsonvalue.to_json(value)[0] for name, value in call.args.items()})


def _message_tokens(trace: Trace) -> dict[int, int]:
    """Tokens of what was said since the turn before, by turn: it is read again in every turn from there on."""
    turns = [(step.started, step.turn) for step in trace.steps]
    tokens: dict[int, int] = defaultdict(int)
    for message in trace.messages:
        turn = next((turn for started, turn in turns if started > message.at), None)
        if turn is not None:
            tokens[turn] += len(message.text) // BYTES_PER_TOKEN
    return tokens


def _ceiling(trace: Trace, tools: ToolTable) -> int:
    """Turns after the first whose calls all read, with every argument's value present in earlier results."""
    turns: dict[int, list[TraceStep]] = {}
    for step in trace.steps:
        turns.setdefault(step.turn, []).append(step)
    count, seen = 0, ""
    for number, calls in enumerate(turns.values()):
        if number and all(_in_reach(step, seen, tools) for step in calls):
            count += 1
        seen += "\n".join(["", *(step.result.text for step in calls if step.result)])
    return count


def _in_reach(step: TraceStep, seen: str, tools: ToolTable) -> bool:
    args = arguments_of(step.call, tools)
    if step.args_cut or not tools.may_repeat(step.call.tool, args):
        return False
    return all(_present(value, seen) for value in tools.spoken(step.call.tool, args)[1].values())


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


def means_of(traces: Iterable[Trace], tools: ToolTable) -> Means:
    """How long results of successful reads are."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    lines: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    longest: dict[str, int] = defaultdict(int)
    where = Extents(tools)
    for trace in traces:
        for step in trace.steps:
            args = arguments_of(step.call, tools)
            if not step.result or not step.result.ok or tools.effect(step.call.tool, args) is not Effect.READ:
                continue
            tokens = _result_tokens(step.result)
            for key in (step.call.tool, ""):
                sums[key][0] += tokens
                sums[key][1] += 1
            longest[step.call.tool] = max(longest[step.call.tool], tokens * BYTES_PER_TOKEN)
            form, values = tools.spoken(step.call.tool, args)
            if where.shown(Step(0, step.call.tool, values, form=form)).kind == "lines":
                lines[step.call.tool][0] += step.result.est_tokens
                lines[step.call.tool][1] += max(step.result.text.count("\n"), 1)
    return Means(
        {tool: total / count for tool, (total, count) in sums.items()},
        {tool: max(total / count, 1.0) for tool, (total, count) in lines.items()},
        dict(longest),
    )

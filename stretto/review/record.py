"""A recorded session as replay needs it: its turns and calls in order, and what a lookup would have returned.

Replay has no tools, only the record. A lookup therefore gets the result of the agent's own next call with the same
arguments, if one comes before the agent's next write: nothing changed in between, so that is what the tool would have
said. Otherwise it gets a **stand-in**, the nearest recorded result of the same tool, which lets the flow go on but
never counts as an answer. Not responsible for what is saved by it; see `stretto.review.scoring`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.bindings.results import Output
from stretto.sessions.episode import Assistant, ToolCall, ToolResult, User
from waggle import jsonvalue
from waggle._defaults import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Kind, Manifest
    from waggle.jsonvalue import JsonValue

__all__ = ["Answer", "CallKey", "Record", "RecordedCall", "RecordedTurn", "key_of", "tokens_of"]

#: Equal for two calls of the same tool with the same arguments as JSON.
CallKey: TypeAlias = tuple[str, bytes]


def key_of(tool: str, arguments: JsonValue) -> CallKey:
    """The identity of a call."""
    return tool, jsonvalue.canonical(arguments)


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def tokens_of(text: str) -> int:
    """Length of a text in tokens, estimated at four bytes a token."""
    return _bytes_of(text) // BYTES_PER_TOKEN


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of the agent.

    Attributes:
        place: among the episode's calls, from 0.
        turn: among the episode's turns, from 0.
        call: the call.
        result: what it returned, None if that was not recorded.
        kind: of its tool.
        key: its identity.
    """

    place: int
    turn: int
    call: ToolCall
    result: ToolResult | None
    kind: Kind
    key: CallKey


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One assistant message: a reply to the user when it makes no calls.

    Attributes:
        number: among the episode's turns, from 0; -1 for the greeting, which is no turn.
        text: what was said in it.
        calls: in order.
        read: tokens of context the model read for it: as the host recorded them, else estimated from what was said,
            called and returned before, and the prompt's length as far as it is given.
        made: tokens of its calls, estimated.
    """

    number: int
    text: str
    calls: tuple[RecordedCall, ...]
    read: int
    made: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a lookup would have returned.

    Attributes:
        error: the tool reports an error.
        content: as text.
        tokens: its length, estimated; of a tool that the record never shows, the mean over all results.
        own: the agent's own call whose result it is; None for a stand-in.
        output: the result, read as values; None where it failed or there is none.
    """

    error: bool
    content: str
    tokens: int
    own: RecordedCall | None = None
    output: Output | None = None


#: What a tool returns that the record never shows: nothing can be bound from it.
_NOTHING: Final = "null"


class Record:
    """One episode, read for replay.

    Args:
        episode: the session.
        manifest: tells which calls write.
        prompt_tokens: length of the system prompt and the tools' descriptions, for turns whose context is estimated.

    Attributes:
        episode: the session.
        steps: what the user said and the agent's turns, in order.
        turns: the agent's turns, replies included, the greeting left out.
        calls: the agent's calls, in order.
        outputs: by place of the call: its successful result, read as values when it is first asked for.
    """

    def __init__(self, episode: Episode, manifest: Manifest, *, prompt_tokens: int = 0) -> None:
        self.episode = episode
        self._prompt = prompt_tokens
        self.steps: list[User | RecordedTurn] = []
        self.turns: list[RecordedTurn] = []
        self.calls: list[RecordedCall] = []
        self.outputs: dict[int, Output] = {}
        self._by_key: defaultdict[CallKey, list[int]] = defaultdict(list)
        self._by_tool: defaultdict[str, list[int]] = defaultdict(list)
        self._read(manifest)
        self._next_write = self._writes()
        self._mean = self._index()

    def _read(self, manifest: Manifest) -> None:
        results = self.episode.results()
        context = 0  # bytes said, called and returned so far
        events = self.episode.events
        for position, event in enumerate(events):
            if isinstance(event, User):
                self.steps.append(event)
                context += _bytes_of(event.text)
            elif isinstance(event, ToolResult):
                context += _bytes_of(event.content)
            else:
                greets = position == 0 and not event.calls and isinstance(events[1] if events[1:] else None, User)
                turn, size = self._turn(event, -1 if greets else len(self.turns), context, results, manifest)
                self.steps.append(turn)
                if not greets:
                    self.turns.append(turn)
                    self.calls.extend(turn.calls)
                context += size

    def _turn(
        self, event: Assistant, number: int, context: int, results: dict[str, ToolResult], manifest: Manifest
    ) -> tuple[RecordedTurn, int]:
        calls = tuple(
            RecordedCall(
                place,
                number,
                call,
                results.get(call.id),
                manifest.kind(call.name),
                key_of(call.name, call.arguments),
            )
            for place, call in enumerate(event.calls, len(self.calls))
        )
        made = sum(len(name) + len(arguments) for name, arguments in (each.key for each in calls))
        read = event.usage.prompt_tokens if event.usage else self._prompt + context // BYTES_PER_TOKEN
        turn = RecordedTurn(number, event.text or "", calls, read, made // BYTES_PER_TOKEN)
        return turn, made + _bytes_of(turn.text)

    def _writes(self) -> list[int]:
        """For each call the place of the agent's next write after it."""
        places = [len(self.calls)] * len(self.calls)
        following = len(self.calls)
        for each in reversed(self.calls):
            places[each.place] = following
            if each.kind == "write":
                following = each.place
        return places

    def _index(self) -> int:
        """List the calls that returned, by identity and by tool; the mean length of their results, in tokens."""
        lengths: list[int] = []
        for each in self.calls:
            if each.result is None:
                continue
            self._by_key[each.key].append(each.place)
            self._by_tool[each.call.name].append(each.place)
            lengths.append(tokens_of(each.result.content))
            if not each.result.error:
                self.outputs[each.place] = Output(each.place, each.call.name, each.result.content)
        return round(sum(lengths) / len(lengths)) if lengths else 0

    @property
    def unit(self) -> str:
        """What to resample by where nothing else is said: the task, within its domain."""
        return f"{self.episode.domain}:{self.episode.task}"

    def left(self, turn: int) -> int:
        """Turns that come after a turn."""
        return len(self.turns) - 1 - turn

    def own_call(self, key: CallKey, after: int) -> RecordedCall | None:
        """The agent's next call of this identity, if it has a result and comes before the agent's next write.

        Args:
            key: of the call.
            after: place of the latest call that was made.
        """
        places = self._by_key.get(key)
        if not places:
            return None
        at = bisect_left(places, after + 1)
        return self.calls[places[at]] if at < len(places) and places[at] < self._next_write[after] else None

    def answer(self, key: CallKey, after: int) -> Answer:
        """What a lookup returns; see the module. Of two results that are equally near, the earlier stands in.

        Args:
            key: of the lookup.
            after: place of the call after which it is made.
        """
        own = self.own_call(key, after)
        if own is not None:
            return self._answer(own.place, own)
        places = self._by_tool.get(key[0])
        if not places:
            return Answer(error=False, content=_NOTHING, tokens=self._mean)
        at = bisect_left(places, after + 1)
        return self._answer(min(places[max(at - 1, 0) : at + 1], key=lambda place: abs(place - after)), None)

    def _answer(self, place: int, own: RecordedCall | None) -> Answer:
        result = self.calls[place].result
        assert result is not None  # noqa: S101 - only calls with a result are listed; this tells the type checker
        return Answer(result.error, result.content, tokens_of(result.content), own, self.outputs.get(place))

"""A sample of the sessions, small enough to hold, from which the numbers are fitted that need more than counts.

The concentration depends on the order of the sessions, features are chosen by cross-validation, the gate looks at whole
sessions: none of these can be summed over parts. They are computed from the sample instead. Up to its size it is all
sessions; above, those with the smallest hashes of their ids, whatever was added when and where, so that the samples of
parts, merged, are the sample of the whole. Not responsible for what is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto._defaults import SAMPLE_CHARS, SAMPLE_EPISODES
from stretto.model.alphabet import Step, symbol
from stretto.sessions.episode import Assistant, ToolResult
from waggle.jsonvalue import may_be_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stretto.model.alphabet import Vocabulary
    from stretto.model.features import FeatureMap
    from stretto.sessions.episode import Episode, ToolCall

__all__ = ["FOLDS", "Choice", "Sample", "SampledEpisode", "choices_of", "fold_of"]

#: Parts for cross-validation.
FOLDS: Final = 5

_OWN: Final = "stretto-"  # what the ids of a flow's own lookups begin with, after the server's name in merged sessions
_SERVER: Final = "::"


def fold_of(task: str) -> int:
    """The fold of a task, 0 to 4; the same in every process."""
    return _hash(task) % FOLDS


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


class Choice(NamedTuple):
    """A point at which the agent chose with all answers of its turn in.

    Attributes:
        before: place of the step before the last among the episode's steps; -1 where there is none.
        last: place of the step that returned last.
        took: the first call of the next turn; None for a reply, and when the user spoke.
    """

    before: int
    last: int
    took: str | None


def choices_of(episode: Episode) -> tuple[Choice, ...]:
    """Where the agent chose: after each result that is followed by something other than a result.

    Left out are points at which a flow that was served then made a lookup: what the agent would have done is not known.
    The history is the one a served flow sees: of the turn, the calls that have returned, and last the one that did so
    last.
    """
    choices: list[Choice] = []
    turn: dict[str, int] = {}  # places of the turn's calls
    returned: set[int] = set()
    start = steps = 0
    for event, following in zip(episode.events, episode.events[1:], strict=False):
        if isinstance(event, Assistant):
            start, returned = steps, set()
            turn = {call.id: start + place for place, call in enumerate(event.calls)}
            steps += max(1, len(event.calls))
        elif isinstance(event, ToolResult):
            last = turn.pop(event.call_id, None)
            if last is None:
                continue
            if not isinstance(following, ToolResult):
                called = following.calls[0] if isinstance(following, Assistant) and following.calls else None
                if called is None or not _is_own(called):
                    choices.append(Choice(max(returned, default=start - 1), last, called.name if called else None))
            returned.add(last)
    return tuple(choices)


def _is_own(call: ToolCall) -> bool:
    return call.id.rpartition(_SERVER)[2].startswith(_OWN)


@dataclass(frozen=True, slots=True)
class SampledEpisode:
    """What is kept of an episode.

    Attributes:
        id: of the session.
        task: the unit to split by.
        steps: in order; their contents only where they may be JSON, and the first `SAMPLE_CHARS` characters of those.
        choices: where the agent chose.
        whole: the episode itself, where it has no more than `SAMPLE_CHARS` characters of results.
    """

    id: str
    task: str
    steps: tuple[Step, ...]
    choices: tuple[Choice, ...]
    whole: Episode | None = None


def _sampled(episode: Episode, steps: Iterable[Step]) -> SampledEpisode:
    """What is kept; an output that no longer fits is left out whole."""
    left = SAMPLE_CHARS
    kept: list[Step] = []
    for step in steps:
        content = step.content
        if content is None or (len(content) <= left and may_be_json(content)):
            left -= len(content or "")
            kept.append(step)
        else:
            kept.append(Step(step.tool, step.outcome))
    size = sum(len(event.content) for event in episode.events if isinstance(event, ToolResult))
    whole = episode if size <= SAMPLE_CHARS else None
    return SampledEpisode(episode.id, episode.task, tuple(kept), choices_of(episode), whole)


class Sample:
    """Episodes with the smallest hashes of their ids, in the order in which they were added.

    Args:
        size: episodes kept, at least 1.
    """

    __slots__ = ("_added", "_kept", "_largest", "size")

    def __init__(self, size: int = SAMPLE_EPISODES) -> None:
        self.size = size
        self._kept: dict[int, SampledEpisode] = {}  # by place among all that were added
        self._largest: list[tuple[int, int]] = []  # a heap of (-hash, -place): of equal ids, the later goes first
        self._added = 0

    @property
    def episodes(self) -> tuple[SampledEpisode, ...]:
        """The episodes, in order."""
        return tuple(self._kept.values())

    def first(self, count: int) -> list[str]:
        """Ids of the episodes with the smallest hashes, at most so many; in no other order than that of the hashes."""
        return sorted((episode.id for episode in self.episodes), key=_hash)[:count]

    def add(self, episode: Episode, steps: Iterable[Step]) -> None:
        """Take in an episode that is learned from. Of one that is not kept, nothing but the id is looked at.

        Args:
            episode: the episode.
            steps: its steps.
        """
        if self._admits(episode.id):
            self._keep(_sampled(episode, steps))

    def merge(self, other: Sample) -> None:
        """Take in the sample of later sessions."""
        for episode in other.episodes:
            if self._admits(episode.id):
                self._keep(episode)

    def _admits(self, key: str) -> bool:
        self._added += 1
        return len(self._kept) < self.size or _hash(key) < -self._largest[0][0]

    def _keep(self, episode: SampledEpisode) -> None:
        self._kept[self._added] = episode
        heappush(self._largest, (-_hash(episode.id), -self._added))
        if len(self._kept) > self.size:
            del self._kept[-heappop(self._largest)[1]]

    def symbols(self, vocabulary: Vocabulary, features: FeatureMap) -> list[list[int]]:
        """The symbols of each episode's steps."""
        action, number = vocabulary.action, cache(features.id_of)  # outputs repeat from session to session
        return [
            [
                symbol(action(step.tool), step.outcome, number(step.tool, step.content) if step.tool else 0)
                for step in episode.steps
            ]
            for episode in self._kept.values()
        ]

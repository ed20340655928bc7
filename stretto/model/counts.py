"""Counts of what followed short histories, and the chances that follow from them.

A history is a sequence of symbols (`stretto.model.alphabet`); its contexts are its last 0, 1, … k symbols, padded on
the left. Two events are counted in the same way: *was the next action* (the habit) and *happened before the next write*
(reach). Counts add, so the counts of parts are those of the whole; of weight 1 they are whole numbers, and adding them
is exact.

Many sessions are counted as `Successions`, which hold each count once, and made into `Habit` and reach at the end;
a session that unfolds may be counted step by step with `observe`. Not responsible for what is a step or a symbol.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from stretto.model.alphabet import SYMBOLS, action_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

__all__ = [
    "ORDER",
    "PADDING",
    "Backoff",
    "Context",
    "Habit",
    "Successions",
    "Tally",
    "context",
    "half_life_weights",
]

#: Symbols of the longest context.
ORDER: Final = 2

#: Stands before the first step.
PADDING: Final = 2**32 - 1

Context: TypeAlias = tuple[int, ...]

#: Two symbols, the later one last, and the action that goes with them.
Succession: TypeAlias = tuple[int, int, int]

_Key = TypeVar("_Key")


def context(history: Sequence[int], length: int) -> Context:
    """The last `length` symbols of a history, padded on the left where it is shorter."""
    known = tuple(history[-length:]) if length else ()
    return known if len(known) == length else (PADDING,) * (length - len(known)) + known


@dataclass(slots=True)
class Tally:
    """What was counted in one context: how often it was seen, and each action's count."""

    total: float = 0
    by_action: dict[int, float] = field(default_factory=dict)

    def add(self, actions: Iterable[int], weight: float = 1) -> None:
        """Count one visit of the context and the actions that go with it."""
        self.total += weight
        for action in actions:
            self.by_action[action] = self.by_action.get(action, 0) + weight

    def merge(self, other: Tally) -> None:
        """Add another tally to this one."""
        self.total += other.total
        for action, count in other.by_action.items():
            self.by_action[action] = self.by_action.get(action, 0) + count

    def lean(self, actions: Sequence[int], chances: list[float], concentration: float) -> list[float]:
        """One layer: each action's share here, leaning on its chance in the layer before."""
        whole, count = self.total + concentration, self.by_action.get
        return [
            (count(action, 0) + concentration * chance) / whole for action, chance in zip(actions, chances, strict=True)
        ]


@dataclass(slots=True)
class Backoff:
    """Counts by context of every length up to the order; the longer ones lean on the shorter.

    Attributes:
        alpha: concentration, above 0: how strongly they lean, in observations.
        vocab_size: actions there are, the unseen one included.
        levels: tallies by context; level j holds contexts of j symbols.
    """

    alpha: float
    vocab_size: int
    levels: list[dict[Context, Tally]] = field(default_factory=lambda: [{} for _ in range(ORDER + 1)])

    @property
    def order(self) -> int:
        """Symbols of the longest context."""
        return len(self.levels) - 1

    def observe(self, history: Sequence[int], actions: Iterable[int], weight: float = 1) -> None:
        """Count the actions in each context of a history."""
        counted = tuple(actions)
        longest = context(history, self.order)
        for length, level in enumerate(self.levels):
            _tally(level, longest[self.order - length :]).add(counted, weight)

    def probability(self, history: Sequence[int], action: int) -> float:
        """Chance of an action after a history, 0 to 1; see `probabilities`."""
        return self.probabilities(history, (action,))[0]

    def probabilities(self, history: Sequence[int], actions: Sequence[int]) -> list[float]:
        """Chance of each action after a history, 0 to 1: every level that was seen, leaning on the one before it.

        ``p_j = (n_j(action) + alpha * p_{j-1}) / (n_j + alpha)``, with ``p_{-1} = 1 / vocab_size``. The chances of all
        actions add to 1 where one action was counted for each visit, as in the habit, and not in reach.
        """
        chances = [1 / self.vocab_size] * len(actions)
        longest = context(history, self.order)
        for length, level in enumerate(self.levels):
            tally = level.get(longest[self.order - length :])
            if tally is not None:
                chances = tally.lean(actions, chances, self.alpha)
        return chances

    def merge(self, other: Backoff) -> None:
        """Add the counts of another part; its concentration is not looked at."""
        for mine, theirs in zip(self.levels, other.levels, strict=True):
            for key, tally in theirs.items():
                _tally(mine, key).merge(tally)


@dataclass(slots=True)
class Habit:
    """The agent's next action after short histories.

    Attributes:
        base: counts of the next action.
        beta: concentration of the layer above, equal to ``base.alpha`` in all flows that are learned.
        top: the longest context's counts by group. Flows are goal-free: every episode is of group 1, so this layer
            repeats the longest context, and it must be applied to get the numbers that are served.
    """

    base: Backoff
    beta: float
    top: dict[tuple[int, Context], Tally] = field(default_factory=dict)

    def observe(self, history: Sequence[int], action: int, weight: float = 1, group: int = 1) -> None:
        """Count the next action after a history."""
        self.base.observe(history, (action,), weight)
        _tally(self.top, (group, context(history, self.base.order))).add((action,), weight)

    def probability(self, history: Sequence[int], action: int, group: int = 1) -> float:
        """Chance that this action comes next, 0 to 1."""
        return self.probabilities(history, (action,), group)[0]

    def probabilities(self, history: Sequence[int], actions: Sequence[int], group: int = 1) -> list[float]:
        """Chance of each action to come next, 0 to 1; those of the whole vocabulary add to 1."""
        chances = self.base.probabilities(history, actions)
        tally = self.top.get((group, context(history, self.base.order)))
        return chances if tally is None else tally.lean(actions, chances, self.beta)

    def merge(self, other: Habit) -> None:
        """Add the counts of another part; its concentrations are not looked at."""
        self.base.merge(other.base)
        for key, tally in other.top.items():
            _tally(self.top, key).merge(tally)


def _tally(level: dict[_Key, Tally], key: _Key) -> Tally:
    tally = level.get(key)
    if tally is None:
        tally = level[key] = Tally()
    return tally


@dataclass(slots=True)
class Successions:
    """What came after each two symbols, over whole episodes. The habit and reach are sums of these.

    Attributes:
        followed: how often an action came next, by the two symbols before it and the action.
        reached: how often an action came before the next write, likewise.
    """

    followed: dict[Succession, float] = field(default_factory=dict)
    reached: dict[Succession, float] = field(default_factory=dict)

    def add(self, symbols: Sequence[int], writes: Container[int], weight: float = 1) -> None:
        """Count one episode.

        Args:
            symbols: of its steps, in order.
            writes: the actions that end a reach window.
            weight: of the episode, above 0.
        """
        actions = [action_of(symbol) for symbol in symbols]
        # cut at the actions' length: the last symbol has nothing after it
        before, last = (PADDING, PADDING, *symbols), (PADDING, *symbols)
        followed, reached = self.followed, self.reached
        for key in zip(before, last, actions):  # noqa: B905 - see above
            followed[key] = followed.get(key, 0) + weight
        for earlier, later, window in zip(before, last, _windows(actions, writes)):  # noqa: B905 - see above
            for action in window:
                key = (earlier, later, action)
                reached[key] = reached.get(key, 0) + weight

    def merge(self, other: Successions) -> None:
        """Add the counts of another part."""
        for mine, theirs in ((self.followed, other.followed), (self.reached, other.reached)):
            for key, count in theirs.items():
                mine[key] = mine.get(key, 0) + count

    def renumbered(self, actions: Sequence[int]) -> Successions:
        """The same counts with other numbers for the actions.

        Args:
            actions: the new number of action 0, 1, …
        """
        new = Successions()

        def symbol(old: int) -> int:
            action, rest = divmod(old, SYMBOLS)
            return old if old == PADDING else actions[action] * SYMBOLS + rest

        for mine, theirs in ((self.followed, new.followed), (self.reached, new.reached)):
            for (before, last, action), count in mine.items():
                theirs[symbol(before), symbol(last), actions[action]] = count
        return new

    def habit(self, alpha: float, vocab_size: int) -> Habit:
        """The habit with these counts, all of group 1, and one concentration for all layers."""
        base = _backoff(alpha, vocab_size, self.followed, self.followed)
        top = {(1, key): Tally(tally.total, dict(tally.by_action)) for key, tally in base.levels[ORDER].items()}
        return Habit(base, alpha, top)

    def reach(self, alpha: float, vocab_size: int) -> Backoff:
        """Reach with these counts; its chances do not add to 1, and it has no layer of groups."""
        return _backoff(alpha, vocab_size, self.followed, self.reached)


def _backoff(
    alpha: float, vocab_size: int, visits: dict[Succession, float], events: dict[Succession, float]
) -> Backoff:
    """Sum counts over longer contexts; each visit is there with exactly one action."""
    backoff = Backoff(alpha, vocab_size)
    for (before, last, _), count in visits.items():
        for level, key in zip(backoff.levels, ((), (last,), (before, last)), strict=True):
            _tally(level, key).total += count
    for (before, last, action), count in events.items():
        for level, key in zip(backoff.levels, ((), (last,), (before, last)), strict=True):
            by_action = level[key].by_action
            by_action[action] = by_action.get(action, 0) + count
    return backoff


def _windows(actions: Sequence[int], writes: Container[int]) -> list[frozenset[int]]:
    """For each step, the actions from it up to, not including, the first write; of a write itself, none."""
    window: frozenset[int] = frozenset()
    found: list[frozenset[int]] = []
    for action in reversed(actions):
        if action in writes:
            window = frozenset()
        elif action not in window:
            window |= {action}
        found.append(window)
    found.reverse()
    return found


def half_life_weights(sessions: int, half_life: float) -> list[float]:
    """Weights of sessions, the oldest first: 1 for the newest, a half for the one `half_life` sessions before it.

    Args:
        sessions: how many there are.
        half_life: in sessions, above 0.
    """
    return [0.5 ** ((sessions - 1 - place) / half_life) for place in range(sessions)]

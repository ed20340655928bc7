"""Integer counts of what is read after which site, over many sessions.

Counts add, in any order and any grouping, to the same counts; learning from parts and adding equals learning from the
whole. Pure; `waggle.reach.table` keeps them on disk.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle._defaults import LINE_COST, REACH_PRIOR
from waggle.reach.targets import AFTER, BEFORE, LinesTarget, answer_lines, read_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from waggle.reach.targets import Cell, Target

__all__ = ["NO_CELL", "Choice", "Economy", "ReachCounts", "ToolSums"]

#: The cell of what has no range.
NO_CELL: Final[Cell] = (-1, -1)


class ToolSums(NamedTuple):
    """How one tool is used to read files; sums, and one maximum.

    Attributes:
        part_lines: lines shown by reads of a part of a file.
        parts: how many such reads.
        whole_lines: lines shown by reads of a whole file.
        wholes: how many such reads.
        chars: characters shown by both.
        numbered: reads that showed line numbers.
    """

    part_lines: int = 0
    parts: int = 0
    whole_lines: int = 0
    wholes: int = 0
    chars: int = 0
    numbered: int = 0

    def plus(self, other: ToolSums) -> ToolSums:
        """Add two."""
        return ToolSums(*[a + b for a, b in zip(self, other, strict=True)])

    def mean_lines(self, *, whole: bool = False) -> float:
        """Lines that one read shows on average, at least 1."""
        lines, reads = (self.whole_lines, self.wholes) if whole else (self.part_lines, self.parts)
        return max(lines / reads, 1.0) if reads else 1.0

    def line_tokens(self) -> float:
        """Estimated tokens of one line; 10, the usual length of a line of code, where nothing was seen."""
        lines = self.part_lines + self.whole_lines
        return max(self.chars / 4 / lines, 1.0) if lines else 10.0


class Economy(NamedTuple):
    """What a lookup is worth right now, in tokens: for the threshold θ* = δ / (β + δ).

    Attributes:
        context: tokens that the saved turn would read again.
        turns_left: turns in which the result of a lookup is read again.
    """

    context: float
    turns_left: float


class Choice(NamedTuple):
    """What to look up at a site, and why.

    Attributes:
        key: the target's key.
        target: what.
        chance: that the agent asks for it before its next write, 0 to 1.
        before: lines before the one that a range is chosen around; 0 without a range.
        after: lines after it.
        worth: above 0 it pays; of several, the highest comes first.
    """

    key: str
    target: Target
    chance: float
    before: int
    after: int
    worth: float


@dataclass(slots=True)
class ReachCounts:
    """What was counted.

    Attributes:
        seen: times a site was met, by each key of its levels; and times it offered something to read that was not known
            yet, under `offer_key`.
        reached: times a target was read before the next write: by its key, then the site's key, then the smallest range
            that answers it (`NO_CELL` without a range).
        sessions: sessions in which a target was reached at all, by target and the site's coarsest key.
        digests: fingerprints of the sessions counted, so that one given twice counts once; oldest first.
        forms: by tool and form, shell commands that read lines of one file.
        tools: how each tool is used to read files.
        lengths: sessions by their number of calls, in steps of `LENGTH_STEP`.
    """

    seen: Counter[str] = field(default_factory=Counter)
    reached: dict[str, dict[str, Counter[Cell]]] = field(default_factory=dict)
    sessions: Counter[tuple[str, str]] = field(default_factory=Counter)
    digests: dict[str, None] = field(default_factory=dict)
    forms: Counter[tuple[str, str]] = field(default_factory=Counter)
    tools: dict[str, ToolSums] = field(default_factory=dict)
    lengths: Counter[int] = field(default_factory=Counter)

    def add(self, other: ReachCounts) -> bool:
        """Add other sessions' counts; False, and nothing is added, when all of those sessions are counted already."""
        if other.digests and all(digest in self.digests for digest in other.digests):
            return False
        for mine, theirs in (
            (self.seen, other.seen),
            (self.sessions, other.sessions),
            (self.forms, other.forms),
            (self.lengths, other.lengths),
        ):
            mine.update(theirs)  # type: ignore[arg-type] # each pair has keys of one type
        for target, by_site in other.reached.items():
            sites = self.reached.setdefault(target, {})
            for site, cells in by_site.items():
                sites.setdefault(site, Counter()).update(cells)
        for tool, sums in other.tools.items():
            self.tools[tool] = self.tools.get(tool, ToolSums()).plus(sums)
        self.digests.update(other.digests)
        return True

    def sums(self, tool: str) -> ToolSums:
        """How a tool is used to read files."""
        return self.tools.get(tool, ToolSums())

    def turns_left(self, calls: int) -> float:
        """Calls a session still has before it after so many, on average; as many again where none was so long."""
        longer = [
            (length * LENGTH_STEP - calls, n) for length, n in self.lengths.items() if length * LENGTH_STEP > calls
        ]
        total = sum(n for _, n in longer)
        return sum(left * n for left, n in longer) / total if total else float(calls)

    def total(self, target: str, site: str) -> int:
        """Times a target was reached at a site."""
        return self.reached.get(target, {}).get(site, _NOTHING).total()

    def chance(self, target: str, levels: Sequence[str], cell: Cell) -> float:
        """How likely a target is asked for within a range.

        ``p = (m + a p') / (n + a)`` from the coarsest level to the finest, with ``p' = 0`` before the first and ``a`` =
        `REACH_PRIOR`: each finer level leans on the coarser one until it has counts of its own (the smoothing of a
        back-off model).
        """
        return self._chances(target, levels, [cell])[0]

    def _chances(self, target: str, levels: Sequence[str], cells: Sequence[Cell]) -> list[float]:
        by_site = self.reached.get(target, {})
        described = read_target(target)
        chances = [0.0] * len(cells)
        for level in levels:
            total = self.seen[offer_key(level, described.offer) if isinstance(described, LinesTarget) else level]
            if not total:
                break
            within = _within(by_site.get(level, _NOTHING), cells)
            chances = [(m + REACH_PRIOR * p) / (total + REACH_PRIOR) for m, p in zip(within, chances, strict=True)]
        return chances

    def best(self, target: str, levels: Sequence[str], threshold: float, economy: Economy | None = None) -> Choice:
        """The range of a target that is worth most at a site, see `worth`.

        Args:
            target: its key.
            levels: keys of the site, coarsest first.
            threshold: θ, see `worth`.
            economy: tokens, see `worth`.
        """
        described = read_target(target)
        sums = self.sums(described.tool)
        if isinstance(described, LinesTarget) and described.around != "whole":
            most = answer_lines(shell=not described.arg)
            befores = BEFORE if described.around == "line" else BEFORE[:1]
            ranges = [(before, after) for before in befores for after in AFTER if before + after < most]
            cells = [(BEFORE.index(b), AFTER.index(a)) for b, a in ranges]
            lines = [float(b + a + 1) for b, a in ranges]
        else:
            ranges, cells = [(0, 0)], [NO_CELL]
            lines = [sums.mean_lines(whole=True) if isinstance(described, LinesTarget) else sums.mean_lines()]
        chances = self._chances(target, levels, cells)
        if isinstance(described, LinesTarget) and described.around == "whole" and not sums.wholes:
            chances = [0.0]  # an agent that never reads whole files gets none
        worths = [worth(p, n, sums, threshold, economy) for p, n in zip(chances, lines, strict=True)]
        at = max(range(len(worths)), key=worths.__getitem__)
        return Choice(target, described, chances[at], *ranges[at], worths[at])

    def part(self, target: str, site: str) -> ReachCounts:
        """What of these counts speaks for one target at one site, by its coarsest key."""
        part = ReachCounts()
        described = read_target(target)
        by_site = self.reached.get(target, {})
        ends = f" > {described.offer}" if isinstance(described, LinesTarget) else None
        for key, count in self.seen.items():
            if key.startswith(site) and (key.endswith(ends) if ends else " > " not in key):
                part.seen[key] = count
        part.reached[target] = {key: Counter(cells) for key, cells in by_site.items() if key.startswith(site)}
        part.sessions[target, site] = self.sessions[target, site]
        part.forms = Counter({key: n for key, n in self.forms.items() if key[0] == described.tool})
        if described.tool in self.tools:
            part.tools[described.tool] = self.tools[described.tool]
        return part

    def pruned(self, targets: int) -> ReachCounts:
        """The same with at most so many targets: those reached in most sessions, then most often."""
        if len(self.reached) <= targets:
            return self
        strength = Counter[str]()
        for (target, _), count in self.sessions.items():
            strength[target] += count
        kept = sorted(self.reached, key=lambda target: (-strength[target], -self._reached_in_all(target), target))[
            :targets
        ]
        keep = set(kept)
        return ReachCounts(
            Counter(self.seen),
            {target: self.reached[target] for target in self.reached if target in keep},
            Counter({key: n for key, n in self.sessions.items() if key[0] in keep}),
            dict(self.digests),
            Counter(self.forms),
            dict(self.tools),
            Counter(self.lengths),
        )

    def _reached_in_all(self, target: str) -> int:
        return sum(cells.total() for cells in self.reached[target].values())


def worth(chance: float, lines: float, sums: ToolSums, threshold: float, economy: Economy | None = None) -> float:
    """What a lookup is worth; it pays above 0.

    With a threshold θ: never below a chance of θ; from there on, ``p (1 - θ)`` for the turn that is saved, less
    ``(1 - p) θ`` for the detour, times its lines against a read of the agent's own, times `LINE_COST`. So the longest
    range is not chosen only because nothing is likelier.

    With an economy: tokens. A saved turn is worth the context it would read again, less what a longer range than the
    agent's own adds to every turn after it; a detour costs its result in every turn after it. That is above 0 exactly
    when the chance is above θ* = δ / (β + δ).
    """
    ratio = lines / sums.mean_lines()
    if economy is None:
        if chance < threshold:
            return chance - 1.0
        return chance * (1 - threshold) - (1 - chance) * threshold * ratio * LINE_COST
    tokens = lines * sums.line_tokens() * economy.turns_left
    own = min(1.0, 1.0 / ratio)
    return chance * (economy.context - tokens * (1.0 - own)) - (1 - chance) * tokens


def offer_key(level: str, offer: str) -> str:
    """Under which key it is counted that a site offered something to read."""
    return f"{level} > {offer}"


def _within(counts: Counter[Cell], cells: Iterable[Cell]) -> list[int]:
    return [sum(n for (b, a), n in counts.items() if b <= cell[0] and a <= cell[1]) for cell in cells]


#: Calls by which lengths of sessions are rounded up.
LENGTH_STEP: Final = 5
_NOTHING: Final[Counter[Cell]] = Counter()

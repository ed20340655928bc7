"""Decision trees by information gain (J. R. Quinlan's ID3, 1986) over features that are there or not. Pure.

Which rows have a feature, or an action, is one whole number with a bit for each row, so that counting is one ``and``
and one count of bits. A tree is grown once as deep as allowed; a shallower one is its top (`cut`), so that all depths
are compared by growing one tree for each part of the tasks (`choose_depth`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import log2
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto._defaults import TREE_DEPTH, TREE_FOLDS, TREE_LEAF
from stretto.procedure.trees.model import Leaf, Split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stretto.procedure.trees.model import Node

__all__ = ["Branch", "Growing", "Row", "choose_depth", "counted", "cut", "voted"]

#: Decimals to which gains are compared: what is left is the rounding of sums, which must not choose between features.
_DECIMALS: Final = 9


class Row(NamedTuple):
    """One decision.

    Attributes:
        features: of the state in which it was taken.
        action: what was done.
        task: of the session.
    """

    features: frozenset[str]
    action: str
    task: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of a grown tree.

    Attributes:
        calls: what was done here, the most frequent first, then by name.
        feature: what is asked; empty at the end of a way.
        yes: where to go on with the feature.
        no: where to go on without.
    """

    calls: tuple[tuple[str, int], ...]
    feature: str = ""
    yes: Branch | None = None
    no: Branch | None = None


def counted(actions: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Actions with their counts, the most frequent first, then by name."""
    return tuple(sorted(actions.items(), key=lambda each: (-each[1], each[0])))


class Growing:
    """Grows trees of rows, or of some of them; the order of the rows makes no difference.

    A node asks for the feature that tells most about the labels, the first by name of equals, and none where no feature
    tells anything or one side would have fewer than `TREE_LEAF` rows. Cost: of a tree, nodes times features times
    labels, each over all rows at a machine word for 64 of them.

    Args:
        rows: at least one.
        labels: what questions should tell apart, a row each; None for the rows' actions. Leaves count actions.
    """

    def __init__(self, rows: Sequence[Row], labels: Sequence[str] | None = None) -> None:
        self.rows = rows
        having: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            for feature in row.features:
                having.setdefault(feature, []).append(number)
        alike: dict[int, str] = {}
        for feature, numbers in sorted(having.items()):
            alike.setdefault(_mask(numbers), feature)
        self._features = [(feature, mask) for mask, feature in alike.items()]
        self._actions = _masks([row.action for row in rows])
        self._labels = self._actions if labels is None else _masks(labels)

    def tree(self, numbers: Iterable[int] | None = None, *, depth: int = TREE_DEPTH) -> Branch:
        """A tree of some rows, at least one; None for all. A way asks at most `depth` questions."""
        return self._node(_mask(range(len(self.rows)) if numbers is None else numbers), depth)

    def _node(self, here: int, depth: int) -> Branch:
        calls = {action: (mask & here).bit_count() for action, mask in self._actions.items() if mask & here}
        split = self._best(here) if depth else None
        if split is None:
            return Branch(counted(calls))
        feature, yes = split
        return Branch(counted(calls), feature, self._node(yes, depth - 1), self._node(here & ~yes, depth - 1))

    def _best(self, here: int) -> tuple[str, int] | None:
        labels = [mask & here for mask in self._labels.values() if mask & here]
        if len(labels) == 1:
            return None
        size = here.bit_count()
        whole = _bits(size, [mask.bit_count() for mask in labels])
        most, found = 0.0, None
        for feature, mask in self._features:
            yes = mask & here
            held = yes.bit_count()
            if held < TREE_LEAF or size - held < TREE_LEAF:
                continue
            inside = [(yes & label).bit_count() for label in labels]
            outside = [label.bit_count() - count for label, count in zip(labels, inside, strict=True)]
            gain = round(whole - _bits(held, inside) - _bits(size - held, outside), _DECIMALS)
            if gain > most:
                most, found = gain, (feature, yes)
        return found


def _mask(numbers: Iterable[int]) -> int:
    """A whole number with these bits. Set one by one in the number itself, each would cost all of its words."""
    bits = bytearray()
    for number in numbers:
        at = number >> 3
        if at >= len(bits):
            bits.extend(bytes(at + 1 - len(bits)))
        bits[at] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")


def _masks(labels: Sequence[str]) -> dict[str, int]:
    having: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        having.setdefault(label, []).append(number)
    return {label: _mask(numbers) for label, numbers in sorted(having.items())}


def _bits(size: int, counts: Sequence[int]) -> float:
    """The size times the entropy, bits."""
    return _weighted(size) - sum(map(_weighted, counts))


@lru_cache(maxsize=65536)
def _weighted(count: int) -> float:
    return count * log2(count) if count else 0.0


def cut(branch: Branch, depth: int) -> Node:
    """The top of a grown tree as a procedure has it."""
    if not depth or branch.yes is None or branch.no is None:
        return Leaf(branch.calls)
    return Split(branch.feature, cut(branch.yes, depth - 1), cut(branch.no, depth - 1))


def _way(branch: Branch, features: frozenset[str]) -> list[str]:
    """The first action at each node of the way that features lead."""
    found = [branch.calls[0][0]]
    while branch.yes is not None and branch.no is not None:
        branch = branch.yes if branch.feature in features else branch.no
        found.append(branch.calls[0][0])
    return found


def choose_depth(growing: Growing) -> int:
    """The depth whose trees, grown on the other tasks, say most of the actions of each part of the tasks.

    Tasks are put in `TREE_FOLDS` parts in turn, by name. Of equal depths the smallest; 0 where there is one task.
    """
    part = {task: number % TREE_FOLDS for number, task in enumerate(sorted({row.task for row in growing.rows}))}
    right = [0] * (TREE_DEPTH + 1)
    for fold in range(min(TREE_FOLDS, len(part)) if len(part) > 1 else 0):
        tree = growing.tree(number for number, row in enumerate(growing.rows) if part[row.task] != fold)
        for row in growing.rows:
            if part[row.task] == fold:
                way = _way(tree, row.features)
                for depth in range(len(right)):
                    right[depth] += way[min(depth, len(way) - 1)] == row.action
    return right.index(max(right))


def voted(growing: Growing, depth: int, *, trees: int, seed: int) -> list[str]:
    """What most of several trees say of each row, none of which has seen its task.

    Each tree is grown on another half of the tasks (P. Bühlmann and B. Yu, *Analyzing bagging*, 2002). A tree that is
    grown on the votes stands for all of them (L. Breiman and N. Shang, *Born again trees*, 1996): a demonstration that
    the others do not support has no say in what is asked, though it is counted in the leaf.

    Args:
        growing: of the rows.
        depth: of the trees.
        trees: how many, at least 1.
        seed: of the halves.

    Returns:
        A label for each row: its own action where no tree has a say.
    """
    rows = growing.rows
    tasks = sorted({row.task for row in rows})
    votes: list[Counter[str]] = [Counter() for _ in rows]
    for number in range(trees if len(tasks) > 1 else 0):
        half = set(sorted(tasks, key=lambda task: _drawn(seed, number, task))[: len(tasks) // 2])
        tree = growing.tree((at for at, row in enumerate(rows) if row.task in half), depth=depth)
        for row, vote in zip(rows, votes, strict=True):
            if row.task not in half:
                vote[_way(tree, row.features)[-1]] += 1
    return [counted(vote)[0][0] if vote else row.action for row, vote in zip(rows, votes, strict=True)]


def _drawn(seed: int, number: int, task: str) -> bytes:
    return blake2b(f"{seed}:{number}:{task}".encode("utf-8", "surrogatepass"), digest_size=16).digest()

"""Clusters of vectors: average linkage under cosine distance, stopped at a threshold. Pure.

Every item begins as a cluster. Of all pairs of clusters, the one with the smallest mean distance of their members is
joined, as long as that is within the threshold; distances are compared to 12 decimals, and of equal ones the pair goes
first whose smallest ids do. Average linkage bounds the mean, not each pair: two members may have nothing in common, and
a cluster says which two are farthest apart.

SciPy makes the hierarchy, but promises nothing of ties. So each of its joins is checked: where a cluster had another
partner within the same 12 decimals, the order matters, and the same is worked out join by join (`_joined_one_by_one`).
Both only look at items that are linked by distances within the threshold: clusters never reach across.

Needs NumPy and SciPy, from the extra ``compiler``; they are loaded when they are first used. Cost: time and memory grow
with the square of the number of items (3,000 take 72 MB); with many ties the time is more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stretto.compiler.embed import Vector

    Matrix: TypeAlias = NDArray[np.float64]

__all__ = ["Cluster", "cluster"]

_DECIMALS: Final = 12


@dataclass(frozen=True, slots=True)
class Cluster:
    """What lies together.

    Attributes:
        members: ids, sorted.
        farthest: the two members that are least alike; the first of those that are, in order; None of a single one.
        distance: of these two, 0 to 2.
    """

    members: tuple[str, ...]
    farthest: tuple[str, str] | None = None
    distance: float = 0.0


def cluster(vectors: Mapping[str, Vector], threshold: float) -> tuple[Cluster, ...]:
    """Cluster vectors.

    Args:
        vectors: of one embedder, by id, in any order. A zero vector has distance 1 to all others.
        threshold: largest mean distance at which clusters are joined, inclusive.

    Returns:
        Clusters, sorted by their smallest ids.

    Raises:
        ValueError: a number in a vector is not finite, or they are not of one length.
        UsageError: the extra ``compiler`` is not installed.
    """
    ids = sorted(vectors)
    if len(ids) < 2:  # noqa: PLR2004 - one item has no pair
        return tuple(Cluster((name,)) for name in ids)
    distances = _distances([vectors[name] for name in ids])
    found = [
        _cluster(ids, members, distances)
        for part in _linked(distances, threshold)
        for members in _joined(distances, part, threshold)
    ]
    return tuple(sorted(found, key=lambda each: each.members))


def _cluster(ids: Sequence[str], members: Sequence[int], distances: Matrix) -> Cluster:
    names = tuple(ids[number] for number in members)
    if len(members) == 1:
        return Cluster(names)
    among = distances[members][:, members].round(_DECIMALS)
    first, second = divmod(int(among.argmax()), len(members))
    return Cluster(names, (names[first], names[second]), float(among[first, second]))


def _distances(vectors: Sequence[Vector]) -> Matrix:
    """1 - cosine of each pair, 0 to 2; 0 of each with itself."""
    try:
        import numpy as np  # noqa: PLC0415 - with SciPy a third of a second, for this alone
        from scipy import sparse  # noqa: PLC0415 - as above
    except ImportError:
        raise UsageError("clustering needs SciPy: pip install 'waggle-stretto[compiler]'") from None
    sparsely = [vector for vector in vectors if isinstance(vector, Mapping)]
    if len(sparsely) == len(vectors):
        terms = {term: number for number, term in enumerate(sorted({term for vector in sparsely for term in vector}))}
        ends = np.cumsum([0, *map(len, sparsely)])
        columns = [terms[term] for vector in sparsely for term in sorted(vector)]
        numbers = np.array([vector[term] for vector in sparsely for term in sorted(vector)], dtype=np.float64)
        rows = sparse.csr_array((numbers, columns, ends), shape=(len(vectors), max(len(terms), 1)))
        lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        products = (rows @ rows.T).toarray()
    else:
        rows = np.array([list(vector) for vector in vectors], dtype=np.float64)
        numbers = rows
        lengths = np.linalg.norm(rows, axis=1)
        products = rows @ rows.T
    if not np.isfinite(numbers).all():
        raise ValueError("a vector has a number that is not finite")
    lengths[lengths == 0] = np.inf
    found: Matrix = 1.0 - np.clip(products / np.outer(lengths, lengths), -1.0, 1.0)
    found = (found + found.T) / 2  # a product may differ from its transpose in the last digit
    np.fill_diagonal(found, 0.0)
    return found


def _linked(distances: Matrix, threshold: float) -> list[list[int]]:
    """The items in parts such that all distances from one part to another are beyond the threshold; each sorted."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - as in `_distances`
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - as above

    count, labels = connected_components(csr_array(distances.round(_DECIMALS) <= threshold), directed=False)
    parts: list[list[int]] = [[] for _ in range(count)]
    for number, label in enumerate(labels):
        parts[label].append(number)
    return parts


def _joined(distances: Matrix, part: list[int], threshold: float) -> list[list[int]]:
    """The clusters of one part, each sorted."""
    if len(part) == 1:
        return [part]
    among = distances[part][:, part]
    joins = _joined_by_scipy(among, threshold)
    if joins is None:
        joins = _joined_one_by_one(among, threshold)
    members = {number: [number] for number in range(len(part))}
    for kept, gone in joins:
        members[kept] += members.pop(gone)
    return [sorted(part[number] for number in each) for each in members.values()]


class _Means:
    """Mean distances between clusters while they are joined; a cluster is known by its smallest member."""

    def __init__(self, distances: Matrix) -> None:
        self._sizes = [1] * len(distances)
        self.means = distances.copy()
        self.means[range(len(distances)), range(len(distances))] = float("inf")

    def join(self, kept: int, gone: int) -> None:
        """Put the second cluster into the first."""
        first, second = self._sizes[kept], self._sizes[gone]
        row = (first * self.means[kept] + second * self.means[gone]) / (first + second)
        self._sizes[kept] = first + second
        self.means[kept] = self.means[:, kept] = row
        self.means[gone] = self.means[:, gone] = self.means[kept, kept] = float("inf")


def _joined_by_scipy(distances: Matrix, threshold: float) -> list[tuple[int, int]] | None:
    """The joins of SciPy's hierarchy up to the threshold; None where a tie may have decided one of them."""
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415 - as in `_distances`
    from scipy.spatial.distance import squareform  # noqa: PLC0415 - as above

    state = _Means(distances)
    row_of = {number: number for number in range(len(distances))}
    joins: list[tuple[int, int]] = []
    tree = linkage(squareform(distances, checks=False), method="average")
    for number, (one, other, *_) in enumerate(tree.tolist(), len(distances)):
        if int(one) not in row_of or int(other) not in row_of:
            continue
        kept, gone = sorted((row_of[int(one)], row_of[int(other)]))
        distance = state.means[kept, gone].round(_DECIMALS)
        if distance > threshold:
            continue
        rows = state.means[[kept, gone]].round(_DECIMALS)
        rows[0, gone] = rows[1, kept] = float("inf")
        if (rows <= distance).any():
            return None
        state.join(kept, gone)
        row_of[number] = kept
        joins.append((kept, gone))
    return joins


def _joined_one_by_one(distances: Matrix, threshold: float) -> list[tuple[int, int]]:
    """The joins up to the threshold, the closest pair first, and of equally close ones that with the smallest ids."""
    import numpy as np  # noqa: PLC0415 - as in `_distances`

    state = _Means(distances)
    nearest = np.array([_beyond(state.means, row) for row in range(len(distances))])
    joins: list[tuple[int, int]] = []
    while True:
        kept = int(nearest.argmin())
        if nearest[kept] > threshold:
            return joins
        gone = int(state.means[kept].round(_DECIMALS)[kept + 1 :].argmin()) + kept + 1
        # Of a row whose nearest was neither of the two, only the new distance may be nearer.
        before = state.means[:, [kept, gone]].round(_DECIMALS)
        state.join(kept, gone)
        stale: NDArray[np.bool_] = np.any(before <= nearest[:, None], axis=1)
        stale[[kept, gone]] = True
        for row in np.flatnonzero(stale[: gone + 1]):
            nearest[row] = _beyond(state.means, int(row))
        fresh = ~stale
        fresh[kept:] = False
        nearest[fresh] = np.minimum(nearest[fresh], state.means[fresh, kept].round(_DECIMALS))
        joins.append((kept, gone))


def _beyond(means: Matrix, row: int) -> float:
    """The smallest distance of a cluster to those after it."""
    after = means[row, row + 1 :]
    return float(after.min().round(_DECIMALS)) if len(after) else float("inf")

"""Documents as vectors, so that what is about the same lies close together. Pure.

An **embedder** makes vectors; those of different names are never compared. Each brings its own thresholds, since a
distance means nothing without what it was measured with. The one that needs nothing is `TfidfEmbedder`; a sentence
model is in `stretto.compiler.sentences`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from stretto.compiler.names import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Embedder", "TfidfEmbedder", "Vector", "dot", "similarity", "unit"]

#: A vector: numbers in order, or those that are not zero by what they stand for.
Vector: TypeAlias = "Sequence[float] | Mapping[str, float]"


class Embedder(Protocol):
    """What makes vectors of documents; the same documents give the same vectors."""

    @property
    def name(self) -> str:
        """Of what vectors are comparable: stored with everything that is derived from them."""
        ...

    @property
    def distance_threshold(self) -> float:
        """Largest mean cosine distance at which two clusters are joined, 0 to 2."""
        ...

    @property
    def split_similarity(self) -> float:
        """Cosine below which two parts of one conversation may be two intents, -1 to 1."""
        ...

    def fitted(self, documents: Sequence[str]) -> Embedder:
        """This embedder with what it takes from a corpus; itself, where it takes nothing."""
        ...

    def embed(self, documents: Sequence[str]) -> Sequence[Vector]:
        """The vectors of documents, one each, in order."""
        ...


class TfidfEmbedder:
    """Words by how often a document has them and how few documents do (TF-IDF), without a model.

    Terms are the words of a document, in small letters, and each call as a whole; what has one letter or a digit in it
    is none, since values belong to the instance. A term weighs (1 + ln count) · (1 + ln((1 + N) / (1 + df))), N
    documents of which df have it; what stands in one document alone makes nothing alike, and is left out. Vectors have
    length 1, or 0 where no term is left.

    The weights are those of one corpus (`fitted`): vectors of other corpora have other names. Both thresholds were
    chosen, in steps of 0.05, on sessions of nine domains of recorded agents (retail, airline v1, banking and slack of
    AgentDojo, travel of BFCL, four of class projects; 397 sessions), and looked at on the ten other domains (494).
    0.75 is the largest distance at which 99 % of the sessions are with their own domain: purity 0.992 (others 0.974),
    ARI against the domains 0.457 (0.401), 86 % (90 %) in clusters of five or more; all before any session is parted.
    0.10 is the largest similarity at which no more than 5 % of the places between two things done in one session would
    part it: 3.3 % (5.8 %); it tells 51 % (83 %) of the pairs of sessions of two domains apart.

    Source: Salton and Buckley, "Term-weighting approaches in automatic text retrieval" (1988).
    """

    distance_threshold: Final = 0.75
    split_similarity: Final = 0.10

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        self._weights = weights
        self.name = _TFIDF if weights is None else f"{_TFIDF}:{_digest(weights)}"

    def fitted(self, documents: Sequence[str]) -> TfidfEmbedder:
        """The embedder with the weights of these documents; of a fitted one, itself."""
        return TfidfEmbedder(_weights(documents)) if self._weights is None else self

    def embed(self, documents: Sequence[str]) -> list[dict[str, float]]:
        """The vectors of documents by the terms that are not zero, sorted; weighed by these where it is not fitted."""
        weights = _weights(documents) if self._weights is None else self._weights
        return [_weighed(_terms(document), weights) for document in documents]


_TFIDF: Final = "tfidf-1"

#: How a line of a document begins; see `stretto.compiler.documents`.
_KIND: Final = re.compile(r"(REQUEST|SAID|THINK|CALL): ")


def _terms(document: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in document.split("\n"):
        kind = _KIND.match(line)  # which says nothing of the intent
        found.update(
            word for word in words_of(line[kind.end() :] if kind else line) if len(word) > 1 and word.isalpha()
        )
        if kind and kind[1] == "CALL":
            found[line] += 1
    return found


def _weights(documents: Sequence[str]) -> dict[str, float]:
    counts = Counter(term for document in documents for term in _terms(document))
    whole = 1 + len(documents)
    return {term: 1 + math.log(whole / (1 + count)) for term, count in sorted(counts.items()) if count > 1}


def _weighed(counts: Mapping[str, int], weights: Mapping[str, float]) -> dict[str, float]:
    found = {term: (1 + math.log(counts[term])) * weights[term] for term in sorted(counts.keys() & weights.keys())}
    length = math.sqrt(math.fsum(weight * weight for weight in found.values()))
    return {term: weight / length for term, weight in found.items()}


def _digest(weights: Mapping[str, float]) -> str:
    told = "\n".join(f"{term} {weight!r}" for term, weight in weights.items())
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def similarity(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of one embedder, -1 to 1; 0 where one of them is zero.

    Raises:
        ValueError: a number in them is not finite, or they are not of one length.
        TypeError: they are of two forms.
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        lengths = math.hypot(*one.values()) * math.hypot(*other.values())
        pairs = [(weight, other[term]) for term, weight in one.items() if term in other]
    elif isinstance(one, Mapping) or isinstance(other, Mapping):
        raise TypeError("vectors of two forms cannot be compared")
    else:
        lengths = math.hypot(*one) * math.hypot(*other)
        pairs = list(zip(one, other, strict=True))
    if not math.isfinite(lengths):
        raise ValueError("a vector has a number that is not finite")
    product = math.fsum(first * second for first, second in pairs)
    return max(-1.0, min(1.0, product / lengths)) if lengths else 0.0


def unit(vector: Vector) -> dict[str | int, float]:
    """A vector of length 1 by its numbers that are not zero; empty for a zero vector. For those compared often (`dot`).

    Raises:
        ValueError: a number in it is not finite.
    """
    numbers: Mapping[str | int, float] = dict(vector.items() if isinstance(vector, Mapping) else enumerate(vector))
    length = math.hypot(*numbers.values())
    if not math.isfinite(length):
        raise ValueError("a vector has a number that is not finite")
    return {key: number / length for key, number in numbers.items() if number} if length else {}


def dot(one: Mapping[str | int, float], other: Mapping[str | int, float]) -> float:
    """The cosine of two vectors of length 1, -1 to 1."""
    few, many = (one, other) if len(one) <= len(other) else (other, one)
    return max(-1.0, min(1.0, math.fsum([number * many[key] for key, number in few.items() if key in many])))

"""Which procedure a request is for, if any: three gates, all of which it has to pass. Pure.

Similarity alone starts nothing: what asks for a thing and what asks for its opposite lie side by side. So a request is
routed only if it is nearly a member's (**similarity**, with a threshold that each procedure gets from the requests of
all others), has the words of a member in their order with values in the same places (**words**), and all that a run
needs is there (**readiness**). Values play no part in similarity: every token that has the shape of one is left out.

That words and values stand in the same places is stricter than to compare the words alone: *move 5 from A to B* and
*move 5 from B to A* have the same words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import StrEnum
from typing import TYPE_CHECKING

from stretto.compiler.calibration import apart, at_least, calibrate, foreign, grouped, nearest
from stretto.compiler.embed import TfidfEmbedder, unit
from stretto.compiler.input_reader import Read, SlotReader, checked
from stretto.compiler.settings import number_of
from stretto.compiler.slots import Shaped, Slot, covers, parts_of, placed, tokens
from stretto.procedure.file import digest_of
from stretto.procedure.readiness import not_ready

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from stretto.compiler.calibration import Calibration, Group, Unit
    from stretto.compiler.embed import Embedder
    from stretto.compiler.input_reader import InputReader
    from stretto.compiler.requests import Requests
    from stretto.compiler.slots import Part, Token
    from stretto.procedure.graph import Contract, Procedure
    from waggle.jsonvalue import JsonValue

__all__ = ["Candidate", "Gate", "Routed", "Router", "Verdict"]


class Verdict(StrEnum):
    """What becomes of a request."""

    ROUTE = "route"  #: the procedure runs
    SUGGEST = "suggest"  #: the agent is told that there is a procedure for what looks like this
    FALLBACK = "fallback"  #: nothing is like it: the agent's


class Gate(StrEnum):
    """What a request has to pass, in order."""

    SIMILARITY = "similarity"
    WORDS = "words"
    READINESS = "readiness"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A procedure that requests may be for, with the requests that it was compiled from."""

    procedure: Procedure
    requests: Requests


@dataclass(frozen=True, slots=True)
class Routed:
    """What becomes of a request, always with the numbers.

    Attributes:
        verdict: see `Verdict`.
        procedure: name of the one that is nearest; empty where there is none.
        similarity: to its nearest member, 0 to 1.
        threshold: from which on it is routed.
        other: name of the next procedure; empty where there is none.
        other_similarity: to that one's nearest member.
        margin: how far the other has to be behind.
        failed: the first gate that it did not pass; None for a request that is routed.
        reasons: what is missing at every gate, for people.
        inputs: as the request says them; of a request that is not routed, what could be read.
    """

    verdict: Verdict
    procedure: str = ""
    similarity: float = 0.0
    threshold: float = 0.0
    other: str = ""
    other_similarity: float = 0.0
    margin: float = 0.0
    failed: Gate | None = None
    reasons: tuple[tuple[Gate, str], ...] = ()
    inputs: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class _Known:
    """A candidate with what was computed of it."""

    candidate: Candidate
    vectors: tuple[Unit, ...]
    calibration: Calibration
    floor: float
    margin: float
    unseen_max: float
    members: tuple[tuple[Part, ...], ...]
    reader: SlotReader


class Router:
    """Routes requests to procedures.

    Cost: what it is made of is compared once, each distinct request with each; a request with each of them.

    Args:
        candidates: with different names.
        others: requests of intents without a procedure, which no procedure is to take for its own.
        embedder: makes vectors of requests; fitted to all of them.
        reader: reads inputs; by default the shapes of values and the words before them do. What a reader answers is
            checked against the request.
        relaxed: let procedures that only read take requests whose words are all words of their members, in any order.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        *,
        others: Sequence[Requests] = (),
        embedder: Embedder | None = None,
        reader: InputReader | None = None,
        relaxed: bool = False,
    ) -> None:
        ordered = sorted(candidates, key=lambda each: each.procedure.name)
        self._others = tuple((each.name, tuple(member.read for member in each.members)) for each in others)
        everything = [*(each.requests for each in ordered), *others]
        said = [member.text for each in everything for member in each.members for _ in range(member.traces)]
        self._embedder = (embedder or TfidfEmbedder()).fitted(said)
        self._reader = reader
        self._relaxed = relaxed
        groups = [grouped(each, self._embedder) for each in everything]
        found = foreign(groups, len(ordered))
        self._known = tuple(map(self._know, ordered, groups, found))

    def _know(self, candidate: Candidate, group: Group, others: Sequence[float]) -> _Known:
        floor = number_of(candidate.procedure.compiled.settings, "router_floor")
        margin = number_of(candidate.procedure.compiled.settings, "router_margin")
        members = tuple(member.read for member in candidate.requests.members)
        return _Known(
            candidate,
            tuple(vector for vector, _ in group),
            calibrate(apart(group), others, floor=floor, margin=margin),
            floor,
            margin,
            number_of(candidate.procedure.compiled.settings, "unseen_max"),
            members,
            SlotReader(members, candidate.requests.values),
        )

    @property
    def calibrations(self) -> dict[str, Calibration]:
        """The calibration of each procedure, by name."""
        return {each.candidate.procedure.name: each.calibration for each in self._known}

    def route(
        self,
        request: str,
        *,
        has_secret: Callable[[str], bool],
        person: bool,
        contracts: Mapping[str, Contract] | None = None,
        scope: Mapping[str, str] | None = None,
    ) -> Routed:
        """Decide what becomes of a request.

        Args:
            request: what a user says.
            has_secret: whether a secret of a name is there.
            person: whether a person can be asked.
            contracts: of the tools that are there now; None where they are not known, and are compared when it runs.
            scope: for whom the request is, by kind: ``user``, ``tenant``, ``project``. A procedure that holds for one
                tenant alone is for no other.
        """
        has = _Has(has_secret, person, contracts, scope)
        given = tokens(request)
        vector = unit(self._embedder.embed([" ".join(token.word for token in given if not token.shape)])[0])
        ranked = sorted(
            ((nearest(vector, known.vectors), known) for known in self._known),
            key=lambda each: (-each[0], each[1].candidate.procedure.name),
        )
        if not ranked or ranked[0][0] <= 0:
            return Routed(Verdict.FALLBACK, failed=Gate.SIMILARITY, reasons=((Gate.SIMILARITY, "it is like none"),))
        (near, known), (next_, other) = ranked[0], ranked[1] if len(ranked) > 1 else (0.0, None)
        found = self._read(request, known)
        reasons = (
            *((Gate.SIMILARITY, each) for each in _unlike(near, next_, known)),
            *((Gate.WORDS, each) for each in self._words(request, known, found)),
            *((Gate.READINESS, each) for each in _unready(known, found, has)),
        )
        if not reasons:
            reasons = tuple((Gate.WORDS, f"it is a request of {name}, too") for name in self._also(given, known))
        like = at_least(near, known.floor)
        return Routed(
            verdict=Verdict.ROUTE if not reasons else Verdict.SUGGEST if like else Verdict.FALLBACK,
            procedure=known.candidate.procedure.name,
            similarity=near,
            threshold=known.calibration.threshold,
            other=other.candidate.procedure.name if other is not None else "",
            other_similarity=next_,
            margin=known.margin,
            failed=reasons[0][0] if reasons else None,
            reasons=reasons,
            inputs=found.values,
        )

    def _also(self, given: Sequence[Token], known: _Known) -> Iterator[str]:
        """The other intents that a request may be one of: it has the words of a member, and anything in its slots.

        Two intents may be asked for with the same words, one of which is more than the other, or does what it can.
        """
        for other in self._known:
            if other is not known and any(covers(member, given) for member in other.members):
                yield other.candidate.procedure.name
        for name, members in self._others:
            if any(covers(member, given) for member in members):
                yield name

    def _read(self, request: str, known: _Known) -> Read:
        inputs = known.candidate.procedure.inputs
        return checked(request, inputs, (self._reader or known.reader).read(request, inputs))

    def _words(self, request: str, known: _Known, found: Read) -> Iterator[str]:
        given = tokens(request)
        parts = parts_of(given, placed(given, found.values))
        left = [part.shape for part in parts if isinstance(part, Shaped)]
        if left:
            yield f"a value is left over: {', '.join(left)}"
        said = _key(parts)
        members = [_key(member) for member in known.members]
        if said in members:
            return
        if self._relaxed and not known.candidate.procedure.changes():
            unknown = sorted(set(_words(said)) - {word for member in members for word in _words(member)})
            if unknown:
                yield f"words that no member has: {' '.join(unknown)}"
            return
        nearest = max(members, key=lambda member: SequenceMatcher(None, member, said).ratio(), default=())
        yield from _differences(nearest, said)


def _key(parts: Sequence[Part]) -> tuple[str | Slot | Shaped, ...]:
    """Parts to compare: whether a value was in quotation marks does not matter."""
    return tuple(Slot(part.name) if isinstance(part, Slot) else part for part in parts)


def _words(parts: Sequence[Part]) -> list[str]:
    return [part for part in parts if isinstance(part, str)]


def _differences(member: Sequence[Part], said: Sequence[Part]) -> Iterator[str]:
    extra, missing = [], []
    for kind, a, b, c, d in SequenceMatcher(None, member, said).get_opcodes():
        if kind != "equal":
            missing += [_said(part) for part in member[a:b]]
            extra += [_said(part) for part in said[c:d]]
    if extra:
        yield f"extra words: {' '.join(extra)}"
    if missing:
        yield f"missing words: {' '.join(missing)}"
    if not extra and not missing:
        yield "the procedure has no member"


def _said(part: Part) -> str:
    return f"<{part.name}>" if isinstance(part, Slot) else f"<{part.shape}>" if isinstance(part, Shaped) else part


def _unlike(near: float, next_: float, known: _Known) -> Iterator[str]:
    calibration = known.calibration
    if not calibration.separable:
        yield (
            f"not_separable: its own requests are as far apart as {calibration.lowest:.2f}, "
            f"and a threshold of {calibration.threshold:.2f} keeps others out"
        )
    if not at_least(near, calibration.threshold):
        yield f"similarity {near:.2f}, below {calibration.threshold:.2f}"
    if not at_least(near, next_ + known.margin):
        yield f"similarity {near:.2f}, and {next_:.2f} to another procedure"


@dataclass(frozen=True, slots=True)
class _Has:
    """What there is for a run; see `Router.route`."""

    secret: Callable[[str], bool]
    person: bool
    contracts: Mapping[str, Contract] | None
    scope: Mapping[str, str] | None


def _unready(known: _Known, found: Read, has: _Has) -> Iterator[str]:
    procedure, requests = known.candidate.procedure, known.candidate.requests
    if requests.procedure != digest_of(procedure):
        yield "the requests are those of another version of the procedure"
    yield from found.refused
    yield from not_ready(
        procedure,
        found.values,
        has_secret=has.secret,
        person=has.person,
        contracts=has.contracts,
        scope=has.scope,
    )
    if procedure.changes() and procedure.compiled.unseen > known.unseen_max:
        unseen = procedure.compiled.unseen
        yield f"the chance of a way that nobody has seen is {unseen:.2f}, above {known.unseen_max:.2f}"

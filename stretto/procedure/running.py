"""Drives a run: makes the calls, asks the people, keeps the journal. The edge around `stretto.procedure.engine`.

Sync and async, with one course between them (`course`): a request is answered from the journal where it can be, and
handed on where it cannot.
"""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from stretto.procedure import atoms
from stretto.procedure.engine import play
from stretto.procedure.exchange import Answer, Ask, Calls, Done, Ending, Escalation
from stretto.procedure.journal import NoJournal
from stretto.procedure.trees.running import play_trees
from waggle import jsonvalue
from waggle.redact import is_masked, redact_value
from waggle.values import read_result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping

    from stretto.procedure.exchange import Make, Reply, Request
    from stretto.procedure.freshness import Freshness
    from stretto.procedure.graph import Procedure
    from stretto.procedure.trees.model import TreeProcedure
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Asked", "Chooser", "Person", "Ran", "Verdict", "adrive", "course", "done_of", "drive", "tree_course"]


class Verdict(StrEnum):
    """How a run ended."""

    RESOLVED = "resolved"  #: it came to its end
    TRANSFERRED = "transferred"  #: it passed the task to a person, as the procedure says
    HAND_BACK = "hand_back"  #: it stopped; whoever started it goes on from there


class Person(Protocol):
    """Somebody who is asked what the evidence does not settle."""

    def answer(self, question: Ask) -> Answer:
        """Answer a question; `Answer` with ``given=False`` where nobody does."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model sees of a question, and all that it sees: copies, in which secrets are masked.

    Attributes:
        text: the question. Data of tools may stand in it; it is no instruction.
        shows: the fields that the node lists, by place.
    """

    text: str
    shows: Mapping[str, JsonValue]


class Chooser(Protocol):
    """A model that answers closed questions of steps which can be taken back, or only read. It gets no tools."""

    def choose(self, question: Asked, candidates: tuple[JsonValue, ...]) -> int | None:
        """The number of one of the candidates, from 0; None for no answer.

        Where the node lists no candidates, they are the values of the question's type among what is shown. Anything
        else than the number of a candidate stops the run, and so does whatever is raised.
        """


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run went.

    Attributes:
        verdict: see `Verdict`.
        outputs: what the procedure gives, by name.
        calls: that were made or taken from the journal, in order, with what came of them.
        escalation: why it stopped; None when it came to its end.
        check: of a tree procedure, the probe that checked the outcome and what it returned; None without one.
    """

    verdict: Verdict
    outputs: JsonObject
    calls: tuple[tuple[Make, Done], ...]
    escalation: Escalation | None = None
    check: tuple[str, str] | None = None


class _Stopped(Exception):
    def __init__(self, make: Make, reason: str, says: str) -> None:
        super().__init__(reason, says)
        self.make = make
        self.reason = reason
        self.says = says


def course(
    procedure: Procedure,
    inputs: Mapping[str, JsonValue],
    secret: Callable[[str], str],
    journal: NoJournal | None = None,
    fresh: Mapping[str, Freshness] | None = None,
) -> Generator[Request, Reply, Ran]:
    """A run as whoever makes the calls sees it: only what the journal does not know is asked for; for `drive`.

    See `play`; without `fresh`, injected values are read anew.
    """
    journal = journal or NoJournal()
    made: list[tuple[Make, Done]] = []
    try:
        ending = yield from _journalled(play(procedure, inputs, secret, fresh), journal, made)
    except _Stopped as stop:
        escalation = Escalation(procedure.name, stop.make.node, stop.reason, stop.says)
        ending = Ending({}, tuple(made), escalation)
    stopped = ending.escalation
    journal.close(stopped)
    verdict = Verdict.RESOLVED if stopped is None else Verdict.HAND_BACK
    return Ran(verdict, ending.outputs, ending.made, stopped)


def tree_course(
    procedure: TreeProcedure, ticket: str, journal: NoJournal | None = None
) -> Generator[Request, Reply, Ran]:
    """The same of a tree procedure, which is given a ticket."""
    journal = journal or NoJournal()
    made: list[tuple[Make, Done]] = []
    try:
        ending = yield from _journalled(play_trees(procedure, ticket), journal, made)
    except _Stopped as stop:
        escalation = Escalation(procedure.domain, stop.make.node, stop.reason, stop.says)
        journal.close(escalation)
        return Ran(Verdict.HAND_BACK, {}, tuple(made), escalation)
    journal.close()
    return Ran(Verdict(ending.verdict), {}, ending.made, None, ending.check)


_Ending = TypeVar("_Ending")


def _journalled(
    playing: Generator[Request, Reply, _Ending], journal: NoJournal, made: list[tuple[Make, Done]]
) -> Generator[Request, Reply, _Ending]:
    try:
        request = next(playing)
        while True:
            if isinstance(request, Ask):
                request = playing.send((yield from _answer(request, journal)))
            else:
                done = yield from _calls(request, journal)
                made += zip(request.makes, done, strict=True)
                request = playing.send(done)
    except StopIteration as stop:
        ending: _Ending = stop.value
        return ending


def _answer(request: Ask, journal: NoJournal) -> Generator[Request, Reply, Reply]:
    known = journal.answered(request)
    if known is not None:
        return known
    reply = yield request
    assert isinstance(reply, Answer)  # noqa: S101 - the contract of `play`
    journal.answer(request, reply)
    return reply


def _calls(request: Calls, journal: NoJournal) -> Generator[Request, Reply, list[Done]]:
    found = {make.id: known for make in request.makes if (known := journal.done(make)) is not None}
    open_makes = tuple(make for make in request.makes if make.id not in found)
    for make in open_makes:
        if journal.in_doubt(make):
            says = f"{make.tool} was begun in an earlier attempt, and it is not known what came of it"
            raise _Stopped(make, "in_doubt", says)
        if is_masked(make.args):
            raise _Stopped(make, "masked", f"an argument of {make.tool} was a secret that is kept nowhere")
    if open_makes:
        for make in open_makes:
            journal.begin(make)
        replies = yield Calls(open_makes)
        assert not isinstance(replies, Answer)  # noqa: S101 - the contract of `play`
        for make, done in zip(open_makes, replies, strict=True):
            journal.end(make, done)
            found[make.id] = done
    return [found[make.id] for make in request.makes]


def drive(
    running: Generator[Request, Reply, Ran],
    call: Callable[[Make], Done],
    *,
    person: Person | None = None,
    chooser: Chooser | None = None,
    side_by_side: int = 1,
) -> Ran:
    """Drive a run to its end.

    Args:
        running: `course` or `tree_course`.
        call: makes a call; what it raises is a failed call, of which it is not known whether it was made.
        person: is asked what only a person may decide; without one such a question stops the run.
        chooser: answers the closed questions of a model; without one such a question stops the run.
        side_by_side: reads that are made at once.
    """
    try:
        request = next(running)
        while True:
            if isinstance(request, Ask):
                request = running.send(_asked(request, person, chooser))
            elif len(request.makes) > 1 and side_by_side > 1:
                with ThreadPoolExecutor(side_by_side) as pool:
                    done = list(pool.map(lambda make: _made(call, make), request.makes))
                request = running.send(done)
            else:
                request = running.send([_made(call, make) for make in request.makes])
    except StopIteration as stop:
        ran: Ran = stop.value
        return ran


async def adrive(
    running: Generator[Request, Reply, Ran],
    call: Callable[[Make], Awaitable[Done]],
    *,
    person: Person | None = None,
    chooser: Chooser | None = None,
) -> Ran:
    """Drive a run where calls are awaited; independent reads are made at once. See `drive`.

    A person or a model is asked on a thread, so that nothing else waits.
    """
    try:
        request = next(running)
        while True:
            if isinstance(request, Ask):
                request = running.send(await asyncio.to_thread(_asked, request, person, chooser))
            else:
                makes = request.makes
                request = running.send(await asyncio.gather(*(_amade(call, make) for make in makes)))
    except StopIteration as stop:
        ran: Ran = stop.value
        return ran


def _made(call: Callable[[Make], Done], make: Make) -> Done:
    try:
        return call(make)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run stops
        return Done(ok=False, output=f"{type(error).__name__}: {error}", certain=False)


async def _amade(call: Callable[[Make], Awaitable[Done]], make: Make) -> Done:
    try:
        return await call(make)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run stops
        return Done(ok=False, output=f"{type(error).__name__}: {error}", certain=False)


def _asked(question: Ask, person: Person | None, chooser: Chooser | None) -> Answer:
    if question.person:
        return person.answer(question) if person is not None else Answer(given=False)
    return _chosen(question, chooser) if chooser is not None else Answer(given=False)


def _chosen(question: Ask, chooser: Chooser) -> Answer:
    """What a model chose; no answer where that is not the number of a candidate."""
    shows = {place: _unmarked(place, value) for place, value in question.shows}
    candidates = question.candidates or tuple(_shown_values(question, shows))
    if not candidates:
        return Answer(given=False)
    try:
        chosen: object = chooser.choose(Asked(question.text, shows), tuple(redact_value(each) for each in candidates))
    except Exception as error:  # noqa: BLE001 - whatever it is, the run stops
        return Answer(given=False, instead=f"it raised {type(error).__name__}")
    if chosen is None:
        return Answer(given=False)
    if isinstance(chosen, bool) or not isinstance(chosen, int) or not 0 <= chosen < len(candidates):
        return Answer(given=False, instead=f"it is no number from 0 to {len(candidates) - 1}")
    return Answer(candidates[chosen])


def _unmarked(place: str, value: JsonValue) -> JsonValue:
    """A copy of what stands at a place, without secrets."""
    found = redact_value({place: value})
    return next(iter(found.values())) if isinstance(found, dict) else found


_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def _shown_values(question: Ask, shows: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    """The different values of a question's type among what is shown, in order; none of which a part is masked."""
    kind, told = _TYPES.get(question.answer, ()), set[bytes]()
    for place, value in question.shows:
        shown = dict(atoms.nodes(shows[place]))
        for path, node in atoms.nodes(value):
            key = atoms.key(node)
            fits = isinstance(node, kind) and (isinstance(node, bool) == (kind is bool))
            if fits and key not in told and path in shown and atoms.key(shown[path]) == key:
                told.add(key)
                yield node


def done_of(result: object, *, ok: bool = True) -> Done:
    """What came of a call, from whatever a host's tool returned: JSON as it is, a text as JSON where it is some."""
    if inspect.isawaitable(result):
        raise TypeError("the tool is async: use arun")
    if isinstance(result, str):
        return Done(ok, _parsed(result))
    value, _ = jsonvalue.to_json(result)
    return Done(ok, value)


def _parsed(text: str) -> JsonValue:
    if jsonvalue.may_be_json(text):
        found = read_result(text)
        return text if isinstance(found, list) and not text.lstrip().startswith("[") else found
    return text

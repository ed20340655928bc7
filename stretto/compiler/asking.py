"""Asks an adviser: every question once, nothing secret in it, and whatever comes back is read as data.

What must stay true: nothing that an adviser raises or returns stops the compiler or gets past the form of an answer;
what is dropped is logged and listed with its reason. The checks of what is proposed are not here.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from stretto.compiler.advising import Dropped
from stretto.compiler.answers import Answers
from stretto.compiler.guards import Guard, Predicate
from stretto.compiler.masks import Masks, as_json, credentials
from waggle.redact import is_masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stretto.compiler.advising import Adviser, OpenFork
    from stretto.compiler.evidence import Edge
    from stretto.compiler.model import Trace
    from stretto.compiler.schemas import Tools
    from waggle.jsonvalue import JsonValue

__all__ = ["Asking"]

_log = logging.getLogger("stretto.compiler")

_TITLE: Final = 80  #: characters of a title
_WORDS: Final = 200  #: characters of any other text
_PROPOSALS: Final = 20  #: of one answer that are looked at

_Item = TypeVar("_Item")


class _NoAnswerError(Exception):
    """What came back is none; the text says why."""


class Asking:
    """One adviser, asked about some traces.

    Args:
        adviser: whom.
        answers: what it has answered before; None for nothing.
        tools: what is known of the actions: values declared secret are masked.
        traces: that it is asked about.

    Attributes:
        name: of the adviser, as text of one line.
        version: of it, likewise.
    """

    def __init__(self, adviser: Adviser, answers: Answers | None, tools: Tools, traces: Sequence[Trace]) -> None:
        self._adviser = adviser
        self._answers = answers if answers is not None else Answers()
        self._tools = tools
        self._traces = traces
        self._unanswered: set[str] = set()
        self._dropped: set[Dropped] = set()
        self.name = self._said_of_itself("name")
        self.version = self._said_of_itself("version")

    def _said_of_itself(self, attribute: str) -> str:
        try:
            said: object = getattr(self._adviser, attribute)
        except Exception:  # noqa: BLE001 - somebody else's code
            said = None
        return (_line(said, _TITLE) if isinstance(said, str) else "") or "unknown"

    @cached_property
    def masks(self) -> Masks:
        """What masks the secrets of all traces that it is asked about."""
        return Masks(self._tools, self._traces, self._credentials)

    @cached_property
    def _credentials(self) -> frozenset[str]:
        return credentials(self._tools, self._traces)

    # --- questions ---------------------------------------------------------------------------------------------------

    def title(self, traces: Sequence[Trace], documents: Sequence[str]) -> str:
        """A title for traces with these documents: one line; empty for none."""
        masks = Masks(self._tools, traces, self._credentials)
        shown = [masks.text(each) for each in documents]

        def read(answer: object) -> JsonValue:
            return _line(masks.text(_text(answer)), _TITLE)

        found = self._ask("name_intent", "", shown, lambda: self._adviser.name_intent(list(shown)), read)
        return _line(found, _TITLE) if isinstance(found, str) else ""

    def splits(self, trace: Trace) -> list[int]:
        """The boundaries that are proposed for a trace, sorted."""
        shown = Masks(self._tools, [trace], self._credentials).trace(trace)

        def read(answer: object) -> JsonValue:
            return [*sorted({int(each) for each in self._each(answer, int, "propose_split", trace.id)})]

        found = self._ask("propose_split", trace.id, shown, lambda: self._adviser.propose_split(shown), read)
        return [each for each in _listed(found) if isinstance(each, int) and not isinstance(each, bool)]

    def transforms(self, about: str, pairs: Sequence[tuple[JsonValue, JsonValue]]) -> list[str]:
        """The names of transforms that are proposed for pairs of values; not asked where one of them is secret."""
        shown = [(self.masks.value(source), self.masks.value(target)) for source, target in pairs]
        if is_masked([[*each] for each in shown]):
            return []

        def read(answer: object) -> JsonValue:
            names = {self._word(each) for each in self._each(answer, str, "propose_transforms", about)}
            return [*sorted(names)]

        asked = list(shown)
        found = self._ask("propose_transforms", about, shown, lambda: self._adviser.propose_transforms(asked), read)
        return [each for each in _listed(found) if isinstance(each, str)]

    def guards(self, about: str, fork: OpenFork) -> list[tuple[Predicate, str, str]]:
        """The guards that are proposed for a fork: predicate, step and path."""

        def read(answer: object) -> JsonValue:
            places: set[tuple[str, str, str]] = set()
            for each in self._each(answer, Guard, "propose_guards", about):
                place = _guard_at([each.predicate, each.step, each.path])
                if place is None:
                    self.drop("propose_guards", about, "", "a guard is a predicate, a step and a path")
                else:
                    places.add((str(place[0]), self._word(place[1]), self._word(place[2])))
            return [[*each] for each in sorted(places)]

        found = self._ask("propose_guards", about, fork, lambda: self._adviser.propose_guards(fork), read)
        return [place for each in _listed(found) if (place := _guard_at(each)) is not None]

    def doubt(self, edge: Edge) -> str:
        """Why an edge is doubted: one line; empty where it is not."""
        shown = self.masks.edge(edge)
        about = f"{edge.producer} -> {edge.consumer}"

        def read(answer: object) -> JsonValue:
            return "" if answer is None else self._word(_text(answer))

        found = self._ask("doubt", about, shown, lambda: self._adviser.doubt(shown), read)
        return _line(found, _WORDS) if isinstance(found, str) else ""

    # --- asking ------------------------------------------------------------------------------------------------------

    def _ask(
        self,
        method: str,
        about: str,
        question: object,
        ask: Callable[[], object],
        read: Callable[[object], JsonValue],
    ) -> JsonValue:
        """The answer to a question, from before where it is known; None where there is none.

        Args:
            method: of the adviser.
            about: what it is about, for people.
            question: what the adviser is given.
            ask: asks.
            read: an answer as it is kept; what was kept is looked at again by whoever asks.
        """
        digest = self._answers.digest([self.name, self.version, method, as_json(question)])
        known = self._answers.get(digest)
        if known is not None or digest in self._unanswered:
            return known
        try:
            answer = read(ask())
        except _NoAnswerError as error:
            self.drop(method, about, "", str(error))
        except Exception as error:  # noqa: BLE001 - somebody else's code
            self.drop(method, about, "", f"it raised {type(error).__name__}")
        else:
            self._answers.put(digest, answer)
            return answer
        self._unanswered.add(digest)
        return None

    def _each(self, answer: object, kind: type[_Item], method: str, about: str) -> Iterator[_Item]:
        """The items of an answer that are of a type; the others are dropped."""
        if not isinstance(answer, list | tuple):
            raise _NoAnswerError(f"expected a list, got {type(answer).__name__}")
        if len(answer) > _PROPOSALS:
            self.drop(method, about, "", f"only the first {_PROPOSALS} of {len(answer)} are looked at")
        for item in answer[:_PROPOSALS]:
            if isinstance(item, kind) and not isinstance(item, bool):
                yield item
            else:
                self.drop(method, about, "", f"expected {kind.__name__}, got {type(item).__name__}")

    def _word(self, text: str) -> str:
        return _line(self.masks.text(text), _WORDS)

    # --- what is dropped ---------------------------------------------------------------------------------------------

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """What was dropped, sorted."""
        return tuple(sorted(self._dropped))

    def drop(self, asked: str, about: str, proposal: str, reason: str) -> None:
        """Drop a proposal, once."""
        said = Dropped(asked, _line(about, _WORDS), self._word(proposal), _line(reason, _WORDS))
        if said not in self._dropped:
            self._dropped.add(said)
            _log.info("%s: %s %s: dropped %r: %s", self.name, said.asked, said.about, said.proposal, said.reason)


def _line(text: str, most: int) -> str:
    """A text as data for one line: nothing that a terminal or a page would take for a command, and not too long."""
    plain = "".join(character if character.isprintable() else " " for character in text[: 10 * most])
    return " ".join(plain.split())[:most]


def _text(answer: object) -> str:
    if not isinstance(answer, str):
        raise _NoAnswerError(f"expected a text, got {type(answer).__name__}")
    return _line(answer, 10 * _WORDS)  # masked and cut afterwards: what is cut first may hide what a secret is


def _listed(found: JsonValue) -> list[JsonValue]:
    """A list that was kept; anything else counts as none."""
    return found if isinstance(found, list) else []


def _guard_at(place: object) -> tuple[Predicate, str, str] | None:
    """A guard from what it is kept as; None where that is none."""
    match place:
        case [str(predicate), str(step), str(path)] if predicate in list(Predicate):
            return Predicate(predicate), step, path
    return None

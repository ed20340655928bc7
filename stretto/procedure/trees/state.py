"""A run so far, and what trees may ask of it: the ticket's words, what was called, what the last results said.

=========================  ===========================================================================================
``ticket: W``              a word of the ticket or two words that follow each other, of those that are asked for
``called T``               the tool was called
``made A``                 the action was made, of a tool that changes something
``T:error``                the tool's last call failed; else ``T:error=False`` and what its result says:
``T:F=v``                  a field's short text without three digits in a row, a truth value or a whole number
``T:len(F)=n``             elements of a list or map: 0, 1 or 2+; ``T:len($)=n`` of a result that is a list
``T:F.*.status=v``         in a map of records, the status of any
``T:key=v``, ``T:says …``  of a text: a line ``Key: v | w``, and any other short line, both without digits
=========================  ===========================================================================================

Fitting and running see the same state; that is why it is one class. Texts are lower-cased and trimmed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from stretto.procedure.trees.actions import mapped
from stretto.procedure.trees.model import START, site_after
from stretto.procedure.trees.symbols import DEEPEST, SHORT, is_identifier
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from stretto.procedure.trees.actions import Place
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Returned", "State", "value_of", "words"]

_WORD: Final = re.compile(r"[a-z]+")
_DIGIT: Final = re.compile(r"\d")
_NUMBER: Final = re.compile(r"\d{3}")
_LINE: Final = 60  # characters of a line that is a feature as a whole; the original's


def words(ticket: str) -> list[str]:
    """The words of a ticket and the pairs that follow each other, in order."""
    single = _WORD.findall(ticket.lower())
    return single + [f"{first} {second}" for first, second in pairwise(single)]


def value_of(output: JsonValue) -> JsonValue:
    """A result as it is looked at: a text that holds JSON is what it holds."""
    while isinstance(output, str) and jsonvalue.may_be_json(output):
        try:
            output = jsonvalue.loads(output)
        except ValueError:
            break
    return output


def _strings(value: JsonValue, deepest: int = DEEPEST) -> Iterator[str]:
    """The texts in a value, keys left out, objects in the order of their keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and deepest:
        parts = [each for _, each in sorted(value.items())] if isinstance(value, dict) else value
        for each in parts:
            yield from _strings(each, deepest - 1)


@dataclass(frozen=True)
class Returned:
    """What a call that succeeded returned.

    Attributes:
        tool: what was called.
        value: the result, see `value_of`.
        ticket: of the run.
    """

    tool: str
    value: JsonValue
    ticket: str

    @cached_property
    def texts(self) -> frozenset[str]:
        """The texts in the result, for a quick look."""
        return frozenset(_strings(self.value))

    @cached_property
    def given(self) -> bool:
        """Whether the result holds an identifier that the ticket gives."""
        return any(is_identifier(text) and _stands_in(text, self.ticket) for text in self.texts)

    @cached_property
    def features(self) -> frozenset[str]:
        """What the result says of its tool."""
        return frozenset(f"{self.tool}:{said}" for said in ("error=False", *_said(self.value)))


def _said(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for name, field in value.items():
            yield from _field(name, field)
    elif isinstance(value, list):
        yield f"len($)={_size(value)}"
    elif isinstance(value, str):
        for line in value.split("\n"):
            yield from _line(line.strip().lower())


def _field(name: str, value: JsonValue) -> Iterator[str]:
    if (said := _scalar(value)) is not None:
        yield f"{name}={said}"
    elif isinstance(value, dict | list):
        yield f"len({name})={_size(value)}"
        records = value.values() if isinstance(value, dict) else ()
        for record in records:
            status = _scalar(record.get("status")) if isinstance(record, dict) else None
            if status is not None:
                yield f"{name}.*.status={status}"


def _scalar(value: JsonValue) -> str | None:
    if isinstance(value, bool | int):
        return str(value)
    if not isinstance(value, str):
        return None
    said = value.strip().lower()
    return said if len(said) <= SHORT and not _NUMBER.search(said) else None


def _size(value: Collection[object]) -> str:
    return str(len(value)) if len(value) <= 1 else "2+"


def _line(line: str) -> Iterator[str]:
    key, colon, rest = line.partition(": ")
    if colon:
        yield from (f"{key.strip()}={part}" for each in rest.split("|") if (part := each.strip()) and not _digits(part))
    elif line and len(line) <= _LINE and not _digits(line):
        yield f"says {line}"


def _digits(text: str) -> bool:
    return _DIGIT.search(text) is not None


class State:
    """A run so far.

    Args:
        ticket: what the run is for.
        vocab: words and pairs that trees may ask for.
        reads: tools that change nothing.
        symbolic: whether the record that the ticket speaks of stays what a tool's state is, see `took`.

    Attributes:
        ticket: as given.
        site: where the run is.
        results: what calls returned that succeeded, in order.
    """

    def __init__(self, ticket: str, vocab: Collection[str], reads: Collection[str], *, symbolic: bool) -> None:
        self.ticket = ticket
        self.site = START
        self.results: list[Returned] = []
        self._reads = reads
        self._symbolic = symbolic
        asked_for = frozenset(vocab)
        self._held = {f"ticket: {word}" for word in words(ticket) if word in asked_for}
        self._of_tools: dict[str, frozenset[str]] = {}
        self._pinned: dict[tuple[str, frozenset[str]], frozenset[str]] = {}
        self._passed: dict[tuple[str, Place], set[str]] = {}
        self._fresh: set[tuple[str, bytes]] = set()  # reads since the last write
        self._written: set[tuple[str, bytes]] = set()

    def features(self) -> frozenset[str]:
        """What trees may ask for, as it is now."""
        return frozenset(self._held).union(*self._of_tools.values())

    def is_read(self, tool: str) -> bool:
        """Whether the tool changes nothing."""
        return tool in self._reads

    def is_repeat(self, tool: str, arguments: JsonObject) -> bool:
        """Whether a call was made before: a read since the last write, a write ever."""
        return _key(tool, arguments) in (self._fresh if self.is_read(tool) else self._written)

    def passed(self, tool: str, place: Place) -> set[str]:
        """The texts that a tool was given at a place in its arguments."""
        return self._passed.get((tool, place), set())

    def took(self, action: str, tool: str, arguments: JsonObject, output: JsonValue, *, ok: bool) -> None:
        """Go on to the state after a call.

        With symbols, a record without an identifier of the ticket does not take the place of one with it and with the
        same fields: of two lines of a customer, the one that the ticket names is the one that is looked at.

        Args:
            action: as the tree says it, or would.
            tool: what was called.
            arguments: of the call.
            output: JSON, or a text.
            ok: whether it succeeded.
        """
        self.site = site_after(tool, failed=not ok)
        self._held.add(f"called {tool}")
        if self.is_read(tool):
            self._fresh.add(_key(tool, arguments))
        else:
            self._fresh.clear()
            self._written.add(_key(tool, arguments))
            self._held.add(f"made {action}")
        mapped(arguments, lambda place, value: self._pass(tool, place, value))
        if not ok:
            self._of_tools[tool] = frozenset([f"{tool}:error"])
            return
        value = value_of(output)
        returned = Returned(tool, value, self.ticket)
        self.results.append(returned)
        self._of_tools[tool] = returned.features
        if self._symbolic and isinstance(value, dict):
            fields = (tool, frozenset(value))
            if returned.given:
                self._pinned[fields] = returned.features
            self._of_tools[tool] = self._pinned.get(fields, returned.features)

    def _pass(self, tool: str, place: Place, value: str) -> str:
        self._passed.setdefault((tool, place), set()).add(value)
        return value


def _key(tool: str, arguments: JsonObject) -> tuple[str, bytes]:
    return tool, jsonvalue.canonical(arguments)


def _stands_in(value: str, text: str) -> bool:
    """Whether a text holds a value as a whole: 1234 does not stand in 12345."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(value) : at + len(value) + 1]
        if not (before.isalnum() and value[0].isalnum()) and not (after.isalnum() and value[-1].isalnum()):
            return True
        at = text.find(value, at + 1)
    return False

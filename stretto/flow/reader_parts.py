"""Parts of a flow file: the alphabet, the counts of histories, code features; and what reading any part needs.

Every function takes a part in its form (`stretto.flow.schema`) and its JSON path, and raises `FlowError` with the path
of what does not fit. The file's name is added by `stretto.flow.reader`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeVar

from stretto.contents import field_path
from stretto.errors import FlowError
from stretto.model.alphabet import FEATURES, StepOutcome, Vocabulary
from stretto.model.counts import ORDER, PADDING, Backoff, Habit, Tally
from stretto.model.features import EMPTY, FeatureMap, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from stretto.flow.schema import BackoffForm, HabitForm, MapForm, TallyForm
    from stretto.model.counts import Context

__all__ = [
    "fault",
    "read_backoff",
    "read_features",
    "read_habit",
    "read_vocabulary",
    "same",
    "shown",
    "table",
]

#: What counts that were summed in another order than their total may differ from it by, as a share of it.
_ROUNDING: Final = 1e-9
_SHOWN: Final = 60  #: characters of a name in an error

_Form = TypeVar("_Form")
_FormKey = TypeVar("_FormKey")
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


# --- paths and tables -----------------------------------------------------------------------------------------


def fault(at: str, problem: str) -> FlowError:
    """What is wrong at a JSON path."""
    return FlowError("", at, problem)


def shown(name: str) -> str:
    """A name from the file as it may stand in an error."""
    return ascii(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…")


def same(value: _Value, _: str) -> _Value:
    """A part that needs no check beyond its form."""
    return value


def table(
    pairs: Iterable[tuple[_FormKey, _Form]],
    at: str,
    key: Callable[[_FormKey, str], _Key],
    value: Callable[[_Form, str], _Value],
) -> dict[_Key, _Value]:
    """A map that is written as a list of pairs, no key twice.

    Args:
        pairs: as in the file.
        at: JSON path of the list.
        key: reads a key, given its path.
        value: reads a value, given its path.
    """
    found: dict[_Key, _Value] = {}
    for place, (raw_key, raw_value) in enumerate(pairs):
        name = key(raw_key, f"{at}[{place}][0]")
        if name in found:
            raise fault(f"{at}[{place}][0]", "stands here a second time")
        found[name] = value(raw_value, f"{at}[{place}][1]")
    return found


# --- histories ------------------------------------------------------------------------------------------------


def read_vocabulary(forms: Sequence[object], at: str) -> Vocabulary:
    """The actions: ``"Respond"``, then the tools by name."""
    if not forms or forms[0] != "Respond":
        raise fault(f"{at}[0]", 'expected "Respond"')
    tools: list[str] = []
    for place, form in enumerate(forms[1:], 1):
        tool = form.get("Tool") if isinstance(form, dict) and len(form) == 1 else None
        if not isinstance(tool, str):
            raise fault(f"{at}[{place}]", 'expected {"Tool": NAME}')
        if tools and tools[-1] >= tool:
            raise fault(f"{at}[{place}]", "expected tools in order of their names, each once")
        tools.append(tool)
    return Vocabulary(tools)


def read_habit(form: HabitForm, vocabulary: Vocabulary, at: str) -> Habit:
    """The agent's next step: of each context's counts, one is one step."""

    def key(form_key: tuple[int, list[int]], where: str) -> tuple[int, Context]:
        group, symbols = form_key
        return group, _context(symbols, ORDER, vocabulary, f"{where}[1]")

    def tally(form_tally: TallyForm, where: str) -> Tally:
        return _tally(form_tally, vocabulary, where, exclusive=True)

    base = read_backoff(form.base, vocabulary, f"{at}.base", exclusive=True)
    return Habit(base, form.beta, table(form.top, f"{at}.top", key, tally))


def read_backoff(form: BackoffForm, vocabulary: Vocabulary, at: str, *, exclusive: bool) -> Backoff:
    """Counts by context.

    Args:
        form: as in the file.
        vocabulary: its actions.
        at: its JSON path.
        exclusive: whether one step counts one action, so that a context's counts cannot exceed its total together.
    """
    if form.vocab_size != vocabulary.size:
        raise fault(f"{at}.vocab_size", f"expected {vocabulary.size}: one more than $.vocab is long")

    def level(length: int) -> dict[Context, Tally]:
        return table(
            form.levels[length],
            f"{at}.levels[{length}]",
            lambda symbols, where: _context(symbols, length, vocabulary, where),
            lambda tally, where: _tally(tally, vocabulary, where, exclusive=exclusive),
        )

    return Backoff(form.alpha, form.vocab_size, [level(length) for length in range(ORDER + 1)])


def _context(symbols: Sequence[int], length: int, vocabulary: Vocabulary, at: str) -> Context:
    if len(symbols) != length:
        raise fault(at, f"expected a context of {length} symbols")
    actions = vocabulary.size * len(StepOutcome) * FEATURES
    for place, symbol in enumerate(symbols):
        if symbol >= actions and symbol != PADDING:
            raise fault(f"{at}[{place}]", "not a symbol of this vocabulary")
    return tuple(symbols)


def _tally(form: TallyForm, vocabulary: Vocabulary, at: str, *, exclusive: bool) -> Tally:
    most = form.total * (1 + _ROUNDING)

    def action(number: int, where: str) -> int:
        if number >= vocabulary.size:
            raise fault(where, f"expected an action of the vocabulary, 0 to {vocabulary.size - 1}")
        return number

    def count(number: float, where: str) -> float:
        if number > most:
            raise fault(where, "more than the context's total")
        return float(number)

    counts = table(form.by_action, f"{at}.by_action", action, count)
    if exclusive and math.fsum(counts.values()) > most:
        raise fault(f"{at}.total", "less than the sum of $.by_action")
    return Tally(float(form.total), counts)


def read_features(form: MapForm | None, at: str) -> FeatureMap:
    """What of a tool's output makes its symbols differ."""
    if form is None:
        return EMPTY
    fields = {
        tool: tuple(_field(one, f"{field_path((tool,), f'{at}.fields')}[{place}]") for place, one in enumerate(listed))
        for tool, listed in (form.fields or {}).items()
    }

    def values(key: tuple[str, list[str]], where: str) -> tuple[str, tuple[str, ...]]:
        tool, texts = key
        if len(texts) != len(fields.get(tool, ())):
            raise fault(f"{where}[1]", f"expected a value for each field of {shown(tool)} in $.map.fields")
        return tool, tuple(texts)

    def number(feature: int, where: str) -> int:
        if not 0 < feature < FEATURES:
            raise fault(where, f"expected 1 to {FEATURES - 1}")
        return feature

    return FeatureMap(fields, table(form.ids or (), f"{at}.ids", values, number))


def _field(form: object, at: str) -> Field:
    match form:
        case {"Scalar": str(path), **others} if not others:
            return Field("Scalar", path)
        case {"Len": str(path), **others} if not others:
            return Field("Len", path)
    raise fault(at, 'expected {"Scalar": PATH} or {"Len": PATH}')

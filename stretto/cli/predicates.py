"""The file of an arbiter's yes/no questions: a list, each with ``id``, ``favors``, ``question``, ``yes`` and ``no``.

They are written as in a flow file::

    [{"id": "list_pending", "favors": "same_lookup", "question": "Is it working through a list?",
      "yes": "Some are unchecked.", "no": "It is done with it."}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.cli.jsonfile import read_json
from stretto.errors import UsageError
from stretto.flow.model import Predicate

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.flow.model import Favors
    from waggle.jsonvalue import JsonValue

__all__ = ["read_predicates"]

_TEXTS: Final = ("id", "question", "yes", "no")
_FAVORS: Final = ("same_lookup", "any_lookup", "hand_back")


def read_predicates(path: Path) -> tuple[Predicate, ...]:
    """Read an arbiter's questions.

    Raises:
        UsageError: the file cannot be read, or a question is not what it should be; the text says where.
    """
    value = read_json(path)
    try:
        return _predicates(value)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None


def _predicates(value: JsonValue) -> tuple[Predicate, ...]:
    if not isinstance(value, list):
        raise ValueError("expected a list of questions @ $")  # noqa: TRY004 - one kind of error for one kind of fault
    found: dict[str, Predicate] = {}
    for place, each in enumerate(value):
        one = _predicate(each, f"$[{place}]")
        if found.setdefault(one.id, one) is not one:
            raise ValueError(f"stands here a second time @ $[{place}].id")
    return tuple(found.values())


def _predicate(value: JsonValue, at: str) -> Predicate:
    fields = value if isinstance(value, dict) else {}
    if fields.keys() != {"favors", *_TEXTS}:
        raise ValueError(f"expected an object of favors, {', '.join(_TEXTS)} @ {at}")
    texts: dict[str, str] = {}
    for name in _TEXTS:
        text = fields[name]
        if not isinstance(text, str):
            raise ValueError(f"expected a text @ {at}.{name}")  # noqa: TRY004 - as above
        texts[name] = text
    return Predicate(favors=_favors(fields["favors"], f"{at}.favors"), **texts)


def _favors(value: JsonValue, at: str) -> Favors:
    match value:
        case str() if value in _FAVORS:
            return value
        case {"lookup": str(tool), **others} if not others:
            return {"lookup": tool}
    raise ValueError(f'expected {", ".join(_FAVORS)} or {{"lookup": TOOL}} @ {at}')

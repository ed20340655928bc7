"""The form of files: models of pydantic's, and one error that says where something is not what it should be.

Not responsible for reading files (`stretto.contents`), nor for what is in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from stretto.contents import field_path

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Form", "first_fault"]

#: What the faults of a field's form are called here.
_SAID: Final = {
    "missing": "missing",
    "extra_forbidden": "unknown field",
    "string_unicode": "unknown field",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "list_type": "expected a list",
    "tuple_type": "expected a list",
    "string_type": "expected a text",
    "string_too_short": "expected a text that is not empty",
    "int_type": "expected a whole number",
    "float_type": "expected a number",
    "bool_type": "expected true or false",
    "pattern_type": "expected a regular expression",
    "pattern_str_type": "expected a text",
    "pattern_regex": "expected a regular expression",
}


class Form(BaseModel):
    """A part of a file: nothing is converted, unknown fields are refused."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


def first_fault(error: ValidationError, value: object, said: Mapping[str, str] | None = None) -> tuple[str, str]:
    """The first fault of a value that has not its form: the JSON path, and what would be right.

    Args:
        error: the model's.
        value: what the model was made of.
        said: what some of pydantic's kinds of faults are called in this file.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    problem = (said or {}).get(first["type"]) or _SAID.get(first["type"])
    if first["type"] in ("too_long", "too_short"):
        problem = f"expected {first['ctx'].get('max_length', first['ctx'].get('min_length'))} items"
    told = problem or first["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    return field_path(_in_value(first["loc"], value)), told


def _in_value(keys: tuple[str | int, ...], value: Any) -> list[str | int]:
    """The keys that lead through a value: where one of several forms was taken, pydantic names that form among them."""
    return _led(keys, value)[1]


def _led(keys: tuple[str | int, ...], value: Any) -> tuple[tuple[int, bool], list[str | int]]:
    """How many keys are left out, whether the last is, and the others; as few as can be."""
    if not keys:
        return (0, False), []
    key, rest = keys[0], keys[1:]
    (more, is_last), others = _led(rest, value)
    found = [((more + 1, is_last or not rest), others)]
    inner: Any = dict(enumerate(value)) if isinstance(value, list) else value
    if isinstance(inner, dict) and (key in inner or not rest):
        left_out, others = _led(rest, inner.get(key))
        found.append((left_out, [key, *others]))
    return min(found, key=lambda each: each[0])

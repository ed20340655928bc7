"""The text that lookups become in the result of a server, in the original's form.

Not responsible for folds in a host that uses waggle's manager; those are `waggle.replay.fold`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waggle.calls import Result
    from waggle.jsonvalue import JsonValue
    from waggle.replay import Lookup

__all__ = ["lookup_block", "text_of"]

_HEADER: Final = "--- Also looked up automatically (current results; no need to repeat these calls) ---"


def lookup_block(lookups: Sequence[Lookup]) -> str:
    r"""Write lookups and their results as one text.

    Args:
        lookups: with their results, in order.

    Returns:
        A header, then for each lookup a blank line, its tool and arguments, ``(error)`` for a failed one, a colon, and
        its text on the next line. A header within a tool's text gets a backslash in front, so that no tool's text can
        begin another block.
    """
    parts = [_HEADER]
    for lookup in lookups:
        failed = " (error)" if lookup.result and not lookup.result.ok else ""
        text = text_of(lookup.result).replace(_HEADER, f"\\{_HEADER}") if lookup.result else ""
        parts.append(f"{lookup.tool} {jsonvalue.dumps(_sorted(lookup.args)).decode()}{failed}:\n{text}")
    return "\n\n".join(parts)


def text_of(result: Result) -> str:
    """A result as the agent and the session see it: its text, or its value as JSON where it has no text."""
    if result.text or result.value is None:
        return result.text
    return jsonvalue.dumps(result.value).decode()


def _sorted(value: JsonValue) -> JsonValue:
    """The same value with the keys of every object sorted."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value

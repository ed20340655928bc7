"""What tools return and say of themselves, whatever object a framework holds it in.

Not responsible for what is done with it: `waggle.integrations.watch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from waggle import jsonvalue
from waggle.calls import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["hint_of", "result_of", "text_of", "with_text"]

#: Names under which frameworks keep a server's hint, or their own, that a tool only reads.
_HINTS: Final = ("read_only_hint", "readOnlyHint", "read_only")


def result_of(value: object, *, ok: bool = True, structured: object = None) -> Result:
    """What a tool returned, as waggle takes it: its text, and beside it the value that is no text.

    Args:
        value: a text, a list of content blocks, or what JSON can hold.
        ok: False when it reports an error.
        structured: the structured value, where the tool gave one beside its text.
    """
    if structured is not None:
        result, beside = result_of(value, ok=ok), result_of(structured)
        return Result(result.text if value else beside.text, ok, value=beside.value)
    if isinstance(value, str):
        return Result(str(value), ok)
    try:
        content, _ = jsonvalue.to_json(value)
    except Exception:  # noqa: BLE001 - anybody's object
        return Result(str(value), ok)
    return Result(text_of(value), ok, value=None if isinstance(value, list | tuple) else content)


def text_of(value: object) -> str:
    """A result as text: of content blocks their texts, a line each; of anything else its JSON text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and (texts := _texts(value)):
        return "\n".join(texts)
    content, _ = jsonvalue.to_json(value)
    return jsonvalue.dumps(content).decode()


def _texts(blocks: Sequence[Any]) -> list[str]:
    """The texts of content blocks, objects or dictionaries, in order; none when these are no content blocks."""
    texts = []
    for block in blocks:
        text = block.get("text") if isinstance(block, dict) else getattr(block, "text", None)
        if isinstance(block, str):
            text = block
        if isinstance(text, str):
            texts.append(text)
    return texts


def with_text(value: Any, text: str, block: Callable[[str], Any] = str) -> Any:
    """A result with a text behind it: after an empty line of a text, or as one more block of a list of blocks."""
    return f"{value}\n\n{text}" if isinstance(value, str) else [*value, block(text)]


def hint_of(*places: object) -> bool | None:
    """Whether a tool is said to read only.

    Args:
        places: what may say so, in the order of belief: a server's annotations, a framework's metadata, objects or
            dictionaries; None for one that is not there.

    Returns:
        What the first of them says that says it; None when none does.
    """
    for place in places:
        for name in _HINTS:
            found = place.get(name) if isinstance(place, dict) else getattr(place, name, None)
            if isinstance(found, bool):
                return found
    return None

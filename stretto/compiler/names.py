"""One vocabulary for tools: ``app.action``. Pure.

Names must not hide what a call does: two tools with different effects never share a name.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from stretto.errors import CanonicalCollision

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stretto.compiler.model import Effect

__all__ = ["Named", "RawTool", "canonical_names", "http_action", "snake_case", "words_of"]

_BREAKS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER: Final = re.compile(r"[\W_]+")
_WORDS: Final = re.compile(r"[^\W_]+")
_ID: Final = re.compile(
    r"\d+|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|(?=.*\d)[0-9a-fA-F]{8,}"
)
_DIGEST_BYTES: Final = 4


@dataclass(frozen=True, slots=True, order=True)
class RawTool:
    """A tool as a trace names it.

    Attributes:
        server: of the tool; empty where none is named.
        name: of the tool.
    """

    server: str
    name: str


@dataclass(frozen=True, slots=True)
class Named:
    """The canonical names of tools.

    Attributes:
        names: application and action, by tool.
        warnings: of tools whose names would have been the same, for people.
    """

    names: Mapping[RawTool, tuple[str, str]]
    warnings: tuple[str, ...] = ()


def snake_case(text: str) -> str:
    """A name in small letters with ``_`` between its words: ``HTTPServer`` becomes ``http_server``."""
    broken = _BREAKS.sub("_", unicodedata.normalize("NFC", text))
    return _OTHER.sub("_", broken).strip("_").lower()


def words_of(text: str) -> list[str]:
    """The words of a name, a path or a sentence, in small letters."""
    return [word.lower() for word in _WORDS.findall(_BREAKS.sub(" ", text))]


def http_action(method: str, path: str) -> str:
    """The action of a request: ``GET /users/42/orders`` becomes ``get_users_id_orders``."""
    parts = ["id" if _ID.fullmatch(part) else part for part in path.partition("?")[0].split("/") if part]
    return snake_case("_".join([method, *parts]))


def canonical_names(
    tools: Iterable[tuple[RawTool, Effect]], aliases: Mapping[RawTool, tuple[str, str]] | None = None
) -> Named:
    """Give tools their canonical names.

    Args:
        tools: with their declared effects, in any order.
        aliases: application and action of tools that the user has named; they win.

    Raises:
        CanonicalCollision: the aliases give tools one name that have different effects, or are named otherwise.
    """
    aliases = aliases or {}
    taken: dict[tuple[str, str], tuple[RawTool, Effect]] = {}
    names: dict[RawTool, tuple[str, str]] = {}
    warnings = []
    for tool, effect in sorted(tools, key=lambda each: (each[0] not in aliases, each[0])):
        given = aliases.get(tool)
        name = given or _default(tool)
        other, other_effect = taken.get(name, (tool, effect))
        if other != tool and given is not None and (other_effect != effect or effect.changes):
            raise CanonicalCollision(f"{name[0]}.{name[1]}", other.name, tool.name)
        if other != tool and given is None and (other.server == tool.server or other_effect != effect):
            digest = blake2b(tool.name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
            warnings.append(f"{tool.name} would be named as {other.name} is: it is {name[0]}.{name[1]}_{digest}")
            name = name[0], f"{name[1]}_{digest}"
        taken[name] = (tool, effect)
        names[tool] = name
    return Named(names, tuple(warnings))


def _default(tool: RawTool) -> tuple[str, str]:
    method, _, path = tool.name.partition(" ")
    if path.startswith("/") and method.isalpha():
        return snake_case(tool.server) or "http", http_action(method, path)
    app, action = snake_case(tool.server), snake_case(tool.name)
    if not app:
        head, dot, rest = tool.name.partition(".")
        return (snake_case(head), snake_case(rest)) if dot and rest else ("tools", action)
    words, flat, seen = action.split("_"), app.replace("_", ""), ""
    for number, word in enumerate(words, 1):
        seen += word
        if seen == flat and number < len(words):
            return app, "_".join(words[number:])
    return app, action

"""Whether arguments fit the schema of the tool that they are for. Pure; needs the extra ``mcp``.

What does not fit is not called: a server's own check may come too late. A schema is a server's word: it is never a
reason to fetch anything, and its regular expressions, which may take for ever, are not run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jsonschema.exceptions import best_match
from jsonschema.validators import Draft202012Validator, extend
from referencing import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonObject

__all__ = ["misfit"]


def _not_run(*_: object) -> Iterator[Any]:
    return iter(())


_Validator: Final = extend(Draft202012Validator, {"pattern": _not_run, "patternProperties": _not_run})


def misfit(schema: JsonObject, args: JsonObject) -> str:
    """Where arguments do not fit a schema, and which rule of it: ``$.total: type``; empty where they do.

    Without the value, which may be a secret. A schema that is none, or that points elsewhere, fits everything.
    """
    try:
        found = best_match(_Validator(schema, registry=Registry()).iter_errors(args))
    except Exception:  # noqa: BLE001 - a schema is whatever a server sent, and fails in many classes
        return ""
    return "" if found is None else f"{found.json_path}: {found.validator}"

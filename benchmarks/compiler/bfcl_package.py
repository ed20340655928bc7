"""The package ``bfcl-eval``: its data, what its tools say of themselves, and the environments of a task, to be called.

For an environment that has it; see `make_bfcl.py`.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import bfcl_eval  # type: ignore[import-not-found]  # in an environment of its own
from bfcl_eval.constants.executable_backend_config import (  # type: ignore[import-not-found]  # the same
    CLASS_FILE_PATH_MAPPING,
    STATELESS_CLASSES,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_DATA: Final = Path(bfcl_eval.__file__).parent / "data"
_DOCS: Final = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}

#: The tools that say what code a name has.
_DIRECTORIES: Final = ("get_symbol_by_name", "get_nearest_airport_by_city", "get_zipcode_based_on_city")
_LONGEST: Final = 3  # words of a name in them


def lines(name: str) -> list[dict[str, Any]]:
    """The objects of one of the package's files."""
    return [json.loads(line) for line in (_DATA / name).read_text(encoding="utf-8").splitlines()]


@cache
def tools() -> dict[str, dict[str, Any]]:
    """The descriptions of all tools, by ``app.action``."""
    return {
        f"{app}.{tool['name']}": tool
        for app, name in _DOCS.items()
        for tool in lines(f"multi_turn_func_doc/{name}.json")
    }


@cache
def source(app: str) -> str:
    """The code of an environment's module."""
    return inspect.getsource(importlib.import_module(CLASS_FILE_PATH_MAPPING[app]))


def environment(app: str) -> Any:
    """The class of an environment, as the package has it."""
    return getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[app]), app)


def has_state(app: str) -> bool:
    """Whether an environment has a state; the one that does not calculates."""
    return app not in STATELESS_CLASSES


def said(value: Any, text: str) -> bool:
    """Whether a text holds a value as a whole token, in any case; 3.0 is said by 3."""
    texts = [str(value)] + ([str(int(value))] if isinstance(value, float) and value == int(value) else [])
    return any(re.search(rf"(?<!\w){re.escape(each.lower())}(?!\w)", text.lower()) for each in texts)


class World:
    """The environments of one task, to be called.

    Args:
        config: the initial state of each environment, by its name.
        classes: the class of each.
    """

    def __init__(self, config: dict[str, Any], classes: dict[str, Any]) -> None:
        self.parts: dict[str, Any] = {}
        for app, made in classes.items():
            self.parts[app] = made()
            if has_state(app):
                self.parts[app]._load_scenario(copy.deepcopy(config.get(app, {})), long_context=False)  # noqa: SLF001 - as the package does

    @classmethod
    def of(cls, task: dict[str, Any]) -> World:
        """A task's own world."""
        return cls(task["initial_config"], {app: environment(app) for app in task["involved_classes"]})

    def find(self, action: str) -> tuple[str, Callable[..., Any]]:
        """The environment that has an action, and the method."""
        return next((name, getattr(part, action)) for name, part in self.parts.items() if hasattr(part, action))

    def bound(self, action: str, positional: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name, as JSON has them."""
        bound = inspect.signature(self.find(action)[1]).bind(*positional, **named)
        made: dict[str, Any] = json.loads(json.dumps(dict(bound.arguments)))
        return made

    def call(self, action: str, args: dict[str, Any]) -> tuple[bool, Any]:
        """Make a call: whether it succeeded, and its result as JSON."""
        try:
            result = self.find(action)[1](**copy.deepcopy(args))
        except Exception as error:  # noqa: BLE001 - whatever an environment raises, the call failed
            return False, {"error": f"{type(error).__name__}: {error}"}
        try:
            result = json.loads(json.dumps(result))
        except (TypeError, ValueError):
            result = str(result)
        return not (isinstance(result, dict) and "error" in result), result

    def like(self, other: World) -> bool:
        """Whether the state is the same, as the package compares it."""
        return all(
            _public(part) == _public(other.parts[name])
            for name, part in self.parts.items()
            if _public(part) is not None
        )

    def codes(self, text: str) -> dict[str, tuple[str, str]]:
        """The codes of what a text names, each with the directory of the package that says so, and the name."""
        found: dict[str, tuple[str, str]] = {}
        words = [each.strip("\"'`\u2018\u2019\u201c\u201d(),;:!?") for each in text.split()]
        directories = [each for each in _DIRECTORIES if any(hasattr(part, each) for part in self.parts.values())]
        for start in range(len(words)):
            for stop in range(start + 1, min(start + _LONGEST, len(words)) + 1):
                phrase = " ".join(words[start:stop])
                for name in dict.fromkeys([phrase, phrase.rstrip("."), phrase.removesuffix("'s"), phrase.title()]):
                    for directory in directories:
                        code = self._code(directory, name)
                        if code != self._code(directory, ""):
                            found[code] = (directory, name)
        return found

    def _code(self, directory: str, name: str) -> str:
        code: str = next(iter(self.find(directory)[1](name).values()))
        return code


def _public(part: Any) -> Any:
    return {name: value for name, value in vars(part).items() if not name.startswith("_")}

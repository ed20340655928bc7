"""Settings: what a user may change, where each value comes from, and what a project's files may not change.

Sources in rising order: the defaults in `waggle._defaults`, the user's file, the project's file, the environment, the
arguments of a command. The user's file is ``waggle/config.toml`` in the user's configuration directory, or what
``WAGGLE_CONFIG`` names; the project's is ``.waggle/config.toml``. A variable is called ``WAGGLE_`` and the field's name
in capitals (``WAGGLE_STALE_DAYS``, ``WAGGLE_MINE_K``); lists are separated by commas.

A project may be anybody's repository, so its file never loosens what guards the user: it cannot vouch for a tool
(``tools_allow``), cannot take back a tool that the user distrusts (``tools_deny`` of all sources adds up), and cannot
switch on what the user's file has switched off (``learn``, ``replay``, ``telemetry``).

The only module that imports pydantic.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, model_validator

from waggle import _defaults, files, locate
from waggle.config import ManagerConfig
from waggle.errors import SettingsError
from waggle.miner import MineConfig
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = [
    "LoadedSettings",
    "MineSettings",
    "Settings",
    "describe_settings",
    "load_settings",
    "unknown_variables",
]

_PREFIX: Final = "WAGGLE_"
#: Variables of this project that are no settings.
_OTHER_VARIABLES: Final = locate.VARIABLES
#: Lists that add up over the sources instead of replacing each other, so that nobody's distrust is lost.
_ADDING: Final = frozenset({"tools_allow", "tools_deny"})
_ENVIRONMENT: Final = "environment"
_FILE_BYTES: Final = 1024 * 1024  #: largest file that is read; with every setting in it, one has about 1 kB

_STRICT: Final = ConfigDict(strict=True, frozen=True, extra="forbid")


def _setting(default: Any, unit: str, about: str, **bounds: Any) -> Any:
    return Field(default=default, description=about, json_schema_extra={"unit": unit}, **bounds)


def _chance_or_tokens(value: object) -> float | Literal["tokens"]:
    if value == "tokens":
        return "tokens"
    with suppress(TypeError, ValueError):
        if not isinstance(value, bool) and 0 <= (chance := float(value)) <= 1:  # type: ignore[arg-type] # or it raises
            return chance
    raise ValueError("expected a chance from 0 to 1, or 'tokens'")


class MineSettings(BaseModel):
    """What counts as a route; see `waggle.miner.MineConfig`."""

    model_config = _STRICT

    min_len: int = _setting(_defaults.MIN_ROUTE_STEPS, "steps", "shortest route", ge=1)
    max_len: int = _setting(_defaults.MAX_ROUTE_STEPS, "steps", "longest route", ge=1)
    k: int = _setting(
        _defaults.PROMOTE_OCCURRENCES, "occurrences", "occurrences before a run of calls is a route", ge=1
    )
    literal: bool = _setting(True, "", "look for repeated calls too, not only for repeated shapes")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min_len > self.max_len:
            raise ValueError(f"min_len is {self.min_len} and may be at most max_len, {self.max_len}")
        return self


class Settings(BaseModel):
    """Every setting; the defaults are the constants. ``waggle config`` shows them with units and sources."""

    model_config = _STRICT

    location: Literal["tree", "home"] = _setting(
        "tree", "", "where a project's skills lie: in its tree, or in the user's data directory"
    )
    mine: MineSettings = MineSettings()
    sweep_calls: int = _setting(_defaults.SWEEP_CALLS, "calls", "calls between two looks at what was mined", ge=1)
    ring_steps: int = _setting(_defaults.RING_STEPS, "steps", "steps a session remembers", ge=1)
    min_prefix: int = _setting(
        _defaults.MIN_PREFIX_STEPS, "steps", "leading steps that must match before the rest of a route is run", ge=2
    )
    lookups_per_result: int = _setting(_defaults.LOOKUPS_PER_RESULT, "lookups", "most lookups after one result", ge=0)
    lookups_per_session: int = _setting(_defaults.LOOKUPS_PER_SESSION, "lookups", "most lookups in one session", ge=0)
    fold_bytes: int = _setting(_defaults.FOLD_BYTES, "bytes", "longest text added to one result", ge=0)
    follow_seconds: float = _setting(
        _defaults.FOLLOW_SECONDS, "seconds", "longest time an agent's result is held up", ge=0, allow_inf_nan=False
    )
    reach: bool = _setting(True, "", "count what is read after which calls, and follow what pays")
    across_sessions: bool = _setting(True, "", "count what is read over sessions; off, only within one")
    containment: bool = _setting(True, "", "one answer stands for every read that it covers")
    shell_forms: bool = _setting(True, "", "read a shell command that is understood as its form and the values in it")
    threshold: Annotated[float | Literal["tokens"], PlainValidator(_chance_or_tokens)] = _setting(
        _defaults.REACH_THRESHOLD,
        "chance",
        "chance from which on a lookup is made, 0 to 1; 'tokens' weighs what a turn is worth against a detour",
    )
    min_sessions: int = _setting(
        _defaults.MIN_SESSIONS, "sessions", "sessions in which a habit occurs before it is promoted", ge=1
    )
    control_share: float = _setting(
        0.0, "share", "share of results after which lookups are held back, to measure what they bring", ge=0, le=1
    )
    seed: int = _setting(0, "", "of the choice that control_share makes", ge=0)
    stale_days: int = _setting(_defaults.STALE_DAYS, "days", "age from which a route that was never used goes", ge=0)
    min_fails: int = _setting(
        _defaults.MIN_FAILS, "failures", "failures without a success that switch a route off", ge=1
    )
    tools_allow: tuple[Annotated[str, Field(min_length=1)], ...] = _setting(
        (), "tool names", "tools that only read, on the user's word", strict=False
    )
    tools_deny: tuple[Annotated[str, Field(min_length=1)], ...] = _setting(
        (), "tool names", "tools to be treated as writes; counts more than tools_allow", strict=False
    )
    learn: bool = _setting(True, "", "mine sessions and keep the routes found")
    replay: bool = _setting(True, "", "make lookups on the agent's behalf")
    telemetry: bool = _setting(True, "", "tell the host's OpenTelemetry, or its log, of folds and what became of them")

    def manager_config(self) -> ManagerConfig:
        """The knobs of a manager that follows these settings."""
        return ManagerConfig(
            mine=MineConfig(**self.mine.model_dump()),
            learn=self.learn,
            replay=self.replay,
            telemetry=self.telemetry,
            sweep_calls=self.sweep_calls,
            ring_steps=self.ring_steps,
            min_prefix=self.min_prefix,
            lookups_per_result=self.lookups_per_result,
            lookups_per_session=self.lookups_per_session,
            fold_bytes=self.fold_bytes,
            follow_seconds=self.follow_seconds,
            reach=self.reach,
            containment=self.containment,
            across_sessions=self.across_sessions,
            shell_forms=self.shell_forms,
            threshold=None if self.threshold == "tokens" else self.threshold,
            min_sessions=self.min_sessions,
            control_share=self.control_share,
            seed=self.seed,
        )

    def tool_table(self) -> ToolTable:
        """A fresh table of the known tools with the user's word on top."""
        tools = ToolTable()
        self.teach(tools)
        return tools

    def teach(self, tools: ToolTable) -> None:
        """Tell a tool table the user's word."""
        tools.allow(*self.tools_allow)
        tools.deny(*self.tools_deny)


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings, and where each came from.

    Attributes:
        settings: the values.
        sources: for each setting by its dotted name (``mine.k``), in the order of the model: ``default``, ``user file
            PATH``, ``project file PATH``, ``environment NAME`` or ``argument``; several, joined by `` + ``, where lists
            added up.
    """

    settings: Settings
    sources: dict[str, str]

    def rows(self) -> Iterator[tuple[str, object, str, str]]:
        """Name, value, unit and source of each setting, in the order of the model."""
        for name, unit, _, _ in describe_settings():
            yield name, _value(self.settings, name), unit, self.sources[name]


def describe_settings(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[tuple[str, str, str, object]]:
    """Dotted name, unit ("" where there is none), meaning and default of each setting, in the order of the model."""
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from describe_settings(info.annotation, f"{prefix}{name}.")
        else:
            extra = cast("dict[str, str]", info.json_schema_extra)
            yield prefix + name, extra["unit"], info.description or "", info.default


def _value(settings: Settings, name: str) -> object:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return list(value) if isinstance(value, tuple) else value


# --- sources ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Layer:
    """What one source says.

    Attributes:
        source: as in `LoadedSettings.sources`.
        place: the file, for errors.
        values: by dotted name; unknown names included.
    """

    source: str
    place: str
    values: dict[str, Any] = field(default_factory=dict)

    def place_of(self, name: str) -> str:
        return _variable(name) if self.source == _ENVIRONMENT and name in self.values else self.place


def load_settings(project_root: Path | None = None, *, arguments: Mapping[str, object] | None = None) -> LoadedSettings:
    """Read the settings of a project.

    Args:
        project_root: `waggle.locate.Project.root`; None reads no project file.
        arguments: what a command line says, by dotted name; it counts most.

    Raises:
        ExceptionGroup: of `SettingsError`, one for each problem in any source: no TOML, an unknown name, a wrong type,
            a value out of range, or something that a project's file may not say.
    """
    problems: list[SettingsError] = []
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {name: "default" for name, *_ in describe_settings()}
    for layer in _layers(project_root, arguments or {}, problems):
        if layer.source.startswith("project file"):
            _guard_user(layer, merged, problems)
        added = {
            name: [*merged.get(name, ()), *value] if name in _ADDING and isinstance(value, list | tuple) else value
            for name, value in layer.values.items()
        }
        try:
            Settings.model_validate(_nested({**merged, **added}))
        except ValidationError as error:
            problems += [
                SettingsError(layer.place_of(_name(details)), _told(details))
                for details in error.errors(include_url=False)
            ]
            continue
        for name in added:
            source = f"environment {_variable(name)}" if layer.source == _ENVIRONMENT else layer.source
            sources[name] = f"{sources[name]} + {source}" if name in _ADDING and name in merged else source
        merged |= added
    if problems:
        raise ExceptionGroup("the settings cannot be used", problems)
    return LoadedSettings(Settings.model_validate(_nested(merged)), sources)


def _layers(
    project_root: Path | None, arguments: Mapping[str, object], problems: list[SettingsError]
) -> Iterator[_Layer]:
    try:
        user_file = locate.user_config_file()
    except SettingsError as error:
        problems.append(error)
        user_file = None
    if user_file:
        yield _file_layer("user file", user_file, problems, must_exist=bool(os.environ.get("WAGGLE_CONFIG")))
    if project_root:
        yield _file_layer("project file", locate.project_config_file(project_root), problems)
    yield _Layer(
        _ENVIRONMENT,
        _ENVIRONMENT,
        {
            name: _from_text(default, os.environ[_variable(name)])
            for name, _, _, default in describe_settings()
            if _variable(name) in os.environ
        },
    )
    if arguments:
        yield _Layer("argument", "arguments", dict(arguments))


def _file_layer(source: str, path: Path, problems: list[SettingsError], *, must_exist: bool = False) -> _Layer:
    layer = _Layer(f"{source} {path}", str(path))
    try:
        text = files.read_bytes(path, limit=_FILE_BYTES).decode("utf-8-sig")
        document = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        if must_exist:
            problems.append(SettingsError("WAGGLE_CONFIG", f"there is no file {path}"))
    except UnicodeDecodeError as error:
        problems.append(SettingsError(str(path), f"is not UTF-8: byte {error.start} cannot be read"))
    except tomllib.TOMLDecodeError as error:
        problems.append(SettingsError(str(path), f"is not TOML: {error}"))
    except OSError as error:
        problems.append(SettingsError(str(path), f"cannot be read: {error.strerror or error}"))
    except ValueError as error:  # too large, or no regular file
        problems.append(SettingsError(str(path), str(error)))
    else:
        for name, value in document.items():
            if name == "mine" and isinstance(value, dict):
                layer.values |= {f"mine.{key}": item for key, item in value.items()}
            else:
                layer.values[name] = value
    return layer


def _guard_user(layer: _Layer, before: Mapping[str, Any], problems: list[SettingsError]) -> None:
    """Take out of a project's layer what it may not say, and report it."""
    if "tools_allow" in layer.values:
        del layer.values["tools_allow"]
        problem = "tools_allow: a project cannot vouch for tools; put it in your own file (`waggle config` names it)"
        problems.append(SettingsError(layer.place, problem))
    for name in ("learn", "replay", "telemetry"):
        if layer.values.get(name) is True and before.get(name) is False:
            del layer.values[name]
            problem = f"{name}: your own file switches it off, and a project cannot switch it on"
            problems.append(SettingsError(layer.place, problem))


def _variable(name: str) -> str:
    return _PREFIX + name.replace(".", "_").upper()


def unknown_variables() -> list[str]:
    """Names of ``WAGGLE_`` variables in the environment that mean nothing here, sorted; they may be misspelt."""
    known = {_variable(name) for name, *_ in describe_settings()} | _OTHER_VARIABLES
    return sorted(name for name in os.environ if name.startswith(_PREFIX) and name not in known)


def _from_text(default: object, text: str) -> object:
    """A variable's text as a value of its setting's type; a text that is none stays one and is refused later."""
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    if isinstance(default, tuple):
        return [name.strip() for name in text.split(",") if name.strip()]
    if isinstance(default, int | float):
        with suppress(ValueError):
            return type(default)(text)
    return text


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name, value in values.items():
        table, dot, key = name.partition(".")
        if not dot:
            document[name] = value
        elif isinstance(inner := document.setdefault(table, {}), dict):
            inner[key] = value
    return document


def _name(details: Any) -> str:
    return ".".join(str(part) for part in details["loc"])


def _told(details: Any) -> str:
    """One problem that pydantic found, with the setting's name and what would be right."""
    name = _name(details)
    match details["type"]:
        case "extra_forbidden":
            known = [known for known, *_ in describe_settings()]
            near = difflib.get_close_matches(name, known, 1)
            return f"{name}: there is no such setting" + (f"; did you mean {near[0]}?" if near else "")
        case "model_type":
            return f"{name}: expected a table, [{name}]"
        case "value_error":
            return f"{name}: {details['ctx']['error']}"
        case "greater_than_equal":
            return f"{name}: expected at least {details['ctx']['ge']}, not {details['input']!r:.80}"
        case "string_too_short":
            return f"{name}: expected a text that is not empty"
        case _:
            message = details["msg"].removeprefix("Input should be ")
            return f"{name}: expected {message}, not {details['input']!r:.80}"

"""A route as the files of an Agent Skill, and back: ``SKILL.md``, ``route.json``, ``scripts/run.sh``.

Text in, text out; `waggle.store` puts it on disk, and `waggle.skilltext` has the words. ``route.json`` is the route;
``SKILL.md`` tells it to people and to agents, and its generated part stands between two marks. What people write
outside the marks is theirs. Writing is strict, reading accepts what a newer version may have added. The same route
gives the same bytes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from waggle import frontmatter, jsonvalue
from waggle.errors import SkillFileError
from waggle.miner import Param
from waggle.routes import After, Disabled, Route, RouteStep, Scope, param_names, with_params
from waggle.skilltext import body, describe, title

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "ROUTE_VERSION",
    "generated_part",
    "is_as_generated",
    "parse_route",
    "render_route",
    "render_skill",
    "with_generated_part",
]

#: Version of ``route.json``. A reader refuses a newer one, since it may mean something else by the same field.
#: Version 2 has reach routes (``after``); what needs nothing of it is still written as version 1.
ROUTE_VERSION: Final = 2

_BEGIN = "<!-- waggle: the text up to the end mark is generated from route.json -->"
_END = "<!-- waggle: end -->"
_KEPT = "It is kept for inspection and never replayed."


# --- route.json -----------------------------------------------------------------------------------------------


def render_route(route: Route) -> str:
    """Write ``route.json``."""
    fields: JsonObject = {
        "waggle_route": _version(route),
        "name": route.name,
        "fingerprint": route.fingerprint,
        "scope": route.scope.value,
        "steps": with_params(route.steps, route.params),
        "params": [
            {"name": name, "step": param.step, "key": param.key}
            for name, param in zip(param_names(route.params), route.params, strict=True)
        ],
        "seen": {"occurrences": route.count, "sessions": route.support},
        "learned_at": _stamp(route.learned_at),
    }
    if route.after:
        fields["after"] = {"site": route.after.site, "target": route.after.target, "counts": route.after.counts}
    if route.disabled:
        fields["disabled"] = {"at": _stamp(route.disabled.at), "reason": route.disabled.reason}
    return jsonvalue.pretty(fields)


def _version(route: Route) -> int:
    return ROUTE_VERSION if route.after else 1


def _stamp(at: datetime | None) -> str | None:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


class _Reader:
    """Reads fields of one JSON file, and says where one is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def problem(self, where: str, expected: str) -> SkillFileError:
        return SkillFileError(self._path, None, f"{expected} @ {where}")

    def text(self, holder: JsonObject, key: str, where: str) -> str:
        value = holder.get(key)
        if not isinstance(value, str):
            raise self.problem(f"{where}.{key}", "expected text")
        return value

    def count(self, holder: JsonObject, key: str, where: str) -> int:
        value = holder.get(key)
        if type(value) is not int or value < 0:
            raise self.problem(f"{where}.{key}", "expected a whole number, 0 or more")
        return value

    def mapping(self, value: JsonValue, where: str) -> JsonObject:
        if not isinstance(value, dict):
            raise self.problem(where, "expected an object")
        return value

    def items(self, holder: JsonObject, key: str, where: str) -> list[JsonValue]:
        value = holder.get(key)
        if not isinstance(value, list):
            raise self.problem(f"{where}.{key}", "expected a list")
        return value

    def time(self, holder: JsonObject, key: str, where: str) -> datetime | None:
        value = holder.get(key)
        if value is None:
            return None
        try:
            at = datetime.fromisoformat(value) if isinstance(value, str) else None
        except ValueError:
            at = None
        if at is None or at.tzinfo is None:
            raise self.problem(f"{where}.{key}", "expected a time such as 2026-01-31T12:00:00Z")
        return at


def _read_params(read: _Reader, holder: JsonObject) -> tuple[Param, ...]:
    found: list[Param] = []
    for index, value in enumerate(read.items(holder, "params", "$")):
        where = f"$.params[{index}]"
        entry = read.mapping(value, where)
        found.append(Param(read.count(entry, "step", where), read.text(entry, "key", where)))
    return tuple(sorted(found))


def _read_steps(read: _Reader, holder: JsonObject, params: tuple[Param, ...]) -> tuple[RouteStep, ...]:
    steps: list[RouteStep] = []
    for index, value in enumerate(read.items(holder, "steps", "$")):
        where = f"$.steps[{index}]"
        entry = read.mapping(value, where)
        args = read.mapping(entry.get("args"), f"{where}.args")
        open_keys = {param.key for param in params if param.step == index}
        for key, arg in args.items():
            if (isinstance(arg, dict) and set(arg) == {"$param"}) is not (key in open_keys):
                raise read.problem(f"{where}.args.{key}", "expected parameters here and in $.params to agree")
        kept: JsonObject = {key: None if key in open_keys else arg for key, arg in args.items()}
        form = read.text(entry, "form", where) if "form" in entry else ""
        steps.append(RouteStep(read.text(entry, "tool", where), kept, form))
    if not steps or any(param.step >= len(steps) or param.key not in steps[param.step].args for param in params):
        raise read.problem("$.params", "expected each parameter to name an argument of a step")
    return tuple(steps)


def parse_route(path: Path, data: bytes) -> Route:
    """Read ``route.json``.

    Args:
        path: named in errors.
        data: the file's bytes.

    Raises:
        SkillFileError: not JSON, a newer version, or a field is missing or of the wrong type; it names the JSON path.
    """
    read = _Reader(path)
    try:
        holder = read.mapping(jsonvalue.loads(data.removeprefix(b"\xef\xbb\xbf")), "$")
    except ValueError as error:
        if isinstance(error, SkillFileError):
            raise
        raise SkillFileError(path, getattr(error, "lineno", None), f"not JSON: {error}") from None
    version = holder.get("waggle_route")
    if type(version) is not int or not 1 <= version <= ROUTE_VERSION:
        raise read.problem(
            "$.waggle_route", f"expected 1 to {ROUTE_VERSION}; a newer version of waggle may have written this file"
        )
    params = _read_params(read, holder)
    scope = read.text(holder, "scope", "$")
    if scope not in set(Scope):
        raise read.problem("$.scope", "expected 'project' or 'user'")
    seen = read.mapping(holder.get("seen"), "$.seen")
    disabled = None
    if holder.get("disabled") is not None:
        entry = read.mapping(holder["disabled"], "$.disabled")
        disabled = Disabled(read.time(entry, "at", "$.disabled"), read.text(entry, "reason", "$.disabled"))
    return Route(
        read.text(holder, "name", "$"),
        _read_steps(read, holder, params),
        params,
        Scope(scope),
        read.count(seen, "occurrences", "$.seen"),
        read.count(seen, "sessions", "$.seen"),
        read.time(holder, "learned_at", "$"),
        disabled,
        _read_after(read, holder),
    )


def _read_after(read: _Reader, holder: JsonObject) -> After | None:
    if holder.get("after") is None:
        return None
    entry = read.mapping(holder["after"], "$.after")
    after = After(
        read.text(entry, "site", "$.after"),
        read.mapping(entry.get("target"), "$.after.target"),
        read.mapping(entry.get("counts"), "$.after.counts"),
    )
    from waggle.reach.routes import counts_of, target_key  # noqa: PLC0415 - a store without reach routes needs none of it

    for where, check in (("$.after.target", target_key), ("$.after.counts", counts_of)):
        try:
            check(after)
        except ValueError as error:
            raise read.problem(where, str(error)) from None
    return after


# --- SKILL.md -------------------------------------------------------------------------------------------------


def render_skill(route: Route, *, has_script: bool) -> str:
    """Write a whole ``SKILL.md``: front matter, a place for people, and the generated part."""
    values: dict[str, str | Mapping[str, str]] = {
        "name": route.name,
        "description": describe(route),
        "metadata": {"waggle-version": str(_version(route)), "waggle-route": route.fingerprint},
    }
    return f"{frontmatter.render(values)}\n# {title(route)}\n\n{generated_part(route, has_script=has_script)}\n"


def generated_part(route: Route, *, has_script: bool) -> str:
    """Write the part of ``SKILL.md`` between the marks, marks included."""
    lines = [_BEGIN, ""]
    if route.disabled:
        since = f" since {_stamp(route.disabled.at)}" if route.disabled.at else ""
        lines += [f"**Switched off{since}:** {route.disabled.reason}. {_KEPT}", ""]
    return "\n".join([*lines, *body(route, has_script=has_script), "", _END])


def with_generated_part(text: str, route: Route, *, has_script: bool) -> str | None:
    """Bring the generated part of a ``SKILL.md`` up to date; what people wrote outside the marks stays.

    Args:
        text: the file as it is.
        route: what it should tell.
        has_script: whether the skill has a script.

    Returns:
        The new text, or None when somebody edited between the marks: then nothing may be replaced. Numbers and state
        may differ from the route's: a process may have died after it wrote the route and before it wrote this file.
    """
    ends = "\r\n" if "\r\n" in text else "\n"
    before, begin, rest = text.partition(_BEGIN)
    inner, end, after = rest.partition(_END)
    part = generated_part(route, has_script=has_script)
    if not end or _lasting(f"{begin}{inner}{end}") != _lasting(part):
        return None
    return before + part.replace("\n", ends) + after


def is_as_generated(text: str, route: Route, *, has_script: bool) -> bool:
    """Whether a ``SKILL.md`` is what `render_skill` writes for this route, numbers and state apart."""
    return _lasting(text) == _lasting(render_skill(route, has_script=has_script))


_CHANGING = re.compile(
    r"Seen \d+ times?(?: in \d+ sessions?)? when it was learned\.|How often it was seen is not known\."
    r"|\*\*Why:\*\* of \d+ times?, in \d+ sessions?, agents read it \d+ times before a change\."
    r"|\| .* \| \d+ \| \d+ \| (?:\d+ %|too small) \| .* \||\d+ rarer places? not shown; all are in `route\.json`\."
    rf"|\*\*Switched off[^*]*:\*\* .*\. {re.escape(_KEPT)}|"
)


def _lasting(text: str) -> list[str]:
    """The lines of a text without those that tell counts and state, and without blank ones."""
    return [line for line in text.replace("\r\n", "\n").split("\n") if not _CHANGING.fullmatch(line)]

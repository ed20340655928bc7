"""Routes: what a stored habit is in memory, how it is named, and what makes one a copy of another.

Pure. Not responsible for files (`waggle.skillfile`, `waggle.singlefile`) or for matching (`waggle.replay`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue
from waggle.calls import part_of, tool_name
from waggle.errors import InvalidSkillName
from waggle.miner import Param

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from waggle.calls import Parts, Shape
    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.miner import Candidate

__all__ = [
    "After",
    "Disabled",
    "KnownRoutes",
    "Pattern",
    "Route",
    "RouteStep",
    "Scope",
    "check_skill_name",
    "fires_from",
    "named",
    "param_names",
    "patterns",
    "route_from",
]


_LONGEST_NAME: Final = 64  # the rule of the Agent Skills standard
_NAME_LETTERS: Final = re.compile(r"[a-z0-9-]*")


class Scope(StrEnum):
    """Whose habit a route is."""

    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True)
class RouteStep:
    """One call of a route.

    Attributes:
        tool: the tool's name.
        args: arguments as JSON values. At the place of a parameter the value is None and means nothing.
        form: of a shell command, see `waggle.calls.Step.form`; empty for every other call.
    """

    tool: str
    args: JsonObject = field(default_factory=dict)
    form: str = ""


@dataclass(frozen=True, slots=True)
class Disabled:
    """Why and when a route was switched off.

    Attributes:
        at: UTC; None in files of the original, which do not say.
        reason: one sentence for the person who reads the skill.
    """

    at: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class After:
    """What a reach route follows, and what it reads, as `waggle.reach` describes them.

    Attributes:
        site: the coarsest key of the site: what has just been seen.
        target: what is read, with where each of its values comes from.
        counts: what was counted of it when it was learned, see `waggle.reach.table.counts_json`.
    """

    site: str
    target: JsonObject
    counts: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Route:
    """A run of reads that repeats; or, with `after`, a read that follows a kind of call.

    Attributes:
        name: the skill's name, see `route_from`.
        steps: two or more calls, in order.
        params: the arguments whose value varies, by step and name.
        scope: whose habit it is.
        count: occurrences that did not overlap, when it was learned.
        support: sessions it occurred in, when it was learned.
        learned_at: UTC; None in files of the original, which do not say.
        disabled: set when it has been switched off; it is then kept for inspection and never replayed.
        after: set for a reach route, whose one step is made after any call of a kind, with values from that call.
    """

    name: str
    steps: tuple[RouteStep, ...]
    params: tuple[Param, ...] = ()
    scope: Scope = Scope.PROJECT
    count: int = 0
    support: int = 0
    learned_at: datetime | None = None
    disabled: Disabled | None = None
    after: After | None = None

    def fires_from(self, min_prefix: int, *, wildcards_count: bool = False) -> int | None:
        """How many steps must have matched before the rest may be run; None when it never may.

        After them no parameter may follow. Steps without a parameter count; one with a parameter matches nearly
        anything, so it is no evidence that the agent is on this route.

        Args:
            min_prefix: steps that must count.
            wildcards_count: let steps with a parameter count too, as the original does.
        """
        return fires_from(len(self.steps), self.params, min_prefix, wildcards_count=wildcards_count)

    @property
    def fingerprint(self) -> str:
        """Digest of what the route does: tools, arguments and parameters, and what it follows; nothing else."""
        if self.after:
            return jsonvalue.fingerprint([self.after.site, self.after.target])
        return jsonvalue.fingerprint(with_params(self.steps, self.params))


def fires_from(length: int, params: Sequence[Param], min_prefix: int, *, wildcards_count: bool = False) -> int | None:
    """See `Route.fires_from`; `params` by step."""
    wild = set() if wildcards_count else {param.step for param in params}
    counting = [step for step in range(length) if step not in wild]
    if len(counting) < min_prefix:
        return None
    prefix = max(counting[min_prefix - 1] + 1, params[-1].step + 1 if params else 0)
    return prefix if prefix < length else None


def with_params(steps: Sequence[RouteStep], params: Sequence[Param]) -> list[JsonValue]:
    """The steps as JSON, with ``{"$param": NAME}`` at the place of each parameter."""
    names = dict(zip(params, param_names(params), strict=True))
    return [
        {
            "tool": step.tool,
            **({"form": step.form} if step.form else {}),
            "args": {
                key: {"$param": names[Param(index, key)]} if Param(index, key) in names else step.args[key]
                for key in sorted(step.args)
            },
        }
        for index, step in enumerate(steps)
    ]


def param_names(params: Sequence[Param]) -> list[str]:
    """A distinct name for each parameter: the argument's own, or with the step's index where that is taken."""
    names: list[str] = []
    for param in params:
        name = param.key if param.key not in names else f"{param.key}_{param.step}"
        while name in names:
            name += "_"
        names.append(name)
    return names


def route_from(
    candidate: Candidate, *, root: str | None = None, scope: Scope = Scope.PROJECT, at: datetime | None = None
) -> Route:
    """Make a route of a candidate, fit to be written to disk.

    Absolute paths inside the project are kept relative to it, and an argument that holds a secret, or the
    mask of one, becomes a parameter.

    Args:
        candidate: what was mined.
        root: the project's directory as the agent spells it, without a trailing slash; None keeps paths as they are.
        scope: whose habit it is.
        at: when it was learned, UTC.

    Returns:
        The route, without a name; `named` gives it one.
    """
    from waggle import redact  # noqa: PLC0415 - its patterns take as long to make ready as all the rest of a start

    secret = {
        Param(index, key)
        for index, step in enumerate(candidate.steps)
        for key, value in step.args.items()
        if redact.is_masked(value) or redact.redact_value({key: value}) != {key: value}
    }
    params = tuple(sorted({*candidate.params, *secret}))
    open_args = set(params)
    steps = tuple(
        RouteStep(
            step.tool,
            {
                key: None if Param(index, key) in open_args else inside_project(value, root)
                for key, value in step.args.items()
            },
            step.form,
        )
        for index, step in enumerate(candidate.steps)
    )
    return Route("", steps, params, scope, candidate.count, candidate.support, at)


def named(route: Route) -> Route:
    """Give a route the name that follows from what it does.

    It is made of the tools and the last words of the arguments, and ends in eight hex digits of the fingerprint, so
    that it is stable and two routes do not share it.
    """
    digest = route.fingerprint.partition(":")[2][:8]
    words: list[str] = _reach_words(route) if route.after else []
    open_args = set(route.params)
    for index, step in enumerate(() if words else route.steps):
        tool = _slug(step.tool.rpartition("__")[2])
        if tool and (not words or words[-1] != tool):
            words.append(tool)
        known = [step.args[key] for key in step.args if Param(index, key) not in open_args]
        if texts := [text for value in known if (text := text_of(value))]:
            words.append(_slug(max(texts, key=len).rstrip("/").rpartition("/")[2])[:16].strip("-"))
    slug = "-".join(word for word in words if word)[: 64 - 9].strip("-") or "route"
    name = f"{slug}-{digest}"
    return replace(route, name=name)


def _reach_words(route: Route) -> list[str]:
    """``read 1st file after search``: what is read, and after what."""
    assert route.after is not None  # noqa: S101 - asked for by `named` alone; this tells the type checker
    target = route.after.target
    file = target.get("file")
    what = [_slug(route.steps[0].form.partition(" {")[0] or route.steps[0].tool.rpartition("__")[2])[:20].strip("-")]
    if isinstance(file, int):
        which = "same" if file < 0 else f"{file + 1}{_ORDINALS.get(file, 'th')}"
        what = ["read", "whole" if target.get("around") == "whole" else "lines", "of", which, "file"]
    return [*what, "after", _slug(route.after.site.partition(" | ")[0])[:20].strip("-")]


_ORDINALS: Final = {0: "st", 1: "nd", 2: "rd"}


def check_skill_name(name: str) -> str:
    """Return a name that may be a skill's, which is also a directory's.

    Raises:
        InvalidSkillName: it breaks the rule of the Agent Skills standard; the error says which.
    """
    if not name:
        raise InvalidSkillName(name, "it must not be empty")
    if len(name) > _LONGEST_NAME:
        raise InvalidSkillName(name, f"it must have at most {_LONGEST_NAME} characters, not {len(name)}")
    if not _NAME_LETTERS.fullmatch(name):
        raise InvalidSkillName(name, "only the letters a-z, digits and hyphens are allowed")
    if name.startswith("-") or name.endswith("-") or "--" in name:
        raise InvalidSkillName(name, "a hyphen must stand alone between letters or digits")
    return name


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def text_of(value: JsonValue) -> str:
    """The text a person would name a value by: a text itself, or a path of the project; empty for anything else."""
    if isinstance(value, dict):
        value = value.get("$project")
    return value if isinstance(value, str) else ""


def inside_project(value: JsonValue, root: str | None) -> JsonValue:
    """Write an absolute path inside the project as ``{"$project": "relative/path"}``; other values stay.

    Only a path that joining gives back exactly is rewritten, so that nothing is changed by storing it.
    """
    if root is None or not isinstance(value, str) or not value.startswith(root):
        return value
    rest = value[len(root) :]
    if not rest:
        return {"$project": "."}
    relative = rest[1:]
    if rest[0] != "/" or not relative or any(part in ("", ".", "..") for part in relative.split("/")):
        return value
    return {"$project": relative}


def in_checkout(value: JsonValue, root: str | None) -> JsonValue:
    """Undo `inside_project` for this checkout's directory; without one the path stays relative."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(path := value.get("$project"), str):
        if root is None:
            return path
        return root if path == "." else f"{root}/{path}"
    return value


# --- what makes one route a copy of another -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pattern:
    """One step as it is compared: with a call when matching, with another step when looking for copies.

    Attributes:
        shape: tool and argument names.
        fixed: positions of the arguments that are no parameters, ascending.
        parts: their values.
    """

    shape: Shape
    fixed: tuple[int, ...]
    parts: Parts


def patterns(route: Route) -> tuple[Pattern, ...]:
    """The steps of a route, in order, as they are compared."""
    open_args = set(route.params)
    found: list[Pattern] = []
    if route.after:  # it stands for no run of calls, so it is a copy of none but itself
        found.append(Pattern((route.after.site,), (), (jsonvalue.canonical(route.after.target),)))
    for index, step in enumerate(route.steps):
        names = sorted(step.args)
        fixed = tuple(i for i, name in enumerate(names) if Param(index, name) not in open_args)
        found.append(
            Pattern(
                (tool_name(step.tool, step.form), *names), fixed, tuple(part_of(step.args[names[i]]) for i in fixed)
            )
        )
    return tuple(found)


class KnownRoutes:
    """The routes that are already stored, to tell a new one from a copy.

    A route is a copy when it is equal to a stored one, a window of it, or a window of it repeated: a loop of three
    calls has three rotations, and one of them is enough. Costs a look at the stored routes that share its first step.
    """

    def __init__(self, routes: Iterable[Route] = ()) -> None:
        self._exact: set[tuple[Pattern, ...]] = set()
        self._by_step: dict[Pattern, list[tuple[Pattern, ...]]] = {}
        for route in routes:
            self.add(route)

    def add(self, route: Route) -> None:
        """Remember a route. One that is switched off keeps itself from being learned again, but not its parts."""
        steps = patterns(route)
        self._exact.add(steps)
        if route.disabled:
            return
        for step in dict.fromkeys(steps):
            self._by_step.setdefault(step, []).append(steps)

    def has(self, route: Route) -> bool:
        """Whether the route is a copy of a stored one."""
        steps = patterns(route)
        return steps in self._exact or any(
            _occurs_in_cycle(steps, stored) for stored in self._by_step.get(steps[0], ())
        )


def _occurs_in_cycle(steps: Sequence[Pattern], cycle: Sequence[Pattern]) -> bool:
    size = len(cycle)
    return any(
        all(step == cycle[(start + offset) % size] for offset, step in enumerate(steps)) for start in range(size)
    )

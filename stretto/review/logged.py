"""Decisions as flow logs hold them: what was weighed, how likely each action was, and what became of each option.

Not responsible for flow logs as such (`stretto.flowlog`), for exploring (`stretto.deciders.explore`), nor for labels:
who knows what became of an option adds them, ``used``, ``detour`` and ``turn`` for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from stretto.errors import SessionLogError
from stretto.flowlog import read_flow_log

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Decisions", "Logged", "Measures", "Option", "decision_from_json", "read_decisions"]


class Measures(NamedTuple):
    """What became of some lookups: how many there were, how many were used or detours, and the turns they saved."""

    lookups: float
    used: float
    detours: float
    turns: float


@dataclass(frozen=True, slots=True)
class Option:
    """A lookup that was weighed.

    Attributes:
        tool: its name.
        p: its probability by the decider that was served, 0 to 1.
        habit: the same by the habit.
        binding: chance that its arguments are the agent's own, None when it did not bind.
        label: what becomes of it when it is made.
    """

    tool: str
    p: float
    habit: float
    binding: float | None
    label: Measures


@dataclass(frozen=True, slots=True)
class Logged:
    """One decision as it was logged.

    Attributes:
        site: name of the site; empty for none.
        decider: that was served.
        taken: the tool looked up, None when the flow handed back.
        greedy: what the rule alone would have taken.
        epsilon: chance of exploring, 0 to 1.
        propensity: chance of what was taken, above 0.
        options: what was weighed, in the order logged.
    """

    site: str
    decider: str
    taken: str | None
    greedy: str | None
    epsilon: float
    propensity: float
    options: tuple[Option, ...]

    def option(self, tool: str) -> Option | None:
        """The option of this tool."""
        return next((option for option in self.options if option.tool == tool), None)

    def chance_of(self, tool: str) -> float:
        """How likely the logging policy was to look this tool up, 0 to 1."""
        others = {o.tool: o.p for o in self.options if o.binding is not None and o.p > 0 and o.tool != self.greedy}
        explores = self.epsilon if others else 0.0
        if tool == self.greedy:
            return 1 - explores
        return explores * others[tool] / sum(others.values()) if tool in others else 0.0


@dataclass(frozen=True, slots=True)
class Decisions:
    """What flow logs hold: decisions that can be evaluated, and how many cannot."""

    usable: tuple[Logged, ...]
    left_out: int = 0  #: logged without a policy or without labels


def read_decisions(paths: Iterable[Path]) -> Decisions:
    """Read flow logs whose decisions carry ``policy`` and ``labels``; lines of runs are skipped.

    Raises:
        SessionLogError: a file cannot be read, or what it holds is not what it should be.
    """
    usable: list[Logged] = []
    left_out = 0
    for path in paths:
        for number, line in enumerate(read_flow_log(path), 1):
            if "run" in line:
                continue
            try:
                decision = decision_from_json(line)
            except ValueError as error:
                raise SessionLogError(str(path), None, f"object {number}: {error}") from None
            if decision:
                usable.append(decision)
            else:
                left_out += 1
    return Decisions(tuple(usable), left_out)


def decision_from_json(line: JsonObject) -> Logged | None:
    """Read one decision as a flow log holds it.

    Returns:
        The decision; None for one without a policy or without labels.

    Raises:
        ValueError: it is not what it should be; the text says where.
    """
    site = line.get("site")
    if line.get("policy") is None or line.get("labels") is None:
        return None
    policy = _object(line["policy"], "$.policy")
    options = _list(policy.get("options"), "$.policy.options")
    labels = _list(line["labels"], "$.labels")
    if len(options) != len(labels):
        raise ValueError(
            f"there is one label an option, but {len(options)} options and {len(labels)} labels @ $.labels"
        )
    taken = _text(line.get("tool"), "$.tool") if line.get("action") == "lookup" else None
    greedy = policy.get("greedy")
    decision = Logged(
        site="" if site is None else _text(site, "$.site"),
        decider=_text(policy.get("decider"), "$.policy.decider"),
        taken=taken,
        greedy=None if greedy is None else _text(greedy, "$.policy.greedy"),
        epsilon=_share(policy.get("epsilon"), "$.policy.epsilon"),
        propensity=_share(policy.get("propensity"), "$.policy.propensity"),
        options=tuple(map(_option, range(len(options)), options, labels)),
    )
    if decision.propensity == 0:
        raise ValueError("what was taken must have had a chance above 0 @ $.policy.propensity")
    if taken is not None and decision.option(taken) is None:
        raise ValueError(f"{taken} was looked up but is no option @ $.policy.options")
    return decision


def _option(place: int, value: JsonValue, label: JsonValue) -> Option:
    at, label_at = f"$.policy.options[{place}]", f"$.labels[{place}]"
    option, said = _object(value, at), _object(label, label_at)
    binding = option.get("binding")
    return Option(
        tool=_text(option.get("tool"), f"{at}.tool"),
        p=_share(option.get("p"), f"{at}.p"),
        habit=_share(option.get("habit"), f"{at}.habit"),
        binding=None if binding is None else _share(binding, f"{at}.binding"),
        label=Measures(
            1, *(_share(said.get(name), f"{label_at}.{name}", flags=True) for name in ("used", "detour", "turn"))
        ),
    )


def _object(value: JsonValue, at: str) -> JsonObject:
    if not isinstance(value, dict):
        raise ValueError(f"must be an object @ {at}")  # noqa: TRY004 - one kind of error for one kind of fault
    return value


def _list(value: JsonValue, at: str) -> list[JsonValue]:
    if not isinstance(value, list):
        raise ValueError(f"must be a list @ {at}")  # noqa: TRY004 - as above
    return value


def _text(value: JsonValue, at: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string @ {at}")  # noqa: TRY004 - as above
    return value


def _share(value: JsonValue, at: str, *, flags: bool = False) -> float:
    if not isinstance(value, (int, float)) or (isinstance(value, bool) and not flags) or not 0 <= value <= 1:
        raise ValueError(f"must be a number from 0 to 1 @ {at}")
    return float(value)

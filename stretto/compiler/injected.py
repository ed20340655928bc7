"""What a procedure says of the values that were fixed when it was compiled, and of when its traces began. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from stretto.compiler.model import Effect
from stretto.procedure import atoms, graph
from stretto.procedure.contracts import contract_key
from waggle.redact import is_masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from stretto.compiler.analysis import Analysis
    from stretto.compiler.injecting import Injection
    from stretto.compiler.model import Call
    from stretto.compiler.steps import Run
    from waggle.jsonvalue import JsonValue

__all__ = ["began", "forbidden_tools", "injected_values", "scope_of", "used"]


def used(analysis: Analysis) -> list[Injection]:
    """The injections that some argument takes, sorted by name."""
    names = {binding.injected for binding in analysis.bindings.values()}
    return sorted((each for each in analysis.settings.inject if each.name in names), key=lambda each: each.name)


def scope_of(analysis: Analysis) -> dict[str, str]:
    """For whom the values that were fixed hold."""
    return dict(sorted(pair for each in used(analysis) for pair in each.scope))


def injected_values(analysis: Analysis, contracts: Mapping[str, graph.Contract]) -> dict[str, graph.InjectedValue]:
    """The values that were fixed, by name."""
    found = {}
    for each in used(analysis):
        value = next(binding.value[0] for binding in analysis.bindings.values() if binding.injected == each.name)
        calls = [(run, call) for run in analysis.runs for call in _calls(run, each.action)]
        first = calls[0][1]
        tool = contract_key(first.server, first.raw_name)
        found[each.name] = graph.InjectedValue(
            value=value,
            tool=tool,
            path=each.path,
            contract=contracts.get(tool, graph.Contract()),
            observed=began([run for run, _ in calls], max),
            days=each.days,
            refresh=_refresh([call for _, call in calls], analysis),
        )
    return found


def forbidden_tools(analysis: Analysis) -> list[str]:
    """The tools that only yield what was fixed, as ``server/tool``, sorted: a procedure never calls them."""
    actions = {each.action for each in used(analysis)}
    calls = [call for run in analysis.runs for action in actions for call in _calls(run, action)]
    return sorted({contract_key(call.server, call.raw_name) for call in calls})


def _calls(run: Run, action: str) -> Iterator[Call]:
    return (call for call in run.trace.calls if call.name == action and call.ok)


def _refresh(calls: Sequence[Call], analysis: Analysis) -> graph.Refresh | None:
    """The read that yields the value again; None where it changes something, or was not always made with the same."""
    first = calls[0]
    schema = analysis.tools.of(first.name)
    hidden = bool((schema.secrets | schema.sessions) & set(first.args)) or is_masked(first.args)
    alike = {atoms.key(dict(call.args)) for call in calls}
    if hidden or len(alike) > 1 or any(call.effect is not Effect.READ for call in calls):
        return None
    args: dict[str, Any] = dict(first.args)
    return graph.Refresh(tool=first.raw_name, server=first.server, args=args)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def began(runs: Iterable[Run], which: Callable[[list[int]], int]) -> str:
    """When the first (`min`) or the last (`max`) of several traces began, ISO 8601 in UTC, to the second.

    Empty where it is not known of all of them.
    """
    given: list[JsonValue] = [run.trace.meta.get("started_ms") for run in runs]
    known = [each for each in given if isinstance(each, int) and not isinstance(each, bool) and each > 0]
    if not known or len(known) < len(given):
        return ""
    try:
        moment = _EPOCH + timedelta(milliseconds=which(known))
    except OverflowError:
        return ""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")

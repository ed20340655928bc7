"""Shell commands of the recorded sessions: how many provably read, are understood, and why the others are refused."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from benchmarks.results.tables import percent, table
from waggle import ToolTable, shell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from waggle.traces import Trace

__all__ = ["commands_by_group", "refusals"]


def _commands(traces: Iterable[Trace]) -> list[str]:
    tools = ToolTable()
    return [
        command
        for trace in traces
        for step in trace.steps
        if (name := tools.spec(step.call.tool).command)
        and not step.args_cut
        and isinstance(command := step.call.args.get(name), str)
    ]


def commands_by_group(groups: Mapping[str, Sequence[Trace]]) -> str:
    """A table: of each group's commands, how many read, have a form, and show what is understood."""
    rows = []
    for group, traces in groups.items():
        commands = _commands(traces)
        readings = [shell.reading(command) for command in commands if shell.reads(command)]
        formed = [each for each in readings if each]
        understood = sum(bool(each.pieces) for each in formed)
        if commands:
            shares = [
                percent(len(readings) / len(commands)),
                *(_of(n, len(readings)) for n in (len(formed), understood)),
            ]
            rows.append([group, f"{len(commands):,}", f"{len(readings):,}", *shares])
    return table(["group", "commands", "read", "share", "of these with a form", "understood"], rows)


def _of(count: int, total: int) -> str:
    return percent(count / total) if total else "-"


def refusals(groups: Mapping[str, Sequence[Trace]]) -> str:
    """A table: why the other commands are no reads, most frequent reason first, with the pieces refused most often."""
    reasons: Counter[str] = Counter()
    details: dict[str, Counter[str]] = {}
    for command in (command for traces in groups.values() for command in _commands(traces)):
        verdict = shell.judge(command)
        if verdict.reason:
            reasons[verdict.reason] += 1
            details.setdefault(verdict.reason, Counter())[verdict.detail] += 1
    rows = [[reason, f"{count:,}", _most(details[reason])] for reason, count in reasons.most_common()]
    return table(["refused for", "commands", "most often"], rows)


def _most(details: Counter[str]) -> str:
    plain = [detail for detail, _ in sorted(details.items(), key=lambda item: (-item[1], item[0])) if _is_plain(detail)]
    return ", ".join(plain[:3]) or "-"


def _is_plain(detail: str) -> bool:
    return bool(detail) and detail.isascii() and all(one.isalnum() or one in " -_./" for one in detail)

"""What a new version of a tree procedure may do that the old one could not. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.review.document import Data, joined
from stretto.review.procedure_changes import ProcedureChange, ProcedureDiff
from stretto.review.trees_show import actions_of, tools_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stretto.procedure.trees.model import TreeProcedure
    from stretto.review.document import Line

__all__ = ["diff_trees"]


def diff_trees(old: TreeProcedure, new: TreeProcedure) -> ProcedureDiff:
    """Compare two versions of a tree procedure."""
    return ProcedureDiff.of((Data(new.domain),), _changes(old, new))


def _changes(old: TreeProcedure, new: TreeProcedure) -> Iterator[ProcedureChange]:
    for tool in sorted(tools_of(new) - tools_of(old)):
        effect = "a read" if tool in new.reads else "no read"
        yield _change("tool_added", tool, True, Data(tool), f" may be called now; it is {effect}")
    for tool in sorted(tools_of(old) - tools_of(new)):
        yield _change("tool_gone", tool, False, Data(tool), " is no longer called")
    for tool in sorted(set(new.reads) - set(old.reads)):
        yield _change("read_added", tool, tool in tools_of(old), Data(tool), " now counts as a read")
    for tool in sorted(set(old.reads) - set(new.reads)):
        yield _change("read_gone", tool, False, Data(tool), " no longer counts as a read")
    yield from _sites(old, new)
    yield from _limits(old, new)


def _sites(old: TreeProcedure, new: TreeProcedure) -> Iterator[ProcedureChange]:
    for site in sorted({*old.trees, *new.trees, ""}):
        was = old.trees.get(site, old.fallback) if site else old.fallback
        now = new.trees.get(site, new.fallback) if site else new.fallback
        if was == now:
            continue
        at: Line = ("after ", Data(site)) if site else ("after any other call",)
        before, after = set(actions_of(was)), set(actions_of(now))
        if after - before:
            yield _change("action_added", site, True, *at, " it may now do ", *_names(after - before))
        if before - after:
            yield _change("action_gone", site, False, *at, " it no longer does ", *_names(before - after))
        if before == after:
            yield _change("decision", site, False, *at, " it decides otherwise, or was seen more often")


def _limits(old: TreeProcedure, new: TreeProcedure) -> Iterator[ProcedureChange]:
    if old.max_calls != new.max_calls:
        more = new.max_calls > old.max_calls
        yield _change("max_calls", "", more, f"calls of one run at most: {old.max_calls:,} -> {new.max_calls:,}")
    if old.symbolic != new.symbolic:
        said = "may now say" if new.symbolic else "no longer say"
        yield _change("symbolic", "", new.symbolic, f"arguments {said} where a value is found")
    if (old.handoff, old.handoff_arguments) != (new.handoff, new.handoff_arguments):
        was, now = Data(old.handoff or "nothing"), Data(new.handoff or "nothing")
        yield _change("handoff", "", True, "hands over with ", now, "; before with ", was)
    if old.stop != new.stop:
        yield _change("stop", "", False, "ends with ", Data(new.stop), "; before with ", Data(old.stop))
    for check in old.checks:
        if check not in new.checks:
            said = "the check of tickets with "
            yield _change("check_lost", check.phrase, True, said, Data(check.phrase), " is gone, or is another")
    for check in new.checks:
        if check not in old.checks:
            yield _change("check_added", check.phrase, False, "tickets with ", Data(check.phrase), " are checked")
    if old.provenance != new.provenance:
        was_tasks, now_tasks = old.provenance.training_tasks, new.provenance.training_tasks
        yield _change("provenance", "", False, f"fitted on {was_tasks:,} -> {now_tasks:,} tasks")


def _names(names: Iterable[str]) -> Line:
    return joined((Data(each),) for each in sorted(names))


def _change(kind: str, at: str, review: bool, *said: str | Data) -> ProcedureChange:  # noqa: FBT001 - as its fields
    return ProcedureChange(kind, at, review, said)

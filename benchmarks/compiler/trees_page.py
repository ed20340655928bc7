"""The section of the page on trees of the same sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.compiler.markdown import table
from stretto._defaults import TREE_FOLDS
from stretto.procedure.trees.paper import TreeResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.trees import TreesOf

__all__ = ["trees_section"]


def trees_section(trees: Sequence[TreesOf]) -> Iterator[str]:
    """The parts of the section.

    Args:
        trees: of each domain, fitted in each way.
    """
    yield "## Trees of the same sessions"
    yield _ABOUT.format(parts=TREE_FOLDS).strip()
    yield table(["domain", "sessions", "tasks", "fitted", *TreeResult], [each.cells() for each in trees])


_ABOUT: Final = """
The other way of making procedures, decision trees ([how](procedures.md#tree-procedures)), on the recorded sessions that
reached their goal and in which nobody spoke after the first call; of BFCL, whose requests were written beforehand, all
of them are the ticket. Tasks are put in {parts} parts, and the sessions of each are replayed by trees of the others:
*same* calls, *same writes* with other reads, *short* and handed back, *unknown* since it read what was not read then,
or *wrong*: another change than was made. They are fitted in four ways: as the original does; *sure*, which stops where
no action has 95 % of ten cases or more; *sure to write*, which asks that of changes only; *voted*, by fifteen trees.

Trees need many sessions that agree, of few kinds of task. There are none such here: hardly a task is like another.
Where the compiler refuses, or finds too few sessions of one intent, they change something wrong, unless they have to be
sure. What they do where demonstrations agree is measured in a generated world, by `python -m benchmarks.trees`.
"""

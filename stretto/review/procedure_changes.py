"""What differs between two versions of a procedure, as values, and the page that says it.

`stretto.review.procedure_diff` and `stretto.review.trees_diff` find it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.review.document import Heading, Items, Paragraph
from stretto.review.page import count
from stretto.review.procedure_shown import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stretto.review.document import Block, Line
    from waggle.jsonvalue import JsonObject

__all__ = ["ProcedureChange", "ProcedureDiff", "changes_json", "changes_page"]


@dataclass(frozen=True, slots=True)
class ProcedureChange:
    """One difference.

    Attributes:
        kind: what changed.
        at: the step, tool, input, … it is about.
        review: whether the new one may do something that the old one could not, or does it with less care.
        said: in words.
    """

    kind: str
    at: str
    review: bool
    said: Line


@dataclass(frozen=True, slots=True)
class ProcedureDiff:
    """All differences, those that need review first, then by kind and name.

    Attributes:
        name: of the new version.
        changes: in the order of the page.
    """

    name: Line
    changes: tuple[ProcedureChange, ...]

    @property
    def needs_review(self) -> bool:
        """Whether anything is to be reviewed; a command's exit code is then 1."""
        return any(change.review for change in self.changes)

    @staticmethod
    def of(name: Line, changes: Iterable[ProcedureChange]) -> ProcedureDiff:
        """A comparison with its changes in order; what was found first of a kind stays first."""
        return ProcedureDiff(name, tuple(sorted(changes, key=lambda each: not each.review)))


def changes_json(compared: ProcedureDiff) -> JsonObject:
    """The same as JSON, and whether there is something to review."""
    return {
        "name": text_of(compared.name),
        "needs_review": compared.needs_review,
        "changes": [
            {"kind": each.kind, "at": each.at, "review": each.review, "said": text_of(each.said)}
            for each in compared.changes
        ],
    }


def changes_page(compared: ProcedureDiff) -> list[Block]:
    """The blocks of the page."""
    marked = [change for change in compared.changes if change.review]
    others = [change for change in compared.changes if not change.review]
    blocks: list[Block] = [Heading(1, ("Changes of procedure ", *compared.name))]
    if not compared.changes:
        return [*blocks, Paragraph(("Nothing changed.",))]
    if marked:
        what = f"**{count(len(marked), 'change')} to review**, {count(len(others), 'other')}."
    else:
        what = f"Nothing to review, {count(len(others), 'change')}."
    blocks.append(Paragraph((what,)))
    for title, changes in (("To review", marked), ("Other changes", others)):
        if changes:
            blocks += [Heading(2, (title,)), Items(tuple((change.said, ()) for change in changes))]
    return blocks

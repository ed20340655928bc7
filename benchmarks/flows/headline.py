"""Sections of the page of all results that other commands write: the headline of the flows' page, and the hook's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FLOWS", "HEADING", "PAGE", "section_of", "with_headline", "with_section"]

#: What a page's headline stands under.
HEADING: Final = "## In short"

#: The flows' page, beside the page of all results.
PAGE: Final = "results-flows.md"

#: What the flows' headline stands under.
FLOWS: Final = "## Flows"

_SECTION: Final = re.compile(r"^(?=## )", re.MULTILINE)


def with_headline(results: str, flows: str) -> str:
    """The page of all results with the flows' headline after its own, in place of the one it had.

    Args:
        results: the page of all results.
        flows: the flows' page.
    """
    (short,) = [part.removeprefix(HEADING).strip() for part in _SECTION.split(flows) if part.startswith(f"{HEADING}\n")]
    about = f"On agents that use other tools than a shell and files; the tables are in [{PAGE}]({PAGE})."
    return with_section(results, f"{FLOWS}\n\n{about}\n\n{short}\n\n")


def with_section(page: str, section: str, *, after: Sequence[str] = (HEADING,)) -> str:
    """A page with a section after its headline, in place of the one of that heading that it had.

    Args:
        page: the page.
        section: with its heading.
        after: headings; the section stands behind the last of them that the page has, else at its end.
    """
    heading = section[: section.index("\n") + 1]
    parts = [part for part in _SECTION.split(page) if not part.startswith(heading)]
    places = [place for place, part in enumerate(parts, 1) if part.partition("\n")[0] in after]
    place = max(places, default=len(parts))
    return "".join([*parts[:place], section, *parts[place:]])


def section_of(page: str, heading: str) -> str:
    """The section of a page under a heading, empty when it has none."""
    return next((part for part in _SECTION.split(page) if part.startswith(f"{heading}\n")), "")

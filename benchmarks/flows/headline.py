"""Sections of the page of all results that other commands write: the headline of the flows' page, and the hook's."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["HEADING", "PAGE", "section_of", "with_headline", "with_section"]

#: What a page's headline stands under.
HEADING: Final = "## In short"

#: The flows' page, beside the page of all results.
PAGE: Final = "results-flows.md"

_FLOWS: Final = "## Flows\n"
_SECTION: Final = re.compile(r"^(?=## )", re.MULTILINE)


def with_headline(results: str, flows: str) -> str:
    """The page of all results with the flows' headline after its own, in place of the one it had.

    Args:
        results: the page of all results.
        flows: the flows' page.
    """
    (short,) = [part.removeprefix(HEADING).strip() for part in _SECTION.split(flows) if part.startswith(f"{HEADING}\n")]
    about = f"On agents that use other tools than a shell and files; the tables are in [{PAGE}]({PAGE})."
    return with_section(results, f"{_FLOWS}\n{about}\n\n{short}\n\n")


def with_section(page: str, section: str) -> str:
    """A page with a section after its headline, in place of the one of that heading that it had."""
    heading = section[: section.index("\n") + 1]
    parts = [part for part in _SECTION.split(page) if not part.startswith(heading)]
    place = next((place for place, part in enumerate(parts, 1) if part.startswith(f"{HEADING}\n")), len(parts))
    return "".join([*parts[:place], section, *parts[place:]])


def section_of(page: str, heading: str) -> str:
    """The section of a page under a heading, empty when it has none."""
    return next((part for part in _SECTION.split(page) if part.startswith(f"{heading}\n")), "")

"""The headline of the flows' page in the page of all results."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["HEADING", "PAGE", "with_headline"]

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
    headline = f"{_FLOWS}\n{about}\n\n{short}\n\n"
    parts = [part for part in _SECTION.split(results) if not part.startswith(_FLOWS)]
    place = next((place for place, part in enumerate(parts, 1) if part.startswith(f"{HEADING}\n")), len(parts))
    return "".join([*parts[:place], headline, *parts[place:]])

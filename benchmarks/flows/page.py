"""The page: what is on it, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.flows import further, savings, verdicts, words
from benchmarks.flows.headline import HEADING

if TYPE_CHECKING:
    from benchmarks.flows.study import Study

__all__ = ["page"]

#: Sections by the part that must be measured for them.
_SECTIONS = (
    ("main", savings.saved),
    ("main", savings.domain_by_domain),
    ("main", savings.costs),
    ("frontier", savings.frontier),
    ("calibration", further.calibration),
    ("curve", further.curve),
    ("main", further.fan_out),
    ("together", further.together),
    ("ablation", further.ablation),
    ("coding", further.coding),
)


def page(study: Study, collection: str, discussion: str = "") -> str:
    """Write the page.

    Args:
        study: with everything measured that it was asked for.
        collection: which sessions, in words.
        discussion: what to make of it.
    """
    blocks = [
        "# Results: flows",
        words.INTRODUCTION.format(collection=collection, sessions=_sessions(study)),
        HEADING,
        "\n".join(f"- {line}" for line in verdicts.in_short(study)),
        *([discussion] if discussion else []),
        words.METHOD.format(prompt=f"{study.place.prompt_tokens:,}"),
    ]
    blocks += [block for part, write in _SECTIONS if part in study.only for block in write(study)]
    return "\n\n".join(blocks) + "\n"


def _sessions(study: Study) -> str:
    every = [*study.tools, *study.coding]
    calls = sum(len(turn.calls) for domain in every for each in domain.episodes for turn in each.turns())
    text = f"{sum(len(domain.recorded) for domain in every):,} sessions of {len(every)} domains with {calls:,} calls"
    left = study.place.sessions.left_out
    return f"{text}; not measured, since they cannot be split: {', '.join(left)}" if left else text

"""Versions of the flow file: which a flow needs.

The rule for a new field: the version stays when a build that ignores the field still acts as before; otherwise a build
that does not know the field must refuse the file. Versions 1 and 2 are the original's, 3 has what the original has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.flow.model import Flow

__all__ = ["VERSIONS", "flow_version", "later_fields"]

#: The versions that are read, and written.
VERSIONS: Final = (1, 2, 3)

_BINDINGS: Final = {
    "named_other": 2,
    "described_read": 2,
    "site_sources": 2,
    "lists": 2,
    "bare": 2,
    "constants": 2,
    "derived": 3,
    "spoken": 3,
    "records": 3,
    "agreed_derived": 3,
    "agreed_spoken": 3,
    "agreed_record": 3,
}


def later_fields(flow: Flow) -> Iterator[tuple[int, str]]:
    """The fields of a flow that version 1 has not and that are not empty: the version of each, and its JSON path."""
    for name, version in _BINDINGS.items():
        if getattr(flow.bindings, name):
            yield version, f"$.bindings.{name}"
    if flow.thresholds:
        yield 2, "$.thresholds"
    if flow.surprise:
        yield 2, "$.surprise"
    if flow.uses.counts:
        yield 3, "$.uses"


def flow_version(flow: Flow) -> int:
    """The version a flow is written as: the lowest that has all its fields."""
    return max((version for version, _ in later_fields(flow)), default=1)

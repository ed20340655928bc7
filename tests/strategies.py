"""Hypothesis strategies for what the project passes around and writes, with what has broken its like mixed in."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, get_args

from hypothesis import strategies as st

from waggle.calls import Call
from waggle.ledger import Event, LedgerEntry

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["calls", "json_objects", "json_values", "ledger_entries", "python_values", "texts", "times"]

#: Line ends and what other readers take for one, a byte-order mark, halves of a pair, quotes, markup.
_ODD_TEXTS = st.sampled_from(
    [
        *(
            "",
            "\u2028",
            "\u2029",
            "\x85",
            "\x0b",
            "\r\n",
            "\n",
            "\0",
            "\ufeff",
            "\udcff",
            "\ud83d",
            "é",
            "e\u0301",
            "😀",
        ),
        *("null", "NaN", "1", "true", '"', "\\", "'", "[/red]", "$1", "$bytes", "$dict", "../..", "-rf", "a" * 300),
    ]
)


def texts() -> st.SearchStrategy[str]:
    """Any Python string, lone surrogates included."""
    return st.text(st.characters(), max_size=12) | _ODD_TEXTS | st.tuples(_ODD_TEXTS, st.text(max_size=4)).map("".join)


def numbers() -> st.SearchStrategy[int | float]:
    """Integers on both sides of 64 bits, and every finite float."""
    edges = [2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, -(2**63), -(2**63) - 1, 10**40]
    finite = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1e-7, 1e16, 5e-324])
    return st.integers() | st.sampled_from(edges) | finite


def json_values() -> st.SearchStrategy[JsonValue]:
    """JSON values of every kind."""
    return st.recursive(
        st.none() | st.booleans() | numbers() | texts(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(), inner, max_size=4),
        max_leaves=12,
    )


def json_objects() -> st.SearchStrategy[JsonObject]:
    """Arguments of a call."""
    return st.dictionaries(texts(), json_values(), max_size=4)


def times() -> st.SearchStrategy[datetime]:
    """Moments in different time zones, to the second."""
    zones = st.sampled_from([UTC, timezone(timedelta(hours=-7)), timezone(timedelta(hours=5, minutes=45))])
    shifts = st.timedeltas(timedelta(days=-9000), timedelta(days=9000))
    return st.builds(
        lambda zone, shift: (datetime(2026, 1, 1, tzinfo=zone) + shift).replace(microsecond=0), zones, shifts
    )


def python_values() -> st.SearchStrategy[object]:
    """Values that a Python tool is called with and that can be rebuilt, JSON or not."""
    keys = texts() | st.integers() | st.tuples(st.integers(), texts()) | st.none()
    leaves: st.SearchStrategy[object] = (
        json_values()
        | st.binary(max_size=8)
        | st.sampled_from([PurePosixPath("a b"), PurePosixPath("/"), Decimal("0.10"), float("inf"), float("-inf")])
        | st.sampled_from([date(2026, 2, 3), time(4, 5, 6, 7), 10**4299])
        | times()
        | st.frozensets(st.integers() | texts() | st.tuples(texts(), st.integers()), max_size=3)
    )
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
    )


def calls() -> st.SearchStrategy[Call]:
    """Calls with JSON arguments."""
    return st.builds(Call, st.text(min_size=1, max_size=8), json_objects())


def ledger_entries() -> st.SearchStrategy[LedgerEntry]:
    """Records of every event."""
    return st.builds(
        LedgerEntry,
        name=texts().filter(bool) | st.sampled_from(["find-a-file", "wag_00000000ff"]),
        steps=st.integers(0, 9),
        yield_tokens=st.integers(0, 10**6) | st.sampled_from([2**63, 2**64, 10**40]),
        fail=st.booleans(),
        at=st.none() | times(),
        event=st.sampled_from(get_args(Event)),
        strategy=st.none() | st.sampled_from(["routes", "flows"]),
    )

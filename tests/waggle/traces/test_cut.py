"""Shortened texts and their mark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waggle.traces.cut import cut_text, has_cut, is_cut, split_cut

MARK = "\n[... 7 more characters cut from this trace ...]"


@given(text=st.text(), limit=st.integers(0, 50))
def test_nothing_is_lost_from_the_count_of_a_cut_text(text: str, limit: int) -> None:
    kept, missing = split_cut(cut_text(text, limit))
    assert kept == text[:limit]
    assert len(kept) + missing == len(text)


@given(text=st.text(max_size=80), first=st.integers(0, 80), second=st.integers(0, 80))
def test_cutting_twice_counts_from_the_whole_text(text: str, first: int, second: int) -> None:
    assert split_cut(cut_text(cut_text(text, first), second)) == split_cut(cut_text(text, min(first, second)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("whole", ("whole", 0), id="no-mark"),
        pytest.param("begin" + MARK, ("begin", 7), id="marked"),
        pytest.param(MARK[1:], ("", 7), id="only-the-mark"),
        pytest.param("begin" + MARK + "\n", ("begin" + MARK + "\n", 0), id="text-goes-on"),
        pytest.param(
            "[... many more characters cut from this trace ...]",
            ("[... many more characters cut from this trace ...]", 0),
            id="no-number",
        ),
    ],
)
def test_the_mark_counts_only_at_the_end(text: str, expected: tuple[str, int]) -> None:
    assert split_cut(text) == expected


def test_a_cut_text_is_found_at_any_depth_of_the_arguments() -> None:
    assert has_cut(["whole", {"edits": [{"new": "x" + MARK}]}])
    assert not has_cut(["whole", 7, None, True, {"edits": [{"new": "x"}]}])
    assert is_cut("x" + MARK)


def test_very_deep_arguments_are_looked_through() -> None:
    deep: object = "x" + MARK
    for _ in range(5_000):
        deep = [deep]
    assert has_cut([deep])

"""What is known since the last write, and that it stays bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from waggle import Result, Step, ToolTable
from waggle.extents import Extents
from waggle.known import KnownLookups

EXTENTS = Extents(ToolTable())


def read(path: str, offset: int = 1, limit: int = 100) -> Step:
    return Step(0, "Read", {"file_path": path, "offset": offset, "limit": limit})


def known(limit: int = 1000, entries: int = 100) -> KnownLookups:
    return KnownLookups(EXTENTS.of_step, limit, entries=entries)


def test_an_answer_is_found_for_what_it_covers_until_something_is_written() -> None:
    answers = known()
    answers.add(read("a", 1, 100), Result("whole"))
    found = answers.find(EXTENTS.of_step(read("a", 20, 10)))
    assert found is not None
    assert found.text == "whole"
    assert answers.find(EXTENTS.of_step(read("b"))) is None
    answers.clear()
    assert answers.find(EXTENTS.of_step(read("a"))) is None


def test_beyond_its_room_an_old_answer_loses_its_text_and_stays_known() -> None:
    answers = known(limit=10)
    answers.add(read("a"), Result("12345678"))
    answers.add(read("b"), Result("12345678"))
    found = [answers.find(EXTENTS.of_step(read(path))) for path in "ab"]
    assert [(one.text, one.cut) for one in found if one] == [("", True), ("12345678", False)]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 3), st.integers(0, 30)), max_size=60))
def test_memory_is_bounded_and_the_latest_answers_are_known(reads: list[tuple[str, int, int]]) -> None:
    answers = known(limit=50, entries=5)
    for path, offset, size in reads:
        answers.add(read(path, offset, 1), Result("x" * size))
        assert answers.find(EXTENTS.of_step(read(path, offset, 1))) is not None
    assert len(answers._noted) <= 5
    assert sum(len(result.text) for _, result in answers._noted) <= 50
    assert sum(map(len, answers._coverage._by_resource.values())) <= 5

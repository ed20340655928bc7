"""What the answer to a read covers, alone and together with others."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waggle import Step, ToolTable
from waggle.extents import Coverage, Extent, Extents, Shown, resolved

TABLE = ToolTable()
HERE = Extents(TABLE, "/repo")


def shell(command: str, where: Extents = HERE) -> tuple[Extent, ...]:
    form, args = TABLE.spoken("bash", {"command": command})
    return where.of("bash", form, args)


def shown(command: str) -> Shown:
    form, args = TABLE.spoken("bash", {"command": command})
    return HERE.shown(Step(0, "bash", args, form=form))


@pytest.mark.parametrize(
    ("whole", "part", "covers"),
    [
        pytest.param({"offset": 40, "limit": 80}, {"offset": 60, "limit": 30}, True, id="inside"),
        pytest.param({"offset": 40, "limit": 80}, {"offset": 40, "limit": 80}, True, id="the same"),
        pytest.param({"offset": 60, "limit": 30}, {"offset": 40, "limit": 80}, False, id="larger"),
        pytest.param({"offset": 40, "limit": 80}, {"offset": 119, "limit": 2}, False, id="one line past the end"),
        pytest.param({}, {"offset": 10, "limit": 5}, True, id="the whole file"),
        pytest.param({}, {"offset": 1999, "limit": 5}, False, id="past the lines a read returns"),
        pytest.param({"offset": 0}, {"offset": 1}, True, id="line 0 is line 1"),
        pytest.param({"offset": -5}, {"offset": 10, "limit": 1}, False, id="a tail covers only itself"),
        pytest.param({"offset": "10", "limit": 5}, {"offset": 10, "limit": 5}, False, id="a text is no number"),
        pytest.param({"offset": True}, {"offset": 1}, False, id="true is no number"),
    ],
)
def test_a_read_of_a_range_answers_a_read_inside_it(whole: Any, part: Any, *, covers: bool) -> None:
    (one,), (other,) = (HERE.of("Read", "", {"file_path": "a", **args}) for args in (whole, part))
    assert one.covers(other) is covers
    assert (one,) == HERE.of_step(Step(0, "Read", {"file_path": "a", **whole}))


def test_another_file_or_another_tool_is_never_covered() -> None:
    (whole,) = HERE.of("Read", "", {"file_path": "a"})
    assert not whole.covers(HERE.of("Read", "", {"file_path": "b"})[0])
    assert not whole.covers(HERE.of("NotebookRead", "", {"file_path": "a"})[0])


def test_two_spellings_of_a_path_are_one_file() -> None:
    spellings = ("src/a.py", "./src/a.py", "/repo/src/a.py", "src/../src/a.py")
    assert len({HERE.of("Read", "", {"file_path": path}) for path in spellings}) == 1
    assert HERE.of("Read", "", {"file_path": "a.py"}) != HERE.of("Read", "", {"file_path": "src/a.py"})
    assert Extents(TABLE).of("Read", "", {"file_path": "./a.py"}) == Extents(TABLE).of(
        "Read", "", {"file_path": "a.py"}
    )
    assert resolved("", "/repo") == "/repo"


@pytest.mark.parametrize(
    ("made", "asked", "covers"),
    [
        ("sed -n '40,120p' a.py", "sed -n 60,90p ./a.py", True),
        ("sed -n '40,120p' a.py", "cd /repo && sed -n 60,90p a.py", True),
        ("cat a.py", "head -n 50 a.py", True),
        ("nl -ba a.py", "sed -n 5,9p a.py", True),
        ("cat a.py", "nl -ba a.py | sed -n 5,9p", False),  # the agent wants the numbers
        ("cat a.py b.py", "cat b.py", True),
        ("cat a.py", "cat a.py b.py", False),
        ("cat a.py", "cd src && cat a.py", False),
        ("grep -n x a.py", "grep -n x a.py", True),
        ("grep -n x a.py", "grep -n y a.py", False),
        ("cat a.py", "wc -l a.py", False),
    ],
)
def test_a_shell_command_answers_what_it_shows(made: str, asked: str, *, covers: bool) -> None:
    coverage = Coverage()
    coverage.add(shell(made), 1)
    assert coverage.find(shell(asked)) == ((1,) if covers else None)


def test_a_read_of_another_tool_is_no_answer_since_a_host_may_ask_for_that_tool() -> None:
    coverage = Coverage()
    coverage.add(shell("cat a.py"), 1)
    assert coverage.find(HERE.of("Read", "", {"file_path": "/repo/a.py"})) is None


@pytest.mark.parametrize(
    ("command", "kind", "path", "lines"),
    [
        ("grep -rn foo src", "search", "/repo/src", (1, math.inf)),
        ("sed -n 10,20p a.py", "lines", "/repo/a.py", (10, 20)),
        ("cat a.py", "lines", "/repo/a.py", (1, math.inf)),
        ("cat a.py b.py", "lines", "", (1, math.inf)),
        ("ls src && grep -n foo a.py", "search", "/repo/a.py", (1, math.inf)),
        ("git status", "status", "/repo", (1, math.inf)),
        ("python run.py", "", "", (1, math.inf)),
    ],
)
def test_what_a_shell_command_shows_is_told_by_its_kind(command: str, kind: str, path: str, lines: Any) -> None:
    one = shown(command)
    assert (one.kind, one.path, (one.first, one.last)) == (kind, path, lines)


def test_answers_that_cover_a_read_only_together_answer_it() -> None:
    coverage = Coverage()
    for number, (first, last) in enumerate(((1, 40), (35, 80), (200, 300)), 1):
        coverage.add((Extent("f", first, last),), number)
    assert coverage.find((Extent("f", 10, 70),)) == (1, 2)
    assert coverage.find((Extent("f", 10, 90),)) is None
    assert coverage.find((Extent("f", 210, 220), Extent("f", 1, 5))) == (3, 1)
    coverage.remove((Extent("f", 35, 80),), 2)
    assert coverage.find((Extent("f", 10, 70),)) is None
    coverage.clear()
    assert coverage.find((Extent("f", 1, 2),)) is None


RANGES = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 30)), max_size=8)


@given(RANGES, st.integers(1, 60), st.integers(0, 30))
def test_a_read_is_answered_exactly_when_every_line_of_it_is_known(
    known: list[tuple[int, int]], first: int, more: int
) -> None:
    coverage = Coverage()
    for number, (start, size) in enumerate(known):
        coverage.add((Extent("f", start, start + size),), number)
    lines = {line for start, size in known for line in range(start, start + size + 1)}
    wanted = set(range(first, first + more + 1))
    found = coverage.find((Extent("f", first, first + more),))
    assert (found is not None) is (wanted <= lines)
    if found is not None:
        shown = {line for n in found for line in range(known[n][0], known[n][0] + known[n][1] + 1)}
        assert wanted <= shown


def test_without_containment_only_the_very_same_call_is_an_answer() -> None:
    strict = Extents(TABLE, "/repo", containment=False)
    wide, narrow = ({"file_path": "a", "offset": 1, "limit": size} for size in (100, 10))
    assert not strict.of("Read", "", wide)[0].covers(strict.of("Read", "", narrow)[0])
    assert strict.of("Read", "", wide)[0].covers(strict.of("Read", "", dict(wide))[0])

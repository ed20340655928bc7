"""Describing a read by where its values came from, and making it again from another result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waggle.reach.support import TOOLS, grep, read, seen, sh, step
from waggle import jsonvalue
from waggle.extents import Extents, Shown
from waggle.reach.targets import (
    AFTER,
    BEFORE,
    CallTarget,
    LinesTarget,
    Source,
    call_target,
    cell_of,
    lines_call,
    lines_targets,
    may_be_kept,
    read_target,
)
from waggle.values import Place, Transform, apply

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonValue

USER = seen("get_user", {"id": "u1"}, '{"name": "Ann", "orders": [{"id": "W7"}, {"id": "W8"}], "zip": 12345}')


def test_an_argument_that_stood_in_the_result_is_bound_to_its_place() -> None:
    target = call_target(step(1, "get_order", {"order_id": "W7"}), USER, ())
    assert target.args == (("order_id", Source(Place("result", ("orders", 0, "id")))),)
    other = seen("get_user", {"id": "u2"}, '{"orders": [{"id": "W9"}]}')
    assert target.bind(other) == {"order_id": "W9"}
    assert target.bind(seen("get_user", {"id": "u3"}, '{"orders": []}')) is None


def test_an_argument_that_stood_nowhere_is_a_fixed_value() -> None:
    target = call_target(step(1, "get_order", {"order_id": "W7", "full": True, "limit": 50}), USER, ())
    assert dict(target.args)["full"] == Source(fixed=b"true")
    assert target.bind(USER) == {"order_id": "W7", "full": True, "limit": 50}


def test_true_is_not_one_and_a_text_is_no_number() -> None:
    values: list[JsonValue] = [True, 1, 1.0, "1", "true", None, [], {}]
    keys = {call_target(step(1, "t", {"a": value}), USER, ()).key for value in values}
    assert len(keys) == len(values)


def test_a_path_inside_the_project_is_kept_relative_to_it() -> None:
    target = call_target(step(1, "get_file_info", {"path": "/repo/setup.py"}), USER, ("path",))
    assert "/repo" not in target.key
    elsewhere = seen("get_user", {"id": "u1"}, "{}", root="/home/x/clone")
    assert target.bind(elsewhere) == {"path": "/home/x/clone/setup.py"}


def test_a_path_that_the_result_prints_in_short_is_bound_and_said_in_full() -> None:
    search = seen(*grep("x"), "src/a.py:3: x")
    target = call_target(step(1, "get_file_info", {"path": "/repo/src/a.py"}), search, ("path",))
    assert target.args == (("path", Source(Place("files", (0, "path")), base="")),)
    assert target.bind(seen(*grep("y"), "lib/b.py:3: y")) == {"path": "/repo/lib/b.py"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab/.1", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("pqr", min_size=1, max_size=2), JSON, max_size=3), JSON, JSON)
def test_every_bound_value_is_the_transform_of_a_value_that_is_there(
    args: dict[str, JsonValue], one: JsonValue, other: JsonValue
) -> None:
    before, after = (seen("t", {"k": "v"}, jsonvalue.dumps(text).decode()) for text in (one, other))
    target = call_target(step(1, "u", args), before, ())
    assert target.bind(before) == args  # described by a result, it makes the same call from it
    assert read_target(target.key) == target
    bound = target.bind(after)
    for name, source in target.args:
        if bound is not None and source.place is not None:
            assert bound[name] == apply(source.place, source.transform, after.content)
            assert bound[name] is not None


@given(
    st.sampled_from(["", "file_path"]),
    st.integers(-1, 3),
    st.sampled_from(["", "dir"]),
    st.sampled_from(["line", "end", "whole"]),
)
def test_a_lines_target_survives_its_key(arg: str, file: int, base: str, around: str) -> None:
    target = LinesTarget("Read", arg, file, base, around, 2)
    assert read_target(target.key) == target


@pytest.mark.parametrize(
    "key",
    [
        "[]",
        "{}",
        '{"tool": 1}',
        '{"tool":"t","form":"","args":{"a":{"from":"nowhere.x"}}}',
        '{"tool":"t","form":"","args":{"a":1}}',
    ],
)
def test_what_is_no_target_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        read_target(key)


@pytest.mark.case("HC-17")
def test_a_fixed_value_that_is_a_secret_is_never_kept() -> None:
    for args in ({"token": "abc123secret99"}, {"q": "Bearer aaaaaaaa.bbbbbbbb.cccccccc"}, {"q": "x" * 500}):
        assert not may_be_kept(call_target(step(1, "t", dict(args)), USER, ()))
    assert may_be_kept(call_target(step(1, "t", {"q": "open orders"}), USER, ()))
    spelled_out = step(1, *sh("grep -rn x --include=sk-lab-EXAMPLE000111.seg2_EXAMPLE-333 src"))
    assert not may_be_kept(call_target(spelled_out, USER, ()))
    assert may_be_kept(LinesTarget("Read", "file_path", 0, "", "line"))


@given(st.integers(1, 2000), st.integers(1, 2000), st.integers(0, 600))
def test_a_cell_is_the_smallest_range_that_holds_a_read(line: int, first: int, more: int) -> None:
    cell = cell_of(Shown("lines", "/f", first, first + more), line)
    fitting = [
        (b, a)
        for b, before in enumerate(BEFORE)
        for a, after in enumerate(AFTER)
        if line - before <= first and first + more <= line + after
    ]
    assert cell == (min(fitting) if fitting else None)


def test_a_whole_file_is_reached_by_a_read_of_its_beginning_but_not_the_other_way_round() -> None:
    where = Extents(TOOLS, "/repo")
    search = seen(*grep("x"), "src/a.py:100: x")

    def kinds(tool: str, args: dict[str, JsonValue]) -> set[str]:
        later = step(1, tool, args)
        arg = "" if later.form else "file_path"
        return {target.around for target, _ in lines_targets(where.shown(later), later, search, arg)}

    assert kinds(*read("/repo/src/a.py", 90, 30)) == {"line", "whole"}
    assert kinds(*read("/repo/src/a.py")) == {"whole"}
    assert kinds(*read("/repo/src/a.py", 90_000, 30)) == set()
    assert kinds(*read("/repo/src/b.py", 90, 30)) == set()
    assert kinds(*sh("sed -n 90,119p src/a.py")) == {"line", "whole"}


def test_lines_are_asked_for_as_each_tool_takes_them() -> None:
    native, shell = LinesTarget("Read", "file_path", 0, "", "line"), LinesTarget("bash", "", 0, "", "line")
    assert lines_call(native, TOOLS, "/f", 10, 29) == {"file_path": "/f", "offset": 10, "limit": 20}
    assert lines_call(native, TOOLS, "/f", 1, None) == {"file_path": "/f"}
    assert lines_call(shell, TOOLS, "/f", 10, 29) == {"path": "/f", "first": 10, "last": 29}
    assert lines_call(shell, TOOLS, "/f", 1, None) == {"path": "/f"}


def test_transforms_are_kept_with_their_constants() -> None:
    source = Source(Place("args", ("q",)), Transform("affix", "#", ""))
    target = CallTarget("t", "", (("id", source),))
    assert read_target(target.key) == target
    assert target.bind(seen("s", {"q": "W7"}, "{}")) == {"id": "#W7"}

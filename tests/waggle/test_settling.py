"""What becomes of lookups: used, or a detour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.waggle.reach.support import TOOLS, edit, grep, read, sh, step
from waggle import Result
from waggle.extents import Extents
from waggle.replay import Lookup
from waggle.settling import Settled, Settling, Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waggle.jsonvalue import JsonValue

Call = tuple[str, dict[str, "JsonValue"]]


class Desk:
    """A settling with what it told."""

    def __init__(self) -> None:
        self.settled: list[Settled] = []
        self.windows: list[Window] = []
        self.settling = Settling(Extents(TOOLS, "/repo"), lambda calls: 10.0, self.note)
        self.seq = 0

    def note(self, settled: Sequence[Settled], windows: Sequence[Window]) -> None:
        self.settled += settled
        self.windows += windows

    def observe(self, call: Call, size: int = 0) -> None:
        self.settling.observe(step(self.seq, *call), size)
        self.seq += 1

    def made(self, call: Call, text: str = "x" * 400, *, held: bool = False) -> None:
        tool, args = call
        self.settling.made([Lookup(tool, args, "reach", "route", result=None if held else Result(text))], held=held)


@pytest.mark.parametrize(
    ("later", "used"),
    [
        ([read("/repo/src/a.py", 95, 20)], True),
        ([grep("y"), read("src/a.py", 100, 5)], True),
        ([edit("/repo/src/a.py")], True),
        ([sh("sed -i s/a/b/ /repo/src/a.py")], True),
        ([sh("sed -i s/a/b/ src/a.py")], True),
        ([edit("/repo/src/b.py"), read("/repo/src/a.py", 95, 20)], False),
        ([read("/repo/src/a.py", 300, 20)], False),
        ([read("/repo/src/b.py")], False),
        ([], False),
    ],
)
def test_a_lookup_is_used_when_the_agent_asks_for_it_or_writes_to_its_file_before_anything_else(
    later: list[Call], *, used: bool
) -> None:
    desk = Desk()
    desk.observe(grep("x"))
    desk.made(read("/repo/src/a.py", 90, 60))
    for call in later:
        desk.observe(call)
    desk.settling.close()
    assert [each.used for each in desk.settled] == [used]


def test_a_write_that_only_says_what_was_searched_for_is_no_use() -> None:
    desk = Desk()
    desk.made(grep("main", "/repo/src/a.py"))
    desk.observe(sh("echo main > out.txt"))
    assert [each.used for each in desk.settled] == [False]


def test_a_used_lookup_saves_the_context_and_a_detour_costs_its_result_in_every_turn_left() -> None:
    for used in (True, False):
        desk = Desk()
        desk.observe(grep("x"), 4000)
        desk.made(read("/repo/src/a.py", 90, 60), "x" * 400)
        desk.observe(edit("/repo/src/a.py" if used else "/repo/src/b.py"))
        (settled,) = desk.settled
        assert (settled.saved_tokens > 1000) is used
        assert settled.spent_tokens == (0 if used else 100 * 10)


def test_what_was_held_back_is_settled_and_neither_saves_nor_costs() -> None:
    for asked in (True, False):
        desk = Desk()
        desk.made(read("/repo/src/a.py", 90, 60), held=True)
        desk.observe(read("/repo/src/a.py", 95, 9) if asked else grep("z"))
        desk.observe(edit("/repo/src/b.py"))
        (settled,) = desk.settled
        assert (settled.held, settled.used) == (True, asked)
        assert (settled.saved_tokens, settled.spent_tokens) == (0, 0)


def test_each_lookup_is_settled_once() -> None:
    desk = Desk()
    desk.made(read("/repo/src/a.py", 90, 60))
    for _ in range(3):
        desk.observe(read("/repo/src/a.py", 95, 9))
    desk.observe(edit("/repo/src/a.py"))
    desk.settling.close()
    desk.settling.close()
    assert len(desk.settled) == 1


def test_a_window_counts_the_calls_from_a_result_to_the_next_write() -> None:
    desk = Desk()
    desk.observe(grep("x"))
    desk.made(read("/repo/src/a.py", 90, 60))
    for call in (grep("y"), grep("z"), edit()):
        desk.observe(call)
    desk.made(read("/repo/src/b.py"), held=True)
    desk.observe(grep("w"))
    desk.settling.close()
    assert [(window.calls, window.held) for window in desk.windows] == [(3, False), (1, True)]


def test_calls_that_ran_beside_an_earlier_one_are_no_further_turn() -> None:
    desk = Desk()
    desk.made(read("/repo/src/a.py", 90, 60))
    first, beside = step(1, *grep("y")), step(2, *grep("z"))
    beside.overlapped = True
    desk.settling.observe(first, 0)
    desk.settling.observe(beside, 0)
    desk.settling.close()
    assert [window.calls for window in desk.windows] == [1]


ORDER: Call = ("get_order", {"order_id": "#W1001"})
USER: Call = ("get_user", {"user_id": "ada_1"})


@pytest.mark.parametrize(
    ("seen", "later", "used"),
    [
        pytest.param(
            "", [("cancel", {"order_id": "#W1001"})], {"get_user", "get_order"}, id="a write to what was shown"
        ),
        pytest.param("", [("cancel", {"orders": ["#W1001"]})], {"get_user", "get_order"}, id="in a list"),
        pytest.param("", [("ask", {"order_id": "#W1001"})], {"get_user", "get_order"}, id="whatever the call does"),
        pytest.param("#W1001", [("cancel", {"order_id": "#W1001"})], {"get_order"}, id="what the agent knew before"),
        pytest.param("", [("cancel", {"order_id": "#W1009"})], {"get_user"}, id="another order of the list"),
        pytest.param("", [("cancel", {"user_id": "ada_1"})], {"get_user"}, id="what the lookup was called with"),
        pytest.param("", [("cancel", {"order_id": "#W7777"})], set(), id="what nobody has shown"),
        pytest.param("", [("cancel", {"n": "#W1"})], set(), id="too short to mean something"),
        pytest.param("", [("save", {}), ("cancel", {"order_id": "#W1001"})], set(), id="after the next write"),
        pytest.param("", [], set(), id="nothing"),
    ],
)
def test_of_a_tool_that_reads_no_files_what_is_passed_on_tells_that_it_was_read(
    seen: str, later: list[Call], used: set[str]
) -> None:
    desk = Desk()
    desk.settling.observe(step(0, "find_user", {"email": "a@example.com"}), 5, f"ada_1 {seen}")
    desk.made(USER, '{"email": "a@example.com", "orders": ["#W1001", "#W1009"]}')
    desk.made(ORDER, '{"order_id": "#W1001", "state": "new"}')
    for call in later:
        desk.observe(call)
    desk.settling.close()
    assert {each.lookup.tool for each in desk.settled if each.used} == used
    assert len(desk.settled) == 2

"""A follow made step by step, as a host does that waits for many things at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.waggle.session_support import LONG, LS, READ_A, READ_B, ROUTE, Broken, call, host, manager
from waggle import Call, Manager, ManagerConfig, Result, Route, Store, ToolTable, read_ledger
from waggle.calls import Outcome
from waggle.ledger import read_settled
from waggle.routes import RouteStep

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.speculation import Follow


def opened(m: Manager) -> Follow:
    """A follow after the first steps of the route."""
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    follow = m.session().open_follow()
    assert follow is not None
    return follow


def walk(follow: Follow) -> list[str]:
    """Make every lookup; the files that were read."""
    made = []
    while lookup := follow.next():
        follow.settle(lookup, Result(f"text of {lookup.args['path']}"))
        made.append(str(lookup.args["path"]))
    return made


def test_step_by_step_gives_what_follow_gives() -> None:
    run, _ = host()
    at_once, stepwise = manager(LONG), manager(LONG)
    for step in (LS, READ_A):
        at_once.observe(call(step), "x")
    follow = opened(stepwise)
    assert len(walk(follow)) == 6
    folded = follow.fold()
    assert folded == follow.end() == at_once.follow(run)
    assert follow.end() is None


def test_what_does_not_depend_on_each_other_is_named_at_once() -> None:
    follow = opened(manager(LONG))
    lookups = []
    while lookup := follow.next():
        lookups.append(lookup)
    assert len(lookups) == 6
    for lookup in reversed(lookups):
        follow.settle(lookup, Result("late"))
    folded = follow.end()
    assert folded is not None
    assert folded.lookups[0].args == lookups[-1].args


def test_one_follow_at_a_time_and_a_new_one_after_its_end() -> None:
    m = manager()
    follow = opened(m)
    assert m.session().open_follow() is None
    follow.end()
    assert m.session().open_follow() is not None


def test_a_follow_that_has_ended_names_and_takes_nothing_more() -> None:
    m = manager(LONG)
    follow = opened(m)
    lookup = follow.next()
    assert lookup is not None
    assert follow.end() is None
    assert follow.next() is None
    follow.settle(lookup, Result("late"))
    assert follow.fold() is None
    assert m.faults() == {}


def test_a_dropped_lookup_counts_towards_no_cap_and_is_in_no_ledger(tmp_path: Path) -> None:
    with Manager(
        ManagerConfig(lookups_per_session=1), routes=[LONG], store=Store(tmp_path / "s", tmp_path / "l.jsonl")
    ) as m:
        follow = opened(m)
        lookup = follow.next()
        assert lookup is not None
        assert follow.next() is None  # the cap
        follow.drop(lookup)
        assert walk(follow) == ["f1.go"]
        follow.end()
    assert read_ledger(tmp_path / "l.jsonl")[LONG.name].uses == 1


def test_what_the_agent_never_got_is_not_logged_and_not_known(tmp_path: Path) -> None:
    again = Route("again", (READ_A, LS, READ_B))
    with Manager(routes=[ROUTE, again], store=Store(tmp_path / "s", tmp_path / "l.jsonl")) as m:
        follow = opened(m)
        assert walk(follow) == ["b.go"]
        assert follow.end(delivered=False) is None
        for step in (READ_A, LS):
            m.observe(call(step), "x")
        later = m.session().open_follow()
        assert later is not None
        assert walk(later) == ["b.go"]
        assert later.end() is not None
    assert set(read_ledger(tmp_path / "l.jsonl")) == {"again"}


def test_a_lookup_that_was_given_up_is_no_failure_of_its_route(tmp_path: Path) -> None:
    with Manager(routes=[ROUTE], store=Store(tmp_path / "s", tmp_path / "l.jsonl")) as m:
        follow = opened(m)
        lookup = follow.next()
        assert lookup is not None
        follow.settle(lookup, Result(ok=False, outcome=Outcome.CANCELLED))
        assert follow.end() is None
    assert read_ledger(tmp_path / "l.jsonl") == {}


def test_what_was_asked_before_a_write_is_not_known_after_it() -> None:
    again = Route("again", (READ_A, LS, READ_B))
    m = manager(ROUTE, again)
    follow = opened(m)
    lookup = follow.next()
    assert lookup is not None
    m.observe(Call("write", {"path": "b.go"}), "done")
    follow.settle(lookup, Result("perhaps older than the write"))
    assert follow.end() is not None
    for step in (READ_A, LS):
        m.observe(call(step), "x")
    later = m.session().open_follow()
    assert later is not None
    assert walk(later) == ["b.go"]


def test_what_is_held_back_is_noted_and_nothing_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path / "s", tmp_path / "l.jsonl")
    with Manager(ManagerConfig(control_share=1.0), routes=[LONG], store=store) as m:
        follow = opened(m)
        assert (follow.next(), follow.next(), follow.end()) == (None, None, None)
    assert read_settled(store.ledger_path)["routes", LONG.name].held_detours == 6


def test_the_time_limit_ends_it() -> None:
    follow = opened(manager(LONG, follow_seconds=0))
    assert follow.seconds_left() == 0
    assert follow.next() is None


def test_a_manager_that_replays_nothing_opens_none() -> None:
    m = manager(replay=False)
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    assert m.session().open_follow() is None


def test_a_strategy_of_one_session_that_raises_is_switched_off_and_the_routes_go_on() -> None:
    m = Manager(routes=[ROUTE])
    session = m.session("one", strategies=[Broken()])
    for step in (LS, READ_A):
        session.observe(call(step), "x")
    follow = session.open_follow()
    assert follow is not None
    assert walk(follow) == ["b.go"]
    assert m.faults() == {"strategy 'broken' switched off": 1}


# --- what may be followed at all ------------------------------------------------------------------------------------


def test_a_tool_that_is_hinted_only_later_is_followed_from_then_on_and_one_that_is_not_any_more_no_longer() -> None:
    look = Route("look", tuple(RouteStep("get", {"id": name}) for name in "abc"))
    tools = ToolTable(hinted_only=True)
    m = Manager(routes=[look], tools=tools)
    looked: list[Any] = []
    for hint in (None, True, False):
        if hint is not None:
            tools.hint("get", read_only=hint)
        session = m.session(str(hint))
        assert m.routes() == (hint is True)
        for step in look.steps[:2]:
            session.observe(Call(step.tool, step.args, reads=True), "x")
        follow = session.open_follow()
        assert follow is not None
        looked.append([one.args for one in iter(follow.next, None)])
    assert looked == [[], [{"id": "c"}], []]
    assert m.faults() == {}


def test_it_is_known_after_which_tools_a_route_can_be_followed() -> None:
    m = manager(ROUTE)
    assert m.may_follow("read")
    assert not m.may_follow("bash")
    assert not m.may_follow("ls")  # one step is no prefix
    assert not m.may_follow("write")


@pytest.mark.parametrize("name", ["read_file", "list_directory", "bash", "anything"])
def test_a_name_alone_makes_no_tool_of_a_server_a_read(name: str) -> None:
    tools = ToolTable(hinted_only=True)
    assert not tools.may_repeat(name, {"command": "ls"})
    tools.hint(name, read_only=True)
    assert tools.may_repeat(name, {"command": "ls"})
    assert tools.may_repeat(name, {"command": "rm -r x"}) is (name != "bash")  # what is known of a tool goes first
    tools.deny(name)
    assert not tools.may_repeat(name, {})

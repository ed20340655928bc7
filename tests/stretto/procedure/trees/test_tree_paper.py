from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stretto.errors import UsageError
from stretto.procedure.trees.demonstrations import is_solo
from stretto.procedure.trees.held_out import replay_held_out
from stretto.procedure.trees.model import Check
from stretto.procedure.trees.paper import TreeResult, replay_trees
from stretto.sessions.episode import Assistant, Episode, ToolCall, User
from stretto.sessions.manifest import Manifest
from tests.stretto.procedure.trees.tree_runs import leaf, procedure, session

LOOK: tuple[str, dict[str, Any], Any] = ("look", {}, {"id": "B1"})
LIST: tuple[str, dict[str, Any], Any] = ("list", {}, [1])
PAY = ("pay", {"id": "B1"}, "ok")
SHOP = Manifest("shop", {"look": "read", "pay": "write"})


@pytest.mark.parametrize(
    ("trees", "calls", "result"),
    [
        pytest.param({"start": "look", "look": 'pay{"id": "@look$.id"}'}, [LOOK, PAY], "same", id="the-same"),
        pytest.param(
            {"start": "look", "look": 'pay{"id": "@look$.id"}'}, [LOOK, LIST, PAY], "same writes", id="a-read-less"
        ),
        pytest.param({"start": "look"}, [LOOK, PAY], "short", id="stops-before-the-write"),
        pytest.param({"start": "look", "look": "list"}, [LIST, LOOK], "same writes", id="reads-in-another-order"),
        pytest.param({"start": "look"}, [LOOK, LIST], "short", id="where-nothing-is-written-reads-count"),
        pytest.param({"start": "list"}, [LOOK, PAY], "unknown", id="reads-what-nobody-read"),
        pytest.param({"start": "look", "look": 'pay{"id": "B2"}'}, [LOOK, PAY], "wrong", id="another-write"),
        pytest.param({"start": "look", "look": "refund"}, [LOOK], "wrong", id="a-write-too-many"),
        pytest.param(
            {"start": 'pay{"id": "B1"}', "pay": "refund"},
            [("refund", {}, "ok"), PAY],
            "wrong",
            id="writes-in-another-order",
        ),
        pytest.param({"start": "look"}, [PAY, LOOK], "unknown", id="a-read-of-what-was-not-yet-written"),
    ],
)
def test_a_replay_says_what_a_record_can_say(trees: dict[str, str], calls: list[Any], result: str) -> None:
    tree = procedure({site: leaf(action) for site, action in trees.items()})
    assert replay_trees(tree, session("t", *calls)).result == TreeResult(result)


def test_an_answer_is_the_recorded_one_with_its_failure() -> None:
    tree = procedure({"start": leaf("look"), "look!": leaf("pay"), "look": leaf("refund")})
    replayed = replay_trees(tree, session("t", ("look", {}, ValueError("none")), ("pay", {}, "ok")))
    assert (replayed.result, replayed.calls, replayed.last) == (TreeResult.SAME, 2, ("pay", {}))


def test_the_probe_of_a_check_is_not_made() -> None:
    tree = procedure({"start": leaf("look")}, checks=(Check("t", "probe", ("x",)),))
    assert replay_trees(tree, session("t", LOOK)).result is TreeResult.SAME


def test_a_session_is_solo_when_nobody_speaks_after_the_first_call() -> None:
    acts = Assistant(calls=(ToolCall("1", "look", {}),))
    assert is_solo(Episode("a", (User("a"), Assistant("hello"), User("b"), acts, Assistant("done"))))
    assert not is_solo(Episode("a", (User("a"), acts, User("b"))))
    assert not is_solo(Episode("a", (acts,)))


# --- tasks that were not fitted on ------------------------------------------------------------------------------------


def paying(number: int) -> Episode:
    return session(
        f"Please pay B{number}",
        ("look", {"id": f"B{number}"}, {"id": f"B{number}"}),
        ("pay", {"id": f"B{number}"}, "ok"),
    )


def test_each_session_is_replayed_by_trees_that_have_not_seen_its_task() -> None:
    told = [replace(paying(1000 + number), task_id=f"t{number}") for number in range(10)]
    done: list[None] = []
    found = replay_held_out(told, SHOP, parts=4, on_part=lambda: done.append(None))
    assert (found.tasks, found.parts, len(done), found.sessions) == (10, 4, 4, 10)
    assert found.results == {**dict.fromkeys(TreeResult, 0), TreeResult.SAME: 10}
    odd = replace(told[0], events=paying(55555).events)  # a number of another shape, which no other task has
    assert replay_held_out([odd, *told[1:]], SHOP).results[TreeResult.SAME] == 9
    assert replay_held_out([odd, *told[1:]], SHOP).results == replay_held_out([*told[1:], odd], SHOP).results


def test_of_one_task_alone_nothing_is_known_without_it() -> None:
    found = replay_held_out([paying(1000)] * 3, SHOP)
    assert (found.tasks, found.parts, found.results[TreeResult.SHORT]) == (1, 1, 3)
    with pytest.raises(UsageError, match="1 part or more"):
        replay_held_out([paying(1000)], SHOP, parts=0)

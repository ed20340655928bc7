from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from stretto.procedure.exchange import Done
from stretto.procedure.trees.model import Check, Leaf
from stretto.procedure.trees.running import play_trees
from tests.stretto.procedure.trees.tree_runs import leaf, procedure, run, split

if TYPE_CHECKING:
    from stretto.procedure.exchange import Make
    from stretto.procedure.trees.model import Node
    from waggle.jsonvalue import JsonValue

STATUS = (Check("No Service", "probe", ("SIGNAL good",), ("Airplane",)),)


def names(made: list[Make]) -> list[str]:
    return [make.tool for make in made]


def test_a_run_goes_from_site_to_site_until_it_stops() -> None:
    trees = {"start": leaf("look"), "look": leaf('pay{"n": 1}'), "pay": leaf("stop")}
    ending, made = run(procedure(trees), "")
    assert [(make.node, make.tool, make.args, make.effect) for make in made] == [
        ("start", "look", {}, "read"),
        ("look", "pay", {"n": 1}, "unknown"),
    ]
    assert len({make.id for make in made}) == 2
    assert ending.to_json() == {
        "calls": [
            {"tool": "look", "arguments": {}, "failed": False},
            {"tool": "pay", "arguments": {"n": 1}, "failed": False},
        ],
        "verdict": "hand_back",
    }


def test_a_failure_is_a_site_of_its_own() -> None:
    trees = {"start": leaf("pay"), "pay!": leaf("look"), "pay": leaf("list")}
    ending, made = run(procedure(trees), "", lambda make: Done(make.tool != "pay", "no"))
    assert names(made) == ["pay", "look"]
    assert [call["failed"] for call in ending.to_json()["calls"]] == [True, False]  # type: ignore[union-attr, index, call-overload]


def test_an_unknown_site_is_the_fallbacks() -> None:
    _, made = run(procedure({"start": leaf("look")}, fallback=leaf("list", "stop")), "")
    assert names(made) == ["look", "list"]


def test_the_first_action_that_binds_and_is_no_repeat_is_taken() -> None:
    trees = {
        "start": leaf("look"),
        "look": leaf('pay{"id": "@list$.id"}', "look", "list"),
        "list": leaf("look", "stop"),
    }
    _, made = run(procedure(trees), "")
    assert names(made) == ["look", "list"]


def test_nothing_left_to_do_is_the_end() -> None:
    _, made = run(procedure({"start": leaf("look"), "look": leaf("look")}), "")
    assert names(made) == ["look"]


def test_a_write_is_never_made_twice_and_makes_reads_new() -> None:
    trees = {"start": leaf("look"), "look": leaf("pay", "stop"), "pay": leaf("pay", "look")}
    _, made = run(procedure(trees), "")
    assert names(made) == ["look", "pay", "look"]


def test_a_run_ends_after_so_many_calls() -> None:
    trees = {
        "start": leaf("look"),
        "look": leaf('use{"id": "@look$.ids[*]"}'),
        "use": leaf('use{"id": "@look$.ids[*]"}'),
    }
    _, made = run(
        procedure(trees, max_calls=7), "", lambda _: Done(ok=True, output={"ids": [f"A{n}" for n in range(99)]})
    )
    assert len(made) == 7


def test_features_lead_through_a_tree() -> None:
    trees: dict[str, Node] = {
        "start": leaf("look"),
        "look": split("look:on=True", split("ticket: abroad", leaf("a"), leaf("b")), leaf("c")),
    }
    tree = procedure(trees, vocab=("abroad",))
    assert names(run(tree, "I am ABROAD", lambda _: Done(ok=True, output={"on": True}))[1]) == ["look", "a"]
    assert names(run(tree, "I am here", lambda _: Done(ok=True, output={"on": True}))[1]) == ["look", "b"]
    assert names(run(tree, "I am abroad", lambda _: Done(ok=True, output={"on": False}))[1]) == ["look", "c"]


def test_the_hand_over_ends_a_run_with_its_own_arguments() -> None:
    trees = {"start": leaf("person"), "person": leaf("pay")}
    tree = procedure(trees, handoff="person", handoff_arguments={"summary": "s"}, checks=STATUS)
    ending, made = run(tree, "no service")
    assert [(make.tool, make.args) for make in made] == [("person", {"summary": "s"})]
    assert (ending.verdict, ending.check) == ("transferred", None)


def test_a_hand_over_that_failed_has_reached_nobody() -> None:
    tree = procedure({"start": leaf("person")}, handoff="person")
    assert run(tree, "", lambda _: Done(ok=False, output="busy"))[0].verdict == "hand_back"


@pytest.mark.parametrize(
    ("ticket", "output", "ok", "verdict"),
    [
        pytest.param("There is NO service", "Signal Good", True, "resolved", id="resolved"),
        pytest.param("There is no service", "signal bad", True, "hand_back", id="a-text-is-missing"),
        pytest.param("There is no service", "signal good, airplane mode", True, "hand_back", id="a-text-too-many"),
        pytest.param("There is no service", "signal good", False, "hand_back", id="the-probe-failed"),
        pytest.param("There is no service", {"signal good": 1}, True, "resolved", id="json-is-read-as-text"),
        pytest.param("Anything else", "signal good", True, "hand_back", id="no-check-for-the-ticket"),
    ],
)
def test_the_outcome_is_checked_with_the_tickets_check(
    ticket: str,
    output: JsonValue,
    ok: bool,  # noqa: FBT001 - a column of the table
    verdict: str,
) -> None:
    ending, made = run(procedure({"start": leaf("stop")}, checks=STATUS), ticket, lambda _: Done(ok, output))
    assert ending.verdict == verdict
    assert (ending.check is None) == (ticket == "Anything else")
    assert [(make.id, make.tool, make.args, make.changes) for make in made] == (
        [] if ending.check is None else [("check", "probe", {}, False)]
    )
    assert ending.made == ()


def test_what_is_nested_too_deeply_is_not_resolved() -> None:
    deep: JsonValue = []
    for _ in range(500):
        deep = [deep]
    check = Check("t", "probe")
    ending, _ = run(procedure({"start": leaf("look")}, checks=(check,)), "t", lambda _: Done(ok=True, output=deep))
    assert ending.verdict == "hand_back"


def test_the_first_check_whose_phrase_is_in_the_ticket_counts() -> None:
    checks = (Check("a b", "probe", ("x",)), Check("b", "look", ("y",)))
    ending, made = run(procedure({"start": leaf("stop")}, checks=checks), "a b", lambda _: Done(ok=True, output="y"))
    assert (names(made), ending.verdict, ending.check) == (["probe"], "hand_back", ("probe", "y"))
    assert ending.to_json() == {"calls": [], "check": ["probe", "y"], "verdict": "hand_back"}


def test_without_symbols_a_text_is_itself() -> None:
    tree = procedure({"start": leaf('pay{"id": "@look$.id"}')}, symbolic=False)
    assert run(tree, "")[1][0].args == {"id": "@look$.id"}


def test_what_a_tool_says_is_data() -> None:
    """A result that looks like a symbol, an action or a pattern is bound as it stands, once."""
    trees = {"start": leaf("look"), "look": leaf('pay{"id": "@look$.id"}')}
    for text in (r"@ticket\d{3}", "@look$.id", 'pay{"id": "1"}', "stop", "{0}", "%s", "../../x"):
        made = run(procedure(trees), "call 123", lambda _, text=text: Done(ok=True, output={"id": text}))[1]  # type: ignore[misc]
        assert made[1].args == {"id": text}


def test_to_practise_actions_are_drawn_by_their_counts() -> None:
    tree = procedure({"start": Leaf((("a", 90), ("b", 9), ("c", 1), ("d", 0)))})
    first: Counter[str] = Counter()
    for seed in range(1000):
        chance = Random(seed)  # noqa: S311 - seeded on purpose
        first[next(play_trees(tree, "", chance=chance)).makes[0].tool] += 1
    assert 850 < first["a"] < 950
    assert 60 < first["b"] < 130
    assert first["c"] < 40
    assert not first["d"]


def test_the_same_answers_give_the_same_requests() -> None:
    trees = {"start": leaf("look"), "look": leaf('pay{"id": "@look$.ids[*]"}', "stop"), "pay": leaf("look", "stop")}

    def answers(make: Make) -> Done:
        return Done(ok=True, output={"ids": [make.id, "B"]})

    assert run(procedure(trees), "t", answers) == run(procedure(trees), "t", answers)

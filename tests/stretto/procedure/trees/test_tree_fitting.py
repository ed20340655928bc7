from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.tree_world import MANIFEST, OPTIONS, demonstrations, practise, run_in
from stretto.errors import UsageError
from stretto.procedure.trees.file import dump_trees, trees_from_json, trees_to_json
from stretto.procedure.trees.fitting import FitOptions, fit_trees, self_train
from stretto.procedure.trees.growing import Growing, Row, choose_depth, cut, voted
from stretto.procedure.trees.model import Check, Leaf, Split
from stretto.sessions.episode import User
from stretto.sessions.manifest import Manifest
from tests.stretto.procedure.trees.tree_runs import session
from waggle.redact import MASK

if TYPE_CHECKING:
    from stretto.procedure.trees.model import Node
    from stretto.sessions.episode import Episode

SHOP = Manifest("shop", {"look": "read", "probe": "read", "pay": "write", "refund": "write", "person": "generic"})


def rows(*told: tuple[int, str, str], task: str = "") -> list[Row]:
    """Rows as they are told: how often, the features as letters, the action; each row a task unless one is named."""
    return [
        Row(frozenset(features), action, task or f"{features}{action}{number}")
        for count, features, action in told
        for number in range(count)
    ]


def test_a_node_asks_what_tells_most() -> None:
    grown = Growing(rows((10, "ax", "one"), (10, "a", "one"), (10, "bx", "two"), (10, "b", "two")))
    assert cut(grown.tree(), 9) == Split("a", Leaf((("one", 20),)), Leaf((("two", 20),)))


def test_a_leaf_has_its_actions_by_count_and_then_by_name() -> None:
    assert cut(Growing(rows((3, "", "c"), (5, "", "b"), (3, "", "a"))).tree(), 9) == Leaf(
        (("b", 5), ("a", 3), ("c", 3))
    )


def test_no_side_of_a_split_is_too_small() -> None:
    assert isinstance(cut(Growing(rows((4, "a", "one"), (20, "", "two"))).tree(), 9), Leaf)
    assert isinstance(cut(Growing(rows((5, "a", "one"), (20, "", "two"))).tree(), 9), Split)


def test_features_that_tell_nothing_are_not_asked_for() -> None:
    assert isinstance(cut(Growing(rows((9, "a", "one"), (9, "", "one"))).tree(), 9), Leaf)
    assert isinstance(cut(Growing(rows((9, "a", "x"), (9, "a", "y"), (9, "", "x"), (9, "", "y"))).tree(), 9), Leaf)


def test_a_tree_is_as_deep_as_holds_for_tasks_it_has_not_seen() -> None:
    signal = rows((20, "a", "one"), (20, "b", "two"))
    assert choose_depth(Growing(signal)) == 1
    draw = random.Random(3)  # noqa: S311 - seeded on purpose
    noise = [Row(frozenset(draw.sample("abcdefghij", 5)), draw.choice(["x", "x", "y"]), str(n)) for n in range(60)]
    assert choose_depth(Growing(noise)) == 0
    assert choose_depth(Growing(rows((20, "a", "one"), (20, "b", "two"), task="the same"))) == 0


def test_trees_that_vote_outvote_what_nobody_else_does() -> None:
    told = [*rows((30, "a", "one"), (30, "b", "two")), *(Row(frozenset("a"), "odd", f"odd{n}") for n in range(3))]
    assert voted(Growing(told), 1, trees=15, seed=0) == ["one"] * 30 + ["two"] * 30 + ["one"] * 3
    assert voted(Growing(told[:1]), 1, trees=3, seed=0) == ["one"]


some_rows = st.lists(
    st.builds(
        Row, st.frozensets(st.sampled_from("abcde")), st.sampled_from(["x", "y", "z"]), st.sampled_from("123456789")
    ),
    min_size=1,
    max_size=60,
)


def _leaves(node: Node) -> list[Leaf]:
    return [node] if isinstance(node, Leaf) else [*_leaves(node.yes), *_leaves(node.no)]


@given(some_rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_makes_no_difference_and_each_is_counted_once(told: list[Row], draw: random.Random) -> None:
    growing, depth = Growing(told), choose_depth(Growing(told))
    mixed = told[:]
    draw.shuffle(mixed)
    assert cut(Growing(mixed).tree(), 9) == cut(growing.tree(), 9)
    assert choose_depth(Growing(mixed)) == depth
    assert sum(count for leaf in _leaves(cut(growing.tree(), depth)) for _, count in leaf.calls) == len(told)
    assert cut(growing.tree(depth=2), 9) == cut(growing.tree(), 2)


# --- sessions ---------------------------------------------------------------------------------------------------------


def paying(number: int, *, on: bool, **more: Any) -> Episode:
    """A session in which a bill is paid when it is due, and refunded when not."""
    bill = f"B{1000 + number}"
    return session(
        f"Please see to {bill} of mine {'now' if number % 2 else ''}",
        ("look", {"id": bill}, {"bill_id": bill, "due": on}),
        ("pay" if on else "refund", {"id": bill}, "done"),
        task=f"t{number:02}",
        **more,
    )


SESSIONS = [paying(number, on=number % 3 > 0) for number in range(30)]


def test_what_was_done_is_learned_with_where_values_came_from() -> None:
    fitted = fit_trees(SESSIONS, SHOP, FitOptions(sources=("me",)))
    tree = fitted.procedure
    assert tree.trees["start"] == Leaf((('look{"id": "@ticketB\\\\d{4}"}', 30),))
    assert tree.trees["look"] == Split(
        "look:due=False",
        Leaf((('refund{"id": "@look$.bill_id"}', 10),)),
        Leaf((('pay{"id": "@look$.bill_id"}', 20),)),
    )
    assert tree.trees["pay"] == Leaf((("stop", 20),))
    assert tree.fallback.calls[0] == ("look" + tree.trees["start"].calls[0][0].removeprefix("look"), 30)  # type: ignore[union-attr]
    assert (tree.domain, tree.reads, tree.provenance.training_tasks, tree.provenance.sources) == (
        "shop",
        ("look",),
        30,
        ("me",),
    )
    assert tree.vocab == ("mine now", "now")
    assert (len(fitted.sessions), fitted.decisions, fitted.actions, fitted.depths["look"]) == (30, 90, 4, 1)


def test_without_symbols_a_value_is_itself() -> None:
    tree = fit_trees(SESSIONS, SHOP, FitOptions(symbolic=False)).procedure
    assert not tree.symbolic
    assert ('look{"id": "B1000"}', 1) in tree.leaf("start", ()).calls


def test_the_arguments_of_a_hand_over_are_not_learned() -> None:
    told = [session(f"t{n}", ("person", {"summary": f"text {n}"}, "ok"), task=str(n)) for n in range(6)]
    tree = fit_trees(told, SHOP, FitOptions(handoff="person", handoff_arguments={"summary": "s"})).procedure
    assert tree.leaf("start", ()).calls == (("person", 6),)


def test_sessions_that_do_not_serve_are_left_out_and_counted() -> None:
    spoken = replace(SESSIONS[0], events=(*SESSIONS[0].events, User("and now?")))
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    odd = [session("x", ("pay{", {}, "ok")), session("y", ("pay", {"x": deep}, "ok")), session("z", ("pay", [], "ok"))]  # type: ignore[arg-type]
    for options in (FitOptions(), FitOptions(symbolic=False)):
        fitted = fit_trees([*SESSIONS, spoken, *odd, paying(99, on=True, reward=0.0)], SHOP, options)
        assert fitted.left_out == {"failed": 1, "not sayable": 3, "not solo": 1}
        assert len(fitted.sessions) == len(SESSIONS)


def test_no_secret_goes_into_a_procedure() -> None:
    def signing_in(number: int, *, literal: bool) -> Episode:
        token = f"tok-{number:04}-abcd"
        passed: dict[str, Any] = {"token": "swordfish"} if literal else {"token": token}
        return session(
            "My password: swordfish, please pay",
            ("look", {}, {"token": token, "note": "password=swordfish"}),
            ("pay", passed, "Cookie: swordfish"),
            task=f"t{number}",
            name=f"s{number}{literal}",
        )

    told = [signing_in(number, literal=False) for number in range(12)]
    fitted = fit_trees([*told, signing_in(99, literal=True)], SHOP)
    assert fitted.left_out == {"secret": 1}
    data = dump_trees(fitted.procedure)
    assert b"swordfish" not in data
    assert b"@look$.token" in data
    masked = [session("t", ("pay", {"id": f"a {MASK}"}, "ok"), task=str(number)) for number in range(3)]
    with pytest.raises(UsageError, match="3 secret"):
        fit_trees(masked, SHOP)


def test_where_no_session_serves_there_is_one_error() -> None:
    with pytest.raises(UsageError, match="1 failed"):
        fit_trees([paying(1, on=True, reward=0.5)], SHOP)


def test_a_tool_called_stop_does_not_end_a_run() -> None:
    told = [session(f"t{n}", ("stop", {}, "ok"), task=str(n)) for n in range(3)]
    tree = fit_trees(told, SHOP).procedure
    assert (tree.stop, tree.leaf("start", ()).calls, tree.leaf("stop", ()).calls) == (
        "_stop",
        (("stop", 3),),
        (("_stop", 3),),
    )


def test_an_unsure_leaf_stops_or_only_reads() -> None:
    told = [
        session(f"t{n}", *([("look", {}, "x")] if n % 2 else []), ("pay", {}, "y"), task=str(n), name=f"s{n}")
        for n in range(40)
    ]
    start = fit_trees(told, SHOP).procedure.leaf("start", ())
    assert start.calls == (("look", 20), ("pay", 20))
    sure = fit_trees(told, SHOP, FitOptions(sure=0.95)).procedure
    assert (sure.leaf("start", ()).calls, sure.leaf("look", ()).calls) == ((("stop", 40),), (("pay", 20),))
    reading = fit_trees(told, SHOP, FitOptions(sure=0.95, sure_reads=False)).procedure
    assert reading.leaf("start", ()).calls == (("look", 20), ("stop", 20))
    assert reading.leaf("never seen", ()).calls[-1][0] == "stop"
    assert fit_trees(told[:8], SHOP, FitOptions(sure=0.5)).procedure.leaf("look", ()).calls == (("stop", 4),)


@pytest.mark.parametrize(
    "options",
    [
        FitOptions(sure=0.0),
        FitOptions(sure=1.1),
        FitOptions(bag=-1),
        FitOptions(max_calls=0),
        FitOptions(handoff_arguments={"a": 1}),
        FitOptions(checks=(Check("p", "pay"),)),
    ],
)
def test_options_out_of_their_range_are_refused(options: FitOptions) -> None:
    with pytest.raises(UsageError):
        fit_trees(SESSIONS, SHOP, options)


@pytest.mark.parametrize(
    "options", [FitOptions(), FitOptions(sure=0.9, bag=5), FitOptions(checks=(Check("p", "probe"),), symbolic=False)]
)
def test_the_same_sessions_in_any_order_give_the_same_bytes_and_a_file_that_is_read(options: FitOptions) -> None:
    mixed = SESSIONS[:]
    random.Random(1).shuffle(mixed)  # noqa: S311 - seeded on purpose
    tree = fit_trees(SESSIONS, SHOP, options).procedure
    assert dump_trees(fit_trees(mixed, SHOP, options).procedure) == dump_trees(tree)
    assert trees_from_json(trees_to_json(tree)) == tree


# --- a world in which it counts ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told() -> list[Episode]:
    return demonstrations(range(30), trials=4)


def test_on_new_tickets_a_fitted_procedure_does_what_the_expert_does(told: list[Episode]) -> None:
    tree = fit_trees(told, MANIFEST, OPTIONS).procedure
    runs = [run_in(tree, task) for task in range(1000, 1060)]
    assert all(run.passed for run in runs)
    assert {run.ending.verdict for run in runs} == {"resolved", "transferred"}


def test_a_sure_procedure_writes_nothing_wrong_however_few_tickets_it_has_seen() -> None:
    options = replace(OPTIONS, sure=0.95, sure_reads=False)
    for tasks in (5, 10, 20):
        tree = fit_trees(demonstrations(range(tasks), trials=4), MANIFEST, options).procedure
        assert not any(run_in(tree, task).wrong for task in range(1000, 1060))


def test_practice_on_its_own_tickets_makes_a_procedure_of_few_sessions_no_worse() -> None:
    learned = demonstrations(range(10), trials=4)
    alone = fit_trees(learned, MANIFEST, OPTIONS).procedure
    practised = self_train(
        learned, MANIFEST, OPTIONS, practise=lambda tree: practise(tree, range(10), rollouts=8), rounds=2
    )
    assert len(practised.sessions) == 50  # of each task the shortest success
    passed = [sum(run_in(tree, task).passed for task in range(1000, 1060)) for tree in (alone, practised.procedure)]
    assert passed[1] >= passed[0]
    assert self_train(learned, MANIFEST, OPTIONS, practise=lambda _: [], rounds=0).procedure == alone


def test_practice_that_fails_teaches_nothing(told: list[Episode]) -> None:
    runs = [replace(run, reward=0.0) for run in told]
    fitted = self_train(told, MANIFEST, OPTIONS, practise=lambda _: runs, rounds=1)
    assert fitted.procedure == fit_trees(told, MANIFEST, OPTIONS).procedure

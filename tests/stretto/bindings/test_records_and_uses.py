"""Arguments that come from one record, and what is counted of lookups that could have been made."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.bindings.model import Bound, Pick, Source
from stretto.bindings.records import fields_of, record_of, records
from stretto.bindings.rehearsal import Offers
from stretto.bindings.results import Output
from stretto.bindings.scoring import Scores
from stretto.bindings.uses import UseCounts, UseKey, Uses, stage_of
from tests.stretto.bindings.test_binding import learned, shown
from tests.stretto.episodes import called, episode, replied, together

TRIP = {
    "flights": [{"number": "F1", "date": "05-01"}, {"number": "F2", "date": "05-01"}, {"number": "F3", "date": "05-02"}]
}
PATH = '$.flights[*] |record ["date","date","number","number"]'


def test_arguments_that_are_fields_of_one_record_are_traced_to_it() -> None:
    output = Output(0, "get_trip", '{"flights": [{"number": "F1", "date": "05-01", "seat": 3}]}')
    assert record_of({"number": "F1", "date": "05-01"}, output) == PATH
    assert record_of({"number": "F1", "date": "05-09"}, output) is None
    assert record_of({"number": "F1"}, output) is None
    assert record_of({"flight": "F1", "place": 3}, output) == '$.flights[*] |record ["flight","number","place","seat"]'
    assert fields_of("$.flights[*] |copy") == {}


def test_the_next_record_is_bound_though_one_of_its_values_was_passed_before() -> None:
    """Bound one by one, the second flight's number would come with the third one's date."""
    checks = [
        called("get_status", {"number": each["number"], "date": each["date"]}, "fine") for each in TRIP["flights"]
    ]
    bindings, binder = learned(
        [episode(called("get_trip", {}, TRIP), *checks)] * 3, {"get_trip", "get_status"}, more=True
    )
    assert bindings.records["get_status"].found == {Source("get_trip", PATH): 9}
    assert bindings.agreed_record["get_status"] == ((9, 9), (0, 0))
    found = binder.bind("get_status", shown(episode(called("get_trip", {}, TRIP), checks[0])))
    assert isinstance(found, Bound)
    assert found.arguments == {"number": "F2", "date": "05-01"}
    assert {origin.kind for origin in found.origins} == {"record"}


@given(
    st.lists(st.fixed_dictionaries({"a": st.text(max_size=3), "b": st.integers() | st.text(max_size=3)}), max_size=4)
)
def test_records_give_only_what_stands_in_them(rows: list[dict[str, object]]) -> None:
    from waggle import jsonvalue

    output = Output(0, "t", jsonvalue.dumps(rows).decode())  # type: ignore[arg-type]  # JSON by construction
    for arguments, record in records('$[*] |record ["x","a","y","b"]', output):
        assert arguments == {"x": record["a"], "y": record["b"]}


def reading(*orders: str, batch: bool = False) -> list[Any]:
    calls = [("get_order", {"order": order}, {"id": order}) for order in orders]
    turns = [together(*calls)] if batch and calls else [together(each) for each in calls]
    return [called("get_user", {}, {"orders": ["W1", "W2", "W3"]}), *turns, replied()]


def counted(*made: list[Any]) -> Uses:
    episodes = [episode(*events, name=f"e{number}") for number, events in enumerate(made)]
    _, binder = learned([*episodes, *episodes], {"get_user", "get_order"})
    scores = Scores()
    following = {("get_user", False): {"get_order": 3}, ("get_order", False): {"get_order": 3}}
    offers = Offers(following, frozenset({"cancel"}), frozenset(each.id for each in episodes))
    for each in episodes:
        scores.add(each, binder, offers)
    return scores.uses


def key(tool: str, stage: int) -> UseKey:
    return UseKey(tool, False, "get_order", "source", Pick.NONE, stage)


def test_a_run_is_rehearsed_to_its_end_whatever_the_agent_did() -> None:
    """The agent reads the first of three orders: the first lookup would have been used, the two after it not.

    There is a run after either call: the one after the user's has three lookups, the one after the order's two.
    """
    uses = counted(reading("W1"), reading("W1"))
    assert uses.counts[key("get_user", 0)] == UseCounts(2, 2, 2)
    assert uses.counts[key("get_order", 0)] == UseCounts(0, 2, 0)
    assert uses.counts[key("get_order", 1)] == UseCounts(0, 4, 0)
    assert uses.counts[key("get_order", 2)] == UseCounts(0, 2, 0)


def test_calls_of_one_turn_are_counted_as_companions() -> None:
    uses = counted(reading("W1", "W2", "W3", batch=True))
    assert uses.counts[key("get_user", 0)] == UseCounts(1, 1, 3)
    assert uses.counts[key("get_order", 1)] == UseCounts(1, 1, 3)


def test_a_lookup_whose_call_comes_after_the_next_write_was_not_used() -> None:
    late = [
        called("get_user", {}, {"orders": ["W1"]}),
        called("cancel", {}, "ok"),
        called("get_order", {"order": "W1"}, "x"),
    ]
    assert counted(late).counts[key("get_user", 0)] == UseCounts(0, 1, 0)


def test_the_score_moves_from_the_product_to_what_was_counted() -> None:
    uses = Uses({key("a", 0): UseCounts(72, 92, 72)})
    assert uses.score(key("b", 0), 0.4) == pytest.approx(0.4)
    assert uses.chance(key("a", 0), 0.4) == pytest.approx((72 + 3.2) / 100)
    batched = Uses({key("a", 0): UseCounts(72, 92, 232)})
    assert batched.score(key("a", 0), 0.4) == pytest.approx(0.752 / (0.752 + 3 * 0.248))
    derived = key("b", 0)._replace(kind="derived")
    assert uses.chance(derived, 0.4) == pytest.approx(0.2)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 20), st.integers(0, 5)), max_size=6),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 9),
)
def test_no_score_is_above_the_bound_by_which_lookups_are_left_out(
    rows: list[tuple[int, int, int, int]], prob: float, chance: float, made: int
) -> None:
    counts = {key("a", stage): UseCounts(used, used + more, used + extra) for stage, used, more, extra in rows}
    uses = Uses(counts)
    for stage in range(4):
        assert uses.score(key("a", stage), prob * chance) <= uses.most(("a", False), "get_order", stage, prob) + 1e-12
    assert stage_of(made) == min(made, 3)

"""Measures of what was found, against truth that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.compiler.analysis import analyse
from stretto.compiler.baselines import BASELINES, adjacency, all_ordered
from stretto.compiler.measure import (
    Share,
    call_reduction,
    dependencies,
    median_removable,
    removable,
    score_clusters,
    score_edges,
)
from stretto.compiler.model import Call, Trace
from stretto.compiler.schemas import Tools
from stretto.compiler.settings import CompilerSettings
from stretto.compiler.tracing import Tracing
from stretto.review.promote import wilson_lower
from tests.stretto.compiler.stories import SHOP, Story, orders, profile, refunds

if TYPE_CHECKING:
    from stretto.compiler.measure import Dependency

SETTINGS = CompilerSettings(support_floor=3, constant_min=3)

GOLD = {("c1", 0, 1), ("c1", 1, 3), ("c2", 0, 2), ("c2", 0, 3)}
FOUND = {("c1", 0, 1), ("c1", 2, 3), ("c2", 0, 2)}


def four_calls(name: str) -> Tracing:
    return Tracing(Trace(name, "x", tuple(Call(n, n, "a", f"b{n}") for n in range(4))), Tools(), SETTINGS)


@pytest.mark.case("TC-59")
def test_edges_are_scored_as_distinct_pairs_of_calls() -> None:
    scores = score_edges(FOUND, GOLD)
    assert (scores.precision, scores.recall) == (Share(2, 3), Share(2, 4))
    assert scores.f1 == pytest.approx(4 / 7)
    beside = score_edges(adjacency([four_calls("c1"), four_calls("c2")]), GOLD)
    assert (beside.precision, beside.recall) == (Share(1, 6), Share(1, 4))
    assert beside.f1 == pytest.approx(0.2)


def test_nothing_found_and_nothing_to_find_is_no_division_by_zero() -> None:
    scores = score_edges(set(), set())
    assert (scores.precision.value, scores.recall.value, scores.f1) == (0.0, 0.0, 0.0)
    assert scores.precision.interval == (0.0, 1.0)


def test_wilsons_interval_is_the_known_one() -> None:
    assert Share(15, 21).interval == pytest.approx((0.4998, 0.8617), abs=1e-3)
    assert Share(10, 10).interval == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert Share(0, 10).interval == pytest.approx((0.0, 0.2775), abs=1e-4)


@given(st.integers(0, 200), st.integers(0, 200))
def test_an_interval_holds_its_share(hits: int, misses: int) -> None:
    share = Share(hits, hits + misses)
    low, high = share.interval
    assert 0 <= low <= share.value + 1e-12
    assert share.value - 1e-12 <= high <= 1
    assert low <= wilson_lower(hits, hits + misses) + 1e-12 or not share.count  # which is of 90 %


def test_the_rules_that_the_dependency_rule_is_compared_with() -> None:
    story = profile(Story("What has nina@example.com ordered?", id="c"))
    story.call("loyalty.points", {"customer_id": "C-9041"}, {"points": 12})
    story.call("billing.get_account", {"email": "nina@example.com"}, {"customer": "C-9041"})
    orders(story)
    tracing = story.run().tracing
    found = {name: rule([tracing]) for name, rule in BASELINES.items()}
    at = {"profile": 0, "points": 2, "account": 4, "orders": 6}

    def pairs(*named: tuple[str, str]) -> set[Dependency]:
        return {("c", at[first], at[then]) for first, then in named}

    points = ("profile", "points")
    assert found["adjacency"] == pairs(points, ("points", "account"), ("account", "orders"))
    assert found["all ordered pairs"] == all_ordered([tracing])
    assert len(found["all ordered pairs"]) == 6
    assert found["recurring, all pairs"] == found["recurring, adjacent"] == set()
    assert found["most recent candidate"] == pairs(points, ("account", "orders"))
    assert found["only one candidate"] == pairs(points)
    assert found["second most recent candidate"] == found["earliest candidate"] == pairs(points, ("profile", "orders"))
    assert found["all candidates"] == pairs(points, ("profile", "orders"), ("account", "orders"))
    assert found["random candidate"] in (found["most recent candidate"], found["earliest candidate"])
    assert found["random candidate"] == BASELINES["random candidate"]([tracing])


def test_pairs_that_two_traces_have_are_recurring() -> None:
    both = [four_calls("c1"), four_calls("c2")]
    assert BASELINES["recurring, all pairs"](both) == all_ordered(both)
    assert BASELINES["recurring, adjacent"](both) == adjacency(both)


def test_what_the_user_said_is_a_candidate_of_no_rule() -> None:
    tracing = orders(profile(Story("What has customer C-9041 (nina@example.com) ordered?"))).run().tracing
    assert BASELINES["all candidates"]([tracing]) == set()


def test_the_dependencies_of_an_analysis_are_those_of_its_strong_edges() -> None:
    analysis = analyse([story.trace for story in refunds()], SHOP, SETTINGS)
    found = {each for each in dependencies(analysis.edges) if each[0] == "R3"}
    assert found == {("R3", 0, 2), ("R3", 0, 6), ("R3", 2, 6), ("R3", 6, 8)}


@pytest.mark.case("TC-60")
@pytest.mark.parametrize(
    ("clusters", "purity", "ari"),
    [
        ("12 34 56 78", 1.0, 0.364),
        ("12345678", 0.5, 0.0),
        ("1234 5678", 1.0, 1.0),
        ("125 346 78", 0.75, 0.0),
    ],
)
def test_purity_and_the_adjusted_rand_index_say_different_things(clusters: str, purity: float, ari: float) -> None:
    scores = score_clusters(clusters.split(), dict(zip("12345678", "AAAABBBB", strict=True)))
    assert scores.purity.value == pytest.approx(purity)
    assert scores.ari == pytest.approx(ari, abs=5e-4)
    assert scores.coverage == Share(8, 8)


def test_clusters_below_the_floor_are_not_covered_and_unlabelled_items_left_out() -> None:
    scores = score_clusters(["123?", "4", "5"], dict(zip("12345", "XXYXY", strict=True)), floor=2)
    assert (scores.purity, scores.coverage, scores.clusters) == (Share(2, 3), Share(3, 5), 1)
    assert score_clusters([], {}).coverage == Share(0, 0)


@given(st.lists(st.sampled_from("XYZ"), min_size=1, max_size=12))
def test_the_labels_themselves_are_a_perfect_partition(labels: list[str]) -> None:
    items = {str(number): label for number, label in enumerate(labels)}
    clusters = [[name for name, label in items.items() if label == each] for each in sorted(set(labels))]
    scores = score_clusters(clusters, items)
    assert scores.purity.value == 1.0
    assert scores.ari == pytest.approx(1.0)


@pytest.mark.case("TC-61")
def test_documentation_and_equal_calls_are_removable_without_any_analysis() -> None:
    traces = [story.trace for story in refunds()]
    assert [removable(trace) for trace in traces] == [Share(2, 6), Share(1, 5), Share(0, 5)]
    assert median_removable(traces) == pytest.approx(0.2)
    assert median_removable([]) == 0.0


@pytest.mark.case("TC-62")
def test_calls_are_counted_with_and_without_a_valid_session() -> None:
    found = call_reduction(analyse([story.trace for story in refunds()], SHOP, SETTINGS))
    assert (found.observed, found.cold, found.warm) == (16, 12, 9)

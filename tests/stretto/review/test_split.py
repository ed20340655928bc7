"""Splitting by task and by customer."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import UsageError
from stretto.review.split import folds, units
from stretto.sessions.traces import episode_of
from tests.stretto.episodes import called, episode
from waggle.traces import read_traces

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.sessions.episode import Episode


def of(name: str, task: str, customer: str = "", domain: str = "airline-v1", *, error: bool = False) -> Episode:
    """A session of a task, about a customer."""
    events = called("get_user_details", {"user_id": customer}, "{}", error=error) if customer else []
    return dataclasses.replace(episode(*events, name=name, task=task), domain=domain)


def test_sessions_of_one_task_are_together() -> None:
    assert units([of("a", "1"), of("b", "1"), of("c", "2")]) == {
        "a": "airline-v1:1",
        "b": "airline-v1:1",
        "c": "airline-v1:2",
    }


def test_a_session_without_a_task_is_a_task_of_its_own() -> None:
    assert len(set(units([of("a", ""), of("b", "")]).values())) == 2


def test_tasks_of_one_customer_are_together_through_each_other() -> None:
    found = units([of("a", "1", "ann"), of("b", "1", "bob"), of("c", "2", "bob"), of("d", "3", "eve")])
    assert found["a"] == found["b"] == found["c"] != found["d"]


def test_versions_of_a_domain_share_customers_and_not_the_numbers_of_tasks() -> None:
    found = units([of("a", "1", "ann"), of("b", "1", "bob", "airline-v2"), of("c", "2", "ann", "airline-v2")])
    assert found["a"] == found["c"] != found["b"]


def test_other_domains_have_other_customers() -> None:
    found = units([of("a", "1", "ann", "airline"), of("b", "2", "ann", "retail")])
    assert found["a"] != found["b"]


def test_customers_are_found_in_results_as_well() -> None:
    record = episode(called("get_order_details", {"id": 1}, {"order": {"user_id": "ann"}}), name="a", task="1")
    found = episode(called("find_user_id_by_email", {"email": "x"}, "ann"), name="b", task="2")
    assert len(set(units([record, found]).values())) == 1


def test_an_id_that_nobody_has_puts_nobody_together() -> None:
    found = units([of("a", "1", "unknown", error=True), of("b", "2", "unknown", error=True)])
    assert len(set(found.values())) == 2


@given(
    st.lists(st.tuples(st.sampled_from("1234567"), st.sampled_from(["", "ann", "bob", "eve"])), min_size=6),
    st.integers(2, 3),
    st.integers(0, 3),
)
def test_no_task_and_no_customer_is_on_both_sides(sessions: list[tuple[str, str]], k: int, seed: int) -> None:
    episodes = [of(str(place), task, customer) for place, (task, customer) in enumerate(sessions)]
    groups = units(episodes)
    if len(set(groups.values())) < k:
        with pytest.raises(UsageError, match="cannot be split"):
            folds(episodes, k, seed)
        return
    found = folds(episodes, k, seed)
    assert found == folds(episodes, k, seed)
    assert sorted(each.id for fold in found for each in fold.replay) == sorted(each.id for each in episodes)
    for fold in found:
        assert len(fold.learn) + len(fold.replay) == len(episodes)
        assert not {groups[each.id] for each in fold.learn} & {groups[each.id] for each in fold.replay}


def test_folds_are_about_equally_large_and_depend_on_the_seed() -> None:
    episodes = [of(f"{task}-{trial}", str(task)) for task in range(20) for trial in range(3)]
    found = folds(episodes, 5)
    assert [len(fold.replay) for fold in found] == [12] * 5
    assert found != folds(episodes, 5, 1)


def test_one_fold_leaves_nothing_to_learn_on() -> None:
    with pytest.raises(UsageError, match="ask for 2 to 3"):
        folds([of("a", "1"), of("b", "2"), of("c", "3")], 1)


def test_airline_sessions_of_both_versions_are_split_by_customer(shared_traces: Path) -> None:
    episodes = [
        episode_of(trace)
        for version in ("v1", "v2")
        for trace in read_traces(shared_traces / f"tools-airline-{version}.jsonl.gz")
    ]
    found = units(episodes)
    assert len(set(found.values())) == 23
    crossing = [unit for unit in set(found.values()) if len({e.domain for e in episodes if found[e.id] == unit}) > 1]
    assert len(crossing) > 5

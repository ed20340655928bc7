"""Which lookups feed which writes."""

from __future__ import annotations

from stretto.bindings.feeds import feeds_of
from stretto.sessions.manifest import Manifest
from tests.stretto.episodes import called, episode

KINDS = Manifest("", {"user": "read", "order": "read", "cancel": "write", "note": "write", "think": "generic"})


def test_the_most_recent_result_that_holds_a_value_fed_it() -> None:
    """Section 5: in how many episodes, whatever the case of the letters."""
    first = episode(
        called("user", {}, {"orders": ["#W1", "#W2"]}),
        called("order", {"id": "#W1"}, {"id": "#W1", "total": 120.5}),
        called("cancel", {"id": "#w1", "amount": 120.5}, "ok"),
        called("cancel", {"id": "#W2", "amount": 7}, "ok"),
    )
    second = episode(called("user", {}, ["#W9"]), called("cancel", {"id": "#W9"}, "ok"))
    assert feeds_of([first, second], KINDS) == {
        "order": {("cancel", "amount"): 1, ("cancel", "id"): 1},
        "user": {("cancel", "id"): 2},
    }


def test_values_at_any_depth_count_once_an_episode() -> None:
    one = episode(called("user", {}, "a1b2 c3d4"), called("note", {"of": [{"who": "a1b2"}, {"who": "c3d4"}]}, "ok"))
    assert feeds_of([one], KINDS) == {"user": {("note", "of"): 1}}


def test_what_feeds_nothing() -> None:
    """Short values, flags, failed results, results of other tools, of the same turn, and episodes that failed."""
    feeding = called("user", {}, "abc")
    failed = episode(feeding, called("note", {"of": "abc"}, "ok"), reward=0)
    others = episode(
        called("user", {}, "xyz true", error=True),
        called("think", {}, "xyz"),
        called("note", {"of": "ab", "flag": True, "all": "xyz", "none": None}, "abc"),
        called("note", {"of": "abc"}, "ok"),
        called("order", {"id": "abc"}, "ok"),
    )
    assert feeds_of([failed, others], KINDS) == {}

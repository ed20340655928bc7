"""What several servers' proxies tell is taken in by the time when it happened."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stretto.proxy.peers.order import Order

TIMES = st.lists(st.integers(0, 20), max_size=30)


@given(TIMES, st.integers(0, 20))
def test_what_happened_up_to_a_time_comes_in_order_and_the_rest_waits(times: list[int], at: int) -> None:
    order: Order[tuple[int, int]] = Order()
    for place, time in enumerate(times):
        order.add((time, place), time, now_s=100.0)
    things = sorted((time, place) for place, time in enumerate(times))
    assert list(order.until(at)) == [thing for thing in things if thing[0] <= at]
    assert list(order.until(100)) == [thing for thing in things if thing[0] > at]


def test_the_last_of_a_time_comes_last_though_it_was_heard_of_first() -> None:
    order: Order[str] = Order()
    order.add("answer", 1.0, 1.0, late=True)
    order.add("call", 1.0, 2.0)
    order.add("later", 1.5, 2.0)
    assert list(order.until(1.0)) == ["call", "answer"]


def test_what_is_said_to_be_in_the_future_happened_when_it_was_heard_of() -> None:
    order: Order[str] = Order()
    order.add("of a strange clock", 900.0, 2.0)
    order.add("own", 2.5, 2.5)
    assert list(order.until(3.0)) == ["of a strange clock", "own"]


def test_what_has_waited_long_enough_does_not_wait_for_what_is_earlier() -> None:
    order: Order[str] = Order()
    order.add("b", 2.0, 2.0)
    order.add("a", 1.0, 2.2)
    assert list(order.settled(2.6)) == []  # the earliest was heard of 0.4 s ago
    assert list(order.settled(2.8)) == ["a", "b"]


def test_no_more_waits_than_there_is_room_for() -> None:
    order: Order[int] = Order()
    for number in range(10_005):
        order.add(number, float(number), 20_000.0)
    assert list(order.settled(20_000.0)) == [0, 1, 2, 3, 4]

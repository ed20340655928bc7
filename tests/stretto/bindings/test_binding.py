"""Sources, order, picks and chances, by the examples that the rules were written with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stretto.bindings.binder import Binder
from stretto.bindings.model import Bindings, Bound, Pick, Reason, Slot, Source, SourceCounts, Unbound
from stretto.bindings.results import Output
from stretto.bindings.scoring import Scores
from stretto.bindings.session import SessionValues
from stretto.bindings.survey import Survey
from stretto.sessions.episode import Assistant, User
from tests.stretto.episodes import called, episode, replied, said, together

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stretto.sessions.episode import Episode


def learned(
    episodes: Iterable[Episode], reads: set[str], *, constants: bool = False, more: bool = False
) -> tuple[Bindings, Binder]:
    """Bindings of episodes and their binder; ``more`` adds derived values and the user's words."""
    survey = Survey()
    kept = list(episodes)
    for each in kept:
        survey.add(each)
    bindings = survey.bindings(survey.scope(reads, constants=constants, derive=more, speak=more))
    scores = Scores()
    binder = Binder(bindings)
    for each in kept:
        scores.add(each, binder)
    scores.into(bindings)
    return bindings, Binder(bindings)


def shown(each: Episode) -> SessionValues:
    """What a session has shown at the end of an episode."""
    seen = SessionValues()
    calls = {}
    for event in each.events:
        if isinstance(event, User):
            seen.hear(event.text)
        elif isinstance(event, Assistant):
            for call in event.calls:
                calls[call.id] = call
                seen.call(call.name, call.arguments)
        elif not event.error:
            seen.result(event.name, calls[event.call_id].arguments, event.content)
    return seen


def bound(binder: Binder, tool: str, seen: SessionValues) -> Bound:
    found = binder.bind(tool, seen)
    assert isinstance(found, Bound), found
    return found


def test_objects_are_walked_by_sorted_keys_and_the_first_path_counts() -> None:
    output = Output(0, "t", '{"b": "x", "a": {"c": ["y", "x"]}}')
    assert output.path_of("x") == "$.a.c[*]"
    assert output.path_of("y") == "$.a.c[*]"
    assert output.path_of("z") is None


def test_a_value_written_with_escapes_is_found() -> None:
    assert Output(0, "t", r'{"name": "caf\u00e9"}').path_of("café") == "$.name"


def test_a_key_with_a_dot_is_recorded_and_never_followed() -> None:
    output = Output(0, "t", '{"a.b": "x"}')
    assert output.path_of("x") == "$.a.b"
    assert output.strings("$.a.b") == ()


def lookup_orders(*orders: str, read: Iterable[str] = (), text: str = "") -> Episode:
    """The user's orders are listed, then some are read."""
    events = [said(text)] if text else []
    listing = called("list_orders", {}, {"orders": list(orders)})
    reads = [called("get_order", {"order_id": order}, {"id": order}) for order in read]
    return episode(*events, listing, *reads, replied())


def test_three_sessions_that_walk_a_list_give_seven_of_eight_and_the_next_element() -> None:
    episodes = [lookup_orders("W1", "W2", read=("W1", "W2")) for _ in range(3)]
    bindings, binder = learned(episodes, {"list_orders", "get_order"})
    assert bindings.agreed["get_order"] == ((6, 6), (0, 0))
    seen = shown(lookup_orders("W7", "W8", "W9"))
    first = bound(binder, "get_order", seen)
    assert (first.arguments, first.chance) == ({"order_id": "W7"}, 7 / 8)
    seen.call("get_order", first.arguments)
    assert bound(binder, "get_order", seen).arguments == {"order_id": "W8"}
    seen.hear("It's order W9")
    picked = bound(binder, "get_order", seen)
    assert (picked.arguments, picked.pick, picked.chance) == ({"order_id": "W9"}, Pick.PICKED, 1 / 2)


def test_a_record_beside_the_one_the_user_named_has_a_chance_of_its_own() -> None:
    episodes = [lookup_orders("W1", "W2", "W3", read=["W2"], text="about #W2") for _ in range(4)]
    bindings, binder = learned(episodes, {"list_orders", "get_order"})
    assert bindings.agreed["get_order"] == ((0, 0), (4, 4))
    assert bindings.named_other["get_order"] == (0, 4)
    seen = shown(lookup_orders("W1", "W2", "W3", text="about W2"))
    assert bound(binder, "get_order", seen).chance == 5 / 6
    seen.call("get_order", {"order_id": "W2"})
    other = bound(binder, "get_order", seen)
    assert (other.pick, other.arguments) == (Pick.OTHER, {"order_id": "W1"})
    assert other.chance == pytest.approx(1 / 6)


def lines(phone: str, *read: str) -> Episode:
    numbers = {"L1": "555-0101", "L2": "555-0102", "L3": "555-0103"}
    return episode(
        called("find_customer", {"phone": phone}, {"id": "C1", "lines": list(numbers)}),
        *(called("get_line", {"line": line}, {"line": line, "number": numbers[line]}) for line in read),
        replied(),
    )


def test_after_the_described_record_was_read_the_next_one_is_less_likely() -> None:
    episodes = [lines("555-0102", "L1", "L2") for _ in range(4)]
    bindings, binder = learned(episodes, {"find_customer", "get_line"})
    assert bindings.agreed["get_line"] == ((8, 8), (0, 0))
    assert bindings.described_read == {"get_line": (0, 4)}
    after = bound(binder, "get_line", shown(lines("555-0102", "L1", "L2")))
    assert (after.pick, after.arguments) == (Pick.DESCRIBED, {"line": "L3"})
    assert after.chance == pytest.approx(0.30)
    other = bound(binder, "get_line", shown(lines("555-0199", "L1", "L2")))
    assert other.pick is Pick.NONE
    assert other.chance == pytest.approx(0.90)


def related(*reads: str) -> Episode:
    orders = {"W1": "W9", "W2": "W8", "W7": "W5"}
    listed = ["W1", "W2"] if "W1" in reads else ["W7", "W8"]
    return episode(
        called("get_user", {"user": "u"}, {"orders": listed}),
        *(called("get_order", {"order_id": order}, {"related": orders.get(order, "none")}) for order in reads),
        replied(),
    )


def test_sources_are_ordered_by_what_was_passed_at_the_site() -> None:
    episodes = [related("W1", "W2") for _ in range(8)] + [related("W1", "W9") for _ in range(2)]
    bindings, binder = learned(episodes, {"get_user", "get_order"})
    slot = Slot("get_order", "order_id")
    at_order = {source: n for (other, site, source), n in bindings.site_sources.items() if site == "get_order"}
    assert at_order == {Source("get_user", "$.orders[*]"): 8, Source("get_order", "$.related"): 2}
    assert bindings.sources[slot].values == 20
    found = bound(binder, "get_order", shown(related("W7")))
    assert found.arguments == {"order_id": "W8"}
    assert found.chance == pytest.approx(19 / 22)
    bindings.site_sources.clear()
    assert bound(Binder(bindings), "get_order", shown(related("W7"))).arguments == {"order_id": "W5"}


def test_the_results_of_a_turn_are_invisible_to_its_own_calls() -> None:
    batch = episode(
        called("start", {}, "x1"),
        together(("a", {}, {"id": "v1"}), ("b", {"id": "v1"}, "y")),
    )
    bindings, _ = learned([batch] * 3, {"start", "a", "b"})
    assert bindings.sources[Slot("b", "id")] == SourceCounts(3, {})


def test_a_value_passed_before_is_never_passed_again_even_if_the_call_failed() -> None:
    episodes = [lookup_orders("W1", "W2", read=("W1", "W2")) for _ in range(3)]
    _, binder = learned(episodes, {"list_orders", "get_order"})
    seen = shown(
        episode(
            called("list_orders", {}, {"orders": ["W7"]}), called("get_order", {"order_id": "W7"}, "no", error=True)
        )
    )
    assert binder.bind("get_order", seen) == Unbound(Reason.NOTHING_LEFT, "get_order", "order_id")
    assert Unbound(Reason.NOTHING_LEFT, "get_order", "order_id").said == "get_order: nothing left to pass as `order_id`"


def test_a_sibling_that_the_user_wrote_means_the_record() -> None:
    def items(*read: str, text: str = "") -> Episode:
        listed = [{"item": "i1", "name": "lamp"}, {"item": "i2", "name": "kettle"}]
        return episode(
            said(text),
            called("get_order", {}, {"items": listed}),
            *(called("get_item", {"item": item}, {"id": item}) for item in read),
        )

    _, binder = learned([items("i1", "i2") for _ in range(3)], {"get_order", "get_item"})
    assert bound(binder, "get_item", shown(items(text="my Kettle broke"))).arguments == {"item": "i2"}


def test_a_lookup_without_required_arguments_is_made_once() -> None:
    bindings, binder = learned([episode(called("clock", {}, "noon"))] * 3, {"clock"})
    assert not bindings.bare
    assert bound(binder, "clock", SessionValues()).chance == 1
    assert binder.bind("clock", shown(episode(called("clock", {}, "noon")))) == Unbound(Reason.LOOKED_UP, "clock")


def test_a_bare_call_of_a_tool_that_takes_arguments_has_its_share() -> None:
    made = [episode(called("clock", {}, "noon"), called("clock", {"zone": "UTC"}, "one"))] * 3
    bindings, binder = learned(made, {"clock"})
    assert bindings.bare == {"clock": 3}
    assert bound(binder, "clock", SessionValues()).chance == 4 / 8


def test_a_list_is_bound_whole() -> None:
    def flights(*numbers: str, read: bool = True) -> Episode:
        status = [called("get_status", {"numbers": list(numbers)}, "fine")] if read else []
        return episode(called("search", {}, {"found": [{"n": each} for each in numbers]}), *status)

    bindings, binder = learned([flights("F1", "F2"), flights("F3")] * 2, {"search", "get_status"})
    assert bindings.lists[Slot("get_status", "numbers")] == SourceCounts(4, {Source("search", "$.found[*].n"): 4})
    found = bound(binder, "get_status", shown(flights("F7", "F8", "F9", read=False)))
    assert found.arguments == {"numbers": ["F7", "F8", "F9"]}
    again = binder.bind("get_status", shown(flights("F7", "F8")))
    assert again == Unbound(Reason.NO_LIST_LEFT, "get_status", "numbers")


def test_a_constant_is_passed_unless_it_is_somebodys_own() -> None:
    def made(zone: str, text: str = "hello") -> Episode:
        return episode(said(text), called("get_time", {"zone": zone, "n": 10}, "noon"))

    bindings, binder = learned([made("UTC")] * 5, {"get_time"}, constants=True)
    assert bindings.constants == {Slot("get_time", "n"): 10, Slot("get_time", "zone"): "UTC"}
    assert bound(binder, "get_time", SessionValues()).arguments == {"n": 10, "zone": "UTC"}
    mine, _ = learned([made("user77", text="I am user77")] * 5, {"get_time"}, constants=True)
    assert mine.constants == {Slot("get_time", "n"): 10}
    few, _ = learned([made("UTC")] * 4, {"get_time"}, constants=True)
    assert not few.constants


def test_a_source_found_once_is_not_used() -> None:
    _, binder = learned([lookup_orders("W1", read=["W1"])], {"list_orders", "get_order"})
    seen = shown(lookup_orders("W7"))
    assert binder.bind("get_order", seen) == Unbound(Reason.NO_SOURCE, "get_order", "order_id")


def test_a_tool_that_training_never_called_is_not_bound() -> None:
    _, binder = learned([lookup_orders("W1")], {"list_orders", "get_order"})
    assert binder.bind("get_order", SessionValues()) == Unbound(Reason.NEVER_CALLED, "get_order")

"""One step from a site: the published numbers, and distributions that are ones."""

from __future__ import annotations

import pytest

from stretto.errors import FlowError
from stretto.flow.chances import Chances, ToolNumbers, one_step
from stretto.model.counts import Tally
from tests.stretto.flow.flow_support import ODD, PUBLISHED, full_flow, published


def test_the_published_example_of_decide_and_outcome() -> None:
    """Section 10: after get_order_details, hand back 2/12, order 7/12, product 3/12; its outcome 10/11."""
    flow = published("retail-5")
    numbers, chances = ToolNumbers(flow), Chances(flow)
    order, product = numbers.number("get_order_details"), numbers.number("get_product_details")
    assert chances.decide(("get_order_details", False)) == pytest.approx({0: 2 / 12, order: 7 / 12, product: 3 / 12})
    assert chances.succeeds("get_order_details") == pytest.approx(10 / 11)


def test_tools_are_numbered_reads_first_then_the_others_by_name() -> None:
    flow = full_flow()
    numbers = ToolNumbers(flow)
    names = ["find", "get", "grep", "list", ODD, "ask", "write"]
    assert [numbers.name(number) for number in range(9)] == [None, *names, None]
    assert [numbers.number(tool) for tool in names] == list(range(1, 8))
    assert numbers.number("a tool of another server") == 8


@pytest.mark.parametrize("name", [*PUBLISHED, "full"])
def test_every_distribution_sums_to_one_and_offers_what_the_site_does(name: str) -> None:
    flow = full_flow() if name == "full" else published(name)
    numbers, chances = ToolNumbers(flow), Chances(flow)
    for number in range(len(flow.manifest.tools) + 2):
        for failed in (False, True):
            decide = chances.distribution("Decide", (number, failed))
            tool = numbers.name(number)
            offered = flow.sites.options((tool, failed)) if tool else ()
            assert {numbers.name(int(option)) for option in decide if option} == set(offered)
            assert sum(decide.values()) == pytest.approx(1)
            assert min(decide.values()) > 0
        outcome = chances.distribution("Outcome", (number,))
        assert sum(outcome.values()) == pytest.approx(1)


def test_a_tool_nobody_saw_hands_back_and_is_as_likely_to_fail_as_not() -> None:
    chances = Chances(full_flow())
    assert chances.distribution("Decide", (99, False)) == {0: 1.0}
    assert chances.distribution("Outcome", (99,)) == {True: 0.5, False: 0.5}


def test_features_are_pooled_and_failures_are_not() -> None:
    flow = full_flow()
    pooled = one_step(flow, flow.habit.base)
    assert pooled["get", False].total == 6
    flow.habit.base.levels[1][(((flow.vocabulary.action("get") * 4) + 1) * 4096,)] = Tally(2, {0: 2})
    assert one_step(flow, flow.habit.base)["get", True].total == 2
    assert Chances(flow).succeeds("get") == pytest.approx(7 / 10)


@pytest.mark.parametrize(("name", "args"), [("Decide", (True, False)), ("Decide", (1, 0)), ("Outcome", ((1,),))])
def test_arguments_of_another_kind_are_an_error(name: str, args: tuple[object, ...]) -> None:
    with pytest.raises(FlowError, match="takes the number of a tool"):
        Chances(full_flow()).distribution(name, args)  # type: ignore[arg-type]  # wrong on purpose

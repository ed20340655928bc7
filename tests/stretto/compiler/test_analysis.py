"""What several traces of one intent show: labels, bindings, order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stretto.compiler.analysis import Analysis, analyse
from stretto.compiler.binding import BindingClass, SelectionKind
from stretto.compiler.evidence import Basis, Verdict
from stretto.compiler.model import UNLOGGED
from stretto.compiler.settings import CompilerSettings
from tests.stretto.compiler.stories import SHOP, Story, refunds

if TYPE_CHECKING:
    from collections.abc import Sequence

SETTINGS = CompilerSettings(support_floor=3, constant_min=3)


def of(stories: Sequence[Story], settings: CompilerSettings = SETTINGS) -> Analysis:
    return analyse([story.trace for story in stories], SHOP, settings)


def labels(analysis: Analysis, trace: str) -> list[str]:
    return [f"{each.call.name} {each.label}" for each in analysis.labels[trace]]


@pytest.mark.case("TC-40")
def test_each_argument_of_the_refund_has_its_class() -> None:
    bindings = of(refunds()).bindings
    password = bindings["shop.login#0", "$.password"]
    assert (password.kind, password.secret, password.value) == (BindingClass.CONSTANT, "shop.login.password", ())
    user = bindings["shop.login#0", "$.user"]
    assert (user.kind, user.value) == (BindingClass.CONSTANT, ("svc@shop",))
    assert bindings["shop.get_order#0", "$.order_id"].kind is BindingClass.USER_INPUT
    for key, path, step, place in (
        ("shop.get_order#0", "$.token", "shop.login#0", "$.token"),
        ("shop.refund#0", "$.token", "shop.login#0", "$.token"),
        ("shop.refund#0", "$.payment_id", "shop.get_order#0", "$.payment_id"),
        ("shop.refund#0", "$.amount", "shop.get_order#0", "$.total"),
        ("mail.send_template#0", "$.refund_id", "shop.refund#0", "$.refund_id"),
    ):
        found = bindings[key, path]
        assert found.kind is BindingClass.COPY, (key, path)
        assert [(source.step, source.path) for source in found.sources] == [(step, place)]
    assert bindings["mail.send_template#0", "$.to"].kind is BindingClass.USER_INPUT
    template = bindings["mail.send_template#0", "$.template"]
    assert (template.kind, template.value) == (BindingClass.CONSTANT, ("refund_ok",))


@pytest.mark.case("TC-41")
def test_what_was_always_said_is_an_input_and_what_was_never_said_a_constant() -> None:
    stories = []
    for number, currency in enumerate(("EUR", "EUR", "NOK", "EUR", "EUR")):
        story = Story("Hotels in Oslo?", id=f"h{number}")
        story.call("hotel.search", {"city": "Oslo", "page_size": 25, "currency": currency}, ["Grand"])
        stories.append(story.answers("There is the Grand"))
    bindings = of(stories, CompilerSettings()).bindings
    assert bindings["hotel.search#0", "$.city"].kind is BindingClass.USER_INPUT
    assert bindings["hotel.search#0", "$.page_size"].value == (25,)
    found = bindings["hotel.search#0", "$.currency"]
    assert (found.kind, found.candidates) == (BindingClass.DYNAMIC, ("EUR", "NOK"))


def hotel(number: int, start: str, wanted: str, **more: str) -> Story:
    story = Story("A hotel for that day", id=f"d{number}")
    story.call("calendar.get", {"event": f"ev_{number}x"}, {"start": start, **more})
    return story.call("hotel.search", {"day": wanted}, ["Grand"]).answers("There is the Grand")


@pytest.mark.case("TC-42")
def test_a_transform_binds_with_two_different_sources_and_an_exact_match_goes_before_it() -> None:
    first, second = ("2026-03-01T09:30:00Z", "2026-03-01"), ("2026-04-11T10:00:00Z", "2026-04-11")
    found = of([hotel(0, *first), hotel(1, *second)]).bindings["hotel.search#0", "$.day"]
    assert (found.kind, found.transform) == (BindingClass.TRANSFORM, "date_of")
    assert [(source.step, source.path) for source in found.sources] == [("calendar.get#0", "$.start")]
    for stories in ([hotel(0, *first)], [hotel(0, *first), hotel(1, *first)]):
        once = of(stories).bindings["hotel.search#0", "$.day"]
        assert once.kind is BindingClass.DYNAMIC
        assert any("calendar.get#0" in reason for reason in once.reasons)
    exact = of([hotel(0, *first, day=first[1]), hotel(1, *second, day=second[1])]).bindings["hotel.search#0", "$.day"]
    assert (exact.kind, exact.sources[0].path) == (BindingClass.COPY, "$.day")


@pytest.mark.case("TC-43")
def test_a_password_is_a_named_secret_and_a_token_a_copy_however_long_it_lives() -> None:
    stories = []
    for number in range(5):
        story = Story(f"Show order A-50{number}1", id=f"s{number}")
        story.call("shop.login", {"password": "hunter2hunter2"}, {"token": "tk_always"})
        story.call("shop.get_order", {"order_id": f"A-50{number}1", "token": "tk_always"}, {"state": "shipped"})
        stories.append(story.answers("It is shipped"))
    analysis = of(stories, CompilerSettings())
    assert analysis.bindings["shop.login#0", "$.password"].secret == "shop.login.password"  # noqa: S105 - a name
    token = analysis.bindings["shop.get_order#0", "$.token"]
    assert (token.kind, token.sources[0].step) == (BindingClass.COPY, "shop.login#0")
    assert "hunter2" not in repr(analysis.edges)


@pytest.mark.case("TC-44")
def test_the_labels_of_the_refunds() -> None:
    analysis = of(refunds())
    assert labels(analysis, "R1") == [
        "docs.show_tool dead_output",
        "shop.login essential",
        "shop.get_order essential",
        "shop.get_order redundant",
        "shop.refund essential",
        "mail.send_template essential",
    ]
    assert labels(analysis, "R2")[:2] == ["shop.login recovery", "shop.login essential"]
    assert labels(analysis, "R3")[2] == "crm.get_profile dead_output"
    assert sum(len(each) for each in analysis.labels.values()) == 16
    assert analysis.keys == ("shop.login#0", "shop.get_order#0", "shop.refund#0", "mail.send_template#0")
    strong = {(edge.producer, edge.consumer) for edge in analysis.edges if edge.verdict is Verdict.STRONG}
    assert strong == {
        ("shop.login#0", "shop.get_order#0"),
        ("shop.login#0", "shop.refund#0"),
        ("shop.get_order#0", "shop.refund#0"),
        ("shop.refund#0", "mail.send_template#0"),
    }
    assert all(edge.evidence for edge in analysis.edges)


@pytest.mark.case("TC-45")
def test_a_read_whose_output_nobody_recorded_is_kept_as_unknown() -> None:
    stories = refunds(profile_output=UNLOGGED)
    stories[0].calls[0] = Story("").call("docs.show_tool", {"tool": "x"}, UNLOGGED, discovery=True).calls[0]
    analysis = of(stories)
    assert labels(analysis, "R3")[2] == "crm.get_profile unknown"
    assert "crm.get_profile#0" in analysis.keys
    assert labels(analysis, "R1")[0] == "docs.show_tool dead_output"
    payment = analysis.bindings["shop.refund#0", "$.payment_id"]
    assert (payment.kind, payment.basis) == (BindingClass.COPY, Basis.CROSS_TRACE)


@pytest.mark.case("TC-46")
def test_what_the_host_requires_is_kept_in_its_place() -> None:
    analysis = of(refunds(policy=True))
    assert labels(analysis, "R3")[2] == "crm.get_profile policy_required"
    assert analysis.keys.index("crm.get_profile#0") < analysis.keys.index("shop.refund#0")


@pytest.mark.case("TC-66")
def test_a_look_at_what_the_user_had_named_is_exploratory() -> None:
    stories = []
    for number in range(3):
        order, payment = f"A-55{number}1", f"pay_{number}7ab"
        story = Story(f"Refund order {order} for nina@example.com", id=f"e{number}")
        story.call("shop.list_orders", {"email": "nina@example.com"}, [{"id": f"A-55{number}0"}, {"id": order}])
        story.call("shop.get_order", {"order_id": order}, {"payment_id": payment})
        stories.append(story.call("shop.refund", {"payment_id": payment}, {"ok": True}))
    analysis = of(stories)
    assert labels(analysis, "e0")[0] == "shop.list_orders exploratory"
    assert analysis.bindings["shop.get_order#0", "$.order_id"].kind is BindingClass.USER_INPUT
    assert "shop.list_orders#0" not in analysis.keys


@pytest.mark.case("TC-55")
def test_steps_that_change_one_app_keep_their_order_and_reads_do_not() -> None:
    stories = []
    for number in range(3):
        story = Story("Only SKU-11, please", id=f"c{number}").call("cart.clear", {}, {"ok": True})
        story.call("cart.add", {"sku": "SKU-11"}, {"ok": True})
        stories.append(story.call("stock.get", {"sku": "SKU-11"}, {"left": 41771}).answers("41771 are left"))
    orders = of(stories).effect_orders
    assert [(each.first, each.then, each.arbitrary) for each in orders] == [("cart.clear#0", "cart.add#0", False)]


def test_a_fan_out_over_a_list_is_bound_to_each_of_its_elements() -> None:
    stories = []
    for number, count in enumerate((2, 3, 1)):
        skus = [{"sku": f"SKU-{number}{item}"} for item in range(count)]
        story = Story("is my cart in stock?", id=f"f{number}").call("shop.cart", {}, {"items": skus})
        for sku in skus:
            story.call("stock.get", dict(sku), {"left": f"{sku['sku']}-left"})
        stories.append(story.answers(" ".join(f"{sku['sku']}-left" for sku in skus)))
    found = of(stories).bindings["stock.get#0", "$.sku"]
    assert found.kind is BindingClass.COPY
    source = found.sources[0]
    assert (source.step, source.path) == ("shop.cart#0", "$.items[*].sku")
    assert source.selection is not None
    assert source.selection.kind is SelectionKind.EACH

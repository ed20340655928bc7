"""The dependency rule: one trace, several traces, lists, and logs without outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stretto.compiler.binding import BindingClass, SelectionKind
from stretto.compiler.classify import Classifier
from stretto.compiler.depend import trace_edges
from stretto.compiler.evidence import Basis, Other, Verdict
from stretto.compiler.model import UNLOGGED, Effect
from stretto.compiler.schemas import Tools, ToolSchema
from stretto.compiler.settings import CompilerSettings
from tests.stretto.compiler.stories import Story, orders, profile
from waggle.redact import MASK

if TYPE_CHECKING:
    from stretto.compiler.binding import Binding

REQUEST = "What has nina@example.com ordered?"
SETTINGS = CompilerSettings(support_floor=3, constant_min=3)


def verdicts(story: Story, name: str, path: str, tools: Tools | None = None) -> dict[str, Verdict]:
    """What is said of one argument of a step: the verdict by producer."""
    run = story.run(tools)
    sessions = {("shop.get_order", "$.token")}
    edges = trace_edges(run.tracing, run.keys, is_session=lambda action, where: (action, where) in sessions)
    found = {}
    for edge in edges:
        for evidence in edge.evidence:
            if evidence.consumer.name == name and evidence.arg_path == path:
                found[edge.producer] = edge.verdict
    return found


def bound(stories: list[Story], key: str, path: str, tools: Tools | None = None) -> Binding:
    """What is concluded of one argument over several traces."""
    for number, story in enumerate(stories):
        story.id = f"t{number}"
    runs = tuple(story.run(tools, SETTINGS) for story in stories)
    return Classifier(runs, tools or Tools(), SETTINGS).binding(key, path)


@pytest.mark.case("TC-20")
def test_one_producer_and_nothing_else_is_strong_with_its_exclusions() -> None:
    run = orders(profile(Story(REQUEST))).run()
    (edge,) = trace_edges(run.tracing, run.keys)
    assert (edge.producer, edge.consumer, edge.verdict) == ("crm.get_profile#0", "shop.list_orders#0", Verdict.STRONG)
    (evidence,) = edge.evidence
    assert (evidence.arg_path, evidence.producer_paths, evidence.match) == (
        "$.customer_id",
        ("$.customer_id",),
        "exact",
    )
    assert (evidence.value.type, evidence.value.length, evidence.value.preview) == ("string", 6, "C-9041")
    assert evidence.basis is Basis.EXCLUSION
    looked = {each.origin: (each.looked_at, each.found) for each in evidence.exclusions}
    assert set(looked) == set(Other)
    assert looked[Other.USER] == (1, ())
    assert all(found == () for _, found in looked.values())
    assert looked[Other.OTHER_CALL] == looked[Other.UNLOGGED_CALL] == looked[Other.FAILED_CALL] == (0, ())


@pytest.mark.case("TC-21")
def test_what_the_user_said_is_another_origin() -> None:
    story = orders(profile(Story("What has customer C-9041 (nina@example.com) ordered?")))
    assert verdicts(story, "shop.list_orders", "$.customer_id") == {"crm.get_profile#0": Verdict.SUSPECTED}


@pytest.mark.case("TC-22")
def test_two_producers_are_both_suspected() -> None:
    story = profile(Story(REQUEST)).call("billing.get_account", {}, {"customer": "C-9041"})
    found = verdicts(orders(story), "shop.list_orders", "$.customer_id")
    assert found == {"crm.get_profile#0": Verdict.SUSPECTED, "billing.get_account#0": Verdict.SUSPECTED}


@pytest.mark.case("TC-23")
def test_a_call_that_was_given_the_value_only_carries_it() -> None:
    story = profile(Story(REQUEST))
    story.call("loyalty.points", {"customer_id": "C-9041"}, {"customer_id": "C-9041", "points": 1200})
    found = verdicts(orders(story), "shop.list_orders", "$.customer_id")
    assert found == {"crm.get_profile#0": Verdict.STRONG}


@pytest.mark.case("TC-24")
def test_a_small_number_proves_nothing() -> None:
    run = orders(profile(Story(REQUEST), open_orders=7), limit=7).run()
    (edge,) = trace_edges(run.tracing, run.keys)
    assert [evidence.arg_path for evidence in edge.evidence] == ["$.customer_id"]
    assert verdicts(orders(profile(Story(REQUEST), n=7), "C-1111", limit=7), "shop.list_orders", "$.limit") == {
        "crm.get_profile#0": Verdict.SUSPECTED
    }


@pytest.mark.case("TC-25")
def test_the_schemas_default_is_another_origin() -> None:
    schema = ToolSchema(input={"properties": {"shipping": {"default": "standard"}}})
    story = orders(profile(Story(REQUEST), shipping="standard"), "C-1111", shipping="standard")
    found = verdicts(story, "shop.list_orders", "$.shipping", Tools({"shop.list_orders": schema}))
    assert found == {"crm.get_profile#0": Verdict.SUSPECTED}


@pytest.mark.case("TC-26")
def test_the_context_is_another_origin() -> None:
    story = Story("bills?", context="You act for account ACC-7731.")
    story.call("billing.get_account", {}, {"account": "ACC-7731"})
    story.call("billing.list_invoices", {"account": "ACC-7731"}, [])
    found = verdicts(story, "billing.list_invoices", "$.account")
    assert found == {"billing.get_account#0": Verdict.SUSPECTED}


@pytest.mark.case("TC-27")
def test_equal_repeats_are_one_producer() -> None:
    story = orders(profile(profile(Story(REQUEST))))
    assert verdicts(story, "shop.list_orders", "$.customer_id") == {"crm.get_profile#0": Verdict.STRONG}


@pytest.mark.case("TC-28")
def test_a_transform_of_a_value_is_a_match_by_its_name() -> None:
    story = Story("attach it").call("files.newest", {"folder": "/srv/q3"}, {"path": "/srv/q3/report.pdf"})
    run = story.call("mail.attach", {"name": "report.pdf"}, {}).run()
    (edge,) = trace_edges(run.tracing, run.keys)
    assert (edge.verdict, edge.evidence[0].match) == (Verdict.STRONG, "basename")


@pytest.mark.case("TC-29")
def test_types_are_exact() -> None:
    story = Story("go").call("a.x", {}, {"id": "1042", "n": 1042, "f": 1042.0})
    run = story.call("b.y", {"n": 1042, "s": "1042", "b": True}, {}).run()
    (edge,) = trace_edges(run.tracing, run.keys)
    found = {evidence.arg_path: evidence.producer_paths for evidence in edge.evidence}
    assert found == {"$.n": ("$.n",), "$.s": ("$.id",)}


@pytest.mark.case("TC-30")
@pytest.mark.parametrize("again", [False, True])
def test_a_failed_call_that_shows_the_value_leaves_doubt(again: bool) -> None:  # noqa: FBT001
    story = Story(REQUEST).call("crm.get_profile", {"email": "n"}, {"error": {"hint": "C-9041"}}, ok=False)
    found = verdicts(orders(profile(story) if again else story), "shop.list_orders", "$.customer_id")
    assert set(found.values()) == {Verdict.SUSPECTED}


@pytest.mark.case("TC-31")
def test_an_output_that_nobody_recorded_leaves_doubt() -> None:
    story = profile(Story(REQUEST)).call("billing.get_account", {"email": "n"})
    found = verdicts(orders(story), "shop.list_orders", "$.customer_id")
    assert found == {"crm.get_profile#0": Verdict.SUSPECTED}


@pytest.mark.case("TC-32")
def test_only_what_was_said_before_the_call_counts_and_case_does_not() -> None:
    said = "by the way, my number is c-9041"
    before, after = orders(profile(Story(REQUEST)).says(said)), orders(profile(Story(REQUEST))).says(said)
    assert verdicts(before, "shop.list_orders", "$.customer_id") == {"crm.get_profile#0": Verdict.SUSPECTED}
    assert verdicts(after, "shop.list_orders", "$.customer_id") == {"crm.get_profile#0": Verdict.STRONG}


def three(used: tuple[str, str, str], billing: tuple[str, str, str]) -> list[Story]:
    crm = ("C-9041", "C-3307", "C-4410")
    stories = []
    for number in range(3):
        story = profile(Story(REQUEST), crm[number])
        story.call("billing.get_account", {"email": "n"}, {"customer": billing[number]})
        stories.append(orders(story, used[number]))
    return stories


@pytest.mark.case("TC-33")
def test_other_traces_refute_a_candidate_and_a_tie_is_a_consensus() -> None:
    used = ("C-9041", "C-3307", "C-4410")
    settled = bound(three(used, ("C-9041", "C-1200", "C-4410")), "shop.list_orders#0", "$.customer_id")
    assert (settled.kind, settled.basis) == (BindingClass.COPY, Basis.CROSS_TRACE)
    assert [source.step for source in settled.sources] == ["crm.get_profile#0"]
    tie = bound(three(used, used), "shop.list_orders#0", "$.customer_id")
    assert tie.kind is BindingClass.COPY
    assert [source.step for source in tie.sources] == ["billing.get_account#0", "crm.get_profile#0"]


@pytest.mark.case("TC-34")
def test_two_good_traces_do_not_outvote_one_contradiction() -> None:
    used = ("C-9041", "C-3307", "C-8888")
    found = bound(three(used, ("C-9041", "C-1200", "C-4410")), "shop.list_orders#0", "$.customer_id")
    assert found.kind is BindingClass.DYNAMIC


def kettle(said: str, number: int, name: str = "blue kettle") -> Story:
    items = [{"id": f"I-44{number}0", "name": "toaster"}, {"id": f"I-44{number}1", "name": name}]
    story = Story(f"Refund the {said} for nina@example.com").call(
        "shop.list_items", {"email": "nina@example.com"}, items
    )
    return story.call("shop.get_item", {"item_id": f"I-44{number}1"}, {"price": 12})


@pytest.mark.case("TC-35")
def test_a_field_that_the_user_named_selects_the_element() -> None:
    found = bound(
        [kettle(name, number, name) for number, name in enumerate(("blue kettle", "red lamp", "fork"))],
        "shop.get_item#0",
        "$.item_id",
    )
    assert found.kind is BindingClass.COPY
    selection = found.sources[0].selection
    assert selection is not None
    assert (selection.kind, selection.field, selection.equal.said) == (SelectionKind.WHERE, "$.name", "name")
    stories = [kettle("blue kettle", 1), kettle("blue kettle", 2), kettle("broken one", 3, "red lamp")]
    choice = bound(stories, "shop.get_item#0", "$.item_id")
    assert choice.kind is BindingClass.DYNAMIC
    assert choice.choices is not None
    assert choice.choices.path == "$[*].id"


@pytest.mark.case("TC-36")
def test_two_equal_places_of_one_output_are_told_apart_by_other_traces() -> None:
    def story(first: str, root: str) -> Story:
        told = Story("show it").call("shop.last_order", {}, {"id": first, "root": {"id": root}})
        return told.call("shop.get_order", {"order_id": root}, {})

    same = bound([story("A-5531", "A-5531"), story("A-6000", "A-6000")], "shop.get_order#0", "$.order_id")
    assert (same.sources[0].path, same.path_tie) == ("$.id", True)
    told = bound([story("A-5531", "A-5531"), story("A-6000", "A-7000")], "shop.get_order#0", "$.order_id")
    assert (told.sources[0].path, told.path_tie) == ("$.root.id", False)


@pytest.mark.case("TC-37")
def test_a_masked_token_comes_from_the_last_login_of_its_own_app() -> None:
    story = Story("go").call("shop.login", {}, {"token": MASK}).call("mail.login", {}, {"token": MASK})
    story.call("shop.get_order", {"order_id": "A-5531", "token": MASK}, {})
    assert verdicts(story, "shop.get_order", "$.token") == {"shop.login#0": Verdict.STRONG}


CRM = ToolSchema(output={"properties": {"customer_id": {"type": "string"}, "tier": {"type": "string"}}})
WEATHER = ToolSchema(output={"properties": {"temp": {"type": "number"}}})
ORDERS = ToolSchema(input={"properties": {"customer_id": {"type": "string"}}})


@pytest.mark.case("TC-38")
def test_a_schema_leaves_one_producer_of_what_nobody_recorded() -> None:
    story = Story(REQUEST).call("crm.get_profile", {"email": "n"}).call("weather.now")
    tools = Tools({"crm.get_profile": CRM, "weather.now": WEATHER, "shop.list_orders": ORDERS})
    run = orders(story).run(tools)
    (edge,) = trace_edges(run.tracing, run.keys)
    assert (edge.producer, edge.verdict, edge.evidence[0].basis) == (
        "crm.get_profile#0",
        Verdict.STRONG,
        Basis.INFERRED,
    )


@pytest.mark.case("TC-39")
@pytest.mark.parametrize("known", [True, False])
def test_two_compatible_schemas_and_an_unknown_one_leave_doubt(known: bool) -> None:  # noqa: FBT001
    billing = ToolSchema(output={"properties": {"customer": {"type": "string"}}}) if known else ToolSchema()
    story = Story(REQUEST).call("billing.get_account", {"email": "n"}).call("crm.get_profile", {"email": "n"})
    tools = Tools({"crm.get_profile": CRM, "billing.get_account": billing, "shop.list_orders": ORDERS})
    found = verdicts(orders(story), "shop.list_orders", "$.customer_id", tools)
    assert found == {"crm.get_profile#0": Verdict.SUSPECTED, "billing.get_account#0": Verdict.SUSPECTED}


def test_an_output_with_every_small_number_proves_nothing() -> None:
    story = Story("go").call("a.all", {}, list(range(1000))).call("b.take", {"n": 412, "m": 7}, {})
    found = verdicts(story, "b.take", "$.n")
    assert found == {"a.all#0": Verdict.SUSPECTED}


def test_effects_do_not_matter_to_the_rule() -> None:
    story = Story(REQUEST).call("crm.make", {}, {"customer_id": "C-9041"}, effect=Effect.IRREVERSIBLE)
    assert verdicts(orders(story), "shop.list_orders", "$.customer_id") == {"crm.make#0": Verdict.STRONG}


def test_a_value_that_the_agent_used_before_it_was_shown_comes_from_elsewhere() -> None:
    story = Story("Watch Omega Industries")
    story.call("stocks.watch", {"symbol": "OMEG"}, {"ok": True}).call("stocks.list", {}, {"watched": ["NVDA", "OMEG"]})
    story.call("stocks.price", {"symbol": "OMEG"}, {"price": 457.23})
    run = story.run()
    (edge,) = [each for each in trace_edges(run.tracing, run.keys) if each.consumer == "stocks.price#0"]
    assert edge.verdict is Verdict.SUSPECTED
    (evidence,) = edge.evidence
    (other,) = [each for each in evidence.exclusions if each.origin is Other.OTHER_CALL]
    assert other.found == ("call 0 was given it",)


def test_traces_refute_no_call_that_failed_or_was_not_recorded_in_any_of_them() -> None:
    for more in ({"ok": False}, {}):
        stories = []
        for number, customer in enumerate(["C-9041", "C-3307", "C-4410"]):
            story = Story(REQUEST, id=f"t{number}")
            seen = {"hint": customer} if more else UNLOGGED
            story.call("crm.guess", {"email": "nina@example.com"}, seen, **more)
            stories.append(orders(profile(story, customer), customer))
        assert bound(stories, "shop.list_orders#0", "$.customer_id").kind is not BindingClass.COPY
        once = orders(profile(Story(REQUEST), "C-5512"), "C-5512")
        assert bound([*stories, once], "shop.list_orders#0", "$.customer_id").kind is BindingClass.COPY

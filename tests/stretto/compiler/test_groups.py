"""Calls of one action in one trace: what they are to each other."""

from __future__ import annotations

import pytest

from stretto.compiler.groups import Group, GroupKind
from tests.stretto.compiler.stories import Story


def group(story: Story, name: str) -> Group:
    return next(each for each in story.run().tracing.groups if each.name == name)


@pytest.mark.case("TC-09")
def test_the_same_call_after_an_error_is_a_retry() -> None:
    story = Story("run it").call("job.status", {"id": "job_7712"}, {"e": 1}, ok=False)
    found = group(story.call("job.status", {"id": "job_7712"}, {"state": "done"}), "job.status")
    assert (found.kind, found.kept) == (GroupKind.RETRY, (2,))


@pytest.mark.case("TC-10")
def test_arguments_that_wobble_until_one_finds_something_are_a_retry() -> None:
    story = Story("Find Jon Smith's file").call("crm.search", {"q": "Jon Smth"}, [])
    found = group(story.call("crm.search", {"q": "Jon Smith"}, [{"id": "F-1"}]), "crm.search")
    assert (found.kind, found.path, found.kept) == (GroupKind.RETRY, "$.q", (2,))


@pytest.mark.case("TC-11")
def test_several_hits_with_different_arguments_are_a_fan_out_and_an_empty_one_is_an_element() -> None:
    story = Story("prices of a few kitchen things")
    for word, hit in (("kettle", [{"p": 1}]), ("toaster", []), ("lamp", [{"p": 2}])):
        story.call("shop.search", {"q": word}, hit)
    found = group(story, "shop.search")
    assert (found.kind, found.path, len(found.kept)) == (GroupKind.FAN_OUT, "$.q", 3)


@pytest.mark.case("TC-12")
def test_a_call_for_each_element_of_a_list_names_the_list() -> None:
    items = [{"sku": "SKU-11"}, {"sku": "SKU-12"}, {"sku": "SKU-13"}]
    story = Story("is my cart in stock?").call("shop.cart", {}, {"items": items})
    for item in items:
        story.call("stock.get", dict(item), {"left": 3})
    found = group(story, "stock.get")
    assert found.kind is GroupKind.FAN_OUT_LIST
    assert found.source is not None
    assert (found.source.call, found.source.path) == (0, "$.items[*].sku")


@pytest.mark.case("TC-13")
def test_a_counter_of_pages_is_paging() -> None:
    story = Story("all orders")
    for page in range(3):
        story.call("shop.list_orders", {"page": page}, [{"id": f"A-{page}"}])
    assert group(story, "shop.list_orders").kind is GroupKind.PAGING_PAGE


@pytest.mark.case("TC-14")
@pytest.mark.parametrize(
    ("more", "kind"), [({"limit": 50}, GroupKind.PAGING_OFFSET), ({}, GroupKind.FAN_OUT)], ids=["limit", "none"]
)
def test_an_offset_that_grows_by_the_page_size_is_paging(more: dict[str, int], kind: GroupKind) -> None:
    story = Story("all orders")
    for offset in (0, 50, 100):
        story.call("shop.list_orders", {"offset": offset, **more}, [{"id": f"A-{offset}"}])
    assert group(story, "shop.list_orders").kind is kind


@pytest.mark.case("TC-15")
def test_a_cursor_that_the_page_before_names_is_paging() -> None:
    story = Story("all orders").call("shop.list_orders", {}, {"next": "cur_8841"})
    story.call("shop.list_orders", {"cursor": "cur_8841"}, {"next": "cur_9120"})
    story.call("shop.list_orders", {"cursor": "cur_9120"}, {"next": None})
    found = group(story, "shop.list_orders")
    assert (found.kind, found.path) == (GroupKind.PAGING_CURSOR, "$.cursor")


@pytest.mark.case("TC-16")
def test_pages_that_the_user_named_are_a_fan_out() -> None:
    story = Story("orders on page 1 and page 2")
    for page in (1, 2):
        story.call("shop.list_orders", {"page": page}, [{"id": f"A-{page}"}])
    assert group(story, "shop.list_orders").kind is GroupKind.FAN_OUT_USER


@pytest.mark.case("TC-17")
def test_the_same_question_with_other_answers_is_a_poll() -> None:
    story = Story("run the export")
    for state in ("queued", "running", "done"):
        story.call("job.status", {"id": "job_7712"}, {"state": state})
    assert group(story, "job.status").kind is GroupKind.POLL


@pytest.mark.case("TC-18")
@pytest.mark.parametrize("between", [None, "cart.add", "mail.send"])
def test_the_same_question_with_the_same_answer_is_a_repeat(between: str | None) -> None:
    story = Story("what is in it?").call("cart.get", {}, {"items": [1]})
    if between:
        story.call(between, {"x": "y"}, {})
    assert group(story.call("cart.get", {}, {"items": [1]}), "cart.get").kind is GroupKind.REPEAT


@pytest.mark.case("TC-19")
def test_a_hit_before_a_miss_is_not_understood_and_both_are_kept() -> None:
    story = Story("look").call("crm.search", {"q": "abc"}, [{"id": "F-1"}]).call("crm.search", {"q": "abd"}, [])
    found = group(story, "crm.search")
    assert (found.kind, found.kept) == (GroupKind.UNKNOWN, (0, 2))

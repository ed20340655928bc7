"""Results with an error, without text, with more than text: from a server's answer to what is bound from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stretto.bindings.model import Slot, Source
from tests.stretto.cases.support_cases import Serving, learned
from tests.stretto.sessions.logs_support import answer, call, listing, result, save_log
from waggle import Result

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonObject

LISTED: list[JsonObject] = [{"name": name, "annotations": {"readOnlyHint": True}} for name in ("find", "read")]


def log(directory: Path, number: int, found: JsonObject) -> None:
    """A session that finds something and reads it."""
    save_log(
        directory,
        f"s{number}",
        *listing(0, 0, *LISTED),
        call(1, 1, "find", q=f"q{number}"),
        result(2, 1, found),
        call(1000, 2, "read", id=f"id-{number}"),
        answer(1001, 2, "text"),
    )


@pytest.mark.case("HC-26")
def test_a_value_that_stands_in_structured_content_alone_is_bound(tmp_path: Path) -> None:
    for number in range(4):
        log(tmp_path, number, {"content": [], "structuredContent": {"hit": {"id": f"id-{number}"}}})
    flow = learned(tmp_path)
    assert flow.bindings.sources[Slot("read", "id")].found == {Source("find", "$.hit.id"): 4}
    serving = Serving(flow, lambda tool, args: Result("text"))
    found = Result(value={"hit": {"id": "id-9"}})
    assert serving.call("find", {"q": "q9"}, found) == [("read", {"id": "id-9"})]


@pytest.mark.case("HC-26")
def test_a_failed_result_is_a_site_of_its_own_and_no_source(tmp_path: Path) -> None:
    """Whatever else it holds: an image, structured content, fields that nobody knows yet."""
    for number in range(4):
        failed: JsonObject = {
            "isError": True,
            "content": [{"type": "text", "text": f"locked: id-{number}"}, {"type": "image", "data": "AA=="}],
            "structuredContent": {"id": f"id-{number}", "until": 17},
            "_meta": {"k": 1},
            "new": True,
        }
        log(tmp_path, number, failed)
    flow = learned(tmp_path)
    assert flow.sites.next == {("find", True): {"read": 4}}
    assert flow.bindings.sources[Slot("read", "id")].found == {}


@pytest.mark.case("HC-26")
def test_an_error_flag_that_is_no_boolean_is_no_error(tmp_path: Path) -> None:
    for number in range(4):
        log(tmp_path, number, {"isError": "true", "content": [{"type": "text", "text": f"id-{number}"}]})
    assert learned(tmp_path).sites.next == {("find", False): {"read": 4}}

"""Reading, comparing, checking and choosing procedures: ``procedure show|diff|check|route``."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from stretto.compiler.requests import dump_requests, requests_of
from stretto.procedure import graph
from stretto.procedure.contracts import listed_contract
from stretto.procedure.file import dump_procedure, read_any, write_procedure
from stretto.review.document import as_markdown
from stretto.review.procedure_graph import drawn
from stretto.review.procedure_mermaid import mermaid
from stretto.review.procedure_page import procedure_page
from stretto.review.procedure_show import show_procedure
from tests.stretto.cli.stretto_cli_support import DATA, command, ran, refused, run
from tests.stretto.cli.test_stretto_command import documented
from tests.stretto.compiler.route_set import candidates
from tests.stretto.review.procedures_support import looked_up, refund, with_node

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonObject

TREES = DATA / "telecom.excerpt.procedure.json"
DEMO = ("--", sys.executable, "-m", "stretto.proxy.demo_server")


@pytest.fixture
def orders(here: Path) -> Path:
    path = here / "orders.procedure.json"
    write_procedure(path, looked_up())
    return path


def ran_json(name: str, *args: object, code: int = 0) -> Any:
    """The document of a command, whose keys are all documented."""
    text = ran("procedure", name, "--json", *args, code=code)
    assert text.isascii()
    told = json.loads(text)
    documented(f"procedure {name}", told)
    return told


# --- show -------------------------------------------------------------------------------------------------------------


def test_a_procedure_is_shown_as_text_as_markdown_as_a_graph_and_as_json(orders: Path) -> None:
    procedure = read_any(orders)
    assert isinstance(procedure, graph.Procedure)
    text = ran("procedure", "show", orders)
    assert text.startswith("Procedure orders\n================\n")
    assert "observed in 4 of 6 traces" in text
    assert "flowchart" not in text
    assert ran("procedure", "show", orders, "--markdown") == as_markdown(procedure_page(show_procedure(procedure)))
    assert ran("procedure", "show", orders, "--mermaid") == mermaid(drawn(procedure))
    told = ran_json("show", orders)
    assert (told["kind"], told["name"], told["steps"][0]["name"]) == (
        "graph",
        "orders",
        "crm.search#0",
    )
    assert told["decisions"][0]["else"] == "stops"
    ran_json("show", write(orders.with_name("refund.json"), refund()))


def write(path: Path, procedure: graph.Procedure) -> Path:
    write_procedure(path, procedure)
    return path


def test_a_picture_is_written_or_only_said_to_be(orders: Path) -> None:
    picture = orders.with_name("graph.svg")
    ran("procedure", "show", orders, "--svg", picture, "--dry-run")
    assert not picture.exists()
    ran("procedure", "show", orders, "--svg", picture)
    assert ET.parse(picture).getroot().tag.endswith("svg")  # noqa: S314 - our own


def test_a_tree_procedure_is_shown_too_and_has_no_graph(here: Path) -> None:
    assert ran("procedure", "show", TREES).startswith("Tree procedure telecom\n")
    assert ran_json("show", TREES)["kind"] == "trees"
    assert "no graph that can be drawn" in refused("procedure", "show", TREES, "--mermaid")
    assert "no graph that can be drawn" in refused("procedure", "show", TREES, "--svg", "x.svg")


def test_two_forms_at_once_are_refused(orders: Path) -> None:
    assert "give one of them" in run("procedure", "show", orders, "--json", "--mermaid").stderr
    assert "give one of them" in run("procedure", "diff", orders, orders, "--json", "--markdown").stderr


def test_a_file_that_is_no_procedure_is_2_with_its_place(here: Path) -> None:
    (here / "x.json").write_text('{"stretto_procedure": 2, "name": ""}')
    for given in (("show", "x.json"), ("diff", TREES, "x.json"), ("check", "x.json")):
        assert refused("procedure", *given).startswith("x.json: ")
        assert " @ $.name" in refused("procedure", *given)
    assert refused("procedure", "show", "gone.json").startswith("gone.json: cannot be read")


# --- diff -------------------------------------------------------------------------------------------------------------


def test_a_comparison_exits_with_1_when_there_is_something_to_review(orders: Path, here: Path) -> None:
    wider = with_node(looked_up(), "mail.send_template#0", when=[])
    other = write(here / "wider.json", wider)
    text = ran("procedure", "diff", orders, other, code=1)
    assert "mail.send_template#0 is now always made" in text
    assert ran("procedure", "diff", orders, other, "--markdown", code=1).startswith("# Changes of procedure `orders`\n")
    assert ran_json("diff", orders, other, code=1)["needs_review"] is True
    assert ran("procedure", "diff", other, orders)
    assert "Nothing changed." in ran("procedure", "diff", orders, orders)
    assert "Nothing changed." in ran("procedure", "diff", TREES, TREES)
    assert "it is of another kind" in refused("procedure", "diff", orders, TREES)


# --- check ------------------------------------------------------------------------------------------------------------


def tools(*, required: bool = False) -> list[JsonObject]:
    """The tools of `looked_up`, as a server lists them; optionally one has changed."""
    found: list[JsonObject] = []
    for _, node in looked_up().tools():
        schema: JsonObject = {"type": "object", "properties": {"q": {"type": "string"}}}
        if required and node.tool == "shop.list_orders":
            schema["required"] = ["q"]
        found.append({"name": node.tool, "inputSchema": schema})
    return found


@pytest.mark.case("TC-63")
def test_a_procedure_is_active_as_long_as_its_tools_are_what_they_were(here: Path) -> None:
    contracts = {f"/{tool['name']}": listed_contract(tool) for tool in tools()}
    path = write(here / "p.json", looked_up().model_copy(update={"contracts": contracts}))
    (here / "now.json").write_text(json.dumps({"tools": tools()}))
    (here / "later.json").write_text(json.dumps(tools(required=True)))
    (here / "gone.json").write_text(json.dumps({"tools": tools()[1:]}))
    assert ran_json("check", path)["state"] == "unknown"
    told = ran_json("check", path, "--tools", "now.json")
    assert (told["state"], told["stale"], told["unknown"]) == ("active", [], [])
    told = ran_json("check", path, "--tools", "later.json", code=1)
    assert (told["state"], told["stale"]) == ("stale", ["tool shop.list_orders has changed since: its input"])
    assert "stale: tool crm.search is not there" in ran("procedure", "check", path, "--tools", "gone.json", code=1)
    (here / "odd.json").write_text('{"tools": [{}]}')
    assert "$.tools[0]: expected a tool with a name" in refused("procedure", "check", path, "--tools", "odd.json")


def test_a_file_that_was_changed_or_does_not_fit_together_is_told_in_full(here: Path) -> None:
    data = json.loads(dump_procedure(looked_up()))
    data["nodes"]["fork1"]["exits"] = {"shop.list_orders#0": ["1"]}
    data["inputs"]["q"]["pattern"] = "colour"
    (here / "p.json").write_text(json.dumps(data))
    told = ran_json("check", "p.json", code=1)
    assert told["problems"][0].startswith("$.digest: it was changed")
    assert "$.inputs.q: there is no shape colour" in told["problems"]
    assert any("waits for exit mail.send_template#0 of fork1" in each for each in told["problems"])
    text = ran("procedure", "check", "p.json", code=1)
    assert text.count("problem: ") == len(told["problems"])
    del data["digest"]
    (here / "p.json").write_text(json.dumps(data))
    assert "note: it has no digest" in ran("procedure", "check", "p.json", code=1)


def shopping(tool: str) -> graph.Procedure:
    """A procedure of one read of the demo shop."""
    node = graph.ToolNode(layer=0, app="shop", action="look", tool=tool, server="shop", effect="read")
    return graph.Procedure(
        name="look", nodes={"shop.look#0": node}, compiled=graph.Compiled(version="1"), contracts={f"shop/{tool}": PIN}
    )


PIN = graph.Contract(input="0" * 16)


def test_a_live_server_is_asked_for_its_tools(here: Path) -> None:
    path = write(here / "p.json", shopping("get_order_details"))
    assert checked(path) == ["tool shop/get_order_details has changed since: its input"]
    path = write(here / "q.json", shopping("fly_to_the_moon"))
    assert checked(path) == ["tool shop/fly_to_the_moon is not there"]


def checked(path: Path) -> list[str]:
    """What is stale beside the demo's server, which needs a real standard error."""
    asked = [*command(), "procedure", "check", "--json", str(path), *DEMO]
    done = subprocess.run(asked, capture_output=True, check=False, timeout=120)
    told = json.loads(done.stdout)
    assert (done.returncode, told["state"]) == (1, "stale"), done.stderr
    stale: list[str] = told["stale"]
    return stale


def test_a_server_that_cannot_be_asked_is_one_line(here: Path) -> None:
    path = write(here / "p.json", shopping("get_order_details"))
    assert "cannot be asked for its tools" in refused("procedure", "check", path, "--", "no-such-program")
    ends = refused("procedure", "check", path, "--", sys.executable, "-c", "raise SystemExit(3)")
    assert "cannot be asked for its tools" in ends
    assert "give one of the two" in run("procedure", "check", path, "--tools", "x.json", *DEMO).stderr
    assert "several servers need names" in run("procedure", "check", path, "--server", "http://a", *DEMO).stderr
    assert "does not say what its tools were" in refused("procedure", "check", TREES, *DEMO)
    assert ran_json("check", TREES)["kind"] == "trees"


def test_a_check_says_whether_fixed_values_may_be_used(here: Path) -> None:
    fixed = graph.InjectedValue(value="T-88", tool="/get_team", path="$.id", observed="2026-03-01T09:30:00Z", days=30)
    procedure = looked_up().model_copy(update={"injected": {"org.get_team $.id": fixed}})
    told = ran_json("check", write(here / "p.json", procedure))
    assert told["fixed"] == {"org.get_team $.id": "lost"}
    again = fixed.model_copy(update={"refresh": graph.Refresh(tool="get_team"), "days": 1e5})
    path = write(here / "p.json", procedure.model_copy(update={"injected": {"org.get_team $.id": again}}))
    assert "fixed: org.get_team $.id may be used" in ran("procedure", "check", path)
    old = again.model_copy(update={"observed": ""})
    path = write(here / "p.json", procedure.model_copy(update={"injected": {"org.get_team $.id": old}}))
    assert "fixed: org.get_team $.id is read anew by a run" in ran("procedure", "check", path)


# --- route ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def procedures(here: Path) -> Path:
    place = here / "procedures"
    place.mkdir()
    for each in candidates():
        write_procedure(place / f"{each.procedure.name}.procedure.json", each.procedure)
        (place / f"{each.procedure.name}.requests.json").write_bytes(dump_requests(each.requests))
    return place


def test_a_request_is_routed_suggested_or_left_to_the_agent_always_with_the_numbers(procedures: Path) -> None:
    options = ("--procedures", procedures)
    told = ran_json("route", *options, "Cancel order A-8001")
    assert (told["verdict"], told["procedure"], told["inputs"]) == ("route", "cancel", {"order": "A-8001"})
    told = ran_json("route", *options, "Do not cancel order A-8001")
    assert (told["verdict"], told["failed"]) == ("suggest", "words")
    assert told["reasons"] == [{"gate": "words", "says": "extra words: do not"}]
    text = ran("procedure", "route", *options, "Do not cancel order A-8001")
    assert text.startswith(
        "suggest: it is like what cancel does, and not routed by itself\nsimilarity to cancel 1.00, "
    )
    assert ran_json("route", *options, "Good morning")["verdict"] == "fallback"
    assert ran("procedure", "route", *options, "Good morning").startswith("fallback: it is the agent's\n")
    assert ran_json("route", *options, "--relaxed", "order A-8001: where is")["verdict"] == "route"


def test_requests_without_a_procedure_keep_others_from_taking_their_like(procedures: Path) -> None:
    refused_ = requests_of("bulk cancel", [("Cancel order A-1", {})] * 5)
    (procedures / "bulk.requests.json").write_bytes(dump_requests(refused_))
    told = ran_json("route", "--procedures", procedures, "Cancel order A-8001")
    assert (told["verdict"], told["failed"]) == ("suggest", "similarity")
    assert "not_separable" in told["reasons"][0]["says"]


def test_a_secret_is_looked_for_in_the_environment(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_procedure(here / "refund.procedure.json", refund())
    members = [(f"Refund order A-{n} for a{n}@b.org", {"order_id": f"A-{n}", "to": f"a{n}@b.org"}) for n in range(3)]
    digest = json.loads((here / "refund.procedure.json").read_text())["digest"]
    (here / "refund.requests.json").write_bytes(dump_requests(requests_of("refund", members, digest)))
    asked = ("--procedures", here, "Refund order A-8001 for per@example.com")
    assert ran_json("route", *asked)["failed"] == "readiness"
    monkeypatch.setenv("STRETTO_SECRET_SHOP_LOGIN_PASSWORD", "x")
    assert ran_json("route", *asked)["verdict"] == "route"


def test_a_directory_without_procedures_is_said_and_one_without_requests_is_noted(here: Path) -> None:
    assert "is no directory" in refused("procedure", "route", "--procedures", "gone", "x")
    assert "has no procedure" in refused("procedure", "route", "--procedures", here, "x")
    write_procedure(here / "a.procedure.json", refund())
    result = run("procedure", "route", "--procedures", here, "x")
    assert "has no requests beside it" in result.stderr
    for name in ("a", "b"):
        write_procedure(here / f"{name}.procedure.json", refund())
        (here / f"{name}.requests.json").write_bytes(dump_requests(requests_of("refund", [])))
    assert "two procedures are called refund" in refused("procedure", "route", "--procedures", here, "x")

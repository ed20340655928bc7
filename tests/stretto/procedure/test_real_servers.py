"""The command ``stretto-procedure`` against a real server: values that are fixed, and arguments that do not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.compiler.requests import dump_requests, requests_of
from stretto.procedure import graph
from stretto.procedure.file import digest_of, dump_procedure

if TYPE_CHECKING:
    from collections.abc import Sequence

pytest.importorskip("mcp.server", reason="needs the MCP SDK")

from stretto.procedure.conform import misfit

SECONDS = 60
COMMAND = Path(sys.executable).with_name("stretto-procedure")
SERVER = Path(__file__).with_name("team_server.py")
NAME = "org.get_team $.team_id"


def booking(*, observed: datetime, seats: Any = 2) -> graph.Procedure:
    """A procedure that books for a team that was fixed when it was compiled."""
    node = graph.ToolNode(
        layer=0,
        app="org",
        action="book",
        tool="book",
        effect="irreversible",
        args={
            "$.team": graph.Binding(value=graph.Injected(injected=NAME)),
            "$.seats": graph.Binding(value=graph.Constant(value=seats)),
        },
    )
    return graph.Procedure(
        name="book",
        scope={"tenant": "acme"},
        injected={
            NAME: graph.InjectedValue(
                value="T-88",
                tool="/get_team",
                path="$.team_id",
                observed=observed.isoformat(),
                days=30,
                refresh=graph.Refresh(tool="get_team", args={"of": "me"}),
            )
        },
        nodes={"org.book#0": node},
        forbidden_at_runtime=["/get_team"],
        compiled=graph.Compiled(version="1"),
    )


def ran(here: Path, procedure: graph.Procedure, *more: str) -> tuple[int, dict[str, Any] | str, Sequence[str]]:
    """The exit code, the document or what was complained of, and the calls that the server got."""
    (here / "p.json").write_bytes(dump_procedure(procedure))
    words = [str(COMMAND), "--procedure", "p.json", "--json", *more]
    words += ["--", sys.executable, str(SERVER), str(here / "calls")]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, timeout=SECONDS, check=False)
    calls = here / "calls"
    said = json.loads(done.stdout) if done.stdout else done.stderr
    return done.returncode, said, calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []


@pytest.mark.parametrize("more", [(), ("--scope", "tenant=other")], ids=["nobody", "somebody else"])
def test_a_procedure_with_values_of_one_tenant_calls_nothing_for(more: tuple[str, ...], tmp_path: Path) -> None:
    code, said, calls = ran(tmp_path, booking(observed=datetime.now(UTC)), *more)
    assert code == 2
    assert "it is for tenant acme alone" in str(said)
    assert calls == []


def test_a_value_that_was_seen_lately_is_used_and_not_looked_up(tmp_path: Path) -> None:
    code, _, calls = ran(tmp_path, booking(observed=datetime.now(UTC)), "--scope", "tenant=acme")
    assert (code, calls) == (0, ["book T-88 2"])


@pytest.mark.case("TC-64")
def test_a_value_that_was_seen_too_long_ago_is_looked_up_first(tmp_path: Path) -> None:
    old = datetime.now(UTC) - timedelta(days=40)
    code, said, calls = ran(tmp_path, booking(observed=old), "--scope", "tenant=acme")
    assert (code, calls) == (0, ["get_team me", "book T-99 2"])
    assert isinstance(said, dict)
    assert [call["tool"] for call in said["calls"]] == ["get_team", "book"]


def test_a_call_whose_arguments_do_not_fit_the_tools_schema_is_not_made(tmp_path: Path) -> None:
    code, said, calls = ran(tmp_path, booking(observed=datetime.now(UTC), seats="two"), "--scope", "tenant=acme")
    assert (code, calls) == (1, [])
    assert isinstance(said, dict)
    assert said["escalation"]["reason"] == "call_failed"
    assert "do not fit its schema: $.seats: type" in said["escalation"]["observed"]
    assert "two" not in said["escalation"]["observed"]


def test_a_schema_of_a_server_fetches_nothing_and_runs_no_expression_of_its() -> None:
    elsewhere: Any = {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    assert misfit(elsewhere, {"a": 1}) == ""
    endless: Any = {"properties": {"a": {"pattern": "^(a+)+$"}}}
    assert misfit(endless, {"a": "a" * 64 + "!"}) == ""
    assert misfit({"required": ["b"]}, {"a": 1}) == "$: required"
    assert misfit({"type": 3}, {"a": 1}) == ""


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_schema_makes_the_check_fail(schema: Any) -> None:
    assert isinstance(misfit({"properties": {"a": schema}, "type": schema}, {"a": [1, "b"]}), str)


def with_requests(here: Path, **update: Any) -> graph.Procedure:
    """The same procedure, whose number of seats is what the request says, with its requests beside it."""
    made = booking(observed=datetime.now(UTC))
    (_, node), *_ = made.tools()
    seats = {"$.seats": graph.Binding(value=graph.Input(input="seats"))}
    procedure = made.model_copy(
        update={
            "inputs": {"seats": graph.InputSpec(type="integer", pattern="number")},
            "nodes": {"org.book#0": node.model_copy(update={"args": {**node.args, **seats}})},
        }
    )
    members = [(f"Book {number} seats", {"seats": number}) for number in range(2, 7)]
    requests = requests_of("book", members, digest_of(procedure)).model_copy(update=update)
    (here / "p.requests.json").write_bytes(dump_requests(requests))
    return procedure


@pytest.mark.parametrize("name", ["p.json", "p.procedure.json"])
def test_a_ticket_with_the_words_of_a_request_says_the_inputs(name: str, tmp_path: Path) -> None:
    procedure = with_requests(tmp_path)
    (tmp_path / name).write_bytes(dump_procedure(procedure))
    code, _, calls = ran(tmp_path, procedure, "--scope", "tenant=acme", "--ticket", "Book 9 seats")
    assert (code, calls) == (0, ["book T-88 9"])


@pytest.mark.parametrize(
    ("ticket", "says"),
    [
        ("Do not book 9 seats", "the ticket is not one that it is for: extra words: do not"),
        ("Book 9 seats and 3 seats", "the ticket is not one that it is for"),
        ("Good morning", "the ticket is not one that it is for"),
    ],
)
def test_a_ticket_that_is_not_like_a_request_starts_nothing(ticket: str, says: str, tmp_path: Path) -> None:
    code, said, calls = ran(tmp_path, with_requests(tmp_path), "--scope", "tenant=acme", "--ticket", ticket)
    assert (code, calls) == (2, [])
    assert says in str(said)


def test_a_ticket_needs_the_requests_of_this_version(tmp_path: Path) -> None:
    procedure = with_requests(tmp_path, procedure="0" * 32)
    asked = ("--scope", "tenant=acme", "--ticket", "Book 9 seats")
    code, said, calls = ran(tmp_path, procedure, *asked)
    assert (code, calls) == (2, [])
    assert "are those of another version of the procedure" in str(said)
    (tmp_path / "p.requests.json").unlink()
    _, said, _ = ran(tmp_path, procedure, *asked)
    assert "there is no p.requests.json beside it: compile with --requests, or give --input" in str(said)
    code, _, calls = ran(tmp_path, procedure, "--scope", "tenant=acme", "--input", "seats=4")
    assert (code, calls) == (0, ["book T-88 4"])

"""Several calls in one: run in order, each checked, stopping at the first that does not succeed."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from stretto._defaults import COMMIT_CALLS
from stretto.flow.file import write_flow
from stretto.flow.model import Provenance
from stretto.learning import LearnOptions, learn
from stretto.proxy.committing import Commit
from stretto.proxy.guarding import GuardTap
from stretto.proxy.guards import guards_from_data
from stretto.proxy.serving.tap import Serving
from stretto.proxy.streams import Line
from stretto.proxy.wirerules import WireRules
from stretto.sessions.corpus import open_corpus
from stretto.sessions.log import read_log
from stretto.sessions.wire import COMMIT_TOOL, content_of
from tests.stretto.proxy.mcp_peers import HANDSHAKE, MODERN, Peer, Step, Talk, abandoned, converse, tool
from tests.stretto.proxy.proxy_support import LISTED, WAIT_S, call, line_of, returned
from tests.stretto.shop import shop_flow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stretto.proxy.relay import Side

CHECKS = {
    "stretto_guards": 1,
    "checks": [{"name": "seen", "tools": ["cancel_order"], "arguments": {"order_id": {"seen": True}}}],
}


class Wire:
    """A relay in memory with the taps of a session, whose two sides are the test."""

    def __init__(self, *, serves: bool = False) -> None:
        self.unseen: dict[Side, int] = {"host": 0, "server": 0}
        self.host: list[Any] = []
        self.server: list[Any] = []
        self.reply: Callable[[Any], Any] | None = None
        self.gone = False
        self._changed = threading.Condition()
        guard = GuardTap(guards_from_data(CHECKS), self.to_host)
        self.log: list[Any] = []
        self.serving = Serving(shop_flow(), on_line=self.log.append, held_s=WAIT_S) if serves else None
        self.commit = Commit(self, guard.refusal)
        self.taps: list[Any] = [WireRules(self), guard, *([self.serving] if self.serving else []), self.commit]
        if self.serving:
            self.serving.attach(self)

    def to_host(self, raw: bytes, *, own: bool = True) -> bool:
        for tap in self.taps if own else ():
            tap.sent(raw, "host")
        self._add(self.host, raw)
        return True

    def to_server(self, raw: bytes) -> bool:
        if self.gone:
            return False
        for tap in self.taps:
            tap.sent(raw, "server")
        self._add(self.server, raw)
        request = json.loads(raw)
        if self.reply and "id" in request and (answer := self.reply(request)) is not None:
            threading.Thread(target=self.server_says, args=(answer,), daemon=True).start()
        return True

    def _add(self, side: list[Any], raw: bytes) -> None:
        with self._changed:
            side.append(json.loads(raw))
            self._changed.notify_all()

    def host_says(self, message: Any) -> bool:
        line = Line(line_of(message))
        if any(tap.from_host(line) is True for tap in self.taps):
            return False
        self._add(self.server, line.raw)
        return True

    def server_says(self, message: Any) -> bool:
        line = Line(line_of(message))
        for tap in self.taps:
            said = tap.from_server(line)
            if said is True:
                return False
            line = said if isinstance(said, Line) else line
        self._add(self.host, line.raw)
        return True

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT_S
        with self._changed:
            while not holds():
                left = end - time.monotonic()
                assert left > 0, (self.host, self.server)
                self._changed.wait(left)

    def commits(self, *calls: tuple[str, dict[str, Any]], number: Any = 7, **more: Any) -> None:
        given = [{"name": name, "arguments": arguments} for name, arguments in calls]
        assert not self.host_says(call(number, COMMIT_TOOL, {"calls": given}, **more))

    def answer(self, number: Any = 7) -> tuple[str, bool]:
        """The text of the answer, and whether it is an error."""
        self.until(lambda: any(isinstance(each, dict) and each.get("id") == number for each in self.host))
        (found,) = (each for each in self.host if isinstance(each, dict) and each.get("id") == number)
        failed, text = content_of(found)
        return text, failed

    @property
    def made(self) -> list[tuple[str, Any]]:
        return [
            (each["params"]["name"], each["params"]["arguments"])
            for each in self.server
            if str(each.get("id")).startswith("stretto:commit-")
        ]


def shop(request: Any) -> Any:
    """Knows the order W1, and cancels whatever it is told to."""
    params = request["params"]
    if params["name"] == "get_order" and params["arguments"]["order_id"] != "W1":
        return returned(request["id"], "no such order", isError=True)
    return returned(request["id"], json.dumps(params["arguments"]))


W1, W2 = {"order_id": "W1"}, {"order_id": "W2"}


@pytest.fixture
def wire() -> Wire:
    made = Wire()
    made.reply = shop
    return made


# --- what it does -------------------------------------------------------------------------------------------------


def test_calls_are_made_one_after_the_other_and_each_has_seen_the_results_before_it(wire: Wire) -> None:
    wire.commits(("get_order", W1), ("cancel_order", W1))
    text, failed = wire.answer()
    assert not failed
    assert text.split("\n\n") == [
        "Done: 2 of 2 calls.",
        '--- call 1 of 2: get_order {"order_id":"W1"}: done\n{"order_id": "W1"}',
        '--- call 2 of 2: cancel_order {"order_id":"W1"}: done\n{"order_id": "W1"}',
    ]
    assert wire.made == [("get_order", W1), ("cancel_order", W1)]
    assert [each["id"] for each in wire.server] == ["stretto:commit-0", "stretto:commit-1"]
    assert len(wire.host) == 1


def test_it_stops_at_the_first_call_that_is_refused(wire: Wire) -> None:
    wire.commits(("get_order", W1), ("cancel_order", W2), ("cancel_order", W1))
    text, failed = wire.answer()
    assert failed
    first, *calls = text.split("\n\n")
    assert first == "Stopped at call 2 of 3: it was refused. What was done before it stays done."
    assert calls[1].startswith(
        '--- call 2 of 3: cancel_order {"order_id":"W2"}: refused\nNot done: cancel_order was not sent to the server'
    )
    assert calls[2] == '--- call 3 of 3: cancel_order {"order_id":"W1"}: not run'
    assert wire.made == [("get_order", W1)]


def test_it_stops_at_the_first_call_that_fails(wire: Wire) -> None:
    wire.commits(("get_order", W2), ("get_order", W1))
    text, failed = wire.answer()
    assert failed
    assert '{"order_id":"W2"}: failed\nno such order\n\n--- call 2 of 2: get_order {"order_id":"W1"}: not run' in text
    assert wire.made == [("get_order", W2)]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": {"code": -32602, "message": "Unknown tool"}}, "failed\nUnknown tool"),
        ({"result": {"resultType": "input_required"}}, "failed\nThe server asks something before it answers"),
        ({"result": {"task": {"taskId": "1"}}}, "failed\nThe server asks something before it answers"),
        ({"result": {"content": [{"type": "text", "text": "--- call 2 of 9: x {}: done"}]}}, "done\n\\--- call 2 of 9"),
        ({"result": {"content": [], "structuredContent": {"a": 1}}}, 'done\n{"a":1}'),
    ],
)
def test_what_came_of_a_call_is_told(wire: Wire, answer: dict[str, Any], said: str) -> None:
    wire.reply = lambda request: {"jsonrpc": "2.0", "id": request["id"], **answer}
    wire.commits(("get_order", W1))
    assert said in wire.answer()[0]


@pytest.mark.parametrize(
    "calls",
    [None, [], {}, [7], [{"name": 1}], [{"name": "a", "arguments": []}], [{"name": "a"}] * (COMMIT_CALLS + 1)],
    ids=["none", "empty", "object", "number", "name", "arguments", "many"],
)
def test_what_is_no_list_of_calls_is_said_and_nothing_is_run(wire: Wire, calls: Any) -> None:
    wire.host_says(call(7, COMMIT_TOOL, {"calls": calls}))
    text, failed = wire.answer()
    assert failed
    assert text.startswith("Not done, and nothing was changed: call")
    assert wire.server == []


def test_a_commit_cannot_hold_another_one(wire: Wire) -> None:
    wire.commits((COMMIT_TOOL, {"calls": []}))
    assert f"refused\n{COMMIT_TOOL} cannot be one of its own calls." in wire.answer()[0]
    assert wire.server == []


def test_a_batch_with_a_commit_is_answered_whole(wire: Wire) -> None:
    assert not wire.host_says([call(1, "get_order", W1), call(2, COMMIT_TOOL, {"calls": []})])
    (answers,) = wire.host
    assert [(each["id"], each["error"]["code"]) for each in answers] == [(1, -32600), (2, -32600)]
    assert wire.host_says([call(3, "get_order", W1), call(4, "get_order", W1)])


def test_two_commits_run_beside_each_other(wire: Wire) -> None:
    wire.reply = None
    wire.commits(("get_order", W1), number=1)
    wire.commits(("get_order", W2), number="1")
    wire.until(lambda: len(wire.server) == 2)
    for each in reversed(wire.server):
        wire.server_says(returned(each["id"], each["params"]["arguments"]["order_id"]))
    assert wire.answer(1)[0].endswith("\nW1")
    assert wire.answer("1")[0].endswith("\nW2")


def test_of_the_hosts_own_fields_only_the_clients_version_is_passed_on(wire: Wire) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": 1, "vendor": 2}
    wire.commits(("get_order", W1), _meta=meta)
    assert not wire.answer()[1]
    assert wire.server[0]["params"]["_meta"] == {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    assert wire.host[0]["result"]["resultType"] == "complete"


# --- the list -----------------------------------------------------------------------------------------------------


def listed(wire: Wire, *tools: Any, **more: Any) -> list[str]:
    wire.host_says({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})
    wire.server_says({"jsonrpc": "2.0", "id": "list", "result": {"tools": [*tools], **more}})
    return [each["name"] for each in wire.host[-1]["result"]["tools"]]


@pytest.mark.case("HC-27")
def test_the_tool_is_on_the_last_page_and_says_what_it_is_for(wire: Wire) -> None:
    assert listed(wire, LISTED[0], nextCursor="2") == ["find_user"]
    assert listed(wire) == [COMMIT_TOOL]
    assert listed(wire, LISTED[1], nextCursor=None) == ["get_user", COMMIT_TOOL]
    shown = wire.host[-1]["result"]["tools"][-1]
    assert shown["annotations"] == {"readOnlyHint": False}
    assert shown["inputSchema"]["required"] == ["calls"]
    assert "stops at the first that is refused or fails" in shown["description"]


def test_a_server_with_a_tool_of_that_name_keeps_it(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    assert listed(wire, {"name": COMMIT_TOOL}, nextCursor="2") == [COMMIT_TOOL]
    assert listed(wire, LISTED[0]) == ["find_user"]
    assert listed(wire, {"name": COMMIT_TOOL}) == [COMMIT_TOOL]
    assert wire.host_says(call(7, COMMIT_TOOL, {"calls": []}))
    assert caplog.text.count("--commit does nothing") == 1


# --- cancelled, and ended -----------------------------------------------------------------------------------------


def test_a_cancelled_commit_ends_with_the_call_under_way_and_is_not_answered(wire: Wire) -> None:
    wire.reply = None
    wire.commits(("get_order", W1), ("get_order", W1))
    wire.until(lambda: len(wire.server) == 1)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    assert not wire.host_says(cancel)
    wire.until(lambda: len(wire.server) == 2)
    assert wire.server[1]["method"] == "notifications/cancelled"
    assert wire.server[1]["params"]["requestId"] == "stretto:commit-0"
    assert not wire.server_says(returned("stretto:commit-0", "late"))
    assert wire.host_says(cancel)  # of what is over, the server may know
    assert wire.host == []


@pytest.mark.case("HC-23")
def test_a_commit_whose_server_dies_says_how_far_it_went(wire: Wire) -> None:
    wire.reply = None
    wire.commits(("get_order", W1), ("cancel_order", W1), ("get_order", W1))
    wire.until(lambda: len(wire.server) == 1)
    wire.server_says(returned("stretto:commit-0", "W1"))
    wire.until(lambda: len(wire.server) == 2)
    for tap in reversed(wire.taps):
        tap.ended("the server ended with status 137 before it answered")
    text, failed = wire.answer()
    assert failed
    assert "not known what came of it: the server ended with status 137 before it answered." in text
    assert text.endswith(": not run")
    assert len(wire.host) == 1


def test_a_server_that_takes_nothing_more_ends_a_commit(wire: Wire) -> None:
    wire.gone = True
    wire.commits(("get_order", W1))
    assert "failed\nIt was not sent: the server is gone." in wire.answer()[0]


@pytest.mark.parametrize("serves", [False, True])
def test_what_the_server_asks_during_a_call_is_the_hosts_to_answer(serves: bool) -> None:  # noqa: FBT001 - pytest's
    wire = Wire(serves=serves)
    wire.commits(("get_order", W1))
    wire.until(lambda: len(wire.server) == 1)
    question = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {"message": "Sure?"}}
    assert wire.server_says(question)
    assert wire.host_says({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}})
    wire.server_says(returned("stretto:commit-0", "W1"))
    assert not wire.answer()[1]
    if wire.serving:
        wire.serving.close()


def test_answers_in_a_batch_are_taken_out_of_it(wire: Wire) -> None:
    wire.reply = None
    wire.host_says(call(1, "get_order", W1))
    wire.commits(("get_order", W1))
    wire.until(lambda: len(wire.server) == 2)
    wire.server_says([returned(1, "a"), returned("stretto:commit-0", "b")])
    assert wire.answer()[0].endswith("done\nb")
    assert [returned(1, "a")] in wire.host


# --- beside a flow ------------------------------------------------------------------------------------------------


def test_a_flow_knows_of_the_calls_and_their_results_and_holds_none() -> None:
    wire = Wire(serves=True)
    wire.reply = shop
    try:
        wire.commits(("find_user", {"email": "x"}), ("cancel_order", {"order_id": "x"}))
        assert "refused" not in wire.answer()[0]
        wire.serving.close()  # type: ignore[union-attr] # it serves
        session = wire.serving._session._engine._speculator.session  # type: ignore[union-attr]
        assert [output.tool for output in session.values.outputs()] == ["cancel_order", "find_user"]
        assert not wire.serving._requests  # type: ignore[union-attr]
        assert wire.log == []
    finally:
        wire.serving.close()  # type: ignore[union-attr]


# --- with real peers ----------------------------------------------------------------------------------------------

DEMO = Peer((sys.executable, "-m", "stretto.proxy.demo_server"))
GUARDS = """
stretto_guards = 1
[[checks]]
name = "a known order"
tools = ["cancel_order"]
[checks.arguments.order_id]
seen = true
"""


def committing(*calls: tuple[str, dict[str, Any]]) -> Step:
    return tool(COMMIT_TOOL, calls=[{"name": name, "arguments": arguments} for name, arguments in calls])


LOOK = ("get_order_details", {"order_id": "#W1000"})
UNSEEN = ("cancel_order", {"order_id": "#W1005", "reason": "no longer needed"})


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
def test_the_official_client_commits_in_both_eras_and_the_recording_teaches_the_single_calls(
    mode: str, tmp_path: Path
) -> None:
    (tmp_path / "guards.toml").write_text(GUARDS, encoding="utf-8")
    flow = tmp_path / "shop.flow.json"
    write_flow(flow, shop_flow())
    options = ("--record", str(tmp_path / "logs"), "--guards", str(tmp_path / "guards.toml"), "--flow", str(flow))
    find = ("find_user_id_by_email", {"email": "ada.lovelace@example.com"})
    cancel = ("cancel_order", {"order_id": "#W1000", "reason": "no longer needed"})
    steps = [
        Step("list", lambda talk: talk.client.list_tools()),
        committing(find, LOOK, cancel),
        committing(UNSEEN, LOOK),
        tool("get_order_details", order_id="#W1000"),
    ]
    record = converse(DEMO.behind(*options, "--commit"), steps, mode=mode, errlog=tmp_path / "errors.txt")
    assert record[1][1]["tools"][-1]["name"] == COMMIT_TOOL
    done, stopped, shown = (each[1] for each in record[2:5])
    assert not done["isError"]
    assert done["content"][0]["text"].startswith("Done: 3 of 3 calls.")
    assert stopped["isError"]
    assert "Stopped at call 1 of 2: it was refused." in stopped["content"][0]["text"]
    assert "cancelled" in shown["content"][0]["text"]
    (log,) = (path for path in (tmp_path / "logs").glob("*.jsonl") if not path.name.endswith(".flow.jsonl"))
    lines = [(entry.sender, entry.message) for entry in read_log(log)[1] if isinstance(entry.message, dict)]
    called = Counter((who, said["params"]["name"]) for who, said in lines if said.get("method") == "tools/call")  # type: ignore[call-overload, index]
    assert called == {
        ("client", COMMIT_TOOL): 2,
        ("proxy", "find_user_id_by_email"): 1,
        ("proxy", "get_order_details"): 1,
        ("proxy", "cancel_order"): 1,
        ("client", "get_order_details"): 1,
    }
    corpus = open_corpus(log)
    [recorded] = corpus
    names = [each.name for turn in recorded.episode.turns() for each in turn.calls]
    assert names == ["find_user_id_by_email", "get_order_details", "cancel_order", "get_order_details"]
    assert COMMIT_TOOL not in recorded.manifest.tools
    learned = learn(corpus, LearnOptions(features=False), provenance=Provenance("test"))
    assert learned.manifest.tools["cancel_order"] == "write"
    assert COMMIT_TOOL not in learned.vocabulary.tools
    assert "cancel_order" in learned.vocabulary.tools


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
def test_the_official_client_cancels_a_commit(mode: str, tmp_path: Path) -> None:
    slow = Peer((*DEMO.command, "--slow", "2000"))

    async def give_up(talk: Talk) -> str:
        return await abandoned(talk, COMMIT_TOOL, {"calls": [{"name": LOOK[0], "arguments": LOOK[1]}] * 5}, 0.5)

    steps = [Step("give up", give_up), Step("list", lambda talk: talk.client.list_tools())]
    peer = slow.behind("--commit", "--record", str(tmp_path))
    record = converse(peer, steps, mode=mode, errlog=tmp_path / "errors.txt")
    assert record[1] == ["give up", "cancelled"]
    (log,) = tmp_path.glob("*.jsonl")
    said = [(entry.sender, entry.message) for entry in read_log(log)[1] if isinstance(entry.message, dict)]
    own = [message for who, message in said if who == "proxy" and "method" in message]
    assert [message["method"] for message in own] == ["tools/call", "notifications/cancelled"]

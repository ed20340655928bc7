"""The demonstration server, driven by the official MCP SDK's client and by hand."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from stretto.proxy import demo_server
from stretto.proxy.demo_server import DemoServer
from stretto.proxy.demo_shop import TOOLS, Shop, UnknownToolError
from tests.conftest import ROOT
from tests.stretto.proxy.mcp_peers import ANY, HANDSHAKE, MODERN, Peer, Step, abandoned, converse, together

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = (sys.executable, "-m", "stretto.proxy.demo_server")
META = "io.modelcontextprotocol/"
ENVELOPE = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
ADA = "ada_lovelace_1000"


def demo(*options: str) -> Peer:
    """The server with options."""
    return Peer((*COMMAND, *options), {"PYTHONPATH": str(ROOT)})


def talk(peer: Peer, tmp_path: Path, *steps: Step, mode: str = ANY) -> dict[str, Any]:
    """Outcomes by name; the server has nothing to say on standard error."""
    errors = tmp_path / "stderr"
    record = converse(peer, steps, mode=mode, errlog=errors)
    assert errors.read_text(encoding="utf-8") == ""
    return {item[0]: item[1] for item in record}


def answers(*messages: Any, server: DemoServer | None = None) -> list[Any]:
    """What the server sends when it takes these, as objects or as lines."""
    sent: list[Any] = []
    server = server or DemoServer(sent.append)
    for message in messages:
        server.take(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
    return sent


def request(method: str, request_id: object = 1, **params: Any) -> dict[str, Any]:
    """One request."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def call(name: str, request_id: object = 1, **arguments: Any) -> dict[str, Any]:
    """One call of a tool, without an envelope."""
    return request("tools/call", request_id, name=name, arguments=arguments)


@pytest.mark.parametrize(("mode", "version"), [(HANDSHAKE, "2025-11-25"), (ANY, "2026-07-28"), (MODERN, "2026-07-28")])
def test_the_official_client_works_with_the_shop_in_both_eras(mode: str, version: str, tmp_path: Path) -> None:
    email = "ada.lovelace@example.com"
    said = talk(
        demo(),
        tmp_path,
        Step("tools", lambda talk: talk.client.list_tools()),
        Step("find", lambda talk: talk.client.call_tool("find_user_id_by_email", {"email": email})),
        Step("user", lambda talk: talk.client.call_tool("get_user_details", {"user_id": ADA})),
        Step("list", lambda talk: talk.client.call_tool("list_orders", {"user_id": ADA})),
        Step(
            "cancel",
            lambda talk: talk.client.call_tool("cancel_order", {"order_id": "#W1000", "reason": "no longer needed"}),
        ),
        Step("order", lambda talk: talk.client.call_tool("get_order_details", {"order_id": "#W1000"})),
        Step("none", lambda talk: talk.client.call_tool("get_order_details", {"order_id": "#W9"})),
        Step("unknown", lambda talk: talk.client.call_tool("buy", {})),
        Step("prompts", lambda talk: talk.client.list_prompts()),
        mode=mode,
    )
    assert said["opening"] == version
    assert [one["name"] for one in said["tools"]["tools"]] == [one["name"] for one in TOOLS]
    assert [one["annotations"]["readOnlyHint"] for one in said["tools"]["tools"]] == [True, True, True, True, False]
    assert said["find"]["content"] == [{"type": "text", "text": ADA}]
    assert json.loads(said["user"]["content"][0]["text"])["orders"] == ["#W1000"]
    assert said["list"]["structuredContent"] == {"orders": [{"order_id": "#W1000", "status": "pending"}]}
    assert json.loads(said["list"]["content"][0]["text"]) == said["list"]["structuredContent"]
    assert json.loads(said["order"]["content"][0]["text"])["status"] == "cancelled"
    assert said["order"] == said["cancel"]
    assert said["none"]["isError"] is True
    assert said["none"]["content"][0]["text"] == "Order not found"
    assert said["unknown"]["refused"][:2] == [-32602, "Unknown tool: buy"]
    assert said["prompts"]["refused"][0] == -32601


@pytest.mark.case("HC-27")
@pytest.mark.parametrize("mode", [HANDSHAKE, ANY])
def test_the_official_client_walks_the_pages_of_the_tool_list(mode: str, tmp_path: Path) -> None:
    said = talk(
        demo("--page-size", "2"),
        tmp_path,
        Step("1", lambda talk: talk.client.list_tools()),
        Step("2", lambda talk: talk.client.list_tools(cursor="2")),
        Step("3", lambda talk: talk.client.list_tools(cursor="4")),
        Step("4", lambda talk: talk.client.list_tools(cursor="3")),
        mode=mode,
    )
    assert [said[page].get("nextCursor") for page in "123"] == ["2", "4", None]
    assert [one["name"] for page in "123" for one in said[page]["tools"]] == [one["name"] for one in TOOLS]
    assert said["4"]["refused"][:2] == [-32602, "No such cursor"]


@pytest.mark.parametrize("mode", [HANDSHAKE, ANY])
def test_slow_calls_wait_beside_each_other_and_a_cancelled_one_is_never_made(mode: str, tmp_path: Path) -> None:
    cancel = {"order_id": "#W1000", "reason": "no longer needed"}
    said = talk(
        demo("--slow", "400"),
        tmp_path,
        Step("gone", lambda talk: abandoned(talk, "cancel_order", cancel, 0.1)),
        Step(
            "both",
            lambda talk: together(
                talk.client.call_tool("find_user_id_by_email", {"email": "alan.turing@example.com"}),
                talk.client.call_tool("get_order_details", {"order_id": "#W1000"}),
            ),
        ),
        mode=mode,
    )
    assert said["gone"] == "cancelled"
    found, order = said["both"]
    assert found["content"][0]["text"] == "alan_turing_1037"
    assert json.loads(order["content"][0]["text"])["status"] == "pending"


def test_a_call_that_was_cancelled_gets_no_answer() -> None:
    sent: list[Any] = []
    server = DemoServer(sent.append, slow=30)
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "1"}}
    answers(call("list_orders", "1", user_id=ADA), note, request("tools/list", "2"), server=server)
    assert [message["id"] for message in sent] == ["2"]
    server.close()


@pytest.mark.case("HC-25")
def test_ids_keep_value_and_type_and_other_ids_are_refused() -> None:
    ids = [7, "7", 0, "", "a b", 9007199254740993, -1]
    sent = answers(*(request("ping", one) for one in ids))
    assert [(message["id"], type(message["id"])) for message in sent] == [(one, type(one)) for one in ids]
    refused = answers(*(request("ping", one) for one in (None, True, 1.5)))
    assert [(message["id"], message["error"]["code"]) for message in refused] == [(None, -32600)] * 3


def test_ids_of_slow_calls_are_told_apart_by_type() -> None:
    sent: list[Any] = []
    server = DemoServer(sent.append, slow=30)
    answers(call("list_orders", 1, user_id=ADA), call("list_orders", "1", user_id=ADA), server=server)
    assert len(server._waiting) == 2
    server.close()


def test_what_is_no_message_is_answered_or_passed_over() -> None:
    sent = answers(
        b"\n", b"no json\n", b"[" * 100_000 + b"\n", b"[1]\n", b'"x"\n', {"jsonrpc": "2.0", "id": 1, "result": {}}
    )
    assert [message["error"]["code"] for message in sent] == [-32700, -32700, -32600, -32600]
    sent = answers({"id": 1, "method": 2}, {"id": 1, "method": "ping", "params": []}, request("tools/call", name=3))
    assert [message["error"]["code"] for message in sent] == [-32600, -32600, -32602]


def test_the_first_request_decides_the_era() -> None:
    opening = request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
    sent = answers(opening, request("ping"), request("tools/list", _meta=ENVELOPE), request("server/discover"))
    assert sent[0]["result"]["protocolVersion"] == "2025-06-18"
    assert "resultType" not in sent[1]["result"]
    assert [message["error"]["code"] for message in sent[2:]] == [-32600, -32601]

    sent = answers(
        request("server/discover", _meta=ENVELOPE), opening, request("tools/list"), request("ping", _meta=ENVELOPE)
    )
    assert sent[0]["result"]["supportedVersions"] == ["2026-07-28"]
    assert sent[0]["result"]["_meta"][f"{META}serverInfo"]["name"] == "stretto-mcp-demo"
    assert [message["error"]["code"] for message in sent[1:]] == [-32022, -32602, -32601]


def test_a_version_nobody_knows_is_answered_with_those_that_are() -> None:
    (sent,) = answers(request("initialize", protocolVersion="1999-01-01"))
    assert sent["result"]["protocolVersion"] == "2025-11-25"
    later, incomplete, fine = answers(
        request("tools/list", _meta={**ENVELOPE, f"{META}protocolVersion": "2030-01-01"}),
        request("tools/list", _meta={f"{META}protocolVersion": "2026-07-28"}),
        request("tools/list", _meta=ENVELOPE),
    )
    assert later["error"]["code"] == -32022
    assert later["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2030-01-01"}
    assert incomplete["error"]["code"] == -32602
    assert fine["result"]["cacheScope"] == "public"


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("get_user_details", {}, "Missing argument: user_id"),
        ("get_user_details", {"user_id": ADA, "x": "1"}, "Unknown argument: x"),
        ("get_user_details", {"user_id": 7}, "user_id must be a string"),
        ("get_user_details", {"user_id": "nobody"}, "User not found"),
        ("list_orders", {"user_id": "nobody"}, "User not found"),
        ("find_user_id_by_email", {"email": "nobody@example.com"}, "User not found"),
        ("cancel_order", {"order_id": "#W1000", "reason": "bored"}, "reason must be one of"),
        ("cancel_order", {"order_id": "#W1001", "reason": "no longer needed"}, "is delivered"),
    ],
)
def test_what_does_not_fit_is_an_error_for_the_model(name: str, arguments: dict[str, Any], text: str) -> None:
    result = Shop().call(name, arguments)
    assert result["isError"] is True
    assert text in json.dumps(result["content"])


def test_the_shop_is_the_same_every_time_and_an_unknown_tool_is_none_of_it() -> None:
    assert Shop()._users == Shop()._users
    assert Shop()._orders == Shop()._orders
    with pytest.raises(UnknownToolError):
        Shop().call("buy", {})


def test_the_server_ends_with_its_input_and_needs_no_line_end() -> None:
    lines = json.dumps(request("ping")) + "\n" + json.dumps(request("ping", 2))
    done = subprocess.run(COMMAND, input=lines, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_client_that_is_gone_and_ctrl_c_end_the_server_without_a_traceback() -> None:
    with subprocess.Popen(
        COMMAND, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as gone:
        assert gone.stdin is not None
        assert gone.stdout is not None
        gone.stdout.close()
        gone.stdin.write(json.dumps(request("ping")).encode() + b"\n")
        gone.stdin.flush()
        assert gone.wait(20) == 0
        assert gone.stderr is not None
        assert gone.stderr.read() == b""
    with subprocess.Popen(
        COMMAND, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as stopped:
        assert stopped.stdin is not None
        assert stopped.stdout is not None
        stopped.stdin.write(json.dumps(request("ping")).encode() + b"\n")
        stopped.stdin.flush()
        stopped.stdout.readline()
        stopped.send_signal(signal.SIGINT)
        assert stopped.wait(20) == 130
        assert stopped.stderr is not None
        assert stopped.stderr.read() == b""


@pytest.mark.parametrize(
    "wrong", [["--page-size", "0"], ["--page-size", "6"], ["--slow", "-1"], ["--slow", "x"], ["x"]]
)
def test_a_wrong_argument_ends_with_2(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        demo_server.main(wrong)
    assert ended.value.code == 2
    assert "stretto-mcp-demo" in capsys.readouterr().err


def test_nothing_but_the_standard_library_is_loaded() -> None:
    code = "import sys, stretto.proxy.demo_server; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=20, check=True
    )
    loaded = {name for name in done.stdout.split() if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert loaded <= {"stretto", "waggle"}

"""What ``doctor`` says of servers: those of the known hosts, and one whose command is given."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.stretto.cli.stretto_cli_support import RETAIL_5, ran_json, refused
from tests.stretto.cli.test_stretto_command import documented
from tests.stretto.http_shop import http_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stretto.http_shop import Shop

DEMO = (sys.executable, "-m", "stretto.proxy.demo_server")


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data directory of its own, and no other installation on the PATH."""
    monkeypatch.setenv("STRETTO_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", "")


def checks(*args: object, code: int = 0) -> list[dict[str, str]]:
    document = ran_json("doctor", *args, code=code)
    documented("doctor", document)
    return [each for each in document["checks"] if each["check"].startswith("server")]


def found(*args: object, code: int = 0) -> dict[str, dict[str, str]]:
    return {each["check"]: each for each in checks(*args, code=code)}


def cursor(home: Path, **servers: Any) -> Path:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def test_a_server_whose_command_is_given_lists_its_tools(here: Path) -> None:
    said = found("--", *DEMO)
    assert "stretto-mcp-demo" in said["server"]["found"]
    assert said["server"]["found"].endswith("5 tools: 4 read, 1 writes")
    assert said["server: get_order_details"]["found"] == "reads; takes order_id:string!"
    assert said["server: cancel_order"]["found"].startswith("writes; takes order_id:string!")


@pytest.mark.case("HC-28")
def test_a_flow_that_expects_other_tools_is_1_and_says_which(here: Path) -> None:
    """The flow of a larger shop."""
    said = found("--flow", RETAIL_5, "--", *DEMO, code=1)
    assert said["server: get_product_details"] == {
        "check": "server: get_product_details",
        "state": "problem",
        "found": "the server does not list it",
        "remedy": "learn the flow anew from sessions with the server as it is",
    }
    assert said["server: get_order_details"]["state"] == "ok"
    assert said["server: list_orders"]["found"].endswith("; the flow does not know it")


def test_servers_of_hosts_are_started_only_when_that_is_asked_for(own_home: Path, here: Path) -> None:
    marker = here / "started"
    script = f"open({str(marker)!r}, 'w').close()"
    path = cursor(
        own_home, mine={"command": sys.executable, "args": ["-c", script]}, far={"type": "sse", "url": "https://x"}
    )
    said = checks()
    calls, over_sse, starts = (each["found"] for each in said)
    assert (calls, starts) == (f"Cursor calls it, {path}", f"Cursor starts it without the proxy, {path}")
    assert over_sse.startswith("it is called over HTTP+SSE")
    assert not marker.exists()
    (*_, problem) = checks("--servers", code=1)
    assert marker.exists()
    assert problem["found"] == "ends with 0 instead of answering initialize"
    assert problem["state"] == "problem"


def test_a_file_is_read_once_where_the_project_is_the_users_home(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own_home)
    cursor(own_home, far={"url": "https://x"})
    assert len(checks()) == 1


def test_a_server_behind_the_proxy_is_looked_at_itself_and_compared_with_its_flow(own_home: Path, here: Path) -> None:
    served = ["--record", "r", "--flow", str(RETAIL_5), "--", *DEMO]
    cursor(own_home, shop={"command": "stretto-proxy", "args": served})
    assert found()["server shop"]["found"].startswith("Cursor starts it behind the proxy")
    assert found("--servers", code=1)["server shop: get_product_details"]["state"] == "problem"
    assert not (here / "r").exists()


def test_a_flow_goes_with_the_server_called_as_its_domain(own_home: Path, here: Path) -> None:
    cursor(own_home, retail={"command": DEMO[0], "args": [*DEMO[1:]]}, other={"command": DEMO[0], "args": [*DEMO[1:]]})
    said = found("--servers", "--flow", RETAIL_5, code=1)
    assert said["server retail: get_product_details"]["state"] == "problem"
    assert "server other: get_product_details" not in said
    assert said["server other: list_orders"]["state"] == "ok"


def test_a_flow_that_no_server_is_called_as_is_a_problem(here: Path) -> None:
    said = found("--servers", "--flow", RETAIL_5, code=1)
    assert said["servers"]["found"] == "no host has a server retail"


def test_a_flow_that_cannot_be_served_is_a_problem_before_anything_is_started(own_home: Path, here: Path) -> None:
    cursor(own_home, shop={"command": "stretto-proxy", "args": ["--flow", "/gone.json", "--", "x"]})
    problem = checks(code=1)[-1]
    assert problem["found"].startswith("its flow cannot be served: /gone.json: ")


def test_a_hosts_file_that_is_no_json_is_noted(own_home: Path, here: Path) -> None:
    path = cursor(own_home)
    path.write_text("// mine\n{}")
    (note,) = checks()
    assert (note["check"], note["state"]) == ("servers of Cursor", "note")
    assert note["found"].startswith(f"{path}: is no JSON")


def test_a_server_that_marks_no_tool_as_reading_is_noted(here: Path) -> None:
    script = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    r = json.loads(line)\n"
        "    tools = [{'name': 'a', 'inputSchema': {}}]\n"
        "    result = {'tools': tools} if r['method'] == 'tools/list' else {'protocolVersion': '2025-06-18'}\n"
        "    'id' in r and print(json.dumps({'jsonrpc': '2.0', 'id': r['id'], 'result': result}), flush=True)\n"
    )
    said = found("--", sys.executable, "-c", script)
    assert said["server"]["state"] == "note"
    assert "of none it says that it reads" in said["server"]["found"]
    assert said["server: a"]["found"] == "does not say whether it reads; takes nothing"


def test_a_user_without_a_home_is_told_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", nowhere)
    (note,) = checks()
    assert note["found"].startswith("no home directory is known for this user")


def test_options_that_do_not_go_together_are_refused(here: Path) -> None:
    assert refused("doctor", "--flow", RETAIL_5).startswith("--flow is compared with a server")
    assert refused("doctor", "--servers", "--", "x").startswith("--servers looks at those that hosts have")
    assert refused("doctor", "--flow", "gone.json", "--servers").startswith("gone.json: ")


# --- servers that are called ----------------------------------------------------------------------------------


@pytest.fixture
def shop() -> Iterator[Shop]:
    with http_shop("Bearer s3cret") as running:
        yield running


def test_a_server_that_is_called_lists_its_tools_with_what_its_entry_sends(
    own_home: Path, here: Path, shop: Shop
) -> None:
    path = cursor(own_home, shop={"url": shop.url, "headers": {"Authorization": "Bearer s3cret"}})
    assert [each["found"] for each in checks()] == [f"Cursor calls it, {path}"]
    assert not shop.keys  # nobody called it unasked
    said = found("--servers")
    assert said["server shop"]["found"].startswith("http-shop 7, protocol ")
    assert said["server shop: get_order"]["found"].startswith("reads; takes order_id:string!")
    assert said["server shop: cancel_order"]["found"].startswith("writes; takes order_id:string!")
    assert set(shop.keys) == {"Bearer s3cret"}


def test_a_server_that_is_called_behind_the_proxy_is_looked_at_and_nothing_is_recorded(
    own_home: Path, here: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "Bearer s3cret")
    args = ["--record", str(here / "r"), "--upstream", shop.url, "--upstream-header", "Authorization=SHOP_KEY"]
    cursor(own_home, shop={"command": "stretto-proxy", "args": args})
    assert found()["server shop"]["found"].startswith("Cursor starts it behind the proxy")
    assert found("--servers")["server shop"]["found"].startswith("http-shop 7, protocol ")
    assert not (here / "r").exists()


def test_a_server_that_refuses_its_caller_is_a_problem_and_the_key_is_not_repeated(
    own_home: Path, here: Path, shop: Shop
) -> None:
    cursor(own_home, shop={"url": shop.url, "headers": {"Authorization": "Bearer wr0ng"}})
    problem = found("--servers", code=1)["server shop"]
    assert (problem["state"], problem["remedy"]) == ("problem", "see that it runs, and what it has to be sent")
    assert "wr0ng" not in str(problem)
    assert set(shop.keys) == {"Bearer wr0ng"}


def test_a_server_that_nobody_runs_is_a_problem(own_home: Path, here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    cursor(own_home, shop={"url": f"http://127.0.0.1:{port}/mcp"})
    assert found("--servers", code=1)["server shop"]["state"] == "problem"


def test_what_an_entry_needs_and_is_not_there_is_told_before_anything_is_called(own_home: Path, here: Path) -> None:
    args = ["--upstream", "https://shop.test/mcp", "--upstream-header", "Authorization=SHOP_KEY"]
    cursor(own_home, shop={"command": "stretto-proxy", "args": args})
    note = checks("--servers")[-1]
    assert note["state"] == "note"
    assert note["found"].startswith("the variable SHOP_KEY of its header Authorization is set neither")


def test_a_host_that_starts_a_proxy_that_listens_is_a_problem(own_home: Path, here: Path) -> None:
    cursor(own_home, shop={"command": "stretto-proxy", "args": ["--listen", "127.0.0.1:8123", "--", "x"]})
    problem = checks(code=1)[-1]
    assert problem["state"] == "problem"
    assert problem["remedy"] == "start it yourself, and give the host its URL: stretto init --listen"


@pytest.mark.parametrize(
    ("mode", "content", "told"),
    [
        (0o600, "", "holds no token"),
        pytest.param(
            0o644, "t", "can be read by others", marks=pytest.mark.skipif(os.name != "posix", reason="needs modes")
        ),
        (None, "", "cannot be used"),
        (0o600, "t", ""),
    ],
)
def test_a_token_file_is_there_and_the_users_own(
    own_home: Path, here: Path, mode: int | None, content: str, told: str
) -> None:
    token = here / "token"
    if mode is not None:
        token.write_text(content)
        token.chmod(mode)
    args = ["--listen", "127.0.0.1:8123", "--listen-token-file", "token", "--", "x"]
    cursor(own_home, shop={"command": "stretto-proxy", "args": args, "cwd": str(here)})
    said = [each["found"] for each in checks(code=1) if "token file" in each["found"]]
    assert len(said) == bool(told)
    assert told in "".join(said)

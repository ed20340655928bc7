"""The proxy in the place of a server: what ``init`` prints, and what it does to a host's file."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stretto.cli.stretto_cli_support import COLD_START, RETAIL_5, files_of, ran, ran_json, refused, run
from tests.stretto.cli.test_stretto_command import documented

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVER = ("--", "npx", "-y", "shop server")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STRETTO_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def init(host: str = "cursor", *more: object) -> Sequence[object]:
    return ("init", "--host", host, "--domain", "shop", *more, *SERVER)


def test_claude_code_gets_its_line_and_the_steps_go_to_standard_error(here: Path, data: Path) -> None:
    result = run(*init("claude-code"))
    assert result.stdout == (
        f"claude mcp add shop -- stretto-proxy --record {data}/logs/shop --domain shop -- npx -y 'shop server'\n"
    )
    steps = [line for line in result.stderr.splitlines() if line[0].isdigit()]
    assert steps[0] == "1. run that line; then start a new session of Claude Code"
    assert not files_of(here)
    assert not data.exists()


def test_other_hosts_get_json_alone_on_standard_output(here: Path, data: Path) -> None:
    args = ["--record", f"{data}/logs/shop", "--domain", "shop", *SERVER]
    entry = {"command": "stretto-proxy", "args": args}
    assert json.loads(ran(*init("claude-desktop"))) == {"mcpServers": {"shop": entry}}
    assert json.loads(ran(*init("json"))) == {"mcpServers": {"shop": entry}}
    assert json.loads(ran(*init("vscode"))) == {"servers": {"shop": {"type": "stdio", **entry}}}


def test_a_flow_brings_its_decider_and_shadow_its_own_place(here: Path, data: Path, shop_flow: Path) -> None:
    command = ran_json(*init("json", "--flow", shop_flow))["command"]
    assert command[5:9] == ["--flow", str(shop_flow), "--flow-decider", "reach"]
    shutil.copy(RETAIL_5, "habit.json")
    command = ran_json(*init("json", "--flow", "habit.json", "--shadow", "--record", "there"))["command"]
    assert command[1:3] == ["--record", str(here / "there")]
    assert command[5:10] == ["--flow", str(here / "habit.json"), "--flow-decider", "habit", "--flow-shadow"]
    command = ran_json(*init("json", "--flow", COLD_START, "--shadow"))["command"]
    assert command[1:3] == ["--record", str(data / "shadow" / "shop")]
    assert "--flow-decider" not in command


def test_writing_makes_the_hosts_file_and_says_where(here: Path, own_home: Path) -> None:
    path = own_home / ".cursor" / "mcp.json"
    assert f"would write {path}" in run(*init("cursor", "--write", "--dry-run")).stderr
    assert not path.exists()
    result = run(*init("cursor", "--write"))
    assert result.exit_code == 0
    assert f"1. {path} has shop now" in result.stderr
    assert path.read_text() == result.stdout
    assert files_of(own_home) == {".cursor/mcp.json": path.read_bytes()}


@pytest.mark.parametrize(("host", "path"), [("claude-code", ".mcp.json"), ("vscode", ".vscode/mcp.json")])
def test_a_projects_file_is_written_here(here: Path, host: str, path: str) -> None:
    document = ran_json(*init(host, "--write"))
    assert document["path"] == str(here / path)
    assert json.loads((here / path).read_bytes()) == document["configuration"]


def test_all_else_in_the_file_stays_and_the_former_one_is_kept(own_home: Path, here: Path) -> None:
    path = own_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    before = b'\xef\xbb\xbf{"x": 1.50,\r\n "mcpServers": {\r\n  "a": {"url": "\xc3\xa4"}\r\n }\r\n}\r\n'
    path.write_bytes(before)
    path.chmod(0o600)
    document = ran_json(*init("cursor", "--write"))
    after = path.read_bytes()
    head, tail = before.split(b"\r\n }")
    assert after.startswith(head + b",\r\n  ")
    assert after.endswith(b"\r\n }" + tail)
    backup = Path(document["backup"])
    assert backup == path.with_name("mcp.json.bak")
    assert backup.read_bytes() == before
    assert {stat.S_IMODE(each.stat().st_mode) for each in (path, backup)} == {0o600}


def test_a_server_that_is_there_is_replaced_only_by_force_and_keeps_its_environment(own_home: Path, here: Path) -> None:
    path = own_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    first = json.dumps({"mcpServers": {"shop": {"command": "npx", "env": {"KEY": "k"}}}})
    path.write_text(first)
    assert refused(*init("cursor", "--write")) == f"{path}: has a server shop; --force replaces it"
    assert path.read_text() == first
    ran(*init("cursor", "--write", "--force"))
    entry = json.loads(path.read_text())["mcpServers"]["shop"]
    assert (entry["command"], entry["env"]) == ("stretto-proxy", {"KEY": "k"})
    second = path.read_bytes()
    assert ran_json(*init("cursor", "--write"))["backup"] is None  # it says so already
    assert path.read_bytes() == second
    ran(*init("cursor", "--write", "--force", "--record", "elsewhere"))
    assert path.with_name("mcp.json.bak").read_text() == first
    assert path.with_name("mcp.json.bak2").read_bytes() == second


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"mcpServers": {},}', "is no JSON"),
        (b"// mine\n{}", "is no JSON"),
        (b"\xff\xfe{}", "is no JSON"),
        (b"[]", "expected an object @ $"),
        (b'{"mcpServers": 1}', "expected an object @ $.mcpServers"),
    ],
)
def test_a_file_that_cannot_be_added_to_is_left_alone(own_home: Path, here: Path, content: bytes, problem: str) -> None:
    path = own_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(content)
    said = refused(*init("cursor", "--write", "--force"))
    assert said.startswith(f"{path}: is no JSON that can be added to")
    assert problem in said
    assert said.endswith("add what init prints without --write by hand")
    assert files_of(path.parent) == {"mcp.json": content}


def test_an_empty_file_is_filled(own_home: Path, here: Path) -> None:
    (here / ".mcp.json").write_bytes(b"")
    assert ran_json(*init("claude-code", "--write"))["backup"] is None
    assert "shop" in json.loads((here / ".mcp.json").read_bytes())["mcpServers"]


@pytest.mark.case("HC-18")
def test_a_link_to_the_file_stays_a_link(own_home: Path, here: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "mcp.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    (own_home / ".cursor").mkdir()
    (own_home / ".cursor" / "mcp.json").symlink_to(kept)
    ran(*init("cursor", "--write"))
    assert (own_home / ".cursor" / "mcp.json").is_symlink()
    assert "shop" in json.loads(kept.read_bytes())["mcpServers"]
    assert sorted(path.name for path in kept.parent.iterdir()) == ["mcp.json", "mcp.json.bak"]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs permissions that hold")
def test_a_place_that_cannot_be_written_is_4(own_home: Path, here: Path) -> None:
    (own_home / ".cursor").mkdir(mode=0o500)
    assert "cannot" in refused(*init("cursor", "--write"), code=4)


def test_what_cannot_be_done_is_one_line(here: Path) -> None:
    assert refused(*init("json", "--write")).startswith("--write needs a host with a file of its own")
    assert refused(*init("json", "--flow", "nowhere.json")).startswith("nowhere.json: ")
    assert refused(*init("json", "--shadow")) == "--shadow lets a flow watch; give it with --flow"
    assert refused("init", "--host", "json", "--domain", "shop").endswith("or its command after --")
    assert "cannot be a domain" in refused("init", "--host", "json", "--domain", "../x", *SERVER)
    assert run("init", "--host", "emacs", "--domain", "x", *SERVER).exit_code == 2


@pytest.mark.parametrize("more", [(), ("--shadow",)], ids=["acting", "watching"])
def test_what_the_host_starts_is_a_command_line_that_the_proxy_takes(
    here: Path, data: Path, shop_flow: Path, more: tuple[str, ...]
) -> None:
    """With a host that leaves at once."""
    server = ("--", sys.executable, "-m", "stretto.proxy.demo_server")
    given = ("--host", "json", "--domain", "shop", "--flow", shop_flow, *more)
    program, *args = ran_json("init", *given, *server)["command"]
    path = Path(sys.executable).with_name(program)
    done = subprocess.run([path, *args], input=b"", capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list((data / ("shadow" if more else "logs") / "shop").glob("*.jsonl"))


def test_every_key_is_documented(here: Path) -> None:
    documented("init", ran_json(*init("claude-code", "--write")))
    documented("init", ran_json(*init("vscode")))


# --- servers that are called, and a proxy that is called -------------------------------------------------------

CALLED = ("--upstream", "https://shop.test/mcp", "--upstream-header", "Authorization=SHOP_KEY")


def called(host: str, *more: object) -> Sequence[object]:
    return ("init", "--host", host, "--domain", "shop", *more)


def test_a_server_that_is_called_is_called_by_the_proxy_that_the_host_starts(here: Path, data: Path) -> None:
    args = ["--record", f"{data}/logs/shop", "--domain", "shop", "--waggle", *CALLED]
    document = ran_json(*called("claude-desktop", "--waggle", *CALLED))
    assert document["configuration"] == {"mcpServers": {"shop": {"command": "stretto-proxy", "args": args}}}
    assert document["next"][0] == "put SHOP_KEY, which is sent as Authorization, into the env of the entry"
    assert document["url"] is None
    assert ran_json(*called("vscode", *CALLED))["configuration"] == {
        "inputs": [{"type": "promptString", "id": "SHOP_KEY", "description": "SHOP_KEY", "password": True}],
        "servers": {
            "shop": {
                "type": "stdio",
                "command": "stretto-proxy",
                "args": [arg for arg in args if arg != "--waggle"],
                "env": {"SHOP_KEY": "${input:SHOP_KEY}"},
            }
        },
    }


def test_a_host_that_starts_servers_outside_of_projects_has_to_be_told_whose_routes_act(here: Path, data: Path) -> None:
    advice = "say whose routes act with --waggle-project DIR: Claude Desktop starts servers outside of projects"
    assert ran_json(*called("claude-desktop", "--waggle", "--", "server"))["next"][0] == advice
    assert advice not in ran_json(*called("vscode", "--waggle", "--", "server"))["next"]
    told = ran_json(*called("claude-desktop", "--waggle", "--waggle-project", "p", "--", "server"))
    assert told["command"][-5:] == ["--waggle", "--waggle-project", str(here / "p"), "--", "server"]
    assert advice not in told["next"]


def test_a_proxy_that_listens_is_started_by_the_user_and_called_by_the_host(here: Path, data: Path) -> None:
    listen = ("--listen", "127.0.0.1:8123", "--listen-token-file", "token")
    result = run(*called("claude-code", *listen, *SERVER))
    assert result.stdout == (
        "claude mcp add --transport http shop http://127.0.0.1:8123/mcp"
        " --header 'Authorization: Bearer ${STRETTO_SHOP_TOKEN}'\n"
    )
    assert (
        f"start the proxy, and let it run: stretto-proxy --record {data}/logs/shop --domain shop"
        f" --listen 127.0.0.1:8123 --listen-token-file {here}/token -- npx -y 'shop server'\n"
    ) in result.stderr
    document = ran_json(*called("cursor", "--listen", "127.0.0.1:8123", *CALLED))
    assert document["configuration"] == {"mcpServers": {"shop": {"url": "http://127.0.0.1:8123/mcp"}}}
    assert document["url"] == "http://127.0.0.1:8123/mcp"
    assert document["command"][-6:] == ["--listen", "127.0.0.1:8123", *CALLED]
    documented("init", document)


def test_an_entry_with_a_url_becomes_one_with_a_command(own_home: Path, here: Path) -> None:
    path = own_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    first = {"url": "https://shop.test/mcp", "headers": {"Authorization": "Bearer s3cret", "X-Tenant": "7"}, "own": 1}
    path.write_text(json.dumps({"mcpServers": {"shop": first}}))
    assert refused(*called("cursor", "--write", *CALLED)).endswith("has a server shop; --force replaces it")
    result = run(*called("cursor", "--write", "--force", *CALLED))
    assert result.exit_code == 0
    entry = json.loads(path.read_text())["mcpServers"]["shop"]
    assert entry == {
        "own": 1,
        "command": "stretto-proxy",
        "args": entry["args"],
        "env": {"SHOP_KEY": "${env:SHOP_KEY}"},
    }
    assert entry["args"][-4:] == [*CALLED]
    assert "the headers X-Tenant of the former entry are not sent any more" in result.stderr
    assert "s3cret" not in result.output
    assert json.loads(path.with_name("mcp.json.bak").read_text()) == {"mcpServers": {"shop": first}}


def test_an_entry_with_a_command_becomes_one_with_a_url_that_is_written_once(own_home: Path, here: Path) -> None:
    path = own_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"shop": {"command": "npx", "args": ["x"], "env": {"KEY": "s3cret"}}}}))
    listen = ("--listen", "127.0.0.1:8123")
    result = run(*called("cursor", "--write", "--force", *listen, *SERVER))
    assert json.loads(path.read_text()) == {"mcpServers": {"shop": {"url": "http://127.0.0.1:8123/mcp"}}}
    assert "1. set KEY in the shell that starts the proxy; the former entry did\n" in result.stderr
    document = ran_json(*called("cursor", "--write", *listen, *SERVER, "--another", "server"))
    assert document["backup"] is None  # it calls the proxy already, whatever that starts


def test_what_vs_code_has_to_ask_for_is_added_to_what_it_asks_for(here: Path) -> None:
    path = here / ".vscode" / "mcp.json"
    path.parent.mkdir()
    other = {"type": "promptString", "id": "other", "password": True}
    path.write_text(json.dumps({"inputs": [other], "servers": {"a": {"command": "x"}}}))
    ran(*called("vscode", "--write", *CALLED))
    content = json.loads(path.read_text())
    assert [each["id"] for each in content["inputs"]] == ["other", "SHOP_KEY"]
    assert content["inputs"][0] == other
    assert list(content["servers"]) == ["a", "shop"]
    before = path.read_bytes()
    assert ran_json(*called("vscode", "--write", *CALLED))["backup"] is None
    assert path.read_bytes() == before
    path.write_text('{"inputs": {}}')
    said = refused(*called("vscode", "--write", *CALLED))
    assert "is no JSON that can be added to (expected an array @ $.inputs)" in said
    assert path.read_text() == '{"inputs": {}}'
    assert len(list(path.parent.iterdir())) == 2  # no backup of what was not replaced


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((*CALLED, *SERVER), "leave out --upstream, or the command after --"),
        ((), "give its URL with --upstream, or its command after --"),
        (("--upstream", "shop.test"), "--upstream is a URL that begins with http:// or https://"),
        (("--upstream", "https://x", "--upstream-header", "Authorization"), "--upstream-header is NAME=VAR"),
        (("--upstream-header", "A=B", *SERVER), "give its URL with --upstream"),
        (("--listen-token-file", "t", *SERVER), "give its address with --listen"),
        (("--listen", "0.0.0.0:8123", *SERVER), "can be reached from other machines"),
        (("--listen", "here", *SERVER), "is neither HOST:PORT nor PORT"),
    ],
)
def test_options_that_do_not_go_together_are_refused(here: Path, given: tuple[str, ...], told: str) -> None:
    assert told in refused(*called("json", *given))


def test_what_the_proxy_needs_for_http_is_told_when_it_is_not_there(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "[http]" not in run(*called("json", *CALLED)).stderr
    monkeypatch.setitem(sys.modules, "httpx2", None)
    assert "for HTTP: pip install 'waggle-stretto[http]'\n" in run(*called("json", *CALLED)).stderr
    assert "[http]" not in run(*init("json")).stderr


def test_claude_desktop_is_not_told_to_call_what_it_cannot(here: Path) -> None:
    said = refused(*called("claude-desktop", "--listen", "127.0.0.1:8123", *SERVER))
    assert said == "Claude Desktop has no servers in its file that are called; leave out --listen"


@pytest.mark.parametrize("more", [(), ("--listen", "127.0.0.1:0"), ("--waggle",)], ids=["started", "called", "waggle"])
def test_options_of_a_server_that_is_called_are_those_of_the_proxy(more: tuple[str, ...]) -> None:
    """What ``init`` writes is parsed by the proxy, which then misses the variable of the header."""
    options = [*more, *CALLED]
    program = str(Path(sys.executable).with_name("stretto-proxy"))
    env = {name: value for name, value in os.environ.items() if name != "SHOP_KEY"}
    done = subprocess.run([program, *options], input=b"", capture_output=True, timeout=60, check=False, env=env)
    assert done.returncode == 2
    assert b"--upstream-header Authorization=VAR: there is no environment variable" in done.stderr
    assert b"No such option" not in done.stderr

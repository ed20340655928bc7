"""What hosts are told, where they keep it, and what can be read back from it."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from stretto.errors import UsageError
from stretto.hosts import HOSTS, Wrapped, configured, next_steps

RECORD = PurePosixPath("/data/logs/shop")
FLOW = PurePosixPath("/data/flows/shop.flow.json")


def wrapped(**changes: Any) -> Wrapped:
    return Wrapped(**{"domain": "shop", "command": ("npx", "-y", "shop server"), "record": RECORD, **changes})


def test_a_host_starts_the_proxy_with_the_servers_own_command_behind_it() -> None:
    assert wrapped().words == (
        *("stretto-proxy", "--record", "/data/logs/shop", "--domain", "shop"),
        *("--", "npx", "-y", "shop server"),
    )
    assert wrapped(flow=FLOW, decider="reach", shadow=True).words[5:10] == (
        *("--flow", "/data/flows/shop.flow.json", "--flow-decider", "reach", "--flow-shadow"),
    )
    assert "--flow-decider" not in wrapped(flow=FLOW).words


def test_claude_code_is_told_with_a_line_for_the_shell() -> None:
    assert wrapped().claude_line == (
        "claude mcp add shop -- stretto-proxy --record /data/logs/shop --domain shop -- npx -y 'shop server'"
    )


def test_other_hosts_are_told_in_json() -> None:
    entry = {"command": "stretto-proxy", "args": ["--", "x"]}
    words = ("stretto-proxy", "--", "x")
    for name in ("claude-desktop", "cursor", "json"):
        host = HOSTS[name]
        assert host.configuration("shop", host.entry(words)) == {"mcpServers": {"shop": entry}}
    host = HOSTS["vscode"]
    assert host.configuration("shop", host.entry(words)) == {"servers": {"shop": {"type": "stdio", **entry}}}


def test_what_an_entry_says_beside_the_command_stays() -> None:
    known: Any = {
        "command": "npx",
        "args": ["x"],
        "env": {"KEY": "k"},
        "disabled": False,
        "url": "https://x",
        "type": "sse",
    }
    made = HOSTS["cursor"].entry(("stretto-proxy", "--", "x"), known)
    assert made == {"env": {"KEY": "k"}, "disabled": False, "command": "stretto-proxy", "args": ["--", "x"]}


@pytest.mark.parametrize("domain", ["", ".shop", "-shop", "a b", "a/b", "ä", "a\n"])
def test_a_domain_is_a_plain_name(domain: str) -> None:
    with pytest.raises(UsageError, match="cannot be a domain"):
        wrapped(domain=domain)
    assert wrapped(domain="a-b_c.1").domain == "a-b_c.1"


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="give its command after --"):
        wrapped(command=())
    with pytest.raises(UsageError, match="is stretto-proxy already"):
        wrapped(command=("/bin/stretto-proxy", "--", "x"))
    with pytest.raises(UsageError, match="give it with --flow"):
        wrapped(shadow=True)


@pytest.mark.parametrize(
    ("platform", "name", "expected"),
    [
        ("linux", "claude-code", "/here/.mcp.json"),
        ("linux", "claude-desktop", "/config/Claude/claude_desktop_config.json"),
        ("darwin", "claude-desktop", "/home/u/Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "claude-desktop", "/appdata/Claude/claude_desktop_config.json"),
        ("linux", "cursor", "/home/u/.cursor/mcp.json"),
        ("darwin", "vscode", "/here/.vscode/mcp.json"),
    ],
)
def test_every_host_has_a_place_of_its_own(platform: str, name: str, expected: str) -> None:
    variables = {"APPDATA": "/appdata", "XDG_CONFIG_HOME": "/config"}
    places = HOSTS[name].places(Path("/home/u"), Path("/here"), platform, variables)
    assert places[0] == Path(expected)
    assert HOSTS["json"].places(Path("/home/u"), Path("/here"), platform, variables) == ()


def test_steps_lead_from_recording_to_watching_to_acting() -> None:
    host = HOSTS["cursor"]
    flows = FLOW.parent
    record, watch, act = (
        next_steps(host, each, flows, written=PurePosixPath("/home/u/.cursor/mcp.json"))
        for each in (wrapped(), wrapped(flow=FLOW, shadow=True), wrapped(flow=FLOW))
    )
    assert record[0] == "/home/u/.cursor/mcp.json has shop now; then reload the window of Cursor"
    assert record[2].endswith("stretto learn --sessions /data/logs/shop --out /data/flows/shop.flow.json")
    assert record[-1].endswith(
        f"stretto init --host cursor --domain shop --flow {FLOW} --shadow --write --force -- npx -y 'shop server'"
    )
    assert watch[-1].endswith(f"--domain shop --flow {FLOW} --write --force -- npx -y 'shop server'")
    assert act[-1].startswith("watch for change: stretto drift")
    by_hand = next_steps(HOSTS["claude-code"], wrapped(), flows)
    assert by_hand[0] == "run that line; then start a new session of Claude Code"
    assert by_hand[-1].startswith("let it watch: claude mcp remove shop, then stretto init --host claude-code")
    assert "--write" not in by_hand[-1]


def test_servers_are_read_back_from_any_hosts_file() -> None:
    words = wrapped(flow=FLOW).words
    content: Any = {
        "mcpServers": {
            "shop": {"command": f"/env/bin/{words[0]}", "args": [*words[1:]], "env": {"A": "1"}, "cwd": "/w"},
            "plain": {"command": "npx", "args": ["-y", "x"]},
            "far": {"url": "https://x"},
            "odd": 7,
        },
        "servers": {"filled": {"type": "stdio", "command": "x", "args": ["${input:key}"]}},
        "projects": {"/here": {"mcpServers": {"mine": {"command": "y"}}}, "/there": {"mcpServers": {"z": {}}}},
    }
    found = {each.name: each for each in configured(content, PurePosixPath("/here"))}
    assert list(found) == ["far", "filled", "mine", "plain", "shop"]
    shop = found["shop"]
    assert (shop.command, shop.wrapped, shop.flow) == (wrapped().command, True, str(FLOW))
    assert (shop.env, shop.cwd, shop.problem) == ({"A": "1"}, "/w", "")
    assert (found["plain"].command, found["plain"].wrapped) == (("npx", "-y", "x"), False)
    assert found["far"].problem.startswith("it is called over the network")
    assert found["filled"].problem.startswith("its host fills in ${input:key}")
    assert found["mine"].command == ("y",)


@pytest.mark.parametrize(
    "content", [None, [], {}, {"mcpServers": []}, {"servers": {"a": None}}, {"projects": {"/here": 1}}]
)
def test_what_is_no_server_is_passed_over(content: Any) -> None:
    assert configured(content, PurePosixPath("/here")) == ()


def test_a_flow_is_found_however_the_option_is_spelled_and_the_proxy_started() -> None:
    entry: Any = {
        "command": "uvx",
        "args": ["stretto-proxy", "--flow=f.json", "--record", "r", "--", "npx", "--flow", "no"],
    }
    (found,) = configured({"servers": {"a": entry}}, PurePosixPath("/"))
    assert (found.command, found.flow) == (("npx", "--flow", "no"), "f.json")

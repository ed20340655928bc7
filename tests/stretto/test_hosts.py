"""What hosts are told, and where they keep it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stretto.errors import UsageError
from stretto.hosts import HOSTS

WORDS = ("stretto-proxy", "--", "x")
STARTED: dict[str, Any] = {"command": "stretto-proxy", "args": ["--", "x"]}
URL = "http://127.0.0.1:8123/mcp"


def test_each_host_has_its_form_of_a_server_that_is_started() -> None:
    for name in ("claude-code", "claude-desktop", "cursor", "json"):
        host = HOSTS[name]
        assert host.configuration("shop", host.started(WORDS)) == {"mcpServers": {"shop": STARTED}}
    host = HOSTS["vscode"]
    assert host.configuration("shop", host.started(WORDS)) == {"servers": {"shop": {"type": "stdio", **STARTED}}}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-code", {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${T}"}}),
        ("cursor", {"url": URL, "headers": {"Authorization": "Bearer ${env:T}"}}),
        ("vscode", {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${input:T}"}}),
        ("json", {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${T}"}}),
    ],
)
def test_each_host_has_its_form_of_a_server_that_is_called_and_of_what_stands_for_its_token(
    name: str, expected: Any
) -> None:
    host = HOSTS[name]
    assert host.called(URL, "T") == expected
    del expected["headers"]
    assert host.called(URL) == expected


def test_a_host_whose_file_has_no_servers_that_are_called_is_not_given_one() -> None:
    with pytest.raises(UsageError, match="Claude Desktop has no servers in its file that are called; leave out"):
        HOSTS["claude-desktop"].called(URL)


@pytest.mark.parametrize(
    ("name", "env"),
    [
        ("claude-code", None),  # hands its environment down
        ("claude-desktop", None),  # cannot refer to anything
        ("cursor", {"KEY": "${env:KEY}"}),
        ("vscode", {"KEY": "${input:KEY}"}),
    ],
)
def test_a_started_server_gets_its_secrets_by_reference_where_that_is_needed(name: str, env: Any) -> None:
    assert HOSTS[name].started(WORDS, ["KEY"]).get("env") == env


def test_vs_code_lists_what_it_has_to_ask_for_once_the_entry_refers_to_it() -> None:
    host = HOSTS["vscode"]
    entry = host.started(WORDS, ["KEY", "OTHER"], {"command": "x", "env": {"OTHER": "given"}})
    assert entry["env"] == {"KEY": "${input:KEY}", "OTHER": "given"}
    inputs = host.inputs(entry, ["KEY", "OTHER"])
    assert inputs == [{"type": "promptString", "id": "KEY", "description": "KEY", "password": True}]
    assert list(host.configuration("shop", entry, inputs)) == ["inputs", "servers"]
    assert HOSTS["cursor"].inputs(HOSTS["cursor"].started(WORDS, ["KEY"]), ["KEY"]) == []


def test_what_an_entry_says_beside_the_command_stays() -> None:
    known: Any = {
        "command": "npx",
        "args": ["x"],
        "env": {"KEY": "k"},
        "disabled": False,
        "url": "https://x",
        "type": "sse",
    }
    made = HOSTS["cursor"].started(WORDS, (), known)
    assert made == {"env": {"KEY": "k"}, "disabled": False, **STARTED}


def test_what_belonged_to_a_command_or_to_another_address_does_not_stay_beside_a_url() -> None:
    known: Any = {"command": "npx", "args": ["x"], "env": {"KEY": "k"}, "cwd": "/", "disabled": False}
    assert HOSTS["cursor"].called(URL, "", known) == {"disabled": False, "url": URL}
    known = {"type": "sse", "url": "https://x", "headers": {"Authorization": "Bearer secret"}}
    assert HOSTS["vscode"].called(URL, "", known) == {"type": "http", "url": URL}


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

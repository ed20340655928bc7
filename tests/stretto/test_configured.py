"""Servers read back from hosts' files: what speaks with each, behind the proxy or not, over stdio or HTTP."""

from __future__ import annotations

import sys
from pathlib import PurePosixPath
from typing import Any

import pytest

from stretto.configured import Configured, configured
from stretto.hosts import HOSTS
from stretto.wrapping import Listening, Upstream, Wrapped

HERE = PurePosixPath("/here")
FLOW = PurePosixPath("/data/flows/shop.flow.json")
OURS = (sys.executable, "-m", "stretto.proxy.main")


def one(entry: Any, **variables: str) -> Configured:
    (found,) = configured({"mcpServers": {"a": entry}}, HERE, variables)
    return found


def wrapped(**changes: Any) -> Wrapped:
    made: dict[str, Any] = {
        "domain": "shop",
        "command": ("npx", "-y", "shop"),
        "record": PurePosixPath("/r"),
        "flow": FLOW,
    }
    return Wrapped(**(made | changes))


def test_servers_are_read_back_from_any_hosts_file() -> None:
    words = wrapped().words
    content: Any = {
        "mcpServers": {
            "shop": {"command": f"/env/bin/{words[0]}", "args": [*words[1:]], "env": {"A": "1"}, "cwd": "/w"},
            "plain": {"command": "npx", "args": ["-y", "x"]},
            "far": {"url": "https://x"},
            "odd": 7,
            "neither": {},
        },
        "servers": {"filled": {"type": "stdio", "command": "x", "args": ["${input:key}"]}},
        "projects": {"/here": {"mcpServers": {"mine": {"command": "y"}}}, "/there": {"mcpServers": {"z": {}}}},
    }
    found = {each.name: each for each in configured(content, HERE, {})}
    assert list(found) == ["far", "filled", "mine", "neither", "plain", "shop"]
    shop = found["shop"]
    assert (shop.command, shop.wrapped, shop.flow) == (wrapped().command, True, str(FLOW))
    assert (shop.env, shop.cwd, shop.unseen, shop.problem) == ({"A": "1"}, "/w", "", "")
    assert (found["plain"].command, found["plain"].wrapped) == (("npx", "-y", "x"), False)
    assert (found["far"].command, found["far"].started) == ((*OURS, "--upstream", "https://x"), False)
    assert found["filled"].unseen == "its host fills in ${input:key}; give the command after --"
    assert found["mine"].command == ("y",)
    assert found["neither"].unseen == "it has neither a command nor a url"


@pytest.mark.parametrize(
    "content", [None, [], {}, {"mcpServers": []}, {"servers": {"a": None}}, {"projects": {"/here": 1}}]
)
def test_what_is_no_server_is_passed_over(content: Any) -> None:
    assert configured(content, HERE, {}) == ()


def test_a_flow_is_found_however_the_option_is_spelled_and_the_proxy_started() -> None:
    found = one(
        {"command": "uvx", "args": ["stretto-proxy", "--flow=f.json", "--record", "r", "--", "npx", "--flow", "no"]}
    )
    assert (found.command, found.flow) == (("npx", "--flow", "no"), "f.json")


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS.keys())
def test_a_server_that_is_called_behind_the_proxy_is_called_by_a_proxy_that_only_looks(host: Any) -> None:
    upstream = Upstream("https://shop.test/mcp", ("Authorization=SHOP_KEY",))
    entry = wrapped(command=(), upstream=upstream).entry(host)
    (found,) = configured(host.configuration("shop", entry), HERE, {"SHOP_KEY": "s3cret"})
    if host.asks:
        assert found.unseen == "its host fills in ${input:SHOP_KEY}; give the command after --"
    else:
        assert (found.wrapped, found.flow, found.unseen) == (True, str(FLOW), "")
    assert found.command == (*OURS, *upstream.words)


def test_headers_of_a_server_that_is_called_go_through_the_environment() -> None:
    found = one(
        {
            "url": "https://x/mcp",
            "headers": {"Authorization": "Bearer s3cret", "X-Key": "${env:KEY}", "X-Also": "${KEY}"},
        },
        KEY="k3y",
    )
    assert found.command == (
        *(*OURS, "--upstream", "https://x/mcp", "--upstream-header", "Authorization=STRETTO_HEADER_1"),
        *("--upstream-header", "X-Key=STRETTO_HEADER_2", "--upstream-header", "X-Also=STRETTO_HEADER_3"),
    )
    assert found.env == {"STRETTO_HEADER_1": "Bearer s3cret", "STRETTO_HEADER_2": "k3y", "STRETTO_HEADER_3": "k3y"}
    assert not found.unseen


@pytest.mark.parametrize(
    "entry",
    [
        {"url": "https://x/${input:path}"},
        {"url": "https://x/${env:KEY}"},  # an address stands on a command line
        {"url": "https://x", "headers": {"A": "Bearer ${input:path}"}},
        {"url": "https://x", "headers": {"A": "${env:GONE}"}},
    ],
)
def test_what_only_the_host_can_fill_in_cannot_be_looked_at_from_here(entry: Any) -> None:
    assert one(entry, KEY="s3cret").unseen.startswith("its host fills in ${")
    assert "s3cret" not in repr(one(entry, KEY="s3cret"))


@pytest.mark.parametrize("kind", ["http", "streamable-http", "streamableHttp", None])
def test_http_has_several_names(kind: str | None) -> None:
    found = one({"serverUrl": "https://x"} | ({"type": kind} if kind else {}))
    assert (found.command[-1], found.unseen) == ("https://x", "")


def test_older_ways_to_call_a_server_are_named_as_such() -> None:
    found = one({"type": "sse", "url": "https://x/sse"})
    assert found.command == ()
    assert found.unseen.endswith("ask those who run it for its Streamable HTTP address")
    assert one({"type": "ws", "url": "wss://x"}).unseen == "it is called as 'ws', which the proxy cannot do"


def test_a_header_whose_variable_is_set_nowhere_is_told() -> None:
    args = ["--upstream", "https://x", "--upstream-header", "Authorization=KEY"]
    told = "the variable KEY of its header Authorization is set neither in its env nor here; set it"
    assert one({"command": "stretto-proxy", "args": args}).unseen == told
    assert not one({"command": "stretto-proxy", "args": args}, KEY="k").unseen
    assert not one({"command": "stretto-proxy", "args": args, "env": {"KEY": "k"}}).unseen


def test_a_proxy_that_listens_is_not_for_a_host_to_start() -> None:
    words = wrapped(listen=Listening("127.0.0.1:8123", PurePosixPath("/t"))).words
    found = one({"command": words[0], "args": [*words[1:]]})
    assert found.problem.startswith("its host starts it and speaks with it over stdio, but with --listen")
    assert (found.token_file, found.command) == ("/t", wrapped().command)

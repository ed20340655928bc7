"""The proxy in the place of a server: what is started, what is refused, and what a user is told to do."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import UsageError
from stretto.hosts import HOSTS
from stretto.wrapping import Listening, Upstream, Wrapped, next_steps

RECORD = PurePosixPath("/data/logs/shop")
FLOW = PurePosixPath("/data/flows/shop.flow.json")
TOKEN = PurePosixPath("/data/token")
UPSTREAM = Upstream("https://shop.test/mcp", ("Authorization=SHOP_KEY", "X-Tenant=TENANT"))


def wrapped(**changes: Any) -> Wrapped:
    return Wrapped(**{"domain": "shop", "command": ("npx", "-y", "shop server"), "record": RECORD, **changes})


def called(**changes: Any) -> Wrapped:
    return wrapped(command=(), upstream=UPSTREAM, **changes)


def steps(host: str, one: Wrapped, **more: Any) -> list[str]:
    return list(next_steps(HOSTS[host], one, FLOW.parent, **more))


# --- the command ----------------------------------------------------------------------------------------------


def test_a_host_starts_the_proxy_with_the_servers_own_command_behind_it() -> None:
    assert wrapped().words == (
        *("stretto-proxy", "--record", "/data/logs/shop", "--domain", "shop"),
        *("--", "npx", "-y", "shop server"),
    )
    assert wrapped(flow=FLOW, decider="reach", shadow=True).words[5:10] == (
        *("--flow", "/data/flows/shop.flow.json", "--flow-decider", "reach", "--flow-shadow"),
    )
    assert "--flow-decider" not in wrapped(flow=FLOW).words
    assert wrapped(waggle=True).words[5:7] == ("--waggle", "--")
    assert wrapped(waggle=True, waggle_project=PurePosixPath("/p")).words[5:8] == ("--waggle", "--waggle-project", "/p")
    with pytest.raises(UsageError, match="with --waggle"):
        wrapped(waggle_project=PurePosixPath("/p"))


def test_a_server_that_is_called_is_given_by_its_url_and_the_variables_of_its_headers() -> None:
    assert called().words[5:] == (
        *("--upstream", "https://shop.test/mcp"),
        *("--upstream-header", "Authorization=SHOP_KEY", "--upstream-header", "X-Tenant=TENANT"),
    )


def test_a_proxy_that_listens_may_start_a_server_or_call_one() -> None:
    listen = Listening("127.0.0.1:8123", TOKEN)
    place = ("--listen", "127.0.0.1:8123", "--listen-token-file", "/data/token")
    assert wrapped(listen=listen).words[5:] == (*place, "--", "npx", "-y", "shop server")
    assert called(listen=Listening("localhost:8123")).words[5:9] == ("--listen", "localhost:8123", *UPSTREAM.words[:2])


# --- what the host is told ------------------------------------------------------------------------------------


def test_claude_code_is_told_with_a_line_for_the_shell() -> None:
    host = HOSTS["claude-code"]
    assert wrapped().claude_line(host) == (
        "claude mcp add shop -- stretto-proxy --record /data/logs/shop --domain shop -- npx -y 'shop server'"
    )
    assert wrapped(listen=Listening("127.0.0.1:8123")).claude_line(host) == (
        "claude mcp add --transport http shop http://127.0.0.1:8123/mcp"
    )


def test_a_reference_to_the_token_reaches_claude_code_as_it_is() -> None:
    """A shell that filled it in would write the token into the configuration."""
    line = wrapped(listen=Listening("127.0.0.1:8123", TOKEN)).claude_line(HOSTS["claude-code"])
    assert line.endswith("--header 'Authorization: Bearer ${STRETTO_SHOP_TOKEN}'")
    assert shlex.split(line)[-1] == "Authorization: Bearer ${STRETTO_SHOP_TOKEN}"


def test_a_host_calls_a_proxy_that_listens_and_starts_any_other() -> None:
    host = HOSTS["cursor"]
    assert wrapped(listen=Listening("[::]:8123", TOKEN)).entry(host) == {
        "url": "http://[::1]:8123/mcp",
        "headers": {"Authorization": "Bearer ${env:STRETTO_SHOP_TOKEN}"},
    }
    entry = called().entry(host, {"url": "https://shop.test/mcp", "headers": {"Authorization": "secret"}})
    assert entry["env"] == {"SHOP_KEY": "${env:SHOP_KEY}", "TENANT": "${env:TENANT}"}
    assert "secret" not in str(entry)


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1:8123", "http://127.0.0.1:8123/mcp"),
        ("8123", "http://127.0.0.1:8123/mcp"),
        ("localhost:1", "http://localhost:1/mcp"),
        ("[::1]:65535", "http://[::1]:65535/mcp"),
        ("0.0.0.0:8123", "http://127.0.0.1:8123/mcp"),
        ("box.lan:8123", "http://box.lan:8123/mcp"),
    ],
)
def test_a_host_on_this_machine_calls_an_address_it_can_reach(address: str, url: str) -> None:
    assert Listening(address, TOKEN).url == url


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", ["", ".shop", "-shop", "a b", "a/b", "ä", "a\n"])
def test_a_domain_is_a_plain_name(domain: str) -> None:
    with pytest.raises(UsageError, match="cannot be a domain"):
        wrapped(domain=domain)
    assert wrapped(domain="a-b_c.1").domain == "a-b_c.1"


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="give its URL with --upstream, or its command after --"):
        wrapped(command=())
    with pytest.raises(UsageError, match="leave out --upstream, or the command after --"):
        wrapped(upstream=UPSTREAM)
    with pytest.raises(UsageError, match="is stretto-proxy already"):
        wrapped(command=("/bin/stretto-proxy", "--", "x"))
    with pytest.raises(UsageError, match="give it with --flow"):
        wrapped(shadow=True)


@pytest.mark.parametrize(
    "url",
    ["", "shop.test/mcp", "ftp://shop.test", "http://", "https:///mcp", "http://[::1/mcp", "http://x\n", "http://x y"],
)
def test_what_is_called_has_an_http_address(url: str) -> None:
    with pytest.raises(UsageError, match="--upstream"):
        Upstream(url)


@pytest.mark.parametrize(
    "header",
    ["", "Authorization", "Authorization=", "=VAR", "Authorization=Bearer s3cret", "A B=V", "X=s3cret-key", "s3cret=="],
)
def test_a_header_names_a_variable_and_what_is_none_is_not_repeated(header: str) -> None:
    """Who gives the value itself has given a secret."""
    with pytest.raises(UsageError, match="is NAME=VAR, where the environment variable VAR holds the value") as error:
        Upstream("https://shop.test/mcp", (header,))
    assert "s3cret" not in str(error.value)


def test_credentials_do_not_stand_in_an_address() -> None:
    with pytest.raises(UsageError, match="has credentials in it") as error:
        Upstream("https://me:s3cret@shop.test/mcp")
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("address", ["", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "::1:8123", "a b:1", ":1"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    with pytest.raises(UsageError, match="is neither HOST:PORT nor PORT"):
        Listening(address, TOKEN)


@pytest.mark.parametrize("address", ["0.0.0.0:8123", "[::]:8123", "192.168.1.7:8123", "box.lan:8123"])
def test_an_address_that_others_reach_needs_a_token(address: str) -> None:
    with pytest.raises(UsageError, match="can be reached from other machines"):
        Listening(address)
    assert Listening(address, TOKEN).address == address
    assert Listening("127.9.9.9:8123").token_file is None
    assert Listening("8123").token_file is None


@given(st.text(), st.text())
def test_any_text_is_an_address_and_a_header_or_is_refused(address: str, header: str) -> None:
    def one() -> Listening:
        return Listening(address)

    def other() -> Upstream:
        return Upstream(f"http://x{address}", (header,))

    for make in (one, other):
        try:
            words = make().words
        except UsageError:
            continue
        assert all(word and "\n" not in word for word in words)


# --- what to do then ------------------------------------------------------------------------------------------


def test_steps_lead_from_recording_to_watching_to_acting() -> None:
    record, watch, act = (
        steps("cursor", each, written=PurePosixPath("/home/u/.cursor/mcp.json"))
        for each in (wrapped(), wrapped(flow=FLOW, shadow=True), wrapped(flow=FLOW))
    )
    assert record[0] == "/home/u/.cursor/mcp.json has shop now; then reload the window of Cursor"
    assert record[2].endswith("stretto learn --sessions /data/logs/shop --out /data/flows/shop.flow.json")
    assert record[-1].endswith(
        f"stretto init --host cursor --domain shop --flow {FLOW} --shadow --write --force -- npx -y 'shop server'"
    )
    assert watch[-1].endswith(f"--domain shop --flow {FLOW} --write --force -- npx -y 'shop server'")
    assert act[-1].startswith("watch for change: stretto drift")
    by_hand = steps("claude-code", wrapped())
    assert by_hand[0] == "run that line; then start a new session of Claude Code"
    assert by_hand[-1].startswith("let it watch: claude mcp remove shop, then stretto init --host claude-code")
    assert "--write" not in by_hand[-1]


def test_the_proxy_that_listens_is_started_before_the_host_is_told_and_again_with_a_flow() -> None:
    one = called(listen=Listening("127.0.0.1:8123", TOKEN), waggle=True)
    said = steps("claude-code", one)
    made = "python3 -c 'import secrets; print(secrets.token_hex(32))'"
    assert said[:5] == [
        "set SHOP_KEY, which is sent as Authorization, in the shell that starts the proxy",
        "set TENANT, which is sent as X-Tenant, in the shell that starts the proxy",
        f"make the token, if there is none yet: (umask 077; {made} > /data/token)",
        'give it to Claude Code, in the shell that starts it: export STRETTO_SHOP_TOKEN="$(cat /data/token)"',
        f"start the proxy, and let it run: {shlex.join(one.words)}",
    ]
    assert said[5] == "run that line, if that is not done yet; then start a new session of Claude Code"
    assert said[-1] == (
        "let it watch: stop the proxy, then stretto init --host claude-code --domain shop "
        f"--flow {FLOW} --shadow {shlex.join(one.place)}"
    )


@pytest.mark.parametrize(
    ("host", "first"),
    [
        (
            "claude-code",
            "set SHOP_KEY, which is sent as Authorization, in the environment that Claude Code is started in",
        ),
        ("cursor", "set SHOP_KEY, which is sent as Authorization, in the environment that Cursor is started in"),
        ("claude-desktop", "put SHOP_KEY, which is sent as Authorization, into the env of the entry"),
        ("vscode", "VS Code will ask for SHOP_KEY, which is sent as Authorization"),
    ],
)
def test_where_a_secret_has_to_be_is_said_for_each_host(host: str, first: str) -> None:
    assert steps(host, called())[0] == first


@pytest.mark.parametrize(
    ("host", "step"),
    [
        ("vscode", "VS Code will ask for STRETTO_SHOP_TOKEN: the token in /data/token"),
        ("json", "let your host send the token in /data/token for ${STRETTO_SHOP_TOKEN}"),
    ],
)
def test_how_the_token_gets_there_is_said_for_each_host(host: str, step: str) -> None:
    assert steps(host, wrapped(listen=Listening("127.0.0.1:8123", TOKEN)))[1] == step


def test_what_the_former_entry_gave_and_this_one_does_not_is_named_without_its_value() -> None:
    known: Any = {"command": "npx", "env": {"KEY": "s3cret", "OTHER": "s3cret"}}
    (step, *_) = steps("cursor", wrapped(listen=Listening("127.0.0.1:8123")), known=known)
    assert step == "set KEY, OTHER in the shell that starts the proxy; the former entry did"
    known = {"url": "https://shop.test/mcp", "headers": {"authorization": "s3cret", "X-Api-Key": "s3cret"}}
    (step, *_) = steps("cursor", called(), known=known)
    assert step == (
        "the headers X-Api-Key of the former entry are not sent any more, unless you give them with --upstream-header"
    )
    assert "s3cret" not in " ".join(steps("cursor", called(), known=known))
    one = wrapped(listen=Listening("127.0.0.1:8123", TOKEN))
    assert not steps("cursor", one, known=one.entry(HOSTS["cursor"]))[0].startswith("the headers")


def test_a_percent_sign_in_a_command_stays_one() -> None:
    assert steps("cursor", wrapped(command=("run", "100%s")))[-1].endswith("-- run 100%s")

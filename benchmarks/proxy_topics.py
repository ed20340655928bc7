"""What is measured of the proxy: the time it adds to a call, beside the server alone and beside proxies by others.

Three places of a proxy are told apart: between a host and a server that both speak over stdio; between a host that
calls over HTTP and a server that is started; between a host that starts it and a server that is called over HTTP. Both
with HTTP are set against the same server over HTTP with nobody between.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.mcp_clients import over_http, over_stdio, port_for, started
from benchmarks.peers import FastMcp, McpProxy
from benchmarks.timing import Row
from stretto.flow.file import write_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from benchmarks.mcp_clients import Client

__all__ = ["PROXY_TOPICS"]

CALLS = 1000
CALLS_OVER_HTTP = 300  #: FastMCP's proxy takes 70 ms each where it calls a URL
ROUNDS = 5
_MEDIAN: Final = 0.5
_TAIL: Final = 0.99
OURS = [sys.executable, "-m", "stretto.proxy.main"]
SERVER = [sys.executable, "-m", "stretto.proxy.demo_server"]
SERVER_OVER_HTTP = [sys.executable, "-m", "benchmarks.http_server"]
CALL: Final[dict[str, Any]] = {"name": "get_order_details", "arguments": {"order_id": "#W1001"}}


def latencies(
    ways: Mapping[str, Callable[[], AbstractContextManager[Client]]], calls: int = CALLS
) -> dict[str, list[float]]:
    """Seconds of each call, of all ways in turn, round by round; the least of the rounds for each place."""
    times: dict[str, list[list[float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            with way() as client:
                for _ in range(50):
                    client.ask("tools/call", CALL)
                measured: list[float] = []
                for _ in range(calls):
                    start = time.perf_counter()
                    client.ask("tools/call", CALL)
                    measured.append(time.perf_counter() - start)
                times[name].append(sorted(measured))
    return {name: [min(place) for place in zip(*rounds, strict=True)] for name, rounds in times.items()}


def starting(command: Sequence[str]) -> Callable[[], AbstractContextManager[Client]]:
    """A client that starts this, and speaks with it over stdio."""
    return lambda: over_stdio(command)


def calling(command_for: Callable[[int], Sequence[str]]) -> Callable[[], AbstractContextManager[Client]]:
    """A client that calls over HTTP what this command serves on the port it is given."""

    @contextmanager
    def way() -> Iterator[Client]:
        port = port_for()
        with started(command_for(port), port), over_http(port) as client:
            yield client

    return way


def _rows(times: dict[str, list[float]], base: str, peer: str, other: str = "") -> Iterator[Row]:
    """The base's own times, and what each way adds to it; beside what peers add, where that was measured."""
    alone = times.pop(base)

    def at(one: list[float], share: float) -> float:
        return one[int(share * (len(one) - 1))]

    for share in (_MEDIAN, _TAIL):
        yield Row(f"{base}, p{share * 100:.0f}", at(alone, share) * 1e3, "ms")
        added = {name: at(one, share) - at(alone, share) for name, one in times.items()}
        for name, value in added.items():
            ours = name.startswith("stretto-proxy")
            ratio = value / added[peer] if ours and peer in added else None
            beside = "" if ratio is None else f"what {peer} adds (bar 0.2)"
            if ours and other in added:
                beside += f"; {value / added[other]:.3g} times what {other} adds"
            most = 1.0 if ("--flow" in name or "--waggle" in name) and share == _TAIL else None
            yield Row(f"{name} adds, p{share * 100:.0f}", value * 1e3, "ms", most, beside.removeprefix("; "), ratio)


def proxying() -> Iterator[Row]:
    """One call of a tool, from the host's request to its answer: added time over the server alone, all over stdio."""
    from benchmarks.flow_topics import learned  # noqa: PLC0415 - learning takes a second

    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        flow = directory / "flow.json"
        write_flow(flow, learned("retail"))
        recording = ("--record", str(directory / "logs"))
        serving = ("--flow", str(flow), "--flow-threshold", "1")
        remembering = ("--waggle", "--waggle-project", str(directory))  # which learns nothing from one call
        ways = {
            "the server alone": starting(SERVER),
            "stretto-proxy": starting([*OURS, "--", *SERVER]),
            "stretto-proxy --record": starting([*OURS, *recording, "--", *SERVER]),
            "stretto-proxy --flow, no lookup": starting([*OURS, *serving, "--", *SERVER]),
            "stretto-proxy --waggle, no lookup": starting([*OURS, *remembering, "--", *SERVER]),
            "stretto-proxy --waggle --flow, no lookup": starting([*OURS, *remembering, *serving, "--", *SERVER]),
        }
        if fastmcp := FastMcp(directory):
            ways[fastmcp.name] = starting(fastmcp.before_command(SERVER))
        yield from _rows(latencies(ways), "the server alone", FastMcp.name)


def bridging() -> Iterator[Row]:
    """The same where one side speaks HTTP, as mcp-proxy has it: added time over the server that speaks HTTP itself."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        directory = Path(place)
        port = port_for()
        url = f"http://127.0.0.1:{port}/mcp"
        stack.enter_context(started([*SERVER_OVER_HTTP, str(port)], port))
        recording = ("--record", str(directory / "logs"))
        base = "the server over HTTP"
        fronts: dict[str, Callable[[], AbstractContextManager[Client]]] = {
            base: lambda: over_http(port),
            "stretto-proxy --listen": calling(lambda at: [*OURS, *_listen(at), "--", *SERVER]),
            "stretto-proxy --listen --record": calling(lambda at: [*OURS, *_listen(at), *recording, "--", *SERVER]),
        }
        backs: dict[str, Callable[[], AbstractContextManager[Client]]] = {
            base: lambda: over_http(port),
            "stretto-proxy --upstream": starting([*OURS, "--upstream", url]),
            "stretto-proxy --upstream --record": starting([*OURS, *recording, "--upstream", url]),
        }
        for peer in (FastMcp(directory), McpProxy(directory)):
            if peer:
                fronts[f"{peer.name} before a command"] = calling(_before_command(peer))
                backs[f"{peer.name} before a URL"] = starting(peer.before_url(url))
        for ways, where in ((fronts, "before a command"), (backs, "before a URL")):
            yield from _rows(
                latencies(ways, CALLS_OVER_HTTP), base, f"{FastMcp.name} {where}", f"{McpProxy.name} {where}"
            )


def _listen(port: int) -> tuple[str, str]:
    return "--listen", f"127.0.0.1:{port}"


def _before_command(peer: FastMcp | McpProxy) -> Callable[[int], Sequence[str]]:
    return lambda port: peer.before_command(SERVER, port=port)


PROXY_TOPICS: dict[str, Callable[[], Iterator[Row]]] = {"proxying": proxying, "bridging": bridging}

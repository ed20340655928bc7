"""The official MCP SDK's client talks to a server, alone or through the proxy, and all it hears is written down."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, FileUrl

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mcp.client.context import ClientRequestContext

#: How the client opens: the handshake; whatever the server can do; and 2026-07-28 at once, which only some servers do.
HANDSHAKE, ANY, MODERN = "legacy", "auto", "2026-07-28"

#: Seconds within which a conversation ends, whatever happens.
PATIENCE = 60

#: What stands in front of a server's command to put the proxy there.
PROXY = (sys.executable, "-m", "stretto.proxy.main")

_UNSTEADY = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?|"
    r"\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4} \([^)]*\)|"
    r"\d+:\d\d:\d\d [AP]M|"
    r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
)


@dataclass(frozen=True)
class Peer:
    """A server: its command, what its environment has on top, and where it runs."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None

    def behind(self, *options: str) -> Peer:
        """The same server behind the proxy, which gets these options."""
        env = {"PYTHONPATH": str(ROOT), **self.env}
        return Peer((*PROXY, *options, "--", *self.command), env, self.cwd)

    @asynccontextmanager
    async def transport(self, errlog: Path) -> AsyncIterator[Any]:
        """What a client speaks to; the server runs for as long."""
        parameters = StdioServerParameters(
            command=self.command[0], args=[*self.command[1:]], env={**os.environ, **self.env}, cwd=self.cwd
        )
        with errlog.open("a", encoding="utf-8") as errors:
            yield stdio_client(parameters, errlog=errors)


@dataclass(frozen=True)
class WebPeer(Peer):
    """A server that listens, started for each conversation; without a command it runs already."""

    url: str = ""

    @asynccontextmanager
    async def transport(self, errlog: Path) -> AsyncIterator[Any]:
        """See `Peer.transport`."""
        with serving(self, errlog) as url:
            yield streamable_http_client(url, max_sse_event_size=None)


@contextmanager
def serving(peer: WebPeer, errlog: Path) -> Iterator[str]:
    """Start a server that listens, and end it; its URL is what it says on standard error, unless that is known."""
    if not peer.command:
        yield peer.url
        return
    with errlog.open("a", encoding="utf-8") as errors:
        begun = errlog.stat().st_size
        env = {**get_default_environment(), **os.environ, **peer.env}  # in the order in which the SDK hands it on
        process = subprocess.Popen(
            peer.command, env=env, cwd=peer.cwd, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        )
        url, until = peer.url, time.monotonic() + PATIENCE
        try:
            while not (url and _answers(url)):
                time.sleep(0.05)
                assert process.poll() is None, errlog.read_text()
                assert time.monotonic() < until, errlog.read_text()
                said = re.search(r"listening on (http\S+)", errlog.read_bytes()[begun:].decode())
                url = url or (said[1] if said else "")
            yield url
        finally:
            os.killpg(process.pid, signal.SIGTERM)  # npx would leave the server behind
            process.wait(PATIENCE)


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    try:
        socket.create_connection((str(parts.hostname), parts.port or 80), 1).close()
    except OSError:
        return False
    return True


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@dataclass(frozen=True)
class Step:
    """Something a client does: a name for the record, and the doing."""

    name: str
    act: Callable[[Talk], Awaitable[Any]]


class Ears:
    """Takes the notices of a server."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self._news = anyio.Event()

    async def take(self, message: Any) -> None:
        """Take one notice; what is no message ends the conversation."""
        if isinstance(message, Exception):
            raise message
        self.heard.append(_plain(message))
        self._news.set()
        self._news = anyio.Event()

    async def until(self, method: str, count: int) -> str:
        """Wait until so many notices of this kind were heard: some servers send them on a clock of their own."""
        while sum(notice["method"] == method for notice in self.heard) < count:
            await self._news.wait()
        return "heard"


@dataclass
class Talk:
    """A conversation: the client, and everything it heard that answers no request of its own."""

    client: Client
    ears: Ears
    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)

    async def progressed(self, progress: float, total: float | None, message: str | None) -> None:
        """Take a progress notice."""
        self.progress.append((progress, total, message))


def tool(name: str, /, **arguments: Any) -> Step:
    """Call a tool."""
    return Step(f"{name} {arguments}", lambda talk: talk.client.call_tool(name, arguments))


def converse(peer: Peer, steps: Sequence[Step], *, mode: str, errlog: Path, **client: Any) -> list[Any]:
    """What a client gets that does these steps one after the other.

    Args:
        peer: the server, which is started for this.
        steps: in their order.
        mode: how the client opens.
        errlog: where the server's standard error goes.
        client: further options of the SDK's client.

    Returns:
        The opening's outcome, each step's name and outcome, the notices that came in, and the progress: plain JSON, in
        which times of the day are blanked.
    """
    return asyncio.run(_converse(peer, steps, mode, errlog, client))


async def _converse(peer: Peer, steps: Sequence[Step], mode: str, errlog: Path, options: dict[str, Any]) -> list[Any]:
    ears = Ears()
    with anyio.fail_after(PATIENCE):
        async with (
            peer.transport(errlog) as transport,
            Client(transport, mode=mode, message_handler=ears.take, cache=None, **options) as client,
        ):
            talk = Talk(client, ears)
            record = [
                [
                    "opening",
                    client.protocol_version,
                    _plain(client.server_info),
                    _plain(client.server_capabilities),
                    client.instructions,
                ]
            ]
            record += [[step.name, await _outcome(step.act(talk))] for step in steps]
            return [*record, ["heard", ears.heard], ["progress", talk.progress]]


async def _outcome(doing: Awaitable[Any]) -> Any:
    try:
        return _plain(await doing)
    except MCPError as error:
        return {"refused": [error.code, error.message, error.data]}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(mode="json", by_alias=True, exclude_unset=True))
    if isinstance(value, dict):
        return {
            key: _plain(_readable(part) if key == "blob" and isinstance(part, str) else part)
            for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, str):
        return _UNSTEADY.sub("<time>", value)
    return value


def _readable(blob: str) -> str:
    """The text in a blob, whose times can be blanked; a blob without text as it is."""
    try:
        return base64.b64decode(blob).decode()
    except UnicodeDecodeError:
        return blob


def differences(one: Sequence[Any], other: Sequence[Any]) -> list[str]:
    """Where two records of the same steps differ, in few words: their items may have megabytes."""
    found = []
    for a, b in zip(one, other, strict=True):
        if a != b:
            said, heard = str(a[1:]), str(b[1:])
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(said, heard, strict=False)))
            at = max(0, same - 100)
            found.append(f"{str(a[0])[:80]}: {said[at : at + 600]} and {heard[at : at + 600]}")
    return found


async def sampled(
    _context: ClientRequestContext, params: types.CreateMessageRequestParams
) -> types.CreateMessageResult:
    """A model's answer to a server that asks for one: it repeats the question."""
    return types.CreateMessageResult(
        role="assistant",
        content=types.TextContent(type="text", text=f"answer to {_plain(params.messages)}"),
        model="none",
        stop_reason="endTurn",
    )


async def elicited(_context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    """A user's answer to a server that asks: a word wherever a text is required."""
    schema = params.requested_schema if isinstance(params, types.ElicitRequestFormParams) else {}
    properties = schema.get("properties", {})
    content: dict[str, str | int | float | bool | list[str] | None] = {
        name: "word" for name in schema.get("required", ()) if properties[name].get("type") == "string"
    }
    return types.ElicitResult(action="accept", content=content)


def roots(*places: Path) -> Callable[[ClientRequestContext], Awaitable[types.ListRootsResult]]:
    """A client's answer to a server that asks which directories it works in."""

    async def answer(_context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(
            roots=[types.Root(uri=FileUrl(place.as_uri()), name=place.name) for place in places]
        )

    return answer


async def abandoned(talk: Talk, name: str, arguments: dict[str, Any], seconds: float) -> str:
    """Call a tool and cancel the call after so many seconds."""
    with anyio.move_on_after(seconds) as scope:
        await talk.client.call_tool(name, arguments)
    return "cancelled" if scope.cancelled_caught else "answered"


async def together(*doing: Awaitable[Any]) -> list[Any]:
    """Do all of it at once; what came of each, in their order."""
    return [*await asyncio.gather(*map(_outcome, doing))]

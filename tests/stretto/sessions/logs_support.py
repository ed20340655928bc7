"""Session logs written by hand, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.sessions.log import Entry, Header
from stretto.sessions.turns import infer
from stretto.sessions.wire import ABORTED, error_to
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stretto.sessions.episode import Episode
    from stretto.sessions.log import Sender
    from waggle.jsonvalue import JsonObject, JsonValue


def request(t_ms: int, number: JsonValue, method: str, params: JsonObject, sender: Sender = "client") -> Entry:
    """A request of the client, or of another."""
    return Entry(t_ms, sender, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def call(t_ms: int, number: JsonValue, tool: str, sender: Sender = "client", /, **arguments: JsonValue) -> Entry:
    """A call of a tool."""
    return request(t_ms, number, "tools/call", {"name": tool, "arguments": arguments}, sender)


def answer(t_ms: int, number: JsonValue, text: str = "ok", sender: Sender = "server", *, error: bool = False) -> Entry:
    """What a tool returned, as text."""
    return result(t_ms, number, {"content": [{"type": "text", "text": text}], "isError": error}, sender)


def result(t_ms: int, number: JsonValue, value: JsonValue, sender: Sender = "server") -> Entry:
    """An answer to any request."""
    return Entry(t_ms, sender, {"jsonrpc": "2.0", "id": number, "result": value})


def aborted(t_ms: int, number: JsonValue) -> Entry:
    """The proxy's answer to a request whose server is gone."""
    return Entry(t_ms, "proxy", error_to(number, ABORTED, "the server ended with status 137 before it answered"))


def cancelled(t_ms: int, number: JsonValue) -> Entry:
    """The client gives a request up."""
    return Entry(
        t_ms, "client", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
    )


def said(t_ms: int, role: str, text: str) -> Entry:
    """A line of the conversation."""
    return Entry(t_ms, "context", {"role": role, "content": text})


def listing(t_ms: int, number: JsonValue, *tools: JsonValue, **more: JsonValue) -> list[Entry]:
    """A request for the tools and its answer."""
    asked = request(t_ms, number, "tools/list", {})
    return [asked, result(t_ms, number, {"tools": [*tools], **more})]


def log_bytes(header: Header, entries: Iterable[Entry]) -> bytes:
    """The file of a log."""
    return b"".join(jsonvalue.dumps(line) + b"\n" for line in (header.to_json(), *(one.to_json() for one in entries)))


def save_log(directory: Path, session: str, *entries: Entry, start: int = 1000, **fields: Any) -> Path:
    """Write a log into a directory, under the name that proxies give it."""
    path = directory / f"{session}.jsonl"
    path.write_bytes(log_bytes(Header(session, start, **fields), entries))
    return path


def inferred(*entries: Entry) -> Episode:
    """The episode of some lines."""
    episode, _ = infer(Header("s"), entries)
    return episode

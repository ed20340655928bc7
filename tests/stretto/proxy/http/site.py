"""The proxy listening in this process, in front of a server for each host, and a client for it."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2

from stretto.proxy.assembly import Assembly, Options, RecordOptions
from stretto.proxy.http.admission import bind
from stretto.proxy.http.listening import Listener
from tests.stretto.proxy.relays import PATIENCE, program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}

#: A server that does what the name of the tool says.
SERVER = program(
    """
import json, os, sys, threading, time
lock = threading.Lock()
def say(**fields):
    with lock:
        os.write(1, json.dumps({"jsonrpc": "2.0"} | fields).encode() + b"\\n")
def answer(request):
    number, method, params = request.get("id"), request.get("method"), request.get("params") or {}
    name, n = params.get("name"), params.get("n", 0)
    if number is None and method == "notifications/cancelled":
        cancelled.append(params["requestId"])
    if number is None or method is None:
        return
    if method == "refused":
        return say(id=number, error={"code": -32601, "message": "no"})
    if name == "notices":
        for each in range(n):
            say(method="notifications/message", params={"n": each})
            time.sleep(params.get("pause", 0))
    if name == "slow":
        time.sleep(n)
    if name == "hang":
        return
    if name == "die":
        os._exit(7)
    text = "x" * n if name == "large" else name
    say(id=number, result={"pid": os.getpid(), "text": text, "cancelled": cancelled})
cancelled = []
for line in sys.stdin:
    said = json.loads(line)
    for request in said if isinstance(said, list) else [said]:
        threading.Thread(target=answer, args=(request,)).start()
"""
)


class Site:
    """The proxy listening in this process, and a client."""

    def __init__(self, listener: Listener, directory: Path) -> None:
        self.listener = listener
        self.directory = directory
        self.client = httpx2.Client(timeout=PATIENCE)

    def send(self, message: Any, session: str = "", /, **headers: str) -> httpx2.Response:
        """Post a message, bytes as they are."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.client.post(self.listener.url, content=body, headers=headers_of(session) | headers)

    def stream(self, message: Any, session: str = "", /, **headers: str) -> Any:
        """Post a message, and read the response as it comes."""
        body = json.dumps(message).encode()
        return self.client.stream("POST", self.listener.url, content=body, headers=headers_of(session) | headers)

    def begin(self, **headers: str) -> str:
        """Begin a session; its id."""
        return str(self.send(ask(0, "initialize"), **headers).headers["mcp-session-id"])

    def logs(self) -> list[Path]:
        """The recordings, in order."""
        return sorted(self.directory.glob("*.jsonl"))


def headers_of(session: str) -> dict[str, str]:
    named = {"mcp-session-id": session} if session else {}
    return {"content-type": "application/json", "accept": "application/json, text/event-stream", **named}


def ask(number: Any, method: str = "tools/call", /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def events(response: Any, count: int = 1000) -> list[tuple[str, Any]]:
    """So many events of a stream, or all: their ids and their messages."""
    found: list[tuple[str, Any]] = []
    for event in httpx2.EventSource(response, max_event_size=None):
        if event.data:
            found.append((event.id, json.loads(event.data)))
        if len(found) == count:
            break
    return found


@contextmanager
def listening(tmp_path: Path, command: tuple[str, ...] = SERVER, **options: Any) -> Iterator[Site]:
    """The proxy in front of a server for each host."""
    assembly = Assembly(Options(command, record=RecordOptions(tmp_path / "logs")))
    given: dict[str, Any] = {"idle_s": 600.0} | options
    listener = Listener(assembly, bind("127.0.0.1", 0), **given)
    serving = threading.Thread(target=listener.run, daemon=True)
    serving.start()
    site = Site(listener, tmp_path / "logs")
    try:
        yield site
    finally:
        site.client.close()
        listener.stop(signal.SIGTERM)
        serving.join(PATIENCE)
        assert not serving.is_alive()


def until(holds: Any) -> None:
    """Wait for something to hold; bounded."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

"""The least MCP clients there are, over standard input and output and over HTTP: one asks, and waits for the answer."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from typing import IO, TYPE_CHECKING, Any, Final, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Client", "over_http", "over_stdio", "port_for", "started"]

_HELLO: Final = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_PATIENCE_S: Final = 60.0  #: until a server answers, or has ended
_PAUSE_S: Final = 0.05  #: between two looks whether a server takes connections


class Client(Protocol):
    """Somebody who asks a server."""

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Make a request; its answer."""

    def tell(self, method: str) -> None:
        """Send a notification."""


def _open(client: Client) -> None:
    client.ask("initialize", _HELLO)
    client.tell("notifications/initialized")
    client.ask("tools/list", {})


class _Stdio:
    def __init__(self, to: IO[bytes], from_: IO[bytes]) -> None:
        self._to, self._from = to, from_
        self._number = 0

    def _send(self, message: dict[str, Any]) -> None:
        self._to.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._to.flush()

    def tell(self, method: str) -> None:
        self._send({"method": method})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while line := self._from.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._number and "method" not in message:
                return message
        raise RuntimeError(f"{method} was not answered")


class _Http:
    """Streamable HTTP: one connection, a POST a message; an answer is JSON or a stream of events that ends with it."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = HTTPConnection(host, port, timeout=_PATIENCE_S)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self._number = 0

    def _post(self, message: dict[str, Any]) -> bytes:
        self._connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}).encode(), self._headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status >= 400:  # noqa: PLR2004 - an error
            raise RuntimeError(f"{message['method']} was answered with {response.status}: {body.decode()[:200]}")
        if session := response.headers["Mcp-Session-Id"]:
            self._headers["Mcp-Session-Id"] = session
        return body

    def tell(self, method: str) -> None:
        self._post({"method": method})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        body = self._post({"id": self._number, "method": method, "params": params})
        for line in body.splitlines():
            data = line.removeprefix(b"data:").strip()
            if data.startswith(b"{"):
                message: dict[str, Any] = json.loads(data)
                if message.get("id") == self._number and "method" not in message:
                    return message
        raise RuntimeError(f"{method} was not answered")

    def close(self) -> None:
        """End the session, and the connection."""
        if "Mcp-Session-Id" in self._headers:
            self._connection.request("DELETE", "/mcp", headers=self._headers)
            self._connection.getresponse().read()
        self._connection.close()


@contextmanager
def over_stdio(command: Sequence[str]) -> Iterator[Client]:
    """A client of what this command starts."""
    process = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    to, from_ = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    try:
        client = _Stdio(to, from_)
        _open(client)
        yield client
    finally:
        to.close()
        process.wait(_PATIENCE_S)
        from_.close()


@contextmanager
def over_http(port: int) -> Iterator[Client]:
    """A client of what serves ``/mcp`` on this port."""
    client = _Http("127.0.0.1", port)
    try:
        _open(client)
        yield client
    finally:
        client.close()


def port_for() -> int:
    """A port that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def started(command: Sequence[str], port: int) -> Iterator[None]:
    """What this command starts, from when it takes connections on its port.

    Raises:
        RuntimeError: it ends before, or takes too long.
    """
    process = subprocess.Popen(list(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{' '.join(command)} does not serve")
            time.sleep(_PAUSE_S)
        yield
    finally:
        process.terminate()
        process.wait(_PATIENCE_S)


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    try:
        connection.request("DELETE", "/mcp")  # of no session: some answer a GET with a stream that does not end
        connection.getresponse().read()
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return True

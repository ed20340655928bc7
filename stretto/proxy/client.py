"""The client's side of MCP, as far as a look at a server needs it: start one, ask which tools it has, end it.

Both protocol eras are spoken: the handshake first, and where a server refuses that, a fresh start with
``server/discover``. Every wait is bounded by one deadline, and no process is left. Not responsible for calling tools.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import stretto
from stretto.errors import StrettoError
from stretto.sessions.listing import Listings
from stretto.sessions.wire import RESERVED
from waggle import jsonvalue
from waggle.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Listed", "ServerFault", "list_tools"]

_HANDSHAKE: Final = "2025-11-25"  #: the latest version that opens with a handshake
_MODERN: Final = "2026-07-28"
_CLIENT: Final[JsonObject] = {"name": "stretto", "version": stretto.__version__}
_NOT_FOUND: Final = -32601

_PAGES: Final = 1000  #: pages of a listing that are asked for
_ANSWERS: Final = 100  #: requests of a server that are answered; no list of tools takes more
_LINE_BYTES: Final = 64 << 20  #: longest line of a server that is read; a listing of 1,000 tools has 1 MB
_LINES_HELD: Final = 64  #: lines read ahead
_STDERR_LINES: Final = 5  #: of what a server says beside the protocol; its last ones
_STDERR_BYTES: Final = 4096  #: longest of them
_GRACE_S: Final = 2.0  #: seconds a server may take to end, each time it is asked: by the end of its input, by a signal


class ServerFault(StrettoError):
    """A server cannot be started, or does not answer as the protocol wants it."""


class _Refused(StrettoError):
    """A server answered a request with an error."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What a server says of itself.

    Attributes:
        name: of the server, with its version; empty when it has none.
        protocol: version of the protocol it speaks.
        manifest: its tools.
        warning: what is odd about its listing; empty when nothing is.
    """

    name: str
    protocol: str
    manifest: Manifest
    warning: str = ""


def list_tools(
    command: Sequence[str], *, patience_s: float, env: Mapping[str, str] | None = None, cwd: str | None = None
) -> Listed:
    """Start a server, ask for its tools, and end it.

    Args:
        command: that starts it.
        patience_s: seconds it may take until it has listed its tools; ending it takes 4 s more at most.
        env: variables beside those of this process.
        cwd: the directory it is started in; None for this process's.

    Raises:
        ServerFault: it cannot be started, ends too early, takes too long or answers nonsense. The error has the end of
            what it wrote to standard error, without secrets.
    """
    deadline = time.monotonic() + patience_s
    refused = ""
    for opening in (_Connection.handshake, _Connection.discover):
        with _Connection(command, deadline, env, cwd) as connection:
            try:
                name, protocol = opening(connection)
            except _Refused as error:
                refused = str(error)
                continue
            try:
                manifest, warning = connection.tools()
            except _Refused as error:
                raise ServerFault(connection.told(f"does not list its tools: {error}")) from None
            return Listed(name, protocol, manifest, warning)
    raise ServerFault(f"refuses both the handshake and a start without one: {refused}")


class _Connection:
    """A server that runs for the time of a ``with`` block."""

    def __init__(self, command: Sequence[str], deadline: float, env: Mapping[str, str] | None, cwd: str | None) -> None:
        self._deadline = deadline
        self._number = 0
        self._answers = 0
        self._meta: JsonObject = {}
        self._lines: queue.Queue[bytes] = queue.Queue(_LINES_HELD)
        self._said: deque[str] = deque(maxlen=_STDERR_LINES)
        self._over = threading.Event()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the command is what the user asks to look at
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **(env or {})},
                cwd=cwd or None,
                start_new_session=True,  # so that what it starts itself can be ended with it
            )
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or error
            raise ServerFault(f"{command[0]} cannot be started: {said}") from None
        self._threads = [
            threading.Thread(target=target, daemon=True) for target in (self._read_lines, self._read_errors)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        stdin, stdout, stderr = self._pipes()
        with suppress(OSError):
            stdin.close()
        for number in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if number is not None:
                self._signal(number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
                break
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))  # what it left behind has our pipes open
        for thread in self._threads:
            thread.join(_GRACE_S)
            if thread.is_alive():  # somebody who left the group holds the pipe; it ends with this process
                return
        stdout.close()
        stderr.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        if stdin is None or stdout is None or stderr is None:
            raise ServerFault("was started without pipes")
        return stdin, stdout, stderr

    def _signal(self, number: int) -> None:
        with suppress(OSError):  # all of the group have ended
            if sys.platform == "win32":
                self._process.terminate()
            else:
                os.killpg(self._process.pid, number)

    # --- what comes in ---

    def _read_lines(self) -> None:
        stdout = self._pipes()[1]
        line = b""
        while not self._over.is_set() and (line := stdout.readline(_LINE_BYTES)):
            while not self._over.is_set():
                with suppress(queue.Full):
                    self._lines.put(line, timeout=0.1)
                    break
        while not self._over.is_set():
            with suppress(queue.Full):
                self._lines.put(b"", timeout=0.1)
                break

    def _read_errors(self) -> None:
        stderr = self._pipes()[2]
        while line := stderr.readline(_STDERR_BYTES):
            if text := line.decode("utf-8", "replace").strip():
                self._said.append(text)

    def told(self, problem: str) -> str:
        """A problem, with the end of what the server wrote to standard error."""
        said = redact_text(" | ".join(self._said))
        return f"{problem}; it said: {said}" if said else problem

    # --- the protocol ---

    def handshake(self) -> tuple[str, str]:
        """Open with ``initialize``; the server's name and protocol."""
        params: JsonObject = {"protocolVersion": _HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT}
        result = self._ask("initialize", params)
        self._send({"method": "notifications/initialized"})
        return _name(result.get("serverInfo")), str(result.get("protocolVersion", "unknown"))

    def discover(self) -> tuple[str, str]:
        """Open with ``server/discover``, and say in every request who asks; the server's name and protocol."""
        self._meta = {
            f"{RESERVED}protocolVersion": _MODERN,
            f"{RESERVED}clientInfo": _CLIENT,
            f"{RESERVED}clientCapabilities": {},
        }
        result = self._ask("server/discover", {})
        meta = result.get("_meta")
        said = meta.get(f"{RESERVED}serverInfo") if isinstance(meta, dict) else None
        return _name(said or result.get("serverInfo")), _MODERN

    def tools(self) -> tuple[Manifest, str]:
        """All pages of ``tools/list``, and what is odd about them."""
        listings = Listings("")
        seen: set[str] = set()
        params: JsonObject = {}
        for _ in range(_PAGES):
            result = self._ask("tools/list", params)
            listings.add(result)
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str):
                return listings.manifest, ""
            if cursor in seen:
                return listings.manifest, "it gives the same page of its tools again and again"
            seen.add(cursor)
            params = {"cursor": cursor}
        return listings.manifest, f"it has more than {_PAGES} pages of tools"

    def _ask(self, method: str, params: JsonObject) -> JsonObject:
        self._number += 1
        sent = params | ({"_meta": self._meta} if self._meta else {})
        self._send({"id": self._number, "method": method, "params": sent})
        while True:
            message = self._receive(method)
            if "method" in message:
                if message.get("id") is not None and self._answers < _ANSWERS:
                    self._answers += 1
                    self._send(_declined(message))
            elif message.get("id") == self._number and type(message["id"]) is int:
                error, result = message.get("error"), message.get("result")
                if error is not None:
                    raise _Refused(_said(error))
                if not isinstance(result, dict):
                    raise ServerFault(self.told(f"answers {method} with no object"))
                return result

    def _receive(self, method: str) -> JsonObject:
        """The next message; what is none is passed over."""
        while True:
            left = self._deadline - time.monotonic()
            try:
                if left <= 0:  # a server that says other things for ever is too late, too
                    raise queue.Empty  # noqa: TRY301 - both ways of being late end the same
                line = self._lines.get(timeout=left)
            except queue.Empty:
                raise ServerFault(self.told(f"does not answer {method} in time")) from None
            if not line:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(max(0.0, min(_GRACE_S, self._deadline - time.monotonic())))
                self._threads[1].join(_GRACE_S)  # it may have said why
                code = self._process.poll()
                how = "closes its output" if code is None else f"ends with {code}"
                raise ServerFault(self.told(f"{how} instead of answering {method}"))
            with suppress(ValueError):
                message = jsonvalue.loads(line)
                if isinstance(message, dict):
                    return message

    def _send(self, message: JsonObject) -> None:
        stdin = self._pipes()[0]
        with suppress(OSError):  # it has gone, which reading tells
            stdin.write(jsonvalue.dumps({"jsonrpc": "2.0", **message}) + b"\n")
            stdin.flush()


def _declined(message: JsonObject) -> JsonObject:
    """The answer to a request of the server: it is alive, and everything else there is nobody for."""
    if message.get("method") == "ping":
        return {"id": message["id"], "result": {}}
    return {"id": message["id"], "error": {"code": _NOT_FOUND, "message": "this client only lists tools"}}


def _name(info: JsonValue) -> str:
    parts = [info.get("name"), info.get("version")] if isinstance(info, dict) else []
    return " ".join(part for part in parts if isinstance(part, str))


def _said(error: JsonValue) -> str:
    said = error.get("message") if isinstance(error, dict) else None
    return redact_text(said) if isinstance(said, str) else "an error without a message"

"""What a hook costs a tool call: its whole process, beside an interpreter that does nothing; and its form over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from benchmarks.timing import Row, side_by_side
from waggle import Route, Store
from waggle.hook.client import NAME
from waggle.hook.token import find_token
from waggle.routes import RouteStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["HOOK_TOPICS"]

_BAR: Final = 3.0  # times an interpreter that does nothing
_HTTP_BAR: Final = 1.0  # times the process a call, which it is there to save
_ROUTES: Final = 1000
_CALLS: Final = 1000


class _Host:
    """Runs the installed hook as Claude Code does, in a project of its own."""

    def __init__(self, place: Path) -> None:
        self.root = place / "project"
        (self.root / ".git").mkdir(parents=True)
        self._env = {**os.environ, "WAGGLE_HOME": str(place / "home")}
        self._socket = place / "home" / "hook" / f"{NAME}.sock"
        self._calls = 0

    def run(self, session: str, tool: str, args: dict[str, object], response: object) -> bytes:
        """One call, reported by a process."""
        return self._hook("claude-code", self._event(session, tool, args, response))

    def _event(self, session: str, tool: str, args: dict[str, object], response: object) -> bytes:
        self._calls += 1
        event = {
            "session_id": session,
            "cwd": str(self.root),
            "hook_event_name": "PostToolUse",
            "tool_name": tool,
            "tool_input": args,
            "tool_response": response,
            "tool_use_id": f"toolu_{self._calls}",
        }
        return json.dumps(event).encode()

    def _hook(self, host: str, event: bytes = b"") -> bytes:
        command = [str(Path(sys.executable).with_name("waggle-hook")), host]
        return subprocess.run(command, input=event, env=self._env, capture_output=True, check=True, timeout=60).stdout

    @contextmanager
    def serving(self) -> Iterator[Callable[[str, str, dict[str, object], object], bytes]]:
        """Have `waggle serve` answer in the keeper's place; gives what reports a call to it."""
        command = [str(Path(sys.executable).with_name("waggle")), "serve", "--address", "127.0.0.1:0"]
        with subprocess.Popen(command, env=self._env, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None  # noqa: S101 - a pipe; this tells the type checker
            said = next(line for line in server.stderr if " answers at " in line)
            yield partial(self._post, said.split(" answers at ")[1].split(";")[0])
            server.terminate()

    def _post(self, url: str, session: str, tool: str, args: dict[str, object], response: object) -> bytes:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        try:
            token = find_token(self._socket.parent)
            event = self._event(session, tool, args, response)
            connection.request("POST", parts.path, event, {"authorization": f"Bearer {token}"})
            return connection.getresponse().read()
        finally:
            connection.close()

    def warm(self) -> None:
        """Start the keeper, and wait for it."""
        self.run("warm", "Read", {"file_path": "x"}, "x")
        deadline = time.monotonic() + 60
        while not self._socket.exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    def stop(self) -> None:
        """End the keeper."""
        self._hook("stop")


def _store_routes(root: Path) -> None:
    """Routes of three reads each; after the first two, the third is looked up."""
    store = Store(root / ".waggle" / "skills", root / ".waggle" / "ledger.jsonl")
    for number in range(_ROUTES):
        paths = [str(root / f"{number}-{part}.txt") for part in "abc"]
        route = Route(f"route-{number}", tuple(RouteStep("Read", {"file_path": path}) for path in paths))
        for name, text in store.rendered(route).items():
            path = store.directory / route.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        Path(paths[2]).write_text("what the route reads\n" * 50, encoding="utf-8")


def _bare() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True, capture_output=True)


def _row(topic: str, work: Callable[[], object]) -> Row:
    took, bare, ratio = side_by_side(work, _bare, rounds=25)
    return Row(f"waggle-hook, {topic}", ratio, "times", _BAR, f"python -c pass ({bare * 1e3:.0f} ms)", took / bare)


def _http_row(host: _Host, topic: str, *call: Any) -> Row:
    """The same call in both forms, answered by one server."""
    with host.serving() as post:
        posted, process, ratio = side_by_side(lambda: post(*call), lambda: host.run(*call), rounds=25)
    beside = f"waggle-hook ({process * 1e3:.0f} ms)"
    return Row(f"the hook over HTTP, {topic}", ratio, "times", _HTTP_BAR, beside, posted / process)


def hook() -> Iterator[Row]:
    """A hook that adds nothing, in an empty project; with many routes and a long session; and one that adds a read."""
    with tempfile.TemporaryDirectory() as place:
        host = _Host(Path(place))
        host.warm()
        yield _row("nothing stored", lambda: host.run("s", "Read", {"file_path": "x"}, "x" * 2000))
        yield _http_row(host, "nothing stored", "s", "Read", {"file_path": "x"}, "x" * 2000)
        host.stop()
    with tempfile.TemporaryDirectory() as place:
        host = _Host(Path(place))
        _store_routes(host.root)
        host.warm()
        for number in range(_CALLS):
            host.run("s", "Grep", {"pattern": f"p{number}"}, {"mode": "content", "content": f"a{number}.py:1:x\n" * 40})
        long = f"{_ROUTES:,} routes, {_CALLS:,} calls before"
        yield _row(long, lambda: host.run("s", "Grep", {"pattern": "q"}, "x" * 2000))
        found = iter(range(_ROUTES))

        def both() -> None:
            """Two calls that a route begins with; the second is answered with the third."""
            number = next(found)
            paths = [str(host.root / f"{number}-{part}.txt") for part in "ab"]
            _, answer = [host.run("t", "Read", {"file_path": path}, "x") for path in paths]
            if number < _FOLDED and b"what the route reads" not in answer:
                raise AssertionError(f"nothing was looked up: {answer!r}")

        took, bare, ratio = side_by_side(both, _bare, rounds=25)
        yield Row(
            f"waggle-hook, {_ROUTES:,} routes, half with a lookup",
            ratio / 2,
            "times",
            _BAR,
            f"python -c pass ({bare * 1e3:.0f} ms)",
            took / bare / 2,
        )
        yield _http_row(host, long, "s", "Grep", {"pattern": "q"}, "x" * 2000)
        host.stop()


#: Lookups of one session, after which none is made any more.
_FOLDED: Final = 40

HOOK_TOPICS: Final[dict[str, Callable[[], Iterator[Row]]]] = {"hook": hook}

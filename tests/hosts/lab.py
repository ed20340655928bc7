"""A project, a home and a scripted model for a host's real binary, and what its hooks were told."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.conftest import ROOT
from tests.waggle.hook.hook_support import make_project
from waggle.hook.client import NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BINARY: Final = os.environ.get("HOST_TEST_BINARY", "")
VERSION: Final = os.environ.get("HOST_TEST_VERSION", "")
UPDATE: Final = bool(os.environ.get("HOST_TEST_UPDATE"))
EVENTS: Final = ROOT / "tests" / "waggle" / "hook" / "events"


@dataclass
class Model:
    """A scripted model: to each request that asks it something the next answer of the script, then "done".

    Attributes:
        asks: whether a request, by its path, asks the model.
        written: an answer as the host's protocol has it, from the parts of a script; None is the last one.
        requests: what it was asked, oldest first.
    """

    asks: Callable[[str], bool]
    written: Callable[[list[dict[str, Any]] | None], bytes]
    script: list[list[dict[str, Any]]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve it; gives the address."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class has it so
                pass

            def do_GET(self) -> None:
                self._send("application/json", b"{}")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                if not model.asks(self.path):
                    self._send("application/json", b"{}")
                    return
                model.requests.append(body)
                parts = model.script.pop(0) if model.script else None
                self._send("text/event-stream", model.written(parts))

            def _send(self, kind: str, data: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


class Lab:
    """Where a host works: a project, a home of its own, and waggle on its path.

    Args:
        place: an empty directory.
        host: its name.
        model: what it asks.
    """

    def __init__(self, place: Path, host: str, model: Model) -> None:
        self.home = place / "home"
        self.root = make_project(place / "project").resolve()
        self.host = host
        self.model = model
        self.seen = place / "seen"
        self.seen.mkdir()
        self.home.mkdir()
        (self.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("WAGGLE_", "XDG_"))},
            "HOME": str(self.home),
            "WAGGLE_HOME": str(self.home / "waggle"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }

    def waggle(self, *words: str) -> str:
        """Run waggle's command in the project."""
        done = self._run([str(Path(sys.executable).parent / "waggle"), *words])
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ran(self, *words: str, **environment: str) -> str:
        """Run the host in the project; gives what it printed, on both outputs."""
        done = self._run([BINARY, *words], environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def _run(self, words: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.root,
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start_keeper(self) -> None:
        """Start the keeper, so that no event of the session has to."""
        hook = [sys.executable, "-m", "waggle.hook.client", self.host]
        subprocess.run(hook, env=self.environment, input=b"{}", timeout=60, check=True)
        self._until((self.home / "waggle" / "hook" / f"{NAME}.sock").exists)

    def stop_keeper(self) -> None:
        """End the keeper."""
        subprocess.run(
            [sys.executable, "-m", "waggle.hook.client", "stop"], env=self.environment, timeout=60, check=True
        )

    def all_are_counted(self) -> None:
        """Wait until no session is open any more: a host need not wait for its hook at the end of one."""
        sessions = self.home / "waggle" / "hook" / "sessions"
        self._until(lambda: not list(sessions.glob("*.jsonl")))

    def _until(self, there: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not there():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    # --- what the hooks were told -----------------------------------------------------------------------------------

    def watching(self, settings: Path, *, answer: str = "") -> None:
        """Let every hook in the settings keep what it was told before it does its work; see `events`.

        Args:
            settings: the file.
            answer: a command in the hook's place.
        """
        script = self.seen.parent / "watch.sh"
        keep = f'cat > "$0.$$"; cp "$0.$$" {shlex.quote(str(self.seen))}/$(date +%s%N)-$$.json'
        work = answer or f'{shlex.quote(sys.executable)} -m waggle.hook.client {self.host} < "$0.$$"'
        script.write_text(f"#!/bin/sh\n{keep}\n{work}\n")
        script.chmod(0o700)
        settings.write_text(settings.read_text().replace(f"waggle-hook {self.host}", str(script)))

    def events(self) -> list[dict[str, Any]]:
        """What the hooks were told, oldest first."""
        return [json.loads(path.read_text()) for path in sorted(self.seen.glob("*.json"))]

    def compare(self, events: list[dict[str, Any]]) -> None:
        """Compare events with those that the other tests rest on: as many, and each with the same members."""
        path = EVENTS / f"{self.host}.json"
        plain = json.loads(self.plain(json.dumps(events)))
        if UPDATE:
            EVENTS.mkdir(exist_ok=True)
            kept = {"version": VERSION, "events": plain}
            path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        expected = json.loads(path.read_text(encoding="utf-8"))["events"]
        assert [_shape(event) for event in plain] == [_shape(event) for event in expected]

    def plain(self, text: str) -> str:
        """A text without what differs from run to run and from machine to machine."""
        text = text.replace(str(self.root), "/home/ada/project").replace(str(self.home), "/home/ada")
        for number, name in enumerate(dict.fromkeys(_ID.findall(text))):
            text = text.replace(name, f"00000000-0000-4000-8000-{number:012}")
        text = re.sub(r"20\d\d([-/])\d\d([-/])\d\d", r"2026\g<1>01\g<2>01", text)
        text = re.sub(r"T\d\d([:-])\d\d([:-])\d\d(\.\d{3}Z)?", r"T00\g<1>00\g<2>00\g<3>", text)
        text = re.sub(r"T\d\d-\d\d-[0-9a-f]{8}|(?<=PGID: )\d+|(?<=Chunk ID: )\w+", "1", text)
        return re.sub(r"(?<=Wall time: )[\d.]+", "0.1", text)


_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def _shape(value: Any) -> Any:
    """The members of an event, and the kinds of their values; of those that name something, what they name."""
    if isinstance(value, dict):
        return {key: each if key.endswith("_name") else _shape(each) for key, each in sorted(value.items())}
    return type(value).__name__

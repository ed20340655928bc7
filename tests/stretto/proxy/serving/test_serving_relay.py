"""A flow at work between a real process and its host: what reaches the host, what is recorded, and how it ends."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from stretto.proxy.recording import Recording
from stretto.proxy.relay import Relay
from stretto.proxy.serving.tap import Serving
from stretto.sessions.log import read_log
from tests.stretto.proxy.proxy_support import added, call, line_of
from tests.stretto.shop import shop_flow
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Never answers ``get_order``, and ends when it is asked to fail.
SERVER = """
import json, sys, os
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    name = request["params"]["name"]
    if name == "fail":
        os._exit(3)
    if name == "get_order":
        continue
    texts = {"find_user": "u1", "get_user": '{"orders": ["#W1"]}'}
    result = {"content": [{"type": "text", "text": texts.get(name, "done")}], "own": 1.50}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


class Session:
    """A relay that runs, with the host's two ends."""

    def __init__(self, directory: Path, **options: Any) -> None:
        stdin, self._to_proxy = os.pipe()
        from_proxy, stdout = os.pipe()
        command = [sys.executable, "-c", SERVER]
        self.recording = Recording(directory, command=command, started_unix_ms=1, process_id=1)
        self.serving = Serving(shop_flow(), held_s=3.0, **options)
        self.relay = Relay(command, taps=[self.recording, self.serving], stdin=stdin, stdout=stdout)
        self.serving.attach(self.relay)
        self.status: list[int] = []
        self._descriptors = [stdin, stdout]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.lines = os.fdopen(from_proxy, "rb")

    def _run(self) -> None:
        self.status.append(self.relay.run())
        for descriptor in self._descriptors:
            os.close(descriptor)

    def say(self, message: Any) -> None:
        os.write(self._to_proxy, line_of(message))

    def end(self) -> int:
        if self._to_proxy >= 0:
            os.close(self._to_proxy)
            self._to_proxy = -1
        self._thread.join(20)
        return self.status[0]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path, per_call=1)
    yield session
    session.end()
    session.lines.close()


def test_lookups_ride_in_the_answer_and_are_recorded_as_the_proxys(session: Session) -> None:
    session.say(call(1, "find_user", {"email": "x"}))
    line = session.lines.readline()
    assert added(line).endswith('get_user {"user_id":"u1"}:\n{"orders": ["#W1"]}')
    assert b'"own": 1.5}' in line
    session.say(call(2, "cancel_order"))
    assert jsonvalue.loads(session.lines.readline())["id"] == 2  # type: ignore[index, call-overload]
    assert session.end() == 0
    _, entries = read_log(session.recording.path)
    senders = [(entry.sender, entry.message.get("id")) for entry in entries if isinstance(entry.message, dict)]
    assert senders == [
        ("client", 1),
        ("server", 1),
        ("proxy", "stretto-0"),
        ("server", "stretto-0"),
        ("proxy", 1),
        ("client", 2),
        ("server", 2),
    ]


@pytest.mark.case("HC-23")
def test_a_server_that_dies_during_a_lookup_does_not_take_the_answer_with_it(session: Session) -> None:
    session.say(call(1, "get_user", {"user_id": "u1"}))
    session.say(call(2, "fail"))
    message: Any = jsonvalue.loads(session.lines.readline())
    assert (message["id"], len(message["result"]["content"])) == (1, 1)
    assert session.end() == 3
    assert session.lines.read() == b""


@pytest.mark.case("HC-24")
def test_a_host_that_leaves_during_a_lookup_ends_the_session(session: Session) -> None:
    session.say(call(1, "get_user", {"user_id": "u1"}))
    assert session.end() == 0
    assert b'"id": 1' in session.lines.read()

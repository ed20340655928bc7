"""What crosses is in the log, without secrets; whatever befalls the log, what crosses is not held up."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from stretto.proxy.context import Conversation
from stretto.proxy.recording import Recording, old_logs, remove_old_logs
from stretto.proxy.streams import Line
from stretto.sessions.corpus import open_corpus
from stretto.sessions.episode import Assistant, ToolResult, User
from stretto.sessions.log import read_log
from tests.conftest import ROOT
from tests.stretto.proxy.relays import PATIENCE, Session, message, program
from waggle.background import Faults

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.sessions.episode import Episode

START_MS = 1_790_763_300_250

#: Answers a call with its arguments as text, and a listing with one tool; says something that is no JSON first.
SERVER = program(
    "import json, sys\nprint('Server started', flush=True)\n"
    "for line in sys.stdin.buffer:\n"
    "    said = json.loads(line); params = said.get('params') or {}\n"
    "    result = {'content': [{'type': 'text', 'text': json.dumps(params.get('arguments'))}]}\n"
    "    if params.get('name') == 'fails': result['isError'] = True\n"
    "    if said['method'] == 'tools/list': result = {'tools': [{'name': 'get', 'inputSchema': {},"
    " 'annotations': {'readOnlyHint': True}}]}\n"
    "    print(json.dumps({'jsonrpc': '2.0', 'id': said['id'], 'result': result}), flush=True)\n"
)


def recording(directory: Path, **options: Any) -> Recording:
    named: dict[str, Any] = {"command": SERVER, "started_unix_ms": START_MS, "process_id": 4711, **options}
    return Recording(directory, **named)


def call(number: object, name: str, **arguments: Any) -> bytes:
    return message(id=number, method="tools/call", params={"name": name, "arguments": arguments})


def calls_of(episode: Episode) -> list[tuple[str, str, Any]]:
    return [
        (each.id, each.name, each.arguments)
        for event in episode.events
        if isinstance(event, Assistant)
        for each in event.calls
    ]


def results_of(episode: Episode) -> dict[str, tuple[bool, str]]:
    return {event.call_id: (event.error, event.content) for event in episode.events if isinstance(event, ToolResult)}


def test_a_recorded_session_reads_back_as_the_calls_and_results_that_crossed(tmp_path: Path) -> None:
    tap = recording(tmp_path, domain="shop", agent_model="m", host_session="host-1", server_name="s")
    with Session(SERVER, taps=[tap]) as session:
        session.write(message(id=0, method="tools/list") + call(1, "get", id="W1"))
        session.write(call("1", "fails", n=18446744073709551617))
        answers = session.read_lines(4)
    assert answers.startswith(b"Server started\n")
    [recorded] = open_corpus(tmp_path)
    episode = recorded.episode
    assert (episode.id, episode.domain, episode.agent_model) == ("20260930T101500.250Z-4711", "shop", "m")
    assert [each[1:] for each in calls_of(episode)] == [("get", {"id": "W1"}), ("fails", {"n": 18446744073709551617})]
    assert list(results_of(episode).values()) == [(False, '{"id": "W1"}'), (True, '{"n": 18446744073709551617}')]
    assert recorded.manifest.tools == {"get": "read"}
    header, entries = read_log(tap.path)
    assert (header.host_session, header.server_name) == ("host-1", "s")
    assert "Server started" in [entry.raw for entry in entries]


def test_ten_thousand_calls_are_recorded_each_with_its_result_in_bounded_memory(tmp_path: Path) -> None:
    faults = Faults()
    tap = recording(tmp_path, faults=faults)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Session(SERVER, taps=[tap]) as session:
        session.write_and_leave(*(call(number, "get", n=number) for number in range(10_000)))
        assert len(session.read().splitlines()) == 10_001
        session.ends()
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert faults.counts() == {}
    # All that crossed would be 2 MB, and is held for as long as the disk is behind.
    assert grown_kib < 64 * 1024
    _, entries = read_log(tap.path)
    seen = Counter(
        (entry.sender, entry.message["id"])
        for entry in entries
        if isinstance(entry.message, dict) and type(entry.message["id"]) is int
    )
    assert seen == {(sender, number): 1 for sender in ("client", "server") for number in range(10_000)}


@pytest.mark.case("HC-17")
def test_secrets_are_on_the_wire_and_not_in_the_log(tmp_path: Path) -> None:
    secret = "sk-lab-EXAMPLE000111.seg2_EXAMPLE-333"  # noqa: S105 - made up
    tap = recording(tmp_path, command=["server", "--api-key", secret, f"https://me:{secret}@host/p"])
    with Session(SERVER, taps=[tap]) as session:
        session.write(call(1, "get", headers={"Authorization": f"Bearer {secret}"}, apiKey=secret))
        assert secret.encode() in session.read_lines(2)
    written = tap.path.read_bytes()
    assert secret.encode() not in written
    assert b"<redacted>" in written


def test_what_the_proxy_sends_itself_is_its_own_in_the_log(tmp_path: Path) -> None:
    tap = recording(tmp_path)
    with Session(SERVER, taps=[tap]) as session:
        session.read_lines(1)
        assert session.relay.to_server(call("stretto-1", "get"))
        session.read_lines(1)
        session.relay.to_host(b'{"id":1,"result":{}}\n')
        session.relay.to_host(b'{"id":2,"result":{}}\n', own=False)
    assert [entry.sender for entry in read_log(tap.path)[1] if entry.message] == ["proxy", "server", "proxy"]


def test_what_was_said_stands_before_the_next_call_and_the_rest_at_the_end(tmp_path: Path) -> None:
    said = tmp_path / "said.jsonl"
    tap = recording(tmp_path / "logs", conversation=Conversation(said, Faults()))
    with Session(SERVER, taps=[tap]) as session:
        said.write_text('{"role": "user", "content": "order W1?"}\n', encoding="utf-8")
        session.write(call(1, "get"))
        session.read_lines(2)
        with said.open("a", encoding="utf-8") as file:
            file.write('{"role": "assistant", "content": "it is here"}\n')
    [recorded] = open_corpus(tmp_path / "logs")
    kinds = [type(event) for event in recorded.episode.events]
    assert kinds == [User, Assistant, ToolResult, Assistant]


# --- faults ---------------------------------------------------------------------------------------------------------


def test_a_directory_that_vanishes_stops_the_record_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tap = recording(tmp_path / "logs")
    with Session(SERVER, taps=[tap]) as session:
        session.write(call(1, "get"))
        session.read_lines(2)
        assert tap._background.flush(PATIENCE)
        shutil.rmtree(tmp_path / "logs")
        for number in range(20):
            session.write(call(number, "get"))
        assert len(session.read_lines(20).splitlines()) == 20
    assert not (tmp_path / "logs").exists()
    assert caplog.text.count("the session is not recorded as it is") == 1


def test_a_place_that_cannot_be_written_is_told_once_and_nothing_else_happens(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "logs").write_text("a file", encoding="utf-8")
    with Session(SERVER, taps=[recording(tmp_path / "logs")]) as session:
        session.write(call(1, "get") + call(2, "get"))
        assert len(session.read_lines(3).splitlines()) == 3
    assert caplog.text.count("the session is not recorded as it is") == 1


def test_a_full_disk_is_told_once_and_no_line_is_held_up_or_written_in_half(tmp_path: Path) -> None:
    # A limit on the size of files stands for the disk: writing beyond it fails in the same place.
    script = (
        "import resource, signal, sys\nfrom stretto.proxy.main import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))\nsys.exit(main())"
    )
    lines = [call(number, "get", text="x" * 100) for number in range(100)]
    done = subprocess.run(
        [sys.executable, "-c", script, "--record", tmp_path, "--", *SERVER],
        input=b"".join(lines),
        capture_output=True,
        timeout=PATIENCE,
        cwd=ROOT,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 100
    assert done.stderr.count(b"the session is not recorded as it is") == 1
    assert done.stderr.count(b"\n") == 2  # the other one is of what the server says first
    [log] = tmp_path.glob("*.jsonl")
    assert len(list(read_log(log)[1])) > 5


def test_a_disk_that_does_not_keep_up_loses_lines_of_the_log_and_no_others(caplog: pytest.LogCaptureFixture,
    tmp_path: Path) -> None:  # fmt: skip
    faults = Faults()
    tap = recording(tmp_path, queue_bytes=10_000, faults=faults)
    slow = threading.Event()
    tap._background.submit("a slow disk", lambda: slow.wait(PATIENCE))
    with Session(SERVER, taps=[tap]) as session:
        for number in range(100):
            session.write(call(number, "get", text="x" * 500))
        assert len(session.read_lines(101).splitlines()) == 101
        slow.set()
    assert faults.counts()["the disk is too slow to record everything"] > 100
    assert 0 < len(list(read_log(tap.path)[1])) < 30


def test_a_crash_leaves_a_log_that_can_be_read_with_all_but_what_was_in_flight(tmp_path: Path) -> None:
    proxy = subprocess.Popen(
        [sys.executable, "-m", "stretto.proxy.main", "--record", tmp_path, "--", *SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert proxy.stdin
    assert proxy.stdout
    with proxy.stdin, proxy.stdout:
        for number in range(50):
            proxy.stdin.write(call(number, "get"))
            proxy.stdin.flush()
            assert json.loads(proxy.stdout.readline())["id"] == number
        proxy.send_signal(signal.SIGKILL)
        assert proxy.wait(PATIENCE) == -signal.SIGKILL
    [recorded] = open_corpus(tmp_path)
    numbers = [int(each[0]) for each in calls_of(recorded.episode)]
    assert numbers == list(range(len(numbers)))


# --- old logs ---------------------------------------------------------------------------------------------------------


def test_old_session_logs_are_removed_at_the_start_and_nothing_else(tmp_path: Path) -> None:
    def make(name: str, text: str, days: float) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        at = START_MS / 1000 - days * 86_400
        os.utime(path, (at, at))
        return path

    def log(session: str) -> str:
        return json.dumps({"stretto_mcp_log": 2, "session": session, "started_unix_ms": 5}) + "\n"

    old = make("20260101T000000.000Z-1.jsonl", log("20260101T000000.000Z-1"), 8)
    make(old.name + ".lock", "", 8)
    kept = {
        make("20260102T000000.000Z-1.jsonl", log("20260102T000000.000Z-1"), 6),
        make("renamed.jsonl", log("20260101T000000.000Z-1"), 8),
        make("20260101T000000.000Z-1.flow.jsonl", log("20260101T000000.000Z-1.flow"), 8),
        make("notes.jsonl", '{"a": 1}\n', 8),
        make("empty.jsonl", "", 8),
        make("notes.txt", "mine", 8),
        make("retail.flow.json", "{}", 8),
    }
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "notes.txt")
    (tmp_path / "directory.jsonl").mkdir()
    before = START_MS / 1000 - 7 * 86_400
    assert old_logs(tmp_path, before) == [old]
    assert old.exists()
    tap = recording(tmp_path, retain_days=7)
    tap.from_host(Line(call(1, "get")))
    tap.close()
    assert not old.exists()
    assert not old.with_name(old.name + ".lock").exists()
    assert all(path.exists() for path in kept)
    assert {"link.jsonl", "directory.jsonl", tap.path.name} <= {path.name for path in tmp_path.iterdir()}
    assert remove_old_logs(tmp_path / "nowhere", before) == []

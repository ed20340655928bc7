"""Bytes in, the same bytes out, and an end in bounded time whoever leaves first."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stretto.proxy.relay import EXIT_FAILED, Line, Relay
from tests.stretto.proxy.relays import ECHO, PATIENCE, Session, Watcher, message, program

if TYPE_CHECKING:
    from pathlib import Path


#: A server that answers every request with its own id, and counts them on the way.
ANSWERS = program(
    "import sys, json\n"
    "for line in sys.stdin.buffer:\n"
    "    said = json.loads(line)\n"
    "    if 'id' in said and 'method' in said:\n"
    "        answer = {'jsonrpc': '2.0', 'id': said['id'], 'result': {'content': [{'type': 'text', 'text': 'ok'}]}}\n"
    "        sys.stdout.write(json.dumps(answer) + chr(10)); sys.stdout.flush()\n"
)
IGNORES = (
    "import signal, sys, time\n"
    "for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(each, signal.SIG_IGN)\n"
    "print('ready', flush=True)\n"
)


def _gone(pid: int) -> bool:
    """Wait until no such process is left; a zombie that nobody waits for counts as gone."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
                if ") Z " in file.read():
                    return True
        except OSError:
            return True
    return False


# --- bytes ------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.binary(min_size=1, max_size=200) | st.sampled_from([b"\n", b"\r\n", b"{}\n", b"\xff\n"]), max_size=8)
)
def test_any_bytes_come_back_from_an_echo_as_they_were_with_a_tap_and_without(chunks: list[bytes]) -> None:
    for taps in ((), (Watcher(),)):
        with Session(ECHO, taps=taps) as session:
            session.write_and_leave(*chunks)
            assert session.read() == b"".join(chunks)
            assert session.ends() == 0
        if taps:
            ways = [[raw for way, raw in taps[0].seen if way == side] for side in ("host", "server")]
            assert [b"".join(way) for way in ways] == [b"".join(chunks)] * 2
            assert all(line.endswith(b"\n") for way in ways for line, _ in pairwise(way))


@pytest.mark.case("HC-21")
def test_the_relay_itself_passes_stray_text_of_the_server_as_it_came_and_the_session_goes_on() -> None:
    stray = b'Server started\n\n{"jsonrpc": "2.0", \n[1,2]\n"x"\n\xff\xfe not utf-8\n'
    server = program(f"import sys\nsys.stdout.buffer.write({stray!r}); sys.stdout.flush()\n" + ANSWERS[2])
    for taps in ((), (Watcher(),)):
        with Session(server, taps=taps) as session:
            assert session.read_lines(6) == stray
            session.write(message(id=1, method="tools/call", params={"name": "x"}))
            assert json.loads(session.read_lines(1))["id"] == 1


@pytest.mark.case("HC-22")
@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 1 << 20, 20 << 20])
def test_a_long_line_arrives_whole(size: int) -> None:
    watcher = Watcher()
    with Session(ECHO, taps=[watcher]) as session:
        line = b'{"a":"' + b"x" * (size - 9) + b'"}\n'
        session.write_and_leave(line[:-1], b"\n" + line[:100] + b"\n{}\n")
        assert session.read() == line + line[:100] + b"\n{}\n"
    assert [raw for side, raw in watcher.seen if side == "server"] == [line, line[:100] + b"\n", b"{}\n"]


@pytest.mark.case("HC-22")
def test_a_line_in_chunks_of_one_byte_is_one_line() -> None:
    watcher = Watcher()
    with Session(ECHO, taps=[watcher]) as session:
        for byte in b'{"a":1}\n{"b":2}\n':
            session.write(bytes([byte]))
        session.read_lines(2)
    assert [raw for side, raw in watcher.seen if side == "host"] == [b'{"a":1}\n', b'{"b":2}\n']


@pytest.mark.case("HC-22")
def test_a_line_above_the_limit_passes_unseen_and_the_next_one_is_seen(caplog: pytest.LogCaptureFixture) -> None:
    watcher = Watcher()
    with Session(ECHO, taps=[watcher], longest=100_000) as session:
        data = b"y" * 300_000 + b"\n{}\n" + b"z" * 300_000 + b"\n"
        session.write_and_leave(data)
        assert session.read() == data
    assert [raw for side, raw in watcher.seen if side == "server"] == [b"{}\n"]
    assert caplog.text.count("a line of more than 100,000 bytes passed without being looked at") == 1


@pytest.mark.case("HC-25")
def test_ids_keep_value_and_type() -> None:
    ids = [7, "7", 0, "", "a b", 9007199254740993, 18446744073709551617, -1]
    for taps in ((), (Watcher(),)):
        with Session(ANSWERS, taps=taps) as session:
            for each in ids:
                session.write(message(id=each, method="tools/call", params={"name": "x"}))
            answers = [json.loads(line)["id"] for line in session.read_lines(len(ids)).splitlines()]
            assert [(type(each), each) for each in answers] == [(type(each), each) for each in ids]


@pytest.mark.case("HC-26")
def test_error_results_and_unknown_fields_pass_byte_for_byte() -> None:
    said = (
        b'{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"no"},{"type":"image",'
        b'"data":"AA==","mimeType":"image/png"}],"structuredContent":{"reason": "locked","until":17},"_meta":{"k":1},'
        b'"nobody knows":[1.0, 1e2]}}\n{"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":{}}}\n'
        b'{"jsonrpc":"2.0","id":3,"result":{"isError":"true"}}\n[{"jsonrpc":"2.0","id":4,"method":"a"}]\n'
    )
    with Session(ECHO, taps=[Watcher()]) as session:
        session.write(said)
        assert session.read_lines(4) == said


# --- many, and slow -----------------------------------------------------------------------------------------------


def test_two_hundred_calls_at_once_are_each_answered() -> None:
    with Session(ANSWERS, taps=[Watcher()]) as session:
        callers = [
            threading.Thread(target=session.write, args=(message(id=each, method="tools/call", params={"name": "x"}),))
            for each in range(200)
        ]
        for caller in callers:
            caller.start()
        answers = [json.loads(line)["id"] for line in session.read_lines(200).splitlines()]
        for caller in callers:
            caller.join(PATIENCE)
    assert sorted(answers) == list(range(200))


def test_a_host_that_does_not_read_holds_up_the_server_and_loses_nothing(tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    server = program(  # says in the pipe beside it when nobody has taken anything for half a second
        f"import os, select\ntold = open({str(told)!r}, 'w')\n"
        "for n in range(4_000):\n"
        "    if not told.closed and not select.select([], [1], [], 0.5)[1]: told.write(str(n)); told.close()\n"
        "    os.write(1, b'x' * 999 + b'\\n')\n"
    )
    with Session(server, taps=[Watcher()]) as session:
        assert int(told.read_text(encoding="utf-8")) < 1_000  # what two pipes and a chunk hold
        assert session.read() == (b"x" * 999 + b"\n") * 4_000
        assert session.ends() == 0


# --- taps ---------------------------------------------------------------------------------------------------------


class _Broken(Watcher):
    def from_server(self, line: Line) -> bool | Line:
        raise RuntimeError("a fault of ours")


def test_a_tap_that_raises_is_switched_off_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    other = Watcher()
    with Session(ECHO, taps=[_Broken(), other]) as session:
        session.write(b"1\n2\n3\n")
        assert session.read_lines(3) == b"1\n2\n3\n"
    assert [raw for side, raw in other.seen if side == "server"] == [b"1\n", b"2\n", b"3\n"]
    assert caplog.text.count("_Broken is switched off: a fault of ours") == 1


class _Replaces(Watcher):
    def from_server(self, line: Line) -> bool | Line:
        return Line(line.raw.replace(b"a", b"b"), own=True) if b"a" in line.raw else False


def test_a_line_that_is_replaced_is_shown_to_later_taps_and_told_as_the_proxys_own() -> None:
    before, after = Watcher(), Watcher()
    with Session(ECHO, taps=[before, _Replaces(), after]) as session:
        session.write(b"a\nc\n")
        assert session.read_lines(2) == b"b\nc\n"
    told = [(who, raw) for who, raw in before.seen if who != "host" and raw]
    assert told == [("server", b"a\n"), ("sent to host", b"b\n"), ("server", b"c\n")]
    assert [raw for who, raw in after.seen if who == "server"] == [b"b\n", b"c\n"]


class _Keeps(Watcher):
    relay: Relay

    def from_server(self, line: Line) -> bool | Line:
        return b"keep" in line.raw

    def close(self) -> None:
        self.relay.to_host(b"given back\n")


def test_a_kept_line_is_sent_by_its_tap_at_the_latest_when_the_session_ends_and_others_know() -> None:
    keeps, other = _Keeps(), Watcher()
    with Session(ECHO, taps=[other, keeps]) as session:
        keeps.relay = session.relay
        session.write(b"a\nkeep\nb\n")
        assert session.read_lines(2) == b"a\nb\n"
        assert session.relay.to_server(b"own\n")
        assert session.read_lines(1) == b"own\n"
        session.write(b"torn")
        session.close_input()
        assert session.read() == b"torn\ngiven back\n"
    assert other.seen[-2:] == [("sent to host", b"given back\n"), ("closed", b"")]
    assert ("sent to server", b"own\n") in other.seen


def test_nothing_can_be_sent_to_a_server_that_is_gone() -> None:
    with Session(program("")) as session:
        session.ends()
        assert not session.relay.to_server(b"late\n")


# --- the server ends ------------------------------------------------------------------------------------------------


@pytest.mark.case("HC-23")
@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("sys.exit(0)", 0),
        ("sys.exit(3)", 3),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143),
    ],
)
def test_a_server_that_dies_with_calls_pending_ends_the_output_and_gives_its_status(ending: str, status: int) -> None:
    server = program(f"import os, signal, sys\nsys.stdin.readline(); sys.stdin.readline()\n{ending}")
    with Session(server) as session:
        session.write(message(id=1, method="tools/call") + message(id=2, method="tools/call"))
        assert session.read() == b""
        assert session.ends() == status


@pytest.mark.case("HC-23")
def test_a_server_killed_in_the_middle_of_a_message_has_said_what_it_said() -> None:
    server = program("import os, signal\nos.write(1, b'{}\\n{\"half')\nos.kill(os.getpid(), signal.SIGKILL)")
    for taps in ((), (Watcher(),)):
        with Session(server, taps=taps) as session:
            assert session.read() == b'{}\n{"half'
            assert session.ends() == 137


@pytest.mark.case("HC-23")
def test_a_server_that_closes_its_output_and_lives_on_is_ended() -> None:
    with Session(program("import os, time\nos.close(1)\nwhile True: time.sleep(60)")) as session:
        assert session.read() == b""
        assert session.ends() == 143


@pytest.mark.case("HC-23")
@pytest.mark.parametrize("command", [("/nowhere/server",), ("nul\0",)])
def test_a_server_that_cannot_be_started_is_told_with_the_proxys_own_status(
    command: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    watcher = Watcher()
    with Session(command, taps=[watcher]) as session:
        assert session.read() == b""
        assert session.ends() == EXIT_FAILED
    assert "cannot be started" in caplog.text
    assert watcher.seen == [("closed", b"")]
    assert [reason.split(" cannot be started: ")[0] for reason in watcher.ends] == [command[0]]


@pytest.mark.case("HC-23")
def test_everything_a_server_said_before_it_ended_reaches_a_host_that_reads_late() -> None:
    with Session(program("import os\nos.write(1, b'x' * 300_000)\nos.write(1, b'end')")) as session:
        assert session.read() == b"x" * 300_000 + b"end"


def test_what_a_server_leaves_behind_is_ended_with_it() -> None:
    server = program(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\nprint(child.pid, flush=True)"
    )
    with Session(server) as session:
        child = int(session.read_lines(1))
        assert session.ends() == 0
        assert _gone(child)


def test_a_process_that_left_the_servers_group_does_not_hold_up_the_end() -> None:
    server = program(
        "import subprocess, sys\nargs = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "child = subprocess.Popen(args, start_new_session=True)\nprint(child.pid, flush=True)"
    )
    with Session(server) as session:
        child = int(session.read_lines(1))
        assert session.ends() == 0
        os.kill(child, signal.SIGKILL)


# --- the host leaves ------------------------------------------------------------------------------------------------


@pytest.mark.case("HC-24")
def test_a_server_that_ends_with_its_input_is_left_to_end() -> None:
    server = program("import sys\nsys.stdin.read()\nprint('bye', flush=True)\nsys.exit(5)")
    with Session(server) as session:
        session.close_input()
        assert session.read() == b"bye\n"
        assert session.ends() == 5


@pytest.mark.case("HC-24")
def test_a_server_that_ignores_everything_is_killed_with_its_child() -> None:
    server = program(
        IGNORES + "import subprocess\nchild = subprocess.Popen([sys.executable, '-c', 'import signal, time\\n"
        "signal.signal(15, signal.SIG_IGN)\\nprint(1, flush=True)\\ntime.sleep(600)'], stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\nprint(child.pid, flush=True)\nwhile True: time.sleep(60)"
    )
    with Session(server) as session:
        child = int(session.read_lines(2).split()[1])
        session.close_input()
        assert session.ends() == 137
        assert _gone(child)


@pytest.mark.case("HC-24")
def test_a_host_that_stops_reading_while_results_arrive_ends_the_server() -> None:
    server = program("import os\nwhile True: os.write(1, b'x' * 4096)")
    with Session(server) as session:
        os.read(session.output, 10)
        session.close_output()
        assert session.ends() in (1, 128 + signal.SIGPIPE)  # Python says the former


@pytest.mark.case("HC-24")
def test_a_host_that_is_killed_while_the_server_does_not_read_leaves_no_process() -> None:
    with Session(program(IGNORES + "time.sleep(600)")) as session:
        session.read_lines(1)
        session.write_and_leave(b"x" * 100_000 + b"\n")  # fits the pipes of both sides, so it can leave
        assert session.ends() == 137


@pytest.mark.case("HC-24")
def test_a_server_that_goes_on_answering_after_the_host_has_said_all_is_heard() -> None:
    server = program(
        "import sys, time\nlines = sys.stdin.readlines()\n"
        "for line in lines:\n    time.sleep(0.1)\n    print(line, end='', flush=True)"
    )
    with Session(server) as session:
        session.write_and_leave(b"".join(b"%d\n" % each for each in range(8)))  # 0.8 s, at 0.3 s of patience
        assert len(session.read().splitlines()) == 8
        assert session.ends() == 0


# --- signals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_passed_on_and_its_effect_is_the_status(signum: int) -> None:
    server = program(
        "import signal, sys, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nprint(1, flush=True)\ntime.sleep(60)"
    )
    with Session(server) as session:
        session.read_lines(1)
        session.relay.stop(signum)
        assert session.ends() == 128 + signum


def test_a_signal_ends_a_server_that_ignores_it_and_a_host_that_does_not_read() -> None:
    with Session(program(IGNORES + "while True: sys.stdout.write('x' * 4096)")) as session:
        session.read_lines(1)
        session.relay.stop(signal.SIGTERM)
        assert session.ends() == 137


def test_a_signal_before_the_server_is_there_ends_it() -> None:
    session = Session((sys.executable, "-c", "import time; time.sleep(600)"))
    session.relay.stop(signal.SIGTERM)
    with session:
        assert session.ends() == 143

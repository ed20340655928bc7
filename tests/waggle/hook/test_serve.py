"""``waggle serve`` as a person runs it: it holds what the keeper held, answers both forms, and ends when it is told."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import stat
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from tests.waggle.hook.hook_support import Agent, lessons, make_project, told
from tests.waggle.hook.processes import HOOK, WAGGLE, hook, keeper_is_up, run, until
from waggle.admission import bind
from waggle.cli.app import cli
from waggle.errors import StoreUnavailable
from waggle.hook import client
from waggle.hook.journal import Journal
from waggle.hook.token import find_token, own_token

if TYPE_CHECKING:
    from collections.abc import Iterator


class Server:
    """A running ``waggle serve``, and what it says."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        while not self.said or " answers at " not in self.said[-1]:
            line = self.line()
            assert line, self.said
        self.url = urlsplit(self.said[-1].split(" answers at ")[1].split(";")[0])

    def line(self) -> str:
        assert self.process.stderr
        self.said.append(self.process.stderr.readline())
        return self.said[-1]

    def post(self, event: bytes) -> bytes:
        """What Claude Code is told that has this event to report."""
        token = find_token(Path(os.environ["WAGGLE_HOME"]) / "hook")
        connection = http.client.HTTPConnection(self.url.hostname or "", self.url.port, timeout=60)
        try:
            connection.request("POST", self.url.path, event, {"authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            assert answer.status in (200, 204)
            return answer.read()
        finally:
            connection.close()

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """Start it at a free port; it is ended, whatever happens."""
    command = [*WAGGLE, "serve", "--address", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


def calls(home: Path, root: Path, session: str) -> int:
    return len(Journal.of(home / "hook" / "sessions", str(root), session, str(root)).read())


def test_a_session_whose_events_come_in_both_forms_is_one_session(home: Path, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    with serving() as server:
        for number, event in enumerate(lessons(root)):
            assert (hook if number % 2 else server.post)(event) == b""
        agent = Agent(root, "after")
        assert "def load_10" in told(server.post(agent.grep(10)))
        assert "def load_11" in told(hook(agent.grep(11)))
        assert server.end() == 0
    assert not (home / "hook" / f"{client.NAME}.sock").exists()
    assert (home / "hook" / "token").stat().st_mode & 0o777 == stat.S_IRUSR | stat.S_IWUSR


@pytest.mark.usefixtures("home")
def test_a_call_that_is_reported_in_both_forms_is_answered_once(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    with serving() as server:
        for event in lessons(root):
            server.post(event)
        event = Agent(root, "after").grep(10)
        with ThreadPoolExecutor(2) as pool:
            answers = [*pool.map(lambda answer: answer(event), (server.post, hook))]
        assert sorted(bool(answer) for answer in answers) == [False, True]


def test_it_takes_over_what_a_keeper_held_and_a_keeper_what_it_held(home: Path, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    events = lessons(root)
    hook(events[0])
    keeper_is_up(home)
    hook(events[1])
    with serving() as server:
        assert "hands over" in server.said[0]
        server.post(events[2])
        hook(events[3])
        assert server.end(signal.SIGINT) == 0
    hook(events[4])
    keeper_is_up(home)
    hook(events[5])
    deadline = time.monotonic() + 30
    while calls(home, root, "taught-0") < 6:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_twenty_events_in_each_form_at_once_lose_no_call(home: Path, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    agent = Agent(root)
    events = [agent.grep(number % 12) for number in range(40)]
    with serving() as server, ThreadPoolExecutor(40) as pool:
        posted = pool.map(server.post, events[:20])
        assert [*pool.map(hook, events[20:]), *posted] == [b""] * 40
        assert calls(home, root, "s1") == 40


def test_when_it_is_killed_command_hooks_go_on_and_nothing_is_lost(home: Path, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    agent = Agent(root)
    with serving() as server:
        server.post(agent.grep(1))
        server.end(signal.SIGKILL)
    hook(agent.grep(2))  # the socket is there, and nobody behind it: a keeper is started
    deadline = time.monotonic() + 30
    while calls(home, root, "s1") < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with serving() as server:
        server.post(agent.grep(3))
        assert calls(home, root, "s1") == 3


def test_it_says_what_a_person_wants_to_know(home: Path, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    with serving() as server:
        for event in [*lessons(root), Agent(root, "after").grep(10)]:
            server.post(event)
        seen = [server.line() for _ in range(6)]
        assert [line[9:].strip() for line in seen] == [
            f"{root}: session taught-0",
            f"{root}: session taught-0 has ended, and is counted",
            f"{root}: session taught-1",
            f"{root}: session taught-1 has ended, and is counted",
            f"{root}: session after",
            f"{root}: Read rode in the result of Grep",
        ]
        server.end()
        assert "SIGTERM" in server.line()
        assert server.line() == ""
    token = find_token(home / "hook")
    assert token
    assert token not in "".join(server.said)


@pytest.mark.usefixtures("home")
def test_there_is_one_at_a_time_and_only_who_started_it_ends_it() -> None:
    with serving() as server:
        second = run([*WAGGLE, "serve", "--address", "127.0.0.1:0"])
        assert second.returncode == 4
        assert b"another `waggle serve`" in second.stderr
        assert second.stderr.count(b"\n") == 1
        stop = run([*HOOK, "stop"])
        assert (stop.returncode, b"`waggle serve`" in stop.stdout) == (0, True)
        assert server.process.poll() is None
        assert server.end() == 0


def test_it_ends_when_its_directory_is_gone(home: Path) -> None:
    with serving() as server:
        shutil.rmtree(home)
        assert server.process.wait(60) == 1
        assert "gone" in server.line()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--address", "0.0.0.0:1"], "can be reached from other machines"),
        (["--address", "example.com:1"], "can be reached from other machines"),
        (["--address", "somewhere"], "--address somewhere is neither HOST:PORT nor PORT"),
        (["--address", "127.0.0.1:99999"], "neither HOST:PORT nor PORT"),
    ],
)
@pytest.mark.usefixtures("home")
def test_an_address_that_is_none_of_this_machine_is_refused(options: list[str], said: str) -> None:
    refused = run([*WAGGLE, "serve", *options])
    assert refused.returncode == 2
    assert said in refused.stderr.decode()


def test_a_port_that_is_taken_is_told_and_no_keeper_is_sent_away_for_it(home: Path, tmp_path: Path) -> None:
    hook(Agent(make_project(tmp_path / "project")).grep(1))
    keeper_is_up(home)
    with bind("127.0.0.1", 0) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        refused = run([*WAGGLE, "serve", "--address", address])
    assert refused.returncode == 2
    assert f"--address {address}: " in refused.stderr.decode()
    until(home / "hook" / f"{client.NAME}.sock", 0)


@pytest.mark.usefixtures("home")
def test_where_the_web_server_is_missing_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waggle.cli.serving.find_spec", lambda name: None)
    done = CliRunner().invoke(cli, ["serve"])
    assert done.exit_code == 2
    assert "pip install 'waggle-stretto[http]'" in done.stderr


def test_one_token_is_made_however_many_ask_for_it_first(tmp_path: Path) -> None:
    assert find_token(tmp_path) is None
    with ThreadPoolExecutor(8) as pool:
        tokens = {*pool.map(lambda _: own_token(tmp_path), range(16))}
    assert tokens == {find_token(tmp_path)}
    assert len(tokens.pop()) > 40
    (tmp_path / "token").write_text("two words\n", encoding="utf-8")
    with pytest.raises(StoreUnavailable, match="remove it"):
        own_token(tmp_path)


def test_the_token_is_in_no_line_that_other_users_see(home: Path) -> None:
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("looks at the command line and environment of a process in /proc, which only Linux has")
    with serving() as server:
        token = find_token(home / "hook")
        assert token
        seen = [(Path("/proc") / str(server.process.pid) / name).read_text() for name in ("cmdline", "environ")]
        assert not any(token in each for each in seen)
        assert json.dumps(token) not in "".join(server.said)

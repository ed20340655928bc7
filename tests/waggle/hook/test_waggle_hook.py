"""The hook's process and the keeper's: they never fail a call, lose no event, and cost next to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.waggle.hook.hook_support import Agent, lessons, make_project, told
from tests.waggle.hook.processes import HOOK, hook, keeper_is_up, run, until
from waggle.hook import client
from waggle.hook.journal import Journal


def test_the_hook_loads_the_standard_library_alone_and_little_of_it(home: Path, tmp_path: Path) -> None:
    """With a keeper that answers: the names that are loaded, not the time they take."""
    root = make_project(tmp_path / "project")
    hook(Agent(root).grep(1))
    keeper_is_up(home)
    code = (
        "import sys; before = set(sys.modules); from waggle.hook import client; client.main(['claude-code']); "
        "print(sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    done = run([sys.executable, "-c", code], Agent(root, "other").grep(1))
    assert done.returncode == 0
    ours = {"waggle", "waggle._lazy", "waggle.hook", "waggle.hook.client", "__future__", "_socket"}
    assert set(json.loads(done.stderr.decode().replace("'", '"'))) <= ours


def test_sessions_through_processes_end_in_a_read_that_rides_in_a_search(home: Path, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    first, *rest = lessons(root)
    assert hook(first) == b""
    keeper_is_up(home)
    for event in rest:
        assert hook(event) == b""
    assert "def load_10" in told(hook(Agent(root, "after").grep(10)))
    assert not (home / "hook" / "keeper.log").exists()


def test_twenty_hooks_at_once_start_one_keeper_and_lose_no_call(home: Path, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    agent = Agent(root)
    journal = Journal.of(home / "hook" / "sessions", str(root), agent.session, str(root))

    def batch() -> set[str | None]:
        events = [agent.grep(number % 12) for number in range(20)]
        with ThreadPoolExecutor(20) as pool:
            assert list(pool.map(hook, events)) == [b""] * 20
        return {f"toolu_s1__{agent.calls - number}" for number in range(20)}

    expected = batch()  # with no keeper
    keeper_is_up(home)
    expected |= batch()  # with one
    deadline = time.monotonic() + 30
    while {kept.call.id for kept in journal.read()} != expected:
        assert time.monotonic() < deadline, len(journal.read())
        time.sleep(0.05)
    assert len(journal.read()) == 40


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds the keeper in /proc, which only Linux has")
def test_a_keeper_that_was_killed_is_replaced_and_nothing_is_lost(home: Path, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    events = lessons(root)
    for event in events[:5]:
        hook(event)
        keeper_is_up(home)
    pid = next(
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _runs_keeper(entry, home)
    )
    os.kill(pid, 9)
    until_gone = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until_gone and _runs_keeper(Path(f"/proc/{pid}"), home):
        time.sleep(0.02)
    hook(events[5])  # the socket is there, and nobody behind it: another is started
    deadline = time.monotonic() + 30
    agent = Agent(root, "taught-0")
    while len(Journal.of(home / "hook" / "sessions", str(root), agent.session, str(root)).read()) < 6:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _runs_keeper(entry: Path, home: Path) -> bool:
    try:
        command, place = (entry / "cmdline").read_bytes(), (entry / "cwd").readlink()
    except OSError:
        return False
    return b"waggle.hook.keeper" in command and place == home / "hook"


def test_a_keeper_ends_when_its_place_is_removed_or_nothing_is_asked(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from waggle.hook.keeper import Keeper; "
        "Keeper(Path(sys.argv[1]), idle_s={}).run()"
    )
    for number, idle in enumerate((0.2, 60)):
        place = tmp_path / str(number)
        place.mkdir()
        with subprocess.Popen([sys.executable, "-c", code.format(idle), str(place)]) as keeper:
            if idle == 60:
                until(place / f"{client.NAME}.sock")
                (place / f"{client.NAME}.sock").unlink()
            assert keeper.wait(30) == 0


def test_a_place_that_others_can_look_into_is_not_used(home: Path, tmp_path: Path) -> None:
    (home / "hook").mkdir(parents=True)
    (home / "hook").chmod(0o755)
    done = run([*HOOK, "claude-code"], Agent(tmp_path).grep(1))
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"chmod 700" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("blocked", ["file", "no-place"])
def test_a_disk_that_takes_nothing_costs_one_line_and_no_call(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocked: str
) -> None:
    if blocked == "file":
        home.parent.mkdir(parents=True)
        home.write_text("a file in the place of a directory")
    else:
        monkeypatch.setenv("WAGGLE_HOME", "/proc/nowhere")
    done = run([*HOOK, "claude-code"], Agent(tmp_path).grep(1))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"waggle-hook: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini-cli", "cursor", "stop"])
def test_a_directory_that_is_removed_meanwhile_costs_no_call(tmp_path: Path, host: str) -> None:
    script = f"mkdir gone && cd gone && rmdir ../gone && exec {sys.executable} -m waggle.hook.client {host}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=environment, input=b"{}", capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["codex"], ["a\nb"], ["claude-code", "more"]])
@pytest.mark.usefixtures("home")
def test_whatever_it_is_called_with_it_ends_well(arguments: list[str]) -> None:
    done = run([*HOOK, *arguments], b"{}")
    assert (done.returncode, done.stdout) == (0, b"")


@given(
    event=st.binary(max_size=200) | st.text().map(str.encode) | st.sampled_from([b"{}", b'{"session_id":', b"[]" * 50])
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@pytest.mark.usefixtures("home")
def test_any_bytes_on_standard_input_end_well_and_print_nothing(event: bytes) -> None:
    assert hook(event) == b""


@pytest.mark.usefixtures("home")
def test_standard_input_and_output_that_are_closed_end_well() -> None:
    script = f"exec {sys.executable} -m waggle.hook.client claude-code <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", script], timeout=60, check=False).returncode == 0

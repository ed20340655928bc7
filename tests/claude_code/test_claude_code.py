"""waggle in the real Claude Code: both forms of the hook, and that they fail, change and reorder nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.claude_code.agent import ClaudeCode, habit
from tests.waggle.hook.hook_support import make_project
from waggle.admission import bind
from waggle.hook.journal import journals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.claude_code.endpoint import Tool, Turn

#: To some models Claude Code says what hooks add inside the tool's result, to others right behind it.
INSIDE = ("--model", "claude-sonnet-4-5")

FORMS = ["command", "http"]


class Site:
    """A project with the hook in its settings, and who answers it."""

    def __init__(self, root: Path, form: str) -> None:
        self.project = make_project(root / "project")
        self.claude = ClaudeCode(root / "home", self.project)
        self.place = root / "home" / "waggle" / "hook"
        self.server: subprocess.Popen[str] | None = None
        if form == "http":
            with bind("127.0.0.1", 0) as free:
                address = f"127.0.0.1:{free.getsockname()[1]}"
            self.claude.waggle("waggle", "init", "claude-code", "--http", "--address", address, "--write", "--yes")
            self.server = subprocess.Popen(
                ["waggle", "serve", "--address", address],
                env=self.claude.env,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert self.server.stderr
            assert " answers at " in self.server.stderr.readline()
        else:
            self.claude.waggle("waggle", "init", "claude-code", "--write", "--yes")
        assert re.search(r"^ok +claude-code hook", self.claude.waggle("waggle", "doctor"), re.MULTILINE)

    def kill(self) -> None:
        """Kill who answers, in the middle of it all."""
        if self.server:
            self.server.kill()
            self.server.wait(60)
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and self._is_keeper(entry):
                os.kill(int(entry.name), signal.SIGKILL)

    def _is_keeper(self, entry: Path) -> bool:
        try:
            command, place = (entry / "cmdline").read_bytes(), (entry / "cwd").readlink()
        except OSError:
            return False
        return b"waggle.hook.keeper" in command and place == self.place

    def close(self) -> None:
        if self.server:
            self.server.terminate()
            assert self.server.stderr
            with self.server.stderr:
                self.server.wait(60)
        self.claude.waggle("waggle-hook", "stop")

    def calls(self) -> int:
        """How many calls of sessions that have not ended are kept."""
        return sum(len(journal.read()) for journal, _ in journals(self.place / "sessions", unused_s=0))

    def patient(self, script: list[Turn]) -> list[Turn]:
        """A script whose turns take their time, as a model's do: until what happened before them is taken in."""
        return [self._after(turn, number) for number, turn in enumerate(script)]

    def _after(self, turn: Turn, calls: int) -> Turn:
        def taken() -> list[Tool]:
            deadline = time.monotonic() + 60
            while self.calls() < calls:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            return turn() if callable(turn) else turn

        return taken

    def settled(self) -> None:
        """Wait until every session that has ended is counted."""
        deadline = time.monotonic() + 60
        while self.calls():
            assert time.monotonic() < deadline
            time.sleep(0.05)


@contextmanager
def hooked(root: Path, form: str) -> Iterator[Site]:
    site = Site(root, form)
    try:
        yield site
    finally:
        site.close()


@pytest.mark.parametrize("model", [(), INSIDE], ids=["default", "inside"])
@pytest.mark.parametrize("form", FORMS)
def test_after_two_sessions_the_read_rides_in_the_result_of_the_search(
    tmp_path: Path, form: str, model: tuple[str, ...]
) -> None:
    with hooked(tmp_path, form) as site:
        for first in (0, 3):
            ran = site.claude.run(site.patient(habit(site.project, range(first, first + 3))), *model)
            assert "waggle-fold" not in str(ran.requests)
            site.settled()  # the end of the session has arrived
        assert "read-whole" in site.claude.waggle("waggle", "ls")
        ran = site.claude.run(habit(site.project, range(6, 7)), *model)
        found, behind = ran.result("toolu_001")["content"], ran.after("toolu_001")
        assert found.startswith("src/m6.py:20:def load_6():")
        said = found if model else behind
        assert said.count("<waggle-fold>") == said.count("</waggle-fold>") == 1
        assert "20\tdef load_6():" in said
        if model:
            assert "waggle-fold" not in behind
        else:
            assert found == "src/m6.py:20:def load_6():"
        assert "waggle-fold" not in str(ran.requests[0])
        assert "waggle-fold" in str(ran.requests[1])
        assert "rode" not in ran.notes


MIXED: list[list[Tool]] = [
    [("Bash", {"command": "cat src/m1.py", "description": "Show"})],
    [("Bash", {"command": "echo out; echo err >&2; exit 3", "description": "Fail"})],
    [("Grep", {"pattern": "load_[0-3]", "output_mode": "content"})],
    [("Grep", {"pattern": "load("})],
    [("Glob", {"pattern": "src/m3.py"})],
    [("Read", {"file_path": "src/m2.py", "offset": 19, "limit": 2})],
    [("Read", {"file_path": "src/nothing.py"})],
    [("NoSuchTool", {"x": 1})],
]


@pytest.mark.parametrize("form", FORMS)
def test_every_result_is_what_it_is_without_the_hook_and_what_fails_stays_failing(tmp_path: Path, form: str) -> None:
    plain = ClaudeCode(tmp_path / "plain-home", make_project(tmp_path / "plain")).run([*MIXED])
    with hooked(tmp_path, form) as site:
        ran = site.claude.run([*MIXED])
    for number in range(1, len(MIXED) + 1):
        call = f"toolu_{number:03}"
        with_hook, without = ran.result(call), plain.result(call)
        expected = without["content"].replace(str(tmp_path / "plain"), str(site.project))
        assert with_hook["content"] == expected
        assert with_hook.get("is_error", False) == without.get("is_error", False)
    assert [number for number in range(1, 9) if ran.result(f"toolu_{number:03}").get("is_error")] == [2, 4, 7, 8]


@pytest.mark.parametrize("form", FORMS)
def test_calls_of_one_turn_that_run_side_by_side_are_all_taken_in(tmp_path: Path, form: str) -> None:
    turn: list[Tool] = [("Grep", {"pattern": rf"def load_{number}\(", "output_mode": "content"}) for number in range(8)]
    seen: list[int] = []
    with hooked(tmp_path, form) as site:

        def look() -> list[Tool]:
            deadline = time.monotonic() + 60
            while site.calls() < 8 and time.monotonic() < deadline:  # the first may have started a keeper
                time.sleep(0.02)
            seen.append(site.calls())
            return []

        ran = site.claude.run([turn, look])
    assert seen == [8]
    for number in range(8):
        assert ran.result(f"toolu_{number + 1:03}")["content"] == f"src/m{number}.py:20:def load_{number}():"


@pytest.mark.parametrize("form", FORMS)
def test_when_who_answers_is_killed_no_call_fails_and_the_command_form_goes_on(tmp_path: Path, form: str) -> None:
    with hooked(tmp_path, form) as site:
        for first in (0, 3):
            script = habit(site.project, range(first, first + 3))
            script[4] = killing(site, script[4])
            ran = site.claude.run(site.patient(script) if form == "command" else script)
            for number in range(1, len(script) + 1):
                assert not ran.result(f"toolu_{number:03}").get("is_error")
            assert ("ECONNREFUSED" in ran.notes) == (form == "http")
        if form == "command":
            site.settled()
            assert "read-whole" in site.claude.waggle("waggle", "ls")


def killing(site: Site, turn: Turn) -> Turn:
    """A turn before which who answers the hook is killed."""

    def killed() -> list[Tool]:
        site.kill()
        return turn() if callable(turn) else turn

    return killed

"""docs/claude-code.md is followed as a reader would: its five commands, with the events of an agent in its place."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conftest import ROOT
from tests.waggle.hook.hook_support import Agent, lessons, make_project, told
from waggle.hook.client import NAME

if TYPE_CHECKING:
    import pytest

PAGE = ROOT / "docs" / "claude-code.md"
BIN = Path(sys.executable).parent


def test_five_commands_lead_from_nothing_to_the_first_saved_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_project(tmp_path / "project")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", str(BIN), prepend=":")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = re.search(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found
    commands = [line[2:] for line in found[1].splitlines()]
    assert len(commands) == 5
    printed = ""
    try:
        for command in commands:
            words = shlex.split(command)
            if words[0] == "pipx":  # this very package is installed already
                continue
            printed = work(root, tmp_path / "state") if words == ["claude"] else run(words, b"y\n").decode()
            if words[:2] == ["waggle", "doctor"]:
                assert re.search(r"^ok +claude-code hook", printed, re.MULTILINE), printed
        assert "read-whole" in printed
        assert "def load_10" in told(run(["waggle-hook", "claude-code"], Agent(root, "next").grep(10)))
    finally:
        run(["waggle-hook", "stop"], b"")


def run(words: list[str], given: bytes) -> bytes:
    done = subprocess.run([str(BIN / words[0]), *words[1:]], input=given, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def work(root: Path, state: Path) -> str:
    """What Claude Code does meanwhile, as far as waggle sees it: two sessions."""
    first, *rest = lessons(root)
    run(["waggle-hook", "claude-code"], first)
    deadline = time.monotonic() + 30
    while not (state / "waggle" / "hook" / f"{NAME}.sock").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for event in rest:
        run(["waggle-hook", "claude-code"], event)
    return ""

"""docs/other-hosts.md is followed as a reader would: each host's commands, with its events in its place."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.waggle.hook.hook_support import make_project, spoken, spoken_lessons
from waggle.hook.client import NAME

PAGE = ROOT / "docs" / "other-hosts.md"
BIN = Path(sys.executable).parent


def blocks() -> dict[str, list[str]]:
    """The commands of each host, by its name."""
    found = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    commands = [[line[2:] for line in block.splitlines()] for block in found]
    return {shlex.split(each[1])[2]: each for each in commands}


@pytest.mark.parametrize("name", ["codex", "gemini-cli", "cursor"])
def test_its_commands_lead_from_nothing_to_the_first_saved_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    root = make_project(tmp_path / "project")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", str(BIN), prepend=":")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    printed = ""
    try:
        for command in blocks()[name]:
            words = shlex.split(command)
            if words[0] == "waggle":
                printed = run(words, b"y\n", may_fail=words[1] == "doctor")
                if words[1] == "doctor":
                    assert re.search(rf"{name} hook", printed), printed
            elif words[0] in ("codex", "gemini", "cursor"):
                work(name, root, tmp_path / "state")
        assert "read-whole" in printed
        assert "def load_10" in run(["waggle-hook", name], spoken(name, root, "next", "search", 10))
    finally:
        run(["waggle-hook", "stop"], b"")


def run(words: list[str], given: bytes, *, may_fail: bool = False) -> str:
    done = subprocess.run([str(BIN / words[0]), *words[1:]], input=given, capture_output=True, timeout=60, check=False)
    assert may_fail or done.returncode == 0, done.stderr
    return done.stdout.decode()


def work(name: str, root: Path, state: Path) -> None:
    """What the host does meanwhile, as far as waggle sees it: two sessions."""
    first, *rest = spoken_lessons(name, root)
    run(["waggle-hook", name], first)
    deadline = time.monotonic() + 30
    while not (state / "waggle" / "hook" / f"{NAME}.sock").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for event in rest:
        assert run(["waggle-hook", name], event) == ""

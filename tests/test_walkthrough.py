"""docs/walkthrough.md is run as a reader would run it, from top to bottom, and prints what it says it prints.

A ``console`` block holds commands after ``$`` and what they print, notes included. A ``python`` block is run in one
interpreter with those before it; a ``text`` block right after it is what it prints. ``pytest --update-golden`` writes
the outputs anew; their diff is reviewed like code.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from stretto.cli.app import cli
from tests.conftest import ROOT

if TYPE_CHECKING:
    import pytest

WALKTHROUGH = ROOT / "docs" / "walkthrough.md"

#: A block to run with the text block after it, if there is one.
_BLOCK = re.compile(
    r"^```(?P<kind>console|python)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)

#: A command of ours, and what becomes of its output.
_STRETTO = re.compile(r"(?:\w+=\S+ )*stretto ")
_REST = re.compile(r" \| (?P<pipe>.*)$| > (?P<file>\S+)$")


class Reader:
    """Runs blocks in the working directory.

    Attributes:
        code: exit code of the last command.
    """

    def __init__(self) -> None:
        self.code = 0
        self._names: dict[str, Any] = {"__name__": "walkthrough"}

    def console(self, block: str) -> str:
        """The block as it should be: its commands, each with what it prints."""
        commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
        return "".join(f"$ {command}\n{self._run(command)}" for command in commands)

    def python(self, block: str) -> str:
        """What the code prints."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block, "walkthrough", "exec"), self._names)  # noqa: S102 - our own document
        return printed.getvalue()

    def _run(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.code}\n"
        if not _STRETTO.match(command):
            return self._shell(command, "")
        found = _REST.search(command)
        words = shlex.split(command[: found.start()] if found else command)
        settings: dict[str, str | None] = {}
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            settings[name] = value
        done = CliRunner().invoke(cli, words[1:], env=settings, catch_exceptions=False)
        self.code = done.exit_code
        if found and found["pipe"]:
            return done.stderr + self._shell(found["pipe"], done.stdout)
        if found:
            Path(found["file"]).write_text(done.stdout, encoding="utf-8")
            return done.stderr
        return done.output

    def _shell(self, command: str, given: str) -> str:
        env = {name: os.environ[name] for name in ("PATH", "HOME", "XDG_RUNTIME_DIR")} | {"LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ["bash", "-c", command],
            input=given,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
            timeout=120,
        )
        self.code = done.returncode
        return done.stdout


def test_the_walkthrough_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    reader = Reader()

    def shown(block: re.Match[str]) -> str:
        code = block["code"]
        if block["kind"] == "console":
            return f"```console\n{reader.console(code)}```\n"
        printed = reader.python(code)
        return f"```python\n{code}```\n" + (f"\n```text\n{printed}```\n" if printed else "")

    text = WALKTHROUGH.read_text(encoding="utf-8")
    real = _BLOCK.sub(shown, text)
    assert real.count("```console") > 5
    assert real.count("```python") > 2
    if request.config.getoption("--update-golden"):
        WALKTHROUGH.write_text(real, encoding="utf-8", newline="\n")
    assert real == WALKTHROUGH.read_text(encoding="utf-8")

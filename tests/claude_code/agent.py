"""The real Claude Code, in a home and a project of its own, with a script in the place of a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.claude_code.endpoint import Endpoint

if TYPE_CHECKING:
    from tests.claude_code.endpoint import Tool, Turn

__all__ = ["ClaudeCode", "Ran", "binary", "habit"]

_TOOLS: Final = "Bash,Read,Grep,Glob,Edit,Write,mcp__shop"
_SECONDS: Final = 120

#: Nothing but the scripted endpoint is asked for anything.
_QUIET: Final = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "ANTHROPIC_API_KEY": "no-key",
    "LANG": "C.UTF-8",
}


def binary() -> Path:
    """The Claude Code that the SDK brings.

    Raises:
        FileNotFoundError: the SDK, or the program in it, is not there.
    """
    found = find_spec("claude_agent_sdk")
    for place in (found.submodule_search_locations or []) if found else []:
        program = Path(place) / "_bundled" / "claude"
        if program.is_file():
            return program
    raise FileNotFoundError("claude_agent_sdk, with the Claude Code it bundles, is not installed")


@dataclass(frozen=True)
class Ran:
    """One session.

    Attributes:
        requests: what the model was asked, in order.
        notes: what Claude Code said on standard error.
    """

    requests: list[dict[str, Any]]
    notes: str

    def result(self, call: str) -> dict[str, Any]:
        """The result of a call as the model got it in the last request; its content as text."""
        for message in self.requests[-1]["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block.get("type") == "tool_result" and block["tool_use_id"] == call:
                    return {**block, "content": _text(block["content"])}
        raise AssertionError(f"there is no result of {call}")

    def after(self, call: str) -> str:
        """What stands behind the results of a call's turn, up to the model's next turn."""
        messages = iter(self.requests[-1]["messages"])
        said: list[str] = []
        for message in messages:
            if f'"tool_use_id": "{call}"' in json.dumps(message):
                for later in messages:
                    if later["role"] == "assistant":
                        break
                    said.append(_text(later["content"]))
        return "\n".join(said)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content) if isinstance(content, list) else ""


class ClaudeCode:
    """Runs sessions.

    Args:
        home: a directory for everything that is not the project's.
        project: the directory that the agent works in.
    """

    def __init__(self, home: Path, project: Path) -> None:
        self.project = project
        self.config = home / ".claude"
        self.config.mkdir(parents=True)
        beside = Path(sys.executable).parent  # where `waggle` and `waggle-hook` are
        self.env = {
            **_QUIET,
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "WAGGLE_HOME": str(home / "waggle"),
            "PATH": f"{beside}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        }

    def waggle(self, *words: str) -> str:
        """Run waggle, or its hook, as the user does in the project; gives what it printed."""
        done = subprocess.run(
            words, cwd=self.project, env=self.env, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, script: list[Turn], *options: str) -> Ran:
        """Run one session to its end."""
        endpoint = Endpoint(script)
        try:
            done = subprocess.run(
                [binary(), "--print", "go", "--allowedTools", _TOOLS, *options],
                cwd=self.project,
                env={**self.env, "ANTHROPIC_BASE_URL": endpoint.url},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        finally:
            endpoint.close()
        assert done.returncode == 0, done.stdout + done.stderr
        assert "done" in done.stdout
        return Ran(endpoint.requests, done.stderr)

    def transcripts(self) -> list[Path]:
        """What it wrote of its sessions, the oldest first."""
        return sorted((self.config / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_mtime)


def habit(project: Path, numbers: range) -> list[Turn]:
    """Searches, each followed by a read of what it found and by a call that changes something."""
    turns: list[list[Tool]] = []
    for number in numbers:
        turns += [
            [("Grep", {"pattern": rf"def load_{number}\(", "output_mode": "content"})],
            [("Read", {"file_path": str(project / "src" / f"m{number}.py")})],
            [("Bash", {"command": "touch built", "description": "Build"})],
        ]
    return [*turns]

"""A project, the events that Claude Code sends from it, and a desk that answers them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.hook.desk import Desk


def make_project(root: Path, files: int = 12) -> Path:
    """A small project; every module defines `load_N`, far enough down that a search does not show its surroundings."""
    (root / "src").mkdir(parents=True)
    (root / ".git").mkdir()
    for number in range(files):
        lines = [f"# line {line} of module {number}" for line in range(1, 31)]
        lines[19] = f"def load_{number}():"
        (root / "src" / f"m{number}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


@dataclass
class Agent:
    """Makes the events of one session, as the host writes them."""

    root: Path
    session: str = "s1"
    agent_id: str | None = None
    calls: int = field(default=0)

    def event(self, name: str, **more: Any) -> bytes:
        """An event with what all have in common."""
        common = {"session_id": self.session, "cwd": str(self.root), "hook_event_name": name}
        if self.agent_id:
            common["agent_id"] = self.agent_id
        return json.dumps({**common, **more}).encode()

    def used(self, tool: str, args: dict[str, Any], response: Any) -> bytes:
        """A call that went well."""
        self.calls += 1
        name = f"toolu_{self.session}_{self.agent_id or ''}_{self.calls}"
        return self.event("PostToolUse", tool_name=tool, tool_input=args, tool_response=response, tool_use_id=name)

    def grep(self, number: int) -> bytes:
        """A search that finds one line of one file."""
        content = f"src/m{number}.py:20:def load_{number}():"
        args = {"pattern": f"load_{number}", "output_mode": "content", "-n": True}
        response = {"mode": "content", "numFiles": 0, "filenames": [], "content": content, "numLines": 1}
        return self.used("Grep", args, response)

    def read(self, number: int) -> bytes:
        """A read of the whole of that file."""
        path = self.root / "src" / f"m{number}.py"
        content = path.read_text(encoding="utf-8")
        lines = content.count("\n") + 1
        file = {"filePath": str(path), "content": content, "numLines": lines, "startLine": 1, "totalLines": lines}
        return self.used("Read", {"file_path": str(path)}, {"type": "text", "file": file})

    def write(self) -> bytes:
        """A call that changes something."""
        return self.used("Bash", {"command": "make build"}, {"stdout": "", "stderr": ""})

    def end(self) -> bytes:
        """The end of the session."""
        return self.event("SessionEnd", reason="other")

    def habit(self, numbers: range) -> list[bytes]:
        """Searches, each followed by a read of what it found."""
        return [event for number in numbers for event in (self.grep(number), self.read(number), self.write())]


def told(answer: bytes) -> str:
    """The text that an answer adds; empty for none."""
    return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"]) if answer else ""


def lessons(root: Path, sessions: int = 2) -> list[bytes]:
    """The events of sessions in which a search is followed by a read; the modules from the ninth on are left out."""
    found: list[bytes] = []
    for number in range(sessions):
        agent = Agent(root, f"taught-{number}")
        found += [*agent.habit(range(3 * number, 3 * number + 3)), agent.end()]
    return found


def teach(desk: Desk, root: Path) -> None:
    """Let a desk see them."""
    for event in lessons(root):
        desk.answer("claude-code", "", event)

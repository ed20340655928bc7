"""A project, the events that hosts send from it, and a desk that answers them."""

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


def spoken(name: str, root: Path, session: str, kind: str, number: int = 0) -> bytes:
    """An event as another host writes it: a search that finds a line of a module, a read of it, a write, the end."""
    path, line = f"src/m{number}.py", f"def load_{number}():"
    content = (root / path).read_text()
    common: dict[str, Any] = {"session_id": session, "conversation_id": session, "cwd": str(root)}
    if name == "codex":
        done = {"search": f"{path}:20:{line}\n", "read": content, "write": "", "end": ""}
        command = {"search": f"grep -rn load_{number} src", "read": f"cat {path}"}.get(kind, "touch built")
        event = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": done[kind]}
        event["hook_event_name"] = "SessionEnd" if kind == "end" else "PostToolUse"
    elif name == "gemini-cli":
        tool, args, text = {
            "search": ("grep_search", {"pattern": line}, f"Found 1 match:\n---\nFile: {path}\nL20: {line}\n---"),
            "read": ("read_file", {"file_path": path}, content),
        }.get(kind, ("write_file", {"file_path": "built", "content": ""}, "written"))
        event = {"tool_name": tool, "tool_input": args, "tool_response": {"llmContent": text, "returnDisplay": ""}}
        event["hook_event_name"] = "SessionEnd" if kind == "end" else "AfterTool"
    else:
        tool, args, text = {
            "search": ("Grep", {"pattern": line}, f"{path}:20:{line}"),
            "read": ("Read", {"path": str(root / path)}, json.dumps({"contents": content})),
        }.get(kind, ("Delete", {"path": "built"}, "{}"))
        event = {"tool_name": tool, "tool_input": json.dumps(args), "tool_output": text, "cursor_version": "2"}
        event |= {"hook_event_name": "sessionEnd" if kind == "end" else "postToolUse", "workspace_roots": [str(root)]}
    return json.dumps({**common, **event}).encode()


def spoken_lessons(name: str, root: Path, *, ends: bool = True) -> list[bytes]:
    """What `lessons` are, by another host."""
    found: list[bytes] = []
    for number in range(6):
        kinds = ("search", "read", "write", "end") if ends and number % 3 == 2 else ("search", "read", "write")
        found += [spoken(name, root, f"taught-{number // 3}", kind, number) for kind in kinds]
    return found

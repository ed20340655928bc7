"""Records what the ordinary tests read of the real Claude Code: the events its hooks get, and its transcripts.

``python -m tests.claude_code.run --record`` writes them anew. Paths of this machine become ``/project`` and ``/home``.
Of the transcripts those lines are left out that hold texts of Claude Code's own: prompts, and descriptions of tools.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.claude_code.agent import ClaudeCode, Ran, habit
from tests.waggle.hook.hook_support import make_project
from waggle.hook.hosts import host_named

if TYPE_CHECKING:
    from tests.claude_code.endpoint import Turn

ROOT: Final = Path(__file__).resolve().parent.parent.parent
EVENTS_FILE: Final = ROOT / "tests" / "waggle" / "hook" / "recorded" / "claude_code_events.jsonl"
TRANSCRIPTS: Final = ROOT / "tests" / "waggle" / "traces" / "claude_code"

#: Kinds of a transcript's lines with nothing but facts about the session in them.
KEPT: Final = {"user", "assistant", "queue-operation", "last-prompt", "tools-used", "cost-state"}

_HOOK: Final = "import pathlib, sys; pathlib.Path(sys.argv[1]).open('a').write(sys.stdin.read().strip() + chr(10))"


def all_tools(project: Path) -> list[Turn]:
    """A call of each tool whose answer has a form of its own, as far as a hook may see one."""
    module = str(project / "src" / "m1.py")
    return [
        [("Read", {"file_path": module})],
        [("Read", {"file_path": module, "offset": 19, "limit": 3})],
        [("Read", {"file_path": str(project / "unfinished.txt")})],
        [("Read", {"file_path": str(project / "empty.txt")})],
        [("Read", {"file_path": str(project / "src" / "nothing.py")})],
        [("Grep", {"pattern": "load_[12]", "output_mode": "content"})],
        [("Grep", {"pattern": "load_1", "output_mode": "content", "-n": True, "-C": 1, "path": "src/m1.py"})],
        [("Grep", {"pattern": "load_1", "output_mode": "content", "head_limit": 1})],
        [("Grep", {"pattern": "load_1"})],
        [("Grep", {"pattern": "load_1", "output_mode": "count"})],
        [("Grep", {"pattern": "nowhere"})],
        [("Grep", {"pattern": "nowhere", "output_mode": "content"})],
        [("Grep", {"pattern": "load("})],
        [("Glob", {"pattern": "src/m1*.py"})],
        [("Glob", {"pattern": "*.nothing"})],
        [("Bash", {"command": "cat src/m1.py | head -3", "description": "Show"})],
        [("Bash", {"command": "echo out; echo err >&2", "description": "Say"})],
        [("Bash", {"command": "grep -n nowhere src/m1.py", "description": "Search"})],
        [("Bash", {"command": "echo out; exit 3", "description": "Fail"})],
        [("Bash", {"command": "cd src && pwd", "description": "Go"})],
        [("Grep", {"pattern": "load_1", "output_mode": "content"})],
        [("Bash", {"command": "cd ..", "description": "Come back"})],
        [("Write", {"file_path": str(project / "new.txt"), "content": "one\ntwo\n"})],
        [("Edit", {"file_path": str(project / "unfinished.txt"), "old_string": "two", "new_string": "three"})],
        [("mcp__shop__orders_of", {"who": "Ada"})],
        [("mcp__shop__record", {"number": "7"})],
        [("mcp__shop__order", {"wrong": "7"})],
        [("Read", {"file_path": module}), ("Grep", {"pattern": "three"}), ("Glob", {"pattern": "new.txt"})],
    ]


def main() -> int:
    """Record three sessions: one of all tools, two of one habit."""
    with tempfile.TemporaryDirectory() as place:
        project = make_project(Path(place) / "project")
        (project / "unfinished.txt").write_text("one\ntwo", encoding="utf-8")
        (project / "empty.txt").touch()
        claude, log = ClaudeCode(Path(place) / "home", project), Path(place) / "events.jsonl"
        command = f"{sys.executable} -c {json.dumps(_HOOK)} {log}"
        hooks = {
            event: [{"hooks": [{"type": "command", "command": command}]}]
            for event in host_named("claude-code").settings.events
        }
        (project / ".claude").mkdir()
        (project / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
        shop = {"command": sys.executable, "args": [str(ROOT / "tests" / "integrations" / "shop_server.py")]}
        servers = json.dumps({"mcpServers": {"shop": shop}})
        scripts = [all_tools(project), habit(project, range(3)), habit(project, range(3, 6))]
        ran = [claude.run(script, "--mcp-config", servers) for script in scripts]
        events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        here = {f"{place}/{name}": f"/{name}" for name in ("project", "home")}
        here[claude.transcripts()[0].parent.name] = "-project"
        _write(EVENTS_FILE, _shown(events, ran), here)
        for number, path in enumerate(claude.transcripts(), 1):
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            _write(TRANSCRIPTS / f"session-{number}.jsonl", [line for line in lines if line["type"] in KEPT], here)
    return 0


def _shown(events: list[dict[str, Any]], sessions: list[Ran]) -> list[dict[str, Any]]:
    """Each event, with what the model was shown of its call."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(event["session_id"] for event in events))}
    found = []
    for event in events:
        call = event.get("tool_use_id")
        shown = sessions[numbers[event["session_id"]]].result(call)["content"] if call else None
        found.append({"event": event, "shown": shown})
    return found


def _write(path: Path, lines: list[dict[str, Any]], here: dict[str, str]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    for found, instead in here.items():
        text = text.replace(found, instead)
    assert "tmp" not in text
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())

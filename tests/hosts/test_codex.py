"""The real Codex, with the hook that ``waggle init`` installs: what it tells the hook, and what its model gets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT
from tests.hosts.lab import BINARY, UPDATE, Lab, Model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TRANSCRIPTS = ROOT / "tests" / "waggle" / "traces" / "codex"
KEPT = ("id", "cwd", "cli_version", "model", "type", "role", "content", "name", "arguments", "call_id", "output")

pytestmark = pytest.mark.skipif(not BINARY, reason="run by make test-hosts")

CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects."{root}"]
trust_level = "trusted"
"""


def written(items: list[dict[str, Any]] | None) -> bytes:
    """A streamed answer of the Responses protocol."""
    last = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "done"}]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "r"}}]
    events += [{"type": "response.output_item.done", "output_index": 0, "item": item} for item in items or [last]]
    events += [{"type": "response.completed", "response": {"id": "r", "usage": usage}}]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


class Script:
    """Calls of the model, each with an id of its own."""

    def __init__(self) -> None:
        self._calls = 0

    def run(self, command: str, **more: Any) -> dict[str, Any]:
        self._calls += 1
        args = json.dumps({"cmd": command, **more})
        name = f"call_{self._calls}"
        return {"type": "function_call", "id": f"f{name}", "call_id": name, "name": "exec_command", "arguments": args}

    def patch(self, text: str) -> dict[str, Any]:
        self._calls += 1
        name = f"call_{self._calls}"
        return {"type": "custom_tool_call", "id": f"c{name}", "call_id": name, "name": "apply_patch", "input": text}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    model = Model(lambda path: path.endswith("/responses"), written)
    lab = Lab(tmp_path, "codex", model)
    with model.served() as address:
        (lab.home / ".codex").mkdir()
        config = CONFIG.format(address=address, root=lab.root)
        (lab.home / ".codex" / "config.toml").write_text(config)
        lab.waggle("init", "codex", "--write", "--yes")
        lab.start_keeper()
        yield lab
        lab.stop_keeper()


def session(lab: Lab, *script: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run a session; gives what the model had been told when it was asked for the last time."""
    lab.model.script[:], lab.model.requests[:] = script, []
    lab.ran("exec", "--dangerously-bypass-hook-trust", "look", SCRIPTED_KEY="none")
    assert not lab.model.script
    items: list[dict[str, Any]] = lab.model.requests[-1]["input"]
    return items


def added(items: list[dict[str, Any]]) -> list[str]:
    """What waggle has added."""
    texts = [part.get("text", "") for item in items for part in item.get("content") or []]
    return [text for text in texts if "<waggle-fold>" in text]


def keep_transcripts(lab: Lab) -> None:
    """Keep what the host has recorded for the tests of `waggle.traces`, as far as these rely on it."""
    recorded = sorted((lab.home / ".codex" / "sessions").rglob("*.jsonl"))
    assert len(recorded) == 2
    for number, path in enumerate(recorded if UPDATE else ()):
        lines = []
        for line in map(json.loads, path.read_text().splitlines()):
            payload = {key: value for key, value in line["payload"].items() if key in KEPT}
            if line["type"] not in ("session_meta", "turn_context", "response_item"):
                continue
            if payload.get("role") != "developer" and "<environment_context>" not in str(payload):
                lines.append(json.dumps({"timestamp": line["timestamp"], "type": line["type"], "payload": payload}))
        TRANSCRIPTS.mkdir(exist_ok=True)
        (TRANSCRIPTS / f"session-{number}.jsonl").write_text(lab.plain("\n".join(lines)) + "\n")


def test_after_two_sessions_the_read_rides_with_the_search(lab: Lab) -> None:
    for number in range(2):
        script, turns = Script(), []
        for each in range(3 * number, 3 * number + 3):
            turns += [
                [script.run(f"grep -rn load_{each} src")],
                [script.run(f"cat src/m{each}.py", workdir=str(lab.root))],
            ]
            turns += [[script.run("touch built", workdir=str(lab.root))]]
        assert added(session(lab, *turns)) == []
        lab.all_are_counted()
    keep_transcripts(lab)
    script = Script()
    items = session(lab, [script.run("grep -rn load_10 src")], [script.run("cat nothing")])
    (fold,) = added(items)
    assert f'exec_command {{"cmd":"cat {lab.root}/src/m10.py"}}' in fold
    assert "def load_10():" in fold
    kinds = [item.get("role") or item["type"] for item in items]
    assert kinds[-5:] == ["function_call", "developer", "function_call_output", "function_call", "function_call_output"]
    own = next(item["output"] for item in items if item.get("call_id") == "call_1" and "output" in item)
    assert own.endswith("Output:\nsrc/m10.py:20:def load_10():\n")


def test_events_are_as_the_other_tests_have_them(lab: Lab) -> None:
    script = Script()
    lab.watching(lab.root / ".codex" / "hooks.json")
    session(
        lab,
        [script.run("grep -n load_1 src/m1.py")],
        [script.run("cat m2.py", workdir="src")],
        [script.run("cat nothing; exit 3", max_output_tokens=4000)],
        [script.patch("*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch")],
        [script.patch("*** Begin Patch\n*** Update File: none.txt\n@@\n-a\n+b\n*** End Patch")],
    )
    lab.compare(lab.events())


@pytest.mark.parametrize(
    "answer",
    ["exit 1", "echo plain", "sleep 30", "exec no-such-command", "printf '{\"unknown\":1}'"],
)
def test_a_hook_that_goes_wrong_changes_nothing(lab: Lab, answer: str) -> None:
    lab.watching(lab.root / ".codex" / "hooks.json", answer=answer)
    items = session(lab, [Script().run("cat src/m1.py")])
    outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
    assert len(outputs) == 1
    assert "def load_1():" in outputs[0]


def test_a_hook_that_nobody_has_trusted_is_not_run_and_doctor_says_so(lab: Lab) -> None:
    lab.watching(lab.root / ".codex" / "hooks.json")
    lab.model.script[:] = [[Script().run("cat src/m1.py")]]
    lab.ran("exec", "look", SCRIPTED_KEY="none")
    assert lab.events() == []
    lab.waggle("init", "codex", "--write", "--yes")
    done = lab._run(["waggle", "doctor"])
    assert "Codex does not run it yet" in " ".join(done.stdout.split())

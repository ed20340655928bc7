"""The real Gemini CLI, with the hook that ``waggle init`` installs: what it tells the hook, and what its model gets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.hosts.lab import BINARY, Lab, Model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not BINARY, reason="run by make test-hosts")


def written(parts: list[dict[str, Any]] | None) -> bytes:
    """A streamed answer of the Gemini protocol, in one piece."""
    content = {"role": "model", "parts": parts or [{"text": "done"}]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    answer = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
    return f"data: {json.dumps(answer)}\r\n\r\n".encode()


def call(tool: str, **args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": tool, "args": args}}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    model = Model(lambda path: "streamGenerateContent" in path, written)
    lab = Lab(tmp_path, "gemini-cli", model)
    with model.served() as address:
        home = lab.home / ".gemini"
        home.mkdir()
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        (home / "settings.json").write_text(json.dumps(settings))
        (home / "trustedFolders.json").write_text(json.dumps({str(lab.root): "TRUST_FOLDER"}))
        lab.environment |= {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": address}
        lab.waggle("init", "gemini-cli", "--write", "--yes")
        lab.start_keeper()
        yield lab
        lab.stop_keeper()


def session(lab: Lab, *script: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run a session; gives the results of calls that the model had when it was asked for the last time."""
    lab.model.script[:], lab.model.requests[:] = script, []
    lab.ran("--yolo", "-m", "gemini-2.5-pro", "-p", "look")
    assert not lab.model.script
    parts = [part for content in lab.model.requests[-1]["contents"] for part in content["parts"]]
    return [part["functionResponse"] for part in parts if "functionResponse" in part]


def outputs(results: list[dict[str, Any]]) -> list[str]:
    return [result["response"].get("output") or result["response"]["error"] for result in results]


def test_after_two_sessions_the_read_rides_in_the_search(lab: Lab) -> None:
    for number in range(2):
        turns = []
        for each in range(3 * number, 3 * number + 3):
            turns += [
                [call("grep_search", pattern=f"load_{each}\\(")],
                [call("read_file", file_path=f"src/m{each}.py")],
            ]
            turns += [[call("write_file", file_path="built.txt", content=f"{each}\n")]]
        assert "waggle-fold" not in "".join(outputs(session(lab, *turns)))
        lab.all_are_counted()
    last = [[call("grep_search", pattern="load_10\\(")], [call("read_file", file_path="none.py")]]
    found, failed = outputs(session(lab, *last))
    own, _, fold = found.partition("\n\n<hook_context>")
    assert own.endswith("---")
    assert "L20: def load_10():" in own
    assert "&lt;waggle-fold&gt;" in fold  # as the host writes what a hook adds
    assert f'read_file {{"file_path":"{lab.root}/src/m10.py"}}' in fold
    assert "\ndef load_10():\n" in fold
    assert "waggle" not in failed


def test_events_are_as_the_other_tests_have_them(lab: Lab) -> None:
    lab.watching(lab.root / ".gemini" / "settings.json")
    (lab.root / "long.txt").write_text("".join(f"{number}\n" for number in range(2500)))
    session(
        lab,
        [call("grep_search", pattern="load_1\\(")],
        [call("grep_search", pattern="load_1", dir_path="src")],
        [call("read_file", file_path="src/m1.py")],
        [call("read_file", file_path="src/m1.py", start_line=18, end_line=22)],
        [call("read_file", file_path="none.py")],
        [call("glob", pattern="src/m1*.py")],
        [call("list_directory", dir_path="src")],
        [call("run_shell_command", command="cat src/m2.py")],
        [call("run_shell_command", command="cat none; exit 3", description="fails")],
        [call("run_shell_command", command="true", dir_path="src")],
        [call("write_file", file_path="new.txt", content="new\n")],
        [call("replace", file_path="new.txt", old_string="new", new_string="old", instruction="change it")],
    )
    lab.all_are_counted()
    lab.compare(lab.events())


@pytest.mark.parametrize("answer", ["exit 1", "echo plain", "sleep 30", "exec no-such-command"])
def test_a_hook_that_goes_wrong_changes_nothing(lab: Lab, answer: str) -> None:
    lab.watching(lab.root / ".gemini" / "settings.json", answer=answer)
    (shown,) = outputs(session(lab, [call("read_file", file_path="src/m1.py")]))
    assert shown == (lab.root / "src" / "m1.py").read_text()


def test_in_a_folder_that_nobody_has_trusted_the_hook_is_not_run(lab: Lab) -> None:
    lab.watching(lab.root / ".gemini" / "settings.json")
    (lab.home / ".gemini" / "trustedFolders.json").write_text("{}")
    lab.model.script[:] = [[call("read_file", file_path="src/m1.py")]]
    lab.ran("--skip-trust", "--yolo", "-m", "gemini-2.5-pro", "-p", "look")
    assert lab.events() == []

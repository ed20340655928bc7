"""``stretto-proxy --waggle`` as a host starts it, before real servers, and what the project has of it afterwards."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stretto.proxy.serving.memory import open_memory
from tests.conftest import ROOT
from tests.stretto.proxy.relays import ECHO, PATIENCE
from waggle.ledger import read_settled

PROXY = (sys.executable, "-m", "stretto.proxy.main")
SCRIPTS = Path(sys.executable).parent
SHOP = (sys.executable, "-m", "stretto.proxy.demo_server")


def run(*command: object, cwd: Path, data: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*map(str, command)],
        input=data.decode(),
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def work(project: Path, subjects: str, *options: object, kind: str = "shop", server: tuple[str, ...] = SHOP) -> int:
    """Let the scripted agent work on so many subjects through the proxy: how many of its calls were saved."""
    agent = ROOT / "examples" / "scripted_agent.py"
    done = run(sys.executable, agent, kind, subjects, *PROXY, *options, "--", *server, cwd=project)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" or kind == "notes"
    found = re.search(r"(\d+) saved$", done.stdout.strip())
    assert found, done.stdout
    return int(found[1])


def waggle(project: Path, *words: str) -> Any:
    done = run(SCRIPTS / "waggle", *words, "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


def test_routes_are_learned_replayed_beside_a_flow_settled_listed_and_curated(project: Path, tmp_path: Path) -> None:
    assert work(project, "1-4", "--waggle", "--record", tmp_path / "logs", "--domain", "shop") > 0
    skills = sorted(path.parent.name for path in project.glob(".waggle/skills/*/SKILL.md"))
    assert any(name.startswith("get-user-details-after-find-user") for name in skills)
    flow = tmp_path / "shop.flow.json"
    learned = run(SCRIPTS / "stretto", "learn", "--sessions", tmp_path / "logs", "--out", flow, cwd=project)
    assert learned.returncode == 0, learned.stderr
    assert work(project, "5-8", "--waggle", "--flow", flow, "--record", tmp_path / "served") >= 10
    stats = read_settled(project / ".waggle" / "ledger.jsonl")
    assert {strategy for strategy, _ in stats} == {"reach", "flow"}
    assert all(stat.used for (strategy, _), stat in stats.items() if strategy == "reach")
    assert {one["name"] for one in waggle(project, "ls")["skills"]} >= set(skills)
    assert {one["strategy"] for one in waggle(project, "stats")["strategies"]} == {"reach", "flow"}
    assert waggle(project, "gc", "--dry-run")["dry_run"]
    before = (project / ".waggle" / "ledger.jsonl").read_bytes()
    assert waggle(project, "gc")["result"]["ledger_lines_dropped"] == 0
    assert (project / ".waggle" / "ledger.jsonl").read_bytes().startswith(before)
    logged = [path for path in (tmp_path / "served").glob("*.flow.jsonl") if path.read_bytes()]
    assert len(logged) == 4  # decisions stand beside each session, under the host's ids
    assert all(json.loads(path.read_bytes().splitlines()[0])["after"].isdigit() for path in logged)


@pytest.mark.timeout(240)
def test_the_real_filesystem_server_is_read_ahead_in(node_peers: Path, project: Path) -> None:
    for day in range(1, 7):
        for who in ("ada", "alan"):
            place = project / "notes" / who
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{day:02}.md").write_text(f"{who}, day {day}\n")
    server = ("node", str(node_peers / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), "notes")
    options = ("--waggle", "--server-name", "notes")
    work(project, "1-4", *options, kind="notes", server=server)
    assert work(project, "5-6", *options, kind="notes", server=server) > 0
    route = json.loads(next(project.glob(".waggle/skills/*/route.json")).read_bytes())
    assert "notes::read_text_file" in json.dumps(route)


# --- where the memory is --------------------------------------------------------------------------------------------


def test_where_there_is_no_project_it_is_said_once_and_nothing_is_written(tmp_path: Path) -> None:
    done = run(*PROXY, "--waggle", "--", *ECHO, cwd=tmp_path, data=b"x\n")
    assert (done.returncode, done.stdout) == (0, "x\n")
    assert done.stderr == (
        f"stretto-proxy: --waggle is left out: {tmp_path} is in no project, so there is no place for its routes; name "
        "one with --waggle-project DIR, or start the server in a directory with .git or .waggle\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_home_under_version_control_is_no_project_unless_it_is_named(own_home: Path) -> None:
    (own_home / ".git").mkdir()
    assert "--waggle is left out" in run(*PROXY, "--waggle", "--", *ECHO, cwd=own_home).stderr
    named = run(*PROXY, "--waggle", "--waggle-project", "~", "--", *ECHO, cwd=ROOT, HOME=str(own_home))
    assert (named.returncode, named.stderr) == (0, "")


def test_the_project_is_the_one_around_the_directory_or_the_one_that_is_named(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    for memory in (open_memory(), open_memory(project / "src")):
        assert memory
        assert memory.manager._store
        assert memory.manager._store.directory == project / ".waggle" / "skills"
        assert memory.directory == str(project / "src")
    monkeypatch.chdir(tmp_path)
    assert open_memory() is None
    bare = open_memory(tmp_path)  # the user's word
    assert bare
    assert bare.manager._store
    assert bare.manager._store.directory == tmp_path / ".waggle" / "skills"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        pytest.param("sweep_calls = 'often'", ["sweep_calls"], id="one"),
        pytest.param("sweep_calls = 'often'\nthreshold = 7", ["sweep_calls", "threshold"], id="two"),
    ],
)
def test_settings_that_are_wrong_are_said_before_the_server_is_started(
    project: Path, settings: str, said: list[str]
) -> None:
    (project / ".waggle").mkdir()
    (project / ".waggle" / "config.toml").write_text(settings)
    done = run(*PROXY, "--waggle", "--", *ECHO, cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(name in done.stderr for name in said)
    assert done.stderr.count("\n") == 1


def test_the_users_word_on_a_tool_goes_before_the_servers(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".waggle").mkdir()
    (project / ".waggle" / "config.toml").write_text('tools_deny = ["shop::get_order"]')
    memory = open_memory(project, "shop")
    assert memory
    for name in ("get_order", "get_user"):
        memory.manager.tools.hint(memory.inner(name), read_only=True)
    assert [memory.manager.tools.may_repeat(f"shop::{name}", {}) for name in ("get_order", "get_user")] == [False, True]


def test_a_store_that_cannot_be_written_is_said_and_costs_the_host_nothing(project: Path) -> None:
    (project / ".waggle").write_text("a file where a directory is to be")
    agent = ROOT / "examples" / "scripted_agent.py"
    done = run(sys.executable, agent, "shop", "1-2", *PROXY, "--waggle", "--", *SHOP, cwd=project)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "9 calls, 0 saved")
    assert "reported once; the agent is not affected" in done.stderr


@pytest.mark.parametrize(
    ("options", "unwanted"),
    [
        pytest.param((), ["waggle.manager", "stretto.proxy.serving.memory", "stretto.speculator"], id="nothing"),
        pytest.param(("--waggle",), ["stretto.speculator", "stretto.flow", "pydantic", "stretto.turns"], id="routes"),
        pytest.param(
            ("--flow",),
            ["waggle.manager", "stretto.proxy.serving.memory", "stretto.proxy.serving.remembering"],
            id="flow",
        ),
    ],
)
def test_nothing_is_loaded_that_is_not_asked_for(
    project: Path, tmp_path: Path, options: tuple[str, ...], unwanted: list[str]
) -> None:
    from stretto.flow.file import write_flow
    from tests.stretto.shop import shop_flow

    write_flow(tmp_path / "f.json", shop_flow())
    words = [*options, *([str(tmp_path / "f.json")] if "--flow" in options else []), "--", sys.executable, "-c", ""]
    script = (
        f"import sys\nfrom stretto.proxy.main import main\nmain({words!r})\n"
        f"print([name for name in {unwanted!r} if name in sys.modules])"
    )
    assert run(sys.executable, "-c", script, cwd=project).stdout == "[]\n"

"""The documents say what the code does: examples run, and every file's example is what is really written."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from waggle import Call, LedgerEntry, Manager, ManagerConfig, Param, Result, Route, Store, ToolSpec, ToolTable, locate
from waggle.evaluate import learn
from waggle.reach.table import COUNTS_FILE
from waggle.routes import Disabled, RouteStep, named, with_params
from waggle.settings import describe_settings, load_settings
from waggle.skillfile import render_route, render_skill
from waggle.traces import Trace, TraceBuilder, dump_trace

DOCS = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])
AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def blocks(path: Path, language: str) -> list[str]:
    """Fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def example_route() -> Route:
    """The route that the documents show: a listing, a search whose pattern varies, and two reads."""
    steps = (
        RouteStep("LS", {"path": {"$project": "src"}}),
        RouteStep("Grep", {"pattern": None, "path": "src"}),
        RouteStep("Read", {"file_path": {"$project": "src/app.py"}}),
        RouteStep("Read", {"file_path": {"$project": "src/settings.py"}, "limit": 80}),
    )
    return named(Route("", steps, (Param(1, "pattern"),), count=4, support=2, learned_at=AT))


def example_session(name: str, line: int) -> Trace:
    """A search, and a read around the line that it prints."""
    builder = TraceBuilder()
    calls = (
        (
            Call("Grep", {"pattern": f"def {name}", "output_mode": "content"}, id="a"),
            f"src/{name}.py:{line}:def {name}",
        ),
        (Call("Read", {"file_path": f"src/{name}.py", "offset": line - 5, "limit": 25}, id="b"), "text\n" * 25),
    )
    for turn, (call, text) in enumerate(calls):
        builder.call(call, turn)
        builder.result(str(call.id), Result(text))
    return builder.build(session=name, agent="claude-code/model", source="ada/lift:1@abc")


def example_reach() -> Route:
    """The reach route that the documents show."""
    sessions = [example_session(name, line) for name, line in (("load", 40), ("save", 90), ("port", 12))]
    learned = learn(sessions, ManagerConfig()).routes
    (found,) = [one for one in learned if one.after and one.after.target.get("around") == "line"]
    return dataclasses.replace(found, learned_at=AT)


def example_counts() -> str:
    """What one short session leaves in a project's counts."""
    with tempfile.TemporaryDirectory() as place:
        store = Store(Path(place) / "skills", Path(place) / "ledger.jsonl")
        session = example_session("load", 40)
        with Manager(store=store) as manager:
            for step in session.steps:
                manager.observe(step.call, step.result or "")
        return store.ledger_path.with_name(COUNTS_FILE).read_text(encoding="utf-8")


def example_shell_steps() -> str:
    """The steps of a route of shell commands, as they stand in ``route.json``."""
    tools = ToolTable()
    steps: list[RouteStep] = []
    for command in ("rg -n PORT src", "cd web && sed -n 1,80p app.ts"):
        form, values = tools.spoken("bash", {"command": command})
        steps.append(RouteStep("bash", values, form))
    return json.dumps(with_params(steps, ()), indent=2) + "\n"


def example_files() -> dict[str, str]:
    """Every file this version writes, as it writes it."""
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        store = Store(base / "skills", base / "ledger.jsonl")
        route = example_route()
        store.promote(route)
        folder = store.path_of(route.name)
        found = {str(p.relative_to(folder)): p.read_text(encoding="utf-8") for p in store.files_of(route.name)}
        old = Store(base / "old", base / "l", form="file")
        steps = tuple(RouteStep(t, {"path": p}) for t, p in (("ls", "src"), ("read", "README.md"), ("read", "go.mod")))
        name = old.promote(Route("", steps)).name
        found["single file"] = old.path_of(name).read_text(encoding="utf-8")
        entries = [
            LedgerEntry(route.name, 4, event="promoted", at=AT),
            LedgerEntry(route.name, 1, 1250, at=AT, strategy="routes"),
            LedgerEntry(route.name, 1, fail=True, at=AT, strategy="routes"),
        ]
        after = example_reach().name
        settled: dict[str, Any] = {"at": AT, "strategy": "reach"}
        entries += [
            LedgerEntry(after, event="used", saved_tokens=18250, **settled),
            LedgerEntry(after, event="detour", spent_tokens=640, **settled),
            LedgerEntry(after, event="window", calls=2, session="5f1d0c2a", **settled),
            LedgerEntry(after, event="used", held=True, **settled),
            LedgerEntry(after, event="window", held=True, calls=3, session="5f1d0c2a", **settled),
        ]
        found["ledger.jsonl"] = "".join(entry.encode().decode() + "\n" for entry in entries)
        locate.remember_project(base, Path("/home/ada/lift"))
        found["projects.json"] = (base / "projects.json").read_text(encoding="utf-8")
    found["reach SKILL.md"] = render_skill(example_reach(), has_script=False)
    found["reach route.json"] = render_route(example_reach())
    found["counts.json"] = example_counts()
    found["shell steps"] = example_shell_steps()
    off = dataclasses.replace(route, disabled=Disabled(AT, "failed 3 times and never succeeded"))
    found["disabled"] = json.dumps(json.loads(render_route(off))["disabled"], indent=2) + "\n"
    builder = TraceBuilder()
    builder.message("user", "Where is the port set?")
    builder.call(Call("Grep", {"pattern": "PORT"}, id="a"), 0)
    builder.result("a", Result("src/settings.py:12:PORT = 80"))
    trace = builder.build(session="s1", agent="my-agent/model", source="ada/lift:1@abc", kinds={"Grep": "read"})
    found["trace"] = dump_trace(trace).decode()
    return found


@pytest.mark.parametrize("name", example_files())
def test_the_example_of_every_file_is_what_is_really_written(name: str) -> None:
    """In docs/file-formats.md; the text is shown whole, so that a change of a format shows in the documents."""
    text = (ROOT / "docs" / "file-formats.md").read_text(encoding="utf-8")
    assert example_files()[name].rstrip("\n") in text


def test_the_example_settings_are_read_and_every_setting_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = ROOT / "docs" / "file-formats.md"
    example, *_ = blocks(document, "toml")  # the others are of guards and of declared tools
    (tmp_path / "config.toml").write_text(example, encoding="utf-8")
    monkeypatch.setenv("WAGGLE_CONFIG", str(tmp_path / "config.toml"))
    settings = load_settings(tmp_path).settings
    assert (settings.stale_days, settings.mine.k, settings.tools_allow) == (30, 4, ("my_search",))
    text = document.read_text(encoding="utf-8")
    for name, unit, about, default in describe_settings():
        shown = json.dumps(list(default) if isinstance(default, tuple) else default)
        assert f"| `{name}` | `{shown}` | {unit} | {about} |" in text, name


def test_every_key_of_every_file_is_explained() -> None:
    text = (ROOT / "docs" / "file-formats.md").read_text(encoding="utf-8")
    files = example_files()
    keys: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            keys.update(value)
            for inner in value.values():
                collect(inner)
        elif isinstance(value, list):
            for inner in value:
                collect(inner)

    for name in ("route.json", "projects.json", "disabled", "trace"):
        collect(json.loads(files[name]))
    for line in files["ledger.jsonl"].splitlines():
        collect(json.loads(line))
    for steps in json.loads(files["shell steps"]):
        keys.update(steps)
    reach, counts = json.loads(files["reach route.json"]), json.loads(files["counts.json"])
    keys.update(reach, reach["after"], reach["after"]["target"], counts, counts["tools"]["Read"])
    missing = sorted(key for key in keys if f"`{key}`" not in text)
    assert not missing


@pytest.mark.parametrize("path", [path for path in DOCS if path.stem != "walkthrough"], ids=lambda path: path.name)
def test_python_examples_run(path: Path, tmp_path: Path) -> None:
    """Each Python block of a document, in order, in one namespace, in a fresh project; see test_walkthrough.py, too."""
    code = "\n".join(blocks(path, "python"))
    if "class ReplayStrategy(Protocol)" in code:
        code = "from typing import Protocol\nfrom waggle import Lookup, Result, Step\n" + code
    if code:
        (tmp_path / ".git").mkdir()
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def plain_examples() -> list[Path]:
    """Examples that need no framework; those of a framework are run by its own test."""
    tested = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "integrations").glob("test_*.py")}
    return [path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem.removesuffix("_agent") not in tested]


@pytest.mark.parametrize("path", plain_examples(), ids=lambda path: path.name)
def test_examples_are_shown_to_work(path: Path, tmp_path: Path) -> None:
    arguments = ["--help"] if path.name == "select_sessions.py" else []
    (tmp_path / ".git").mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_links_inside_the_documents_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_every_knob_is_documented_with_its_meaning() -> None:
    for kind in (ManagerConfig, ToolSpec):
        text = kind.__doc__ or ""
        for knob in dataclasses.fields(kind):
            assert re.search(rf"^\s+{knob.name}: ", text, re.MULTILINE), knob.name


def test_a_manager_opened_for_a_project_is_what_the_readme_says(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with Manager.for_project(tmp_path) as manager:
        assert manager.routes() == 0
        assert manager.faults() == {}

"""What a manager learns is written, once, and used at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.waggle.store_support import AT, LOOK, OPEN
from waggle import (
    Call,
    Manager,
    ManagerConfig,
    Store,
    load_routes,
    locate,
    project_store,
    read_ledger,
    skilltext,
)

if TYPE_CHECKING:
    from pathlib import Path


# --- the manager writes ----------------------------------------------------------------------------------------


def test_a_repeated_route_is_written_once_and_used_at_once(store: Store) -> None:
    """The original's twice-then-one-file, with our three occurrences; and no new start is needed to use it."""
    asked: list[Any] = []

    def run(tool: str, args: dict[str, Any]) -> str:
        asked.append(args["path"])
        return "text"

    with Manager(ManagerConfig(sweep_calls=4, reach=False), store=store) as manager:
        for _ in range(5):
            for tool, path in (("ls", "src"), ("read", "a"), ("read", "b")):
                manager.observe(Call(tool, {"path": path}), "x")
            manager.observe(Call("write", {"path": "a"}), "ok")
        for tool, path in (("ls", "src"), ("read", "a")):
            manager.observe(Call(tool, {"path": path}), "x")
        assert manager.follow(run) is not None
        assert manager.faults() == {}
    assert asked == ["b"]
    (one,) = load_routes(store)
    assert [s.args for s in one.steps] == [{"path": "src"}, {"path": "a"}, {"path": "b"}]
    assert one.learned_at is not None
    stat = read_ledger(store.ledger_path)[one.name]
    assert (stat.uses, stat.fails, stat.yield_tokens) == (1, 0, 1)
    lines = [json.loads(line) for line in store.ledger_path.read_text().splitlines()]
    assert [(line["name"], line["steps"], line.get("event"), line.get("strategy")) for line in lines] == [
        (one.name, 3, "promoted", None),
        (one.name, 1, None, "routes"),
        (one.name, 0, "detour", "routes"),  # the session ended before the agent asked for it
        (one.name, 0, "window", "routes"),
    ]


def test_a_lookup_that_fails_is_a_failure_and_no_use(store: Store) -> None:
    store.promote(LOOK)

    def run(tool: str, args: dict[str, Any]) -> str:
        raise OSError

    with Manager(store=store) as manager:
        for step in LOOK.steps[:2]:
            manager.observe(Call(step.tool, step.args), "x")
        assert manager.follow(run) is None
    stat = read_ledger(store.ledger_path)[LOOK.name]
    assert (stat.uses, stat.fails) == (0, 1)


def test_a_switched_off_route_is_neither_replayed_nor_learned_again(store: Store) -> None:
    store.promote(LOOK)
    store.disable(LOOK.name, "failed", AT)
    with Manager(ManagerConfig(sweep_calls=1), store=store) as manager:
        for _ in range(4):
            for step in LOOK.steps:
                manager.observe(Call(step.tool, step.args), "x")
            manager.observe(Call("write", {}), "ok")
        assert manager.routes() == 0
    assert load_routes(store) == []


def test_a_rotation_or_a_part_of_a_stored_route_is_no_new_route(store: Store) -> None:
    with Manager(ManagerConfig(sweep_calls=1), store=store) as manager:
        for _ in range(20):
            for step in LOOK.steps:
                manager.observe(Call(step.tool, step.args), "x")
    assert len([one for one in load_routes(store) if not one.after]) == 1


@pytest.mark.case("HC-19")
def test_a_store_that_cannot_be_written_is_reported_once_and_the_agent_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "blocked").write_text("a file where a directory should be")
    store = Store(tmp_path / "blocked" / "skills", tmp_path / "blocked" / "ledger.jsonl")
    with Manager(ManagerConfig(sweep_calls=1), store=store) as manager:
        for number in range(16):
            session = manager.session(str(number // 8))
            for step in LOOK.steps:
                session.observe(Call(step.tool, step.args), "x")
            session.observe(Call("write", {}), "ok")
        assert manager.routes() > 0
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    kinds = ("routes cannot be read from", "a route could not be written to", "a session could not be counted")
    assert [text.startswith(kind) for text, kind in zip(warnings, kinds, strict=True)] == [True] * 3
    assert all("WAGGLE_HOME" in text for text in warnings[1:])
    assert manager.faults()["a session could not be counted"] == 2


def test_a_recorded_habit_becomes_a_script_that_really_runs(tmp_path: Path) -> None:
    """Record, mine, promote, run: the output holds the file's name and its content."""
    import subprocess

    (tmp_path / ".git").mkdir()
    (tmp_path / "notes.txt").write_text("remember the milk")
    with Manager.for_project(tmp_path, config=ManagerConfig(sweep_calls=1)) as manager:
        for _ in range(3):
            for tool, path in (("ls", "."), ("read", "notes.txt"), ("ls", "./")):
                manager.observe(Call(tool, {"path": path}), "x")
            manager.observe(Call("write", {}), "ok")
    (meta,) = project_store(locate.find_project(tmp_path)).metas()
    script = meta.path / "scripts" / "run.sh"
    done = subprocess.run(["bash", str(script)], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=10)
    assert "notes.txt" in done.stdout
    assert "remember the milk" in done.stdout


def test_a_listing_has_name_description_script_and_path_and_no_switched_off_skill(store: Store) -> None:
    for one in (LOOK, OPEN):
        store.promote(one)
    store.disable(OPEN.name, "failed", AT)
    (meta,) = store.metas()
    assert (meta.name, meta.path) == (LOOK.name, store.directory / LOOK.name)
    assert meta.description == skilltext.describe(LOOK)
    assert meta.script is not None
    assert "cat -- './README.md'" in meta.script


def test_settings_are_used_by_a_manager_that_is_opened_for_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".waggle").mkdir()
    (tmp_path / ".waggle" / "config.toml").write_text("sweep_calls = 3\n")
    monkeypatch.setenv("WAGGLE_LOOKUPS_PER_RESULT", "2")
    manager = Manager.for_project(tmp_path)
    assert (manager.config.sweep_calls, manager.config.lookups_per_result) == (3, 2)
    assert Manager.for_project(tmp_path, config=ManagerConfig()).config == ManagerConfig()


def test_a_project_that_learned_something_is_remembered_for_promotion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAGGLE_HOME", str(tmp_path / "data"))
    root = tmp_path / "p"
    (root / ".git").mkdir(parents=True)
    with Manager.for_project(root, config=ManagerConfig(sweep_calls=1)) as manager:
        for _ in range(3):
            for step in LOOK.steps:
                manager.observe(Call(step.tool, step.args), "x")
            manager.observe(Call("write", {}), "ok")
    assert locate.known_projects(tmp_path / "data") == [root]


def test_conversations_are_kept_apart_and_the_one_unused_for_longest_is_closed() -> None:
    manager = Manager(ManagerConfig(sessions=2))
    one = manager.session("one")
    manager.session("two")
    assert manager.session("one") is one
    manager.session("three")
    assert manager.session("one") is one
    manager.end("one")
    assert manager.session("one") is not one
    manager.observe(Call("read", {"path": "x"}), "y")
    assert [len(manager.session(name).steps()) for name in ("", "one")] == [1, 0]

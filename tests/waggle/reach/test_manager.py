"""Reach through the manager: learned over sessions, kept on disk, followed, settled, held back."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.waggle.reach.support import count, edit, grep, read, sh
from waggle import Call, Manager, ManagerConfig, Result
from waggle.effect import effect
from waggle.ledger import read_ledger, read_windows
from waggle.locate import find_project
from waggle.reach.counts import ReachCounts
from waggle.reach.table import ReachTable, counts_json, read_counts
from waggle.store import load_routes, project_store

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.replay import Fold
    from waggle.store import Store


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return tmp_path / "repo"


def manager(project: Path, config: ManagerConfig | None = None) -> Manager:
    return Manager(config, store=store(project), root="/repo")


def store(project: Path) -> Store:
    return project_store(find_project(project))


def work(m: Manager, name: str, number: int) -> None:
    """A session: search, read around the match, change the file."""
    session = m.session(name)
    calls = [
        (grep(f"q{number}"), f"src/f{number}.py:100: x"),
        (read(f"/repo/src/f{number}.py", 90, 60), "x\n" * 60),
        (edit(f"/repo/src/f{number}.py"), ""),
    ]
    for (tool, args), text in calls:
        session.observe(Call(tool, args), text)
    m.end(name)


def learn(project: Path, sessions: int = 12) -> None:
    with manager(project) as m:
        for number in range(sessions):
            work(m, f"s{number}", number)


def follow(m: Manager, name: str, answers: dict[str, Any] | None = None) -> Fold | None:
    """A search in a session of its own, and what is folded into its result."""
    session = m.session(name)
    tool, args = grep("new")
    session.observe(Call(tool, args), "lib/b.py:300: new")
    made = answers if answers is not None else {}

    def run(tool: str, args: dict[str, Any]) -> Result:
        made[tool] = args
        return Result("the lines")

    return session.follow(run)


def test_a_habit_of_several_sessions_becomes_a_skill_and_saves_the_turn_in_the_next_process(project: Path) -> None:
    learn(project)
    routes = [route for route in load_routes(store(project)) if route.after]
    assert [route.name.startswith("read-lines-of-1st-file-after-search") for route in routes].count(True) == 1
    with manager(project) as m:
        made: dict[str, Any] = {}
        fold = follow(m, "new", made)
        assert made == {"Read": {"file_path": "/repo/lib/b.py", "offset": 290, "limit": 71}}
        assert fold is not None
        assert "the lines" in fold.text
        m.session("new").observe(Call(*edit("/repo/lib/b.py")), "")
    (name,) = [route.name for route in routes if route.name.startswith("read-lines-of-1st")]
    stat = read_ledger(store(project).ledger_path)[name]
    assert (stat.used, stat.detours) == (1, 0)
    assert stat.saved_tokens > 0


def test_a_lookup_that_nobody_wanted_is_a_detour_with_what_it_cost(project: Path) -> None:
    learn(project)
    with manager(project) as m:
        assert follow(m, "new")
        m.session("new").observe(Call(*edit("/repo/other.py")), "")
    stats = read_ledger(store(project).ledger_path)
    assert sum(stat.detours for stat in stats.values()) == 1
    assert sum(stat.spent_tokens for stat in stats.values()) > 0


def test_what_two_processes_count_adds_up(project: Path) -> None:
    one, other = manager(project), manager(project)
    for number in range(4):
        work(one, f"a{number}", number)
        work(other, f"b{number}", number + 4)
    one.close()
    other.close()
    both = read_counts(store(project).ledger_path.with_name("counts.json"))
    alone = Manager(ManagerConfig(), root="/repo")
    for number in (0, 4, 1, 5, 2, 6, 3, 7):
        work(alone, f"c{number}", number)
    alone.close()
    assert counts_json(both)["seen"] == counts_json(alone.counts())["seen"]
    assert counts_json(both)["reached"] == counts_json(alone.counts())["reached"]


@pytest.mark.case("HC-12")
def test_one_session_repeated_ten_times_is_one_session(project: Path) -> None:
    with manager(project) as m:
        for number in range(10):
            work(m, f"s{number}", 1)
        m.flush()
        assert set(m.counts().sessions.values()) == {1}


def test_a_route_that_is_switched_off_is_not_followed_and_not_learned_again(project: Path) -> None:
    learn(project)
    for route in load_routes(store(project)):
        store(project).disable(route.name, "not wanted", datetime(2026, 1, 1, tzinfo=UTC))
    with manager(project) as m:
        assert m.routes() == 0
        assert follow(m, "new") is None
        for number in range(12, 16):
            work(m, f"s{number}", number)
        assert m.learned() == []


def test_a_fresh_clone_follows_the_skills_alone(project: Path) -> None:
    learn(project)
    store(project).ledger_path.with_name("counts.json").unlink()
    with manager(project) as m:
        assert follow(m, "new")


def test_without_reach_nothing_is_counted(project: Path) -> None:
    with manager(project, ManagerConfig(reach=False)) as m:
        for number in range(4):
            work(m, f"s{number}", number)
    assert not store(project).ledger_path.with_name("counts.json").exists()


def test_held_back_lookups_are_not_made_and_settled_all_the_same(project: Path) -> None:
    learn(project)
    with manager(project, ManagerConfig(control_share=1.0)) as m:
        made: dict[str, Any] = {}
        assert follow(m, "new", made) is None
        assert made == {}
        m.session("new").observe(Call(*read("/repo/lib/b.py", 295, 20)), "x")
        m.session("new").observe(Call(*edit("/repo/lib/b.py")), "")
    stats = read_ledger(store(project).ledger_path)
    assert sum(stat.held_used for stat in stats.values()) == 1
    assert sum(stat.used + stat.detours for stat in stats.values()) == 0
    (window,) = read_windows(store(project).ledger_path)
    assert (window.held, window.calls) == (True, 2)


def test_the_share_that_is_held_back_is_the_share_asked_for(project: Path) -> None:
    learn(project)
    with manager(project, ManagerConfig(control_share=0.3)) as m:
        for number in range(200):
            follow(m, f"n{number}")
            m.session(f"n{number}").observe(Call(*edit("/repo/lib/b.py")), "")
            m.end(f"n{number}")
    windows = read_windows(store(project).ledger_path)
    held = sum(window.held for window in windows)
    assert len(windows) == 200
    assert 40 < held < 80
    found = effect(windows)
    assert found.saved is not None


def test_reach_does_not_wait_for_the_disk_and_never_raises(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn(project)
    monkeypatch.setattr("waggle.reach.learner.ReachLearner.observe", lambda *_: 1 / 0)
    with manager(project) as m:
        work(m, "s", 99)
        assert m.flush()
        assert m.faults() == {"a session could not be counted": 1}


def test_a_shell_agents_habit_is_learned_and_said_in_its_own_words(project: Path) -> None:
    with manager(project) as m:
        for number in range(12):
            session = m.session(f"s{number}")
            session.observe(Call(*sh(f"grep -n q{number} src/f{number}.py")), "100:x")
            session.observe(Call(*sh(f"sed -n '90,149p' src/f{number}.py")), "x\n" * 60)
            session.observe(Call(*sh("python fix.py")), "")
            m.end(f"s{number}")
        m.flush()
        session = m.session("new")
        session.observe(Call(*sh("grep -n new lib/b.py")), "300:new")
        made: list[dict[str, Any]] = []

        def run(tool: str, args: dict[str, Any]) -> Result:
            assert tool == "bash"
            made.append(args)
            return Result("the lines")

        assert session.follow(run)
        assert made == [{"command": "sed -n 290,360p /repo/lib/b.py"}]


def test_a_lower_threshold_makes_more(project: Path) -> None:
    config = replace(ManagerConfig(), threshold=0.99)
    with manager(project, config) as m:
        for number in range(12):
            work(m, f"s{number}", number)
        assert [route for route in m.learned() if route.after] == []


def test_a_skill_can_be_brought_up_to_what_is_counted_by_now_unless_a_person_edited_it(project: Path) -> None:
    learn(project, 4)
    with manager(project) as m:
        for number in range(4, 12):
            work(m, f"s{number}", number)
        m.flush()
        (old,) = [route for route in load_routes(store(project)) if "lines-of-1st" in route.name]
        again = Manager(ManagerConfig(), root="/repo", counts=m.counts())
        work(again, "last", 99)
        again.flush()
        (new,) = [route for route in again.learned() if route.name == old.name]
    assert new.count > old.count
    assert store(project).renew(new)
    (stored,) = [route for route in load_routes(store(project)) if route.name == old.name]
    assert (stored.count, stored.learned_at) == (new.count, old.learned_at)
    path = store(project).directory / old.name / "SKILL.md"
    path.write_text(path.read_text().replace("**Why:**", "**Never mind:**"))
    assert not store(project).renew(new)
    assert "Never mind" in path.read_text()
    assert not store(project).renew(replace(new, name="elsewhere"))


def test_routes_and_counts_may_be_added_while_another_thread_asks() -> None:
    found, (one,) = ReachTable(0.3), count([(grep("x"), "a.py:1:x"), (read("/repo/a.py", 1, 9), "x"), (edit(), "")])
    stop, wrong = threading.Event(), []

    def ask() -> None:
        try:
            while not stop.is_set():
                assert len(found) >= 0
                assert found.turns_left(3) >= 0
                assert found.form_for("bash", whole=False)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what this test looks for
            wrong.append(error)

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    for number in range(3000):
        part = ReachCounts(lengths=Counter({number: 1}), forms=Counter({("bash", f"f{number}"): 1}))
        found.add(part)
        found.allow(f"site {number}", next(iter(one.reached)), "route")
    stop.set()
    for thread in asking:
        thread.join(10)
    assert wrong == []
    assert len(found) == 3000

"""Curation: what goes, what stays, in which order, and that a plan is pure and applying it is safe."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from waggle import (
    CurateResult,
    Ledger,
    LedgerEntry,
    Manager,
    Param,
    Route,
    Scope,
    Stat,
    Store,
    curate,
    load_routes,
    read_ledger,
)
from waggle._defaults import MIN_SETTLED
from waggle.curation import StoreView, apply_plan, demote, gc, plan_curation, promote, prune_stale, view
from waggle.errors import StoreUnavailable
from waggle.routes import Disabled, RouteStep, named

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = datetime(2026, 6, 1, tzinfo=UTC)
OLD = NOW - timedelta(days=30)


def route(path: str = "a", **facts: Any) -> Route:
    steps = tuple(RouteStep("read", {"path": p}) for p in ("README.md", "setup.py", path))
    return named(Route("", steps, (), **{"count": 3, "support": 1, "learned_at": OLD, **facts}))


def seen(*routes: Route, scope: Scope = Scope.PROJECT, **facts: Any) -> StoreView:
    return StoreView(scope, routes, **facts)


@pytest.fixture
def make_store(tmp_path: Path) -> Callable[..., Store]:
    def make(name: str = "p", scope: Scope = Scope.PROJECT, *routes: Route) -> Store:
        store = Store(tmp_path / name / "skills", tmp_path / name / "ledger.jsonl", scope)
        for one in routes:
            store.promote(one)
        return store

    return make


def run(project: Store, user: Store, *others: Store) -> CurateResult:
    return curate(project, user, others, now=NOW)


# --- each step -------------------------------------------------------------------------------------------------


def test_of_routes_that_do_the_same_the_one_in_use_stays() -> None:
    one = route()
    twin, off = Route("z-twin", one.steps), Route("a-twin", one.steps, disabled=Disabled(OLD, "failed"))
    view = seen(off, one, twin, stats={"z-twin": Stat(uses=2)})
    assert {(a.kind, a.name) for a in gc(view)} == {("gc", one.name), ("gc", "a-twin")}


def test_what_always_fails_is_switched_off_and_what_worked_once_is_not() -> None:
    bad, good = route("bad"), route("good")
    view = seen(bad, good, stats={bad.name: Stat(fails=3), good.name: Stat(uses=1, fails=5)})
    (action,) = demote(view, now=NOW)
    assert (action.name, action.reason) == (bad.name, "failed 3 times and never succeeded")
    assert demote(seen(*(r for r in [action.route] if r), stats=view.stats), now=NOW) == []


@pytest.mark.parametrize(
    ("used", "detours", "net", "off"),
    [
        pytest.param(0, 30, -30, True, id="never used"),
        pytest.param(2, 28, -30, True, id="one lookup below the share"),
        pytest.param(3, 27, -30, False, id="at the share"),
        pytest.param(0, 29, -30, False, id="one lookup too few"),
        pytest.param(1, 28, -30, False, id="one too few, used ones counted"),
        pytest.param(99, 901, -30, True, id="many, below the share"),
        pytest.param(100, 900, -30, False, id="many, at the share"),
        pytest.param(1, 29, 0, True, id="saved as much as it spent"),
        pytest.param(1, 29, 1, False, id="seldom right, and it pays"),
    ],
)
def test_what_hardly_anybody_asks_for_is_switched_off(used: int, detours: int, net: int, *, off: bool) -> None:
    assert MIN_SETTLED == 30
    one = route()
    view = seen(one, stats={one.name: Stat(uses=9, used_since=used, detours_since=detours, net_since=net)})
    actions = demote(view, now=NOW)
    assert [action.reason for action in actions] == [f"{detours} of {used + detours} lookups were detours"] * off


def test_neither_what_was_held_back_nor_what_was_before_it_was_switched_on_switches_a_route_off() -> None:
    one = route()
    for stat in (Stat(held_detours=500), Stat(detours=500, spent_tokens=500, used_since=0, detours_since=5)):
        assert demote(seen(one, stats={one.name: stat}), now=NOW) == []


@pytest.mark.parametrize(
    ("days", "uses", "pruned"),
    [
        pytest.param(14, 0, True, id="at the limit"),
        pytest.param(13, 0, False, id="recent"),
        pytest.param(99, 1, False, id="used"),
    ],
)
def test_what_is_old_and_unused_is_pruned(days: int, uses: int, *, pruned: bool) -> None:
    one = route(learned_at=NOW - timedelta(days=days))
    view = seen(one, stats={one.name: Stat(uses=uses)})
    assert bool(prune_stale(view, now=NOW)) is pruned


@pytest.mark.parametrize(
    ("stat", "pruned"),
    [
        pytest.param(Stat(used=1), False, id="used"),
        pytest.param(Stat(detours=9), True, id="never asked for"),
        pytest.param(Stat(held_used=9), True, id="held back"),
    ],
)
def test_a_lookup_that_was_settled_as_used_is_a_use(stat: Stat, *, pruned: bool) -> None:
    one = route()
    assert bool(prune_stale(seen(one, stats={one.name: stat}), now=NOW)) is pruned


def test_a_route_without_a_date_is_never_pruned() -> None:
    assert prune_stale(seen(route(learned_at=None)), now=NOW) == []


def test_age_comes_from_the_file_and_not_from_the_file_system(make_store: Callable[..., Store]) -> None:
    """A checkout gives every file a fresh time, a restored backup an old one."""
    import os

    fresh, stale = route("fresh", learned_at=NOW), route("stale")
    project = make_store("p", Scope.PROJECT, fresh, stale)
    for path in project.files_of(fresh.name):
        os.utime(path, (0, 0))
    run(project, make_store("u", Scope.USER))
    assert [r.name for r in load_routes(project)] == [fresh.name]


def test_a_skill_that_a_person_edited_is_kept_and_said_so() -> None:
    one = route()
    (action,) = prune_stale(seen(one, edited=frozenset({one.name})), now=NOW)
    assert (action.kind, action.reason) == ("keep", "not used for 30 days, but a person has edited it")


def test_a_route_held_by_two_projects_is_promoted_once() -> None:
    one, lonely = route("one", learned_at=NOW), route("lonely")
    (action,) = promote(seen(scope=Scope.USER), [[one, lonely], [one], [one, one]], now=NOW)
    assert action.route is not None
    assert (action.name, action.route.scope, action.route.count) == (one.name, Scope.USER, 9)
    assert promote(seen(action.route, scope=Scope.USER), [[one], [one]], now=NOW) == []


def test_switched_off_holders_do_not_count() -> None:
    off, on = route(disabled=Disabled(OLD, "failed")), route()
    assert promote(seen(scope=Scope.USER), [[off], [off]], now=NOW) == []
    assert promote(seen(scope=Scope.USER), [[off], [on]], now=NOW) == []
    assert len(promote(seen(scope=Scope.USER), [[off], [on], [on]], now=NOW)) == 1


def test_a_user_route_that_two_projects_still_hold_is_not_pruned_to_be_promoted_again() -> None:
    one = route(learned_at=OLD)
    plan = plan_curation(
        seen(route(learned_at=NOW)),
        seen(one, scope=Scope.USER),
        [[route(learned_at=NOW)]],
        now=NOW,
    )
    assert plan.actions == ()


# --- the whole -------------------------------------------------------------------------------------------------


def test_a_long_lived_failer_is_switched_off_and_spared_by_the_prune_after_it(
    make_store: Callable[..., Store],
) -> None:
    bad = route("bad")
    project = make_store("p", Scope.PROJECT, bad)
    Ledger(project.ledger_path).append_many([LedgerEntry(bad.name, 1, fail=True)] * 3)
    result = run(project, make_store("u", Scope.USER))
    assert (result.demoted, result.pruned_proj) == (1, 0)
    (kept,) = project.contents().routes
    assert kept.disabled == Disabled(NOW, "failed 3 times and never succeeded")
    assert "Switched off since 2026-06-01" in (project.path_of(bad.name) / "SKILL.md").read_text()
    assert run(project, make_store("u", Scope.USER)) == CurateResult()


def test_a_chronic_detour_is_switched_off_once_and_judged_anew_when_a_person_switches_it_on(
    make_store: Callable[..., Store],
) -> None:
    one = route(learned_at=NOW)
    project, user = make_store("p", Scope.PROJECT, one), make_store("u", Scope.USER)
    log = Ledger(project.ledger_path)
    detour = LedgerEntry(one.name, event="detour", spent_tokens=40, at=NOW)
    log.append_many([LedgerEntry(one.name, event="used", saved_tokens=90, at=NOW), *[detour] * 29])
    assert run(project, user).demoted == 1
    (off,) = project.contents().routes
    assert off.disabled == Disabled(NOW, "29 of 30 lookups were detours")
    project.remove(one.name)
    project.promote(one)  # as if a person had taken the mark out
    log.append_many([detour] * 29)
    assert run(project, user).demoted == 0
    log.append(detour)
    assert run(project, user).demoted == 1


def test_the_history_of_a_pruned_route_is_forgotten(make_store: Callable[..., Store]) -> None:
    gone, kept = route("gone"), route("kept", learned_at=NOW)
    project = make_store("p", Scope.PROJECT, gone, kept)
    ledger = Ledger(project.ledger_path)
    ledger.append_many([LedgerEntry(gone.name, 1, fail=True), LedgerEntry(kept.name, 2, 7), LedgerEntry("other", 1, 1)])
    result = run(project, make_store("u", Scope.USER))
    assert (result.pruned_proj, result.compacted) == (1, 2)
    assert set(read_ledger(project.ledger_path)) == {kept.name}


def test_when_the_directory_cannot_be_read_its_ledger_is_left_alone(make_store: Callable[..., Store]) -> None:
    project = make_store("p")
    Ledger(project.ledger_path).append(LedgerEntry("x", 1, 1))
    project.directory.write_text("a regular file")
    run(project, make_store("u", Scope.USER))
    assert set(read_ledger(project.ledger_path)) == {"x"}


def test_a_directory_in_the_ledgers_place_is_one_clear_error(make_store: Callable[..., Store]) -> None:
    project = make_store("p", Scope.PROJECT, route())
    project.ledger_path.mkdir()
    with pytest.raises(StoreUnavailable, match="is not a file but a directory"):
        run(project, make_store("u", Scope.USER))
    assert len(load_routes(project)) == 1


def test_a_skill_that_cannot_be_read_keeps_its_history(make_store: Callable[..., Store]) -> None:
    one = route(learned_at=NOW)
    project = make_store("p", Scope.PROJECT, one)
    Ledger(project.ledger_path).append(LedgerEntry(one.name, 1, 1))
    (project.path_of(one.name) / "route.json").write_text("{")
    plan = plan_curation(view(project), view(make_store("u", Scope.USER)), now=NOW)
    assert len(plan.invalid) == 1
    apply_plan(plan, project, make_store("u", Scope.USER), now=NOW)
    assert set(read_ledger(project.ledger_path)) == {one.name}
    assert project.path_of(one.name).exists()


def test_a_route_in_two_projects_reaches_the_user_and_is_used_in_a_third(make_store: Callable[..., Store]) -> None:
    from waggle import Call, Manager

    one = route(learned_at=NOW)
    first, second = make_store("p", Scope.PROJECT, one), make_store("q", Scope.PROJECT, one)
    user = make_store("u", Scope.USER)
    assert run(first, user, second).promoted == 1
    assert run(first, user, second).promoted == 0
    with Manager(user=user) as manager:
        for path in ("README.md", "setup.py"):
            manager.observe(Call("read", {"path": path}), "x")
        assert manager.follow(lambda tool, args: "text") is not None
    assert read_ledger(user.ledger_path)[one.name].uses == 1


def test_a_plan_is_pure_and_applying_it_twice_changes_nothing_the_second_time(
    make_store: Callable[..., Store],
) -> None:
    project = make_store("p", Scope.PROJECT, route("x"), route("y", learned_at=NOW))
    user = make_store("u", Scope.USER)
    before = {p: p.read_bytes() for p in project.directory.rglob("*") if p.is_file()}
    plan = plan_curation(view(project), view(user), now=NOW)
    assert {p: p.read_bytes() for p in project.directory.rglob("*") if p.is_file()} == before
    assert apply_plan(plan, project, user, now=NOW) == CurateResult(pruned_proj=1)
    assert apply_plan(plan, project, user, now=NOW) == CurateResult()


def test_parameters_do_not_hinder_any_step(make_store: Callable[..., Store]) -> None:
    steps = (RouteStep("ls", {"path": None}), RouteStep("read", {"path": "a"}))
    one = named(Route("", steps, (Param(0, "path"),), learned_at=OLD))
    assert run(make_store("p", Scope.PROJECT, one), make_store("u", Scope.USER)).pruned_proj == 1


# --- what is no skill ------------------------------------------------------------------------------------------


def test_a_site_of_a_flow_that_is_hardly_ever_of_use_is_switched_off_once_in_the_ledger_alone(
    make_store: Callable[..., Store],
) -> None:
    project, user = make_store("p"), make_store("u", Scope.USER)
    ledger = Ledger(project.ledger_path)
    for name, used in (("shop: get_user", 0), ("shop: find_user", 20)):
        ledger.append_many(
            LedgerEntry(name, event="used" if n < used else "detour", strategy="flow", at=OLD, spent_tokens=1)
            for n in range(MIN_SETTLED)
        )
    plan = plan_curation(view(project), view(user), now=NOW)
    assert [(a.kind, a.name, a.strategy) for a in plan.actions] == [("demote", "shop: get_user", "flow")]
    assert (run(project, user).demoted, run(project, user).demoted) == (1, 0)
    stats = read_ledger(project.ledger_path)
    assert [stats[name].is_off for name in ("shop: get_user", "shop: find_user")] == [True, False]
    assert Manager(store=project).switched_off() == {"shop: get_user": NOW}
    ledger.append(LedgerEntry("shop: get_user", event="promoted", strategy="flow", at=NOW + timedelta(days=1)))
    assert Manager(store=project).switched_off() == {}


def test_a_flow_that_always_fails_is_switched_off_as_a_route_is(make_store: Callable[..., Store]) -> None:
    project = make_store("p")
    for _ in range(3):
        Ledger(project.ledger_path).append(LedgerEntry("shop: get_user", 1, fail=True, strategy="flow", at=OLD))
    (action,) = demote(view(project), now=NOW)
    assert action.reason == "failed 3 times and never succeeded"

"""Curation: what is removed, switched off, forgotten and shared, and why.

`plan_curation` is pure: it looks at what the stores and ledgers hold and says what should happen, in the original's
order (GC, demote, prune, compact, promote), each step on what the one before would leave. `apply_plan` does it. Files
that cannot be read, and skills that a person has edited, are never deleted: they are reported.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from waggle import files
from waggle._defaults import MIN_FAILS, MIN_SETTLED, MIN_USED_SHARE, PROMOTE_PROJECTS, STALE_DAYS
from waggle.compaction import compact_ledger
from waggle.errors import CountsError
from waggle.ledger import Ledger, LedgerEntry, Stat, read_ledger, read_sources
from waggle.reach.table import COUNTS_FILE, forget_rare
from waggle.routes import Disabled, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from waggle.errors import SkillFileError
    from waggle.routes import Route
    from waggle.store import Store

__all__ = [
    "Action",
    "CurateResult",
    "Plan",
    "StoreView",
    "apply_plan",
    "curate",
    "demote",
    "gc",
    "plan_curation",
    "promote",
    "prune_stale",
    "view",
]

Kind = Literal["gc", "demote", "prune", "promote", "keep"]


@dataclass(frozen=True, slots=True)
class StoreView:
    """What curation knows of one store.

    Attributes:
        scope: whose habits it holds.
        routes: in the order of their names, switched-off ones included.
        stats: uses, failures and what was settled, by name.
        edited: names of skills that a person has changed.
        invalid: what could not be read.
        readable: False when the directory could not be listed; then nothing of it may be touched.
        sources: what is in no store and stands in the ledger all the same, such as the sites of flows: the strategy
            that replays each, by name.
    """

    scope: Scope
    routes: tuple[Route, ...] = ()
    stats: dict[str, Stat] = field(default_factory=dict)
    edited: frozenset[str] = frozenset()
    invalid: tuple[SkillFileError, ...] = ()
    readable: bool = True
    sources: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do, or deliberately not to do (``keep``).

    Attributes:
        kind: the step it belongs to.
        scope: the store it changes.
        name: the skill.
        reason: why, for the person who reads the plan.
        route: the route, where it is to be written.
        strategy: who replays what is no skill; it is switched off in the ledger alone, where that strategy looks.
    """

    kind: Kind
    scope: Scope
    name: str
    reason: str
    route: Route | None = None
    strategy: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything one curation would do, in order.

    Attributes:
        actions: in the order in which they are done.
        compact: for each scope whose ledger may be compacted, the names that keep their history.
        invalid: files that could not be read, for a person to look at.
    """

    actions: tuple[Action, ...] = ()
    compact: tuple[Scope, ...] = ()
    invalid: tuple[SkillFileError, ...] = ()


@dataclass(frozen=True, slots=True)
class CurateResult:
    """What one curation did, as counts.

    Attributes:
        removed_proj: duplicates deleted from the project's store.
        removed_user: the same for the user's.
        pruned_proj: unused routes deleted from the project's store.
        pruned_user: the same for the user's.
        demoted: routes switched off, in both.
        promoted: routes copied to the user's store.
        compacted: ledger lines dropped, in both.
        forgotten: reads that were counted once in many sessions, and are not counted any more.
    """

    removed_proj: int = 0
    removed_user: int = 0
    pruned_proj: int = 0
    pruned_user: int = 0
    demoted: int = 0
    promoted: int = 0
    compacted: int = 0
    forgotten: int = 0


# --- plans ----------------------------------------------------------------------------------------------------


def _stat(seen: StoreView, name: str) -> Stat:
    return seen.stats.get(name) or Stat()


def gc(seen: StoreView) -> list[Action]:
    """Plan the removal of duplicates: of routes that do the same, the one in use stays.

    That is the one that is not switched off, with the most uses, first by name.
    """
    same: dict[str, list[Route]] = defaultdict(list)
    for route in seen.routes:
        same[route.fingerprint].append(route)
    actions: list[Action] = []
    for routes in same.values():
        best = min(routes, key=lambda route: (route.disabled is not None, -_stat(seen, route.name).uses, route.name))
        actions += [
            _unless_edited(seen, Action("gc", seen.scope, route.name, f"does the same as {best.name}"))
            for route in routes
            if route is not best
        ]
    return actions


def demote(seen: StoreView, *, min_fails: int = MIN_FAILS, now: datetime) -> list[Action]:
    """Plan to switch off what keeps failing, and what keeps making lookups that nobody asks for.

    The first has failed at least `min_fails` times and never succeeded. The second has, since it was last learned or
    switched on, at least `MIN_SETTLED` settled lookups with a share used below `MIN_USED_SHARE`, and has saved no more
    tokens than it spent: a route may be seldom right and pay. What was held back counts on neither side.
    """
    actions: list[Action] = []
    for route in seen.routes:
        reason = None if route.disabled else _why_off(_stat(seen, route.name), min_fails)
        if reason:
            off = replace(route, disabled=Disabled(now, reason))
            actions.append(Action("demote", seen.scope, route.name, reason, off))
    for name, strategy in seen.sources.items():
        stat = _stat(seen, name)
        if not stat.is_off and (reason := _why_off(stat, min_fails)):
            actions.append(Action("demote", seen.scope, name, reason, strategy=strategy))
    return actions


def _why_off(stat: Stat, min_fails: int) -> str | None:
    if not stat.uses and stat.fails >= min_fails:
        return f"failed {stat.fails} times and never succeeded"
    settled = stat.used_since + stat.detours_since
    if settled >= MIN_SETTLED and stat.used_since / settled < MIN_USED_SHARE and stat.net_since <= 0:
        return f"{stat.detours_since} of {settled} lookups were detours"
    return None


def prune_stale(
    seen: StoreView, *, stale_days: int = STALE_DAYS, now: datetime, wanted: frozenset[str] = frozenset()
) -> list[Action]:
    """Plan to delete what was never used and is old.

    A use is a replay that gave something, or a lookup that was settled as used.
    Age counts from when a route was learned, or switched off if that was later; the dates are in the file, so a
    checkout does not reset them. A route whose file has no date is kept.

    Args:
        seen: the store.
        stale_days: age in days from which an unused route goes.
        now: the present time, timezone-aware.
        wanted: fingerprints that promotion would bring back at once; they stay.
    """
    actions: list[Action] = []
    for route in seen.routes:
        stat = _stat(seen, route.name)
        if stat.uses or stat.used or route.learned_at is None or route.fingerprint in wanted:
            continue
        since = max(filter(None, (route.learned_at, route.disabled.at if route.disabled else None)))
        if now - since >= timedelta(days=stale_days):
            reason = f"not used for {(now - since).days} days"
            actions.append(_unless_edited(seen, Action("prune", seen.scope, route.name, reason)))
    return actions


def promote(user: StoreView, projects: Iterable[Sequence[Route]], *, now: datetime) -> list[Action]:
    """Plan to copy to the user's store what at least two projects hold.

    Args:
        user: the user's store.
        projects: the routes of each project, one entry a project however many checkouts it has.
        now: the present time, timezone-aware.
    """
    held = _held(projects)
    present = {route.fingerprint for route in user.routes}
    actions: list[Action] = []
    for fingerprint, holders in held.items():
        if len(holders) >= PROMOTE_PROJECTS and fingerprint not in present:
            count, support = sum(r.count for r in holders), sum(r.support for r in holders)
            route = replace(holders[0], scope=Scope.USER, count=count, support=support, learned_at=now)
            actions.append(Action("promote", Scope.USER, route.name, f"held by {len(holders)} projects", route))
    return actions


def _held(projects: Iterable[Sequence[Route]]) -> dict[str, list[Route]]:
    """Enabled routes by fingerprint, one a project, in the order met."""
    held: dict[str, list[Route]] = defaultdict(list)
    for routes in projects:
        for route in {r.fingerprint: r for r in reversed(routes) if not r.disabled}.values():
            held[route.fingerprint].append(route)
    return dict(sorted(held.items()))


def _unless_edited(seen: StoreView, action: Action) -> Action:
    if action.name not in seen.edited:
        return action
    return replace(action, kind="keep", reason=f"{action.reason}, but a person has edited it")


def _after(seen: StoreView, actions: Iterable[Action]) -> StoreView:
    """The store as the actions would leave it."""
    gone = {action.name for action in actions if action.kind in ("gc", "prune")}
    changed = {action.name: action.route for action in actions if action.route}
    return replace(seen, routes=tuple(changed.get(r.name) or r for r in seen.routes if r.name not in gone))


def plan_curation(
    project: StoreView,
    user: StoreView,
    others: Iterable[Sequence[Route]] = (),
    *,
    now: datetime,
    stale_days: int = STALE_DAYS,
    min_fails: int = MIN_FAILS,
) -> Plan:
    """Plan one whole curation.

    Args:
        project: the project's store.
        user: the user's store.
        others: the routes of each other known project.
        now: the present time, timezone-aware.
        stale_days: see `prune_stale`.
        min_fails: see `demote`.
    """
    others = list(others)
    done: list[Action] = []

    def step(seen: StoreView, actions: list[Action]) -> StoreView:
        done.extend(actions)
        return _after(seen, actions)

    views = [project, user]
    readable = [seen for seen in views if seen.readable]
    after = {seen.scope: step(seen, gc(seen)) for seen in readable}
    for scope, seen in after.items():
        after[scope] = step(seen, demote(seen, min_fails=min_fails, now=now))
    for scope, seen in after.items():
        wanted: frozenset[str] = frozenset()
        if scope is Scope.USER:
            holders = [after[Scope.PROJECT].routes if Scope.PROJECT in after else (), *others]
            wanted = frozenset(f for f, routes in _held(holders).items() if len(routes) >= PROMOTE_PROJECTS)
        after[scope] = step(seen, prune_stale(seen, stale_days=stale_days, now=now, wanted=wanted))
    if Scope.USER in after:
        mine = after[Scope.PROJECT].routes if Scope.PROJECT in after else ()
        step(after[Scope.USER], promote(after[Scope.USER], [mine, *others], now=now))
    return Plan(tuple(done), tuple(after), tuple(problem for seen in views for problem in seen.invalid))


# --- the world ------------------------------------------------------------------------------------------------


def view(store: Store) -> StoreView:
    """Look at a store and its ledger."""
    try:
        listing = store.contents()
    except OSError:
        return StoreView(store.scope, readable=False)
    edited = frozenset(route.name for route in listing.routes if store.is_edited(route))
    ledger = store.ledger_path
    return StoreView(
        store.scope, listing.routes, read_ledger(ledger), edited, listing.invalid, sources=read_sources(ledger)
    )


def apply_plan(plan: Plan, project: Store, user: Store, *, now: datetime) -> CurateResult:
    """Do what a plan says. Safe while agents run: every change is made under the store's lock, or not at all.

    Raises:
        StoreUnavailable: a store cannot be written.
        StoreLocked: another process held a lock for too long.
    """
    stores = {Scope.PROJECT: project, Scope.USER: user}
    done: dict[tuple[Kind, Scope], int] = defaultdict(int)
    for action in plan.actions:
        store = stores[action.scope]
        match action.kind:
            case "gc" | "prune":
                happened = store.remove(action.name)
            case "demote" if action.strategy:
                happened = True
            case "demote":
                happened = store.disable(action.name, action.reason, now)
            case "promote" if action.route:
                happened = store.promote(action.route).status == "created"
            case _:
                happened = False
        if happened:
            done[action.kind, action.scope] += 1
            if action.kind in ("demote", "promote"):
                event: Literal["demoted", "promoted"] = "demoted" if action.kind == "demote" else "promoted"
                Ledger(store.ledger_path).append(
                    LedgerEntry(action.name, 0, event=event, at=now, strategy=action.strategy)
                )
    compacted = forgotten = 0
    for scope in plan.compact:
        store = stores[scope]
        compacted += compact_ledger(store.ledger_path, store.names)
        with suppress(CountsError):  # left as it is; a manager says so when it reads it
            forgotten += forget_rare(store.ledger_path.with_name(COUNTS_FILE))
        files.remove_leftovers(store.directory.parent, now=now)
    return CurateResult(
        removed_proj=done["gc", Scope.PROJECT],
        removed_user=done["gc", Scope.USER],
        pruned_proj=done["prune", Scope.PROJECT],
        pruned_user=done["prune", Scope.USER],
        demoted=done["demote", Scope.PROJECT] + done["demote", Scope.USER],
        promoted=done["promote", Scope.USER],
        compacted=compacted,
        forgotten=forgotten,
    )


def curate(
    project: Store,
    user: Store,
    others: Iterable[Store] = (),
    *,
    now: datetime,
    stale_days: int = STALE_DAYS,
    min_fails: int = MIN_FAILS,
) -> CurateResult:
    """Plan and apply one curation of a project's and the user's store.

    Args:
        project: the project's store.
        user: the user's store.
        others: stores of the other known projects, one each; only read.
        now: the present time, timezone-aware.
        stale_days: see `prune_stale`.
        min_fails: see `demote`.

    Raises:
        StoreUnavailable: a store cannot be written.
        StoreLocked: another process held a lock for too long.
    """
    plan = plan_curation(
        view(project),
        view(user),
        [view(store).routes for store in others],
        now=now,
        stale_days=stale_days,
        min_fails=min_fails,
    )
    return apply_plan(plan, project, user, now=now)

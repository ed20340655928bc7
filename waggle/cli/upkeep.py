"""Commands that keep things in order: ``gc``, ``config``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from waggle import _defaults, _render, jsonvalue, locate
from waggle._defaults import EXIT_OK, EXIT_STORE
from waggle.cli import options
from waggle.cli.place import counted, open_place, texts
from waggle.curation import StoreView, apply_plan, plan_curation, view
from waggle.errors import WaggleError
from waggle.routes import Scope
from waggle.settings import describe_settings, load_settings
from waggle.store import project_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from waggle.cli.place import Place
    from waggle.curation import CurateResult, Plan
    from waggle.jsonvalue import JsonObject
    from waggle.routes import Route
    from waggle.store import Store

__all__ = ["config", "gc", "other_projects", "summary"]


# --- gc -------------------------------------------------------------------------------------------------------


@click.command()
@options.project
@click.option(
    "--stale-days",
    type=int,
    metavar="DAYS",
    help=f"Age in days from which a route that was never used goes. Default: the setting, {_defaults.STALE_DAYS}.",
)
@click.option(
    "--min-fails",
    type=int,
    metavar="N",
    help=f"Failures without one success that switch a route off. Default: the setting, {_defaults.MIN_FAILS}.",
)
@options.dry_run
@options.as_json
def gc(*, directory: Path, stale_days: int | None, min_fails: int | None, dry_run: bool, as_json: bool) -> int:
    """Tidy up the project's skills and the user's.

    Removes duplicates, switches off what keeps failing or is hardly ever asked for, prunes what was never used and is
    old, shortens the ledgers, and copies to the user's store what at least two known projects hold. What a person has
    edited, and what cannot be read, is left alone and named. Safe from cron and while agents run: it asks nothing, and
    prints one line.
    """
    given = {"stale_days": stale_days, "min_fails": min_fails}
    place = open_place(directory, arguments={name: value for name, value in given.items() if value is not None})
    project, user = place.store(Scope.PROJECT), _user_store(place)
    views = [view(project), view(user) if user else StoreView(Scope.USER, readable=False)]
    now = datetime.now(UTC)
    plan = plan_curation(
        views[0],
        views[1],
        list(other_projects(place)),
        now=now,
        stale_days=place.settings.stale_days,
        min_fails=place.settings.min_fails,
    )
    result: CurateResult | None = None
    if not dry_run:
        # Without a user's store the plan changes none, so that any store may stand in its place.
        result = apply_plan(plan, project, user or project, now=now)
        place.remember()
    if as_json:
        _render.document(_gc_json(plan, result))
    else:
        _render.out(summary(result) if result else _plan_text(plan, views))
        for problem in plan.invalid:
            _render.note(str(problem))
    for seen, store in zip(views, (project, user), strict=True):
        if store and not seen.readable:
            _render.note(f"{store.directory}: cannot be read and was left alone; make it readable, or move it away")
    return EXIT_OK if all(seen.readable for seen in views) else EXIT_STORE


def _user_store(place: Place) -> Store | None:
    try:
        return place.store(Scope.USER)
    except WaggleError as error:
        _render.note(f"{error} (the user's skills are left alone)")
        return None


def other_projects(place: Place) -> Iterator[Sequence[Route]]:
    """Routes of the other known projects, one entry a project however many checkouts it has; what is gone is not."""
    try:
        roots = locate.known_projects(locate.user_data_dir())
    except WaggleError:
        return  # there is no home: the caller has said so
    seen = {place.project.key}
    for root in roots:
        try:
            project = locate.find_project(root)
            if project.key in seen or not root.is_dir():
                continue
            location = load_settings(project.root).settings.location
            yield project_store(project, location=location).contents().routes
            seen.add(project.key)
        except (OSError, ValueError, ExceptionGroup):  # gone, unreadable, or its settings are wrong: its own matter
            continue


def summary(result: CurateResult) -> str:
    """What a curation did, on one line."""
    forgotten = f", {counted(result.forgotten, 'read')} counted once forgotten" if result.forgotten else ""
    return (
        f"project: {result.removed_proj} removed, {result.pruned_proj} pruned; "
        f"user: {result.removed_user} removed, {result.pruned_user} pruned; "
        f"{result.demoted} switched off, {result.promoted} promoted, {result.compacted} ledger lines dropped{forgotten}"
    )


_WORDS: Final = {"gc": "remove", "prune": "prune", "demote": "switch off", "promote": "promote", "keep": "keep"}


def _plan_text(plan: Plan, views: Sequence[StoreView]) -> str:
    columns = [_render.Column(title) for title in ("action", "scope", "skill", "reason")]
    rows = [[_WORDS[action.kind], action.scope.value, action.name, action.reason] for action in plan.actions]
    named = {(action.scope, action.name) for action in plan.actions}
    rows += [
        ["keep", seen.scope.value, route.name, _why_kept(seen, route)]
        for seen in views
        for route in seen.routes
        if (seen.scope, route.name) not in named
    ]
    rows += [
        ["keep", seen.scope.value, name, _why_kept_beside(seen, name)]
        for seen in views
        for name in seen.sources
        if (seen.scope, name) not in named
    ]
    return _render.table(columns, rows) if rows else "there are no skills"


def _why_kept(seen: StoreView, route: Route) -> str:
    stat = seen.stats.get(route.name)
    if stat and (stat.uses or stat.used):
        return f"used {counted(stat.uses or stat.used, 'time')}"
    return "it is not known when it was learned" if route.learned_at is None else "not old enough to be pruned"


def _why_kept_beside(seen: StoreView, name: str) -> str:
    """Of what is no skill, such as a site of a flow."""
    stat = seen.stats[name]
    return "switched off" if stat.is_off else f"used {counted(stat.uses or stat.used, 'time')}"


def _gc_json(plan: Plan, result: CurateResult | None) -> JsonObject:
    return {
        "dry_run": result is None,
        "actions": [
            {"action": action.kind, "scope": action.scope.value, "name": action.name, "reason": action.reason}
            for action in plan.actions
        ],
        "invalid": texts(plan.invalid),
        "result": None
        if result is None
        else {
            "removed_project": result.removed_proj,
            "removed_user": result.removed_user,
            "pruned_project": result.pruned_proj,
            "pruned_user": result.pruned_user,
            "demoted": result.demoted,
            "promoted": result.promoted,
            "ledger_lines_dropped": result.compacted,
            "reads_forgotten": result.forgotten,
        },
    }


# --- config ---------------------------------------------------------------------------------------------------


@click.command()
@options.project
@options.as_json
def config(*, directory: Path, as_json: bool) -> int:
    """Show every setting, its unit and its source.

    Settings come, each counting more than the one before, from the defaults, the user's file, the project's file
    .waggle/config.toml, and variables such as WAGGLE_STALE_DAYS and WAGGLE_MINE_K. WAGGLE_CONFIG names another user's
    file. A project's file cannot set tools_allow, and cannot switch on what the user's file has switched off.
    """
    place = open_place(directory)
    user_file, project_file = locate.user_config_file(), locate.project_config_file(place.project.root)
    rows = list(place.loaded.rows())
    if as_json:
        about = {name: text for name, _, text, _ in describe_settings()}
        _render.document(
            {
                "user_file": str(user_file) if user_file else None,
                "project_file": str(project_file),
                "settings": {
                    name: {"value": jsonvalue.to_json(value)[0], "unit": unit, "source": source, "about": about[name]}
                    for name, value, unit, source in rows
                },
            }
        )
        return EXIT_OK
    columns = [_render.Column(title) for title in ("setting", "value", "unit", "source")]
    shown = [
        [name, jsonvalue.dumps(jsonvalue.to_json(value)[0]).decode(), unit, source]
        for name, value, unit, source in rows
    ]
    _render.out(_render.table(columns, shown))
    return EXIT_OK

"""Learning routes from recorded sessions into a store, as a manager does live."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from waggle.errors import SkillFileError, StoreUnavailable
from waggle.evaluate import play
from waggle.manager import Manager
from waggle.playback import directory_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from waggle.config import ManagerConfig
    from waggle.jsonvalue import JsonObject
    from waggle.routes import Route
    from waggle.store import Store
    from waggle.tools import ToolTable
    from waggle.traces import Trace

__all__ = ["Mined", "mine_into"]


@dataclass(frozen=True, slots=True)
class Mined:
    """One route that the sessions teach.

    Attributes:
        status: ``new``; ``known`` when it was in the store before and is left as it is; ``edited`` when it was there
            and a person has changed it, or when a folder of this name holds something else.
        route: the route; a known one as it is stored.
    """

    status: Literal["new", "known", "edited"]
    route: Route

    def as_json(self) -> JsonObject:
        """What ``mine --json`` says of it."""
        route = self.route
        return {
            "name": route.name,
            "status": self.status,
            "steps": len(route.steps),
            "seen": route.count,
            "sessions": route.support,
        }


def mine_into(
    traces: Iterable[Trace],
    store: Store,
    config: ManagerConfig,
    *,
    tools: ToolTable,
    root: str | None,
    dry_run: bool = False,
) -> tuple[list[Mined], int]:
    """Learn from sessions one after another; holds one session at a time.

    Learning from the same sessions again changes nothing: what is stored is known.

    Args:
        traces: in the order in which they took place.
        store: where new routes are written, and their promotion logged.
        config: the rules.
        tools: what is known of the hosts' tools.
        root: the project's directory, for paths stored relative to it.
        dry_run: write nothing.

    Returns:
        What was learned: new routes in the order they were learned, then the known; and the number of sessions.

    Raises:
        StoreUnavailable: a new route could not be written; what stood in the way was logged.
        OSError: the store's directory is there and cannot be read.
    """
    before = store.contents().routes
    stored = {route.fingerprint: route for route in before}
    config = replace(config, learn=True, replay=False)
    scope = store.scope
    if dry_run:
        writer = Manager(config, routes=before, tools=tools, root=root)
    else:
        writer = Manager(config, store=store, tools=tools, root=root)
    # The writer passes over what is stored. A manager that knows nothing tells which of it these sessions teach again.
    managers = [writer, Manager(config, tools=tools, root=root)] if before else [writer]
    count = 0
    try:
        for trace in traces:
            for manager in managers:
                play(trace, manager.session(trace.session, directory=directory_of(trace) or None))
                manager.end(trace.session)
            count += 1
    finally:
        writer.close()
    for route in writer.learned() if not dry_run else ():
        if route.after and store.path_of(route.name).is_dir():  # it was written when it was first seen often enough
            store.renew(route)
    mined = [_written(replace(route, scope=scope), store, dry_run=dry_run) for route in writer.learned()]
    again = managers[-1].learned() if before else ()
    known = [stored[route.fingerprint] for route in again if route.fingerprint in stored]
    return [*mined, *(Mined("edited" if _is_edited(store, route) else "known", route) for route in known)], count


def _is_edited(store: Store, route: Route) -> bool:
    try:
        return store.is_edited(route)
    except (OSError, ValueError):  # a text that cannot be read is not as we wrote it; SkillFileError is a ValueError
        return True


def _written(route: Route, store: Store, *, dry_run: bool) -> Mined:
    try:
        found = store.read(route.name)
    except SkillFileError:
        return Mined("edited", route)
    if found is None and dry_run and not store.path_of(route.name).exists():
        return Mined("new", route)
    if found is None and not store.path_of(route.name).exists():
        raise StoreUnavailable(store.path_of(route.name), "could not be written", "see the message above")
    same = found is not None and found.fingerprint == route.fingerprint
    return Mined("new" if same else "edited", route)

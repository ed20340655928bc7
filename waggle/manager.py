"""The manager: the one object a framework holds. It knows the stores, the routes and the ledger; sessions share it.

What a call costs is spent on the call's thread and never waits; what is learned and used is written by one background
thread. Nothing here raises into the host once the manager exists.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import random
import threading
from collections import OrderedDict
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from waggle import locate
from waggle._fork import renew_in_children
from waggle.accounts import Accounts
from waggle.background import Background, Faults
from waggle.config import ManagerConfig
from waggle.errors import WaggleError
from waggle.extents import Extents
from waggle.ledger import Ledger, LedgerEntry, read_ledger, read_sources
from waggle.reach.counts import ReachCounts
from waggle.reach.learner import ReachLearner
from waggle.reach.replayer import ReachReplayer, ReachStudent
from waggle.reach.routes import counts_of, is_bound, route_of, target_key
from waggle.reach.table import COUNTS_FILE, ReachTable, merge_into, read_counts
from waggle.replayer import Replayer, RouteIndex
from waggle.routes import KnownRoutes, Scope, fires_from, named, route_from
from waggle.session import Session
from waggle.settling import Settled, Settling, Window
from waggle.speculation import Speculation
from waggle.store import Status, Store, project_store, user_store
from waggle.telemetry import Telemetry
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from typing import Self

    from waggle.calls import Call, Result
    from waggle.incremental import IncrementalMiner
    from waggle.miner import Candidate
    from waggle.replay import Fold, Lookup, ReplayStrategy
    from waggle.routes import Route
    from waggle.speculation import AsyncRun, Run

__all__ = ["Manager"]

_log = logging.getLogger("waggle")


class Manager:
    """Procedure memory for one project, shared by its conversations. Thread-safe.

    The manager is its own default session: `start`, `observe`, `hear`, `follow` and `afollow` are those of
    ``session("")``.

    Args:
        config: the knobs; defaults are `ManagerConfig()`.
        store: where routes are learned and read; None keeps them in memory.
        user: a second store, read only, for habits of every project.
        tools: what is known of the host's tools.
        strategies: for each, a function that makes one strategy object for a session, given its name. Left out, stored
            routes are the only strategy; given, they come first unless `config.replay` is off.
        routes: further routes to replay, which are in no store.
        counts: what was counted before, where there is no store to read it from.
        root: the project's directory as the agent spells it, for paths stored relative to it.
        now: the clock, UTC.
    """

    def __init__(
        self,
        config: ManagerConfig | None = None,
        *,
        store: Store | None = None,
        user: Store | None = None,
        tools: ToolTable | None = None,
        strategies: Sequence[Callable[[str], ReplayStrategy]] = (),
        routes: Iterable[Route] = (),
        counts: ReachCounts | None = None,
        root: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.config = config or ManagerConfig()
        self.tools = tools or ToolTable()
        self._store = store
        self._user = user
        self._root = root
        self._now = now
        self._strategies = tuple(strategies)
        self._extents = Extents(self.tools, root or "", containment=self.config.containment)
        self._faults = Faults()
        self._background = Background(self._faults)
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._scopes: dict[str, Scope] = {}
        self._accounts = Accounts(
            {each.scope: Ledger(each.ledger_path) for each in (store, user) if each}, self._scopes, self._background
        )
        self._telemetry = Telemetry(self._faults, self._background) if self.config.telemetry else None
        self._index = RouteIndex(
            self.tools,
            min_prefix=self.config.min_prefix,
            root=root,
            wildcards_count=self.config.rules == "original",
        )
        self._known = KnownRoutes()
        self._learned: list[Route] = []
        self._remember: Callable[[], None] | None = None  # puts the project among the user's known ones
        self._counts_path = store.ledger_path.with_name(COUNTS_FILE) if store else None
        self._reach = ReachTable(self.config.threshold, counts or self._read_counts())
        self._load()
        for route in routes:
            self._know(route, usable=True)
        renew_in_children(self)

    def renew(self) -> None:
        """See `waggle._fork.Renewable`."""
        self._lock = threading.Lock()

    @classmethod
    def for_project(
        cls,
        path: Path | str = ".",
        *,
        config: ManagerConfig | None = None,
        tools: ToolTable | None = None,
        strategies: Sequence[Callable[[str], ReplayStrategy]] = (),
        location: Literal["tree", "home"] | None = None,
    ) -> Manager:
        """Open the memory of the project that `path` lies in: its stores, its ledger, its routes.

        What is not given is taken from the settings, if there are any: the user's file, the project's, the environment.

        Works without a home directory and on a read-only disk: what can be read is used, what cannot be written is
        reported once.

        Raises:
            StoreUnavailable: `path` does not exist.
            SettingsError: a setting is wrong; several are an ``ExceptionGroup`` of them.
        """
        project = locate.find_project(path)
        if locate.is_configured(project.root):
            from waggle.settings import load_settings  # noqa: PLC0415 - pydantic, where nothing is set, is not needed

            settings = load_settings(project.root).settings
            config, tools = config or settings.manager_config(), tools or settings.tool_table()
            location = location or settings.location
        tools = tools or ToolTable()
        user: Store | None = None
        try:
            user = user_store(tools=tools)
            store = project_store(project, location=location or "tree", tools=tools)
        except WaggleError as error:
            _log.warning("%s (this project's own memory is used all the same)", error)
            store = project_store(project, tools=tools)
        spelled = os.path.abspath(path)  # noqa: PTH100 - as the agent spells it: links must stay
        root = spelled if os.path.realpath(spelled) == str(project.root) else str(project.root)
        manager = cls(config, store=store, user=user, tools=tools, strategies=strategies, root=root)
        if user:
            manager._remember = functools.partial(locate.remember_project, user.directory.parent, project.main_root)
        return manager

    # --- conversations ---

    def session(
        self, name: str = "", *, directory: str | None = None, strategies: Sequence[ReplayStrategy] = ()
    ) -> Session:
        """Return the conversation of this name; a new one has its own ring, window and caps.

        Args:
            name: the host's id of the conversation.
            directory: for a new one, where its relative paths count from, as the agent spells it; None for the
                manager's `root`.
            strategies: for a new one, strategies of its own, asked after the manager's.
        """
        with self._lock:
            session = self._sessions.get(name)
            if session is None:
                session = self._sessions[name] = self._open(name, directory, strategies)
                closed = self._sessions.popitem(last=False)[1] if len(self._sessions) > self.config.sessions else None
            else:
                self._sessions.move_to_end(name)
                return session
        if closed:
            closed.close()
        return session

    def _open(self, name: str, directory: str | None, own: Sequence[ReplayStrategy]) -> Session:
        config = self.config
        extents = (
            self._extents if directory is None else Extents(self.tools, directory, containment=self.config.containment)
        )
        student = ReachStudent(ReachLearner(extents)) if config.reach and config.learn else None
        return Session(
            name,
            config=config,
            tools=self.tools,
            speculation=self._speculation(name, extents, student, own) if config.replay else None,
            faults=self._faults,
            on_sweep=self._sweep if config.learn else None,
            student=student,
            on_study=self._study,
        )

    def _speculation(
        self, name: str, extents: Extents, student: ReachStudent | None, own: Sequence[ReplayStrategy]
    ) -> Speculation:
        strategies: list[ReplayStrategy] = [Replayer(self._index)]
        reach = ReachReplayer(self._reach, extents, student) if self.config.reach else None
        if reach:
            strategies.append(reach)
        for make in self._strategies:
            try:
                strategies.append(make(name))
            except Exception as error:  # noqa: BLE001 - a strategy may be anybody's code
                self._faults.note("strategy could not be made", error)
        strategies += own
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        chosen = random.Random(f"{self.config.seed} {name}")  # noqa: S311 - a sample, not a secret; seeded to be repeated

        def on_settled(settled: Sequence[Settled], windows: Sequence[Window]) -> None:
            for each in settled:
                if reach and each.lookup.strategy == reach.name and not each.held:
                    reach.settled(each.lookup, used=each.used)
            self._accounts.settled(settled, windows, digest, self._now())
            if self._telemetry:
                self._telemetry.settled(settled)

        def on_fold(made: Sequence[Lookup], folded: Fold | None, seconds: float) -> None:
            self._accounts.uses(made, self._now())
            if self._telemetry:
                self._telemetry.folded(made, folded, seconds)

        return Speculation(
            strategies,
            config=self.config,
            extents=extents,
            faults=self._faults,
            on_fold=on_fold,
            settling=Settling(extents, self._reach.turns_left, on_settled),
            held_back=lambda: chosen.random() < self.config.control_share,
        )

    def end(self, name: str = "") -> None:
        """Close a conversation and forget it."""
        with self._lock:
            session = self._sessions.pop(name, None)
        if session:
            session.close()

    def start(self, call: Call) -> None:
        """See `Session.start`."""
        self.session().start(call)

    def observe(self, call: Call, result: Result | str = "") -> None:
        """See `Session.observe`."""
        self.session().observe(call, result)

    def hear(self, text: str, role: str = "user") -> None:
        """See `Session.hear`."""
        self.session().hear(text, role)

    def follow(self, run: Run) -> Fold | None:
        """See `Session.follow`."""
        return self.session().follow(run)

    async def afollow(self, run: AsyncRun) -> Fold | None:
        """See `Session.afollow`."""
        return await self.session().afollow(run)

    # --- what is known ---

    def routes(self) -> int:
        """How many stored routes can fire."""
        return len(self._index) + len(self._reach)

    def may_follow(self, tool: str) -> bool:
        """Whether a stored route can have a lookup right after a call of this tool; where not, none has."""
        spec = self.tools.spec(tool)
        shows_anything = spec.command != "" and len(self._reach) > 0  # what a shell command shows, only it says
        return shows_anything or tool in self._index.after or self._reach.follows(tool, spec.kind)

    def switched_off(self) -> dict[str, datetime]:
        """What curation has switched off and is no skill, such as the sites of a flow, and when; from the ledger.

        A skill that is switched off is not followed; of everything else its strategy takes care.
        """
        if self._store is None:
            return {}
        try:
            stats, sources = read_ledger(self._store.ledger_path), read_sources(self._store.ledger_path)
        except OSError as error:
            self._faults.note(f"the ledger {self._store.ledger_path} cannot be read", error)
            return {}
        return {name: at for name in sources if (stat := stats[name]).is_off and (at := stat.last_demoted)}

    def learned(self) -> list[Route]:
        """Routes learned by this manager, in order; a reach route with what is counted of it by now."""
        with self._lock:
            learned = list(self._learned)
        return [self._refreshed(route) for route in learned]

    def _refreshed(self, route: Route) -> Route:
        if route.after is None:
            return route
        target, site = target_key(route.after), route.after.site
        now = route_of(target, site, self._reach, self.tools, scope=route.scope, at=route.learned_at)
        return replace(now, disabled=route.disabled)

    def counts(self) -> ReachCounts:
        """What has been counted of reads after calls; shared, not to be changed."""
        return self._reach.counts

    def faults(self) -> dict[str, int]:
        """What went wrong so far, by kind; empty when all is well."""
        return self._faults.counts()

    def note_fault(self, kind: str, error: Exception) -> None:
        """Count what went wrong in an adapter, so that `faults` shows it; the first of its kind is logged."""
        self._faults.note(kind, error)

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until everything learned and used is on disk; False when the time ran out."""
        return self._background.flush(timeout_s)

    def close(self, timeout_s: float | None = 10.0) -> bool:
        """Close every conversation and flush; False when the time ran out."""
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close()
        return self.flush(timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- learning and bookkeeping ---

    def _load(self) -> None:
        """Read the stores: the project's routes come before the user's."""
        for store in (self._store, self._user):
            if store is None:
                continue
            try:
                listing = store.contents()
            except OSError as error:
                self._faults.note(f"routes cannot be read from {store.directory}", error)
                continue
            for problem in listing.invalid:
                self._faults.note(f"not used: {problem}")
            for route in listing.routes:
                self._know(route, usable=not route.disabled)

    def _know(self, route: Route, *, usable: bool) -> None:
        self._known.add(route)
        self._scopes.setdefault(route.name, route.scope)
        if not usable:
            return
        if route.after:
            try:
                self._reach.allow(route.after.site, target_key(route.after), route.name, counts_of(route.after))
            except ValueError as error:
                self._faults.note(f"not used: {route.name}", error)
        else:
            self._index.add(route)

    def _sweep(self, miner: IncrementalMiner) -> None:
        """Promote what is new among the mined; called by sessions on the call's thread."""
        if self.config.rules == "original":
            self._sweep_as_the_original(miner)
            return
        for candidate in miner.fresh():
            opens_wild = bool(candidate.params) and candidate.params[0].step == 0
            if opens_wild or fires_from(len(candidate.steps), candidate.params, self.config.min_prefix) is None:
                continue  # before a route is built: most candidates end here
            route = self._route(candidate)
            with self._lock:
                if route.fires_from(self.config.min_prefix) is None or self._known.has(route):
                    continue
                route = named(route)
                self._know(route, usable=True)
            self._promote(route)

    def _sweep_as_the_original(self, miner: IncrementalMiner) -> None:
        """Promote the best candidate that the store can hold, or nothing when it holds it already."""
        for candidate in miner.ranked():
            route = named(self._route(candidate))
            if self._store and not self._store.can_hold(route):
                continue
            name = self._store.name_for(route) if self._store else route.name
            with self._lock:
                if name in self._scopes:
                    return
                self._scopes[name] = route.scope
            self._promote(route)
            return

    def _route(self, candidate: Candidate) -> Route:
        scope = self._store.scope if self._store else Scope.PROJECT
        return route_from(candidate, root=self._root, scope=scope, at=self._now())

    # --- reach ---

    def _read_counts(self) -> ReachCounts:
        if self._counts_path is None or not self.config.reach:
            return ReachCounts()
        try:
            return read_counts(self._counts_path)
        except (WaggleError, OSError) as error:
            self._faults.note(f"counts cannot be read: {error}")
            return ReachCounts()

    def _study(self, student: ReachStudent, is_end: bool) -> None:  # noqa: FBT001 - passed on by `Session`
        """Count a session's latest calls, and what they add at its end; called by sessions, done in the background."""
        work = functools.partial(self._learn_reach, student) if is_end else student.study
        self._background.submit("a session could not be counted", work)

    def _learn_reach(self, student: ReachStudent) -> None:
        counts = student.close()
        for target, site in self._reach.add(counts):
            self._promote_reach(target, site, self._reach.counts if self.config.across_sessions else counts)
        if self._counts_path:
            merge_into(self._counts_path, counts)

    def _promote_reach(self, target: str, site: str, counts: ReachCounts) -> None:
        """Make a route of a habit that is seen often enough and would pay at some site of this kind.

        What is fixed in one session may belong to its task; runs of equal calls are found by the miner. So only a habit
        all of whose values are bound may come from a single session.
        """
        often = counts.total(target, site) >= self.config.mine.k and is_bound(target)
        if not often and counts.sessions[target, site] < self.config.min_sessions:
            return
        if not self._reach.would_pay(target, site):
            return
        scope = self._store.scope if self._store else Scope.PROJECT
        route = route_of(target, site, self._reach, self.tools, scope=scope, at=self._now())
        with self._lock:
            if self._known.has(route):
                return
            self._know(route, usable=True)
        self._promote(route)

    def _promote(self, route: Route) -> None:
        with self._lock:
            self._learned.append(route)
        if self._store is None:
            return
        store, ledger = self._store, Ledger(self._store.ledger_path)

        def write() -> None:
            promotion = store.promote(route)
            remember, self._remember = self._remember, None
            if remember:  # what this project holds can be promoted to the user's store from now on
                remember()
            if promotion.status is Status.CREATED:
                ledger.append(LedgerEntry(promotion.name, len(route.steps), event="promoted", at=route.learned_at))

        self._background.submit(f"a route could not be written to {store.directory}", write)

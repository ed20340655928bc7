"""waggle: procedure memory that lives inside an agent.

A framework calls `Manager.observe` on every tool call and `Manager.follow` before it hands a result on. The names below
are the public ones; each is imported when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from waggle._lazy import lazy

TYPE_CHECKING = False  # as in `typing`, which costs a hook's process a third of its time
if TYPE_CHECKING:
    from waggle.calls import Call, Effect, Outcome, Result, Step
    from waggle.compaction import compact_ledger
    from waggle.config import ManagerConfig
    from waggle.curation import CurateResult, curate, demote, gc, promote, prune_stale
    from waggle.errors import WaggleError
    from waggle.incremental import IncrementalMiner
    from waggle.ledger import Ledger, LedgerEntry, Stat, read_ledger
    from waggle.manager import Manager
    from waggle.miner import Candidate, MineConfig, Param, mine, mine_sessions
    from waggle.recorder import Recorder
    from waggle.replay import Fold, Lookup, ReplayStrategy
    from waggle.replayer import Replayer
    from waggle.routes import Route, Scope
    from waggle.session import Session
    from waggle.singlefile import render
    from waggle.store import Meta, Store, load_routes, project_store, user_store
    from waggle.tools import ToolSpec, ToolTable

__version__ = "0.1.0"

_HOMES = {
    "calls": ("Call", "Effect", "Outcome", "Result", "Step"),
    "config": ("ManagerConfig",),
    "curation": ("CurateResult", "curate", "demote", "gc", "promote", "prune_stale"),
    "errors": ("WaggleError",),
    "incremental": ("IncrementalMiner",),
    "compaction": ("compact_ledger",),
    "ledger": ("Ledger", "LedgerEntry", "Stat", "read_ledger"),
    "manager": ("Manager",),
    "miner": ("Candidate", "MineConfig", "Param", "mine", "mine_sessions"),
    "recorder": ("Recorder",),
    "replay": ("Fold", "Lookup", "ReplayStrategy"),
    "replayer": ("Replayer",),
    "routes": ("Route", "Scope"),
    "session": ("Session",),
    "singlefile": ("render",),
    "store": ("Meta", "Store", "load_routes", "project_store", "user_store"),
    "tools": ("ToolSpec", "ToolTable"),
}
__all__ = [
    "Call",
    "Candidate",
    "CurateResult",
    "Effect",
    "Fold",
    "IncrementalMiner",
    "Ledger",
    "LedgerEntry",
    "Lookup",
    "Manager",
    "ManagerConfig",
    "Meta",
    "MineConfig",
    "Outcome",
    "Param",
    "Recorder",
    "ReplayStrategy",
    "Replayer",
    "Result",
    "Route",
    "Scope",
    "Session",
    "Stat",
    "Step",
    "Store",
    "ToolSpec",
    "ToolTable",
    "WaggleError",
    "compact_ledger",
    "curate",
    "demote",
    "gc",
    "load_routes",
    "mine",
    "mine_sessions",
    "project_store",
    "promote",
    "prune_stale",
    "read_ledger",
    "render",
    "user_store",
]


__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

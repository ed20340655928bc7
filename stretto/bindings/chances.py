"""The chance that a lookup's bound arguments are those the agent itself would have passed.

Every chance is a share counted on the agent's own calls, drawn towards a prior worth two calls. Not responsible for
counting (`stretto.bindings.scoring`) nor for finding the arguments (`stretto.bindings.binder`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.bindings.model import Pick

if TYPE_CHECKING:
    from collections.abc import Collection

    from stretto.bindings.model import Agreed, Bindings

__all__ = ["bare_chance", "chance", "pooled_chance", "share"]

#: A chance about which nothing was counted.
_EVEN: Final = 0.5

#: Calls the prior is worth (Laplace's rule of succession, for an even prior).
_PRIOR_CALLS: Final = 2

_UNCOUNTED: Final[Agreed] = ((0, 0), (0, 0))


def share(hits: int, tries: int, prior: float = _EVEN) -> float:
    """A counted share drawn towards a prior: ``(hits + 2 * prior) / (tries + 2)``; the prior itself without tries.

    Args:
        hits: 0 to `tries`.
        tries: 0 or more.
        prior: 0 to 1.
    """
    return (hits + _PRIOR_CALLS * prior) / (tries + _PRIOR_CALLS)


def chance(bindings: Bindings, tool: str, pick: Pick, kinds: Collection[str] = ()) -> float:
    """Chance that a call of `tool` with at least one bound argument is the agent's own, 0 to 1.

    A pick beside the record the user named, or after the one they described, has a share of its own where such picks
    were counted, drawn towards the chance of a pick that says nothing.

    Args:
        bindings: the counts; a tool nothing was counted for has 1/2.
        tool: the lookup.
        pick: what the pick says about the user.
        kinds: of the arguments' origins (`Argument.kind`). Calls with a ``derived``, a ``spoken`` or a ``record``
            argument are counted apart from the others; with several, the smallest of their chances holds.
    """
    return min(_chance(bindings, tool, pick, agreed) for agreed in _counted(bindings, tool, kinds))


def _counted(bindings: Bindings, tool: str, kinds: Collection[str]) -> list[Agreed]:
    """The counts that speak of arguments of these kinds, at least one."""
    apart = {
        "derived": bindings.agreed_derived,
        "spoken": bindings.agreed_spoken,
        "record": bindings.agreed_record,
    }
    tables = [table for kind, table in apart.items() if kind in kinds] or [bindings.agreed]
    return [table.get(tool, _UNCOUNTED) for table in tables]


def _chance(bindings: Bindings, tool: str, pick: Pick, agreed: Agreed) -> float:
    not_mentioned, mentioned = agreed
    if pick is Pick.PICKED:
        return share(*mentioned)
    unsaid = share(*not_mentioned)
    counted = None
    if pick is Pick.OTHER:
        counted = bindings.named_other.get(tool)
    elif pick is Pick.DESCRIBED:
        counted = bindings.described_read.get(tool)
    return share(*counted, unsaid) if counted else unsaid


def bare_chance(bindings: Bindings, tool: str) -> float:
    """Chance that the agent calls a tool without required arguments with none at all, 0 to 1.

    1 for a tool that was never called otherwise, since only tools that were have such a count.
    """
    bare = bindings.bare.get(tool)
    return 1.0 if bare is None else share(bare, bindings.args[tool][0])


def pooled_chance(bindings: Bindings, tool: str, kinds: Collection[str] = ()) -> float:
    """Chance over all picks together, mentioned or not, 0 to 1: what can be said before there is a session.

    Args:
        bindings: the counts.
        tool: the lookup.
        kinds: as `chance` takes them.
    """
    return min(share(no[0] + yes[0], no[1] + yes[1]) for no, yes in _counted(bindings, tool, kinds))

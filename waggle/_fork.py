"""What must be new in a forked child: a lock that another thread held at that moment would stay locked for ever.

The child has the thread that forked and no other. Whoever holds locks registers here; in the child it is told to make
new ones before anything else runs. Costs a weak reference each.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["Renewable", "renew_in_children"]


class Renewable(Protocol):
    """Something with locks."""

    def renew(self) -> None:
        """Make new locks, and let go of what belongs to the parent."""
        ...


_registered: WeakSet[Renewable] = WeakSet()


def renew_in_children(thing: Renewable) -> None:
    """Call ``thing.renew()`` in every child that is forked while it lives."""
    _registered.add(thing)


def _renew_all() -> None:
    for thing in list(_registered):
        thing.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)

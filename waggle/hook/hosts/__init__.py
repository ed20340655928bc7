"""The hosts whose hooks are understood: `host` holds what all have in common, every other module is one host's.

A host is loaded when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from waggle.hook.hosts.host import Host

__all__ = ["NAMES", "host_named"]

#: By the name that `waggle-hook` is given; each has a module here.
NAMES: Final = ("claude-code", "codex", "gemini-cli", "cursor")


def host_named(name: str) -> Host:
    """The host of a name.

    Raises:
        ValueError: there is none.
    """
    if name not in NAMES:
        raise ValueError(f"{name!r} is none of {', '.join(NAMES)}")
    host: Host = import_module(f"{__name__}.{name.replace('-', '_')}").HOST
    return host

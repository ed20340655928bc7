"""A host's file tools, made in its place: which of its calls may be made, and by what of `Reads`.

Not responsible for what may be read, nor for reading it (`waggle.hook.reads`).
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from waggle.calls import Result
from waggle.hook.reads import Reads
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from waggle.hook.hosts.host import Host
    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.tools import ToolSpec

__all__ = ["HookTools", "Lookups"]


class Lookups:
    """The lookups for the agents of one host in one project.

    Args:
        host: whose tools they are.
        root: the project's directory.
    """

    def __init__(self, host: Host, root: Path) -> None:
        self._host = host
        self._reads = Reads(root, host.denied(root), host.form)

    def allows(self, tool: str, args: Mapping[str, JsonValue], cwd: str) -> bool:
        """Whether a call may be made; see `Reads.allows`."""
        made = self._made(tool, args)
        return made is not None and self._reads.allows(*made, cwd)

    def run(self, tool: str, args: dict[str, Any], cwd: str) -> Result:
        """Make a lookup; see `Reads.run`."""
        made = self._made(tool, args)
        return self._reads.run(*made, cwd) if made else Result("not a lookup of this host", ok=False)

    def _made(self, tool: str, args: Mapping[str, JsonValue]) -> tuple[str, JsonObject] | None:
        lookup = self._host.lookups.get(tool)
        inner = lookup.args(args) if lookup else None
        return None if lookup is None or inner is None else (lookup.tool, inner)


class HookTools(ToolTable):
    """What is known of the tools of all hosts; of reads, those alone may be repeated that the hook can make itself.

    Args:
        table: what else is known, the user's word among it.
        specs: what the hosts' own tools are, where their names mean something else elsewhere.
    """

    def __init__(self, table: ToolTable, specs: Iterable[ToolSpec] = ()) -> None:
        super().__init__()
        self.__dict__.update(table.__dict__)
        self._known = {**self._known, **{spec.name: spec for spec in specs}}
        self._now = threading.local()

    @contextmanager
    def following(self, lookups: Lookups, cwd: str) -> Iterator[None]:
        """What this thread may repeat meanwhile: the lookups of one host, for an agent in this directory."""
        self._now.lookups, self._now.cwd = lookups, cwd
        try:
            yield
        finally:
            self._now.lookups = None

    def may_repeat(self, tool: str, args: Mapping[str, JsonValue]) -> bool:
        """See `ToolTable.may_repeat`; nothing more where no call is followed."""
        lookups: Lookups | None = getattr(self._now, "lookups", None)
        return super().may_repeat(tool, args) and (lookups is None or lookups.allows(tool, args, self._now.cwd))

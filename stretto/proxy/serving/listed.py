"""What a server lists now, as the host asks for it: page after page, and anew after every change.

Not responsible for reading a page (`stretto.sessions.listing`) nor for comparing it with a flow (`stretto.permits`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.sessions.listing import Listings

if TYPE_CHECKING:
    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonObject

__all__ = ["ListedTools"]


class ListedTools:
    """The tools of one server.

    Args:
        learned: the flow's manifest. It stands for the pages that the host has not asked for yet.

    Attributes:
        known: the tools as they are known now; see `page`.
        stale: the server has said that its tools changed, and they have not all been listed since.
        tasks: the tools that can be called as tasks only.
    """

    def __init__(self, learned: Manifest) -> None:
        self.known = learned
        self._pages = Listings(learned.domain)
        self._walking = False  # since the last change, a first page was there
        self.stale = False
        self.tasks: set[str] = set()

    def changed(self) -> None:
        """Know that the tools have changed."""
        self.stale = True
        self._walking = False

    def page(self, result: JsonObject, *, first: bool) -> Manifest:
        """Take in one page.

        Args:
            result: of ``tools/list``.
            first: it is the first page, so another walk begins.

        Returns:
            The tools as they are known now. While pages are missing, a tool that was not named is as it was before:
            as the last whole listing has it, or as the flow learned it. After the last page it is gone.
        """
        if first:
            self._pages = Listings(self.known.domain)
            self._walking = True
        self._pages.add(result)
        self._note_tasks(result)
        pages = self._pages.manifest
        if not self._walking:
            return self.known
        if result.get("nextCursor") is not None:
            return self.known.updated(pages)
        self._walking = self.stale = False
        self.known = pages
        return pages

    def _note_tasks(self, result: JsonObject) -> None:
        tools = result.get("tools")
        for tool in tools if isinstance(tools, list) else ():
            name = tool.get("name") if isinstance(tool, dict) else None
            if not isinstance(tool, dict) or not isinstance(name, str):
                continue
            execution = tool.get("execution")
            if isinstance(execution, dict) and execution.get("taskSupport") == "required":
                self.tasks.add(name)
            else:
                self.tasks.discard(name)

r"""The conversation that a host hands over in a file: what was said since the last look.

One JSON object a line, ``{"role": "user", "content": "and order W2?"}``, appended by the host. Read from its start,
whole lines only: one without its line feed is still being written. Not responsible for what is done with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from waggle import files, jsonvalue
from waggle.errors import WaggleError

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.background import Faults

__all__ = ["Conversation", "Said"]

_LONGEST_LINE: Final = 4 * 2**20  # bytes; nobody says more at once


class Said(NamedTuple):
    """One message of the conversation: whose it is, mostly ``user`` or ``assistant``, and its text."""

    role: str
    text: str


class Conversation:
    """Follows one file. Not thread-safe.

    Args:
        path: the file; it need not be there yet.
        faults: takes what cannot be read, once a kind. It is never raised: what was not said is not known.
    """

    def __init__(self, path: Path, faults: Faults) -> None:
        self._path = path
        self._faults = faults
        self._seen: tuple[int, int] | None = None  # size and time of the file that was read last
        self._lines = 0  # read so far

    def news(self) -> list[Said]:
        """What was said since the last time, in order.

        Costs a look at the file's size while nothing was added, and reads the file when something was.
        """
        try:
            state = self._path.stat()
            now = (state.st_size, state.st_mtime_ns)
            if now == self._seen:
                return []
            lines = self._whole_lines()
        except FileNotFoundError:
            return []
        except (OSError, WaggleError) as error:
            self._faults.note(f"the conversation {self._path} cannot be read", error)
            return []
        self._seen = now
        new, self._lines = lines[self._lines :], max(self._lines, len(lines))
        return [said for line in new if (said := self._said(line))]

    def _whole_lines(self) -> list[bytes]:
        lines: list[bytes] = []
        for block in files.read_blocks(self._path, longest=_LONGEST_LINE):
            if block.ended:
                lines += block.lines
        return lines

    def _said(self, line: bytes) -> Said | None:
        if not line.strip():
            return None
        try:
            value = jsonvalue.loads(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            role, text = value.get("role"), value.get("content")
            if isinstance(role, str) and isinstance(text, str):
                return Said(role, text)
        self._faults.note(f"the conversation {self._path} has a line that is no role and content")
        return None

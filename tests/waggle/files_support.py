"""What the tests of files share."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LINE = b'{"name": "a"}'


NOW = datetime(2026, 6, 1, tzinfo=UTC)


class FaultyDisk:
    """Stands in for the system's writes: does what it is told at the n-th, and works before and after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._write = os.write
        self._monkeypatch = monkeypatch

    def fail(self, error: BaseException, *, at: int = 1, after: int = 0) -> None:
        """Raise at the n-th write, after this many of its bytes have reached the file."""
        calls = 0

        def write(descriptor: int, data: memoryview) -> int:
            nonlocal calls
            calls += 1
            if calls < at:
                return self._write(descriptor, data)
            if calls == at and after:
                return self._write(descriptor, data[:after])
            raise error

        self._monkeypatch.setattr(os, "write", write)

    def short(self, most: int) -> None:
        """Take at most so many bytes at a time."""
        self._monkeypatch.setattr(os, "write", lambda descriptor, data: self._write(descriptor, data[:most]))


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if not path.name.endswith(".lock")}

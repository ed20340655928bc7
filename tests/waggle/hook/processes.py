"""The hook's processes, as a host and a person start them."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

from waggle.errors import StoreLocked
from waggle.files import lock
from waggle.hook import client

if TYPE_CHECKING:
    from pathlib import Path

HOOK = [sys.executable, "-m", "waggle.hook.client"]
WAGGLE = [sys.executable, "-c", "import sys; from waggle.cli import main; sys.exit(main())"]


def stop_keepers(place: Path) -> None:
    """Stop the keeper, and one that was only starting: until for a while nobody has held the lock."""
    deadline, free_since = time.monotonic() + 30, time.monotonic()
    while place.is_dir() and time.monotonic() < min(deadline, free_since + 1.5):
        run([*HOOK, "stop"])
        try:
            with lock(place / client.NAME, timeout_s=0):
                time.sleep(0.05)
        except StoreLocked:
            free_since = time.monotonic()


def run(command: list[str], event: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a process to its end."""
    return subprocess.run(command, input=event, capture_output=True, timeout=60, check=False)


def hook(event: bytes) -> bytes:
    """Run the hook as its host does; it must end well and say nothing on standard error."""
    done = run([*HOOK, "claude-code"], event)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def until(there: Path, seconds: float = 30) -> None:
    """Wait for a file."""
    deadline = time.monotonic() + seconds
    while not there.exists():
        assert time.monotonic() < deadline, there
        time.sleep(0.02)


def keeper_is_up(home: Path) -> None:
    """Wait until the keeper of a ``WAGGLE_HOME`` can be reached."""
    until(home / "hook" / f"{client.NAME}.sock")

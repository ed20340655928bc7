"""What the runners of tests that need something of their own have in common: a command, and a line of what came of it.

Nothing but the standard library: the environments are made from here.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).resolve().parent.parent


class NotInstalledError(Exception):
    """What is to be tested cannot be installed; what was said."""


def environment(**variables: str) -> dict[str, str]:
    """The environment of what runs on this checkout, without a trace beside its sources."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **variables}


def ran(command: list[str], seconds: float, **variables: str) -> tuple[bool, str]:
    """Whether a command succeeded within its time, and all that it printed."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"took longer than {seconds:.0f} s"
    return done.returncode == 0, done.stdout


def install(command: list[str], seconds: float, **variables: str) -> None:
    """Run a command that installs something.

    Raises:
        NotInstalledError: it did not succeed.
    """
    ok, said = ran(command, seconds, **variables)
    if not ok:
        raise NotInstalledError(said)


def tried(name: str, prepare: Callable[[], str], test: Callable[[], tuple[bool, str]]) -> bool:
    """Install and test one thing, and print a line of what came of it; False only if its tests failed.

    Args:
        name: of it.
        prepare: installs it, and gives its version.
        test: runs its tests, and gives whether they passed and what they printed.
    """
    begun = time.monotonic()
    try:
        version = prepare()
    except (NotInstalledError, OSError, subprocess.SubprocessError) as error:
        print(f"{name}: cannot be installed: {_end(str(error))}", flush=True)
        return True
    installed = time.monotonic()
    ok, said = test()
    took = f"{installed - begun:.0f} s to install, {time.monotonic() - installed:.0f} s to test"
    print(f"{name} {version}: {'passed' if ok else 'failed'} ({_summed(said)}; {took})", flush=True)
    if not ok:
        print(said, flush=True)
    return ok


def _summed(said: str) -> str:
    """The line in which pytest counts, which warnings may follow."""
    counts = [line for line in said.splitlines() if re.search(r"\d (passed|failed|error)", line)]
    return _end(counts[-1] if counts else said)


def _end(said: str) -> str:
    """The last line that says something, without its decoration."""
    lines = [line.strip("= ") for line in said.splitlines() if line.strip("= ")]
    return lines[-1][-200:] if lines else "nothing was said"

"""Programs that only read, run on an agent's behalf: without input, within a time and a size.

Not responsible for whether a program may be run.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["find_ripgrep", "run"]

#: Seconds of one program.
_SECONDS: Final = 1.5

#: Variables that would have a program run others, or find other files.
_UNSET: Final = ("ENV", "BASH_ENV", "CDPATH", "GREP_OPTIONS")


def find_ripgrep(root: Path) -> str | None:
    """The ``rg`` that was installed with waggle, else the one on the PATH; None when there is none.

    Args:
        root: the project's real directory: one that the project itself brings is not run unasked.
    """
    found = shutil.which("rg", path=Path(sys.executable).parent) or shutil.which("rg")
    if found is None or not os.path.isabs(found):  # noqa: PTH117 - a text of the environment
        return None
    return None if root in Path(os.path.realpath(found)).parents else found


def run(command: str | list[str], cwd: str, *, bound: int) -> tuple[int, bytes]:
    """Run what is known to read, without input, within its time; its exit code, and what it printed, errors included.

    Args:
        command: of a shell, or a program with its arguments.
        cwd: where it runs.
        bound: bytes that are read at most, and one more.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _UNSET}
    process = subprocess.Popen(  # noqa: S603 - judged to read only, word by word
        command,
        shell=isinstance(command, str),
        cwd=cwd,
        env={**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat", "PAGER": "cat"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 - a pipe; this tells the type checker
    timer = threading.Timer(_SECONDS, _kill, (process.pid,))
    timer.start()
    try:
        output = process.stdout.read(bound + 1)
    finally:
        timer.cancel()
        if process.poll() is None and len(output) > bound:
            _kill(process.pid)
        process.stdout.close()
        process.wait()
    return process.returncode, output


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)

"""A scorer that runs a command for each setting: a benchmark, a test bench, whatever can serve a flow.

The command is given as a list and no shell sees it. Its arguments are followed by ``--flow FILE --flow-decider NAME
--out DIR``; on its standard output it prints one line, ``CHECK`` and a JSON object with the counts of
`stretto.review.search.Check`. The last such line counts. What else it prints is data and is not acted on.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from stretto._defaults import SEARCH_TIMEOUT_S
from stretto.errors import StrettoError, UsageError
from stretto.flow.file import write_flow
from stretto.review.search import Check
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stretto.flow.model import Flow
    from stretto.review.search import Setting

__all__ = ["CommandFailed", "CommandScorer", "check_from_output"]

_MARK: Final = b"CHECK "
_SHOWN: Final = 400  # characters of a command's complaint that are repeated
_GRACE_S: Final = 5.0  # seconds that a killed command's pipes are waited for


class CommandFailed(StrettoError, RuntimeError):
    """A command that should score a setting did not.

    Attributes:
        command: its first word.
        problem: what went wrong.
    """

    def __init__(self, command: str, problem: str) -> None:
        super().__init__(command, problem)
        self.command = command
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.command}: {self.problem}"


class CommandScorer:
    """Scores settings by a command.

    Args:
        command: program and arguments, at least the program.
        flow: what was learned.
        directory: where each setting gets a directory of its own, ``0000``, ``0001``, …, with the flow in it and what
            the command leaves; made when missing.
        timeout_s: seconds after which a command is ended, and where the system has process groups all that it started.

    Raises:
        UsageError: the command is empty.
    """

    def __init__(
        self, command: Sequence[str], flow: Flow, directory: Path, *, timeout_s: float = SEARCH_TIMEOUT_S
    ) -> None:
        if not command:
            raise UsageError("give the command that scores a setting")
        self._command = tuple(command)
        self._flow = flow
        self._directory = directory
        self._timeout_s = timeout_s
        self._count = 0

    def __call__(self, setting: Setting) -> Check:
        """Score one setting.

        Raises:
            CommandFailed: the command cannot be started, fails, takes too long, or prints no counts.
            StoreError: the flow cannot be written.
        """
        place = self._directory / f"{self._count:04d}"
        self._count += 1
        flow = place / "candidate.flow.json"
        write_flow(flow, setting.applied(self._flow))
        arguments = (*self._command, "--flow", str(flow), "--flow-decider", setting.decider, "--out", str(place))
        try:
            return check_from_output(_output_of(arguments, self._timeout_s))
        except ValueError as error:
            raise CommandFailed(self._command[0], str(error)) from None


def _output_of(arguments: Sequence[str], timeout_s: float) -> bytes:
    """Run a command to its end and return what it printed; nothing it started is left running.

    Raises:
        ValueError: it cannot be started, fails or takes too long.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own command, as a list: no shell sees it
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise ValueError(f"cannot be started: {error.strerror or error}") from error
    with process:
        try:
            output, complaint = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            raise ValueError(f"took longer than {timeout_s:g} seconds") from None
        except BaseException:
            _end(process)
            raise
    if process.returncode:
        said = complaint.decode("utf-8", "replace").strip()[-_SHOWN:]
        raise ValueError(f"ended with {process.returncode}" + (f": {said}" if said else ""))
    return output


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=_GRACE_S)


def check_from_output(output: bytes) -> Check:
    """Read the counts from what a command printed.

    Raises:
        ValueError: there is no line with counts, or a count is missing or no number.
    """
    lines = [line[len(_MARK) :] for line in output.split(b"\n") if line.startswith(_MARK)]
    if not lines:
        raise ValueError("printed no line CHECK {…}")
    try:
        value = jsonvalue.loads(lines[-1])
    except ValueError as error:
        raise ValueError(f"what stands after CHECK is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("the counts after CHECK are no object")  # noqa: TRY004 - one kind of error for one kind of fault
    counts: dict[str, int] = {}
    for name in Check.__dataclass_fields__:
        count = value.get(name)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError(f"the count {name} after CHECK is missing or no number of things")
        counts[name] = count
    return Check(**counts)

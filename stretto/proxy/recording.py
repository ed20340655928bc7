"""Recording a session that is relayed, away from the forwarding path, and removing recordings that are old.

A line is queued as it came; one thread parses, masks and writes it. A crash loses what is queued at most. Whatever
fails is counted and told once on standard error; no line waits for it. The format is `stretto.sessions.log`'s, what is
left out of it is `stretto.sessions.log_writer`'s.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from stretto._defaults import RECORD_FLUSH_S, RECORD_QUEUE_BYTES
from stretto.sessions.log import Header, find_log, session_name
from stretto.sessions.log_writer import LogWriter
from waggle import files
from waggle.background import Background, Faults
from waggle.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stretto.proxy.context import Conversation
    from stretto.proxy.relay import Side
    from stretto.proxy.streams import Line
    from stretto.sessions.log import Sender

__all__ = ["Recording", "old_logs", "remove_old_logs"]

_FAULT: Final = "the session is not recorded as it is"
_TOO_SLOW: Final = "the disk is too slow to record everything"

_CALL: Final = b"tools/call"  #: before a line with it, what was said is looked up

#: Lines that are written at once: locking and opening the file takes as long as making one.
_TOGETHER: Final = 256
_LINE_BYTES: Final = 256  #: that a queued line takes besides its own

_DAY_S: Final = 24 * 60 * 60
_NO_LOGS: Final = (".flow.jsonl", ".confirm.jsonl")


class Recording:
    """A tap that writes the log of one session. Nothing is held, and nothing is raised.

    Args:
        directory: where logs are; made when missing.
        command: the server's; credentials in it are left out.
        started_unix_ms: when the session began, ms since the epoch.
        process_id: of the proxy; makes the session's name unique.
        number: of the session, where one proxy has several at once.
        domain: field of work, as the user named it.
        agent_model: the agent, as the user named it.
        host_session: what the proxies of one host have in common.
        server_name: tells this server's tools from those of others.
        retain_days: remove logs from the directory whose last line is older, in days; None keeps all.
        conversation: what is said beside the calls; it is recorded before the next call, and at the end.
        faults: where what goes wrong is counted.
        queue_bytes: of lines on their way; what comes beyond is left out.

    Attributes:
        session: its name, the stem of the file's.
        path: of the log.
    """

    def __init__(
        self,
        directory: Path,
        *,
        command: Sequence[str],
        started_unix_ms: int,
        process_id: int,
        number: int | None = None,
        domain: str | None = None,
        agent_model: str | None = None,
        host_session: str | None = None,
        server_name: str | None = None,
        retain_days: float | None = None,
        conversation: Conversation | None = None,
        faults: Faults | None = None,
        queue_bytes: int = RECORD_QUEUE_BYTES,
    ) -> None:
        self.session = session_name(started_unix_ms, process_id, number)
        self.path = directory / f"{self.session}.jsonl"
        self._header = Header(
            self.session, started_unix_ms, tuple(command), domain, agent_model, host_session, server_name
        )
        self._began = time.monotonic()
        self._faults = faults or Faults()
        self._background = Background(self._faults)
        self._conversation = conversation
        self._writer: LogWriter | None = None
        self._lock = threading.Lock()
        self._lines: list[tuple[int, Sender, bytes]] = []  # that nobody has begun to write
        self._queued = 0
        self._most = queue_bytes
        self._background.submit(_FAULT, self._open)
        if retain_days is not None:
            before = started_unix_ms / 1000 - retain_days * _DAY_S
            self._background.submit("old logs are not removed", lambda: remove_old_logs(directory, before))

    def from_host(self, line: Line) -> bool:
        """Record a line of the host; it passes."""
        self._take("client", line.raw)
        return False

    def from_server(self, line: Line) -> bool:
        """Record a line of the server; it passes."""
        self._take("server", line.raw)
        return False

    def sent(self, raw: bytes, to: Side) -> None:
        """Record a line of the proxy's own."""
        del to
        self._take("proxy", raw)

    def ended(self, reason: str) -> bool:
        """See `stretto.proxy.relay.Tap`; what taps answer now is recorded like all else."""
        del reason
        return False

    def close(self) -> None:
        """Wait until everything is written, `RECORD_FLUSH_S` at the most."""
        t_ms = self._elapsed_ms()
        self._background.submit(_FAULT, lambda: self._hear(t_ms))
        if not self._background.flush(RECORD_FLUSH_S):
            self._faults.note(_TOO_SLOW)

    def _elapsed_ms(self) -> int:
        return int((time.monotonic() - self._began) * 1000)

    def _take(self, sender: Sender, raw: bytes) -> None:
        t_ms = self._elapsed_ms()
        size = len(raw) + _LINE_BYTES
        with self._lock:
            if self._queued + size > self._most and self._queued:
                self._faults.note(_TOO_SLOW)
                return
            self._queued += size
            self._lines.append((t_ms, sender, raw))
            if len(self._lines) == 1:
                self._background.submit(_FAULT, self._write)

    def _write(self) -> None:
        """Write what has come by now; what was said stands before the call that follows it."""
        with self._lock:
            lines, self._lines = self._lines, []
        try:
            ready: list[tuple[int, Sender, bytes]] = []
            for line in lines:
                t_ms, sender, raw = line
                if self._conversation and sender == "client" and _CALL in raw:
                    if ready:
                        self._log().lines(ready)
                    ready = []
                    self._hear(t_ms)
                ready.append(line)
                if len(ready) == _TOGETHER:
                    self._log().lines(ready)
                    ready = []
            if ready:
                self._log().lines(ready)
        finally:
            with self._lock:
                self._queued -= sum(len(raw) + _LINE_BYTES for _, _, raw in lines)

    def _hear(self, t_ms: int) -> None:
        for role, text in self._conversation.news() if self._conversation else ():
            self._log().message(t_ms, "context", {"role": role, "content": text})

    def _open(self) -> None:
        self._writer = LogWriter(self.path, self._header)

    def _log(self) -> LogWriter:
        # A log that somebody removes is not begun again: without its header and its first lines it cannot be read.
        if self._writer is None or not self.path.exists():
            self._writer = None
            raise StoreUnavailable(self.path, "the log is not there (any more)", "the next session is recorded anew")
        return self._writer


def remove_old_logs(directory: Path, before_s: float) -> list[Path]:
    """Remove session logs that nobody has written to for long; see `old_logs`.

    Returns:
        Those that are gone, sorted.

    Raises:
        StoreUnavailable: one cannot be removed.
    """
    found = old_logs(directory, before_s)
    for path in found:
        files.remove(path)
        files.remove(path.with_name(f"{path.name}.lock"))
    return found


def old_logs(directory: Path, before_s: float) -> list[Path]:
    """Session logs in a directory that were last written to before a time; links and all else are passed over.

    A file counts when it is called ``<session>.jsonl`` and begins with that session's header.

    Args:
        directory: where to look, not below it; a missing one holds nothing.
        before_s: seconds since the epoch.

    Returns:
        The files, sorted.
    """
    return sorted(path for path in directory.glob("*.jsonl") if _is_old_log(path, before_s))


def _is_old_log(path: Path, before_s: float) -> bool:
    try:
        if path.name.endswith(_NO_LOGS) or path.is_symlink() or path.stat().st_mtime >= before_s:
            return False
        log = find_log(path)
    except (OSError, ValueError):  # gone, not ours to read, or no log
        return False
    return log is not None and log.header.session == path.stem

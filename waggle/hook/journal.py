"""A session on disk: the calls of one conversation, so that whoever answers next knows what was seen.

A file a conversation, a line a call, without secrets. What must stay true: a line is there whole or not at all, a file
that is not ours is left as it is, and none grows beyond its bound.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle import files, jsonvalue
from waggle._defaults import HOOK_JOURNAL_BYTES, HOOK_RESULT_CHARS
from waggle.calls import Call, Outcome, Result
from waggle.errors import StoreUnavailable
from waggle.redact import redact_text, redact_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from waggle.jsonvalue import JsonObject

__all__ = ["Journal", "Kept", "journals"]

_VERSION: Final = 1


class Kept(NamedTuple):
    """One call of a journal."""

    call: Call
    result: Result


class Journal:
    """The calls of one conversation. For one thread of one process at a time; see `waggle.hook.keeper` for the lock.

    Args:
        path: of the file.
        about: which conversation, what `journals` gives back.
    """

    def __init__(self, path: Path, about: JsonObject) -> None:
        self.path = path
        self._head = jsonvalue.dumps({"waggle_hook": _VERSION, **about})

    @classmethod
    def of(cls, directory: Path, root: str, conversation: str, cwd: str) -> Journal:
        """The journal of a conversation in a project; its file need not exist."""
        name = hashlib.blake2b(f"{root}\0{conversation}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        about: JsonObject = {"root": root, "conversation": redact_text(conversation), "cwd": redact_text(cwd)}
        return cls(directory / f"{name}.jsonl", about)

    def append(self, call: Call, result: Result) -> None:
        """Add a call, without secrets and with the beginning of a long result.

        Raises:
            StoreUnavailable: the disk is full, read-only or gone, or the file is not ours; it is as it was.
            StoreLocked: another process kept its lock for too long.
        """
        args, _ = jsonvalue.to_json(dict(call.args))
        outcome = result.outcome or Outcome.OK
        line: JsonObject = {
            "tool": call.tool,
            "args": redact_value(args),
            "id": redact_text(call.id) if call.id else None,
            "outcome": outcome.value,
            # Redacted first: the beginning of a secret would not be known for one.
            "text": redact_text(result.text[: 2 * HOOK_RESULT_CHARS])[:HOOK_RESULT_CHARS],
            "cut": result.cut or len(result.text) > HOOK_RESULT_CHARS,
        }
        head = self._first_line()
        if head is None:
            files.append_lines(self.path, (self._head, jsonvalue.dumps(line)))
            return
        if _about(head) is None:
            raise StoreUnavailable(self.path, "it is no journal of this version", "move it away")
        files.append_line(self.path, jsonvalue.dumps(line))
        if self.path.stat().st_size > HOOK_JOURNAL_BYTES:
            self._shorten()

    def _first_line(self) -> bytes | None:
        try:
            with self.path.open("rb") as file:
                return file.readline(_HEAD_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreUnavailable(self.path, error.strerror or str(error), "make it readable") from error

    def _shorten(self) -> None:
        """Keep the later half: what was seen long ago no lookup depends on."""
        lines = files.read_bytes(self.path, limit=2 * HOOK_JOURNAL_BYTES).split(b"\n")[1:]
        size, kept = 0, []
        for line in reversed(lines):
            size += len(line) + 1
            if size > HOOK_JOURNAL_BYTES // 2:
                break
            kept.append(line)
        files.replace(self.path, b"\n".join([self._head, *reversed(kept)]) + b"\n", private=True)

    def read(self) -> list[Kept]:
        """The calls, oldest first; a line that a crash cut short is passed over, and so is a file that is not ours."""
        try:
            data = files.read_bytes(self.path, limit=2 * HOOK_JOURNAL_BYTES)
        except (OSError, ValueError):
            return []
        head, *lines = data.split(b"\n")
        if _about(head) is None:
            return []
        return [kept for line in lines if line and (kept := _kept(line)) is not None]

    def remove(self) -> None:
        """Forget the conversation."""
        files.remove(self.path)


def journals(directory: Path, *, unused_s: float) -> Iterator[tuple[Journal, JsonObject]]:
    """The journals that nothing was added to for so many seconds, each with what its first line says."""
    for path in sorted(directory.glob("*.jsonl")):
        try:
            if time.time() - path.stat().st_mtime < unused_s:
                continue
            with path.open("rb") as file:
                about = _about(file.readline(_HEAD_BYTES))
        except OSError:
            continue
        if about is not None:
            yield Journal(path, about), about


def _about(line: bytes) -> JsonObject | None:
    try:
        head = jsonvalue.loads(line)
    except ValueError:
        return None
    if not isinstance(head, dict) or head.get("waggle_hook") != _VERSION:
        return None
    return head if all(isinstance(head.get(key), str) for key in ("root", "conversation", "cwd")) else None


def _kept(line: bytes) -> Kept | None:
    try:
        value = jsonvalue.loads(line)
        if not isinstance(value, dict):
            return None
        tool, args, text, name = value["tool"], value["args"], value["text"], value["id"]
        outcome = Outcome(str(value["outcome"]))
    except (ValueError, KeyError, TypeError):
        return None
    if not (isinstance(tool, str) and isinstance(args, dict) and isinstance(text, str)):
        return None
    call = Call(tool, args, name if isinstance(name, str) else None)
    return Kept(call, Result(text, outcome is Outcome.OK, cut=value.get("cut") is True, outcome=outcome))


_HEAD_BYTES: Final = 64 * 1024

"""A ledger without the records of skills that are gone.

Not responsible for which are gone (`waggle.curation`) nor for what records mean (`waggle.ledger`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from waggle import files
from waggle._defaults import LEDGER_LINE_BYTES
from waggle.ledger import SETTLED, is_of_skill, record_on

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

__all__ = ["compact_ledger"]


def compact_ledger(path: Path, keep: Collection[str] | Callable[[], Collection[str]]) -> int:
    """Drop the records of all other skills, and the lines that are no records. A missing file is an empty one.

    What other strategies than those of skills have replayed, such as flows, is in no store; its records stay.

    Reads and replaces under the file's lock, so that nothing appended meanwhile is lost. Lines that are kept stay as
    they are, byte for byte, with keys and events that only a later version knows. Holds what is kept in memory.

    Args:
        path: the ledger.
        keep: the names whose records stay; or a function that returns them and is asked under the lock. Who lists a
            store with it loses no record of a skill that is promoted meanwhile: a skill is written before its record.

    Returns:
        How many lines were dropped; with 0 the file is not written.

    Raises:
        StoreLocked: another process kept the lock for too long.
        StoreUnavailable: the file cannot be written; it is as it was.
        OSError: the file cannot be read.
    """
    kept: list[bytes] = []
    dropped = 0
    if not path.exists():
        return 0  # and leave no lock file beside a ledger that never was
    with files.lock(path):
        names = frozenset(keep() if callable(keep) else keep)
        for block in files.read_blocks(path, longest=LEDGER_LINE_BYTES):
            stay = [line for line in block.lines if _has_name(line, names)]
            dropped += len(block.lines) - len(stay)
            kept += stay
        if dropped:
            files.replace(path, b"".join([line + b"\n" for line in kept]))
    return dropped


def _has_name(line: bytes, names: frozenset[str]) -> bool:
    """Whether a line is a record of one of the names, or of what is no skill."""
    try:  # as in `_add_up`: everybody waits for the lock meanwhile
        quick = orjson.loads(line)
        if quick["name"] not in names and is_of_skill(quick):
            return False
        if type(quick["yield"]) is int and ("event" not in quick or type(quick.get(SETTLED[quick["event"]], 0)) is int):
            return True
    except (ValueError, LookupError, TypeError):
        pass
    record = record_on(line)
    return record is not None and (record["name"] in names or not is_of_skill(record))

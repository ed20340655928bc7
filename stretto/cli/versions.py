"""A new version of a procedure names the one that it takes the place of, and the old file stays."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from stretto.errors import ProcedureError
from stretto.procedure.file import digest_of, dump_procedure, load_procedure
from waggle import files

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.procedure.graph import Procedure

__all__ = ["SUPERSEDED", "Old", "read_old", "replace_procedure", "superseded_place"]

#: The folder beside procedures where those files stand whose place another has taken.
SUPERSEDED: Final = "superseded"

_DIGEST_CHARS: Final = 8


@dataclass(frozen=True, slots=True)
class Old:
    """What is in the place of a procedure.

    Attributes:
        data: the file.
        procedure: that it is; None where it is none, or was changed by hand.
    """

    data: bytes
    procedure: Procedure | None

    @property
    def digest(self) -> str:
        """Of the procedure, else of the file."""
        return digest_of(self.procedure) if self.procedure is not None else blake2b(self.data).hexdigest()


def read_old(path: Path) -> Old | None:
    """What a new version takes the place of; None where there is nothing.

    Raises:
        OSError: it cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return Old(data, load_procedure(data, str(path)))
    except ProcedureError:
        return Old(data, None)


def superseded_place(path: Path, digest: str) -> Path:
    """Where the file with a digest is kept whose place at a path another has taken."""
    name, dot, rest = path.name.partition(".")
    return path.parent / SUPERSEDED / f"{name}.{digest[:_DIGEST_CHARS]}{dot}{rest}"


def replace_procedure(path: Path, new: Procedure, old: Old | None) -> Procedure:
    """Write a version of a procedure; the file whose place it takes is kept in the folder `SUPERSEDED`.

    It has the digest of the old one, where that is a procedure. Nothing is written where the two do not differ.

    Returns:
        What is there now.

    Raises:
        StoreUnavailable: the disk does not take it.
    """
    if old is not None:
        before = old.procedure
        if before is not None:
            if digest_of(new.model_copy(update={"parent": before.parent})) == old.digest:
                return before
            new = new.model_copy(update={"parent": old.digest})
        files.replace(superseded_place(path, old.digest), old.data)
    files.replace(path, dump_procedure(new))
    return new

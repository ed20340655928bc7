"""A new version of a procedure names the one that it takes the place of, and the old one stays readable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.procedure.file import digest_of, dump_procedure, read_procedure
from waggle import files

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.procedure.graph import Procedure

__all__ = ["SUPERSEDED", "read_old", "replace_procedure", "superseded_place"]

#: The folder beside procedures where those stand whose place another has taken.
SUPERSEDED: Final = "superseded"

_DIGEST_CHARS: Final = 8


def read_old(path: Path) -> Procedure | None:
    """The procedure that a new version takes the place of; None where there is none.

    Raises:
        ProcedureError: what is there is none.
    """
    return read_procedure(path) if path.exists() else None


def superseded_place(path: Path, digest: str) -> Path:
    """Where the procedure with a digest is kept whose place at a path another has taken."""
    name, dot, rest = path.name.partition(".")
    return path.parent / SUPERSEDED / f"{name}.{digest[:_DIGEST_CHARS]}{dot}{rest}"


def replace_procedure(path: Path, new: Procedure, old: Procedure | None) -> Procedure:
    """Write a version of a procedure: with the digest of the old one, which is kept in the folder `SUPERSEDED`.

    Nothing is written where the two do not differ.

    Returns:
        What is there now.

    Raises:
        StoreUnavailable: the disk does not take it.
    """
    if old is not None:
        if digest_of(new.model_copy(update={"parent": old.parent})) == digest_of(old):
            return old
        before = digest_of(old)
        new = new.model_copy(update={"parent": before})
        files.replace(superseded_place(path, before), dump_procedure(old))
    files.replace(path, dump_procedure(new))
    return new

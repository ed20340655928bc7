"""Procedure files: canonical JSON that people read and compare, with a digest of the whole.

`read_any` reads either kind. Not responsible for what is in one (`stretto.procedure.graph`), nor for the form of the
tree kind (`stretto.procedure.trees.file`).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from stretto._defaults import PROCEDURE_BYTES
from stretto.contents import read_bytes, read_json
from stretto.errors import ProcedureError
from stretto.forms import first_fault
from stretto.procedure.checks import faults
from stretto.procedure.graph import VERSION, Procedure
from stretto.procedure.trees.file import trees_from_json
from stretto.procedure.trees.model import VERSION as TREES
from waggle import files, jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.procedure.trees.model import TreeProcedure
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "digest_of",
    "dump_procedure",
    "load_any",
    "load_procedure",
    "problems",
    "procedure_from_json",
    "read_any",
    "read_procedure",
    "read_to_check",
    "write_procedure",
]

_DIGEST_BYTES: Final = 16
_KIND: Final = "stretto_procedure"  # the field that says which kind it is


def _plain(procedure: Procedure) -> JsonObject:
    unasked = {"compiled": {"adviser"}} if procedure.compiled.adviser is None else None
    value: JsonObject = procedure.model_dump(mode="json", exclude_defaults=False, exclude=unasked)
    return value


def digest_of(procedure: Procedure) -> str:
    """The digest of a procedure without its own: 32 hex digits of BLAKE2b over its canonical JSON."""
    value = {name: each for name, each in _plain(procedure).items() if name != "digest"}
    return blake2b(jsonvalue.canonical(value), digest_size=_DIGEST_BYTES).hexdigest()


def dump_procedure(procedure: Procedure) -> bytes:
    """The file of a procedure: indented JSON, the digest at its end."""
    signed = procedure.model_copy(update={"digest": digest_of(procedure)})
    return jsonvalue.pretty(_plain(signed)).rstrip("\n").encode("utf-8", "surrogatepass") + b"\n"


def write_procedure(path: Path, procedure: Procedure) -> None:
    """Write a procedure's file, whole or not at all.

    Raises:
        StoreUnavailable: the disk does not take it.
    """
    files.replace(path, dump_procedure(procedure))


def read_any(path: Path) -> Procedure | TreeProcedure:
    """Read the file of a procedure of either kind.

    Raises:
        ProcedureError: it cannot be read, or is no sound procedure; the error says where.
    """
    return _of_either_kind(_read(path), str(path))


def _read(path: Path) -> JsonValue:
    return read_json(read_bytes(path, PROCEDURE_BYTES, ProcedureError), str(path), ProcedureError)


def load_any(data: bytes, path: str = "") -> Procedure | TreeProcedure:
    """A procedure of either kind from the bytes of its file.

    Raises:
        ProcedureError: as `read_any`.
    """
    return _of_either_kind(read_json(data, path, ProcedureError), path)


def _of_either_kind(value: JsonValue, path: str) -> Procedure | TreeProcedure:
    if isinstance(value, dict) and value.get(_KIND) == TREES and value[_KIND] is not True:
        return trees_from_json(value, path)
    return procedure_from_json(value, path)


def read_procedure(path: Path) -> Procedure:
    """Read a procedure's file.

    Raises:
        ProcedureError: it cannot be read, or is no sound procedure; the error says where.
    """
    return procedure_from_json(_read(path), str(path))


def load_procedure(data: bytes, path: str = "") -> Procedure:
    """A procedure from the bytes of its file.

    Raises:
        ProcedureError: as `read_procedure`.
    """
    return procedure_from_json(read_json(data, path, ProcedureError), path)


def procedure_from_json(value: JsonValue, path: str = "") -> Procedure:
    """A procedure from its JSON value.

    Raises:
        ProcedureError: as `read_procedure`.
    """
    if not isinstance(value, dict):
        raise ProcedureError(path, "$", "expected an object")
    if value.get(_KIND) == TREES:
        raise ProcedureError(path, f"$.{_KIND}", "it is a tree procedure, and a compiled one is needed here")
    procedure = _form(value, path)
    found = problems(procedure)
    if found:
        where, _, says = found[0].partition(": ")
        raise ProcedureError(path, where, says)
    return procedure


def read_to_check(path: Path) -> tuple[Procedure | TreeProcedure, list[str]]:
    """A procedure of either kind with all that is wrong with it, each with where; for somebody who mends it.

    Raises:
        ProcedureError: it cannot be read, or has not the form of one.
    """
    value = _read(path)
    if isinstance(value, dict) and value.get(_KIND) == VERSION:
        procedure = _form(value, str(path))
        return procedure, problems(procedure)
    return _of_either_kind(value, str(path)), []


def problems(procedure: Procedure) -> list[str]:
    """What keeps a procedure from being run, each with where: its digest is another, or it does not fit together."""
    changed = procedure.digest and procedure.digest != digest_of(procedure)
    says = "$.digest: it was changed after it was compiled; review it, and take the digest out"
    return [*([says] if changed else []), *faults(procedure)]


def _form(value: JsonObject, path: str) -> Procedure:
    try:
        return Procedure.model_validate(value)
    except ValidationError as error:
        raise ProcedureError(path, *first_fault(error, value)) from None

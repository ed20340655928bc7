"""What a command writes: a file whole or not at all, and nothing over a file that is not what it would write.

Places are looked at before the work begins, so that no long work ends at a file that may not be written.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from stretto.errors import FlowError, UsageError
from stretto.flow.file import dump_flow, read_flow
from stretto.review.picture import FORMATS
from waggle import _render, files
from waggle.errors import StoreUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.flow.model import Flow

__all__ = ["check_flow_place", "check_new_place", "picture_kind", "write", "write_flow"]


def check_flow_place(path: Path, *, force: bool) -> None:
    """Look whether a flow may be written here.

    Raises:
        UsageError: something is there that is no flow, and `force` was not given.
    """
    if force or not os.path.lexists(path):
        return
    try:
        read_flow(path)
    except FlowError as error:
        raise UsageError(f"{path}: is there and no flow that can be read; --force replaces it ({error})") from None


def check_new_place(path: Path, *, force: bool) -> None:
    """Look whether a file may be written here.

    Raises:
        UsageError: something is there, and `force` was not given.
    """
    if not force and os.path.lexists(path):
        raise UsageError(f"{path}: is there; --force replaces it")


def picture_kind(path: Path | None) -> str:
    """The format of a picture, by the end of its name; empty without one.

    Raises:
        UsageError: there is no such format.
    """
    if path is None:
        return ""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise UsageError(f"{path}: a picture is written as {' or '.join(f'.{each}' for each in FORMATS)}")
    return kind


def write(path: Path, data: bytes, *, dry_run: bool = False) -> None:
    """Write a file, or say that it would be.

    Raises:
        StoreUnavailable: the place cannot be written; what was there is as it was.
    """
    if dry_run:
        _render.note(f"would write {path}, {len(data):,} bytes")
        return
    try:
        files.replace(path, data)
    except StoreUnavailable as error:
        raise StoreUnavailable(error.path, error.problem, "name another place") from error


def write_flow(path: Path, flow: Flow, *, dry_run: bool = False) -> None:
    """Write a flow, or say that it would be; raises as `write`."""
    write(path, dump_flow(flow), dry_run=dry_run)

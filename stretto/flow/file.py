"""The file of a flow: one JSON object on one line, read strictly, written whole or not at all.

Everything about the form is in `stretto.flow.reader` and `stretto.flow.writer`; here are the bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.contents import read_bytes, read_json
from stretto.errors import FlowError
from stretto.flow.reader import flow_from_json
from stretto.flow.versions import flow_version
from stretto.flow.writer import flow_to_json
from waggle import files, jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.flow.model import Flow

__all__ = ["dump_flow", "flow_from_json", "flow_to_json", "flow_version", "read_flow", "write_flow"]

#: Longest file that is read, bytes. The counts of thousands of sessions are a few megabytes.
_LONGEST: Final = 256 * 1024 * 1024


def read_flow(path: Path) -> Flow:
    """Read a flow file, of version 1, 2 or 3.

    Raises:
        FlowError: the file is not there or cannot be read, is no JSON, or is no flow; it names the path, and the JSON
            path of the first fault.
    """
    data = read_bytes(path, _LONGEST, FlowError)
    return flow_from_json(read_json(data, str(path), FlowError), str(path))


def dump_flow(flow: Flow) -> bytes:
    """The file of a flow, one line without a line end; the same flow gives the same bytes."""
    return jsonvalue.dumps(flow_to_json(flow))


def write_flow(path: Path, flow: Flow) -> None:
    """Write a flow's file whole or not at all.

    Raises:
        StoreUnavailable: the place cannot be written; the old file is as it was.
    """
    files.replace(path, dump_flow(flow))

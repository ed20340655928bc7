"""What the importers share: a file's bytes, and complaints that name the file and the place.

Not responsible for any format; each importer knows its own. Looking into values is `waggle.traces.shapes`. Foreign
files are data: they are never executed, and what they hold is never shown in an error.
"""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto._defaults import IMPORT_BYTES
from stretto.errors import SessionLogError
from waggle import files
from waggle.traces.model import CallIds
from waggle.traces.shapes import Misfit, list_at, object_at, text_at, value_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = ["CallIds", "Misfit", "complaining", "list_at", "object_at", "read_import", "text_at", "value_of"]

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"


@contextmanager
def complaining(path: str | os.PathLike[str], line: int | None = None) -> Iterator[None]:
    """Name the file in what goes wrong inside the block.

    Raises:
        SessionLogError: the block met a `Misfit`, or a value nested too deeply to be walked.
    """
    try:
        yield
    except Misfit as error:
        raise SessionLogError(str(path), line, str(error)) from None
    except RecursionError:
        raise SessionLogError(str(path), line, "a value is nested too deeply") from None


def read_import(path: str | os.PathLike[str]) -> bytes:
    """Read a file whole, decompressed when its content is gzip, whatever it is called; a byte order mark is left out.

    Raises:
        SessionLogError: it cannot be read, is damaged, or has more than `IMPORT_BYTES` bytes, compressed or not.
    """
    name = str(path)
    try:
        data = files.read_bytes(Path(path), limit=IMPORT_BYTES)
        if data.startswith(_GZIP_MAGIC):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                data = stream.read(IMPORT_BYTES + 1)
    except FileNotFoundError:
        raise SessionLogError(name, None, "there is no such file") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SessionLogError(name, None, f"the compressed file is damaged: {error}") from error
    except OSError as error:
        raise SessionLogError(name, None, f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise SessionLogError(name, None, str(error)) from error
    if len(data) > IMPORT_BYTES:
        raise SessionLogError(name, None, f"holds more than the {IMPORT_BYTES:,} bytes that are read")
    return data.removeprefix(_BOM)

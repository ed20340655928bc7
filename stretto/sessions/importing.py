"""What the importers share: a file's bytes, complaints that name the place, and ids that no two calls have.

Not responsible for any format; each importer knows its own. Foreign files are data: they are never executed, and what
they hold is never shown in an error, only what kind of value stands where another was expected.
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
from waggle import files, jsonvalue

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["CallIds", "Misfit", "complaining", "list_at", "object_at", "read_import", "text_at", "value_of"]

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_NAMES: Final[dict[type, str]] = {
    type(None): "nothing",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


class Misfit(ValueError):
    """A value is not what the format says; the text names the place as a JSON path and what was expected there."""

    def __init__(self, at: str, expected: str, found: JsonValue) -> None:
        super().__init__(f"{at}: expected {expected}, found {_NAMES[type(found)]}")


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


def object_at(value: JsonValue, at: str) -> JsonObject:
    """The value, which must be an object.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, dict):
        return value
    raise Misfit(at, "an object", value)


def list_at(value: JsonValue, at: str) -> list[JsonValue]:
    """The value, which must be a list.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, list):
        return value
    raise Misfit(at, "a list", value)


def text_at(value: JsonValue, at: str) -> str:
    """The value, which must be a text.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, str):
        return value
    raise Misfit(at, "a text", value)


def value_of(text: str) -> JsonValue:
    """The JSON value a text stands for, the text itself when it stands for none."""
    try:
        return jsonvalue.loads(text)
    except ValueError:
        return text


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


class CallIds:
    """Ids for the calls of one episode. Recordings repeat ids; an episode cannot, since a result is found by its id."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}  # id -> the highest number that was put behind it

    def new(self, wanted: str) -> str:
        """The id itself, or with ``#2``, ``#3``, … behind it when an earlier call has it."""
        name, number = wanted, self._last.get(wanted, 0)
        while name in self._last:
            number = max(number + 1, 2)
            name = f"{wanted}#{number}"
        self._last[wanted] = number
        self._last.setdefault(name, 0)
        return name

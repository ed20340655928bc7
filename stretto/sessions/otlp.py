"""Files of exported spans: one JSON value, or one a line, gzipped or not.

Not responsible for the spans (`waggle.traces.spans`), nor for what they mean (`waggle.traces.otel`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.errors import SessionLogError
from stretto.sessions.importing import complaining, read_import
from waggle import jsonvalue
from waggle.traces.spans import spans_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Container, Iterator

    from waggle.jsonvalue import JsonValue
    from waggle.traces.spans import Span

__all__ = ["read_spans"]


def read_spans(
    path: str | os.PathLike[str], attributes: Container[str], report: Callable[[str], None]
) -> Iterator[Span]:
    """Read the spans of a file, gzipped or not, in its order.

    Args:
        path: the file.
        attributes: names of those that are kept; ``error.type`` is looked at besides.
        report: called when a last line is cut off, which every interrupted export has.

    Raises:
        SessionLogError: the file cannot be read or is no such export.
    """
    for line, export in _exports(str(path), read_import(path), report):
        with complaining(path, line):
            yield from spans_of(export, attributes)


def _exports(name: str, data: bytes, report: Callable[[str], None]) -> Iterator[tuple[int | None, JsonValue]]:
    """The exports of a file with their line numbers, None for a file that is one export over several lines."""
    lines = data.split(b"\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise SessionLogError(name, None, "expected an export of spans (OTLP JSON), found an empty file")
    try:
        yield first + 1, jsonvalue.loads(lines[first])
    except ValueError:
        try:
            yield None, jsonvalue.loads(data)
        except ValueError as error:
            raise SessionLogError(name, None, f"expected an export of spans (OTLP JSON): {error}") from error
        return
    for number, line in enumerate(lines[first + 1 :], start=first + 2):
        if line.strip():
            try:
                yield number, jsonvalue.loads(line)
            except ValueError as error:
                if number < len(lines):
                    raise SessionLogError(name, number, f"expected one export of spans a line: {error}") from error
                report(f"the last line ({number}) is cut off and was passed over")

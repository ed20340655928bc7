"""Select the recorded sessions that are shipped in ``examples/sessions`` from the full collection.

    python examples/select_sessions.py TRACES_DIR OUT_DIR

The rule looks at no content, so that nothing can be picked for how well it turns out: of each file, in order of the
session ids, the first sessions that have at least two calls and are not too long. Long results and messages are
shortened and marked, so that what they quote of other people's work stays an excerpt. The same collection gives the
same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import io
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from waggle.errors import TraceError
from waggle.traces import cut_text, dump_trace, read_traces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.traces import Trace

#: Longest result and longest message that is shipped, in characters. Five of six results are shorter than this.
RESULT_CHARACTERS: Final = 3_000
MESSAGE_CHARACTERS: Final = 1_000

#: Fewest calls of a session that is worth shipping: with one there is nothing that could repeat.
MIN_CALLS: Final = 2

#: Repositories whose recordings are under the MIT licence; a session from anywhere else is passed over.
MIT_SOURCES: Final = frozenset(
    {
        "SWE-agent/SWE-agent",
        "SWE-agent/mini-swe-agent",
        "SWE-bench/SWE-smith",
        "badlogic/pi-mono",
        "entireio/cli",
        "entireio/git-sync",
        "gruckion/mini-swe-agent",
    }
)


#: Longest session that is shipped, in bytes of its line after texts were shortened. One in six of the Claude Code
#: sessions is longer, hardly any of the others.
MAX_BYTES: Final = 280_000


@dataclass(frozen=True, slots=True)
class Selection:
    """What is taken of one file.

    Attributes:
        file: name of the file in the collection.
        sessions: most sessions taken.
        max_bytes: longest session taken, in bytes of its line.
    """

    file: str
    sessions: int
    max_bytes: int = MAX_BYTES


#: The numbers share 2.5 MB out between the agents.
SELECTIONS: Final = (
    Selection("coding-claude-code-cli.jsonl.gz", sessions=32),
    Selection("coding-claude-code-git-sync.jsonl.gz", sessions=14),
    Selection("coding-mini-swe-agent-deepseek.jsonl.gz", sessions=16),
    Selection("coding-mini-swe-agent-gemini.jsonl.gz", sessions=40),
    Selection("coding-pi.jsonl.gz", sessions=3, max_bytes=1_000_000),  # there are three, all of them long
    Selection("coding-swe-agent.jsonl.gz", sessions=30),
)


def shortened(trace: Trace) -> Trace:
    """The same session with long results and messages cut and marked."""
    steps = []
    for step in trace.steps:
        result = step.result
        if result is not None:
            text = cut_text(result.text, RESULT_CHARACTERS)
            result = replace(result, text=text, cut=result.cut or text != result.text)
        steps.append(replace(step, result=result))
    messages = tuple(replace(said, text=cut_text(said.text, MESSAGE_CHARACTERS)) for said in trace.messages)
    return replace(trace, steps=tuple(steps), messages=messages)


def selected(path: Path, selection: Selection) -> Iterator[bytes]:
    """The lines that are shipped of one file of the collection, in order of the session ids."""
    taken = 0
    for trace in sorted(read_traces(path), key=lambda trace: trace.session):
        if len(trace.steps) < MIN_CALLS or trace.source.partition(":")[0] not in MIT_SOURCES:
            continue
        line = dump_trace(shortened(trace))
        if len(line) <= selection.max_bytes:
            yield line
            taken += 1
        if taken == selection.sessions:
            return


def compressed(lines: list[bytes]) -> bytes:
    """Gzip without a name or a time in it."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(b"".join(lines))
    return buffer.getvalue()


def main(arguments: list[str] | None = None) -> int:
    """Write the selection and print what was taken."""
    parser = argparse.ArgumentParser(description="Select the recorded sessions shipped in examples/sessions.")
    parser.add_argument("traces", type=Path, help="directory of the full collection")
    parser.add_argument("out", type=Path, help="directory to write to; files of the same names are replaced")
    options = parser.parse_args(arguments)
    total = 0
    try:
        for selection in SELECTIONS:
            lines = list(selected(options.traces / selection.file, selection))
            data = compressed(lines)
            (options.out / selection.file).write_bytes(data)
            total += len(data)
            print(f"{selection.file:42} {len(lines):3} sessions {len(data):9,} bytes")
    except (TraceError, OSError) as error:
        print(f"select_sessions: {error}", file=sys.stderr)
        return 1
    print(f"{'total':42} {'':12} {total:9,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Select the recorded sessions that are shipped in ``examples`` from the full collection.

    python examples/select_sessions.py TRACES_DIR OUT_DIR

The rules look at no outcome, so that nothing can be picked for how well it turns out. The same collection gives the
same bytes.

``OUT_DIR/sessions``, coding agents: of each file, in order of the session ids, the first sessions that have at least
two calls and are not too long. Long results and messages are shortened and marked, so that what they quote of other
people's work stays an excerpt.

``OUT_DIR/flows``, agents that serve customers: each file is dealt to two sides by customer and task, and of each side
sessions are drawn at random, with a seed. Their texts are whole: a value is bound from a record only if it is there.
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto.review.split import folds
from stretto.sessions.traces import episode_of
from waggle.errors import TraceError
from waggle.traces import cut_text, dump_trace, read_traces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        "sierra-research/tau-bench",
        "sierra-research/tau2-bench",
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


@dataclass(frozen=True, slots=True)
class Sides:
    """What is taken of one file, to learn from and to replay.

    Attributes:
        file: name of the file in the collection.
        name: of the files written, ``NAME-learn.jsonl.gz`` and ``NAME-replay.jsonl.gz``.
        sessions: taken for each side.
    """

    file: str
    name: str
    sessions: int = 30


SIDES: Final = (Sides("tools-airline-v1.jsonl.gz", "airline"), Sides("tools-retail.jsonl.gz", "retail"))

#: Of the dealing and of the drawing. The first that was tried.
SEED: Final = 0


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


def usable(path: Path) -> list[Trace]:
    """The sessions of a file that may be shipped and are worth it, in order of their ids."""
    return [
        trace
        for trace in sorted(read_traces(path), key=lambda trace: trace.session)
        if len(trace.steps) >= MIN_CALLS and trace.source.partition(":")[0] in MIT_SOURCES
    ]


def selected(path: Path, selection: Selection) -> Iterator[bytes]:
    """The lines that are shipped of one file of the collection, in order of the session ids."""
    taken = 0
    for trace in usable(path):
        line = dump_trace(shortened(trace))
        if len(line) <= selection.max_bytes:
            yield line
            taken += 1
        if taken == selection.sessions:
            return


def dealt(path: Path, sides: Sides) -> Iterator[tuple[str, list[bytes]]]:
    """The files made of one file of the collection: name and lines, to learn from and to replay."""
    traces = {trace.session: trace for trace in usable(path)}
    fold = folds([episode_of(trace) for trace in traces.values()], 2, SEED)[0]
    draw = random.Random(SEED)  # noqa: S311 - a choice, not a secret; seeded to be repeated
    for what, episodes in (("learn", fold.learn), ("replay", fold.replay)):
        drawn = sorted(draw.sample([episode.id for episode in episodes], sides.sessions))
        yield f"{sides.name}-{what}.jsonl.gz", [dump_trace(traces[session]) for session in drawn]


def compressed(lines: Iterable[bytes]) -> bytes:
    """Gzip without a name or a time in it."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(b"".join(lines))
    return buffer.getvalue()


def excerpts(collection: Path) -> Iterator[tuple[str, list[bytes]]]:
    """All that is shipped: file and lines."""
    for selection in SELECTIONS:
        yield f"sessions/{selection.file}", list(selected(collection / selection.file, selection))
    for sides in SIDES:
        for name, lines in dealt(collection / sides.file, sides):
            yield f"flows/{name}", lines


def main(arguments: list[str] | None = None) -> int:
    """Write the selection and print what was taken."""
    parser = argparse.ArgumentParser(description="Select the recorded sessions shipped in examples.")
    parser.add_argument("traces", type=Path, help="directory of the full collection")
    parser.add_argument("out", type=Path, help="directory to write to; files of the same names are replaced")
    options = parser.parse_args(arguments)
    total = 0
    try:
        for name, lines in excerpts(options.traces):
            data = compressed(lines)
            path = options.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            total += len(data)
            print(f"{name:51} {len(lines):3} sessions {len(data):9,} bytes")
    except (TraceError, OSError) as error:
        print(f"select_sessions: {error}", file=sys.stderr)
        return 1
    print(f"{'total':51} {'':12} {total:9,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

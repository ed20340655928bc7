"""An adviser of the compiler, by rule: ``python examples/careful_adviser.py [SESSIONS [TOOLS [OUT]]]``.

It gives the intent a title and doubts whatever leads to a cancelled order, so that a person looks at it. One that asks
a model has the same five methods, and keeps what was answered in a file, as here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.compiler import AnswerFile, CompilerSettings, compile_traces
from stretto.compiler.declared import read_declared
from stretto.compiler.reading import read_recorded
from stretto.procedure.file import write_procedure
from stretto.sessions.corpus import open_corpus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.compiler import Edge, Guard, OpenFork, Trace
    from waggle.jsonvalue import JsonValue


class Careful:
    """Says what somebody of the shop would say."""

    name = "careful"
    version = "1"

    def name_intent(self, documents: Sequence[str]) -> str:
        """The first request up to its first comma."""
        return documents[0].split("\n")[0].removeprefix("REQUEST: ").partition(",")[0]

    def propose_split(self, trace: Trace) -> Sequence[int]:
        """Wherever the customer says "something else"."""
        return [said.index for said in trace.utterances if "something else" in said.text]

    def propose_transforms(self, pairs: Sequence[tuple[JsonValue, JsonValue]]) -> Sequence[str]:
        """A date, where what is wanted looks like one."""
        return ["date_of"] if all(str(wanted).count("-") == 2 for _, wanted in pairs) else []  # noqa: PLR2004

    def propose_guards(self, fork: OpenFork) -> Sequence[Guard]:
        """None: what tells customers apart is for the evidence."""
        del fork
        return []

    def doubt(self, edge: Edge) -> str | None:
        """Why a person should look."""
        return "a cancelled order is gone" if edge.consumer.startswith("tools.cancel_order") else None


HERE = Path(__file__).parent


def main(
    sessions: str = str(HERE / "procedures" / "shop.jsonl"),
    tools: str = str(HERE / "shop-tools.toml"),
    out: str = "careful.json",
) -> int:
    """Compile recorded sessions of one intent with the adviser."""
    read = read_recorded(open_corpus(sessions), read_declared(Path(tools)))
    with AnswerFile(Path(out).with_suffix(".answers.json")) as answers:
        made = compile_traces("cancel", read.traces, read.tools, CompilerSettings(), adviser=Careful(), answers=answers)
    print(f"{made.title}: {made.outcome}")
    print(*(f"{reason.code}: {reason.step} {reason.path}: {reason.says}" for reason in made.reasons), sep="\n")
    if made.procedure is None:
        return 1
    write_procedure(Path(out), made.procedure)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

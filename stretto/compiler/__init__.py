"""The compiler: noisy traces of one intent become a typed procedure, or a refusal that says what would settle it.

Every stage is a pure function of its inputs. The same traces in any order give the same bytes. The names below are
those that a program needs which compiles its own traces, or advises (`Adviser`); each is imported when it is first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waggle._lazy import lazy

if TYPE_CHECKING:
    from stretto.compiler.advising import Adviser, Dropped, Observed, OpenFork
    from stretto.compiler.answers import AnswerFile, Answers
    from stretto.compiler.compiling import Compilation, compile_traces
    from stretto.compiler.discover import Discovery
    from stretto.compiler.evidence import Edge
    from stretto.compiler.guards import Guard, Predicate
    from stretto.compiler.model import Trace
    from stretto.compiler.schemas import Tools
    from stretto.compiler.settings import CompilerSettings

_HOMES = {
    "advising": ("Adviser", "Dropped", "Observed", "OpenFork"),
    "answers": ("AnswerFile", "Answers"),
    "compiling": ("Compilation", "compile_traces"),
    "discover": ("Discovery",),
    "evidence": ("Edge",),
    "guards": ("Guard", "Predicate"),
    "model": ("Trace",),
    "schemas": ("Tools",),
    "settings": ("CompilerSettings",),
}
__all__ = [
    "Adviser",
    "AnswerFile",
    "Answers",
    "Compilation",
    "CompilerSettings",
    "Discovery",
    "Dropped",
    "Edge",
    "Guard",
    "Observed",
    "OpenFork",
    "Predicate",
    "Tools",
    "Trace",
    "compile_traces",
]


__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

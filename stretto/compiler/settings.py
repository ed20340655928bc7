"""How traces are compiled: one frozen object, stored in everything that is made with it.

``[P]`` marks values of S. El Yadouni and G. Li, *TraceCompiler*, arXiv:2608.02680; the others are ours and untuned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.compiler.injecting import Injection
    from waggle.jsonvalue import JsonValue

__all__ = ["CompilerSettings", "number_of"]


@dataclass(frozen=True, slots=True)
class CompilerSettings:
    """Settings of the compiler.

    Attributes:
        distance_threshold: largest mean cosine distance at which two clusters are joined, 0 to 2; None for the
            embedder's own. [P] 0.55 for the encoder ``all-mpnet-base-v2``.
        support_floor: traces of one intent that it takes to compile it. [P]
        split_similarity: a conversation is split only where the two parts' documents are less similar, -1 to 1; None
            for the embedder's own.
        document_max_chars: characters of a trace's document that are embedded.
        distinct_int_min: smallest magnitude of an integer that is distinctive.
        distinct_str_min: fewest characters of a text that is distinctive; one less with a digit among them.
        cross_trace_min: fewest traces that may settle by refutation what one trace cannot.
        constant_min: fewest traces that may make a value a constant.
        branch_min: fewest traces on each side of a guard.
        consensus: whether sources that always agreed may be read together, and stop the run where they differ.
        repeat_max: calls of one repeated step at most.
        atoms_max: atoms of one output that are looked at; an output with more counts as one that was not logged.
        router_floor: smallest similarity at which a request is routed.
        router_margin: how much more similar than any other procedure it has to be.
        unseen_max: largest estimated chance of a variant that nobody has seen at which a procedure with effects is
            routed by itself.
        allow_model_on_irreversible: whether a model's answer may be an argument of an irreversible step.
        assume: whether what always held before a step that nobody can take back has to hold when the procedure runs
            (`stretto.compiler.assuming`).
        inject: stable values that are fixed, and not read anew on each run; see `Injection`.
    """

    distance_threshold: float | None = None
    support_floor: int = 5
    split_similarity: float | None = None
    document_max_chars: int = 20_000
    distinct_int_min: int = 1000
    distinct_str_min: int = 4
    cross_trace_min: int = 3
    constant_min: int = 5
    branch_min: int = 2
    consensus: bool = True
    repeat_max: int = 1000
    atoms_max: int = 100_000
    router_floor: float = 0.80
    router_margin: float = 0.05
    unseen_max: float = 0.20
    allow_model_on_irreversible: bool = False
    assume: bool = False
    inject: tuple[Injection, ...] = ()

    def is_distinctive(self, value: JsonValue) -> bool:
        """Whether an accidental match with a value is unlikely, by its type.

        An integer from `distinct_int_min` on, a number with four digits or more from the first to the last that is not
        zero, a text of `distinct_str_min` characters or one less with a digit among them. What a schema lists as one
        of a few values is never distinctive: that is for the caller to know.
        """
        if isinstance(value, bool) or value is None:
            return False
        if isinstance(value, int):
            return abs(value) >= self.distinct_int_min
        if isinstance(value, float):
            digits = "".join(character for character in repr(value).partition("e")[0] if character.isdigit())
            return len(digits.strip("0")) >= _FLOAT_DIGITS
        if not isinstance(value, str):
            return False
        missing = self.distinct_str_min - len(value)
        return missing <= 0 or (missing == 1 and any(map(str.isdigit, value)))


_FLOAT_DIGITS: Final = 4


def number_of(stored: Mapping[str, JsonValue], name: str) -> float:
    """A number of the settings that a procedure was compiled with; the default where it has none."""
    given = stored.get(name)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return float(getattr(CompilerSettings(), name))
    return float(given)

"""Why a call is said to depend on another: evidence, edges, verdicts. Values.

The evidence of one argument is the tuple of *TraceCompiler*: consumer, argument path, value, presumed producer, and
what every other origin was excluded by. No value stands in it that could be a secret: its type, length and a keyed
digest do, and a preview where that is harmless.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from stretto.procedure import atoms
from waggle.redact import MASK, redact_value

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonValue

__all__ = ["Basis", "CallRef", "Edge", "Evidence", "Exclusion", "Other", "ValueNote", "Verdict", "note"]


class Verdict(StrEnum):
    """What an edge is worth."""

    STRONG = "strong"  #: constrains order
    CONDITIONAL = "conditional"  #: strong wherever the consumer's branch is taken
    SUSPECTED = "suspected"  #: reported, constrains nothing


class Basis(StrEnum):
    """What a verdict rests on."""

    EXCLUSION = "exclusion"  #: one producer, and every other origin excluded
    CROSS_TRACE = "cross_trace"  #: other traces refute every other producer
    SESSION = "session"  #: a session artefact of the last login of the same app
    INFERRED = "inferred"  #: the output was not recorded; schemas leave one producer


class Other(StrEnum):
    """Another origin that a value may have."""

    USER = "user"
    STATIC = "static"
    DEFAULT = "default"
    ENUM = "enum"
    OTHER_CALL = "other_call"
    UNLOGGED_CALL = "unlogged_call"
    FAILED_CALL = "failed_call"


@dataclass(frozen=True, slots=True, order=True)
class CallRef:
    """One call of one trace."""

    trace: str
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class ValueNote:
    """What is kept of a value.

    Attributes:
        type: as JSON names it.
        length: characters of a text, else of its JSON.
        digest: keyed by the trace and the value's place, so that a short value cannot be guessed from it.
        preview: its first characters; empty where it may be a secret.
    """

    type: str
    length: int
    digest: str
    preview: str = ""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """How another origin was looked for.

    Attributes:
        origin: which.
        looked_at: texts, fields or calls that were searched.
        found: what spoke against, such as ``call 4 $.owner.id``; empty when the origin is excluded.
    """

    origin: Other
    looked_at: int
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why one argument of one call is said to come from another call.

    Attributes:
        consumer: the call with the argument.
        arg_path: of the argument, exact.
        value: what is kept of the value.
        producer: where it is said to come from.
        producer_paths: exact paths in the producer's output, shortest first.
        match: ``exact``, or the name of a transform.
        basis: what the verdict rests on.
        exclusions: one for each other origin, in the order of `Other`.
    """

    consumer: CallRef
    arg_path: str
    value: ValueNote
    producer: CallRef
    producer_paths: tuple[str, ...]
    match: str
    basis: Basis
    exclusions: tuple[Exclusion, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A dependency between two steps.

    Attributes:
        producer: its step key, ``shop.get_order#0``.
        consumer: its step key.
        verdict: see `Verdict`.
        evidence: one for each argument and trace that speaks for it.
        against: of traces that contradict it.
        doubt: why an adviser doubts it, so that it is only suspected; empty for no doubt.
    """

    producer: str
    consumer: str
    verdict: Verdict
    evidence: tuple[Evidence, ...]
    against: tuple[Evidence, ...] = ()
    doubt: str = ""


_PREVIEW_CHARS: Final = 40
_TYPES: Final = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def note(value: JsonValue, *, salt: str, secret: bool = False) -> ValueNote:
    """What is kept of a value.

    Args:
        value: it.
        salt: what the digest is keyed by: the trace's id and the value's place.
        secret: whether it is declared to be one.
    """
    text = atoms.shown(value)
    digest = blake2b(atoms.key(value), key=salt.encode("utf-8", "replace")[:64], digest_size=8).hexdigest()
    hidden = secret or MASK in atoms.shown(redact_value(value))
    preview = "" if hidden else text[:_PREVIEW_CHARS]
    return ValueNote(_TYPES.get(type(value), "null"), len(text), digest, preview)

"""Tool calls and what came of them: the records that every other module passes around.

Values: made once, never changed. What a tool *is* (read or write, which arguments are paths) is in `waggle.tools`.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from waggle import jsonvalue
from waggle._defaults import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Call", "CallKey", "Effect", "Outcome", "Parts", "Result", "Shape", "Step", "part_of", "tool_name"]

#: Tool name, then the names of its arguments in sorted order. Values play no part. Of a shell command that is
#: understood the name is the tool's and the command's form (`tool_name`), and the arguments are the values in it.
Shape: TypeAlias = tuple[str, ...]

#: The values of a call's arguments in the order of its shape, each so that equal means equal as JSON (`part_of`).
Parts: TypeAlias = tuple[str | bytes, ...]

#: Equal for two calls exactly when tool and arguments are equal as JSON values. For use in memory only: files hold
#: `waggle.jsonvalue.fingerprint`.
CallKey: TypeAlias = tuple[Shape, Parts]


class Outcome(StrEnum):
    """What came of a call, in MCP's terms."""

    OK = "ok"
    TOOL_ERROR = "tool_error"  #: the tool answered with an error (``isError``)
    PROTOCOL_ERROR = "protocol_error"  #: the call never reached the tool, or its answer was no answer
    CANCELLED = "cancelled"  #: the host or the user stopped it
    ABORTED = "aborted"  #: the session ended first


class Effect(StrEnum):
    """What a call does to what later reads would see."""

    READ = "read"  #: changes nothing; may be made on the agent's behalf
    NOTE = "note"  #: touches only the agent's own notes, or asks a person: ends a route, makes nothing stale
    WRITE = "write"  #: anything else: ends a route and makes earlier lookups stale


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a tool.

    Attributes:
        tool: the tool's name as the host knows it, server prefix included.
        args: arguments by name. Any Python object is accepted; what JSON cannot hold is tagged when it is recorded.
        id: the host's id of this call, if it has one. A call announced with `Session.start` and reported with
            `Session.observe` is recognised by it.
        reads: the host's word on this one call: True if it changes nothing, False if it may. None (the default) asks
            the tool table.
    """

    tool: str
    args: Mapping[str, object] = field(default_factory=dict)
    id: str | None = None
    reads: bool | None = None

    @classmethod
    def of(cls, function: Callable[..., object], *args: object, **kwargs: object) -> Call:
        """Describe a Python call: two spellings of the same call (positional, keyword, defaults left out) are equal.

        Raises:
            TypeError: the arguments do not fit the function's signature.
        """
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        named: dict[str, object] = {}
        for name, value in bound.arguments.items():
            if bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD and not named.keys() & value:
                named.update(value)
            else:  # one of ``**value`` may have the name of an argument that is positional only
                named[name] = value
        return cls(getattr(function, "__name__", type(function).__name__), named)


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered.

    Attributes:
        text: the answer as the model sees it.
        ok: False when the tool reported an error.
        value: the structured answer, where the tool gave one beside or instead of text.
        cut: the text is known to be incomplete: the host truncated it, or it is no longer held.
        outcome: finer than `ok`; left out, it follows from it.
    """

    text: str = ""
    ok: bool = True
    value: JsonValue = None
    cut: bool = False
    outcome: Outcome | None = None

    def __post_init__(self) -> None:
        if self.outcome is None:
            object.__setattr__(self, "outcome", Outcome.OK if self.ok else Outcome.TOOL_ERROR)
        elif (self.outcome is Outcome.OK) is not self.ok:
            raise ValueError(f"a result with ok={self.ok} cannot have the outcome {self.outcome}")

    @property
    def size_bytes(self) -> int:
        """Length of the text in bytes of UTF-8."""
        return len(self.text) if self.text.isascii() else len(self.text.encode("utf-8", "surrogatepass"))

    @property
    def est_tokens(self) -> int:
        """Length of the text in tokens, estimated at four bytes a token as the original does."""
        return self.size_bytes // BYTES_PER_TOKEN


@dataclass(slots=True)
class Step:
    """One completed call of the agent, as the recorder keeps it. The result's text is not part of it.

    Nothing changes a step once it is made. It is not frozen only because that costs every call of an agent more than
    a microsecond.

    Attributes:
        seq: order of *starting* within the session, from 0. Calls whose end was never seen leave gaps.
        tool: the tool's name.
        args: arguments as JSON values; what JSON cannot hold is tagged (`waggle.jsonvalue.to_json`). Of a call with a
            `form`, the values in it by the names of its slots.
        outcome: what came of it.
        effect: whether it reads or writes, by the tool table or the host's word.
        replayable: False when an argument could not be kept exactly, so that the call can never be made again.
        overlapped: it started before an earlier call had ended, so it cannot have used that call's result.
        form: of a shell command that is understood, the command with ``{name}`` in place of each value
            (`waggle.shell.reading`); empty for every other call.
        shape: tool and argument names.
        parts: the arguments' values in the order of `shape`, comparable.
    """

    seq: int
    tool: str
    args: JsonObject
    outcome: Outcome = Outcome.OK
    effect: Effect = Effect.READ
    replayable: bool = True
    overlapped: bool = False
    form: str = ""
    shape: Shape = field(init=False, repr=False, compare=False)
    parts: Parts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        args = self.args
        names = sorted(args)
        self.shape = (tool_name(self.tool, self.form) if self.form else self.tool, *names)
        self.parts = tuple([value if type(value := args[name]) is str else part_of(value) for name in names])

    @property
    def reads(self) -> bool:
        """Whether it changed nothing."""
        return self.effect is Effect.READ

    @property
    def key(self) -> CallKey:
        """Identity of the call, values included."""
        return (self.shape, self.parts)

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.outcome is Outcome.OK


def tool_name(tool: str, form: str) -> str:
    """Tool and form as one name; calls of two forms are as different as calls of two tools."""
    return f"{tool}\n{form}" if form else tool


def part_of(value: JsonValue) -> str | bytes:
    """One argument's value as something hashable that is equal exactly when the JSON values are equal.

    A string is itself, anything else its canonical bytes, so ``1``, ``"1"``, ``1.0`` and ``true`` all differ.
    """
    return value if type(value) is str else jsonvalue.canonical(value)

"""What a run asks for, what it hears, and how it ends. Values.

A run is a generator that yields requests and is sent replies; see `stretto.procedure.engine`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Answer", "Ask", "Calls", "Done", "Ending", "Escalation", "Make", "Reply", "Request"]


@dataclass(frozen=True, slots=True)
class Make:
    """A call that is to be made.

    Attributes:
        id: of this call in this run: the node's name, and the number of the element of a repeated step.
        node: the node's name.
        server: of the tool; empty where there is one server.
        tool: its name there.
        args: its arguments.
        effect: see `stretto.compiler.model.Effect`.
        waits: whether the same call was made before and its answer has to change, so that waiting makes sense.
    """

    id: str
    node: str
    server: str
    tool: str
    args: JsonObject
    effect: str
    waits: bool = False

    @property
    def changes(self) -> bool:
        """Whether it changes anything, as far as is known."""
        return self.effect not in ("read", "auth")


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls that do not depend on each other: one that changes something, or several reads."""

    makes: tuple[Make, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question.

    Attributes:
        id: the node's name.
        person: whether a person is asked; else a model.
        text: the question.
        candidates: what may be answered; empty where any value of the type may.
        shows: what whoever answers may see, by place.
        answer: JSON type of an answer that is not among candidates.
        deadline_s: seconds until the run stops; 0 for none.
    """

    id: str
    person: bool
    text: str
    candidates: tuple[JsonValue, ...] = ()
    shows: tuple[tuple[str, JsonValue], ...] = ()
    answer: str = ""
    deadline_s: float = 0


Request: TypeAlias = Calls | Ask


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a call.

    Attributes:
        ok: whether it succeeded.
        output: as JSON; a result that is no JSON is one text.
        certain: whether it is known what came of it. A call that got no answer may have been made.
    """

    ok: bool
    output: JsonValue
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question; `given` is false when nobody gave one, and `instead` says for people what was said."""

    value: JsonValue = None
    given: bool = True
    instead: str = ""


#: What is sent back: as many `Done` as there were calls, in their order, or an `Answer`.
Reply: TypeAlias = "Sequence[Done] | Answer"


@dataclass(frozen=True, slots=True)
class Escalation:
    """Why a run stopped before its end.

    Attributes:
        procedure: its name.
        node: where it stopped.
        reason: ``missing_source``, ``selection``, ``sources_disagree``, ``unseen_branch``, ``unseen_value``,
            ``call_failed``, ``too_many``, ``unknown_page``, ``no_answer``, ``not_among_candidates``, ``declined``;
            ``stale_constant``: an injected value may have changed, and was not read anew; ``in_doubt``: a change was
            begun, and it is not known whether it was made; ``masked``: a run that was taken up would have to pass on
            what is kept nowhere.
        observed: what was met, for people.
    """

    procedure: str
    node: str
    reason: str
    observed: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended.

    Attributes:
        outputs: what the procedure gives, by name.
        made: the calls that were made, in order, with what came of them.
        escalation: why it stopped; None when it came to its end.
    """

    outputs: JsonObject
    made: tuple[tuple[Make, Done], ...]
    escalation: Escalation | None = None

"""Replays a procedure on paper: against the outputs that traces recorded, with their own values as answers. Pure.

The harness decides what is compiled, so it is held to the same rules: replaying a trace to itself has to succeed, and
what cannot be answered from the trace is an escalation, never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from stretto.compiler.model import Unlogged
from stretto.procedure import atoms, graph
from stretto.procedure.engine import play
from stretto.procedure.exchange import Answer, Ask, Done, Ending
from stretto.procedure.freshness import Freshness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.compiler.steps import Run
    from stretto.procedure.exchange import Make, Reply, Request
    from waggle.jsonvalue import JsonValue

__all__ = ["Replayed", "Result", "replay"]


class Result(StrEnum):
    """What a replay came to."""

    SAME = "same"  #: exactly the trace's kept calls
    ESCALATED = "escalated"  #: it stopped, and had made none but calls of the trace
    WRONG = "wrong"  #: a call that the trace does not have


@dataclass(frozen=True, slots=True)
class Replayed:
    """One trace, replayed.

    Attributes:
        trace: its id.
        result: what it came to.
        node: where it went wrong or stopped.
        says: for people: the argument, what was expected, and what came.
        irreversible: whether the wrong call is of a step that nobody can take back.
    """

    trace: str
    result: Result
    node: str = ""
    says: str = ""
    irreversible: bool = False


class _Wrong(Exception):
    def __init__(self, make: Make, says: str) -> None:
        super().__init__(says)
        self.make = make
        self.says = says


class _Unanswered(Exception):
    pass


def replay(procedure: graph.Procedure, run: Run, inputs: Mapping[str, JsonValue]) -> Replayed:
    """Play a procedure with what one trace recorded.

    Args:
        procedure: it.
        run: of the trace, with the steps that were kept.
        inputs: the procedure's, as the trace shows them.
    """
    paper = _Paper(procedure, run)
    playing = play(procedure, inputs, paper.secret, dict.fromkeys(procedure.injected, Freshness.FRESH))
    try:
        request = next(playing)
        while True:
            request = playing.send(paper.reply(request))
    except StopIteration as stop:
        return paper.judged(stop.value)
    except _Wrong as wrong:
        irreversible = wrong.make.effect in ("irreversible", "unknown")
        return Replayed(run.trace.id, Result.WRONG, wrong.make.node, wrong.says, irreversible)
    except _Unanswered as open_question:
        return Replayed(run.trace.id, Result.ESCALATED, "", str(open_question))


class _Paper:
    def __init__(self, procedure: graph.Procedure, run: Run) -> None:
        self._procedure = procedure
        self._run = run
        self._made: set[int] = set()

    def secret(self, name: str) -> str:
        """The value that the trace has in the place of a secret."""
        for node_name, node in self._procedure.tools():
            for path, binding in node.args.items():
                if isinstance(binding.value, graph.Secret) and binding.value.secret == name:
                    given = self._run.given(node_name)
                    if path in given:
                        return str(given[path])
        return ""

    def reply(self, request: Request) -> Reply:
        if isinstance(request, Ask):
            return self._answer(request)
        return [self._call(make) for make in request.makes]

    def _call(self, make: Make) -> Done:
        step = self._run.by_key.get(make.node)
        if step is None:
            raise _Wrong(make, f"{make.node} is no call of the trace")
        number = int(make.id.rpartition("[")[2].rstrip("]")) if make.id != make.node else 0
        if number >= len(step.calls):
            raise _Wrong(make, f"{make.node} has {len(step.calls)} calls in the trace")
        call = step.calls[number]
        wanted, came = atoms.arguments(call.args), atoms.arguments(make.args)
        for path in sorted({*wanted, *came}):
            if path not in came or path not in wanted or not atoms.same(wanted[path], came[path]):
                expected = atoms.shown(wanted[path]) if path in wanted else "nothing"
                got = atoms.shown(came[path]) if path in came else "nothing"
                raise _Wrong(make, f"{path}: expected {expected}, got {got}")
        self._made.add(call.index)
        if isinstance(call.output, Unlogged):
            raise _Unanswered(f"the output of {make.node} was not recorded")
        return Done(call.ok, call.output)

    def _answer(self, ask: Ask) -> Answer:
        """What the trace shows that would have been answered."""
        node = self._procedure.nodes[ask.id]
        assert isinstance(node, graph.HumanNode | graph.ModelNode)  # noqa: S101 - nobody else asks
        if node.exits:
            return Answer(next((name for name in node.exits if name in self._run.by_key), "end"))
        if not node.path:
            return Answer(node.about in self._run.by_key)
        step = self._run.by_key.get(node.about)
        if step is None:
            return Answer(given=False)
        if node.answer == "array":
            return Answer(self._run.element_values(node.about, node.path))
        given = self._run.given(node.about)
        return Answer(given[node.path]) if node.path in given else Answer(given=False)

    def judged(self, ending: Ending) -> Replayed:
        """What an end without a wrong call is worth: all kept calls, or too few."""
        trace = self._run.trace.id
        if ending.escalation is not None:
            stopped = ending.escalation
            return Replayed(trace, Result.ESCALATED, stopped.node, f"{stopped.reason}: {stopped.observed}")
        left = [call for step in self._run.steps for call in step.calls if call.index not in self._made]
        if left:
            changed = any(call.effect.is_final for call in left)
            says = f"it ends without {', '.join(sorted({call.name for call in left}))}"
            return Replayed(trace, Result.WRONG, self._run.keys[left[0].index], says, changed)
        return Replayed(trace, Result.SAME)

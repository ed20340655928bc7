"""Runs a tree procedure without a network, a clock or a disk: it says what is to be called, and hears the answer.

The requests and replies are those of `stretto.procedure.exchange`, so that one driver runs both kinds. Every call
stands alone, and nobody is asked. The same answers give the same requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from stretto.procedure.exchange import Answer, Calls, Make
from stretto.procedure.trees.actions import read_action
from stretto.procedure.trees.binding import bind
from stretto.procedure.trees.state import State
from stretto.procedure.trees.symbols import spaced

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from random import Random

    from stretto.procedure.exchange import Done, Reply
    from stretto.procedure.trees.actions import Action
    from stretto.procedure.trees.model import Leaf, TreeProcedure
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["TreeEnding", "Verdict", "play_trees"]

#: ``resolved``: the check passed. ``transferred``: passed to a person. ``hand_back``: somebody has to go on.
Verdict: TypeAlias = Literal["resolved", "transferred", "hand_back"]


@dataclass(frozen=True, slots=True)
class TreeEnding:
    """How a run ended.

    Attributes:
        made: the calls that were made, in order, with what came of them; the check's not among them.
        check: the probe and what it returned, as text; None where nothing was checked.
        verdict: see `Verdict`.
    """

    made: tuple[tuple[Make, Done], ...]
    check: tuple[str, str] | None
    verdict: Verdict

    def to_json(self) -> JsonObject:
        """The ending as the original prints it; ``check`` is left out where nothing was checked."""
        calls: list[JsonValue] = [
            {"tool": make.tool, "arguments": make.args, "failed": not done.ok} for make, done in self.made
        ]
        value: JsonObject = {"calls": calls}
        if self.check is not None:
            value["check"] = list(self.check)
        return {**value, "verdict": self.verdict}


def play_trees(
    procedure: TreeProcedure, ticket: str, *, chance: Random | None = None
) -> Generator[Calls, Reply, TreeEnding]:
    """Run a procedure on a ticket.

    Args:
        procedure: as it was read from a file or fitted.
        ticket: what is asked, as text; data, and nothing else.
        chance: draws the order in which actions of a leaf are tried, by their counts, to practise; None tries them as
            they stand.
    """
    run = _Run(procedure, ticket, chance)
    while len(run.made) < procedure.max_calls:
        chosen = run.choose()
        if chosen is None:
            break
        make, done = yield from run.make(*chosen)
        if make.tool == procedure.handoff:
            # A hand-over that failed has reached nobody: whoever started the run has to go on.
            return TreeEnding(tuple(run.made), None, "transferred" if done.ok else "hand_back")
    return (yield from run.check())


class _Run:
    def __init__(self, procedure: TreeProcedure, ticket: str, chance: Random | None) -> None:
        self.procedure = procedure
        self.chance = chance
        self.state = State(ticket, procedure.vocab, frozenset(procedure.reads), symbolic=procedure.symbolic)
        self.made: list[tuple[Make, Done]] = []

    def choose(self) -> tuple[Action, JsonObject] | None:
        """The first action that can be made and is no repeat, with its arguments; None to stop."""
        leaf = self.procedure.leaf(self.state.site, self.state.features())
        for text in _in_order(leaf, self.chance):
            if text == self.procedure.stop:
                return None
            action = read_action(text, symbolic=self.procedure.symbolic)
            arguments = bind(action, self.state) if self.procedure.symbolic else dict(action.arguments)
            if action.tool == self.procedure.handoff and not action.arguments:
                arguments = dict(self.procedure.handoff_arguments)
            if arguments is not None and not self.state.is_repeat(action.tool, arguments):
                return action, arguments
        return None

    def make(self, action: Action, arguments: JsonObject) -> Generator[Calls, Reply, tuple[Make, Done]]:
        effect = "read" if self.state.is_read(action.tool) else "unknown"
        make = Make(f"call-{len(self.made) + 1}", self.state.site, "", action.tool, arguments, effect)
        done = yield from _ask(make)
        self.made.append((make, done))
        self.state.took(action.text, action.tool, arguments, done.output, ok=done.ok)
        return make, done

    def check(self) -> Generator[Calls, Reply, TreeEnding]:
        check = self.procedure.check_for(self.state.ticket)
        if check is None:
            return TreeEnding(tuple(self.made), None, "hand_back")
        done = yield from _ask(Make("check", "check", "", check.probe, {}, "read"))
        try:
            text = done.output if isinstance(done.output, str) else spaced(done.output)
        except ValueError:  # nested too deeply to be read as a text
            return TreeEnding(tuple(self.made), (check.probe, ""), "hand_back")
        resolved = done.ok and check.passes(text)
        return TreeEnding(tuple(self.made), (check.probe, text), "resolved" if resolved else "hand_back")


def _ask(make: Make) -> Generator[Calls, Reply, Done]:
    reply = yield Calls((make,))
    assert not isinstance(reply, Answer)  # noqa: S101 - the contract of `play_trees`
    (done,) = reply
    return done


def _in_order(leaf: Leaf, chance: Random | None) -> Iterable[str]:
    if chance is None:
        return [text for text, _ in leaf.calls]
    # Sorted so, the first is each action with the chance of its share (P. Efraimidis and P. Spirakis, 2006).
    keyed = [(chance.random() ** (1 / count) if count else -1.0, text) for text, count in leaf.calls]
    return [text for _, text in sorted(keyed, key=lambda each: -each[0])]

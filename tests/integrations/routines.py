"""An agent of one habit, for every framework: what its model asks for, what its tools answer, what it must be shown.

A framework's test makes its own tools and its own fake model from this; the model asks for one turn of a script after
the other. Nothing here is of any framework.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.conftest import ROOT
from waggle import Lookup, Manager, ManagerConfig, Result, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The calls that a model asks for at once: names of tools and their arguments.
Turn: TypeAlias = "list[tuple[str, dict[str, Any]]]"

#: What this agent always does, and the write that ends it.
ROUND: list[Turn] = [
    [("orders_of", {"who": "ada"})],
    [("order", {"number": "7"})],
    [("order", {"number": "8"})],
    [("ship", {"number": "7"})],
]

#: Often enough to be learned in one conversation, and once more.
HABIT: list[Turn] = ROUND * 6

READS = ("orders_of", "order", "record", "broken")


def answer(tool: str, value: str) -> str:
    """What a tool of this agent answers."""
    return f"{tool} of {value}"


def habitual(*, reads: Sequence[str] = READS, strategies: Sequence[Any] = ()) -> Manager:
    """A manager that learns after every call, in memory; `reads` is the user's word on the tools."""
    manager = Manager(ManagerConfig(sweep_calls=1), strategies=strategies)
    manager.tools.allow(*reads)
    return manager


class Script:
    """The turns of a model, one after the other; then it is done."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns: Iterator[Turn] = iter(turns)
        self._calls = 0

    def next(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The id, tool and arguments of each call to ask for now; none when the model is done."""
        asked = []
        for tool, args in next(self._turns, []):
            self._calls += 1
            asked.append((f"call-{self._calls}", tool, args))
        return asked


class Broken:
    """A strategy that raises whenever it is asked."""

    name = "broken"

    def __init__(self, session: str = "") -> None:
        self.session = session

    def observe(self, step: Step, result: Result) -> None:
        return

    def propose(self) -> Lookup | None:
        raise ZeroDivisionError

    def settle(self, lookup: Lookup, result: Result) -> None:
        raise ZeroDivisionError


def asked_for(turns: Sequence[Turn]) -> list[tuple[str, dict[str, Any]]]:
    """The calls of a script in order."""
    return [call for turn in turns for call in turn]


def check_folds(shown: Sequence[str], turns: Sequence[Turn] = HABIT) -> None:
    """Know that a model saw each tool's own result, and in the last round the next read in an earlier result.

    Args:
        shown: the results that the model was shown, one for each call of `turns`, in order.
        turns: what the model asked for.
    """
    calls = asked_for(turns)
    assert len(shown) == len(calls)
    for text, (tool, args) in zip(shown, calls, strict=True):
        assert text.startswith(answer(tool, *args.values())), text
    assert any("<waggle-fold>" in text and answer("order", "8") in text for text in shown[-4:-2]), shown[-4:-2]
    assert not any("waggle-fold" in text for text in shown[:8])


def check_observed(manager: Manager, conversation: str, turns: Sequence[Turn]) -> None:
    """Know that a conversation holds exactly the calls of the agent: no lookup is among them, and none is missing."""
    steps = manager.session(conversation).steps()
    assert sorted(step.tool for step in steps) == sorted(tool for tool, _ in asked_for(turns))


def check_example(name: str) -> None:
    """Know that an example runs, and shows what it promises."""
    command = [sys.executable, str(ROOT / "examples" / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "<waggle-lookup>" in done.stdout


def check_own(shown: Sequence[str], turns: Sequence[Turn]) -> None:
    """Know that each result that a model was shown begins with what its tool answered."""
    for text, (tool, args) in zip(shown, asked_for(turns), strict=True):
        assert text.startswith(answer(tool, *args.values())), text

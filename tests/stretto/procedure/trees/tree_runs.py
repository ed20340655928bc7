"""Small tree procedures and runs of them, as tests tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.procedure.exchange import Done
from stretto.procedure.trees.model import Leaf, Provenance, Split, TreeProcedure
from stretto.procedure.trees.running import play_trees
from stretto.procedure.trees.state import State
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, User
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stretto.procedure.exchange import Make
    from stretto.procedure.trees.model import Node
    from stretto.procedure.trees.running import TreeEnding
    from stretto.sessions.episode import Event

STOPS = Leaf((("stop", 1),))


def leaf(*actions: str) -> Leaf:
    """A leaf of actions in trying order."""
    return Leaf(tuple((action, len(actions) - number) for number, action in enumerate(actions)))


def split(feature: str, yes: Node, no: Node) -> Split:
    """A question."""
    return Split(feature, yes, no)


def procedure(trees: Mapping[str, Node], **more: Any) -> TreeProcedure:
    """A procedure that stops wherever no tree says anything else."""
    fields: dict[str, Any] = {"reads": ("look", "list", "probe"), "symbolic": True, "fallback": STOPS, **more}
    return TreeProcedure("shop", Provenance(), trees=trees, **fields)


def run(
    tree: TreeProcedure, ticket: str, answers: Callable[[Make], Done] = lambda _: Done(ok=True, output={})
) -> tuple[TreeEnding, list[Make]]:
    """Run a procedure; every call, the check's too, and how it ended."""
    made: list[Make] = []
    play = play_trees(tree, ticket)
    try:
        request = next(play)
        while True:
            made += request.makes
            request = play.send([answers(make) for make in request.makes])
    except StopIteration as stop:
        return stop.value, made


def state(ticket: str = "", *returned: tuple[str, Any], symbolic: bool = True, vocab: tuple[str, ...] = ()) -> State:
    """A state after calls without arguments that returned something."""
    made = State(ticket, vocab, {"look", "list", "probe", *(tool for tool, _ in returned)}, symbolic=symbolic)
    for tool, output in returned:
        made.took(tool, tool, {}, output, ok=True)
    return made


def session(
    ticket: str, *calls: tuple[str, dict[str, Any], Any], task: str = "t", name: str = "", reward: float = 1.0
) -> Episode:
    """A solo session; an output that is an `Exception` is an error."""
    events: list[Event] = [User(ticket)]
    for number, (tool, arguments, output) in enumerate(calls):
        failed = isinstance(output, Exception)
        text = str(output) if failed or isinstance(output, str) else jsonvalue.dumps(output).decode()
        events.append(Assistant(calls=(ToolCall(f"c{number}", tool, arguments),)))
        events.append(ToolResult(f"c{number}", tool, error=failed, content=text))
    return Episode(name or f"{task}-{ticket}", tuple(events), task_id=task, domain="shop", reward=reward)

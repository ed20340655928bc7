"""A small flow written by hand, and a shop's tools that answer its lookups, for tests of deciding and serving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.bindings.model import Bindings, Slot, Source, SourceCounts
from stretto.flow.model import Flow, Provenance, Sites
from stretto.flow.program import STANDARD
from stretto.model.alphabet import StepOutcome, Vocabulary, symbol
from stretto.model.counts import Successions
from stretto.model.features import EMPTY
from stretto.sessions.manifest import Manifest, ToolDoc
from waggle import Result, jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stretto.sessions.manifest import Kind
    from waggle.jsonvalue import JsonObject

KINDS: dict[str, Kind] = {
    "find_user": "read",
    "get_user": "read",
    "get_order": "read",
    "get_stock": "read",
    "cancel_order": "write",
    "think": "generic",
}

#: One session: the user answers, is found and read, four orders are read, one is cancelled.
STEPS = ("", "find_user", "get_user", *["get_order"] * 4, "", "cancel_order", "")

ORDERS: dict[str, JsonObject] = {
    "#W1": {"id": "#W1", "total": 10},
    "#W2": {"id": "#W2", "total": 20},
    "#W3": {"id": "#W3", "total": 30},
}
USER: JsonObject = {"id": "u1", "name": "Ada Lovelace", "orders": [*ORDERS]}


def symbols(vocabulary: Vocabulary, steps: Iterable[str]) -> list[int]:
    """Symbols of steps that all went well; the empty name is a reply that was answered."""
    return [symbol(vocabulary.action(name or None), StepOutcome.OK if name else StepOutcome.REPLIED) for name in steps]


def shop_flow(*, sessions: int = 20, alpha: float = 1.0, called: Callable[[str], str] = str, **changes: Any) -> Flow:
    """The flow of so many equal sessions; every binding has the chance 21/22.

    Args:
        sessions: so many.
        alpha: concentration of the counts.
        called: what a tool is called in it.
        changes: fields to set.
    """
    kinds = {called(tool): kind for tool, kind in KINDS.items()}
    find_user, get_user, get_order = map(called, ("find_user", "get_user", "get_order"))
    vocabulary = Vocabulary(kinds)
    counts = Successions()
    for _ in range(sessions):
        steps = [tool and called(tool) for tool in STEPS]
        counts.add(symbols(vocabulary, steps), {vocabulary.action(called("cancel_order"))})
    values = {get_user: "user_id", get_order: "order_id"}
    found = {get_user: Source(find_user, "$"), get_order: Source(get_user, "$.orders[*]")}
    agreed = ((sessions, sessions), (sessions, sessions))
    flow = Flow(
        provenance=Provenance("0", habit_episodes=sessions),
        vocabulary=vocabulary,
        manifest=Manifest("shop", kinds, {get_order: ToolDoc("Read an order")}),
        features=EMPTY,
        habit=counts.habit(alpha, vocabulary.size),
        reach=counts.reach(alpha, vocabulary.size),
        sites=Sites(
            reads=tuple(sorted(name for name, kind in kinds.items() if kind == "read")),
            next={
                (find_user, False): {get_user: sessions},
                (get_user, False): {get_order: sessions},
                (get_order, False): {get_order: sessions},
            },
        ),
        bindings=Bindings(
            args={tool: (sessions, {name: sessions}) for tool, name in values.items()},
            sources={
                Slot(tool, name): SourceCounts(sessions, {found[tool]: sessions}) for tool, name in values.items()
            },
            agreed=dict.fromkeys(values, agreed),
        ),
        program=STANDARD,
    )
    for name, value in changes.items():
        setattr(flow, name, value)
    return flow


def answer(tool: str, arguments: dict[str, Any]) -> Result:
    """What the shop's tools return."""
    if tool == "find_user":
        return Result("u1")
    if tool == "get_user":
        return Result(jsonvalue.dumps(USER).decode())
    if tool == "get_order" and arguments["order_id"] in ORDERS:
        return Result(jsonvalue.dumps(ORDERS[arguments["order_id"]]).decode())
    return Result(f"{tool} failed", ok=False)

"""Sessions in a made-up retail shop, for the flow of five sessions that ships with the tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stretto.flow.file import read_flow
from tests.stretto.episodes import called, episode, replied, said, together
from waggle import jsonvalue

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from stretto.flow.model import Flow
    from stretto.sessions.episode import Episode, Event
    from waggle.jsonvalue import JsonObject, JsonValue

DATA = Path(__file__).resolve().parent.parent / "data"


def retail_flow() -> Flow:
    """Learned by the original from five sessions; it serves ``habit`` only."""
    return read_flow(DATA / "retail-5-sessions.flow.json")


def by_email(user: str = "user_7") -> list[Event]:
    return called("find_user_id_by_email", {"email": f"{user}@mail.invalid"}, user)


def details(*orders: str, user: str = "user_7") -> list[Event]:
    return called("get_user_details", {"user_id": user}, {"orders": list(orders)})


def orders(*names: str) -> list[Event]:
    """All asked for in one turn."""
    return together(*map(_order, names))


def _order(name: str) -> tuple[str, JsonObject, JsonValue]:
    return "get_order_details", {"order_id": name}, {"order_id": name, "items": [{"product_id": f"p{name[1:]}"}]}


def cancelled(name: str) -> list[Event]:
    return called("cancel_pending_order", {"order_id": name, "reason": "no longer needed"}, {"order_id": name})


def usual(name: str, *names: str) -> Episode:
    """What the flow was learned from: e-mail, user, the orders one by one, and a write."""
    shown = names or ("#W1", "#W2")
    return episode(
        said("I want to cancel an order."),
        replied("What is your e-mail?"),
        said("user_7@mail.invalid"),
        by_email(),
        details(*shown),
        *(orders(one) for one in shown),
        replied("Which one?"),
        said("The last one."),
        cancelled(shown[-1]),
        replied(),
        name=name,
    )


def varied(name: str, draw: random.Random) -> Episode:
    """As the usual ones, with one to five orders, each of which may be talked about or looked into."""
    shown = [f"#W{n}" for n in range(draw.randint(3, 5))]
    events: list[Event] = [said("Hello."), replied("Your e-mail?"), said("user_7@mail.invalid"), *by_email()]
    if draw.random() < 0.3:
        events += [replied("Is that you?"), said("Yes.")]
    events += details(*shown)
    for one in shown:
        events += orders(one)
        if draw.random() < 0.3:
            events += called("get_product_details", {"product_id": f"p{one[2:]}"}, {"name": "shoe"})
        if draw.random() < 0.3:
            events += [replied("This one?"), said("No.")]
    return episode(*events, cancelled(shown[-1]), replied(), name=name)


def hasty(name: str) -> Episode:
    """An agent that asks back instead of reading on."""
    return episode(
        said("I want to cancel an order."),
        by_email(),
        replied("Which order?"),
        said("The last one."),
        details("#W1", "#W2"),
        cancelled("#W2"),
        replied(),
        name=name,
    )


def strange(name: str) -> Episode:
    """An agent with tools that training never saw."""
    return episode(
        said("I want to cancel an order."),
        called("search_customers", {"query": "user_7"}, {"found": ["user_7"]}),
        called("list_orders", {"user_id": "user_7"}, {"orders": ["#W1"]}),
        by_email(),
        called("get_order_history", {"user_id": "user_7"}, "2 orders"),
        replied(),
        name=name,
    )


def shown(value: JsonValue) -> str:
    """A result as a golden file keeps it: platforms differ in the last digits of logarithms."""
    return jsonvalue.pretty(_rounded(value))


def _rounded(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


def sessions() -> Sequence[Episode]:
    """A handful of each."""
    return (
        usual("s1"),
        usual("s2", "#W4", "#W5", "#W6"),
        hasty("s3"),
        usual("s4", "#W8"),
        hasty("s5"),
        strange("s6"),
    )

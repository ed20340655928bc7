"""A small shop: its flow, counted by hand, and sessions in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.bindings.model import Bindings, Slot, Source, SourceCounts
from stretto.flow.model import Flow, Provenance, Sites
from stretto.flow.program import STANDARD
from stretto.model.alphabet import RESPOND, Vocabulary
from stretto.model.counts import Backoff, Habit
from stretto.model.features import EMPTY
from stretto.sessions.manifest import Manifest
from tests.stretto.episodes import called, episode, replied, said, together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.sessions.episode import Episode, Event
    from waggle.jsonvalue import JsonObject, JsonValue

SHOP = Manifest(
    "shop",
    {
        "find_user": "read",
        "get_user": "read",
        "get_order": "read",
        "clock": "read",
        "cancel": "write",
        "think": "generic",
    },
)


def shop_flow(*, likely: Sequence[str] = ("get_user", "get_order"), agreed: tuple[int, int] = (8, 8)) -> Flow:
    """Find, then the user, then every order: each lookup in `likely` came before the next write in 10 of 10."""
    vocabulary = Vocabulary(SHOP.tools)
    reach = Backoff(1.0, vocabulary.size)
    habit = Habit(Backoff(1.0, vocabulary.size), 1.0)
    for _ in range(10):
        reach.observe((), [vocabulary.action(tool) for tool in likely])
        habit.observe((), RESPOND)
    own = (agreed, (0, 0))
    return Flow(
        Provenance("0"),
        vocabulary,
        SHOP,
        EMPTY,
        habit,
        reach,
        Sites(
            SHOP.reads,
            {
                ("find_user", False): {"get_user": 9},
                ("get_user", False): {"get_order": 9},
                ("get_order", False): {"get_order": 9},
                ("cancel", False): {"get_order": 9},
            },
        ),
        Bindings(
            args={"find_user": (9, {"email": 9}), "get_user": (9, {"user": 9}), "get_order": (9, {"order": 9})},
            sources={
                Slot("get_user", "user"): SourceCounts(9, {Source("find_user", "$"): 9}),
                Slot("get_order", "order"): SourceCounts(9, {Source("get_user", "$.orders[*]"): 9}),
            },
            agreed={"get_user": own, "get_order": own},
        ),
        STANDARD,
    )


def find(user: str = "u-7") -> list[Event]:
    return called("find_user", {"email": "a@b.c"}, user)


def user(*orders: str, name: str = "u-7") -> list[Event]:
    return called("get_user", {"user": name}, {"orders": list(orders)})


def order(*names: str) -> list[Event]:
    calls: list[tuple[str, JsonObject, JsonValue]] = [
        ("get_order", {"order": name}, {"id": name, "items": ["shoe"]}) for name in names
    ]
    return together(*calls)


def cancel(name: str) -> list[Event]:
    return called("cancel", {"order": name}, {"cancelled": name})


def worked_example() -> Episode:
    """One turn each: the e-mail, the user, orders A and B together, a reply, cancelling A, a reply."""
    return episode(
        said("Cancel my order."),
        find(),
        user("#A1", "#B1", "#C1"),
        order("#A1", "#B1"),
        replied("Which?"),
        said("The first."),
        cancel("#A1"),
        replied(),
        name="worked",
    )

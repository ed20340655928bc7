"""The shop of ``stretto-mcp-demo``: a few customers, their orders, and the tools that read and cancel them.

Not responsible for the wire (`stretto.proxy.demo_server`). The data is the same in every process; only a cancellation
changes it, and only until the process ends.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["TOOLS", "Shop", "UnknownToolError"]

_CUSTOMERS: Final = (
    "Ada Lovelace",
    "Alan Turing",
    "Barbara Liskov",
    "Claude Shannon",
    "Donald Knuth",
    "Edsger Dijkstra",
    "Frances Allen",
    "Grace Hopper",
    "Hedy Lamarr",
    "John Backus",
    "Katherine Johnson",
    "Margaret Hamilton",
)

#: Name and price in cents.
_PRODUCTS: Final = (("kettle", 3_490), ("desk lamp", 4_900), ("backpack", 7_995), ("headphones", 12_900))

_STATUSES: Final = ("pending", "delivered", "pending", "shipped")

_REASONS: Final = ("no longer needed", "ordered by mistake")


def _tool(name: str, description: str, *, write: bool = False, **properties: JsonObject) -> JsonObject:
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {key: {"type": "string", **value} for key, value in properties.items()},
            "required": [*properties],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": not write, "destructiveHint": write, "openWorldHint": False},
    }


_EMAIL: Final[JsonObject] = {"description": "Such as ada.lovelace@example.com"}
_USER: Final[JsonObject] = {"description": "Such as ada_lovelace_1000"}
_ORDER: Final[JsonObject] = {"description": "Such as #W1000"}

#: The tools as ``tools/list`` gives them, in this order.
TOOLS: Final[tuple[JsonObject, ...]] = (
    _tool("find_user_id_by_email", "Find a customer's id by the email address.", email=_EMAIL),
    _tool("get_user_details", "A customer's name, address and orders.", user_id=_USER),
    _tool("get_order_details", "An order's status, items and total.", order_id=_ORDER),
    {
        **_tool("list_orders", "A customer's orders with their status.", user_id=_USER),
        "outputSchema": {
            "type": "object",
            "properties": {
                "orders": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"order_id": {"type": "string"}, "status": {"type": "string"}},
                        "required": ["order_id", "status"],
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["orders"],
            "additionalProperties": False,
        },
    },
    _tool(
        "cancel_order",
        "Cancel a pending order. This cannot be undone.",
        write=True,
        order_id=_ORDER,
        reason={"enum": [*_REASONS]},
    ),
)


class UnknownToolError(LookupError):
    """The shop has no tool of this name."""


class _FailedError(Exception):
    """What a tool answers instead of a result; its text is for the model."""


class Shop:
    """The customers and orders of one process. Not safe for threads."""

    def __init__(self) -> None:
        self._users: dict[str, JsonObject] = {}
        self._orders: dict[str, JsonObject] = {}
        number = 1_000
        for place, name in enumerate(_CUSTOMERS):
            first, last = name.lower().split()
            user_id = f"{first}_{last}_{1_000 + 37 * place}"
            orders: list[JsonValue] = []
            for _ in range(1 + place % 3):
                orders.append(order_id := f"#W{number}")
                self._orders[order_id] = _order(order_id, user_id, number)
                number += 1
            self._users[user_id] = {
                "user_id": user_id,
                "name": name,
                "email": f"{first}.{last}@example.com",
                "address": {"street": f"{12 + place} Analytical Road", "city": "London", "zip": f"N{place + 1}"},
                "orders": orders,
            }
        self._tools: dict[str, Callable[..., JsonObject]] = {
            "find_user_id_by_email": self._find_user,
            "get_user_details": self._user,
            "get_order_details": self._order,
            "list_orders": self._list,
            "cancel_order": self._cancel,
        }

    def call(self, name: str, arguments: JsonObject) -> JsonObject:
        """Call a tool.

        Args:
            name: one of `TOOLS`.
            arguments: by name.

        Returns:
            The ``result`` of a ``tools/call``; one with ``isError`` where the arguments do not fit or nothing is found.

        Raises:
            UnknownToolError: no such tool.
        """
        tool = next((tool for tool in TOOLS if tool["name"] == name), None)
        if tool is None:
            raise UnknownToolError(name)
        try:
            _check(tool["inputSchema"], arguments)
            return self._tools[name](**arguments)
        except _FailedError as failed:
            return {**_text(str(failed)), "isError": True}

    def _find_user(self, email: str) -> JsonObject:
        for user_id, user in self._users.items():
            if user["email"] == email:
                return _text(user_id)
        raise _FailedError("User not found")

    def _user(self, user_id: str) -> JsonObject:
        if user_id not in self._users:
            raise _FailedError("User not found")
        return _text(_dump(self._users[user_id]))

    def _order(self, order_id: str) -> JsonObject:
        return _text(_dump(self._known(order_id)))

    def _list(self, user_id: str) -> JsonObject:
        if user_id not in self._users:
            raise _FailedError("User not found")
        orders: JsonValue = [
            {"order_id": order["order_id"], "status": order["status"]}
            for order in self._orders.values()
            if order["user_id"] == user_id
        ]
        return {**_text(_dump({"orders": orders})), "structuredContent": {"orders": orders}}

    def _cancel(self, order_id: str, reason: str) -> JsonObject:
        order = self._known(order_id)
        if order["status"] != "pending":
            raise _FailedError(f"Order {order_id} is {order['status']}, only a pending order can be cancelled")
        order.update(status="cancelled", cancel_reason=reason)
        return _text(_dump(order))

    def _known(self, order_id: str) -> JsonObject:
        if order_id not in self._orders:
            raise _FailedError("Order not found")
        return self._orders[order_id]


def _order(order_id: str, user_id: str, number: int) -> JsonObject:
    chosen = [_PRODUCTS[number % 4], _PRODUCTS[(number + 1) % 4]][: 1 + number % 2]
    return {
        "order_id": order_id,
        "user_id": user_id,
        "status": _STATUSES[number % 4],
        "items": [{"product": name, "price": cents / 100} for name, cents in chosen],
        "total": sum(cents for _, cents in chosen) / 100,
    }


def _check(schema: JsonValue, arguments: JsonObject) -> None:
    assert isinstance(schema, dict)  # noqa: S101 - one of `TOOLS`
    properties = schema["properties"]
    assert isinstance(properties, dict)  # noqa: S101 - likewise
    for name in properties:
        if name not in arguments:
            raise _FailedError(f"Missing argument: {name}")
    for name, value in arguments.items():
        if name not in properties:
            raise _FailedError(f"Unknown argument: {name}")
        if not isinstance(value, str):
            raise _FailedError(f"{name} must be a string")
    if arguments.get("reason", _REASONS[0]) not in _REASONS:
        raise _FailedError(f"reason must be one of: {', '.join(_REASONS)}")


def _text(text: str) -> JsonObject:
    return {"content": [{"type": "text", "text": text}]}


def _dump(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)

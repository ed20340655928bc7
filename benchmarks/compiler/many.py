"""Many traces of one intent, as long as they are asked for: what compiling costs. Seeded.

Each is a refund in a shop with a login, a record, an order of which one item is chosen by its name, further steps that
hand an id on, a read that is repeated, one that is of no use, an attempt that fails, an optional step behind a guard,
and outputs with lists and ids that nothing uses.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from stretto.compiler.model import Call, Effect, Trace

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["many_traces"]

_NAMES = ("kettle", "toaster", "lamp", "chair", "desk", "mug", "rug", "clock", "vase", "shelf", "stool", "fan")


def many_traces(count: int, length: int = 30, *, seed: int = 0) -> list[Trace]:
    """Traces of about so many calls each; 16 or more."""
    draw = random.Random(seed)
    return [_Maker(number, length, draw).trace() for number in range(count)]


class _Maker:
    def __init__(self, number: int, length: int, draw: random.Random) -> None:
        self._number = number
        self._length = length
        self._draw = draw
        self._calls: list[Call] = []

    def trace(self) -> Trace:
        order, mail = f"A-{10000 + self._number}", f"user{self._number}@example.com"
        login: JsonObject = {"user": "svc@shop"}
        if self._number % 10 == 3:  # noqa: PLR2004 - one in ten
            self._call("shop.login", login, {"error": "busy"}, Effect.AUTH, ok=False)
        token = self._id("tk")
        self._call("shop.login", login, {"token": token}, Effect.AUTH)
        self._call("crm.get_profile", {"email": mail, "token": token}, self._record())
        items = self._items()
        chosen = self._draw.choice(items)
        total = self._draw.randrange(1000, 90000)
        found: dict[str, Any] = {
            "id": order,
            "items": items,
            "payment": {"id": self._id("pay"), "method": "card"},
            "total": total,
            "state": "open" if self._number % 4 else "held",
        }
        for _ in range(2 if self._number % 5 == 1 else 1):
            self._call("shop.get_order", {"order_id": order, "token": token}, found)
        self._call("shop.get_item", {"sku": chosen["sku"], "token": token}, {"stock": self._draw.randrange(10)})
        if self._number % 7 == 2:  # noqa: PLR2004 - one in seven
            self._call("shop.list_offers", {"token": token}, {"offers": [self._id("of") for _ in range(5)]})
        self._further(str(found["payment"]["id"]), token)
        if not self._number % 4:
            self._call("shop.release", {"order_id": order, "token": token}, {"ok": True}, Effect.WRITE)
        refund = self._id("rf")
        paid: JsonObject = {"payment_id": found["payment"]["id"], "amount": total, "token": token}
        self._call("shop.refund", paid, {"refund_id": refund}, Effect.IRREVERSIBLE)
        told: JsonObject = {"to": mail, "template": "refund_ok", "refund_id": refund}
        self._call("mail.send_template", told, {"sent": True}, Effect.IRREVERSIBLE)
        request = f"Refund the {chosen['name']} of order {order} for {mail}"
        return Trace(f"t{self._number:05d}", request, tuple(self._calls), answer=f"Done: {refund}")

    def _further(self, handed: str, token: str) -> None:
        """Steps that each hand an id on to the next, until there are as many as asked for."""
        number = 0
        while len(self._calls) < self._length - 3:
            number += 1
            given, new = handed, self._id("r")
            rows: list[JsonValue] = [
                {"id": self._id("x"), "value": self._draw.randrange(10**6), "text": f"row {self._draw.randrange(999)}"}
                for _ in range(self._draw.randrange(1, 8))
            ]
            output: JsonObject = {"ref": new, "echo": given, "rows": rows}
            self._call(f"app{number % 4}.step{number}", {"ref": given, "token": token, "mode": "full"}, output)
            handed = new

    def _record(self) -> JsonObject:
        tier = self._draw.choice(["gold", "basic"])
        return {"customer_id": self._id("C"), "tier": tier, "since": f"20{self._draw.randrange(10, 25)}-03-01"}

    def _items(self) -> list[Any]:
        names = self._draw.sample(_NAMES, self._draw.randrange(2, 6))
        return [{"sku": self._id("SKU"), "name": name, "price": self._draw.randrange(1000, 9999)} for name in names]

    def _id(self, kind: str) -> str:
        return f"{kind}_{self._draw.getrandbits(40):010x}"

    def _call(
        self, name: str, args: JsonObject, output: JsonValue, effect: Effect = Effect.READ, *, ok: bool = True
    ) -> None:
        app, _, action = name.partition(".")
        at = 2 * len(self._calls)
        call = Call(at, at + 1, app, action, dict(args), output, ok=ok, effect=effect, raw_name=name)
        self._calls.append(call)

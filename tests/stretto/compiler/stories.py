"""Small traces to compile, written the way they are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stretto.compiler.model import UNLOGGED, Call, Effect, Trace, Utterance
from stretto.compiler.schemas import Tools, ToolSchema
from stretto.compiler.settings import CompilerSettings
from stretto.compiler.steps import Run
from stretto.compiler.tracing import Tracing

if TYPE_CHECKING:
    from stretto.compiler.model import Output

#: What the actions of the stories do; all others read.
EFFECTS = {
    "shop.login": Effect.AUTH,
    "mail.login": Effect.AUTH,
    "shop.refund": Effect.IRREVERSIBLE,
    "mail.send": Effect.IRREVERSIBLE,
    "mail.send_template": Effect.IRREVERSIBLE,
    "pay.send": Effect.IRREVERSIBLE,
    "cart.add": Effect.WRITE,
    "cart.clear": Effect.WRITE,
    "pay.transfer": Effect.IRREVERSIBLE,
    "shop.expedite": Effect.WRITE,
    "mail.attach": Effect.WRITE,
}


@dataclass
class Story:
    """A trace as it is told: what is asked, then call after call."""

    request: str
    id: str = "t"
    context: str = ""
    at: int = 0
    calls: list[Call] = field(default_factory=list)
    utterances: list[Utterance] = field(default_factory=list)
    answer: str = ""

    def call(self, name: str, args: dict[str, Any] | None = None, output: Any = UNLOGGED, **more: Any) -> Story:
        """A call and its result; errors with ``ok=False``."""
        app, _, action = name.partition(".")
        effect = more.pop("effect", EFFECTS.get(name, Effect.READ))
        start, self.at = self.at, self.at + 2
        self.calls.append(Call(start, start + 1, app, action, args or {}, output, effect=effect, raw_name=name, **more))
        return self

    def says(self, text: str) -> Story:
        """The user says something."""
        self.utterances.append(Utterance(self.at, text))
        self.at += 1
        return self

    def answers(self, text: str) -> Story:
        """The agent answers."""
        self.answer = text
        return self

    @property
    def trace(self) -> Trace:
        """The trace so far."""
        calls, utterances = tuple(self.calls), tuple(self.utterances)
        return Trace(self.id, self.request, calls, self.context, utterances, answer=self.answer)

    def run(self, tools: Tools | None = None, settings: CompilerSettings | None = None) -> Run:
        """The trace as steps."""
        return Run(Tracing(self.trace, tools or Tools(), settings or CompilerSettings()))


def profile(story: Story, customer: str = "C-9041", email: str = "nina@example.com", **more: Any) -> Story:
    """The customer's record."""
    return story.call("crm.get_profile", {"email": email}, {"customer_id": customer, "tier": "gold", **more})


def orders(story: Story, customer: str = "C-9041", **more: Any) -> Story:
    """The customer's orders."""
    return story.call("shop.list_orders", {"customer_id": customer, **more}, [])


SHOP = Tools(
    {
        "shop.login": ToolSchema(secrets=frozenset(["password"])),
    }
)

#: Three runs of one intent; see `refunds`.
REFUNDS = (
    ("A-5531", "nina@example.com", "tk_9f31", "pay_77ab", 4200, "rf_3e10"),
    ("A-6120", "otto@example.com", "tk_1c77", "pay_90cc", 1999, "rf_4a02"),
    ("A-7004", "ida@example.com", "tk_77e0", "pay_12fe", 15050, "rf_5b19"),
)


def refund(number: int, *, profile_output: Output | None = None, **profile_more: Any) -> Story:
    """The run of a refund: 0 with documentation and a repeat, 1 with a failed login, 2 with a record of no use."""
    order, email, token, payment, total, done = REFUNDS[number]
    login = {"user": "svc@shop", "password": "hunter2hunter2"}
    story = Story(f"Refund order {order} for {email}", id=f"R{number + 1}")
    if number == 0:
        story.call("docs.show_tool", {"tool": "shop.get_order"}, "get_order(order_id)", discovery=True)
    if number == 1:
        story.call("shop.login", login, {"error": "busy"}, ok=False)
    story.call("shop.login", login, {"token": token})
    found: dict[str, Any] = {"id": order, "payment_id": payment, "total": total}
    for _ in range(2 if number == 0 else 1):
        story.call("shop.get_order", {"order_id": order, "token": token}, dict(found))
    if number == 2:
        output: Any = {"customer_id": "C-3307", "tier": "gold"} if profile_output is None else profile_output
        story.call("crm.get_profile", {"email": email}, output, **profile_more)
    story.call("shop.refund", {"payment_id": payment, "amount": total, "token": token}, {"refund_id": done})
    story.call("mail.send_template", {"to": email, "template": "refund_ok", "refund_id": done}, {"sent": True})
    return story.answers(f"Done: {done}")


def refunds(**last: Any) -> list[Story]:
    """All three."""
    return [refund(0), refund(1), refund(2, **last)]

"""Small traces to compile, written the way they are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stretto.compiler.model import UNLOGGED, Call, Effect, Trace, Utterance
from stretto.compiler.schemas import Tools
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

    def call(self, name: str, args: dict[str, Any] | None = None, output: Output = UNLOGGED, **more: Any) -> Story:
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

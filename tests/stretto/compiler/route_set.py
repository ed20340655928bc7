"""Requests with their right answers, made by hand-written grammars of wordings and values.

Ten intents are compiled from sessions whose requests have two or three wordings each. Requests are made of other
wordings and other values. Half of the wordings of every kind are for looking at while the router is worked on, the
other half is held out: the split is by wording, so that no held-out wording was seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from stretto.compiler.compiling import compile_traces
from stretto.compiler.model import Effect
from stretto.compiler.requests import index_of
from stretto.compiler.route import Candidate
from stretto.compiler.schemas import Tools
from stretto.compiler.settings import CompilerSettings
from tests.stretto.compiler.stories import Story

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["INTENTS", "Labelled", "candidates", "labelled"]

#: How often each wording is asked for, with other values.
_TIMES: Final = 3


@dataclass(frozen=True)
class Kind:
    """An intent.

    Attributes:
        name: of it.
        slots: what it needs, with the kind of value.
        effect: of its second call.
        members: the wordings of the sessions it is compiled from.
        same: other spellings of these that are to be routed, as all of `paraphrases` may be.
        paraphrases: other wordings.
        not_it: what must not be routed to it, nor to any other.
    """

    name: str
    slots: dict[str, str]
    effect: Effect
    members: tuple[str, ...]
    same: tuple[str, ...]
    paraphrases: tuple[str, ...]
    not_it: tuple[str, ...] = field(default=())


INTENTS: Final = (
    Kind(
        "refund",
        {"order": "order", "email": "email"},
        Effect.IRREVERSIBLE,
        ("Refund order {order} for {email}", "Give {email} the money back for order {order}"),
        (
            "refund  order {order} for {email}!",
            "Refund order ({order}) for <{email}>.",
            "REFUND ORDER {order} FOR {email}",
            "Give {email} the money back for order {order}, ...",
        ),
        (
            "Please refund order {order} for {email}",
            "Order {order} has to be refunded for {email}",
            "Can you refund {email} for order {order}?",
            "For {email} refund order {order}",
            "I would like a refund of order {order} for {email}",
            "Money back for order {order}, customer {email}",
        ),
        (
            "Do not refund order {order} for {email}",
            "Don't refund order {order} for {email}",
            "Never give {email} the money back for order {order}",
            "Refund order {order} for {email} tomorrow",
            "Refund half of order {order} for {email}",
            "Refund order {order} for {email} if they ask again",
            "Undo: refund order {order} for {email}",
            "Why did you refund order {order} for {email}",
            "Refund order {order}",
            "Refund for {email}",
            "Refund orders {order} and {order2} for {email}",
            "Refund order {order} {order2} for {email}",
            "Refund order {order} for {email} and {email2}",
            "Refund order for {email}",
            "Give {email} the money back for order {order} or {order2}",
            "Give {email} no money back for order {order}",
            "Give {email} the money back for order {order}, not {order2}",
            "If I refund order {order} for {email}, what happens",
            "Refund order {order} for {email} 50",
            "Refund order {date} for {email}",
        ),
    ),
    Kind(
        "cancel",
        {"order": "order"},
        Effect.IRREVERSIBLE,
        ("Cancel order {order}", "Please cancel my order {order}"),
        ("cancel order {order}.", "Cancel  order {order} !", "please cancel my order {order}", "CANCEL ORDER {order}"),
        (
            "Could you cancel order {order}",
            "My order {order}, please cancel it",
            "Cancel {order}",
            "I want order {order} cancelled",
        ),
        (
            "Do not cancel order {order}",
            "Please do not cancel my order {order}",
            "Cancel order",
            "Cancel order {order} and {order2}",
            "Cancel orders {order}, {order2}",
            "Cancel the cancellation of order {order}",
            "Cancel order {order} unless it has been sent",
            "Cancel all but order {order}",
            "Please cancel my order {order} next week",
            "Was order {order} cancelled",
            "Cancel everything except order {order}",
            "Cancel order {email}",
            "Please cancel not my order {order}",
            "Cancel nothing in order {order}",
        ),
    ),
    Kind(
        "reinstate",
        {"order": "order"},
        Effect.WRITE,
        ("Reinstate order {order}", "Please reinstate my order {order}"),
        (
            "reinstate order {order}",
            "Reinstate order {order}?!",
            "Please  reinstate my order “{order}”",
            "Reinstate order {order};",
        ),
        (
            "Bring order {order} back",
            "Reinstate the order {order}",
            "Reinstate {order}",
            "Can you reinstate order {order}",
        ),
        (
            "Do not reinstate order {order}",
            "Reinstate or cancel order {order}",
            "Please reinstate my order",
            "Reinstate order {order} {order2}",
            "Can order {order} be reinstated",
            "Reinstate order {order} only when it is paid",
            "Please never reinstate my order {order}",
            "Reinstate part of order {order}",
        ),
    ),
    Kind(
        "track",
        {"order": "order"},
        Effect.READ,
        ("Where is order {order}", "Track order {order}"),
        ("where is order {order}?", "Track order {order}.", "Where is order {order} ???", "track  ORDER {order}"),
        (
            "Where is my order {order}",
            "Tell me where order {order} is",
            "Has order {order} been sent",
            "What about order {order}",
        ),
        (
            "Where is order",
            "Where is order {order} or {order2}",
            "Stop tracking order {order}",
            "Track order {order} by {date}",
            "Where is the invoice of order {order}",
            "Do not track order {order}",
            "Where is order {order} going",
            "Track orders of {email}",
        ),
    ),
    Kind(
        "transfer",
        {"amount": "amount", "source": "account", "target": "account"},
        Effect.IRREVERSIBLE,
        ("Transfer {amount} from {source} to {target}", "Move {amount} from account {source} to account {target}"),
        (
            "transfer {amount} from {source} to {target}.",
            "Transfer {amount} FROM {source} TO {target}",
            "Move {amount} from account {source} to account {target}!",
            "Transfer {amount}, from {source}, to {target}",
        ),
        (
            "Transfer {amount} to {target} from {source}",
            "Move {amount} to account {target} from account {source}",
            "From {source} to {target}, transfer {amount}",
            "Send {amount} from {source} to {target}",
            "I need {amount} moved from account {source} to account {target}",
            "Transfer the {amount} from {source} to {target}",
        ),
        (
            "Do not transfer {amount} from {source} to {target}",
            "Transfer {amount} from {source}",
            "Transfer {amount} to {target}",
            "Transfer from {source} to {target}",
            "Transfer {amount} {source} {target}",
            "Transfer {amount} from {source} to {target} and {order}",
            "Transfer {amount} from {source} or {order} to {target}",
            "Transfer {amount} or 75 from {source} to {target}",
            "Transfer {amount} from {source} to {target} every month",
            "Transfer more than {amount} from {source} to {target}",
            "Transfer -{amount} from {source} to {target} back",
            "Move {amount} from account {source} not to account {target}",
            "Move {amount} from account to account {target}",
            "Can I transfer {amount} from {source} to {target}",
            "Transfer {amount} from to {source} {target}",
            "Transfer {amount}% from {source} to {target}",
            "Transfer {amount} EUR from {source} to {target}",
        ),
    ),
    Kind(
        "address",
        {"customer": "customer", "email": "email"},
        Effect.WRITE,
        ("Change the e-mail of customer {customer} to {email}", "Customer {customer} now has the e-mail {email}"),
        (
            "change the e-mail of customer {customer} to {email}.",
            "Change the E-Mail of customer {customer} to <{email}>",
            "Customer {customer} now has the e-mail {email}!",
            "customer {customer} NOW has the e-mail {email}",
        ),
        (
            "Set the e-mail of {customer} to {email}",
            "{email} is the new e-mail of customer {customer}",
            "Please change the e-mail of customer {customer} to {email}",
            "Change customer {customer}: e-mail {email}",
        ),
        (
            "Do not change the e-mail of customer {customer} to {email}",
            "Change the e-mail of customer {customer}",
            "Change the e-mail of customer {customer} from {email} to {email2}",
            "Change the e-mail of customer {customer} to {email} or {email2}",
            "Change the e-mail of customers {customer} and {order} to {email}",
            "Customer {customer} no longer has the e-mail {email}",
            "Customer {customer} never had the e-mail {email}",
            "Customer {customer} now has the e-mail {email} too",
            "Change the phone of customer {customer} to {email}",
            "Who changed the e-mail of customer {customer} to {email}",
        ),
    ),
    Kind(
        "room",
        {"room": "room", "date": "date"},
        Effect.WRITE,
        ("Book room {room} on {date}", "Reserve room {room} for {date}", "On {date} we need room {room}"),
        (
            "book room {room} on {date}",
            "Book room {room} on {date}.",
            "reserve ROOM {room} for {date}!",
            "On {date}, we need room {room}.",
        ),
        (
            "Book {room} on {date}",
            "Room {room} on {date}, please",
            "Reserve room {room} on {date}",
            "Please book room {room} on {date}",
        ),
        (
            "Do not book room {room} on {date}",
            "Book room {room}",
            "Book room {room} on {date} and {date2}",
            "Book room {room} from {date} to {date2}",
            "Book no room on {date}",
            "Book another room than {room} on {date}",
            "Free room {room} on {date}",
            "On {date} we no longer need room {room}",
            "On {date} we need room {room} in the morning",
            "Is room {room} free on {date}",
        ),
    ),
    Kind(
        "lamp_on",
        {"lamp": "lamp"},
        Effect.WRITE,
        ("Turn lamp {lamp} on", "Switch on lamp {lamp}"),
        ("turn lamp {lamp} on.", "Turn lamp {lamp} ON", "switch on lamp {lamp}!", "Switch on  lamp ({lamp})"),
        ("Turn on lamp {lamp}", "Lamp {lamp} on", "Light lamp {lamp}", "Please turn lamp {lamp} on"),
        (
            "Do not turn lamp {lamp} on",
            "Turn lamp {lamp} on and lamp {order} off",
            "Turn lamp on",
            "Turn lamps {lamp} and {order} on",
            "Don't switch on lamp {lamp}",
            "Is lamp {lamp} on",
        ),
    ),
    Kind(
        "lamp_off",
        {"lamp": "lamp"},
        Effect.WRITE,
        ("Turn lamp {lamp} off", "Switch off lamp {lamp}"),
        ("turn lamp {lamp} off.", "Turn lamp {lamp} OFF", "switch off lamp {lamp}!", "Switch off  lamp ({lamp})"),
        ("Turn off lamp {lamp}", "Lamp {lamp} off", "Put lamp {lamp} out", "Please turn lamp {lamp} off"),
        (
            "Do not turn lamp {lamp} off",
            "Turn lamp {lamp} off and on",
            "Switch off every lamp but {lamp}",
            "Turn lamp {lamp} down",
            "Switch lamp {lamp}",
            "Why is lamp {lamp} off",
        ),
    ),
    Kind(
        "note",
        {"email": "email", "note": "note"},
        Effect.WRITE,
        ('Leave {email} the note "{note}"', 'Put "{note}" on the desk of {email}'),
        (
            'leave {email} the note "{note}".',
            "Leave {email} the note “{note}”",
            'PUT "{note}" on the desk of {email}',
            'Leave {email} the note "{note}" !',
        ),
        (
            'Leave the note "{note}" for {email}',
            'Note "{note}" to {email}',
            "Leave {email} the note {note}",
            'Please leave {email} the note "{note}"',
        ),
        (
            'Do not leave {email} the note "{note}"',
            'Leave {email} the note "{note}" and "{note}, too"',
            "Leave {email} the note",
            'Leave {email} no note but "{note}"',
            'Leave {email} and {email2} the note "{note}"',
            'Put "{note}" off the desk of {email}',
        ),
    ),
)

#: Requests that are none of the intents.
OTHER: Final = (
    "What can you do?",
    "Write a poem about order",
    "Delete order {order}",
    "Ship order {order} to {email}",
    "Invoice {email} for order {order}",
    "Order a refund",
    "Turn the volume up",
    "Book a flight on {date}",
    "Close account {source}",
    "What is the balance of {source}",
    "Cancel my subscription",
    "Cancel room {room} on {date}",
    "Refund",
    "",
    "Transfer me to a person",
    "Charge {email} for order {order}",
    "Lamp {lamp} is broken",
    "Forget customer {customer}",
    "Is {email} a customer",
    "Copy order {order}",
)


@dataclass(frozen=True)
class Labelled:
    """A request with its right answer.

    Attributes:
        request: it.
        kind: ``same``, ``paraphrase``, ``not_it`` or ``other``.
        procedure: the one that it is for; empty for none.
        inputs: that it says, where it is for one.
        held_out: whether its wording is of the part that is held out.
    """

    request: str
    kind: str
    procedure: str
    inputs: dict[str, Any]
    held_out: bool


_NOTES: Final = ("call me back", "the lift is broken", "thanks for the cake", "we are in room B", "lunch at noon")
_PEOPLE: Final = ("nina", "otto", "Ida.Berg", "per", "kim_lee", "Åsa", "m.ruiz+shop")


def _values(number: int) -> dict[str, Any]:
    """Values that no two numbers share."""
    person, other = _PEOPLE[number % len(_PEOPLE)], _PEOPLE[(number + 3) % len(_PEOPLE)]
    return {
        "order": f"A-{5000 + 13 * number}",
        "order2": f"A-{90000 + number}",
        "email": f"{person}{number}@example.com",
        "email2": f"{other}.{number}@example.org",
        "amount": 1000 + 7 * number,
        "source": f"ACC-{20000 + number}",
        "target": f"ACC-{70000 + 3 * number}",
        "customer": f"C-{3000 + number}",
        "room": f"R-{100 + number}",
        "date": f"20{26 + number % 9:02}-{1 + number % 12:02}-{1 + number % 28:02}",
        "date2": f"2041-{1 + number % 12:02}-{1 + number % 27:02}",
        "lamp": f"L-{400 + number}",
        "note": f"{_NOTES[number % len(_NOTES)]} {number}",
    }


def labelled() -> Iterator[Labelled]:
    """All requests, always the same."""
    numbers = count(100)
    for intent in INTENTS:
        for kind, wordings in (("member", intent.members), ("same", intent.same), ("paraphrase", intent.paraphrases)):
            yield from _asked(kind, wordings, intent, numbers)
        yield from _asked("not_it", intent.not_it, None, numbers)
    yield from _asked("other", OTHER, None, numbers)


def _asked(kind: str, wordings: tuple[str, ...], intent: Kind | None, numbers: count[int]) -> Iterator[Labelled]:
    for index, wording in enumerate(wordings):
        for _ in range(_TIMES):
            values = _values(next(numbers))
            inputs = {slot: values[slot] for slot in intent.slots} if intent else {}
            # Members with new values are what has to be routed at least; all of them are held out.
            held_out = index % 2 == 1 or kind == "member"
            yield Labelled(wording.format_map(values), kind, intent.name if intent else "", inputs, held_out)


# --- the procedures --------------------------------------------------------------------------------------------------


def _story(intent: Kind, wording: str, number: int) -> Story:
    """A session: it looks something up by the first slot, and acts on what it found with the others."""
    values = _values(number)
    story = Story(wording.format_map(values), id=f"{intent.name}{number}")
    first, *others = intent.slots
    found = f"ref_{intent.name}_{number}"
    story.call(f"{intent.name}.find", {first: values[first]}, {"ref": found, "state": "open"})
    action = {"ref": found, **{slot: values[slot] for slot in others}}
    story.call(f"{intent.name}.act", action, {"code": f"done-{intent.name}-{number}"}, effect=intent.effect)
    return story.answers(f"It is done: done-{intent.name}-{number}")


@cache
def candidates() -> tuple[Candidate, ...]:
    """The intents, compiled, each from three sessions of every wording."""
    found = []
    for intent in INTENTS:
        wordings = [wording for wording in intent.members for _ in range(3)]
        stories = [_story(intent, wording, number) for number, wording in enumerate(wordings)]
        made = compile_traces(intent.name, [story.trace for story in stories], Tools(), CompilerSettings())
        assert made.procedure is not None, (intent.name, made.reasons)
        found.append(Candidate(made.procedure, index_of(made)))
    return tuple(found)

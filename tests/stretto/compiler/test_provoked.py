"""Attempts to make a compiled procedure call something irreversible that is wrong: none may succeed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from stretto.compiler.abstain import Code, Outcome
from stretto.compiler.compiling import Compilation, compile_traces
from stretto.compiler.inputs import find_inputs, inputs_of
from stretto.compiler.model import Effect
from stretto.compiler.paper import Replayed, Result, replay
from stretto.compiler.schemas import Tools
from stretto.compiler.settings import CompilerSettings
from stretto.procedure.graph import Contract
from stretto.procedure.readiness import not_ready
from tests.stretto.compiler.stories import Story

if TYPE_CHECKING:
    from collections.abc import Sequence

SEEDS = range(6)


def compiled(stories: Sequence[Story], *, human: bool = False) -> Compilation:
    return compile_traces("refund", [story.trace for story in stories], Tools(), CompilerSettings(), human=human)


def on(made: Compilation, story: Story) -> Replayed:
    """What a procedure does in a run that it was not compiled from."""
    assert made.procedure is not None, made.reasons
    assert made.analysis is not None
    run = story.run()
    return replay(made.procedure, run, inputs_of(find_inputs(made.analysis), made.analysis, run))


def is_harmless(found: Replayed) -> bool:
    return not (found.result is Result.WRONG and found.irreversible)


class Desk:
    """Where payments are sent back: the customer is found by name, one of the hits is taken, and paid."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)  # noqa: S311 - seeded to be repeated
        self.number = 0

    def code(self, kind: str) -> str:
        return f"{kind}-{self.draw.randrange(10**5, 10**6)}"

    def customers(self, count: int) -> list[dict[str, str]]:
        return [
            {"id": self.code("C"), "mail": f"kim{self.draw.randrange(10**6)}@example.com", "account": self.code("ACC")}
            for _ in range(count)
        ]

    def refund(self, customers: list[dict[str, str]], chosen: int, *, said: str = "mail", refund: str = "") -> Story:
        """A run in which the user names one of the customers, by one of their fields or not at all."""
        self.number += 1
        named = f" of {customers[chosen][said]}" if said else ""
        story = Story(f"Pay Kim back, order {self.code('A')}{named}", id=f"t{self.number:03d}")
        story.call("crm.find", {"name": "Kim"}, {"found": customers})
        story.call(refund or "pay.send", {"account": customers[chosen]["account"]}, {"ok": True})
        return story

    def refunds(self, count: int = 8) -> list[Story]:
        """Runs with lists of different lengths, in any order."""
        lengths = [self.draw.randrange(2, 5) for _ in range(count)]
        return [self.refund(self.customers(length), self.draw.randrange(length)) for length in lengths]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_list_in_another_order_changes_nothing_when_the_user_says_who(seed: int) -> None:
    desk = Desk(seed)
    made = compiled(desk.refunds())
    assert made.outcome is Outcome.COMPILED, made.reasons
    customers = desk.customers(4)
    for number in range(4):
        assert on(made, desk.refund(customers, number)).result is Result.SAME
        assert on(made, desk.refund(customers[::-1], 3 - number)).result is Result.SAME


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("place", [0, -1])
def test_a_place_in_a_list_is_no_reason_to_pay_somebody_without_asking(seed: int, place: int) -> None:
    desk = Desk(seed)
    stories = []
    for number in range(8):
        hits, mail = desk.customers(2 + number % 3), f"kim{number}@example.com"
        story = Story(f"Pay {mail} back", id=f"t{number}").call("crm.accounts", {"mail": mail}, {"found": hits})
        stories.append(story.call("pay.send", {"account": hits[place]["account"], "mail": mail}, {"ok": True}))
    made = compiled(stories)
    assert made.outcome is Outcome.WITH_PERSON, made.reasons
    assert [(reason.code, reason.path) for reason in made.reasons] == [(Code.DOUBTFUL_SOURCE, "$.account")]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_place_in_a_list_is_none_for_what_is_paid_by_a_record_that_was_read_for_it(seed: int) -> None:
    desk = Desk(seed)
    stories = []
    for number in range(8):
        orders = [{"order": desk.code("A")} for _ in range(2 + number % 3)]
        mail = f"kim{number}@example.com"
        story = Story(f"Pay {mail} back", id=f"t{number}").call("shop.orders", {"mail": mail}, {"orders": orders})
        story.call("shop.order", {"order": orders[0]["order"]}, {"account": (account := desk.code("ACC"))})
        stories.append(story.call("pay.send", {"account": account, "mail": mail}, {"ok": True}))
    made = compiled(stories)
    assert made.outcome is Outcome.WITH_PERSON
    assert [reason.code for reason in made.reasons] == [Code.DOUBTFUL_SOURCE]


@pytest.mark.parametrize("seed", SEEDS)
def test_of_two_customers_who_are_called_the_same_none_is_paid(seed: int) -> None:
    desk = Desk(seed)
    made = compiled(desk.refunds())
    customers = desk.customers(3)
    customers[2]["mail"] = customers[0]["mail"]
    for chosen in (0, 2):
        found = on(made, desk.refund(customers, chosen))
        assert found.result is Result.ESCALATED, found


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_ids_of_two_customers_in_the_traces_lead_to_no_wrong_payment(seed: int) -> None:
    desk = Desk(seed)
    stories = []
    for number in range(10):
        customers = desk.customers(3)
        if number % 3 == 0:  # two shops that count their customers from one
            customers[1]["id"] = customers[0]["id"]
        stories.append(desk.refund(customers, desk.draw.randrange(3), said="id"))
    for human in (False, True):
        made = compiled(stories, human=human)
        if made.procedure is not None:
            customers = desk.customers(3)
            customers[1]["id"] = customers[0]["id"]
            assert all(is_harmless(on(made, desk.refund(customers, chosen, said="id"))) for chosen in range(3))
        assert made.outcome is not Outcome.COMPILED


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("undo", ["tags.remove_tag", "tags.delete_tag"])
def test_whether_it_does_or_undoes_is_never_guessed(seed: int, undo: str) -> None:
    desk = Desk(seed)
    stories = []
    for number in range(10):
        issue = desk.code("I")
        story = Story(f"Tidy the tags of {issue}", id=f"t{number}").call("tags.list", {"issue": issue}, ["stale"])
        name = "tags.add_tag" if desk.draw.random() < 0.5 or number < 2 else undo
        name = undo if number > 7 else name
        stories.append(story.call(name, {"issue": issue}, {"ok": True}, effect=Effect.IRREVERSIBLE))
    assert compiled(stories).outcome is Outcome.REFUSED
    asked = compiled(stories, human=True)
    assert asked.outcome is not Outcome.COMPILED
    assert all(map(is_harmless, asked.left_out)) or asked.procedure is None


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tool_that_some_runs_call_by_another_name_is_not_paid_with_twice(seed: int) -> None:
    desk = Desk(seed)
    stories = []
    for number in range(12):
        customers = desk.customers(3)
        name = "pay.send" if number % 2 else "pay.transfer"
        stories.append(desk.refund(customers, desk.draw.randrange(3), refund=name))
    made = compiled(stories)
    assert made.outcome is Outcome.REFUSED
    asked = compiled(stories, human=True)
    assert asked.procedure is None or all(map(is_harmless, asked.left_out))


def test_a_tool_that_was_renamed_since_stops_a_procedure_before_its_first_step() -> None:
    desk = Desk(0)
    made = compiled(desk.refunds())
    assert made.procedure is not None
    inputs = dict.fromkeys(made.procedure.inputs, "kim1@example.com")
    there = {"/crm.find": Contract(), "/pay.transfer": Contract()}
    found = not_ready(made.procedure, inputs, has_secret=lambda _: True, person=True, contracts=there)
    assert "tool pay.send is not there" in found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_branch_that_was_never_seen_stops_the_run(seed: int) -> None:
    desk = Desk(seed)

    def story(state: str, count: int) -> Story:
        desk.number += 1
        order, account = desk.code("A"), desk.code("ACC")
        told = Story(f"Look after {order}", id=f"t{desk.number}")
        told.call("shop.order", {"order": order}, {"state": state, "account": account, "parcels": ["p"] * count})
        if state == "paid" and count < 2:
            told.call("pay.send", {"account": account}, {"ok": True})
        elif state == "open":
            told.call("mail.send_template", {"order": order, "template": "pay_first"}, {"ok": True})
        return told

    made = compiled([story("paid", 1) if number % 2 else story("open", 1) for number in range(12)])
    assert made.outcome is Outcome.COMPILED, made.reasons
    for state in ("lost", "PAID", "", "returned"):
        found = on(made, story(state, 1))
        assert (found.result, found.irreversible) == (Result.ESCALATED, False), found


@pytest.mark.parametrize("seed", SEEDS)
def test_no_part_of_mixed_runs_is_compiled_to_a_wrong_payment(seed: int) -> None:
    desk = Desk(seed)
    stories = []
    for _ in range(20):
        customers = desk.customers(desk.draw.randrange(1, 5))
        if desk.draw.random() < 0.3 and len(customers) > 1:
            field = desk.draw.choice(["id", "mail", "account"])
            customers[1][field] = customers[0][field]
        said = desk.draw.choice(["id", "mail", "mail", ""])
        refund = desk.draw.choice(["pay.send", "pay.send", "pay.transfer"])
        stories.append(desk.refund(customers, desk.draw.randrange(len(customers)), said=said, refund=refund))
    for human in (False, True):
        made = compiled(stories, human=human)
        if made.procedure is not None:
            assert all(map(is_harmless, (*made.left_out, *made.replayed)))

"""Branches, and when nothing may be compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from stretto.compiler.abstain import Code, Reason, reasons, refuse
from stretto.compiler.analysis import Analysis, analyse
from stretto.compiler.guards import Predicate, ways
from stretto.compiler.model import Effect
from stretto.compiler.names import RawTool, canonical_names
from stretto.compiler.settings import CompilerSettings
from stretto.errors import CanonicalCollision
from tests.stretto.compiler.stories import SHOP, Story, refunds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.compiler.schemas import Tools

SETTINGS = CompilerSettings(support_floor=3, constant_min=3)


def of(stories: Sequence[Story], settings: CompilerSettings = SETTINGS, tools: Tools = SHOP) -> Analysis:
    return analyse([story.trace for story in stories], tools, settings)


def against(analysis: Analysis, **more: Any) -> tuple[Reason, ...]:
    return reasons(analysis, analysis.forks, **more)


def codes(analysis: Analysis, **more: Any) -> list[Code]:
    return [reason.code for reason in against(analysis, **more)]


def search(number: int, matches: int) -> Story:
    """A search with so many matches, and what follows."""
    email = f"kim{number}@example.com"
    found = [{"id": f"C-90{number}{match}"} for match in range(matches)]
    story = Story(f"orders of {email}", id=f"g{number}").call("crm.search", {"q": email}, {"matches": found})
    if matches:
        story.call("shop.list_orders", {"customer_id": found[0]["id"]}, [{"id": f"A-77{number}"}])
        return story.answers(f"A-77{number}")
    return story.call("mail.send_template", {"to": email, "template": "not_found"}, {"sent": True})


@pytest.mark.case("TC-47")
def test_the_number_of_matches_is_the_guard_and_nothing_else_separates() -> None:
    analysis = of([search(number, int(number < 4)) for number in range(6)])
    (fork,) = analysis.forks
    assert fork.guard is not None
    assert (fork.guard.predicate, fork.guard.step, fork.guard.path) == (Predicate.COUNT, "crm.search#0", "$.matches")
    assert fork.guard.exits == {"shop.list_orders#0": ("1",), "mail.send_template#0": ("0",)}
    assert ways(analysis)["mail.send_template#0"] == ((("fork1", "mail.send_template#0"),),)
    assert ways(analysis)["crm.search#0"] == ()


def expedite(number: int, tier: str, total: int) -> Story:
    order = f"A-61{number}0"
    story = Story(f"Handle order {order}", id=f"x{number}")
    story.call("shop.get_order", {"order_id": order}, {"tier": tier, "total": total})
    if tier == "gold":
        story.call("shop.expedite", {"order_id": order}, {"ok": True}, effect=Effect.IRREVERSIBLE)
    return story.call("shop.pack", {"order_id": order}, {"ok": True}, effect=Effect.WRITE)


@pytest.mark.case("TC-48")
def test_two_guards_that_separate_equally_well_are_none_and_both_are_named() -> None:
    cases = [("gold", 1040), ("gold", 2300), ("silver", 300), ("silver", 820), ("gold", 1500)]
    analysis = of([expedite(number, *case) for number, case in enumerate(cases)])
    (fork,) = analysis.forks
    assert fork.guard is None
    assert {str(guard) for guard in fork.rivals} == {
        "equals(shop.get_order#0 $.tier)",
        "interval(shop.get_order#0 $.total)",
    }
    found = against(analysis)
    assert [reason.code for reason in found] == [Code.OPEN_BRANCH]
    assert "$.tier" in found[0].would_settle
    assert "$.total" in found[0].would_settle
    assert codes(analysis, human=True) == [Code.CHOICE]


def test_steps_after_a_branch_belong_to_all_ways() -> None:
    cases = [("gold", 900), ("gold", 2300), ("silver", 300), ("silver", 1820)]
    analysis = of([expedite(number, *case) for number, case in enumerate(cases)])
    assert ways(analysis)["shop.pack#0"] == ()
    assert ways(analysis)["shop.expedite#0"] == ((("fork1", "shop.expedite#0"),),)


@pytest.mark.case("TC-50")
def test_an_action_that_does_and_undoes_is_refused_with_the_reads_before_it_as_salvage() -> None:
    stories = []
    for number, request in enumerate(
        ["tag the stale ones", "clean up the tags", "tag the stale ones", "clean up tags"]
    ):
        issue = f"ISS-{number}41"
        story = Story(request, id=f"l{number}").call("repo.list_issues", {}, [{"id": issue}])
        stories.append(
            story.call(
                "repo.update_labels", {"issue": issue, "label": "stale"}, {"ok": True}, effect=Effect.IRREVERSIBLE
            )
        )
    analysis = of(stories)
    refusal = refuse("labels", analysis, against(analysis))
    assert refusal is not None
    assert Code.DIRECTION in [reason.code for reason in refusal.reasons]
    assert any("alias table" in settle for settle in refusal.would_settle)
    assert refusal.salvage == ("repo.list_issues#0",)


def consensus(count: int, **more: Any) -> Analysis:
    stories = []
    for number, story in enumerate(refunds()[:count]):
        order = ("A-5531", "A-6120", "A-7004")[number]
        payment, total = (("pay_77ab", 4200), ("pay_90cc", 1999), ("pay_12fe", 15050))[number]
        login = next(call.index for call in story.calls if call.name == "shop.login" and call.ok)
        listed: Any = [{"id": "A-1000", "payment_id": "pay_0000"}, {"id": order, "payment_id": payment, "total": total}]
        told = Story(story.request, id=story.id)
        for call in story.calls:
            told.call(call.name, dict(call.args), call.output, ok=call.ok, discovery=call.discovery)
            if call.index == login:
                told.call("shop.list_orders", {"email": "x"}, listed)
        stories.append(told.answers(f"{story.answer}, of {total} and pay_0000"))
    return of(stories, CompilerSettings(support_floor=2, constant_min=2, **more))


@pytest.mark.case("TC-51")
def test_sources_that_always_agreed_are_a_consensus_and_doubt_with_too_few_traces() -> None:
    analysis = consensus(3)
    payment = analysis.bindings["shop.refund#0", "$.payment_id"]
    assert [source.step for source in payment.sources] == ["shop.get_order#0", "shop.list_orders#0"]
    assert Code.DOUBTFUL_SOURCE not in codes(analysis)
    for fewer in (consensus(2), consensus(3, consensus=False)):
        found = [(reason.code, reason.path) for reason in against(fewer)]
        assert (Code.DOUBTFUL_SOURCE, "$.payment_id") in found


@pytest.mark.case("TC-52")
def test_mail_to_whoever_a_list_names_is_unbounded_and_to_whom_the_user_names_is_not() -> None:
    everyone, named = [], []
    for number in range(3):
        people = [{"to": f"ada{number}@example.com"}, {"to": f"otto{number}@example.com"}]
        story = Story("Mail everyone about it", id=f"m{number}").call("crm.list_contacts", {}, people)
        told = Story(f"Mail {people[0]['to']} and {people[1]['to']} about it", id=f"n{number}")
        for person in people:
            story.call("mail.send", dict(person), {"sent": True})
            told.call("mail.send", dict(person), {"sent": True})
        everyone.append(story)
        named.append(told)
    analysis = of(everyone)
    refusal = refuse("everyone", analysis, against(analysis))
    assert refusal is not None
    assert Code.UNBOUNDED in [reason.code for reason in refusal.reasons]
    assert refusal.salvage == ("crm.list_contacts#0",)
    assert codes(of(named)) == []


def pay(number: int, *, people: int) -> Story:
    found = [{"id": f"u_{number}{person}xyz", "name": "Kim"} for person in range(people)]
    story = Story(f"Pay Kim back {1200 + number}", id=f"p{number}").call("pay.find_people", {"name": "Kim"}, found)
    chosen = found[number % people]["id"]
    return story.call("pay.send", {"to": chosen, "amount": 1200 + number}, {"ok": True})


@pytest.mark.case("TC-53")
def test_one_of_two_people_is_a_persons_choice_and_the_only_one_is_none() -> None:
    two = of([pay(number, people=2) for number in range(4)])
    assert [(reason.code, reason.path) for reason in against(two)] == [(Code.CHOICE, "$.to")]
    one = of([pay(number, people=1) for number in range(4)])
    assert codes(one) == []
    assert str(one.bindings["pay.send#0", "$.to"].sources[0].selection).count("only") == 1


def test_without_variation_no_irreversible_step_is_compiled() -> None:
    stories = [Story("Refund order A-5531", id=f"v{number}") for number in range(5)]
    for story in stories:
        story.call("shop.refund", {"order_id": "A-5531"}, {"ok": True})
    assert codes(of(stories)) == [Code.NO_VARIATION]


def test_an_undeclared_effect_asks_a_person() -> None:
    stories = []
    for number in range(5):
        story = Story(f"Do A-55{number}1", id=f"u{number}")
        stories.append(story.call("shop.do", {"order_id": f"A-55{number}1"}, {"ok": True}, effect=Effect.UNKNOWN))
    assert codes(of(stories)) == [Code.UNDECLARED_EFFECT]


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.case("TC-07")
@pytest.mark.parametrize(
    ("server", "raw", "canonical"),
    [
        ("GitHub", "github__createIssue", "git_hub.create_issue"),
        ("crm", "crm-get-profile", "crm.get_profile"),
        ("mail", "Mail.SendTemplate", "mail.send_template"),
        ("HTTPServer", "getURLStatus", "http_server.get_url_status"),
        ("shop", "shop", "shop.shop"),
        ("api", "GET /users/42/orders", "api.get_users_id_orders"),
        ("api", "GET /x/0f8fad5b-d9cb-469f-a165-70867728950e", "api.get_x_id"),
    ],
)
def test_names_are_one_vocabulary(server: str, raw: str, canonical: str) -> None:
    tool = RawTool(server, raw)
    assert ".".join(canonical_names([(tool, Effect.READ)]).names[tool]) == canonical


@pytest.mark.case("TC-08")
def test_names_never_hide_what_a_call_does() -> None:
    add, remove = RawTool("playlist", "addSong"), RawTool("playlist", "remove_song")
    aliases = dict.fromkeys((add, remove), ("playlist", "update"))
    with pytest.raises(CanonicalCollision, match=r"addSong and remove_song would both be playlist\.update"):
        canonical_names([(add, Effect.WRITE), (remove, Effect.WRITE)], aliases)
    one, other = RawTool("shop", "list-items"), RawTool("shop", "listItems")
    named = canonical_names([(one, Effect.READ), (other, Effect.READ)])
    assert named.names[one] == ("shop", "list_items")
    assert named.names[other][1].startswith("list_items_")
    assert len(named.warnings) == 1

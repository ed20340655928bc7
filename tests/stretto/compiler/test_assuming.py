"""What always held before a step that nobody can take back: looked at where the user says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stretto.compiler.abstain import Outcome
from stretto.compiler.compiling import Compilation, compile_traces
from stretto.compiler.model import Effect
from stretto.compiler.paper import Result
from stretto.compiler.schemas import Tools
from stretto.compiler.settings import CompilerSettings
from stretto.procedure import graph
from stretto.procedure.checks import faults
from stretto.procedure.exchange import Done
from stretto.procedure.running import Verdict, course, drive
from stretto.review.document import as_markdown
from stretto.review.procedure_page import procedure_page
from stretto.review.procedure_show import show_procedure
from tests.stretto.compiler.stories import Story

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.procedure.exchange import Make

SETTINGS = CompilerSettings(assume=True)
STATE = "shop.refund#0 assumes shop.get_order#0 $.status"


def story(number: int, status: str = "delivered", **more: Any) -> Story:
    order = f"A-33{number}1"
    told = Story(f"Refund order {order}", id=f"a{number}")
    found = {"id": order, "status": status, "gift": False, "payment_id": f"pay_{number}xyz", "total": 2500, **more}
    told.call("shop.get_order", {"order_id": order}, found)
    return told.call("shop.refund", {"payment_id": f"pay_{number}xyz"}, {"ok": True})


def compiled(stories: Sequence[Story], settings: CompilerSettings = SETTINGS) -> Compilation:
    return compile_traces("refund", [each.trace for each in stories], Tools(), settings)


def procedure() -> graph.Procedure:
    made = compiled([story(number) for number in range(6)])
    assert made.outcome is Outcome.COMPILED, made.reasons
    assert made.procedure is not None
    return made.procedure


def ran(given: graph.Procedure, **order: Any) -> tuple[list[str], str]:
    """The tools that are called, and why it stopped."""
    made: list[str] = []

    def call(make: Make) -> Done:
        made.append(make.tool)
        found = {"id": "A-9001", "status": "delivered", "gift": False, "payment_id": "pay_9", "total": 1, **order}
        return Done(ok=True, output=found if make.tool == "shop.get_order" else {"ok": True})

    done = drive(course(given, {"order_id": "A-9001"}, str), call)
    return made, done.escalation.reason if done.escalation is not None else str(done.verdict)


def test_an_order_in_a_state_that_no_trace_had_is_not_refunded() -> None:
    made = procedure()
    assert faults(made) == []
    assert ran(made) == (["shop.get_order", "shop.refund"], str(Verdict.RESOLVED))
    assert ran(made, status="cancelled") == (["shop.get_order"], "unseen_branch")
    assert ran(made, gift=True) == (["shop.get_order"], "unseen_branch")


def test_unless_the_user_says_so_a_procedure_does_what_the_traces_did() -> None:
    plain = compiled([story(number) for number in range(6)], replace(SETTINGS, assume=False)).procedure
    assert plain is not None
    assert set(plain.nodes) == {"shop.get_order#0", "shop.refund#0"}
    assert ran(plain, status="cancelled")[0] == ["shop.get_order", "shop.refund"]


def test_only_what_never_differed_is_looked_at_and_no_number_and_no_long_text() -> None:
    stories = [story(number, status=f"s{number % 2}", note="long " * 20) for number in range(6)]
    made = compiled(stories).procedure
    assert made is not None
    assert [name for name, node in made.nodes.items() if isinstance(node, graph.DecisionNode)] == [
        "shop.refund#0 assumes shop.get_order#0 $.gift"
    ]


def test_few_traces_that_are_alike_assume_nothing() -> None:
    made = compiled([story(number) for number in range(4)], replace(SETTINGS, support_floor=4)).procedure
    assert made is not None
    assert not any(isinstance(node, graph.DecisionNode) for node in made.nodes.values())


def test_a_step_that_can_be_taken_back_assumes_nothing() -> None:
    stories = [story(number) for number in range(6)]
    for each in stories:
        each.calls[1] = replace(each.calls[1], effect=Effect.WRITE)
    made = compiled(stories).procedure
    assert made is not None
    assert set(made.nodes) == {"shop.get_order#0", "shop.refund#0"}


def test_the_traces_do_as_they_did_and_a_reviewer_reads_what_is_assumed() -> None:
    made = compiled([story(number) for number in range(6)])
    assert [each.result for each in made.replayed] == [Result.SAME] * 6
    assert [each.result for each in made.left_out] == [Result.SAME] * 6
    page = as_markdown(procedure_page(show_procedure(procedure())))
    assert 'is "delivered"' in page.replace("`", "").replace("\\", "")
    assert "observed in 6 of 6 traces" in page


def test_what_is_assumed_on_one_way_does_not_stop_another() -> None:
    stories = [story(number, items=[{"sku": f"SKU-{number}"}] * (number < 5)) for number in range(8)]
    for each in stories[5:]:
        each.calls.pop()
    made = compiled(stories)
    assert made.procedure is not None, made.reasons
    assert STATE in made.procedure.nodes
    assert made.procedure.nodes[STATE].when == [[("fork1", "shop.refund#0")]]
    assert [each.result for each in made.replayed] == [Result.SAME] * 8
    assert ran(made.procedure, status="cancelled", items=[])[1] == str(Verdict.RESOLVED)

"""From traces to a procedure: the graph, its checks, and what stays the same whatever the order."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stretto.compiler.abstain import Code, Outcome
from stretto.compiler.compiling import Compilation, compile_traces
from stretto.compiler.inputs import find_inputs, inputs_of
from stretto.compiler.model import Effect
from stretto.compiler.paper import Result, replay
from stretto.compiler.settings import CompilerSettings
from stretto.procedure import graph
from stretto.procedure.file import dump_procedure, load_procedure
from tests.stretto.compiler.stories import SHOP, Story, refunds
from tests.stretto.compiler.test_abstain import search

if TYPE_CHECKING:
    from collections.abc import Sequence

SETTINGS = CompilerSettings(support_floor=3, constant_min=3)


def compiled(stories: Sequence[Story], settings: CompilerSettings = SETTINGS, **more: Any) -> Compilation:
    return compile_traces("refund", [story.trace for story in stories], SHOP, settings, **more)


@pytest.mark.case("TC-54")
def test_the_refunds_become_four_layers_of_one_call_each() -> None:
    made = compiled(refunds())
    assert made.outcome is Outcome.COMPILED, (made.reasons, made.refusal)
    procedure = made.procedure
    assert procedure is not None
    assert [(name, node.layer) for name, node in procedure.tools()] == [
        ("shop.login#0", 0),
        ("shop.get_order#0", 1),
        ("shop.refund#0", 2),
        ("mail.send_template#0", 3),
    ]
    assert set(procedure.inputs) == {"order_id", "to"}
    assert procedure.inputs["to"].pattern == "email"
    assert procedure.inputs["order_id"].pattern == "code"
    assert [(each.name, each.source.node) for each in procedure.outputs] == [("refund_id", "shop.refund#0")]
    password = procedure.nodes["shop.login#0"].args["$.password"].value  # type: ignore[union-attr]  # a tool
    assert password == graph.Secret(secret="shop.login.password")  # noqa: S106 - a name
    data = {(edge.first, edge.then): edge for edge in procedure.edges if edge.kind == "data"}
    assert set(data) == {
        ("shop.login#0", "shop.get_order#0"),
        ("shop.login#0", "shop.refund#0"),
        ("shop.get_order#0", "shop.refund#0"),
        ("shop.refund#0", "mail.send_template#0"),
    }
    implied = data["shop.login#0", "shop.refund#0"]
    assert implied.implied
    assert implied.evidence
    assert "hunter2" not in dump_procedure(procedure).decode()


@pytest.mark.case("TC-56")
def test_a_replay_on_paper_finds_an_argument_that_is_bound_to_the_wrong_place() -> None:
    made = compiled(refunds())
    assert [each.result for each in made.replayed] == [Result.SAME] * 3
    assert made.procedure is not None
    assert made.analysis is not None
    node = made.procedure.nodes["shop.refund#0"]
    assert isinstance(node, graph.ToolNode)
    wrong = graph.Binding(value=graph.Copied(sources=[graph.Source(node="shop.get_order#0", path="$.id")]))
    bent = node.model_copy(update={"args": {**node.args, "$.amount": wrong}})
    procedure = made.procedure.model_copy(update={"nodes": {**made.procedure.nodes, "shop.refund#0": bent}})
    run = made.analysis.runs[0]
    found = replay(procedure, run, inputs_of(find_inputs(made.analysis), made.analysis, run))
    assert (found.result, found.node, found.irreversible) == (Result.WRONG, "shop.refund#0", True)
    assert found.says == "$.amount: expected 4200, got A-5531"


@pytest.mark.case("TC-47")
def test_a_guard_becomes_a_decision_with_the_values_that_were_seen() -> None:
    made = compiled([search(number, int(number < 4)) for number in range(6)])
    assert made.procedure is not None, made.reasons
    decision = made.procedure.nodes["fork1"]
    assert isinstance(decision, graph.DecisionNode)
    assert decision.exits == {"mail.send_template#0": ["0"], "shop.list_orders#0": ["1"]}
    assert all(each.result is Result.SAME for each in made.replayed)


def variant(number: int, letter: str) -> Story:
    """Seven runs of one intent, two of which make a call more; see TC-67."""
    order = f"A-88{number}1"
    story = Story(f"Close order {order}", id=f"w{number}")
    items = [{"sku": f"SKU-{number}"}] * (letter == "B")
    story.call(
        "shop.get_order", {"order_id": order}, {"id": order, "open_items": items, "payment_id": f"pay_{number}xyz"}
    )
    if letter == "B":
        story.call("shop.refund", {"payment_id": f"pay_{number}xyz"}, {"ok": True})
    return story.call("cart.add", {"order_id": order}, {"ok": True})


@pytest.mark.case("TC-67")
def test_leaving_one_out_gives_the_same_calls_or_stops_and_never_a_wrong_one() -> None:
    made = compiled([variant(number, "A" if number < 5 else "B") for number in range(7)], CompilerSettings())
    assert made.procedure is not None, made.reasons
    counts = [each.result for each in made.left_out]
    assert counts.count(Result.SAME) == 5
    assert counts.count(Result.ESCALATED) == 2
    assert Result.WRONG not in counts


@pytest.mark.case("TC-68")
def test_any_order_of_traces_and_keys_gives_the_same_bytes() -> None:
    def shuffled(value: Any, rng: random.Random) -> Any:
        if isinstance(value, dict):
            names = list(value)
            rng.shuffle(names)
            return {name: shuffled(value[name], rng) for name in names}
        return [shuffled(each, rng) for each in value] if isinstance(value, list) else value

    for stories in (refunds(), [search(number, int(number < 4)) for number in range(6)]):
        traces = [story.trace for story in stories]
        files = set()
        for seed in range(5):
            rng = random.Random(seed)  # noqa: S311 - seeded on purpose
            mixed = [
                replace(
                    trace,
                    calls=tuple(
                        replace(call, args=shuffled(call.args, rng), output=shuffled(call.output, rng))
                        for call in trace.calls
                    ),
                )
                for trace in traces
            ]
            rng.shuffle(mixed)
            made = compile_traces("x", mixed, SHOP, SETTINGS)
            assert made.procedure is not None
            files.add(dump_procedure(made.procedure))
        assert len(files) == 1


@pytest.mark.case("TC-69")
def test_one_trace_given_five_times_is_one_trace() -> None:
    trace = refunds()[0].trace
    made = compile_traces("x", [replace(trace, id=f"copy{number}") for number in range(5)], SHOP, CompilerSettings())
    assert len(made.traces) == 1
    assert made.procedure is None
    assert "1 distinct" in made.warnings[0]


@pytest.mark.case("TC-65")
def test_the_chance_of_a_way_that_nobody_has_seen_is_the_share_of_ways_seen_once() -> None:
    stories = []
    for number in range(10):
        story = Story(f"Close order A-77{number}1", id=f"q{number}").call(
            "cart.add", {"order_id": f"A-77{number}1"}, {}
        )
        if number >= 7:
            story.call("cart.clear", {"order_id": f"A-77{number}1"}, {})
        if number == 9:
            story.call("cart.tag", {"order_id": f"A-77{number}1"}, {}, effect=Effect.WRITE)
        stories.append(story)
    made = compiled(stories)
    assert made.procedure is not None, made.reasons
    assert made.procedure.compiled.unseen == pytest.approx(0.1)


def test_a_file_comes_back_the_same_and_one_that_was_changed_is_refused() -> None:
    made = compiled(refunds())
    assert made.procedure is not None
    data = dump_procedure(made.procedure)
    assert dump_procedure(load_procedure(data)) == data
    with pytest.raises(ValueError, match=r"\$\.digest"):
        load_procedure(data.replace(b"refund_ok", b"refund_no"))


@pytest.mark.case("TC-51")
def test_without_enough_traces_a_person_confirms_the_refund() -> None:
    from tests.stretto.compiler.test_abstain import consensus

    analysis = consensus(3)
    made = compile_traces(
        "refund", [run.trace for run in analysis.runs], SHOP, CompilerSettings(support_floor=2, constant_min=2)
    )
    assert made.outcome is Outcome.COMPILED, made.reasons
    two = [run.trace for run in consensus(2).runs]
    doubtful = compile_traces("refund", two, SHOP, CompilerSettings(support_floor=2, constant_min=2))
    assert doubtful.outcome is Outcome.WITH_PERSON, doubtful.reasons
    codes = {node.code for node in doubtful.procedure.nodes.values() if isinstance(node, graph.HumanNode)}  # type: ignore[union-attr]  # there is one
    assert codes == {Code.DOUBTFUL_SOURCE}


# --- joined actions -----------------------------------------------------------------------------------------------


def tagged(number: int, tagged_too: bool, told: bool = True) -> Story:  # noqa: FBT001, FBT002 - a story in a line
    """A run that books, and in some cases tags, which can be taken back; `told` by how many tags there are."""
    order = f"A-77{number}1"
    tags = [f"rush-{number}"] * (tagged_too and told)
    story = Story(f"Book order {order}", id=f"v{number}")
    story.call("shop.get_order", {"order_id": order}, {"id": order, "tags": tags, "payment_id": f"pay_{number}abc"})
    if tagged_too:
        story.call("cart.add", {"order_id": order}, {"ok": True})
    return story.call("shop.refund", {"payment_id": f"pay_{number}abc"}, {"ok": True})


def test_an_action_that_was_joined_is_compiled_where_something_tells_when_it_is_made() -> None:
    stories = [tagged(number, number < 3) for number in range(7)]
    made = compiled(stories, joined=["cart.add"])
    assert made.procedure is not None, made.reasons
    assert isinstance(made.procedure.nodes["fork1"], graph.DecisionNode)


def test_a_joined_action_that_nothing_tells_of_is_refused_also_where_it_can_be_taken_back() -> None:
    stories = [tagged(number, number < 3, told=False) for number in range(7)]
    alone = compiled(stories)
    assert alone.procedure is not None, alone.reasons
    assert isinstance(alone.procedure.nodes["fork1"], graph.ModelNode)
    made = compiled(stories, joined=["cart.add"])
    assert made.procedure is None
    (reason,) = made.reasons
    assert (reason.code, reason.step) == (Code.OPEN_BRANCH, "cart.add#0")
    asked = compiled(stories, joined=["cart.add"], human=True)
    assert asked.outcome is Outcome.WITH_PERSON
    assert asked.procedure is not None
    assert isinstance(asked.procedure.nodes["fork1"], graph.HumanNode)


def test_a_person_chooses_only_where_the_way_leads_to_what_nobody_can_take_back() -> None:
    def story(number: int) -> Story:
        order = f"A-66{number}1"
        told = Story(f"Look after order {order}", id=f"x{number}")
        told.call("shop.get_order", {"order_id": order}, {"id": order, "payment_id": f"pay_{number}abc"})
        if number % 4 < 2:
            told.call("shop.refund", {"payment_id": f"pay_{number}abc"}, {"ok": True})
        if number % 4 == 0:
            told.call("cart.add", {"order_id": order}, {"ok": True})
        return told

    made = compiled([story(number) for number in range(12)], human=True)
    assert made.procedure is not None, made.reasons
    final, other = made.procedure.nodes["fork1"], made.procedure.nodes["fork2"]
    assert isinstance(final, graph.HumanNode)
    assert final.exits == ["shop.refund#0", "end"]
    assert isinstance(other, graph.ModelNode)
    assert other.exits == ["cart.add#0", "end"]
    assert all(each.result is Result.SAME for each in made.replayed)


# --- calls that failed --------------------------------------------------------------------------------------------


def looked_up(number: int, *, fails: bool) -> Story:
    """A run that looks a customer up by an e-mail that may be unknown, and books for an order that was said."""
    story = Story(f"Book order A-55{number}1 for user{number}@example.com", id=f"y{number}")
    output: Any = {"error": "no such customer"} if fails else {"customer_id": f"C-9{number}41"}
    story.call("crm.get_profile", {"email": f"user{number}@example.com"}, output, ok=not fails)
    story.call("cart.add", {"order_id": f"A-55{number}1"}, {"ok": True})
    return story.answers("" if fails else f"Customer C-9{number}41 is served")


def test_a_step_that_failed_in_every_trace_is_refused_for_it() -> None:
    made = compiled([looked_up(number, fails=True) for number in range(5)])
    (reason,) = made.reasons
    assert (reason.code, reason.step) == (Code.SELF_CHECK, "crm.get_profile#0")
    assert "failed in every trace" in reason.says
    assert made.refusal is not None
    assert made.refusal.would_settle == ("traces in which crm.get_profile succeeds, or none that makes it",)


def test_a_step_that_failed_in_one_trace_is_bound_as_in_the_others_and_stops_the_run_there() -> None:
    made = compiled([looked_up(number, fails=number == 0) for number in range(5)])
    assert made.procedure is not None, made.reasons
    node = made.procedure.nodes["crm.get_profile#0"]
    assert isinstance(node, graph.ToolNode)
    assert not node.args["$.email"].optional
    assert [each.result for each in made.replayed] == [Result.ESCALATED, *[Result.SAME] * 4]
    assert made.replayed[0].says.startswith("call_failed")

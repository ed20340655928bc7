"""The engine plays a procedure: what it calls, asks and refuses, with a host in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from stretto.compiler.compiling import compile_traces
from stretto.compiler.model import Effect
from stretto.compiler.settings import CompilerSettings
from stretto.errors import RunError
from stretto.procedure import graph
from stretto.procedure.checks import faults
from stretto.procedure.contracts import listed_contract
from stretto.procedure.exchange import Answer, Ask, Done, Make
from stretto.procedure.file import digest_of
from stretto.procedure.journal import Journal, open_journal
from stretto.procedure.readiness import not_ready, stale
from stretto.procedure.running import Asked, Ran, Verdict, adrive, course, drive
from stretto.procedure.values import insert
from tests.stretto.compiler.stories import SHOP, Story, refunds
from tests.stretto.compiler.test_abstain import pay, search

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SETTINGS = CompilerSettings(support_floor=3, constant_min=3)


def compiled(stories: Sequence[Story], **more: Any) -> graph.Procedure:
    made = compile_traces("p", [story.trace for story in stories], SHOP, SETTINGS, **more)
    assert made.procedure is not None, made.reasons
    return made.procedure


class Shop:
    """A host's tools, by name; counts what is called."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.made: list[Make] = []
        self.dies_after = 10**9

    def __call__(self, make: Make) -> Done:
        self.made.append(make)
        answer = self.answers[make.node.partition("#")[0].partition(".")[2]]
        found = answer(make) if callable(answer) else answer
        return found if isinstance(found, Done) else Done(ok=True, output=found)

    def names(self) -> list[str]:
        return [make.tool for make in self.made]


def refund_shop(**more: Any) -> Shop:
    answers = {
        "login": {"token": "tk_new1"},
        "get_order": lambda make: {"id": make.args["order_id"], "payment_id": "pay_9999", "total": 777},
        "refund": {"refund_id": "rf_9999"},
        "send_template": {"sent": True},
    }
    return Shop(**{**answers, **more})


INPUTS: dict[str, Any] = {"order_id": "A-8001", "to": "per@example.com"}


def play(
    procedure: graph.Procedure, shop: Shop, inputs: Any = None, journal: Journal | None = None, **more: Any
) -> Ran:
    given = INPUTS if inputs is None else inputs
    return drive(course(procedure, given, lambda name: f"the {name}", journal), shop, **more)


def test_a_run_makes_the_calls_with_the_values_of_this_request() -> None:
    shop = refund_shop()
    ran = play(compiled(refunds()), shop)
    assert (ran.verdict, ran.outputs) == (Verdict.RESOLVED, {"refund_id": "rf_9999"})
    assert [make.args for make in shop.made] == [
        {"password": "the shop.login.password", "user": "svc@shop"},
        {"order_id": "A-8001", "token": "tk_new1"},
        {"amount": 777, "payment_id": "pay_9999", "token": "tk_new1"},
        {"refund_id": "rf_9999", "template": "refund_ok", "to": "per@example.com"},
    ]


@pytest.mark.parametrize(
    ("broken", "reason", "calls"),
    [
        ({"get_order": {"id": "A-8001", "total": 777}}, "missing_source", 2),
        ({"get_order": Done(ok=False, output="no such order")}, "call_failed", 2),
        ({"refund": Done(ok=False, output="declined")}, "call_failed", 3),
        ({"refund": {"done": True}}, "missing_source", 3),
    ],
)
def test_what_was_never_seen_stops_the_run_before_the_next_change(
    broken: dict[str, Any], reason: str, calls: int
) -> None:
    shop = refund_shop(**broken)
    ran = play(compiled(refunds()), shop)
    assert ran.verdict is Verdict.HAND_BACK
    assert ran.escalation is not None
    assert (ran.escalation.reason, len(shop.made)) == (reason, calls)
    assert len(ran.calls) == calls  # what was done is handed over


def test_a_value_is_inserted_whole_and_never_searched_again() -> None:
    hostile = "A-8001$.token{input}[*]\n${secret}"
    shop = refund_shop()
    play(compiled(refunds()), shop, {**INPUTS, "order_id": hostile})
    assert shop.made[1].args["order_id"] == hostile


@pytest.mark.case("TC-49")
def test_a_number_of_matches_that_nobody_has_seen_stops_and_nothing_is_sent() -> None:
    procedure = compiled([search(number, int(number < 4)) for number in range(6)])
    shop = Shop(search=lambda _: {"matches": [{"id": "C-1"}, {"id": "C-2"}]}, list_orders=[], send_template={})
    ran = play(procedure, shop, dict.fromkeys(procedure.inputs, "kim9@example.com"))
    assert ran.escalation is not None
    assert (ran.escalation.reason, ran.escalation.observed) == ("unseen_branch", "many")
    assert shop.names() == ["crm.search"]
    one = Shop(search={"matches": []}, send_template={"sent": True})
    play(procedure, one, dict.fromkeys(procedure.inputs, "kim9@example.com"), person=Chooses(0))
    assert one.names() == ["crm.search", "mail.send_template"]


class Chooses:
    """A person who takes the candidate of a number, or answers nothing."""

    def __init__(self, number: int | None) -> None:
        self.number = number
        self.asked: list[Ask] = []

    def answer(self, question: Ask) -> Answer:
        self.asked.append(question)
        return Answer(given=False) if self.number is None else Answer(question.candidates[self.number])


@pytest.mark.case("TC-53")
def test_a_person_chooses_among_the_candidates_and_without_one_nothing_is_paid() -> None:
    procedure = compiled([pay(number, people=2) for number in range(4)])
    people = [{"id": "u_9a", "name": "Kim"}, {"id": "u_9b", "name": "Kim"}]
    inputs = {name: (1300 if spec.type == "integer" else "Kim") for name, spec in procedure.inputs.items()}
    for person, paid in ((Chooses(1), ["u_9b"]), (Chooses(None), []), (None, [])):
        shop = Shop(find_people=people, send={"ok": True})
        ran = play(procedure, shop, inputs, person=person)
        assert [make.args["to"] for make in shop.made if make.tool == "pay.send"] == paid
        assert (ran.verdict is Verdict.RESOLVED) == bool(paid)
    assert Chooses(0).asked == []


def test_two_matches_where_there_was_always_one_stop_the_run() -> None:
    procedure = compiled([pay(number, people=1) for number in range(4)])
    inputs = {name: (1300 if spec.type == "integer" else "Kim") for name, spec in procedure.inputs.items()}
    shop = Shop(find_people=[{"id": "u_9a", "name": "Kim"}, {"id": "u_9b", "name": "Kim"}], send={"ok": True})
    ran = play(procedure, shop, inputs)
    assert ran.escalation is not None
    assert (ran.escalation.reason, shop.names()) == ("selection", ["pay.find_people"])


def pages() -> list[Story]:
    stories = []
    for number, count in enumerate((2, 3, 2)):
        story = Story("all my orders", id=f"pg{number}")
        for page in range(count + 1):
            listed: Any = [{"id": f"A-{number}{page}{item}xx"} for item in range(2 if page < count else 0)]
            story.call("shop.list_orders", {"page": page}, listed)
        shown = " ".join(f"A-{number}{page}{item}xx" for page in range(count) for item in range(2))
        stories.append(story.answers(shown))
    return stories


def test_pages_are_read_until_one_is_empty_and_a_server_that_never_ends_is_stopped() -> None:
    procedure = compiled(pages())
    shop = Shop(list_orders=lambda make: [{"id": 1}, {"id": 2}] if make.args["page"] < 4 else [])
    assert play(procedure, shop, {}).verdict is Verdict.RESOLVED
    assert [make.args for make in shop.made] == [{"page": page} for page in range(5)]
    endless = Shop(list_orders=[{"id": 1}, {"id": 2}])
    ran = play(procedure, endless, {})
    assert ran.escalation is not None
    assert (ran.escalation.reason, len(endless.made)) == ("too_many", 1000)


def test_a_poll_goes_on_at_values_that_were_seen_and_stops_at_others() -> None:
    stories = []
    for number in range(3):
        story = Story(f"run export job_771{number}", id=f"po{number}")
        for state in ("queued", "running", "done")[number % 2 :]:
            story.call("job.status", {"id": f"job_771{number}"}, {"state": state})
        stories.append(story.call("job.close", {"id": f"job_771{number}"}, {}, effect=Effect.WRITE))
    procedure = compiled(stories)
    states = iter(["running", "queued", "done"])
    shop = Shop(status=lambda _: {"state": next(states)}, close={})
    assert play(procedure, shop, {"id": "job_8888"}).verdict is Verdict.RESOLVED
    assert [make.waits for make in shop.made] == [False, True, True, False]
    odd = Shop(status={"state": "exploded"}, close={})
    ran = play(procedure, odd, {"id": "job_8888"})
    assert ran.escalation is not None
    assert (ran.escalation.reason, odd.names()) == ("unseen_value", ["job.status"])


# --- runs that break off ----------------------------------------------------------------------------------------------


class _DiedError(BaseException):
    """What ends a process in the middle."""


@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("done", [True, False])
def test_a_run_that_broke_off_goes_on_and_never_repeats_a_change(tmp_path: Path, after: int, *, done: bool) -> None:
    procedure = compiled(refunds())
    path, digest = tmp_path / "run.jsonl", digest_of(procedure)
    shop = refund_shop()

    def dying(make: Make) -> Done:
        if len(shop.made) == after:
            if done:
                shop(make)
            raise _DiedError
        return shop(make)

    with pytest.raises(_DiedError):
        drive(course(procedure, INPUTS, lambda _: "s", open_journal(path, digest, INPUTS)), dying)
    assert "tk_new1" not in path.read_text()
    again = play(procedure, shop, journal=open_journal(path, digest, INPUTS))
    names = shop.names()
    assert names.count("shop.refund") <= 1
    assert names.count("mail.send_template") <= 1
    if after in (2, 3):  # it died in a change: whether that was made is not known
        assert again.escalation is not None
        assert again.escalation.reason == "in_doubt"
    else:
        assert again.verdict is Verdict.RESOLVED
        with pytest.raises(RunError, match="come to its end"):
            open_journal(path, digest, INPUTS)


def test_a_failed_change_may_be_tried_again_and_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    procedure = compiled(refunds())
    path, digest = tmp_path / "run.jsonl", digest_of(procedure)
    shop = refund_shop(send_template=Done(ok=False, output="smtp"))
    first = play(procedure, shop, journal=open_journal(path, digest, INPUTS))
    assert first.verdict is Verdict.HAND_BACK
    shop.answers["send_template"] = {"sent": True}
    second = play(procedure, shop, journal=open_journal(path, digest, INPUTS))
    assert second.verdict is Verdict.RESOLVED
    assert shop.names().count("shop.refund") == 1
    with pytest.raises(RunError, match="another procedure, or of other inputs"):
        open_journal(path, digest, {**INPUTS, "order_id": "A-8002"})


# --- before it starts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"order_id": "A-1"}, "input to is missing"),
        ({**INPUTS, "to": "nobody"}, "input to does not look like the email"),
        ({**INPUTS, "order_id": 7}, "input order_id has to be of type string"),
        ({**INPUTS, "colour": "red"}, "there is no input colour; there are: order_id, to"),
    ],
)
def test_inputs_that_are_not_what_they_always_were_are_told(inputs: dict[str, Any], says: str) -> None:
    found = not_ready(compiled(refunds()), inputs, has_secret=lambda _: True, person=True)
    assert any(each.startswith(says) for each in found), found


@pytest.mark.case("TC-63")
@pytest.mark.case("HC-28")
def test_a_tool_that_has_changed_makes_the_procedure_stale_before_its_first_step() -> None:
    procedure = compiled(refunds())
    plain: Any = {"inputSchema": {"properties": {"amount": {"type": "integer"}}}}
    then = {f"{node.server}/{node.tool}": listed_contract(plain) for _, node in procedure.tools()}
    procedure = procedure.model_copy(update={"contracts": then})
    assert stale(procedure, then) == []
    more: Any = {"inputSchema": {"properties": {"reason": {"type": "string"}}, "required": ["reason"]}}
    changed = {**then, "/shop.refund": listed_contract(more)}
    assert stale(procedure, changed) == ["tool shop.refund has changed since: its input"]
    del changed["/shop.refund"]
    assert "tool shop.refund is not there" in stale(procedure, changed)
    found = not_ready(
        procedure, INPUTS, has_secret=lambda name: "password" not in name, person=False, contracts=changed
    )
    assert "secret shop.login.password is not there" in found


def test_reads_that_do_not_depend_on_each_other_are_made_at_once() -> None:
    stories = []
    for number in range(3):
        order = f"A-55{number}1"
        story = Story(f"Show {order}", id=f"sd{number}").call(
            "shop.get_order", {"order_id": order}, {"a": f"a{number}xx"}
        )
        story.call("stock.of_order", {"order_id": order}, {"b": f"b{number}xx"})
        stories.append(story.answers(f"a{number}xx b{number}xx"))
    procedure = compiled(stories)
    together = asyncio.Barrier(2)

    async def call(make: Make) -> Done:
        async with asyncio.timeout(10):
            await together.wait()
        return Done(ok=True, output={"a": "1", "b": "2"})

    running = course(procedure, {"order_id": "A-9999"}, str)
    assert asyncio.run(adrive(running, call)).verdict is Verdict.RESOLVED


def test_a_graph_that_does_not_fit_together_has_faults() -> None:
    procedure = compiled(refunds())
    node = procedure.nodes["shop.refund#0"]
    assert isinstance(node, graph.ToolNode)
    bent: dict[str, Any] = {
        "a source that comes later": {"layer": 0},
        "an exit that is not there": {"when": [[("fork9", "x")]]},
        "an input that is not declared": {
            "args": {"$.x": graph.Binding(value=graph.Input(input="nobody"))},
        },
        "a source that is no node": {
            "args": {"$.x": graph.Binding(value=graph.Copied(sources=[graph.Source(node="y", path="$")]))},
        },
    }
    assert faults(procedure) == []
    for update in bent.values():
        broken = procedure.model_copy(
            update={"nodes": {**procedure.nodes, "shop.refund#0": node.model_copy(update=update)}}
        )
        assert faults(broken)


@pytest.mark.parametrize(
    ("values", "made"),
    [
        ({"$.a.b": 1, "$.a.c": 2, "$.d": None}, {"a": {"b": 1, "c": 2}, "d": None}),
        ({"$.l[10]": "k", "$.l[2]": "c", "$.l[0]": "a"}, {"l": ["a", "c", "k"]}),
        ({'$["odd key"][1].x': 1, '$["odd key"][1].y': 2}, {"odd key": [{"x": 1, "y": 2}]}),
        ({"$.e": {}, "$.f": []}, {"e": {}, "f": []}),
    ],
)
def test_arguments_are_put_together_from_their_paths(values: dict[str, Any], made: dict[str, Any]) -> None:
    assert insert(values) == made


@pytest.mark.parametrize("values", [{"$.a": 1, "$.a.b": 2}, {"$.a[0]": 1, "$.a.b": 2}, {"a": 1}, {"$.a[*]": 1}])
def test_paths_that_contradict_each_other_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"two values|no path|not a path"):
        insert(values)


# --- a model that chooses -------------------------------------------------------------------------------------------


class Model:
    """A model that answers as it is told, and what it saw."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.saw: list[tuple[Any, ...]] = []

    def choose(self, *given: Any) -> Any:
        self.saw.append(given)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def expedited(number: int) -> Story:
    """An order that is expedited by nothing that was recorded, and can be taken back."""
    order = f"A-61{number}0"
    story = Story(f"Handle order {order}", id=f"e{number}")
    story.call("shop.login", {"user": "svc@shop", "password": "hunter2hunter2"}, {"token": f"tk_{number}f31"})
    story.call(
        "shop.get_order", {"order_id": order, "token": f"tk_{number}f31"}, {"ref": f"R-{number}551", "lines": [1]}
    )
    if number % 2:
        story.call("shop.expedite", {"order_id": order}, {"ok": True})
    return story.call("cart.add", {"order_id": order}, {"ok": True}).answers(f"R-{number}551")


def handle(model: Any) -> tuple[Ran, list[str]]:
    procedure = compiled([expedited(number) for number in range(6)])
    assert isinstance(procedure.nodes["fork1"], graph.ModelNode)
    output = {"ref": "R-9551", "lines": [1]}
    shop = Shop(login={"token": "tk_new1"}, get_order=output, expedite={"ok": True}, add={"ok": True})
    ran = play(procedure, shop, {"order_id": "A-8001"}, chooser=model)
    assert output == {"ref": "R-9551", "lines": [1]}
    return ran, shop.names()


def test_a_model_chooses_by_number_and_sees_what_the_node_lists_and_no_secret() -> None:
    model = Model(0)
    ran, names = handle(model)
    assert ran.verdict is Verdict.RESOLVED
    assert sorted(names) == ["cart.add", "shop.expedite", "shop.get_order", "shop.login"]
    ((question, candidates),) = model.saw
    assert candidates == ("shop.expedite#0", "end")
    assert isinstance(question, Asked)
    assert question.text == "Which way does it go on?"
    assert dict(question.shows) == {
        "shop.get_order#0 $": {"ref": "R-9551", "lines": [1]},
        "shop.login#0 $": {"token": "__REDACTED_BY_WAGGLE__"},
    }
    _, names = handle(Model(1))
    assert "shop.expedite" not in names


def test_a_model_is_given_copies_that_it_cannot_change_a_run_by() -> None:
    class Meddles(Model):
        def choose(self, *given: Any) -> Any:
            question, _ = given
            question.shows["shop.get_order#0 $"]["lines"].clear()
            question.shows.clear()
            return 0

    ran, _ = handle(Meddles(0))
    assert ran.verdict is Verdict.RESOLVED


@pytest.mark.parametrize("answer", [2, -1, True, False, 0.0, "0", "end", [0], object(), RuntimeError("no")])
def test_an_answer_of_a_model_that_is_no_number_of_a_candidate_stops_the_run(answer: Any) -> None:
    ran, names = handle(Model(answer))
    assert ran.escalation is not None
    assert (ran.escalation.node, ran.escalation.reason) == ("fork1", "not_among_candidates")
    assert names == ["shop.login", "shop.get_order"]


def test_a_model_that_does_not_answer_stops_the_run() -> None:
    ran, _ = handle(Model(None))
    assert ran.escalation is not None
    assert ran.escalation.reason == "no_answer"
    assert handle(None)[0].escalation == ran.escalation


def asking(answer: str, shows: list[graph.Source]) -> graph.Procedure:
    """A search whose argument a model answers."""
    procedure = compiled([search(number, 1) for number in range(3)])
    node = procedure.nodes["shop.list_orders#0"]
    assert isinstance(node, graph.ToolNode)
    model = graph.ModelNode(
        layer=1, asks="Which?", about="shop.list_orders#0", path="$.customer_id", shows=shows, answer=answer
    )
    bound = graph.Binding(value=graph.FromNode(node="which"))
    later = node.model_copy(update={"layer": 2, "args": {"$.customer_id": bound}})
    nodes = {"crm.search#0": procedure.nodes["crm.search#0"], "which": model, "shop.list_orders#0": later}
    return procedure.model_copy(update={"nodes": nodes, "edges": [], "outputs": []})


def test_an_open_question_of_a_model_is_closed_by_what_it_is_shown() -> None:
    matches = {"matches": [{"id": "C-1", "name": "Kim", "api_key": "k3y-of-kim"}], "count": 1, "again": "Kim"}
    for answer, chosen, candidates in [("string", 1, ("C-1", "Kim")), ("integer", 0, (1,)), ("boolean", 0, None)]:
        shop, model = Shop(search=matches, list_orders=[]), Model(chosen)
        procedure = asking(answer, [graph.Source(node="crm.search#0", path="$")])
        ran = play(procedure, shop, dict.fromkeys(procedure.inputs, "kim9@example.com"), chooser=model)
        if candidates is None:
            assert model.saw == []
            assert ran.escalation is not None
            assert ran.escalation.reason == "no_answer"
        else:
            assert set(model.saw[0][1]) == set(candidates)
            assert "k3y-of-kim" not in repr(model.saw[0])
            assert shop.made[1].args == {"customer_id": model.saw[0][1][chosen]}


def test_a_model_is_asked_in_an_async_run_too() -> None:
    procedure = compiled([expedited(number) for number in range(6)])
    shop = Shop(login={"token": "tk_new1"}, get_order={"ref": "R-9551"}, expedite={"ok": True}, add={"ok": True})

    async def call(make: Make) -> Done:
        return shop(make)

    running = course(procedure, {"order_id": "A-8001"}, lambda name: f"the {name}")
    ran = asyncio.run(adrive(running, call, chooser=Model(True)))
    assert ran.escalation is not None
    assert ran.escalation.reason == "not_among_candidates"

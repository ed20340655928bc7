"""An adviser proposes; the compiler checks, and without one nothing is different."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stretto.compiler import CompilerSettings, Guard, Predicate, Tools, compile_traces
from stretto.compiler.abstain import Code, Outcome
from stretto.compiler.asking import Asking
from stretto.compiler.evidence import Verdict
from stretto.compiler.model import Effect, Trace
from stretto.compiler.paper import Result
from stretto.compiler.splitting import split_traces
from stretto.procedure import graph
from stretto.procedure.engine import play
from stretto.procedure.exchange import Calls, Done
from stretto.procedure.file import dump_procedure, load_procedure
from stretto.review.document import as_markdown
from stretto.review.procedure_page import procedure_page
from stretto.review.procedure_show import show_procedure
from tests.stretto.compiler.stories import SHOP, Story, refunds
from tests.stretto.compiler.test_abstain import expedite, search
from tests.stretto.compiler.test_intents import MAIL, MILK, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stretto.compiler import Compilation, Edge, OpenFork
    from waggle.jsonvalue import JsonValue

SETTINGS = CompilerSettings(support_floor=3, constant_min=3)


@dataclass
class Rules:
    """An adviser by rule, and what it was given."""

    title: Any = ""
    splits: Any = ()
    transforms: Any = ()
    guards: Any = ()
    doubts: Callable[[Edge], Any] = lambda _edge: None
    name: Any = "rules"
    version: Any = "1"
    given: list[tuple[str, Any]] = field(default_factory=list)

    def name_intent(self, documents: Sequence[str]) -> str:
        self.given.append(("name_intent", documents))
        return self.title  # type: ignore[no-any-return]  # whatever a test wants

    def propose_split(self, trace: Trace) -> Sequence[int]:
        self.given.append(("propose_split", trace))
        return self.splits  # type: ignore[no-any-return]  # as above

    def propose_transforms(self, pairs: Sequence[tuple[JsonValue, JsonValue]]) -> Sequence[str]:
        self.given.append(("propose_transforms", pairs))
        return self.transforms  # type: ignore[no-any-return]  # as above

    def propose_guards(self, fork: OpenFork) -> Sequence[Guard]:
        self.given.append(("propose_guards", fork))
        return self.guards  # type: ignore[no-any-return]  # as above

    def doubt(self, edge: Edge) -> str | None:
        self.given.append(("doubt", edge))
        return self.doubts(edge)  # type: ignore[no-any-return]  # as above

    def asked(self, method: str) -> list[Any]:
        """What one method was given, call by call."""
        return [what for name, what in self.given if name == method]


def compiled(stories: Sequence[Story], adviser: Rules | None = None, **more: Any) -> Compilation:
    given = {"tools": SHOP, "settings": SETTINGS, **more}
    return compile_traces("x", [story.trace for story in stories], adviser=adviser, **given)


def bare(made: Compilation) -> bytes:
    """The procedure's bytes without who was asked; nothing of a refusal."""
    if made.procedure is None:
        return b""
    without = made.procedure.compiled.model_copy(update={"adviser": None})
    return dump_procedure(made.procedure.model_copy(update={"compiled": without}))


def why_dropped(made: Compilation) -> list[tuple[str, str]]:
    return [(each.proposal, each.reason) for each in made.dropped]


# --- nobody, and anybody --------------------------------------------------------------------------------------------


def test_without_an_adviser_nothing_of_it_is_in_the_file() -> None:
    made = compiled(refunds())
    assert made.procedure is not None
    data = dump_procedure(made.procedure)
    assert b"adviser" not in data
    assert load_procedure(data) == made.procedure.model_copy(update={"digest": json.loads(data)["digest"]})


def test_an_adviser_that_proposes_nothing_changes_nothing_but_is_named() -> None:
    made, asked = compiled(refunds()), compiled(refunds(), Rules())
    assert bare(asked) == bare(made) != b""
    assert asked.procedure is not None
    assert asked.procedure.compiled.adviser == graph.AdviserNote(name="rules", version="1")
    again = load_procedure(dump_procedure(asked.procedure))
    assert again.compiled.adviser == asked.procedure.compiled.adviser
    assert (asked.reasons, asked.left_out, asked.dropped) == (made.reasons, made.left_out, ())


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=5),
    st.lists(
        st.one_of(st.none(), st.integers(), st.text(max_size=8), st.sampled_from(["lower", "cents"])), max_size=30
    ),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sampled_from([ValueError("no"), KeyError("no"), RecursionError(), object(), int, {1, 2}]),
    st.lists(
        st.builds(
            Guard,
            st.one_of(st.sampled_from(Predicate), st.integers(), st.text(max_size=4)),
            st.sampled_from(["shop.get_order#0", "crm.search#0", "", 3]),
            st.sampled_from(["$.tier", "$.total", "$.matches", "no path", None]),
            st.just({}),
        ),
        max_size=3,
    ),
)


@dataclass
class Garbage(Rules):
    """Says, or raises, anything."""

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name not in ("name_intent", "propose_split", "propose_transforms", "propose_guards", "doubt"):
            return found

        def answer(*given: Any) -> Any:
            said = found(*given)
            if isinstance(said, Exception):
                raise said
            return said

        return answer


STORIES = {
    "refunds": refunds(),
    "guard": [search(number, int(number < 4)) for number in range(6)],
    "rivals": [
        expedite(number, *case)
        for number, case in enumerate(
            [("gold", 1040), ("gold", 2300), ("silver", 300), ("silver", 820), ("gold", 1500)]
        )
    ],
}
PLAIN = {name: compiled(stories) for name, stories in STORIES.items()}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(STORIES)), ANYTHING, st.tuples(ANYTHING, ANYTHING), ANYTHING, ANYTHING)
def test_whatever_an_adviser_says_the_result_is_the_same_but_for_doubts(
    name: str, title: Any, proposed: tuple[Any, Any], doubt: Any, called: Any
) -> None:
    transforms, guards = proposed
    adviser = Garbage(title, (), transforms, guards, lambda _edge: doubt, name=called)
    made = compiled(STORIES[name], adviser)
    if isinstance(doubt, str) and any(character.isprintable() and not character.isspace() for character in doubt):
        order = list(Outcome)
        assert order.index(made.outcome) >= order.index(PLAIN[name].outcome)
    else:
        assert bare(made) == bare(PLAIN[name])
        assert made.reasons == PLAIN[name].reasons
        assert made.left_out == PLAIN[name].left_out


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["guard", "refunds"]), st.sets(st.integers(0, 9)))
def test_whatever_is_doubted_no_edge_and_no_procedure_is_worth_more(name: str, doubted: set[int]) -> None:
    plain = PLAIN[name]
    assert plain.analysis is not None
    before = {(edge.producer, edge.consumer): edge.verdict for edge in plain.analysis.edges}
    pairs = [pair for number, pair in enumerate(sorted(before)) if number in doubted]
    made = compiled(STORIES[name], Rules(doubts=lambda edge: "no" * ((edge.producer, edge.consumer) in pairs)))
    assert made.analysis is not None
    for edge in made.analysis.edges:
        pair = (edge.producer, edge.consumer)
        assert edge.verdict is (Verdict.SUSPECTED if pair in pairs else before[pair])
        assert bool(edge.doubt) == (pair in pairs and before[pair] is not Verdict.SUSPECTED)
    order = list(Outcome)
    assert order.index(made.outcome) >= order.index(plain.outcome)
    assert {each.result for each in made.replayed} <= {Result.SAME, Result.ESCALATED}


@settings(max_examples=40, deadline=None)
@given(st.one_of(ANYTHING, st.lists(st.integers(-3, 9), max_size=5)), st.sampled_from([0.0, 0.3, 0.6]))
def test_whatever_is_proposed_a_trace_is_parted_only_where_no_value_crosses_and_both_sides_act_apart(
    splits: Any, alike: float
) -> None:
    adviser = Garbage(splits=splits)
    for story in (MILK, MAIL):
        plain, _ = split_traces([story.trace], Told(alike), CompilerSettings())
        asking = Asking(adviser, None, Tools(), [story.trace])
        parts, found = split_traces([story.trace], Told(alike), CompilerSettings(), asking)
        if parts != plain:
            (split,) = found
            assert (story, split.proposed, alike) == (MILK, True, 0.3)
            assert split.before in splits


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_traces_gives_the_same_bytes_with_an_adviser(seed: int) -> None:
    adviser = Rules(title="Refund an order", doubts=lambda edge: "an id is in it" if "mail" in edge.consumer else None)
    traces = [story.trace for story in refunds()]
    first = compile_traces("x", traces, SHOP, SETTINGS, adviser=adviser)
    random.Random(seed).shuffle(traces)  # noqa: S311 - seeded on purpose
    second = compile_traces("x", traces, SHOP, SETTINGS, adviser=adviser)
    assert first.procedure is not None
    assert second.procedure is not None
    assert dump_procedure(first.procedure) == dump_procedure(second.procedure)


# --- boundaries -----------------------------------------------------------------------------------------------------


def parted(story: Story, alike: float, *splits: int) -> tuple[bool, list[str]]:
    asking = Asking(Rules(splits=splits), None, Tools(), [story.trace])
    parts, _ = split_traces([story.trace], Told(alike), CompilerSettings(), asking)
    return len(parts) > 1, [each.reason for each in asking.dropped]


def test_a_proposed_boundary_needs_sides_that_would_not_be_one_cluster() -> None:
    (message,) = MILK.trace.utterances
    assert parted(MILK, 0.3) == (False, [])
    assert parted(MILK, 0.3, message.index) == (True, [])
    assert parted(MILK, 0.5, message.index) == (False, ["the two parts are as alike as traces of one intent"])


@pytest.mark.case("TC-06")
def test_a_proposed_boundary_that_a_value_crosses_is_dropped() -> None:
    (message,) = MAIL.trace.utterances
    assert parted(MAIL, 0.3, message.index) == (False, ["a value of the first part is used in the second"])


def test_a_proposed_boundary_where_nobody_spoke_is_dropped() -> None:
    says = "no message of the user begins there, with something done before and after it"
    assert parted(MILK, 0.3, 0, -4, 10**30) == (False, [says] * 3)


def test_a_trace_that_is_parted_anyway_is_not_asked_about() -> None:
    adviser = Rules()
    asking = Asking(adviser, None, Tools(), [MILK.trace])
    parts, splits = split_traces([MILK.trace], Told(0.1), CompilerSettings(), asking)
    assert [each.proposed for each in splits] == [False]
    assert adviser.asked("propose_split") == []
    assert split_traces(parts, Told(0.1), CompilerSettings(), asking) == (parts, ())


# --- transforms -----------------------------------------------------------------------------------------------------


def booking(number: int, *, more: bool = False, **event: Any) -> Story:
    """A hotel for the day of the only event."""
    start = f"2026-0{number + 1}-11T10:00:00Z"
    events = [{"start": start, **event}, *([{"start": "2027-01-01T09:00:00Z"}] if more else [])]
    story = Story(f"a hotel in OSLO{number}1, please", id=f"b{number}")
    story.call("calendar.list", {"city": f"OSLO{number}1"}, {"events": events})
    return story.call("hotel.search", {"day": start[:10]}, {"hotel": f"H-{number}755"}).answers(f"H-{number}755")


def day_of(made: Compilation) -> Any:
    assert made.analysis is not None
    return made.analysis.bindings["hotel.search#0", "$.day"]


def test_a_proposed_transform_of_the_only_element_of_a_list_binds_where_it_holds_in_all_traces() -> None:
    stories = [booking(number) for number in range(3)]
    assert day_of(compiled(stories)).kind.value == "llm_or_dynamic"
    adviser = Rules(transforms=["date_of", "lower", "rot13"])
    made = compiled(stories, adviser)
    assert day_of(made).kind.value == "transform_edge"
    assert made.procedure is not None, made.reasons
    (node,) = [each for each in made.procedure.nodes.values() if isinstance(each, graph.TransformNode)]
    assert node.of == graph.Source(node="calendar.list#0", path="$.events[*].start", select=graph.Select(kind="only"))
    assert [each.result for each in (*made.replayed, *made.left_out)] == [Result.SAME] * 6
    assert made.procedure.compiled.adviser is not None
    assert made.procedure.compiled.adviser.proposed == [
        "hotel.search#0 $.day: date_of of calendar.list#0 $.events[*].start"
    ]
    assert adviser.asked("propose_transforms") == [
        [(f"2026-0{number}-11T10:00:00Z", f"2026-0{number}-11") for number in (1, 2, 3)]
    ]
    assert why_dropped(made) == [
        ("lower", "it does not make the value of what is at calendar.list#0 $.events[*].start in all traces"),
        ("rot13", "there is no such transform"),
    ]


def test_a_proposed_transform_that_is_not_the_only_one_leaves_the_argument_open() -> None:
    stories = [booking(number, end=f"2026-0{number + 1}-11T12:00:00Z") for number in range(3)]
    made = compiled(stories, Rules(transforms=["date_of"]))
    assert day_of(made).kind.value == "llm_or_dynamic"
    assert why_dropped(made) == [
        ("date_of", "date_of of calendar.list#0 $.events[*].start does the same"),
        ("date_of", "date_of of calendar.list#0 $.events[*].end does the same"),
    ]


def test_an_element_among_many_is_not_asked_about() -> None:
    adviser = Rules(transforms=["date_of"])
    made = compiled([booking(number, more=number > 1) for number in range(3)], adviser)
    assert adviser.asked("propose_transforms") == []
    assert day_of(made).kind.value == "llm_or_dynamic"


@pytest.mark.case("TC-42")
def test_a_proposed_transform_needs_two_different_sources() -> None:
    stories = []
    for number in range(3):
        story = Story(f"hotel number {number}, please", id=f"d{number}")
        story.call("calendar.get", {"number": number}, {"start": "2026-03-01T09:30:00Z"})
        story.call("hotel.search", {"day": "2026-03-01"}, {"hotel": f"H-{number}755"})
        stories.append(story.answers(f"H-{number}755"))
    made = compiled(stories, Rules(transforms=["date_of"]))
    assert day_of(made).kind.value == "llm_or_dynamic"
    assert why_dropped(made) == [("date_of", "fewer than 2 different values were seen")]


# --- guards ---------------------------------------------------------------------------------------------------------


def shipping(number: int, status: str, **more: Any) -> Story:
    """An order that is expedited where its status says so; the status is in a list of one."""
    order = f"A-61{number}0"
    story = Story(f"Handle order {order}", id=f"s{number}")
    found = {"orders": [{"status": status, **more}]}
    story.call("shop.find", {"order_id": order}, found)
    if status == "late":
        story.call("shop.expedite", {"order_id": order}, {"ok": True}, effect=Effect.IRREVERSIBLE)
    return story.call("shop.pack", {"order_id": order}, {"ok": True}, effect=Effect.WRITE)


STATUSES = ["late", "late", "fine", "fine", "late"]
BY_STATUS = Guard(Predicate.EQUALS, "shop.find#0", "$.orders[*].status", {"never": ("seen",)})


def test_a_proposed_guard_over_the_only_element_of_a_list_is_accepted_when_it_alone_separates() -> None:
    stories = [shipping(number, status) for number, status in enumerate(STATUSES)]
    plain = compiled(stories)
    assert [reason.code for reason in plain.reasons] == [Code.OPEN_BRANCH]
    adviser = Rules(
        guards=[BY_STATUS, replace(BY_STATUS, path="$.orders[*].colour"), replace(BY_STATUS, predicate=Predicate.COUNT)]
    )
    made = compiled(stories, adviser)
    assert made.procedure is not None, made.reasons
    decision = made.procedure.nodes["fork1"]
    assert isinstance(decision, graph.DecisionNode)
    assert decision.of == graph.Source(node="shop.find#0", path=BY_STATUS.path, select=graph.Select(kind="only"))
    assert decision.exits == {"end": ["fine"], "shop.expedite#0": ["late"]}
    assert {each.result for each in made.replayed} == {Result.SAME}
    assert Result.WRONG not in {each.result for each in made.left_out}
    (fork, *_) = adviser.asked("propose_guards")
    assert [(each.step, each.path) for each in fork.observed] == [
        ("", "order_id"),
        ("shop.find#0", "$.orders[*].status"),
    ]
    assert [reason for _, reason in why_dropped(made)] == [
        "it does not separate all traces",
        "not every trace has exactly one value there before the fork",
    ]


def test_a_procedure_with_such_a_guard_stops_at_a_list_of_two() -> None:
    made = compiled([shipping(number, status) for number, status in enumerate(STATUSES)], Rules(guards=[BY_STATUS]))
    assert made.procedure is not None
    playing = play(made.procedure, {"order_id": "A-6190"}, str)
    request = next(playing)
    assert isinstance(request, Calls)
    with pytest.raises(StopIteration) as stop:
        playing.send([Done(ok=True, output={"orders": [{"status": "late"}, {"status": "late"}]})])
    assert stop.value.value.escalation.reason == "selection"


def test_numbers_that_are_no_intervals_may_be_told_apart_by_a_proposed_guard() -> None:
    codes = {"late": 2, "fine": 1}
    stories = []
    for number, kind in enumerate(["late", "late", "fine", "fine", "odd", "odd"]):
        story = Story(f"Handle order A-61{number}0", id=f"n{number}")
        story.call("shop.find", {"order_id": f"A-61{number}0"}, {"code": codes.get(kind, 3)})
        if kind == "late":
            story.call("shop.expedite", {"order_id": f"A-61{number}0"}, {"ok": True}, effect=Effect.IRREVERSIBLE)
        stories.append(story.call("shop.pack", {"order_id": f"A-61{number}0"}, {"ok": True}, effect=Effect.WRITE))
    assert compiled(stories).procedure is None
    made = compiled(stories, Rules(guards=[Guard(Predicate.EQUALS, "shop.find#0", "$.code", {})]))
    assert made.procedure is not None, (made.reasons, made.dropped)
    decision = made.procedure.nodes["fork1"]
    assert isinstance(decision, graph.DecisionNode)
    assert decision.exits == {"end": [1, 3], "shop.expedite#0": [2]}


def test_a_proposal_never_chooses_between_guards_that_separate_equally_well() -> None:
    stories = [
        shipping(number, status, lane="fast" if status == "late" else "slow") for number, status in enumerate(STATUSES)
    ]
    made = compiled(stories, Rules(guards=[BY_STATUS]))
    assert made.procedure is None
    assert why_dropped(made) == [
        (
            "equals(shop.find#0 $.orders[*].status)",
            "equals(shop.find#0 $.orders[*].lane) separates them equally well",
        )
    ]


@pytest.mark.case("TC-48")
def test_a_fork_with_rivals_is_not_asked_about() -> None:
    adviser = Rules(guards=[Guard(Predicate.EQUALS, "shop.get_order#0", "$.tier", {})])
    made = compiled(STORIES["rivals"], adviser)
    assert adviser.asked("propose_guards") == []
    assert [reason.code for reason in made.reasons] == [Code.OPEN_BRANCH]


def test_a_fork_with_too_few_traces_on_a_side_is_not_asked_about() -> None:
    adviser = Rules(guards=[BY_STATUS])
    made = compiled(
        [shipping(number, status) for number, status in enumerate(["late", "fine", "fine", "fine"])], adviser
    )
    assert adviser.asked("propose_guards") == []
    assert made.procedure is None


# --- doubts ---------------------------------------------------------------------------------------------------------


def test_a_doubt_lowers_an_edge_with_its_reason_and_a_person_is_asked() -> None:
    plain = compiled(refunds())

    def doubts(edge: Edge) -> str | None:
        return "a total is no amount" if (edge.producer, edge.consumer) == pair else None

    pair = ("shop.get_order#0", "shop.refund#0")
    made = compiled(refunds(), Rules(doubts=doubts))
    assert plain.outcome is Outcome.COMPILED
    assert made.outcome is Outcome.WITH_PERSON, made.refusal
    assert made.analysis is not None
    edges = {(edge.producer, edge.consumer): edge for edge in made.analysis.edges}
    assert (edges[pair].verdict, edges[pair].doubt) == (Verdict.SUSPECTED, "a total is no amount")
    assert {edge.doubt for at, edge in edges.items() if at != pair} == {""}
    assert {reason.code for reason in made.reasons} == {Code.DOUBTFUL_SOURCE}
    assert all("a total is no amount" in reason.says for reason in made.reasons)
    assert {each.result for each in made.replayed} == {Result.SAME}
    assert made.procedure is not None
    assert made.procedure.compiled.adviser is not None
    assert [(each.first, each.then, each.says) for each in made.procedure.compiled.adviser.doubts] == [
        (*pair, "a total is no amount")
    ]
    page = as_markdown(procedure_page(show_procedure(made.procedure)))
    assert "a total is no amount" in page


def test_an_edge_that_is_only_suspected_is_not_asked_about_and_is_never_raised() -> None:
    adviser = Rules(doubts=lambda edge: "all of them")
    made = compiled(refunds(), adviser)
    assert {edge.verdict for edge in adviser.asked("doubt")} == {Verdict.STRONG}
    assert made.analysis is not None
    assert {edge.verdict for edge in made.analysis.edges} == {Verdict.SUSPECTED}
    assert made.outcome is not Outcome.COMPILED


def test_a_doubted_login_is_still_made_and_its_token_is_no_candidate() -> None:
    made = compiled(refunds(), Rules(doubts=lambda edge: "hm" if edge.producer == "shop.login#0" else None))
    assert made.procedure is not None, made.refusal
    assert "shop.login#0" in made.procedure.nodes
    assert "tk_" not in dump_procedure(made.procedure).decode()

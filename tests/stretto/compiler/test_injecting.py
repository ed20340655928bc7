"""Values that are fixed when a procedure is compiled: whose they are, how long they hold, what reads them anew."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from stretto.compiler.compiling import Compilation, compile_traces
from stretto.compiler.emit import Origin
from stretto.compiler.injecting import Injection
from stretto.compiler.model import Effect
from stretto.compiler.paper import Result
from stretto.compiler.schemas import Tools, ToolSchema
from stretto.compiler.settings import CompilerSettings
from stretto.procedure import graph
from stretto.procedure.checks import faults
from stretto.procedure.engine import play
from stretto.procedure.exchange import Calls, Done, Ending
from stretto.procedure.file import dump_procedure, load_procedure
from stretto.procedure.freshness import Freshness, freshness
from stretto.procedure.readiness import not_ready
from stretto.review.document import as_markdown
from stretto.review.procedure_diff import diff_procedures
from stretto.review.procedure_page import procedure_page
from stretto.review.procedure_show import show_procedure
from tests.stretto.compiler.stories import Story

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.compiler.model import Trace
    from stretto.procedure.exchange import Make

TEAM = Injection("org.get_team", "$.team_id", (("tenant", "acme"),), days=30)
NAME = "org.get_team $.team_id"
SEEN = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SETTINGS = CompilerSettings(support_floor=3, constant_min=3, inject=(TEAM,))
CONTRACTS = {
    "/org.get_team": graph.Contract(input="i1", output="o1", annotations="a1"),
    "/shop.list_orders": graph.Contract(input="i2"),
}


def story(number: int, *, team: str = "T-88", told: str = "", **more: Any) -> Story:
    """A run that looks up the team, and books an order for it."""
    made = Story(f"Book order A-44{number}1 please{told}", id=f"i{number}")
    made.call("org.get_team", {"of": "me"}, {"team_id": team, "name": "Blue"}, **more)
    return made.call("shop.book", {"team": team, "order_id": f"A-44{number}1"}, {"ok": True}, effect=Effect.WRITE)


def traces(stories: Sequence[Story], *, days: Sequence[int] = ()) -> list[Trace]:
    """Their traces, each of which began some days after the first that it is told of; all at `SEEN` by default."""
    began = [int((SEEN + timedelta(days=day)).timestamp() * 1000) for day in days or [0] * len(stories)]
    return [replace(each.trace, meta={"started_ms": at}) for each, at in zip(stories, began, strict=True)]


def compiled(given: Sequence[Trace], settings: CompilerSettings = SETTINGS, tools: Tools | None = None) -> Compilation:
    return compile_traces("book", given, tools or Tools(), settings, origin=Origin("book", contracts=CONTRACTS))


def procedure(**more: Any) -> graph.Procedure:
    made = compiled(traces([story(number, **more) for number in range(4)]))
    assert made.procedure is not None, made.reasons
    return made.procedure


def run(
    given: graph.Procedure, answers: dict[str, Done], fresh: dict[str, Freshness] | None = None
) -> tuple[list[Make], Ending]:
    """The calls that a run makes, with answers by tool; any other call returns that it went well."""
    playing = play(given, {"order_id": "A-9001"}, str, fresh)
    made: list[Make] = []
    try:
        request = next(playing)
        while True:
            assert isinstance(request, Calls)
            made += request.makes
            request = playing.send(
                [answers.get(make.tool, Done(ok=True, output={"ok": True})) for make in request.makes]
            )
    except StopIteration as stop:
        return made, stop.value


def test_a_value_that_is_fixed_needs_no_call_and_what_finds_it_is_never_called() -> None:
    made = procedure()
    assert [name for name, _ in made.tools()] == ["shop.book#0"]
    fixed = made.injected[NAME]
    assert (fixed.value, fixed.observed, fixed.days) == ("T-88", "2026-03-01T09:30:00Z", 30)
    assert fixed.contract == CONTRACTS["/org.get_team"]
    assert fixed.refresh == graph.Refresh(tool="org.get_team", args={"of": "me"})
    assert (made.scope, made.forbidden_at_runtime) == ({"tenant": "acme"}, ["/org.get_team"])
    calls, ending = run(made, {}, freshness(made, SEEN + timedelta(days=29)))
    assert [(make.tool, make.args) for make in calls] == [("shop.book", {"team": "T-88", "order_id": "A-9001"})]
    assert ending.escalation is None


def test_nothing_is_fixed_that_nobody_asked_for() -> None:
    made = compiled(traces([story(number) for number in range(4)]), replace(SETTINGS, inject=()))
    assert made.procedure is not None
    assert [name for name, _ in made.procedure.tools()] == ["org.get_team#0", "shop.book#0"]
    assert not made.procedure.injected
    assert not made.procedure.scope


@pytest.mark.case("TC-64")
def test_a_value_past_its_time_is_read_anew_before_anything_else() -> None:
    made = procedure()
    fresh = freshness(made, SEEN + timedelta(days=40), CONTRACTS)
    assert fresh == {NAME: Freshness.REFRESH}
    calls, ending = run(made, {"org.get_team": Done(ok=True, output={"team_id": "T-99"})}, fresh)
    assert [(make.tool, make.effect) for make in calls] == [("org.get_team", "read"), ("shop.book", "write")]
    assert calls[0].args == {"of": "me"}
    assert calls[1].args["team"] == "T-99"
    assert ending.escalation is None


@pytest.mark.case("TC-64")
@pytest.mark.parametrize("answer", [Done(ok=False, output="down"), Done(ok=True, output={"id": "T-99"})])
def test_a_value_that_cannot_be_read_anew_hands_the_run_back_and_the_old_one_is_not_used(answer: Done) -> None:
    made = procedure()
    calls, ending = run(made, {"org.get_team": answer}, freshness(made, SEEN + timedelta(days=40)))
    assert [make.tool for make in calls] == ["org.get_team"]
    assert ending.escalation is not None
    assert (ending.escalation.reason, ending.escalation.node) == ("stale_constant", NAME)


def test_a_value_whose_age_nobody_says_is_read_anew() -> None:
    calls, _ = run(procedure(), {"org.get_team": Done(ok=True, output={"team_id": "T-88"})})
    assert [make.tool for make in calls] == ["org.get_team", "shop.book"]
    undated = compiled([story(number).trace for number in range(4)]).procedure
    assert undated is not None
    assert undated.injected[NAME].observed == ""
    assert freshness(undated, SEEN) == {NAME: Freshness.REFRESH}
    assert freshness(procedure(), SEEN - timedelta(days=1)) == {NAME: Freshness.REFRESH}  # it is of the future


@pytest.mark.parametrize(
    ("now", "what"),
    [
        (graph.Contract(input="i1", output="o1", annotations="a1"), Freshness.FRESH),
        (graph.Contract(input="i1", output="o2", annotations="a1"), Freshness.REFRESH),
        (graph.Contract(input="i1", output="o1", annotations="a2"), Freshness.LOST),
        (None, Freshness.LOST),
    ],
)
def test_a_value_whose_tool_changed_is_read_anew_while_the_tool_still_says_the_same_of_itself(
    now: graph.Contract | None, what: Freshness
) -> None:
    contracts = {} if now is None else {"/org.get_team": now}
    assert freshness(procedure(), SEEN, contracts) == {NAME: what}
    calls, ending = run(procedure(), {}, {NAME: Freshness.LOST})
    assert not calls
    assert ending.escalation is not None
    assert ending.escalation.reason == "stale_constant"


def test_the_time_is_that_of_the_last_trace_that_saw_the_value() -> None:
    made = compiled(traces([story(number) for number in range(4)], days=[0, 3, 1, 2])).procedure
    assert made is not None
    assert made.injected[NAME].observed == "2026-03-04T09:30:00Z"
    assert (made.compiled.since, made.compiled.until) == ("2026-03-01T09:30:00Z", "2026-03-04T09:30:00Z")


def test_a_procedure_runs_only_for_those_whose_values_it_holds() -> None:
    def found(scope: dict[str, str] | None) -> list[str]:
        return not_ready(procedure(), {"order_id": "A-9001"}, has_secret=bool, person=False, scope=scope)

    assert found({"tenant": "acme"}) == []
    assert found({"tenant": "other"}) == ["it is for tenant acme alone, and this is for tenant other"]
    assert found(None) == ["it is for tenant acme alone, and it is not said which tenant this is for"]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([story(number, team=f"T-8{number}8") for number in range(4)], id="it differs"),
        pytest.param([story(number, told=" for team T-88") for number in range(4)], id="the user said it"),
        pytest.param([story(number, effect=Effect.AUTH) for number in range(4)], id="a login yields it"),
        pytest.param([story(number, team="T8") for number in range(4)], id="anything may be called that"),
    ],
)
def test_a_value_is_not_fixed_where(given: list[Story]) -> None:
    made = compiled(traces(given))
    assert made.procedure is None or not made.procedure.injected
    assert made.warnings == (f"{NAME} is not fixed: no argument always had it, and it alone",)


def test_a_value_is_not_fixed_where_its_read_is_made_anyway() -> None:
    made = compiled(traces([story(number).answers("Booked for team Blue") for number in range(4)]))
    assert made.procedure is not None, made.reasons
    assert [name for name, _ in made.procedure.tools()] == ["org.get_team#0", "shop.book#0"]
    assert not made.procedure.injected
    assert made.warnings == (f"{NAME} is not fixed: org.get_team is called for something else, too",)


def test_a_read_that_takes_a_secret_or_not_always_the_same_reads_nothing_anew() -> None:
    hidden = Tools({"org.get_team": ToolSchema(secrets=frozenset(["of"]))})
    made = compiled(traces([story(number) for number in range(4)]), tools=hidden).procedure
    assert made is not None
    assert made.injected[NAME].refresh is None
    differ = [story(number) for number in range(4)]
    differ[0].calls[0] = replace(differ[0].calls[0], args={"of": "you"})
    other = compiled(traces(differ)).procedure
    assert other is not None
    assert other.injected[NAME].refresh is None
    assert freshness(other, SEEN + timedelta(days=40)) == {NAME: Freshness.LOST}


def test_each_trace_is_replayed_with_its_fixed_value_and_the_file_reads_back() -> None:
    made = compiled(traces([story(number) for number in range(4)]))
    assert [each.result for each in made.replayed] == [Result.SAME] * 4
    assert made.procedure is not None
    assert load_procedure(dump_procedure(made.procedure)).injected == made.procedure.injected


def test_a_file_that_calls_what_is_never_to_be_called_or_takes_what_is_not_fixed_is_unsound() -> None:
    made = procedure()
    assert faults(made) == []
    calls = made.model_copy(update={"forbidden_at_runtime": ["/shop.book"]})
    assert faults(calls) == ["$.nodes.shop.book#0: calls shop.book, which is never to be called"]
    takes = made.model_copy(update={"injected": {}})
    assert faults(takes) == [f"$.nodes.shop.book#0: takes {NAME}, which is not injected"]


def test_a_reviewer_reads_what_is_fixed_for_whom_and_how_long() -> None:
    page = as_markdown(procedure_page(show_procedure(procedure())))
    assert "## Fixed values" in page
    for said in ("tenant", "acme", "T-88", "30 days", "2026-03-01T09:30:00Z", "read anew"):
        assert said in page


def test_what_is_fixed_anew_for_others_or_for_longer_needs_review() -> None:
    old = procedure()
    fixed = old.injected[NAME]

    def kinds(**update: Any) -> dict[str, bool]:
        changes = diff_procedures(old, old.model_copy(update=update)).changes
        return {each.kind: each.review for each in changes}

    assert kinds(injected={NAME: fixed.model_copy(update={"observed": "2026-04-01T09:30:00Z"})}) == {"fixed": False}
    assert kinds(injected={NAME: fixed.model_copy(update={"days": 300.0})}) == {"fixed": True}
    assert kinds(injected={NAME: fixed.model_copy(update={"value": "T-99"})})["fixed"]
    assert kinds(scope={}) == {"scope": True}
    assert kinds(injected={**old.injected, "x": fixed}) == {"fixed_added": True}

"""The audit: its measures by the specification's numbers, and what counts as the agent's step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.deciders.model import Decision, HandBack
from stretto.deciders.oracle import MockOracle, ReplayOracle
from stretto.errors import BadFlow, UsageError
from stretto.flow.file import read_flow
from stretto.flow.model import Bar, Promotion, SiteRecord
from stretto.review.audit import Auditor, Foreseen, audit, measure
from stretto.review.audit_page import audit_page
from stretto.sessions.episode import Assistant, ToolCall
from tests.stretto.episodes import called, episode, replied, said
from tests.stretto.review.replay_support import shop_flow, worked_example
from tests.stretto.review.review_support import DATA, by_email, details, orders, retail_flow, sessions, shown, usual

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stretto.flow.model import Flow, Site
    from stretto.live import Situation
    from tests.conftest import Golden


def test_the_example_of_two_decisions() -> None:
    """Agreement 1/2, log-probability -1.743, calibration error 0.40; the bins are those of the top probability."""
    measures = measure([Foreseen((0.7, 0.2, 0.1), 0), Foreseen((0.25, 0.25, 0.5), 1)])
    assert measures.agreement == 0.5
    assert measures.expected_agreement == pytest.approx((0.7 + 0.25) / 2)
    assert measures.log_probability == pytest.approx(math.log(0.7) + math.log(0.25))
    assert measures.surprise == pytest.approx(1.743 / 2, abs=1e-3)
    assert measures.ece == pytest.approx(0.40)


def test_of_equally_likely_options_the_first_counts() -> None:
    assert Foreseen((0.4, 0.4, 0.2), 0).agrees
    assert not Foreseen((0.4, 0.4, 0.2), 1).agrees


def test_a_certain_decision_that_is_right_costs_nothing() -> None:
    measures = measure([Foreseen((1.0, 0.0), 0)])
    assert (measures.surprise, measures.log_probability, measures.ece) == (0, 0, 0)
    assert math.copysign(1, measures.log_probability) == 1


def test_no_decisions_cannot_be_measured() -> None:
    with pytest.raises(ValueError, match="no decision"):
        measure([])


@given(
    st.lists(
        st.lists(st.floats(0.01, 1), min_size=2, max_size=5).flatmap(
            lambda raw: st.builds(Foreseen, st.just(tuple(x / sum(raw) for x in raw)), st.integers(0, len(raw) - 1))
        ),
        min_size=1,
        max_size=30,
    )
)
def test_measures_stay_in_their_ranges_and_do_not_depend_on_order(decisions: list[Foreseen]) -> None:
    measures = measure(decisions)
    assert 0 <= measures.agreement <= 1
    assert 0 <= measures.expected_agreement <= 1
    assert 0 <= measures.ece <= 1
    assert measures.surprise >= 0
    assert measure(decisions[::-1]).ece == pytest.approx(measures.ece)


def foreseen(flow: Flow, *events: object) -> list[tuple[Site, Foreseen | None]]:
    return list(Auditor(flow, "habit").foresee(episode(*events)))  # type: ignore[arg-type]  # as `episode` takes them


def test_the_habit_of_the_example_flow_is_what_is_asked() -> None:
    """After the user's answer and the e-mail lookup the details have 0.5213; then come ``respond`` and the rest."""
    ((site, one),) = foreseen(retail_flow(), replied(), said("user_7@mail.invalid"), by_email(), details("#W1"))
    assert site == ("find_user_id_by_email", False)
    assert one is not None
    assert len(one.probabilities) == 3
    assert one.probabilities[one.actual] == pytest.approx(0.5213, abs=1e-4)
    assert sum(one.probabilities) == pytest.approx(1)
    assert one.probabilities[-1] == pytest.approx(1e-6, rel=1e-3)  # nothing is left: the least there is


@pytest.mark.parametrize(
    ("following", "place"),
    [
        pytest.param(called("get_user_details", {"user_id": "u"}), 0, id="a-lookup-that-is-offered"),
        pytest.param(replied(), 1, id="a-reply"),
        pytest.param(said("hello?"), 1, id="the-user-speaks"),
        pytest.param(called("cancel_pending_order", {}), 1, id="a-write"),
        pytest.param(called("calculate", {}), 1, id="neither-read-nor-write"),
        pytest.param(called("get_order_details", {"order_id": "#W1"}), 2, id="a-read-that-is-not-offered"),
    ],
)
def test_what_counts_as_the_agents_step(following: object, place: int) -> None:
    """By name: ``get_user_details``, ``respond``; last any other read."""
    decisions = foreseen(retail_flow(), by_email(), following)
    assert decisions[0][1] is not None
    assert decisions[0][1].actual == place


def test_only_where_all_answers_of_a_turn_are_in_the_flow_is_asked() -> None:
    decisions = foreseen(retail_flow(), by_email(), details("#W1", "#W2"), orders("#W1", "#W2"), replied())
    assert [site[0] for site, _ in decisions] == [
        "find_user_id_by_email",
        "get_user_details",
        "get_order_details",
    ]


def test_a_lookup_that_was_served_is_no_step_of_the_agents() -> None:
    served = ToolCall("stretto-1", "get_user_details", {"user_id": "user_7"})
    recorded = replace(episode(by_email()), events=(*episode(by_email()).events, Assistant(calls=(served,))))
    assert list(Auditor(retail_flow(), "habit").foresee(recorded)) == []


def test_sites_that_weigh_nothing_are_left_out_but_reached() -> None:
    decisions = foreseen(retail_flow(), called("list_orders", {}, []), by_email(), replied())
    assert [(site[0], one is None) for site, one in decisions] == [
        ("list_orders", True),
        ("find_user_id_by_email", False),
    ]
    switched_off = replace(retail_flow(), thresholds={"find_user_id_by_email": 2.0})
    assert [one for _, one in foreseen(switched_off, by_email(), replied())] == [None]
    nothing = Promotion(Bar(0.3, 0.7, 0.5, 3), {"get_user_details": SiteRecord(1, 0, 0, 0, 0.0, promoted=False)})
    assert [one for _, one in foreseen(replace(retail_flow(), promoted=nothing), by_email(), replied())] == [None]


def test_reach_is_audited_by_the_same_rule() -> None:
    """Its probabilities need not sum to 1: handing back is shown as 0, what is left is any other read."""
    whole = audit(shop_flow(likely=("get_user",)), [worked_example()], "reach")
    assert whole.overall is not None
    assert whole.overall.decisions == 4
    assert set(whole.sites) == {"find_user", "get_user", "get_order", "cancel"}


def test_sites_come_by_decisions_then_by_name_and_sessions_by_likelihood() -> None:
    found = audit(retail_flow(), sessions())
    counts = [(-measures.decisions, site) for site, measures in found.sites.items()]
    assert counts == sorted(counts)
    assert found.overall is not None
    assert sum(-count for count, _ in counts) == found.overall.decisions == 17
    logs = [fit.measures.log_probability for fit in found.least_likely]
    assert logs == sorted(logs)
    assert sum(logs) == pytest.approx(found.overall.log_probability)


def test_at_most_ten_sessions_are_listed() -> None:
    found = audit(retail_flow(), [usual(f"s{n}") for n in range(12)])
    assert len(found.fits) == 12
    assert len(found.least_likely) == 10


class Mute:
    """A decider whose model never answers."""

    name = "mute"

    def decide(
        self, flow: Flow, situation: Situation, site: Site, options: Sequence[str], threshold: float
    ) -> Decision:
        assert threshold == math.inf
        return Decision(site, reason=HandBack.ORACLE_FAILED, said="no answer", probs={"respond": 1.0})


def test_questions_without_an_answer_are_counted_and_left_out(golden: Golden) -> None:
    found = audit(retail_flow(), [usual("s1")], Mute())
    assert (found.decider, found.unanswered, found.overall) == ("mute", 4, None)
    golden.check("stretto/audit-unanswered.md", audit_page(found))


def test_a_flow_that_cannot_be_asked_says_so() -> None:
    with pytest.raises(BadFlow, match="no reach counts"):
        audit(retail_flow(), sessions(), "reach")
    with pytest.raises(UsageError, match="no decider"):
        audit(retail_flow(), sessions(), "oracle")


def test_the_page_and_the_json_of_an_audit(golden: Golden) -> None:
    found = audit(retail_flow(), sessions())
    golden.check("stretto/audit.md", audit_page(found))
    golden.check("stretto/audit.json", shown(found.as_json()))


def test_names_from_data_end_neither_a_cell_nor_a_line() -> None:
    name = "s|1\n# `Injected`"
    page = audit_page(audit(retail_flow(), [usual(name)]))
    assert not [line for line in page.splitlines() if line.startswith("# `")]
    row = next(line for line in page.splitlines() if "Injected" in line)
    assert row.replace("\\|", "").count("|") == 7


# --- with an arbiter ---


def test_an_arbiter_is_asked_where_the_flow_has_one_and_its_silence_is_left_out(tmp_path: Path) -> None:
    flow = read_flow(DATA / "cold-start-2026-09-24-live.flow.json")
    answered = audit(flow, sessions(), oracle=MockOracle())
    assert (answered.decider, answered.unanswered) == ("arbiter", 0)
    assert answered.overall is not None
    silent = audit(flow, sessions(), oracle=ReplayOracle(tmp_path / "nothing.jsonl"))
    assert silent.overall is None
    assert silent.unanswered == answered.overall.decisions
    with pytest.raises(UsageError, match="needs an oracle"):
        audit(flow, sessions())

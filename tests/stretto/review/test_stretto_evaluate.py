"""Estimates of what other deciders would have done, by the rules of the estimators and against a known policy."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.deciders.decide import decide
from stretto.deciders.explore import Explorer
from stretto.errors import SessionLogError, UsageError
from stretto.flowlog import decision_line
from stretto.live import LiveSession
from stretto.review.evaluate import Target, act, evaluate, target_from_text
from stretto.review.evaluate_page import evaluate_page
from stretto.review.logged import Decisions, Logged, Measures, Option, decision_from_json, read_decisions
from tests.stretto.episodes import episode
from tests.stretto.review.replay_support import find, order, shop_flow, user
from tests.stretto.review.review_support import shown
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.conftest import Golden
    from waggle.jsonvalue import JsonValue

USED = Measures(1, 1, 0, 0.5)
DETOUR = Measures(1, 0, 1, 0)


def option(tool: str, p: float, label: Measures = USED, *, habit: float = 0.0, binding: float | None = 1.0) -> Option:
    return Option(tool, p, habit, binding, label)


def logged(
    options: Sequence[Option],
    *,
    taken: str | None,
    greedy: str | None,
    epsilon: float = 0.0,
    propensity: float = 1.0,
    decider: str = "reach",
    site: str = "find",
) -> Logged:
    return Logged(site, decider, taken, greedy, epsilon, propensity, tuple(options))


# --- targets ---


def test_a_target_is_read_from_its_text() -> None:
    assert target_from_text("careful=habit@0.5") == Target("careful", "habit", 0.5)


@pytest.mark.parametrize(
    "text", ["", "a", "a=habit", "=habit@0.3", "a=oracle@0.3", "a=habit@x", "a=habit@-1", "a=habit@nan"]
)
def test_a_target_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="NAME=DECIDER@THRESHOLD"):
        target_from_text(text)


def test_reach_takes_the_largest_product_among_what_binds() -> None:
    decision = logged(
        [option("a", 0.9, binding=None), option("b", 0.8, binding=0.5), option("c", 0.6, binding=0.9)],
        taken=None,
        greedy=None,
    )
    chosen = act(decision, Target("t", "arbiter", 0.3))
    assert chosen is not None
    assert chosen.tool == "c"
    assert act(decision, Target("t", "reach", 0.55)) is None


def test_habit_never_falls_back_to_the_second_best() -> None:
    """The best by probability alone is bound, and nothing else is tried."""
    decision = logged([option("a", 0.1, habit=0.9, binding=None), option("b", 0.1, habit=0.8)], taken=None, greedy=None)
    assert act(decision, Target("t", "habit", 0.3)) is None


def test_of_equals_the_first_is_taken() -> None:
    decision = logged([option("a", 0.5, habit=0.5), option("b", 0.5, habit=0.5)], taken=None, greedy=None)
    for decider in ("habit", "reach"):
        chosen = act(decision, Target("t", decider, 0.3))
        assert chosen is not None
        assert chosen.tool == "a"


def test_probabilities_that_were_not_logged_are_not_made_up() -> None:
    with pytest.raises(UsageError, match="no probabilities of reach"):
        act(logged([option("a", 0.5)], taken=None, greedy=None, decider="habit"), Target("t", "reach", 0.3))


# --- estimates ---


def test_without_exploration_the_served_rule_scores_exactly_what_it_did() -> None:
    """All weights are 1, so all four estimates are the sum of what was taken."""
    decisions = [logged([option("a", 0.9, USED if n % 4 else DETOUR)], taken="a", greedy="a") for n in range(20)]
    standing = evaluate(Decisions(tuple(decisions)), [Target("same", "reach", 0.3)]).targets[0].total
    assert (standing.lookups, standing.matched) == (20, 20)
    assert standing.ess == pytest.approx(20)
    assert standing.unsupported == 0
    for estimate in (standing.direct, standing.ips, standing.snips, standing.dr):
        assert estimate is not None
        assert estimate.value == pytest.approx((20, 15, 5, 7.5))
        assert estimate.error is not None
        assert estimate.error.lookups == pytest.approx(0)
        # 20 terms of mean 3/4: sqrt(20 / 19 * 20 * 3/16)
        assert estimate.error.used == pytest.approx(math.sqrt(20 / 19 * 20 * 3 / 16))


def test_what_the_log_could_never_have_done_is_unsupported_and_refused() -> None:
    """The flow always took ``a``; a target that takes ``b`` has no weights at all."""
    decisions = [
        logged([option("a", 0.9), option("b", 0.5, DETOUR, habit=0.9)], taken="a", greedy="a") for _ in range(20)
    ]
    standing = evaluate(Decisions(tuple(decisions)), [Target("other", "habit", 0.3)]).targets[0].total
    assert (standing.unsupported, standing.matched) == (20, 0)
    assert standing.ess == pytest.approx(0)
    assert standing.direct.value == Measures(20, 0, 20, 0)
    assert [standing.ips, standing.snips, standing.dr] == [None] * 3


def test_a_small_effective_sample_is_refused_and_a_lower_bar_lets_it_through() -> None:
    decisions = Decisions(tuple(logged([option("a", 0.9)], taken="a", greedy="a") for _ in range(9)))
    target = [Target("t", "reach", 0.3)]
    assert evaluate(decisions, target).targets[0].total.ips is None
    assert evaluate(decisions, target, min_ess=9).targets[0].total.ips is not None


def test_handing_back_scores_nothing() -> None:
    decisions = Decisions(tuple(logged([option("a", 0.2)], taken=None, greedy=None) for _ in range(3)))
    standing = evaluate(decisions, [Target("t", "reach", 0.3)]).targets[0].total
    assert standing.decisions == 3
    assert standing.lookups == 0
    assert standing.direct.value == Measures(0, 0, 0, 0)
    assert standing.direct.error is None


def test_the_chance_of_an_explored_lookup_is_its_share_of_those_that_bind() -> None:
    decision = logged(
        [option("a", 0.6), option("b", 0.3), option("c", 0.1), option("d", 0.9, binding=None), option("e", 0.0)],
        taken="a",
        greedy="a",
        epsilon=0.2,
        propensity=0.8,
    )
    assert [decision.chance_of(tool) for tool in "abcde"] == pytest.approx([0.8, 0.15, 0.05, 0, 0])


def test_with_nothing_else_to_take_nothing_is_explored() -> None:
    decision = logged([option("a", 0.6)], taken="a", greedy="a", epsilon=0.2)
    assert decision.chance_of("a") == 1


def test_the_model_is_the_mean_at_the_site_else_of_the_tool_else_a_detour() -> None:
    """DR without weight is the model alone: the target takes what the log did not."""
    own = [logged([option("a", 0.9, USED)], taken="a", greedy="a") for _ in range(10)]
    missed = [
        logged([option("a", 0.5, DETOUR, habit=0.9), option("b", 0.9)], taken="b", greedy="b", site=site)
        for site in ("find", "elsewhere")
    ]
    new = logged([option("c", 0.5, USED, habit=0.9), option("b", 0.9)], taken="b", greedy="b")
    result = evaluate(Decisions((*own, *missed, new)), [Target("t", "habit", 0.3)], min_ess=0).targets[0]
    assert result.sites["find"].lookups == 2
    assert result.sites["elsewhere"].dr is None  # no weight at all there
    assert result.total.dr is None
    reach = evaluate(Decisions((*own, *missed)), [Target("t", "reach", 0.3)]).targets[0].total
    assert reach.dr is not None
    assert reach.dr.value.used == pytest.approx(12)


def test_weighted_estimates_find_the_truth_that_direct_labels_of_a_lucky_log_hide() -> None:
    """Epsilon-greedy over two lookups: ``b`` is used in 30 % of the cases, and is taken in 20 % of them."""
    draw = random.Random(5)  # noqa: S311 - made decisions, seeded so that a failure can be repeated
    decisions = []
    for _ in range(4000):
        b = USED if draw.random() < 0.3 else DETOUR
        explored = draw.random() < 0.2
        decisions.append(
            logged(
                [option("a", 0.9, DETOUR), option("b", 0.4, b, habit=0.9)],
                taken="b" if explored else "a",
                greedy="a",
                epsilon=0.2,
                propensity=0.2 if explored else 0.8,
            )
        )
    standing = evaluate(Decisions(tuple(decisions)), [Target("b", "habit", 0.3)]).targets[0].total
    truth = standing.direct.value
    for estimate in (standing.ips, standing.snips, standing.dr):
        assert estimate is not None
        assert estimate.error is not None
        for value, error, true in zip(estimate.value, estimate.error, truth, strict=True):
            assert abs(value - true) <= 3 * error + 1e-9
    assert standing.snips is not None
    assert standing.snips.value.lookups == pytest.approx(4000)
    assert standing.ess == pytest.approx(standing.matched)


@given(
    st.lists(
        st.tuples(st.sampled_from(["x", "y", "z"]), st.sampled_from([USED, DETOUR]), st.sampled_from([0.1, 0.5, 1.0])),
        min_size=1,
        max_size=40,
    )
)
def test_totals_are_the_sums_of_the_sites(rows: list[tuple[str, Measures, float]]) -> None:
    decisions = tuple(
        logged([option("a", 0.9, label)], taken="a", greedy="a", propensity=p, site=site) for site, label, p in rows
    )
    result = evaluate(Decisions(decisions), [Target("t", "reach", 0.3)], min_ess=0).targets[0]
    for name in ("direct", "ips", "dr"):
        sums = [sum(column) for column in zip(*(getattr(s, name).value for s in result.sites.values()), strict=True)]
        assert getattr(result.total, name).value == pytest.approx(sums)
    jsonvalue.dumps(result.as_json())


# --- reading ---


def line(**changes: Any) -> dict[str, Any]:
    policy = {
        "decider": "reach",
        "threshold": 0.3,
        "epsilon": 0.1,
        "explored": False,
        "greedy": "get_user",
        "propensity": 0.9,
        "task_id": "",
        "events": [],
        "options": [
            {"tool": "get_order", "p": 0.4, "habit": 0.3, "binding": None, "arguments": None, "unbound": "no source"},
            {"tool": "get_user", "p": 0.8, "habit": 0.7, "binding": 0.9, "arguments": {"user_id": "user_7"}},
        ],
    }
    labels = [{"used": False, "detour": True, "turn": 0}, {"used": True, "detour": False, "turn": 0.5, "next": True}]
    return {"action": "lookup", "tool": "get_user", "site": "find", "policy": policy, "labels": labels, **changes}


def test_a_line_of_a_flow_log_is_read() -> None:
    decision = decision_from_json(line())
    assert decision == Logged(
        "find",
        "reach",
        "get_user",
        "get_user",
        0.1,
        0.9,
        (
            Option("get_order", 0.4, 0.3, None, Measures(1, 0, 1, 0)),
            Option("get_user", 0.8, 0.7, 0.9, Measures(1, 1, 0, 0.5)),
        ),
    )


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_what_an_explorer_logs_can_be_evaluated(epsilon: float) -> None:
    """Its propensity is the one that is worked out here."""
    flow = shop_flow()
    session = LiveSession(flow)
    for event in episode(find(), user("#W1"), order("#W1")).events:
        session.tell(event)
    situation = session.situation()
    rule = decide(flow, situation, "reach")
    decision, policy = Explorer(epsilon, 7).explore(flow, situation, rule, decider="reach", threshold=0.3)
    written = decision_line(decision, after="1", address="decide#0", ms=0.1, policy=policy)
    labels: list[JsonValue] = [{"used": False, "detour": True, "turn": 0} for _ in range(len(rule.probs) - 1)]
    logged_then = decision_from_json({**written, "labels": labels})
    assert logged_then is not None
    assert logged_then.site == "get_order"
    assert logged_then.taken == (decision.tool if decision.looks_up else None)
    if logged_then.taken:
        assert logged_then.chance_of(logged_then.taken) == pytest.approx(logged_then.propensity)
    chosen = act(logged_then, Target("served", "arbiter", 0.3))
    assert (chosen.tool if chosen else None) == (rule.tool if rule.looks_up else None)


def test_runs_are_skipped_and_decisions_without_labels_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "s.flow.jsonl"
    lines = [line(), {"after": 1, "run": {}}, line(labels=None), line(policy=None)]
    path.write_bytes(b"\n".join(map(jsonvalue.dumps, lines)) + b'\n\n{"action": "loo')
    decisions = read_decisions([path])
    assert len(decisions.usable) == 1
    assert decisions.left_out == 2


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        pytest.param({"labels": []}, r"\$\.labels", id="labels-missing"),
        pytest.param({"tool": "get_refund"}, r"\$\.policy\.options", id="taken-no-option"),
        pytest.param({"tool": 7}, r"\$\.tool", id="tool-no-text"),
        pytest.param({"policy": []}, r"\$\.policy", id="policy-no-object"),
        pytest.param({"policy": line()["policy"] | {"propensity": 0}}, r"\$\.policy\.propensity", id="propensity-zero"),
        pytest.param({"policy": line()["policy"] | {"epsilon": True}}, r"\$\.policy\.epsilon", id="epsilon-flag"),
        pytest.param({"policy": line()["policy"] | {"options": 1}}, r"\$\.policy\.options", id="options-no-list"),
    ],
)
def test_a_malformed_decision_is_one_error_with_its_file_and_place(
    tmp_path: Path, changes: dict[str, Any], where: str
) -> None:
    path = tmp_path / "s.flow.jsonl"
    path.write_bytes(jsonvalue.dumps(line()) + b"\n" + jsonvalue.dumps(line(**changes)) + b"\n")
    with pytest.raises(SessionLogError, match=rf"s\.flow\.jsonl: object 2: .* @ {where}$"):
        read_decisions([path])


def test_a_line_that_is_no_json_and_a_missing_file_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "s.flow.jsonl"
    path.write_bytes(b"{\n{}\n")
    with pytest.raises(SessionLogError, match=r"s\.flow\.jsonl:1: no JSON"):
        read_decisions([path])
    with pytest.raises(SessionLogError, match="cannot be read"):
        read_decisions([tmp_path / "none"])


# --- shown ---


def test_the_page_and_the_json_of_a_comparison(golden: Golden) -> None:
    decisions = [
        logged(
            [option("get_order", 0.4, DETOUR, habit=0.6), option("get_user", 0.8, USED, habit=0.2, binding=0.9)],
            taken="get_order" if n % 5 == 0 else "get_user",
            greedy="get_user",
            epsilon=0.2,
            propensity=0.2 if n % 5 == 0 else 0.8,
            site="find|user" if n % 2 else "",
        )
        for n in range(30)
    ]
    targets = [Target("served", "arbiter", 0.3), Target("habit`s", "habit", 0.3), Target("shy", "arbiter", 0.95)]
    found = evaluate(Decisions(tuple(decisions), left_out=2), targets)
    golden.check("stretto/evaluate.md", evaluate_page(found))
    golden.check("stretto/evaluate.json", shown(found.as_json()))

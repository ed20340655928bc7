"""The measuring of docs/results-flows.md, on a few of the shipped sessions."""

from __future__ import annotations

import gzip
import json
import random
from typing import TYPE_CHECKING

import pytest

from benchmarks.flows.__main__ import main
from benchmarks.flows.frontier import more_at_as_many_detours
from benchmarks.flows.headline import with_headline
from benchmarks.flows.jobs import PUBLISHED_BETA, Job, Said, Workplace, runs_of
from benchmarks.flows.measures import ece_difference, measures
from benchmarks.flows.sessions import Collection, Domain, learned
from benchmarks.flows.study import PARTS, Curve, Study
from benchmarks.flows.systems import ABLATION, DEFAULT, LEARNED, PLAIN, SYSTEMS, System
from stretto.deciders.reach import Reach
from stretto.review.calibration import Scored, calibration
from stretto.review.costs import costs
from stretto.review.curve import Point
from stretto.review.replay import replay_all
from stretto.review.score import ReplayScore, total
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.flow.model import Flow

SHIPPED = ROOT / "examples" / "flows"


def excerpt(folder: Path, sessions: int) -> Path:
    """The first of the shipped retail sessions, as a collection of their own."""
    with gzip.open(SHIPPED / "retail-learn.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [next(file) for _ in range(sessions)]
    (folder / "tools-some.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def shipped() -> Collection:
    """All shipped sessions."""
    return Collection(SHIPPED)


@pytest.fixture(scope="module")
def retail(tmp_path_factory: pytest.TempPathFactory) -> Domain:
    """Fourteen sessions."""
    return Collection(excerpt(tmp_path_factory.mktemp("traces"), 14))["retail"]


@pytest.fixture(scope="module")
def flow(retail: Domain) -> Flow:
    """Learned from all of them, by default."""
    return learned(retail, retail.episodes, LEARNED[True])


# --- sessions -----------------------------------------------------------------------------------------------------


def test_every_session_is_replayed_once_and_no_customer_is_learned_and_replayed(shipped: Collection) -> None:
    assert set(shipped.tools) == {"airline-v1", "retail"}
    for domain in shipped.tools.values():
        replayed = [episode.id for fold in domain.folds for episode in fold.replay]
        assert sorted(replayed) == sorted(one.episode.id for one in domain.recorded)
        for fold in domain.folds:
            sides = [{domain.units[episode.id] for episode in side} for side in fold]
            assert not sides[0] & sides[1]
            assert len(fold.learn) + len(fold.replay) == len(domain.recorded)


def test_only_sessions_that_succeeded_are_learned_from(shipped: Collection) -> None:
    airline = shipped["airline-v1"]
    succeeded = sum(episode.succeeded for episode in airline.episodes)
    assert succeeded < len(airline.episodes)
    assert learned(airline, airline.episodes, LEARNED[False]).provenance.habit_episodes == succeeded


def test_coding_sessions_of_claude_code_are_apart_and_those_of_shells_are_left_out() -> None:
    found = Collection(ROOT / "examples" / "sessions")
    assert not found.tools
    assert list(found.coding) == ["claude-code (entireio/cli)", "claude-code (entireio/git-sync)"]


# --- systems ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "derive", "speak", "uses"),
    [
        (PLAIN, False, False, False),
        (SYSTEMS["derived"], True, False, False),
        (SYSTEMS["words"], False, True, False),
        (SYSTEMS["both"], True, True, False),
        (SYSTEMS["uses"], False, False, True),
        (DEFAULT, True, True, True),
    ],
    ids=lambda value: value.name if isinstance(value, System) else "",
)
def test_a_system_is_the_flow_replayed_without_what_it_has_not(
    retail: Domain, flow: Flow, system: System, *, derive: bool, speak: bool, uses: bool
) -> None:
    direct = replay_all(flow, retail.episodes, units=retail.units, derive=derive, speak=speak, decider=Reach(uses=uses))
    assert system.replayed(flow, retail, retail.episodes) == tuple(direct)


def test_each_row_of_the_ablation_differs_from_the_default_in_one_thing() -> None:
    fields = [field for field in System.__dataclass_fields__ if field not in ("name", "title")]
    for system in ABLATION.values():
        assert sum(getattr(system, field) != getattr(DEFAULT, field) for field in fields) == 1


def test_scores_by_uses_are_calibrated_before_calls_that_share_a_turn_are_counted(retail: Domain, flow: Flow) -> None:
    weighed = [each for score in DEFAULT.replayed(flow, retail, retail.episodes, weigh=True) for each in score.weighed]
    assert weighed
    assert all(each.by_uses is not None and each.score == each.by_uses for each in weighed)
    plain = [each for score in PLAIN.replayed(flow, retail, retail.episodes, weigh=True) for each in score.weighed]
    assert all(each.by_uses is None and each.score == each.prob * each.binding for each in plain)


# --- measures -----------------------------------------------------------------------------------------------------


def test_measures_of_calibration_are_those_of_the_review() -> None:
    draw = random.Random(1)  # noqa: S311 - a sample, seeded to be repeated
    said = [
        Said(draw.choice("abcdefgh"), score := round(draw.random(), 1), draw.random() < score, succeeded=True)
        for _ in range(300)
    ]
    whole = calibration(Scored(each.score, each.used) for each in said)
    found = measures(said)
    assert found.of == whole
    assert found.auc is not None
    for interval, value in ((found.ece, whole.ece), (found.brier, whole.brier), (found.auc, whole.auc)):
        assert interval.value == pytest.approx(value)
        assert interval.low < interval.high
    assert found.brier.low < found.brier.value < found.brier.high
    assert ece_difference(said, said).high == 0
    assert ece_difference(said, [each._replace(score=0.99) for each in said]).high < 0


def test_without_use_there_is_no_auc() -> None:
    assert measures([Said("a", 0.5, used=False, succeeded=True)]).auc is None


def test_the_share_after_ten_sessions_is_of_the_mean_over_the_orders() -> None:
    def score(unit: str, saved: int) -> ReplayScore:
        return ReplayScore(unit, unit, turns=10, saved=saved)

    ten = Point(10, 10, (score("a", 1), score("b", 2)) * 3)
    points = {PLAIN.name: [ten, Point(None, 20, (score("a", 2), score("b", 2)))], DEFAULT.name: [ten]}
    curve = Curve("retail", "", points)
    share = curve.share(PLAIN, 10)
    assert share is not None
    assert (share.value, share.low, share.high) == (0.75, 0.5, 1.0)
    assert curve.share(DEFAULT, 10) is None
    assert curve.title == "retail, all agents together"


def test_a_frontier_is_read_between_its_thresholds() -> None:
    def at(saved: int, detours: int) -> list[ReplayScore]:
        return [ReplayScore(unit, unit, turns=50, saved=saved, lookups=detours) for unit in "ab"]

    ours = [at(10, 8), at(6, 4), at(2, 0)]
    found = more_at_as_many_detours(ours, at(5, 5))
    assert found is not None
    assert found.value == pytest.approx((7 - 5) / 50)
    assert found.low == found.high == found.value  # both units are alike
    assert more_at_as_many_detours(ours, at(5, 9)) is None
    same = more_at_as_many_detours(ours, at(6, 4))
    assert same is not None
    assert same.value == 0


def test_the_prompt_is_as_long_as_makes_retail_turns_cost_what_they_cost_the_original(tmp_path: Path) -> None:
    place = Workplace(SHIPPED, tmp_path)
    domain = place.sessions["retail"]
    succeeded = [episode for episode in domain.episodes if episode.succeeded]
    counted = costs(succeeded, domain.manifest, prompt_tokens=place.prompt_tokens).overall
    assert counted.beta == pytest.approx(PUBLISHED_BETA, abs=1)


# --- the page -----------------------------------------------------------------------------------------------------


def test_the_page_says_what_the_functions_return(tmp_path: Path) -> None:
    traces, page, numbers = (tmp_path / name for name in ("traces", "page.md", "numbers.json"))
    traces.mkdir()
    options = ["--traces", str(excerpt(traces, 8)), "--workers", "1", "--keep", str(tmp_path / "kept")]
    assert main([*options, "--markdown", str(page), "--json", str(numbers)]) == 0

    domain = Collection(traces)["retail"]
    scores: list[ReplayScore] = []
    for fold in domain.folds:
        known = learned(domain, fold.learn, LEARNED[True])
        scores += replay_all(known, fold.replay, units=domain.units, manifest=domain.manifest)
    sums = total(scores)
    written = json.loads(numbers.read_text(encoding="utf-8"))
    counts = written["systems"][DEFAULT.name]["0.3"]["retail"]
    assert counts["sessions"] == 8
    assert (counts["turns"], counts["saved"], counts["detours"]) == (sums.turns, sums.saved, sums.detours)
    assert written["systems"][DEFAULT.name]["0.3"]["all domains"] == counts
    text = page.read_text(encoding="utf-8")
    assert f"At θ = 0.3 flows save {sums.saved} of {sums.turns} turns ({100 * sums.saved / sums.turns:.1f}%" in text
    assert f"| {DEFAULT.title} | 0.3 | {sums.saved} | {100 * sums.saved / sums.turns:.1f}%" in text
    assert f"| retail | {DEFAULT.title} | {sums.first} |" in text


def test_what_the_page_shows_is_measured() -> None:
    assert {name for name, _ in runs_of(PARTS)} == set(SYSTEMS)
    assert runs_of(["curve", "calibration", "together"]) == []


def test_jobs_are_one_a_fold_and_the_largest_domains_come_first(tmp_path: Path) -> None:
    study = Study(Workplace(SHIPPED, tmp_path), ("main", "curve"))
    jobs = study.jobs()
    assert jobs.count(Job("retail", 0, ("main",))) == 1
    sizes = [len(study.place.sessions[job.domain].recorded) for job in jobs]
    assert sizes == sorted(sizes, reverse=True)


def test_domains_that_are_small_and_alike_are_shown_together(tmp_path: Path) -> None:
    assert [Domain(name, (), {}).family for name in ("dojo-slack", "retail")] == ["AgentDojo", "retail"]
    assert list(Study(Workplace(SHIPPED, tmp_path)).families) == ["airline-v1", "retail"]


def test_a_curve_is_drawn_and_the_same_again_from_what_was_kept(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `results`")
    traces, kept = tmp_path / "traces", tmp_path / "kept"
    traces.mkdir()
    options = ["--traces", str(excerpt(traces, 18)), "--workers", "1", "--keep", str(kept), "--only", "curve"]
    options += ["--markdown", str(tmp_path / "page.md"), "--svg", str(tmp_path)]
    made = []
    for _ in range(2):
        assert main(options) == 0
        made.append([(tmp_path / name).read_text("utf-8") for name in ("page.md", "flows-learning-curve.svg")])
    assert "| retail, all agents together | reach |" in made[0][0]
    assert "retail, all agents together" in made[0][1]
    assert made[0] == made[1]


def test_the_frontier_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `results`")
    from benchmarks.flows.pictures import draw_frontier

    traces = tmp_path / "traces"
    traces.mkdir()
    study = Study(Workplace(excerpt(traces, 4), tmp_path), ("frontier",))
    for job in study.jobs():
        study.place.work(job)
    assert b"detours a session" in draw_frontier(study, "svg")


def test_pictures_of_what_was_not_measured_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nothing to draw"):
        main(["--traces", str(SHIPPED), "--only", "ablation", "--svg", str(tmp_path)])


# --- beside the other results -------------------------------------------------------------------------------------

FLOWS = "# Results: flows\n\n## In short\n\n- It saves 3 turns.\n\n## More\n\ntext\n"


def test_the_headline_stands_after_that_of_the_page_and_is_replaced() -> None:
    page = "# Results\n\n## In short\n\n- Routes.\n\n## By agent\n\ntext\n"
    once = with_headline(page, FLOWS)
    assert once.index("- Routes.") < once.index("## Flows") < once.index("It saves 3") < once.index("## By agent")
    assert with_headline(once, FLOWS) == once
    assert "It saves 4" in with_headline(once, FLOWS.replace("3 turns", "4 turns"))
    assert "It saves 3" not in with_headline(once, FLOWS.replace("3 turns", "4 turns"))


def test_the_documents_agree() -> None:
    results, flows = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("results.md", "results-flows.md"))
    assert with_headline(results, flows) == results

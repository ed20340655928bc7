"""The reviews on the full recorded sessions: learned on one half of the tasks, reviewed on the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from stretto.flow.model import Provenance
from stretto.learning import LearnOptions, learn
from stretto.review.audit import audit
from stretto.review.drift import drift
from stretto.review.promote import promote
from stretto.review.replay import replay_all
from stretto.review.score import total
from stretto.review.search import replay_scorer, search
from stretto.review.split import folds
from stretto.sessions.corpus import open_corpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stretto.flow.model import Flow
    from stretto.review.split import Fold
    from stretto.sessions.corpus import Recorded
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Manifest


class Part:
    """Some sessions of a corpus, as `learn` takes them."""

    conventions = ""

    def __init__(self, sessions: list[Recorded], manifest: Manifest) -> None:
        self.manifest = manifest
        self._sessions = sessions

    def __iter__(self) -> Iterator[Recorded]:
        return iter(self._sessions)


@pytest.fixture(scope="module")
def retail(shared_traces: Path) -> tuple[Flow, Fold]:
    corpus = open_corpus(sessions=shared_traces / "tools-retail.jsonl.gz")
    sessions = list(corpus)
    fold = folds([one.episode for one in sessions], 2)[0]
    learned = {episode.id for episode in fold.learn}
    part = Part([one for one in sessions if one.episode.id in learned], corpus.manifest)
    flow = learn(part, LearnOptions(features=False), provenance=Provenance("0"))  # type: ignore[arg-type]  # as a corpus
    return flow, fold


def test_a_flow_foresees_agents_it_has_seen_on_tasks_it_has_not(retail: tuple[Flow, Fold]) -> None:
    flow, fold = retail
    found = audit(flow, fold.replay)
    assert found.overall is not None
    assert found.overall.decisions > 200
    assert found.overall.agreement > 0.5
    assert found.overall.ece < 0.2
    learned = audit(flow, fold.learn).overall
    assert learned is not None
    assert learned.surprise < found.overall.surprise


def test_a_promoted_flow_makes_fewer_detours_and_keeps_most_savings(retail: tuple[Flow, Fold]) -> None:
    flow, fold = retail
    promoted = promote(flow, fold.learn)
    assert promoted.settled
    before = total(replay_all(flow, fold.replay))
    after = total(replay_all(promoted.applied(flow), fold.replay))
    assert after.detours <= before.detours
    assert after.saved > 0.5 * before.saved > 0


def test_another_domain_is_noticed_as_drift(retail: tuple[Flow, Fold], shared_traces: Path) -> None:
    flow, fold = retail
    airline = [one.episode for one in open_corpus(sessions=shared_traces / "tools-airline-v2.jsonl.gz")][:12]
    sessions: list[Episode] = [*fold.replay[:30], *airline]
    seen = drift(flow, [replace(one, started_ms=place) for place, one in enumerate(sessions)])
    (alarm,) = [one for one in seen.alarms if one.sounded >= 30]
    assert abs(alarm.changed - 30) <= 1
    assert any(one.new for one in alarm.sites)


def test_a_search_finds_settings_with_fewer_detours_or_more_savings(retail: tuple[Flow, Fold]) -> None:
    flow, fold = retail
    found = search(flow, replay_scorer(flow, fold.learn[:12]), deciders=["reach"], population=4, generations=2)
    served = found.tried[0].check
    assert found.front[0].check.detours <= served.detours
    assert found.front[-1].check.turns_saved >= served.turns_saved

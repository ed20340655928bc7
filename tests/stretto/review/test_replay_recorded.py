"""Replaying recorded sessions: what was learned on some customers, measured on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

from stretto.flow.model import Provenance
from stretto.learning import LearnOptions, learn
from stretto.replayer import flow_strategy, hint_tools
from stretto.review.replay import replay, replay_all
from stretto.review.score import total
from stretto.review.split import folds, units
from stretto.review.summary import summary
from stretto.review.together import replay_together
from stretto.sessions.corpus import Recorded
from stretto.sessions.manifest import Manifest
from stretto.sessions.traces import episode_of, manifest_of
from waggle.tools import ToolTable
from waggle.traces import read_traces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from stretto.flow.model import Flow
    from stretto.sessions.corpus import Corpus
    from stretto.sessions.episode import Episode


@dataclass(frozen=True)
class Lessons:
    """Sessions in memory, as learning reads them."""

    episodes: Sequence[Episode]
    manifest: Manifest

    def __iter__(self) -> Iterator[Recorded]:
        return (Recorded(episode, self.manifest) for episode in self.episodes)


class Retail(NamedTuple):
    """A flow of some retail customers, and the sessions of others."""

    flow: Flow
    manifest: Manifest
    sessions: list[Episode]
    groups: dict[str, str]


@pytest.fixture(scope="module")
def retail(shared_traces: Path) -> Retail:
    manifest, episodes = Manifest("retail"), []
    for trace in read_traces(shared_traces / "tools-retail.jsonl.gz"):
        manifest = manifest.updated(manifest_of(trace))
        episodes.append(episode_of(trace))
    fold = folds(episodes, 3)[0]
    lessons = Lessons([episode for episode in fold.learn if episode.succeeded], manifest)
    flow = learn(cast("Corpus", lessons), LearnOptions(features=False), provenance=Provenance("test"))
    return Retail(flow, manifest, fold.replay, units(episodes))


def test_a_flow_saves_most_of_what_can_be_saved_and_its_score_says_how_often_it_is_used(retail: Retail) -> None:
    """The original saves 22.9 % of turns in retail, learned from more sessions; its ECE is 0.08, the habit's 0.16."""
    scores = list(replay_all(retail.flow, retail.sessions, units=retail.groups, weigh=True))
    reach = summary(scores)
    habit = summary(list(replay_all(retail.flow, retail.sessions, units=retail.groups, weigh=True, decider="habit")))
    assert 0.15 < reach.saved.low < reach.saved.value < reach.saved.high < 0.3
    assert reach.total.saved <= reach.total.ceiling
    assert reach.calibration is not None
    assert habit.calibration is not None
    assert reach.calibration.ece < habit.calibration.ece


def test_a_manager_with_the_flow_saves_what_the_flow_saves(retail: Retail) -> None:
    table = ToolTable()
    hint_tools(table, retail.manifest)
    strategy = flow_strategy(retail.flow, tools=table)
    for session in retail.sessions[:12]:
        alone = replay(retail.flow, session)
        managed = replay_together(session, retail.manifest, strategies=[strategy])
        assert (managed.saved, managed.lookups, managed.used) == (alone.saved, alone.lookups, alone.used)


def test_replays_of_the_same_sessions_are_the_same(retail: Retail) -> None:
    once = total(replay_all(retail.flow, retail.sessions))
    assert once == total(replay_all(retail.flow, retail.sessions))
    assert once.turns > 300

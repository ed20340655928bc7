"""Learning in several processes comes to what one process would write, byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stretto.errors import SessionLogError, UsageError
from stretto.flow.file import dump_flow
from stretto.learning import LearnOptions, learn
from stretto.parallel import learn_in_parts
from stretto.sessions.corpus import open_corpus
from stretto.sessions.log_dump import dump_log
from tests.stretto.episodes import called, episode, replied, said
from tests.stretto.test_learning import MADE, SHOP

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(7):
        orders = [f"W{number}{place}" for place in (1, 2, 3)]
        made = episode(
            said(f"order {orders[1]}"),
            called("get_user", {"user": f"u{number % 3}"}, {"orders": orders, "size": number % 2}),
            *(called("get_order", {"order": order}, {"id": order}) for order in orders[: 1 + number % 3]),
            called("cancel", {"order": orders[0]}, "done"),
            replied(),
            name=f"s{number}",
        )
        (tmp_path / f"s{number}.jsonl").write_bytes(dump_log(made, SHOP))
    return tmp_path


def test_parts_of_a_directory_hold_what_the_whole_holds(logs: Path) -> None:
    whole = [each.episode.id for each in open_corpus(logs)]
    parts = [[each.episode.id for each in open_corpus(logs, share=(part, 3))] for part in range(3)]
    assert [name for part in parts for name in part] == whole
    assert all(parts)


@pytest.mark.parametrize("jobs", [2, 9])
def test_the_flow_is_the_same_however_many_processes_learn_it(logs: Path, jobs: int) -> None:
    alone = learn(open_corpus(logs), provenance=MADE)
    together, seen = learn_in_parts(logs, jobs, LearnOptions(), provenance=MADE)
    assert seen == 7
    assert dump_flow(together) == dump_flow(alone)


def test_what_is_wrong_in_a_part_is_told(logs: Path) -> None:
    (logs / "s3.jsonl").write_bytes((logs / "s3.jsonl").read_bytes() + b"{broken\n")
    problems: list[SessionLogError] = []
    _, seen = learn_in_parts(logs, 2, LearnOptions(), provenance=MADE, on_problem=problems.append)
    assert seen == 7
    assert [problem.path for problem in problems] == [str(logs / "s3.jsonl")]
    with pytest.raises(SessionLogError, match=r"s3\.jsonl:\d+: "):
        learn_in_parts(logs, 2, LearnOptions(), provenance=MADE)


def test_what_does_not_add_is_refused(logs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="parts cannot be counted by themselves"):
        learn_in_parts(logs, 2, LearnOptions(half_life=5), provenance=MADE)
    with pytest.raises(UsageError, match="read in parts"):
        open_corpus(results=[tmp_path / "x.json"], share=(0, 2))

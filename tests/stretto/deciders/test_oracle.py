"""Oracles: what is asked has a stable key, answers are kept and found again, and money is not overspent."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from stretto.deciders.oracle import CachingOracle, MockOracle, Question, ReplayOracle, Reply, Request
from stretto.errors import OracleError
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS = (Question("next", "What next?", (("a", "an option"), ("b", ""))), Question("go_on", "On?", (("yes", ""),)))


def request(text: str = "hello") -> Request:
    return Request("m", (f'{{"user":"{text}"}}',), QUESTIONS)


class Paid:
    """Answers by the mock, for a dollar each."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, request: Request) -> Reply:
        self.asked += 1
        return Reply(MockOracle(1).ask(request).answers, 1.0)


def test_equal_requests_have_equal_keys_and_any_change_another() -> None:
    assert request().key == request().key
    others = [
        request("bye"),
        Request("n", request().conversation, QUESTIONS),
        Request("m", request().conversation, QUESTIONS[:1]),
        Request("m", request().conversation, QUESTIONS[::-1]),
    ]
    assert len({request().key, *(other.key for other in others)}) == 5


def test_a_key_is_the_same_in_every_process() -> None:
    code = (
        "from stretto.deciders.oracle import Question, Request; "
        "print(Request('m', ('a\\udc80', 'é'), (Question('q', 't', (('x', ''),)),)).key)"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(keys) == 1


def test_the_mock_gives_probabilities_by_seed_and_request() -> None:
    told = MockOracle(3).ask(request()).answers
    assert told == MockOracle(3).ask(request()).answers
    assert told != MockOracle(4).ask(request()).answers
    assert told != MockOracle(3).ask(request("bye")).answers
    for question in QUESTIONS:
        assert sum(told[question.id].values()) == pytest.approx(1)


def test_an_answer_is_asked_for_once_and_replayed_from_the_cache(tmp_path: Path) -> None:
    paid, path = Paid(), tmp_path / "made" / "cache.jsonl"
    caching = CachingOracle(paid, path, budget=9)
    first = caching.ask(request())
    assert caching.ask(request()) == first
    assert CachingOracle(paid, path, budget=0).ask(request()) == first
    assert ReplayOracle(path).ask(request()) == first
    assert (paid.asked, caching.spent) == (1, 1.0)


def test_nothing_is_asked_once_the_budget_is_spent_and_what_is_known_still_answered(tmp_path: Path) -> None:
    paid = Paid()
    caching = CachingOracle(paid, tmp_path / "cache.jsonl", budget=2)
    caching.ask(request("1"))
    caching.ask(request("2"))
    with pytest.raises(OracleError, match=r"the budget of \$2 is spent"):
        caching.ask(request("3"))
    assert caching.ask(request("2")).dollars == 1
    assert paid.asked == 2


def test_what_the_cache_does_not_know_has_no_answer(tmp_path: Path) -> None:
    with pytest.raises(OracleError, match="has no answer to w1:"):
        ReplayOracle(tmp_path / "none.jsonl").ask(request())


@pytest.mark.case("HC-04")
def test_a_torn_last_line_of_a_cache_is_skipped_and_a_broken_one_before_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cache.jsonl"
    caching = CachingOracle(Paid(), path, budget=9)
    caching.ask(request("1"))
    caching.ask(request("2"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert ReplayOracle(path).ask(request("1")).dollars == 1
    with pytest.raises(OracleError):
        ReplayOracle(path).ask(request("2"))
    path.write_bytes(b'\n{"key": 1}\n' + whole)
    with pytest.raises(OracleError, match=r"cache\.jsonl:2: no answer of an oracle"):
        ReplayOracle(path)


@pytest.mark.parametrize(
    "line",
    ["[]", "1", '{"key": "k"}', '{"key": "k", "answers": 1}', '{"key": "k", "answers": {"q": {"a": "x"}}}', "nonsense"],
)
def test_a_line_of_a_cache_that_is_no_answer_gives_one_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "cache.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(OracleError, match=":1: no answer"):
        ReplayOracle(path)


def test_a_cache_that_cannot_be_read_gives_one_error(tmp_path: Path) -> None:
    with pytest.raises(OracleError, match="cannot be read"):
        ReplayOracle(tmp_path)

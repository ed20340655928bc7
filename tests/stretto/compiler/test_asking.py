"""What an adviser is given and what comes back: no secret either way, and nothing is asked twice."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stretto.compiler import AnswerFile, Answers, Tools
from stretto.compiler.asking import Asking
from stretto.compiler.discover import discover
from stretto.compiler.embed import TfidfEmbedder
from stretto.compiler.schemas import ToolSchema
from stretto.errors import AnswersError
from stretto.procedure import graph
from stretto.procedure.file import dump_procedure
from stretto.review.document import as_markdown
from stretto.review.procedure_page import procedure_page
from stretto.review.procedure_show import show_procedure
from tests.conftest import ROOT
from tests.stretto.compiler.stories import SHOP, refunds
from tests.stretto.compiler.test_advising import (
    PLAIN,
    SETTINGS,
    STATUSES,
    Garbage,
    Rules,
    bare,
    booking,
    compiled,
    day_of,
    shipping,
    why_dropped,
)

if TYPE_CHECKING:
    from pathlib import Path


# --- titles ---------------------------------------------------------------------------------------------------------


def test_a_title_is_one_short_line_for_people_and_is_no_part_of_what_is_run() -> None:
    title = "**Refund**\n| an order\u202e\x1b[31m " + "x" * 200
    made = compiled(refunds(), Rules(title))
    assert made.procedure is not None
    assert made.title == ("**Refund** | an order [31m " + "x" * 200)[:80]
    assert made.procedure.name == "x"
    page = as_markdown(procedure_page(show_procedure(made.procedure)))
    assert "An adviser calls it: " in page
    assert bare(made) == bare(compiled(refunds()))


def test_an_intent_has_a_title_and_its_own_name() -> None:
    traces = [story.trace for story in refunds()]
    plain = discover(traces, TfidfEmbedder(), SETTINGS)
    found = discover(traces, TfidfEmbedder(), SETTINGS, adviser=Rules("../../etc"), tools=SHOP)
    assert [replace(intent, title="") for intent in found.intents] == list(plain.intents)
    assert {intent.title for intent in found.intents} == {"../../etc"}
    assert found.adviser == ("rules", "1")
    assert (plain.adviser, plain.dropped) == (None, ())


def test_a_secret_in_a_text_of_an_adviser_is_masked() -> None:
    made = compiled(refunds(), Rules("for hunter2hunter2", doubts=lambda _edge: "token=tk_9f31 was there"))
    assert made.procedure is not None, made.reasons
    data = dump_procedure(made.procedure).decode()
    assert "hunter2" not in data
    assert "tk_9f31" not in data


# --- what is given, and what comes back -----------------------------------------------------------------------------


def test_what_an_adviser_is_given_holds_no_secret() -> None:
    secret = Tools({"shop.login": ToolSchema(secrets=frozenset(["user", "password"]))})
    stories = refunds()
    stories[0].request += ", and SVC@shop is my user"
    stories[1].says("svc@shop and tk_1c77").call("shop.note", {"who": "svc@shop"}, {"echo": ["svc@shop", 4242]})
    adviser = Rules()
    compiled(stories, adviser, tools=secret)
    asking = Asking(adviser, None, secret, [story.trace for story in stories])
    asking.splits(stories[1].trace)
    assert {name for name, _ in adviser.given} == {"name_intent", "propose_split", "doubt"}
    for name, what in adviser.given:
        for word in ("hunter2", "svc@shop", "SVC@shop", "tk_1c77", "tk_9f31", "tk_77e0"):
            assert word not in repr(what), name
    (trace,) = adviser.asked("propose_split")
    assert trace.calls[1].args["user"] == trace.calls[1].args["password"]
    assert trace.calls[-1].name == "shop.note"
    assert 4242 in trace.calls[-1].output["echo"]


def test_values_that_are_secret_are_masked_in_a_fork_and_pairs_of_them_are_not_asked_about() -> None:
    tools = Tools({"shop.find": ToolSchema(secrets=frozenset(["pin"]))})
    stories = []
    for number, status in enumerate(STATUSES):
        story = shipping(number, status, seen=f"77{number}9")
        story.calls[0] = replace(story.calls[0], args={**story.calls[0].args, "pin": f"77{number}9"})
        stories.append(story)
    adviser = Rules()
    compiled(stories, adviser, tools=tools)
    (fork, *_) = adviser.asked("propose_guards")
    assert "7709" not in repr(fork)
    adviser = Rules(transforms=["date_of"])
    tools = Tools({"calendar.list": ToolSchema(secrets=frozenset(["key"]))})
    stories = [booking(number) for number in range(3)]
    for story in stories:
        day = story.calls[1].args["day"]
        story.calls[0] = replace(story.calls[0], args={**story.calls[0].args, "key": day})
    compiled(stories, adviser, tools=tools)
    assert adviser.asked("propose_transforms") == []


def test_what_is_dropped_is_logged_and_listed_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "stretto.compiler")
    made = compiled(refunds(), Garbage(RuntimeError("hunter2hunter2"), name="loud\nadviser"))
    assert why_dropped(made) == [("", "it raised RuntimeError")]
    assert [record.getMessage() for record in caplog.records] == [
        "loud adviser: name_intent : dropped '': it raised RuntimeError"
    ]
    assert made.title == ""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("date_of", "expected a list, got str"),
        ([True, 3], "expected str, got bool"),
        (["x"] * 21, "only the first 20 of 21"),
    ],
)
def test_an_answer_of_another_form_is_dropped(answer: Any, reason: str) -> None:
    made = compiled([booking(number) for number in range(3)], Rules(transforms=answer))
    assert any(reason in each for _, each in why_dropped(made))
    assert day_of(made).kind.value == "llm_or_dynamic"


def test_an_adviser_without_a_name_is_called_unknown() -> None:
    made = compiled(refunds(), Rules(name=None, version=3))
    assert made.procedure is not None
    assert made.procedure.compiled.adviser == graph.AdviserNote(name="unknown", version="unknown")


# --- answers --------------------------------------------------------------------------------------------------------


def test_nothing_is_asked_twice_and_only_digests_and_answers_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    stories = [booking(number) for number in range(3)]
    adviser = Rules("A hotel", transforms=["date_of"])
    with AnswerFile(path) as answers:
        first = compiled(stories, adviser, answers=answers)
    asked = len(adviser.given)
    assert asked == len({repr(each) for each in adviser.given})
    data = path.read_text()
    assert "2026-" not in data
    assert "OSLO" not in data
    assert path.stat().st_mode & 0o77 == 0
    with AnswerFile(path) as answers:
        second = compiled(stories, adviser, answers=answers)
    assert len(adviser.given) == asked
    assert path.read_text() == data
    assert first.procedure is not None
    assert second.procedure is not None
    assert dump_procedure(first.procedure) == dump_procedure(second.procedure)
    newer = Rules("A hotel", version="2")
    with AnswerFile(path) as answers:
        compiled(stories, newer, answers=answers)
    assert newer.given
    keyed = Rules("A hotel", transforms=["date_of"])
    compiled(stories, keyed, answers=AnswerFile(path, key=b"mine"))
    assert keyed.given


def test_the_file_of_answers_is_the_documented_one(tmp_path: Path) -> None:
    with AnswerFile(tmp_path / "answers.json") as answers:
        answers.put(answers.digest(["rules", "1", "name_intent", ["REQUEST: Refund order A-5531"]]), "Refund an order")
    document = (ROOT / "docs" / "file-formats.md").read_text(encoding="utf-8")
    assert f"```json\n{(tmp_path / 'answers.json').read_text()}```" in document


def test_answers_in_a_file_are_read_as_data_and_checked_again(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    adviser = Rules()
    with AnswerFile(path) as known:
        compiled(refunds(), adviser, answers=known)
    stored = json.loads(path.read_text())
    answers: list[Any] = [True, [["equals"]], {"a": 1}, "x\ny", 10**30, [[]]]
    for answer in answers:
        path.write_text(json.dumps({**stored, "answers": dict.fromkeys(stored["answers"], answer)}))
        made = compiled(refunds(), adviser, answers=AnswerFile(path))
        assert "\n" not in made.title
        assert bare(made) == bare(PLAIN["refunds"]) or answer == "x\ny"


def test_answers_are_kept_even_where_compiling_fails(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"

    def begin() -> None:
        with AnswerFile(path) as answers:
            answers.put(answers.digest("question"), "yes")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin()
    kept = AnswerFile(path)
    assert kept.get(kept.digest("question")) == "yes"


@pytest.mark.parametrize("data", ["", "[]", "{}", '{"stretto_answers": true, "answers": {}}', '{"stretto_answers": 1}'])
def test_a_file_that_holds_no_answers_is_told_with_where(tmp_path: Path, data: str) -> None:
    path = tmp_path / "answers.json"
    path.write_text(data)
    with pytest.raises(AnswersError, match=r"answers\.json"):
        AnswerFile(path)


def test_the_digest_of_a_question_is_the_same_in_every_process() -> None:
    assert Answers().digest(["a", 1]) == "e29c3fe81ae8eb806ccea424138e79a4"

"""The flow log: its lines, its writer off the session's thread, and its reader."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.bindings.model import Bound, Pick
from stretto.deciders.model import Decision, HandBack
from stretto.errors import SessionLogError
from stretto.flowlog import FlowLog, RunSite, decision_line, read_flow_log, run_line
from waggle import jsonvalue

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject

SITE = ("get_user", False)
BOUND = Bound({"order_id": "#W1"}, Pick.NONE, 0.9)


def test_a_lookup_and_a_hand_back_have_the_fields_of_the_format_in_its_order() -> None:
    lookup = Decision(SITE, "get_order", BOUND, probs={"get_order": 0.5, "respond": 0.5}, prob=0.5, binding=0.9)
    line = decision_line(lookup, after="7", address="decide#0", ms=0.25)
    assert jsonvalue.dumps(line) == (
        b'{"action":"lookup","tool":"get_order","arguments":{"order_id":"#W1"},"site":"get_user",'
        b'"probs":{"get_order":0.5,"respond":0.5},"prob":0.5,"binding":0.9,"oracle":{},"predicates":{},"key":null,'
        b'"after":"7","address":"decide#0","ms":0.25}'
    )
    back = Decision(("get_user", True), reason=HandBack.NO_LOOKUPS, said=HandBack.NO_LOOKUPS.value)
    line = decision_line(back, after="7", address="decide#1", ms=0.5, shadow=True)
    assert jsonvalue.dumps(line) == (
        b'{"action":"hand_back","reason":"no lookups followed here in training","site":"get_user (error)",'
        b'"probs":{},"prob":null,"binding":null,"oracle":{},"predicates":{},"key":null,'
        b'"after":"7","address":"decide#1","ms":0.5,"shadow":true}'
    )


def test_policy_and_what_was_withheld_are_there_only_when_they_are() -> None:
    lookup = Decision(SITE, "get_order", BOUND)
    line = decision_line(lookup, after="7", address="decide#0", ms=0, policy={"epsilon": 0.1}, withheld="it changed")
    assert line["policy"] == {"epsilon": 0.1}
    assert line["withheld"] == "it changed"


def test_a_run_is_surprising_by_what_its_lookups_came_to() -> None:
    sites = [RunSite("decide#0", 4, 0.0), RunSite("outcome#0", True, math.log(10 / 11)), RunSite("decide#1", 0, 0.0)]
    line = run_line("7", ("get_user", False), 8, sites)
    assert line == {
        "after": "7",
        "run": {
            "call": "get_user",
            "failed": False,
            "max_lookups": 8,
            "sites": [["decide#0", 4, 0.0], ["outcome#0", True, math.log(10 / 11)], ["decide#1", 0, 0.0]],
            "surprise": pytest.approx(0.0953, abs=1e-4),
        },
    }
    assert b'"surprise":0.0}' in jsonvalue.dumps(run_line("7", SITE, 8, sites[:1]))


def test_what_was_taken_is_in_the_file_after_a_flush_in_its_order(tmp_path: Path) -> None:
    log = FlowLog(tmp_path / "logs" / "s.flow.jsonl")
    lines: list[JsonObject] = [{"n": number} for number in range(200)]
    for line in lines:
        log(line)
    assert log.flush(5)
    assert list(read_flow_log(log.path)) == lines
    assert log.faults.counts() == {}


def test_a_log_that_cannot_be_written_is_counted_and_nothing_is_raised(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = FlowLog(tmp_path / "file" / "s.flow.jsonl")
    log({"n": 1})
    assert log.flush(5)
    assert sum(log.faults.counts().values()) == 1


@pytest.mark.case("HC-17")
def test_no_secret_in_an_argument_reaches_the_disk(tmp_path: Path) -> None:
    log = FlowLog(tmp_path / "s.flow.jsonl")
    secret = "ghp_" + "a1B2" * 9
    arguments: JsonObject = {"password": "hunter2!", "note": f"use {secret}", "token_count": 3}
    decision = Decision(SITE, "get_password", Bound(arguments, Pick.NONE, 0.9), probs={"get_password": 0.5}, prob=0.5)
    policy: JsonObject = {"options": [{"tool": "get_password", "p": 0.5, "arguments": arguments}, None]}
    log(decision_line(decision, after="7", address="decide#0", ms=0, policy=policy))
    assert log.flush(5)
    written = log.path.read_text(encoding="utf-8")
    assert "hunter2" not in written
    assert secret not in written
    [line] = read_flow_log(log.path)
    assert line["probs"] == {"get_password": 0.5}  # the name of a tool is no secret's name
    assert isinstance(line["arguments"], dict)
    assert line["arguments"]["token_count"] == 3


@pytest.mark.case("HC-04")
def test_a_log_cut_anywhere_in_its_last_line_reads_as_the_lines_before(tmp_path: Path) -> None:
    path = tmp_path / "s.flow.jsonl"
    first, last = b'{"action":"hand_back","after":"1"}\n', '{"action":"lookup","after":"é2"}\n'.encode()
    for cut in range(len(last)):
        path.write_bytes(first + last[:cut])
        read = list(read_flow_log(path))
        assert read[0] == {"action": "hand_back", "after": "1"}
        assert len(read) == (2 if cut == len(last) - 1 else 1)


@pytest.mark.parametrize("line", [b"{", b"[1]", b'"x"', b"\xff", b"NaN"])
def test_a_broken_line_that_is_not_the_last_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "s.flow.jsonl"
    path.write_bytes(b'{"a":1}\n\n' + line + b'\n{"b":2}\n')
    with pytest.raises(SessionLogError, match=r"s\.flow\.jsonl:3: "):
        list(read_flow_log(path))


def test_a_log_that_is_not_there_gives_one_error(tmp_path: Path) -> None:
    with pytest.raises(SessionLogError, match="cannot be read"):
        list(read_flow_log(tmp_path / "none.flow.jsonl"))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_the_files_name(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "s.flow.jsonl"
        path.write_bytes(data)
        said = ""
        try:
            assert all(isinstance(line, dict) for line in read_flow_log(path))
        except SessionLogError as error:
            said = str(error)
        assert not said or said.startswith(f"{path}:")

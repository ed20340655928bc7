"""Session logs are read line by line: nothing is lost or changed in silence, and nothing but one error comes out."""

from __future__ import annotations

import gzip
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import SessionLogError
from stretto.sessions.log import Entry, Header, find_log, read_log, session_name
from stretto.sessions.turns import infer
from tests.strategies import json_values, texts
from tests.stretto.sessions.logs_support import answer, call, log_bytes, said
from waggle import jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonValue

HEADER = Header("20260930T101500.250Z-4711", 1_790_763_300_250, ("npx", "shop"), "shop", "gpt", "host-1", "shop-eu")
ENTRIES = [call(5, 1, "get", id="W1"), answer(9, 1, "text"), said(12, "user", "hi"), Entry(20, "server", None, "up")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def read(path: Path) -> list[Entry]:
    return list(read_log(path)[1])


# --- what a log says ---------------------------------------------------------------------------------------


def test_a_log_comes_back_as_it_was_written(path: Path) -> None:
    path.write_bytes(log_bytes(HEADER, ENTRIES))
    header, entries = read_log(path)
    assert header == HEADER
    assert list(entries) == ENTRIES


def test_version_1_is_read_and_what_a_header_need_not_say_may_be_missing(path: Path) -> None:
    path.write_bytes(b'{"stretto_mcp_log":1,"session":"s","started_unix_ms":7,"domain":null,"new":[1]}\n')
    header, entries = read_log(path)
    assert header == Header("s", 7, version=1)
    assert not list(entries)


def test_keys_of_a_newer_writer_are_passed_over(path: Path) -> None:
    line = b'{"t_ms":1,"from":"client","message":{"id":1},"raw":null,"new":{}}\n'
    path.write_bytes(log_bytes(HEADER, []) + line)
    assert read(path) == [Entry(1, "client", {"id": 1})]


def test_names_of_sessions_are_in_order_of_their_start() -> None:
    assert session_name(1_790_763_300_250, 4711) == "20260930T101500.250Z-4711"
    assert session_name(1_790_763_300_249, 4711) < session_name(1_790_763_300_250, 4711)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param({"stretto_mcp_log": 3, "session": "s"}, "unsupported log version 3", id="version"),
        pytest.param({"stretto_mcp_log": True, "session": "s"}, "$.stretto_mcp_log: expected a whole", id="no-number"),
        pytest.param({"stretto_mcp_log": 2.0, "session": "s"}, "$.stretto_mcp_log: expected a whole", id="no-integer"),
        pytest.param({"stretto_mcp_log": 2, "started_unix_ms": 1}, "$.session: expected a text", id="no-session"),
        pytest.param({"stretto_mcp_log": 2, "session": "s"}, "$.started_unix_ms: expected a whole", id="no-start"),
        pytest.param(
            {"stretto_mcp_log": 2, "session": "s", "started_unix_ms": 1, "server_command": [1]},
            "$.server_command: expected a list of texts",
            id="command",
        ),
        pytest.param(
            {"stretto_mcp_log": 2, "session": "s", "started_unix_ms": 1, "domain": 5},
            "$.domain: expected a text",
            id="domain",
        ),
        pytest.param({"t_ms": 1, "from": "client", "raw": "x"}, "expected the header of a session log", id="none"),
    ],
)
def test_a_header_that_is_not_valid_is_one_error_on_line_1(path: Path, line: JsonValue, problem: str) -> None:
    path.write_bytes(jsonvalue.dumps(line) + b"\n")
    with pytest.raises(SessionLogError) as caught:
        read_log(path)
    assert caught.value.line == 1
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b'{"stretto_mcp_log": 2, "ses', b"\xff\xfe", b"[1]\n", b"hello\n", b"7"]
)
def test_a_file_without_a_header_is_an_error_that_names_it(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(SessionLogError, match=r"s\.jsonl.*(expected|header|is empty)"):
        find_log(path)


def test_a_missing_file_and_a_directory_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(SessionLogError, match=str(path)):
            find_log(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param(b'{"t_ms":1.5,"from":"client","raw":"x"}', r"\$\.t_ms", id="time"),
        pytest.param(b'{"t_ms":true,"from":"client","raw":"x"}', r"\$\.t_ms", id="true"),
        pytest.param(b'{"from":"client","raw":"x"}', r"\$\.t_ms", id="no-time"),
        pytest.param(b'{"t_ms":1,"from":"agent","raw":"x"}', r"\$\.from: expected one of client, server", id="sender"),
        pytest.param(b'{"t_ms":1,"from":["client"],"raw":"x"}', r"\$\.from", id="senders"),
        pytest.param(b'{"t_ms":1,"from":"client"}', r"\$\.message", id="neither"),
        pytest.param(b'{"t_ms":1,"from":"client","message":{},"raw":"x"}', r"\$\.message", id="both"),
        pytest.param(b'{"t_ms":1,"from":"client","message":"x"}', r"\$\.message", id="scalar"),
        pytest.param(b'{"t_ms":1,"from":"client","raw":{}}', r"\$\.message", id="raw"),
        pytest.param(b"[]", "expected one JSON object", id="list"),
        pytest.param(b'{"t_ms":1,', "expected one JSON object", id="half"),
        pytest.param(b"\xff", "not UTF-8", id="bytes"),
    ],
)
@pytest.mark.case("HC-04")
def test_a_bad_line_in_the_middle_is_an_error_with_its_number_and_the_others_can_be_had(
    path: Path, line: bytes, problem: str
) -> None:
    path.write_bytes(
        log_bytes(HEADER, ENTRIES[:1]) + b"\n" + line + b"\n" + log_bytes(HEADER, ENTRIES[1:]).split(b"\n", 1)[1]
    )
    with pytest.raises(SessionLogError, match=problem) as caught:
        read(path)
    assert caught.value.line == 4
    problems: list[SessionLogError] = []
    _, entries = read_log(path, problems.append)
    assert list(entries) == ENTRIES
    assert [(one.path, one.line) for one in problems] == [(str(path), 4)]


@pytest.mark.case("HC-04")
def test_cut_at_every_byte_of_the_last_line_the_lines_before_are_read(path: Path) -> None:
    whole = log_bytes(HEADER, ENTRIES[:2])
    last = log_bytes(HEADER, ENTRIES[2:3]).split(b"\n", 1)[1]
    for size in range(len(last) + 1):
        path.write_bytes(whole + last[:size])
        problems: list[SessionLogError] = []
        entries = list(read_log(path, problems.append)[1])
        assert entries == ENTRIES[: 2 if size < len(last) - 1 else 3]  # without its line end it is whole
        assert [one.line for one in problems] == ([4] if 0 < size < len(last) - 1 else [])
        assert read(path) == entries


@pytest.mark.case("HC-01")
def test_integers_beyond_64_bits_stay_what_they_are(path: Path) -> None:
    numbers: list[JsonValue] = [2**64, 2**64 + 1, 2**64 - 1, -(2**63), -(2**63) - 1, 10**40]
    path.write_bytes(log_bytes(HEADER, [call(1, 2**70, "get", n=numbers), answer(2, 2**70)]))
    header, entries = read_log(path)
    episode, _ = infer(header, entries)
    (turn,) = episode.turns()
    assert repr(turn.calls[0].arguments) == repr({"n": numbers})  # 2.0**64 is equal to 2**64
    assert turn.calls[0].id == str(2**70)
    assert turn.calls[0].id in episode.results()


@pytest.mark.case("HC-02")
def test_lone_surrogates_are_read_and_a_pair_is_one_character(path: Path) -> None:
    said = rb'{"t_ms":1,"from":"context","message":{"role":"user","content":"caf\udc9d \ud83d\ude00"}}'
    path.write_bytes(log_bytes(HEADER, [Entry(0, "server", None, "caf\udce9")]) + said + b"\n")
    entries = read(path)
    assert entries[0].raw == "caf\udce9"
    assert entries[1].message == {"role": "user", "content": "caf\udc9d \U0001f600"}


@pytest.mark.case("HC-03")
def test_line_separators_in_texts_are_no_line_ends(path: Path) -> None:
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\r\ng"
    data = log_bytes(HEADER, [call(1, 1, "get", text=text), answer(2, 1, text)])
    assert data.count(b"\n") == 3
    path.write_bytes(data)
    header, entries = read_log(path)
    episode, _ = infer(header, entries)
    assert next(episode.turns()).calls[0].arguments == {"text": text}
    assert episode.results()["1"].content == text


@pytest.mark.parametrize("change", [
    pytest.param(lambda data: data, id="plain"),
    pytest.param(lambda data: data.replace(b"\n", b"\r\n"), id="carriage-returns"),
    pytest.param(lambda data: data.replace(b"\n", b"\n\n \n"), id="blank-lines"),
    pytest.param(lambda data: b"\n" + data, id="blank-first"),
    pytest.param(lambda data: b"\xef\xbb\xbf" + data, id="byte-order-mark"),
    pytest.param(lambda data: data[:-1], id="no-last-line-end"),
    pytest.param(gzip.compress, id="compressed"),
    pytest.param(lambda data: data.replace(b'"hi"', b'"hi' + b"9" * 30 + b'"'), id="digits"),
])  # fmt: skip
def test_the_same_log_however_the_file_was_made(path: Path, change: Any) -> None:
    path.write_bytes(change(log_bytes(HEADER, ENTRIES)))
    header, entries = read_log(path)
    assert header == HEADER
    found = list(entries)
    assert found[:2] + found[3:] == ENTRIES[:2] + ENTRIES[3:]


@pytest.mark.case("HC-09")
def test_memory_does_not_grow_with_the_file(path: Path) -> None:
    """10,000 results of 1 kB; what is held at once is far less."""
    with path.open("wb") as file:
        file.write(log_bytes(HEADER, []))
        for number in range(10_000):
            file.write(jsonvalue.dumps(answer(number, number, "x" * 1000).to_json()) + b"\n")
    tracemalloc.start()
    _, entries = read_log(path)
    count = sum(1 for _ in entries)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 10_000
    assert path.stat().st_size > 10_000_000
    assert peak < 6_000_000  # 4 MB are tried in one piece


# --- whatever the bytes are --------------------------------------------------------------------------------


def _entries() -> st.SearchStrategy[bytes]:
    """Lines that are nearly entries."""
    messages = st.fixed_dictionaries(
        {},
        optional={
            "id": st.integers(0, 3) | json_values(),
            "method": st.sampled_from(["tools/call", "tools/list", "initialize", "notifications/cancelled"]) | texts(),
            "params": st.fixed_dictionaries(
                {},
                optional={
                    "name": st.sampled_from(["a", "b"]) | json_values(),
                    "arguments": json_values(),
                    "requestId": st.integers(0, 3) | json_values(),
                    "clientInfo": json_values(),
                },
            )
            | json_values(),
            "result": st.fixed_dictionaries(
                {}, optional={"content": json_values(), "isError": json_values(), "tools": json_values()}
            )
            | json_values(),
            "error": json_values(),
            "role": st.sampled_from(["user", "assistant"]) | json_values(),
            "content": texts() | json_values(),
        },
    )
    fields: dict[str, st.SearchStrategy[Any]] = {
        "t_ms": st.integers(0, 2000) | json_values(),
        "from": st.sampled_from(["client", "server", "proxy", "context"]) | json_values(),
    }
    good: dict[str, st.SearchStrategy[Any]] = {
        "t_ms": st.integers(0, 2000),
        "from": st.sampled_from(["client", "server", "proxy", "context"]),
    }
    said = messages | st.lists(messages | json_values(), max_size=3)
    return st.one_of(
        st.fixed_dictionaries(good | {"message": said}).map(jsonvalue.dumps),
        st.fixed_dictionaries(fields, optional={"message": said | json_values(), "raw": json_values()}).map(
            jsonvalue.dumps
        ),
        json_values().map(jsonvalue.dumps),
        st.binary(max_size=20),
    )


@given(
    st.sampled_from([[log_bytes(HEADER, []).strip()]] * 3 + [[]]),
    st.lists(_entries(), max_size=12),
    st.integers(0, 400),
)
def test_whatever_the_lines_are_there_is_an_episode_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, header: list[bytes], lines: list[bytes], cut: int
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "s.jsonl"
    data = b"\n".join([*header, *lines])
    path.write_bytes(data[: len(data) - cut] if cut < 40 else data)
    problems: list[SessionLogError] = []
    try:
        found, entries = read_log(path, problems.append)
    except SessionLogError:
        return
    episode, _ = infer(found, entries)
    assert episode.id
    try:
        again, _ = infer(*read_log(path))
    except SessionLogError:
        assert problems
    else:
        assert again == episode


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "s.jsonl"
    path.write_bytes(data)
    with pytest.raises(SessionLogError):
        read_log(path)


def test_nesting_of_any_depth_is_read_or_refused(path: Path) -> None:
    for depth in (100, 300, 1000, 5000, 100_000):
        deep = b"[" * depth + b"]" * depth
        path.write_bytes(
            log_bytes(HEADER, [call(1, 1, "a")])
            + b'{"t_ms":2,"from":"server","message":{"id":1,"result":{"structuredContent":'
            + deep
            + b"}}}\n"
            + b'{"t_ms":3,"from":"client","message":{"id":2,"method":"tools/call","params":{"name":"a","arguments":'
            + deep
            + b"}}}\n"
            + b'{"t_ms":4,"from":"server","message":{"id":3,"result":'
            + deep
            + b"}}\n"
        )
        problems: list[SessionLogError] = []
        episode, _ = infer(*read_log(path, problems.append))
        assert len(list(episode.turns())) == 1
        assert len(problems) in (0, 3)

"""Files of every kind: torn, compressed, enormous, of another format, or none at all."""

from __future__ import annotations

import gzip
import io
import re
import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from waggle import jsonvalue
from waggle.calls import Call, Result
from waggle.errors import TraceError
from waggle.traces import Trace, TraceBuilder, dump_trace, lines, read_traces, trace_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from waggle.jsonvalue import JsonObject


def made(name: str, text: str = "text") -> Trace:
    builder = TraceBuilder()
    builder.message("user", "why?")
    builder.call(Call("Read", {"file_path": "a.py"}, "c1"), 0)
    builder.result("c1", Result(text))
    return builder.build(name, "host/model", "here")


THREE = [made("one"), made("two"), made("three")]
DATA = b"".join(map(dump_trace, THREE))


@pytest.fixture(name="saved")
def _saved(tmp_path: Path) -> Callable[[bytes], Path]:
    def saved(data: bytes, name: str = "traces.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return saved


@pytest.mark.case("HC-04")
def test_cut_at_any_byte_the_whole_sessions_before_are_read(saved: Callable[[bytes], Path]) -> None:
    """A torn last line is reported, not raised; complete JSON without its line feed is a session."""
    whole = len(DATA) - len(dump_trace(THREE[2]))
    for end in range(whole, len(DATA) + 1):
        path = saved(DATA[:end])
        problems: list[TraceError] = []
        read = list(read_traces(path, on_problem=problems.append))
        assert list(read_traces(path)) == read
        if end == whole:
            assert (read, problems) == (THREE[:2], [])
        elif end < len(DATA) - 1:
            assert read == THREE[:2]
            assert [str(error) for error in problems] == [f"{path}:3: the last line is cut off and was passed over"]
        else:
            assert (read, problems) == (THREE, [])


@pytest.mark.case("HC-04")
def test_a_broken_line_in_the_middle_is_damage(saved: Callable[[bytes], Path]) -> None:
    one, two, three = (dump_trace(trace) for trace in THREE)
    path = saved(one + two[:50] + b"\n" + three)
    problems: list[TraceError] = []
    assert list(read_traces(path, on_problem=problems.append)) == [THREE[0], THREE[2]]
    (error,) = problems
    assert (error.path, error.line) == (str(path), 2)
    assert error.problem.startswith("expected one JSON object a line: ")
    with pytest.raises(TraceError, match=":2: expected one JSON object a line"):
        list(read_traces(path))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param(b'{"a": 1} {"b": 2}', "Extra data at character 10", id="two-on-one-line"),
        pytest.param(b'{"a": "\xff"}', "not UTF-8 at byte 8", id="not-utf-8"),
        pytest.param(b'{"a": NaN}', "NaN is not JSON", id="nan"),
        pytest.param(b'{"a": ' + b"[" * 100_000, "JSON is nested too deeply", id="deep"),
        pytest.param(b'"text"', "this is JSON, but no object", id="no-object"),
    ],
)
def test_what_is_wrong_with_a_line_is_said_without_quoting_it(
    saved: Callable[[bytes], Path], line: bytes, problem: str
) -> None:
    problems: list[TraceError] = []
    path = saved(DATA + line + b"\n" + DATA)
    assert len(list(read_traces(path, on_problem=problems.append))) == 6
    assert [str(error) for error in problems] == [f"{path}:4: expected one JSON object a line: {problem}"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(DATA.replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(b"\xef\xbb\xbf" + DATA, id="byte-order-mark"),
        pytest.param(b"\n  \n" + DATA.replace(b"\n", b"\n\n"), id="empty-lines"),
        pytest.param(gzip.compress(DATA), id="gzip-without-the-name"),
        pytest.param(gzip.compress(DATA[:100]) + gzip.compress(DATA[100:]), id="gzip-of-two-parts"),
        pytest.param(gzip.compress(b"\xef\xbb\xbf" + DATA.replace(b"\n", b"\r\n")), id="gzip-crlf-mark"),
    ],
)
def test_the_same_sessions_however_the_file_was_made(saved: Callable[[bytes], Path], data: bytes) -> None:
    assert list(read_traces(saved(data))) == THREE


@pytest.mark.case("HC-03")
def test_line_separators_inside_texts_end_no_line(saved: Callable[[bytes], Path]) -> None:
    """Written unescaped, as other programs do."""
    text = "a\u2028b\u2029c\u0085d"
    data = dump_trace(made("one", "TEXT")).replace(b"TEXT", text.encode())
    (trace,) = read_traces(saved(data))
    assert trace.steps[0].result == Result(text)


@pytest.mark.case("HC-02")
def test_escaped_surrogates_are_read(saved: Callable[[bytes], Path]) -> None:
    """A lone one stays what it is, a pair is one character."""
    data = dump_trace(made("one", "TEXT")).replace(b"TEXT", rb"\udc9d \ud83d\ude00")
    (trace,) = read_traces(saved(data))
    assert trace.steps[0].result == Result("\udc9d \U0001f600")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"once upon a time\n", id="text"),
        pytest.param(b"[" + DATA.replace(b"\n", b",") + b"]", id="json-array"),
        pytest.param(DATA.decode().encode("utf-16"), id="utf-16"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + bytes(1000), id="image"),
        pytest.param(bytes(1000), id="zeros"),
        pytest.param(b'{"timestamp":"t","kind":"step","body":{}}\n' * 3, id="another-agents-log"),
        pytest.param(b'{"a":1}\n' * 1_000, id="other-json-lines"),
        pytest.param(b'{\n  "session": "s",\n  "steps": []\n}\n', id="indented-json"),
    ],
)
def test_a_file_of_another_kind_is_one_clear_error(saved: Callable[[bytes], Path], data: bytes) -> None:
    path = saved(data)
    with pytest.raises(TraceError) as raised:
        list(read_traces(path))
    assert str(raised.value).startswith(f"{path}:1: expected ")
    assert "JSON" in raised.value.problem


def test_a_file_of_another_kind_is_raised_even_when_problems_are_taken(saved: Callable[[bytes], Path]) -> None:
    """It is what the caller asked for by name."""
    with pytest.raises(TraceError, match="expected recorded sessions"):
        list(read_traces(saved(b"once upon a time\n"), on_problem=lambda _: None))


def test_an_empty_file_has_no_sessions(saved: Callable[[bytes], Path]) -> None:
    assert list(read_traces(saved(b""))) == []
    assert list(read_traces(saved(b"\n\n"))) == []


def test_a_first_line_still_being_written_is_no_error(saved: Callable[[bytes], Path]) -> None:
    problems: list[TraceError] = []
    assert list(read_traces(saved(DATA[:40]), on_problem=problems.append)) == []
    assert len(problems) == 1


@pytest.mark.case("HC-04")
def test_a_compressed_file_that_is_cut_off_gives_what_came_before(saved: Callable[[bytes], Path]) -> None:
    data = gzip.compress(b"".join(dump_trace(made(str(n), f"text {n * 7919}")) for n in range(200)))
    for part in (3, 2):
        path = saved(data[: len(data) * (part - 1) // part])
        problems: list[TraceError] = []
        read = list(read_traces(path, on_problem=problems.append))
        assert 0 < len(read) < 200
        assert [trace.session for trace in read] == [str(n) for n in range(len(read))]
        assert [error.problem for error in problems] == [
            "the compressed file ends too early; what came before was read"
        ]
        assert list(read_traces(path)) == read


def test_a_compressed_file_that_is_damaged_is_reported(saved: Callable[[bytes], Path]) -> None:
    data = gzip.compress(b"".join(dump_trace(made(str(n), f"text {n * 7919}")) for n in range(200)))
    path = saved(data[:2000] + b"damaged!" * 20 + data[2160:])
    with pytest.raises(TraceError, match="the compressed file is damaged from here on"):
        list(read_traces(path))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_progress_adds_up_to_the_size_of_the_file(
    saved: Callable[[bytes], Path], pack: Callable[[bytes], bytes]
) -> None:
    path = saved(pack(DATA * 5_000))
    counts: list[int] = []
    assert sum(1 for _ in read_traces(path, on_bytes=counts.append)) == 15_000
    assert sum(counts) == path.stat().st_size


@pytest.mark.case("HC-09")
def test_memory_does_not_grow_with_the_file(saved: Callable[[bytes], Path]) -> None:
    """20 MB of sessions, 50 kB each, take no more memory than a few of them."""
    line = dump_trace(made("one", "0123456789" * 5_000))
    path = saved(gzip.compress(line * 400, compresslevel=1))
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_traces(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 400
    assert peak < 2_000_000


@pytest.mark.case("HC-09")
def test_a_session_with_a_result_of_50_mb_is_read(saved: Callable[[bytes], Path]) -> None:
    size = 50_000_000
    data = dump_trace(made("one", "TEXT")).replace(b"TEXT", b"x" * size)
    (trace,) = read_traces(saved(data))
    assert trace.steps[0].result is not None
    assert len(trace.steps[0].result.text) == size


@pytest.mark.case("HC-09")
def test_a_line_over_the_limit_is_passed_over_without_holding_it(
    saved: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "TRACE_LINE_BYTES", 1_000)
    long = dump_trace(made("long", "x" * 2_000))
    path = saved(DATA + long + DATA)
    problems: list[TraceError] = []
    assert list(read_traces(path, on_problem=problems.append)) == THREE * 2
    assert [str(error) for error in problems] == [f"{path}:4: longer than 1000 bytes and passed over"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_standard_input_is_read_and_left_open(monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]) -> None:
    stream = io.BytesIO(pack(DATA))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream, encoding="utf-8"))
    assert [trace.session for trace in read_traces("-")] == ["one", "two", "three"]
    assert not stream.closed


def test_a_directory_is_its_trace_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(dump_trace(made("b")))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(dump_trace(made("a"))))
    (tmp_path / "notes.md").write_text("not a trace", encoding="utf-8")
    (tmp_path / "c.jsonl").mkdir()
    assert [file.name for file in trace_files(tmp_path)] == ["a.jsonl.gz", "b.jsonl"]
    assert [trace.session for trace in read_traces(tmp_path)] == ["a", "b"]


def test_a_file_of_another_kind_in_a_directory_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"a":1}\n')
    (tmp_path / "b.jsonl").write_bytes(dump_trace(made("b")))
    problems: list[TraceError] = []
    assert [trace.session for trace in read_traces(tmp_path, on_problem=problems.append)] == ["b"]
    assert [error.path for error in problems] == [str(tmp_path / "a.jsonl")]
    with pytest.raises(TraceError, match=r"a\.jsonl:1: expected recorded sessions"):
        list(read_traces(tmp_path))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        pytest.param(lambda _: None, "there is no such file or directory", id="missing"),
        pytest.param(
            lambda path: path.mkdir(),
            "there are no recorded sessions (*.jsonl, *.jsonl.gz, *.json, *.traj) in this directory",
            id="empty-directory",
        ),
        pytest.param(
            lambda path: path.symlink_to(path), "cannot be opened: Too many levels of symbolic links", id="loop"
        ),
    ],
)
def test_what_cannot_be_read_at_all_is_said(tmp_path: Path, make: Callable[[Path], None], problem: str) -> None:
    path = tmp_path / "place"
    make(path)
    with pytest.raises(TraceError) as raised:
        list(read_traces(path))
    assert str(raised.value) == f"{path}: {problem}"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that opens and cannot be read")
def test_a_file_that_fails_while_it_is_read_is_said() -> None:
    with pytest.raises(TraceError) as raised:
        list(read_traces("/proc/self/mem"))
    assert str(raised.value) == "/proc/self/mem: cannot be read: Input/output error"


#: Names and values that both formats know, in every wrong place.
WORDS = st.sampled_from(
    re.findall(
        r"\w+",
        "session sessionId agent events tools kind type call result user assistant attachment text id turn tool args "
        "ok content message uuid parentUuid isSidechain agentId forkedFrom tool_use tool_result tool_use_id input name "
        "prompt queued_command isMeta cwd is_error task success source",
    )
)
ANYTHING = st.recursive(
    st.one_of(WORDS, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=6)),
    max_leaves=20,
)
TYPED = st.builds(
    lambda kind, rest: {"sessionId": "s"} | rest | {"type": kind}, WORDS, st.dictionaries(WORDS, ANYTHING)
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    first=st.sampled_from([dump_trace(THREE[0]), b'{"type":"summary","summary":"s","leafUuid":"u"}\n']),
    records=st.lists(TYPED | st.dictionaries(WORDS, ANYTHING), max_size=6),
)
def test_no_json_whatsoever_stops_the_reading(tmp_path: Path, first: bytes, records: list[JsonObject]) -> None:
    """Whatever a line holds, it is read or reported, and a session that is whole comes through."""
    path = tmp_path / "traces.jsonl"
    last = b'{"type":"user","sessionId":"last","message":{"content":"whole"}}\n' if b"summary" in first else first
    path.write_bytes(first + b"".join(jsonvalue.dumps(record) + b"\n" for record in records) + last)
    read = list(read_traces(path, on_problem=lambda _: None))
    assert read[-1].messages[-1].text in ("whole", "why?")

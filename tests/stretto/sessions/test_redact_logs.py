"""Copies of session logs: what is kept, what is hashed, and that a copy is learned from like its source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.errors import SessionLogError, UsageError
from stretto.sessions.episode import Assistant, ToolResult, User
from stretto.sessions.log import read_log
from stretto.sessions.pseudonyms import normalised, pseudonym
from stretto.sessions.redact import redact
from stretto.sessions.turns import infer
from tests.strategies import json_objects
from waggle.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stretto.sessions.episode import Episode

CONTRACTION = "it's"
LISTING = {
    "tools": [
        {
            "name": "get_order",
            "description": "An order of a customer.",
            "inputSchema": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
            "outputSchema": {"properties": {"order": {"properties": {"status": {"enum": ["pending", 3]}}}}},
        }
    ]
}


def h(value: str) -> str:
    return pseudonym("salt", normalised(value))


def entry(sender: str, message: object, t_ms: int = 0) -> dict[str, Any]:
    return {"t_ms": t_ms, "from": sender, "message": message}


def asks(number: object, method: str, params: object = None, sender: str = "client", t_ms: int = 0) -> dict[str, Any]:
    return entry(sender, {"jsonrpc": "2.0", "id": number, "method": method, "params": params}, t_ms)


def answers(number: object, result: object, sender: str = "server", t_ms: int = 0) -> dict[str, Any]:
    return entry(sender, {"jsonrpc": "2.0", "id": number, "result": result}, t_ms)


def calls(number: object, arguments: object, t_ms: int = 0) -> dict[str, Any]:
    return asks(number, "tools/call", {"name": "get_order", "arguments": arguments}, t_ms=t_ms)


def text(*texts: str, **more: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": one} for one in texts], **more}


def says(role: str, content: str) -> dict[str, Any]:
    return entry("context", {"role": role, "content": content})


def write(directory: Path, name: str, entries: Iterable[object], **header: Any) -> Path:
    directory.mkdir(exist_ok=True)
    first = {"stretto_mcp_log": 2, "session": name, "started_unix_ms": 1000, "server_command": ["shop", "W1"]} | header
    path = directory / f"{name}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (first, *entries)), encoding="utf-8")
    return path


def copied(tmp_path: Path, *entries: object, **options: Any) -> list[Any]:
    """The entries of a session's copy."""
    write(tmp_path / "logs", "one", entries)
    redact(tmp_path / "logs", tmp_path / "out", salt="salt", **options)
    return [json.loads(line) for line in (tmp_path / "out" / "one.jsonl").read_text(encoding="utf-8").splitlines()[1:]]


def test_the_published_example(tmp_path: Path) -> None:
    call, said = copied(tmp_path, calls(1, {"order_id": "#W1"}), says("user", "w1, please"))
    assert call["message"]["params"]["arguments"] == {h("order_id"): "h_21e81845360c"}
    assert said["message"]["content"] == f"h_21e81845360c, {h('please')}"


def test_what_is_no_ones_is_kept(tmp_path: Path) -> None:
    """Header, times, senders, ids, methods, tools' names, the handshake, the listing and what its schemas state."""
    kept = [
        asks(0, "initialize", {"clientInfo": {"name": "host-of-mia"}}, t_ms=3),
        answers(0, {"serverInfo": {"name": "shop"}, "instructions": "Be kind."}, t_ms=4),
        entry("client", {"jsonrpc": "2.0", "method": "notifications/initialized"}, t_ms=5),
        asks("l", "tools/list", {"cursor": "abc"}, t_ms=6),
        answers("l", LISTING, t_ms=7),
        calls(7, {"order_id": True}, t_ms=8),
        answers(7, text('{"order":{"status":"pending","n":3}}', isError=False), t_ms=9),
        entry("client", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}, t_ms=10),
        asks("stretto-1", "tools/call", {"name": "get_order"}, "proxy", t_ms=11),
    ]
    new = copied(tmp_path, *kept)
    assert new[:6] == kept[:6]
    assert new[6]["message"]["result"]["content"][0]["text"] == f'{{"order":{{"status":"pending","{h("n")}":3}}}}'
    assert new[7:] == kept[7:]
    header = (tmp_path / "out" / "one.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert json.loads(header)["server_command"] == ["shop", "W1"]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        pytest.param(
            calls(1, {"a": [{"b": "W1"}, 7]}), calls(1, {h("a"): [{h("b"): h("W1")}, h("7")]}), id="arguments"
        ),
        pytest.param(
            asks(1, "tools/call", {"name": "x", "arguments": {}, "_meta": {"k": "W1"}}),
            asks(1, "tools/call", {"name": "x", "arguments": {}, "_meta": {h("k"): h("W1")}}),
            id="fields-beside-them",
        ),
        pytest.param(
            entry(
                "server",
                {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "W1"}},
            ),
            entry(
                "server",
                {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": h("info"), "data": h("W1")}},
            ),
            id="notifications",
        ),
        pytest.param(
            entry("client", {"method": "notifications/cancelled", "params": {"requestId": "r", "reason": "for Mia."}}),
            entry(
                "client",
                {
                    "method": "notifications/cancelled",
                    "params": {"requestId": "r", "reason": f"{h('for')} {h('Mia')}."},
                },
            ),
            id="a-reason",
        ),
        pytest.param(
            entry("server", {"id": 9, "error": {"code": -32000, "message": "no W1!", "data": {"k": "W1"}}}),
            entry(
                "server",
                {"id": 9, "error": {"code": -32000, "message": f"{h('no')} {h('W1')}!", "data": {h("k"): h("W1")}}},
            ),
            id="error",
        ),
        pytest.param(
            asks(4, "sampling/createMessage", {"prompt": "W1"}, "server"),
            asks(4, "sampling/createMessage", {h("prompt"): h("W1")}, "server"),
            id="a-request-of-the-server",
        ),
        pytest.param(answers(4, {"k": "W1"}, "client"), answers(4, {h("k"): h("W1")}, "client"), id="an-answer-to-it"),
        pytest.param(answers(55, "W1"), answers(55, h("W1")), id="an-answer-to-nothing"),
        pytest.param(
            entry("client", [{"id": 1, "method": "x", "params": "W1"}, "W1", ["W1"]]),
            entry("client", [{"id": 1, "method": "x", "params": h("W1")}, h("W1"), [h("W1")]]),
            id="a-batch",
        ),
        pytest.param(
            entry("server", {"secret": "W1", "id": {"a": 1}}),
            entry("server", {h("secret"): h("W1"), "id": {h("a"): h("1")}}),
            id="no-protocol",
        ),
        pytest.param(
            {"t_ms": 0, "from": "server", "raw": "started for W1, ok"},
            {"t_ms": 0, "from": "server", "raw": f"{h('started')} {h('for')} {h('W1')}, {h('ok')}"},
            id="no-json",
        ),
        pytest.param(says("user", "it's W1."), says("user", f"{h(CONTRACTION)} {h('W1')}."), id="conversation"),
        pytest.param(
            asks(5, "tools/list", {"cursor": "W1"}, "server"),
            asks(5, "tools/list", {h("cursor"): h("W1")}, "server"),
            id="a-server-that-asks-for-a-list",
        ),
    ],
)
def test_everything_else_is_rewritten(tmp_path: Path, line: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert copied(tmp_path, line) == [wanted]


@pytest.mark.case("HC-26")
@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        pytest.param(text("W1"), text(h("W1")), id="line"),
        pytest.param(text('["W1"]', "W1\nW2"), text(f'["{h("W1")}"]', f"{h('W1')}\n{h('W2')}"), id="each-text"),
        pytest.param(
            text("no W1!", isError=True), text(f"{h('no')} {h('W1')}!", isError=True), id="an-error-is-speech"
        ),
        pytest.param(
            text('{"no":"W1"}', isError=True), text(f'{{"{h("no")}":"{h("W1")}"}}', isError=True), id="or-a-record"
        ),
        pytest.param(
            {"content": [], "structuredContent": {"reason": "locked", "until": 17}},
            {"content": [], "structuredContent": {"reason": h("locked"), h("until"): h("17")}},
            id="structured-content",
        ),
        pytest.param(
            {
                "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
                "isError": "true",
                "_meta": {"k": 1},
            },
            {
                "content": [{"type": "image", "data": h("AAAA"), "mimeType": h("image/png")}],
                "isError": "true",
                "_meta": {h("k"): h("1")},
            },
            id="other-blocks-and-unknown-fields",
        ),
        pytest.param({"content": "W1"}, {"content": h("W1")}, id="odd"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_a_calls_result_is_rewritten_in_all_its_parts(tmp_path: Path, result: object, wanted: object) -> None:
    """Of HC-26 this pins the copy of a log: no part of a result escapes, and none is lost."""
    new = copied(tmp_path, calls(1, {}), answers(1, result))
    assert new[1] == answers(1, wanted)


def test_a_value_stays_when_enough_sessions_hold_it(tmp_path: Path) -> None:
    for number in range(3):
        write(
            tmp_path / "logs", f"s{number}", [calls(1, {"order_id": "#W1"}), says("user", f"w1 for Mia {number % 2}")]
        )
    redact(tmp_path / "logs", tmp_path / "out", salt="salt")
    _, call, said = (tmp_path / "out" / "s0.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(call) == calls(1, {"order_id": "#W1"})
    assert json.loads(said) == says("user", f"w1 for Mia {h('0')}")
    redact(tmp_path / "logs", tmp_path / "out", salt="salt", hash_fields=["order_id"], keep_shared=2)
    _, call, said = (tmp_path / "out" / "s0.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(call) == calls(1, {"order_id": h("w1")})
    assert json.loads(said) == says("user", f"{h('w1')} for Mia 0")


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        pytest.param([{}, {}, {}], True, id="three-sessions"),
        pytest.param([{"session": "x"}, {"session": "x"}, {"session": "x"}], False, id="three-copies-of-one"),
        pytest.param(
            [{"host_session": "host-1", "server_name": name} for name in "abc"], False, id="three-servers-of-one-agent"
        ),
        pytest.param(
            [
                {"host_session": "host-1", "server_name": name, "started_unix_ms": 10**6 * number}
                for number, name in enumerate("abc")
            ],
            True,
            id="one-after-another-of-one-host",
        ),
        pytest.param([{"host_session": "host-1", "server_name": "a"}] * 3, True, id="three-agents-of-one-host"),
        pytest.param(
            [{"host_session": "host-1"}, {}, {"host_session": "host-2", "server_name": "b"}], True, id="hosts"
        ),
    ],
)
def test_an_agents_logs_count_as_one_session(tmp_path: Path, headers: list[dict[str, Any]], kept: bool) -> None:  # noqa: FBT001 - a table's column
    for number, header in enumerate(headers):
        write(tmp_path / "logs", f"s{number}", [calls(1, {"order_id": "#W1"}, t_ms=500)], **header)
    redact(tmp_path / "logs", tmp_path / "out", salt="salt")
    assert ("#W1" in (tmp_path / "out" / "s2.jsonl").read_text(encoding="utf-8").splitlines()[1]) is kept


def conversation(customer: str, orders: list[str]) -> list[dict[str, Any]]:
    """One session about a customer's orders, two of them read in one turn that no result begins within 500 ms.

    Sooner, a value would count as new in a result though the user wrote it without its ``#``; in a copy it does not.
    """
    name = f"{customer} Rossi"
    lines = [
        *(asks("l", "tools/list"), answers("l", LISTING)),
        says("user", f"Hi, I'm {name}, my order is {orders[0].lstrip('#')}."),
        calls(1, {"customer": name}, 1000),
        answers(1, text(json.dumps({"customer": name, "orders": orders, "age": 41})), t_ms=1100),
    ]
    for number, order in enumerate(orders):
        lines.append(calls(2 + number, {"order_id": order}, 1700))
    for number, order in enumerate(orders):
        lines.append(answers(2 + number, text(f"{order}\npending"), t_ms=1800))
    return [*lines, says("assistant", f"Order {orders[0]} is pending."), says("user", "Thanks!")]


def outline(episode: Episode) -> list[object]:
    return [
        "user"
        if isinstance(event, User)
        else (event.call_id, event.name, event.error)
        if isinstance(event, ToolResult)
        else [(call.id, call.name) for call in event.calls]
        for event in episode.events
    ]


def test_the_copy_has_the_same_turns_and_shows_where_values_came_from(tmp_path: Path) -> None:
    for number, customer in enumerate(["Mia", "Yusuf", "Aarav"]):
        write(tmp_path / "logs", f"s{number}", conversation(customer, [f"#W{number}1", f"#W{number}2"]))
    redact(tmp_path / "logs", tmp_path / "out", salt="salt", hash_fields=["customer"])
    for number in range(3):
        old, listed = infer(*read_log(tmp_path / "logs" / f"s{number}.jsonl"))
        new, still = infer(*read_log(tmp_path / "out" / f"s{number}.jsonl"))
        assert outline(new) == outline(old)
        assert (new.id, new.agent_model, new.started_ms, still) == (old.id, old.agent_model, old.started_ms, listed)
        first, results, batch = new.events[0], new.events[2], new.events[3]
        assert isinstance(first, User)
        assert isinstance(results, ToolResult)
        assert isinstance(batch, Assistant)
        found = json.loads(results.content)
        assert [call.arguments for call in batch.calls] == [{"order_id": order} for order in found["orders"]]
        assert first.text == f"Hi, I'm {found['customer']}, my order is {found['orders'][0]}."
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    for secret in ("Mia", "mia", "Rossi", "Yusuf", "W11"):
        assert secret.encode() not in everything


def test_other_files_are_not_copied_and_torn_lines_are_dropped(tmp_path: Path) -> None:
    path = write(tmp_path / "logs", "one", [calls(1, {})])
    path.write_bytes(path.read_bytes() + b'{"t_ms": 5, "fr')
    for name in ("one.flow.jsonl", "one.confirm.jsonl", "notes.txt", "one.jsonl.lock"):
        (tmp_path / "logs" / name).write_text("secret", encoding="utf-8")
    done = redact(tmp_path / "logs", tmp_path / "out", salt="salt")
    assert done.copies == (tmp_path / "out" / "one.jsonl",)
    assert [copy.name for copy in (tmp_path / "out").iterdir()] == ["one.jsonl"]
    assert len(done.copies[0].read_bytes().splitlines()) == 2


def test_nothing_is_written_when_one_log_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path / "logs", "a", [calls(1, {})])
    bad = write(tmp_path / "logs", "b", [calls(1, {})])
    bad.write_bytes(bad.read_bytes() + b"nonsense\n" + bad.read_bytes())
    with pytest.raises(SessionLogError) as caught:
        redact(tmp_path / "logs", tmp_path / "out", salt="salt")
    assert (caught.value.path, caught.value.line) == (str(bad), 3)
    assert not (tmp_path / "out").exists()


def test_a_copy_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    write(tmp_path / "logs", "one", [calls(1, {})])
    (tmp_path / "out" / "one.jsonl").mkdir(parents=True)
    (tmp_path / "out" / "one.jsonl" / "mine").write_bytes(b"")
    with pytest.raises(StoreUnavailable):
        redact(tmp_path / "logs", tmp_path / "out", salt="salt")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["one.jsonl"]


@pytest.mark.parametrize("place", ["logs", "logs/copy", "other/../logs", "link"])
def test_the_source_is_never_written_to(tmp_path: Path, place: str) -> None:
    source = write(tmp_path / "logs", "one", [calls(1, {})])
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "logs")
    before = source.read_bytes()
    with pytest.raises(UsageError, match="name a directory outside of it"):
        redact(tmp_path / "logs", tmp_path / place, salt="salt")
    assert source.read_bytes() == before


def test_what_would_make_a_worthless_copy_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "logs", "one", [calls(1, {})])
    with pytest.raises(UsageError, match="the salt is empty"):
        redact(tmp_path / "logs", tmp_path / "out", salt="")
    with pytest.raises(UsageError, match="at least 1 session"):
        redact(tmp_path / "logs", tmp_path / "out", salt="x", keep_shared=0)
    (tmp_path / "empty").mkdir()
    for place in ("empty", "nothing"):
        with pytest.raises(SessionLogError, match=r"session logs \(\*\.jsonl\)"):
            redact(tmp_path / place, tmp_path / "out", salt="x")


def test_progress_adds_up_to_two_passes_and_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    paths = [write(tmp_path / "logs", f"s{number}", conversation("Mia", ["#W1"])) for number in range(2)]
    read: list[int] = []
    first = redact(tmp_path / "logs", tmp_path / "a", salt="salt", on_bytes=read.append)
    second = redact(tmp_path / "logs", tmp_path / "b", salt="salt")
    assert sum(read) == 2 * sum(path.stat().st_size for path in paths)
    assert first.hashed == second.hashed > 5
    assert [path.read_bytes() for path in first.copies] == [path.read_bytes() for path in second.copies]
    other = redact(tmp_path / "logs", tmp_path / "c", salt="other")
    assert other.copies[0].read_bytes() != first.copies[0].read_bytes()


messages: st.SearchStrategy[Any] = st.one_of(
    json_objects(),
    st.builds(
        dict,
        id=st.sampled_from([1, 2, "1", None]),
        method=st.sampled_from(["tools/call", "tools/list", "initialize", "notifications/cancelled", "x", None]),
        params=json_objects() | st.none(),
    ),
    st.builds(dict, id=st.sampled_from([1, 2, "1"]), result=json_objects() | st.none()),
)


@settings(max_examples=40)  # each writes a log and its copy to the disk
@given(
    st.lists(
        st.tuples(st.sampled_from(["client", "server", "proxy", "context"]), messages | st.lists(messages, max_size=2)),
        max_size=6,
    ),
    st.booleans(),
)
def test_any_log_has_a_copy_with_as_many_lines_and_events(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[str, object]],
    field: bool,  # noqa: FBT001 - drawn
) -> None:
    directory = tmp_path_factory.mktemp("fuzz")
    write(directory / "logs", "one", [entry(sender, message) for sender, message in lines])
    done = redact(directory / "logs", directory / "out", salt="salt", hash_fields=["a"] if field else [])
    (_, old), (_, new) = read_log(directory / "logs" / "one.jsonl"), read_log(done.copies[0])
    assert [(line.t_ms, line.sender) for line in old] == [(line.t_ms, line.sender) for line in new]
    source, copy = (infer(*read_log(directory / place / "one.jsonl"))[0] for place in ("logs", "out"))
    assert [type(event) for event in source.events] == [type(event) for event in copy.events]

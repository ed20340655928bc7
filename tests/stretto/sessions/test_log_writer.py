"""What a proxy records: every line whole, under a limit, without a secret, and the rest as it was."""

from __future__ import annotations

import base64
import pickle
import threading
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.sessions.log import Entry, Header, read_log
from stretto.sessions.log_writer import LogWriter
from stretto.sessions.turns import infer
from tests.strategies import json_objects, texts
from tests.stretto.sessions.logs_support import answer, call, listing, request, result
from waggle import jsonvalue
from waggle.errors import StoreUnavailable
from waggle.redact import MASK, is_masked, redact_value
from waggle.traces import split_cut

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.sessions.episode import Episode
    from waggle.jsonvalue import JsonObject, JsonValue

LIMIT = 64 * 1024
PARTS = LIMIT // 4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "s.jsonl"


def record(path: Path, *entries: Entry, header: Header | None = None) -> list[Entry]:
    """Write the lines as they cross the wire, and read them back."""
    writer = LogWriter(path, header or Header("s", 5), limit_bytes=LIMIT)
    for entry in entries:
        line = jsonvalue.dumps(entry.message) if entry.raw is None else entry.raw.encode("utf-8", "surrogateescape")
        writer.line(entry.t_ms, entry.sender, line)
    return list(read_log(path)[1])


def episode(path: Path) -> Episode:
    return infer(*read_log(path))[0]


def test_lines_are_recorded_as_they_crossed_and_text_as_text(path: Path) -> None:
    entries = [call(1, 7, "get", id="W1"), answer(2, 7, "ok"), Entry(3, "server", None, "Server started"),
               Entry(4, "server", None, '"x"'), Entry(5, "client", [{"id": 1}])]  # fmt: skip
    assert record(path, *entries) == entries
    assert read_log(path)[0] == Header("s", 5)


def test_times_never_decrease(path: Path) -> None:
    assert [entry.t_ms for entry in record(path, answer(5, 1), answer(3, 2), answer(7, 3))] == [5, 5, 7]


def test_a_log_that_is_there_is_left_alone(path: Path) -> None:
    record(path, answer(1, 1))
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="already") as caught:
        LogWriter(path, Header("s"))
    assert path.read_bytes() == before
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - our own


def test_threads_share_a_writer(path: Path) -> None:
    writer = LogWriter(path, Header("s"))

    def write() -> None:
        for number in range(20):
            writer.message(1, "client", {"id": number})

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(list(read_log(path)[1])) == 80


# --- values ------------------------------------------------------------------------------------------------


@given(json_objects(), texts())
def test_what_holds_no_secret_comes_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, arguments: JsonObject, text: str
) -> None:
    path = tmp_path_factory.mktemp("log") / "s.jsonl"
    entries = [request(1, 1, "tools/call", {"name": "get", "arguments": arguments}), answer(2, 1, text)]
    if redact_value(arguments) == arguments:
        assert repr(record(path, *entries)) == repr(entries)


@pytest.mark.case("HC-02")
def test_a_lone_surrogate_is_recorded_as_valid_utf_8(path: Path) -> None:
    writer = LogWriter(path, Header("s"))
    writer.message(1, "server", {"id": 1, "result": "caf\udce9"})
    writer.line(2, "server", b"caf\xe9\r\n")
    path.read_bytes().decode()
    entries = list(read_log(path)[1])
    assert entries[0].message == {"id": 1, "result": "caf\udce9"}
    assert entries[1].raw == "caf\udce9"


# --- secrets -----------------------------------------------------------------------------------------------

SECRETS = ["aaa.bbb.ccc", "9f3c1e77a0b24d5e.QmTr42xx", "sk-lab-EXAMPLE000111.seg2_EXAMPLE-333", "me:pw", "t0k"]
TOLD: JsonObject = {
    "headers": [{"Authorization": f"Bearer {SECRETS[0]}"}],
    "apiKey": SECRETS[1],
    "cmd": f"curl -H 'X-Token: {SECRETS[2]}' u",
    "url": f"https://{SECRETS[3]}@host/p?token={SECRETS[4]}",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAxyz\nabcdefghijklmnop\n-----END RSA PRIVATE KEY-----",
    "password": None,
    "max_tokens": 100,
    "tokenizer": "bpe",
}


@pytest.mark.case("HC-17")
def test_no_secret_reaches_a_session_log(path: Path) -> None:
    """In arguments, in results as JSON, as text and structured, in errors, what was said, raw lines and the command."""
    text = jsonvalue.dumps(TOLD).decode()
    record(
        path,
        request(1, 1, "tools/call", {"name": "get", "arguments": TOLD}),
        result(2, 1, {"content": [{"type": "text", "text": text}], "structuredContent": TOLD}),
        Entry(3, "server", {"id": 2, "error": {"code": 1, "message": f"Bearer {SECRETS[0]} refused", "data": TOLD}}),
        Entry(4, "context", {"role": "user", "content": f"use {text}"}),
        Entry(5, "server", None, f"listening with X-Token: {SECRETS[2]}"),
        Entry(6, "client", [{"method": "x", "params": TOLD}]),
        header=Header("s", server_command=("srv", "--api-key", SECRETS[1], f"https://{SECRETS[3]}@host")),
    )
    written = path.read_bytes()
    for secret in (*SECRETS, "MIIEow"):
        assert secret.encode() not in written
    header, entries = read_log(path)
    assert header.server_command == ("srv", "--api-key", "<redacted>", "https://<redacted>@host")
    arguments = next(infer(header, entries)[0].turns()).calls[0].arguments
    assert isinstance(arguments, dict)
    assert {key: arguments[key] for key in ("password", "max_tokens", "tokenizer")} == {
        "password": None,
        "max_tokens": 100,
        "tokenizer": "bpe",
    }


def test_a_masked_value_is_the_same_wherever_it_stands(path: Path) -> None:
    record(
        path,
        call(1, 1, "login"),
        answer(2, 1, f'{{"token": "{SECRETS[1]}"}}'),
        call(900, 2, "get", token=SECRETS[1]),
    )
    found = episode(path)
    passed = [turn.calls[0].arguments for turn in found.turns()][1]
    assert passed == jsonvalue.loads(found.results()["1"].content) == {"token": MASK}


def test_schemas_keep_what_is_called_a_password(path: Path) -> None:
    tool: JsonObject = {
        "name": "login",
        "description": "Uses Bearer abc.def.123456 to log in",
        "inputSchema": {
            "properties": {"password": {"type": "string", "description": "at least 8"}},
            "required": ["password"],
        },
    }
    record(path, *listing(1, "l", tool), *listing(3, "m"))
    _, manifest = infer(*read_log(path))
    assert manifest.contracts == {"login": "password:string!"}
    assert manifest.docs["login"].args == {"password": "at least 8"}
    assert manifest.docs["login"].summary == f"Uses Bearer {MASK} to log in"


def test_ids_are_never_masked(path: Path) -> None:
    number = "sk-lab-EXAMPLE000111"
    cancel: JsonObject = {"method": "notifications/cancelled", "params": {"requestId": number}}
    entries = record(path, call(1, number, "get"), answer(2, number), Entry(3, "client", cancel))
    assert entries[2].message == cancel
    assert list(episode(path).results()) == [number]


# --- sizes -------------------------------------------------------------------------------------------------


@pytest.mark.case("HC-09")
def test_a_very_long_text_is_cut_with_its_length_and_digest(path: Path) -> None:
    text = "é — line of text\n" * 3_000_000  # 54 MB
    writer = LogWriter(path, Header("s"))
    writer.message(1, "client", {"id": 1, "method": "tools/call", "params": {"name": "get"}})
    writer.message(2, "server", {"id": 1, "result": {"content": [{"type": "text", "text": text}]}})
    assert max(map(len, path.read_bytes().split(b"\n"))) <= 1024 * 1024
    content = episode(path).results()["1"].content
    head, missing = split_cut(content)
    kept, note = head.rsplit("\n", 1)
    assert text.startswith(kept)
    assert len(kept) > 250_000
    assert len(kept) + missing == len(text)
    assert note == f"[... {len(text)} characters in all, sha256 {sha256(text.encode()).hexdigest()} ...]"


@pytest.mark.case("HC-09")
@pytest.mark.parametrize(
    "block",
    [
        pytest.param({"type": "image", "mimeType": "image/png", "data": "%"}, id="image"),
        pytest.param({"type": "audio", "mimeType": "audio/wav", "data": "%"}, id="sound"),
        pytest.param({"type": "resource", "resource": {"uri": "file:///a", "mimeType": "a/b", "blob": "%"}}, id="blob"),
    ],
)
def test_binary_becomes_media_type_size_and_digest(path: Path, block: JsonObject) -> None:
    content = bytes(range(256)) * 8_000
    data = base64.b64encode(content).decode()
    holder = block.get("resource", block)
    assert isinstance(holder, dict)
    field = "blob" if "blob" in holder else "data"
    holder[field] = data
    (entry,) = record(path, result(1, 1, {"content": [block]}))
    written = path.read_bytes()
    assert len(written) < 2000
    assert isinstance(entry.message, dict)
    holder.pop(field)
    holder |= {"size_bytes": len(content), "sha256": sha256(content).hexdigest()}
    assert entry.message["result"] == {"content": [block]}


def test_text_that_only_looks_like_binary_stays(path: Path) -> None:
    value: JsonObject = {"blob": "AAAA", "data": "AAAA", "type": "text"}
    (entry,) = record(path, result(1, 1, {"structuredContent": value}))
    assert entry.message == result(1, 1, {"structuredContent": value}).message


def test_what_is_no_base64_is_noted_as_it_is(path: Path) -> None:
    (entry,) = record(path, result(1, 1, {"content": [{"type": "image", "data": "no base64!"}]}))
    assert isinstance(entry.message, dict)
    note: JsonObject = {"type": "image", "size_bytes": 10, "sha256": sha256(b"no base64!").hexdigest()}
    assert entry.message["result"] == {"content": [note]}


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"id": 1, "result": {"content": [{"type": "text", "text": "\x01" * LIMIT}]}}, id="escapes"),
        pytest.param({"id": 1, "result": {"text": "\U0001f600\udc9d" * LIMIT}}, id="surrogates"),
        pytest.param({"id": 1, "result": {"structuredContent": [{"n": n} for n in range(PARTS)]}}, id="many-parts"),
        pytest.param({"id": 1, "result": {str(n): n for n in range(PARTS)}}, id="many-keys"),
        pytest.param({"k" * LIMIT: "v"}, id="long-key"),
        pytest.param([{"id": n} for n in range(PARTS)], id="batch"),
        pytest.param({"id": 1, "x": ["y"] * LIMIT}, id="elsewhere"),
    ],
)
@pytest.mark.case("HC-09")
def test_a_line_is_under_the_limit_and_marked_whatever_makes_it_long(
    path: Path, message: JsonObject | list[JsonValue]
) -> None:
    writer = LogWriter(path, Header("s"), limit_bytes=LIMIT)
    writer.message(1, "server", message)
    lines = path.read_bytes().split(b"\n")
    assert max(map(len, lines)) <= LIMIT
    assert b"characters in all, sha256 " in lines[1]
    assert len(list(read_log(path)[1])) == 1


def test_a_call_whose_arguments_have_too_many_parts_is_still_a_call(path: Path) -> None:
    record(path, call(1, 1, "get", list=[*range(PARTS)]), answer(2, 1))
    (turn,) = episode(path).turns()
    assert turn.calls[0].name == "get"
    assert isinstance(turn.calls[0].arguments, str)
    assert turn.calls[0].arguments.startswith('{"list":[0,1,2,3')


def test_a_secret_is_not_cut_in_half(path: Path) -> None:
    """Half of one has no shape that is known."""
    secret = "ghp_" + "a1B2" * 9
    for shift in range(0, 60, 7):
        place = path.with_name(f"{shift}.jsonl")
        record(place, answer(1, 1, "w " * (LIMIT // 4 - shift // 2) + f"{secret} " + "w " * LIMIT))
        assert secret[:12].encode() not in place.read_bytes()


def test_very_deep_values_are_masked_and_no_recursion_fails(path: Path) -> None:
    deep = b'{"id":1,"result":' + b"[" * 900 + b"]" * 900 + b"}"
    writer = LogWriter(path, Header("s"))
    writer.line(1, "server", deep)
    writer.line(2, "server", b"[" * 100_000)
    entries = list(read_log(path)[1])
    assert is_masked(entries[0].message)
    assert entries[1].raw == "[" * 100_000


@given(st.binary(max_size=60))
def test_any_bytes_are_recorded(tmp_path_factory: pytest.TempPathFactory, line: bytes) -> None:
    path = tmp_path_factory.mktemp("log") / "s.jsonl"
    LogWriter(path, Header("s")).line(1, "server", line)
    assert len(list(read_log(path)[1])) == 1
    assert path.read_bytes().count(b"\n") == 2

"""Messages between proxies: what was written is read again, and nothing else is taken for a message."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.proxy.peers import messages
from stretto.proxy.peers.messages import (
    MESSAGE_BYTES,
    Ask,
    Called,
    Found,
    Hello,
    Lends,
    Message,
    Returned,
    decode,
    encode,
    hello,
)
from tests.strategies import json_values
from waggle import jsonvalue

TEXTS = st.text(st.characters(), max_size=30)  # lone surrogates, too
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "float": st.floats(0, 1e12) | st.integers(0, 10**12),
    "int": st.integers(0, 2**70),
    "str": TEXTS,
    "bool": st.booleans(),
    "JsonValue": json_values(),
    "tuple[str, ...]": st.lists(TEXTS, max_size=3).map(tuple),
}
KINDS = [kind for kind in messages._KINDS.values() if kind is not Hello]


def of(kind: type[Message]) -> st.SearchStrategy[Message]:
    return st.builds(kind, **{field.name: VALUES[str(field.type)] for field in fields(kind)})


ANY = st.one_of(*map(of, KINDS), st.builds(hello, TEXTS, TEXTS, TEXTS))


@given(ANY)
def test_what_was_written_is_read_again(message: Message) -> None:
    line = encode(message)
    assert line is not None
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == message


@given(ANY, st.data())
def test_a_message_without_one_of_its_fields_or_with_another_type_there_is_none(message: Message, data: Any) -> None:
    line = encode(message)
    assert line is not None
    values: Any = jsonvalue.loads(line)
    name = data.draw(st.sampled_from(sorted(values)))
    lacking = {key: value for key, value in values.items() if key != name}
    assert decode(jsonvalue.dumps(lacking)) is None
    if name not in ("kind", "arguments"):
        others: list[Any] = [None, {}, [1], 1 if isinstance(values[name], str) else -1]
        for wrong in others:
            assert decode(jsonvalue.dumps(values | {name: wrong})) is None


@given(st.binary(max_size=200) | json_values().map(jsonvalue.dumps))
def test_anything_else_is_no_message(line: bytes) -> None:
    assert decode(line) is None


@pytest.mark.parametrize("at", [b"1e400", b"-1", b"true", b'"1"', b"NaN", b"1" + b"0" * 400, b"null"])
def test_a_time_is_a_number_that_a_clock_can_show(at: bytes) -> None:
    line = b'{"kind": "answered", "id": "a::1", "at": 5}'
    assert decode(line) is not None
    assert decode(line.replace(b"5", at)) is None


def test_fields_of_a_later_version_are_passed_over_and_another_version_is_not_spoken_to() -> None:
    assert decode(b'{"kind": "sync", "number": 1, "why": {}}') == messages.Sync(1)
    greeting = hello("key", "name", "server")
    line = encode(replace(greeting, version=2))
    assert line is not None
    assert decode(line) is None
    assert decode(encode(greeting) or b"") == greeting


def test_long_texts_are_cut_and_what_is_too_long_in_other_ways_is_not_sent() -> None:
    long = "é" * (MESSAGE_BYTES // 4)
    for message in (Returned(1.0, "a::1", False, False, long), Found(1.0, "a::1", False, long)):
        line = encode(message)
        assert line is not None
        assert len(line) <= MESSAGE_BYTES
        read: Any = decode(line)
        assert long.startswith(read.text)
        assert len(read.text) == 256 * 1024
    assert encode(Called(1.0, "a::1", "a::t", {"text": long * 4})) is None
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert encode(Ask(1, "a::t", deep)) is None


def test_a_deep_line_is_no_message() -> None:
    assert (
        decode(b'{"kind": "ask", "number": 1, "tool": "t", "arguments": ' + b"[" * 10**6 + b"]" * 10**6 + b"}") is None
    )


def test_tools_that_are_lent_are_texts() -> None:
    assert decode(b'{"kind": "lends", "tools": ["a::t"]}') == Lends(("a::t",))
    assert decode(b'{"kind": "lends", "tools": ["a::t", 1]}') is None

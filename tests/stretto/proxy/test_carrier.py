"""Where looked-up text goes in an answer: one more item, and every other byte as the server sent it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.proxy.carrier import can_carry, is_final, with_text
from waggle import jsonvalue

TEXT = 'é \U0001f600 "x"\n'
ITEM = '{"type":"text","text":"é \U0001f600 \\"x\\"\\n"}'
RESOURCE = (
    '{"type":"resource","resource":{"uri":"stretto://lookups","mimeType":"text/plain",'
    '"text":"é \U0001f600 \\"x\\"\\n"}}'
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id":1,"result":{"content":[]}}\n', f'{{"id":1,"result":{{"content":[{ITEM}]}}}}\n'),
        ('{"result":{},"id":1}\r\n', f'{{"result":{{"content":[{ITEM}]}},"id":1}}\r\n'),
        (
            ' {"result" : { "content" : [ {"type":"text","text":"]}"} ] , "x": 1.0e2 } }',
            f' {{"result" : {{ "content" : [ {{"type":"text","text":"]}}"}} ,{ITEM}] , "x": 1.0e2 }} }}',
        ),
        ('{"result":{"_meta":{"k":1}}}\n', f'{{"result":{{"_meta":{{"k":1}},"content":[{ITEM}]}}}}\n'),
        (
            '{"result":{"content":[1],"structuredContent":{"until":17}}}\n',
            f'{{"result":{{"content":[1,{RESOURCE}],"structuredContent":{{"until":17}}}}}}\n',
        ),
        (
            '{"result":{"structuredContent":0}}\n',
            f'{{"result":{{"structuredContent":0,"content":[{RESOURCE}]}}}}\n',
        ),
        ('{"result":{"structuredContent":null}}\n', f'{{"result":{{"structuredContent":null,"content":[{ITEM}]}}}}\n'),
        ('{"result":{"content":[]},"result":{}}\n', f'{{"result":{{"content":[]}},"result":{{"content":[{ITEM}]}}}}\n'),
    ],
)
def test_one_item_is_added_and_all_other_bytes_stay(line: str, expected: str) -> None:
    assert with_text(line.encode(), TEXT) == expected.encode()


def test_a_line_in_which_no_place_is_found_is_left_alone() -> None:
    assert with_text(b'{"id":1}\n', TEXT) is None
    assert with_text(b'{"result":7}\n', TEXT) is None
    assert with_text(b"[1]\n", TEXT) is None
    assert with_text(b'{"result":' + b"[" * 100_000, TEXT) is None
    assert with_text(b'{"result":{"x":"\xff"}}\n', TEXT) is None


@pytest.mark.case("HC-26")
def test_which_answers_can_carry_text() -> None:
    def response(**result: Any) -> Any:
        return {"id": 1, "result": result}

    assert can_carry(response())
    assert can_carry(response(content=[], isError=True, resultType="complete", structuredContent=[1], later=1))
    assert not can_carry(response(content=[], isError="true"))
    assert not can_carry(response(content="x"))
    assert not can_carry(response(resultType="input_required"))
    assert not can_carry(response(task={"taskId": "t"}))
    assert not can_carry({"id": 1, "error": {"code": 1, "message": "no"}})
    assert not can_carry({"id": 1, "result": None})
    assert is_final({"id": 1, "error": {"code": 1, "message": "no"}})
    assert is_final(response(content=[], task="a word of the tool's own"))


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    VALUES, st.lists(VALUES, max_size=3), st.dictionaries(st.text(max_size=5), VALUES, max_size=3), st.text(), st.data()
)
def test_whatever_else_is_in_an_answer_is_read_the_same(
    structured: Any, content: list[Any], other: dict[str, Any], text: str, data: st.DataObject
) -> None:
    result: dict[str, Any] = {name: value for name, value in other.items() if name != "isError"}
    if data.draw(st.booleans()):
        result["content"] = content
    else:
        result.pop("content", None)
    result["structuredContent"] = structured
    line = jsonvalue.dumps({"id": 2**70, "result": result}) + b"\n"
    changed = with_text(line, text)
    assert changed is not None
    read: Any = jsonvalue.loads(changed)
    item = read["result"]["content"].pop()
    assert (item["resource"] if structured is not None else item)["text"] == text
    assert read == {"id": 2**70, "result": {"content": [], **result}}
    assert len(changed) <= len(line) + len(jsonvalue.dumps(item)) + len(',"content":[]')


# --- the other carriers -------------------------------------------------------------------------------------------

SAID = r"\n\né \U0001f600 \"x\"\n".replace(r"\U0001f600", "\U0001f600")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '{"result":{"content":[ {"text":"a\\u00e9","type":"text"}, {"type":"image"} ],"x":{}}}\n',
            f'{{"result":{{"content":[ {{"text":"a\\u00e9{SAID}","type":"text"}}, {{"type":"image"}} ],"x":{{}}}}}}\n',
        ),
        (
            '{"result":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b","text":""}]}}\n',
            f'{{"result":{{"content":[{{"type":"text","text":"a"}},{{"type":"text","text":"b","text":"{SAID[4:]}"}}]}}}}\n',
        ),
        (
            '{"result":{"content":[{"type":"text","text":7}],"structuredContent":{}}}\n',
            f'{{"result":{{"content":[{{"type":"text","text":7}},{ITEM}],"structuredContent":{{}}}}}}\n',
        ),
        ('{"result":{}}\n', f'{{"result":{{"content":[{ITEM}]}}}}\n'),
    ],
)
def test_inline_makes_the_last_text_longer(line: str, expected: str) -> None:
    assert with_text(line.encode(), TEXT, "inline") == expected.encode()


def test_plain_is_a_text_whatever_stands_beside_it() -> None:
    line = b'{"result":{"content":[],"structuredContent":{}}}'
    assert with_text(line, TEXT, "plain") == f'{{"result":{{"content":[{ITEM}],"structuredContent":{{}}}}}}'.encode()


@given(st.text(), st.lists(st.text(), max_size=3), st.text(max_size=5))
def test_inline_adds_the_text_to_the_last_one_and_nothing_else(text: str, before: list[str], space: str) -> None:
    items: list[Any] = [{"type": "text", "text": each} for each in before]
    raw = jsonvalue.dumps({"id": space, "result": {"content": items}})
    line = with_text(raw, text, "inline")
    assert line is not None
    last = before[-1] if before else ""
    told = f"{last}\n\n{text}" if last else text
    expected = {"id": space, "result": {"content": [*items[:-1], {"type": "text", "text": told}]}}
    assert jsonvalue.loads(line) == expected

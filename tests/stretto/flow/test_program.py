"""The program's language: what is not known exactly does not load, and what loads can be read by a reviewer."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from stretto.errors import FlowError
from stretto.flow.program import STANDARD, Program, decode, encode
from stretto.flow.program_text import program_text
from waggle import jsonvalue

#: Section 11.2, as it is written there.
STANDARD_JSON = """
{"fugue_program":1,"body":[
 {"stmt":"let","var":"prev","value":{"op":"var","name":"call"}},
 {"stmt":"let","var":"failed","value":{"op":"var","name":"call_failed"}},
 {"stmt":"for","var":"i","start":{"op":"int","value":0},"end":{"op":"var","name":"max_lookups"},"body":[
  {"stmt":"sample","var":"d","addr":{"name":"decide","index":{"op":"var","name":"i"}},
   "dist":{"name":"Decide","args":[{"op":"var","name":"prev"},{"op":"var","name":"failed"}]}},
  {"stmt":"if","cond":{"op":"eq","lhs":{"op":"var","name":"d"},"rhs":{"op":"int","value":0}},
   "then":[{"stmt":"break"}]},
  {"stmt":"sample","var":"ok","addr":{"name":"outcome","index":{"op":"var","name":"i"}},
   "dist":{"name":"Outcome","args":[{"op":"var","name":"d"}]}},
  {"stmt":"assign","var":"prev","value":{"op":"var","name":"d"}},
  {"stmt":"assign","var":"failed","value":{"op":"not","arg":{"op":"var","name":"ok"}}}]}],
 "ret":{"op":"var","name":"prev"}}
"""


def num(value: int) -> dict[str, Any]:
    return {"op": "int", "value": value}


def var(name: str) -> dict[str, Any]:
    return {"op": "var", "name": name}


def program(*body: object, ret: object = None) -> Any:
    return {"fugue_program": 1, "body": list(body), "ret": ret or num(0)}


def let(value: object, name: str = "x") -> dict[str, Any]:
    return {"stmt": "let", "var": name, "value": value}


def draw(name: str = "Decide", args: int = 2, addr: object = None) -> dict[str, Any]:
    dist = {"name": name, "args": [num(1)] * args}
    return {"stmt": "sample", "var": "x", "addr": addr or {"name": "a"}, "dist": dist}


def test_the_standard_run_is_that_of_the_format() -> None:
    assert decode(jsonvalue.loads(STANDARD_JSON)) == STANDARD
    assert encode(STANDARD) == jsonvalue.loads(STANDARD_JSON)


def test_an_empty_else_is_none() -> None:
    """Whether the original writes it is not known; both are the same program."""
    content: Any = jsonvalue.loads(STANDARD_JSON)
    content["body"][2]["body"][1]["else"] = []
    assert decode(content) == STANDARD
    content["body"][2]["body"][1]["else"] = None
    assert decode(content) == STANDARD


def test_every_statement_and_operation_is_read_and_written_back() -> None:
    both = [
        {"op": op, "lhs": num(1), "rhs": num(2)}
        for op in ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "and", "or")
    ]
    array = {"op": "array", "items": [num(1), {"op": "f64", "value": 1.5}, {"op": "bool", "value": True}]}
    content = program(
        *(let(one, f"b{place}") for place, one in enumerate(both)),
        let(array),
        let({"op": "index", "array": var("x"), "index": num(0)}, "y"),
        let({"op": "len", "array": var("x")}, "z"),
        let({"op": "neg", "arg": var("z")}, "n"),
        {"stmt": "observe", "addr": {"name": "o"}, "dist": {"name": "Outcome", "args": [num(1)]}, "value": var("call")},
        {"stmt": "factor", "logw": var("z")},
        {
            "stmt": "if",
            "cond": var("call_failed"),
            "then": [],
            "else": [{"stmt": "assign", "var": "z", "value": num(1)}],
        },
        {"stmt": "for", "var": "i", "start": num(0), "end": num(2), "body": [{"stmt": "break"}]},
        ret=var("z"),
    )
    assert encode(decode(copy.deepcopy(content))) == content


def test_the_text_for_a_reviewer_has_the_whole_program_and_no_doubt_about_what_binds_first() -> None:
    assert program_text(STANDARD).splitlines()[2:6] == [
        "for i in 0..max_lookups:",
        "    d ~ Decide(prev, failed) at decide#i",
        "    if d == 0:",
        "        break",
    ]
    same = {"op": "eq", "lhs": var("call_failed"), "rhs": {"op": "bool", "value": False}}
    shown = program_text(
        decode(
            program(
                let({"op": "not", "arg": same}, "a"),
                let({"op": "eq", "lhs": {"op": "not", "arg": var("call_failed")}, "rhs": var("a")}, "b"),
                let({"op": "mul", "lhs": {"op": "add", "lhs": num(1), "rhs": num(2)}, "rhs": num(-3)}, "c"),
                {"stmt": "if", "cond": var("b"), "then": [], "else": [{"stmt": "factor", "logw": var("c")}]},
                {
                    "stmt": "observe",
                    "addr": {"name": "seen"},
                    "dist": {"name": "Outcome", "args": [var("call")]},
                    "value": var("a"),
                },
                ret={
                    "op": "index",
                    "array": {"op": "array", "items": [num(1)]},
                    "index": {"op": "len", "array": var("c")},
                },
            )
        )
    )
    assert shown == (
        "let a = not (call_failed == false)\n"
        "let b = (not call_failed) == a\n"
        "let c = (1 + 2) * -3\n"
        "if b:\n    pass\nelse:\n    factor c\n"
        "observe a ~ Outcome(call) at seen\n"
        "return [1][len(c)]"
    )


def nested(depth: int) -> dict[str, Any]:
    expression = num(1)
    for _ in range(depth):
        expression = {"op": "neg", "arg": expression}
    return expression


@pytest.mark.parametrize(
    ("content", "at"),
    [
        ([], "$"),
        ({}, "$.fugue_program"),
        (program() | {"fugue_program": 2, "body": 1}, "$.fugue_program"),
        (program() | {"fugue_program": True}, "$.fugue_program"),
        (program() | {"more": 1}, "$"),
        ({"fugue_program": 1, "body": []}, "$.ret"),
        ({"fugue_program": 1, "body": {}, "ret": num(0)}, "$.body"),
        (program(1), "$.body[0]"),
        (program(draw(addr="a")), "$.body[0].addr"),
        (program({"stmt": "print"}), "$.body[0].stmt"),
        (program({"stmt": ["let"]}), "$.body[0].stmt"),
        (program({"stmt": "break", "why": 1}), "$.body[0]"),
        (program({"stmt": "break"}), "$.body[0]"),
        (program(let(num(1), "a-b")), "$.body[0].var"),
        (program(let(num(1), "call")), "$.body[0].var"),
        (program(let(num(1)), let(num(1))), "$.body[1].var"),
        (program({"stmt": "assign", "var": "x", "value": num(1)}), "$.body[0].var"),
        (program({"stmt": "assign", "var": "call", "value": num(1)}), "$.body[0].var"),
        (program(let(var("secret"))), "$.body[0].value.name"),
        (program(let({"op": "call", "func": "exp", "args": []})), "$.body[0].value.func"),
        (program(let({"op": "eval", "code": "1"})), "$.body[0].value.op"),
        (program(let({"op": "add", "lhs": num(1)})), "$.body[0].value.rhs"),
        (program(let({"op": "int", "value": 1.0})), "$.body[0].value.value"),
        (program(let({"op": "int", "value": True})), "$.body[0].value.value"),
        (program(let({"op": "int", "value": 2**63})), "$.body[0].value.value"),
        (program(let({"op": "f64", "value": float("inf")})), "$.body[0].value.value"),
        (program(let({"op": "bool", "value": 1})), "$.body[0].value.value"),
        (program(draw("Normal")), "$.body[0].dist.name"),
        (program(draw("Decide", 1)), "$.body[0].dist.args"),
        (program(draw("Outcome", 2)), "$.body[0].dist.args"),
        (program(draw(addr={"name": "a", "index": var("i")})), "$.body[0].addr.index.name"),
        (
            program({"stmt": "for", "var": "i", "start": num(0), "end": num(1), "body": [let(num(1))]}, ret=var("x")),
            "$.ret.name",
        ),
        (
            program({"stmt": "if", "cond": var("call_failed"), "then": [let(num(1))]}, let(var("x"), "y")),
            "$.body[1].value.name",
        ),
        (program(ret=nested(60)), "$.ret" + ".arg" * 50),
        (program(ret=nested(5000)), "$.ret" + ".arg" * 50),
    ],
)
def test_what_is_not_known_exactly_does_not_load_and_says_where(content: object, at: str) -> None:
    with pytest.raises(FlowError) as caught:
        decode(content)
    assert caught.value.at == at


def test_programs_that_do_the_same_in_other_words_are_other_programs() -> None:
    """A reviewer compares what is there; any other text is another program."""
    assert decode(program(let(num(1)))) != decode(program(let({"op": "f64", "value": 1.0})))
    assert Program(STANDARD.body, num(0)) != STANDARD

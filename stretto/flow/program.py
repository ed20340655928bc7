"""The program a flow runs after each call of the agent: a tiny language, kept as its own JSON form.

A program is data until it has passed `decode`: every tag, field, name and function is known, names are defined before
they are used, nesting is bounded. Not responsible for running it (`stretto.flow.interpreter`). What is not the standard
run is code that somebody wrote, so a change to it always needs a reviewer (`stretto.flow.program_text`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from stretto.errors import FlowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waggle.jsonvalue import JsonObject

__all__ = ["DATA", "DISTRIBUTIONS", "OPERATORS", "STANDARD", "Node", "Program", "decode", "encode"]

PROGRAM_VERSION: Final = 1

#: What a run is given: the number of the tool that returned, whether it failed, and the most lookups it may make.
DATA: Final = ("call", "call_failed", "max_lookups")

#: The distributions there are, and how many arguments each takes.
DISTRIBUTIONS: Final = {"Decide": 2, "Outcome": 1}

#: Nesting of statements and expressions in one another. The standard run has 5; it bounds recursion.
_DEPTH_LIMIT: Final = 50
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_INT_BITS: Final = 63

#: One statement or expression: its tag under ``stmt`` or ``op``, and exactly the fields the tables below name.
Node: TypeAlias = Mapping[str, Any]

#: Operators that take two operands, and how a reviewer reads them.
OPERATORS: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "and",
    "or": "or",
}

_EXPRESSIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "f64": {"value": "f64"},
    "int": {"value": "int"},
    "bool": {"value": "bool"},
    "var": {"name": "word"},
    "array": {"items": "expressions"},
    "index": {"array": "expression", "index": "expression"},
    "len": {"array": "expression"},
    "neg": {"arg": "expression"},
    "not": {"arg": "expression"},
    "call": {"func": "word", "args": "expressions"},
    **{operator: {"lhs": "expression", "rhs": "expression"} for operator in OPERATORS},
}
_STATEMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "sample": {"var": "word", "addr": "address", "dist": "distribution"},
    "let": {"var": "word", "value": "expression"},
    "assign": {"var": "word", "value": "expression"},
    "observe": {"addr": "address", "dist": "distribution", "value": "expression"},
    "factor": {"logw": "expression"},
    "for": {"var": "word", "start": "expression", "end": "expression", "body": "block"},
    "if": {"cond": "expression", "then": "block", "else": "block?"},
    "break": {},
}


@dataclass(frozen=True, slots=True)
class Program:
    """A program that has been checked.

    Attributes:
        body: its statements.
        ret: the expression that is its value.
    """

    body: tuple[Node, ...]
    ret: Node


def encode(program: Program) -> JsonObject:
    """The JSON form; the same program gives the same JSON."""
    return {"fugue_program": PROGRAM_VERSION, "body": [dict(node) for node in program.body], "ret": dict(program.ret)}


def decode(value: object, at: str = "$") -> Program:
    """Read a program strictly; what comes back may be run.

    Args:
        value: the JSON form. ``else`` may be absent or empty.
        at: JSON path of the program in its file.

    Raises:
        FlowError: another version, an unknown or missing field, tag, name or function, a wrong number of arguments, or
            nesting beyond 50.
    """
    if not isinstance(value, dict):
        raise _fault(at, "expected an object")
    if type(value.get("fugue_program")) is not int or value["fugue_program"] != PROGRAM_VERSION:
        raise _fault(f"{at}.fugue_program", f"expected {PROGRAM_VERSION}, the version of programs that is run")
    fields = _fields(value, {"body": "block", "ret": "expression"}, "fugue_program", at, 0)
    program = Program(tuple(fields["body"]), fields["ret"])
    known = _check_block(program.body, f"{at}.body", frozenset(DATA), in_loop=False)
    _check_expression(program.ret, f"{at}.ret", known)
    return program


def _fault(at: str, problem: str) -> FlowError:
    return FlowError("", at, problem)


# --- form -------------------------------------------------------------------------------------------------


def _fields(value: Any, grammar: Mapping[str, str], tag: str, at: str, depth: int) -> dict[str, Any]:
    """The fields of an object that has these and `tag`, and no others."""
    if not isinstance(value, dict):
        raise _fault(at, "expected an object")
    unknown = sorted(key for key in value if key != tag and key not in grammar)
    if unknown:
        raise _fault(at, f"unknown field {unknown[0][:40]!a}")
    found: dict[str, Any] = {}
    for name, kind in grammar.items():
        if value.get(name) is not None:
            read = _read(value[name], kind.removesuffix("?"), f"{at}.{name}", depth + 1)
            if read or not kind.endswith("?"):  # an optional part that is empty is left out
                found[name] = read
        elif not kind.endswith("?"):
            raise _fault(f"{at}.{name}", "missing")
    return found


def _read(value: Any, kind: str, at: str, depth: int) -> Any:  # noqa: C901, PLR0911 - one case a kind
    if depth > _DEPTH_LIMIT:
        raise _fault(at, f"nested more than {_DEPTH_LIMIT} deep")
    match kind:
        case "expression":
            return _tagged(value, "op", _EXPRESSIONS, at, depth)
        case "statement":
            return _tagged(value, "stmt", _STATEMENTS, at, depth)
        case "expressions" | "block":
            if not isinstance(value, list):
                raise _fault(at, "expected a list")
            item = "statement" if kind == "block" else "expression"
            return [_read(part, item, f"{at}[{place}]", depth) for place, part in enumerate(value)]
        case "address":
            return _fields(value, {"name": "word", "index": "expression?"}, "", at, depth)
        case "distribution":
            return _fields(value, {"name": "word", "args": "expressions"}, "", at, depth)
        case "word" if isinstance(value, str) and _WORD.fullmatch(value):
            return value
        case "bool" if isinstance(value, bool):
            return value
        case "int" if type(value) is int and value.bit_length() <= _INT_BITS:
            return value
        case "f64" if type(value) is float and math.isfinite(value):
            return value
        case "f64" if type(value) is int and value.bit_length() <= _INT_BITS:
            return float(value)
    expected = {"word": "a name of letters, digits and _", "int": "a 64-bit integer", "f64": "a finite number"}
    raise _fault(at, f"expected {expected.get(kind, 'true or false')}")


def _tagged(value: Any, tag: str, tags: Mapping[str, Mapping[str, str]], at: str, depth: int) -> Node:
    if not isinstance(value, dict):
        raise _fault(at, "expected an object")
    name = value.get(tag)
    if not isinstance(name, str) or name not in tags:
        raise _fault(f"{at}.{tag}", f"expected one of {', '.join(tags)}")
    return {tag: name, **_fields(value, tags[name], tag, at, depth)}


# --- meaning ----------------------------------------------------------------------------------------------


def _check_block(block: Sequence[Node], at: str, known: frozenset[str], *, in_loop: bool) -> frozenset[str]:
    """Check statements in order; the names that are known after them."""
    for place, statement in enumerate(block):
        known = _check_statement(statement, f"{at}[{place}]", known, in_loop=in_loop)
    return known


def _check_statement(node: Node, at: str, known: frozenset[str], *, in_loop: bool) -> frozenset[str]:
    """Check one statement; the names that are known after it. What a block defines ends with the block."""
    for field in ("value", "logw", "start", "end", "cond"):
        if field in node:
            _check_expression(node[field], f"{at}.{field}", known)
    if "addr" in node and "index" in node["addr"]:
        _check_expression(node["addr"]["index"], f"{at}.addr.index", known)
    if "dist" in node:
        _check_distribution(node["dist"], f"{at}.dist", known)
    match node["stmt"]:
        case "let" | "sample":
            return known | {_new(node["var"], f"{at}.var", known)}
        case "assign" if node["var"] not in known or node["var"] in DATA:
            raise _fault(f"{at}.var", f"{node['var']} was not defined by let or sample")
        case "for":
            inner = known | {_new(node["var"], f"{at}.var", known)}
            _check_block(node["body"], f"{at}.body", inner, in_loop=True)
        case "if":
            _check_block(node["then"], f"{at}.then", known, in_loop=in_loop)
            _check_block(node.get("else", ()), f"{at}.else", known, in_loop=in_loop)
        case "break" if not in_loop:
            raise _fault(at, "break stands in no for")
    return known


def _new(name: str, at: str, known: frozenset[str]) -> str:
    if name in known:
        raise _fault(at, f"{name} is defined already")
    return name


def _check_distribution(node: Node, at: str, known: frozenset[str]) -> None:
    arity = DISTRIBUTIONS.get(node["name"])
    if arity is None:
        raise _fault(f"{at}.name", f"expected one of {', '.join(DISTRIBUTIONS)}")
    if len(node["args"]) != arity:
        raise _fault(f"{at}.args", f"{node['name']} takes {arity}")
    for place, arg in enumerate(node["args"]):
        _check_expression(arg, f"{at}.args[{place}]", known)


def _check_expression(node: Node, at: str, known: frozenset[str]) -> None:
    """Check that every name is known; there are no functions."""
    if node["op"] == "var" and node["name"] not in known:
        raise _fault(f"{at}.name", f"{node['name']} is not defined here")
    if node["op"] == "call":
        raise _fault(f"{at}.func", f"there is no function {node['func']}")
    for field, kind in _EXPRESSIONS[node["op"]].items():
        if kind == "expression":
            _check_expression(node[field], f"{at}.{field}", known)
        elif kind == "expressions":
            for place, item in enumerate(node[field]):
                _check_expression(item, f"{at}.{field}[{place}]", known)


# --- the standard run -----------------------------------------------------------------------------------------


def _var(name: str) -> Node:
    return {"op": "var", "name": name}


def _zero() -> Node:
    return {"op": "int", "value": 0}


def _drawn(var: str, address: str, name: str, *args: str) -> Node:
    dist = {"name": name, "args": [_var(arg) for arg in args]}
    return {"stmt": "sample", "var": var, "addr": {"name": address, "index": _var("i")}, "dist": dist}


#: Decide, look up, and decide again at the lookup, until the decision is to hand back or the lookups are used up.
STANDARD: Final = Program(
    (
        {"stmt": "let", "var": "prev", "value": _var("call")},
        {"stmt": "let", "var": "failed", "value": _var("call_failed")},
        {
            "stmt": "for",
            "var": "i",
            "start": _zero(),
            "end": _var("max_lookups"),
            "body": [
                _drawn("d", "decide", "Decide", "prev", "failed"),
                {
                    "stmt": "if",
                    "cond": {"op": "eq", "lhs": _var("d"), "rhs": _zero()},
                    "then": [{"stmt": "break"}],
                },
                _drawn("ok", "outcome", "Outcome", "d"),
                {"stmt": "assign", "var": "prev", "value": _var("d")},
                {"stmt": "assign", "var": "failed", "value": {"op": "not", "arg": _var("ok")}},
            ],
        },
    ),
    _var("prev"),
)

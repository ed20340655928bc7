"""A program as text for a reviewer: names, numbers and operators, nothing that could break a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.flow.program import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.flow.program import Node, Program

__all__ = ["program_text"]

_INDENT = "    "


def program_text(program: Program) -> str:
    """The program as lines, without a last line end. ``~`` draws a value; every inner operation has its parentheses."""
    return "\n".join([*_block(program.body, ""), f"return {_outer(program.ret)}"])


def _block(block: Sequence[Node], indent: str) -> list[str]:
    lines: list[str] = []
    for node in block:
        lines.append(f"{indent}{_statement(node)}")
        inner = f"{indent}{_INDENT}"
        for field in ("body", "then"):
            if field in node:
                lines += _block(node[field], inner) or [f"{inner}pass"]
        if "else" in node:
            lines += [f"{indent}else:", *_block(node["else"], inner)]
    return lines


def _statement(node: Node) -> str:  # noqa: PLR0911 - one case a statement
    """One statement, or the first line of one that has a block."""
    match node:
        case {"stmt": "let", "var": var, "value": value}:
            return f"let {var} = {_outer(value)}"
        case {"stmt": "assign", "var": var, "value": value}:
            return f"{var} = {_outer(value)}"
        case {"stmt": "sample", "var": var, "addr": addr, "dist": dist}:
            return f"{var} ~ {_drawn(dist, addr)}"
        case {"stmt": "observe", "addr": addr, "dist": dist, "value": value}:
            return f"observe {_inner(value)} ~ {_drawn(dist, addr)}"
        case {"stmt": "for", "var": var, "start": start, "end": end}:
            return f"for {var} in {_inner(start)}..{_inner(end)}:"
        case {"stmt": "if", "cond": cond}:
            return f"if {_outer(cond)}:"
        case {"stmt": "factor", "logw": weight}:
            return f"factor {_outer(weight)}"
    return "break"


def _drawn(dist: Node, address: Node) -> str:
    at = f"{address['name']}#{_inner(address['index'])}" if "index" in address else str(address["name"])
    return f"{_call(dist['name'], dist['args'])} at {at}"


def _outer(node: Node) -> str:
    match node:
        case {"op": "neg", "arg": arg}:
            return f"-{_inner(arg)}"
        case {"op": "not", "arg": arg}:
            return f"not {_inner(arg)}"
        case {"op": operator, "lhs": lhs, "rhs": rhs}:
            return f"{_inner(lhs)} {OPERATORS[operator]} {_inner(rhs)}"
    return _inner(node)


def _inner(node: Node) -> str:
    match node:
        case {"op": "f64" | "int" | "bool", "value": value}:
            return str(value).lower()
        case {"op": "var", "name": name}:
            return str(name)
        case {"op": "array", "items": items}:
            return f"[{', '.join(map(_outer, items))}]"
        case {"op": "index", "array": array, "index": index}:
            return f"{_inner(array)}[{_outer(index)}]"
        case {"op": "len", "array": array}:
            return _call("len", [array])
    return f"({_outer(node)})"


def _call(name: str, args: Sequence[Node]) -> str:
    return f"{name}({', '.join(map(_outer, args))})"

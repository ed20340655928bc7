"""An adapter says how its framework spells things; what is done with them is the helper's, so adapters are small."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

#: Lines of code an adapter may have.
LIMIT = 100

#: What all adapters share.
SHARED = ("__init__", "mcp_result", "results", "watch")

BLANK = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> int:
    """The lines of a module that hold code: neither blank, nor comment, nor docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def test_only_code_counts() -> None:
    source = '''"""What it is.

And more.
"""

# why
x = (
    1,
)


def f():
    """Do."""
    return """a

b"""
'''
    assert code_lines(source) == 7


@pytest.mark.parametrize(
    "path",
    [path for path in sorted((ROOT / "waggle" / "integrations").glob("*.py")) if path.stem not in SHARED],
    ids=lambda path: path.stem,
)
def test_an_adapter_is_small(path: Path) -> None:
    assert code_lines(path.read_text(encoding="utf-8")) < LIMIT

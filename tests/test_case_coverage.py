"""Every case has a test, and every mark names a case: the hard cases, and the worked examples of the compiler."""

from __future__ import annotations

import re

from tests.conftest import ROOT

#: The worked examples of the compiler's rules, by id.
COMPILER = frozenset(f"TC-{number:02}" for number in range(1, 70))


def marked(kind: str) -> set[str]:
    """The ids of one kind that tests carry."""
    return {
        case
        for path in (ROOT / "tests").rglob("test_*.py")
        for case in re.findall(rf'mark\.case\("({kind}-\w+)"\)', path.read_text(encoding="utf-8"))
    }


def test_every_hard_case_has_a_test_and_every_mark_a_case() -> None:
    listed = set(
        re.findall(r"^\| (HC-\d+) \|", (ROOT / "docs" / "hard-cases.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert marked("HC") == listed


def test_every_case_of_the_compiler_has_a_test_and_every_mark_a_case() -> None:
    assert marked("TC") == COMPILER

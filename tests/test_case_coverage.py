"""Every hard case has a test, and every mark names a hard case."""

from __future__ import annotations

import re

from tests.conftest import ROOT


def test_every_hard_case_has_a_test_and_every_mark_a_case() -> None:
    listed = set(
        re.findall(r"^\| (HC-\d+) \|", (ROOT / "docs" / "hard-cases.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    marked = {
        case
        for path in (ROOT / "tests").rglob("test_*.py")
        for case in re.findall(r'mark\.case\("(HC-\d+)"\)', path.read_text(encoding="utf-8"))
    }
    assert marked == listed

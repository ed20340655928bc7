"""The pages of procedures are run as a reader would run them, from top to bottom, and print what they say.

``pytest --update-golden -n 0`` writes the outputs anew; their diff is reviewed like code.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_walkthrough import Reader

_BLOCK = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", ["procedures.md", "procedures-review.md"])
def test_a_page_prints_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    document = ROOT / "docs" / name
    reader = Reader()
    written = document.read_text(encoding="utf-8")
    real = _BLOCK.sub(lambda block: f"```console\n{reader.console(block[1])}```\n", written)
    assert real.count("```console") >= 6
    if request.config.getoption("--update-golden"):
        document.write_text(real, encoding="utf-8", newline="\n")
        written = real
    assert real == written

"""docs/proxy.md is run as a reader would run it, from top to bottom, and prints what it says it prints.

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

DOCUMENT = ROOT / "docs" / "proxy.md"

#: Where the part begins that needs Node.
_SECOND_PART = "\n# The same with"

_BLOCK = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def test_the_walkthrough_of_the_shop_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    _run(0, tmp_path, monkeypatch, update=request.config.getoption("--update-golden"))


@pytest.mark.timeout(240)
def test_the_walkthrough_of_the_filesystem_server_prints_what_it_says(
    node_peers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "node_modules").symlink_to(node_peers / "node_modules")
    _run(1, tmp_path, monkeypatch, update=request.config.getoption("--update-golden"))


def _run(part: int, place: Path, monkeypatch: pytest.MonkeyPatch, *, update: bool) -> None:
    (place / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(place)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    reader = Reader()
    parts = DOCUMENT.read_text(encoding="utf-8").split(_SECOND_PART)
    real = _BLOCK.sub(lambda block: f"```console\n{reader.console(block[1])}```\n", parts[part])
    assert real.count("```console") >= 5
    if update:
        parts[part] = real
        DOCUMENT.write_text(_SECOND_PART.join(parts), encoding="utf-8", newline="\n")
    assert real == parts[part]

"""What the tests of several modules start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from waggle import Store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "skills", tmp_path / "ledger.jsonl")

"""What tests of the hook's processes start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.waggle.hook.processes import stop_keepers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A ``WAGGLE_HOME``; a keeper that was started for it is stopped."""
    home = tmp_path / ("long" * 30) / "waggle"  # longer than a socket's path may be
    monkeypatch.setenv("WAGGLE_HOME", str(home))
    yield home
    stop_keepers(home / "hook")

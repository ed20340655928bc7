"""These tests run where they are asked for by name: their frameworks are not where all the others run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave them out of ``make test``; see ``make test-integrations``."""
    return None if any("integrations" in argument for argument in config.args) else collection_path.suffix == ".py"

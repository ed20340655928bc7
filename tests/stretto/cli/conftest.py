"""Recorded sessions and a flow to run commands on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.stretto.cli.stretto_cli_support import ran, results, sessions, written_logs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of twelve sessions; nobody writes to them."""
    return written_logs(tmp_path_factory.mktemp("logs"), sessions())


@pytest.fixture(scope="session")
def benchmark_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results file of six tasks, two trials each."""
    return results(tmp_path_factory.mktemp("results") / "results.json")


@pytest.fixture(scope="session")
def shop_flow(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> Path:
    """The flow of all sessions; nobody writes to it."""
    out = tmp_path_factory.mktemp("flow") / "shop.flow.json"
    ran("learn", "--sessions", logs, "--out", out)
    return out


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    return place

"""A project and a user to run commands in."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tests.waggle.cli.support import BAD, LIST, LOAD, OLD, TWIN, Home, habit, trace, written
from waggle import (
    LedgerEntry,
    Scope,
    Store,
)
from waggle.ledger import Ledger
from waggle.store import user_store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    root = tmp_path / "lift"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    return Home(root, Store(root / ".waggle" / "skills", root / ".waggle" / "ledger.jsonl"), user_store())


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skills of every kind, written once: used, unused, failing, duplicate, and one of the user's."""
    place = tmp_path_factory.mktemp("stored")
    project, user = (Store(place / name / "skills", place / name / "ledger.jsonl") for name in ("project", "user"))
    for each in (LOAD, LIST, OLD, BAD, TWIN):
        project.promote(each)
    user.promote(replace(LIST, scope=Scope.USER))
    log = Ledger(project.ledger_path)
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    log.append_many([LedgerEntry(LOAD.name, 1, 1250, at=at), LedgerEntry(LOAD.name, 1, 20, at=at)])
    log.append_many([LedgerEntry(BAD.name, 1, fail=True, at=at)] * 3)
    Ledger(user.ledger_path).append(LedgerEntry(LIST.name, 1, 40, at=at))
    return place


@pytest.fixture
def full(home: Home, stored: Path) -> Home:
    """A project and a user that have skills."""
    shutil.copytree(stored / "project", home.project.directory.parent)
    shutil.copytree(stored / "user", home.user.directory.parent)
    return home


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """Two tasks: one to learn a habit on, one in which it would have saved a turn."""
    first, second = trace("s1", habit() * 4, task="t1"), trace("s2", habit(), task="t2")
    return written(tmp_path / "sessions.jsonl", first, second)

"""What every test gets: a home of its own, and the larger data where it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

# How long drawing and running take is the machine's business, and it may be busy.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point everything that decides where files go into a fresh directory, so that no test sees a person's files."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("XDG_", "WAGGLE_", "STRETTO_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "run"))
    return home


@pytest.fixture(scope="session")
def shared_traces() -> Path:
    """Directory of the full recorded sessions, which a plain clone does not have."""
    if not (SHARED / "data" / "traces").is_dir():
        pytest.skip("needs the full trace collection beside the checkout; the shipped sessions are tested instead")
    return SHARED / "data" / "traces"


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden`` writes the golden files anew; their diff is reviewed like code."""
    parser.addoption("--update-golden", action="store_true", help="write golden files anew instead of comparing")


class Golden:
    """Texts that a command printed once and that somebody has looked at, in ``tests/golden``."""

    def __init__(self, *, update: bool) -> None:
        self._update = update

    def check(self, name: str, text: str) -> None:
        """Compare with the file of this name, or write it."""
        path = ROOT / "tests" / "golden" / name
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert text == path.read_text(encoding="utf-8"), f"{name} has changed; look, then pytest --update-golden"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Golden files; see `Golden`."""
    return Golden(update=request.config.getoption("--update-golden"))

"""Where a user's flows and recorded sessions are. Nothing is made here, and nothing is read.

Below the user's directory stand ``flows`` (``NAME.flow.json``), and for each wrapped server ``logs/NAME`` with its
session logs and ``shadow/NAME`` with those of a flow that only watched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from waggle.locate import user_data_dir

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Home", "user_home"]


@dataclass(frozen=True, slots=True)
class Home:
    """The user's directory, which need not exist."""

    root: Path

    @property
    def flows(self) -> Path:
        """Where flow files are."""
        return self.root / "flows"

    @property
    def logs(self) -> Path:
        """Where sessions are recorded, a directory a server."""
        return self.root / "logs"

    @property
    def shadow(self) -> Path:
        """The same for servers whose flow only watches."""
        return self.root / "shadow"


def user_home() -> Home:
    """The user's directory: ``STRETTO_HOME``, else ``stretto`` where the platform keeps such data.

    Raises:
        SettingsError: ``STRETTO_HOME`` is a relative path.
        StoreUnavailable: the user has no home directory.
    """
    return Home(user_data_dir("stretto"))

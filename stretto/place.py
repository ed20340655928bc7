"""Where a user's flows and recorded sessions are. Nothing is made here, and nothing is read.

Below the user's directory stand ``flows`` (``NAME.flow.json``), and for each wrapped server ``logs/NAME`` with its
session logs and ``shadow/NAME`` with those of a flow that only watched. What lasts no longer than processes, the
meeting places of proxies, is below another one.
"""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from waggle.errors import StoreUnavailable
from waggle.locate import user_data_dir

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Home", "runtime_dir", "user_home"]


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


def runtime_dir() -> Path:
    """Directory of what this user's running processes share: ``run`` in ``STRETTO_HOME``, else the platform's place.

    On Linux that is ``stretto`` in ``XDG_RUNTIME_DIR``, or in what stands for it.

    Raises:
        SettingsError: ``STRETTO_HOME`` is a relative path.
        StoreUnavailable: the platform names no place.
    """
    if os.environ.get("STRETTO_HOME"):
        return user_home().root / "run"
    import platformdirs  # noqa: PLC0415 - costs more than the rest of this module, and most processes share nothing

    with suppress(RuntimeError), warnings.catch_warnings(action="ignore"):  # it warns where the variable is not set
        path = platformdirs.user_runtime_path("stretto", appauthor=False)
        if path.is_absolute():
            return path
    raise StoreUnavailable(
        None, "no directory for running processes is known", "set STRETTO_HOME to a directory that can be written"
    )

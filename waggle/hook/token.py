"""The secret that events over HTTP bring with them.

Other users of the machine reach the server, too; they do not know it.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from waggle import files
from waggle.admission import checked_token
from waggle.errors import StoreUnavailable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["find_token", "own_token"]

_NAME: Final = "token"
_BYTES: Final = 32


def find_token(place: Path) -> str | None:
    """The user's token; None where none was made yet.

    Args:
        place: the private directory.

    Raises:
        StoreUnavailable: it cannot be read, or is none.
    """
    path = place / _NAME
    try:
        return checked_token(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        problem = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StoreUnavailable(path, problem, "remove it, and put the hook into the settings again") from error


def own_token(place: Path) -> str:
    """The user's token, which is made when there is none.

    Raises:
        StoreUnavailable: it cannot be read or written, or is none.
        StoreLocked: another process kept its lock for too long.
    """
    with files.lock(place / _NAME):
        token = find_token(place)
        if token is None:
            token = secrets.token_urlsafe(_BYTES)
            files.replace(place / _NAME, f"{token}\n".encode(), private=True)
    return token

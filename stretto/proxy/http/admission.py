"""Who is let in to a proxy that listens: with a token, who has it; without one, programs of this machine.

Not responsible for what those who are let in may do.
"""

from __future__ import annotations

import logging
import os
from http import HTTPStatus
from typing import TYPE_CHECKING

from stretto.errors import UsageError
from waggle import admission

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["bind", "read_token", "refusal"]

_log = logging.getLogger("waggle")


def refusal(headers: Mapping[str, str], token: str | None) -> tuple[HTTPStatus, str] | None:
    """Why a request with these headers is not let in; None when it is.

    Args:
        headers: names in lower case.
        token: that it must have; None where it must be of this machine.
    """
    if token is None:
        return admission.stranger(headers)
    if admission.has_token(headers, token):
        return None
    return HTTPStatus.UNAUTHORIZED, "needs the token of --listen-token-file"


def read_token(path: Path) -> str:
    """The token in a file, which others had better not be able to read: that they can is reported.

    Raises:
        UsageError: the file cannot be read, or holds no token.
    """
    try:
        text = path.read_text(encoding="utf-8")
        seen_by_others = os.name == "posix" and path.stat().st_mode & 0o077
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"--listen-token-file {path}: cannot be read: {reason}") from None
    try:
        token = admission.checked_token(text)
    except ValueError as error:
        raise UsageError(f"--listen-token-file {path}: {error}") from None
    if seen_by_others:
        _log.warning("%s can be read by others; chmod 600 it", path)
    return token


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        UsageError: the address cannot be used.
    """
    try:
        return admission.bind(host, port)
    except OSError as error:
        raise UsageError(f"--listen {host}:{port}: {error.strerror or error}") from None

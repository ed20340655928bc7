"""Who is let in to a proxy that listens: with a token, who has it; without one, programs of this machine.

A web page can have a browser of this machine send requests, under a name that its own server has given to this
machine's address. So without a token the name asked for and the page that asks are looked at.

Not responsible for what those who are let in may do.
"""

from __future__ import annotations

import hmac
import logging
import os
import socket
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from stretto.addresses import is_loopback
from stretto.errors import UsageError

if TYPE_CHECKING:
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
    if token is not None:
        given = headers.get("authorization", "").encode("latin-1", "replace")
        if hmac.compare_digest(given, f"Bearer {token}".encode()):
            return None
        return HTTPStatus.UNAUTHORIZED, "needs the token of --listen-token-file"
    if not _is_of_this_machine(f"//{headers.get('host', '')}"):
        return HTTPStatus.MISDIRECTED_REQUEST, "is asked for under a name that is not its own"
    if (origin := headers.get("origin")) is not None and not _is_of_this_machine(origin):
        return HTTPStatus.FORBIDDEN, "is not for the web pages of others"
    return None


def _is_of_this_machine(address: str) -> bool:
    try:
        return is_loopback(urlsplit(address).hostname or "")
    except ValueError:
        return False


def read_token(path: Path) -> str:
    """The token in a file, which others had better not be able to read: that they can is reported.

    Raises:
        UsageError: the file cannot be read, or holds no token.
    """
    try:
        token = path.read_text(encoding="utf-8").strip()
        seen_by_others = os.name == "posix" and path.stat().st_mode & 0o077
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"--listen-token-file {path}: cannot be read: {reason}") from None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(f"--listen-token-file {path}: holds no token: one word of ASCII")
    if seen_by_others:
        _log.warning("%s can be read by others; chmod 600 it", path)
    return token


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        UsageError: the address cannot be used.
    """
    # The protocol is named, since asyncio leaves others with Nagle's algorithm, which holds up each answer by 40 ms.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let others take the same address
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen()
    except OSError as error:
        made.close()
        raise UsageError(f"--listen {host}:{port}: {error.strerror or error}") from None
    return made

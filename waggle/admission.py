"""Where a server of this machine listens, and who is let in.

A web page can have a browser of this machine send requests, under a name that its own server has given to this
machine's address. So the name asked for and the page that asks are looked at.

Not responsible for what those who are let in may do, nor for naming the option in which something is wrong.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import socket
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["bind", "checked_token", "has_token", "is_loopback", "parse_address", "stranger", "url_of"]

_ADDRESS: Final = re.compile(r"(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):)?([0-9]{1,5})")
_LAST_PORT: Final = (1 << 16) - 1
_HERE: Final = "127.0.0.1"


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine's own, without asking anybody."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def parse_address(text: str) -> tuple[str, int]:
    """Where to listen.

    Args:
        text: ``HOST:PORT``, or ``PORT`` of this machine alone; 0 is any port that is free.

    Returns:
        The host, without brackets, and the port.

    Raises:
        ValueError: it is neither; the text repeats what was given.
    """
    found = _ADDRESS.fullmatch(text)
    if not found or int(found[2]) > _LAST_PORT:
        raise ValueError(f"{text} is neither HOST:PORT nor PORT")
    return (found[1] or _HERE).strip("[]"), int(found[2])


def url_of(host: str, port: int, path: str) -> str:
    """The URL of a path at an address."""
    return f"http://[{host}]:{port}{path}" if ":" in host else f"http://{host}:{port}{path}"


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        OSError: the address cannot be used.
    """
    # The protocol is named, since asyncio leaves others with Nagle's algorithm, which holds up each answer by 40 ms.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let others take the same address
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen()
    except OSError:
        made.close()
        raise
    return made


def stranger(headers: Mapping[str, str]) -> tuple[HTTPStatus, str] | None:
    """Why a request is not one of this machine's own programs; None when it is.

    Args:
        headers: names in lower case.
    """
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


def has_token(headers: Mapping[str, str], token: str) -> bool:
    """Whether a request has the token, as ``Authorization: Bearer``; how long this takes does not tell how far it is.

    Args:
        headers: names in lower case.
        token: ASCII.
    """
    given = headers.get("authorization", "").encode("latin-1", "replace")
    return hmac.compare_digest(given, f"Bearer {token}".encode())


def checked_token(text: str) -> str:
    """The token in a text, without the space around it.

    Raises:
        ValueError: it holds none; the text is not repeated.
    """
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError("holds no token: one word of ASCII")
    return token

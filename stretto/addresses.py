"""Addresses as options give them: where to listen, where a server is, and the headers that it is sent.

What is wrong is not repeated where it may hold a secret. Not responsible for opening anything.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from stretto.errors import UsageError
from waggle.admission import is_loopback, parse_address

__all__ = ["header_of", "listening_at", "server_url"]

#: A header's name as HTTP allows it, RFC 9110, 5.6.2, and that of an environment variable.
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([A-Za-z_][A-Za-z0-9_]*)")
_BLANK: Final = re.compile(r"[\s\x00-\x20\x7f]")


def listening_at(address: str, *, token: bool) -> tuple[str, int]:
    """Where to listen.

    Args:
        address: ``HOST:PORT``, or ``PORT`` of this machine alone; 0 is any port that is free.
        token: whoever calls has to know a secret.

    Returns:
        The host, without brackets, and the port.

    Raises:
        UsageError: it is no address, or one that other machines can reach and there is no token.
    """
    try:
        host, port = parse_address(address)
    except ValueError as error:
        raise UsageError(f"--listen {error}") from None
    if not token and not is_loopback(host):
        danger = "can be reached from other machines; give a token with --listen-token-file, or listen on 127.0.0.1"
        raise UsageError(f"--listen {address} {danger}")
    return host, port


def server_url(url: str) -> str:
    """The address of a server over HTTP, as it was given.

    Raises:
        UsageError: it is none, or has credentials in it.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or _BLANK.search(url):
        raise UsageError("--upstream is a URL that begins with http:// or https://; the one given is none")
    if "@" in parts.netloc:
        raise UsageError("--upstream has credentials in it; give them with --upstream-header Authorization=VAR")
    return url


def header_of(text: str) -> tuple[str, str]:
    """A header's name, and the name of the environment variable that holds its value.

    Raises:
        UsageError: it is not of the form ``NAME=VAR``.
    """
    found = _HEADER.fullmatch(text)
    if not found:
        raise UsageError("--upstream-header is NAME=VAR, where the environment variable VAR holds the value")
    return found[1], found[2]

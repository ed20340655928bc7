"""The MCP SDK's client session, 1.x, over stdio, against a real server of the same line."""

from __future__ import annotations

from datetime import timedelta

from tests.integrations.mcp_support import HandshakeTests, over_stdio


class TestSessionOverStdio(HandshakeTests):
    """A server in a process of its own."""

    connect = staticmethod(over_stdio)
    a_moment = timedelta(seconds=0.2)

"""The MCP SDK's client, 2.x: both eras of the protocol, in memory and over stdio, against a real server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

from tests.integrations.mcp_support import SERVER, ClientTests, HandshakeTests, over_stdio, work
from tests.integrations.routines import HABIT, check_example, check_folds, check_observed, habitual
from tests.integrations.shop_server import shop
from waggle.integrations.mcp_client import WaggleClient


@asynccontextmanager
async def modern(**knobs: Any) -> Any:
    async with WaggleClient(shop(), mode="auto", **knobs) as client:
        assert client.protocol_version == "2026-07-28"
        yield client


@asynccontextmanager
async def legacy(**knobs: Any) -> Any:
    async with WaggleClient(shop(), mode="legacy", **knobs) as client:
        assert client.protocol_version == "2025-11-25"
        yield client


class TestModernInMemory(ClientTests):
    """The `Client` of 2.x in the era without a handshake."""

    connect = staticmethod(modern)


class TestLegacyInMemory(HandshakeTests):
    """The `Client` of 2.x in the era with one."""

    connect = staticmethod(legacy)


class TestSessionOverStdio(HandshakeTests):
    """The `ClientSession`, and a server in a process of its own."""

    connect = staticmethod(over_stdio)


def test_the_client_does_the_same_with_a_server_in_a_process_of_its_own() -> None:
    """In the era that the two agree on; what else it does is the same as in memory, without a second for each start."""
    manager = habitual(reads=())

    async def main() -> None:
        async with WaggleClient(SERVER, manager=manager, conversation="a") as client:
            check_folds(await work(client))

    asyncio.run(main())
    check_observed(manager, "a", HABIT)
    assert manager.faults() == {}


def test_the_example_runs() -> None:
    check_example("mcp_client_agent.py")

"""What holds for the MCP SDK's client of either line, over whatever transport; a test module says how to connect."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.integrations.routines import HABIT, ROUND, Broken, Turn, check_folds, check_observed, habitual
from waggle.integrations.mcp_client import WaggleSession

SERVER = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("shop_server.py"))])
#: The server says what reads, so the user need not.
HINTED: tuple[str, ...] = ()


@asynccontextmanager
async def over_stdio(**knobs: Any) -> Any:
    """A session with a real server in a process of its own, in the handshake era."""
    async with stdio_client(SERVER) as streams, WaggleSession(*streams, **knobs) as session:
        await session.initialize()
        yield session


def text(result: Any) -> str:
    """The texts of a result, of embedded resources too."""
    blocks = [getattr(block, "text", None) or block.resource.text for block in result.content]
    return "\n".join(blocks)


async def work(client: Any, turns: list[Turn] = HABIT) -> list[str]:
    """Make the calls of a script, those of a turn at once; the results as text."""
    shown = []
    for turn in turns:
        shown += [text(one) for one in await asyncio.gather(*(client.call_tool(*call) for call in turn))]
    return shown


class ClientTests:
    """Each test connects anew."""

    connect: Any
    a_moment: Any = 0.2  # seconds, as 2.x takes them

    def test_what_usually_comes_next_is_a_text_block_behind_the_tools_own(self) -> None:
        manager = habitual(reads=HINTED)

        async def main() -> None:
            async with self.connect(manager=manager, conversation="a") as client:
                check_folds(await work(client))
                result = [await client.call_tool(*call) for call in (HABIT[0][0], HABIT[1][0])][-1]
                assert [block.type for block in result.content] == ["text", "text"]
                assert result.content[0].text == "order of 7"

        asyncio.run(main())
        check_observed(manager, "a", [*HABIT, *HABIT[:2]])
        assert manager.faults() == {}

    def test_beside_structured_content_it_is_a_resource(self) -> None:
        turns = [[("orders_of", {"who": "ada"})], [("record", {"number": "7"})], ROUND[2], ROUND[3]]
        manager = habitual(reads=HINTED)

        async def main() -> None:
            async with self.connect(manager=manager) as client:
                await work(client, turns * 5)
                await client.call_tool("orders_of", {"who": "ada"})
                result = await client.call_tool("record", {"number": "7"})
                assert [block.type for block in result.content] == ["text", "resource"]
                assert "order of 8" in result.content[-1].resource.text
                structured = result.model_dump(by_alias=True)["structuredContent"]
                assert structured == {"record": "7"}

        asyncio.run(main())

    def test_errors_stay_errors_and_nothing_follows_them(self) -> None:
        manager = habitual(reads=HINTED)

        async def main() -> None:
            async with self.connect(manager=manager, conversation="a") as client:
                await work(client)
                result = await client.call_tool("broken", {"number": "7"})
                assert result.model_dump(by_alias=True)["isError"]
                assert "waggle" not in text(result)

        asyncio.run(main())
        assert [step.ok for step in manager.session("a").steps()] == [True] * 24 + [False]

    def test_what_the_sdk_raises_is_raised_and_observed(self) -> None:
        manager = habitual(reads=HINTED)

        async def main() -> None:
            async with self.connect(manager=manager, conversation="a") as client:
                with pytest.raises(Exception, match=r"(?i)timed out|timeout"):
                    await client.call_tool("silent", {"number": "7"}, self.a_moment)

        asyncio.run(main())
        assert [step.ok for step in manager.session("a").steps()] == [False]

    def test_calls_made_at_once_are_told_apart(self) -> None:
        manager = habitual(reads=HINTED)
        turns = [ROUND[0], [*ROUND[1], *ROUND[2]], ROUND[3]] * 3

        async def main() -> None:
            async with self.connect(manager=manager, conversation="a") as client:
                shown = await work(client, turns)
                assert [one.splitlines()[0] for one in shown[:4]] == [
                    "orders_of of ada",
                    "order of 7",
                    "order of 8",
                    "ship of 7",
                ]

        asyncio.run(main())
        check_observed(manager, "a", turns)
        assert any(step.overlapped for step in manager.session("a").steps())

    def test_a_strategy_that_raises_does_not_reach_the_host(self) -> None:
        manager = habitual(reads=HINTED, strategies=[Broken])

        async def main() -> None:
            async with self.connect(manager=manager) as client:
                check_folds(await work(client))

        asyncio.run(main())
        assert manager.faults()

    def test_each_client_is_a_conversation_and_a_prefix_names_its_server(self) -> None:
        manager = habitual(reads=HINTED)

        async def main() -> None:
            async with (
                self.connect(manager=manager, conversation="a", prefix="shop__") as one,
                self.connect(manager=manager, conversation="b") as other,
            ):
                check_folds(await work(one))
                await work(other, ROUND)

        asyncio.run(main())
        assert {step.tool for step in manager.session("a").steps()} == {"shop__orders_of", "shop__order", "shop__ship"}
        check_observed(manager, "b", ROUND)

    def test_a_conversation_that_nobody_named_ends_with_its_client(self) -> None:
        manager = habitual(reads=HINTED)

        async def main() -> None:
            async with self.connect(manager=manager) as client:
                await work(client, ROUND)
                assert len(manager._sessions) == 1

        asyncio.run(main())
        assert not manager._sessions


class HandshakeTests(ClientTests):
    """What only the handshake era has: the server says by itself that its tools have changed."""

    def test_tools_are_listed_again_when_the_server_says_that_they_have_changed(self) -> None:
        manager = habitual(reads=HINTED)
        heard: list[Any] = []

        async def hear(message: Any) -> None:
            heard.append(message)

        async def main() -> None:
            async with self.connect(manager=manager, conversation="a", message_handler=hear) as client:
                await work(client, ROUND[:2])
                await work(client, [[("extend", {"number": "7"})]])
                await client.list_tools()  # after which the notification has come
                await work(client, [[("price", {"number": "7"})], *ROUND[:2]])

        asyncio.run(main())
        read = [(step.tool, step.reads) for step in manager.session("a").steps()]
        assert read[:2] == [("orders_of", True), ("order", True)]
        assert read[2:] == [("extend", False), ("price", True), ("orders_of", False), ("order", True)]
        assert heard

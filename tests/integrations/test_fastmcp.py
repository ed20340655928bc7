"""FastMCP, server and client, in memory and over standard input: what the client is shown."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError

from tests.integrations.routines import (
    HABIT,
    ROUND,
    Broken,
    answer,
    asked_for,
    check_example,
    check_folds,
    check_observed,
    habitual,
)
from waggle import Manager, Outcome
from waggle.integrations.fastmcp import WaggleClient, WaggleMiddleware

READS = {"readOnlyHint": True}

#: The habit with a tool in it that declares no structured result.
PLAIN = [ROUND[0], [("plain", {"number": "7"})], *ROUND[2:]]


def server_of(*middleware: Any) -> FastMCP:
    server = FastMCP("shop", middleware=[*middleware])

    @server.tool(annotations=READS)
    def orders_of(who: str) -> str:
        return answer("orders_of", who)

    @server.tool(annotations=READS)
    async def order(number: str) -> str:
        return answer("order", number)

    @server.tool(annotations=READS, output_schema=None)
    def plain(number: str) -> str:
        return answer("plain", number)

    @server.tool(annotations=READS)
    def broken(number: str) -> str:
        raise ToolError(f"no {number}")

    @server.tool
    def ship(number: str) -> str:
        return answer("ship", number)

    return server


def text_of(block: Any) -> str:
    return str(block.text if block.type == "text" else block.resource.text)


async def calls(client: Client[Any], turns: Any) -> list[Any]:
    """The results of a script's calls, those of one turn made at once."""
    results: list[Any] = []
    for turn in turns:
        results += await asyncio.gather(*(client.call_tool(tool, args, raise_on_error=False) for tool, args in turn))
    return results


def texts(results: list[Any]) -> list[str]:
    return ["\n\n".join(text_of(block) for block in result.content) for result in results]


def served(turns: Any, manager: Manager, **options: Any) -> list[Any]:
    """What a client of a server with memory is given."""

    async def work() -> list[Any]:
        server = server_of(WaggleMiddleware(manager, **options))
        async with Client(server, mode="legacy") as client:
            return await calls(client, turns)

    return asyncio.run(work())


def asked(turns: Any, manager: Manager, mode: Any = "auto", name: str | None = "a") -> list[Any]:
    """What a client with memory gives its host."""

    async def work() -> list[Any]:
        async with WaggleClient(server_of(), manager=manager, conversation=name, mode=mode) as client:
            return await calls(client, turns)

    return asyncio.run(work())


either = pytest.mark.parametrize("made", [served, asked])


def only(manager: Manager) -> str:
    with manager._lock:
        (name,) = manager._sessions
    return name


@either
def test_a_result_carries_the_next_read_and_is_otherwise_the_tools_own(made: Any) -> None:
    manager = habitual(reads=())
    results = made(HABIT, manager)
    check_folds(texts(results))
    check_observed(manager, only(manager), HABIT)
    for result, (tool, args) in zip(results, asked_for(HABIT), strict=True):
        assert result.content[0].text == result.data == answer(tool, *args.values())
        assert result.structured_content == {"result": result.data}
        assert [block.type for block in result.content[1:]] in ([], ["resource"])
    assert manager.faults() == {}


@either
def test_without_structured_content_it_is_a_text(made: Any) -> None:
    result = made(PLAIN * 6, habitual(reads=()))[-3]
    assert result.structured_content is None
    assert [block.type for block in result.content] == ["text", "text"]
    assert answer("order", "8") in result.content[1].text


@either
def test_calls_at_once_are_all_seen_and_answered(made: Any) -> None:
    manager, turns = habitual(), [[*ROUND[0], *ROUND[1]], *ROUND[2:]] * 6
    results = made(turns, manager)
    assert [result.data for result in results] == [answer(tool, *args.values()) for tool, args in asked_for(turns)]
    check_observed(manager, only(manager), turns)


@either
def test_an_error_stays_an_error(made: Any) -> None:
    manager = habitual()
    (result,) = made([[("broken", {"number": "1"})]], manager)
    assert result.is_error
    assert texts([result]) == ["no 1"]
    assert manager.session(only(manager)).steps()[-1].outcome is Outcome.TOOL_ERROR


@either
def test_a_tool_that_is_not_there_is_an_error_as_before(made: Any) -> None:
    manager = habitual()
    with pytest.raises(Exception, match=r"(?i)unknown tool|not found") as before:
        asyncio.run(_nothing(Client(server_of(), mode="legacy")))
    client = (
        WaggleClient(server_of(), manager=manager, mode="legacy")
        if made is asked
        else Client(server_of(WaggleMiddleware(manager)), mode="legacy")
    )
    with pytest.raises(type(before.value), match=r"(?i)unknown tool|not found"):
        asyncio.run(_nothing(client))


async def _nothing(client: Client[Any]) -> None:
    async with client:
        await client.call_tool("nothing", {})


@either
def test_a_strategy_that_raises_is_switched_off_and_nobody_is_harmed(made: Any) -> None:
    manager = habitual(strategies=[Broken])
    check_folds(texts(made(HABIT, manager)))
    assert any("broken" in kind for kind in manager.faults())


def test_a_server_keeps_its_clients_apart_and_knows_no_conversation_without_a_session() -> None:
    manager = habitual()

    async def work() -> None:
        server = server_of(WaggleMiddleware(manager))
        for mode in ("legacy", "legacy", "auto"):
            async with Client(server, mode=mode) as client:
                await calls(client, ROUND)

    asyncio.run(work())
    with manager._lock:
        assert sorted(len(session.steps()) for session in manager._sessions.values()) == [1, 1, 1, 1, 4, 4]


def test_a_servers_author_may_say_what_a_conversation_is() -> None:
    manager = habitual()
    served(ROUND, manager, conversation=lambda _context: "mine")
    check_observed(manager, "mine", ROUND)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_clients_are_conversations_in_both_eras(mode: str) -> None:
    manager = habitual()
    for name in ("a", "b"):
        asked(ROUND, manager, mode, name)
        check_observed(manager, name, ROUND)
    client = WaggleClient(server_of(), manager=manager)
    assert client.new()._conversation != client._conversation


def test_a_client_works_with_a_server_that_nobody_here_wrote_in_this_library() -> None:
    manager, shown = habitual(reads=()), list[Any]()
    turns = [
        [("find_user_id_by_email", {"email": "ada.lovelace@example.com"})],
        [("get_user_details", {"user_id": "ada_lovelace_1000"})],
        [("get_order_details", {"order_id": "#W1000"})],
        [("cancel_order", {"order_id": "#W9999", "reason": "no longer needed"})],
    ] * 6

    async def work() -> None:
        transport = StdioTransport(sys.executable, ["-m", "stretto.proxy.demo_server"])
        async with WaggleClient(transport, manager=manager, conversation="a") as client:
            shown.extend(await calls(client, turns))

    asyncio.run(work())
    check_observed(manager, "a", turns)
    assert any("get_order_details" in text for text in texts(shown)[-4:-2])
    assert shown[-1].is_error


def test_the_example_runs() -> None:
    check_example("fastmcp_agent.py")

"""Which response a message goes to, and what is kept of it for a reader whose connection broke."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from stretto.proxy.http.streams import Router, Stream
from tests.stretto.proxy.relays import message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MIB = 2**20


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(20):
            return await work()

    return asyncio.run(bounded())


def request(number: Any, token: Any = None, *, modern: bool = False) -> dict[str, Any]:
    meta: dict[str, Any] = {} if token is None else {"progressToken": token}
    if modern:
        meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28"
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"_meta": meta}}


def result(number: Any) -> bytes:
    return message(id=number, result={})


def notice(method: str = "notifications/message", **params: Any) -> bytes:
    return message(method=method, params=params)


async def rest(stream: Stream, after: int = 0) -> list[bytes]:
    """What a stream says until it ends, or until nothing comes."""
    lines = []
    async for event in stream.read(after, 0.01):
        if event is None:
            break
        lines.append(event.line)
    return lines


@given(st.permutations([1, "1", 0, "", "a b", 2**63, -1, 1.5]))
def test_an_answer_goes_where_its_request_came_from(order: list[Any]) -> None:
    async def work() -> None:
        router = Router()
        streams = {repr(number): router.open(request(number)) for number in (1, "1", 0, "", "a b", 2**63, -1, 1.5)}
        for number in order:
            await router.deliver(result(number))
        for number in order:
            assert await rest(streams[repr(number)]) == [result(number)]
        assert not router.busy

    run(work)


def test_progress_and_news_of_a_subscription_go_with_their_request() -> None:
    async def work() -> None:
        router = Router()
        one, other = router.open(request(1, "t")), router.open(request("s", modern=True))
        progress = notice("notifications/progress", progressToken="t", progress=1)
        news = notice("notifications/x", _meta={"io.modelcontextprotocol/subscriptionId": "s"})
        await router.deliver(news)
        await router.deliver(progress)
        assert await rest(one) == [progress]
        assert await rest(other) == [news]
        await router.deliver(result(1))
        await router.deliver(progress)  # late, and nobody's: of the one request that is open
        assert await rest(one, 1) == [result(1)]

    run(work)


def test_anything_else_goes_to_the_one_open_request_to_the_standing_stream_or_to_the_latest_request() -> None:
    async def work() -> None:
        router = Router()
        waits = notice(n=0)
        await router.deliver(waits)
        one = router.open(request(1))
        await router.deliver(notice(n=1))
        other = router.open(request(2))
        await router.deliver(notice(n=2))
        router.standing.readers = 1
        await router.deliver(notice(n=3))
        await router.deliver(result(1))
        await router.deliver(notice(n=4))
        await router.deliver(result(2))
        await router.deliver(notice(n=5))
        assert await rest(one) == [waits, notice(n=1), result(1)]
        assert await rest(other) == [notice(n=2), notice(n=4), result(2)]
        assert await rest(router.standing, 1) == [notice(n=3), notice(n=5)]

    run(work)


def test_an_answer_that_nobody_waits_for_goes_nowhere_and_what_is_no_message_neither() -> None:
    async def work() -> None:
        router = Router()
        stream = router.open(request(1))
        for line in (result(2), b"hello\n", b"[]\n", b'"x"\n', b"\xff\n", result(1), result(1)):
            await router.deliver(line)
        assert await rest(stream) == [result(1)]
        assert await rest(router.standing) == []

    run(work)


def test_a_batch_of_answers_ends_the_response_to_the_batch() -> None:
    async def work() -> None:
        router = Router()
        stream = router.open([request(1), request(2), {"jsonrpc": "2.0", "method": "notice"}])
        line = b'[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":1,"error":{"code":1}}]\n'
        await router.deliver(line)
        assert await rest(stream) == [line]
        assert not router.busy

    run(work)


def test_a_stream_can_be_read_again_from_where_its_reader_broke_off() -> None:
    async def work() -> None:
        router = Router()
        stream = router.open(request(1))
        await router.deliver(notice(n=1))
        async for event in stream.read(0, 1):
            assert event
            assert event.number == 1
            break
        stream.leave()
        await router.deliver(notice(n=2))
        await router.deliver(result(1))
        found = router.find(stream.number)
        assert found is stream
        assert await rest(found, 1) == [notice(n=2), result(1)]
        assert router.find(99) is None

    run(work)


def test_requests_of_the_later_era_are_not_kept_once_they_are_answered() -> None:
    async def work() -> None:
        router = Router()
        stream = router.open(request(1, modern=True))
        await router.deliver(result(1))
        assert router.find(stream.number) is None
        gone = router.open(request(2, modern=True))
        assert router.abandon(gone) == [2]
        assert not router.busy

    run(work)


def test_what_nobody_reads_is_kept_only_so_far() -> None:
    async def work() -> None:
        router = Router()
        line = notice(text="x" * MIB)
        for _ in range(50):
            await router.deliver(line)
        assert router.standing.size_bytes <= 4 * MIB
        for number in range(50):
            stream = router.open(request(number))
            stream.leave()
            await router.deliver(message(id=number, result="x" * MIB))
        kept = [number for number in range(200) if router.find(number)]
        assert len(kept) <= 5

    run(work)


def test_a_slow_reader_holds_up_its_server_and_misses_nothing() -> None:
    async def work() -> None:
        router = Router()
        stream = router.open(request(1))
        lines = [notice(n=number, text="x" * MIB) for number in range(30)]

        async def said() -> None:
            for line in [*lines, result(1)]:
                await router.deliver(line)

        saying = asyncio.create_task(said())
        await asyncio.sleep(0.1)
        assert not saying.done()
        assert stream.size_bytes <= 10 * MIB
        assert await rest(stream) == [*lines, result(1)]
        await saying

    run(work)


def test_an_answer_that_comes_first_and_in_time_needs_no_stream() -> None:
    async def work() -> None:
        router = Router()
        quick, noisy, slow, only = (router.open(request(number)) for number in range(4))
        await router.deliver(result(0))
        assert await quick.answer(5) == result(0)
        noisy.add(notice())
        await router.deliver(result(1))
        assert await noisy.answer(5) is None
        assert await slow.answer(0.01) is None
        only.add(notice())
        waiting = asyncio.create_task(only.answer(None))
        await router.deliver(result(3))
        assert await waiting == result(3)

    run(work)


def test_a_server_that_answers_with_errors_alone_has_refused() -> None:
    async def work() -> None:
        router = Router()
        seen = [router.refused]
        router.open(request(1))
        await router.deliver(message(id=1, error={"code": -32601}))
        seen.append(router.refused)
        router.open(request(2))
        seen.append(router.refused)
        await router.deliver(result(2))
        router.open(request(3))
        await router.deliver(message(id=3, error={"code": 1}))
        assert [*seen, router.refused] == [False, True, False, False]

    run(work)

"""Pipes between a thread's blocking reads and an event loop."""

from __future__ import annotations

import asyncio
import os
import threading

from stretto.proxy.http.pipes import LineReader


def _readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "stretto-lines"]


def test_a_reader_ends_quietly_when_its_loop_ends_while_it_waits_for_a_line_to_be_taken() -> None:
    source, sink = os.pipe()
    before = _readers()

    async def begin() -> threading.Thread:
        taken = asyncio.Event()

        async def take(_line: bytes) -> None:
            taken.set()
            await asyncio.Event().wait()  # until the loop's end cancels it

        LineReader(source, take, too_long=lambda: None, ended=lambda: None)
        os.write(sink, b"{}\n")
        await taken.wait()
        return next(thread for thread in _readers() if thread not in before)

    failures: list[threading.ExceptHookArgs] = []
    hook, threading.excepthook = threading.excepthook, failures.append
    try:
        reading = asyncio.run(begin())
        reading.join(5)
    finally:
        threading.excepthook = hook
        os.close(sink)
    assert not reading.is_alive()
    assert not failures

"""The command that answers hooks over HTTP: ``serve``."""

from __future__ import annotations

import logging
import os
import signal
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from waggle import __version__, _render
from waggle._defaults import EXIT_OK, EXIT_PROBLEMS
from waggle.admission import bind
from waggle.cli import options
from waggle.errors import StoreLocked
from waggle.hook.client import private_place
from waggle.hook.keeper import Keeper, displace
from waggle.hook.token import own_token

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.hook.web import Web

__all__ = ["serve"]

_HAND_OVER_S: Final = 15.0  # for a keeper to end, and for one that was starting just then


@click.command()
@options.address
def serve(*, address: str | None) -> int:
    """Answer Claude Code's HTTP hooks, until Ctrl-C.

    For those who do not want a process a call; waggle init claude-code --http puts such hooks into the settings. Needs
    the extra "http". Command hooks are answered as well meanwhile, so that a session is in one place. Only this machine
    is served, and only who knows the token that stands in the settings. While nobody answers, Claude Code says that the
    hook failed, and its calls go on.
    """
    host, port = options.loopback_address(address)
    if os.name != "posix":
        raise click.UsageError("serve needs Unix sockets, which Python has on Linux and macOS")
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise click.UsageError("serve needs a web server: pip install 'waggle-stretto[http]'")
    from waggle.hook.web import Web  # noqa: PLC0415 - a web server, which few need

    place = Path(private_place())
    keeper = Keeper(place, idle_s=None)
    try:
        listening = bind(host, port)
    except OSError as error:
        raise click.UsageError(f"--address {host}:{port}: {error.strerror or error}") from None
    with listening, _log_shown(), _ended_by_signals(keeper) as signals:
        web = Web(keeper.desk, listening, own_token(place), keeper.stop)
        _run(keeper, web, place)
    if not signals:
        _render.note("ended: its directory, or its web server, is gone")
        return EXIT_PROBLEMS
    _render.note(f"ended by {signals[0].name}")
    return EXIT_OK


def _run(keeper: Keeper, web: Web, place: Path) -> None:
    """Answer, in the place of a keeper that a hook has started."""
    until = time.monotonic() + _HAND_OVER_S
    while True:
        try:
            return keeper.run(beside=_told(web))
        except StoreLocked:
            if time.monotonic() > until:
                raise
        if displace(place):
            _render.note("the keeper of the command hooks hands over")
        time.sleep(0.05)


@contextmanager
def _told(web: Web) -> Iterator[None]:
    with web:
        _render.note(f"waggle {__version__} answers at {web.url('claude-code')}; Ctrl-C ends it")
        yield


class _Lines(logging.Handler):
    """What is worth a line and no warning, which the program prints anyway."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING:
            _render.note(f"{time.strftime('%H:%M:%S')} {record.getMessage()}")


@contextmanager
def _log_shown() -> Iterator[None]:
    logger, handler = logging.getLogger("waggle.hook"), _Lines(logging.INFO)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


@contextmanager
def _ended_by_signals(keeper: Keeper) -> Iterator[list[signal.Signals]]:
    """Ctrl-C and a request to terminate end a keeper, which takes a few seconds at most. Gives what has come."""
    came: list[signal.Signals] = []
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def end(number: int, _: object) -> None:
        came.append(signal.Signals(number))
        keeper.stop()

    for each in before:
        signal.signal(each, end)
    try:
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)

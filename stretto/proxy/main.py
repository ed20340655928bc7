"""The command ``stretto-proxy``: stands where a host starts an MCP server, and starts that server itself.

Parses the command line, builds the taps it asks for, and runs a relay. Standard output carries the protocol only; what
is to be told goes to standard error. Not responsible for anything that happens to a line.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import stretto
from stretto._defaults import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    LOOKUPS_PER_CALL,
    LOOKUPS_PER_SESSION,
    QUESTIONS_PER_SESSION,
    THRESHOLD,
)
from stretto.proxy.assembly import Assembly, FlowOptions, Options, RecordOptions
from stretto.proxy.relay import EXIT_FAILED
from waggle.errors import WaggleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.proxy.relay import Relay

__all__ = ["main"]

_NAME: Final = "stretto-proxy"
_DECIDERS: Final = ("reach", "habit", "arbiter")  #: `stretto.deciders.decide.DECIDERS`, without importing them

#: How long a thread that parses and writes a log keeps one that forwards waiting, seconds. Python's own 5 ms would be
#: the longest time that recording adds to a message.
_SWITCH_S: Final = 0.0005

_log = logging.getLogger("waggle")


class _OwnPath(click.Path):
    """A path of ours, in which a leading ``~`` is the user's home; in the server's command nothing is expanded."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, expanded."""
        return super().convert(os.path.expanduser(value), param, ctx)  # noqa: PTH111 - may be a text that is no path


class _Surprise(click.ParamType[float]):
    """``off``, as 0, or nats above 0."""

    name = "surprise"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The threshold, 0 for none."""
        if value == "off":
            return 0.0
        with suppress(TypeError, ValueError):
            if 0 < (number := float(value)) < float("inf"):
                return number
        raise click.BadParameter(f"{value!r} is neither off nor a number above 0", ctx, param)


#: The options that say how a flow acts, by their names in Python, and those that say what a recording holds.
_OF_FLOW: Final = frozenset(
    {
        "flow_threshold",
        "flow_decider",
        "flow_per_call",
        "flow_per_session",
        "flow_questions",
        "flow_log",
        "flow_tools",
        "flow_shadow",
        "flow_explore",
        "flow_explore_seed",
        "flow_surprise",
        "task_id",
        "oracle",
        "oracle_cache",
    }
)
_OF_RECORD: Final = frozenset({"domain", "agent_model", "retain_days"})

_PATH: Final = _OwnPath()
_SHARE: Final = click.FloatRange(0, 1)


@click.command(
    _NAME,
    context_settings={"help_option_names": ["-h", "--help"], "allow_interspersed_args": False},
    epilog="\b\nExit status: the server's, 128+n when signal n ended it; 125 when the proxy fails or cannot start the\n"
    "server; 2 when the command line or a flow cannot be used.",
)
@click.version_option(stretto.__version__, prog_name=_NAME, message="%(prog)s %(version)s")
@click.option("--record", type=_PATH, metavar="DIR", help="Record the session in this directory.")
@click.option("--domain", metavar="NAME", help="Field of work, for the record.")
@click.option("--agent-model", metavar="NAME", help="The agent's model, for the record.")
@click.option(
    "--server-name",
    metavar="NAME",
    help="Tells this server from others of the same agent, for the record and for a flow over several servers.",
)
@click.option(
    "--retain-days",
    type=click.IntRange(min=1),
    metavar="N",
    help="At the start, remove session logs from the directory that nobody has written to for N days.",
)
@click.option(
    "--context", type=_PATH, metavar="FILE", help="Where the host hands over the conversation, as JSON Lines."
)
@click.option(
    "--flow", type=_PATH, metavar="FLOW", help="Let this flow act: make its lookups, and add what they found."
)
@click.option(
    "--flow-threshold",
    type=_SHARE,
    default=THRESHOLD,
    metavar="SCORE",
    help=f"Score from which on a lookup is made, 0 to 1. Default: {THRESHOLD}.",
)
@click.option(
    "--flow-decider",
    type=click.Choice(_DECIDERS),
    metavar="[reach|habit|arbiter]",
    help="Who weighs the lookups. Default: the flow's own.",
)
@click.option(
    "--flow-per-call",
    type=click.IntRange(min=0),
    default=LOOKUPS_PER_CALL,
    metavar="N",
    help=f"Most lookups after one call. Default: {LOOKUPS_PER_CALL}.",
)
@click.option(
    "--flow-per-session",
    type=click.IntRange(min=0),
    default=LOOKUPS_PER_SESSION,
    metavar="N",
    help=f"Most lookups in the session. Default: {LOOKUPS_PER_SESSION}.",
)
@click.option(
    "--flow-questions",
    type=click.IntRange(min=0),
    default=QUESTIONS_PER_SESSION,
    metavar="N",
    help=f"Most questions of an arbiter in the session. Default: {QUESTIONS_PER_SESSION}.",
)
@click.option(
    "--flow-log", type=_PATH, metavar="FILE", help="Where decisions are logged. Default: beside the session's log."
)
@click.option(
    "--flow-tools",
    metavar="NAMES",
    help="The only tools that are looked up, with commas; another server's as SERVER::TOOL.",
)
@click.option("--flow-shadow", is_flag=True, help="Decide and log, and look nothing up.")
@click.option(
    "--flow-explore",
    type=_SHARE,
    default=0.0,
    metavar="SHARE",
    help="Chance of taking another lookup than the decider's, 0 to 1. Default: 0.",
)
@click.option("--flow-explore-seed", type=int, default=0, metavar="N", help="Of these draws. Default: 0.")
@click.option(
    "--flow-surprise",
    type=_Surprise(),
    metavar="off|NATS",
    help="Mean surprise above which the session is left alone. Default: the flow's own.",
)
@click.option("--task-id", default="", metavar="ID", help="What the session works on, for the log of decisions.")
@click.option(
    "--oracle",
    type=click.Choice(("replay", "mock")),
    metavar="[replay|mock]",
    help="Whom an arbiter asks: answers given before, or made-up ones.",
)
@click.option("--oracle-cache", type=_PATH, metavar="FILE", help="The answers given before.")
@click.option("--guards", type=_PATH, metavar="FILE", help="Checks that a call must pass before it reaches the server.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="-- COMMAND...")
@click.pass_context
def _proxy(
    ctx: click.Context,
    /,
    *,
    record: Path | None,
    domain: str | None,
    agent_model: str | None,
    server_name: str | None,
    retain_days: int | None,
    context: Path | None,
    flow: Path | None,
    guards: Path | None,
    command: tuple[str, ...],
    **others: Any,
) -> int:
    """Stand between an MCP host and an MCP server.

    COMMAND starts the server, which speaks MCP over standard input and output. The host starts this instead; every
    message passes as it is. With --record the session is recorded, with --flow a flow looks ahead.
    """
    _check(ctx, record=record, context=context, flow=flow, guards=guards)
    settings = Options(
        command,
        RecordOptions(record, domain, agent_model, server_name, retain_days) if record else None,
        FlowOptions(flow, **_flow_options(others)) if flow else None,
        guards,
        context,
        server_name,
    )
    session = Assembly(settings).session()
    _pass_signals(session.relay)
    sys.setswitchinterval(_SWITCH_S)
    return session.run()


def _flow_options(given: dict[str, Any]) -> dict[str, Any]:
    """By the names of `FlowOptions`."""
    return {name.removeprefix("flow_").removesuffix("_id"): value for name, value in given.items()}


def _check(ctx: click.Context, **there: Path | None) -> None:
    """Refuse what would do nothing."""
    given = {
        name
        for name in ctx.params
        if name not in there and ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    for needed, names in (("flow", _OF_FLOW), ("record", _OF_RECORD)):
        if given & names and not there[needed]:
            raise click.UsageError(f"--{min(given & names).replace('_', '-')} does nothing without --{needed}")
    if "server_name" in given and not (there["record"] or there["flow"]):
        raise click.UsageError("--server-name does nothing without --record or --flow")
    if there["context"] and not (there["record"] or there["flow"] or there["guards"]):
        raise click.UsageError("--context does nothing without --record, --flow or --guards")


def _pass_signals(relay: Relay) -> None:
    """Hand what would end this process to the server; what we were told to ignore stays ignored."""
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        signum = getattr(signal, name, None)  # Windows has no SIGHUP
        if signum is not None and signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, lambda number, _: relay.stop(number))


class _Notes(logging.Handler):
    """Prints what the library warns of, a line each; a host that closed our standard error misses it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in record.getMessage())
        with suppress(OSError, ValueError, AttributeError):
            os.write(2, f"{_NAME}: {text}\n".encode("utf-8", "backslashreplace"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the proxy.

    Args:
        arguments: those of the command line; left out, this process's.

    Returns:
        The exit status: the server's, or 125 when the proxy fails, or 2 for what it cannot be started with.
    """
    notes = _Notes(logging.WARNING)
    _log.addHandler(notes)
    try:
        status = _proxy.main(args=arguments, prog_name=_NAME, standalone_mode=False)
        return status if isinstance(status, int) else EXIT_OK
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except WaggleError as error:
        _log.error("%s", error)
        return EXIT_USAGE
    except (KeyboardInterrupt, click.Abort):  # before there was anybody to pass it on to
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a stack trace would be a bug
        _log.error("failed: %s: %s", type(error).__name__, error)
        return EXIT_FAILED
    finally:
        _log.removeHandler(notes)


if __name__ == "__main__":
    sys.exit(main())

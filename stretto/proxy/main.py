"""The command ``stretto-proxy``: stands where a host starts an MCP server, and starts that server itself.

Parses the command line, builds the taps it asks for, and runs a relay. Standard output carries the protocol only; what
is to be told goes to standard error. Not responsible for anything that happens to a line.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import stretto
from stretto._defaults import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    HELD_SECONDS,
    LISTEN_IDLE_MINUTES,
    LOOKUP_SECONDS,
    LOOKUPS_PER_CALL,
    LOOKUPS_PER_SESSION,
    QUESTIONS_PER_SESSION,
    THRESHOLD,
)
from stretto.addresses import header_of, listening_at, server_url
from stretto.proxy.assembly import Assembly, FlowOptions, Options, RecordOptions, Upstream, WaggleOptions, host_session
from stretto.proxy.relay import EXIT_FAILED
from waggle.errors import WaggleError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["main"]

_NAME: Final = "stretto-proxy"
_CARRIERS: Final = ("auto", "inline", "plain")  #: `stretto.proxy.carrier.Carrier`, without importing it
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


class _Number(click.FloatRange):
    """A number in a range; ``nan`` is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            raise click.BadParameter("nan is no number", ctx, param)
        return number


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
        "flow_wait",
        "flow_lookup_wait",
        "flow_carrier",
        "task_id",
        "oracle",
        "oracle_cache",
    }
)
_OF_RECORD: Final = frozenset({"domain", "agent_model", "retain_days"})
_OF_LISTEN: Final = frozenset({"listen_token_file", "listen_idle"})

_PATH: Final = _OwnPath()
_SHARE: Final = _Number(0, 1)
_SECONDS: Final = _Number(0, 3600, min_open=True)  #: no agent waits for longer


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
    help="Tells this server from others of the same agent: in the record, in routes, in a flow over several.",
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
@click.option(
    "--flow-wait",
    type=_SECONDS,
    default=HELD_SECONDS,
    metavar="SECONDS",
    help=f"Longest time for which an answer is held for its lookups. Default: {HELD_SECONDS:g}.",
)
@click.option(
    "--flow-lookup-wait",
    type=_SECONDS,
    default=LOOKUP_SECONDS,
    metavar="SECONDS",
    help=f"Longest time for one lookup, within the former. Default: {LOOKUP_SECONDS:g}.",
)
@click.option(
    "--flow-carrier",
    type=click.Choice(_CARRIERS),
    default="auto",
    metavar="[auto|inline|plain]",
    help="Where lookups go: into an item that hosts show; to the end of the last text, for hosts that show one item "
    "only; or into a text, with no result structured any more. Default: auto.",
)
@click.option("--task-id", default="", metavar="ID", help="What the session works on, for the log of decisions.")
@click.option(
    "--oracle",
    type=click.Choice(("replay", "mock")),
    metavar="[replay|mock]",
    help="Whom an arbiter asks: answers given before, or made-up ones.",
)
@click.option("--oracle-cache", type=_PATH, metavar="FILE", help="The answers given before.")
@click.option(
    "--waggle",
    is_flag=True,
    help="Learn routes from what the agent does, let them act, and keep a ledger of all lookups.",
)
@click.option(
    "--waggle-project",
    type=_PATH,
    metavar="DIR",
    help="Whose routes and ledger. Default: the project that the proxy is started in.",
)
@click.option("--guards", type=_PATH, metavar="FILE", help="Checks that a call must pass before it reaches the server.")
@click.option("--commit", is_flag=True, help="Give the agent a tool, stretto_commit, that runs several calls in order.")
@click.option(
    "--listen",
    metavar="ADDR",
    help="Serve hosts over HTTP at this address, HOST:PORT or PORT, each session with a server of its own.",
)
@click.option("--listen-token-file", type=_PATH, metavar="FILE", help="Let in who has the token in this file.")
@click.option(
    "--listen-idle",
    type=click.FloatRange(min=0, min_open=True),
    default=LISTEN_IDLE_MINUTES,
    metavar="MIN",
    help=f"End a session in which nothing has crossed for so many minutes. Default: {LISTEN_IDLE_MINUTES}.",
)
@click.option("--upstream", metavar="URL", help="The server is there, and speaks MCP over HTTP.")
@click.option(
    "--upstream-header",
    "upstream_headers",
    multiple=True,
    metavar="NAME=VAR",
    help="Send it this header, with the value of an environment variable. May be repeated.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
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
    commit: bool,
    waggle: bool,
    waggle_project: Path | None,
    listen: str | None,
    listen_token_file: Path | None,
    listen_idle: float,
    upstream: str | None,
    upstream_headers: tuple[str, ...],
    command: tuple[str, ...],
    **others: Any,
) -> int:
    """Stand between an MCP host and an MCP server.

    COMMAND starts the server, which speaks MCP over standard input and output; one over HTTP is named with --upstream.
    The host starts this instead; every message passes as it is. With --record the session is recorded, with --flow a
    flow looks ahead, with --waggle the routes of a project do.
    """
    _check(ctx, record=record, context=context, flow=flow, guards=guards, waggle=waggle, listen=listen)
    settings = Options(
        _server(command, upstream, upstream_headers),
        Upstream(dict(map(_header, upstream_headers))) if upstream is not None else None,
        RecordOptions(record, domain, agent_model, server_name, retain_days) if record else None,
        FlowOptions(flow, **_flow_options(others)) if flow else None,
        guards,
        context,
        WaggleOptions(waggle_project) if waggle else None,
        commit,
        server_name,
    )
    assembly = Assembly(settings)
    sys.setswitchinterval(_SWITCH_S)
    if listen:
        return _listen(assembly, listen, listen_token_file, listen_idle * 60)
    session = assembly.session(host_session=host_session())
    _pass_signals(session.relay.stop)
    return session.run()


def _flow_options(given: dict[str, Any]) -> dict[str, Any]:
    """By the names of `FlowOptions`."""
    return {name.removeprefix("flow_").removesuffix("_id"): value for name, value in given.items()}


def _listen(assembly: Assembly, address: str, token_file: Path | None, idle_s: float) -> int:
    """Serve hosts over HTTP until a signal comes, which is how this ends when all is well."""
    host, port = listening_at(address, token=token_file is not None)
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise click.UsageError("--listen needs a web server: pip install 'waggle-stretto[http]'")
    from stretto.proxy.http.admission import bind, read_token  # noqa: PLC0415 - a web server, which few need
    from stretto.proxy.http.listening import Listener  # noqa: PLC0415

    token = read_token(token_file) if token_file else None
    listener = Listener(assembly, bind(host, port), token=token, idle_s=idle_s)
    _pass_signals(listener.stop)
    _log.warning("listening on %s", listener.url)
    serving = threading.Thread(target=listener.run, name="stretto-listener", daemon=True)
    serving.start()
    serving.join()
    return EXIT_OK


def _server(command: Sequence[str], upstream: str | None, headers: Sequence[object]) -> Sequence[str]:
    """The one server that is named: its command, or its URL alone."""
    if headers and upstream is None:
        raise click.UsageError("--upstream-header does nothing without --upstream")
    if bool(command) == (upstream is not None):
        raise click.UsageError("name one server: either -- COMMAND... or --upstream URL")
    if upstream is None:
        return command
    if find_spec("httpx2") is None:
        raise click.UsageError("--upstream needs an HTTP client: pip install 'waggle-stretto[http]'")
    return (server_url(upstream),)


def _header(text: str) -> tuple[str, str]:
    """A header's name and its value, which is never shown."""
    name, variable = header_of(text)
    value = os.environ.get(variable)
    if value is None:  # which may be the secret itself, and is not repeated
        raise click.UsageError(f"--upstream-header {name}=VAR: there is no environment variable of the name given")
    if not value.isascii() or not value.isprintable() or not value.strip():
        raise click.UsageError(f"--upstream-header {name}=VAR: what the variable holds cannot be sent as a header")
    return name.lower(), value.strip()


def _check(ctx: click.Context, **there: object) -> None:
    """Refuse what would do nothing."""
    given = {
        name
        for name in ctx.params
        if name not in there and ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    needs = (("flow", _OF_FLOW), ("record", _OF_RECORD), ("waggle", {"waggle_project"}), ("listen", _OF_LISTEN))
    for needed, names in needs:
        if given & names and not there[needed]:
            raise click.UsageError(f"--{min(given & names).replace('_', '-')} does nothing without --{needed}")
    if "server_name" in given and not any(there[name] for name in ("record", "flow", "waggle")):
        raise click.UsageError("--server-name does nothing without --record, --flow or --waggle")
    if there["context"] and there["listen"]:
        raise click.UsageError("--context is one conversation's, and with --listen there are several")
    if there["context"] and not any(there[name] for name in ("record", "flow", "guards", "waggle")):
        raise click.UsageError("--context does nothing without --record, --flow, --guards or --waggle")


def _pass_signals(stop: Callable[[int], None]) -> None:
    """Hand what would end this process to whoever ends it; what we were told to ignore stays ignored."""
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        signum = getattr(signal, name, None)  # Windows has no SIGHUP
        if signum is not None and signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, lambda number, _: stop(number))


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

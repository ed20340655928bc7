"""The command ``stretto-proxy``: stands where a host starts an MCP server, and starts that server itself.

Parses the command line, builds the taps it asks for, and runs a relay. Standard output carries the protocol only; what
is to be told goes to standard error. Not responsible for anything that happens to a line.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, fields
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
    RECORD_FLUSH_S,
    SURPRISE_WINDOW,
    THRESHOLD,
)
from stretto.proxy.relay import EXIT_FAILED, Relay
from waggle.errors import WaggleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.deciders.oracle import Oracle
    from stretto.flowlog import FlowLog
    from stretto.proxy.guarding import GuardTap
    from stretto.proxy.recording import Recording
    from stretto.proxy.serving import Serving

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


@dataclass(frozen=True, slots=True)
class _FlowOptions:
    """What the options that begin with ``--flow`` say, and those that go with them."""

    flow: Path | None
    flow_threshold: float
    flow_decider: str | None
    flow_per_call: int
    flow_per_session: int
    flow_questions: int
    flow_log: Path | None
    flow_tools: str | None
    flow_shadow: bool
    flow_explore: float
    flow_explore_seed: int
    flow_surprise: float | None
    task_id: str
    oracle: str | None
    oracle_cache: Path | None


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
@click.option("--server-name", metavar="NAME", help="Tells this server from others of the same agent, for the record.")
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
@click.option("--flow-tools", metavar="NAMES", help="The only tools that are looked up, with commas.")
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
    guards: Path | None,
    command: tuple[str, ...],
    **others: Any,
) -> int:
    """Stand between an MCP host and an MCP server.

    COMMAND starts the server, which speaks MCP over standard input and output. The host starts this instead; every
    message passes as it is. With --record the session is recorded, with --flow a flow looks ahead.
    """
    options = _FlowOptions(**others)
    _check(ctx, options, record, context=context, guards=guards)
    recording = None
    if record:
        recording = _recording(
            record,
            context,
            command=command,
            domain=domain,
            agent_model=agent_model,
            server_name=server_name,
            retain_days=retain_days,
        )
    serving = decisions = None
    if options.flow:
        decisions = _flow_log(options, recording)
        serving = _serving(options, context, decisions)
    relay = Relay(command, taps=[tap for tap in (recording, serving) if tap])
    if serving:
        serving.attach(relay)
    if guards:  # what they refuse is recorded, and nobody else sees it
        relay.taps.insert(1 if recording else 0, _guarding(guards, context, relay))
    _pass_signals(relay)
    sys.setswitchinterval(_SWITCH_S)
    status = relay.run()
    if decisions:
        decisions.flush(RECORD_FLUSH_S)
    return status


def _check(
    ctx: click.Context, options: _FlowOptions, record: Path | None, *, context: Path | None, guards: Path | None
) -> None:
    """Refuse what would do nothing."""
    given = {
        name
        for name in ctx.params
        if name not in {"command", "flow", "guards"}
        and ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    of_flow = given & {each.name for each in fields(_FlowOptions)}
    of_record = given & {"domain", "agent_model", "server_name", "retain_days"}
    for names, needed, there in ((of_flow, "--flow", options.flow), (of_record, "--record", record)):
        if names and not there:
            raise click.UsageError(f"--{min(names).replace('_', '-')} does nothing without {needed}")
    if context and not (record or options.flow or guards):
        raise click.UsageError("--context does nothing without --record, --flow or --guards")


def _recording(directory: Path, context: Path | None, **named: Any) -> Recording:
    from stretto.proxy.context import Conversation  # noqa: PLC0415 - a host waits for its server to start
    from stretto.proxy.recording import Recording  # noqa: PLC0415
    from waggle.background import Faults  # noqa: PLC0415

    faults = Faults()
    parent = f"host-{os.getppid()}" if os.name == "posix" else None
    return Recording(
        directory,
        started_unix_ms=time.time_ns() // 1_000_000,
        process_id=os.getpid(),
        host_session=os.environ.get("STRETTO_SESSION") or parent,
        conversation=Conversation(context, faults) if context else None,
        faults=faults,
        **named,
    )


def _guarding(path: Path, context: Path | None, relay: Relay) -> GuardTap:
    from stretto.proxy.context import Conversation  # noqa: PLC0415 - see `_recording`
    from stretto.proxy.guarding import GuardTap  # noqa: PLC0415
    from stretto.proxy.guards import read_guards  # noqa: PLC0415
    from waggle.background import Faults  # noqa: PLC0415

    guards = read_guards(path)
    if guards.listens and context is None:
        raise click.UsageError(f"{path}: a check asks what the user said; give the conversation with --context")
    # One of its own: each reader keeps its place in the file.
    conversation = Conversation(context, Faults()) if context else None

    def heard() -> list[str]:
        return [said.text for said in conversation.news() if said.role == "user"] if conversation else []

    return GuardTap(guards, relay.to_host, heard)


def _flow_log(options: _FlowOptions, recording: Recording | None) -> FlowLog | None:
    from stretto.flowlog import FlowLog  # noqa: PLC0415 - see `_recording`

    path = options.flow_log
    if path is None and recording:
        path = recording.path.with_suffix(".flow.jsonl")
    return FlowLog(path) if path else None


def _serving(options: _FlowOptions, context: Path | None, decisions: FlowLog | None) -> Serving:
    from stretto.flow.file import read_flow  # noqa: PLC0415 - see `_recording`
    from stretto.flow.model import Gate  # noqa: PLC0415
    from stretto.proxy.serving import Serving  # noqa: PLC0415

    assert options.flow  # noqa: S101 - the caller has looked
    flow = read_flow(options.flow)
    gate = flow.surprise
    if options.flow_surprise is not None:
        window = gate.window if gate else SURPRISE_WINDOW
        gate = Gate(window, options.flow_surprise) if options.flow_surprise else None
    tools = options.flow_tools
    return Serving(
        flow,
        context=context,
        shadow=options.flow_shadow,
        decider=options.flow_decider,
        threshold=options.flow_threshold,
        per_call=options.flow_per_call,
        per_session=options.flow_per_session,
        questions=options.flow_questions,
        allowed_tools=None if tools is None else [name.strip() for name in tools.split(",") if name.strip()],
        explore=options.flow_explore,
        explore_seed=options.flow_explore_seed,
        task=options.task_id,
        gate=gate,
        on_line=decisions,
        oracle=_oracle(options.oracle, options.oracle_cache),
    )


def _oracle(kind: str | None, cache: Path | None) -> Oracle | None:
    from stretto.deciders.oracle import MockOracle, ReplayOracle  # noqa: PLC0415 - most flows have no arbiter

    if (kind == "replay") != (cache is not None):
        raise click.UsageError("--oracle replay and --oracle-cache go together")
    if cache:
        return ReplayOracle(cache)
    return MockOracle() if kind == "mock" else None


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

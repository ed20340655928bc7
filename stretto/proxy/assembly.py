"""What the command line asks for, made into the taps of each session.

What sessions share, a flow and its guards, is read once; a file that cannot be used is refused then. Modules are
imported where an option needs them: a host waits for its server to start. Not responsible for the command line
(`stretto.proxy.main`) nor for what a tap does.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from stretto._defaults import RECORD_FLUSH_S, SURPRISE_WINDOW
from stretto.errors import UsageError
from stretto.proxy.process import ServerProcess
from stretto.proxy.relay import Relay, Waits
from waggle.errors import WaggleError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from stretto.deciders.oracle import Oracle
    from stretto.flowlog import FlowLog
    from stretto.proxy.carrier import Carrier
    from stretto.proxy.guarding import GuardTap
    from stretto.proxy.guards import Guards
    from stretto.proxy.peers.mesh import Mesh
    from stretto.proxy.peers.names import Names
    from stretto.proxy.recording import Recording
    from stretto.proxy.relay import Start
    from stretto.proxy.serving.memory import Memory
    from stretto.proxy.serving.tap import Serving
    from stretto.speculator import Prepared

__all__ = [
    "Assembly",
    "FlowOptions",
    "Options",
    "RecordOptions",
    "Session",
    "Upstream",
    "WaggleOptions",
    "host_session",
]


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Where sessions are recorded, and what their headers say; see `stretto.proxy.recording.Recording`."""

    directory: Path
    domain: str | None = None
    agent_model: str | None = None
    server_name: str | None = None
    retain_days: int | None = None


@dataclass(frozen=True, slots=True)
class FlowOptions:
    """The flow that acts, and how; see `stretto.proxy.serving.tap.Serving` and `stretto.speculator.Speculator`."""

    path: Path
    threshold: float
    decider: str | None
    per_call: int
    per_session: int
    questions: int
    log: Path | None
    tools: str | None
    shadow: bool
    explore: float
    explore_seed: int
    surprise: float | None
    wait: float
    lookup_wait: float
    carrier: Carrier
    task: str
    oracle: str | None
    oracle_cache: Path | None


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server over HTTP: the headers that every request to it has, which may hold credentials."""

    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WaggleOptions:
    """Whose routes act and are learned; see `stretto.proxy.serving.memory.open_memory`."""

    project: Path | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What every session of a proxy is to have.

    Attributes:
        command: the server's; its URL where it is reached over HTTP.
        upstream: how it is reached over HTTP; None for a command that is started.
        record: None for no recording.
        flow: None for none.
        guards: file of the checks.
        context: where the host hands over the conversation.
        waggle: None for no routes.
        commit: give the agent a tool that runs several calls.
        server_name: of the server, among those of one agent; else the domain of the record tells it from others.
    """

    command: Sequence[str]
    upstream: Upstream | None = None
    record: RecordOptions | None = None
    flow: FlowOptions | None = None
    guards: Path | None = None
    context: Path | None = None
    waggle: WaggleOptions | None = None
    commit: bool = False
    server_name: str | None = None


class Session:
    """One session, ready to be relayed.

    Attributes:
        relay: with its taps.
    """

    def __init__(self, relay: Relay, decisions: FlowLog | None, memory: Memory | None) -> None:
        self.relay = relay
        self._decisions = decisions
        self._memory = memory

    def run(self) -> int:
        """Relay until the session is over; see `Relay.run`."""
        status = self.relay.run()
        if self._decisions:
            self._decisions.flush(RECORD_FLUSH_S)
        if self._memory:
            self._memory.manager.flush(RECORD_FLUSH_S)
        return status


class Assembly:
    """Makes sessions after one set of options.

    Raises:
        UsageError: options do not go together.
        WaggleError: a flow, a file of checks or a project cannot be used.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._guards = _guards(options.guards, options.context) if options.guards else None
        self._flow = _prepared(options.flow) if options.flow else None
        self._names = self._named(self._flow) if self._flow else None
        self._oracle = _oracle(options.flow.oracle, options.flow.oracle_cache) if options.flow else None
        # Routes have the names that the flow has, where it knows several servers.
        server = (self._names.server if self._names else "") or options.server_name or ""
        self._memory = _memory(options.waggle, server) if options.waggle else None
        if self._memory and self._flow:
            self._memory.curate(self._flow)

    def session(
        self,
        *,
        stdin: int = 0,
        stdout: int = 1,
        number: int | None = None,
        host_session: str | None = None,
        caller: Callable[[], str | None] = lambda: None,
    ) -> Session:
        """Make a session.

        Args:
            stdin: descriptor of what the host writes.
            stdout: descriptor of what it reads.
            number: of the session, where one process has several.
            host_session: what it has in common with sessions of the same host with other servers.
            caller: the value of the ``Authorization`` header that the host has given last; a server over HTTP gets it,
                and nobody else.
        """
        options = self._options
        # A host over HTTP learns at once that its server is gone, and begins anew.
        waits = None if number is None else Waits(asked=0.0)
        relay = Relay(options.command, start=self._start(caller), stdin=stdin, stdout=stdout, waits=waits)
        recording = self._recording(number, host_session) if options.record else None
        if recording:
            relay.taps.append(recording)
        guarding = self._guarding(self._guards, relay) if self._guards else None
        if guarding:  # what they refuse is recorded, and nobody else sees it
            relay.taps.append(guarding)
        if options.flow and options.flow.carrier == "plain" and not options.flow.shadow:
            from stretto.proxy.plain import Plain  # noqa: PLC0415 - see `_recording`

            relay.taps.append(Plain())
        decisions = _flow_log(options.flow, recording) if options.flow else None
        if self._flow or self._memory:
            serving = self._serving(self._name(recording, number) if self._memory else "", decisions, host_session)
            relay.taps.append(serving)
            serving.attach(relay)
        if options.commit:
            from stretto.proxy.committing import Commit  # noqa: PLC0415 - see `_recording`

            relay.taps.append(Commit(relay, guarding.refusal) if guarding else Commit(relay))
        if relay.taps or options.upstream or number is not None:  # somebody looks, or HTTP carries messages only
            from stretto.proxy.wirerules import WireRules  # noqa: PLC0415 - see `_recording`

            relay.taps.insert(1 if recording else 0, WireRules(relay))
        return Session(relay, decisions, self._memory)

    @staticmethod
    def _name(recording: Recording | None, number: int | None) -> str:
        from stretto.sessions.log import session_name  # noqa: PLC0415 - see `_recording`

        return recording.session if recording else session_name(time.time_ns() // 1_000_000, os.getpid(), number)

    def _start(self, caller: Callable[[], str | None]) -> Start:
        upstream = self._options.upstream
        if upstream is None:
            return ServerProcess
        from stretto.proxy.http.upstream import HttpServer  # noqa: PLC0415 - an HTTP client, which few need

        return partial(HttpServer, headers=upstream.headers, caller=caller)

    def _recording(self, number: int | None, host_session: str | None) -> Recording:
        from stretto.proxy.context import Conversation  # noqa: PLC0415 - a host waits for its server to start
        from stretto.proxy.recording import Recording  # noqa: PLC0415
        from waggle.background import Faults  # noqa: PLC0415

        record = self._options.record
        assert record  # noqa: S101 - the caller has looked
        faults = Faults()
        context = self._options.context
        return Recording(
            record.directory,
            command=self._options.command,
            started_unix_ms=time.time_ns() // 1_000_000,
            process_id=os.getpid(),
            number=number,
            domain=record.domain,
            agent_model=record.agent_model,
            server_name=record.server_name,
            retain_days=record.retain_days,
            host_session=host_session,
            conversation=Conversation(context, faults) if context else None,
            faults=faults,
        )

    def _guarding(self, guards: Guards, relay: Relay) -> GuardTap:
        from stretto.proxy.context import Conversation  # noqa: PLC0415 - see `_recording`
        from stretto.proxy.guarding import GuardTap  # noqa: PLC0415
        from waggle.background import Faults  # noqa: PLC0415

        # One of its own: each reader keeps its place in the file.
        conversation = Conversation(self._options.context, Faults()) if self._options.context else None

        def heard() -> list[str]:
            return [said.text for said in conversation.news() if said.role == "user"] if conversation else []

        return GuardTap(guards, relay.to_host, heard)

    def _named(self, flow: Prepared) -> Names:
        from stretto.proxy.peers.names import names_of  # noqa: PLC0415 - see `_recording`

        record = self._options.record
        return names_of(flow.flow.manifest, self._options.server_name or (record.domain if record else None))

    def _mesh(self, names: Names, flow: Prepared, host_session: str | None) -> Mesh | None:
        """The connections to the proxies of other servers, made anew for each session."""
        from stretto.place import runtime_dir  # noqa: PLC0415 - most flows know one server
        from stretto.proxy.peers.meeting import Meeting  # noqa: PLC0415
        from stretto.proxy.peers.mesh import Mesh  # noqa: PLC0415

        try:
            if host_session is None:
                raise UsageError("give all of them the same STRETTO_SESSION, or over HTTP the header Stretto-Session")
            return Mesh(Meeting(runtime_dir(), host_session), names.server, flow.faults)
        except WaggleError as error:
            flow.faults.note("the proxies of one host session cannot find each other", error)
            return None

    def _serving(self, name: str, decisions: FlowLog | None, host_session: str | None) -> Serving:
        from stretto.proxy.serving.tap import Serving  # noqa: PLC0415 - see `_recording`

        flow = self._options.flow
        options = _flow_options(flow, self._flow) if flow and self._flow else {}
        if options:
            options |= {"on_line": decisions, "oracle": self._oracle}
        if self._flow and self._names and not self._memory:
            options |= {"names": self._names, "mesh": self._mesh(self._names, self._flow, host_session)}
        return Serving(self._flow, memory=self._memory, session=name, context=self._options.context, **options)


def _flow_options(options: FlowOptions, flow: Prepared) -> dict[str, Any]:
    """By the names that `stretto.proxy.serving.tap.Serving` has for them."""
    from stretto.flow.model import Gate  # noqa: PLC0415 - see `Assembly._recording`

    gate = flow.flow.surprise
    if options.surprise is not None:
        window = gate.window if gate else SURPRISE_WINDOW
        gate = Gate(window, options.surprise) if options.surprise else None
    tools = options.tools
    return {
        "held_s": options.wait,
        "lookup_s": options.lookup_wait,
        "carrier": options.carrier,
        "shadow": options.shadow,
        "decider": options.decider,
        "threshold": options.threshold,
        "per_call": options.per_call,
        "per_session": options.per_session,
        "questions": options.questions,
        "allowed_tools": None if tools is None else [name.strip() for name in tools.split(",") if name.strip()],
        "explore": options.explore,
        "explore_seed": options.explore_seed,
        "task": options.task,
        "gate": gate,
    }


def _memory(options: WaggleOptions, server: str) -> Memory | None:
    from stretto.proxy.serving.memory import open_memory  # noqa: PLC0415 - see `Assembly._recording`

    return open_memory(options.project, server)


def host_session() -> str | None:
    """What the proxies have in common that one host has started; None where it cannot be told."""
    parent = f"host-{os.getppid()}" if os.name == "posix" else None
    return os.environ.get("STRETTO_SESSION") or parent


def _guards(path: Path, context: Path | None) -> Guards:
    from stretto.proxy.guards import read_guards  # noqa: PLC0415 - see `Assembly._recording`

    guards = read_guards(path)
    if guards.listens and context is None:
        raise UsageError(f"{path}: a check asks what the user said; give the conversation with --context")
    return guards


def _prepared(options: FlowOptions) -> Prepared:
    from stretto.flow.file import read_flow  # noqa: PLC0415 - see `Assembly._recording`
    from stretto.speculator import Prepared  # noqa: PLC0415

    return Prepared(read_flow(options.path))


def _flow_log(options: FlowOptions, recording: Recording | None) -> FlowLog | None:
    from stretto.flowlog import FlowLog  # noqa: PLC0415 - see `Assembly._recording`

    path = options.log
    if path is None and recording:
        path = recording.path.with_suffix(".flow.jsonl")
    return FlowLog(path) if path else None


def _oracle(kind: str | None, cache: Path | None) -> Oracle | None:
    from stretto.deciders.oracle import MockOracle, ReplayOracle  # noqa: PLC0415 - most flows have no arbiter

    if (kind == "replay") != (cache is not None):
        raise UsageError("--oracle replay and --oracle-cache go together")
    if cache:
        return ReplayOracle(cache)
    return MockOracle() if kind == "mock" else None

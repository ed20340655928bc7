"""From recorded sessions to traces: whatever `stretto.sessions` reads, as the compiler takes it.

An effect is what the user declares, else what the recording says where the user trusts it, else unknown: a server's own
hint never lowers an effect by itself. Not responsible for files: sessions come from `stretto.sessions.corpus`,
declarations from `stretto.compiler.declared`. Values of sessions stand in traces as they are, and in no warning.

How events become positions: everything that was said, each call and each result has one, in order. The calls of one
turn come before the results of all of them, since they were decided at once: none can have fed another. A call without
a result, after which the agent went on, was not logged: it succeeded as far as anybody knows, and ended before the
agent's next turn. One after which nothing came never ended.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

from stretto.compiler.declared import Declared, DeclaredTool
from stretto.compiler.injecting import Injection
from stretto.compiler.model import UNLOGGED, Call, Effect, Thought, Trace, Utterance
from stretto.compiler.names import RawTool, canonical_names
from stretto.compiler.schemas import Tools, ToolSchema
from stretto.procedure.contracts import contract, contract_key
from stretto.sessions.episode import Assistant, ToolResult, User
from stretto.sessions.listing import contract_of
from stretto.sessions.manifest import Manifest
from stretto.sessions.qualified import SEPARATOR, server_of
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from stretto.compiler.model import Output
    from stretto.procedure.graph import Contract
    from stretto.sessions.corpus import Recorded
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Kind
    from waggle.jsonvalue import JsonValue

__all__ = ["KnownTools", "Reading", "known_tools", "raw_tool", "read_recorded", "value_of_result"]

#: How hosts of several MCP servers name a tool.
_OF_HOST: Final = re.compile(r"mcp__(.+?)__(.+)")

#: What a kind of a trusted recording is worth: that a write can be taken back is nobody's word.
_EFFECTS: Final[Mapping[Kind, Effect]] = {
    "read": Effect.READ,
    "write": Effect.IRREVERSIBLE,
    "generic": Effect.UNKNOWN,
}
_KINDS: Final[Mapping[Effect, Kind]] = {Effect.READ: "read", Effect.UNKNOWN: "generic"}
_WORSE: Final[tuple[Kind, ...]] = ("read", "write", "generic")

#: JSON in a text in JSON in a text: so often a result is read.
_NESTED: Final = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """What recorded sessions hold.

    Attributes:
        traces: one a session, sorted by id.
        tools: what is known of the actions.
        contracts: of the tools that were called, by `contract_key`.
        inject: the stable values that procedures are to hold, sorted by name.
        warnings: what was left out, and what names had to be changed, for people.
    """

    traces: tuple[Trace, ...]
    tools: Tools
    contracts: Mapping[str, Contract] = field(default_factory=dict)
    inject: tuple[Injection, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Tool:
    """What is known of one tool while sessions are read."""

    raw: RawTool
    declared: DeclaredTool
    effect: Effect
    kind: Kind | None
    takes: str | None
    name: tuple[str, str] = ("", "")

    @property
    def contract(self) -> Contract:
        schema = self.declared.input
        return contract(self.takes if schema is None else contract_of(schema), self.declared.output, self.kind)


def read_recorded(
    sessions: Iterable[Recorded],
    declared: Declared | None = None,
    *,
    trust: bool = False,
    failed: bool = False,
    sparse: bool = False,
) -> Reading:
    """Make traces of recorded sessions. Costs time linear in them; the order of the sessions changes nothing.

    Left out, and counted in the warnings: sessions without calls, those that did not reach their goal, and those of
    which a call's arguments are not known or are no object, since no such call can be made again.

    Args:
        sessions: of one source or several.
        declared: what the user says of the tools.
        trust: whether what the recording says that tools do may be believed where the user says nothing.
        failed: whether sessions that did not get the full reward are taken, too.
        sparse: whether an empty result means that none was recorded, as in spans.

    Raises:
        CanonicalCollision: the user gives one name to tools that do different things.
    """
    held = list(sessions)
    declared = declared or Declared()
    tools = _tools(held, declared, trust=trust)
    named = canonical_names(
        [(tool.raw, tool.effect) for tool in tools.values()],
        {
            tool.raw: (str(tool.declared.app), str(tool.declared.action))
            for tool in tools.values()
            if tool.declared.app is not None
        },
    )
    for tool in tools.values():
        tool.name = named.names[tool.raw]
    left_out: Counter[str] = Counter()
    traces = []
    for recorded in held:
        episode = recorded.episode
        problem = _problem(episode, failed=failed)
        if problem:
            left_out[problem] += 1
        else:
            traces.append(_Reader(episode, tools, sparse=sparse).trace())
    return Reading(
        tuple(sorted(_told_apart(traces), key=lambda trace: trace.id)),
        Tools(dict(_schemas(tools.values())), frozenset((each.output, each.argument) for each in declared.links)),
        {contract_key(tool.raw.server, tool.raw.name): tool.contract for tool in tools.values()},
        tuple(sorted(_injections(declared, tools), key=lambda each: each.name)),
        (
            *named.warnings,
            *(f"{count} of {len(held)} sessions left out: {problem}" for problem, count in sorted(left_out.items())),
            *_unused(declared, tools),
            *_unknown(tools),
        ),
    )


@dataclass(frozen=True, slots=True)
class KnownTools:
    """What is known of the tools that sessions call, for what asks only which of them read.

    Attributes:
        manifest: by recorded name: ``generic`` where an effect is not known.
        secrets: arguments that hold credentials, by tool; tools without any are left out.
        warnings: for people.
    """

    manifest: Manifest
    secrets: Mapping[str, tuple[str, ...]]
    warnings: tuple[str, ...]


def known_tools(sessions: Iterable[Recorded], declared: Declared | None = None, *, trust: bool = False) -> KnownTools:
    """What is known of the tools of recorded sessions, by the same rules as `read_recorded`; its arguments, too."""
    declared = declared or Declared()
    tools = _tools([*sessions], declared, trust=trust)
    return KnownTools(
        Manifest(tools={name: _KINDS.get(tool.effect, "write") for name, tool in tools.items()}),
        {name: tool.declared.secrets for name, tool in tools.items() if tool.declared.secrets},
        (*_unused(declared, tools), *_unknown(tools)),
    )


def raw_tool(recorded: str) -> RawTool:
    """The server and the tool that a recorded name tells: ``shop::refund`` and ``mcp__shop__refund`` alike."""
    server = server_of(recorded)
    if server:
        return RawTool(server, recorded[len(server) + len(SEPARATOR) :])
    host = _OF_HOST.fullmatch(recorded)
    return RawTool(host[1], host[2]) if host else RawTool("", recorded)


def value_of_result(text: str) -> JsonValue:
    """What a result holds: the value where it is JSON, a text of JSON included, else the text itself."""
    value: JsonValue = text
    for _ in range(_NESTED):
        if not isinstance(value, str) or not jsonvalue.may_be_json(value):
            break
        try:
            value = jsonvalue.loads(value)
        except ValueError:
            break
    return value


# --- tools --------------------------------------------------------------------------------------------------------


def _tools(held: list[Recorded], declared: Declared, *, trust: bool) -> dict[str, _Tool]:
    """All tools that were called, by their recorded names, sorted."""
    kinds: defaultdict[str, set[Kind]] = defaultdict(set)
    takes: defaultdict[str, set[str]] = defaultdict(set)
    called: set[str] = set()
    for recorded in held:
        for name in {call.name for turn in recorded.episode.turns() for call in turn.calls}:
            called.add(name)
            if name in recorded.manifest.tools:
                kinds[name].add(recorded.manifest.kind(name))
            if name in recorded.manifest.contracts:
                takes[name].add(recorded.manifest.contracts[name])
    found = {}
    for name in sorted(called):
        raw = raw_tool(name)
        says = declared.name_of(name, raw.server, raw.name)
        tool = declared.tools[says] if says is not None else DeclaredTool()
        kind = max(kinds[name], key=_WORSE.index, default=None)
        if tool.effect is not None:
            effect = Effect(tool.effect)
        else:
            effect = _EFFECTS[kind] if trust and kind is not None else Effect.UNKNOWN
        # Sessions that disagree on what a tool takes leave no one contract.
        found[name] = _Tool(raw, tool, effect, kind, takes[name].copy().pop() if len(takes[name]) == 1 else None)
    return found


def _schemas(tools: Iterable[_Tool]) -> Iterator[tuple[str, ToolSchema]]:
    for tool in tools:
        said = tool.declared
        if said.input is not None or said.output is not None or said.secrets or said.sessions:
            schema = ToolSchema(said.input, said.output, frozenset(said.secrets), frozenset(said.sessions))
            yield ".".join(tool.name), schema


def _injections(declared: Declared, tools: Mapping[str, _Tool]) -> Iterator[Injection]:
    for each in declared.inject:
        for name in sorted(
            {".".join(tool.name) for known, tool in tools.items() if _is_called(each.tool, known, tool)}
        ):
            yield Injection(name, each.path, tuple(sorted(each.scope.items())), each.days)


def _is_called(said: str, recorded: str, tool: _Tool) -> bool:
    return said in (recorded, f"{tool.raw.server}::{tool.raw.name}", tool.raw.name)


def _unused(declared: Declared, tools: Mapping[str, _Tool]) -> Iterator[str]:
    used = {declared.name_of(name, tool.raw.server, tool.raw.name) for name, tool in tools.items()}
    for name in sorted(set(declared.tools) - used):
        yield f"{name} is declared, and no session calls it"
    for each in declared.inject:
        if not any(_is_called(each.tool, name, tool) for name, tool in tools.items()):
            yield f"{each.tool} {each.path} is to be injected, and no session calls it"


def _unknown(tools: Mapping[str, _Tool]) -> Iterator[str]:
    unknown = sum(tool.effect is Effect.UNKNOWN and tool.declared.effect is None for tool in tools.values())
    if unknown:
        yield (
            f"it is not known what {unknown} of {len(tools)} tools do, so each counts as one that changes something "
            "for good: declare them, or trust the servers"
        )


# --- sessions -----------------------------------------------------------------------------------------------------


def _problem(episode: Episode, *, failed: bool) -> str:
    """Why a session is left out; empty where it is not."""
    calls = [call for turn in episode.turns() for call in turn.calls]
    if not calls:
        return "nothing is called"
    if not failed and not episode.succeeded:
        return "they did not reach their goal"
    if any(call.arguments is None for call in calls):
        return "arguments were not recorded"
    if not all(isinstance(call.arguments, dict) for call in calls):
        return "arguments are no object"
    return ""


class _Reader:
    """The events of one session on their way to a trace."""

    def __init__(self, episode: Episode, tools: Mapping[str, _Tool], *, sparse: bool) -> None:
        self._episode = episode
        self._tools = tools
        self._sparse = sparse
        self._at = 0
        self._calls: dict[str, Call] = {}
        self._answered = episode.results().keys()
        self._said: list[Utterance] = []
        self._thoughts: list[Thought] = []
        self._answer = ""

    def trace(self) -> Trace:
        """The trace."""
        for event in self._episode.events:
            if isinstance(event, User):
                self._said.append(Utterance(self._next(), event.text))
            elif isinstance(event, Assistant):
                self._turn(event)
            else:
                self._result(event)
        episode = self._episode
        request, later = (self._said[0].text, self._said[1:]) if self._said else ("", [])
        return Trace(
            id=episode.id,
            request=request,
            calls=tuple(self._calls.values()),
            utterances=tuple(later),
            thoughts=tuple(self._thoughts),
            answer=self._answer,
            meta={
                "agent": episode.agent_model,
                "domain": episode.domain,
                "task": episode.task_id,
                "trial": episode.trial,
                "reward": episode.reward,
                "started_ms": episode.started_ms,
            },
        )

    def _next(self) -> int:
        self._at += 1
        return self._at - 1

    def _turn(self, event: Assistant) -> None:
        for name, made in self._calls.items():
            if made.ended is None and name not in self._answered:
                self._calls[name] = replace(made, ended=self._next(), ok=True)
        if event.text:
            self._thoughts.append(Thought(self._next(), event.text))
            if not event.calls:
                self._answer = event.text
        for call in event.calls:
            tool = self._tools[call.name]
            self._calls[call.id] = Call(
                index=self._next(),
                ended=None,
                app=tool.name[0],
                action=tool.name[1],
                args=cast("dict[str, JsonValue]", call.arguments),  # `_problem` has looked
                ok=False,
                effect=tool.effect,
                raw_name=tool.raw.name,
                server=tool.raw.server,
                discovery=tool.declared.discovery,
                policy=tool.declared.policy,
            )

    def _result(self, event: ToolResult) -> None:
        call = self._calls.get(event.call_id)
        if call is None or call.ended is not None:
            return
        unrecorded = self._sparse and not event.content and not event.error
        output: Output = UNLOGGED if unrecorded else value_of_result(event.content)
        self._calls[event.call_id] = replace(call, ended=self._next(), ok=not event.error, output=output)


def _told_apart(traces: list[Trace]) -> Iterator[Trace]:
    """The traces with different ids: of those that share one, each gets a digest of what happened in it."""
    shared = Counter(trace.id for trace in traces)
    seen: set[str] = set()
    for trace in traces:
        name = trace.id if shared[trace.id] == 1 else f"{trace.id}~{_digest(trace)}"
        if name not in seen:  # the same session again is no second one
            seen.add(name)
            yield replace(trace, id=name)


def _digest(trace: Trace) -> str:
    happened: list[JsonValue] = [
        [call.index, call.name, dict(call.args), call.ok, None if call.output is UNLOGGED else [call.output]]  # type: ignore[list-item] # mypy does not narrow by the sentinel
        for call in trace.calls
    ]
    said: list[JsonValue] = [trace.request, *(each.text for each in trace.utterances), trace.answer]
    return jsonvalue.fingerprint([happened, said, dict(trace.meta)]).rpartition(":")[2][:8]

"""The proxy in the place of a server: the command that is started, what the host is told, and what to do then.

A server is started or called by the proxy, and the proxy is started or called by the host. Not responsible for the
forms of hosts' entries (`stretto.hosts`) nor for any file. No secret stands in a command: it names the variable or the
file that holds it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from stretto.addresses import header_of, listening_at, server_url
from stretto.errors import UsageError
from stretto.hosts import PROXY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stretto.hosts import Host
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Listening", "Upstream", "Wrapped", "next_steps"]

_DOMAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

#: Addresses that stand for all of a machine, and the one that it calls itself by.
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - told apart, not bound


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server that is called over Streamable HTTP.

    Attributes:
        url: its address.
        headers: what it is sent with every request, each ``NAME=VAR``: the variable holds the value.

    Raises:
        UsageError: the address is none, or has credentials in it; a header is not of that form.
    """

    url: str
    headers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        server_url(self.url)
        for header in self.headers:
            header_of(header)

    @property
    def names(self) -> dict[str, str]:
        """The variable of each header."""
        return dict(map(header_of, self.headers))

    @property
    def words(self) -> tuple[str, ...]:
        """The options that say so."""
        return ("--upstream", self.url, *(word for each in self.headers for word in ("--upstream-header", each)))


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the proxy serves Streamable HTTP itself.

    Attributes:
        address: ``HOST:PORT``, or ``PORT`` of this machine alone.
        token_file: whoever calls has to know what is in there; None when anybody may call, who then is on this machine.

    Raises:
        UsageError: the address is none, or can be reached from other machines and there is no token.
    """

    address: str
    token_file: PurePath | None = None

    def __post_init__(self) -> None:
        if listening_at(self.address, token=self.token_file is not None)[1] == 0:
            raise UsageError(f"--listen {self.address} is neither HOST:PORT nor PORT that a host could know")

    @property
    def url(self) -> str:
        """What a host on this machine calls."""
        host, _, port = self.address.rpartition(":")
        return f"http://{_EVERYWHERE.get(host, host) or '127.0.0.1'}:{port}/mcp"

    @property
    def words(self) -> tuple[str, ...]:
        """The options that say so."""
        token = () if self.token_file is None else ("--listen-token-file", str(self.token_file))
        return ("--listen", self.address, *token)


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A server with the proxy in its place.

    Attributes:
        domain: name of the server and of its field of work.
        command: that starts the server; empty for one that is called.
        record: where sessions are recorded, an absolute path: hosts start programs anywhere.
        flow: the flow that is served, an absolute path; None for none.
        decider: of the flow; empty for the one the flow brings along.
        shadow: the flow only watches.
        waggle: waggle's routes act, too.
        waggle_project: whose routes, an absolute path; None for the project that the proxy is started in.
        upstream: the server that is called, instead of a command.
        listen: where the proxy is called; None for one that the host starts.

    Raises:
        UsageError: the domain cannot be a name, there is not one server, or there is no flow that could watch.
    """

    domain: str
    command: tuple[str, ...]
    record: PurePath
    flow: PurePath | None = None
    decider: str = ""
    shadow: bool = False
    waggle: bool = False
    waggle_project: PurePath | None = None
    upstream: Upstream | None = None
    listen: Listening | None = None

    def __post_init__(self) -> None:
        if not _DOMAIN.fullmatch(self.domain):
            rule = "ASCII letters, digits, - _ and ., the first neither - nor ."
            raise UsageError(f"{self.domain!r} cannot be a domain: {rule}")
        if self.command and self.upstream:
            raise UsageError("a server is either started or called; leave out --upstream, or the command after --")
        if not self.command and not self.upstream:
            raise UsageError("there is no server; give its URL with --upstream, or its command after --")
        if self.command and PurePath(self.command[0]).stem == PROXY:
            raise UsageError(f"the command is {PROXY} already; give that of the server itself")
        if self.waggle_project and not self.waggle:
            raise UsageError("--waggle-project says whose routes act; let them act with --waggle")
        if self.shadow and self.flow is None:
            raise UsageError("--shadow lets a flow watch; give it with --flow")

    @property
    def words(self) -> tuple[str, ...]:
        """The command that is started: by the host, or by the user where the proxy listens."""
        flow: tuple[str, ...] = () if self.flow is None else ("--flow", str(self.flow))
        if self.flow is not None and self.decider:
            flow += ("--flow-decider", self.decider)
        watches = ("--flow-shadow",) if self.shadow else ()
        recorded = ("--record", str(self.record), "--domain", self.domain)
        return (PROXY, *recorded, *flow, *watches, *self.place)

    @property
    def place(self) -> tuple[str, ...]:
        """What says who starts and who calls whom, and what else acts: the same for ``init`` as for the proxy."""
        project = ("--waggle-project", str(self.waggle_project)) if self.waggle_project else ()
        waggle = ("--waggle", *project) if self.waggle else ()
        listen = self.listen.words if self.listen else ()
        return (*waggle, *listen, *(self.upstream.words if self.upstream else ("--", *self.command)))

    @property
    def token(self) -> str:
        """Name of the secret that the host has to send; empty when it has to send none."""
        if self.listen is None or self.listen.token_file is None:
            return ""
        return f"STRETTO_{re.sub('[^A-Z0-9]', '_', self.domain.upper())}_TOKEN"

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the proxy reads secrets from, each once, in the order given."""
        return tuple(dict.fromkeys(self.upstream.names.values())) if self.upstream else ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """What the host refers to: the token where it calls the proxy, the proxy's variables where it starts it."""
        if self.listen:
            return (self.token,) if self.token else ()
        return self.variables

    def entry(self, host: Host, known: JsonValue = None) -> JsonObject:
        """What the host's file says of it.

        Args:
            host: that starts or calls it.
            known: the entry that is there.

        Raises:
            UsageError: the host does not call servers.
        """
        if self.listen:
            return host.called(self.listen.url, self.token, known)
        return host.started(self.words, self.variables, known)

    def claude_line(self, host: Host) -> str:
        """The line for a shell that adds it to Claude Code; a reference in it is for Claude Code, not for the shell."""
        if self.listen is None:
            return shlex.join(["claude", "mcp", "add", self.domain, "--", *self.words])
        header = ["--header", f"Authorization: {host.bearer(self.token)}"] if self.token else []
        # Whatever follows --header is taken for one.
        return shlex.join(["claude", "mcp", "add", "--transport", "http", self.domain, self.listen.url, *header])


# --- what to do then ------------------------------------------------------------------------------------------


def next_steps(
    host: Host, wrapped: Wrapped, flows: PurePath, *, written: PurePath | None = None, known: JsonValue = None
) -> tuple[str, ...]:
    """What to do after this, a line each, from telling the host to reviewing what comes of it.

    Args:
        host: that starts the server.
        wrapped: the server.
        flows: the directory of the user's flows.
        written: the host's file, when the server is in it now.
        known: the entry that was there before.
    """
    record = shlex.quote(str(wrapped.record))
    flow = shlex.quote(str(wrapped.flow or flows / f"{wrapped.domain}.flow.json"))
    steps = [*_lost(wrapped, known), *_secrets(host, wrapped)]
    if wrapped.waggle and host.anywhere and not (wrapped.listen or wrapped.waggle_project):
        steps.append(f"say whose routes act with --waggle-project DIR: {host.title} starts servers outside of projects")
    if wrapped.listen:
        steps.append(f"start the proxy, and let it run: {shlex.join(wrapped.words)}")
    steps += [f"{_told(host, wrapped, written)}; then {host.reload}"]
    steps += [f"work as always: every session is recorded in {record}"]
    again = _again(host, wrapped, written)
    if wrapped.flow is None:
        steps += [
            f"learn from the sessions: stretto learn --sessions {record} --out {flow}",
            f"read what was learned: stretto flow-show {flow}",
            f"let it watch: {again % f'--flow {flow} --shadow'}",
        ]
    elif wrapped.shadow:
        steps += [
            f"see what it would have done: stretto audit --flow {flow} --sessions {record}",
            f"limit it to what it does well: stretto promote --flow {flow} --sessions {record} --out {flow}",
            f"let it act: {again % f'--flow {flow}'}",
        ]
    else:
        steps.append(f"watch for change: stretto drift --flow {flow} --sessions {record}")
    return tuple(steps)


def _told(host: Host, wrapped: Wrapped, written: PurePath | None) -> str:
    if written is not None:
        return f"{written} has {wrapped.domain} now"
    tell = "run that line" if host.name == "claude-code" else f"put that into the configuration of {host.title}"
    return f"{tell}, if that is not done yet" if wrapped.listen else tell


def _again(host: Host, wrapped: Wrapped, written: PurePath | None) -> str:
    """How this is done with a flow, for which ``%s`` stands."""
    init = shlex.join(["stretto", "init", "--host", host.name, "--domain", wrapped.domain])
    replacing = " --write --force" if written is not None else ""
    before = f"claude mcp remove {wrapped.domain}, then " if host.name == "claude-code" and written is None else ""
    if wrapped.listen:  # the host's entry stays as it is
        before = "stop the proxy, then "
    place = shlex.join(wrapped.place).replace("%", "%%")
    return f"{before}{init} %s{replacing} {place}"


def _secrets(host: Host, wrapped: Wrapped) -> Iterator[str]:
    """Where the secrets have to be, one step each."""
    names = wrapped.upstream.names if wrapped.upstream else {}
    for variable in wrapped.variables:
        sent = " and ".join(name for name, each in names.items() if each == variable)
        if wrapped.listen:
            yield f"set {variable}, which is sent as {sent}, in the shell that starts the proxy"
        elif host.asks:
            yield f"{host.title} will ask for {variable}, which is sent as {sent}"
        elif host.hands_down or host.reference:
            yield f"set {variable}, which is sent as {sent}, in the environment that {host.title} is started in"
        else:
            yield f"put {variable}, which is sent as {sent}, into the env of the entry"
    if wrapped.listen and wrapped.listen.token_file is not None:
        file = shlex.quote(str(wrapped.listen.token_file))
        make = "python3 -c 'import secrets; print(secrets.token_hex(32))'"
        yield f"make the token, if there is none yet: (umask 077; {make} > {file})"
        if host.asks:
            yield f"{host.title} will ask for {wrapped.token}: the token in {file}"
        elif host.reference:
            export = f'export {wrapped.token}="$(cat {file})"'
            yield f"give it to {host.title}, in the shell that starts it: {export}"
        else:
            yield f"let your host send the token in {file} for {host.bearer(wrapped.token).removeprefix('Bearer ')}"


def _lost(wrapped: Wrapped, known: JsonValue) -> Iterator[str]:
    """What the former entry gave the server, and this one does not; names, never values."""
    if wrapped.listen and (env := _keys(known, "env")):
        yield f"set {', '.join(env)} in the shell that starts the proxy; the former entry did"
    sent = {name.lower() for name in wrapped.upstream.names} if wrapped.upstream else set()
    if headers := [name for name in _keys(known, "headers") if name.lower() not in sent]:
        unless = "" if wrapped.upstream is None else ", unless you give them with --upstream-header"
        if not (isinstance(known, dict) and wrapped.listen and known.get("url") == wrapped.listen.url):
            yield f"the headers {', '.join(headers)} of the former entry are not sent any more{unless}"


def _keys(known: JsonValue, table: str) -> Sequence[str]:
    held = known.get(table) if isinstance(known, dict) else None
    return [*held] if isinstance(held, dict) else []

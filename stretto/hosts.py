"""How MCP hosts are told of a server, and how the proxy takes its place: all of it as data.

Not responsible for reading or writing any file, nor for what the proxy does. What a host starts is the proxy with the
server's own command behind ``--``, so the server can be read back from an entry.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from stretto.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["HOSTS", "PROXY", "Configured", "Host", "Wrapped", "configured", "next_steps"]

#: The program that takes the place of a server.
PROXY: Final = "stretto-proxy"

_DOMAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

#: What an entry says of a server that is not started but called; it means nothing beside a command.
_REMOTE: Final = ("url", "serverUrl", "headers", "type")

#: What a host fills in itself: ``${input:key}``, ``${workspaceFolder}``, ``${env:KEY}``.
_PLACEHOLDER: Final = re.compile(r"\$\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Host:
    """A program that starts MCP servers.

    Attributes:
        name: as it is given on the command line.
        title: as people call it.
        table: key of the object that holds the servers in its configuration.
        reload: what makes it read its configuration again.
        stdio: whether an entry says that its server is started.
    """

    name: str
    title: str
    table: str = "mcpServers"
    reload: str = ""
    stdio: bool = False

    def entry(self, words: Sequence[str], known: JsonValue = None) -> JsonObject:
        """A server's entry.

        Args:
            words: the command it is started with, at least one.
            known: the entry that is there. What it says beside the command, such as its environment, stays.
        """
        kept = {key: value for key, value in known.items() if key not in _REMOTE} if isinstance(known, dict) else {}
        kind: JsonObject = {"type": "stdio"} if self.stdio else {}
        return kind | kept | {"command": words[0], "args": list(words[1:])}

    def configuration(self, name: str, entry: JsonObject) -> JsonObject:
        """A whole configuration that holds this server alone."""
        return {self.table: {name: entry}}

    def places(self, home: Path, here: Path, platform: str, variables: Mapping[str, str]) -> tuple[Path, ...]:
        """Where its configuration is; the first is the one that ``init`` writes. Empty where there is no such file.

        Args:
            home: the user's home directory.
            here: the directory of the project.
            platform: as `sys.platform` has it.
            variables: the environment, of which ``APPDATA`` and ``XDG_CONFIG_HOME`` count.
        """
        programs = _programs(home, platform, variables)
        match self.name:
            case "claude-code":
                return (here / ".mcp.json", home / ".claude.json")
            case "claude-desktop":
                return (programs / "Claude" / "claude_desktop_config.json",)
            case "cursor":
                return (home / ".cursor" / "mcp.json", here / ".cursor" / "mcp.json")
            case "vscode":
                return (here / ".vscode" / "mcp.json", programs / "Code" / "User" / "mcp.json")
            case _:
                return ()


def _programs(home: Path, platform: str, variables: Mapping[str, str]) -> Path:
    """Where programs keep a user's configuration."""
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(variables.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(variables.get("XDG_CONFIG_HOME") or home / ".config")


#: The hosts by name.
HOSTS: Final[Mapping[str, Host]] = {
    host.name: host
    for host in (
        Host("claude-code", "Claude Code", reload="start a new session of Claude Code"),
        Host("claude-desktop", "Claude Desktop", reload="quit Claude Desktop and start it again"),
        Host("cursor", "Cursor", reload="reload the window of Cursor"),
        Host("vscode", "VS Code", "servers", reload="start the server in VS Code: MCP: List Servers", stdio=True),
        Host("json", "your host", reload="start your host again"),
    )
}


# --- the proxy in place of a server ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A server with the proxy in its place.

    Attributes:
        domain: name of the server and of its field of work.
        command: that starts the server, at least one word.
        record: where sessions are recorded, an absolute path: hosts start programs anywhere.
        flow: the flow that is served, an absolute path; None for none.
        decider: of the flow; empty for the one the flow brings along.
        shadow: the flow only watches.

    Raises:
        UsageError: the domain cannot be a name, the command is empty, or there is no flow that could watch.
    """

    domain: str
    command: tuple[str, ...]
    record: PurePath
    flow: PurePath | None = None
    decider: str = ""
    shadow: bool = False

    def __post_init__(self) -> None:
        if not _DOMAIN.fullmatch(self.domain):
            rule = "ASCII letters, digits, - _ and ., the first neither - nor ."
            raise UsageError(f"{self.domain!r} cannot be a domain: {rule}")
        if not self.command:
            raise UsageError("there is no server; give its command after --")
        if PurePath(self.command[0]).stem == PROXY:
            raise UsageError(f"the command is {PROXY} already; give that of the server itself")
        if self.shadow and self.flow is None:
            raise UsageError("--shadow lets a flow watch; give it with --flow")

    @property
    def words(self) -> tuple[str, ...]:
        """The command that a host starts."""
        flow: tuple[str, ...] = () if self.flow is None else ("--flow", str(self.flow))
        if self.flow is not None and self.decider:
            flow += ("--flow-decider", self.decider)
        watches = ("--flow-shadow",) if self.shadow else ()
        recorded = ("--record", str(self.record), "--domain", self.domain)
        return (PROXY, *recorded, *flow, *watches, "--", *self.command)

    @property
    def claude_line(self) -> str:
        """The line for a shell that adds it to Claude Code."""
        return shlex.join(["claude", "mcp", "add", self.domain, "--", *self.words])


def next_steps(host: Host, wrapped: Wrapped, flows: PurePath, *, written: PurePath | None = None) -> tuple[str, ...]:
    """What to do after this, a line each, from telling the host to reviewing what comes of it.

    Args:
        host: that starts the server.
        wrapped: the server.
        flows: the directory of the user's flows.
        written: the host's file, when the server is in it now.
    """
    record = shlex.quote(str(wrapped.record))
    flow = shlex.quote(str(wrapped.flow or flows / f"{wrapped.domain}.flow.json"))
    if written is not None:
        tell = f"{written} has {wrapped.domain} now"
    elif host.name == "claude-code":
        tell = "run that line"
    else:
        tell = f"put that into the configuration of {host.title}"
    again = shlex.join(["stretto", "init", "--host", host.name, "--domain", wrapped.domain])
    replacing = " --write --force" if written is not None else ""
    remove = f"claude mcp remove {wrapped.domain}, then " if host.name == "claude-code" and written is None else ""
    server = shlex.join(wrapped.command)
    steps = [f"{tell}; then {host.reload}", f"work as always: every session is recorded in {record}"]
    if wrapped.flow is None:
        steps += [
            f"learn from the sessions: stretto learn --sessions {record} --out {flow}",
            f"read what was learned: stretto flow-show {flow}",
            f"let it watch: {remove}{again} --flow {flow} --shadow{replacing} -- {server}",
        ]
    elif wrapped.shadow:
        steps += [
            f"see what it would have done: stretto audit --flow {flow} --sessions {record}",
            f"limit it to what it does well: stretto promote --flow {flow} --sessions {record} --out {flow}",
            f"let it act: {remove}{again} --flow {flow}{replacing} -- {server}",
        ]
    else:
        steps.append(f"watch for change: stretto drift --flow {flow} --sessions {record}")
    return tuple(steps)


# --- servers that hosts have ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Configured:
    """A server in a host's configuration.

    Attributes:
        name: its name there.
        command: that starts the server itself, behind the proxy if that takes its place; empty for one that is called
            over the network.
        wrapped: whether the proxy takes its place.
        flow: the flow the proxy serves; empty for none.
        env: variables it is started with, beside the host's own.
        cwd: directory it is started in; empty for the host's.
        problem: why it cannot be started as it stands there; empty when it can.
    """

    name: str
    command: tuple[str, ...]
    wrapped: bool = False
    flow: str = ""
    env: Mapping[str, str] | None = None
    cwd: str = ""
    problem: str = ""


def configured(content: JsonValue, here: PurePath) -> tuple[Configured, ...]:
    """The servers of a host's configuration, sorted by name; whatever is no server is passed over.

    Args:
        content: of the file, any host's.
        here: the directory of the project; Claude Code's file has servers by project, too.
    """
    tables = [content.get(host.table) for host in HOSTS.values()] if isinstance(content, dict) else []
    projects = content.get("projects") if isinstance(content, dict) else None
    project = projects.get(str(here)) if isinstance(projects, dict) else None
    tables += [project.get("mcpServers")] if isinstance(project, dict) else []
    found = {each.name: each for table in tables if isinstance(table, dict) for each in _servers(table)}
    return tuple(found[name] for name in sorted(found))


def _servers(table: JsonObject) -> Iterator[Configured]:
    for name, entry in table.items():
        if not isinstance(entry, dict):
            continue
        command, args, env, cwd = (entry.get(key) for key in ("command", "args", "env", "cwd"))
        if not isinstance(command, str):
            yield Configured(
                name, (), problem="it is called over the network; only servers that are started are looked at"
            )
            continue
        words = (command, *(str(arg) for arg in args)) if isinstance(args, list) else (command,)
        variables = {key: str(value) for key, value in env.items()} if isinstance(env, dict) else {}
        directory = cwd if isinstance(cwd, str) else ""
        server, flow = _unwrapped(words)
        filled = _PLACEHOLDER.search(" ".join([*server, *variables.values(), directory]))
        problem = f"its host fills in {filled[0]}; give the command after --" if filled else ""
        yield Configured(name, server, server != words, flow, variables, directory, problem)


def _unwrapped(words: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The command of the server itself, and the flow that the proxy serves."""
    names = [PurePath(word.replace("\\", "/")).stem for word in words]
    if PROXY not in names or "--" not in words[names.index(PROXY) :]:
        return words, ""
    begin = names.index(PROXY)
    end = words.index("--", begin)
    options = words[begin:end]
    flow = ""
    for place, option in enumerate(options):
        if option == "--flow" and place + 1 < len(options):
            flow = options[place + 1]
        elif option.startswith("--flow="):
            flow = option.removeprefix("--flow=")
    return words[end + 1 :], flow

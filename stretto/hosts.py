"""How MCP hosts are told of a server: the forms of their entries, and where they keep them, all of it as data.

Not responsible for reading or writing any file, nor for what stands in the place of a server (`stretto.wrapping`). No
entry holds a secret: it refers to one, in the host's own way.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["HOSTS", "INPUTS", "PROXY", "Host"]

#: The program that takes the place of a server.
PROXY: Final = "stretto-proxy"

#: Key of what VS Code asks the user for.
INPUTS: Final = "inputs"

#: What an entry says of a server that is called; it means nothing beside a command.
_OF_CALLED: Final = ("url", "serverUrl", "headers", "type")
#: What it says of one that is started; it means nothing beside a URL.
_OF_STARTED: Final = ("command", "args", "env", "envFile", "cwd", "type")


@dataclass(frozen=True, slots=True)
class Host:
    """A program that starts MCP servers, or calls them.

    Attributes:
        name: as it is given on the command line.
        title: as people call it.
        table: key of the object that holds the servers in its configuration.
        reload: what makes it read its configuration again.
        typed: of what entries say their type: ``stdio``, ``http``.
        calls: whether its configuration has servers that are called over HTTP.
        reference: what stands for a secret in an entry, with ``%s`` for its name; empty where nothing can.
        asks: whether it asks the user for what is referred to; else that is a variable of its environment.
        hands_down: whether a server it starts gets the environment it was started with itself.
        anywhere: whether it starts servers outside of the project, having one configuration for all of them.
    """

    name: str
    title: str
    table: str = "mcpServers"
    reload: str = ""
    typed: frozenset[str] = frozenset()
    calls: bool = True
    reference: str = ""
    asks: bool = False
    hands_down: bool = False
    anywhere: bool = False

    def started(self, words: Sequence[str], variables: Sequence[str] = (), known: JsonValue = None) -> JsonObject:
        """The entry of a server that is started.

        Args:
            words: the command it is started with, at least one.
            variables: secrets of its environment; referred to where the host can do that and has to.
            known: the entry that is there. What it says beside the command, such as its environment, stays.
        """
        kept = _without(known, _OF_CALLED)
        entry = self._type("stdio") | kept | {"command": words[0], "args": list(words[1:])}
        if variables and self.reference and not self.hands_down:
            env = kept.get("env")
            referred: JsonObject = {name: self.reference % name for name in variables}
            entry["env"] = referred | (env if isinstance(env, dict) else {})
        return entry

    def called(self, url: str, token: str = "", known: JsonValue = None) -> JsonObject:
        """The entry of a server that is called over HTTP.

        Args:
            url: its address.
            token: name of the secret that it wants as a bearer token; empty when it wants none.
            known: the entry that is there. What belongs to a command, or to another address, does not stay.

        Raises:
            UsageError: this host has no such entries.
        """
        if not self.calls:
            raise UsageError(f"{self.title} has no servers in its file that are called; leave out --listen")
        entry = self._type("http") | _without(known, (*_OF_CALLED, *_OF_STARTED)) | {"url": url}
        return entry | {"headers": {"Authorization": self.bearer(token)}} if token else entry

    def bearer(self, token: str) -> str:
        """The value of an ``Authorization`` header that refers to a secret."""
        return f"Bearer {(self.reference or '${%s}') % token}"

    def inputs(self, entry: JsonObject, secrets: Iterable[str]) -> list[JsonObject]:
        """What the configuration has to list so that the user is asked for what an entry refers to; mostly nothing."""
        tables = (entry.get("env"), entry.get("headers"))
        texts = [str(text) for table in tables if isinstance(table, dict) for text in table.values()]
        asked = [name for name in secrets if self.asks and any(self.reference % name in text for text in texts)]
        return [{"type": "promptString", "id": name, "description": name, "password": True} for name in asked]

    def configuration(self, name: str, entry: JsonObject, inputs: Sequence[JsonObject] = ()) -> JsonObject:
        """A whole configuration that holds this server alone."""
        asked: JsonObject = {INPUTS: [*inputs]} if inputs else {}
        return asked | {self.table: {name: entry}}

    def _type(self, kind: str) -> JsonObject:
        return {"type": kind} if kind in self.typed else {}

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


def _without(known: JsonValue, keys: Sequence[str]) -> JsonObject:
    return {key: value for key, value in known.items() if key not in keys} if isinstance(known, dict) else {}


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
        Host(
            "claude-code",
            "Claude Code",
            reload="start a new session of Claude Code",
            typed=frozenset({"http"}),
            reference="${%s}",
            hands_down=True,
        ),
        Host(
            "claude-desktop",
            "Claude Desktop",
            reload="quit Claude Desktop and start it again",
            calls=False,
            anywhere=True,
        ),
        Host("cursor", "Cursor", reload="reload the window of Cursor", reference="${env:%s}", anywhere=True),
        Host(
            "vscode",
            "VS Code",
            "servers",
            reload="start the server in VS Code: MCP: List Servers",
            typed=frozenset({"stdio", "http"}),
            reference="${input:%s}",
            asks=True,
        ),
        Host("json", "your host", reload="start your host again", typed=frozenset({"http"})),
    )
}

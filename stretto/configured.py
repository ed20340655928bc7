"""The servers in hosts' configurations, read back: which command speaks with each, also behind the proxy.

Not responsible for reading any file, nor for starting anything. Secrets go from an entry into the environment of what
is started, never into its command.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from stretto.hosts import HOSTS, PROXY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Configured", "configured"]

#: What a host fills in itself: ``${input:key}``, ``${workspaceFolder}``, ``${env:KEY}``.
_PLACEHOLDER: Final = re.compile(r"\$\{[^}]*\}")
#: Those of them that stand for a variable of its environment.
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")

#: Types of entries whose servers are called as the proxy calls them.
_HTTP: Final = ("http", "streamable-http", "streamableHttp")

#: The proxy of this installation, whichever is on the PATH.
_OWN_PROXY: Final = (sys.executable, "-m", "stretto.proxy.main")


@dataclass(frozen=True, slots=True)
class Configured:
    """A server in a host's configuration.

    Attributes:
        name: its name there.
        command: that speaks with the server over stdio: its own, behind the proxy if that takes its place; for one that
            is called over HTTP a proxy that calls it. Empty when there is none.
        started: whether its host starts it, or a proxy in its place.
        wrapped: whether the proxy takes its place.
        flow: the flow the proxy serves; empty for none.
        token_file: the file of the token that the proxy asks for; empty for none.
        env: variables it is started with, beside the host's own.
        cwd: directory it is started in; empty for the host's.
        unseen: why it cannot be looked at from here, and what to do; empty when it can.
        problem: why its host cannot use it as it stands there; empty when nothing is known.
        remedy: what to do about that.
    """

    name: str
    command: tuple[str, ...] = ()
    started: bool = True
    wrapped: bool = False
    flow: str = ""
    token_file: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    unseen: str = ""
    problem: str = ""
    remedy: str = ""


def configured(content: JsonValue, here: PurePath, variables: Mapping[str, str]) -> tuple[Configured, ...]:
    """The servers of a host's configuration, sorted by name; whatever is no server is passed over.

    Args:
        content: of the file, any host's.
        here: the directory of the project; Claude Code's file has servers by project, too.
        variables: the environment, for entries that refer to it.
    """
    tables = [content.get(host.table) for host in HOSTS.values()] if isinstance(content, dict) else []
    projects = content.get("projects") if isinstance(content, dict) else None
    project = projects.get(str(here)) if isinstance(projects, dict) else None
    tables += [project.get("mcpServers")] if isinstance(project, dict) else []
    found = {each.name: each for table in tables if isinstance(table, dict) for each in _servers(table, variables)}
    return tuple(found[name] for name in sorted(found))


def _servers(table: JsonObject, variables: Mapping[str, str]) -> Iterator[Configured]:
    for name, entry in table.items():
        if not isinstance(entry, dict):
            continue
        url = entry.get("url", entry.get("serverUrl"))
        if isinstance(entry.get("command"), str):
            yield _started(name, entry, variables)
        elif isinstance(url, str):
            yield _called(name, entry, url, variables)
        else:
            yield Configured(name, started=False, unseen="it has neither a command nor a url")


# --- servers that are started ---------------------------------------------------------------------------------


def _started(name: str, entry: JsonObject, variables: Mapping[str, str]) -> Configured:
    command, args, cwd = entry["command"], entry.get("args"), entry.get("cwd")
    words = (str(command), *(str(arg) for arg in args)) if isinstance(args, list) else (str(command),)
    env = {key: _filled(value, variables) for key, value in _texts(entry.get("env")).items()}
    directory = cwd if isinstance(cwd, str) else ""
    options, server = _unwrapped(words)
    unseen = problem = ""
    urls = _given(options, "--upstream")
    if urls:
        headers = _given(options, "--upstream-header")
        server = _reaching(urls[-1], headers)
        unseen = _unset(headers, env, variables)
    if _given(options, "--listen"):
        problem = "its host starts it and speaks with it over stdio, but with --listen the proxy is called over HTTP"
    if filled := _placeholder(*server, *env.values(), directory):
        unseen = f"its host fills in {filled}; give the command after --"
    return Configured(
        name,
        server,
        wrapped=bool(options),
        flow=_last(_given(options, "--flow")),
        token_file=_last(_given(options, "--listen-token-file")),
        env=env,
        cwd=directory,
        unseen=unseen,
        problem=problem,
        remedy="start it yourself, and give the host its URL: stretto init --listen" if problem else "",
    )


def _unwrapped(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The proxy's options, empty where there is no proxy, and the command of the server itself, empty for a URL."""
    names = [PurePath(word.replace("\\", "/")).stem for word in words]
    begin = names.index(PROXY) if PROXY in names else len(words)
    end = words.index("--", begin) if "--" in words[begin:] else len(words)
    options = words[begin:end]
    if end == len(words) and not _given(options, "--upstream"):
        return (), words
    return options, words[end + 1 :]


def _given(options: Sequence[str], name: str) -> list[str]:
    """The values of an option, in either spelling."""
    apart = [value for option, value in pairwise(options) if option == name]
    return apart + [option.removeprefix(f"{name}=") for option in options if option.startswith(f"{name}=")]


def _last(values: Sequence[str]) -> str:
    return values[-1] if values else ""


def _unset(headers: Sequence[str], env: Mapping[str, str], variables: Mapping[str, str]) -> str:
    for header in headers:
        name, _, variable = header.partition("=")
        if variable not in env and variable not in variables:
            return f"the variable {variable} of its header {name} is set neither in its env nor here; set it"
    return ""


# --- servers that are called ----------------------------------------------------------------------------------


def _called(name: str, entry: JsonObject, url: str, variables: Mapping[str, str]) -> Configured:
    kind = entry.get("type", _HTTP[0])
    if kind == "sse":
        old = "it is called over HTTP+SSE, which later protocols have no more"
        return Configured(name, started=False, unseen=f"{old}; ask those who run it for its Streamable HTTP address")
    if kind not in _HTTP:
        return Configured(name, started=False, unseen=f"it is called as {kind!r}, which the proxy cannot do")
    sent = {header: _filled(value, variables) for header, value in _texts(entry.get("headers")).items()}
    names = {f"STRETTO_HEADER_{number}": header for number, header in enumerate(sent, 1)}
    env = {variable: sent[header] for variable, header in names.items()}
    unseen = ""
    if filled := _placeholder(url, *env.values()):
        unseen = f"its host fills in {filled}; look at it with stretto doctor -- {PROXY} --upstream URL"
    command = _reaching(url, [f"{header}={variable}" for variable, header in names.items()])
    return Configured(name, command, started=False, env=env, unseen=unseen)


def _reaching(url: str, headers: Sequence[str]) -> tuple[str, ...]:
    """The command that speaks over stdio with a server that is called; each header is ``NAME=VAR``."""
    return (*_OWN_PROXY, "--upstream", url, *(word for each in headers for word in ("--upstream-header", each)))


def _placeholder(*texts: str) -> str:
    """The first placeholder in these; empty when there is none."""
    return next((found[0] for text in texts if (found := _PLACEHOLDER.search(text))), "")


def _texts(table: JsonValue) -> dict[str, str]:
    return {key: str(value) for key, value in table.items()} if isinstance(table, dict) else {}


def _filled(text: str, variables: Mapping[str, str]) -> str:
    """The text with the variables of the environment that it refers to; what is not there stays as it stands."""
    return _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), text)

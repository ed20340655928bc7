"""What ``waggle doctor`` looks at for the hooks of hosts, in each of their forms."""

from __future__ import annotations

import http.client
import os
import shutil
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from waggle import __version__, jsonvalue
from waggle.cli.checks import Check
from waggle.cli.hosting import is_shared, settings_text
from waggle.errors import WaggleError
from waggle.hook.client import private_place
from waggle.hook.hosts import NAMES, host_named
from waggle.hook.install import http_hooks, missing
from waggle.hook.running import find_ripgrep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from waggle.hook.hosts.host import Host
    from waggle.jsonvalue import JsonObject

__all__ = ["hook_checks"]

_SECONDS: Final = 3.0  # for the server to answer


def hook_checks(root: Path) -> Iterator[Check]:
    """Look at the hook of each host that anybody uses here.

    Args:
        root: the project's directory.
    """
    for name in NAMES:
        yield from _of_host(host_named(name), root)


def _of_host(host: Host, root: Path) -> Iterator[Check]:
    paths, name = host.settings.paths(root), _name(host)
    if not any(path.parent.is_dir() for path in paths):
        return
    texts: dict[Path, str] = {}
    for path in paths:
        try:
            texts[path] = settings_text(path)
            missing(host, texts[path])
        except (OSError, ValueError, WaggleError) as error:
            yield Check(name, "problem", f"{path}: {error}", "correct it there")
            return
    events = host.settings.events
    commands = [path for path, text in texts.items() if len(missing(host, text)) < len(events)]
    posts = [path for path, text in texts.items() if http_hooks(host, text)]
    if not commands and not posts:
        yield Check(name, "note", f"not in {host.title}'s settings", f"{_put(host)} puts it there")
    checks = (
        [_command(host, min(commands, key=lambda path: len(missing(host, texts[path]))), texts)] if commands else []
    )
    checks += [_http(host, path, http_hooks(host, texts[path])) for path in posts]
    yield from checks
    if "Grep" in host.lookups and any(check.state == "ok" for check in checks):
        yield _ripgrep(root)
    if len({*commands, *posts}) > 1 or (commands and posts):
        twice = " and ".join(str(path) for path in dict.fromkeys([*commands, *posts]))
        yield Check(name, "note", f"{twice}: calls are reported twice, and answered once", "take one of them out")


def _name(host: Host) -> str:
    return f"{host.name} hook"


def _put(host: Host, *, http: bool = False) -> str:
    return f"`waggle init {host.name} {'--http ' if http else ''}--write`"


def _command(host: Host, path: Path, texts: dict[Path, str]) -> Check:
    """Look at the form that is a process a call."""
    name = _name(host)
    if absent := missing(host, texts[path]):
        return Check(name, "problem", f"{path}: not after {', '.join(absent)}", f"{_put(host)} adds it")
    if shutil.which(host.command.split()[0]) is None:
        found = f"{path} runs it, but PATH lacks it"
        return Check(name, "problem", found, f"install waggle where {host.title} finds it")
    if not host.settings.trusted(path, texts[path]):
        return Check(name, "problem", f"{path}: {host.title} does not run it yet", host.settings.after)
    try:
        place = private_place()
    except OSError as error:
        return Check(name, "problem", str(error), "without that directory nothing is remembered")
    return Check(name, "ok", f"{path}; sessions in {place}")


def _ripgrep(root: Path) -> Check:
    """Look for what the hook searches and lists files with, as Claude Code does."""
    found = find_ripgrep(root.resolve())
    if found is None:
        missed = "there is no `rg`, so no search is looked up"
        return Check("ripgrep", "note", missed, "install waggle-stretto[search], or ripgrep")
    return Check("ripgrep", "ok", found)


def _http(host: Host, path: Path, hooks: dict[str, JsonObject]) -> Check:
    """Look at the form that posts to a server."""
    name, first = _name(host), next(iter(hooks.values()))
    if fault := _fault_of_settings(host, path, hooks) or _fault_of_server(host, path, first):
        return Check(name, "problem", *fault)
    if is_shared(path):
        return Check(name, "note", f"{path} holds a token, and git does not ignore it", "add it to .gitignore")
    return Check(name, "ok", f"{path}; posted to {first['url']}")


def _fault_of_settings(host: Host, path: Path, hooks: dict[str, JsonObject]) -> tuple[str, str] | None:
    """What is wrong with them, and what to do."""
    if absent := [event for event in host.settings.events if event not in hooks]:
        return f"{path}: not posted after {', '.join(absent)}", f"{_put(host, http=True)} adds it"
    first = next(iter(hooks.values()))
    if any(hook.get(key) != first.get(key) for hook in hooks.values() for key in ("url", "headers")):
        return f"{path}: not posted to one place, with one token", f"{_put(host, http=True)} puts that right"
    if os.name == "posix" and path.stat().st_mode & 0o077:
        return f"{path} holds a token, and others can read it", f"chmod 600 {path}"
    return None


def _fault_of_server(host: Host, path: Path, hook: JsonObject) -> tuple[str, str] | None:
    """What is wrong with what answers, and what to do."""
    url = str(hook.get("url"))
    server = urlsplit(url).hostname or ""
    if "http" in getproxies_environment() and not proxy_bypass(server):
        return f"{host.title} posts to {url} by the proxy of the environment", f"add {server} to NO_PROXY"
    try:
        status, said = _asked(url, hook.get("headers"))
    except (OSError, http.client.HTTPException, ValueError):
        return f"nobody answers at {url}", "start `waggle serve`, and leave it running"
    if status == HTTPStatus.UNAUTHORIZED:
        return f"{url} does not take the token in {path}", f"{_put(host, http=True)} puts that right"
    version = said.get("waggle") if isinstance(said, dict) else None
    if status != HTTPStatus.OK or version is None:
        return f"it is not `waggle serve` that answers at {url}", "give it another --address, and `waggle init`, too"
    return None if version == __version__ else (f"waggle {version} answers at {url}", "start `waggle serve` anew")


def _asked(url: str, headers: object) -> tuple[int, object]:
    """What answers at a URL, with the headers of the hook: its status, and the JSON it says; None for anything else."""
    parts = urlsplit(url)
    given = {str(name): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request("GET", parts.path, headers=given)
        answer = connection.getresponse()
        body = answer.read(_BYTES)
    finally:
        connection.close()
    try:
        return answer.status, jsonvalue.loads(body)
    except ValueError:
        return answer.status, None


_BYTES: Final = 64 * 1024

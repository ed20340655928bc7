"""What ``waggle doctor`` looks at for the hook of Claude Code, in each of its forms."""

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
from waggle.cli.hosting import is_shared, settings_paths, settings_text
from waggle.errors import WaggleError
from waggle.hook.client import private_place
from waggle.hook.install import COMMAND, EVENTS, http_hooks, missing
from waggle.hook.running import find_ripgrep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from waggle.jsonvalue import JsonObject

__all__ = ["hook_checks"]

_NAME: Final = "claude-code hook"
_PUT: Final = "`waggle init claude-code --write`"
_PUT_HTTP: Final = "`waggle init claude-code --http --write`"
_SECONDS: Final = 3.0  # for the server to answer


def hook_checks(root: Path) -> Iterator[Check]:
    """Look at the hook, where anybody uses Claude Code here.

    Args:
        root: the project's directory.
    """
    paths = settings_paths(root)
    if not any(path.parent.is_dir() for path in paths):
        return
    texts: dict[Path, str] = {}
    for path in paths:
        try:
            texts[path] = settings_text(path)
            missing(texts[path])
        except (OSError, ValueError, WaggleError) as error:
            yield Check(_NAME, "problem", f"{path}: {error}", "correct it there")
            return
    commands = [path for path, text in texts.items() if len(missing(text)) < len(EVENTS)]
    posts = [path for path, text in texts.items() if http_hooks(text)]
    if not commands and not posts:
        yield Check(_NAME, "note", "not in Claude Code's settings", f"{_PUT} puts it there")
    checks = [_command(min(commands, key=lambda path: len(missing(texts[path]))), texts)] if commands else []
    checks += [_http(path, http_hooks(texts[path])) for path in posts]
    yield from checks
    if any(check.state == "ok" for check in checks):
        yield _ripgrep(root)
    if len({*commands, *posts}) > 1 or (commands and posts):
        twice = " and ".join(str(path) for path in dict.fromkeys([*commands, *posts]))
        yield Check(_NAME, "note", f"{twice}: calls are reported twice, and answered once", "take one of them out")


def _command(path: Path, texts: dict[Path, str]) -> Check:
    """Look at the form that is a process a call."""
    if absent := missing(texts[path]):
        return Check(_NAME, "problem", f"{path}: not after {', '.join(absent)}", f"{_PUT} adds it")
    if shutil.which(COMMAND.split()[0]) is None:
        return Check(
            _NAME, "problem", f"{path} runs it, but PATH lacks it", "install waggle where Claude Code finds it"
        )
    try:
        place = private_place()
    except OSError as error:
        return Check(_NAME, "problem", str(error), "without that directory nothing is remembered")
    return Check(_NAME, "ok", f"{path}; sessions in {place}")


def _ripgrep(root: Path) -> Check:
    """Look for what the hook searches and lists files with, as Claude Code does."""
    found = find_ripgrep(root.resolve())
    if found is None:
        missed = "there is no `rg`, so no search is looked up"
        return Check("ripgrep", "note", missed, "install waggle-stretto[search], or ripgrep")
    return Check("ripgrep", "ok", found)


def _http(path: Path, hooks: dict[str, JsonObject]) -> Check:
    """Look at the form that posts to a server."""
    if fault := _fault_of_settings(path, hooks) or _fault_of_server(path, hooks[EVENTS[0]]):
        return Check(_NAME, "problem", *fault)
    if is_shared(path):
        return Check(_NAME, "note", f"{path} holds a token, and git does not ignore it", "add it to .gitignore")
    return Check(_NAME, "ok", f"{path}; posted to {hooks[EVENTS[0]]['url']}")


def _fault_of_settings(path: Path, hooks: dict[str, JsonObject]) -> tuple[str, str] | None:
    """What is wrong with them, and what to do."""
    if absent := [event for event in EVENTS if event not in hooks]:
        return f"{path}: not posted after {', '.join(absent)}", f"{_PUT_HTTP} adds it"
    if any(hook.get(key) != hooks[EVENTS[0]].get(key) for hook in hooks.values() for key in ("url", "headers")):
        return f"{path}: not posted to one place, with one token", f"{_PUT_HTTP} puts that right"
    if os.name == "posix" and path.stat().st_mode & 0o077:
        return f"{path} holds a token, and others can read it", f"chmod 600 {path}"
    return None


def _fault_of_server(path: Path, hook: JsonObject) -> tuple[str, str] | None:
    """What is wrong with what answers, and what to do."""
    url = str(hook.get("url"))
    host = urlsplit(url).hostname or ""
    if "http" in getproxies_environment() and not proxy_bypass(host):
        return f"Claude Code posts to {url} by the proxy of the environment", f"add {host} to NO_PROXY"
    try:
        status, said = _asked(url, hook.get("headers"))
    except (OSError, http.client.HTTPException, ValueError):
        return f"nobody answers at {url}", "start `waggle serve`, and leave it running"
    if status == HTTPStatus.UNAUTHORIZED:
        return f"{url} does not take the token in {path}", f"{_PUT_HTTP} puts that right"
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

"""The command that puts waggle's hook into an agent's settings: ``init``."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from waggle import _render, files, locate
from waggle._defaults import EXIT_OK, EXIT_PROBLEMS
from waggle.admission import url_of
from waggle.cli import options
from waggle.errors import SettingsError
from waggle.hook.client import private_place
from waggle.hook.hosts import NAMES, host_named
from waggle.hook.install import PATH, has_hook, http_hook, http_hooks, missing, with_hook
from waggle.hook.token import find_token, own_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from waggle.hook.hosts.host import Host
    from waggle.jsonvalue import JsonObject

__all__ = ["init", "is_shared", "settings_text"]

_FILE_BYTES: Final = 16 << 20  # largest settings that are read
_HIDDEN: Final = "…"  # in the place of a token that is shown
_GIT_SECONDS: Final = 5.0  # for git to say whether it ignores a file


@click.command()
@click.argument("host", type=click.Choice(NAMES), metavar="HOST")
@options.project
@click.option("--user", is_flag=True, help="The user's own settings, for every project. Default: the project's.")
@click.option("--http", is_flag=True, help="Post to waggle serve. Default: a process a call.")
@options.address
@click.option("--write", "writes", is_flag=True, help="Write the file, after asking. Default: only show it.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@options.as_json
def init(
    *, host: str, directory: Path, user: bool, http: bool, address: str | None, writes: bool, yes: bool, as_json: bool
) -> int:
    """Put the hook into the settings of HOST: claude-code, codex, gemini-cli or cursor.

    Shows the settings as they would be: .claude/settings.json, .codex/hooks.json, .gemini/settings.json or
    .cursor/hooks.json of the project, or of the user; with --http .claude/settings.local.json of the project, since a
    token stands in it. With --write they are written, every byte that is there kept, and the former file stays beside
    the new one, with .bak behind its name. The other form of the hook is replaced, and what is in place already is left
    as it is. The exit code is 1 when the answer was no.
    """
    known = host_named(host)
    if http and not known.posts:
        raise click.UsageError(f"{known.title} runs commands only; leave --http out")
    if address and not http:
        raise click.UsageError("--address does nothing without --http")
    paths = known.settings.paths(locate.find_project(directory).root)
    path = paths[-1] if user else paths[1] if http else paths[0]
    token = _token(makes=writes) if http else None
    hook = http_hook(_url(known, address), token) if token else None
    text = settings_text(path)
    try:
        absent = missing(known, text, hook)
        new = with_hook(known, text, hook)
    except ValueError as error:
        raise SettingsError(str(path), str(error)) from None
    changes = new != text
    agreed = yes or not (writes and changes) or click.confirm(f"Put the hook into {path}?", err=True)
    written = changes and writes and agreed
    backup = _write(known, path, text, new, private=http) if written else None
    if as_json:
        told: JsonObject = {"path": str(path), "missing": list(absent), "written": written}
        _render.document({**told, "backup": str(backup) if backup else None})
    elif changes and not writes:
        _render.out((new.replace(token, _HIDDEN) if token else new).rstrip("\n"))
        _render.note(f"{path} would be so; --write writes it")
    elif agreed:
        if backup:
            _render.note(f"the former file is {backup}")
        _render.out(f"{path}: the hook is in place")
        if known.settings.after:
            _render.note(known.settings.after)
    if agreed and writes:
        _tell_more(known, path, paths, http=http)
    return EXIT_OK if agreed else EXIT_PROBLEMS


def _token(*, makes: bool) -> str:
    """The user's token, which is made only where it is going to be written."""
    place = Path(private_place())
    return own_token(place) if makes else find_token(place) or _HIDDEN


def _url(host: Host, address: str | None) -> str:
    return url_of(*options.loopback_address(address), f"{PATH}{host.name}")


def _tell_more(host: Host, path: Path, paths: Iterable[Path], *, http: bool) -> None:
    """Tell what else there is to do."""
    for other in dict.fromkeys(paths):
        if other != path and _has_hook(host, other):
            _render.note(f"{other} has the hook, too: each call is reported twice, and answered once; take one out")
    if not http:
        return
    if is_shared(path):
        _render.note(f"{path} holds a token, and git does not ignore it; add it to .gitignore")
    _render.note("`waggle serve` answers it; start it, and leave it running")


def _has_hook(host: Host, path: Path) -> bool:
    try:
        return has_hook(host, settings_text(path))
    except (OSError, ValueError):  # what is wrong with it, `waggle doctor` tells
        return False


def _write(host: Host, path: Path, text: str, new: str, *, private: bool) -> Path | None:
    """Write the settings; gives where the former ones are kept, if there were any."""
    target = path.resolve()  # a link to where the file is kept stays a link
    backup = _free(target) if text else None
    if backup:
        files.replace(backup, text.encode(), private=private or bool(http_hooks(host, text)))
    files.replace(target, new.encode(), private=private)
    return backup


def is_shared(path: Path) -> bool:
    """Whether a file lies in a git repository that does not ignore it; no, where that cannot be told."""
    try:
        asked = subprocess.run(  # noqa: S603 - a file's name, behind the options
            ["git", "check-ignore", "--quiet", "--", path.name],  # noqa: S607 - the user's git
            cwd=path.resolve().parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return asked.returncode == 1


def settings_text(path: Path) -> str:
    """The text of settings; empty where there is no file.

    Raises:
        SettingsError: it is not UTF-8, or too large.
        OSError: it cannot be read.
    """
    try:
        return files.read_bytes(path, limit=_FILE_BYTES).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except ValueError as error:
        raise SettingsError(str(path), str(error)) from None


def _free(path: Path) -> Path:
    return next(each for each in _backups(path) if not each.exists())


def _backups(path: Path) -> Iterator[Path]:
    yield path.with_name(f"{path.name}.bak")
    number = 2
    while True:
        yield path.with_name(f"{path.name}.bak{number}")
        number += 1

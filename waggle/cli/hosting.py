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
from waggle.hook.install import (
    COMMAND_HOOK,
    PATH,
    has_hook,
    http_hook,
    http_hooks,
    missing,
    with_hook,
)
from waggle.hook.token import find_token, own_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from waggle.jsonvalue import JsonObject

__all__ = ["init", "is_shared", "settings_paths", "settings_text"]

_FILE_BYTES: Final = 16 << 20  # largest settings that are read
_HIDDEN: Final = "…"  # in the place of a token that is shown
_GIT_SECONDS: Final = 5.0  # for git to say whether it ignores a file


@click.command()
@click.argument("host", type=click.Choice(["claude-code"]), metavar="claude-code")
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
    """Put the hook into the settings of Claude Code.

    Shows the settings as they would be: .claude/settings.json of the project, or of the user; with --http
    .claude/settings.local.json of the project, since a token stands in it. With --write they are written, every byte
    that is there kept, and the former file stays beside the new one as settings.json.bak. The other form of the hook is
    replaced, and what is in place already is left as it is. The exit code is 1 when the answer was no.
    """
    del host  # one so far
    if address and not http:
        raise click.UsageError("--address does nothing without --http")
    paths = settings_paths(locate.find_project(directory).root)
    path = Path.home() / ".claude" / "settings.json" if user else paths[1] if http else paths[0]
    token = _token(makes=writes) if http else None
    hook = http_hook(_url(address), token) if token else COMMAND_HOOK
    text = settings_text(path)
    try:
        absent = missing(text, hook)
        new = with_hook(text, hook)
    except ValueError as error:
        raise SettingsError(str(path), str(error)) from None
    changes = new != text
    agreed = yes or not (writes and changes) or click.confirm(f"Put the hook into {path}?", err=True)
    written = changes and writes and agreed
    backup = _write(path, text, new, private=http) if written else None
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
    if agreed and writes:
        _tell_more(path, (*paths, Path.home() / ".claude" / "settings.json"), http=http)
    return EXIT_OK if agreed else EXIT_PROBLEMS


def _token(*, makes: bool) -> str:
    """The user's token, which is made only where it is going to be written."""
    place = Path(private_place())
    return own_token(place) if makes else find_token(place) or _HIDDEN


def _url(address: str | None) -> str:
    return url_of(*options.loopback_address(address), f"{PATH}claude-code")


def _tell_more(path: Path, paths: Iterable[Path], *, http: bool) -> None:
    """Tell what else there is to do."""
    for other in dict.fromkeys(paths):
        if other != path and _has_hook(other):
            _render.note(f"{other} has the hook, too: each call is reported twice, and answered once; take one out")
    if not http:
        return
    if is_shared(path):
        _render.note(f"{path} holds a token, and git does not ignore it; add it to .gitignore")
    _render.note("`waggle serve` answers it; start it, and leave it running")


def _has_hook(path: Path) -> bool:
    try:
        return has_hook(settings_text(path))
    except (OSError, ValueError):  # what is wrong with it, `waggle doctor` tells
        return False


def _write(path: Path, text: str, new: str, *, private: bool) -> Path | None:
    """Write the settings; gives where the former ones are kept, if there were any."""
    target = path.resolve()  # a link to where the file is kept stays a link
    backup = _free(target) if text else None
    if backup:
        files.replace(backup, text.encode(), private=private or bool(http_hooks(text)))
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


def settings_paths(root: Path) -> tuple[Path, ...]:
    """Where Claude Code's settings are, the project's first."""
    project, home = root / ".claude", Path.home() / ".claude"
    return project / "settings.json", project / "settings.local.json", home / "settings.json"


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

"""The command that puts waggle's hook into a host's settings: ``init``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from waggle import _render, files, locate
from waggle._defaults import EXIT_OK, EXIT_PROBLEMS
from waggle.cli import options
from waggle.errors import SettingsError
from waggle.hook.hosts import NAMES, host_named
from waggle.hook.install import missing, with_hook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from waggle.jsonvalue import JsonObject

__all__ = ["init", "settings_text"]

_FILE_BYTES: Final = 16 << 20  # largest settings that are read


@click.command()
@click.argument("host", type=click.Choice(NAMES), metavar="HOST")
@options.project
@click.option("--user", is_flag=True, help="The user's own settings, for every project. Default: the project's.")
@click.option("--write", "writes", is_flag=True, help="Write the file, after asking. Default: only show it.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@options.as_json
def init(*, host: str, directory: Path, user: bool, writes: bool, yes: bool, as_json: bool) -> int:
    """Put the hook into the settings of HOST: claude-code, codex, gemini-cli or cursor.

    Shows the settings as they would be: .claude/settings.json, .codex/hooks.json, .gemini/settings.json or
    .cursor/hooks.json of the project, or of the user. With --write they are written, every byte that is there kept, and
    the former file stays beside the new one, with .bak behind its name. What is in place already is left as it is. The
    exit code is 1 when the answer was no.
    """
    known = host_named(host)
    paths = known.settings.paths(locate.find_project(directory).root)
    path = paths[-1] if user else paths[0]
    text = settings_text(path)
    try:
        absent = missing(known, text)
        new = with_hook(known, text)
    except ValueError as error:
        raise SettingsError(str(path), str(error)) from None
    agreed = yes or not (writes and absent) or click.confirm(f"Put the hook into {path}?", err=True)
    written = bool(absent) and writes and agreed
    backup = _write(path, text, new) if written else None
    if as_json:
        told: JsonObject = {"path": str(path), "missing": list(absent), "written": written}
        _render.document({**told, "backup": str(backup) if backup else None})
    elif absent and not writes:
        _render.out(new.rstrip("\n"))
        _render.note(f"{path} would be so; --write writes it")
    elif agreed:
        if backup:
            _render.note(f"the former file is {backup}")
        _render.out(f"{path}: the hook is in place")
        if known.settings.after:
            _render.note(known.settings.after)
    return EXIT_OK if agreed else EXIT_PROBLEMS


def _write(path: Path, text: str, new: str) -> Path | None:
    """Write the settings; gives where the former ones are kept, if there were any."""
    target = path.resolve()  # a link to where the file is kept stays a link
    backup = _free(target) if text else None
    if backup:
        files.replace(backup, text.encode())
    files.replace(target, new.encode())
    return backup


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

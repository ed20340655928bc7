"""What a host's files deny to its agent, as rules of `waggle.hook.reads.Reads`, read as widely as they can be meant.

A rule is ``Read(pattern)``, or the name of a tool that is denied whole. A file that cannot be read denies every read.
"""

from __future__ import annotations

import logging
import tomllib
from typing import TYPE_CHECKING, Any, Final

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["EVERYTHING", "ignore_rules", "json_file", "rules_of", "settings_rules", "toml_file"]

#: The tools of `waggle.hook.reads.Reads`.
EVERYTHING: Final = ("Read", "Glob", "Grep", "LS", "Bash")

_log = logging.getLogger("waggle")


def json_file(text: str) -> Any:
    """A file of JSON; for `rules_of`."""
    return jsonvalue.loads(text)


def toml_file(text: str) -> Any:
    """A file of TOML; for `rules_of`."""
    return tomllib.loads(text)


def rules_of(
    paths: Iterable[Path], read: Callable[[str], Any], rules: Callable[[Any], Iterable[str]]
) -> tuple[str, ...]:
    """The rules of files, in their order; a file that is not there has none.

    Args:
        paths: of the files.
        read: takes a file's text apart; may raise `ValueError`.
        rules: those of one file; may raise what comes of a file of an unexpected shape.
    """
    found: list[str] = []
    for path in paths:
        try:
            found += rules(read(path.read_text(encoding="utf-8-sig")))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, AttributeError, TypeError) as error:
            _log.warning("%s cannot be read, so nothing is looked up: %s", path, error)
            found += EVERYTHING
    return tuple(found)


def settings_rules(paths: Iterable[Path]) -> tuple[str, ...]:
    """The rules under ``permissions.deny`` of Claude Code's settings, and of Cursor's, which has taken them over."""

    def rules(settings: Any) -> list[str]:
        named = [rule for rule in settings.get("permissions", {}).get("deny", []) if isinstance(rule, str)]
        named = [f"Bash{rule[5:]}" if rule.partition("(")[0] == "Shell" else rule for rule in named]
        return [rule for rule in named if rule.partition("(")[0] in EVERYTHING]

    return rules_of(paths, json_file, rules)


def ignore_rules(paths: Iterable[Path]) -> tuple[str, ...]:
    """The patterns of files in the form of ``.gitignore`` that keep an agent from reading; exceptions do not count."""

    def rules(text: str) -> list[str]:
        lines = (line.strip() for line in text.splitlines())
        return [f"Read({line})" for line in lines if line and line[0] not in "#!"]

    return rules_of(paths, str, rules)

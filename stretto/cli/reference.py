"""Writes ``docs/cli-stretto.md`` from the commands: ``python -m stretto.cli.reference > docs/cli-stretto.md``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from stretto.cli.app import EXIT_CODES, cli
from stretto.cli.json_keys import JSON_KEYS
from waggle.cli.reference import codes_section, command_section, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["commands", "reference"]

_CONVENTIONS: Final = """\
What a command found goes to standard output, as Markdown where it is a page, or with `--json` as one JSON document in
ASCII. Everything else (progress, notes, errors) goes to standard error, one line a problem: `path:line: problem`, or
`path: problem @ $.json.path`. Text for people may change; the keys of `--json` do not: capitals stand for a name from
the data, `.*` for all that is below. The progress bar only a terminal gets. A reader that goes away early is no error.

A file is written whole or not at all. `--out` replaces a flow; anything else that is there is replaced only with
`--force`, pictures apart. `--dry-run` does everything but write.

A damaged line or file among recorded sessions is left out and told; a source that holds nothing else is an error.

The user's directory is `STRETTO_HOME`, else `stretto` where the platform keeps a user's data; in it stand `flows`,
`logs` and `shadow`.
"""


def reference() -> str:
    """The page: conventions, exit codes, then every command with its arguments, options and JSON keys."""
    source = "python -m stretto.cli.reference > docs/cli-stretto.md"
    lines = ["# The command line of stretto", "", f"<!-- generated: {source} -->", ""]
    lines += [paragraphs(cli.help), "", _CONVENTIONS, *codes_section(EXIT_CODES)]
    context = click.Context(cli)
    for name, command in commands(cli, context):
        lines += command_section("stretto", name, command, JSON_KEYS.get(name, {}))
    return "\n".join(lines)


def commands(group: click.Group, context: click.Context, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands of a group by their names, those of a group in it as ``group command``."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, context, f"{before}{name} ")
        elif command is not None:
            yield f"{before}{name}", command


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # it is a file here
    sys.stdout.write(reference())

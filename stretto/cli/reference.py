"""Writes ``docs/cli-stretto.md`` from the commands: ``python -m stretto.cli.reference > docs/cli-stretto.md``."""

from __future__ import annotations

import sys
from typing import Final

import click

from stretto.cli.app import EXIT_CODES, cli
from stretto.cli.json_keys import JSON_KEYS
from waggle.cli.reference import codes_section, command_section, paragraphs

__all__ = ["reference"]

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
    for name in cli.list_commands(context):
        if command := cli.get_command(context, name):
            lines += command_section("stretto", name, command, JSON_KEYS.get(name, {}))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # it is a file here
    sys.stdout.write(reference())

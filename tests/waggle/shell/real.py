"""Real bash, asked what it makes of a command: the words are its own, and none of the commands runs."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from waggle.shell import Refusal, judge, parse
from waggle.shell.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from waggle.shell import Script

BASH: Final = shutil.which("bash")
#: The bash that some systems still ship, of 2007, lacks some of the operators.
needs_bash = pytest.mark.skipif(
    not BASH
    or subprocess.run([BASH, "-c", "true |& true &>>/dev/null"], check=False, capture_output=True).returncode > 0,
    reason="needs bash 4 or newer",
)

#: Every known command is a function that only notes its words, in one write, so that the members of a pipeline do not
#: mix theirs: a line end would begin a second write, and travels as another character. Nothing is on the search path:
#: what is no function is not found.
_PRELUDE: Final = """
PATH=
note() { builtin printf '%s\\0' "${@//$'\\n'/$'\\3'}" $'\\1' >&57; return $status; }
"""
_ENDED: Final = "\1"  # behind the words of one command
_DONE: Final = "\2"  # behind all commands of one text


def run_bash(script: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Run a script in a folder, with a bound on its time."""
    assert BASH
    subprocess.run(
        [BASH, "--norc"],
        input=f"{script}\nexit 0\n".encode(),
        cwd=folder,
        env=environment,
        timeout=120,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def words_of_bash(texts: Sequence[str], folder: Path, *, status: int) -> list[list[list[str]]]:
    """For each text, the commands that bash runs when each of them ends with `status`, as their words.

    The members of one pipeline run at the same time, so their order is not certain. Redirections are real, and take
    place in `folder`.
    """
    parts = [_PRELUDE, f"status={status}\n", "exec 57>>../noted\n"]
    parts += [f'function {name} {{ note {name} "$@"; }}\n' for name in COMMANDS]
    for text in texts:
        quoted = text.replace("'", "'\\''")
        parts.append(f"( builtin eval '{quoted}' ) </dev/null >/dev/null 2>&1\nbuiltin printf '\\2\\0' >&57\n")
    noted = folder.parent / "noted"
    noted.write_bytes(b"")
    run_bash("".join(parts), folder, {"LC_ALL": "C.UTF-8"})
    words = noted.read_text(encoding="utf-8").split("\0")[:-1]
    result: list[list[list[str]]] = [[]]
    current: list[str] = []
    for word in words:
        if word == _DONE:
            result.append([])
        elif word == _ENDED:
            result[-1].append(current)
            current = []
        else:
            current.append(word.replace("\3", "\n"))
    return result[:-1]


def literal_reads(texts: Iterable[str]) -> list[tuple[str, Script]]:
    """Reads of which every word arrives as it is, and which read from no file but ``a.txt``."""
    result = []
    for text in texts:
        script = parse(text)
        if isinstance(script, Refusal) or not judge(text).reads:
            continue
        members = [command for line in script.pipelines for command in line]
        literal = all(word.prefix is None for command in members for word in command.argv)
        inputs = {each.target for command in members for each in command.redirections if each.operator == "<"}
        if literal and inputs <= {"a.txt", "/dev/null"}:
            result.append((text, script))
    return result


def expected_words(script: Script, *, status: int) -> list[list[str]]:
    """What `words_of_bash` should give for a script that was understood."""
    joints = ("first", *script.connectors)
    skipped = "||" if status == 0 else "&&"
    return [
        [word.text for word in command.argv]
        for joint, line in zip(joints, script.pipelines, strict=True)
        if joint != skipped
        for command in line
    ]

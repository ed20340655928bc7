"""Any value reaches a command as one argument, byte for byte, and none is ever read as shell."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waggle.shell import Script, Word, in_directory, parse, quote

if TYPE_CHECKING:
    from pathlib import Path

#: Characters that some shell gives a meaning to come up often, all others now and then.
VALUES = st.text(
    st.sampled_from("'\"\\$`!*?[]{}()<>|&;#~=-\n\t \r") | st.characters(exclude_characters="\0", codec="utf-8")
)
SHELLS = [pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"needs {name}"))
          for name in ("bash", "sh", "dash", "zsh")]  # fmt: skip
ODD = [
    "a b",
    "it's",
    '"',
    "$(touch pwned)",
    "`touch pwned`",
    "a\nb",
    "*",
    "~",
    "-rf",
    "--",
    "",
    "C:\\new\\table",
    "!!",
    "''",
    "\\'",
]


def received(shell: str, values: list[str], folder: Path | None = None) -> list[bytes]:
    """What a command gets as its arguments when a real shell runs the quoted line."""
    line = "printf '%s\\0' x " + " ".join(quote(value) for value in values)
    done = subprocess.run([shell, "-c", line], capture_output=True, check=True, timeout=30, cwd=folder)
    return done.stdout.split(b"\0")[1:-1]


@pytest.mark.case("HC-16")
@pytest.mark.parametrize("shell", SHELLS)
def test_odd_values_arrive_unchanged_and_nothing_runs(shell: str, tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s "a" $(touch pwned) dir'
    folder.mkdir()
    assert received(shell, ODD, folder) == [value.encode() for value in ODD]
    assert not list(folder.iterdir())


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=25, deadline=None)
@given(values=st.lists(VALUES, min_size=1, max_size=60))
def test_any_values_arrive_byte_for_byte(shell: str, values: list[str]) -> None:
    assert received(shell, values) == [value.encode() for value in values]


@given(VALUES.filter(lambda value: not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", value)))
def test_what_is_quoted_parses_back_to_the_value(value: str) -> None:
    """Control characters are the exception: the parser refuses them even inside quotes."""
    script = parse(f"echo {quote(value)} end")
    assert isinstance(script, Script)
    assert script.pipelines[0][0].argv == (Word("echo"), Word(value), Word("end"))


def test_nul_is_refused_with_its_place() -> None:
    with pytest.raises(ValueError, match=r"NUL.* index 2"):
        quote("ab\0c")


@pytest.mark.parametrize(
    ("directory", "base", "command"),
    [
        ("/repo", "/repo", "cat x"),
        (".", "/repo", "cat x"),
        ("/repo/src/", "/repo", "cd src && cat x"),
        ("../b", "/repo", "cd /b && cat x"),
        ("/repo2", "/repo", "cd /repo2 && cat x"),
        ("src", "", "cd src && cat x"),
        ("/", "", "cd / && cat x"),
        ("/a", "/", "cd a && cat x"),
        ("-x", "/repo", "cd '-x' && cat x"),
        ("a b;c", "/repo", "cd 'a b;c' && cat x"),
    ],
)
def test_a_command_is_put_into_its_directory(directory: str, base: str, command: str) -> None:
    assert in_directory("cat x", directory, base) == command


def test_a_command_does_there_what_it_did(tmp_path: Path) -> None:
    (tmp_path / "it's here").mkdir()
    made = in_directory("pwd; pwd", "it's here", str(tmp_path))
    printed = subprocess.run(["sh", "-c", made], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert printed.split("\n")[:2] == [str(tmp_path / "it's here")] * 2

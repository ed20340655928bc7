"""The shell form: every value reaches its command as one argument, byte for byte, and an option stays a value."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from waggle import Param, Route, ToolTable
from waggle.routes import RouteStep
from waggle.script import run_script

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TOOLS = ToolTable()

#: Writes the number of its arguments, its own name and the arguments, each with a NUL behind it, to the file $LOG.
FAKE = '#!/bin/bash\nprintf "%s\\0" "$#" "${0##*/}" "$@" >> "$LOG"\n'

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
    "-delete",
    "C:\\new\\table",
]


def step(tool: str, **args: Any) -> RouteStep:
    return RouteStep(tool, args)


def script(*steps: RouteStep, params: tuple[Param, ...] = ()) -> str | None:
    return run_script(Route("a-route-00000000", steps, params), TOOLS)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an odd name, and commands that only note how they were called."""
    place = tmp_path_factory.mktemp("bench") / 'it\'s "a" $(touch pwned) dir'
    (place / "bin").mkdir(parents=True)
    for name in ("cat", "sed", "grep", "rg", "ls", "find", "head"):
        (place / "bin" / name).write_text(FAKE)
        (place / "bin" / name).chmod(0o755)
    (place / "work").mkdir()
    return place


def called(bench: Path, text: str, *arguments: str) -> list[list[str]]:
    """Run a script under a real bash; the commands it called, each with its arguments."""
    log = bench / "log"
    log.unlink(missing_ok=True)
    env = {"PATH": f"{bench / 'bin'}:{os.environ['PATH']}", "LOG": str(log)}
    subprocess.run(
        ["bash", "-c", text, "run.sh", *arguments],
        env=env,
        cwd=bench / "work",
        check=True,
        timeout=10,
        capture_output=True,
    )
    assert list((bench / "work").iterdir()) == []
    words = log.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
    commands: list[list[str]] = []
    while words:
        count = int(words[0])
        commands.append(words[1 : count + 2])
        words = words[count + 2 :]
    return commands


def path_word(value: str) -> str:
    return value if value[0] in "/." else f"./{value}"


@pytest.mark.case("HC-16")
@pytest.mark.parametrize("value", ODD)
def test_each_odd_value_arrives_as_one_argument(bench: Path, value: str) -> None:
    """In a project whose own name is hostile; no file ``pwned`` may appear."""
    text = script(
        step("ls", path=value),
        step("read", path=value),
        step("search", pattern=value, path=value),
        step("Grep", pattern=value, output_mode="content", glob=value),
    )
    assert text is not None
    path = path_word(value)
    assert called(bench, text) == [
        ["ls", "--", path],
        ["cat", "--", path],
        ["grep", "-rnE", "-e", value, "--", path],
        ["rg", "-g", value, "-e", value, "--", "."],
    ]
    assert not list(bench.rglob("pwned"))


@pytest.mark.case("HC-16")
@pytest.mark.parametrize("value", [*ODD, ""])
def test_each_odd_parameter_arrives_as_one_argument(bench: Path, value: str) -> None:
    text = script(
        step("search", pattern=None, path="src"),
        step("read", path=None),
        params=(Param(0, "pattern"), Param(1, "path")),
    )
    assert text is not None
    path = f"./{value}" if not value or value[0] not in "/." else value
    assert called(bench, text, value, value) == [
        ["grep", "-rnE", "-e", value, "--", "./src"],
        ["cat", "--", path],
    ]
    assert not list(bench.rglob("pwned"))


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=8))
@example([("\n", "\n")])
def test_random_values_arrive_byte_for_byte(bench: Path, pairs: Sequence[tuple[str, str]]) -> None:
    text = script(*(step("search", pattern=pattern, path=path) for pattern, path in pairs))
    assert text is not None
    assert called(bench, text) == [["grep", "-rnE", "-e", p, "--", path_word(path)] for p, path in pairs]


def test_a_path_that_looks_like_a_find_expression_deletes_nothing(tmp_path: Path) -> None:
    """In the original a ``glob`` whose path is ``-delete`` becomes a ``find`` that deletes; here the real one runs."""
    (tmp_path / "kept").write_text("x")
    text = script(step("glob", pattern="zzz", path="-delete"), step("ls", path="kept"))
    assert text is not None
    subprocess.run(["bash", "-c", text], cwd=tmp_path, check=True, timeout=10, capture_output=True)
    assert (tmp_path / "kept").read_text() == "x"


def test_lines_and_modes_are_kept() -> None:
    text = script(
        step("Read", file_path="a.py", offset=10, limit=5),
        step("Read", file_path="a.py", limit=3),
        step("Read", file_path="a.py", offset=7),
        step("Grep", **{"pattern": "x", "-n": True, "-i": True, "-A": 2, "head_limit": 9}),
    )
    assert text is not None
    assert text.splitlines()[3:] == [
        "sed -n -e '10,14p' -- './a.py'",
        "sed -n -e '1,3p' -- './a.py'",
        "sed -n -e '7,$p' -- './a.py'",
        "rg -l -n -i -A 2 -e 'x' -- . | head -n 9",
    ]


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(step("WebFetch", url="https://x"), id="no shell form"),
        pytest.param(step("Read", file_path="a", unknown=1), id="an argument nobody translates"),
        pytest.param(step("Read", file_path="a", offset=-1), id="a tail"),
        pytest.param(step("Read", file_path=""), id="an empty path"),
        pytest.param(step("Read", file_path="a\0b"), id="a NUL byte"),
        pytest.param(step("Read", file_path={"$bytes": "AA=="}), id="a path that is no text"),
        pytest.param(step("glob", pattern="**/*.txt"), id="a glob over folders"),
        pytest.param(step("Grep", pattern="x", output_mode="everything"), id="an unknown mode"),
        pytest.param(step("bash", command="rm -rf x"), id="a command that writes"),
        pytest.param(step("Grep", path="x"), id="a missing pattern"),
    ],
)
def test_what_cannot_be_said_in_shell_gives_no_script(one: RouteStep) -> None:
    assert script(one, step("ls", path="x")) is None


def test_a_read_only_command_is_its_own_shell_form(bench: Path) -> None:
    text = script(step("bash", command="grep -n foo src/a.py # look"), step("ls", path="x"))
    assert text is not None
    assert called(bench, text) == [["grep", "-n", "foo", "src/a.py"], ["ls", "--", "./x"]]


def test_a_path_of_the_project_is_relative_to_it() -> None:
    text = script(step("Read", file_path={"$project": "src/a.py"}), step("LS", path={"$project": "."}))
    assert text is not None
    assert text.splitlines()[3:] == ["cat -- './src/a.py'", "ls -- '.'"]


def test_a_missing_parameter_is_said_and_nothing_runs(bench: Path) -> None:
    text = script(step("read", path=None), step("ls", path="x"), params=(Param(0, "path"),))
    assert text is not None
    done = subprocess.run(
        ["bash", "-c", text, "run.sh"], capture_output=True, text=True, timeout=10, cwd=bench, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "usage: run.sh PATH\n")

"""What the tests of the command line share: how to run it, skills of every kind, recorded sessions."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from tests.conftest import ROOT
from waggle import (
    Call,
    Param,
    Result,
    Route,
    Store,
)
from waggle.cli.app import cli
from waggle.routes import RouteStep, named
from waggle.traces import TraceBuilder, dump_trace, read_traces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from click.testing import Result as Ran

    from waggle.traces import Trace


SESSIONS = ROOT / "examples" / "sessions"
NOW = datetime.now(UTC)


def run(*args: object, stdin: str | bytes | None = None) -> Ran:
    """Run a command in this process; what it raises is a failure of the test."""
    return CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin, catch_exceptions=False)


def ran(*args: object, code: int = 0) -> str:
    """What a command printed on standard output; its exit code is checked."""
    result = run(*args)
    assert result.exit_code == code, result.output
    return result.stdout


def ran_json(*args: object, code: int = 0) -> Any:
    """The document of a command; it is in ASCII and nothing else is printed."""
    text = ran(*args, "--json", code=code)
    assert text.isascii()
    return json.loads(text)


def route(*steps: tuple[str, Mapping[str, Any]], params: tuple[Param, ...] = (), **facts: Any) -> Route:
    facts = {"count": 3, "support": 1, "learned_at": NOW, **facts}
    return named(Route("", tuple(RouteStep(tool, dict(args)) for tool, args in steps), params, **facts))


LOAD = route(
    ("Grep", {"pattern": "def load", "path": "src"}),
    ("Read", {"file_path": {"$project": "src/load.py"}}),
    ("Read", {"file_path": {"$project": "src/settings.py"}}),
    count=7,
    support=2,
)
LIST = route(("LS", {"path": "docs"}), ("Grep", {"pattern": None}), params=(Param(1, "pattern"),))
OLD = route(("LS", {"path": "old"}), ("Read", {"file_path": "old/a"}), learned_at=NOW - timedelta(days=20))
BAD = route(("LS", {"path": "gone"}), ("Read", {"file_path": "gone/a"}))
TWIN = replace(OLD, name="twin-of-old", learned_at=NOW)


@dataclass(frozen=True)
class Home:
    """A project and a user's store.

    Attributes:
        root: the project's root, which is the working directory.
        project: its store.
        user: the user's.
    """

    root: Path
    project: Store
    user: Store


def tidy(text: str, home: Home) -> str:
    """Output with the places of this test run replaced."""
    return text.replace(str(home.root), "PROJECT").replace(str(Path.home()), "HOME")


def snapshot(*places: Path) -> dict[str, bytes]:
    """Every file below some places, and its content; lock files, which only say that somebody was there, left out."""
    return {
        str(path): path.read_bytes()
        for place in places
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def trace(name: str, calls: Iterable[tuple[str, dict[str, Any]]], *, task: str | None = None) -> Trace:
    """A session of one call a turn."""
    builder = TraceBuilder()
    for turn, (tool, args) in enumerate(calls):
        builder.call(Call(tool, args, f"c{turn}"), turn)
        builder.result(f"c{turn}", Result(f"{tool} says src/a.py src/b.py src"))
    return builder.build(name, "claude-code/model", "ada/lift:1@abc", task=task)


def habit(root: str = "src") -> list[tuple[str, dict[str, Any]]]:
    """One round of a habit, and the write that ends it."""
    steps = [("LS", {"path": root}), ("Read", {"file_path": f"{root}/a.py"}), ("Read", {"file_path": f"{root}/b.py"})]
    return [*steps, ("Edit", {"file_path": "x"})]


def written(path: Path, *traces: Trace) -> Path:
    path.write_bytes(b"".join(dump_trace(each) for each in traces))
    return path


def command() -> list[str]:
    """The console script of the environment that runs the tests."""
    script = Path(sys.executable).with_name("waggle")
    assert script.exists(), "install the package: pip install -e ."
    return [str(script)]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def checks(code: int = 0) -> dict[str, dict[str, str]]:
    return {each["check"]: each for each in ran_json("doctor", code=code)["checks"]}


def some_traces() -> list[Trace]:
    """The smallest of the shipped files, and two sessions that repeat a habit: enough for every part of the report."""
    habits = [trace("s1", habit() * 4, task="t1"), trace("s2", habit(), task="t2")]
    return [*read_traces(SESSIONS / "coding-swe-agent.jsonl.gz"), *habits]

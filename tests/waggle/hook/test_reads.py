"""What a hook reads on an agent's behalf: inside the project only, as Claude Code's own tools would show it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.waggle.hook.hook_support import make_project
from waggle.hook.reads import Reads

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("outside\n")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "x.py").write_text("outside\n")
    root = make_project(tmp_path / "project")
    (root / "out").symlink_to(tmp_path / "beside")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "near.py").symlink_to(root / "src" / "m1.py")
    (root / ".env").write_text("K=1\n")
    (root / "deploy.pem").write_text("x\n")
    return root


def run(root: Path, tool: str, **args: object) -> str | None:
    """What a lookup shows; None when it may not be made or fails."""
    result = Reads(root).run(tool, args, str(root))
    return result.text if result.ok else None


def test_a_read_shows_lines_as_the_hosts_own_read_does(root: Path) -> None:
    (root / "a.py").write_text("def load():\n    return 1\n\n\nclass A:\n    pass\n")
    assert (
        run(root, "Read", file_path="a.py") == "1\tdef load():\n2\t    return 1\n3\t\n4\t\n5\tclass A:\n6\t    pass\n7"
    )
    assert run(root, "Read", file_path=str(root / "a.py"), offset=2, limit=1) == "2\t    return 1"
    assert run(root, "Read", file_path="near.py", offset=20, limit=1) == "20\tdef load_1():"


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "link.txt", "out/x.py", "/etc/passwd", "~/x", ".env", "deploy.pem", ".", "src", "none", "a\0b"],
)
def test_nothing_outside_no_secret_and_no_directory_is_read(root: Path, path: str) -> None:
    try:
        shown = run(root, "Read", file_path=path)
    except OSError:  # as a manager takes it: a lookup that failed
        shown = None
    assert shown is None


@pytest.mark.parametrize(
    ("args", "why"),
    [({"offset": "2"}, "text"), ({"limit": 0}, "none"), ({"limit": -1}, "less"), ({"pages": "1"}, "unknown")],
)
def test_a_read_with_arguments_that_mean_nothing_fails(root: Path, args: dict[str, object], why: str) -> None:
    assert run(root, "Read", file_path="src/m1.py", **args) is None, why


def test_what_is_no_text_or_too_long_is_not_read_and_a_pipe_holds_nobody_up(root: Path) -> None:
    (root / "b.bin").write_bytes(b"a\0b")
    (root / "long.txt").write_text("x" * 300_000)
    os.mkfifo(root / "pipe")
    started = time.monotonic()
    assert [run(root, "Read", file_path=name) for name in ("b.bin", "long.txt", "pipe")] == [None] * 3
    assert time.monotonic() - started < 5


def test_a_listing_shows_the_files_inside_alone(root: Path) -> None:
    os.utime(root / "src" / "m3.py", (1, 1))
    listed = run(root, "Glob", pattern="src/m[123].py")
    assert listed == "src/m3.py\nsrc/m1.py\nsrc/m2.py"
    assert run(root, "Glob", pattern="*.md") == "No files found"
    assert run(root, "Glob", pattern="../*") is None
    assert run(root, "Glob", pattern="/etc/*") is None
    assert run(root, "Glob", pattern="*", path="out") is None
    assert "x.py" not in (run(root, "Glob", pattern="*/*.py") or "")


def test_a_directory_shows_what_is_inside_without_secrets_and_what_leads_out(root: Path) -> None:
    (root / ".env").write_text("KEY=1\n")
    shown = run(root, "LS", path=".")
    assert shown
    assert "src/" in shown.split("\n")
    assert not {".env", "link.txt", "out", "out/"} & set(shown.split("\n"))
    assert [run(root, "LS", path=path) for path in ("..", "out", "src/m1.py", "none")] == [None] * 4
    assert run(root, "LS", path="src", depth=2) is None
    assert run(root, "LS") is None


@pytest.mark.parametrize(
    "command",
    ["cat src/m1.py", "sed -n 20,20p src/m1.py", "grep -n load_1 src/m1.py", "cd src && cat m1.py", "ls src | head -3"],
)
def test_commands_that_read_inside_are_run(root: Path, command: str) -> None:
    assert run(root, "Bash", command=command)


@pytest.mark.parametrize(
    "command",
    [
        "cat ../secret.txt",
        "cat link.txt",
        "cat /etc/passwd",
        "cd .. && cat secret.txt",
        "cd out && cat x.py",
        "cat < ../secret.txt",
        "grep -R load .",
        "grep -rL load .",
        "grep -f../secret.txt src/m1.py",
        "grep --file=../secret.txt src/m1.py",
        "rg --follow load",
        "cat $HOME/x",
        "cat ../*.txt",
        "cat out/*",
        "cat .env",
        "cat ~/.bashrc",
        "rm src/m1.py",
        "cat src/m1.py > copy",
        "echo $(cat src/m1.py)",
        "false",
    ],
)
def test_commands_that_write_or_leave_the_project_are_not(root: Path, command: str) -> None:
    assert run(root, "Bash", command=command) is None
    assert (root / "src" / "m1.py").exists()
    assert not (root / "copy").exists()


def test_a_command_that_takes_too_long_or_prints_too_much_is_ended(root: Path) -> None:
    (root / "long.txt").write_text("x" * 1_000_000)
    started = time.monotonic()
    assert run(root, "Bash", command="cat long.txt") is None
    os.mkfifo(root / "pipe")
    assert run(root, "Bash", command="cat pipe") is None
    assert time.monotonic() - started < 20


def test_what_the_hosts_settings_deny_is_not_read(root: Path) -> None:
    rules = ("Read(./src/m1.py)", "Read(docs/**)", "Read(**/*.sql)")
    (root / "docs").mkdir()
    for name in ("docs/a.md", "x.sql", "src/y.sql", "free.txt"):
        (root / name).write_text("text\n")
    reads = Reads(root, rules)
    allowed = [
        name
        for name in ("src/m1.py", "src/m2.py", "docs/a.md", "x.sql", "src/y.sql", "free.txt")
        if reads.allows("Read", {"file_path": name}, str(root))
    ]
    assert allowed == ["src/m2.py", "free.txt"]
    assert not reads.allows("Bash", {"command": "cat free.txt"}, str(root))
    assert not Reads(root, ("Read",)).allows("Read", {"file_path": "free.txt"}, str(root))


def test_other_tools_are_never_run(root: Path) -> None:
    assert run(root, "Write", file_path="x", content="y") is None
    assert run(root, "mcp__shop__get", order="1") is None
    assert run(root, "WebFetch", url="http://example.org") is None

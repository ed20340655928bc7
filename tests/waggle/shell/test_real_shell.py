"""Real bash is the authority: it must see the words that we see, and what is called a read must change nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.waggle.shell.generated import (
    AWK_PIECES,
    GLOBS,
    HOSTILE,
    SED_PIECES,
    commands,
    from_the_table,
    line,
    programs,
    seeded,
    simple,
)
from tests.waggle.shell.real import expected_words, literal_reads, needs_bash, run_bash, words_of_bash
from waggle.shell import git, judge
from waggle.shell.commands import COMMANDS
from waggle.shell.programs import awk_prints, sed_prints

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = needs_bash

#: Files whose names are options to a tool that takes them for arguments.
TRAPS = ("-i.py", "-ofoo.txt", "--output=out.md", "-i", "-delete", "-exec", ";", "-oout", "w out", "-c", "--")


def test_bash_sees_the_same_commands_and_words(tmp_path: Path) -> None:
    """Whole scripts: comments, continued lines, redirections, pipes, and what runs after success and after failure."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"")
    pairs = literal_reads(commands(seed=2, count=2_500))
    assert len(pairs) > 500
    for status in (0, 1):
        seen = words_of_bash([text for text, _ in pairs], folder, status=status)
        for (text, script), words in zip(pairs, seen, strict=True):
            assert sorted(words) == sorted(expected_words(script, status=status)), text
    assert [path.name for path in folder.iterdir()] == ["a.txt"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory under version control, full of files with awkward names."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    for name in ("a.txt", "b.py", "b.txt", "src/c.py", "my file", "README.md", *TRAPS):
        (folder / name).write_text(f"def a():\n    return 1  # {name}\na b\n", encoding="utf-8")
    (folder / "a.txt").chmod(0o640)
    if shutil.which("git"):
        git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org"]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
            subprocess.run([*git, *arguments], cwd=folder, check=True, timeout=30)
    return folder


def state(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder: kind and mode, time of change, content."""
    result = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        result[str(path.relative_to(folder))] = (facts.st_mode, facts.st_mtime_ns, content)
    return result


def run_all(texts: Iterable[str], project: Path) -> None:
    """Run commands for real, each in a shell of its own, in the project's directory."""
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(project.parent),
        "LC_ALL": "C.UTF-8",
        "GIT_OPTIONAL_LOCKS": "0",  # status would store fresher file times in the index
    }
    quoted = (text.replace("'", "'\\''") for text in texts)
    run_bash("".join(f"( eval '{text}' ) </dev/null >/dev/null 2>&1\n" for text in quoted), project, environment)
    assert not list(home.iterdir())


def test_what_is_called_a_read_changes_nothing(project: Path) -> None:
    """Half of them hold a pattern, which expands to names that look like options."""
    choice = seeded(3)
    texts: list[str] = []
    while len(texts) < 250:
        text = line(choice, hostile=0.3)
        if len(texts) % 2:
            text = f"{simple(choice, hostile=0.1)} {choice.choice(GLOBS)}"
        if judge(text).reads:
            texts.append(text)
    before = state(project)
    run_all(texts, project)
    assert state(project) == before


@pytest.mark.parametrize(
    "text", ["sort *.txt", "sed -n 1p *.py", "uniq [ab].txt", "git diff *.md", "find *delete", "rm a.txt"]
)
def test_the_check_would_notice_a_write(text: str, project: Path) -> None:
    """The names of the files really are traps, and the comparison really sees what happened."""
    assert not judge(text).reads
    before = state(project)
    run_all([text], project)
    assert state(project) != before


def test_hostile_commands_of_the_generator_are_refused_unless_they_are_tame() -> None:
    choice = seeded(4)
    tame = {"cat {g}", "grep a {g}", "ls {g}"}
    for template in HOSTILE:
        if template not in tame:
            text = template.format(f="a.txt", g=choice.choice(["*", "*.py", "-*", "{a,b}.txt", "$HOME"]))
            assert not judge(text).reads, text


def test_whatever_the_tables_list_writes_nothing(project: Path) -> None:
    """Each row's options at random, with operands that would name an output, a branch or a setting."""
    rows = [(name, command.options) for name, command in COMMANDS.items() if command.options]
    rows += [(f"git {name}", options) for name, (options, _) in git._SUBCOMMANDS.items()]
    choice = seeded(7)
    made = {from_the_table(choice, *row) for row in rows for _ in range(6)}
    texts = sorted(f"timeout 5 {text}" for text in made if judge(text).reads)
    assert len(texts) > 250
    before = state(project)
    run_all(texts, project)
    assert state(project) == before


def test_accepted_sed_scripts_write_nothing(project: Path) -> None:
    scripts = programs(SED_PIECES, sed_prints, seed=5, count=120)
    before = state(project)
    run_all(
        [f"timeout 5 sed {'-n ' * (number % 2)}'{script}' a.txt b.txt" for number, script in enumerate(scripts)],
        project,
    )
    assert state(project) == before


def test_accepted_awk_programs_write_nothing(project: Path) -> None:
    sources = programs(AWK_PIECES, awk_prints, seed=6, count=120)
    before = state(project)
    run_all([f"timeout 5 awk '{program}' a.txt b.txt" for program in sources], project)
    assert state(project) == before

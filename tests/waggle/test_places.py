"""Places that cannot be written, reading in blocks, and paths made of data."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.waggle.files_support import LINE
from waggle import files, routes
from waggle.errors import InvalidSkillName, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# --- places that cannot be written ------------------------------------------------------------------------------------

WRITERS: list[Callable[[Path], object]] = [
    lambda path: files.append_line(path, LINE),
    lambda path: files.replace(path, LINE),
    lambda path: files.new_directory(path, {"a": LINE}),
    lambda path: files.lock(path).__enter__(),
]


@pytest.mark.case("HC-19")
@pytest.mark.parametrize("writer", WRITERS, ids=["append", "replace", "new directory", "lock"])
@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_place_that_cannot_be_written_is_one_error_with_the_variable_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: Callable[[Path], object], code: int
) -> None:
    """The system's refusal is made up, since nothing is refused to the superuser; the next test is the real thing."""

    def refuse(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreUnavailable, match="WAGGLE_HOME") as caught:
        writer(tmp_path / "x")
    assert caught.value.path == tmp_path / "x"
    assert caught.value.problem == os.strerror(code)


@pytest.mark.case("HC-19")
@pytest.mark.parametrize("writer", WRITERS, ids=["append", "replace", "new directory", "lock"])
def test_a_file_in_the_place_of_a_directory_is_an_error_that_names_it(
    tmp_path: Path, writer: Callable[[Path], object]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match=r"file/x: (Not a directory|File exists)"):
        writer(tmp_path / "file" / "x")


# --- reading ------------------------------------------------------------------------------------------------------


def test_a_file_is_read_up_to_a_limit_and_refused_beyond_it(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert files.read_bytes(path, limit=5) == b"12345"
    with pytest.raises(ValueError, match="larger than the 4 bytes"):
        files.read_bytes(path, limit=4)
    with pytest.raises(FileNotFoundError):
        files.read_bytes(tmp_path / "none", limit=4)


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(ValueError, match="not a file"):
        files.read_bytes(path, limit=4)
    with pytest.raises(StoreUnavailable, match="not a file"):
        list(files.read_blocks(path, longest=4))


@settings(deadline=None)
@given(
    st.lists(st.binary(max_size=12) | st.just(b"x" * 9), max_size=12).map(b"\n".join),
    st.integers(min_value=1, max_value=20),
)
def test_reading_in_blocks_gives_every_line_at_its_offset(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, longest: int
) -> None:
    """Whatever the block size, which follows `longest`; lines that are longer come as empty ones."""
    path = tmp_path_factory.getbasetemp() / "blocks"
    path.write_bytes(data)
    lines: list[bytes] = []
    for block in files.read_blocks(path, longest=longest):
        assert block.offset == sum(len(line) + 1 for line in data.split(b"\n")[: len(lines)])
        assert block.lines
        assert block.ended or len(block.lines) == 1
        lines += block.lines
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert lines == [line if len(line) <= longest else b"" for line in expected]


# --- names and paths from data --------------------------------------------------------------------------------

BAD_NAMES = ["../../x", "/etc/x", "a/b", "a\\b", "..", ".", "", "C:x", "a\x00b", "a\nb", "-rf", "x" * 300, ".hidden"]


@pytest.mark.case("HC-15")
@pytest.mark.parametrize("name", [*BAD_NAMES, "a-", "a--b", "A", "ä", "a_b", "a b", "x" * 65], ids=ascii)
def test_a_name_that_is_no_skill_s_is_refused_with_the_rule_it_breaks(name: str) -> None:
    with pytest.raises(InvalidSkillName) as caught:
        routes.check_skill_name(name)
    assert caught.value.name == name
    assert caught.value.rule in str(caught.value)


@pytest.mark.case("HC-15")
@pytest.mark.parametrize("name", ["a", "7", "find-tests-ab12cd34", "x" * 64])
def test_a_skill_s_name_is_small_letters_digits_and_single_hyphens(name: str) -> None:
    assert routes.check_skill_name(name) == name


@pytest.mark.case("HC-15")
@pytest.mark.parametrize(
    "parts",
    [("..",), ("../x",), ("a", "../../x"), ("/etc/passwd",), ("out",), ("out", "x"), ("a\x00b",), ("loop",)],
    ids=ascii,
)
def test_what_leads_out_of_a_directory_is_refused(tmp_path: Path, parts: tuple[str, ...]) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    with pytest.raises(StoreError):
        files.safe_join(root, *parts)


@pytest.mark.case("HC-15")
def test_what_stays_inside_comes_back_resolved(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "in").symlink_to("a")
    (tmp_path / "alias").symlink_to(root)
    assert files.safe_join(tmp_path / "alias", "in", "x.md") == root.resolve() / "a" / "x.md"
    assert files.safe_join(root, "a/../b") == root.resolve() / "b"


def test_importing_the_files_loads_no_lock_library() -> None:
    """It takes longer to load than all of ours; it comes with the first lock."""
    code = "import sys, waggle.files, waggle.ledger, waggle.locate, waggle.redact; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT, timeout=30)
    assert not {b"filelock", b"platformdirs", b"shutil"} & set(done.stdout.split())

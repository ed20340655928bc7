"""Files that survive: whole or not at all, whoever dies and whatever is full, and never outside of their place."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import filelock
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from waggle import files, routes
from waggle.errors import InvalidSkillName, StoreError, StoreLocked, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LINE = b'{"name": "a"}'
NOW = datetime(2026, 6, 1, tzinfo=UTC)


class FaultyDisk:
    """Stands in for the system's writes: does what it is told at the n-th, and works before and after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._write = os.write
        self._monkeypatch = monkeypatch

    def fail(self, error: BaseException, *, at: int = 1, after: int = 0) -> None:
        """Raise at the n-th write, after this many of its bytes have reached the file."""
        calls = 0

        def write(descriptor: int, data: memoryview) -> int:
            nonlocal calls
            calls += 1
            if calls < at:
                return self._write(descriptor, data)
            if calls == at and after:
                return self._write(descriptor, data[:after])
            raise error

        self._monkeypatch.setattr(os, "write", write)

    def short(self, most: int) -> None:
        """Take at most so many bytes at a time."""
        self._monkeypatch.setattr(os, "write", lambda descriptor, data: self._write(descriptor, data[:most]))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FaultyDisk:
    return FaultyDisk(monkeypatch)


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def open_umask() -> Iterator[None]:
    """An ordinary mask, so that modes are what was asked for."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if not path.name.endswith(".lock")}


# --- lock ---------------------------------------------------------------------------------------------------------


def test_one_thread_at_a_time_holds_a_lock(tmp_path: Path) -> None:
    inside = 0
    most = 0
    start = threading.Barrier(8)

    def work(_: int) -> None:
        nonlocal inside, most
        start.wait(5)
        for _ in range(20):
            with files.lock(tmp_path / "x"):
                inside += 1
                most = max(most, inside)
                os.sched_yield()
                inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert most == 1


HOLDER = """
import sys
from pathlib import Path
from waggle import files
with files.lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def child(code: str, *args: Path | str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
    )


def says(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_lock_held_by_another_process_is_waited_for_and_then_reported(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x"
    with child(HOLDER, path) as holder:
        assert says(holder) == "held"
        with pytest.raises(StoreLocked) as caught, files.lock(path, timeout_s=0.05):
            pass
        assert (caught.value.path, caught.value.seconds) == (Path(f"{path}.lock"), 0.05)
        holder.communicate("go\n", timeout=10)
    with files.lock(path, timeout_s=0):
        pass


def test_a_lock_ends_with_its_process_however_that_ends(tmp_path: Path) -> None:
    with child(HOLDER, tmp_path / "x") as holder:
        assert says(holder) == "held"
        os.kill(holder.pid, signal.SIGKILL)
    with files.lock(tmp_path / "x", timeout_s=5):
        pass


FORKER = """
import os, sys
from pathlib import Path
from waggle import files
with files.lock(Path(sys.argv[1])):
    child = os.fork()
    if child == 0:
        sys.stdin.readline()
        os._exit(0)
    print("forked", flush=True)
    os._exit(0)
"""


def test_a_forked_child_does_not_keep_its_dead_parent_s_lock(tmp_path: Path) -> None:
    with child(FORKER, tmp_path / "x") as parent:
        assert says(parent) == "forked"
        with files.lock(tmp_path / "x", timeout_s=5):
            assert parent.poll() in (None, 0)
        parent.communicate("end\n", timeout=10)


def test_leaving_the_block_in_a_forked_child_leaves_the_parent_s_lock_alone(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from waggle import files
path = Path(sys.argv[1])
with files.lock(path):
    child = os.fork()
    if child:
        left_well = os.waitpid(child, 0)[1] == 0
        taker = os.fork()
        if taker == 0:
            try:
                with files.lock(path, timeout_s=0):
                    os._exit(1)
            except TimeoutError:
                os._exit(0)
        print(left_well, os.waitpid(taker, 0)[1] == 0, flush=True)
os._exit(0)
"""
    with child(code, tmp_path / "x") as process:
        assert says(process) == "True True"


def test_a_lock_file_deleted_before_it_was_locked_protects_nothing_and_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_path = tmp_path / "x.lock"
    take = filelock.lock_descriptor
    deleted: list[int] = []

    def lock_descriptor(descriptor: int, *, blocking: bool) -> bool:
        if not deleted:
            deleted.append(descriptor)
            lock_path.unlink()
        return take(descriptor, blocking=blocking)

    monkeypatch.setattr(filelock, "lock_descriptor", lock_descriptor)
    with files.lock(tmp_path / "x"):
        assert lock_path.exists()
        with pytest.raises(StoreLocked), files.lock(tmp_path / "x", timeout_s=0):
            pass


# --- append -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("open_umask")
def test_appending_makes_the_file_and_its_directory(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    files.append_line(path, LINE)
    files.append_lines(path, [b"2", b"3"])
    files.append_lines(path, [])
    assert path.read_bytes() == LINE + b"\n2\n3\n"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o644, 0o755)


def test_a_line_that_holds_a_line_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line end"):
        files.append_lines(tmp_path / "x", [LINE, b"a\nb"])
    assert not (tmp_path / "x").exists()


def test_a_fragment_left_by_a_crash_stays_alone_on_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"one\ntw")
    files.append_line(path, b"three")
    assert path.read_bytes() == b"one\ntw\nthree\n"


def test_a_disk_that_takes_few_bytes_at_a_time_gets_the_whole_line(tmp_path: Path, disk: FaultyDisk) -> None:
    disk.short(3)
    files.append_line(tmp_path / "x", LINE)
    assert (tmp_path / "x").read_bytes() == LINE + b"\n"


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        pytest.param(full(), StoreUnavailable, id="full"),
        pytest.param(OSError(errno.EIO, "broken"), StoreUnavailable, id="broken"),
        pytest.param(KeyboardInterrupt(), KeyboardInterrupt, id="Ctrl-C"),
    ],
)
@pytest.mark.parametrize("after", [0, 5])
def test_an_interrupted_append_leaves_the_file_as_it_was(
    tmp_path: Path, disk: FaultyDisk, error: BaseException, raised: type[BaseException], after: int
) -> None:
    path = tmp_path / "x"
    files.append_line(path, LINE)
    before = path.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        FaultyDisk(patch).fail(error, after=after)
        with pytest.raises(raised):
            files.append_line(path, b"second")
    assert path.read_bytes() == before
    files.append_line(path, b"third")
    assert path.read_bytes() == before + b"third\n"


def test_a_write_without_progress_ends(tmp_path: Path, disk: FaultyDisk) -> None:
    disk.short(0)
    with pytest.raises(StoreUnavailable, match="no progress"):
        files.append_line(tmp_path / "x", LINE)


# --- replace ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("open_umask")
@pytest.mark.case("HC-06")
def test_a_replaced_file_keeps_its_mode_and_a_new_one_is_readable_by_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x"
    files.replace(path, b"1")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"1", 0o644)
    path.chmod(0o600)
    files.replace(path, b"2")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"2", 0o600)
    files.replace(path, b"3", keep_mode=False)
    assert path.stat().st_mode & 0o777 == 0o644
    assert names_in(path.parent) == {"x"}


@pytest.mark.case("HC-06")
@pytest.mark.parametrize(
    ("error", "raised"),
    [
        pytest.param(full(), StoreUnavailable, id="full"),
        pytest.param(KeyboardInterrupt(), KeyboardInterrupt, id="Ctrl-C"),
    ],
)
@pytest.mark.parametrize("where", ["at once", "half way", "while syncing", "while renaming"])
def test_a_failed_replacement_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, raised: type[BaseException], where: str
) -> None:
    path = tmp_path / "x"
    files.replace(path, b"old" * 700)

    def fail(*_: object) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        if where == "while syncing":
            patch.setattr(os, "fsync", fail)
        elif where == "while renaming":
            patch.setattr(Path, "replace", fail)
        else:
            FaultyDisk(patch).fail(error, after=1000 if where == "half way" else 0)
        with pytest.raises(raised):
            files.replace(path, b"new" * 700)
    assert path.read_bytes() == b"old" * 700
    assert names_in(tmp_path) == {"x"}


KILLED = """
import os, sys
from pathlib import Path
from waggle import files

def stop(*_):
    print("now", flush=True)
    sys.stdin.readline()

write = os.write
def half(descriptor, data):
    write(descriptor, data[: len(data) // 2])
    stop()

if sys.argv[2] == "half":
    os.write = half
else:
    os.fsync = stop
files.replace(Path(sys.argv[1]), b"new" * 700)
"""


@pytest.mark.case("HC-06")
@pytest.mark.parametrize(("moment", "size"), [("half", 1050), ("complete", 2100)])
def test_a_writer_killed_before_the_rename_leaves_the_old_file_and_a_leftover_that_gc_removes(
    tmp_path: Path, moment: str, size: int
) -> None:
    path = tmp_path / "skill" / "SKILL.md"
    files.replace(path, b"old")
    with child(KILLED, path, moment) as writer:
        assert says(writer) == "now"
        os.kill(writer.pid, signal.SIGKILL)
    assert path.read_bytes() == b"old"
    (leftover,) = [entry for entry in path.parent.iterdir() if files.is_leftover(entry.name)]
    assert leftover.stat().st_size == size
    now = datetime.now(UTC)
    assert files.remove_leftovers(tmp_path, now=now) == []
    later = now + timedelta(hours=2)
    assert files.remove_leftovers(tmp_path, now=later, dry_run=True) == [leftover]
    assert leftover.exists()
    assert files.remove_leftovers(tmp_path, now=later) == [leftover]
    assert names_in(path.parent) == {"SKILL.md"}


def test_threads_replacing_one_file_disturb_neither_each_other_nor_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "x"
    contents = {bytes([65 + number]) * 5000 for number in range(8)}
    files.replace(path, min(contents))
    done = threading.Event()

    def write(content: bytes) -> None:
        for _ in range(15):
            files.replace(path, content)

    def read() -> int:
        reads = 0
        while not done.is_set():
            assert path.read_bytes() in contents
            reads += 1
        return reads

    with ThreadPoolExecutor(9) as pool:
        reader = pool.submit(read)
        list(pool.map(write, contents))
        done.set()
        assert reader.result(10) > 0
    assert names_in(tmp_path) == {"x"}


def test_a_link_is_neither_written_through_nor_its_target_replaced(tmp_path: Path) -> None:
    """A stranger's repository may hold a link where our files go."""
    target = tmp_path / "target"
    target.write_bytes(b"mine\n")
    (tmp_path / "x").symlink_to(target)
    with pytest.raises(StoreUnavailable, match="link"):
        files.append_line(tmp_path / "x", LINE)
    files.replace(tmp_path / "x", b"theirs")
    assert target.read_bytes() == b"mine\n"
    assert not (tmp_path / "x").is_symlink()


# --- directories ----------------------------------------------------------------------------------------------------


def test_a_directory_comes_with_all_its_files(tmp_path: Path) -> None:
    files.new_directory(tmp_path / "deep" / "skill", {"SKILL.md": b"s", "scripts/run.sh": b"r"})
    assert (tmp_path / "deep" / "skill" / "scripts" / "run.sh").read_bytes() == b"r"
    assert names_in(tmp_path / "deep") == {"skill"}


@pytest.mark.parametrize("error", [full(), KeyboardInterrupt()], ids=["full", "Ctrl-C"])
def test_a_directory_that_cannot_be_finished_is_not_there_at_all(
    tmp_path: Path, disk: FaultyDisk, error: BaseException
) -> None:
    disk.fail(error, at=2)
    with pytest.raises((StoreUnavailable, KeyboardInterrupt)):
        files.new_directory(tmp_path / "skill", {"SKILL.md": b"s", "scripts/run.sh": b"r"})
    assert names_in(tmp_path) == set()


def test_a_directory_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    files.new_directory(tmp_path / "skill", {"SKILL.md": b"old"})
    with pytest.raises(StoreUnavailable, match="something else is there"):
        files.new_directory(tmp_path / "skill", {"SKILL.md": b"new"})
    with pytest.raises(StoreError, match="leads out"):
        files.new_directory(tmp_path / "other", {"../SKILL.md": b"new"})
    assert (tmp_path / "skill" / "SKILL.md").read_bytes() == b"old"
    assert names_in(tmp_path) == {"skill"}


def test_removing_takes_files_directories_and_links_but_not_what_a_link_points_to(tmp_path: Path) -> None:
    files.new_directory(tmp_path / "skill", {"SKILL.md": b"s"})
    (tmp_path / "link").symlink_to(tmp_path / "skill")
    (tmp_path / "file").write_bytes(b"f")
    assert files.remove(tmp_path / "link")
    assert (tmp_path / "skill" / "SKILL.md").exists()
    assert files.remove(tmp_path / "skill")
    assert files.remove(tmp_path / "file")
    assert not files.remove(tmp_path / "skill")
    assert names_in(tmp_path) == set()


def test_leftovers_are_found_at_every_depth_directories_too_and_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    store = tmp_path / "store"
    for directory in (outside, store / "skill" / f"{files.LEFTOVER_PREFIX}1" / "inner"):
        directory.mkdir(parents=True)
    for path in (outside, store, store / "skill", store / "skill" / f"{files.LEFTOVER_PREFIX}1"):
        (path / f"{files.LEFTOVER_PREFIX}2").touch()
    (store / "link").symlink_to(outside)
    removed = files.remove_leftovers(store, now=datetime.now(UTC), older_than_s=-60)
    assert [str(path.relative_to(store)) for path in removed] == [
        ".waggle-tmp-2",
        "skill/.waggle-tmp-1",
        "skill/.waggle-tmp-2",
    ]
    assert names_in(outside) == {".waggle-tmp-2"}
    assert files.remove_leftovers(tmp_path / "none", now=NOW) == []


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

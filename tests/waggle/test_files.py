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

from tests.conftest import ROOT
from tests.waggle.files_support import LINE, NOW, FaultyDisk, full, names_in
from waggle import files
from waggle.errors import StoreError, StoreLocked, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FaultyDisk:
    return FaultyDisk(monkeypatch)


@pytest.fixture
def open_umask() -> Iterator[None]:
    """An ordinary mask, so that modes are what was asked for."""
    before = os.umask(0o022)
    yield
    os.umask(before)


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
    path.chmod(0o644)
    files.replace(path, b"3", private=True)
    assert path.stat().st_mode & 0o777 == 0o600
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

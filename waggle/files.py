"""Files that survive: the only module that opens, locks, appends to or replaces a file.

Not responsible for what stands in them. Three promises hold here:

* an append is a whole line or nothing, and an interrupted one never spoils the next;
* a replaced file is the old one or the new one, whole, at every moment and after every crash;
* what cannot be written is reported as `waggle.errors.StoreUnavailable`, with what to do about it.

The lock of ``x`` is the file ``x.lock`` beside it. It stays when it is released: were it removed, one process could
hold the removed file while another locks its successor.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from waggle._defaults import LEFTOVER_SECONDS, LOCK_SECONDS
from waggle._reading import Block, read_blocks, read_bytes
from waggle.errors import StoreError, StoreLocked, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

__all__ = [
    "LEFTOVER_PREFIX",
    "Block",
    "append_line",
    "append_lines",
    "is_leftover",
    "lock",
    "new_directory",
    "new_link",
    "read_blocks",
    "read_bytes",
    "remove",
    "remove_leftovers",
    "replace",
    "safe_join",
]

#: First characters of a temporary file's or directory's name. Stores ignore such names.
LEFTOVER_PREFIX: Final = ".waggle-tmp-"

_FILE_MODE: Final = 0o644
_PRIVATE_MODE: Final = 0o600
_DIRECTORY_MODE: Final = 0o755
_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
#: A project may be a stranger's repository: a link in it must not lead a write out of it.
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)

#: Between two tries for a lock, which cost a hundredth of it. Not longer for those who have waited long: among busy
#: writers the lock is free for a moment only, and who tries seldom would never find it so.
_PAUSE_S: Final = 0.001


_REMEDY: Final = "set WAGGLE_HOME to a directory that can be written"
_SPACE_REMEDY: Final = "free some space, or set WAGGLE_HOME to a directory on another disk"
_REMEDIES: Final = {
    errno.ENOSPC: _SPACE_REMEDY,
    errno.EDQUOT: _SPACE_REMEDY,
    errno.ELOOP: "it is a link, and none is written through; put a file in its place",
    errno.EEXIST: "something else is there; move it away",
    errno.ENOTEMPTY: "something else is there; move it away",
}


@contextmanager
def _reporting(path: Path) -> Iterator[None]:
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, _REMEDY)
        raise StoreUnavailable(path, error.strerror or str(error), remedy) from error


def _open(path: Path | str, flags: int) -> int:
    """Open for writing, never through a link, making the directory when it is missing."""
    flags |= _FLAGS | _NO_LINK
    try:
        return os.open(path, flags, _FILE_MODE)
    except FileNotFoundError:
        Path(path).parent.mkdir(_DIRECTORY_MODE, parents=True, exist_ok=True)
        return os.open(path, flags, _FILE_MODE)


# --- lock --------------------------------------------------------------------------------------------------

_held: Final[set[int]] = set()  #: descriptors of the locks that this process holds


def _forget_locks() -> None:
    # A forked child has copies of the descriptors, and a lock is free only when the last copy is closed: without this,
    # a child that outlives a killed parent would keep everybody out.
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)


@contextmanager
def lock(path: Path, *, timeout_s: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock of a file: one holder at a time among all processes and threads.

    Not re-entrant: a thread that takes a lock it holds waits for itself. The lock ends with its process, however that
    ends, and a forked child does not inherit it.

    Args:
        path: the file that is protected; it need not exist, and its directory is made.
        timeout_s: longest wait, seconds; 0 tries once.

    Raises:
        StoreLocked: another holder kept it for longer than `timeout_s`.
        StoreUnavailable: the lock file cannot be made or locked.
    """
    lock_path = f"{path}.lock"
    with _reporting(path):
        descriptor = _acquire(lock_path, timeout_s)
    try:
        yield
    finally:
        if descriptor in _held:  # not so in a child forked while the lock was held
            _held.discard(descriptor)
            _release(descriptor)


def _acquire(lock_path: str, timeout_s: float) -> int:
    # The descriptor functions and not FileLock: that one takes 0.16 ms a turn, more than an append may.
    from filelock import lock_descriptor  # noqa: PLC0415 - costs more than the rest of `import waggle`

    deadline = time.monotonic() + timeout_s
    while True:
        descriptor = _open(lock_path, os.O_RDWR | os.O_CREAT)
        try:
            # A file that was deleted between opening and locking protects nothing: others lock its successor.
            if lock_descriptor(descriptor, blocking=False) and os.fstat(descriptor).st_nlink:
                _held.add(descriptor)
                return descriptor
        finally:
            if descriptor not in _held:
                os.close(descriptor)
        left = deadline - time.monotonic()
        if left <= 0:
            raise StoreLocked(Path(lock_path), timeout_s)
        time.sleep(min(_PAUSE_S, left))


def _release(descriptor: int) -> None:
    from filelock import unlock_descriptor  # noqa: PLC0415 - as in `_acquire`

    try:
        unlock_descriptor(descriptor)  # closing alone leaves it locked while a child that is being started has a copy
    finally:
        os.close(descriptor)


# --- append ------------------------------------------------------------------------------------------------


def append_line(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Append one line, under the file's lock; see `append_lines`."""
    append_lines(path, (line,), durable=durable)


def append_lines(path: Path, lines: Iterable[bytes], *, durable: bool = False) -> None:
    r"""Append lines, all of them or none, under the file's lock.

    When this returns, the lines survive the end of this process, and with `durable` a power cut. A fragment that
    a crash left at the end of the file stays alone on its line. Costs about 0.05 ms, and what the disk takes to sync.

    Args:
        path: the file; it and its directory are made when missing, with modes 0644 and 0755.
        lines: without line ends.
        durable: whether to wait until the disk has them.

    Raises:
        ValueError: a line contains ``\n``.
        StoreLocked: another holder kept the lock for too long.
        StoreUnavailable: the place cannot be written or is full; the file is as it was.
    """
    data = bytearray()
    for line in lines:
        if b"\n" in line:
            raise ValueError(f"a line to append contains a line end: {line[:80]!r}")
        data += line
        data += b"\n"
    if data:
        with lock(path), _reporting(path):
            _append(path, bytes(data), durable=durable)


def _append(path: Path, data: bytes, *, durable: bool) -> None:
    descriptor = _open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        if size:
            os.lseek(descriptor, size - 1, os.SEEK_SET)
            if os.read(descriptor, 1) != b"\n":
                data = b"\n" + data
        try:
            _write_all(descriptor, data)
            if durable:
                os.fsync(descriptor)
        except BaseException:
            os.ftruncate(descriptor, size)  # a full disk or Ctrl-C in the middle of a line
            raise
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        written = os.write(descriptor, left)
        if not written:
            raise OSError(errno.EIO, "the write makes no progress")
        left = left[written:]


# --- replace, make, remove ---------------------------------------------------------------------------------


def replace(path: Path, data: bytes, *, keep_mode: bool = True, private: bool = False) -> None:
    """Write a file whole or not at all; after a power cut, too, it is the old one or the new one.

    No lock is taken: whoever reads first and writes back holds `lock` around both. A link at `path` is replaced, not
    followed. Costs a few milliseconds, the time of a sync.

    Args:
        path: the file; its directory is made when missing.
        data: the new content.
        keep_mode: give the new file the permissions of the old one; without an old one they are 0644.
        private: give it the permissions 0600, whatever the old one had; nobody else reads a byte of it.

    Raises:
        StoreUnavailable: the place cannot be written or is full; the old file is as it was, and nothing is left over.
    """
    with _reporting(path):
        permissions = _PRIVATE_MODE if private else _permissions(path) if keep_mode else None
        with _temporary_beside(path) as temporary:
            _write_new(temporary, data, permissions)
            temporary.replace(path)
        _sync_directory(path.parent)


def new_directory(path: Path, content: Mapping[str, bytes], *, instead: bool = False) -> None:
    """Make a directory with all its files, or nothing at all.

    Args:
        path: the directory; its parent is made when missing.
        content: the files' bytes by their path relative to the directory, with ``/``.
        instead: it takes the place of what is there, which must be there; for a moment nothing is.

    Raises:
        StoreUnavailable: without `instead`, the directory is there and not empty; or the place cannot be written or is
            full. What was there is there again.
    """
    with _reporting(path):
        with _temporary_beside(path) as temporary:
            temporary.mkdir(_DIRECTORY_MODE, parents=True)
            for name, data in content.items():
                _write_new(safe_join(temporary, name), data, None)
            for directory, _, _ in os.walk(temporary):
                _sync_directory(Path(directory))
            with _room_at(path, instead=instead):
                temporary.replace(path)
        _sync_directory(path.parent)


def new_link(path: Path, target: str, *, instead: bool = False) -> None:
    """Make a link to a directory.

    Args:
        path: the link; its parent is made when missing.
        target: what it points to, as the link says it: relative to the link's directory, or absolute.
        instead: as in `new_directory`.

    Raises:
        StoreUnavailable: without `instead`, something is there; or links cannot be made at this place.
    """
    with _reporting(path):
        path.parent.mkdir(_DIRECTORY_MODE, parents=True, exist_ok=True)
        with _room_at(path, instead=instead):
            path.symlink_to(target, target_is_directory=True)
        _sync_directory(path.parent)


@contextmanager
def _room_at(path: Path, *, instead: bool) -> Iterator[None]:
    """Move away what is there, if it may be; it comes back when the block fails, and is gone when it does not."""
    old = path.with_name(f"{LEFTOVER_PREFIX}{os.urandom(8).hex()}")
    if instead:
        path.replace(old)
    try:
        yield
    except BaseException:
        if instead:
            old.replace(path)
        raise
    if instead:
        _discard(old)


def remove(path: Path) -> bool:
    """Delete a file, a link (not what it points to) or a directory; nobody sees a directory that is half gone.

    Returns:
        False when there was none.

    Raises:
        StoreUnavailable: it cannot be deleted.
    """
    with _reporting(path):
        try:
            if path.is_dir() and not path.is_symlink():
                with _temporary_beside(path) as temporary:
                    path.replace(temporary)
                _discard(temporary)
            else:
                path.unlink()
        except FileNotFoundError:
            return False
        _sync_directory(path.parent)
    return True


@contextmanager
def _temporary_beside(path: Path) -> Iterator[Path]:
    """A name of its own in the same directory, which is free again when the block fails, Ctrl-C included."""
    temporary = path.with_name(f"{LEFTOVER_PREFIX}{os.urandom(8).hex()}")
    try:
        yield temporary
    except BaseException:
        _discard(temporary)
        raise


def _discard(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            import shutil  # noqa: PLC0415 - costs 10 ms to import, and is seldom needed

            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _permissions(path: Path) -> int | None:
    with suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            return stat.S_IMODE(mode)
    return None


def _write_new(path: Path, data: bytes, permissions: int | None) -> None:
    descriptor = _open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        if permissions is not None:
            path.chmod(permissions)  # before there is anything to read: the old file may be private
        _write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    # Makes the rename itself last. Some file systems and Windows cannot; what was written is whole either way.
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | _FLAGS)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_leftover(name: str) -> bool:
    """Whether a name is that of a temporary file or directory: of a write in progress, or left by a crash."""
    return name.startswith(LEFTOVER_PREFIX)


def remove_leftovers(
    directory: Path, *, now: datetime, older_than_s: float = LEFTOVER_SECONDS, dry_run: bool = False
) -> list[Path]:
    """Remove what crashed writers left in a directory and below it. Links are not followed.

    Args:
        directory: where to look; a missing one holds nothing.
        now: the present time, timezone-aware.
        older_than_s: age in seconds from which a thing is taken for left over; younger ones may be in use.
        dry_run: only say what would be removed.

    Returns:
        What is gone, or with `dry_run` would be, sorted.
    """
    latest = now.timestamp() - older_than_s
    found: list[Path] = []
    for parent, directories, names in os.walk(directory):
        left = [name for name in (*directories, *names) if is_leftover(name)]
        directories[:] = [name for name in directories if not is_leftover(name)]
        for path in (Path(parent, name) for name in left):
            with _reporting(path), suppress(FileNotFoundError):  # another process removes them, too
                if path.lstat().st_mtime <= latest:
                    if not dry_run:
                        remove(path)
                    found.append(path)
    return sorted(found)


# --- names and paths from data -----------------------------------------------------------------------------


def safe_join(root: Path, *parts: str) -> Path:
    """Join names that come from data to a directory, and refuse what leads out of it.

    Args:
        root: the directory that must contain the result; it need not exist.
        parts: names or relative paths. Links are resolved before the check, so one that points outside is refused.

    Returns:
        The resolved path.

    Raises:
        StoreError: the result is outside `root`, or cannot be a path.
    """
    joined = root.joinpath(*parts)
    try:
        resolved = joined.resolve()
        inside = resolved.is_relative_to(root.resolve())
    except (ValueError, RuntimeError) as error:  # a NUL in a name; links that go in a circle
        raise StoreError(errno.EINVAL, f"cannot be a path ({error})", ascii(str(joined))) from error
    if not inside:
        raise StoreError(errno.EACCES, f"leads out of {root}", str(joined))
    return resolved

"""A host's own file: one server set in it, everything else left as it is, and the former file kept beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto.cli.writing import write
from stretto.errors import UsageError
from stretto.hosts import INPUTS
from waggle import files, jsonvalue
from waggle.errors import StoreUnavailable
from waggle.jsonedit import with_member

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.hosts import Host
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["HostFile", "places_of"]

_FILE_BYTES: Final = 64 << 20  #: largest configuration that is read; Claude Code's own grows with every project
_BOM: Final = "\ufeff"
_BACKUPS: Final = 1000  #: that are kept beside one file


def places_of(host: Host) -> tuple[Path, ...]:
    """Where a host's configuration is for this user in this directory; the first is the one that is written.

    Raises:
        StoreUnavailable: the user has no home directory.
    """
    try:
        home = Path.home()
    except RuntimeError:
        problem = "no home directory is known for this user"
        raise StoreUnavailable(None, problem, "set HOME") from None
    return host.places(home, Path.cwd(), sys.platform, os.environ)


class HostFile:
    """The file of a host that ``init`` writes, as it is now.

    Args:
        host: the host.
        domain: name of the server.

    Attributes:
        path: where it is.
        known: the entry of this server that is there; None when there is none.

    Raises:
        UsageError: the host has no such file, or it is none that can be added to.
        StoreUnavailable: the user has no home directory.
    """

    def __init__(self, host: Host, domain: str) -> None:
        places = places_of(host)
        if not places:
            raise UsageError(f"--write needs a host with a file of its own, which {host.name} is not")
        self._host = host
        self._domain = domain
        self.path = places[0].resolve()  # a link to where it is kept stays a link
        self._text = _text(self.path)
        content = self._content()
        table = content.get(host.table)
        self.known: JsonValue = table.get(domain) if isinstance(table, dict) else None
        self._inputs = content.get(INPUTS)

    def set(self, entry: JsonObject, inputs: Sequence[JsonObject], *, dry_run: bool) -> Path | None:
        """Set the server, and add what the user is to be asked for; nothing is written that is there already.

        Args:
            entry: of the server.
            inputs: each an object with an ``id``; one whose id is there is left as it is.
            dry_run: only say what would be written.

        Returns:
            Where the former file is kept; None when none was replaced.

        Raises:
            UsageError: the file cannot be added to.
            StoreUnavailable: it cannot be written.
        """
        asked = self._inputs if isinstance(self._inputs, list) else []
        ids = {each.get("id") for each in asked if isinstance(each, dict)}
        new = [each for each in inputs if each["id"] not in ids]
        if self.known == entry and not new:
            return None
        text = self._edited(entry, asked, new)
        backup = None if self._text is None or dry_run else _backup(self.path)
        write(self.path, text.encode(), dry_run=dry_run)
        return backup

    def _content(self) -> JsonObject:
        try:
            content = jsonvalue.loads((self._text or "{}").removeprefix(_BOM))
        except ValueError as error:
            raise self._unfit(error) from None
        return content if isinstance(content, dict) else {}

    def _edited(self, entry: JsonObject, asked: Sequence[JsonValue], new: Sequence[JsonObject]) -> str:
        if self._text is None:
            return jsonvalue.pretty(self._host.configuration(self._domain, entry, new))
        bare = self._text.removeprefix(_BOM)
        mark = self._text[: len(self._text) - len(bare)]
        try:
            bare = with_member(bare, (self._host.table, self._domain), entry)
            if new and not isinstance(self._inputs, list | None):
                raise ValueError(f"expected an array @ $.{INPUTS}")  # noqa: TRY301 - told as what else is unfit
            return mark + (with_member(bare, (INPUTS,), [*asked, *new]) if new else bare)
        except ValueError as error:
            raise self._unfit(error) from None

    def _unfit(self, error: ValueError) -> UsageError:
        return _unfit(self.path, error)


def _text(path: Path) -> str | None:
    """What is in the file; None when there is none, or nothing in it."""
    try:
        return files.read_bytes(path, limit=_FILE_BYTES).decode() or None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise _unfit(path, error) from None


def _unfit(path: Path, error: ValueError) -> UsageError:
    return UsageError(
        f"{path}: is no JSON that can be added to ({error}); add what init prints without --write by hand"
    )


def _backup(path: Path) -> Path:
    """Keep a file under another name, with its bytes and permissions as they are; no earlier backup is replaced."""
    for number in range(1, _BACKUPS + 1):
        backup = path.with_name(f"{path.name}.bak{'' if number == 1 else number}")
        try:
            backup.hardlink_to(path)  # the file that is replaced afterwards lives on under this name
        except FileExistsError:
            continue
        except OSError as error:
            problem = f"no backup of it can be made ({error.strerror or error})"
            raise StoreUnavailable(path, problem, "add what init prints without --write by hand") from error
        return backup
    raise StoreUnavailable(path, f"has {_BACKUPS} backups", "delete those you do not need")

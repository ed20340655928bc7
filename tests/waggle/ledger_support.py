"""What the tests of the ledger share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from hypothesis import settings

from waggle.jsonvalue import loads

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonObject

relaxed = settings(deadline=None)


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


HOUR = timedelta(hours=1)


def records(path: Path) -> list[JsonObject]:
    return [cast("JsonObject", loads(line)) for line in path.read_bytes().split(b"\n")[:-1]]

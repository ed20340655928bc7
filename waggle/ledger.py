"""The ledger: what came of each replay, appended to a file one JSON object a line.

Not responsible for what follows from it: that is `waggle.curation` and `waggle.effect`. What must stay true: a line
that cannot be read, of whatever kind, hides no other; and the lines of the original (``name``, ``steps``, ``yield``,
``fail``) stay readable, unknown keys of later writers are ignored.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

import orjson

from waggle import files, jsonvalue
from waggle._defaults import LEDGER_LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from waggle.jsonvalue import JsonObject

__all__ = [
    "Event",
    "Ledger",
    "LedgerCheck",
    "LedgerEntry",
    "Stat",
    "Window",
    "check_ledger",
    "is_of_skill",
    "read_ledger",
    "read_settled",
    "read_sources",
    "read_windows",
    "record_on",
]

#: What a record tells. A route was followed, became a skill, or was switched off. And once the agent has made its next
#: write or its session has ended: a lookup was what it would have asked for, or was not; what it did in the meantime.
Event: TypeAlias = Literal["replayed", "promoted", "demoted", "used", "detour", "window"]

_EVENTS: Final = frozenset(get_args(Event))

#: Events known only later, and the number that comes with each.
SETTLED: Final = {"used": "saved", "detour": "spent", "window": "calls"}

#: What a record says where it says nothing.
_MISSING: Final = {"name": "", "event": "replayed", "at": ""} | dict.fromkeys(["yield", *SETTLED.values()], 0)

#: Sorts after every time as we write it, and before most texts that are none.
_END_OF_TIME: Final = ":"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One record.

    Attributes:
        name: the skill, or whatever a strategy replays; not empty.
        steps: how many steps were replayed, at least 0.
        yield_tokens: estimated tokens of what was folded, at least 0.
        fail: the replay failed or gave nothing.
        at: when, timezone-aware; kept in UTC to the second. The original wrote no times.
        event: what happened.
        strategy: who replayed, as in `ReplayStrategy.name`.
        saved_tokens: of a used lookup, the estimated tokens that the turn it saved would have cost, at least 0.
        spent_tokens: of a detour, the estimated tokens that its result costs, at least 0.
        held: the lookup was not made, nor anything folded in the window, so as to see what the agent does by itself.
        calls: of a window, the calls that the agent made in it and that did not overlap an earlier one, at least 0.
        session: of a window, the conversation it is in, 8 hex digits.

    Raises:
        ValueError: the name is empty, a number is negative, `at` has no time zone, the event is unknown, or the session
            is not 8 hex digits.
    """

    name: str
    steps: int = 0
    yield_tokens: int = 0
    fail: bool = False
    at: datetime | None = None
    event: Event = "replayed"
    strategy: str | None = None
    saved_tokens: int = 0
    spent_tokens: int = 0
    held: bool = False
    calls: int = 0
    session: str | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a ledger entry needs a name")
        if min(self.steps, self.yield_tokens, self.saved_tokens, self.spent_tokens, self.calls) < 0:
            raise ValueError(f"{self.name}: steps, tokens and calls cannot be negative")
        if self.at is not None and self.at.tzinfo is None:
            raise ValueError(f"{self.name}: the time needs a time zone")
        if self.event not in _EVENTS:
            raise ValueError(f"{self.name}: unknown event {self.event!r}")
        if self.session is not None and not re.fullmatch("[0-9a-f]{8}", self.session):
            raise ValueError(f"{self.name}: a session is 8 hex digits, not {self.session!r}")

    def encode(self) -> bytes:
        """One line without its end. What is at its default is left out, except the original's first three keys."""
        record: JsonObject = {"name": self.name, "steps": self.steps, "yield": self.yield_tokens}
        if self.fail:
            record["fail"] = True
        if self.at is not None:
            record["at"] = self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if self.event != "replayed":
            record["event"] = self.event
        if self.strategy is not None:
            record["strategy"] = self.strategy
        settled = {"saved": self.saved_tokens, "spent": self.spent_tokens, "held": self.held, "calls": self.calls}
        record |= {key: value for key, value in {**settled, "session": self.session}.items() if value}
        return jsonvalue.dumps(record)


class Ledger:
    """Where records are appended. Holds no file open: threads and processes may share one path."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        """Name the file; it is made with its directory by the first record."""
        self.path = path

    def append(self, entry: LedgerEntry) -> None:
        """Append one record. When this returns it is in the file, whatever becomes of this process.

        Raises:
            StoreLocked: another process kept the lock for too long.
            StoreUnavailable: the file cannot be written; it is as it was.
        """
        files.append_line(self.path, entry.encode())

    def append_many(self, entries: Iterable[LedgerEntry]) -> None:
        """Append records under one lock, all or none; raises as `append` does."""
        files.append_lines(self.path, [entry.encode() for entry in entries])


@dataclass(frozen=True, slots=True)
class Stat:
    """What the records of one name add up to; a replay counts when it is made, each of its lookups when it is settled.

    Attributes:
        uses: replays that gave something.
        yield_tokens: estimated tokens they gave.
        fails: replays that failed or gave nothing.
        last_used: latest known time of a use, UTC.
        last_failed: of a failure.
        last_promoted: of becoming a skill.
        last_demoted: of being switched off.
        used: lookups that the agent would have asked for before its next write.
        detours: lookups that it never asked for.
        saved_tokens: estimated tokens that the used ones saved.
        spent_tokens: estimated tokens that the detours cost.
        held_used: lookups that were held back, and that the agent asked for itself.
        held_detours: lookups that were held back, and that it never asked for.
        last_settled: latest known time at which a lookup was settled, held back or not.
        used_since: `used` since the latest record of becoming a skill or of being switched off, so that what a person
            has switched on again is judged anew.
        detours_since: `detours` since then.
        net_since: `net_tokens` since then.
    """

    uses: int = 0
    yield_tokens: int = 0
    fails: int = 0
    last_used: datetime | None = None
    last_failed: datetime | None = None
    last_promoted: datetime | None = None
    last_demoted: datetime | None = None
    used: int = 0
    detours: int = 0
    saved_tokens: int = 0
    spent_tokens: int = 0
    held_used: int = 0
    held_detours: int = 0
    last_settled: datetime | None = None
    used_since: int = 0
    detours_since: int = 0
    net_since: int = 0

    @property
    def is_off(self) -> bool:
        """Whether it was switched off, and not learned again since; of a skill its file says so."""
        return self.last_demoted is not None and (self.last_promoted is None or self.last_promoted < self.last_demoted)

    @property
    def net_tokens(self) -> int:
        """Tokens saved less tokens spent; below 0 for what costs more than it saves."""
        return self.saved_tokens - self.spent_tokens

    @property
    def precision(self) -> float | None:
        """Share of the settled lookups that were used, 0 to 1; None while none is settled."""
        return self.used / (self.used + self.detours) if self.used or self.detours else None

    @property
    def held_precision(self) -> float | None:
        """The same of the lookups held back: the share that would have been used."""
        return self.held_used / (self.held_used + self.held_detours) if self.held_used or self.held_detours else None


@dataclass(frozen=True, slots=True)
class Window:
    """One result after which a lookup was due, up to the agent's next write or the end of its session.

    Attributes:
        session: the conversation, 8 hex digits; empty where the record does not say.
        held: what was due was held back; else it was folded into the result.
        calls: calls that the agent made in it and that did not overlap an earlier one.
    """

    session: str
    held: bool
    calls: int


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """What of a ledger can be read.

    Attributes:
        records: lines that are records.
        bad_lines: numbers of the lines that are not, from 1, ascending; a torn last line is not among them.
        torn_at: offset in bytes of a last line that a crash cut short, or None.
    """

    records: int
    bad_lines: tuple[int, ...] = ()
    torn_at: int | None = None

    @property
    def skipped(self) -> int:
        """Lines that are no records, the torn one included."""
        return len(self.bad_lines) + (self.torn_at is not None)


def read_ledger(path: Path) -> dict[str, Stat]:
    """Add up a ledger; a missing file is an empty one.

    Returns:
        A `Stat` a name, in the order in which the names first occur.

    Raises:
        OSError: the file is there and cannot be read.
    """
    return {name: tally.stat() for name, tally in _scan(path)[0].items()}


def read_settled(*paths: Path) -> dict[tuple[str | None, str], Stat]:
    """Add up what was settled in some ledgers, by strategy and name; a missing file is an empty one.

    Returns:
        A `Stat` a pair of `LedgerEntry.strategy` and name, in the order in which the pairs first occur; only what comes
        from ``used`` and ``detour`` is counted in it.

    Raises:
        OSError: a file is there and cannot be read.
    """
    tallies: dict[tuple[str | None, str], _Tally] = {}
    for record in _records(paths, {"used", "detour"}):
        tallies.setdefault((_text(record, "strategy"), cast("str", record["name"])), _Tally()).add(record)
    return {pair: tally.stat() for pair, tally in tallies.items()}


def read_sources(path: Path) -> dict[str, str]:
    """What is in no store and was replayed all the same, such as the sites of a flow; a missing file is an empty one.

    Returns:
        The strategy that replays it, by name.

    Raises:
        OSError: the file is there and cannot be read.
    """
    return {
        cast("str", record["name"]): strategy
        for record in _records((path,), _EVENTS)
        if not is_of_skill(record) and (strategy := _text(record, "strategy"))
    }


def is_of_skill(record: JsonObject) -> bool:
    """Whether a record is of a skill of a store; where it does not say who replays, it is."""
    strategy = record.get("strategy")
    return not isinstance(strategy, str) or strategy in _OF_SKILLS


#: Who replays skills.
_OF_SKILLS: Final = frozenset({"routes", "reach"})


def read_windows(*paths: Path) -> list[Window]:
    """The windows in some ledgers, in the order of their records; a missing file is an empty one.

    Raises:
        OSError: a file is there and cannot be read.
    """
    return [
        Window(_text(record, "session") or "", bool(record.get("held")), cast("int", record["calls"]))
        for record in _records(paths, {"window"})
    ]


def _records(paths: Iterable[Path], events: Collection[str]) -> Iterator[JsonObject]:
    for path in paths:
        with suppress(FileNotFoundError):
            for block in files.read_blocks(path, longest=LEDGER_LINE_BYTES):
                for line in block.lines:
                    record = record_on(line)
                    if record and record["event"] in events:
                        yield record


def _text(record: JsonObject, key: str) -> str | None:
    value = record.get(key)
    return value if isinstance(value, str) else None


def check_ledger(path: Path) -> LedgerCheck:
    """Say which lines of a ledger `read_ledger` skips; a missing file is an empty one.

    Raises:
        OSError: the file is there and cannot be read.
    """
    return _scan(path)[1]


def record_on(line: bytes) -> JsonObject | None:
    """The record on a line with what may be missing filled in; None when there is none.

    A record is an object with a name that is a text and not empty, a yield that is an integer or missing, and an event
    that is a text or missing; the number that comes with a settled event is an integer or missing. A time that is none
    is taken for missing.
    """
    try:
        value = jsonvalue.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    record: JsonObject = {**_MISSING, **value}
    name, gained, event, at = record["name"], record["yield"], record["event"], record["at"]
    if not (isinstance(name, str) and name and type(gained) is int and isinstance(event, str)):
        return None
    if type(record[SETTLED.get(event, "yield")]) is not int:
        return None
    if not (isinstance(at, str) and at < _END_OF_TIME):
        record["at"] = ""
    return record


class _Tally:
    """The sums of one name while a ledger is read, named as in `Stat`.

    Times stay as they are written: in that form they sort as text.
    """

    def __init__(self) -> None:
        self.uses = self.yield_tokens = self.fails = 0
        self.used = self.detours = self.saved_tokens = self.spent_tokens = self.held_used = self.held_detours = 0
        self.last_used = self.last_failed = self.last_promoted = self.last_demoted = self.last_settled = ""
        self.before = (0, 0, 0)  # used, detours and net tokens when the skill was last learned or switched off

    def add(self, record: JsonObject) -> None:
        at = cast("str", record["at"])
        event = cast("str", record["event"])
        if event in SETTLED:
            self.settle(event, cast("int", record[SETTLED[event]]), record.get("held"), at)
        elif event in ("promoted", "demoted"):
            self.before = (self.used, self.detours, self.saved_tokens - self.spent_tokens)
            if event == "promoted":
                self.last_promoted = max(self.last_promoted, at)
            else:
                self.last_demoted = max(self.last_demoted, at)
        elif record.get("fail"):
            self.fails += 1
            self.last_failed = max(self.last_failed, at)
        else:
            self.uses += 1
            self.yield_tokens += cast("int", record["yield"])
            self.last_used = max(self.last_used, at)

    def settle(self, event: str, figure: int, held: object, at: str) -> None:
        """Add a settled lookup; a window changes nothing here. A time that is no text raises before all else."""
        if event == "window":
            return
        if self.last_settled < at < _END_OF_TIME:
            self.last_settled = at
        if event == "used":
            if held:
                self.held_used += 1
            else:
                self.used += 1
                self.saved_tokens += figure
        elif held:
            self.held_detours += 1
        else:
            self.detours += 1
            self.spent_tokens += figure

    def stat(self) -> Stat:
        sums: dict[str, Any] = {k: _time_of(v) if isinstance(v, str) else v for k, v in vars(self).items()}
        used, detours, net = sums.pop("before")
        net_since = self.saved_tokens - self.spent_tokens - net
        return Stat(**sums, used_since=self.used - used, detours_since=self.detours - detours, net_since=net_since)


def _time_of(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
        return time.astimezone(UTC) if time.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _scan(path: Path) -> tuple[dict[str, _Tally], LedgerCheck]:
    tallies: dict[str, _Tally] = {}
    lines = 0
    bad: list[int] = []
    torn_at = None
    with suppress(FileNotFoundError):
        for block in files.read_blocks(path, longest=LEDGER_LINE_BYTES):
            skipped = _add_up(block.lines, tallies)
            if skipped and not block.ended:
                torn_at = block.offset
            else:
                bad += [lines + number for number in skipped]
                lines += len(block.lines)
    return tallies, LedgerCheck(lines - len(bad), tuple(bad), torn_at)


def _add_up(lines: list[bytes], tallies: dict[str, _Tally]) -> list[int]:
    """Add lines to the tallies; return the numbers, from 1, of those that are no records or of an unknown event."""
    skipped: list[int] = []
    for number, line in enumerate(lines, 1):
        # Straight from orjson and in as few steps as will do, for this is all the time that a ledger takes. Whatever
        # is unusual is left to the exact reader: orjson gives an integer beyond 64 bits as a float and refuses the
        # escape of a lone surrogate; a name that is new or no text is not among the tallies; an event that is not
        # settled is not among those; a time that is no text raises where it is compared, before anything is counted.
        try:
            record = orjson.loads(line)
            tally = tallies[record["name"]]
            gained = record["yield"]
            at = record.get("at", "")
            if type(gained) is int and "event" not in record:
                if record.get("fail"):
                    if tally.last_failed < at < _END_OF_TIME:
                        tally.last_failed = at
                    tally.fails += 1
                else:
                    if tally.last_used < at < _END_OF_TIME:
                        tally.last_used = at
                    tally.uses += 1
                    tally.yield_tokens += gained
                continue
            event = record["event"]
            figure = record.get(SETTLED[event], 0)
            if type(gained) is type(figure) is int:
                tally.settle(event, figure, record.get("held"), at)
                continue
        except (ValueError, LookupError, TypeError):
            pass
        if not _add_unusual(line, tallies):
            skipped.append(number)
    return skipped


def _add_unusual(line: bytes, tallies: dict[str, _Tally]) -> bool:
    """Add any line; False when it is no record or its event is unknown."""
    record = record_on(line)
    if record is None or record["event"] not in _EVENTS:
        return False
    tally = tallies.setdefault(cast("str", record["name"]), _Tally())
    tally.add(record)
    return True

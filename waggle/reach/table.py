"""The counts of one project in memory and on disk, and which of them may be followed.

What is counted and what is followed are two things: a target is followed only when it is a stored route, so that people
see every habit before it saves them a turn, and can switch it off.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from waggle import files, jsonvalue
from waggle._defaults import RARE_AFTER_SESSIONS, REACH_DIGESTS, REACH_TARGETS
from waggle._fork import renew_in_children
from waggle.errors import CountsError
from waggle.reach.counts import ReachCounts, ToolSums
from waggle.reach.sites import head_of
from waggle.reach.targets import read_target

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.reach.counts import Choice, Economy

__all__ = ["COUNTS_FILE", "ReachTable", "counts_json", "forget_rare", "merge_into", "parse_counts", "read_counts"]


class ReachTable:
    """Counts shared by the sessions of a manager, and the routes that may be followed. Thread-safe.

    Args:
        threshold: θ; None for θ* by tokens, see `waggle.reach.counts.worth`.
        counts: what was counted before.
    """

    def __init__(self, threshold: float | None, counts: ReachCounts | None = None) -> None:
        self.threshold = threshold
        self.counts = counts or ReachCounts()
        self._allowed: dict[str, dict[str, str]] = {}  # site -> target -> route
        self._heads: set[str] = set()  # of the sites
        self._count = 0  # of them; asked for at every call, while another thread may add some
        self._own: dict[tuple[str, str], ReachCounts] = {}  # by target and site, what routes were written with
        self._choices: dict[tuple[str, ...], list[Choice]] = {}
        self._lock = threading.Lock()
        renew_in_children(self)

    def renew(self) -> None:
        """See `waggle._fork.Renewable`."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many routes may be followed."""
        return self._count

    def allow(self, site: str, target: str, route: str, counts: ReachCounts | None = None) -> None:
        """Follow a route from now on; its own counts are used where the table has none of it."""
        with self._lock:
            targets = self._allowed.setdefault(site, {})
            self._count += target not in targets
            self._heads.add(head_of(site))
            targets[target] = route
            if counts is not None:
                self._own[target, site] = counts
            self._choices.clear()

    def follows(self, tool: str, kind: str) -> bool:
        """Whether any route may be followed after calls of a tool, or of tools of this kind."""
        return tool in self._heads or (kind != "" and kind in self._heads)

    def turns_left(self, calls: int) -> float:
        """See `ReachCounts.turns_left`."""
        with self._lock:
            return self.counts.turns_left(calls)

    def counts_for(self, target: str, site: str) -> ReachCounts:
        """The counts that speak for a target at a site: this project's, else those the route was written with."""
        own = self._own.get((target, site))
        return self.counts if own is None or self.counts.total(target, site) else own

    def add(self, counts: ReachCounts) -> list[tuple[str, str]]:
        """Add a session's counts; gives the targets it reached, each with its site, that are not followed yet."""
        with self._lock:
            if not self.counts.add(counts):
                return []
            if len(self.counts.reached) > REACH_TARGETS * 1.25:  # not every time: it looks at all of them
                self.counts = self.counts.pruned(REACH_TARGETS)
            self._choices.clear()
            return [
                (target, site) for target, site in counts.sessions if target not in self._allowed.get(site, _NOTHING)
            ]

    def choices(self, levels: tuple[str, ...], economy: Economy | None = None) -> list[Choice]:
        """What pays at a site, worth most first; remembered until the counts change."""
        with self._lock:
            allowed = self._allowed.get(levels[0])
            if not allowed:
                return []
            known = self._choices.get(levels) if self.threshold is not None else None
            if known is None:
                known = self._chosen(levels, allowed, economy)
                self._choices[levels] = known
            return known

    def _chosen(self, levels: Sequence[str], allowed: dict[str, str], economy: Economy | None) -> list[Choice]:
        found = [
            self.counts_for(target, levels[0]).best(target, levels, self.threshold or 0.0, economy)
            for target in allowed
        ]
        return sorted((choice for choice in found if choice.worth > 0), key=lambda choice: (-choice.worth, choice.key))

    def would_pay(self, target: str, site: str) -> bool:
        """Whether a target pays at any site of a kind; by tokens, whether its chance is ever over a half."""
        with self._lock:
            keys = [key for key in self.counts.reached.get(target, _NOTHING) if key.startswith(site)]
            for key in keys:
                levels = tuple(other for other in keys if key == other or key.startswith(f"{other} |"))
                threshold = 0.5 if self.threshold is None else self.threshold
                if self.counts.best(target, sorted(levels, key=len), threshold).worth > 0:
                    return True
            return False

    def route(self, site: str, target: str) -> str:
        """Name of the route that follows a target at a site; empty when none does."""
        return self._allowed.get(site, {}).get(target, "")

    def form_for(self, tool: str, *, whole: bool) -> str:
        """The shell command that reads lines of a file as the agent mostly does; with line numbers if it likes them."""
        with self._lock:  # sessions that end elsewhere add forms meanwhile
            return self._form_for(tool, whole=whole)

    def _form_for(self, tool: str, *, whole: bool) -> str:
        counts = next((own for own in (self.counts, *self._own.values()) if own.tools.get(tool)), self.counts)
        sums = counts.sums(tool)
        numbered = sums.numbered > _NUMBERED_SHARE * (sums.parts + sums.wholes)
        ours = {
            form: count
            for (name, form), count in counts.forms.items()
            if name == tool and ("{first}" not in form) is whole and form.startswith(_NUMBERING) is numbered
        }
        if ours:
            return max(sorted(ours), key=ours.__getitem__)
        if whole:
            return "nl -ba {path}" if numbered else "cat {path}"
        return "nl -ba {path} | sed -n {first},{last}p" if numbered else "sed -n {first},{last}p {path}"


_NOTHING: Final[dict[str, Any]] = {}
_NUMBERED_SHARE: Final = 0.2
_NUMBERING: Final = ("nl -ba ", "cat -n ")


# --- files ------------------------------------------------------------------------------------------------------------

#: Beside the ledger: what was counted over the sessions of a project.
COUNTS_FILE: Final = "counts.json"

#: Version of ``counts.json``.
COUNTS_VERSION: Final = 1


def counts_json(counts: ReachCounts) -> JsonObject:
    """The counts as JSON; equal counts give equal JSON."""
    return {
        "waggle_counts": COUNTS_VERSION,
        "seen": {key: counts.seen[key] for key in sorted(counts.seen)},
        "reached": {
            target: {
                site: {",".join(map(str, cell)): cells[cell] for cell in sorted(cells)}
                for site, cells in sorted(sites.items())
            }
            for target, sites in sorted(counts.reached.items())
        },
        "sessions": [[target, site, counts.sessions[target, site]] for target, site in sorted(counts.sessions)],
        "forms": [[tool, form, counts.forms[tool, form]] for tool, form in sorted(counts.forms)],
        "tools": {tool: counts.tools[tool]._asdict() for tool in sorted(counts.tools)},
        "lengths": {str(length): counts.lengths[length] for length in sorted(counts.lengths)},
        "digests": list(counts.digests),
    }


def parse_counts(value: JsonValue) -> ReachCounts:
    """Undo `counts_json`.

    Raises:
        ValueError: it is not that; the message says what is wrong.
    """
    if not isinstance(value, dict) or value.get("waggle_counts") != COUNTS_VERSION:
        raise ValueError(f"not the counts of version {COUNTS_VERSION}")
    entry: dict[str, Any] = dict(value)
    try:
        for target in entry["reached"]:
            read_target(target)
        return ReachCounts(
            Counter({str(key): _count(n) for key, n in entry["seen"].items()}),
            {
                target: {
                    site: Counter({_cell(cell): _count(n) for cell, n in cells.items()})
                    for site, cells in sites.items()
                }
                for target, sites in entry["reached"].items()
            },
            Counter({(str(target), str(site)): _count(n) for target, site, n in entry["sessions"]}),
            dict.fromkeys(str(digest) for digest in entry["digests"]),
            Counter({(str(tool), str(form)): _count(n) for tool, form, n in entry["forms"]}),
            {
                tool: ToolSums(*[_count(sums[name]) for name in ToolSums._fields])
                for tool, sums in entry["tools"].items()
            },
            Counter({int(length): _count(n) for length, n in entry["lengths"].items()}),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a field is missing or of the wrong type: {error}") from error


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"expected a count, not {value!r}")
    return value


def _cell(text: str) -> tuple[int, int]:
    before, _, after = text.partition(",")
    return int(before), int(after)


def read_counts(path: Path) -> ReachCounts:
    """Read a project's counts; none where there is no file.

    Raises:
        CountsError: the file is not what this version writes; it is left as it is.
        OSError: it cannot be read.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ReachCounts()
    try:
        return parse_counts(jsonvalue.loads(data))
    except ValueError as error:
        raise CountsError(path, str(error)) from None


def forget_rare(path: Path, *, after: int = RARE_AFTER_SESSIONS) -> int:
    """Forget what was read once and never again in all the sessions counted; gives the number of such targets.

    Nothing happens before `after` sessions are counted: until then one occurrence is no verdict.

    Raises:
        CountsError: the file is not what this version writes; it is left as it is.
        StoreLocked: another process kept the lock for too long.
        StoreUnavailable: the file cannot be written; it is as it was.
    """
    if not path.exists():
        return 0
    with files.lock(path):
        counts = read_counts(path)
        sites: Counter[str] = Counter()
        for (target, _), sessions in counts.sessions.items():
            sites[target] += sessions
        rare = [target for target in counts.reached if sites[target] <= 1]
        if len(counts.digests) < after or not rare:
            return 0
        kept = counts.pruned(len(counts.reached) - len(rare))
        files.replace(path, jsonvalue.dumps(counts_json(kept)))
        return len(rare)


def merge_into(path: Path, counts: ReachCounts) -> None:
    """Add counts to those on disk, under their lock, and keep the strongest `REACH_TARGETS` targets.

    Raises:
        CountsError: the file is not what this version writes; it is left as it is.
        StoreLocked: another process kept the lock for too long.
        StoreUnavailable: the file cannot be written; it is as it was.
    """
    with files.lock(path):
        total = read_counts(path)
        if not total.add(counts):
            return
        total = total.pruned(REACH_TARGETS)
        while len(total.digests) > REACH_DIGESTS:
            del total.digests[next(iter(total.digests))]
        files.replace(path, jsonvalue.dumps(counts_json(total)))

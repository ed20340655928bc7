"""Reach habits in words: what people read in a skill file and from ``waggle why``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle import jsonvalue
from waggle._defaults import REACH_THRESHOLD
from waggle.markdown import code
from waggle.reach.counts import offer_key
from waggle.reach.targets import LinesTarget, read_target

if TYPE_CHECKING:
    from waggle.reach.counts import Choice, ReachCounts
    from waggle.reach.targets import Source, Target

__all__ = ["Evidence", "evidence", "spoken_details", "spoken_range", "spoken_site", "spoken_target"]


class Evidence(NamedTuple):
    """One row of a habit's evidence.

    Attributes:
        details: what the finer site adds, in words; empty for all of them together.
        times: how often there was something to read.
        read: how often it was read before the next write.
        choice: what would be looked up there, and how likely it is used.
    """

    details: str
    times: int
    read: int
    choice: Choice


def spoken_site(key: str) -> str:
    """A site in words: ``a search that prints lines of one file``."""
    call, *finer = key.split(" | ")
    call = call.removesuffix(" (failed)")
    tool, _, program = call.partition(": ")
    kind = _CALLS.get(call) or (f"{code(program)} in {code(tool)}" if program else f"a call of {code(tool)}")
    if key.partition(" | ")[0].endswith(" (failed)"):
        kind += " that fails"
    shows = finer[0] if finer else ""
    if shows == "no file" and call not in _CALLS:
        shows = ""  # nobody expects it to name any
    text = f"{kind}{_SHOWS.get(shows, f' that shows {shows}' if shows else '')}"
    details = spoken_details(key)
    return f"{text} ({details})" if details else text


def spoken_details(key: str) -> str:
    """What a fine site adds to the coarse one, in words: ``1 file, 2-3 lines``."""
    size = key.split(" | ")[2:]
    parts = size[0].split(", ") if size else []
    return ", ".join(_SINGULAR.sub(r"1 \1", part) for part in parts if part and not part.startswith("0 "))


_SINGULAR: Final = re.compile(r"^1 (file|line)s$")


_CALLS: Final = {
    "search": "a search",
    "list": "a listing of files",
    "lines": "a read",
    "status": "a look at the state",
}
_SHOWS: Final = {
    "": "",
    "no file": " that names no file",
    "lines of one file": " that prints lines of one file",
    "lines of files": " that prints lines of several files",
    "lines of the searched file": " in one file that prints lines of it",
    "lines": " that prints numbered lines",
    "names of one file": " that names one file",
    "names of files": " that names several files",
    "a whole file": " of a whole file",
    "a part of a file": " of a part of a file",
}


def spoken_target(target: Target) -> list[tuple[str, str]]:
    """Each argument of what is read, with where its value comes from, in words."""
    if not isinstance(target, LinesTarget):
        return [(name, _spoken_source(source)) for name, source in target.args]
    which = (
        "the file that was just searched or read"
        if target.file < 0
        else f"the {_ordinal(target.file)} file that it names"
    )
    base = {"": "", "dir": ", from the folder of the `cd`"}.get(
        target.base, f", from the folder in {code(target.base)}"
    )
    lines = {
        "whole": "all of it",
        "end": "the lines that follow",
        "line": f"around the {_ordinal(target.nth)} line number printed for it",
    }[target.around]
    return [(target.arg or "path", which + (base if target.file >= 0 else "")), ("lines", lines)]


def _spoken_source(source: Source) -> str:
    if source.place is None:
        return f"always {code(jsonvalue.dumps(source.value).decode())}"
    where = f"{code(str(source.place))} of that call"
    if source.base:
        where += f", from the folder in {code(source.base)}"
    return where if source.transform.name == "copy" else f"{where}, {source.transform}"


def spoken_range(choice: Choice) -> str:
    """The range of a choice in words; empty when it has none."""
    if not isinstance(choice.target, LinesTarget) or choice.target.around == "whole":
        return ""
    if choice.target.around == "end":
        return f"{choice.after} lines"
    return f"{choice.before} before to {choice.after} after"


def evidence(counts: ReachCounts, target: str, site: str, threshold: float = REACH_THRESHOLD) -> list[Evidence]:
    """What was counted of a habit: all of it first, then the finest sites, by which it is decided, most frequent first.

    The choice of the first row is the one for a site that was never met so finely.

    Args:
        counts: the counts.
        target: its key.
        site: the site's coarsest key.
        threshold: θ, by which ranges are chosen.
    """
    described = read_target(target)
    offer = described.offer if isinstance(described, LinesTarget) else ""
    keys = sorted(
        (key for key in counts.reached.get(target, {}) if key == site or key.startswith(f"{site} |")),
        key=lambda key: (key != site, -counts.seen[offer_key(key, offer) if offer else key], key),
    )
    rows: list[Evidence] = []
    for key in keys:
        if key != site and key.count(" | ") < _FINEST:
            continue  # a lookup is decided at the finest site
        levels = [level for level in keys if key == level or key.startswith(f"{level} |")]
        choice = counts.best(target, sorted(levels, key=len), threshold)
        times = counts.seen[offer_key(key, offer) if offer else key]
        rows.append(Evidence(spoken_details(key), times, counts.reached[target][key].total(), choice))
    if len(rows) == 2 and not rows[1].details:  # noqa: PLR2004 - all of it, and the one site there is
        del rows[0]
    return rows


_FINEST: Final = 2  # bars in the key of the finest level


def _ordinal(index: int) -> str:
    return {0: "1st", 1: "2nd", 2: "3rd"}.get(index, f"{index + 1}th")

"""Claude Code's Grep and Glob: what ripgrep is asked for them, and what the model is shown of its answer. Pure.

The forms are those of Claude Code 2.1.332, which runs ripgrep itself; what it showed for a hundred calls is kept in the
tests. Of a search that asks for anything else nothing is made.

Not responsible for running ripgrep, nor for what may be searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from waggle.jsonvalue import JsonValue

__all__ = ["GLOB_FILES", "Search", "glob_options", "listed", "read_search", "response_shown"]

#: Files of one listing that Glob shows.
GLOB_FILES: Final = 100

#: Lines, or files, of one search that are shown where no other limit is asked for.
_LIMIT: Final = 250

#: Always: no file of options, hidden files too but no version control, and no line that fills the screen.
_ALWAYS: Final = ("--no-config", "--color=never", "--no-heading", "--hidden", "--sort=path", "--max-columns=500")
_UNSEARCHED: Final = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")

_MODES: Final = ("files_with_matches", "content", "count")
_FLAGS: Final = ("-n", "-i", "-o", "multiline")
_NUMBERS: Final = ("-A", "-B", "-C", "context", "head_limit", "offset")
_TEXTS: Final = ("pattern", "path", "glob", "type", "output_mode")


@dataclass(frozen=True, slots=True)
class Search:
    """One call of Grep.

    Attributes:
        pattern: a regular expression of ripgrep.
        path: of a file or a directory, as the agent spelled it; "." where none was given.
        mode: ``files_with_matches``, ``content`` or ``count``.
        filters: options that decide which files match.
        display: options for what ``content`` shows of them.
        limit: lines or files that are shown; 0 for all.
        offset: lines or files that are passed over first.
    """

    pattern: str
    path: str
    mode: str
    filters: tuple[str, ...]
    display: tuple[str, ...]
    limit: int
    offset: int

    def finding(self, target: str) -> list[str]:
        """The options that list the files which match, each followed by a NUL.

        Args:
            target: what is searched, as ripgrep is to spell it.
        """
        return [*_ALWAYS, *self.filters, "--files-with-matches", "--null", "-e", self.pattern, "--", target]

    def reading(self, target: str) -> list[str]:
        """The options that print the lines, or their number in each file, for `mode` ``content`` or ``count``."""
        shows = self.display if self.mode == "content" else ("--count", "--with-filename")
        return [*_ALWAYS, *self.filters, *shows, "-e", self.pattern, "--", target]

    def shown(self, entries: Sequence[str]) -> str:
        """What the model is shown.

        Args:
            entries: all of them: the files that match, the one changed last first, or the lines that were printed.
        """
        part = list(entries[self.offset :])
        cut = bool(self.limit) and len(part) > self.limit
        part = part[: self.limit] if cut else part
        page = _page(self.limit if cut else None, self.offset)
        match self.mode:
            case "files_with_matches":
                return _files_shown(part, page)
            case "count":
                numbers = [int(entry.rpartition(":")[2]) for entry in entries]
                return _counts_shown(part, sum(numbers), len(numbers), page)
        return _lines_shown(part, page)


def read_search(args: Mapping[str, JsonValue]) -> Search | None:
    """The search that a call of Grep asks for; None when it asks for anything that is not known here."""
    if not set(args) <= {*_FLAGS, *_NUMBERS, *_TEXTS}:
        return None
    texts = {name: args[name] for name in _TEXTS if name in args}
    flags = {name: args[name] for name in _FLAGS if name in args}
    numbers = {name: args[name] for name in _NUMBERS if name in args}
    pattern, path, mode = texts.get("pattern"), texts.get("path", "."), texts.get("output_mode", _MODES[0])
    if (
        not isinstance(pattern, str)
        or not isinstance(path, str)
        or mode not in _MODES
        or any(not isinstance(value, str) or "\0" in value for value in texts.values())
        or any(not isinstance(value, bool) for value in flags.values())
        or any(type(value) is not int or value < 0 for value in numbers.values())
    ):
        return None
    filters = [f"--glob=!{name}" for name in _UNSEARCHED]
    filters += ["--multiline", "--multiline-dotall"] if flags.get("multiline") else []
    filters += ["--ignore-case"] if flags.get("-i") else []
    filters += [f"--type={texts['type']}"] if "type" in texts else []
    filters += [f"--glob={part}" for part in _globs(str(texts.get("glob", "")))]
    display = ["--line-number" if flags.get("-n", True) else "--no-line-number"]
    display += ["--only-matching"] if flags.get("-o") else []
    around = numbers.get("-C", numbers.get("context"))
    if around is not None:
        display.append(f"--context={around}")
    else:
        display += [
            f"{option}={numbers[name]}"
            for name, option in (("-B", "--before-context"), ("-A", "--after-context"))
            if name in numbers
        ]
    limit, offset = numbers.get("head_limit", _LIMIT), numbers.get("offset", 0)
    assert isinstance(limit, int) and isinstance(offset, int)  # noqa: S101, PT018 - looked at above
    return Search(pattern, path, str(mode), tuple(filters), tuple(display), limit, offset)


def _globs(text: str) -> list[str]:
    """The patterns of the argument ``glob``: parted by spaces, and by commas outside of braces."""
    found = []
    for word in text.split():
        found += [word] if "{" in word and "}" in word else [part for part in word.split(",") if part]
    return found


def glob_options(pattern: str) -> list[str]:
    """The options that list the files of a Glob, the one changed last at the end, each followed by a NUL."""
    return ["--no-config", "--files", "--null", "--hidden", "--no-ignore", "--sort=modified", f"--glob={pattern}"]


def listed(names: Sequence[object]) -> str:
    """Files as Glob shows them."""
    return "\n".join(str(name) for name in names) or "No files found"


def response_shown(response: Mapping[str, JsonValue]) -> str | None:
    """What the model was shown of a search, from what its hook is told of it; None when that is not known here.

    Args:
        response: ``tool_response`` of a call of Grep.
    """
    page = _page(_number(response, "appliedLimit"), _number(response, "appliedOffset"))
    names, content = response.get("filenames"), response.get("content")
    lines = content.split("\n") if isinstance(content, str) and content else []
    match response.get("mode"):
        case "files_with_matches" if isinstance(names, list):
            return _files_shown([str(name) for name in names], page)
        case "count" if isinstance(content, str):
            matches, files = _number(response, "numMatches"), _number(response, "numFiles")
            return None if matches is None or files is None else _counts_shown(lines, matches, files, page)
        case "content" if isinstance(content, str):
            return _lines_shown(lines, page)
    return None


def _number(response: Mapping[str, JsonValue], key: str) -> int | None:
    value = response.get(key)
    return value if type(value) is int else None


def _page(limit: int | None, offset: int | None) -> str:
    """Which part is shown; empty for all."""
    return ", ".join(f"{name}: {number}" for name, number in (("limit", limit), ("offset", offset)) if number)


def _lines_shown(lines: list[str], page: str) -> str:
    body = "\n".join(lines) or ("No entries at this offset" if page else "No matches found")
    return f"{body}\n\n[Showing results with pagination = {page}]" if page else body


def _files_shown(files: list[str], page: str) -> str:
    if not files:
        return f"No entries at this offset. [Showing results with pagination = {page}]" if page else listed([])
    counted = f"Found {_counted(len(files), 'file')}"
    return "\n".join([f"{counted} {page}" if page else counted, *files])


def _counts_shown(counts: list[str], matches: int, files: int, page: str) -> str:
    body = "\n".join(counts) or ("No entries at this offset" if page else "No matches found")
    found = f"Found {_counted(matches, 'total occurrence')} across {_counted(files, 'file')}."
    return f"{body}\n\n{found} with pagination = {page}" if page else f"{body}\n\n{found}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

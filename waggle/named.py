"""The files that a tool's text names, with the line numbers printed beside them.

Searches, listings, compilers, test runners, stack traces and git print them in a few forms; a line in one of these
forms names a file, any other line none. What must survive changes: a path or number that is given stands in the text,
and reading costs a small multiple of splitting the text into lines. Whether a text is such an answer at all, and not
the content of a file, is for the caller to know.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["NamedFile", "files_in"]


class NamedFile(NamedTuple):
    """A file that a text names.

    Attributes:
        path: as it is printed; empty when the text numbers the lines of one file without naming it.
        lines: the numbers printed beside it, from 1, each once, in order of first appearance; empty when there are
            none.
    """

    path: str
    lines: tuple[int, ...] = ()


def files_in(text: str) -> tuple[NamedFile, ...]:  # noqa: C901 - one branch a kind of line
    """Read the files that a text names, in order of first appearance.

    Where a form leaves it open, a line names no file: a bare name needs a file's extension (``notes.md``, not
    ``self.name``), a path with blanks a root, a line number or a listing that it stands in. Numbered lines
    (``12:text``) belong to the path that stands alone above them, up to an empty line; without one they are lines of a
    file that is not named, and are left out when the text names others. Lines of context around a match
    (``path-12-text``) name nothing. A search that prints ``path:26`` for 26 matches looks like one that prints a line
    number and is read so, unless its end tells.

    Args:
        text: of a search, a listing, a compiler and so on; terminal colours are ignored.

    Cost: linear; a few times that of splitting the text into lines and matching each once.
    """
    found: dict[str, dict[int, None]] = {}
    above = ""  # the path that stands alone above, as long as numbered lines may belong to it
    for line in (_COLOUR.sub("", text) if "\x1b[" in text else text).split("\n"):
        if "." not in line and "/" not in line and not line[:1].isdigit() and not line.startswith(_PLAIN_NAMES):
            if not line or line == "\r":
                above = ""
            continue  # most lines of code and prose
        head, colon, _ = line.partition(":")
        if colon and head and head in found:  # most lines of a search, and the quickest to tell
            if beside := _BESIDE.match(line, len(head)):
                found[head][int(beside[1])] = None
            above = ""
        elif colon and (numbered := _NUMBERED.match(line)):
            found.setdefault(above, {})[int(numbered[1])] = None
        elif named := _named(line[:_LONGEST], listed=bool(above)):
            path, number = named
            lines = found.setdefault(path, {})
            if number:
                lines[int(number)] = None
            above = path if not number and path == line.rstrip() else ""
        elif _COUNTS.match(line):
            found = {path: {} for path in found}
    if len(found) > 1:
        found.pop("", None)
    return tuple(NamedFile(path, tuple(lines)) for path, lines in found.items())


def _named(line: str, *, listed: bool) -> tuple[str, str] | None:
    """The path that a line names, and the number printed beside it or nothing; None when the line names no file.

    Args:
        line: without its end, at most `_LONGEST` characters of it.
        listed: the line before is a path alone.
    """
    path, number, sure = "", "", False
    if line[0] in " \t":
        if match := _FRAME.match(line):
            path, number, sure = match["file"] or match["path"], match["row"] or match["line"], bool(match["file"])
        elif match := _STATUS.match(line) or _STAT.match(line):
            path = match[match.lastgroup or ""]
    elif match := _START.match(line):
        path, number = match.groups(default="")
        rest = line[match.end() : match.end() + 2]
        sure = bool(number and rest)
        if ("-" in path and _CONTEXT.search(path)) or (rest[:1] == " " != rest[1:] and not number and "/" not in path):
            path = ""  # ``setup.cfg: text`` may be anything
    elif line[0] in _MARKS and (match := _MARKED.match(line)):
        path = match[match.lastgroup or ""]
    elif "/" in line and (match := _BLANKS.match(line)):
        path, number = match["path"], match["line"] or ""
        if not (number or listed or path[0] in "./") or "/" not in path or _SENTENCE.search(path):
            path = ""
    return (path, number) if path and _is_file(path, sure=sure) else None


def _is_file(path: str, *, sure: bool) -> bool:
    """Whether what stands where a path may stand is one of a file; `sure` when the rest of the line says so."""
    if path.startswith(_NO_PATHS) or "://" in path or len(path) == _LONGEST:
        return False
    at = path.rfind("/") + 1
    dot = path.rfind(".", at)
    if dot > at:
        extension = path[dot + 1 :]
        return extension.lower() in _EXTENSIONS or (
            bool(_EXTENSION.fullmatch(extension)) if at else path in _PLAIN_NAMES
        )
    name = path[at:]  # without an extension, or like ``.gitignore``
    return bool(name) and (name in _PLAIN_NAMES or (sure and at > 1) or bool(_HIDDEN.fullmatch(name)))


#: A comment; a path that git has shortened.
_NO_PATHS: Final = ("//", "...")
#: Characters of a line in which a path is looked for, so that a long line costs no more than a short one.
_LONGEST: Final = 500
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
#: A line of a file that stands above or is not named. A time of day is none.
_NUMBERED: Final = re.compile(r"([1-9][0-9]{0,8}):(?![0-9]{2}(?:[:\s.,]|$))")
#: The number behind a path.
_BESIDE: Final = re.compile(r":([1-9][0-9]{0,8})(?=[:\s]|$)")
#: The end of a search that counted matches.
_COUNTS: Final = re.compile(r"Found [0-9]+ total occurrences across ")

_PATH: Final = r"""(?P<path>(?:[^\s:"'`|<>(){},;=*]++|\((?![0-9])|\)(?=/))++)"""
_TO_THE_END: Final = r"[^\t\"]*[^\s\"])\s*$"
_LINE: Final = r"(?P<line>[1-9][0-9]{0,8})"
#: Searches, compilers, listings: ``path:12:text``, ``path:12``, ``path(12,5)``, ``path:text``, a path alone.
_START: Final = re.compile(rf"{_PATH}(?:[:(]{_LINE}(?=,[0-9]+\)|[:\s]|$)|:(?![0-9]+$)|\s*$)")
#: The same with blanks in the path.
_BLANKS: Final = re.compile(rf"(?P<path>[^\t:\"'`|<>{{}},;=*\[]+\.\w{{1,10}})(?::{_LINE}(?=:)|:(?![0-9]+$)|\s*$)")
#: What stands before a path in a sentence or a command, and in no path with blanks.
_SENTENCE: Final = re.compile(
    r"(?i)\b(?:in|at|on|of|from|see|file|line|error|warning|skipped|failed|is|the|to|and|for|with|as) | [-/]|^[^\w./~]"
)
#: A line of context that looks like a path: ``path-12-text`` or, below a path, ``12-text``.
_CONTEXT: Final = re.compile(r"\.[A-Za-z]\w*-[0-9]+-|^[0-9]+-.*/")
#: Python; rustc, Node and vitest (which prints U+276F); Go's tests and stacks.
_FRAME: Final = re.compile(
    rf"""\s+(?:File "(?P<file>[^"]+)", line (?P<row>[1-9][0-9]{{0,8}})"""
    rf"""|(?:(?:-->|\u276f|at)\s(?:[^()]*\()?)?(?:file://)?{_PATH}:{_LINE}(?=[:\s)]|$))"""
)
#: git's long status, with and without a word in front.
_STATUS: Final = re.compile(
    r"\t(?:(?:modified|new file|deleted|renamed|both modified|both added): +(?:.* -> )?"
    rf"(?P<status>{_TO_THE_END}|{_PATH}\s*$)"
)
#: git's short status, and ``git diff --stat``.
_STAT: Final = re.compile(rf" (?:[MDTU] )?{_PATH}(?:\s*$| +\| +(?:[0-9]|Bin))")
#: git's diff; its short status and ``--name-status``; pytest's summary.
_MARKED: Final = re.compile(
    rf"\+\+\+ b/(?P<diff>{_TO_THE_END}|(?:[MADRCTU?!]{{1,2}}[ \t]+(?:\S+ -> )?|FAILED |ERROR ){_PATH}(?=[:\s]|$)"
)
_MARKS: Final = "+MADRCTU?!FE"

#: Files that have no extension.
_PLAIN_NAMES: Final = (
    *("Makefile", "Dockerfile", "LICENSE", "README", "Gemfile", "Rakefile", "Procfile", "Jenkinsfile", "Vagrantfile"),
    *("CHANGELOG", "CODEOWNERS", "Justfile", "justfile", "Pipfile", "BUILD", "WORKSPACE", "go.mod", "go.sum"),
)
_HIDDEN: Final = re.compile(r"\.[A-Za-z][\w-]*")
_EXTENSION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,9}")
#: Extensions that a bare name is known by as a file.
_EXTENSIONS: Final = frozenset(
    (
        *("adoc", "asm", "astro", "avif", "avro", "bash", "bat", "bib", "bz2", "c", "cc", "cfg", "cjs", "clj"),
        *("cljs", "cmake", "cmd", "conf", "cpp", "cs", "css", "csv", "cts", "cu", "cxx", "dart", "db", "diff"),
        *("docx", "ejs", "el", "env", "erl", "ex", "exs", "fish", "fs", "fsx", "gif", "go", "gql", "gradle"),
        *("graphql", "gz", "h", "haml", "hbs", "hcl", "hpp", "hrl", "hs", "htm", "html", "hxx", "ico", "ini"),
        *("ipynb", "java", "jinja", "jinja2", "jl", "jpeg", "jpg", "js", "json", "json5", "jsonl", "jsx", "kt"),
        *("kts", "less", "lean", "lisp", "lock", "log", "lua", "m4", "map", "markdown", "md", "mdx", "mjs", "mk"),
        *("ml", "mli", "mm", "mts", "nim", "nix", "odt", "parquet", "patch", "pb", "pdf", "php", "pl"),
        *("plist", "pm", "png", "po", "pot", "ppt", "pptx", "prisma", "properties", "proto", "ps1", "pxd", "pxi"),
        *("py", "pyi", "pyx", "r", "rb", "rake", "rds", "rkt", "rlib", "rmd", "rs", "rst", "sass", "sbt", "scala"),
        *("scm", "scss", "sh", "sol", "sql", "sqlite", "svelte", "svg", "swift", "tar", "tcl", "tex", "tf", "tfvars"),
        *("thrift", "toml", "ts", "tsv", "tsx", "ttf", "txt", "vb", "vim", "vue", "wasm", "webp", "woff", "woff2"),
        *("xls", "xlsx", "xml", "xsd", "xsl", "yaml", "yml", "zig", "zip", "zsh"),
    )
)

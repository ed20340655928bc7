"""The files that a tool's text names, with the line numbers printed beside them.

Searches, listings, compilers, test runners, stack traces and git print them in a few forms; a line in one of these
forms names a file, any other line none. What must survive changes: a path or number that is given stands in the text,
and reading costs a small multiple of splitting the text into lines. Whether a text is such an answer at all, and not
the content of a file, is for the caller to know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["NamedFile", "files_in"]


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that a text names.

    Attributes:
        path: as it is printed; empty when the text numbers the lines of one file without naming it.
        lines: the numbers printed beside it, from 1, each once, in order of first appearance; empty when there are
            none.
    """

    path: str
    lines: tuple[int, ...] = ()


def files_in(text: str) -> tuple[NamedFile, ...]:
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
        if numbered := _NUMBERED.match(line):
            found.setdefault(above, {})[int(numbered[1])] = None
        elif named := _named_in(line, listed=bool(above)):
            path, number, alone = named
            lines = found.setdefault(path, {})
            if number:
                lines[number] = None
            above = path if alone else ""
        elif _COUNTS.match(line):
            found = {path: {} for path in found}
    if len(found) > 1:
        found.pop("", None)
    return tuple(NamedFile(path, tuple(lines)) for path, lines in found.items())


def _named_in(line: str, *, listed: bool) -> tuple[str, int, bool] | None:
    """The path that a line names, the line number beside it (0 for none), and whether it stands alone.

    Args:
        line: without its end.
        listed: the line before is a path that stands alone.
    """
    for form in _FORMS:
        match = form.match(line)
        if not match:
            continue
        path, number, rest = match["path"], int(match["line"] or 0), line[match.end() :].rstrip()
        alone = not (match.start("path") or number or rest) and not line.endswith(":")
        if form is _BLANKS and not (number or path[0] in "./" or (alone and listed)):
            continue
        sure = bool(number and rest) or form is _TRACEBACK
        if _CONTEXT.search(path) or not _is_file(path, sure=sure):
            return None
        # ``setup.cfg: text`` may be anything
        return None if "/" not in path and not number and rest[:1] == " " != rest[1:2] else (path, number, alone)
    return None


def _is_file(path: str, *, sure: bool) -> bool:
    """Whether what stands where a path may stand is one of a file; `sure` when a number and more stand behind it."""
    if path.startswith(("//", "...")) or "://" in path:  # a comment; a path that git has shortened; an address
        return False
    folder, _, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    if not dot:
        return name in _PLAIN_NAMES or bool(sure and folder and name)
    if extension.lower() in _EXTENSIONS or name[0] == ".":
        return True
    return bool((folder or path[0] == "/") and stem and _EXTENSION.fullmatch(extension))


_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
#: A line of a file that stands above or is not named. A time of day is none.
_NUMBERED: Final = re.compile(r"([1-9][0-9]{0,8}):(?![0-9]{2}(?:[:\s.,]|$))")
#: The end of a search that counted matches.
_COUNTS: Final = re.compile(r"Found [0-9]+ total occurrences across ")
#: A line of context, taken for a path: ``path-12-text``, or ``12-text`` below a path.
_CONTEXT: Final = re.compile(r"\w-[0-9]+-|[0-9]+-.*/")

_PATH: Final = r"""(?P<path>(?:[^\s:"'`|<>(){},;=*]|\((?![0-9])|\)(?=/))++)"""
_LINE: Final = r"(?P<line>[1-9][0-9]{0,8})"
_NO_LINE: Final = r"(?P<line>(?!))?"
#: Words after which a path begins in a sentence; they are no part of a path with blanks.
_PROSE: Final = r"(?i:.*\b(?:in|at|on|of|from|see|file|line|error|warning|skipped|failed|is|the|to|and|for|with)[ ])"

_BLANKS: Final = re.compile(
    rf"(?P<path>(?:\.{{0,2}}/|\w(?!{_PROSE}))(?=[^:]*/)[^\t:\"'|<>{{}},;=\[]*\.\w{{1,10}})(?::{_LINE}(?=:)|[ ]*\r?$)"
)
_TRACEBACK: Final = re.compile(rf'[ \t]*File "(?P<path>[^"]+)", line {_LINE}')
#: The forms of a line that names a file, in the order in which they are tried. Each has a ``path`` and a ``line``.
_FORMS: Final = (
    # searches, compilers, listings: path:12:text, path:12, path(12,5), path:text, a path alone
    re.compile(rf"{_PATH}(?:[:(]{_LINE}(?=[:,\s]|$)|:(?![0-9]+$)|[ \t]*\r?$)"),
    # the same with blanks in the path
    _BLANKS,
    _TRACEBACK,
    # rustc, Node, vitest; Go and others, indented
    re.compile(rf"\s*(?:-->|at(?: [^()]*\()?|❯)? ?(?:file://)?{_PATH}:{_LINE}(?=[:\s)]|$)"),
    # git: a diff, a long status
    re.compile(rf"(?:\+\+\+ b/|\t(?:[a-z ]+: +)?(?:.* -> )?)(?P<path>[^\t\"]+?){_NO_LINE}[ \t]*\r?$"),
    # git: a short status, --name-status, --stat; pytest's summary
    re.compile(rf"(?:[ ]?[MADRCTU?!]{{1,2}}[ \t]+(?:\S+ -> )?|FAILED |ERROR ){_PATH}{_NO_LINE}(?=[:\s]|$)"),
    re.compile(rf" {_PATH}{_NO_LINE} +\| +(?:[0-9]|Bin)"),
)

#: Files that have no extension.
_PLAIN_NAMES: Final = (
    *("Makefile", "Dockerfile", "LICENSE", "README", "Gemfile", "Rakefile", "Procfile", "Jenkinsfile", "Vagrantfile"),
    *("CHANGELOG", "CODEOWNERS", "Justfile", "justfile", "Pipfile", "BUILD", "WORKSPACE"),
)
_EXTENSION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,9}")
#: Extensions that a bare name is known by as a file.
_EXTENSIONS: Final = frozenset(
    """
    adoc asm astro avif avro bash bat bib bz2 c cc cfg cjs clj cljs cmake cmd conf cpp cs css csv cts cu cxx dart db
    diff docx ejs el env erl ex exs fish fs fsx gif go gql gradle graphql gz h haml hbs hcl hpp hrl hs htm html hxx ico
    ini ipynb java jinja jinja2 jl jpeg jpg js json json5 jsonl jsx kt kts less lean lisp lock log lua m4 map markdown
    md mdx mjs mk ml mli mm mod mts nim nix odt org parquet patch pb pdf php pl plist pm png po pot ppt pptx prisma
    properties proto ps1 pxd pxi py pyi pyx r rb rake rds rkt rlib rmd rs rst sass sbt scala scm scss sh sol sql sqlite
    sum svelte svg swift tar tcl tex tf tfvars thrift toml ts tsv tsx ttf txt vb vim vue wasm webp woff woff2 xls xlsx
    xml xsd xsl yaml yml zig zip zsh
    """.split()
)

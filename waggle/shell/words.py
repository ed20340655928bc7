"""One word of a shell command: its quotes removed, and what the shell may put in its place.

What must survive changes: a word without `Word.prefix` is byte for byte the argument that bash, zsh and POSIX sh pass
on. Where they disagree, or an interactive shell would do more (history), the word is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from waggle.shell.reasons import Reason, Refused

__all__ = ["SIMPLE", "Word", "read_word", "simple_word"]


@dataclass(frozen=True, slots=True)
class Word:
    """One argument.

    Attributes:
        text: the argument without its quotes. Of a word that the shell replaces, this is the pattern, not the result.
        prefix: None when the argument arrives as `text`. Otherwise the shell replaces it by any number of others (file
            names for ``*``, fields of a variable), and each of them begins with this.
    """

    text: str
    prefix: str | None = None


#: Nearly every word: one run of plain characters or one pair of quotes. It must end there: before < and > it may be a
#: descriptor, before anything else it goes on. A leading = is for zsh, which replaces =cmd by the command's path.
SIMPLE: Final = r"""([A-Za-z0-9_./:,@%+^\]-][A-Za-z0-9_./:,@%+^\]=-]*|'[^']*'|"[^"\\$`!]*")(?=[ \t\n;|&]|\Z)"""
_SIMPLE = re.compile(SIMPLE)

# A variable is data to the shell, never read as syntax, so a plain one is safe to meet. With a subscript zsh evaluates
# arithmetic, and forms such as ${x:=y} assign.
_VARIABLE = r"\$(?P<variable> [A-Za-z_][A-Za-z0-9_]*+(?!\[) | \{[A-Za-z_][A-Za-z0-9_]*\} | \?(?!\[) )"

# A $ or ! stands for itself only before what no shell reads as a name, a bracket or a history event. Left out is what
# parsers disagree on: a # or a continued line inside a word, an escaped blank that is not inside one.
_PIECE = re.compile(
    rf"""
    (?P<plain> (?: [A-Za-z0-9_./:,@%+^\]=}}-] | !(?=[ \t\n=]|\Z) )+ )
    | '(?P<single> [^']* )'
    | \\(?P<escaped> [^\s] | (?<=[A-Za-z0-9_./-]\\)[ ] )
    | (?P<glob> [*?\[] )
    | (?P<braces> \{{[A-Za-z0-9_+-]*\}} )
    | (?P<list> \{{ )
    | (?P<tilde> ~ )
    | (?P<double> " )
    | {_VARIABLE}
    """,
    re.VERBOSE,
)
_QUOTED = re.compile(
    rf"""
    (?P<plain> (?: [^"\\$`!] | !(?=[ \t\n="]) | \$(?=[ \t\n|)/.,;"'] | \\[^\n]) )+ )
    | \\(?P<escaped> [\\$`"] )
    | (?P<joined> \\\n )
    | (?P<kept> \\[^\n] )
    | (?P<end> " )
    | {_VARIABLE}
    """,
    re.VERBOSE,
)

_ENDS: Final = frozenset(" \t\n;|&<>")
#: What a character that begins no known piece stands for.
_UNKNOWN: Final = {
    "": Reason.SYNTAX,  # quotes that do not end
    "'": Reason.SYNTAX,
    "\\": Reason.SYNTAX,
    "#": Reason.SYNTAX,
    "(": Reason.COMPOUND,
    ")": Reason.COMPOUND,
    "`": Reason.SUBSTITUTION,
    "$": Reason.EXPANSION,
    "!": Reason.EXPANSION,
    "=": Reason.EXPANSION,
}


def read_word(source: str, at: int) -> tuple[Word | None, int]:
    """Read the word that begins at `at`, where blanks and comments are already skipped.

    Returns:
        The word, or None where there is none; and the place behind it.

    Raises:
        Refused: the word is not understood.
    """
    if found := _SIMPLE.match(source, at):
        return simple_word(found[1]), found.end()
    if at >= len(source) or source[at] in _ENDS:
        return None, at
    if source[at] == "=":
        _unknown(source, at)
    builder = _Builder(source, at)
    builder.read()
    return builder.word(), builder.at


def simple_word(found: str) -> Word:
    """Make a word of what `SIMPLE` found."""
    return Word(found[1:-1] if found[0] in "'\"" else found)


def _unknown(source: str, at: int) -> None:
    """Refuse the piece at `at` for what it seems to be."""
    two = source[at : at + 2]
    reason = Reason.SUBSTITUTION if two == "$(" and source[at : at + 3] != "$((" else _UNKNOWN.get(two[:1])
    raise Refused(reason or Reason.CHARACTER, source[at : at + 20] or "quotes do not end")


class _Builder:
    """Puts a word together from its pieces; `at` is where the next one begins."""

    __slots__ = ("at", "parts", "prefix", "source", "start")

    def __init__(self, source: str, at: int) -> None:
        self.source = source
        self.start = self.at = at
        self.parts: list[str] = []
        self.prefix: str | None = None

    def word(self) -> Word:
        return Word("".join(self.parts), self.prefix)

    def replaced(self, text: str) -> None:
        """Add a piece that the shell replaces: what stands before it is all that is known."""
        if self.prefix is None:
            self.prefix = "".join(self.parts)
        self.parts.append(text)

    def read(self) -> None:
        source = self.source
        while piece := _PIECE.match(source, self.at):
            kind, text = piece.lastgroup, piece[0]
            self.at = piece.end()
            match kind:
                case "plain" | "braces":
                    self.parts.append(text)
                case "single" | "escaped":
                    self.parts.append(piece[kind])
                case "double":
                    self.quoted()
                case "tilde":
                    self.tilde()
                case "variable":
                    # Unquoted, it is split into fields, and all but the first begin anywhere.
                    self.replaced(text)
                    self.prefix = ""
                case "glob" if text == "[" and not self.parts and source[self.at : self.at + 1] in _ENDS:
                    self.parts.append(text)  # the command of that name
                case "glob" | "list":
                    self.replaced(text)
        self.finish()

    def finish(self) -> None:
        source, at = self.source, self.at
        if at >= len(source) or source[at] not in _ENDS:
            if at < len(source):
                _unknown(source, at)
            return
        # 12>x and {name}>x are descriptors in bash; those of one digit never get here.
        if source[at] in "<>" and re.fullmatch(r"[0-9]+|\{.*\}", "".join(self.parts)):
            raise Refused(Reason.REDIRECTION, source[self.start : at + 1])

    def quoted(self) -> None:
        """Read up to the closing double quote."""
        while piece := _QUOTED.match(self.source, self.at):
            self.at = piece.end()
            match piece.lastgroup:
                case "plain" | "kept":
                    self.parts.append(piece[0])
                case "escaped":
                    self.parts.append(piece["escaped"])
                case "variable":
                    self.replaced(piece[0])
                case "end":
                    return
        _unknown(self.source, self.at)

    def tilde(self) -> None:
        """Tell the home directory from a plain ``HEAD~1``."""
        following = self.source[self.at : self.at + 1]
        if not self.parts and (not following or following == "/" or following in _ENDS):
            self.replaced("~")
            self.prefix = "/"  # a home directory is an absolute path
        elif not self.parts or self.parts[-1][-1:] in "=:":  # a user's home; bash looks behind = and : as well
            raise Refused(Reason.EXPANSION, self.source[self.start : self.at + 20])
        else:
            self.parts.append("~")

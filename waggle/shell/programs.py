"""The small languages inside arguments: which sed scripts, awk programs and printf formats do nothing but print.

Each is accepted only if it is built from pieces that are known to be harmless in every implementation. What two
implementations would cut into different pieces is refused.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

__all__ = ["awk_prints", "printf_prints", "sed_prints"]


@cache
def _delimited(delimiter: str) -> str:
    """Text up to a delimiter, as a pattern without groups.

    GNU sed ends it at the first unescaped delimiter, BSD sed and awk not within brackets. Here brackets hold neither
    the delimiter nor a backslash, so that both end it at the same place.
    """
    stop = re.escape(delimiter)
    brackets = rf"\[\^?\]?(?:\[:[a-z]+:\]|[^][\\\n{stop}])*\]"
    return rf"(?:{brackets}|\\[^\n]|[^][\\\n{stop}]|\])*"


#: Compiled when first used, which in most processes is never.
_compiled = cache(re.compile)

_SLASHED: Final = rf"/{_delimited('/')}/"
_ADDRESS: Final = rf"(?:[0-9]+(?:~[0-9]+)?|\$|{_SLASHED}[IM]*)"
_SED_ADDRESSES: Final = rf"(?:{_ADDRESS}(?:[ \t]*,[ \t]*(?:{_ADDRESS}|[+~][0-9]+))?)?[ \t]*(?:![ \t]*)?"
_SED_COMMAND: Final = r"[pPdnNgGhHxz=]|[qQ][ \t]*[0-9]*|l[ \t]*[0-9]*"
_SED_BETWEEN: Final = r"[ \t\n;]*"
#: s takes any delimiter. These are the ones people use and that mean nothing inside brackets.
_SED_DELIMITERS: Final = "/|,#@!%:"


@cache
def _sed_replacement(delimiter: str) -> str:
    """An s or y command behind its letter. Of the flags, w writes a file and e runs a command."""
    stop = re.escape(delimiter)
    plain = rf"(?:\\[^\n]|[^\\\n{stop}])*"
    return rf"{stop}{_delimited(delimiter)}{stop}{plain}{stop}[gpiIM0-9]*"


def sed_prints(script: str) -> bool:
    """Whether a sed script only prints, deletes and substitutes in what it reads, and certainly ends.

    Refused are w, W, e and the flags of the same letters (files, commands), labels, jumps and D (they may never end),
    and what has no use in a lookup: r, R, F, a, i, c, v, comments.
    """
    at, depth = _end(_SED_BETWEEN, script, 0), 0
    while at < len(script):
        if script[at] == "}":
            depth -= 1
            if depth < 0:
                return False
            at += 1
        else:
            at = _end(_SED_ADDRESSES, script, at)
            letter, delimiter = script[at : at + 1], script[at + 1 : at + 2]
            if letter == "{":
                depth += 1
                at = _end(_SED_BETWEEN, script, at + 1)
                continue
            if letter in ("s", "y") and delimiter and delimiter in _SED_DELIMITERS:
                found = _compiled(_sed_replacement(delimiter)).match(script, at + 1)
            else:
                found = _compiled(_SED_COMMAND).match(script, at)
            if not found:
                return False
            at = found.end()
        # A command ends at a separator or before a closing brace, or the next letter may be its argument.
        behind = _end(_SED_BETWEEN, script, at)
        if not script[at:behind].strip(" \t") and script[behind : behind + 1] not in ("", "}"):
            return False
        at = behind
    return depth == 0


def _end(pattern: str, text: str, at: int) -> int:
    """Place behind what a pattern that can match nothing finds."""
    found = _compiled(pattern).match(text, at)
    return found.end() if found else at


_AWK_TOKEN: Final = rf"""(?x)
      [ \t\n;]+
    | (?P<regex> {_SLASHED} )
    | (?P<string> "(?:\\[^\n]|[^"\\\n])*" )
    | (?P<number> [0-9]+(?:\.[0-9]+)? )
    | (?P<call> [A-Za-z_][A-Za-z0-9_]* (?=[ \t]*\() )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<opening> [({{\[,!~?:] | && | \|\| | [=!]= | [-+*%]=? | = )
    | (?P<closing> [)}}\]$] )
    | (?P<compare> [<>]=? )
    """
_AWK_CALLS: Final = frozenset(
    ("if", "int", "length", "index", "match", "print", "printf", "split", "sub", "gsub", "substr", "tolower", "toupper")
)
#: Statements that read from elsewhere, run for ever or define what is called later.
_AWK_NAMES_REFUSED: Final = frozenset(("getline", "while", "do", "for", "function", "func"))


def awk_prints(program: str) -> bool:
    """Whether an awk program only selects and prints.

    Inside braces ``>`` would be a redirection, so it is a comparison only outside of them. There are no pipes, no
    ``getline``, no calls except of the string functions, no loops, no comments, and no division, which would make it
    uncertain where a regular expression begins.
    """
    at, depth, operand = 0, 0, False
    while at < len(program):
        token = _compiled(_AWK_TOKEN).match(program, at)
        if not token:
            return False
        at = token.end()
        text, kind = token[0], token.lastgroup
        depth += (text == "{") - (text == "}")
        if (
            (kind == "regex" and operand)
            or (kind == "call" and text not in _AWK_CALLS)
            or (kind == "name" and text in _AWK_NAMES_REFUSED)
            or (kind == "compare" and depth > 0)
        ):
            return False
        if kind:
            operand = kind in ("string", "number", "name", "regex") or text in (")", "]")
    return depth == 0


# %n assigns to a variable, and zsh evaluates the arguments of %d and its like as arithmetic, which can run commands.
_PRINTF: Final = r"(?:[^%]|%%|%-?[0-9]*(?:\.[0-9]+)?[sbcq])*"


def printf_prints(text: str) -> bool:
    """Whether a printf format takes its arguments as text only."""
    return _compiled(_PRINTF).fullmatch(text) is not None

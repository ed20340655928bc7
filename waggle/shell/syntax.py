"""One shell command line as a structure: parsed when every word and operator is understood, else refused with a reason.

Understood are simple commands in pipelines, joined by ``&&``, ``||``, ``;`` and line ends, with quotes, comments and
redirections that write nothing. What a command *does* is not decided here but in `waggle.shell.allowlist`.

What must survive changes: a `Script` stands for exactly what bash would run, no command more and no word less.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from waggle.shell.reasons import Reason, Refusal, Refused
from waggle.shell.words import SIMPLE, Word, read_word, simple_word

__all__ = ["Connector", "Pipeline", "Redirection", "Script", "SimpleCommand", "parse"]

Connector: TypeAlias = Literal["&&", "||", ";"]

#: Characters beyond which a command is refused unread. Of 28,000 recorded commands the longest read has 564.
LENGTH_LIMIT: Final = 4096


@dataclass(frozen=True, slots=True)
class Redirection:
    """A redirection that writes to no file.

    Attributes:
        operator: ``<``, ``>``, ``>>``, ``>&``, ``&>`` or ``&>>``.
        fd: the descriptor in front of it, None when left out.
        target: a file for ``<``; otherwise ``/dev/null``, ``1``, ``2`` or ``-``.
    """

    operator: str
    fd: int | None
    target: str


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A command with its arguments; `argv` has at least one word, and the first one arrives as it is."""

    argv: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()


#: One command, or several of which each reads what the one before it prints.
Pipeline: TypeAlias = tuple[SimpleCommand, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """Pipelines in order, at least one; `connectors` holds what joins each to the next (a line end is ``;``)."""

    pipelines: tuple[Pipeline, ...]
    connectors: tuple[Connector, ...] = ()


# Refused even inside quotes: a terminal between agent and shell would act on them.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# Blanks, then perhaps a comment: between words # always begins one.
_GAP = r"(?:[ \t]|\\\n)*(?:#[^\n]*)?"
_REDIRECT = r"((?:[0-9](?=[<>]))?)(&>>|&>|>>|>&|>\||>|<<<|<<|<&|<>|<)"
_LINES = re.compile(r"(?:[ \t\n]|\\\n|#[^\n]*)*")
_OPERATOR = re.compile(r"&&|\|\||\|&|;;|[|;&\n]")
_TOKEN = re.compile(f"{_GAP}(?:{SIMPLE}|{_REDIRECT})?")
_BLANKS = re.compile(_GAP)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\+?=")
_RESERVED: Final = frozenset(
    ["!", "[[", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in"]
) | frozenset(["select", "then", "time", "until", "while"])


def parse(command: str) -> Script | Refusal:
    """Parse one command line, or say why not; never raises. Costs about 2 µs a word."""
    try:
        return parse_or_raise(command)
    except Refused as error:
        return error.refusal


def parse_or_raise(command: str) -> Script:
    """Parse for a caller inside this package that handles refusals of its own as well.

    Raises:
        Refused: the command is not understood.
    """
    if len(command) > LENGTH_LIMIT:
        raise Refused(Reason.LENGTH, f"{len(command)} characters")
    if found := _CONTROL.search(command):
        raise Refused(Reason.CHARACTER, ascii(found[0])[1:-1])
    if command.endswith("\\\n"):
        raise Refused(Reason.SYNTAX, "the line that continues is missing")
    return _Parser(command).script()


class _Parser:
    """Walks the text once from left to right; each method takes over at `at` and leaves it behind what it read."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip(self, pattern: re.Pattern[str]) -> None:
        """Move behind what `pattern`, which can match nothing, finds here."""
        if found := pattern.match(self.text, self.at):
            self.at = found.end()

    def script(self) -> Script:
        pipelines: list[Pipeline] = []
        connectors: list[Connector] = []
        commands: list[SimpleCommand] = []
        self.skip(_LINES)
        while True:
            command = self.command()
            operator = self.operator()
            if operator == "|&":  # short for 2>&1 before the pipe
                command = SimpleCommand(command.argv, (*command.redirections, Redirection(">&", 2, "1")))
            commands.append(command)
            if operator in ("|", "|&"):
                continue
            pipelines.append(tuple(commands))
            commands.clear()
            if not operator:
                return Script(tuple(pipelines), tuple(connectors))
            connectors.append(_connector(operator))

    def operator(self) -> str:
        """Read the operator behind a command and the empty lines that may follow it; nothing at the end of the text."""
        found = _OPERATOR.match(self.text, self.at)
        if not found:
            return ""  # a command stops before an operator or at the end, nowhere else
        self.at = found.end()
        self.skip(_LINES)
        if found[0] in (";", "\n"):
            return ";" if self.at < len(self.text) else ""
        return found[0]

    def command(self) -> SimpleCommand:
        text = self.text
        argv: list[Word] = []
        redirections: list[Redirection] = []
        while found := _TOKEN.match(text, self.at):
            self.at = found.end()
            simple, fd, operator = found.groups()
            if operator:
                redirections.append(self.redirection(fd, operator))
                continue
            if simple:
                word = simple_word(simple)
            else:
                other, self.at = read_word(text, self.at)
                if other is None:
                    break
                word = other
            if not argv:
                self.check_first(word)
            argv.append(word)
        if not argv:
            raise Refused(Reason.SYNTAX, text[self.at : self.at + 20] or "no command")
        if redirections and argv[0].text == "[":  # [ a < b ] is meant as a comparison, and opens b
            raise Refused(Reason.REDIRECTION, f"[ {redirections[0].operator}")
        return SimpleCommand(tuple(argv), tuple(redirections))

    def check_first(self, word: Word) -> None:
        """Refuse what is no command but a piece of syntax, or only becomes a command when it runs."""
        if word.text in _RESERVED:
            raise Refused(Reason.COMPOUND, word.text)
        if word.prefix is not None:
            raise Refused(Reason.PATTERN, word.text)
        if "=" in word.text and (found := _ASSIGNMENT.match(word.text)):
            raise Refused(Reason.ASSIGNMENT, found[0])

    def redirection(self, fd: str, operator: str) -> Redirection:
        if operator.startswith("<<"):
            raise Refused(Reason.HEREDOC, operator)
        if self.text.startswith("(", self.at):
            raise Refused(Reason.SUBSTITUTION, f"{operator}(")
        self.skip(_BLANKS)
        target, self.at = read_word(self.text, self.at)
        if target is None:
            raise Refused(Reason.SYNTAX, operator)
        if target.prefix is not None or not _writes_nothing(fd, operator, target.text):
            raise Refused(Reason.REDIRECTION, f"{fd}{operator} {target.text}")
        return Redirection(operator, int(fd) if fd else None, target.text)


def _connector(operator: str) -> Connector:
    match operator:
        case "&&" | "||" | ";":
            return operator
        case "&":
            raise Refused(Reason.BACKGROUND, operator)
        case _:
            raise Refused(Reason.SYNTAX, operator)


def _writes_nothing(fd: str, operator: str, target: str) -> bool:
    match operator:
        case ">" | ">>" | "&>" | "&>>":
            return target == "/dev/null"
        case ">&":
            return target in {"1", "2", "-"} or (target == "/dev/null" and not fd)
        case "<":  # bash opens a network connection for /dev/tcp/…, and other devices may act on being read
            return target == "/dev/null" or not target.startswith("/dev/")
        case _:
            return False

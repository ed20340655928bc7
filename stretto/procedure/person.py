"""A person at a terminal, who is asked what the evidence does not settle."""

from __future__ import annotations

import sys

import click

from stretto.procedure import atoms
from stretto.procedure.exchange import Answer, Ask
from waggle import jsonvalue

__all__ = ["TerminalPerson"]


class TerminalPerson:
    """Asks on standard error and reads from the terminal; without a terminal nobody answers.

    Args:
        terminal: whether there is somebody to ask; None: look.
    """

    def __init__(self, *, terminal: bool | None = None) -> None:
        self._terminal = sys.stdin.isatty() if terminal is None else terminal

    def answer(self, question: Ask) -> Answer:
        """Ask; an end of input and Ctrl-C are no answer."""
        if not self._terminal:
            return Answer(given=False)
        click.echo(_plain(question.text), err=True)
        for place, value in question.shows:
            click.echo(f"  {_plain(place)}: {_plain(atoms.shown(value))}", err=True)
        try:
            return self._asked(question)
        except (click.Abort, EOFError):
            return Answer(given=False)

    def _asked(self, question: Ask) -> Answer:
        if question.candidates:
            for number, value in enumerate(question.candidates, 1):
                click.echo(f"  {number}. {_plain(atoms.shown(value))}", err=True)
            chosen = click.prompt("Number", type=click.IntRange(1, len(question.candidates)), err=True)
            return Answer(question.candidates[chosen - 1])
        if not question.answer:
            return Answer(click.confirm("Yes", err=True))
        text = click.prompt("Value", err=True)
        if question.answer == "string":
            return Answer(text)
        try:
            return Answer(jsonvalue.loads(text))
        except ValueError:
            return Answer(text)


def _plain(text: str) -> str:
    """A text of a tool or a trace without what a terminal would take for commands."""
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)

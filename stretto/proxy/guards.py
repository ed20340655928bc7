r"""Guards: checks that a call must pass before it reaches the server, as a small file says them.

A file is TOML, or JSON with the same keys. Each check names the tools it is for, and what must hold of a call::

    stretto_guards = 1

    [[checks]]
    name = "a known order"
    tools = ["cancel_order", "refund_order"]
    say = "Look the order up first."
    confirmed = '\b(yes|go ahead)\b'       # found in the user's latest message, capitals or not

    [checks.arguments.order_id]
    matches = "#W[0-9]+"                   # of the whole value
    seen = true                            # a result of this session has shown it
    seen_in = ["get_order", "find_order"]  # a result of one of these tools

    [checks.arguments.note]
    matches = "[^<>]{0,200}"
    optional = true

Of a list or an object, every text and number in it is checked. An argument that is left out, or null, does not pass
unless it is optional. What is seen is seen in the latest `OUTPUTS_HELD` results, errors left out: as a value of its
own, or in a text with no letter or digit beside it.

Guards are rails, not walls: they hold an agent that errs. A pattern is a regular expression of Python; one that takes
for ever on some text takes for ever here. Not responsible for messages (`stretto.proxy.guarding`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from stretto.bindings.results import as_text
from stretto.contents import read_written
from stretto.errors import GuardsError
from stretto.forms import Form, first_fault
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stretto.bindings.results import Output
    from stretto.bindings.session import SessionValues
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Argument", "Check", "Guards", "Refusal", "guards_from_data", "read_guards"]

_FILE_BYTES: Final = 1 << 20  #: largest file of guards that is read
_SHOWN: Final = 80  #: characters of a value that stand in a refusal
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")

#: What faults of a field's form are called here.
_SAID: Final = {
    "model_type": "expected a table",
    "dict_type": "expected a table",
    "literal_error": "expected 1, the version that is read here",
}

_Name = Annotated[str, Field(min_length=1)]


class Argument(Form):
    """What must hold of one argument.

    Attributes:
        matches: the whole value, as text.
        seen: a result of the session has shown it.
        seen_in: a result of one of these tools has.
        optional: it may be left out.
    """

    matches: re.Pattern[str] | None = None
    seen: bool = False
    seen_in: tuple[_Name, ...] = Field(default=(), strict=False)
    optional: bool = False

    @model_validator(mode="after")
    def _checks_something(self) -> Self:
        if self.matches is None and not self.seen and not self.seen_in:
            raise ValueError("expected one of matches, seen, seen_in")
        return self


class Check(Form):
    """One check.

    Attributes:
        name: for the agent and for people.
        tools: whose calls are checked, names as the server has them.
        arguments: what must hold of each argument.
        confirmed: what must be found in the user's latest message, capitals or not; None for nothing.
        say: what else the agent is told when a call does not pass.
    """

    name: _Name
    tools: tuple[_Name, ...] = Field(min_length=1, strict=False)
    arguments: dict[str, Argument] = Field(default_factory=dict)
    confirmed: re.Pattern[str] | None = None
    say: str = ""

    @model_validator(mode="after")
    def _checks_something(self) -> Self:
        if not self.arguments and self.confirmed is None:
            raise ValueError("expected arguments or confirmed: the check passes everything")
        return self


class _File(Form):
    stretto_guards: Literal[1]
    checks: tuple[Check, ...] = Field(min_length=1, strict=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that does not reach the server.

    Attributes:
        check: name of the check it did not pass.
        text: for the agent: which check, what is wrong, and that nothing was changed.
    """

    check: str
    text: str


class Guards:
    """The checks of a file.

    Args:
        checks: in order; the first that does not pass refuses.

    Attributes:
        tools: whose calls are checked.
        listens: whether a check wants what the user says, without which it passes nothing.
    """

    def __init__(self, checks: tuple[Check, ...]) -> None:
        self._checks = checks
        self.tools = frozenset(tool for check in checks for tool in check.tools)
        self.listens = any(check.confirmed is not None for check in checks)

    def check(self, tool: str, arguments: JsonObject, seen: SessionValues) -> Refusal | None:
        """Check one call.

        Args:
            tool: its name.
            arguments: its arguments.
            seen: what the session has shown before it, and what the user said.

        Returns:
            The first check it does not pass; None when it may reach the server.
        """
        for check in self._checks:
            if tool in check.tools and (problem := _problem(check, arguments, seen)):
                refused = f"Not done: {tool} was not sent to the server, and nothing was changed."
                why = f'The check "{check.name}" did not pass: {problem}.'
                return Refusal(check.name, " ".join(part for part in (refused, why, check.say) if part))
        return None


def _problem(check: Check, arguments: JsonObject, seen: SessionValues) -> str:
    for name, rule in check.arguments.items():
        value = arguments.get(name)
        if value is None:
            if not rule.optional:
                return f"`{name}` is missing"
            continue
        for part in _parts(value):
            if problem := _of_part(rule, part, seen):
                return f"`{name}` is {_shown(part)}, {problem}"
    if check.confirmed is not None and not _said(check.confirmed, seen):
        return "the user's latest message does not confirm it"
    return ""


def _of_part(rule: Argument, part: str | float, seen: SessionValues) -> str:
    text = as_text(part)
    if rule.matches is not None and not rule.matches.fullmatch(text):
        return f"which does not match {rule.matches.pattern}"
    if (rule.seen or rule.seen_in) and not isinstance(part, bool):
        results = [output for output in seen.outputs() if not rule.seen_in or output.tool in rule.seen_in]
        if not any(_shows(output, text) for output in results):
            return f"which no result of {' or '.join(rule.seen_in) or 'this session'} has shown"
    return ""


def _shows(output: Output, text: str) -> bool:
    if not text:
        return False
    if output.path_of(text) is not None:
        return True
    if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", output.text):
        return True
    return _NUMBER.fullmatch(text) is not None and text in output.leaves  # which may be written as 1.50 there


def _said(pattern: re.Pattern[str], seen: SessionValues) -> bool:
    latest = seen.messages[-1] if seen.messages else ""
    return re.search(pattern.pattern, latest, pattern.flags | re.IGNORECASE) is not None


def _parts(value: JsonValue) -> Iterator[str | float]:
    """Every text, number and truth value in it, in order."""
    todo = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            todo += reversed(node.values())
        elif isinstance(node, list):
            todo += reversed(node)
        elif node is not None:
            yield node


def _shown(part: str | float) -> str:
    text = as_text(part)
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return jsonvalue.dumps(cut).decode() if isinstance(part, str) else cut


# --- the file -------------------------------------------------------------------------------------------------


def read_guards(path: Path) -> Guards:
    """Read a file of guards: TOML, or JSON where its name ends in ``.json``.

    Raises:
        GuardsError: it cannot be read, or a field is not what it should be; the error has the JSON path.
    """
    return guards_from_data(read_written(path, _FILE_BYTES, GuardsError), str(path))


def guards_from_data(content: object, path: str = "") -> Guards:
    """Make guards of what a file holds.

    Args:
        content: of the file.
        path: of the file, for the error.

    Raises:
        GuardsError: a field is not what it should be.
    """
    try:
        return Guards(_File.model_validate(content).checks)
    except ValidationError as error:
        raise GuardsError(path, *first_fault(error, content, _SAID)) from None

"""Oracles: a model that is asked, once a decision, what an agent will do next. No vendor's client is here.

A client of a model implements `Oracle`; `ReplayOracle` answers from a cache, `CachingOracle` fills one within a budget,
`MockOracle` makes answers up. What a model is told is data of the session; what it answers are numbers, which can move
a decision between lookups that the flow may make anyway, and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

from stretto.errors import OracleError
from waggle import files, jsonvalue

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Answers", "CachingOracle", "MockOracle", "Oracle", "Question", "ReplayOracle", "Reply", "Request"]

_LONGEST_LINE: Final = 2**20  # bytes; an answer has some ten numbers

#: By question, by answer: its probability.
Answers: TypeAlias = "Mapping[str, Mapping[str, float]]"


@dataclass(frozen=True, slots=True)
class Question:
    """One question with a closed set of answers.

    Attributes:
        id: within its request.
        text: what is asked.
        answers: each answer, and what it means.
    """

    id: str
    text: str
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """All that is asked for one decision.

    Attributes:
        model: whom, as its vendor names it.
        conversation: the session so far, one JSON text an event.
        questions: in a fixed order.
    """

    model: str
    conversation: tuple[str, ...]
    questions: tuple[Question, ...]

    @cached_property
    def key(self) -> str:
        """Equal for two requests exactly when they ask the same; the same in every process."""
        return jsonvalue.fingerprint(cast("JsonObject", asdict(self)))


@dataclass(frozen=True, slots=True)
class Reply:
    """What an oracle answered, and what that cost in dollars."""

    answers: Answers
    dollars: float = 0.0


class Oracle(Protocol):
    """Answers requests."""

    def ask(self, request: Request) -> Reply:
        """Answer every question with a probability for each of its answers.

        Raises:
            OracleError: there is no answer.
        """
        ...


class MockOracle:
    """Makes answers up: the same ones for the same seed and request. Costs nothing.

    Args:
        seed: any integer.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def ask(self, request: Request) -> Reply:
        """See `Oracle.ask`."""
        return Reply({question.id: self._made_up(request.key, question) for question in request.questions})

    def _made_up(self, key: str, question: Question) -> dict[str, float]:
        weights = {answer: 1.0 + self._draw(key, question.id, answer) for answer, _ in question.answers}
        total = sum(weights.values())
        return {answer: weight / total for answer, weight in weights.items()}

    def _draw(self, *parts: str) -> int:
        return blake2b("\0".join((str(self._seed), *parts)).encode("utf-8", "surrogatepass"), digest_size=1).digest()[0]


class ReplayOracle:
    """Answers what was answered before, and nothing else.

    Args:
        path: the cache, as `CachingOracle` writes it. One that is not there is empty.

    Raises:
        OracleError: it cannot be read, or a line of it is no answer. A torn last line is skipped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _read_cache(path)

    def ask(self, request: Request) -> Reply:
        """See `Oracle.ask`."""
        known = self._known.get(request.key)
        if known is None:
            raise OracleError(f"{self._path} has no answer to {request.key}")
        return known


class CachingOracle:
    """Asks another oracle what the cache does not know, and keeps its answers.

    Args:
        oracle: whom to ask.
        path: the cache; answers are appended. It and its directory are made when missing.
        budget: dollars that may be spent by this object; it stops asking once they are.

    Attributes:
        spent: dollars so far.

    Raises:
        OracleError: the cache cannot be read.
    """

    def __init__(self, oracle: Oracle, path: Path, *, budget: float) -> None:
        self._oracle = oracle
        self._path = path
        self._budget = budget
        self._known = _read_cache(path)
        self.spent = 0.0

    def ask(self, request: Request) -> Reply:
        """See `Oracle.ask`.

        Raises:
            OracleError: the budget is spent, or the other oracle has no answer.
            StoreError: the answer cannot be kept.
        """
        known = self._known.get(request.key)
        if known is not None:
            return known
        if self.spent >= self._budget:
            raise OracleError(f"the budget of ${self._budget:g} is spent")
        reply = self._oracle.ask(request)
        self.spent += reply.dollars
        self._known[request.key] = reply
        answers: JsonObject = {question: dict(told) for question, told in reply.answers.items()}
        line: JsonObject = {"key": request.key, "answers": answers, "dollars": reply.dollars}
        files.append_line(self._path, jsonvalue.dumps(line))
        return reply


def _read_cache(path: Path) -> dict[str, Reply]:
    known: dict[str, Reply] = {}
    number = 0
    try:
        for block in files.read_blocks(path, longest=_LONGEST_LINE):
            for line in block.lines:
                number += 1
                try:
                    key, reply = _reply_from(jsonvalue.loads(line)) if line.strip() else ("", Reply({}))
                except ValueError as error:
                    if not block.ended:
                        break
                    raise OracleError(f"{path}:{number}: no answer of an oracle: {error}") from None
                known[key] = reply
    except FileNotFoundError:
        pass
    except OSError as error:
        raise OracleError(f"{path}: cannot be read: {error.strerror or error}") from error
    known.pop("", None)
    return known


def _reply_from(value: JsonValue) -> tuple[str, Reply]:
    record: Any = value
    try:
        answers = {
            question: {answer: _number(chance) for answer, chance in told.items()}
            for question, told in record["answers"].items()
        }
        key, dollars = record["key"], _number(record.get("dollars", 0))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"expected key, answers and dollars ({error})") from None
    if not isinstance(key, str):
        raise ValueError("the key is no text")  # noqa: TRY004 - one kind of error for one kind of fault
    return key, Reply(answers, dollars)


def _number(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError("expected a number")
    return float(value)

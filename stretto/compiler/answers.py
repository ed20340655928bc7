"""What an adviser answered, by the digest of the question, so that nothing is asked twice.

Only digests and answers are kept. A question holds values of traces, and is not; an answer is kept as it was read
(`stretto.compiler.asking`): positions, names, places, and texts of one line in which secrets are masked.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Self

from stretto._defaults import ANSWERS_BYTES
from stretto.contents import read_bytes, read_json
from stretto.errors import AnswersError
from waggle import files, jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["AnswerFile", "Answers"]

_KIND: Final = "stretto_answers"
_VERSION: Final = 1
_DIGEST_BYTES: Final = 16


class Answers:
    """Answers in memory.

    Args:
        key: of the digests. Whoever has the answers, and not a key of your own, can try whether a question was asked.
    """

    def __init__(self, *, key: bytes = b"") -> None:
        self._key = blake2b(key, person=b"stretto-answers").digest()
        self._known: dict[str, JsonValue] = {}

    def digest(self, question: JsonValue) -> str:
        """The digest of a question: 32 hex digits, of its canonical JSON; the same in every process."""
        return blake2b(jsonvalue.canonical(question), key=self._key, digest_size=_DIGEST_BYTES).hexdigest()

    def get(self, digest: str) -> JsonValue:
        """The answer to a question; None where it is not known."""
        return self._known.get(digest)

    def put(self, digest: str, answer: JsonValue) -> None:
        """Keep an answer; not None."""
        self._known[digest] = answer


class AnswerFile(Answers):
    """Answers that outlive the process: read from a file, and written back whole at the end of a ``with`` block.

    Args:
        path: of the file, which need not be there. Only its owner may read it.
        key: see `Answers`; answers that were kept under another key are not found.

    Raises:
        AnswersError: it cannot be read, or holds no answers; the error says where.
    """

    def __init__(self, path: Path, *, key: bytes = b"") -> None:
        super().__init__(key=key)
        self._path = path
        self._written: dict[str, JsonValue] = {}
        if path.exists():
            self._known = _read(path)
            self._written = dict(self._known)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.save()

    def save(self) -> None:
        """Write the file, whole or not at all; not where nothing is new.

        Raises:
            StoreUnavailable: the disk does not take it.
        """
        if self._known != self._written:
            value: JsonObject = {_KIND: _VERSION, "answers": dict(sorted(self._known.items()))}
            files.replace(self._path, jsonvalue.pretty(value).encode("utf-8", "surrogatepass"), private=True)
            self._written = dict(self._known)


def _read(path: Path) -> dict[str, JsonValue]:
    value = read_json(read_bytes(path, ANSWERS_BYTES, AnswersError), str(path), AnswersError)
    if not isinstance(value, dict) or value.get(_KIND) != _VERSION or value[_KIND] is True:
        raise AnswersError(str(path), f"$.{_KIND}", f"expected {_VERSION}: these are no answers")
    answers = value.get("answers")
    if not isinstance(answers, dict):
        raise AnswersError(str(path), "$.answers", "expected an object")
    return answers

"""Values and what stands in their place in a copy of sessions that may be shown to others.

A value that few sessions hold is somebody's: its place is taken by a hash, the same for equal values everywhere. What
many hold is everybody's and stays, so that a copy can be learned from. Two passes do it: a `Census` counts, then
`Pseudonyms` rewrite; both walk a value in the same way (`Treatment`), so that nothing is rewritten that was not
counted. Not responsible for which parts of a session hold values (`stretto.sessions.redact`).

Values are compared **normalised**: trimmed, in lower case, without leading ``#``. Three kinds of text are told apart:

* a *record* is JSON: its keys, strings and numbers are values. A string that itself holds an object or a list is
  walked inside.
* an *answer* is a record if it is JSON; else each of its lines is a value.
* *speech* is running text: its words are values, without the punctuation around them. Values of several words that
  stand in it whole are looked for first, the longest first.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.sessions.phrases import PUNCTUATION, Phrases, pieces_of
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Census", "Pseudonyms", "Treatment", "normalised", "pseudonym"]

_RUNS: Final = re.compile(r"\w+")
_HEX_DIGITS: Final = 12
_LONG: Final = 64  #: characters beyond which a value is counted by its digest: one may be a whole file
_RUNS_LIMIT: Final = 64  #: parts of a word beyond which it is known whole, but not looked for inside of others
_DEPTH_LIMIT: Final = 200  #: nesting beyond which a value is not kept; `waggle.redact` stops there, too
_TOO_DEEP: Final = "[nested too deeply to be kept]"

#: A normalised value as it is counted.
_Key: TypeAlias = str | bytes


def normalised(text: str) -> str:
    """The form in which values are compared: trimmed, in lower case, without leading ``#``."""
    return text.strip().lower().lstrip("#")


def pseudonym(salt: str, value: str) -> str:
    """What stands in the place of a value: ``h_`` and the first 12 hex digits of SHA-256 of salt, NUL and value.

    Args:
        salt: the secret without which a guessed value cannot be tested.
        value: normalised, see `normalised`.
    """
    digest = sha256(f"{salt}\0{value}".encode("utf-8", "surrogatepass"))
    return f"h_{digest.hexdigest()[:_HEX_DIGITS]}"


def _key(value: str) -> _Key:
    if len(value) <= _LONG:
        return value
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _words(text: str) -> Iterator[str]:
    """The normalised words of a text, without the punctuation around them."""
    return (word for token in text.split() if (word := normalised(token.strip(PUNCTUATION))))


def _structure(text: str) -> JsonValue:
    """The object or list that a text holds as JSON; None when it holds none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return jsonvalue.loads(text)
    except ValueError:
        return None


class Treatment(ABC):
    """How values are walked. Each method gives what stands in the place of what it was given.

    Args:
        hash_fields: keys under which, at any depth, every value is somebody's; small and large letters are alike.
    """

    def __init__(self, hash_fields: Collection[str] = ()) -> None:
        self.hash_fields = frozenset(name.lower() for name in hash_fields)

    def record(self, value: JsonValue, *, hidden: bool = False, depth: int = 0) -> JsonValue:
        """A JSON value.

        Args:
            value: the value.
            hidden: it stands under one of the hidden fields.
            depth: of its place, from 0.
        """
        if depth > _DEPTH_LIMIT:
            return _TOO_DEEP
        if isinstance(value, str):
            return self._text(value, hidden=hidden, depth=depth + 1)
        if isinstance(value, dict):
            return self._object(value, hidden=hidden, depth=depth + 1)
        if isinstance(value, list):
            return [self.record(item, hidden=hidden, depth=depth + 1) for item in value]
        if isinstance(value, bool) or value is None:
            return value
        return self.number(value, hidden=hidden)

    def _text(self, text: str, *, hidden: bool, depth: int) -> str:
        inner = _structure(text)
        if inner is None:
            return self.value(text, hidden=hidden)
        return _written(text, inner, self.record(inner, hidden=hidden, depth=depth))

    def _object(self, value: JsonObject, *, hidden: bool, depth: int) -> JsonObject:
        new: JsonObject = {}
        for key, item in value.items():
            name = self.key(key)
            while name in new:  # two keys that are one when normalised
                name += "_"
            new[name] = self.record(item, hidden=hidden or key.lower() in self.hash_fields, depth=depth)
        return new

    def answer(self, text: str) -> str:
        """A result's text."""
        try:
            value = jsonvalue.loads(text)
        except ValueError:
            return "\n".join(map(self._line, text.split("\n")))
        return _written(text, value, self.record(value))

    def _line(self, line: str) -> str:
        inner = line.strip()
        return line.replace(inner, self._text(inner, hidden=False, depth=0), 1) if inner else line

    def failure(self, text: str) -> str:
        """The text of an error: speech, unless it is an object or a list."""
        inner = _structure(text)
        return self.speech(text) if inner is None else _written(text, inner, self.record(inner))

    @abstractmethod
    def key(self, name: str) -> str:
        """A key of an object."""

    @abstractmethod
    def value(self, text: str, *, hidden: bool) -> str:
        """A string that is a value as a whole."""

    @abstractmethod
    def number(self, value: float, *, hidden: bool) -> JsonValue:
        """A number; a text when something stands in its place."""

    @abstractmethod
    def speech(self, text: str) -> str:
        """Running text."""


def _written(text: str, old: JsonValue, new: JsonValue) -> str:
    """The JSON text of a new value, the old text itself when nothing is new."""
    return text if new == old else jsonvalue.dumps(new).decode("utf-8")


def _digits(value: float) -> str:
    return jsonvalue.canonical(value).decode("ascii")


class Census(Treatment):
    """The first pass: in how many sessions each value is, which values must not stay, and which must."""

    def __init__(self, hash_fields: Collection[str] = ()) -> None:
        super().__init__(hash_fields)
        self.declared: set[_Key] = set()  #: names and values that the tools' schemas state
        self.secrets: set[_Key] = set()  #: values of the hidden fields
        self.phrases = Phrases()
        self._sessions: dict[_Key, int] = {}  # value -> sessions that hold it
        self._words: set[_Key] = set()  # the secrets and each of their words
        self._parts: set[str] = set()  # the words again, without what is no letter or digit at their ends
        self._longest = 0  # most runs of letters and digits in one of them
        self._session: object = None
        self._seen: set[_Key] = set()

    def begin(self, session: object) -> None:
        """Begin a session, or go on with the current one when it is equal to that."""
        if session != self._session:
            self._session = session
            self._seen = set()

    def declare(self, names: Iterable[str]) -> None:
        """Take in names that everybody may see."""
        self.declared.update(_key(normalised(name)) for name in names)

    def key(self, name: str) -> str:
        """Count a key."""
        self._count(normalised(name))
        return name

    def value(self, text: str, *, hidden: bool) -> str:
        """Count a value."""
        normal = normalised(text)
        self._count(normal)
        self.phrases.add(normal)
        if hidden:
            self._hide(normal)
        return text

    def number(self, value: float, *, hidden: bool) -> JsonValue:
        """Count a number."""
        self._count(_digits(value))
        if hidden:
            self._hide(_digits(value))
        return value

    def speech(self, text: str) -> str:
        """Count the words."""
        for word in _words(text):
            self._count(word)
        return text

    def _count(self, normal: str) -> None:
        key = _key(normal)
        if normal and key not in self._seen:
            self._seen.add(key)
            self._sessions[key] = self._sessions.get(key, 0) + 1

    def _hide(self, normal: str) -> None:
        if not normal:
            return
        self.secrets.add(_key(normal))
        self._words.add(_key(normal))
        for word in _words(normal):
            self._words.add(_key(word))
            runs = list(_RUNS.finditer(word))
            if 0 < len(runs) <= _RUNS_LIMIT:
                self._parts.add(word[runs[0].start() : runs[-1].end()])
                self._longest = max(self._longest, len(runs))

    def sessions(self, normal: str) -> int:
        """How many sessions hold a value."""
        return self._sessions.get(_key(normal), 0)

    def is_secret(self, normal: str) -> bool:
        """Whether this is a value of a hidden field, or a word of one."""
        return _key(normal) in self._words

    def holds_secret(self, normal: str) -> bool:
        """Whether a word of such a value stands in this one, apart from what is around it."""
        runs = list(_RUNS.finditer(normal)) if self._parts else []
        return any(
            normal[first.start() : last.end()] in self._parts
            for place, first in enumerate(runs)
            for last in runs[place : place + self._longest]
        )


class Pseudonyms(Treatment):
    """The second pass: hashes in the place of the values that are somebody's.

    Those are the values of the hidden fields, their words, and whatever holds one of these; and every value that the
    tools' schemas do not state and too few sessions hold. A key stays when a schema states it, whatever else it is.

    Args:
        census: of all sessions.
        salt: see `pseudonym`.
        keep_shared: sessions that must hold a value for it to stay, at least 1.
    """

    def __init__(self, census: Census, salt: str, keep_shared: int) -> None:
        super().__init__(census.hash_fields)
        self.hashed: set[str] = set()  #: the hashes that were given so far
        self._census = census
        self._salt = salt
        self._keep_shared = keep_shared
        self._known: dict[_Key, str] = {}  # value -> what stands in its place; empty when it stays

    def key(self, name: str) -> str:
        """A key, or its hash."""
        normal = normalised(name)
        key = _key(normal)
        if not normal or key in self._census.declared:
            return name
        hides = key in self._census.secrets or self._census.sessions(normal) < self._keep_shared
        return self._hash(normal) if hides else name

    def value(self, text: str, *, hidden: bool) -> str:
        """A value, or its hash."""
        del hidden  # the census has noted it, for every place where it stands
        return self._stand_in(normalised(text)) or text

    def number(self, value: float, *, hidden: bool) -> JsonValue:
        """A number, or the hash of its JSON text."""
        del hidden
        return self._stand_in(_digits(value)) or value

    def speech(self, text: str) -> str:
        """The text with hashes in the place of words and phrases."""
        pieces = pieces_of(text)
        lower = [piece.lower() for piece in pieces]
        said: list[str] = []
        at = 0
        while at < len(pieces):
            found = None if at % 2 else self._census.phrases.find(lower, at, self._known_phrase)
            if found is None:
                said.append(pieces[at] if at % 2 else self._word(pieces[at]))
                at += 1
            else:
                name = self._stand_in(found.value)
                said.append(f"{found.before}{name}{found.after}" if name else "".join(pieces[at : found.end]))
                at = found.end
        return "".join(said)

    def _known_phrase(self, normal: str) -> bool:
        return self._census.sessions(normal) > 0

    def _word(self, token: str) -> str:
        core = token.strip(PUNCTUATION)
        name = self._stand_in(normalised(core))
        return token.replace(core, name, 1) if name else token

    def _stand_in(self, normal: str) -> str:
        """The hash that takes the place of a normalised value; empty when the value stays."""
        if not normal:
            return ""
        key = _key(normal)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._hash(normal) if self._hides(normal) else ""
        return known

    def _hides(self, normal: str) -> bool:
        census = self._census
        if census.is_secret(normal):
            return True
        if _key(normal) in census.declared:
            return False
        return census.sessions(normal) < self._keep_shared or census.holds_secret(normal)

    def _hash(self, normal: str) -> str:
        name = pseudonym(self._salt, normal)
        self.hashed.add(name)
        return name

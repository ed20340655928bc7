"""Names for intents, of the words of their requests and of what they change. Pure: no model names anything.

A word goes into a name only where at least half of the traces have it, and two of all: what one user wrote is in none.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from stretto.compiler.names import words_of
from waggle.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stretto.compiler.model import Trace
    from stretto.compiler.subclusters import SubCluster

__all__ = ["intent_names"]

_WORDS: Final = 3  #: of a request that stand in a name
_ACTIONS: Final = 2  #: that stand in a name
_SHARE: Final = 0.5  #: of the traces that have a word of the name
_LETTERS: Final = 3  #: of a word, at least
_LONG: Final = 24  #: letters of a word, at most
_ACTION: Final = 48  #: characters of an action, at most

#: Names that no file may have on Windows, whatever stands behind a dot; none of several words is one.
_RESERVED: Final = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)

#: Words that say nothing of what is wanted; of requests in English.
_SAID_ANYWAY: Final = (
    "able about all also and any are been but can could did does don for from get had has have hello help her hey him "
    "his how its just know let like looking make may mine more much myself need not now off one our out over please "
    "should some sure thank thanks that the their them then there these they this those too until use very want was "
    "what when where which who why will with would you your yours"
)
_EMPTY: Final = frozenset(_SAID_ANYWAY.split())


def intent_names(parts: Sequence[SubCluster], traces: Mapping[str, Trace]) -> tuple[str, ...]:
    """A name for each sub-cluster, no two alike: of small letters, digits and ``-``, so that a file may have it.

    First what it changes, if anything; then the words that most of its requests have and few others.

    Args:
        parts: the sub-clusters; of two that would be named alike, the earlier one keeps the name.
        traces: by id.
    """
    words = {name: set(_words(trace)) for name, trace in traces.items()}
    everywhere = Counter(word for each in words.values() for word in each)
    taken: Counter[str] = Counter()
    names = []
    for part in parts:
        name = "-".join(_telling(part, words, everywhere)) or "-".join(_actions(part, traces)) or "intent"
        name = f"intent-{name}" if name in _RESERVED else name
        taken[name] += 1
        while taken[name] > 1:
            name = f"{name}-{taken[name]}"
            taken[name] += 1
        names.append(name)
    return tuple(names)


def _words(trace: Trace) -> Iterator[str]:
    for word in words_of(redact_text(trace.request)):
        if _LETTERS <= len(word) <= _LONG and word.isascii() and word.isalpha() and word not in _EMPTY:
            yield word


def _telling(part: SubCluster, words: Mapping[str, set[str]], everywhere: Counter[str]) -> list[str]:
    changes = [plain for action in part.signature[:_ACTIONS] if (plain := _plain(action))]
    said = {word for action in changes for word in action.split("-")}
    inside = Counter(word for name in part.traces for word in words[name])
    weights = {
        word: count / len(part.traces) * math.log((1 + len(words)) / everywhere[word])
        for word, count in inside.items()
        if count >= _SHARE * len(part.traces) and everywhere[word] > 1 and word not in said
    }
    best = sorted(weights, key=lambda word: (-weights[word], word))
    return changes + best[: _WORDS - len(changes)]


def _actions(part: SubCluster, traces: Mapping[str, Trace]) -> list[str]:
    """The actions that most traces of a part made."""
    made = Counter(name for each in part.traces for name in {call.name for call in traces[each].calls})
    often = sorted(made, key=lambda name: (-made[name], name))[:_ACTIONS]
    return [plain for name in often if (plain := _plain(name))]


def _plain(name: str) -> str:
    """An action as a part of a name: ``shop.get_order`` is ``get-order``."""
    whole = "-".join(word for word in words_of(name.rpartition(".")[2]) if word.isascii() and word.isalnum())
    return whole[:_ACTION].rstrip("-")

"""Conversations with two intents, parted before they spoil a cluster. Pure.

A boundary may lie only before a later message of the user. It is accepted where the two sides are about different
things, no value of the first is used in the second, and both act. Of several, the one between the least similar sides
is taken, and both parts are looked at again until none is accepted; so going over the parts once more, with the same
embedder, changes nothing.

An adviser may propose a boundary in a trace that would stay whole. It has to pass the same checks but for the first:
the two sides need not be as unlike as is asked of what nobody proposed, only too unlike to be of one cluster by
themselves (`distance_threshold`). So a proposal says where to look twice, and sides that the compiler itself would take
for one intent are never parted.

Cost: an embedding of both sides of every message before and after which something is done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from stretto.compiler.documents import document
from stretto.compiler.embed import similarity
from stretto.compiler.model import Call, Effect, Thought, Unlogged
from stretto.procedure import atoms
from waggle.redact import is_masked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stretto.compiler.asking import Asking
    from stretto.compiler.embed import Embedder
    from stretto.compiler.model import Trace
    from stretto.compiler.settings import CompilerSettings
    from waggle.jsonvalue import JsonValue

__all__ = ["Split", "split_traces"]


@dataclass(frozen=True, slots=True)
class Split:
    """Why a trace was parted.

    Attributes:
        trace: its id; its parts are called ``<id>#1`` and ``<id>#2``.
        before: the message that begins the second part.
        similarity: of the two parts, -1 to 1.
        proposed: whether an adviser proposed it, and nothing else would have parted it.
    """

    trace: str
    before: int
    similarity: float
    proposed: bool = False


def split_traces(
    traces: Iterable[Trace], embedder: Embedder, settings: CompilerSettings, asking: Asking | None = None
) -> tuple[tuple[Trace, ...], tuple[Split, ...]]:
    """Part the traces that mix intents.

    Args:
        traces: in any order.
        embedder: fitted, where it takes something from a corpus.
        settings: the compiler's.
        asking: asks an adviser; None where there is none.

    Returns:
        The traces and parts, and why each was parted, both sorted by id.
    """
    limit = embedder.split_similarity if settings.split_similarity is None else settings.split_similarity
    whole: list[Trace] = []
    splits: list[Split] = []
    todo = sorted(traces, key=lambda trace: trace.id)
    while todo:
        places = [(trace, boundary) for trace in todo for boundary in _boundaries(trace)]
        sides = [side for trace, boundary in places for side in _sides(trace, boundary)]
        vectors = embedder.embed([document(side, settings.document_max_chars) for side in sides]) if sides else []
        found: dict[str, list[tuple[float, int]]] = {}
        for number, (trace, boundary) in enumerate(places):
            alike = similarity(vectors[2 * number], vectors[2 * number + 1])
            found.setdefault(trace.id, []).append((alike, boundary))
        parts: list[Trace] = []
        for trace in todo:
            split = _split(trace, found.get(trace.id, []), limit, settings)
            if split is None and asking is not None and trace.id in found:
                split = _proposed(trace, found[trace.id], 1 - _threshold(embedder, settings), settings, asking)
            if split is None:
                whole.append(trace)
                continue
            first, second = _sides(trace, split.before)
            splits.append(split)
            parts += [replace(first, id=f"{trace.id}#1"), replace(_with_logins(first, second), id=f"{trace.id}#2")]
        todo = parts
    return tuple(sorted(whole, key=lambda trace: trace.id)), tuple(sorted(splits, key=lambda each: each.trace))


def _split(trace: Trace, found: Sequence[tuple[float, int]], limit: float, settings: CompilerSettings) -> Split | None:
    """The boundary between the least alike sides that may part a trace."""
    for alike, boundary in sorted(found):
        if alike < limit and not _crosses(*_sides(trace, boundary), settings):
            return Split(trace.id, boundary, alike)
    return None


def _threshold(embedder: Embedder, settings: CompilerSettings) -> float:
    return embedder.distance_threshold if settings.distance_threshold is None else settings.distance_threshold


def _proposed(
    trace: Trace, found: Sequence[tuple[float, int]], limit: float, settings: CompilerSettings, asking: Asking
) -> Split | None:
    """The same of the boundaries that an adviser proposes."""
    alike = {boundary: each for each, boundary in found}
    standing = []
    for boundary in asking.splits(trace):
        if boundary not in alike:
            fault = "no message of the user begins there, with something done before and after it"
        elif _crosses(*_sides(trace, boundary), settings):
            fault = "a value of the first part is used in the second"
        elif alike[boundary] >= limit:
            fault = "the two parts are as alike as traces of one intent"
        else:
            standing.append(Split(trace.id, boundary, alike[boundary], proposed=True))
            continue
        asking.drop("propose_split", trace.id, str(boundary), fault)
    return min(standing, key=lambda each: (each.similarity, each.before), default=None)


def _boundaries(trace: Trace) -> Iterator[int]:
    """The positions of the messages on both sides of which something is done."""
    acts = [
        call.index
        for call in trace.calls
        if call.ok and call.effect is not Effect.AUTH and not call.discovery and not call.inherited
    ]
    for utterance in trace.utterances:
        if acts and acts[0] < utterance.index < acts[-1]:
            yield utterance.index


def _sides(trace: Trace, boundary: int) -> tuple[Trace, Trace]:
    """What was said and done before a message, and from it on."""
    earlier = tuple(each for each in trace.utterances if each.index < boundary)
    message, *later = (each for each in trace.utterances if each.index >= boundary)
    calls_before = tuple(call for call in trace.calls if call.index < boundary)
    thoughts_before = tuple(each for each in trace.thoughts if each.index < boundary)
    first = replace(
        trace,
        calls=calls_before,
        utterances=earlier,
        thoughts=thoughts_before,
        answer=_answer(calls_before, thoughts_before),
    )
    second = replace(
        trace,
        request=message.text,
        calls=tuple(call for call in trace.calls if call.index >= boundary),
        utterances=tuple(later),
        thoughts=tuple(each for each in trace.thoughts if each.index >= boundary),
    )
    return first, second


def _answer(calls: Sequence[Call], thoughts: Sequence[Thought]) -> str:
    """The last thing the agent said that was not followed by a call."""
    last = max((call.index for call in calls), default=-1)
    return thoughts[-1].text if thoughts and thoughts[-1].index > last else ""


def _crosses(first: Trace, second: Trace, settings: CompilerSettings) -> bool:
    """Whether a distinctive value of an output of the first, logins aside, is used or said by a call of the second.

    Of an output that is a text, a value that stands anywhere in it counts, too.
    """
    values = [value for call in second.calls for value in atoms.arguments(call.args).values()]
    used = {atoms.key(value) for value in values}
    texts = [(text, atoms.fold(text)) for text in values if isinstance(text, str)]
    telling = [value for value in values if settings.is_distinctive(value)]
    for call in first.calls:
        if call.effect is Effect.AUTH or isinstance(call.output, Unlogged):
            continue
        if isinstance(call.output, str) and any(atoms.said(value, call.output) for value in telling):
            return True
        for _, value in islice(atoms.atoms(call.output), settings.atoms_max):
            if settings.is_distinctive(value) and (atoms.key(value) in used or _is_said(value, texts)):
                return True
    return False


def _is_said(value: JsonValue, texts: Sequence[tuple[str, str]]) -> bool:
    wanted = atoms.fold(atoms.shown(value))
    return any(wanted in folded and atoms.said(value, text) for text, folded in texts)


def _with_logins(first: Trace, second: Trace) -> Trace:
    """The second part with the logins of the first that its calls need in front, and what those need themselves."""
    needed: dict[int, Call] = {}
    todo = list(second.calls)
    logins = [call for call in first.calls if call.effect is Effect.AUTH and call.ok]
    while todo:
        call = todo.pop()
        for login in logins:
            if login.index not in needed and login.precedes(call) and _feeds(login, call):
                needed[login.index] = replace(login, inherited=True)
                todo.append(login)
    return replace(second, calls=(*(needed[index] for index in sorted(needed)), *second.calls))


def _feeds(login: Call, call: Call) -> bool:
    """Whether a call was given what a login yielded; masked, that is what a login of its app did."""
    values = atoms.arguments(call.args).values()
    if login.app == call.app and any(isinstance(value, str) and is_masked(value) for value in values):
        return True
    if isinstance(login.output, Unlogged):
        return False
    given = {atoms.key(value) for value in values if isinstance(value, str)}
    return any(atoms.key(value) in given for _, value in atoms.atoms(login.output) if value)

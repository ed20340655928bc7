"""Which lookups feed which writes: hints of what the agent reads a record for.

They are kept in a flow for whoever reads it; nothing is decided by them. Not responsible for where a lookup's own
arguments come from (`stretto.bindings.survey`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from stretto.bindings.results import as_text
from stretto.sessions.episode import Assistant, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonValue

__all__ = ["feeds_of"]

_SHORTEST: Final = 3  #: characters; a shorter value is in a result by chance


def feeds_of(episodes: Iterable[Episode], manifest: Manifest) -> dict[str, dict[tuple[str, str], int]]:
    """Count in how many episodes a lookup's result held what was then passed to a write.

    A text or number of at least 3 characters, at any depth of an argument, was fed by the most recent successful result
    before the turn that holds it, whatever its case. Episodes that did not succeed are passed over.

    Args:
        episodes: the sessions; streamed.
        manifest: tells which tools read and which write.

    Returns:
        For each lookup, for each write and argument, the episodes; both sorted.
    """
    counts: Counter[tuple[str, tuple[str, str]]] = Counter()
    for episode in episodes:
        if episode.succeeded:
            counts.update(_fed(episode, manifest))
    feeds: dict[str, dict[tuple[str, str], int]] = {}
    for (lookup, place), count in sorted(counts.items()):
        feeds.setdefault(lookup, {})[place] = count
    return feeds


def _fed(episode: Episode, manifest: Manifest) -> set[tuple[str, tuple[str, str]]]:
    found: set[tuple[str, tuple[str, str]]] = set()
    returned: list[tuple[str, str]] = []
    for event in episode.events:
        if isinstance(event, ToolResult):
            if not event.error:
                returned.append((event.name, event.content.lower()))
            continue
        for call in event.calls if isinstance(event, Assistant) else ():
            if manifest.kind(call.name) != "write" or not isinstance(call.arguments, dict):
                continue
            for argument, value in call.arguments.items():
                for text in _texts(value):
                    source = next((tool for tool, content in reversed(returned) if text in content), None)
                    if source is not None and manifest.kind(source) == "read":
                        found.add((source, (call.name, argument)))
    return found


def _texts(value: JsonValue) -> Iterator[str]:
    """Texts and numbers in a value that are long enough, in small letters."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif value is not None and not isinstance(value, bool):
        text = as_text(value).lower()
        if len(text) >= _SHORTEST:
            yield text

"""What an adviser is shown of traces: everything but secrets. Pure.

A secret is what is declared as one (`Tools`), what its name or shape gives away (`waggle.redact`), and the same value
wherever else it stands: in an output that echoes it, in what the user said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from stretto.compiler.model import Unlogged
from stretto.compiler.tracing import top
from stretto.procedure import atoms
from waggle.redact import MASK, is_masked, redact_text, redact_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from stretto.compiler.evidence import Edge, Evidence
    from stretto.compiler.model import Call, Trace
    from stretto.compiler.schemas import Tools
    from waggle.jsonvalue import JsonValue

__all__ = ["Masks", "as_json", "credentials"]

_SHORT: Final = 6  #: characters from which on a secret is found inside of words, too


def credentials(tools: Tools, traces: Sequence[Trace]) -> frozenset[str]:
    """The values that were given for arguments declared secret, as texts."""
    return frozenset(
        text
        for trace in traces
        for call in trace.calls
        for name in tools.of(call.name).secrets
        for text in _texts(call.args.get(name))
    )


def _texts(value: JsonValue) -> Iterator[str]:
    """The texts and numbers in a value, as texts; none that is masked already."""
    for _, leaf in atoms.atoms(value):
        if isinstance(leaf, str | int | float) and not isinstance(leaf, bool) and leaf != "" and not is_masked(leaf):
            yield atoms.shown(leaf)


class Masks:
    """Masks the secrets of traces.

    Args:
        tools: what is declared of their actions.
        traces: whose secrets are looked for.
        also: more values that are secret.
    """

    def __init__(self, tools: Tools, traces: Sequence[Trace], also: Collection[str] = ()) -> None:
        self._tools = tools
        found = {*also, *(text for trace in traces for call in trace.calls for text in self._secrets(call))}
        self._exact = frozenset(found)
        ordered = sorted(found, key=lambda text: (-len(text), text))
        whole = [re.escape(text) if len(text) >= _SHORT else rf"(?<!\w){re.escape(text)}(?!\w)" for text in ordered]
        self._pattern = re.compile("|".join(whole), re.IGNORECASE) if whole else None

    def _hidden(self, name: str) -> frozenset[str]:
        schema = self._tools.of(name)
        return schema.secrets | schema.sessions

    def _secrets(self, call: Call) -> Iterator[str]:
        for name in self._hidden(call.name):
            yield from _texts(call.args.get(name))
        output = None if isinstance(call.output, Unlogged) else call.output
        for value in (dict(call.args), output):
            kept = dict(atoms.atoms(redact_value(value)))
            for path, leaf in atoms.atoms(value):
                if kept.get(path) == MASK:
                    yield from _texts(leaf)

    def text(self, text: str) -> str:
        """A text without secrets."""
        masked = redact_text(text)
        return masked if self._pattern is None else self._pattern.sub(MASK, masked)

    def value(self, value: JsonValue, name: str = "") -> JsonValue:
        """A value without secrets.

        Args:
            value: it.
            name: of the field or argument that it stands under.
        """
        return self._masked(next(iter(_entries(redact_value({name: value})))))

    def _masked(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return value if self._pattern is None else self._pattern.sub(MASK, value)
        if isinstance(value, dict):
            return {str(self._masked(key)): self._masked(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._masked(each) for each in value]
        if isinstance(value, bool) or value is None:
            return value
        return MASK if atoms.shown(value) in self._exact else value

    def argument(self, step: str, path: str, value: JsonValue) -> JsonValue:
        """The value of a step's argument, which may be declared secret."""
        return MASK if top(path) in self._hidden(step.rpartition("#")[0]) else self.value(value, top(path))

    def trace(self, trace: Trace) -> Trace:
        """A trace without secrets."""
        return replace(
            trace,
            request=self.text(trace.request),
            context=self.text(trace.context),
            answer=self.text(trace.answer),
            utterances=tuple(replace(each, text=self.text(each.text)) for each in trace.utterances),
            thoughts=tuple(replace(each, text=self.text(each.text)) for each in trace.thoughts),
            calls=tuple(self._call(call) for call in trace.calls),
            meta={key: self.value(each, key) for key, each in trace.meta.items()},
        )

    def _call(self, call: Call) -> Call:
        hidden = self._hidden(call.name)
        args = {name: MASK if name in hidden else self.value(each, name) for name, each in call.args.items()}
        return replace(
            call, args=args, output=call.output if isinstance(call.output, Unlogged) else self.value(call.output)
        )

    def edge(self, edge: Edge) -> Edge:
        """An edge whose evidence shows nothing of a secret."""
        return replace(
            edge,
            evidence=tuple(self._evidence(each) for each in edge.evidence),
            against=tuple(self._evidence(each) for each in edge.against),
        )

    def _evidence(self, evidence: Evidence) -> Evidence:
        preview = evidence.value.preview
        begins = any(len(text) > len(preview) and text.startswith(preview) for text in self._exact)
        if not begins and self.argument(evidence.consumer.name, evidence.arg_path, preview) == preview:
            return evidence
        return replace(evidence, value=replace(evidence.value, digest="", length=0, preview=""))


def _entries(value: JsonValue) -> Iterator[JsonValue]:
    yield from value.values() if isinstance(value, dict) else [value]


def as_json(value: Any) -> JsonValue:
    """What an adviser is given, as JSON, to take the digest of."""
    if isinstance(value, Unlogged):
        return {"unlogged": True}
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: as_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): as_json(each) for key, each in value.items()}
    plain: JsonValue = value
    return plain

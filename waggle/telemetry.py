"""What a host can see of the lookups: OpenTelemetry events and metrics where it has that, else lines of its log.

Nothing is loaded that the host has not loaded: a process that never imported OpenTelemetry's API has no span and no
meter to report to, so finding out costs one look at the loaded modules, and only when there is something to tell. The
SDK is the host's own business. Neither arguments nor texts of tools are told, unless the host captures content.

What must stay true: a fault here is reported once, ends the telling, and never reaches the host.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

from waggle import jsonvalue
from waggle.accounts import is_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from waggle.background import Background, Faults
    from waggle.jsonvalue import JsonObject
    from waggle.replay import Fold, Lookup
    from waggle.settling import Settled

__all__ = ["CAPTURE_VARIABLE", "Telemetry"]

_log = logging.getLogger("waggle")

#: The variable by which hosts of OpenTelemetry ask for arguments and texts, and its values that mean spans.
CAPTURE_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURES: Final = frozenset({"true", "1", "span_only", "span_and_event"})

_LOADED: Final = ("opentelemetry.trace", "opentelemetry.metrics")  #: one of them, wherever anything is set up
_FOLD: Final = "waggle.fold"
_SETTLED: Final = "waggle.settled"
_STRATEGY: Final = "waggle.strategy"
_OUTCOME: Final = "waggle.outcome"


class _Sink(Protocol):
    """Where it is told."""

    def folded(self, made: Sequence[Lookup], fold: Fold | None, seconds: float) -> None: ...

    def settled(self, settled: Sequence[Settled]) -> None: ...


class Telemetry:
    """Tells of the lookups of one manager. Thread-safe.

    Args:
        faults: where a fault is counted.
        background: writes the lines of the log, whose handlers may be slow.
    """

    def __init__(self, faults: Faults, background: Background) -> None:
        self._faults = faults
        self._sink: _Sink | None = _Lines(background)
        self._found = False

    def folded(self, made: Sequence[Lookup], fold: Fold | None, seconds: float) -> None:
        """Tell of one follow; on the thread, and in the context, in which the host waits for it.

        Args:
            made: its lookups, failed ones included.
            fold: what the agent gets of them.
            seconds: how long the agent's result was held up.
        """
        self._safely(lambda sink: sink.folded(made, fold, seconds))

    def settled(self, settled: Sequence[Settled]) -> None:
        """Tell what became of lookups."""
        self._safely(lambda sink: sink.settled(settled))

    def _safely(self, tell: Callable[[_Sink], None]) -> None:
        if self._sink is None:
            return
        try:
            if not self._found and any(name in sys.modules for name in _LOADED):
                self._sink, self._found = _Instruments(), True
            tell(self._sink)
        except Exception as error:  # noqa: BLE001 - a meter, an exporter or a handler may be anybody's code
            self._sink = None
            self._faults.note("telemetry switched off", error)


class _Lines:
    """Lines of the log ``waggle``: an event's name, and its attributes as JSON."""

    def __init__(self, background: Background) -> None:
        self._background = background

    def folded(self, made: Sequence[Lookup], fold: Fold | None, seconds: float) -> None:
        if _log.isEnabledFor(logging.INFO):
            failed = sum(is_failure(lookup) for lookup in made)
            about = {} if fold is None else _about(fold)
            self._line(logging.INFO, _FOLD, {**about, "waggle.failed": failed, "waggle.seconds": round(seconds, 6)})

    def settled(self, settled: Sequence[Settled]) -> None:
        if _log.isEnabledFor(logging.DEBUG):
            for each in settled:
                about: JsonObject = {
                    _STRATEGY: each.lookup.strategy,
                    "waggle.source": each.lookup.source,
                    _OUTCOME: _outcome(each),
                    "waggle.held": each.held,
                    "waggle.tokens.saved": each.saved_tokens,
                    "waggle.tokens.spent": each.spent_tokens,
                }
                self._line(logging.DEBUG, _SETTLED, about)

    def _line(self, level: int, event: str, about: JsonObject) -> None:
        write = functools.partial(_log.log, level, "%s %s", event, jsonvalue.dumps(about).decode())
        self._background.submit("a line could not be logged", write)


class _Instruments:
    """The host's current span, and instruments of its meter."""

    def __init__(self) -> None:
        from opentelemetry import metrics, trace  # noqa: PLC0415 - the host has loaded it, and set it up or not

        from waggle import __version__  # noqa: PLC0415 - reads the package's metadata

        meter = metrics.get_meter("waggle", __version__)
        self._current_span = trace.get_current_span
        self._captures = os.environ.get(CAPTURE_VARIABLE, "").strip().lower() in _CAPTURES
        self._folds = meter.create_counter("waggle.folds", "{fold}", "Results that lookups were added to")
        self._lookups = meter.create_counter("waggle.lookups", "{lookup}", "Lookups, by what became of them")
        self._held = meter.create_counter(
            "waggle.lookups.held",
            "{lookup}",
            "Lookups held back, by what would have become of them",
        )
        self._turns = meter.create_counter(
            "waggle.turns.saved", "{turn}", "Turns saved, one a used lookup: an estimate"
        )
        self._added = meter.create_counter("waggle.tokens.added", "{token}", "Added to results, estimated")
        self._saved = meter.create_counter(
            "waggle.tokens.saved", "{token}", "Context that saved turns would have read again, estimated"
        )
        self._spent = meter.create_counter(
            "waggle.tokens.spent", "{token}", "Lookups of no use, read in every turn to come, estimated"
        )
        self._duration = meter.create_histogram("waggle.follow.duration", "s", "How long lookups held up a result")

    def folded(self, made: Sequence[Lookup], fold: Fold | None, seconds: float) -> None:
        self._duration.record(seconds)
        for lookup in made:
            about = {_STRATEGY: lookup.strategy}
            if is_failure(lookup):
                self._lookups.add(1, {**about, _OUTCOME: "failed"})
            elif lookup.result and lookup.result.ok:
                self._added.add(lookup.result.est_tokens, about)
        if fold is None:
            return
        self._folds.add(1)
        span = self._current_span()
        if span.is_recording():
            span.add_event(_FOLD, {**_about(fold), **(_content(fold) if self._captures else {})})

    def settled(self, settled: Sequence[Settled]) -> None:
        for each in settled:
            about = {_STRATEGY: each.lookup.strategy}
            outcome = {**about, _OUTCOME: _outcome(each)}
            if each.held:
                self._held.add(1, outcome)
                continue
            self._lookups.add(1, outcome)
            if each.used:
                self._turns.add(1, about)
            if each.saved_tokens:
                self._saved.add(each.saved_tokens, about)
            if each.spent_tokens:
                self._spent.add(each.spent_tokens, about)


def _outcome(settled: Settled) -> str:
    return "used" if settled.used else "detour"


def _about(fold: Fold) -> dict[str, Any]:
    """What is told of a fold: how much, and by whom; never what was asked or answered."""
    lookups = fold.lookups
    return {
        "waggle.lookups": len(lookups),
        "waggle.bytes": len(fold.text.encode("utf-8", "replace")),
        "waggle.tokens": sum(lookup.result.est_tokens for lookup in lookups if lookup.result),
        "waggle.strategies": list(dict.fromkeys(lookup.strategy for lookup in lookups)),
        "waggle.sources": list(dict.fromkeys(lookup.source for lookup in lookups)),
    }


def _content(fold: Fold) -> dict[str, Any]:
    """What was asked and answered, for a host that captures content; secrets are masked all the same."""
    from waggle.redact import redact_text  # noqa: PLC0415 - its patterns take a while to make ready

    return {
        "waggle.calls": [
            redact_text(f"{lookup.tool} {jsonvalue.dumps(lookup.args).decode()}") for lookup in fold.lookups
        ],
        "waggle.text": redact_text(fold.text),
    }

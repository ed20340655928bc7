"""The executed reference solutions of BFCL, with what depends on what found out by intervening.

What `make_bfcl.py` made; source and licence are in its first line.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.compiler.corpus import Corpus, Intent, kept_whole
from stretto.compiler.model import Call, Effect, Trace, Utterance
from stretto.compiler.schemas import Tools, ToolSchema
from stretto.compiler.settings import CompilerSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.compiler.measure import Dependency

__all__ = ["bfcl", "counts"]

_DATA: Final = Path(__file__).parent / "data" / "bfcl.jsonl.gz"

#: How `make_bfcl.py` calls what is an edge.
_TRUE: Final = ("proven", "only", "read")


def _rows() -> list[dict[str, Any]]:
    with gzip.open(_DATA, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def counts() -> dict[str, int]:
    """How many argument values were judged how; see `make_bfcl.py`."""
    found: dict[str, int] = {}
    for row in _rows()[1:]:
        for each in row["truth"]:
            found[each["how"]] = found.get(each["how"], 0) + 1
    return dict(sorted(found.items()))


def bfcl() -> Corpus:
    """All tasks: each an intent, its traces those of the task's world and of others; the first is scored."""
    head, *tasks = _rows()
    tools = Tools({name: ToolSchema({"properties": arguments}) for name, arguments in head["schemas"].items()})
    changing = {
        (call["app"], call["action"]) for task in tasks for run in task["runs"] for call in run if call["changes"]
    }
    gold: set[Dependency] = set()
    doubtful: set[Dependency] = set()
    reasons: dict[Dependency, str] = {}
    intents, counted = [], set()
    for task in tasks:
        traces = tuple(_traces(task, changing))
        intents.append(Intent(traces, tools))
        first = traces[0]
        counted.add(first.id)
        of_task: dict[Dependency, list[dict[str, Any]]] = {}
        for each in task["truth"]:
            pair = (first.id, first.calls[each["producer"]].index, first.calls[each["consumer"]].index)
            of_task.setdefault(pair, []).append(each)
        for pair, values in of_task.items():
            found = {each["how"] for each in values}
            if found & set(_TRUE):
                gold.add(pair)
                made = [_value(task, each) for each in values if each["how"] in _TRUE]
                reasons[pair] = _hard(task, values[0]["producer"], made)
            elif "open" in found:
                doubtful.add(pair)
            else:
                reasons[pair] = min(found)
    return Corpus("BFCL", tuple(intents), frozenset(gold), frozenset(doubtful), frozenset(counted), reasons)


def _traces(task: dict[str, Any], changing: set[tuple[str, str]]) -> Iterator[Trace]:
    for number, run in enumerate(task["runs"]):
        at, turn, calls, said = 0, 0, [], []
        for made in run:
            while turn < made["turn"]:
                turn += 1
                said.append(Utterance(at, task["texts"][turn]))
                at += 1
            action = (made["app"], made["action"])
            effect = Effect.WRITE if action in changing else Effect.READ
            calls.append(Call(at, at + 1, *action, made["args"], made["output"], ok=made["ok"], effect=effect))
            at += 2
        yield kept_whole(Trace(f"{task['task']}.{number}", task["texts"][0], tuple(calls), utterances=tuple(said)))


def _value(task: dict[str, Any], truth: dict[str, Any]) -> Any:
    value = task["runs"][0][truth["consumer"]]["args"]
    for step in truth["path"][2:].replace("]", "").replace("[", ".").split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def _hard(task: dict[str, Any], producer: int, values: list[Any]) -> str:
    """Why an edge may be missed: whether any of its values stands in the output as it is, and is distinctive."""
    shown = [value for value in values if value in _scalars(task["runs"][0][producer]["output"])]
    if not shown:
        return "inside a text, or put together"
    return "distinctive" if any(map(CompilerSettings().is_distinctive, shown)) else "short"


def _scalars(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        return [each for item in (value.values() if isinstance(value, dict) else value) for each in _scalars(item)]
    return [value]

"""Results of τ-bench and τ²-bench as episodes, and which of their tasks are for training.

Two forms of results are read: τ²-bench's (an object with ``info``, ``tasks`` and ``simulations``) and the older
τ-bench's historical trajectories (a list of runs with ``traj``, messages in OpenAI's form). Not responsible for the
kinds of their tools (`stretto.sessions.tau_tools`), nor for the benchmarks' databases and policies.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.errors import SessionLogError
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, Usage, User
from stretto.sessions.importing import (
    CallIds,
    Misfit,
    complaining,
    list_at,
    object_at,
    read_import,
    text_at,
    value_of,
)
from stretto.sessions.tau_tools import kind_by_name, named_manifest, tau_manifest
from waggle import jsonvalue

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from stretto.sessions.episode import Event
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Split", "kind_by_name", "named_manifest", "read_split", "read_tau", "tau_manifest"]

#: How τ-bench begins a result that is an error; τ²-bench marks it besides.
_ERROR: Final = "Error:"


def read_tau(path: str | os.PathLike[str], *, domain: str | None = None) -> Iterator[Episode]:
    """Read a results file of either form, gzipped or not.

    The scripted greeting (an assistant's first message without calls and cost) is no turn and left out. So are calls
    that the simulated customer made on a phone of its own, with their results; in solo runs, where no customer speaks
    and the agent has those tools, they are the agent's, and the calls that never returned are left out. Ids that
    several calls share are told apart.

    Args:
        path: the file.
        domain: the field of work, where the file does not say: the older form never does.

    Yields:
        Simulations, in the file's order.

    Raises:
        SessionLogError: the file cannot be read or is not such a file; the text has the JSON path of the fault.
    """
    data = read_import(path)
    try:
        value = jsonvalue.loads(data)
    except ValueError as error:
        raise SessionLogError(str(path), None, f"expected results of τ-bench in JSON: {error}") from error
    del data
    with complaining(path):
        if isinstance(value, list):
            yield from _trajectories(value, _stem(path), domain or "mcp")
        else:
            yield from _simulations(object_at(value, "$"), domain)


def _stem(path: str | os.PathLike[str]) -> str:
    name = Path(path).name
    return name.removesuffix(".gz").removesuffix(".json")


# --- the two forms -----------------------------------------------------------------------------------------


def _simulations(results: JsonObject, domain: str | None) -> Iterator[Episode]:
    info = results.get("info") or {}
    agent = _inside(info, "agent_info", "llm")
    solo = "solo" in str(_inside(info, "agent_info", "implementation") or "")
    named = domain or _inside(info, "environment_info", "domain_name")
    for number, run in enumerate(list_at(results.get("simulations"), "$.simulations")):
        at = f"$.simulations[{number}]"
        fields = object_at(run, at)
        task, trial = _task(fields, at), _trial(fields, at)
        name = fields.get("id")
        yield Episode(
            id=name if isinstance(name, str) and name else f"{task}-{trial}",
            events=_Conversation(solo=solo).events(fields.get("messages"), f"{at}.messages"),
            task_id=task,
            trial=trial,
            domain=named if isinstance(named, str) else "mcp",
            agent_model=agent if isinstance(agent, str) else "unknown",
            reward=_number(_inside(fields, "reward_info", "reward"), f"{at}.reward_info.reward"),
            started_ms=_epoch_ms(fields.get("start_time")),
        )


def _trajectories(runs: list[JsonValue], stem: str, domain: str) -> Iterator[Episode]:
    for number, run in enumerate(runs):
        at = f"$[{number}]"
        fields = object_at(run, at)
        task, trial = _task(fields, at), _trial(fields, at)
        yield Episode(
            id=f"{stem}-{task}-{trial}",
            events=_Conversation(solo=False).events(fields.get("traj"), f"{at}.traj"),
            task_id=task,
            trial=trial,
            domain=domain,
            agent_model=stem,  # the file's name is all that says who it was
            reward=_number(fields.get("reward"), f"{at}.reward"),
        )


def _inside(value: JsonValue, *keys: str) -> JsonValue:
    """What stands under these keys, one inside the other; None where one is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _task(fields: JsonObject, at: str) -> str:
    value = fields.get("task_id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_at(value, f"{at}.task_id")


def _trial(fields: JsonObject, at: str) -> int:
    value = fields.get("trial")
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise Misfit(f"{at}.trial", "a whole number", value)


def _number(value: JsonValue, at: str) -> float:
    if value is None:
        return 0.0
    number = _float(value)
    if number is None:
        raise Misfit(at, "a number", value)
    return number


def _float(value: JsonValue) -> float | None:
    try:
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    except OverflowError:  # an integer of more than 308 digits
        return None


def _epoch_ms(value: JsonValue) -> int:
    """A moment in ISO form as ms since the epoch, taken for UTC where it has no zone; 0 for anything else."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is None:
            return 0
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


# --- the messages ------------------------------------------------------------------------------------------


class _Conversation:
    """The messages of one run, in either form, on their way to events.

    Args:
        solo: the agent has the customer's tools as well.
    """

    def __init__(self, *, solo: bool) -> None:
        self._solo = solo
        self._events: list[Event] = []
        self._ids = CallIds()
        self._waiting: dict[str, deque[ToolCall]] = {}  # the recording's id -> calls without a result, oldest first

    def events(self, messages: JsonValue, at: str) -> tuple[Event, ...]:
        """Take all messages in; see `read_tau` for what is left out."""
        for number, message in enumerate(list_at([] if messages is None else messages, at)):
            place = f"{at}[{number}]"
            fields = object_at(message, place)
            match fields.get("role"):
                case "user":
                    text = _text(fields.get("content"), f"{place}.content")
                    if text:
                        self._events.append(User(text))
                case "assistant":
                    self._assistant(fields, place, greets=number == 0)
                case "tool":
                    self._results(fields, place)
                case _:
                    pass  # the system's, and what a newer benchmark may add
        return tuple(self._returned() if self._solo else self._events)

    def _assistant(self, fields: JsonObject, at: str, *, greets: bool) -> None:
        calls = list(self._calls(fields.get("tool_calls"), f"{at}.tool_calls"))
        text = _text(fields.get("content"), f"{at}.content")
        cost = fields.get("cost")
        if greets and not fields.get("tool_calls") and not cost:
            return
        kept = tuple(call for call, ours in calls if ours)
        if calls and not kept and not text:
            return
        self._events.append(Assistant(text or None, kept, _usage(fields.get("usage"), cost)))

    def _calls(self, calls: JsonValue, at: str) -> Iterator[tuple[ToolCall, bool]]:
        fresh: set[str] = set()
        for number, call in enumerate(list_at([] if calls is None else calls, at)):
            fields = object_at(call, f"{at}[{number}]")
            function = fields.get("function")  # OpenAI's form has name and arguments inside of it
            inner = fields if function is None else object_at(function, f"{at}[{number}].function")
            raw = text_at(fields.get("id") or "", f"{at}[{number}].id")
            name = text_at(inner.get("name"), f"{at}[{number}].name")
            ours = self._solo or fields.get("requestor", "assistant") == "assistant"
            made = ToolCall(self._ids.new(raw), name, _arguments(inner.get("arguments")))
            if raw not in fresh:
                fresh.add(raw)
                self._waiting[raw] = deque()  # an older call of this id was never answered: this result is not its own
            if ours:
                self._waiting[raw].append(made)
            yield made, ours

    def _results(self, fields: JsonObject, at: str) -> None:
        several = fields.get("tool_messages")
        if several is None:
            self._result(fields, at)
            return
        for number, one in enumerate(list_at(several, f"{at}.tool_messages")):
            place = f"{at}.tool_messages[{number}]"
            self._result(object_at(one, place), place)

    def _result(self, fields: JsonObject, at: str) -> None:
        content = _text(fields.get("content"), f"{at}.content") or ""
        raw = text_at(fields.get("tool_call_id") or fields.get("id") or "", f"{at}.id")
        if not self._solo and fields.get("requestor", "assistant") != "assistant":
            return
        waiting = self._waiting.get(raw)
        if waiting:
            call = waiting.popleft()
            marked = fields.get("error")
            error = marked if isinstance(marked, bool) else content.startswith(_ERROR)
            self._events.append(ToolResult(call.id, call.name, error, content))

    def _returned(self) -> Iterator[Event]:
        """The events without the calls that have no result, as solo runs end: with a call that ends the run."""
        returned = {event.call_id for event in self._events if isinstance(event, ToolResult)}
        for event in self._events:
            if isinstance(event, Assistant) and event.calls:
                kept = tuple(call for call in event.calls if call.id in returned)
                if kept or event.text:
                    yield event if kept == event.calls else replace(event, calls=kept)
            else:
                yield event


def _text(content: JsonValue, at: str) -> str | None:
    """A message's text; of a list of parts, the texts among them, a line apart."""
    if content is None or isinstance(content, str):
        return content
    parts = [part.get("text") for part in list_at(content, at) if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


def _arguments(value: JsonValue) -> JsonValue:
    """Arguments as JSON, whether they were written as JSON or as text that holds it; none at all are empty ones."""
    if value is None or value == "":
        return {}
    return value_of(value) if isinstance(value, str) else value


def _usage(value: JsonValue, cost: JsonValue) -> Usage | None:
    prompt, completion = _inside(value, "prompt_tokens"), _inside(value, "completion_tokens")
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    return Usage(prompt, completion, _float(cost) or 0.0)


# --- splits ------------------------------------------------------------------------------------------------


class Split(NamedTuple):
    """Ids of the tasks to learn from, and of those to measure on."""

    train: frozenset[str]
    test: frozenset[str]


def read_split(path: str | os.PathLike[str]) -> Split:
    """Read a ``split_tasks.json``: lists of task ids under ``train`` and ``test``; others in it are passed over.

    Raises:
        SessionLogError: it cannot be read, is not such a file, or has a task in both lists.
    """
    try:
        value = jsonvalue.loads(read_import(path))
    except ValueError as error:
        if isinstance(error, SessionLogError):
            raise
        raise SessionLogError(str(path), None, f"expected a split of tasks in JSON: {error}") from error
    with complaining(path):
        fields = object_at(value, "$")
        split = Split(*(_ids(fields.get(name), f"$.{name}") for name in Split._fields))
    both = sorted(split.train & split.test)
    if both:
        raise SessionLogError(str(path), None, f"task {both[0]!r} is in both lists; measure on tasks not learned from")
    return split


def _ids(value: JsonValue, at: str) -> frozenset[str]:
    return frozenset(
        str(item) if isinstance(item, int) and not isinstance(item, bool) else text_at(item, f"{at}[{number}]")
        for number, item in enumerate(list_at(value, at))
    )

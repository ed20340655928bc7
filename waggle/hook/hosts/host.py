"""What a host is to the hook: how its events are read and answered, its file tools, and its settings. Pure.

Not responsible for what is done about an event (`waggle.hook.desk`), nor for reading files (`waggle.hook.reads`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle import jsonvalue
from waggle.calls import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from waggle.calls import Call
    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.tools import ToolSpec

__all__ = [
    "ADDED_CHARS",
    "Entry",
    "Event",
    "Form",
    "Host",
    "Lookup",
    "Settings",
    "answer",
    "call_of",
    "conversation_of",
    "hook_output",
    "read_event",
    "shown",
    "text_at",
]

#: Longest addition, characters. Claude Code puts one of more than 10,000 into a file and shows its beginning; so does
#: Codex with one of more than 2,500 tokens, by which it means 10,000 bytes.
ADDED_CHARS: Final = 9000


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a host.

    Attributes:
        name: the host's name of it.
        conversation: which one: the session's id and, in a sub-agent, the agent's.
        root: a directory of the project it belongs to.
        cwd: the directory that the call's relative paths count from.
        call: the call that has ended; None at the end of a session.
        result: what came of it.
    """

    name: str
    conversation: str
    root: str
    cwd: str
    call: Call | None = None
    result: Result = Result()  # noqa: RUF009 - a value, and frozen

    @property
    def follows(self) -> bool:
        """Whether anything may be added: a failed call ends a habit, and so does the end of a session."""
        return self.call is not None and self.result.ok


class Entry(NamedTuple):
    """One entry of a listing.

    Attributes:
        name: without the directory.
        size: of a file, bytes; None for a directory.
    """

    name: str
    size: int | None


class Form(NamedTuple):
    """How a host's file tools show what they have read, to its model.

    Attributes:
        lines: lines of a file, from the number of the first one, of so many that it has.
        files: the files that a pattern names, oldest first, for an agent in this directory.
        entries: what is in a directory, by name.
    """

    lines: Callable[[list[str], int, int], str]
    files: Callable[[list[Path], str], str]
    entries: Callable[[list[Entry], str], str]


class Lookup(NamedTuple):
    """One of a host's tools that the hook can make itself.

    Attributes:
        tool: what it is to `waggle.hook.reads.Reads`.
        args: its arguments as that takes them; None for a call that cannot be made.
    """

    tool: str
    args: Callable[[Mapping[str, JsonValue]], JsonObject | None] = dict


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the hook stands in a host's settings, and what.

    Attributes:
        folder: of the host, in a project.
        home: the same for the user.
        files: in a project's, the one that is written first; that one is in the user's, too.
        events: after which the hook is run.
        entry: what stands at an event.
        always: members that the file must have beside the hooks.
        after: what the user must do before the host runs the hook; empty for nothing.
        trusted: whether the host would run it, as far as its files tell, by the settings' path and text.
    """

    folder: str
    home: Callable[[], Path]
    files: tuple[str, ...]
    events: tuple[str, ...]
    entry: Callable[[str], JsonObject]
    always: JsonObject = field(default_factory=dict)
    after: str = ""
    trusted: Callable[[Path, str], bool] = lambda _path, _text: True

    def paths(self, root: Path) -> tuple[Path, ...]:
        """Where the settings are, the project's first, the user's last."""
        return (*(root / self.folder / name for name in self.files), self.home() / self.files[0])


@dataclass(frozen=True, slots=True)
class Host:
    """A host.

    Attributes:
        name: as `waggle-hook` is given it.
        title: as people call it.
        read: an event as the host wrote it, with the directory that its hook was started for, as waggle takes it; None
            for one that says nothing to waggle. Raises `ValueError` for one that is not formed as the host's are.
        output: what tells the host to add a text; only keys that it knows.
        lookups: its tools that the hook can make itself, by name.
        form: how these show what they read.
        settings: where the hook stands.
        denied: what its settings deny to the agent in a project, as rules of `waggle.hook.reads.Reads`.
        watched: the files that this depends on.
        tools: what is known of tools that mean something else elsewhere.
        posts: whether the host can post its events to a URL, too.
    """

    name: str
    title: str
    read: Callable[[JsonObject, str], Event | None]
    output: Callable[[Event, str], JsonObject]
    lookups: Mapping[str, Lookup]
    form: Form
    settings: Settings
    denied: Callable[[Path], tuple[str, ...]]
    watched: Callable[[Path], tuple[Path, ...]]
    tools: tuple[ToolSpec, ...] = ()
    posts: bool = False

    @property
    def command(self) -> str:
        """What the host runs."""
        return f"waggle-hook {self.name}"


def read_event(host: Host, data: bytes, project: str) -> Event | None:
    """Read an event; None for one that says nothing to waggle.

    Args:
        host: who wrote it.
        data: as it was written.
        project: the directory that the hook was started for; empty when that is not known.

    Raises:
        ValueError: it is not formed as the host's events are; the error says where.
    """
    event = jsonvalue.loads(data)
    if not isinstance(event, dict):
        raise ValueError("expected an object @ $")  # noqa: TRY004 - a fault of the data
    return host.read(event, project)


def answer(host: Host, event: Event, added: str) -> bytes:
    """What the host is told: the text to add to the result. Nothing at all when there is none.

    Raises:
        ValueError: the text is longer than a host shows.
    """
    if not added:
        return b""
    output = host.output(event, added)
    if len(added) > ADDED_CHARS:
        raise ValueError(f"{len(added):,} characters are more than the {ADDED_CHARS:,} that a host shows")
    return jsonvalue.dumps(output)


def hook_output(event: Event, added: str) -> JsonObject:
    """The output that Claude Code has introduced and others have taken over."""
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": added}}


def text_at(event: JsonObject, key: str) -> str:
    """A member that is a text; empty for one that is missing or is something else."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def conversation_of(event: JsonObject, key: str) -> str:
    """The conversation that an event names, and in it the sub-agent.

    Raises:
        ValueError: it names none.
    """
    name, agent = text_at(event, key), text_at(event, "agent_id")
    if not name:
        raise ValueError(f"expected a text @ $.{key}")
    return f"{name}/{agent}" if agent else name


def call_of(event: JsonObject) -> tuple[str, JsonObject]:
    """The tool and the arguments of an event.

    Raises:
        ValueError: there are none.
    """
    tool, args = event.get("tool_name"), event.get("tool_input")
    if not isinstance(tool, str) or not tool or not isinstance(args, dict):
        raise ValueError("expected a text @ $.tool_name and an object @ $.tool_input")
    return tool, args


def shown(response: JsonValue) -> Result:
    """A tool's answer as the model sees it: texts and blocks as their text, all else as JSON."""
    if isinstance(response, str):
        return Result(response, value=_structured(response))
    if isinstance(response, dict) and isinstance(blocks := response.get("content"), list):  # of a server
        found, failed = shown(blocks), response.get("isError") is True
        return Result(found.text, ok=not failed, value=response.get("structuredContent"))
    blocks = response if isinstance(response, list) else [response]
    texts = [each if isinstance(each, str) else _block_text(each) for each in blocks]
    if any(texts):
        return Result("\n".join(text for text in texts if text))
    return Result(jsonvalue.dumps(response).decode(), value=response)


def _block_text(block: JsonValue) -> str:
    return text_at(block, "text") if isinstance(block, dict) else ""


def _structured(text: str) -> JsonValue:
    """The value of a server's structured answer that is handed on as its JSON text; None for a plain text."""
    if not jsonvalue.may_be_json(text):
        return None
    try:
        return jsonvalue.loads(text)
    except ValueError:
        return None

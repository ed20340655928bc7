"""Trajectories of SWE-agent and mini-SWE-agent: one JSON document a session, ``*.traj`` and ``*.traj.json``.

mini-SWE-agent keeps the messages it exchanged with its model. Newer versions put the commands of an answer and the exit
code of an observation beside them (``extra``, ``tool_calls``); older ones leave the command in the answer's text, in a
fenced block, and the exit code in the observation's, as ``<returncode>0</returncode>``. Every command is a call
``bash {"command": …}``, and the observation is the result as the agent saw it.

SWE-agent keeps a list of steps with ``action``, ``observation`` and ``thought``. The commands of its own interface are
split into named arguments, everything else is ``bash {"command": …}``. It records no exit codes.

Neither names the session when no task is named in the document: then the file's name does.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from waggle.calls import Call, Result
from waggle.traces.model import TraceBuilder
from waggle.traces.shapes import Misfit, list_at, object_at, text_at, text_of_blocks, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.traces.lines import Problems
    from waggle.traces.model import Trace

__all__ = ["is_mini_swe_agent", "is_swe_agent", "read_mini_swe_agent", "read_swe_agent"]

_FENCED: Final = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURNED: Final = re.compile(r"<returncode>\s*(-?\d{1,9})\s*</returncode>")

#: How an observation says that its output was left out in the middle.
_ELIDED: Final = ("<output_head>", "<elided_chars>", "<warning>\nThe output of your last command was too long")

#: What SWE-agent answers in place of a result when an edit was refused, and when an output was too long.
_REFUSED: Final = ("Your proposed edit has introduced", "Your edit was not applied", "ERROR:")
_SHORTENED: Final = re.compile(r"<response clipped>|Observation: .{0,200}characters were elided", re.DOTALL)

#: Commands of SWE-agent's interface and the names of their arguments; the last one takes the rest of the line.
_INTERFACE: Final[dict[str, tuple[str, ...]]] = {
    "open": ("path", "line_number"),
    "goto": ("line_number",),
    "scroll_down": (),
    "scroll_up": (),
    "create": ("filename",),
    "find_file": ("file_name", "dir"),
    "search_dir": ("search_term", "dir"),
    "search_file": ("search_term", "file"),
    "submit": (),
}
_NUMBERS: Final = frozenset({"line_number"})


# --- mini-SWE-agent -------------------------------------------------------------------------------------------


def is_mini_swe_agent(record: JsonObject) -> bool:
    """Whether this document looks like a trajectory of mini-SWE-agent."""
    named = str(record.get("trajectory_format") or "").startswith("mini-swe-agent")
    return isinstance(record.get("messages"), list) and (named or isinstance(record.get("info"), dict))


def read_mini_swe_agent(records: Iterable[tuple[int, JsonObject]], problems: Problems) -> Iterator[Trace]:
    """Read trajectories of mini-SWE-agent, each from one document; a message that is damaged is passed over."""
    for number, record in records:
        yield from _one(number, record, problems, _mini)


def _mini(number: int, record: JsonObject, problems: Problems) -> Trace:
    builder = TraceBuilder()
    waiting: list[str] = []  # calls of the last answer that have no observation yet
    turn = 0
    for place, message in enumerate(list_at(record.get("messages"), "$.messages")):
        at = f"$.messages[{place}]"
        try:
            fields = object_at(message, at)
            text = text_of_blocks(fields.get("content"), f"{at}.content")
            commands = _commands(fields, text, at) if fields.get("role") == "assistant" else []
        except Misfit as error:
            problems.damage(number, f"{error}; it was passed over")
            continue
        role = fields.get("role")
        if role == "assistant":
            _say(builder, _FENCED.sub("", text).strip() if commands else text)
            waiting = [
                name for name, command in commands if builder.call(Call("bash", {"command": command}, name), turn)
            ]
            turn += bool(waiting)
        elif role in ("user", "tool") and waiting:
            name = fields.get("tool_call_id")
            name = name if isinstance(name, str) and name in waiting else waiting[0]
            waiting.remove(name)
            builder.result(name, _observed(text, fields))
        elif role == "user" and text:
            builder.message("user", text)
    info = record.get("info")
    config = info.get("config") if isinstance(info, dict) else None
    model = config.get("model") if isinstance(config, dict) else None
    named = model.get("model_name") if isinstance(model, dict) else None
    task = record.get("instance_id")
    return _built(builder, problems, "mini-swe-agent", named, task)


def _commands(fields: JsonObject, text: str, at: str) -> list[tuple[str, str]]:
    """Ids and commands of an answer; none when it is not one command in a fence, which the agent would have refused."""
    extra = fields.get("extra")
    actions = extra.get("actions") if isinstance(extra, dict) else None
    found: list[tuple[str, str]] = []
    if isinstance(actions, list):
        for place, action in enumerate(actions):
            where = f"{at}.extra.actions[{place}]"
            one = object_at(action, where)
            name = one.get("tool_call_id")
            command = text_at(one.get("command"), f"{where}.command")
            found.append((name if isinstance(name, str) else f"{at}[{place}]", command))
        return found
    fenced = _FENCED.findall(text)
    return [(at, fenced[0].strip())] if len(fenced) == 1 else []


def _observed(text: str, fields: JsonObject) -> Result:
    extra = fields.get("extra")
    code = extra.get("returncode") if isinstance(extra, dict) else None
    if not isinstance(code, int):
        found = _RETURNED.search(text)
        code = int(found[1]) if found else None
    failed = code != 0 if code is not None else text.startswith(("<exception>", "EXECUTION ERROR"))
    return Result(text, not failed, cut=any(mark in text for mark in _ELIDED))


# --- SWE-agent ------------------------------------------------------------------------------------------------


def is_swe_agent(record: JsonObject) -> bool:
    """Whether this document looks like a trajectory of SWE-agent."""
    named = {"history", "environment", "info", "replay_config"} & record.keys()
    return isinstance(record.get("trajectory"), list) and bool(named)


def read_swe_agent(records: Iterable[tuple[int, JsonObject]], problems: Problems) -> Iterator[Trace]:
    """Read trajectories of SWE-agent, each from one document; a step that is damaged is passed over."""
    for number, record in records:
        yield from _one(number, record, problems, _swe)


def _swe(number: int, record: JsonObject, problems: Problems) -> Trace:
    builder = TraceBuilder()
    history = record.get("history")
    for message in history if isinstance(history, list) else ():
        if isinstance(message, dict) and message.get("role") == "user" and not message.get("is_demo"):
            _say_user(builder, message.get("content"))
            break  # what follows are the observations, which the steps have
    for place, step in enumerate(list_at(record.get("trajectory"), "$.trajectory")):
        at = f"$.trajectory[{place}]"
        try:
            fields = object_at(step, at)
            action = text_at(fields.get("action"), f"{at}.action").strip()
            observation = fields.get("observation")
            text = None if observation is None else text_of_blocks(observation, f"{at}.observation")
            thought = text_of_blocks(fields.get("thought"), f"{at}.thought").strip()
        except Misfit as error:
            problems.damage(number, f"{error}; the step was passed over")
            continue
        _say(builder, thought)
        if action:
            builder.call(Call(*_spoken(action), at), place)
            if text is not None:
                builder.result(at, Result(text, not text.startswith(_REFUSED), cut=bool(_SHORTENED.search(text))))
    return _built(builder, problems, "swe-agent", _swe_model(record), record.get("instance_id"))


def _say_user(builder: TraceBuilder, content: JsonValue) -> None:
    try:
        text = text_of_blocks(content, "$.history[].content")
    except Misfit:
        return
    if text:
        builder.message("user", text)


def _swe_model(record: JsonObject) -> str | None:
    config = record.get("replay_config")
    config = value_of(config) if isinstance(config, str) else config
    agent = config.get("agent") if isinstance(config, dict) else None
    model = agent.get("model") if isinstance(agent, dict) else None
    name = model.get("name") if isinstance(model, dict) else None
    return name if isinstance(name, str) else None


def _spoken(action: str) -> tuple[str, JsonObject]:
    """Tool and arguments of an action: a command of the interface with its arguments by name, else one of the shell."""
    word, _, rest = action.partition(" ")
    if word.partition("\n")[0] == "edit" or word == "str_replace_editor":
        tool = "edit" if word != "str_replace_editor" else word
        if tool == "edit":
            return tool, {"input": action[len(tool) :].strip()}
        command, _, more = rest.partition(" ")
        path, _, text = more.partition(" ")
        return tool, {"command": command, "path": path, **({"input": text} if text else {})}
    names = _INTERFACE.get(word)
    if names is None or "\n" in action:
        return "bash", {"command": action}
    try:
        given = shlex.split(rest)
    except ValueError:  # a quote that is not closed: the shell's to complain about
        return "bash", {"command": action}
    if len(given) > len(names):
        return "bash", {"command": action}
    pairs = zip(names, given, strict=False)
    return word, {name: int(one) if name in _NUMBERS and one.isdecimal() else one for name, one in pairs}


# --- both -----------------------------------------------------------------------------------------------------


def _one(
    number: int, record: JsonObject, problems: Problems, read: Callable[[int, JsonObject, Problems], Trace]
) -> Iterator[Trace]:
    try:
        trace = read(number, record, problems)
    except Misfit as error:
        problems.damage(number, str(error))
        return
    yield trace


def _say(builder: TraceBuilder, text: str) -> None:
    if text:
        builder.message("assistant", text)


def _built(builder: TraceBuilder, problems: Problems, host: str, model: JsonValue, task: JsonValue) -> Trace:
    name = task if isinstance(task, str) else None
    agent = f"{host}/{model.rpartition('/')[2]}" if isinstance(model, str) and model else host
    session = name or problems.stem
    return builder.build(session, agent, problems.path, task=name, domain="coding")

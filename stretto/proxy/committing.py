"""``--commit``: a tool that runs several calls in order, each checked, and stops at the first that does not succeed.

The tool is added to the last page of what the server lists. Its calls are made as requests of the proxy's own, one
after the other, on a thread for each commit: no message waits for them. They are the agent's calls: guards check them
as they check the host's, what the server asks during one of them is the host's to answer, and their results have been
seen by the calls that follow. Progress is not asked for. A commit is no transaction: what was done stays done.

Stands behind all other taps, so that they have seen the answers that are kept here. Not responsible for checks
(`stretto.proxy.guarding`).
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol

from stretto._defaults import COMMIT_CALLS
from stretto.proxy.answers import INVALID_REQUEST, answers_to, request_line, result_to
from stretto.proxy.carrier import is_final
from stretto.proxy.inplace import UNREADABLE, appended, edited, member, members
from stretto.proxy.serving.pending import HostCall, Listing, Requests
from stretto.proxy.streams import Line
from stretto.sessions.wire import (
    COMMIT_ID,
    COMMIT_TOOL,
    content_of,
    error_to,
    id_key,
    is_request,
    is_response,
    json_text,
    messages_of,
)
from waggle import jsonvalue
from waggle.background import Faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.proxy.relay import Side
    from stretto.sessions.wire import IdKey
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Commit"]

_STOP_SECONDS: Final = 1.0  #: for commits to answer when the session is over

#: How each call begins in the answer. In a tool's text it gets a backslash in front, so that no text is another call.
_CALL: Final = "--- call "

_TOOL: Final[JsonObject] = {
    "name": COMMIT_TOOL,
    "title": "Several calls in order",
    "description": "Runs calls of the other tools here in order, exactly as if each were made by itself, and stops at "
    "the first that is refused or fails. Use it when all calls and their arguments are settled, above all for changes "
    "that belong together. Make calls by themselves when the arguments of one depend on the result of another. It is "
    "no transaction: what was done before it stopped stays done. The result lists what came of each call.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "calls": {
                "type": "array",
                "minItems": 1,
                "maxItems": COMMIT_CALLS,
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": "Name of a tool"},
                        "arguments": {"type": "object", "description": "What the tool is given"},
                    },
                    "required": ["name"],
                },
            }
        },
        "required": ["calls"],
    },
    "annotations": {"readOnlyHint": False},
}


class CommitWire(Protocol):
    """Both sides; `stretto.proxy.relay.Relay` is one."""

    def to_host(self, raw: bytes) -> bool:
        """Send a whole line to the host."""

    def to_server(self, raw: bytes) -> bool:
        """Send a whole line to the server; False when it is gone."""


@dataclass(eq=False, slots=True)
class _Running:
    """A commit that is under way.

    Attributes:
        request: the host's.
        call: the same, as a call.
        made: ids of the calls that were made.
        inbox: answers to its calls; None to look at `cancelled` and whether the session is over.
    """

    request: JsonObject
    call: HostCall
    made: list[str] = field(default_factory=list)
    inbox: SimpleQueue[JsonObject | None] = field(default_factory=SimpleQueue)
    cancelled: bool = False
    thread: threading.Thread | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of one call: ``done``, ``refused``, ``failed`` or ``not run``, and the text that says more."""

    what: str
    text: str = ""


class _CancelledError(Exception):
    """The host no longer waits for the commit."""


class Commit:
    """A tap that runs commits; see `stretto.proxy.relay.Tap`.

    Args:
        wire: between the host and the server.
        refusal: why a ``tools/call`` is not sent, for the agent; empty when it is.
        faults: where what goes wrong is counted.
    """

    def __init__(
        self, wire: CommitWire, refusal: Callable[[JsonObject], str] = lambda _: "", faults: Faults | None = None
    ) -> None:
        self._wire = wire
        self._refusal = refusal
        self._faults = faults or Faults()
        self._requests = Requests()
        self._running: dict[IdKey, _Running] = {}
        # By the ids of the calls; None for those of a commit that is over: late answers are not the host's either.
        self._made: dict[str, _Running | None] = {}
        self._off = False
        self._gone = ""  # why nothing more is run
        self._lock = threading.Lock()

    # --- the tap --------------------------------------------------------------------------------------------------

    def from_host(self, line: Line) -> bool:
        """Take commits, and what cancels one; everything else passes."""
        message = line.message
        alone = isinstance(message, dict)
        for each in messages_of(message):
            if self._cancels(each) and alone:
                return True
            key = id_key(each.get("id")) if is_request(each) else None
            asked, _ = self._requests.add(key, each, alone=alone) if key is not None else (None, None)
            if not isinstance(asked, HostCall) or asked.name != COMMIT_TOOL or self._off:
                continue
            self._requests.take(asked.key)
            if not alone:
                answers = answers_to(message, _no_batch)
                if answers:
                    self._wire.to_host(answers)
            else:
                self._start(each, asked)
            return True
        return False

    def from_server(self, line: Line) -> bool | Line:
        """Keep the answers to the calls of commits, and add the tool to the last page of a list."""
        message = line.message
        if isinstance(message, list):
            rest = [each for each in message if not (isinstance(each, dict) and self._is_ours(each))]
            if len(rest) == len(message):
                return False
            return Line(jsonvalue.dumps(rest) + b"\n", own=True) if rest else True
        if not isinstance(message, dict):
            return False
        if self._is_ours(message):
            return True
        key = id_key(message.get("id"))
        asked = self._requests.take(key) if key is not None and is_response(message) else None
        result = message.get("result")
        if not isinstance(asked, Listing) or not isinstance(result, dict):
            return False
        return self._listed(line.raw, result) or False

    def sent(self, raw: bytes, to: Side) -> None:
        """See `stretto.proxy.relay.Tap`; what others send is nobody's commit."""

    def ended(self, reason: str) -> bool:
        """Let every commit answer with what it has done."""
        with self._lock:
            self._gone = self._gone or reason
            running = list(self._running.values())
        for commit in running:
            commit.inbox.put(None)
        until = time.monotonic() + _STOP_SECONDS
        for commit in running:
            if commit.thread:
                commit.thread.join(max(0.0, until - time.monotonic()))
        return False

    def close(self) -> None:
        """Run nothing any more."""
        self.ended("the session is over")

    # --- inside ---------------------------------------------------------------------------------------------------

    def _listed(self, raw: bytes, result: JsonObject) -> Line | None:
        """The line with the tool on it, where that belongs."""
        tools = result.get("tools")
        if not isinstance(tools, list) or self._off:
            return None
        if any(isinstance(tool, dict) and tool.get("name") == COMMIT_TOOL for tool in tools):
            self._off = True
            self._faults.note(f"--commit does nothing: the server has a tool {COMMIT_TOOL} of its own")
            return None
        if result.get("nextCursor") is not None:
            return None
        try:
            document = raw.decode("utf-8")
            response = member(members(document), "result")
            listed = member(members(document, response.start), "tools") if response else None
        except UNREADABLE:
            return None
        if listed is None:
            return None
        return Line(edited(document, [appended(document, listed, jsonvalue.dumps(_TOOL).decode())]).encode(), own=True)

    def _cancels(self, message: JsonObject) -> bool:
        """Whether a message cancels a commit, which is not the server's to know."""
        params = message.get("params")
        if message.get("method") != "notifications/cancelled" or not isinstance(params, dict):
            return False
        key = id_key(params.get("requestId"))
        commit = self._running.get(key) if key is not None else None
        if commit is None:
            return False
        commit.cancelled = True
        commit.inbox.put(None)
        return True

    def _is_ours(self, message: JsonObject) -> bool:
        number = message.get("id")
        if not isinstance(number, str) or number not in self._made or not is_response(message):
            return False
        if commit := self._made[number]:
            commit.inbox.put(message)
        return True

    def _start(self, request: JsonObject, call: HostCall) -> None:
        commit = _Running(request, call)
        commit.thread = threading.Thread(target=self._work, args=(commit,), name="stretto-commit", daemon=True)
        with self._lock:
            self._running[call.key] = commit
        commit.thread.start()

    def _work(self, commit: _Running) -> None:
        try:
            text, failed = self._run(commit)
        except _CancelledError:
            text, failed = "", False
        except Exception as error:  # noqa: BLE001 - the agent must not wait for ever
            self._faults.note("a commit failed", error)
            text, failed = f"Not known how far this went: {COMMIT_TOOL} failed.", True
        with self._lock:
            self._made.update(dict.fromkeys(commit.made))
            if self._running.get(commit.call.key) is commit:
                del self._running[commit.call.key]
        if not commit.cancelled:
            self._wire.to_host(jsonvalue.dumps(result_to(commit.request, text, failed=failed)) + b"\n")

    def _run(self, commit: _Running) -> tuple[str, bool]:
        """Run a commit; its text, and whether it stopped."""
        calls = _calls(commit.call.arguments)
        if isinstance(calls, str):
            return f"Not done, and nothing was changed: {calls}", True
        outcomes: list[_Outcome] = []
        for name, arguments in calls:
            outcomes.append(self._call(commit, name, arguments))
            if outcomes[-1].what != "done":
                break
        return _told(calls, outcomes), outcomes[-1].what != "done"

    def _call(self, commit: _Running, name: str, arguments: JsonObject) -> _Outcome:
        if commit.cancelled:
            raise _CancelledError
        params: JsonObject = {"name": name, "arguments": arguments}
        nested = f"{COMMIT_TOOL} cannot be one of its own calls." if name == COMMIT_TOOL else ""
        if refusal := nested or self._refusal({"method": "tools/call", "params": params}):
            return _Outcome("refused", refusal)
        if commit.call.meta:
            params["_meta"] = commit.call.meta
        with self._lock:
            number = f"{COMMIT_ID}{len(self._made)}"
            self._made[number] = commit
        commit.made.append(number)
        if not self._wire.to_server(request_line("tools/call", params, number)):
            return _Outcome("failed", "It was not sent: the server is gone.")
        answer = self._answer(commit, number)
        if answer is None:
            return _Outcome("failed", f"It is not known what came of it: {self._gone}.")
        if not is_final(answer):
            return _Outcome("failed", "The server asks something before it answers: make this call by itself.")
        failed, text = content_of(answer)
        return _Outcome("failed" if failed else "done", text)

    def _answer(self, commit: _Running, number: str) -> JsonObject | None:
        """Wait for an answer; None when none comes any more."""
        while True:
            answer = commit.inbox.get()
            if answer is not None and answer.get("id") == number:
                return answer
            if commit.cancelled:
                reason: JsonObject = {"requestId": number, "reason": f"{COMMIT_TOOL} was cancelled"}
                self._wire.to_server(request_line("notifications/cancelled", reason))
                raise _CancelledError
            if self._gone:
                return None


def _no_batch(request: JsonObject) -> JsonObject:
    return error_to(request["id"], INVALID_REQUEST, f"not sent: {COMMIT_TOOL} cannot be part of a batch")


def _calls(arguments: JsonValue) -> list[tuple[str, JsonObject]] | str:
    """The calls that a commit is to run, or what is wrong with them."""
    given = arguments.get("calls") if isinstance(arguments, dict) else None
    if not isinstance(given, list) or not 1 <= len(given) <= COMMIT_CALLS:
        return f"calls must be a list of 1 to {COMMIT_CALLS} calls."
    calls: list[tuple[str, JsonObject]] = []
    for place, each in enumerate(given, 1):
        name = each.get("name") if isinstance(each, dict) else None
        passed = each.get("arguments") if isinstance(each, dict) else None
        passed = {} if passed is None else passed
        if not isinstance(name, str) or not isinstance(passed, dict):
            return f"call {place} must have a name, a text, and arguments, an object."
        calls.append((name, passed))
    return calls


def _told(calls: list[tuple[str, JsonObject]], outcomes: list[_Outcome]) -> str:
    """What came of every call, in order, as one text."""
    last, count = outcomes[-1], len(calls)
    if last.what == "done":
        parts = [f"Done: {count} of {count} calls."]
    else:
        done = " What was done before it stays done." if len(outcomes) > 1 else ""
        parts = [f"Stopped at call {len(outcomes)} of {count}: it {_WAS[last.what]}.{done}"]
    for place, (name, arguments) in enumerate(calls):
        outcome = outcomes[place] if place < len(outcomes) else _Outcome("not run")
        head = f"{_CALL}{place + 1} of {count}: {name} {json_text(arguments)}: {outcome.what}"
        text = outcome.text.replace(_CALL, f"\\{_CALL}")
        parts.append(f"{head}\n{text}" if text else head)
    return "\n\n".join(parts)


_WAS: Final = {"refused": "was refused", "failed": "failed"}

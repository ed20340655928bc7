"""A run on disk: what was begun and what came of it, so that a run that broke off goes on and never repeats a change.

A line an event. What must stay true: the line that a call which changes something is about to be made is on the disk
before it is made, and what came of it right after; no secret is on the disk. A login is never kept: it is made again.
What was masked cannot be passed on: a run that would have to, stops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stretto.errors import RunError
from stretto.procedure.exchange import Answer, Done
from waggle import files, jsonvalue
from waggle.errors import StoreUnavailable
from waggle.redact import is_masked, redact_text, redact_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from stretto.procedure.exchange import Ask, Escalation, Make
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["FINISHED", "Journal", "NoJournal", "open_journal", "read_events"]

#: How a run ends that came to its end.
FINISHED: Final = "finished"

_VERSION: Final = 1
_BYTES: Final = 256 * 1024 * 1024  #: largest journal that is read


class NoJournal:
    """Keeps nothing, for runs that are not taken up again."""

    def done(self, _make: Make) -> Done | None:
        """What came of a call in an earlier attempt: nothing is known."""
        return None

    def in_doubt(self, _make: Make) -> bool:
        """Whether a call was begun, and it is not known what came of it."""
        return False

    def answered(self, _ask: Ask) -> Answer | None:
        """What was answered in an earlier attempt: nothing is known."""
        return None

    def begin(self, make: Make) -> None:
        """A call is about to be made."""

    def end(self, make: Make, done: Done) -> None:
        """A call has been made."""

    def answer(self, ask: Ask, answer: Answer) -> None:
        """A question has been answered."""

    def close(self, stopped: Escalation | None = None) -> None:
        """The run has ended, or stopped."""


@dataclass
class Journal(NoJournal):
    """The journal of one run.

    Attributes:
        path: of its file.
        begun: the calls that were begun, by their ids.
        ended: what came of them.
        answers: of questions, by their ids.
        closed: whether the run came to an end.
    """

    path: Path
    begun: dict[str, JsonObject] = field(default_factory=dict)
    ended: dict[str, Done] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    closed: bool = False

    def done(self, make: Make) -> Done | None:
        """What came of a call in an earlier attempt; None where it is to be made (again).

        Raises:
            RunError: it was made with other arguments then.
        """
        if make.effect == "auth" or make.id not in self.ended:
            return None
        self._compare(make)
        done = self.ended[make.id]
        return None if is_masked(done.output) and not make.changes else done

    def in_doubt(self, make: Make) -> bool:
        """Whether a call that changes something was begun, and it is not known what came of it."""
        return make.changes and make.id in self.begun and make.id not in self.ended

    def _compare(self, make: Make) -> None:
        if self.begun[make.id] != _arguments(make):
            raise RunError(str(self.path), f"{make.id} was made with other arguments in the run that is taken up")

    def answered(self, ask: Ask) -> Answer | None:
        """What was answered in an earlier attempt."""
        return self.answers.get(ask.id)

    def begin(self, make: Make) -> None:
        """Write that a call is about to be made.

        Raises:
            StoreUnavailable: the disk does not take it; then the call must not be made.
        """
        if make.effect != "auth":
            event: JsonObject = {"begin": make.id, "tool": make.tool, "args": _arguments(make), "effect": make.effect}
            self._write(event, durable=make.changes)

    def end(self, make: Make, done: Done) -> None:
        """Write what came of a call; nothing of a change of which that is not known."""
        if make.effect != "auth" and (done.certain or not make.changes):
            self._write({"end": make.id, "ok": done.ok, "output": redact_value(done.output)}, durable=make.changes)

    def answer(self, ask: Ask, answer: Answer) -> None:
        """Write what was answered; that nobody did is not kept, so that it is asked again."""
        if answer.given:
            self._write({"asked": ask.id, "answer": redact_value(answer.value)})

    def close(self, stopped: Escalation | None = None) -> None:
        """Write how the run ended. One that stopped may be taken up again."""
        if stopped is None:
            self._write({"ended": FINISHED})
        else:
            observed = redact_text(stopped.observed)
            self._write({"ended": stopped.reason, "node": stopped.node, "observed": observed})

    def _write(self, event: JsonObject, *, durable: bool = False) -> None:
        files.append_line(self.path, jsonvalue.dumps(event), durable=durable)


def _arguments(make: Make) -> JsonObject:
    kept = redact_value(make.args)
    return kept if isinstance(kept, dict) else {}


def open_journal(
    path: Path,
    digest: str,
    inputs: Mapping[str, JsonValue],
    *,
    not_made: Collection[str] = (),
    made: Mapping[str, JsonValue] | None = None,
) -> Journal:
    """Begin a run's journal, or take up the one that is there.

    Args:
        path: of its file.
        digest: of the procedure.
        inputs: of the run.
        not_made: ids of calls that were begun, and that somebody has found not to have been made: they are made again.
        made: ids of calls that were begun, and that somebody has found to have been made, with what they returned.

    Raises:
        RunError: the file is of another procedure or other inputs, or is no journal; or the run had come to its end.
        StoreUnavailable: the disk does not take it.
    """
    head: JsonObject = {"stretto_run": _VERSION, "procedure": digest, "inputs": redact_value(dict(inputs))}
    try:
        events = read_events(path)
    except FileNotFoundError:
        files.append_line(path, jsonvalue.dumps(head))
        return Journal(path)
    if not events or events[0] != head:
        raise RunError(str(path), "it is the journal of another procedure, or of other inputs; name another file")
    journal = _taken_up(path, events[1:])
    _drop_fragment(path)
    found = made or {}
    for name in (*not_made, *found):
        if name not in journal.begun or name in journal.ended:
            known = ", ".join(sorted(set(journal.begun) - set(journal.ended))) or "none"
            raise RunError(str(path), f"{name} is no call that is in doubt; there are: {known}")
    for name in not_made:
        del journal.begun[name]
    journal.ended.update({name: Done(ok=True, output=output) for name, output in found.items()})
    return journal


def _drop_fragment(path: Path) -> None:
    """Take out a last line that a crash cut short, so that no other line comes to stand behind it."""
    data = files.read_bytes(path, limit=_BYTES)
    last = data.rpartition(b"\n")[2]
    try:
        jsonvalue.loads(last or b"0")
    except ValueError:
        files.replace(path, data[: -len(last)])


def _taken_up(path: Path, events: list[JsonObject]) -> Journal:
    journal = Journal(path)
    for event in events:
        match event:
            case {"begin": str(name), "args": dict(args)}:
                journal.begun[name] = args
            case {"end": str(name), "ok": bool(ok), "output": output}:
                if ok:
                    journal.ended[name] = Done(ok, output)
                else:
                    journal.begun.pop(name, None)  # it failed, and is tried again
            case {"asked": str(name), "answer": value}:
                journal.answers[name] = Answer(value)
            case {"ended": str(how)} if how == FINISHED:
                raise RunError(str(path), "the run has come to its end; name another file for another one")
    return journal


def read_events(path: Path) -> list[JsonObject]:
    """The events of a journal in order, the first of which says what it is of.

    Raises:
        FileNotFoundError: there is none.
        StoreUnavailable: it cannot be read.
        RunError: it is no journal.
    """
    try:
        data = files.read_bytes(path, limit=_BYTES)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise StoreUnavailable(path, str(error), "make it readable") from None
    return list(_events(path, data))


def _events(path: Path, data: bytes) -> Iterator[JsonObject]:
    """The events of a journal; a last line that a crash cut short is passed over.

    What such a line was to say had not happened: a call is made only once its whole line is there.
    """
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            event = jsonvalue.loads(line)
        except ValueError:
            if number == len(lines):
                return
            raise RunError(str(path), f"line {number} is no JSON") from None
        if not isinstance(event, dict):
            raise RunError(str(path), f"line {number} is no object")
        yield event

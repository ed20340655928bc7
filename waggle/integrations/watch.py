"""What every adapter does with the calls that its framework reports.

An adapter says that a call begins, what came of it, and how another call is made; it is given the text to add to the
result. Nothing here raises into the framework, and while a lookup is made nothing is taken in: a framework that reports
it through the same hook reports it to nobody.

Not responsible for how a framework spells any of this.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from waggle import jsonvalue
from waggle.calls import Call, Outcome, Result
from waggle.manager import Manager
from waggle.speculation import is_following

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from waggle.session import Session
    from waggle.speculation import AsyncRun, Run

__all__ = ["NOT_HERE", "Watch", "Watched", "hint_of", "result_of", "text_of"]

#: What came of a lookup whose tool this agent does not have, which is no failure of the route that proposed it.
NOT_HERE: Final = Result("no tool of this agent", ok=False, outcome=Outcome.CANCELLED)

#: Names under which frameworks keep a server's hint, or their own, that a tool only reads.
_HINTS: Final = ("read_only_hint", "readOnlyHint", "read_only")


class Watch:
    """The calls of one framework's agents, as its adapter reports them. Thread-safe.

    Args:
        manager: whose routes act and are learned; left out, those of the project in the present directory.
    """

    def __init__(self, manager: Manager | None = None) -> None:
        self.manager = manager if manager is not None else Manager.for_project()

    def begin(
        self,
        conversation: str | None,
        tool: str,
        args: Mapping[str, object] | None,
        *,
        call_id: str | None = None,
        reads: bool | None = None,
    ) -> Watched | None:
        """Announce a call that begins now.

        Args:
            conversation: the framework's id of it; None where there is only one.
            tool: its name.
            args: by name; None for what cannot be said by name, which is no call that could be made again.
            call_id: the framework's id of the call.
            reads: what its server or its registration says of the tool (`hint_of`); None when that is nothing.

        Returns:
            The call; None inside a lookup, which is nobody's call.
        """
        watched = self.begun(conversation, tool, args, call_id=call_id, reads=reads)
        if watched:
            watched.start()
        return watched

    def begun(
        self,
        conversation: str | None,
        tool: str,
        args: Mapping[str, object] | None,
        *,
        call_id: str | None = None,
        reads: bool | None = None,
    ) -> Watched | None:
        """Find a call again that `begin` announced, where nothing can be kept until it ends: by its id.

        Takes what `begin` takes, and returns what it does. Of a call that was never announced, it is as if it had
        begun now.
        """
        if is_following():
            return None
        if reads is not None:
            self.manager.tools.hint(tool, read_only=reads)
        call = Call(tool, args or {}, call_id, reads=None if args is not None else False)
        return Watched(self.manager.session(conversation or ""), call)

    @contextmanager
    def safely(self) -> Iterator[None]:
        """Keep a block of an adapter from raising into its framework: what it raises is counted, and ends the block."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self.manager.note_fault("integration", error)

    def hear(self, conversation: str | None, text: str, role: str = "user") -> None:
        """Take in what was said; see `waggle.Session.hear`."""
        self.manager.session(conversation or "").hear(text, role)

    def end(self, conversation: str | None) -> None:
        """Know that a conversation is over: what is left of it is settled."""
        self.manager.end(conversation or "")


class Watched:
    """A call that has begun. One of `ended`, `raised` and `unanswered` is told once; a result may be followed then."""

    def __init__(self, session: Session, call: Call) -> None:
        self._session = session
        self._call = call
        self._follows = False

    def start(self) -> None:
        """Announce it; `Watch.begin` does."""
        self._session.start(self._call)

    def ended(self, value: object, *, ok: bool = True, structured: object = None) -> None:
        """Take in what the tool has returned, as the model sees it.

        Args:
            value: a text, a list of content blocks, or what JSON can hold; see `result_of`.
            ok: False when it reports an error.
            structured: the structured value, where the tool gave one beside its text.
        """
        self._session.observe(self._call, result_of(value, ok=ok, structured=structured))
        self._follows = ok

    def raised(self, error: BaseException) -> None:
        """Take in that the tool has raised; what is no `Exception` counts as cancelled."""
        outcome = Outcome.TOOL_ERROR if isinstance(error, Exception) else Outcome.CANCELLED
        self._session.observe(self._call, Result(f"{type(error).__name__}: {error}", ok=False, outcome=outcome))

    def unanswered(self) -> None:
        """Take in that this is all that will be known of it, such as when the tool asks a question instead."""
        self._session.observe(self._call, Result(ok=False, outcome=Outcome.CANCELLED))

    def follow(self, run: Run) -> str:
        """Make the lookups that usually come next; see `waggle.Session.follow`.

        Returns:
            The text to add to the result, without blank lines before it; empty for nothing.
        """
        fold = self._session.follow(run) if self._follows else None
        return fold.text.lstrip("\n") if fold else ""

    async def afollow(self, run: AsyncRun) -> str:
        """Do the same from async code; see `waggle.Session.afollow`."""
        fold = await self._session.afollow(run) if self._follows else None
        return fold.text.lstrip("\n") if fold else ""


def result_of(value: object, *, ok: bool = True, structured: object = None) -> Result:
    """What a tool returned, as waggle takes it: its text, and beside it the value that is no text."""
    if structured is not None:
        result, beside = result_of(value, ok=ok), result_of(structured)
        return Result(result.text if value else beside.text, ok, value=beside.value)
    if isinstance(value, str):
        return Result(str(value), ok)
    try:
        content, _ = jsonvalue.to_json(value)
    except Exception:  # noqa: BLE001 - anybody's object
        return Result(str(value), ok)
    return Result(text_of(value), ok, value=None if isinstance(value, list | tuple) else content)


def text_of(value: object) -> str:
    """A result as text: of content blocks their texts, a line each; of anything else its JSON text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and (texts := _texts(value)):
        return "\n".join(texts)
    content, _ = jsonvalue.to_json(value)
    return jsonvalue.dumps(content).decode()


def _texts(blocks: Sequence[Any]) -> list[str]:
    """The texts of content blocks, objects or dictionaries, in order; none when these are no content blocks."""
    texts = []
    for block in blocks:
        text = block.get("text") if isinstance(block, dict) else getattr(block, "text", None)
        if isinstance(block, str):
            text = block
        if isinstance(text, str):
            texts.append(text)
    return texts


def hint_of(*places: object) -> bool | None:
    """Whether a tool is said to read only.

    Args:
        places: what may say so, in the order of belief: a server's annotations, a framework's metadata, objects or
            dictionaries; None for one that is not there.

    Returns:
        What the first of them says that says it; None when none does.
    """
    for place in places:
        for name in _HINTS:
            found = place.get(name) if isinstance(place, dict) else getattr(place, name, None)
            if isinstance(found, bool):
                return found
    return None

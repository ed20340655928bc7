"""What every adapter does with the calls that its framework reports.

An adapter says how its framework spells a call, a result, an error and another call; the rest is done here. Where it
stands around a call, that is `Watch.calling` and then `Watched.followed`; where it is told when a call begins and when
it ends, `Watch.begin`, or `Watch.begun` at the end, and then the same. Nothing here raises into the framework, and
while a lookup is made nothing is taken in: a framework that reports it through the same hook reports it to nobody.

Not responsible for how a framework spells any of this, nor for values (`waggle.integrations.results`, whose names are
here, too, so that an adapter needs one import).
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, TypeVar

from waggle.calls import Call, Outcome, Result
from waggle.integrations.results import hint_of, result_of, text_of, with_text
from waggle.manager import Manager
from waggle.speculation import is_following

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    from waggle.session import Session

__all__ = ["NOT_HERE", "Recent", "Watch", "Watched", "hint_of", "result_of", "text_of", "with_text"]

_K = TypeVar("_K")
_V = TypeVar("_V")

#: How an adapter makes another call, ``again(tool, args)``: it gives back what the framework's call does or, from async
#: code, an awaitable of it; `NOT_HERE` for a tool that this agent does not have. What it raises is a failed lookup.
Again: TypeAlias = "Callable[[str, dict[str, Any]], Any]"

#: What came of a lookup whose tool this agent does not have, which is no failure of the route that proposed it.
NOT_HERE: Final = Result("no tool of this agent", ok=False, outcome=Outcome.CANCELLED)


class Watch:
    """The calls of one framework's agents, as its adapter reports them. Thread-safe.

    Args:
        manager: whose routes act and are learned; left out, those of the project in the present directory.
        answer: makes a `Result` of what a call of the framework gives back; None of what is no answer to it, such as a
            question to a person. The agent's own calls and lookups are read by it alike.
        add: makes, of what a call gives back and a text, the same with the text behind it.
        steering: what a tool raises to steer its agent: such a call has no answer.
    """

    def __init__(
        self,
        manager: Manager | None = None,
        *,
        answer: Callable[[Any], Result | None] = result_of,
        add: Callable[[Any, str], Any] = with_text,
        steering: tuple[type[BaseException], ...] = (),
    ) -> None:
        self.manager = manager if manager is not None else Manager.for_project()
        self.answer = answer
        self.add = add
        self.steering = steering

    def calling(self, begin: Callable[[], Watched]) -> Watched:
        """Announce a call that is made inside the context that this opens, and goes on raising what it raises.

        Args:
            begin: calls `begin`; what goes wrong in it is counted, and the call is then nobody's.
        """
        try:
            return begin()
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self.manager.note_fault("integration", error)
            return Watched(self)

    def begin(
        self,
        conversation: str | None,
        tool: str,
        args: Mapping[str, object] | None,
        *,
        call_id: str | None = None,
        reads: bool | None = None,
    ) -> Watched:
        """Announce a call that begins now.

        Args:
            conversation: the framework's id of it; None where there is only one.
            tool: its name.
            args: by name; None for what cannot be said by name, which is no call that could be made again.
            call_id: the framework's id of the call.
            reads: what its server or its registration says of the tool (`hint_of`); None when that is nothing.

        Returns:
            The call; inside a lookup it is nobody's, and nothing comes of what is told of it.
        """
        watched = self.begun(conversation, tool, args, call_id=call_id, reads=reads)
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
    ) -> Watched:
        """Find a call again that `begin` announced, where nothing can be kept until it ends: by its id.

        Takes what `begin` takes, and returns what it does. Of a call that was never announced, it is as if it had
        begun now.
        """
        if is_following():
            return Watched(self)
        if reads is not None:
            self.manager.tools.hint(tool, read_only=reads)
        call = Call(tool, args or {}, call_id, reads=None if args is not None else False)
        return Watched(self, self.manager.session(conversation or ""), call)

    @contextmanager
    def safely(self) -> Iterator[None]:
        """Keep a block of an adapter from raising into its framework: what it raises is counted, and ends the block."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - as in `calling`
            self.manager.note_fault("integration", error)

    def hear(self, conversation: str | None, text: str, role: str = "user") -> None:
        """Take in what was said; see `waggle.Session.hear`."""
        self.manager.session(conversation or "").hear(text, role)

    def end(self, conversation: str | None) -> None:
        """Know that a conversation is over: what is left of it is settled."""
        self.manager.end(conversation or "")


class Watched:
    """A call that has begun. It ends once: by `ended`, `followed`, `raised` or `unanswered`; none of them raises.

    As a context it takes in what is raised inside it, and lets that go on.

    Args:
        watch: whose call it is.
        session: its conversation.
        call: the call; left out, as is the conversation, of one that is nobody's.
    """

    def __init__(self, watch: Watch, session: Session | None = None, call: Call | None = None) -> None:
        self._watch = watch
        self._session = session
        self._call = call
        self._follows = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.raised(error)

    @property
    def nobodys(self) -> bool:
        """Whether it is no call of an agent: it was made inside a lookup, or could not be announced."""
        return self._session is None

    def start(self) -> None:
        """Announce it; `Watch.begin` does."""
        if self._session and self._call:
            self._session.start(self._call)

    def ended(self, result: Any) -> None:
        """Take in what the call has given back, as the model sees it: the framework's object, or a `Result`."""
        with self._watch.safely():
            answer = self._answer(result)
            if answer is None:
                self.unanswered()
            else:
                self._observe(answer)
                self._follows = answer.ok

    def raised(self, error: BaseException) -> None:
        """Take in that the tool has raised; what is no `Exception` counts as cancelled."""
        if isinstance(error, self._watch.steering):
            self.unanswered()
            return
        with self._watch.safely():
            outcome = Outcome.TOOL_ERROR if isinstance(error, Exception) else Outcome.CANCELLED
            self._observe(Result(f"{type(error).__name__}: {error}", ok=False, outcome=outcome))

    def unanswered(self) -> None:
        """Take in that this is all that will be known of it, such as when the tool asks a question instead."""
        self._observe(Result(ok=False, outcome=Outcome.CANCELLED))

    def followed(self, result: Any, again: Again | None) -> Any:
        """End the call with what it has given back, and make the lookups that usually come next.

        Args:
            result: as `ended` takes it.
            again: makes a lookup; None where nothing can be added to this result.

        Returns:
            The result with the lookups behind it; the same object when there are none.
        """
        self.ended(result)
        with self._watch.safely():
            if added := self.follow(again):
                return self._watch.add(result, added)
        return result

    async def afollowed(self, result: Any, again: Again | None) -> Any:
        """Do the same from async code."""
        self.ended(result)
        with self._watch.safely():
            if added := await self.afollow(again):
                return self._watch.add(result, added)
        return result

    def follow(self, again: Again | None) -> str:
        """Make the lookups that usually come next, after a call that has ended well; see `waggle.Session.follow`.

        Returns:
            The text to add to the result, without blank lines before it; empty for nothing.
        """
        if not (self._session and self._follows and again):
            return ""
        fold = self._session.follow(lambda tool, args: self._answer(again(tool, args)) or NOT_HERE)
        return fold.text.lstrip("\n") if fold else ""

    async def afollow(self, again: Again | None) -> str:
        """Do the same from async code; see `waggle.Session.afollow`."""
        if not (self._session and self._follows and again):
            return ""

        async def run(tool: str, args: dict[str, Any]) -> Result:
            found = again(tool, args)
            return self._answer(await found if inspect.isawaitable(found) else found) or NOT_HERE

        fold = await self._session.afollow(run)
        return fold.text.lstrip("\n") if fold else ""

    def _answer(self, result: Any) -> Result | None:
        return result if isinstance(result, Result) else self._watch.answer(result)

    def _observe(self, result: Result) -> None:
        if self._session and self._call:
            self._session.observe(self._call, result)


class Recent(OrderedDict[_K, _V]):
    """A dictionary of the things that were put in last; a host that loses its own does not fill it.

    Args:
        limit: how many are held, at least 1.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: _K, value: _V) -> None:
        super().__setitem__(key, value)
        if len(self) > self._limit:
            self.popitem(last=False)

"""Microsoft Agent Framework: `WaggleMiddleware`, to be given to an agent as the first of its ``middleware``.

Not responsible for tools that only a person may allow, or whose calls are counted out: no lookup is made with them.
"""

from __future__ import annotations

import functools
import uuid
from typing import TYPE_CHECKING, Any, Final

from agent_framework import Content, FunctionInvocationContext, FunctionMiddleware

from waggle.integrations.watch import NOT_HERE, Recent, Watch, Watched, hint_of, result_of, with_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from waggle.calls import Result
    from waggle.manager import Manager

__all__ = ["WaggleMiddleware"]

#: Runs without a session that are told apart at the same time.
_RUNS: Final = 256


class WaggleMiddleware(FunctionMiddleware):
    """Adds to an agent's results the reads that usually come next.

    A session of the framework is a conversation; a run without one remembers nothing, and is one of its own.

    Args:
        manager: whose routes act and are learned; left out, those of the project in the present directory.
    """

    def __init__(self, manager: Manager | None = None) -> None:
        self._watch = Watch(manager, answer=_answer, add=_with)
        self._runs: Recent[int, tuple[object, str]] = Recent(_RUNS)  # by the list of tools that a run has

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Make the call, and add to its result."""
        with self._watch.calling(lambda: self._begin(context)) as seen:
            await call_next()
        takes_more = isinstance(context.result, list | str)  # nothing else comes out as it went in
        again = functools.partial(_again, context) if takes_more else None
        context.result = await seen.afollowed(context.result, again)

    def _begin(self, context: Any) -> Watched:
        function, args = context.function, context.arguments
        given = args.model_dump() if hasattr(args, "model_dump") else dict(args or {})
        call_id, reads = context.metadata.get("call_id"), hint_of(function.additional_properties)
        return self._watch.begin(self._conversation(context), function.name, given, call_id=call_id, reads=reads)

    def _conversation(self, context: Any) -> str:
        if context.session:
            return str(context.session.session_id)
        run = id(context.tools)
        if run not in self._runs:
            self._runs[run] = (context.tools, uuid.uuid4().hex)  # while it is held, no other list has its id
        return self._runs[run][1]


async def _again(context: Any, name: str, args: dict[str, Any]) -> Any:
    for tool in context.tools or ():
        if getattr(tool, "name", None) == name and _is_free(tool):
            own = FunctionInvocationContext(
                function=tool, arguments=args, session=context.session, kwargs=context.kwargs, tools=context.tools
            )
            return await tool.invoke(arguments=args, context=own)
    return NOT_HERE


def _is_free(tool: Any) -> bool:
    return (
        hasattr(tool, "invoke")
        and tool.approval_mode in (None, "never_require")
        and tool.max_invocations is None
        and not tool.declaration_only
    )


def _answer(result: Any) -> Result | None:
    return None if isinstance(result, Content) else result_of(result)  # that one asks for approval


def _with(result: Any, text: str) -> Any:
    return with_text(result, text, Content.from_text)

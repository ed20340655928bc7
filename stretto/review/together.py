"""Replaying a session through a `waggle.Manager`: routes alone, flows alone, or both, by the same rules.

The manager is asked after each call the agent still makes, as a host asks it, and its lookups are scored by the same
walk as a flow's (`stretto.review.scoring`), so the numbers stand beside each other. That differs from
`waggle.playback`, which measures routes in their own terms: there strategies are asked once a turn, a lookup answers
every call that it covers (a range of lines, a whole file) as often as it is asked for, a lookup the agent never makes
gets no text at all, and replies to the user are no turns. Here a lookup answers one call, which must be the very same.

What a manager does that a flow alone does not: a failed lookup is not shown to the agent, so it answers nothing; and no
lookup is made whose answer is known since the last write.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from stretto.errors import StrettoError
from stretto.replayer import hint_tools
from stretto.review.record import Record
from stretto.review.scoring import play
from waggle import jsonvalue
from waggle.calls import Call, Outcome, Result
from waggle.config import ManagerConfig
from waggle.evaluate import Library
from waggle.manager import Manager
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from stretto.review.pool import Lookup
    from stretto.review.record import RecordedCall
    from stretto.review.score import ReplayScore
    from stretto.review.scoring import Walk
    from stretto.sessions.episode import Episode, ToolCall, ToolResult
    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonObject
    from waggle.replay import ReplayStrategy
    from waggle.session import Session

__all__ = ["learn_routes", "replay_together"]

#: Where the score counts lookups that the agent was not shown.
NOT_SHOWN: Final = "not shown"

_BROKEN_OFF: Final = Result(ok=False, outcome=Outcome.ABORTED)


def learn_routes(episodes: Iterable[Episode], manifest: Manifest, config: ManagerConfig | None = None) -> Library:
    """Learn waggle's routes from recorded sessions, one after another, as a manager does live.

    Args:
        episodes: in the order in which they took place.
        manifest: tells which tools read.
        config: the rules.
    """
    manager = Manager(dataclasses.replace(config or ManagerConfig(), learn=True, replay=False), tools=_table(manifest))
    for number, episode in enumerate(episodes):
        session = manager.session(str(number))
        results = episode.results()
        for turn in episode.turns():
            calls = [_call(call) for call in turn.calls]
            for call in calls:
                session.start(call)
            for call, recorded in zip(calls, turn.calls, strict=True):
                if (result := results.get(recorded.id)) is not None:
                    session.observe(call, _result(result))
        manager.end(str(number))
        manager.flush()
    return Library(tuple(manager.learned()), manager.counts())


def replay_together(
    episode: Episode,
    manifest: Manifest,
    *,
    library: Library | None = None,
    strategies: Sequence[Callable[[str], ReplayStrategy]] = (),
    config: ManagerConfig | None = None,
    unit: str = "",
    same_result: bool = False,
    prompt_tokens: int = 0,
) -> ReplayScore:
    """Replay one session with a manager beside the agent; lookups are counted by strategy in `ReplayScore.sources`.

    Args:
        episode: the session.
        manifest: tells which tools read, for the manager and for the record.
        library: waggle's routes and counts, learned on other tasks; None for none.
        strategies: further ones, such as `stretto.replayer.flow_strategy` makes; asked after the routes.
        config: the manager's knobs; nothing is learned.
        unit: to resample by; empty for the session's task.
        same_result: see `stretto.review.pool.Pool`.
        prompt_tokens: see `stretto.review.record.Record`.

    Raises:
        StrettoError: a strategy failed, or a route could not be used.
    """
    config = config or ManagerConfig()
    manager = Manager(
        dataclasses.replace(config, learn=False, replay=True, reach=config.reach and library is not None),
        tools=_table(manifest),
        strategies=strategies,
        routes=library.routes if library else (),
        counts=library.counts if library else None,
    )
    record = Record(episode, manifest, prompt_tokens=prompt_tokens)
    score = play(record, _Managed(manager.session()), unit=unit, same_result=same_result)
    manager.close()
    if faults := manager.faults():  # a host goes on without what failed; a measurement must not
        raise StrettoError(f"{episode.id}: the manager met faults: {'; '.join(sorted(faults))}")
    return score


class _Managed:
    """A manager's session; a `stretto.review.scoring.Actor`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def user(self, text: str) -> None:
        """See `Actor.user`."""
        self._session.hear(text)

    def reply(self, text: str) -> None:
        """See `Actor.reply`."""
        self._session.hear(text, "assistant")

    def turn(self) -> None:
        """See `Actor.turn`; a manager knows no turns."""

    def called(self, call: RecordedCall, walk: Walk) -> None:
        """See `Actor.called`; a call whose result was not recorded was broken off."""
        made = _call(call.call)
        self._session.start(made)
        if call.result is None:
            self._session.observe(made, _BROKEN_OFF)
            return
        self._session.observe(made, _result(call.result))
        lookups: dict[int, tuple[Lookup, Result]] = {}  # by the identity of the result, which is held beside it

        def run(tool: str, args: dict[str, Any]) -> Result:
            given: JsonObject = {name: jsonvalue.to_json(value)[0] for name, value in args.items()}
            lookup = walk.look_up(tool, given, NOT_SHOWN)
            result = Result(lookup.answer.content, ok=not lookup.answer.error)
            lookups[id(result)] = lookup, result
            return result

        fold = self._session.follow(run)
        for shown in fold.lookups if fold else ():
            lookup, _ = lookups.pop(id(shown.result))
            lookup.source = shown.strategy
        for lookup, _ in lookups.values():
            walk.pool.hide(lookup)


def _table(manifest: Manifest) -> ToolTable:
    table = ToolTable()
    hint_tools(table, manifest)
    return table


def _call(call: ToolCall) -> Call:
    return Call(call.name, call.arguments if isinstance(call.arguments, dict) else {}, id=call.id)


def _result(result: ToolResult) -> Result:
    return Result(result.content, ok=not result.error)

"""Replaying a flow on recorded episodes: how many turns it would have saved an agent that otherwise acts as recorded.

The flow runs after each call the agent still makes, as it is served (`stretto.speculator`). What lookups return is said
in `stretto.review.record`, what counts as saved in `stretto.review.scoring`. From the record, savings are exact or too
low, and detours are too few, since a flow that goes astray sees stand-ins instead of what would have led it further.

The calls of a turn are replayed one after another, each with its own run. Recorded lookups of a proxy are taken for the
agent's own calls, as learning does.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

from stretto._defaults import LOOKUPS_PER_CALL, LOOKUPS_PER_SESSION, THRESHOLD
from stretto.bindings.model import Bound
from stretto.bindings.uses import UseKey, kind_of, stage_of
from stretto.deciders.decide import decider_named
from stretto.deciders.model import HAND_BACK
from stretto.deciders.reach import Reach
from stretto.flow.model import site_name
from stretto.live import binder_of
from stretto.review.record import Record
from stretto.review.score import Weighed
from stretto.review.scoring import play
from stretto.sessions.episode import ToolCall
from stretto.speculator import Prepared, Speculator
from waggle.calls import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from stretto.deciders.model import Decider, Decision
    from stretto.flow.model import Flow, Site
    from stretto.live import Situation
    from stretto.review.record import RecordedCall
    from stretto.review.score import ReplayScore
    from stretto.review.scoring import Walk
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["ReplayOptions", "replay", "replay_all"]


class ReplayOptions(TypedDict, total=False):
    """How a flow is replayed; what is left out has the value the flow would be served with.

    Attributes:
        decider: who weighs the lookups, or the name of one that asks nobody; the flow's own.
        threshold: score from which on a lookup is made, 0 to 1.
        per_call: lookups after one call, at most.
        per_session: lookups in one session, at most.
        same_result: see `stretto.review.pool.Pool`; off.
        weigh: keep every lookup that was weighed with what the agent did, for calibration; off. Every option of a site
            is then bound, not only the likely ones.
        manifest: tells which calls of the record write, and which turns could be saved; the flow's.
        prompt_tokens: length of the system prompt and the tools' descriptions, for sessions whose tokens were not
            recorded; 0.
        on_decision: called with each decision that was weighed, as the flow log holds it, and with what becomes of each
            of its options (``labels``), for `stretto.review.evaluate`; None.
        explore: chance of taking another lookup than the decider's, 0 to 1; 0. Only then has a decision a policy.
        explore_seed: of these draws; 0.
    """

    decider: str | Decider
    threshold: float
    per_call: int
    per_session: int
    same_result: bool
    weigh: bool
    manifest: Manifest
    prompt_tokens: int
    on_decision: Callable[[JsonObject], None] | None
    explore: float
    explore_seed: int


def replay(flow: Flow | Prepared, episode: Episode, *, unit: str = "", **options: Unpack[ReplayOptions]) -> ReplayScore:
    """Replay one session. Costs about 4 ms for a session of ten calls.

    Args:
        flow: what was learned, on other tasks, or what its sessions share.
        episode: the session.
        unit: to resample by; empty for the session's task.
        options: see `ReplayOptions`.

    Raises:
        BadFlow: the flow lacks what the decider needs.
        UsageError: there is no such decider.
    """
    prepared = flow if isinstance(flow, Prepared) else Prepared(flow)
    manifest = options.get("manifest", prepared.flow.manifest)
    record = Record(episode, manifest, prompt_tokens=options.get("prompt_tokens", 0))
    actor = _Served(prepared, options, episode.task)
    score = play(record, actor, unit=unit, same_result=options.get("same_result", False))
    return dataclasses.replace(score, weighed=tuple(actor.weighed)) if actor.weighed else score


def replay_all(
    flow: Flow,
    episodes: Iterable[Episode],
    *,
    units: Mapping[str, str] | None = None,
    derive: bool = True,
    speak: bool = True,
    **options: Unpack[ReplayOptions],
) -> Iterator[ReplayScore]:
    """Replay sessions one by one, in their order.

    Args:
        flow: what was learned, on other tasks.
        episodes: the sessions; each is let go before the next is taken.
        units: by session id, what to resample by; its task for a session that is left out.
        derive: use derived values, where the flow has them.
        speak: use the user's own words, where the flow has them.
        options: see `ReplayOptions`.

    Raises:
        BadFlow: the flow lacks what the decider needs.
        UsageError: there is no such decider.
    """
    prepared = Prepared(flow)
    prepared.binder = binder_of(flow, derive=derive, speak=speak)
    for episode in episodes:
        yield replay(prepared, episode, unit=(units or {}).get(episode.id, ""), **options)


class _Served:
    """A flow as it is served; a `stretto.review.scoring.Actor`."""

    def __init__(self, prepared: Prepared, options: ReplayOptions, task: str) -> None:
        decider = options.get("decider", prepared.flow.default_decider)
        self._watched = _Watched(
            decider_named(decider) if isinstance(decider, str) else decider, weigh=options.get("weigh", False)
        )
        self._speculator = Speculator(
            prepared,
            decider=self._watched,
            threshold=options.get("threshold", THRESHOLD),
            per_call=options.get("per_call", LOOKUPS_PER_CALL),
            per_session=options.get("per_session", LOOKUPS_PER_SESSION),
            explore=options.get("explore", 0.0),
            explore_seed=options.get("explore_seed", 0),
            task=task,
            on_line=self._keep_line if options.get("on_decision") else None,
            clock=lambda: 0.0,  # so that equal input gives equal lines
        )
        self._on_decision = options.get("on_decision")
        self._line: JsonObject = {}
        self._decisions = 0
        self.weighed: list[Weighed] = []

    def user(self, text: str) -> None:
        """See `Actor.user`."""
        self._speculator.user(text)

    def reply(self, text: str) -> None:
        """See `Actor.reply`."""
        self._speculator.reply(text)

    def turn(self) -> None:
        """See `Actor.turn`."""
        self._speculator.turn()

    def called(self, call: RecordedCall, walk: Walk) -> None:
        """See `Actor.called`; a call whose result was not recorded starts no run."""
        speculator, watched = self._speculator, self._watched
        name = f"call {call.place}"  # unlike the ids of lookups, which a proxy's own calls have in the record
        speculator.call(ToolCall(name, call.call.name, call.call.arguments))
        if call.result is None:
            return
        speculator.result(name, error=call.result.error, content=call.result.content)
        speculator.begin(name)
        while True:
            lookup = speculator.next()
            self._label(walk)
            decided = watched.take()
            if decided is not None and decided.options:
                self._note(decided, walk, chosen=lookup is not None)
            if lookup is None:
                return
            bound = decided.decision.bound if decided is not None else None
            answer = walk.look_up(lookup.tool, lookup.args, _origin(bound)).answer
            speculator.settle(Result(answer.content, ok=not answer.error))

    def _keep_line(self, line: JsonObject) -> None:
        if "run" not in line:
            self._line = line

    def _label(self, walk: Walk) -> None:
        """Hand over the decision that was just made, with what becomes of each of its options."""
        line, self._line = self._line, {}
        policy = line.get("policy")
        if self._on_decision and isinstance(policy, dict):
            options = policy.get("options")
            labels: list[JsonValue] = (
                [_labelled(option, walk) for option in options] if isinstance(options, list) else []
            )
            self._on_decision({**line, "labels": labels})

    def _note(self, decided: _Decided, walk: Walk, *, chosen: bool) -> None:
        """Keep what was weighed, each lookup that binds with what the agent did."""
        following = walk.next_place()
        for tool, (prob, bound, by_uses) in decided.options.items():
            own = walk.own_call(tool, bound.arguments)
            self.weighed.append(
                Weighed(
                    self._decisions,
                    site_name(decided.site),
                    tool,
                    prob,
                    bound.chance,
                    chosen=chosen and tool == decided.decision.tool,
                    used=own is not None,
                    next=own is not None and own.place == following,
                    spared=1 / len(walk.record.turns[own.turn].calls) if own is not None else 0.0,
                    by_uses=by_uses,
                )
            )
        self._decisions += 1


class _Option(NamedTuple):
    """A lookup that was weighed: the probability of its tool, its arguments, and its chance where uses tell it."""

    prob: float
    bound: Bound
    by_uses: float | None


def _labelled(option: JsonValue, walk: Walk) -> JsonObject:
    """What becomes of a lookup that is made now; of one that did not bind, nothing."""
    if not isinstance(option, dict) or not isinstance(arguments := option.get("arguments"), dict):
        return {"used": False, "detour": False, "turn": 0.0}
    own = walk.own_call(str(option.get("tool")), arguments)
    turn = 1 / len(walk.record.turns[own.turn].calls) if own is not None else 0.0
    return {"used": own is not None, "detour": own is None, "turn": turn}


class _Decided(NamedTuple):
    """A decision, its site, and every lookup that was weighed and binds, where they were asked for."""

    decision: Decision
    site: Site
    options: Mapping[str, _Option]


class _Watched:
    """A decider whose last decision can be looked at.

    Args:
        decider: decides.
        weigh: bind all options.
    """

    def __init__(self, decider: Decider, *, weigh: bool) -> None:
        self._decider = decider
        self.name = decider.name
        self._weigh = weigh
        self._decided: _Decided | None = None
        self._error: Exception | None = None

    def decide(
        self, flow: Flow, situation: Situation, site: Site, options: Sequence[str], threshold: float
    ) -> Decision:
        """See `Decider.decide`."""
        try:
            decision = self._decider.decide(flow, situation, site, options, threshold)
            # Now: once the lookup is under way, its own values have been passed.
            weighed = self._options(flow, situation, site, decision) if self._weigh else {}
        except Exception as error:
            self._error = error
            raise
        self._decided = _Decided(decision, site, weighed)
        return decision

    def _options(self, flow: Flow, situation: Situation, site: Site, decision: Decision) -> dict[str, _Option]:
        """Every lookup that was weighed and binds, in the way in which it would be made."""
        tools = {tool: prob for tool, prob in decision.probs.items() if tool != HAND_BACK}
        if isinstance(self._decider, Reach) and self._decider.scores_by_uses(flow):
            found = {tool: _best_by_uses(flow, situation, site, tool, prob) for tool, prob in tools.items()}
            return {tool: option for tool, option in found.items() if option}
        bound = {tool: situation.bind(tool) for tool in tools}
        return {tool: _Option(tools[tool], each, None) for tool, each in bound.items() if isinstance(each, Bound)}

    def take(self) -> _Decided | None:
        """The decision since this was asked last.

        Raises:
            Exception: what the decider raised. Served, a decision that fails hands back; measured, it must not pass for
                one that did.
        """
        if self._error is not None:
            raise self._error
        decided, self._decided = self._decided, None
        return decided


def _best_by_uses(flow: Flow, situation: Situation, site: Site, tool: str, prob: float) -> _Option | None:
    """A lookup in the way that scores best by uses, with its chance of being used; None where none binds."""
    best: tuple[float, _Option] | None = None
    for way in situation.ways(tool):
        if isinstance(way, Bound):
            key = UseKey(*site, tool, kind_of(way), way.pick, stage_of(situation.made))
            score = flow.uses.score(key, prob * way.chance)
            if best is None or score > best[0]:
                best = score, _Option(prob, way, flow.uses.chance(key, prob * way.chance))
    return best[1] if best else None


def _origin(bound: Bound | None) -> str:
    """What a lookup's arguments come from, for the score: the kinds of their origins."""
    return kind_of(bound) if bound else "bare"

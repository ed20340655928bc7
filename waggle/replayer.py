"""The route strategy: when the agent's latest calls equal the first steps of a route, propose the rest.

`RouteIndex` is shared by the sessions of a manager; `Replayer` is one session's position in it. Matching costs a few
dictionary look-ups a call, however many routes are stored: routes with equal first steps share a path in a tree of step
patterns, and only the paths that the latest calls have walked are held.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from waggle._defaults import MIN_PREFIX_STEPS
from waggle.calls import Effect, Step
from waggle.miner import Runs
from waggle.replay import Lookup
from waggle.routes import RouteStep, in_checkout, patterns

if TYPE_CHECKING:
    from waggle.calls import Parts, Result, Shape
    from waggle.routes import Route
    from waggle.tools import ToolTable

__all__ = ["Replayer", "RouteIndex"]


@dataclass(slots=True)
class _Node:
    """A place in the tree: the calls that lead here, and the routes that go on from here."""

    #: By shape: for each choice of compared arguments, the nodes by those arguments' values.
    children: dict[Shape, dict[tuple[int, ...], dict[Parts, _Node]]] = field(default_factory=dict)
    #: Routes whose rest is known from here on, in the order they were added.
    routes: list[Route] = field(default_factory=list)
    depth: int = 0

    def child(self, shape: Shape, fixed: tuple[int, ...], parts: Parts) -> _Node:
        by_parts = self.children.setdefault(shape, {}).setdefault(fixed, {})
        node = by_parts.get(parts)
        if node is None:
            node = by_parts[parts] = _Node(depth=self.depth + 1)
        return node


class RouteIndex:
    """Routes, ready to be matched.

    Args:
        tools: a route is followed from where all steps that are left may be repeated. What a tool is may become known
            later, or change, so it is asked when a route is about to be followed.
        min_prefix: steps that must match before the rest is proposed; below 2 it is 2.
        root: the checkout's directory as the agent spells it, for paths that are stored relative to it.
        wildcards_count: see `Route.fires_from`.
    """

    def __init__(
        self,
        tools: ToolTable,
        *,
        min_prefix: int = MIN_PREFIX_STEPS,
        root: str | None = None,
        wildcards_count: bool = False,
    ) -> None:
        self._tools = tools
        self._root = root
        self._wildcards_count = wildcards_count
        self.min_prefix = max(min_prefix, MIN_PREFIX_STEPS)
        self.start = _Node()
        self.after: set[str] = set()  #: tools after whose calls a route can be followed
        self._held: list[tuple[Route, int]] = []  # each with the least number of steps that must match

    def __len__(self) -> int:
        """How many routes can fire; looks at each."""
        return sum(any(self.rest(route, at) for at in range(first, len(route.steps))) for route, first in self._held)

    def add(self, route: Route) -> bool:
        """Add a route; False when it can never fire. Safe while other threads match."""
        steps = tuple(
            replace(step, args={key: in_checkout(value, self._root) for key, value in step.args.items()})
            for step in route.steps
        )
        live = replace(route, steps=steps)
        first = live.fires_from(self.min_prefix, wildcards_count=self._wildcards_count)
        if first is None or route.disabled:
            return False
        node = self.start
        for depth, pattern in enumerate(patterns(live)[:-1], 1):
            node = node.child(pattern.shape, pattern.fixed, pattern.parts)
            if depth >= first:
                node.routes.append(live)
                self.after.add(steps[depth - 1].tool)
        self._held.append((live, first))
        return True

    def rest(self, route: Route, depth: int) -> tuple[RouteStep, ...]:
        """The steps of a route after so many; none when one of them may not be repeated."""
        rest = route.steps[depth:]
        return rest if all(self._may_run(step) for step in rest) else ()

    def _may_run(self, step: RouteStep) -> bool:
        try:
            return self._tools.may_repeat(step.tool, self._tools.said(step.tool, step.form, step.args))
        except ValueError:  # a hand-written value that makes another command
            return False

    def lookup(self, step: RouteStep, strategy: str, source: str) -> Lookup:
        """The lookup that makes a step of a route."""
        return Lookup(step.tool, self._tools.said(step.tool, step.form, step.args), strategy, source)

    def step_of(self, lookup: Lookup) -> Step:
        """A lookup as the step it would have been, had the agent made it."""
        form, args = self._tools.spoken(lookup.tool, lookup.args)
        return Step(0, lookup.tool, args, form=form)


class Replayer:
    """One session's place among the routes; a `waggle.replay.ReplayStrategy`.

    After a call one route is followed: of several that match, the one with the longest matched prefix, then the one
    added first. A route is followed once between two writes; when its prefix comes again, the next one that matches has
    its turn. The remaining steps of a route do not depend on each other, so they may run at once.
    """

    name = "routes"

    def __init__(self, index: RouteIndex) -> None:
        self._index = index
        self._runs = Runs()
        self._active: list[_Node] = []  # where the latest calls and lookups lead, deepest first
        self._chosen = False  # a route has been chosen since the agent's latest call
        self._fired: set[str] = set()
        self._rest: deque[Lookup] = deque()
        self._unsettled = 0

    def observe(self, step: Step, result: Result) -> None:
        """See `ReplayStrategy.observe`; the result plays no part, since what follows a route's prefix is literal."""
        del result
        self._rest.clear()
        self._unsettled = 0
        if step.effect is Effect.WRITE:
            self._fired.clear()
        self._chosen = False
        continues = self._runs.admit(step)
        if continues is None:
            if not step.reads:
                self._active = []
            return
        if not continues:
            self._active = []
        self._advance(step)

    def _advance(self, step: Step) -> None:
        found: list[_Node] = []
        parts = step.parts
        for node in (*self._active, self._index.start):
            for fixed, by_parts in node.children.get(step.shape, _NOTHING).items():
                after = by_parts.get(parts if len(fixed) == len(parts) else tuple([parts[i] for i in fixed]))
                if after is not None:
                    found.append(after)
        self._active = found

    def propose(self) -> Lookup | None:
        """See `ReplayStrategy.propose`."""
        if not self._rest:
            if self._unsettled:
                return None
            self._choose()
        if not self._rest:
            return None
        self._unsettled += 1
        return self._rest.popleft()

    def _choose(self) -> None:
        if self._chosen:
            return
        for node in self._active:
            for route in node.routes:
                if route.name not in self._fired and (rest := self._index.rest(route, node.depth)):
                    self._chosen = True
                    self._fired.add(route.name)
                    self._rest.extend(self._index.lookup(step, self.name, route.name) for step in rest)
                    return

    def settle(self, lookup: Lookup, result: Result) -> None:
        """See `ReplayStrategy.settle`."""
        self._unsettled -= 1
        if result.ok:
            self._advance(self._index.step_of(lookup))
        else:
            self._rest.clear()


_NOTHING: dict[tuple[int, ...], dict[Parts, _Node]] = {}

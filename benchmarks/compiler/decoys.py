"""Generated traces in which a value stands in several places, one of which it was taken from. Seeded.

Every combination of: the place it was taken from; the other places that hold it as well (**decoys**), in all traces or
in three of five; equal or different values across traces; an id or a small number. One thing is left out, since nothing
in any trace could tell: a value that the agent knew by itself, and that a call always returned too, or may have.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Final

from benchmarks.compiler.corpus import Corpus, Intent, kept_whole
from stretto.compiler.model import UNLOGGED, Call, Effect, Trace
from stretto.compiler.schemas import Tools, ToolSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stretto.compiler.measure import Dependency
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["DECOYS", "Scene", "decoys", "scenes"]

#: Where a decoy may stand.
DECOYS: Final = ("producer", "second", "user", "context", "default", "failed", "unlogged", "echo")

_TRACES: Final = 5
_DIFFERENT: Final = (1, 3)  # traces in which a decoy that does not always agree holds another value


@dataclass(frozen=True, slots=True)
class Scene:
    """One combination.

    Attributes:
        origin: where the value was taken from: a place that a decoy may stand in, but for ``second`` and ``echo``; or
            ``known``: from nowhere in the trace.
        decoys: the other places that hold it, of `DECOYS`.
        agree: whether they do in every trace.
        vary: whether the value is another in each trace.
        small: whether it is a small number.
    """

    origin: str
    decoys: frozenset[str]
    agree: bool
    vary: bool
    small: bool

    @property
    def is_settled(self) -> bool:
        """Whether the evidence settles that the value is the producer's. What stands where says so; no rule is asked.

        No other place explains the value in all traces, and the terms on which an edge is strong are met:

        - the user, the context and the schema never hold it, since one trace in which they do is enough to stop;
        - each other call that holds it holds another value in some trace, in which the producer has the one that was
          used. Nobody knows of a call without a recorded output, so it can never be told apart. An echo was given the
          value, and explains nothing;
        - where traces have to be compared, since another call holds the value, or it is a small number, which proves
          nothing by itself, the value is another in each trace.
        """
        if self.origin != "producer" or self.decoys & {"user", "context", "default", "unlogged"}:
            return False
        rivals = self.decoys & {"second", "failed"}
        told_apart = not (rivals and self.agree)
        has_to_vary = bool(rivals) or self.small
        return told_apart and (self.vary or not has_to_vary)


def scenes() -> Iterator[Scene]:
    """All combinations, in a fixed order."""
    for origin in ("producer", "user", "context", "default", "failed", "unlogged", "known"):
        others = [place for place in DECOYS if place != origin and not (place == "default" and origin == "known")]
        for count in range(len(others) + 1):
            for chosen in combinations(others, count):
                for agree, vary, small in product((True, False), repeat=3):
                    scene = Scene(origin, frozenset(chosen), agree, vary, small)
                    held = scene.decoys & {"producer", "second", "failed"}
                    habit = origin == "known" and ((agree and held) or "unlogged" in scene.decoys)
                    if (not chosen and not agree) or habit:
                        continue
                    if vary and origin in ("default", "known"):
                        continue  # one default, one habit
                    yield scene


def decoys(chosen: Iterable[Scene] | None = None, *, every: int = 1, seed: int = 0) -> Corpus:
    """The corpus of all combinations, of chosen ones, or of every so many of them."""
    intents: list[Intent] = []
    gold: set[Dependency] = set()
    reasons: dict[Dependency, str] = {}
    counted: set[str] = set()
    for number, scene in enumerate(scenes() if chosen is None else chosen):
        if number % every:
            continue
        draw = random.Random(f"{seed} {number}")
        shared = _value(scene, draw)
        values = [_value(scene, draw) if scene.vary else shared for _ in range(_TRACES)]
        holds_default = scene.origin == "default" or "default" in scene.decoys
        schema: JsonObject = {"properties": {"ref": {"default": values[0]}}} if holds_default else {}
        tools = Tools({"shop.use": ToolSchema(schema), "loyalty.points": ToolSchema(schema)})
        traces = []
        for which, value in enumerate(values):
            maker = _Maker(scene, which, value, draw, f"d{number:05d}.{which}")
            traces.append(maker.trace())
            gold |= maker.gold
            reasons |= dict.fromkeys(maker.gold, _why(scene))
        counted |= {trace.id for trace in traces}
        intents.append(Intent(tuple(traces), tools, _why(scene)))
    return Corpus("generated", tuple(intents), frozenset(gold), frozenset(), frozenset(counted), reasons)


def _why(scene: Scene) -> str:
    """What stands in the way of telling, if the value is the producer's."""
    if scene.is_settled:
        return "settled"
    told = sorted(scene.decoys & {"user", "context", "default"})
    if told:
        return f"the {told[0] if told[0] != 'default' else 'schema'} has it, too"
    if not scene.vary:
        return "the value never varies"
    return "another call has it whenever it is used"


def _value(scene: Scene, draw: random.Random) -> JsonValue:
    return draw.randrange(21, 900) if scene.small else f"K-{draw.randrange(10**6, 10**7)}"


class _Maker:
    def __init__(self, scene: Scene, which: int, value: JsonValue, draw: random.Random, name: str) -> None:
        self._scene = scene
        self._value = value
        self._which = which
        self._draw = draw
        self._name = name
        self._calls: list[Call] = []
        self.gold: set[Dependency] = set()

    def _at(self, place: str) -> JsonValue:
        """What stands in a place: the value, or another."""
        differs = place in self._scene.decoys and not self._scene.agree and self._which in _DIFFERENT
        return _value(self._scene, self._draw) if differs else self._value

    def trace(self) -> Trace:
        there = self._scene.decoys | {self._scene.origin}
        mail = f"user{self._draw.randrange(10**6)}@example.com"
        makers = {
            "producer": lambda: self._call("crm.find", {"mail": mail}, {"ref": self._at("producer"), **self._noise()}),
            "second": lambda: self._call("billing.find", {"mail": mail}, {"account": self._at("second")}),
            "failed": lambda: self._call("crm.guess", {"mail": mail}, {"hint": self._at("failed")}, ok=False),
            "unlogged": lambda: self._call("log.open", {"mail": mail}, UNLOGGED),  # nobody knows what it held
        }
        order = [place for place in makers if place in there]
        self._draw.shuffle(order)
        for place in order:
            makers[place]()
            if self._draw.random() < 0.5:  # noqa: PLR2004 - as often as not
                self._call(f"news.read{self._draw.randrange(3)}", {}, self._noise())
        if "echo" in there:
            self._use("loyalty.points", {"ref": self._value, "points": self._draw.randrange(10**4, 10**5)})
        self._use("shop.use", {"ok": True})
        context = f"You act for {self._at('context')}." if "context" in there else "You act for a shop."
        said = f" It is {self._at('user')}." if "user" in there else ""
        return kept_whole(Trace(self._name, f"Do it for {mail}.{said}", tuple(self._calls), context))

    def _use(self, name: str, output: JsonValue) -> None:
        """A call that is given the value."""
        call = self._call(name, {"ref": self._value, "limit": 10}, output)
        source = {"producer": "crm.find", "failed": "crm.guess", "unlogged": "log.open"}.get(self._scene.origin)
        for producer in (each for each in self._calls if each.name == source):
            self.gold.add((self._name, producer.index, call.index))

    def _noise(self) -> dict[str, Any]:
        return {"id": f"N-{self._draw.randrange(10**6, 10**7)}", "n": self._draw.randrange(20)}

    def _call(self, name: str, args: JsonObject, output: Any, *, ok: bool = True) -> Call:
        app, _, action = name.partition(".")
        at = 2 * len(self._calls)
        call = Call(at, at + 1, app, action, args, output, ok=ok, effect=Effect.READ, raw_name=name)
        self._calls.append(call)
        return call

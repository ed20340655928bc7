"""Flows for tests: the original's published ones, and a made one in which every field is filled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stretto.bindings.model import Bindings, Pick, Slot, Source, SourceCounts, SpokenCounts
from stretto.bindings.uses import UseCounts, UseKey, Uses
from stretto.flow.file import read_flow
from stretto.flow.model import (
    Arbiter,
    Bar,
    Flow,
    Fold,
    Gate,
    Predicate,
    Promotion,
    Provenance,
    SiteRecord,
    Sites,
)
from stretto.flow.program import STANDARD, Program
from stretto.model.alphabet import RESPOND, StepOutcome, Vocabulary, symbol
from stretto.model.counts import Backoff, Habit
from stretto.model.features import FeatureMap, Field
from stretto.sessions.manifest import Manifest, ToolDoc

DATA = Path(__file__).parent.parent / "data"

#: The original's published flows, by a short name.
PUBLISHED = {
    "retail-5": "retail-5-sessions.flow.json",
    "retail-10": "retail-10-sessions.flow.json",
    "cold-start": "cold-start-2026-09-24-live.flow.json",
}

#: A tool whose name is what would break a page that took it for text.
ODD = "x|y\\|`z`\n<!-- b -->"


def published(name: str) -> Flow:
    """One of the original's flows."""
    return read_flow(DATA / PUBLISHED[name])


def other_program() -> Program:
    """A program that is not the standard run: it hands back at once."""
    return Program((), {**STANDARD.ret, "name": "call"})


def full_flow() -> Flow:
    """A flow of version 3 with something in every field."""
    tools = ["find", "get", "grep", "list", ODD, "write"]
    vocabulary = Vocabulary(tools)
    features = FeatureMap(
        {"get": (Field("Scalar", "status"), Field("Len", ""))}, {("get", ("open", "2+")): 1, ("get", ("∅", "0")): 2}
    )
    habit = Habit(Backoff(1.5, vocabulary.size), 1.5)
    reach = Backoff(1.5, vocabulary.size)
    find, get, grep = (vocabulary.action(tool) for tool in ("find", "get", "grep"))
    steps = [(find, 0), (get, 1), (get, 0), (grep, 0), (RESPOND, 0)]
    history: list[int] = []
    for place, (action, feature) in enumerate([*steps, *steps, *steps]):
        habit.observe(history, action)
        reach.observe(history, {later for later, _ in steps[place % len(steps) :]}, weight=0.5)
        outcome = StepOutcome.REPLIED if action == RESPOND else StepOutcome.OK
        history.append(symbol(action, outcome, feature))
    users, hits = Source("find", "$.users[*].id"), Source("grep", "$[*]")
    return Flow(
        provenance=Provenance("0.1.0", ("agent-1", "agent-2"), 3, 12, 1_700_000_000_000, "conventions 1.38.0"),
        vocabulary=vocabulary,
        manifest=Manifest(
            "shop",
            {
                "find": "read",
                "get": "read",
                "grep": "read",
                "list": "read",
                ODD: "read",
                "write": "write",
                "ask": "generic",
            },
            {"get": ToolDoc("Gets one.", {"id": "of it"})},
            {"get": "id:string!, kind:string|null", "find": "name:string!"},
        ),
        features=features,
        habit=habit,
        reach=reach,
        sites=Sites(
            tuple(sorted(["find", "get", "grep", "list", ODD])),
            {("find", False): {"get": 3}, ("get", False): {"get": 3, "grep": 3, ODD: 1}, ("get", True): {"list": 1}},
            {"get": {("write", "id"): 2}},
        ),
        bindings=Bindings(
            args={
                "find": (6, {"name": 6}),
                "get": (9, {"id": 9, "kind": 9, "note": 2}),
                "grep": (4, {"path": 4}),
                "list": (5, {"all": 1}),
                ODD: (3, {"a|b": 3, "when": 3}),
            },
            sources={
                Slot("get", "id"): SourceCounts(9, {users: 5, hits: 3, Source("list", "$"): 1}),
                Slot("find", "name"): SourceCounts(6),
            },
            agreed={"get": ((4, 6), (2, 2)), ODD: ((0, 1), (0, 0))},
            named_other={"get": (0, 4)},
            described_read={"get": (1, 5)},
            site_sources={
                (Slot("get", "id"), "find", users): 1,
                (Slot("get", "id"), "find", hits): 4,
                (Slot("get", "id"), "get", users): 4,
            },
            lists={Slot("grep", "path"): SourceCounts(4, {Source("list", "$.files[*]"): 4})},
            bare={"list": 4},
            constants={Slot("get", "kind"): "full", Slot("list", "all"): {"deep": [1, None, 2**70]}},
            derived={Slot("grep", "path"): SourceCounts(4, {Source("list", '$[*] |inner ["- ",""]'): 2})},
            spoken={Slot("find", "name"): SpokenCounts(6, {"email": 4, "#X{8}": 2, "a_9{4}": 1})},
            records={ODD: SourceCounts(3, {Source("get", '$.items[*] |record ["a|b","n","when","date"]'): 3})},
            agreed_derived={"grep": ((1, 2), (0, 0))},
            agreed_spoken={"find": ((0, 0), (3, 4))},
            agreed_record={ODD: ((2, 2), (1, 1))},
        ),
        program=other_program(),
        arbiter=Arbiter(
            (
                Predicate("more", "any_lookup", "Is there more?", "Yes.", "No."),
                Predicate("this", {"lookup": "get"}, "This one?", "Yes.", "No."),
            ),
            (Predicate("more", "any_lookup", "Is there more?", "Yes.", "No."),),
            (Fold((1.0, 0.5, -0.5, 0.25, 0.125, 2.0), {"find": (3.0, 2.0, 3.0)}, 0.5, 1.0),),
            "a-model",
        ),
        promoted=Promotion(
            Bar(0.3, 0.7, 0.5, 3),
            {
                "find": SiteRecord(9, 8, 7, 4, 0.589, promoted=True),
                "get": SiteRecord(9, 3, 3, 3, 0.526, promoted=True),
                "get (error)": SiteRecord(2, 1, 0, 1, 0.0, promoted=False),
            },
        ),
        thresholds={"find": 0.45, "get": 2.0},
        surprise=Gate(5, 2.5, 0.95),
        uses=Uses(
            {
                UseKey("find", False, "get", "constant+source", Pick.PICKED, 0): UseCounts(3, 4, 5),
                UseKey("get", True, "list", "constant", Pick.NONE, 3): UseCounts(0, 2, 0),
            }
        ),
    )


def plain(flow: Flow) -> Flow:
    """The flow without all that version 1 has not."""
    bindings = replace(
        flow.bindings,
        named_other={},
        described_read={},
        site_sources={},
        lists={},
        bare={},
        constants={},
        derived={},
        spoken={},
        records={},
        agreed_derived={},
        agreed_spoken={},
        agreed_record={},
    )
    return replace(flow, bindings=bindings, thresholds={}, surprise=None, uses=Uses())

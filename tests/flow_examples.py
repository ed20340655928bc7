"""The examples of docs/file-formats.md that stretto writes: made with its own writers, the same on every machine."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto import LearnOptions, Manifest, Provenance, learn, open_corpus
from stretto.bindings.model import Bindings, Pick, Slot, Source, SourceCounts, SpokenCounts
from stretto.bindings.uses import UseCounts, UseKey, Uses
from stretto.flow.file import dump_flow, flow_to_json
from stretto.flow.model import Arbiter, Bar, Fold, Gate, Predicate, Promotion, SiteRecord
from stretto.flow.program import STANDARD, encode
from stretto.model.features import FeatureMap, Field
from stretto.sessions.episode import ToolCall
from stretto.sessions.log import Header
from stretto.sessions.log_writer import LogWriter
from stretto.sessions.manifest import ToolDoc, write_manifest
from stretto.speculator import Speculator
from tests.stretto.sessions.logs_support import answer, call, listing, said
from waggle import Result, jsonvalue
from waggle.files import append_lines

if TYPE_CHECKING:
    from stretto.flow.model import Flow
    from waggle.jsonvalue import JsonObject, JsonValue

STARTED_MS: Final = 1_772_366_400_000
COMPILED_MS: Final = 1_772_452_800_000


def _tool(name: str, argument: str, about: str) -> JsonObject:
    properties: JsonObject = {argument: {"type": "string"}}
    schema: JsonObject = {"type": "object", "properties": properties, "required": [argument]}
    hints: JsonObject = {"readOnlyHint": not name.startswith("cancel")}
    return {"name": name, "description": about, "annotations": hints, "inputSchema": schema}


TOOLS: Final = [
    _tool("find_user", "email", "The customer with this address."),
    _tool("get_order", "order_id", "An order."),
    _tool("cancel_order", "order_id", "Cancel a pending order."),
]


def write_session(folder: Path, number: int) -> Path:
    """A session log: a customer is found, their order is read, and cancelled."""
    path = folder / f"s{number}.jsonl"
    header = Header(f"s{number}", STARTED_MS + number, ("shop-server",), "shop", "my-agent/model")
    email, order = f"ada{number}@mail.example", f"#W{number}1"
    writer = LogWriter(path, header)
    for entry in (
        *listing(0, 0, *TOOLS),
        said(1, "user", f"Please cancel my order. I am {email}."),
        call(900, 1, "find_user", email=email),
        answer(940, 1, jsonvalue.dumps({"user": f"ada_{number}", "orders": [order]}).decode()),
        call(1900, 2, "get_order", order_id=order),
        answer(1950, 2, jsonvalue.dumps({"id": order, "status": "pending"}).decode()),
        call(2900, 3, "cancel_order", order_id=order),
        answer(2960, 3, "cancelled"),
    ):
        if entry.message is not None:
            writer.message(entry.t_ms, entry.sender, entry.message)
    writer.line(3000, "server", b"shop-server: bye\n")
    return path


def small_flow() -> Flow:
    """What two such sessions teach, by the original's rules alone."""
    with tempfile.TemporaryDirectory() as place:
        for number in range(2):
            write_session(Path(place), number)
        options = LearnOptions(derive=False, speak=False, uses=False, features=False, alpha=1.0)
        return learn(open_corpus(place), options, provenance=Provenance("0.1.0", compiled_unix_ms=COMPILED_MS))


def large_flow() -> Flow:
    """The same with everything a flow may have beside, put together by hand."""
    flow = small_flow()
    order, user, news = Slot("get_order", "order_id"), Slot("find_user", "email"), Slot("get_news", "day")
    listed, found = Source("find_user", "$.orders[*]"), SourceCounts(8, {Source("find_user", "$.orders[*]"): 8})
    flow.bindings = Bindings(
        args={"get_order": (20, {"order_id": 20}), "get_news": (9, {"day": 6})},
        sources={order: SourceCounts(20, {listed: 16, Source("get_order", "$.related"): 4})},
        agreed={"get_order": ((14, 16), (3, 4))},
        named_other={"get_order": (0, 4)},
        described_read={"get_order": (1, 3)},
        site_sources={(order, "get_order", listed): 8, (order, "get_order", Source("get_order", "$.related")): 2},
        lists={Slot("get_orders", "order_ids"): found},
        bare={"get_news": 3},
        constants={news: "today"},
        derived={Slot("get_file", "path"): SourceCounts(5, {Source("list_files", '$[*] |inner ["- ",""]'): 5})},
        spoken={user: SpokenCounts(20, {"email": 18})},
        records={
            "get_flight": SourceCounts(
                6, {Source("get_trip", '$.flights[*] |record ["date","date","number","flight_number"]'): 6}
            )
        },
        agreed_derived={"get_file": ((4, 5), (0, 0))},
        agreed_spoken={"find_user": ((0, 0), (17, 18))},
        agreed_record={"get_flight": ((5, 6), (0, 0))},
    )
    flow.features = FeatureMap(
        {"get_order": (Field("Scalar", "status"), Field("Len", "items"))},
        {("get_order", ("cancelled", "1")): 1, ("get_order", ("pending", "2+")): 2},
    )
    flow.thresholds = {"get_order": 0.5, "get_order (error)": 2.0}
    flow.surprise = Gate(5, 3.25, 0.95)
    record = SiteRecord(decisions=12, lookups=10, used=9, tasks=8, lower=0.652, promoted=True)
    flow.promoted = Promotion(Bar(0.3, 0.7, 0.5, 3), {"find_user": record})
    asked = Predicate("more_orders", "same_lookup", "Will it read another order?", "Some are unread.", "All are read.")
    fold = Fold((1.0, 0.5, 0.25, -0.5, 0.75, 0.1), {"get_order": (20.0, 15.0, 19.0)}, agree=0.75, cover=0.95)
    flow.arbiter = Arbiter((asked,), (asked,), (fold,) * 5, "jev-1")
    flow.uses = Uses({UseKey("find_user", False, "get_order", "source", Pick.NONE, 0): UseCounts(14, 16, 15)})
    return flow


def by_field(value: JsonObject) -> str:
    """An object as JSON with a line a field, otherwise as files have it."""
    return "{" + ",\n ".join(f"{_dumped(name)}:{_dumped(inner)}" for name, inner in value.items()) + "}\n"


def _dumped(value: JsonValue) -> str:
    return jsonvalue.dumps(value).decode()


def flow_log() -> str:
    """What a speculator writes of a session under the small flow."""
    ticks = itertools.count(step=0.00025)
    lines: list[JsonObject] = []
    speculator = Speculator(small_flow(), threshold=0.5, on_line=lines.append, clock=lambda: next(ticks))
    speculator.user("Please cancel my order. I am ada9@mail.example.")
    speculator.turn()
    speculator.call(ToolCall("1", "find_user", {"email": "ada9@mail.example"}))
    speculator.result("1", error=False, content='{"orders":["#W91"]}')
    speculator.begin("1")
    while speculator.next():
        speculator.settle(Result('{"id":"#W91","status":"pending"}'))
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "s9.flow.jsonl"
        append_lines(path, [jsonvalue.dumps(line) for line in lines])
        return path.read_text(encoding="utf-8")


def stretto_files() -> dict[str, str]:
    """Every file that stretto writes, as it writes it; flows with a line a field."""
    found: dict[str, str] = {"flow log": flow_log()}
    with tempfile.TemporaryDirectory() as place:
        found["session log"] = write_session(Path(place), 0).read_text(encoding="utf-8")
        manifest = Path(place) / "manifest.json"
        docs = {"get_order": ToolDoc("An order.", {"order_id": "with its #"})}
        write_manifest(manifest, Manifest("shop", {"get_order": "read", "cancel_order": "write"}, docs))
        found["manifest"] = manifest.read_text(encoding="utf-8")
    small, large = flow_to_json(small_flow()), flow_to_json(large_flow())
    found["flow"] = by_field(small)
    bindings, known = large["bindings"], small["bindings"]
    assert isinstance(bindings, dict)
    assert isinstance(known, dict)
    found["more bindings"] = by_field({name: each for name, each in bindings.items() if name not in known})
    kept = ("map", "predicates", "folds", "promoted", "thresholds", "surprise", "uses")
    found["more of a flow"] = by_field({name: _shortened(large[name]) for name in kept})
    found["program"] = by_field(encode(STANDARD))
    return found


def _shortened(value: JsonValue) -> JsonValue:
    """Of an arbiter's five equal folds, one."""
    return value[:1] if isinstance(value, list) and value and all(each == value[0] for each in value) else value


def flow_bytes() -> bytes:
    """The large flow's file."""
    return dump_flow(large_flow())

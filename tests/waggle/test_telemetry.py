"""What hosts see of lookups: real spans and metrics of OpenTelemetry's SDK, and lines of the log without it."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.waggle.session_support import LS, READ_A, READ_B, ROUTE, call, host
from waggle import Call, Manager, ManagerConfig, Result, Store, read_ledger
from waggle.settings import load_settings
from waggle.telemetry import CAPTURE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from opentelemetry.trace import Tracer

BUSINESS = "the text of nobody's business"


class Seen:
    """What the host's OpenTelemetry was told since the test began."""

    def __init__(self, reader: InMemoryMetricReader) -> None:
        self._reader = reader
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer: Tracer = provider.get_tracer("host")

    def events(self) -> list[dict[str, Any]]:
        """Attributes of all fold events, in order."""
        spans = self._exporter.get_finished_spans()
        return [dict(event.attributes or {}) for span in spans for event in span.events if event.name == "waggle.fold"]

    def points(self) -> list[tuple[str, dict[str, Any], Any]]:
        """Name, attributes and data of every data point since the last look."""
        data = self._reader.get_metrics_data()
        if data is None:
            return []
        return [
            (metric.name, dict(point.attributes or {}), point)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            if scope.scope.name == "waggle"
            for metric in scope.metrics
            for point in metric.data.data_points
        ]


@pytest.fixture(scope="module")
def reader() -> InMemoryMetricReader:
    """A process has one meter provider, for good."""
    deltas = dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA)
    reader = InMemoryMetricReader(preferred_temporality=deltas)  # type: ignore[arg-type] # a dict is invariant
    metrics.set_meter_provider(MeterProvider([reader]))
    return reader


@pytest.fixture
def seen(reader: InMemoryMetricReader) -> Iterator[Seen]:
    reader.get_metrics_data()
    seen = Seen(reader)
    yield seen
    reader.get_metrics_data()


def opened(folder: Path, **knobs: Any) -> Manager:
    store = Store(folder / "skills", folder / "ledger.jsonl")
    return Manager(ManagerConfig(**knobs), routes=[ROUTE], store=store)


def work(m: Manager, seen: Seen, session: str, *after: Call, run: Any = None) -> None:
    """The start of a route, the rest of which is looked up inside the host's span; then what the agent does."""
    conversation = m.session(session)
    for step in (LS, READ_A):
        conversation.observe(call(step), Result("x" * 400))
    with seen.tracer.start_as_current_span("execute_tool read"):
        conversation.follow(run or host()[0])
    for later in after:
        conversation.observe(later, Result("ok"))
    m.end(session)


EDIT = Call("edit", {"path": "elsewhere.go"})


def fails(tool: str, args: dict[str, Any]) -> Result:
    return Result("no", ok=False)


def test_the_hosts_span_gets_an_event_for_each_fold(seen: Seen, tmp_path: Path) -> None:
    with opened(tmp_path) as m:
        work(m, seen, "a", run=lambda tool, args: "ü" * 40)
        work(m, seen, "b", run=fails)
    (event,) = seen.events()
    assert event["waggle.lookups"] == 1
    assert event["waggle.strategies"] == ("routes",)
    assert event["waggle.sources"] == (ROUTE.name,)
    assert event["waggle.tokens"] > 0
    assert event["waggle.bytes"] > 2 * 40
    assert set(event) == {f"waggle.{key}" for key in ("lookups", "bytes", "tokens", "strategies", "sources")}


def test_a_fold_of_async_code_is_told_to_the_span_that_waits_for_it(seen: Seen) -> None:
    async def run(tool: str, args: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        return "text"

    async def turn(m: Manager) -> None:
        for step in (LS, READ_A):
            m.observe(call(step), "x")
        with seen.tracer.start_as_current_span("execute_tool read"):
            assert await m.afollow(run)

    asyncio.run(turn(Manager(routes=[ROUTE])))
    assert [event["waggle.lookups"] for event in seen.events()] == [1]


def test_the_counters_add_up_to_the_ledger(seen: Seen, tmp_path: Path) -> None:
    with opened(tmp_path) as m:
        for name in "abc":
            work(m, seen, name, call(READ_B))
        work(m, seen, "d", EDIT)
        work(m, seen, "e")  # ends without a write
        work(m, seen, "f", EDIT, run=fails)
    stat = read_ledger(tmp_path / "ledger.jsonl")[ROUTE.name]
    told = {
        (name, attributes.pop("waggle.outcome", None)): (attributes, point) for name, attributes, point in seen.points()
    }
    values = {key: point.value for key, (_, point) in told.items() if hasattr(point, "value")}
    assert values == {
        ("waggle.lookups", "used"): stat.used,
        ("waggle.lookups", "detour"): stat.detours,
        ("waggle.lookups", "failed"): stat.fails,
        ("waggle.folds", None): stat.uses,
        ("waggle.turns.saved", None): stat.used,
        ("waggle.tokens.added", None): stat.yield_tokens,
        ("waggle.tokens.saved", None): stat.saved_tokens,
        ("waggle.tokens.spent", None): stat.spent_tokens,
    }
    assert (stat.used, stat.detours, stat.fails) == (3, 2, 1)
    attributes, durations = told["waggle.follow.duration", None]
    assert (attributes, durations.count) == ({}, 6)
    assert 0 < durations.sum < 6 * ManagerConfig().follow_seconds
    assert told["waggle.folds", None][0] == {}
    assert told["waggle.tokens.spent", None][0] == {"waggle.strategy": "routes"}


def test_what_is_held_back_is_counted_apart(seen: Seen, tmp_path: Path) -> None:
    with opened(tmp_path, control_share=1.0) as m:
        work(m, seen, "a", call(READ_B))
        work(m, seen, "b", EDIT)
    told = {(name, attributes["waggle.outcome"]): point.value for name, attributes, point in seen.points()}
    assert told == {("waggle.lookups.held", "used"): 1, ("waggle.lookups.held", "detour"): 1}
    assert seen.events() == []


def texts(value: object) -> str:
    """Everything that is told, as one text."""
    return json.dumps(value, default=list)


def answer(tool: str, args: dict[str, Any]) -> str:
    return f"{BUSINESS} password=hunter2secret"


def test_no_argument_and_no_text_is_told(seen: Seen, tmp_path: Path) -> None:
    with opened(tmp_path) as m:
        work(m, seen, "a", call(READ_B), run=answer)
        work(m, seen, "b", EDIT, run=answer)
    told = texts([seen.events(), [(name, attributes) for name, attributes, _ in seen.points()]])
    assert len(seen.events()) == 2
    for unheard in (BUSINESS, "hunter2", "b.go", "a.go", "internal", "read"):
        assert unheard not in told, unheard


@pytest.mark.parametrize(
    ("value", "captured"),
    [
        ("true", True),
        ("SPAN_AND_EVENT", True),
        ("span_only", True),
        ("false", False),
        ("NO_CONTENT", False),
        ("event_only", False),
        ("", False),
    ],
)
def test_a_host_that_captures_content_gets_it_without_secrets(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, value: str, *, captured: bool
) -> None:
    monkeypatch.setenv(CAPTURE_VARIABLE, value)
    work(Manager(routes=[ROUTE]), seen, "a", run=answer)
    (event,) = seen.events()
    assert (BUSINESS in event.get("waggle.text", "")) is captured
    assert event.get("waggle.calls", ()) == (('read {"path":"b.go"}',) if captured else ())
    assert "hunter2secret" not in texts(event)


def test_a_fold_outside_any_span_is_counted_all_the_same(seen: Seen) -> None:
    m = Manager(routes=[ROUTE])
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    assert m.follow(host()[0])
    assert [point.value for name, _, point in seen.points() if name == "waggle.folds"] == [1]
    assert m.faults() == {}


def test_it_can_be_switched_off(seen: Seen, tmp_path: Path) -> None:
    with opened(tmp_path, telemetry=False) as m:
        work(m, seen, "a", call(READ_B))
    assert seen.points() == []
    assert seen.events() == []


def test_the_setting_reaches_the_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings(tmp_path).settings.manager_config().telemetry
    monkeypatch.setenv("WAGGLE_TELEMETRY", "false")
    assert not load_settings(tmp_path).settings.manager_config().telemetry


class _Broken(metrics.MeterProvider):
    """A provider whose every instrument raises."""

    def get_meter(self, *args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError


def test_a_meter_that_raises_is_switched_off_and_reported_once(
    seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(metrics, "get_meter", _Broken().get_meter)
    with opened(tmp_path) as m:
        for name in "abc":
            work(m, seen, name, call(READ_B))
        assert m.faults() == {"telemetry switched off": 1}
    assert read_ledger(tmp_path / "ledger.jsonl")[ROUTE.name].used == 3
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


_ALONE = """
    import json, logging, sys

    class Absent:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "opentelemetry":
                raise ModuleNotFoundError(name)

    sys.meta_path.insert(0, Absent())
    records = []

    class Keep(logging.Handler):
        def emit(self, record):
            records.append([record.levelname, *record.getMessage().split(" ", 1)])

    logging.getLogger("waggle").setLevel(LEVEL)
    logging.getLogger("waggle").addHandler(Keep())
    from waggle import Call, Manager, Result, Route
    from waggle.routes import RouteStep

    steps = [RouteStep("ls", {"path": "src"}), RouteStep("read", {"path": "a"}), RouteStep("read", {"path": "b"})]
    with Manager(routes=[Route("look-around", tuple(steps))]) as m:
        for step in steps[:2]:
            m.observe(Call(step.tool, step.args), "x" * 40)
        assert m.follow(lambda tool, args: "nobody's business")
        m.observe(Call("edit", {"path": "c"}), "ok")
    assert "opentelemetry" not in sys.modules
    print(json.dumps([[level, event, json.loads(about)] for level, event, about in records]))
"""


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING"])
def test_without_opentelemetry_the_log_tells_it(level: str) -> None:
    code = textwrap.dedent(_ALONE).replace("LEVEL", repr(level))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "business" not in done.stdout
    assert [(kind, event) for kind, event, _ in told] == {
        "DEBUG": [("INFO", "waggle.fold"), ("DEBUG", "waggle.settled")],
        "INFO": [("INFO", "waggle.fold")],
        "WARNING": [],
    }[level]
    if told:
        about = told[0][2]
        assert about.pop("waggle.seconds") > 0
        assert about.pop("waggle.bytes") > 100
        assert about == {
            "waggle.lookups": 1,
            "waggle.tokens": 4,
            "waggle.strategies": ["routes"],
            "waggle.sources": ["look-around"],
            "waggle.failed": 0,
        }
    if len(told) > 1:
        assert told[1][2] | {"waggle.tokens.spent": 0} == {
            "waggle.strategy": "routes",
            "waggle.source": "look-around",
            "waggle.outcome": "detour",
            "waggle.held": False,
            "waggle.tokens.saved": 0,
            "waggle.tokens.spent": 0,
        }


def test_opentelemetry_is_not_loaded_by_us() -> None:
    """It is there, but the host has not loaded it: it takes longer to load than all of waggle."""
    code = textwrap.dedent(_ALONE).replace("LEVEL", "'INFO'").replace("sys.meta_path.insert(0, Absent())", "")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert [event for _, event, _ in json.loads(done.stdout)] == ["waggle.fold"]

"""What is measured. Each topic makes its data, seeded, and gives rows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from benchmarks import streams
from benchmarks.flow_topics import FLOW_TOPICS
from benchmarks.hook_topics import HOOK_TOPICS
from benchmarks.intent_topics import INTENT_TOPICS
from benchmarks.proxy_topics import PROXY_TOPICS
from benchmarks.timing import Row, best, side_by_side, yardstick
from waggle import (
    Call,
    IncrementalMiner,
    Ledger,
    LedgerEntry,
    Manager,
    ManagerConfig,
    MineConfig,
    Param,
    Result,
    Route,
    Step,
    Store,
    compact_ledger,
    load_routes,
    mine,
    read_ledger,
    shell,
)
from waggle._defaults import CONTENT_CHARS
from waggle.calls import Effect
from waggle.routes import RouteStep, named
from waggle.traces import read_traces, trace_files
from waggle.values import Content

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.streams import StreamCall

__all__ = ["TOPICS"]

SESSIONS = Path(__file__).resolve().parent.parent / "examples" / "sessions"
RESULT = Result("x" * 400)
ROUNDS = 6  # the best of six, as the original's figures are
STREAMS = ("agent", "periodic", "distinct_values", "distinct_shapes")


def calls_of(rows: Sequence[StreamCall]) -> list[Call]:
    """Stream rows as calls, with the stream's own word on what reads."""
    return [Call(row["tool"], row["args"], reads=not row["mutates"]) for row in rows]


def observing(calls: Sequence[Call], config: ManagerConfig, result: Result = RESULT) -> Callable[[], object]:
    """A fresh manager that takes in a whole stream."""

    def run() -> None:
        observe = Manager(config).session("bench").observe
        for call in calls:
            observe(call, result)

    return run


def observe() -> Iterator[Row]:
    """`Session.observe`, mining included, amortised over 10,000 calls.

    Measured is the time of the thread that calls, since that is what an agent waits for; what is counted behind its
    back has a row of its own. Here calls follow each other without a pause, which no agent does.
    """
    for name in STREAMS:
        calls = calls_of(getattr(streams, name)(10_000))
        for config, rules in ((ManagerConfig(), "default rules"), (ManagerConfig.original(), "the original's rules")):
            took, step, ratio = side_by_side(observing(calls, config), yardstick, rounds=ROUNDS, clock=time.thread_time)
            bar = 25.0 if config.rules == "waggle" else None
            beside = f"a million additions ({step * 1e3:.0f} ms)"
            yield Row(f"observe, {name}, {rules}", took / len(calls) * 1e6, "µs a call", bar, beside, ratio)
    calls, large = calls_of(streams.agent(10_000)), Result("x" * 20_000)
    beyond_ascii = Result("x" * 20_000 + "—")
    for result, kind in ((large, "20 kB"), (beyond_ascii, "20 kB, not ASCII")):
        one, other = observing(calls, ManagerConfig(), result), observing(calls, ManagerConfig())
        took, _, ratio = side_by_side(one, other, rounds=ROUNDS, clock=time.thread_time)
        yield Row(f"observe, agent, results of {kind}", took / 1e4 * 1e6, "µs a call", 25.0, "results of 400 B", ratio)


def counting() -> Iterator[Row]:
    """What is counted of a call in the background, until it is done: processor time of all threads, less the call's."""
    for name in STREAMS:
        calls = calls_of(getattr(streams, name)(10_000))

        def run(calls: Sequence[Call] = calls) -> None:
            manager = Manager()
            observe = manager.session("bench").observe
            for call in calls:
                observe(call, RESULT)
            manager.flush()

        whole = best(run, rounds=3, clock=time.process_time)
        alone = best(observing(calls, ManagerConfig()), rounds=3, clock=time.thread_time)
        yield Row(f"counted in the background, {name}", (whole - alone) / len(calls) * 1e6, "µs a call")


def tracing() -> Iterator[Row]:
    """Indexing what a result says, against going over its lines once."""
    lines = re.compile(r"(?m)^.*$")
    hits = (f"src/pkg{n % 97}/mod{n % 11}.py:{n}:    return self.thing_{n}(x, y)  # as before" for n in range(1, 2000))
    prose = ("an ordinary line of prose or code, without names of files in it, as most are" for _ in range(1700))
    for kind, made in (("search", hits), ("prose", prose)):
        text = "\n".join(made)[:CONTENT_CHARS]

        def scan(text: str = text) -> None:
            text.splitlines()
            for _ in lines.finditer(text):
                pass

        def index(text: str = text) -> None:
            content = Content({}, Result(text))
            content.places(content.files[0].path if content.files else "")

        took, _, ratio = side_by_side(index, scan, rounds=9)
        yield Row(
            f"indexing a {kind} result of {len(text) // 1024} kB", took * 1e3, "ms", None, "its lines once", ratio
        )


def library(size: int) -> list[Route]:
    """Routes as a real library has them: a fifth share their first step, a tenth have a parameter in the middle."""
    routes: list[Route] = []
    for number in range(size):
        first = RouteStep("ls", {"path": "."}) if number % 5 == 0 else RouteStep("ls", {"path": f"d{number}"})
        steps = [first, *(RouteStep("read", {"path": f"d{number}/{part}.go"}) for part in ("a", "b", "c"))]
        params: tuple[Param, ...] = ()
        if number % 10 == 3:  # noqa: PLR2004 - a tenth
            steps[1], params = RouteStep("search", {"pattern": None, "path": f"d{number}"}), (Param(1, "pattern"),)
        routes.append(named(Route("", tuple(steps), params, count=3, support=1)))
    return routes


def follow() -> Iterator[Row]:
    """`follow` when nothing fires, and what ten thousand routes add to it."""
    calls = [call for call in calls_of(streams.agent(5_000)) if call.reads]
    config = ManagerConfig(learn=False)

    def passing(routes: list[Route], spent: list[float]) -> Callable[[], object]:
        manager = Manager(config, routes=routes)

        def run() -> None:
            session = manager.session()
            follows = 0.0
            for call in calls:
                session.observe(call, RESULT)
                start = time.perf_counter()
                session.follow(lambda _tool, _args: "")
                follows += time.perf_counter() - start
            spent.append(follows)

        return run

    for size in (10, 100, 1_000, 10_000):
        spent: list[float] = []
        best(passing(library(size), spent))
        yield Row(f"follow without a match, {size:,} routes", min(spent) / len(calls) * 1e6, "µs", 10.0)
    many, _, ratio = side_by_side(passing(library(10_000), []), passing(library(10), []), rounds=7)
    yield Row("observe + follow, 10,000 routes", many / len(calls) * 1e6, "µs", None, "10 routes (bar 1.5)", ratio)


def loading() -> Iterator[Row]:
    """Reading stored skills."""
    with tempfile.TemporaryDirectory() as place:
        for size in (1_000, 10_000):
            store = Store(Path(place) / str(size), Path(place) / "l")
            for route in library(size):
                folder = store.directory / route.name
                folder.mkdir(parents=True)  # not through promote: the syncs of 10,000 folders take minutes
                for name, text in store.rendered(route).items():
                    path = folder / name
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(text, encoding="utf-8")
            paths = sorted(store.directory.glob("*/route.json"))

            def floor(paths: list[Path] = paths) -> None:
                for path in paths:
                    orjson.loads(path.read_bytes())

            took, read, ratio = side_by_side(lambda store=store: load_routes(store), floor, rounds=3)  # type: ignore[misc] # mypy does not follow the bound default
            bar = 1.4 if size == 10_000 else None  # noqa: PLR2004 - the size of the bar
            yield Row(
                f"load_routes, {size:,} skills", took, "s", bar, f"reading and parsing them ({read:.2f} s)", ratio
            )
        old = Store(Path(place) / "old", Path(place) / "l", form="file")
        old.directory.mkdir()
        for number in range(500):
            steps = tuple(RouteStep("read", {"path": f"{number}/{part}"}) for part in "abc")
            for name, written in old.rendered(Route("", steps)).items():
                (old.directory / name).write_text(written, encoding="utf-8")
        took = best(lambda: load_routes(old), rounds=3)
        yield Row("load_routes, 500 single files", took / 500 * 1e3, "ms a file")


def ledger() -> Iterator[Row]:
    """The reuse log."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "ledger.jsonl"
        log, entry = Ledger(path), LedgerEntry("a-route-12345678", 3, 900)
        line = entry.encode() + b"\n"

        def plain() -> None:
            with (Path(place) / "plain").open("ab", buffering=0) as file:
                for _ in range(500):
                    file.write(line)

        def locked() -> None:
            for _ in range(500):
                log.append(entry)

        took, bare, ratio = side_by_side(locked, plain)
        yield Row(
            "ledger append, locked", took / 500 * 1e6, "µs", 100.0, f"a bare write ({bare / 500 * 1e6:.1f} µs)", ratio
        )
        large = Path(place) / "large.jsonl"
        text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in streams.ledger(100_000))
        large.write_text(text, encoding="utf-8")

        def floor() -> None:
            for each in large.read_bytes().split(b"\n"):
                if each:
                    orjson.loads(each)

        took, parse, ratio = side_by_side(lambda: read_ledger(large), floor)
        yield Row("read_ledger, 100,000 lines", took, "s", 0.11, f"parsing them ({parse:.3f} s)", ratio)
        names = {f"wag_{number:010x}" for number in range(0, 500, 2)}

        def compacted() -> None:
            large.write_text(text, encoding="utf-8")
            compact_ledger(large, names)

        yield Row("compact_ledger, 100,000 lines", best(compacted, rounds=3), "s", None)


def startup() -> Iterator[Row]:
    """Fresh processes."""

    def fresh(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    for code in ("import waggle", "from waggle import Manager, Call, Result; Manager()"):
        took, bare, ratio = side_by_side(fresh(code), fresh("pass"), rounds=15)
        yield Row(f"python -c '{code}'", took * 1e3, "ms", None, f"python -c pass ({bare * 1e3:.0f} ms)", ratio)


def mining() -> Iterator[Row]:
    """The definition against call by call, on one window of 200 calls."""
    rows = streams.agent(400)
    steps = [
        Step(number, row["tool"], dict(row["args"]), effect=Effect.WRITE if row["mutates"] else Effect.READ)
        for number, row in enumerate(rows)
    ]
    miner = IncrementalMiner()
    for step in steps[:200]:
        miner.append(step)

    def slide() -> None:
        for step in steps[200:]:
            miner.evict()
            miner.append(step)

    took, full, _ = side_by_side(slide, lambda: mine(steps[200:]))
    yield Row("mine, a window of 200", full * 1e3, "ms")
    yield Row("IncrementalMiner, one call", took / 200 * 1e6, "µs", None, "mining the window again", took / 200 / full)


def commands() -> Iterator[Row]:
    """Judging the shell commands of the shipped sessions."""
    found = {
        str(step.call.args.get("command"))
        for path in trace_files(SESSIONS)
        for trace in read_traces(path)
        for step in trace.steps
        if step.call.tool.lower() == "bash"
    }
    judged = sum(shell.reads(command) for command in found)
    took, length, _ = side_by_side(lambda: [shell.judge(command) for command in found], yardstick)
    del length
    yield Row(f"shell.judge, {len(found):,} commands, {judged:,} read", took / len(found) * 1e6, "µs a command")


def reading() -> Iterator[Row]:
    """Reading recorded sessions."""
    import gzip  # noqa: PLC0415 - of this topic alone

    lines = [line for path in trace_files(SESSIONS) for line in gzip.decompress(path.read_bytes()).splitlines()]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "all.jsonl"
        path.write_bytes(b"\n".join(lines) + b"\n")
        took, parse, ratio = side_by_side(
            lambda: sum(1 for _ in read_traces(path)), lambda: [orjson.loads(line) for line in lines]
        )
    size = sum(map(len, lines)) / 1e6
    yield Row(f"read_traces, {size:.0f} MB", took, "s", None, f"orjson.loads ({parse:.3f} s)", ratio)


def anticipation() -> Iterator[Row]:
    """How many calls of `agent_eval` a library learned on `agent` knows beforehand; exact numbers, no times."""
    rules_of = {
        "the original's rules, our replay": ManagerConfig.original(),
        "default rules": ManagerConfig(),
        "default rules, promoted after two": ManagerConfig(mine=MineConfig()),
    }
    for rules, config in rules_of.items():
        learner = Manager(replace(config, replay=False))
        for call in calls_of(streams.agent(10_000)):
            learner.observe(call, RESULT)
        firings, exact, known = _anticipated(learner.learned(), config)
        yield Row(f"anticipated of 10,000 calls, {rules}", known, "calls", None, f"{exact} of {firings} firings exact")
    yield Row("the original itself", 910, "calls", None, "484 of 497 firings exact")


def _anticipated(routes: list[Route], config: ManagerConfig) -> tuple[int, int, int]:
    rows = streams.agent_eval(10_000)
    firings = exact = known = 0
    for start in range(0, len(rows), 200):
        session = Manager(replace(config, learn=False, lookups_per_session=10_000), routes=routes).session()
        window = rows[start : start + 200]
        ahead: set[int] = set()
        for number, (row, call) in enumerate(zip(window, calls_of(window), strict=True)):
            session.observe(call, RESULT)
            asked: list[tuple[str, dict[str, Any]]] = []
            if row["mutates"]:
                continue
            session.follow(lambda tool, args, asked=asked: asked.append((tool, args)) or "")  # type: ignore[misc] # mypy does not follow the bound default
            if asked:
                coming = [(one["tool"], one["args"]) for one in window[number + 1 : number + 1 + len(asked)]]
                right = next((i for i, (a, b) in enumerate(zip(asked, coming, strict=False)) if a != b), len(coming))
                firings, exact = firings + 1, exact + (asked == coming)
                ahead |= set(range(number + 1, number + 1 + min(right, len(asked))))
        known += len(ahead)
    return firings, exact, known


TOPICS: dict[str, Callable[[], Iterator[Row]]] = {
    "observe": observe,
    "counting": counting,
    "tracing": tracing,
    "follow": follow,
    "loading": loading,
    "ledger": ledger,
    "startup": startup,
    "mining": mining,
    "commands": commands,
    "reading": reading,
    "anticipation": anticipation,
    **FLOW_TOPICS,
    **HOOK_TOPICS,
    **INTENT_TOPICS,
    **PROXY_TOPICS,
}

"""What is measured of flows: deciding after a call, and learning from logs."""

from __future__ import annotations

import dataclasses
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from benchmarks.timing import Row, best, side_by_side, yardstick
from stretto.flow.model import Provenance
from stretto.learning import LearnOptions, learn
from stretto.parallel import learn_in_parts
from stretto.sessions.corpus import open_corpus
from stretto.sessions.episode import Assistant, ToolCall, User
from stretto.sessions.log_dump import dump_log
from stretto.speculator import Prepared, Speculator
from waggle.calls import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stretto.flow.model import Flow
    from stretto.sessions.episode import Episode

__all__ = ["FLOW_TOPICS"]

SESSIONS = Path(__file__).resolve().parent.parent / "examples" / "flows"
MADE = Provenance("benchmark")


def learned(domain: str) -> Flow:
    """The flow of the shipped sessions of one domain."""
    return learn(open_corpus(SESSIONS / f"{domain}-learn.jsonl.gz", domain=domain), provenance=MADE)


def episodes(domain: str, part: str) -> list[Episode]:
    """The shipped sessions of one domain."""
    return [recorded.episode for recorded in open_corpus(SESSIONS / f"{domain}-{part}.jsonl.gz", domain=domain)]


def served(prepared: Prepared, episode: Episode) -> list[float]:
    """Serve a recorded session; seconds of the thread from each result, and each answer to a lookup, to the decision.

    A lookup is answered by the recorded result of the same call, else by any of the same tool.
    """
    speculator = Speculator(prepared)
    results = episode.results()
    calls = {(call.name, repr(call.arguments)): results.get(call.id) for turn in episode.turns() for call in turn.calls}
    any_result = {result.name: result for result in results.values()}
    times: list[float] = []

    def decide(start: float) -> None:
        while True:
            lookup = speculator.next()
            times.append(time.thread_time() - start)
            if lookup is None:
                return
            answer = calls.get((lookup.tool, repr(lookup.args))) or any_result.get(lookup.tool)
            start = time.thread_time()
            speculator.settle(Result(answer.content, ok=not answer.error) if answer else Result("nothing", ok=False))

    for event in episode.events:
        if isinstance(event, User):
            speculator.user(event.text)
        elif isinstance(event, Assistant):
            if not event.calls:
                speculator.reply(event.text or "")
                continue
            speculator.turn()
            for call in event.calls:
                speculator.call(call)
        else:
            start = time.thread_time()
            speculator.result(event.call_id, error=event.error, content=event.content)
            speculator.begin(event.call_id)
            decide(start)
    return times


def deciding() -> Iterator[Row]:
    """A decision: from the result, or a lookup's answer, to the next lookup or none. Thread time."""
    for domain in ("retail", "airline"):
        prepared = Prepared(learned(domain))
        sessions = episodes(domain, "replay")
        rounds = [[t for each in sessions for t in served(prepared, each)] for _ in range(5)]
        times = sorted(map(min, zip(*rounds, strict=True)))  # the same decisions each time
        speed = best(yardstick)
        beside = f"{len(times)} decisions; a million additions ({speed * 1e3:.0f} ms)"
        for share, bar in ((0.5, 0.2), (0.99, 1.0)):
            value = times[int(share * (len(times) - 1))]
            yield Row(f"decision, {domain}, p{share * 100:.0f}", value * 1e3, "ms", bar, beside, value / speed)


def lasting() -> Iterator[Row]:
    """Decisions early and late in a session of 3,000 calls."""
    prepared = Prepared(learned("retail"))
    early: list[float] = []
    late: list[float] = []
    for _ in range(3):
        speculator = Speculator(prepared, per_session=0)
        times: list[float] = []
        for number in range(3000):
            user, place = divmod(number, 4)
            tool, arguments, content = (
                ("get_user_details", {"user_id": f"u{user}"}, {"orders": [f"#W{user}{k}" for k in range(3)]})
                if place == 0
                else (
                    "get_order_details",
                    {"order_id": f"#W{user}{place - 1}"},
                    {"items": [{"product_id": f"p{number}"}]},
                )
            )
            start = time.thread_time()
            speculator.turn()
            speculator.call(ToolCall(f"c{number}", tool, dict(arguments)))
            speculator.result(f"c{number}", error=False, content=orjson.dumps(content).decode())
            speculator.session.situation()
            for each in prepared.flow.sites.options((tool, False)):
                speculator.session.ways(each)
            times.append(time.thread_time() - start)
        early += sorted(times[400:800])
        late += sorted(times[2600:])
    early.sort()
    late.sort()
    ratio = late[len(late) // 2] / early[len(early) // 2]
    yield Row(
        "decision, calls 2,600 to 3,000 of a session",
        late[len(late) // 2] * 1e3,
        "ms",
        None,
        "calls 400 to 800 (bar 1.5)",
        ratio,
    )


def large() -> Iterator[Row]:
    """Taking in a result of 1 MB of JSON and deciding after it, beside parsing it."""
    prepared = Prepared(learned("retail"))
    orders = [f"#W{number:07}" for number in range(30_000)]
    body = {"name": {"first_name": "Ada", "last_name": "Byron"}, "orders": orders, "notes": ["x" * 80] * 8000}
    content = orjson.dumps(body).decode()

    def decide() -> None:
        speculator = Speculator(prepared)
        speculator.user("Hello, I am Ada Byron, and it is about order #W0000007.")
        speculator.turn()
        speculator.call(ToolCall("c", "get_user_details", {"user_id": "ada"}))
        speculator.result("c", error=False, content=content)
        speculator.begin("c")
        speculator.next()

    ours, parsing, ratio = side_by_side(decide, lambda: orjson.loads(content))
    megabytes = len(content) / 1e6
    yield Row(
        f"decision after a result of {megabytes:.1f} MB",
        ours * 1e3,
        "ms",
        None,
        f"orjson.loads ({parsing * 1e3:.1f} ms)",
        ratio,
    )


def logs(directory: Path, count: int) -> list[Path]:
    """Write session logs of retail customers: the shipped sessions, over and over under other names."""
    corpus = list(open_corpus(SESSIONS / "retail-learn.jsonl.gz", domain="retail"))
    good = [recorded for recorded in corpus if recorded.episode.succeeded]
    paths = []
    for number in range(count):
        recorded = good[number % len(good)]
        name = f"20260101T{number:06}.000Z-1"
        path = directory / f"{name}.jsonl"
        path.write_bytes(dump_log(dataclasses.replace(recorded.episode, id=name), recorded.manifest))
        paths.append(path)
    return paths


def parsed(paths: Sequence[Path]) -> Callable[[], object]:
    """Parse every line of some logs."""

    def work() -> None:
        for path in paths:
            for line in path.read_bytes().splitlines():
                orjson.loads(line)

    return work


def learning() -> Iterator[Row]:
    """Learning from a directory of logs, beside parsing them; then the memory it takes."""
    for count in (200, 2000):
        with tempfile.TemporaryDirectory() as place:
            directory = Path(place)
            paths = logs(directory, count)
            for name, options in (("", None), (", no code features", LearnOptions(features=False))):

                def work(options: LearnOptions | None = options, directory: Path = directory) -> None:
                    learn(open_corpus(directory), options, provenance=MADE)

                ours, parsing, ratio = side_by_side(work, parsed(paths), rounds=3, clock=time.process_time)
                beside = f"orjson.loads of their lines ({parsing:.2f} s)"
                yield Row(f"stretto learn, {count:,} logs{name}", ours, "s", None, f"{beside} (bar 6)", ratio)
    yield from _in_parts(4000)
    peaks = {count: _peak(count) for count in (1000, 4000)}
    yield Row(
        "stretto learn, 4,000 logs, peak memory",
        peaks[4000],
        "MB",
        None,
        f"1,000 logs ({peaks[1000]:.0f} MB)",
        peaks[4000] / peaks[1000],
    )


def _in_parts(count: int) -> Iterator[Row]:
    """Learning in two processes, by the clock on the wall."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        paths = logs(directory, count)
        for name, options in (("", LearnOptions()), (", no code features", LearnOptions(features=False))):

            def work(options: LearnOptions = options) -> None:
                learn_in_parts(directory, 2, options, provenance=MADE)

            ours, parsing, ratio = side_by_side(work, parsed(paths), rounds=3)
            beside = f"orjson.loads of their lines ({parsing:.2f} s) (bar 6)"
            yield Row(f"stretto learn --jobs 2, {count:,} logs{name}", ours, "s", None, beside, ratio)


def _peak(count: int) -> float:
    """Peak memory of a process that learns from so many logs, MB."""
    with tempfile.TemporaryDirectory() as place:
        logs(Path(place), count)
        code = "import sys; from benchmarks.flow_topics import peak; peak(sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", code, place], capture_output=True, text=True, check=True)
        return float(done.stdout)


def peak(directory: str) -> None:
    """Learn, and print the peak memory of this process in MB."""
    learn(open_corpus(directory), provenance=MADE)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


FLOW_TOPICS: dict[str, Callable[[], Iterator[Row]]] = {
    "deciding": deciding,
    "lasting": lasting,
    "large": large,
    "learning": learning,
}

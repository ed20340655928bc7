"""What compiling costs: ``python -m benchmarks.compiler.speed 1000`` compiles so many traces, and prints the costs.

A process for each number of traces, so that the peak of its memory is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.compiler.many import many_traces
from stretto.compiler.compiling import compile_traces
from stretto.compiler.model import Unlogged
from stretto.compiler.reading import read_recorded
from stretto.compiler.schemas import Tools
from stretto.compiler.settings import CompilerSettings
from stretto.sessions.corpus import open_corpus

if TYPE_CHECKING:
    from stretto.compiler.model import Trace

__all__ = ["Cost", "cost_of", "measure"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What compiling so many traces costs.

    Attributes:
        traces: of one intent.
        calls: of all traces.
        parse_seconds: processor time of reading them from a file.
        seconds: processor time of compiling them, checks included.
        megabytes: peak memory of the process, traces included.
        outcome: what became of them.
    """

    traces: int
    calls: int
    parse_seconds: float
    seconds: float
    megabytes: int
    outcome: str


def measure(count: int) -> Cost:
    """Measure in this process."""
    traces = many_traces(count)
    parse = _parse_seconds(traces)
    start = time.process_time()
    made = compile_traces("refund", traces, Tools(), CompilerSettings())
    seconds = time.process_time() - start
    calls = sum(len(trace.calls) for trace in traces)
    return Cost(count, calls, parse, seconds, _megabytes(), str(made.outcome))


def _megabytes() -> int:
    """The peak of this process's memory."""
    status = Path("/proc/self/status")
    if status.exists():  # what the system calls report holds the memory of the process that started this one
        peak = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024**2 if sys.platform == "darwin" else 1024)


def cost_of(count: int) -> Cost:
    """Measure in a process of its own."""
    done = subprocess.run([sys.executable, "-m", __name__, str(count)], capture_output=True, text=True, check=True)
    return Cost(**json.loads(done.stdout))


def _parse_seconds(traces: list[Trace]) -> float:
    with tempfile.TemporaryDirectory(prefix="compiler-") as folder:
        path = Path(folder) / "tools-shop.jsonl"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for trace in traces:
                file.write(json.dumps(_session(trace)) + "\n")
        start = time.process_time()
        reading = read_recorded(open_corpus(path), trust=True)
        seconds = time.process_time() - start
    if len(reading.traces) != len(traces):
        raise ValueError("not all traces were read")
    return seconds


def _session(trace: Trace) -> dict[str, Any]:
    events: list[dict[str, Any]] = [{"type": "user", "text": trace.request}]
    for turn, call in enumerate(trace.calls):
        name, output = f"c{turn}", None if isinstance(call.output, Unlogged) else call.output
        events.append({"type": "call", "id": name, "turn": turn, "tool": call.name, "args": dict(call.args)})
        events.append({"type": "result", "id": name, "ok": call.ok, "content": json.dumps(output)})
    events.append({"type": "assistant", "text": trace.answer})
    tools = {call.name: {"kind": "write" if call.effect.changes else "read"} for call in trace.calls}
    return {
        "session": trace.id, "source": "generated", "agent": "generated", "domain": "shop", "task": trace.id,
        "success": True, "tools": tools, "events": events,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(asdict(measure(int(sys.argv[1])))))

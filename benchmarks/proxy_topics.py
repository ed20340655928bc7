"""What is measured of the proxy: the time it adds to a call, beside the server alone and beside FastMCP's proxy."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

from benchmarks.timing import Row
from stretto.flow.file import write_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["PROXY_TOPICS"]

CALLS = 1000
ROUNDS = 5
_MEDIAN: Final = 0.5
_TAIL: Final = 0.99
SERVER = [sys.executable, "-m", "stretto.proxy.demo_server"]
CALL = {"name": "get_order_details", "arguments": {"order_id": "#W1001"}}


class Client:
    """The least MCP client there is: it writes a line and waits for the answer."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._to, self._from = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        self._number = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.ask("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list", {})

    def _send(self, message: dict[str, Any]) -> None:
        self._to.write(json.dumps(message).encode() + b"\n")
        self._to.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Make a request; its answer."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while line := self._from.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._number and "method" not in message:
                return message
        raise RuntimeError(f"{method} was not answered")

    def close(self) -> None:
        """Let the server go."""
        self._to.close()
        self._process.wait(10)
        self._from.close()


@contextmanager
def client(command: Sequence[str]) -> Iterator[Client]:
    """A client of this command."""
    made = Client(command)
    try:
        yield made
    finally:
        made.close()


def latencies(commands: dict[str, Sequence[str]]) -> dict[str, list[float]]:
    """Seconds of each call, of all commands in turn, round by round; the least of the rounds for each place."""
    times: dict[str, list[list[float]]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            with client(command) as each:
                for _ in range(50):
                    each.ask("tools/call", CALL)
                measured: list[float] = []
                for _ in range(CALLS):
                    start = time.perf_counter()
                    each.ask("tools/call", CALL)
                    measured.append(time.perf_counter() - start)
                times[name].append(sorted(measured))
    return {name: [min(place) for place in zip(*rounds, strict=True)] for name, rounds in times.items()}


def fastmcp(directory: Path) -> list[str] | None:
    """Install FastMCP beside us, and its proxy in front of the server; None where it cannot be had."""
    python = directory / "fastmcp" / "bin" / "python"
    try:
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True, capture_output=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "fastmcp"], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        print(f"FastMCP cannot be had, and is not measured: {error.stderr.decode()[-200:]}", file=sys.stderr)
        return None
    script = directory / "front.py"
    target = {
        "mcpServers": {"default": {"command": SERVER[0], "args": SERVER[1:], "env": {"PYTHONPATH": str(Path.cwd())}}}
    }
    script.write_text(
        f"from fastmcp.server import create_proxy\ncreate_proxy({target!r}).run(show_banner=False)\n", encoding="utf-8"
    )
    return [str(python), str(script)]


def proxying() -> Iterator[Row]:
    """One call of a tool, from the host's request to its answer: added time over the server alone."""
    from benchmarks.flow_topics import learned  # noqa: PLC0415 - learning takes a second

    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        flow = directory / "flow.json"
        write_flow(flow, learned("retail"))
        ours = [sys.executable, "-m", "stretto.proxy.main"]
        flowing = ["--flow", str(flow), "--flow-threshold", "1"]
        remembering = ["--waggle", "--waggle-project", str(directory)]  # which learns nothing from one call
        commands: dict[str, Sequence[str]] = {
            "the server alone": SERVER,
            "stretto-proxy": [*ours, "--", *SERVER],
            "stretto-proxy --record": [*ours, "--record", str(directory / "logs"), "--", *SERVER],
            "stretto-proxy --flow, no lookup": [*ours, *flowing, "--", *SERVER],
            "stretto-proxy --waggle, no lookup": [*ours, *remembering, "--", *SERVER],
            "stretto-proxy --waggle --flow, no lookup": [*ours, *remembering, *flowing, "--", *SERVER],
        }
        if front := fastmcp(directory):
            commands["FastMCP's proxy"] = front
        times = latencies(commands)
        alone = times.pop("the server alone")

        def at(one: list[float], share: float) -> float:
            return one[int(share * (len(one) - 1))]

        for share in (_MEDIAN, _TAIL):
            yield Row(f"the server alone, p{share * 100:.0f}", at(alone, share) * 1e3, "ms")
            peer = at(times["FastMCP's proxy"], share) - at(alone, share) if front else None
            for name, one in times.items():
                added = at(one, share) - at(alone, share)
                ratio = added / peer if peer and "FastMCP" not in name else None
                beside = "what FastMCP's proxy adds (bar 0.2)" if ratio is not None else ""
                bar = 1.0 if ("--flow" in name or "--waggle" in name) and share == _TAIL else None
                yield Row(f"{name} adds, p{share * 100:.0f}", added * 1e3, "ms", bar, beside, ratio)


PROXY_TOPICS: dict[str, Callable[[], Iterator[Row]]] = {"proxying": proxying}

"""What the tests of the command line ``stretto`` share: how to run it, and recorded sessions of a made-up shop."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from stretto.cli.app import cli
from stretto.sessions.episode import Assistant, ToolResult
from stretto.sessions.log_dump import dump_log
from stretto.sessions.manifest import Manifest, ToolDoc
from tests.stretto.episodes import called, episode, replied, said, together

if TYPE_CHECKING:
    from collections.abc import Iterable

    from click.testing import Result as Ran

    from stretto.sessions.episode import Episode, Event

DATA = Path(__file__).resolve().parent.parent / "data"
RETAIL_5 = DATA / "retail-5-sessions.flow.json"
RETAIL_10 = DATA / "retail-10-sessions.flow.json"
COLD_START = DATA / "cold-start-2026-09-24-live.flow.json"

SHOP = Manifest(
    "shop",
    {"find_user": "read", "get_user": "read", "get_order": "read", "cancel": "write", "think": "generic"},
    {"get_order": ToolDoc("An order.", {"order": "its id"})},
    {"get_order": "order:string!"},
)


def run(*args: object, env: dict[str, str] | None = None) -> Ran:
    """Run a command in this process; what it raises is a failure of the test."""
    return CliRunner().invoke(cli, [str(arg) for arg in args], env=env, catch_exceptions=False)


def ran(*args: object, code: int = 0) -> str:
    """What a command printed on standard output; its exit code is checked."""
    result = run(*args)
    assert result.exit_code == code, result.output
    return result.stdout


def ran_json(*args: object, code: int = 0) -> Any:
    """The document of a command; it is in ASCII and nothing else is printed."""
    text = ran(args[0], "--json", *args[1:], code=code)
    assert text.isascii()
    return json.loads(text)


def refused(*args: object, code: int = 2) -> str:
    """The one line with which a command ends that cannot do what it is asked."""
    result = run(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.removesuffix("\n")


def shopping(name: str, *orders: str, cancels: bool = True, user: str = "u7") -> Episode:
    """Find the user, read them, read their orders one by one, cancel the last."""
    events: list[Event | list[Event]] = [
        said(f"I am {user}@shop.test. Cancel an order."),
        called("find_user", {"email": f"{user}@shop.test"}, user),
        called("get_user", {"user": user}, {"user": user, "orders": list(orders)}),
        *(called("get_order", {"order": order}, {"id": order, "state": "paid"}) for order in orders),
        replied("Which one?"),
        said("The last."),
    ]
    if cancels:
        events.append(called("cancel", {"order": orders[-1]}, {"id": orders[-1]}))
    return episode(*events, replied(), name=name)


def batching(name: str, *orders: str) -> Episode:
    """The same, all orders in one turn."""
    return episode(
        said("Hello."),
        called("find_user", {"email": "u8@shop.test"}, "u8"),
        called("get_user", {"user": "u8"}, {"orders": list(orders)}),
        together(*(("get_order", {"order": order}, {"id": order}) for order in orders)),
        replied(),
        name=name,
    )


def sessions() -> list[Episode]:
    """Twelve sessions of six users."""
    found = [
        shopping(f"s{number:02}", *(f"#W{number}{place}" for place in range(2 + number % 3)), user=f"u{number % 5}")
        for number in range(10)
    ]
    return [*found, batching("s10", "#V1", "#V2"), batching("s11", "#V3", "#V4")]


def written_logs(place: Path, episodes: Iterable[Episode], manifest: Manifest = SHOP) -> Path:
    """A directory with a session log for each episode, begun a second after one another."""
    place.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(episodes):
        dated = replace(one, started_ms=1_790_000_000_000 + 1000 * number, domain="shop", agent_model="agent-1")
        (place / f"{one.id}.jsonl").write_bytes(dump_log(dated, manifest))
    return place


def results(place: Path, *, trials: int = 2) -> Path:
    """A results file of tau-bench: each session of the shop as a task, so many trials each."""
    simulations = [_simulation(each, trial) for each in sessions()[:6] for trial in range(trials)]
    info = {"agent_info": {"implementation": "llm_agent", "llm": "gpt"}, "environment_info": {"domain_name": "shop"}}
    place.write_text(json.dumps({"info": info, "tasks": [], "simulations": simulations}), encoding="utf-8")
    return place


def _simulation(one: Episode, trial: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for event in one.events:
        if isinstance(event, ToolResult):
            messages.append({"role": "tool", "id": event.call_id, "content": event.content, "error": event.error})
        elif isinstance(event, Assistant):
            calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in event.calls]
            messages.append({"role": "assistant", "content": event.text, "tool_calls": calls or None, "cost": 0.1})
        else:
            messages.append({"role": "user", "content": event.text})
    reward = {"reward": 1.0}
    return {"id": f"{one.id}-{trial}", "task_id": one.id, "trial": trial, "messages": messages, "reward_info": reward}


def files_of(place: Path) -> dict[str, bytes]:
    """Every file below a place, and its content; lock files left out."""
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def timeless(data: bytes) -> Any:
    """A flow's file without the time of its making."""
    value = json.loads(data)
    del value["provenance"]["compiled_unix_ms"]
    return value


def command() -> list[str]:
    """The console script of the environment that runs the tests."""
    script = Path(sys.executable).with_name("stretto")
    assert script.exists(), "install the package: pip install -e ."
    return [str(script)]

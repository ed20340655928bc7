"""A served flow goes on counting: what sessions add waits in a file, and merging puts it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.counting import LiveCounts
from stretto.flow.file import dump_flow, read_flow
from stretto.learning import LearnOptions, learn, merge
from stretto.replayer import flow_strategy, hint_tools
from tests.stretto.episodes import called, episode, replied, said
from tests.stretto.test_learning import MADE, PLAIN, SHOP, Held
from waggle import Call, Manager, Result, ToolTable, jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.flow.model import Flow
    from stretto.sessions.episode import Episode


def shop(name: str, *orders: str) -> Episode:
    return episode(
        said("hello"),
        called("get_user", {"user": "u1"}, {"orders": list(orders)}),
        *(called("get_order", {"order": order}, {"id": order}) for order in orders),
        replied(),
        name=name,
    )


def learned() -> Flow:
    return learn(Held([shop(f"s{n}", "W11", "W12") for n in range(4)]), PLAIN, provenance=MADE)


def answer(tool: str, args: dict[str, Any]) -> Result:
    content: dict[str, Any] = {"orders": ["W21", "W22"]} if tool == "get_user" else {"id": args["order"]}
    return Result(jsonvalue.dumps(content).decode())


def serve(flow: Flow, counts: LiveCounts, *sessions: str) -> list[str]:
    """Serve sessions of an agent that reads a user and waits for what comes with it; the lookups made."""
    table = ToolTable()
    hint_tools(table, flow.manifest)
    manager = Manager(tools=table, strategies=[flow_strategy(flow, tools=table, on_episode=counts)])
    made: list[str] = []

    def run(tool: str, args: dict[str, Any]) -> Result:
        made.append(f"{tool} {args['order']}")
        return answer(tool, args)

    for name in sessions:
        session = manager.session(name)
        session.hear("hello")
        session.observe(Call("get_user", {"user": "u2"}), answer("get_user", {}))
        session.follow(run)
        session.hear("Done.", role="assistant")
        manager.end(name)
    return made


def test_what_served_sessions_add_is_merged_into_the_flow(tmp_path: Path) -> None:
    flow, path = learned(), tmp_path / "counts" / "shop.flow.json"
    counts = LiveCounts(flow, path, now_ms=lambda: 0)
    assert serve(flow, counts, "a", "b") == ["get_order W21", "get_order W22"] * 2
    assert counts.flush(10)
    assert not counts.faults()
    added = read_flow(path)
    assert added.provenance.habit_episodes == 2
    grown = merge(flow, added)
    assert grown.sites.next["get_user", False] == {"get_order": 6}
    assert grown.habit.base.levels[0][()].total == flow.habit.base.levels[0][()].total + 8
    assert dump_flow(flow) == dump_flow(learned())  # what is served does not change under its sessions


def test_a_file_that_is_no_flow_is_left_alone_and_reported(tmp_path: Path) -> None:
    flow, path = learned(), tmp_path / "shop.flow.json"
    path.write_text("{}")
    counts = LiveCounts(flow, path)
    serve(flow, counts, "a")
    assert counts.flush(10)
    assert list(counts.faults().values()) == [1]
    assert path.read_text() == "{}"


def test_two_counters_share_a_file(tmp_path: Path) -> None:
    flow, path = learned(), tmp_path / "shop.flow.json"
    both = [LiveCounts(flow, path, now_ms=lambda: 0) for _ in range(2)]
    for each, name in zip(both, "ab", strict=True):
        serve(flow, each, name)
    assert all(each.flush(10) for each in both)
    assert read_flow(path).provenance.habit_episodes == 2


def test_uses_are_counted_of_served_sessions_too(tmp_path: Path) -> None:
    options = LearnOptions(features=False, alpha=2.0, uses=True)
    flow = learn(Held([shop(f"s{n}", "W11", "W12") for n in range(4)], SHOP), options, provenance=MADE)
    counts = LiveCounts(flow, tmp_path / "shop.flow.json")
    serve(flow, counts, "a")
    assert counts.flush(10)
    added = read_flow(tmp_path / "shop.flow.json").uses.counts
    assert sum(each.weighed for each in added.values()) > 0

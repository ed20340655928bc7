"""What a flow in a manager hands over when a session ends: episodes to count, and the lines of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, User
from tests.stretto.flow_host import FIND, serve
from tests.stretto.shop import ORDERS, USER
from waggle import Call, Result, jsonvalue

if TYPE_CHECKING:
    import pytest


def test_a_session_is_handed_over_when_it_ends_as_a_log_of_it_would_be_read() -> None:
    kept: list[Episode] = []
    host = serve(on_episode=kept.append)
    host.manager.hear("Hello, I am Ada.")
    host.manager.hear("Your e-mail?", role="assistant")
    host.manager.hear("ada@example.com")
    host.manager.hear("One moment.", role="assistant")
    host.call(FIND)
    host.manager.observe(Call("cancel_order", {"order_id": "#W9"}), Result("no such order", ok=False))
    host.manager.hear("Done.", role="assistant")
    assert kept == []
    host.manager.end()
    [episode] = kept
    user = jsonvalue.dumps(USER).decode()
    assert episode == Episode(
        "",
        (
            User("Hello, I am Ada."),
            Assistant("Your e-mail?"),
            User("ada@example.com"),
            Assistant("One moment.", (ToolCall("c0", "find_user", {"email": "ada@example.com"}),)),
            ToolResult("c0", "find_user", error=False, content="u1"),
            Assistant(None, (ToolCall("stretto-0", "get_user", {"user_id": "u1"}),)),
            ToolResult("stretto-0", "get_user", error=False, content=user),
            *(
                event
                for number, (name, order) in enumerate(ORDERS.items(), 1)
                for event in (
                    Assistant(None, (ToolCall(f"stretto-{number}", "get_order", {"order_id": name}),)),
                    ToolResult(f"stretto-{number}", "get_order", error=False, content=jsonvalue.dumps(order).decode()),
                )
            ),
            Assistant(None, (ToolCall("c1", "cancel_order", {"order_id": "#W9"}),)),
            ToolResult("c1", "cancel_order", error=True, content="no such order"),
            Assistant("Done."),
        ),
        domain="shop",
        reward=1.0,
    )
    assert episode.succeeded
    assert host.manager.close()
    assert len(kept) == 1


def test_calls_that_run_beside_each_other_are_one_turn_and_one_that_never_ends_has_no_result() -> None:
    kept: list[Episode] = []
    host = serve(on_episode=kept.append)
    calls = [Call("get_order", {"order_id": f"#W{n}"}, id=str(n)) for n in range(3)]
    for call in calls:
        host.manager.start(call)
    for call in reversed(calls[1:]):
        host.manager.observe(call, "{}")
    host.manager.end()
    [episode] = kept
    [turn, *results] = episode.events
    assert isinstance(turn, Assistant)
    assert [call.arguments for call in turn.calls] == [call.args for call in calls]
    assert [event.call_id for event in results if isinstance(event, ToolResult)] == ["c1", "c2"]


def test_a_long_session_is_kept_as_far_as_there_is_room_and_an_empty_one_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stretto.replayer.COUNTED_CHARS", 1000)
    kept: list[Episode] = []
    host = serve(on_episode=kept.append)
    for _ in range(50):
        host.manager.observe(Call("think", {}), "x" * 100)
    host.manager.end()
    [episode] = kept
    assert sum(len(event.content) for event in episode.events if isinstance(event, ToolResult)) == 1000
    host.manager.session("empty")
    assert host.manager.close()
    assert len(kept) == 1


def test_who_takes_an_episode_and_raises_ends_nothing() -> None:
    def fails(episode: Episode) -> None:
        raise ZeroDivisionError

    host = serve(on_episode=fails)
    host.call(FIND)
    assert host.manager.close()
    assert host.manager.faults() == {"strategy 'flow' switched off": 1}


def test_lines_of_the_flow_log_come_with_their_sessions_name() -> None:
    lines: list[tuple[str, Any]] = []
    host = serve(on_line=lambda session, line: lines.append((session, line)))
    session = host.manager.session("s1")
    session.observe(FIND, "u1")
    session.follow(host.run)
    session.close()
    assert {name for name, _ in lines} == {"s1"}
    assert [line.get("address") for _, line in lines] == [*(f"decide#{n}" for n in range(5)), None]
    assert lines[-1][1]["run"]["call"] == "find_user"

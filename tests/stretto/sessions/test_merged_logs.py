"""Logs of one agent with several servers are one session; where that cannot be told, they stay apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.sessions.corpus import open_corpus
from stretto.sessions.log import Entry, Header
from stretto.sessions.merge import Part, chains, merged, qualified, server_name
from stretto.sessions.turns import infer
from tests.stretto.sessions.logs_support import answer, call, cancelled, listing, request, result, said, save_log

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.errors import SessionLogError
    from stretto.sessions.episode import Episode
    from waggle.jsonvalue import JsonObject, JsonValue


def parts(*found: tuple[str, int, int]) -> list[tuple[tuple[int, ...], bool]]:
    return [(chain.places, chain.clashes) for chain in chains([Part(*part) for part in found])]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param([("a", 0, 10), ("b", 5, 15)], [((0, 1), False)], id="overlap"),
        pytest.param([("a", 0, 10), ("b", 10, 15)], [((0, 1), False)], id="touch"),
        pytest.param([("a", 0, 10), ("b", 11, 15)], [((0,), False), ((1,), False)], id="apart"),
        pytest.param([("c", 9, 20), ("a", 0, 10), ("b", 18, 30)], [((1, 0, 2), False)], id="through-each-other"),
        pytest.param([("a", 0, 100), ("b", 1, 2), ("c", 50, 60)], [((0, 1, 2), False)], id="inside"),
        pytest.param([("a", 0, 10), ("a", 5, 15)], [((0, 1), True)], id="same-server"),
        pytest.param([("a", 0, 4), ("b", 2, 9), ("a", 6, 12)], [((0, 1, 2), False)], id="same-server-in-turn"),
        pytest.param([("a", 0, 50), ("b", 2, 9), ("a", 6, 12)], [((0, 1, 2), True)], id="same-server-inside"),
        pytest.param([("a", 0, 4), ("a", 9, 12)], [((0,), False), ((1,), False)], id="same-server-apart"),
    ],
)
def test_which_logs_of_a_host_ran_at_the_same_time(
    found: list[tuple[str, int, int]], expected: list[tuple[tuple[int, ...], bool]]
) -> None:
    assert parts(*found) == expected


def test_a_server_is_named_by_the_header_the_domain_or_itself() -> None:
    hello = [
        request(0, 0, "initialize", {}),
        answer(1, 5),
        result(2, 0, {"serverInfo": {"name": "Shop: EU/1", "version": "1"}}),
    ]
    assert server_name(Header("s", server_name="a b", domain="d"), hello) == "a_b"
    assert server_name(Header("s", domain="dé"), hello) == "d_"
    assert server_name(Header("s"), hello) == "Shop__EU_1"
    assert server_name(Header("s"), hello[:2]) is None


def test_tools_and_ids_are_named_after_the_server() -> None:
    tool: JsonObject = {"name": "get", "annotations": {"readOnlyHint": True}, "inputSchema": {}}
    entries = [
        *listing(0, 0, tool, "odd"),
        call(1, 7, "get", id="W1"),
        call(2, "x", "get"),
        said(3, "user", "hi"),
        cancelled(4, "x"),
        answer(5, 7),
        Entry(6, "server", None, "text"),
        Entry(7, "client", [{"id": 8, "method": "tools/call", "params": {"name": "get"}}, 5]),
    ]
    episode, manifest = infer(Header("s"), qualified(entries, "shop"))
    assert [[(one.id, one.name) for one in turn.calls] for turn in episode.turns()] == [
        [("shop::7", "shop::get"), ("shop::x", "shop::get")],
        [("shop::8", "shop::get")],
    ]
    assert (manifest.tools, manifest.contracts) == ({"shop::get": "read"}, {"shop::get": ""})
    assert [*qualified(entries, "shop")][5].message == cancelled(4, "shop::x").message
    assert entries[2] == call(1, 7, "get", id="W1")  # what was given is not changed


def test_an_answer_that_is_no_listing_stays_as_it_is() -> None:
    values: list[JsonValue] = [None, {"tools": "none"}, []]
    for value in values:
        asked, answered = qualified([request(0, 1, "tools/list", {}), result(1, 1, value)], "shop")
        assert (asked.message, answered.message) == (
            request(0, "shop::1", "tools/list", {}).message,
            result(1, "shop::1", value).message,
        )


# --- one log of several ------------------------------------------------------------------------------------


def of(*logs: tuple[Header, list[Entry]]) -> tuple[Header, Episode]:
    header, entries = merged("host", [(header, header.server_name or "", entries) for header, entries in logs])
    return header, infer(header, entries)[0]


def test_lines_are_in_the_order_of_their_times_and_ids_do_not_meet() -> None:
    shop = Header("1", 1000, server_name="shop", domain="d", host_session="h")
    mail = Header("2", 1100, server_name="mail", domain="d", agent_model="gpt", host_session="h")
    header, episode = of(
        (shop, [call(0, 1, "get"), answer(200, 1, "W1"), call(1200, 2, "get")]),
        (mail, [call(50, 1, "send"), answer(100, 1, "sent")]),
    )
    assert (header.session, header.started_unix_ms, header.domain, header.agent_model) == ("host", 1000, "d", "gpt")
    assert [[one.id for one in turn.calls] for turn in episode.turns()] == [["shop::1", "mail::1"], ["shop::2"]]
    assert [found.content for found in episode.results().values()] == ["W1", "sent"]


def test_domains_that_differ_are_none() -> None:
    header, _ = of((Header("1", domain="a"), []), (Header("2", domain="b"), []))
    assert header.domain is None


def test_what_a_log_never_answered_does_not_hold_the_turns_of_the_others_open() -> None:
    shop = Header("1", 0, server_name="shop")
    mail = Header("2", 0, server_name="mail")
    lost = [call(0, 1, "a"), call(1, 2, "b"), cancelled(2, 2), call(3, 3, "c", "proxy"), answer(4, 3)]
    _, episode = of((shop, lost), (mail, [call(900, 1, "send"), answer(910, 1), call(2000, 2, "send")]))
    assert [[one.id for one in turn.calls] for turn in episode.turns()] == [
        ["shop::1", "shop::2", "shop::3"],
        ["mail::1"],
        ["mail::2"],
    ]


def test_the_conversation_is_told_once() -> None:
    """The n-th line is dropped when another log's n-th was the same and came earlier."""
    one = [said(0, "user", "hi"), said(10, "user", "again"), said(20, "user", "again")]
    two = [said(1, "user", "hi"), said(9, "user", "again"), said(21, "assistant", "again")]
    _, episode = of((Header("1", server_name="a"), one), (Header("2", server_name="b"), two))
    assert [getattr(event, "text", None) for event in episode.events] == ["hi", "again", "again", "again"]
    _, twice = of((Header("1", server_name="a"), [*one[:1], *one[:1]]), (Header("2", server_name="b"), []))
    assert len(twice.events) == 2  # one log's own lines are no copies


@given(st.permutations(range(3)))
def test_merging_does_not_depend_on_the_order_of_logs_that_share_no_time(order: list[int]) -> None:
    logs = [
        (Header(str(place), place, server_name=f"s{place}"), [call(0, 1, "a"), answer(30 + place, 1)])
        for place in range(3)
    ]
    assert of(*[logs[place] for place in order])[1] == of(*logs)[1]


# --- a directory -------------------------------------------------------------------------------------------

HOST: dict[str, Any] = {"host_session": "host-7"}


def test_logs_that_overlap_are_one_session_and_all_others_are_named_alike(tmp_path: Path) -> None:
    save_log(tmp_path, "a", call(0, 1, "get"), answer(50, 1), start=1000, server_name="shop", **HOST)
    save_log(tmp_path, "b", call(0, 1, "send"), answer(50, 1), start=1020, domain="mail", **HOST)
    save_log(tmp_path, "c", call(0, 1, "get"), answer(9, 1), start=9000, server_name="shop", **HOST)
    save_log(tmp_path, "z", call(0, 1, "x"), start=1, server_name="other")
    save_log(tmp_path, "y", call(0, 1, "x"), start=1)
    found = {one.episode.id: one.episode for one in open_corpus(tmp_path)}
    assert [*found] == ["c", "host-7", "y", "z"]
    assert [[call.name for turn in one.turns() for call in turn.calls] for one in found.values()] == [
        ["shop::get"], ["shop::get", "mail::send"], ["x"], ["other::x"]
    ]  # fmt: skip


def test_one_host_session_may_stand_for_several(tmp_path: Path) -> None:
    for number, start in enumerate((1000, 5000)):
        save_log(tmp_path, f"a{number}", call(0, 1, "get"), start=start, server_name="shop", **HOST)
        save_log(tmp_path, f"b{number}", call(0, 1, "get"), start=start, server_name="mail", **HOST)
    assert [one.episode.id for one in open_corpus(tmp_path)] == ["host-7#0", "host-7#1"]


def test_logs_of_one_server_that_overlap_stay_apart_and_that_is_told(tmp_path: Path) -> None:
    for name, server in (("a", "shop"), ("b", "shop"), ("c", "mail")):
        save_log(tmp_path, name, call(0, 1, "get"), answer(50, 1), server_name=server, **HOST)
    problems: list[SessionLogError] = []
    found = [one.episode for one in open_corpus(tmp_path, on_problem=problems.append)]
    assert [one.id for one in found] == ["a", "b", "c"]
    assert [call.name for one in found for turn in one.turns() for call in turn.calls] == ["get"] * 3
    assert ["host-7" in str(problem) for problem in problems] == [True]
    assert [one.episode.id for one in open_corpus(tmp_path)] == ["a", "b", "c"]


def test_logs_of_different_hosts_and_those_without_a_name_are_not_merged(tmp_path: Path) -> None:
    save_log(tmp_path, "a", call(0, 1, "get"), server_name="shop", host_session="h1")
    save_log(tmp_path, "b", call(0, 1, "get"), server_name="mail", host_session="h2")
    save_log(tmp_path, "c", call(0, 1, "get"), host_session="h1")
    assert [one.episode.id for one in open_corpus(tmp_path)] == ["a", "b", "c"]

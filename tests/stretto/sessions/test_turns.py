"""Turns are inferred from what crossed the wire by the published rule, and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.model.alphabet import StepOutcome, steps_of
from stretto.sessions.episode import Assistant, ToolCall, ToolResult, User
from stretto.sessions.log import Entry, Header
from stretto.sessions.manifest import Manifest
from stretto.sessions.turns import infer
from stretto.sessions.wire import COMMIT_ID, COMMIT_TOOL, UNREACHED
from tests.stretto.sessions.logs_support import (
    aborted,
    answer,
    call,
    cancelled,
    inferred,
    listing,
    request,
    result,
    said,
)
from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.sessions.episode import Episode
    from waggle.jsonvalue import JsonObject, JsonValue


def turns(*entries: Entry) -> list[list[str]]:
    """The ids of the calls of each turn; a reply is an empty turn."""
    return [[call.id for call in turn.calls] for turn in inferred(*entries).turns()]


# --- the published example ---------------------------------------------------------------------------------

EXAMPLE = [
    call(0, 1, "find", email="c7@x"),
    answer(40, 1, "user_7"),
    call(300, 2, "get_user", user_id="user_7"),  # 260 ms, but passes what A's result was the first to hold
    call(320, 3, "clock"),  # call 2 is open
    answer(380, 2, "Ada"),
    answer(400, 3, "12:00"),
    call(700, 4, "zone", z="UTC"),  # 300 ms, and nothing new is used
    answer(750, 4, "+0"),
    call(1600, 5, "zone", z="CET"),  # 850 ms
]


def test_the_worked_example() -> None:
    assert turns(*EXAMPLE) == [["1"], ["2", "3", "4"], ["5"]]
    assert inferred(*EXAMPLE).sent_after == {"4": 2}


def test_an_episode_says_what_the_log_says() -> None:
    header = Header("s", 77, domain="shop", agent_model="gpt")
    episode, manifest = infer(header, EXAMPLE[:2], reward=0.5)
    assert (episode.id, episode.started_ms, episode.domain, episode.agent_model) == ("s", 77, "shop", "gpt")
    assert (episode.task_id, episode.trial, episode.reward) == ("", 0, 0.5)
    assert episode.events == (
        Assistant(None, (ToolCall("1", "find", {"email": "c7@x"}),)),
        ToolResult("1", "find", error=False, content="user_7"),
    )
    assert manifest == Manifest("shop")


def test_a_log_without_names_is_of_the_client_and_of_mcp() -> None:
    hello: JsonObject = {"clientInfo": {"name": "claude-code", "version": "2"}}
    first = request(0, 0, "initialize", hello)
    later = request(5, 9, "initialize", {"clientInfo": {"name": "another"}})
    assert inferred(first, later).agent_model == "claude-code"
    assert inferred(first).domain == "mcp"
    assert inferred().agent_model == "unknown"
    assert infer(Header("s", agent_model="gpt"), [first])[0].agent_model == "gpt"


# --- joining a turn ----------------------------------------------------------------------------------------

A = [call(0, 1, "a"), answer(10, 1, "W1 W2")]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([*A, call(510, 2, "b")], [["1", "2"]], id="500-ms-joins"),
        pytest.param([*A, call(511, 2, "b")], [["1"], ["2"]], id="501-ms-does-not"),
        pytest.param([*A, call(20, 2, "b", "proxy")], [["1"], ["2"]], id="the-proxy-joins-only-an-open-turn"),
        pytest.param([A[0], call(5, 2, "b", "proxy")], [["1", "2"]], id="the-proxy-joins-an-open-turn"),
        pytest.param([*A, said(15, "user", "hi"), call(20, 2, "b")], [["1"], ["2"]], id="the-user-spoke"),
        pytest.param([*A, said(15, "assistant", "hm"), call(20, 2, "b")], [["1"], [], ["2"]], id="the-agent-spoke"),
        pytest.param([*A, said(15, "system", "x"), call(20, 2, "b")], [["1", "2"]], id="a-system-line-is-no-event"),
        pytest.param([*A, said(15, "assistant", ""), call(20, 2, "b")], [["1", "2"]], id="an-empty-reply-is-none"),
        pytest.param([A[0], said(5, "user", "hi"), call(9, 2, "b")], [["1", "2"]], id="open-calls-hold-the-turn"),
        pytest.param([*A, call(20, 2, "b", x="W1")], [["1"], ["2"]], id="a-new-value"),
        pytest.param([*A, call(20, 2, "b", x="1 W")], [["1"], ["2"]], id="any-part-of-the-text"),
        pytest.param([*A, call(20, 2, "b", x="w1")], [["1", "2"]], id="case-counts"),
        pytest.param([*A, call(20, 2, "b", x="W")], [["1", "2"]], id="one-character-tells-nothing"),
        pytest.param([*A, call(20, 2, "b", x=[{"y": ["W2"]}])], [["1"], ["2"]], id="at-any-depth"),
        pytest.param([*A, call(20, 2, "b", W1="x")], [["1", "2"]], id="keys-are-no-values"),
        pytest.param(
            [said(0, "user", "order W1"), *A, call(20, 2, "b", x="W1")], [["1", "2"]], id="known-from-the-user"
        ),
        pytest.param([call(0, 1, "a", x="W1"), A[1], call(20, 2, "b", y="W1")], [["1", "2"]], id="known-as-passed"),
        pytest.param(
            [call(0, 1, "a"), answer(10, 1, '{"n": 1234.5}'), call(20, 2, "b", n=1234.5)],
            [["1"], ["2"]],
            id="numbers-as-text",
        ),
        pytest.param(
            [call(0, 1, "a"), answer(10, 1, "true"), call(20, 2, "b", n=True)], [["1", "2"]], id="truth-is-no-value"
        ),
        pytest.param(
            [*A, call(1000, 2, "b"), answer(1010, 2, "W1"), call(1020, 3, "c", x="W1")],
            [["1"], ["2", "3"]],
            id="known-from-an-earlier-turn",
        ),
        pytest.param([A[0], call(900, 2, "b"), answer(950, 1)], [["1", "2"]], id="open-however-long"),
        pytest.param([A[0], call(5, 2, "b"), A[1], call(900, 3, "c")], [["1", "2", "3"]], id="one-of-two-is-open"),
    ],
)
def test_which_calls_are_one_turn(entries: list[Entry], expected: list[list[str]]) -> None:
    assert turns(*entries) == expected


def test_a_cancelled_call_holds_its_turn_open_no_longer_and_may_still_be_answered() -> None:
    entries = [A[0], cancelled(5, 1), cancelled(6, 1), call(20, 2, "b"), answer(30, 1, "late"), answer(40, 2)]
    assert turns(*entries) == [["1"], ["2"]]
    assert inferred(*entries).results()["1"].content == "late"


def test_a_call_whose_id_is_used_again_while_it_is_pending_is_forgotten() -> None:
    """The second one is no answer's business but its own, and has an id of its own."""
    episode = inferred(A[0], call(20, 1, "b"), answer(30, 1, "for b"))
    assert [[(call.id, call.name) for call in turn.calls] for turn in episode.turns()] == [
        [("1", "a")],
        [("1#2", "b")],
    ]
    assert episode.events[2:] == (ToolResult("1#2", "b", error=False, content="for b"),)


def test_ids_of_different_types_are_different_calls() -> None:
    numbers: list[JsonValue] = [7, "7", 7.5, True, 1, -1, "", "a b", 2**53 + 1]
    entries = [call(0, number, f"t{place}") for place, number in enumerate(numbers)]
    answers = [answer(1, number, f"r{place}") for place, number in enumerate(numbers)]
    episode = inferred(*entries, *reversed(answers))
    (turn,) = episode.turns()
    results = episode.results()
    assert [results[call.id].content for call in turn.calls] == [f"r{place}" for place in range(len(numbers))]
    assert [call.id for call in turn.calls] == ["7", "7#2", "7.5", "true", "1", "-1", "", "a b", str(2**53 + 1)]


def test_what_is_no_call_no_answer_and_no_word_is_passed_over() -> None:
    entries = [
        call(0, None, "a"),
        request(1, 1, "tools/call", {"arguments": {}}),
        request(2, 2, "tools/call", {"name": 5}),
        Entry(3, "client", {"id": 3, "method": "tools/call", "params": []}),
        Entry(4, "server", {"id": 4, "method": "sampling/createMessage", "params": {}}),
        Entry(5, "client", {"id": 4, "result": {}}),
        call(6, 6, "a", "server"),
        answer(7, 99),
        Entry(8, "server", None, "Server started"),
        Entry(9, "context", {"role": "user", "content": ["x"]}),
        Entry(10, "server", {"id": 7}),
        Entry(11, "server", ["x", {"jsonrpc": "2.0"}]),
    ]
    assert inferred(*entries).events == ()


def test_the_messages_of_a_batch_are_read_one_by_one() -> None:
    calls: list[JsonValue] = [call(0, 1, "a").message, call(0, 2, "b").message]
    answers: list[JsonValue] = [answer(0, 2, "rb").message, answer(0, 1, "ra").message]
    episode = inferred(Entry(0, "client", calls), Entry(9, "server", answers))
    assert turns(Entry(0, "client", calls)) == [["1", "2"]]
    assert [(found.call_id, found.content) for found in episode.results().values()] == [("2", "rb"), ("1", "ra")]


@pytest.mark.case("HC-11")
def test_each_result_is_with_its_own_call_in_whichever_order_they_come() -> None:
    """``a(1)``, ``b(2)``, ``a(3)`` with the ids 5, 6, 7 end as ``a(3)``, ``a(1)``, ``b(2)``; a fourth never ends."""
    episode = inferred(
        call(0, 5, "a", n=1),
        call(1, 6, "b", n=2),
        call(2, 7, "a", n=3),
        call(3, 8, "b", n=4),
        answer(10, 7, "a(3)"),
        answer(11, 5, "a(1)"),
        answer(12, 6, "b(2)"),
    )
    (turn,) = episode.turns()  # one turn: nothing was decided on another's result
    results = episode.results()
    assert [call.arguments for call in turn.calls] == [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}]
    assert {call.id: results[call.id].content for call in turn.calls[:3]} == {"5": "a(1)", "6": "b(2)", "7": "a(3)"}
    assert [(step.outcome, step.content) for step in steps_of(episode)][3] == (StepOutcome.ERROR, None)
    assert not episode.sent_after


# --- results -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"content": [{"type": "text", "text": "a"}]}, (False, "a"), id="text"),
        pytest.param(
            {"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]},
            (False, "a\nb"),
            id="texts",
        ),
        pytest.param({"content": [{"type": "text", "text": ""}]}, (False, ""), id="empty-text"),
        pytest.param({"content": [], "structuredContent": {"b": 1, "a": "é"}}, (False, '{"a":"é","b":1}'), id="value"),
        pytest.param({"content": [], "structuredContent": [None]}, (False, "[null]"), id="list"),
        pytest.param({"content": [], "isError": False}, (False, '{"content":[],"isError":false}'), id="whole"),
        pytest.param(
            {"content": [{"type": "text", "text": 5}]}, (False, '{"content":[{"text":5,"type":"text"}]}'), id="bad"
        ),
        pytest.param(
            {"content": "x", "structuredContent": None}, (False, '{"content":"x","structuredContent":null}'), id="null"
        ),
        pytest.param("done", (False, '"done"'), id="no-object"),
        pytest.param(None, (False, "null"), id="nothing"),
    ],
)
def test_what_a_result_says(value: JsonValue, expected: tuple[bool, str]) -> None:
    (found,) = inferred(call(0, 1, "a"), result(1, 1, value)).results().values()
    assert (found.error, found.content) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param({"code": -32602, "message": "no such tool"}, "no such tool", id="message"),
        pytest.param({"message": None, "code": 5}, '{"code":5,"message":null}', id="none"),
        pytest.param("broken", '"broken"', id="text"),
    ],
)
def test_what_an_error_of_the_protocol_says(error: JsonValue, expected: str) -> None:
    failed = Entry(1, "server", {"jsonrpc": "2.0", "id": 1, "error": error})
    (found,) = inferred(call(0, 1, "a"), failed).results().values()
    assert found == ToolResult("1", "a", error=True, content=expected)


@pytest.mark.case("HC-26")
def test_error_results_and_structured_content_survive() -> None:
    """A failed result is one with text; a value without text is there to be bound; ``"true"`` is not ``true``."""
    entries = [
        call(0, 1, "a"),
        call(0, 2, "a"),
        call(0, 3, "a"),
        result(
            1,
            1,
            {
                "isError": True,
                "content": [{"type": "text", "text": "locked"}, {"type": "image", "data": "AA==", "mimeType": "x/y"}],
                "structuredContent": {"reason": "locked", "until": 17},
                "_meta": {"k": 1},
                "new": [1],
            },
        ),
        result(2, 2, {"content": [], "structuredContent": {"reason": "locked", "until": 17}}),
        result(3, 3, {"content": [{"type": "text", "text": "x"}], "isError": "true"}),
    ]
    first, second, third = inferred(*entries).results().values()
    assert (first.error, first.content) == (True, "locked")
    assert (second.error, jsonvalue.loads(second.content)) == (False, {"reason": "locked", "until": 17})
    assert third.error is False


def test_the_servers_own_answer_is_the_result_and_the_proxys_copy_is_not() -> None:
    episode = inferred(call(0, 1, "a"), answer(5, 1, "plain"), answer(9, 1, "plain, and lookups", "proxy"))
    assert [found.content for found in episode.results().values()] == ["plain"]
    refused = inferred(call(0, 1, "a"), answer(9, 1, "refused", "proxy", error=True))
    assert [found.content for found in refused.results().values()] == ["refused"]


@pytest.mark.case("HC-23")
def test_calls_whose_server_was_gone_are_as_good_as_not_made() -> None:
    before = [said(0, "user", "W1?"), call(1, 1, "a"), answer(5, 1, "W1")]
    with_one = [call(2000, 2, "b"), call(2001, 3, "c"), answer(2010, 3, "W2"), aborted(2020, 2)]
    none = [call(4000, 4, "b"), call(4001, 5, "c"), aborted(4010, 4), aborted(4010, 5)]
    later = [call(5000, 6, "b"), aborted(5000, 6), said(6000, "assistant", "It is down."), said(6001, "user", "Oh.")]
    episode = inferred(*before, *with_one, *none, *later)
    assert episode == inferred(*before, call(2001, 3, "c"), answer(2010, 3, "W2"))
    assert inferred(*none) == inferred()


@pytest.mark.case("HC-23")
def test_of_several_servers_the_others_go_on() -> None:
    entries = [call(0, "x::1", "x::a"), call(1, "y::1", "y::b"), aborted(5, "x::1"), answer(9, "y::1", "W1")]
    entries += [said(900, "user", "And now?"), call(1000, "y::2", "y::c"), answer(1010, "y::2")]
    assert inferred(*entries) == inferred(*(entry for entry in entries if "x::1" not in str(entry.message)))


@pytest.mark.parametrize("server", ["", "shop::"])
def test_the_calls_of_a_commit_are_the_agents_in_one_turn_and_that_of_the_tool_is_none(server: str) -> None:
    tool, one, two, three = (f"{server}{name}" for name in (COMMIT_TOOL, "7", f"{COMMIT_ID}0", f"{COMMIT_ID}1"))
    commit = [
        call(1000, one, tool, calls=[{"name": "a"}]),
        call(1001, two, "a", "proxy"),
        answer(1010, two, "W1"),
        call(1020, three, "b", "proxy", id="W1"),
        answer(1700, three),
        answer(1701, one, "W1", "proxy"),
    ]
    episode = inferred(*A, *commit, call(3000, 8, "c"))
    first, second, third = episode.turns()
    assert [each.name for turn in (first, second, third) for each in turn.calls] == ["a", "a", "b", "c"]
    assert [each.id for each in second.calls] == [two, three]
    assert episode.sent_after == {three: 1}
    assert [found.content for found in episode.results().values()] == ["W1 W2", "W1", "ok"]
    assert inferred(commit[0], commit[-1]) == inferred()


def test_an_error_of_the_server_with_the_same_code_is_its_answer() -> None:
    error: JsonValue = {"code": -32000, "message": "busy"}
    (found,) = inferred(call(0, 1, "a"), Entry(5, "server", {"id": 1, "error": error})).results().values()
    assert (found.error, found.content) == (True, "busy")


@pytest.mark.case("HC-23")
def test_an_error_in_place_of_a_server_over_http_is_none() -> None:
    error: JsonValue = {"code": UNREACHED, "message": "it cannot be reached"}
    gone = [call(5000, 9, "b"), Entry(5005, "server", {"id": 9, "error": error})]
    assert inferred(*A, *gone) == inferred(*A)


@pytest.mark.case("HC-08")
def test_arguments_of_every_kind_stay_what_they_are() -> None:
    """JSON values are kept; null, absent and empty are three things; an absent ``arguments`` is no argument."""
    kinds: dict[str, JsonValue] = {
        "none": None, "list": [], "object": {}, "text": "", "zero": 0, "false": False, "deep": [{"a": [[1], {}]}]
    }  # fmt: skip
    entries = [call(0, "all", "a"), call(0, "kinds", "a", **kinds)]
    entries += [request(0, "absent", "tools/call", {"name": "a"})]
    others: list[JsonValue] = [[1], "text", 0, False, "", []]
    entries += [request(0, place, "tools/call", {"name": "a", "arguments": one}) for place, one in enumerate(others)]
    (turn,) = inferred(*entries).turns()
    assert [repr(call.arguments) for call in turn.calls] == [repr(one) for one in ({}, kinds, {}, *others)]


# --- the rule, word by word --------------------------------------------------------------------------------


@dataclass
class Model:
    """The published rule as it is written, with its texts put together anew each time."""

    events: list[object] = field(default_factory=list)
    turn: int | None = None
    open: int = 0
    answered_ms: int | None = None
    returned: str = ""
    known: str = ""
    pending: dict[str, tuple[str, str]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)

    def feed(self, t_ms: int, action: str, number: str, value: str) -> None:
        if action in ("user", "assistant"):
            self.known += value
            if action == "user" or value:
                self.events.append((action, value))
        elif action in ("client", "proxy"):
            self.call(t_ms, action, number, value)
        elif action == "cancel" and number in self.held:
            self.held.discard(number)
            self.open -= 1
        elif action == "answer" and number in self.pending:
            name, _ = self.pending.pop(number)
            if number in self.held:
                self.held.discard(number)
                self.open -= 1
                if self.open == 0:
                    self.answered_ms = t_ms
            self.returned += value
            self.events.append(("result", name, value))

    def call(self, t_ms: int, sender: str, number: str, value: str) -> None:
        if number in self.pending:
            del self.pending[number]
            if number in self.held:
                self.held.discard(number)
                self.open -= 1
        fresh = len(value) >= 2 and value in self.returned and value not in self.known
        continues = (
            sender == "client"
            and self.answered_ms is not None
            and t_ms - self.answered_ms <= 500
            and self.turn is not None
            and all(event[0] == "result" for event in self.events[self.turn + 1 :])  # type: ignore[index] # tuples
            and not fresh
        )
        if self.open == 0 and not continues:
            self.known += self.returned
            self.returned = ""
            self.answered_ms = None
            self.turn = len(self.events)
            self.events.append(("turn",))
        self.known += f'{{"v":"{value}"}}'
        assert self.turn is not None
        self.events[self.turn] += (f"t{value}",)  # type: ignore[operator] # tuples
        self.pending[number] = (f"t{value}", value)
        self.held.add(number)
        self.open += 1


ACTIONS = st.sampled_from(
    ["client", "client", "client", "answer", "answer", "answer", "proxy", "cancel", "user", "assistant"]
)
STEPS = st.tuples(
    st.sampled_from([0, 1, 250, 251, 500, 501]),
    ACTIONS,
    st.sampled_from("1234"),
    st.sampled_from(["W1", "W2", "W1W2", "1W", "W", ""]),
)  # fmt: skip


def entry_of(t_ms: int, action: str, number: str, value: str) -> Entry:
    if action in ("user", "assistant"):
        return said(t_ms, action, value)
    if action == "client":
        return call(t_ms, number, f"t{value}", v=value)
    if action == "proxy":
        return call(t_ms, number, f"t{value}", "proxy", v=value)
    return cancelled(t_ms, number) if action == "cancel" else answer(t_ms, number, value)


def shown(episode: Episode) -> list[object]:
    """An episode's events as the model has them."""
    events: list[object] = []
    for event in episode.events:
        if isinstance(event, User):
            events.append(("user", event.text))
        elif isinstance(event, ToolResult):
            events.append(("result", event.name, event.content))
        elif event.calls:
            events.append(("turn", *(call.name for call in event.calls)))
        else:
            events.append(("assistant", event.text))
    return events


@given(st.lists(STEPS, max_size=30))
def test_turns_are_those_of_the_rule_as_it_is_written(steps: list[tuple[int, str, str, str]]) -> None:
    model, entries, now = Model(), [], 0
    for wait, action, number, value in steps:
        now += wait
        model.feed(now, action, number, value)
        entries.append(entry_of(now, action, number, value))
    assert shown(inferred(*entries)) == model.events


def test_a_listing_between_two_calls_changes_nothing_of_the_turns() -> None:
    entries = [EXAMPLE[0], *listing(1, 77, {"name": "find"}), *EXAMPLE[1:]]
    assert turns(*entries) == turns(*EXAMPLE)

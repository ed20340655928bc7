"""Whatever a host and a server do, and whatever the flow decides: no message is lost, doubled or altered.

But for what is promised: to the answer of a call one item may be added, and one that the host waits for no more may be
left out.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.proxy.serving.memory import Memory, tool_table
from tests.stretto.proxy.proxy_support import LISTED, Bench, call, line_of, returned
from tests.stretto.shop import USER, shop_flow
from waggle import Manager, ManagerConfig, Route, jsonvalue
from waggle.routes import RouteStep

TOOLS = ("find_user", "get_user", "get_order", "cancel_order", "unknown")
VALUES = ("u1", "#W1", "#W2", "x")
NUMBERS = (1, "1", 0, "", 2, "a b", 2**60)
CANCEL = "notifications/cancelled"

CALLS = st.tuples(st.just("call"), st.sampled_from(NUMBERS), st.sampled_from(TOOLS), st.sampled_from(VALUES))
OTHERS = st.tuples(
    st.sampled_from(
        ["list", "ping", "cancel", "batch", "noise", "answer", "answer", "lookup", "lookup", "ask", "change"]
    ),
    st.sampled_from(NUMBERS),
    st.sampled_from(["ok", "structured", "error", "failed", "question", "odd"]),
    st.integers(0, 5),
)
WALKS = st.tuples(st.just("walk"), st.sampled_from(NUMBERS), st.sampled_from(["ok", "structured"]), st.integers(0, 4))
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "threshold": st.sampled_from([0.0, 0.3, 0.9]),
        "per_call": st.integers(1, 3),
        "per_session": st.integers(1, 4),
        "shadow": st.just(True),
        "explore": st.floats(0.01, 1),
        "decider": st.sampled_from(["reach", "habit"]),
        "allowed_tools": st.just(["get_order"]),
    },
)


def answer_to(request: Any, kind: str) -> dict[str, Any]:
    number = request.get("id")
    if request["method"] == "tools/list":
        return {"jsonrpc": "2.0", "id": number, "result": {"tools": LISTED}}
    if kind == "error":
        return {"jsonrpc": "2.0", "id": number, "error": {"code": -32000, "message": "no"}}
    if kind == "question":
        return returned(number, None, resultType="input_required")
    if kind == "odd":
        return {"jsonrpc": "2.0", "id": number, "result": [1]}
    text = "u1" if "find_user" in str(request) else jsonvalue.dumps(USER).decode()
    more: dict[str, Any] = {"structuredContent": dict(USER)} if kind == "structured" else {}
    return returned(number, text, later=1.5, **more, **({"isError": True} if kind == "failed" else {}))


class Traffic:
    """What a host and a server say to each other through a flow, and what must have arrived."""

    def __init__(self, bench: Bench, *, patient: bool) -> None:
        self.bench = bench
        self.patient = patient  # wait for what follows an answer
        self.asked: list[bytes] = []  # what the host said
        self.answered: list[bytes] = []  # what the server said, but for what concerns the flow alone
        self.open: dict[str, Any] = {}
        self.own_seen = 0
        self.cancelled: set[str] = set()
        self.declined = 0

    def host(self, message: Any) -> None:
        self.asked.append(line_of(message))
        self.bench.host_says(message)

    def server(self, message: Any) -> None:
        self.answered.append(line_of(message))
        before = self.moved
        if not self.bench.server_says(message) and self.patient:
            self.bench.until(lambda: self.moved > before)

    @property
    def moved(self) -> int:
        return len(self.bench.host) + len(self.bench.server)

    def act(self, action: str, number: Any, what: str, value: Any) -> None:  # noqa: C901 - one branch an action
        key = repr(number)
        if action == "call":
            request = call(number, what, {"value": value})
            self.open[key] = request
            self.host(request)
        elif action in ("list", "ping"):
            request = {"jsonrpc": "2.0", "id": number, "method": "tools/list" if action == "list" else "ping"}
            self.open[key] = request
            self.host(request)
        elif action == "cancel":
            self.cancelled.add(key)
            self.host({"jsonrpc": "2.0", "method": CANCEL, "params": {"requestId": number}})
        elif action == "batch":
            self.host([call(number, "find_user"), {"jsonrpc": "2.0", "method": "notifications/x"}])
        elif action == "noise":
            self.host(b"half a { line\n")
            self.server(b"Server \xff started\n")
        elif action == "change":
            self.server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        elif action == "ask":
            question = {"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": {}}
            passed = self.bench.server_says(question)
            self.declined += not passed
            if passed:
                self.answered.append(line_of(question))
        elif action == "answer" and self.open:
            self.server(answer_to(self.open.pop(list(self.open)[value % len(self.open)]), what))
        elif action == "lookup":
            self.answer_lookup(what)
        elif action == "walk":
            self.act("call", number, "find_user", "ada")
            self.act("answer", number, what, len(self.open) - 1)
            for _ in range(value):
                self.answer_lookup(what)

    def answer_lookup(self, kind: str) -> None:
        """Answer the lookup that was asked for next, be it late, if one was."""
        requests = [raw for raw in self.bench.server if b'"id":"stretto-' in raw and b'"tools/call"' in raw]
        if self.own_seen < len(requests):
            request = jsonvalue.loads(requests[self.own_seen])
            self.own_seen += 1
            before = self.moved
            assert not self.bench.server_says(answer_to(request, kind))
            if self.patient and self.own_seen == len(requests) and not self.own_late(request):
                self.bench.until(lambda: self.moved > before)

    def own_late(self, request: Any) -> bool:
        """Whether a lookup was given up before its answer."""
        return any(f'"requestId":"{request["id"]}"'.encode() in raw for raw in self.bench.server)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(CALLS | WALKS | OTHERS, max_size=25),
    OPTIONS,
    st.sampled_from([(0.0, False), (0.06, False), (5.0, False), (5.0, True)]),
    st.sampled_from(["a flow", "routes and a flow"]),
)
def test_every_message_arrives_once_and_as_it_was(
    actions: list[Any], options: dict[str, Any], pace: tuple[float, bool], what: str
) -> None:
    held_s, patient = pace
    if what != "a flow":
        options = options | {"memory": memory(), "session": "any"}
    with Bench(shop_flow(), held_s=held_s, **options) as bench:
        traffic = Traffic(bench, patient=patient)
        for action in actions:
            traffic.act(*action)
        while traffic.open:
            traffic.act("answer", 0, "ok", 0)
            traffic.act("lookup", 0, "ok", 0)
    assert [raw for raw in bench.server if raw not in bench.own] == traffic.asked
    for raw in bench.server:
        if raw in bench.own:
            said: Any = jsonvalue.loads(raw)
            assert str(said.get("id", said.get("params", {}).get("requestId"))).startswith("stretto-") or (
                traffic.declined and said["result"] == {"action": "decline"}
            )
    expected = Counter(traffic.answered)
    for raw in bench.host:
        expected[raw if expected[raw] else without_addition(raw)] -= 1
    assert all(count >= 0 for count in expected.values())
    for raw in expected.elements():
        missing: Any = jsonvalue.loads(raw)
        assert repr(missing["id"]) in traffic.cancelled


def memory() -> Memory:
    """Routes that are followed after what the traffic has often, and a table that knows no tool before it is listed."""
    calls = [RouteStep(tool, {"value": value}) for tool in ("find_user", "get_user") for value in ("u1", "#W1", "x")]
    routes = [
        Route(f"route-{first}-{second}", (calls[first], calls[second], *calls[:first]))
        for first in range(1, len(calls))
        for second in range(len(calls))
    ]
    return Memory(Manager(ManagerConfig(sweep_calls=1), routes=routes, tools=tool_table()))


def without_addition(raw: bytes) -> bytes:
    """The line as it was before an item was added to it."""
    message: Any = jsonvalue.loads(raw)
    added = jsonvalue.dumps(message["result"]["content"].pop())
    assert b"Also looked up automatically" in added or b"<waggle-fold>" in added
    return line_of(message)

"""Two proxies of one host session with a flow over both servers: what each knows, and lookups made by the other's."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from stretto.proxy.peers.messages import Ask, Called, Lends, Returned, Said, Synced, Told, encode
from stretto.proxy.peers.names import Names
from stretto.proxy.serving.flowing import FlowEngine
from tests.stretto.proxy.peers.peers_support import PATIENCE, Ears, Office, two_server_flow
from tests.stretto.proxy.proxy_support import Bench, added, call, line_of, returned, shop_answer
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ORDERS = [("get_order", {"order_id": name}) for name in ("#W1", "#W2", "#W3")]


class Pair:
    """The two offices, connected, with their tools listed."""

    def __init__(self, root: Path, people: dict[str, Any] | None = None, orders: dict[str, Any] | None = None) -> None:
        self.people = Office("people", root, **(people or {}))
        self.orders = Office("orders", root, **(orders or {}))
        self.people.lists()
        self.orders.lists()

    def meet(self, *, orders: int = 2, people: int = 2) -> None:
        """Wait until each may have so many tools of the other looked up; `get_stock` is not listed."""
        self.people.knows(orders)
        self.orders.knows(people)

    def close(self) -> None:
        self.people.serving.close()
        self.orders.serving.close()


@pytest.fixture
def pair(root: Path) -> Iterator[Pair]:
    pair = Pair(root)
    pair.meet(orders=1)
    yield pair
    pair.close()
    assert list(root.iterdir()) == []


def flow_of(office: Any) -> FlowEngine:
    """The engine of an office's session."""
    engine = office.serving._session._engine
    assert isinstance(engine, FlowEngine)
    return engine


def test_a_call_at_one_server_brings_lookups_at_the_other_by_that_servers_proxy(pair: Pair) -> None:
    line = pair.people.answers("find_user", email="x")
    assert pair.people.lookups == [("get_user", {"user_id": "u1"})]
    assert pair.orders.lookups == ORDERS
    text = added(line)
    assert [part.partition(":\n")[0] for part in text.split("\n\n")[1:]] == [
        'get_user {"user_id":"u1"}',
        'get_order (server orders) {"order_id":"#W1"}',
        'get_order (server orders) {"order_id":"#W2"}',
        'get_order (server orders) {"order_id":"#W3"}',
    ]
    assert all("stretto-" not in str(jsonvalue.loads(raw)) for raw in pair.orders.host)  # nobody's but the proxy's
    sites = [line["site"] for line in pair.people.log if "action" in line]
    assert sites == ["people::find_user", "people::get_user", *["orders::get_order"] * 3]
    assert {line["after"] for line in pair.people.log} == {"people::1"}


def test_what_was_called_at_one_server_is_known_at_the_other(pair: Pair) -> None:
    """The user's orders were shown at ``people``; of them, the agent has read one at ``orders``."""
    pair.people.answers("get_user", user_id="u1")
    assert pair.orders.lookups == ORDERS
    pair.people.answers("find_user", email="x")
    assert pair.people.lookups == []  # u1 was passed
    line = pair.orders.answers("get_order", order_id="#W1")
    assert pair.orders.lookups == ORDERS  # each was looked up before, by the other proxy
    assert line == line_of(shop_answer(call(1, "get_order", {"order_id": "#W1"})))


def test_a_decision_after_a_call_waits_for_what_the_host_had_seen_before(root: Path) -> None:
    """The agent calls as soon as it has an answer, with no time in between in which anything could be told."""
    for _ in range(10):
        pair = Pair(root, people={"allowed_tools": []})
        pair.meet(orders=1, people=0)
        pair.people.answers("get_user", user_id="u1")
        pair.orders.answers("get_order", order_id="#W1")
        assert pair.orders.lookups == ORDERS[1:]
        pair.close()


def test_calls_of_both_servers_at_once_are_one_turn(pair: Pair) -> None:
    """An order that is asked for while its user is being read was not shown by that user's record."""
    pair.orders.host_says(call("o", "get_order", {"order_id": "#W2"}))
    pair.people.host_says(call("p", "get_user", {"user_id": "u1"}))
    count = len(pair.people.host)
    pair.people.server_says(shop_answer(call("p", "get_user", {"user_id": "u1"})))
    pair.people.until(lambda: len(pair.people.host) > count)
    assert pair.orders.lookups == [ORDERS[0], ORDERS[2]]  # what is in flight is not looked up
    calls = flow_of(pair.people)._speculator.session._turn
    assert [made.call.id for made in calls.values() if made.own] == ["orders::o", "people::p"]


def test_a_tool_is_lent_as_its_own_proxy_would_look_it_up(root: Path) -> None:
    pair = Pair(root, orders={"allowed_tools": ["get_stock"]})
    pair.meet(orders=0)
    assert b"Also looked up" in pair.people.answers("find_user", email="x")
    assert pair.orders.lookups == []
    [withheld] = [line["withheld"] for line in pair.people.log if "withheld" in line]
    assert withheld == "the host does not let it be looked up"
    said = "orders::get_order is left to the agent: its server's proxy does not let it be looked up now"
    assert said in pair.people.serving.faults.counts()
    pair.close()


def test_a_user_can_name_the_tools_of_other_servers_that_are_looked_up(root: Path) -> None:
    pair = Pair(root, people={"allowed_tools": ["orders::get_order"]})
    pair.meet(orders=1, people=0)
    pair.people.answers("find_user", email="x")
    assert (pair.people.lookups, pair.orders.lookups) == ([], [])
    pair.people.answers("get_user", user_id="u1")
    assert pair.orders.lookups == ORDERS
    pair.close()


def test_a_flow_that_only_watches_lends_nothing_and_decides_from_both_servers(root: Path) -> None:
    pair = Pair(root, orders={"shadow": True})
    pair.meet(orders=0)
    pair.people.answers("find_user", email="x")
    assert pair.orders.lookups == []
    pair.orders.answers("get_order", order_id="#W1")
    pair.orders.decides()
    assert pair.orders.log[0]["arguments"] == {"order_id": "#W2"}
    pair.close()


def test_a_server_that_has_not_listed_its_tools_is_not_called(root: Path) -> None:
    people, orders = Office("people", root), Office("orders", root)
    people.lists()
    orders.knows(2)
    people.answers("find_user", email="x")
    assert orders.lookups == []
    orders.lists()
    people.knows(1)
    people.answers("get_user", user_id="u2")
    assert orders.lookups == ORDERS
    orders.host_says({"jsonrpc": "2.0", "method": "notifications/x"})
    orders.server_says({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    people.knows(0)
    people.serving.close()
    orders.serving.close()


def test_a_tool_that_makes_its_server_ask_the_user_is_lent_no_more(pair: Pair) -> None:
    pair.orders.reply = lambda request: None if "params" not in request else asks(pair.orders)
    line = pair.people.answers("get_user", user_id="u1")
    assert b"Also looked up" not in line
    [declined] = [jsonvalue.loads(raw) for raw in pair.orders.server if b'"decline"' in raw]
    assert declined == {"jsonrpc": "2.0", "id": "q", "result": {"action": "decline"}}
    pair.people.knows(0)
    said = "orders::get_order is left to the agent: its server asks for something"
    assert pair.people.serving.faults.counts()[said] == 1
    assert not pair.orders.host[1:]  # the question has not reached the user


def asks(office: Office) -> None:
    """The server asks the user for something instead of answering."""
    office.reply = None
    question = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}}
    threading.Thread(target=office.server_says, args=(question,), daemon=True).start()


def test_a_lookup_that_takes_too_long_is_given_up_at_its_server(root: Path) -> None:
    pair = Pair(root, people={"held_s": 0.4})
    pair.meet(orders=1)
    pair.orders.reply = None  # never answers
    assert b"Also looked up" not in pair.people.answers("get_user", user_id="u1")
    pair.orders.until(lambda: any(b"notifications/cancelled" in raw for raw in pair.orders.server))
    cancelled: Any = jsonvalue.loads(pair.orders.server[-1])
    assert cancelled["params"] == {"requestId": "stretto-0", "reason": "it took too long"}
    late = returned("stretto-0", "late")
    assert not pair.orders.server_says(late)  # and its late answer reaches nobody
    pair.orders.answer_lookups()
    pair.people.answers("find_user", email="x")
    pair.close()


def test_a_call_that_is_cancelled_ends_its_lookups_at_the_other_server(pair: Pair) -> None:
    pair.orders.reply = None
    pair.people.host_says(call("c", "get_user", {"user_id": "u1"}))
    pair.people.server_says(shop_answer(call("c", "get_user", {"user_id": "u1"})))
    pair.orders.until(lambda: bool(pair.orders.lookups))
    pair.people.host_says({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}})
    pair.orders.until(lambda: any(b"notifications/cancelled" in raw for raw in pair.orders.server))


def test_a_proxy_that_ends_is_not_waited_for(pair: Pair) -> None:
    pair.orders.reply = None
    pair.orders.host_says(call("open", "cancel_order"))

    def end() -> None:
        pair.orders.until(lambda: bool(pair.orders.lookups))
        pair.orders.serving.close()

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    assert b"Also looked up" not in pair.people.answers("get_user", user_id="u1")
    said = "orders::get_order is left to the agent: its server's proxy is gone"
    assert said in pair.people.serving.faults.counts()
    assert flow_of(pair.people)._turns._open == set()  # its call holds no turn open
    pair.people.answers("get_user", user_id="u2")
    assert pair.people.company.refusal("orders::get_order") == "its server's proxy is not there"
    ending.join(PATIENCE)


def test_who_joins_late_knows_what_there_was(root: Path) -> None:
    people = Office("people", root, allowed_tools=[])
    people.lists()
    people.answers("get_user", user_id="u1")
    orders = Office("orders", root)
    orders.lists()
    orders.knows(0)
    end = threading.Event()
    while not orders.company._peers and not end.wait(0.005):
        pass
    orders.answers("get_order", order_id="#W1")
    assert orders.lookups == ORDERS[1:]
    people.serving.close()
    orders.serving.close()


def test_two_proxies_of_one_name_are_told_nothing_of_each_others(root: Path) -> None:
    pair = Pair(root)
    pair.meet(orders=1)
    twin = Office("orders", root)
    twin.lists()
    pair.people.until(lambda: len(pair.people.company._peers) == 2)
    twin.until(lambda: len(twin.company._peers) == 2)
    pair.people.answers("find_user", email="x")
    assert (pair.orders.lookups, twin.lookups) == ([], [])
    said = [fault for fault in pair.people.serving.faults.counts() if "--server-name" in fault]
    assert len(said) == 1
    twin.serving.close()
    pair.people.until(lambda: len(pair.people.company._peers) == 1)
    pair.people.answers("get_user", user_id="u2")
    assert pair.orders.lookups == ORDERS
    pair.close()
    assert list(root.iterdir()) == []


def test_the_conversation_is_heard_once_whoever_reads_it(root: Path, tmp_path: Path) -> None:
    told = tmp_path / "context.jsonl"
    pair = Pair(root, *({"context": told} for _ in range(2)))
    pair.meet(orders=1)
    told.write_text('{"role": "user", "content": "hello"}\n{"role": "user", "content": "hello"}\n', encoding="utf-8")
    pair.people.answers("find_user", email="x")
    pair.orders.answers("cancel_order")
    for office in (pair.people, pair.orders):
        office.decides()
        office.serving.close()
        known = "".join(flow_of(office)._turns._known)
        assert known.count("hello") == 2
    assert len(pair.orders.company._heard_lines) == 2


def test_a_session_that_is_switched_off_leaves_the_company(pair: Pair) -> None:
    pair.orders.serving._session.switch_off("a test")
    pair.people.until(lambda: not pair.people.company._peers)
    pair.people.answers("get_user", user_id="u1")
    assert pair.orders.lookups == []


# --- a peer that is the test itself -------------------------------------------------------------------------------


class Alone:
    """One office, and a peer that says what the test wants."""

    def __init__(self, root: Path, **options: Any) -> None:
        self.office = Office("people", root, **options)
        self.office.lists()
        self.ears = Ears(root, "orders")
        self.ears.until(lambda: self.ears.servers == ["people"])
        self.ears.until(lambda: any(isinstance(message, Lends) and message.tools for _, message in self.ears.heard_of))

    def heard(self, kind: type[Any]) -> list[Any]:
        return [message for _, message in self.ears.heard_of if isinstance(message, kind)]

    def close(self) -> None:
        self.office.serving.close()
        self.ears.mesh.close()


@pytest.fixture
def alone(root: Path) -> Iterator[Alone]:
    alone = Alone(root, held_s=2.0)
    yield alone
    alone.close()


def test_a_peer_that_does_not_say_that_it_has_told_all_is_waited_for_once(alone: Alone) -> None:
    line = alone.office.answers("find_user", email="x")
    assert b"Also looked up" in line  # it went on without the peer
    assert alone.office.company.refusal("orders::get_order") == "its server's proxy does not answer"
    assert alone.office.company.until == float("inf")
    alone.office.answers("find_user", email="y")
    alone.ears.mesh.send(Synced(10**6))
    alone.ears.mesh.send(Lends(("orders::get_order",)))
    alone.office.knows(1)
    assert alone.office.company.refusal("orders::get_order") == ""


def test_what_a_peer_asks_for_is_looked_up_only_if_it_may_be(alone: Alone) -> None:
    asked: list[Ask] = [
        Ask(1, "people::cancel_order", {}),
        Ask(2, "people::get_user", ["u1"]),
        Ask(3, "orders::get_order", {}),
        Ask(4, "get_user", {}),
        Ask(5, "people::get_user", {"user_id": "u1"}),
    ]
    for ask in asked:
        alone.ears.mesh.send(ask)
    alone.ears.until(lambda: len(alone.heard(Told)) == 5)
    reasons = {told.number: told.reason for told in alone.heard(Told)}
    assert reasons == {
        1: "the flow's manifest does not say that it reads",
        2: "its arguments are no object",
        3: "its server has not listed it",
        4: "its server has not listed it",
        5: "",
    }
    assert alone.office.lookups == [("get_user", {"user_id": "u1"})]


def test_lookups_for_others_are_counted_and_one_a_peer_at_a_time(root: Path) -> None:
    alone = Alone(root, per_session=2)
    alone.office.reply = None
    for number in range(2):
        alone.ears.mesh.send(Ask(number, "people::get_user", {"user_id": "u1"}))
    alone.ears.until(lambda: len(alone.heard(Told)) == 1)
    assert alone.heard(Told)[0].reason == "another lookup is being made for the same proxy"
    alone.office.server_says(returned("stretto-0", "no", isError=True))
    alone.ears.until(lambda: len(alone.heard(Told)) == 2)
    assert alone.heard(Told)[1] == Told(0, True, False, "no", "")
    alone.ears.mesh.send(Ask(2, "people::get_user", {"user_id": "u1"}))
    alone.office.until(lambda: len(alone.office.lookups) == 2)
    alone.office.server_says({"jsonrpc": "2.0", "id": "stretto-1", "error": {"code": 1, "message": "bad"}})
    alone.ears.until(lambda: len(alone.heard(Told)) == 3)
    assert alone.heard(Told)[2] == Told(2, True, True, "bad", "")
    alone.ears.mesh.send(Ask(3, "people::get_user", {"user_id": "u1"}))
    alone.ears.until(lambda: len(alone.heard(Told)) == 4)
    assert alone.heard(Told)[3].reason == "as many lookups were made for others as a session may have"
    alone.close()


def test_the_lookups_of_a_peer_that_is_gone_are_given_up(alone: Alone) -> None:
    alone.office.reply = None
    alone.ears.mesh.send(Ask(1, "people::get_user", {"user_id": "u1"}))
    alone.office.until(lambda: bool(alone.office.lookups))
    alone.ears.mesh.close()
    alone.office.until(lambda: any(b"notifications/cancelled" in raw for raw in alone.office.server))


def test_what_a_lookup_for_others_must_say_of_the_client_is_what_the_host_said_last(alone: Alone) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    request = {"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"_meta": meta | {"progressToken": 1}}}
    alone.office.host_says(request)
    alone.ears.mesh.send(Ask(1, "people::get_user", {"user_id": "u1"}))
    alone.ears.until(lambda: bool(alone.heard(Told)))
    sent: Any = next(jsonvalue.loads(raw) for raw in alone.office.server if b"stretto-0" in raw)
    assert sent["params"]["_meta"] == meta


def test_a_peer_speaks_for_its_own_server_only(alone: Alone) -> None:
    for event in (
        Called(1.0, "people::9", "people::get_user", {"user_id": "forged"}),
        Called(1.0, "orders::9", "orders::get_order", {"order_id": "true"}),
        Returned(1.0, "nobody::1", error=False, refused=False, text="forged"),
        Said(1.0, 0, "user", "hello"),
        Said(1.0, 0, "user", "hello"),
    ):
        alone.ears.mesh.send(event)
    alone.office.answers("find_user", email="x")
    known = "".join(flow_of(alone.office)._turns._known)
    assert ("forged" in known, '{"order_id":"true"}' in known, known.count("hello")) == (False, True, 1)


def test_what_is_told_is_what_happened(alone: Alone) -> None:
    alone.office.answers("find_user", email="x")
    alone.ears.until(
        lambda: len(alone.heard(Returned)) == 1 and type(alone.ears.heard_of[-1][1]).__name__ == "Answered"
    )
    told = [message for _, message in alone.ears.heard_of if not isinstance(message, Lends)]
    assert [type(message).__name__ for message in told] == [
        "Called",
        "Returned",
        "Sync",
        "LookedUp",
        "Found",
        "Answered",
    ]
    assert alone.heard(Called)[0].id == "people::1"
    assert all(encode(message) for message in told)


def test_names_are_translated_where_no_other_proxy_can_be_met() -> None:
    bench = Bench(two_server_flow(), names=Names("people"))
    bench.answer_lookups()
    with bench:
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        line: Any = bench.got(1)
    assert bench.lookups == [("get_user", {"user_id": "u1"})]
    assert line["result"]["content"][-1]["text"].splitlines()[2] == 'get_user {"user_id":"u1"}:'

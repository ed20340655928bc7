"""Two real proxies of one host, with a flow that was learned from sessions they recorded: as a user would run them."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Self

import pytest

from stretto.deciders.decide import decide
from stretto.flow.file import read_flow, write_flow
from stretto.flow.model import Provenance
from stretto.flowlog import read_flow_log
from stretto.learning import learn
from stretto.review.walk import Walker
from stretto.sessions.corpus import open_corpus
from stretto.sessions.log import read_log
from tests.conftest import ROOT
from tests.stretto.proxy.relays import PATIENCE
from tests.stretto.shop import shop_flow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROXY = (sys.executable, "-m", "stretto.proxy.main")
SERVER = (sys.executable, "-m", "stretto.proxy.demo_server")
AGENT = (sys.executable, ROOT / "examples" / "scripted_agent.py")


class Desk:
    """One server behind its proxy, as a host sees it."""

    def __init__(self, name: str, record: Path, *options: object, slow: int = 0, **environment: str) -> None:
        self.name = name
        self.record = record / name
        words = [*PROXY, "--record", self.record, *options]
        self.process = subprocess.Popen(
            [*map(str, words), "--", *SERVER, "--slow", str(slow)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, **environment},
        )
        self.number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def opens(self) -> None:
        """The host opens the session, and asks for the tools."""
        client = {"name": "host", "version": "1"}
        self.asks("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self.sends({"method": "notifications/initialized"})
        self.asks("tools/list")

    def sends(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def calls(self, tool: str, **arguments: str) -> int:
        """The agent calls; the id of the call."""
        self.number += 1
        params = {"name": tool, "arguments": arguments}
        self.sends({"id": self.number, "method": "tools/call", "params": params})
        return self.number

    def gets(self) -> Any:
        """The next line for the host."""
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def answers(self) -> bool:
        """Whether a line for the host is there."""
        assert self.process.stdout
        return bool(select.select([self.process.stdout], [], [], 0.01)[0])

    def asks(self, method: str, **params: Any) -> Any:
        self.number += 1
        self.sends({"id": self.number, "method": method, "params": params})
        return self.gets()

    def reads(self, tool: str, **arguments: str) -> str:
        """All that the agent reads of a call's result."""
        number = self.calls(tool, **arguments)
        line = self.gets()
        assert line["id"] == number
        return "\n".join(
            item["text"] if "text" in item else item["resource"]["text"] for item in line["result"]["content"]
        )

    def end(self) -> str:
        """The host closes the session; what the proxy wrote to standard error, the first time."""
        if self.process.stdin and self.process.stdin.closed:
            return ""
        self.process.send_signal(signal.SIGCONT)
        return self.process.communicate(timeout=PATIENCE)[1].decode()

    @property
    def log(self) -> Path:
        [log] = [path for path in self.record.glob("*.jsonl") if not path.name.endswith(".flow.jsonl")]
        return log

    @property
    def own(self) -> list[Any]:
        """What its record has as sent by the proxy itself."""
        return [entry.message for entry in read_log(self.log)[1] if entry.sender == "proxy"]

    @property
    def lookups(self) -> list[tuple[str, Any]]:
        """The calls among these."""
        calls = [message["params"] for message in self.own if message.get("method") == "tools/call"]
        return [(params["name"], params["arguments"]) for params in calls]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A flow that was learned over both servers."""
    place = tmp_path_factory.mktemp("learned")
    proxy = [*PROXY, "--record", place / "logs", "--server-name", "NAME", "--", *SERVER]
    subprocess.run(
        [*map(str, AGENT), "offices", "1-6", *map(str, proxy)], check=True, capture_output=True, timeout=120, cwd=ROOT
    )
    flow = learn(open_corpus(place / "logs"), provenance=Provenance("0"))
    assert "orders::get_order_details" in flow.manifest.tools
    path = place / "offices.flow.json"
    write_flow(path, flow)
    return path


class Host:
    """A host with both servers, which start at once."""

    def __init__(self, record: Path, flow: Path, *options: object, session: str = "one", slow: int = 0) -> None:
        def desk(name: str) -> Desk:
            named = ("--flow", flow, "--server-name", name, *options)
            return Desk(name, record, *named, slow=slow if name == "orders" else 0, STRETTO_SESSION=session)

        self.people, self.orders = desk("people"), desk("orders")
        for each in (self.people, self.orders):
            each.opens()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self.people, self.orders):
            each.end()

    def reads_of(self, customer: str) -> str:
        """What the agent reads when it asks for a customer's id."""
        return self.people.reads("find_user_id_by_email", email=f"{customer}@example.com")

    def reads_of_orders(self, *customers: str) -> str:
        """The same, of the first of these whose order rides along: a machine may have no time for the others'."""
        texts = [""]
        for customer in customers:
            texts.append(self.reads_of(customer))
            if texts[-1].count("(server orders)") == 3:
                return texts[-1]
        raise AssertionError(texts)


@pytest.fixture
def host(root: Path, tmp_path: Path, learned: Path) -> Iterator[Host]:
    with Host(tmp_path, learned) as host:
        yield host
    assert [path.name for path in root.iterdir()] == []


#: Customers with three orders each.
THREE = ("hedy.lamarr", "margaret.hamilton", "barbara.liskov", "edsger.dijkstra")


def test_lookups_at_the_other_server_ride_in_the_answer_and_are_recorded_as_that_proxys(host: Host) -> None:
    text = host.reads_of_orders(*THREE)
    made = [line.split(" {") for line in text.splitlines() if line.endswith("}:")]
    assert [tool for tool, _ in made] == ["get_user_details", *["get_order_details (server orders)"] * 3]
    asked = [json.loads("{" + arguments[:-1]) for _, arguments in made]
    order = str(asked[1]["order_id"])
    host.orders.reads("cancel_order", order_id=order, reason="no longer needed")
    assert (host.people.end(), host.orders.end()) == ("", "")
    assert ("get_user_details", asked[0]) in host.people.lookups
    assert host.orders.lookups[-3:] == [("get_order_details", arguments) for arguments in asked[1:]]
    ids = [message["id"] for message in host.orders.own if "id" in message]
    assert ids == [f"stretto-{number}" for number in range(len(ids))]


@pytest.mark.parametrize("first", ["people", "orders"])
def test_proxies_that_end_in_any_order_leave_no_files(root: Path, tmp_path: Path, learned: Path, first: str) -> None:
    with Host(tmp_path, learned) as host:
        host.reads_of("hedy.lamarr")
        assert len(list(root.rglob("*.peer"))) == 2
        order = [host.people, host.orders] if first == "people" else [host.orders, host.people]
        for left, desk in enumerate(order):
            assert (desk.end(), desk.process.returncode) == ("", 0)
            assert len(list(root.rglob("*.peer"))) == 1 - left
    assert list(root.iterdir()) == []


def test_a_proxy_that_is_killed_while_it_looks_something_up_costs_its_lookups_and_nothing_else(
    root: Path, tmp_path: Path, learned: Path
) -> None:
    with Host(tmp_path, learned, slow=60_000) as host:
        for customer in THREE:
            host.people.calls("find_user_id_by_email", email=f"{customer}@example.com")
            while not host.orders.lookups and not host.people.answers():
                pass
            if host.orders.lookups:
                break
            host.people.gets()
        host.orders.process.kill()
        text = json.dumps(host.people.gets())
        assert customer.replace(".", "_") in text
        assert "(server orders)" not in text
        host.orders.process.communicate(timeout=PATIENCE)
        assert "john_backus" in host.reads_of("john.backus")
        assert host.orders.lookups
        host.people.end()
    assert list(root.rglob("*")) == []  # what the killed one has left is removed by who was with it


def test_a_proxy_that_is_stopped_holds_up_nobody_and_is_there_again_when_it_goes_on(host: Host) -> None:
    host.reads_of("john.backus")
    host.orders.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    for customer in ("ada.lovelace", "katherine.johnson"):
        text = host.reads_of(customer)
        assert customer.replace(".", "_") in text
        assert "(server orders)" not in text
    assert time.monotonic() - began < PATIENCE  # each answer is held for a second at the most, if the machine has time
    host.orders.process.send_signal(signal.SIGCONT)
    host.orders.reads("cancel_order", order_id="#W1000", reason="no longer needed")
    host.reads_of_orders(*THREE)


def test_the_sessions_of_two_hosts_do_not_see_each_other(root: Path, tmp_path: Path, learned: Path) -> None:
    with Host(tmp_path / "1", learned, session="one") as one, Host(tmp_path / "2", learned, session="two") as two:
        assert len(list(root.iterdir())) == 2
        one.reads_of("hedy.lamarr")
        assert two.orders.lookups == []
        two.people.process.kill()
        one.reads_of_orders(*THREE)
        assert two.orders.lookups == []


def test_a_place_that_is_not_the_users_alone_is_not_used_and_said_once(
    root: Path, tmp_path: Path, learned: Path
) -> None:
    root.mkdir()
    root.chmod(0o755)
    with Host(tmp_path, learned) as host:
        text = host.reads_of("hedy.lamarr")
        assert "(server orders)" not in text
        [line] = [line for line in host.people.end().splitlines() if "met" in line]
        assert "others than this user can look into it" in line
    assert list(root.iterdir()) == []


def test_a_flow_over_one_server_meets_nobody(root: Path, tmp_path: Path) -> None:
    flow = tmp_path / "shop.flow.json"
    write_flow(flow, shop_flow())
    code = "import sys; from stretto.proxy.main import main; main(); print([n for n in sys.modules if n in (%r, %r)])"
    words = ["--flow", flow, "--server-name", "people", "--", sys.executable, "-c", "pass"]
    done = subprocess.run(
        [sys.executable, "-c", code % ("stretto.proxy.peers.mesh", "platformdirs"), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=ROOT,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert not root.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [((), "say with --server-name"), (("--server-name", "mail"), "none of them is mail")],
    ids=["no name", "another name"],
)
def test_a_flow_over_several_servers_is_refused_where_it_is_not_said_which_one_this_is(
    root: Path, learned: Path, options: tuple[str, ...], said: str
) -> None:
    done = subprocess.run(
        [*PROXY, "--flow", str(learned), *options, "--", *SERVER],
        input=b"",
        capture_output=True,
        timeout=PATIENCE,
        cwd=ROOT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()
    assert not root.exists()


@pytest.mark.timeout(120)
def test_each_decides_as_a_review_does_that_reads_the_merged_record(root: Path, tmp_path: Path, learned: Path) -> None:
    """Whichever server a call went to: what is known at it, and which turn it belongs to, is that of both."""
    assert not root.exists()
    with Host(tmp_path / "logs", learned, "--flow-shadow", slow=1000) as host:
        for customer, number in (("grace.hopper", 1012), ("hedy.lamarr", 1015)):
            _works(host, customer, f"#W{number}", f"#W{number + 1}")
        assert (host.people.end(), host.orders.end()) == ("", "")
        logged = {
            line["after"]: line
            for desk in (host.people, host.orders)
            for line in read_flow_log(desk.log.with_suffix(".flow.jsonl"))
            if "action" in line
        }
    flow = read_flow(learned)
    for desk in (host.people, host.orders):
        desk.log.rename(tmp_path / desk.log.name)
    [recorded] = open_corpus(tmp_path)
    decided: dict[str, Any] = {}
    for point in Walker(flow).points(recorded.episode):
        decision = decide(flow, point.situation())
        decided[point.call_id] = (
            "lookup" if decision.looks_up else "hand_back",
            decision.tool if decision.looks_up else None,
            dict(decision.bound.arguments) if decision.looks_up and decision.bound else None,
            {tool: pytest.approx(p) for tool, p in decision.probs.items()},
        )
    seen = {
        after: (line["action"], line.get("tool"), line.get("arguments"), line["probs"])
        for after, line in logged.items()
        if after in decided
    }
    assert len(seen) > 12
    assert sum(action == "lookup" for action, *_ in seen.values()) > 5
    assert seen == decided


def _works(host: Host, customer: str, order: str, other: str) -> None:
    """An agent that thinks for a moment, calls both servers at once, waits for a while, fails, and changes its mind."""
    user_id = host.reads_of(customer)
    time.sleep(0.1)
    host.people.reads("get_user_details", user_id=user_id)
    time.sleep(0.1)
    host.orders.calls("get_order_details", order_id=order)  # takes 1 s, and what is asked for meanwhile a few ms
    time.sleep(0.1)  # two proxies see what is sent at once in either order
    host.people.reads("list_orders", user_id=user_id)
    host.orders.gets()
    time.sleep(0.6)
    host.orders.reads("get_order_details", order_id=other)
    time.sleep(0.1)
    host.people.reads("get_user_details", user_id="nobody")
    time.sleep(0.6)
    lost = host.orders.calls("get_order_details", order_id="#W1000")
    time.sleep(0.05)
    host.orders.sends({"method": "notifications/cancelled", "params": {"requestId": lost}})
    time.sleep(0.1)
    host.people.reads("get_user_details", user_id=user_id)
    time.sleep(0.6)
    host.orders.reads("cancel_order", order_id=order, reason="no longer needed")
    time.sleep(0.6)

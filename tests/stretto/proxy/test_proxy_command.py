"""``stretto-proxy`` as a host starts it: its exit status, its output, and signals in every state."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from stretto.flow.file import write_flow
from stretto.flowlog import read_flow_log
from stretto.sessions.corpus import open_corpus
from stretto.sessions.episode import ToolResult
from stretto.sessions.log import read_log
from tests.conftest import ROOT
from tests.stretto.proxy.relays import ECHO, PATIENCE, message, program
from tests.stretto.shop import ORDERS, USER, shop_flow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROXY = (sys.executable, "-m", "stretto.proxy.main")


def run(*words: object, data: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROXY, *map(str, words)],
        input=data,
        capture_output=True,
        timeout=PATIENCE,
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
    )


def test_standard_output_is_the_servers_and_nothing_else(tmp_path: Path) -> None:
    said = b'{"id":1}\n[{"method": "a"}]\n{"torn": 1}'
    for options, stray in (((), b"not json\xff\n"), (("--record", tmp_path / "logs", "--domain", "shop"), b"")):
        done = run(*options, "--", *ECHO, data=stray + said)
        assert (done.returncode, done.stdout, done.stderr) == (0, stray + said, b"")


@pytest.mark.case("HC-21")
def test_text_of_the_server_is_recorded_and_told_once_a_kind_without_secrets_and_not_passed_on(tmp_path: Path) -> None:
    stray = (
        b'key sk-proj-Zk3v9QpL7mXw2Rt8\x1b[2J\nServer started\n\n{"jsonrpc": "2.0", \n[1,2]\n"x"\n\xff\xfe not utf-8\n'
    )
    said = b'{"jsonrpc": "2.0",  "method": "a"}\n'
    done = run("--record", tmp_path, "--", *ECHO, data=stray + said)
    assert (done.returncode, done.stdout) == (0, said)
    told = done.stderr.decode("ascii").splitlines()
    assert [line.split(" (reported once")[0] for line in told] == [
        "stretto-proxy: a line of the server that is no JSON is not passed on: key __REDACTED_BY_WAGGLE__\\x1b[2J",
        "stretto-proxy: a line of the server that is empty is not passed on",
        "stretto-proxy: a line of the server that is JSON and no message is not passed on: [1,2]",
        "stretto-proxy: a line of the server that is not UTF-8 is not passed on: \\xff\\xfe not utf-8",
    ]
    [log] = tmp_path.glob("*.jsonl")
    raws = [entry.raw for entry in read_log(log)[1] if entry.sender == "server" and entry.raw is not None]
    assert raws[1:4] == ["Server started", "", '{"jsonrpc": "2.0", ']


@pytest.mark.case("HC-23")
def test_requests_of_a_server_that_cannot_be_started_are_answered_until_the_host_leaves(tmp_path: Path) -> None:
    asked = (
        message(id=1, method="initialize") + message(method="notifications/initialized") + message(id="2", method="x")
    )
    done = run("--record", tmp_path, "--", "/nowhere/server", data=asked)
    assert done.returncode == 125
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    problem = {"code": -32000, "message": "/nowhere/server cannot be started: No such file or directory"}
    assert answers == [{"jsonrpc": "2.0", "id": number, "error": problem} for number in (1, "2")]
    [log] = tmp_path.glob("*.jsonl")
    assert [entry.sender for entry in read_log(log)[1]].count("proxy") == 2


@pytest.mark.parametrize(
    ("text", "status"), [("", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)]
)
def test_the_exit_status_is_the_servers(text: str, status: int) -> None:
    assert run("--", *program(text)).returncode == status


def test_a_server_that_cannot_be_started_is_said_in_one_line() -> None:
    done = run("--", "/nowhere/server")
    assert (done.returncode, done.stdout) == (125, b"")
    assert done.stderr == b"stretto-proxy: /nowhere/server cannot be started: No such file or directory\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), b"name one server"),
        (("--nonsense", "--", "x"), b"No such option"),
        (("--retain-days", "7", "--", "x"), b"--retain-days does nothing without --record"),
        (("--flow-shadow", "--", "x"), b"--flow-shadow does nothing without --flow"),
        (("--context", "f", "--", "x"), b"--context does nothing without"),
        (("--waggle-project", "d", "--", "x"), b"--waggle-project does nothing without --waggle"),
        (("--server-name", "s", "--", "x"), b"--server-name does nothing without --record, --flow or --waggle"),
        (("--waggle", "--waggle-project", "/nowhere", "--", "x"), b"/nowhere: no such directory"),
        (("--retain-days", "0", "--record", "d", "--", "x"), b"not in the range"),
        (("--flow", "/nowhere.flow.json", "--", "x"), b"/nowhere.flow.json"),
        (("--flow-wait", "2", "--", "x"), b"--flow-wait does nothing without --flow"),
        (("--flow", "f", "--flow-wait", "0", "--", "x"), b"not in the range"),
        (("--flow", "f", "--flow-lookup-wait", "nan", "--", "x"), b"nan is no number"),
        (("--flow", "f", "--flow-surprise", "nan", "--", "x"), b"neither off nor a number above 0"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_started(words: tuple[str, ...], said: bytes) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr
    assert b"Traceback" not in done.stderr


def test_the_servers_own_options_and_dashes_are_its_own_and_not_expanded(tmp_path: Path) -> None:
    server = program("import sys; print(sys.argv[1:])")
    for words in (("--", *server, "--record", "~", "--", "-x"), (*server, "--record", "~", "--", "-x")):
        assert run(*words).stdout == b"['--record', '~', '--', '-x']\n"
    assert run("--record", "~/logs", "--", *ECHO, HOME=str(tmp_path)).returncode == 0
    [log] = (tmp_path / "logs").glob("*.jsonl")
    assert read_log(log)[0].server_command == ECHO


def test_the_sessions_of_one_host_have_its_id(tmp_path: Path) -> None:
    run("--record", tmp_path / "a", "--", *ECHO, STRETTO_SESSION="mine")
    run("--record", tmp_path / "b", "--server-name", "s", "--agent-model", "m", "--", *ECHO)
    headers = [read_log(next((tmp_path / name).glob("*.jsonl")))[0] for name in "ab"]
    assert [header.host_session for header in headers] == ["mine", f"host-{os.getpid()}"]
    assert (headers[1].server_name, headers[1].agent_model) == ("s", "m")


@pytest.fixture
def unignored(signum: int) -> Iterator[None]:
    """The signal is not ignored, as it is under nohup: what is ignored here, a child ignores, too."""
    before = signal.getsignal(signum)
    if before is signal.SIG_IGN:
        signal.signal(signum, signal.SIG_DFL)
    yield
    signal.signal(signum, before)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("state", ["idle", "in a message", "host does not read"])
def test_a_signal_ends_proxy_and_server(signum: int, state: str, tmp_path: Path, unignored: None) -> None:
    server = program(
        "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n"
        "os.write(1, b'{\"pid\": %d}\\n' % os.getpid())\n"
        + ("while True: os.write(1, b'{}\\n' * 4096)" if state == "host does not read" else "sys.stdin.read()")
    )
    proxy = subprocess.Popen(
        [*PROXY, "--record", tmp_path, "--", *server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert proxy.stdin
    assert proxy.stdout
    with proxy.stdin, proxy.stdout:
        pid = json.loads(os.read(proxy.stdout.fileno(), 4096).splitlines()[0])["pid"]
        if state == "in a message":
            os.write(proxy.stdin.fileno(), b'{"half')
        proxy.send_signal(signum)
        assert proxy.wait(PATIENCE) == 128 + signum
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


SHOP = program(
    "import json, sys\n"
    f"user, orders = {USER!r}, {ORDERS!r}\n"
    "for line in sys.stdin:\n"
    "    said = json.loads(line)\n"
    "    if 'id' not in said: continue\n"
    "    name, given = said['params']['name'], said['params']['arguments']\n"
    "    found = user if name == 'get_user' else orders.get(given.get('order_id'))\n"
    "    text = 'u1' if name == 'find_user' else json.dumps(found)\n"
    "    result = {'content': [{'type': 'text', 'text': text}]}\n"
    "    print(json.dumps({'jsonrpc': '2.0', 'id': said['id'], 'result': result}), flush=True)\n"
)


def find_user(flow: Path, *options: object) -> str:
    """What the host hears of a call through the proxy."""
    proxy = subprocess.Popen(
        [*PROXY, "--flow", flow, *map(str, options), "--", *SHOP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert proxy.stdin
    assert proxy.stdout
    with proxy.stdin, proxy.stdout:
        proxy.stdin.write(message(id=7, method="tools/call", params={"name": "find_user", "arguments": {"email": "a"}}))
        proxy.stdin.flush()
        answer = json.loads(proxy.stdout.readline())
        proxy.stdin.close()
        assert proxy.stdout.read() == b""
        assert proxy.wait(PATIENCE) == 0
    assert answer["id"] == 7
    return "\n".join(item["text"] for item in answer["result"]["content"])


def test_a_flow_acts_is_recorded_and_logs_its_decisions_beside(tmp_path: Path) -> None:
    flow = tmp_path / "shop.flow.json"
    write_flow(flow, shop_flow())
    heard = find_user(flow, "--record", tmp_path / "logs")
    assert heard.startswith("u1\n--- Also looked up automatically")
    assert all(name in heard for name in ORDERS)
    [log] = (path for path in (tmp_path / "logs").glob("*.jsonl") if not path.name.endswith(".flow.jsonl"))
    senders = [(entry.sender, (entry.message or {}).get("id")) for entry in read_log(log)[1]]  # type: ignore[union-attr]
    lookups = [("proxy", f"stretto-{number}") for number in range(4)]
    assert [each for each in senders if each in lookups] == lookups
    assert senders[-1] == ("proxy", 7)
    [recorded] = open_corpus(log)
    assert [type(event) for event in recorded.episode.events if isinstance(event, ToolResult)] == [ToolResult] * 5
    decisions = [line["action"] for line in read_flow_log(log.with_suffix(".flow.jsonl")) if "action" in line]
    assert decisions == ["lookup"] * 4 + ["hand_back"]


def test_the_flows_options_reach_it(tmp_path: Path) -> None:
    flow = tmp_path / "shop.flow.json"
    write_flow(flow, shop_flow())
    log = tmp_path / "decisions.jsonl"
    assert find_user(flow, "--flow-shadow", "--flow-log", log, "--task-id", "t", "--flow-explore", "0.5") == "u1"
    [first, *_] = read_flow_log(log)
    assert first["shadow"] is True
    assert "t" in str(first["policy"])
    assert "get_order" not in find_user(flow, "--flow-per-call", "1", "--flow-surprise", "off")
    assert find_user(flow, "--flow-tools", "get_order,get_stock", "--flow-surprise", "5") == "u1"
    assert find_user(flow, "--flow-threshold", "1", "--flow-decider", "habit") == "u1"
    assert find_user(flow, "--flow-per-session", "0") == "u1"
    assert find_user(flow, "--flow-wait", "0.001") == "u1"  # nothing is looked up in so short a time
    assert find_user(flow, "--flow-wait", "30", "--flow-lookup-wait", "0.000001") == "u1"
    assert "get_order" in find_user(flow, "--flow-wait", "30", "--flow-lookup-wait", "20")
    refused = run("--flow", flow, "--oracle", "replay", "--", *ECHO)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"--oracle replay and --oracle-cache go together" in refused.stderr


GUARDS = """
stretto_guards = 1

[[checks]]
name = "a known order"
tools = ["cancel_order"]
say = "Look the order up first."
{confirmed}
[checks.arguments.order_id]
matches = "#W[0-9]+"
"""


def test_a_call_that_a_guard_refuses_never_reaches_the_server_and_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "guards.toml").write_text(GUARDS.format(confirmed=""))
    good, bad = (
        {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "cancel_order", "arguments": each}}
        for n, each in enumerate([{"order_id": "#W1"}, {"order_id": "1; drop"}], 1)
    )
    data = b"".join(json.dumps(each).encode() + b"\n" for each in (bad, good))
    done = run("--record", tmp_path / "logs", "--guards", tmp_path / "guards.toml", "--", *ECHO, data=data)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    refused = next(each for each in told if each.get("id") == 2)
    assert refused["result"]["isError"]
    assert "Look the order up first." in refused["result"]["content"][0]["text"]
    assert good in told  # the server gives back what reaches it, and bad did not
    assert bad not in told
    (log,) = (tmp_path / "logs").glob("*.jsonl")
    assert b"drop" in log.read_bytes()


def test_guards_that_ask_what_the_user_said_need_to_be_told(tmp_path: Path) -> None:
    (tmp_path / "guards.toml").write_text(GUARDS.format(confirmed='confirmed = "yes"'))
    done = run("--guards", tmp_path / "guards.toml", "--", *ECHO)
    assert done.returncode == 2
    assert b"--context" in done.stderr


def test_help_and_version_are_for_people() -> None:
    assert b"--record DIR" in run("--help").stdout
    assert run("--version").stdout.startswith(b"stretto-proxy ")


def test_nothing_is_loaded_that_only_recording_or_serving_needs() -> None:
    script = (
        "import sys\nfrom stretto.proxy.main import main\nmain(['--', sys.executable, '-c', ''])\n"
        "print([name for name in ('stretto.sessions.log_writer', 'stretto.speculator', 'waggle.redact', 'pydantic', "
        "'rich') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout == b"[]\n"

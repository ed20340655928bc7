"""A look at a server: it is started, lists its tools in either era, and is ended, whatever it does."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from stretto.proxy.client import Listed, ServerFault, list_tools
from stretto.proxy.demo_shop import TOOLS

ODD = Path(__file__).with_name("odd_server.py")
DEMO = (sys.executable, "-m", "stretto.proxy.demo_server")


def odd(mode: str, *more: str) -> tuple[str, ...]:
    return (sys.executable, str(ODD), mode, *more)


def looked(mode: str, *more: str, patience_s: float = 30.0) -> Listed:
    return list_tools(odd(mode, *more), patience_s=patience_s)


def failed(mode: str, patience_s: float = 30.0) -> str:
    with pytest.raises(ServerFault) as caught:
        looked(mode, patience_s=patience_s)
    return str(caught.value)


def test_the_demonstration_server_lists_its_shop() -> None:
    listed = list_tools((*DEMO, "--page-size", "2"), patience_s=30.0)
    assert sorted(listed.manifest.tools) == sorted(str(tool["name"]) for tool in TOOLS)
    assert listed.manifest.kind("cancel_order") == "write"
    assert "get_order_details" in listed.manifest.reads
    assert listed.name.startswith("stretto-mcp-demo ")
    assert (listed.protocol, listed.warning) == ("2025-11-25", "")


def test_a_server_without_a_handshake_is_asked_anew() -> None:
    listed = looked("modern")
    assert (listed.name, listed.protocol) == ("new 2", "2026-07-28")
    assert len(listed.manifest.tools) == 4


@pytest.mark.case("HC-27")
@pytest.mark.parametrize(("mode", "count"), [("pages", 8), ("empty-cursor", 5)])
def test_all_pages_are_asked_for_and_a_tool_on_two_is_one(mode: str, count: int) -> None:
    listed = looked(mode)
    assert (len(listed.manifest.tools), listed.warning) == (count, "")


@pytest.mark.case("HC-27")
def test_a_page_that_comes_again_ends_the_walk_with_a_warning() -> None:
    listed = looked("again")
    assert len(listed.manifest.tools) == 5
    assert listed.warning == "it gives the same page of its tools again and again"


@pytest.mark.case("HC-27")
def test_a_list_without_an_end_is_walked_so_far_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.proxy.client._PAGES", 3)
    assert looked("endless").warning == "it has more than 3 pages of tools"


@pytest.mark.case("HC-21")
def test_what_is_no_message_is_passed_over() -> None:
    assert looked("noisy").name == "odd 1"


def test_what_the_server_asks_is_answered() -> None:
    assert looked("asks").protocol == "2025-06-18"


@pytest.mark.case("HC-23")
@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("dies", "ends with 3 instead of answering initialize; it said: no key; Authorization: "),
        ("no-object", "answers initialize with no object"),
        ("no-list", "does not list its tools: no such method"),
        ("refuses", "refuses both the handshake and a start without one: "),
    ],
)
def test_a_server_that_cannot_be_asked_says_why(mode: str, problem: str) -> None:
    said = failed(mode)
    assert said.startswith(problem)
    assert "abcdef0123456789" not in said


@pytest.mark.parametrize("mode", ["silent", "chatters"])
def test_a_server_that_never_answers_is_given_up(mode: str) -> None:
    assert failed(mode, patience_s=0.5) == "does not answer initialize in time"


@pytest.mark.case("HC-23")
def test_a_server_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    with pytest.raises(ServerFault, match="no-such-program cannot be started: No such file or directory"):
        list_tools(("no-such-program",), patience_s=1.0)
    with pytest.raises(ServerFault, match="cannot be started"):
        list_tools(DEMO, patience_s=1.0, cwd=str(tmp_path / "nowhere"))


def test_variables_and_directory_are_the_servers_own(tmp_path: Path) -> None:
    check = "import os, sys; sys.exit(f'{os.environ[\"SHOP_KEY\"]} {os.getcwd()}')"
    with pytest.raises(ServerFault, match=f"it said: mine {tmp_path}"):
        list_tools((sys.executable, "-c", check), patience_s=30.0, env={"SHOP_KEY": "mine"}, cwd=str(tmp_path))


@pytest.mark.case("HC-24")
@pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")
def test_no_process_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a server that does not end by itself, and of one whose child ignores being asked to."""
    monkeypatch.setattr("stretto.proxy.client._GRACE_S", 0.3)
    assert looked("stays").name == "odd 1"
    assert looked("child", str(tmp_path / "pids")).name == "odd 1"
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        until = time.monotonic() + 10  # who is killed has been told so, and ends when its turn comes
        while not ended(pid) and time.monotonic() < until:
            time.sleep(0.01)
        assert ended(pid)


def ended(pid: int) -> bool:
    """Whether a process is gone, or has ended and nobody has asked how."""
    try:
        if Path("/proc").exists():
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        os.kill(pid, 0)
    except (FileNotFoundError, ProcessLookupError):
        return True
    return False

"""Work for the disk, away from the agent's calls: in order, bounded, reported once, and in a forked child its own."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from waggle.background import Background, Faults

if TYPE_CHECKING:
    from pathlib import Path


def test_queued_work_is_done_in_order_and_a_fault_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []
    faults = Faults()
    background = Background(faults)

    def fails() -> None:
        raise OSError("disk")

    for number in range(3):
        assert background.submit("write", lambda number=number: done.append(number))  # type: ignore[misc] # mypy does not follow the bound default
        background.submit("bad", fails)
    assert background.flush(5)
    assert done == [0, 1, 2]
    assert faults.counts() == {"bad": 3}
    assert [record.getMessage() for record in caplog.records] == [
        "bad: disk (reported once; the agent is not affected)"
    ]


def test_a_full_queue_drops_and_counts() -> None:
    faults, inside, free = Faults(), threading.Event(), threading.Event()
    background = Background(faults, capacity=2)

    def hold() -> None:
        inside.set()
        assert free.wait(5)

    background.submit("hold", hold)
    assert inside.wait(5)
    assert [background.submit("more", lambda: None) for _ in range(4)] == [True, True, False, False]
    assert not background.flush(0.01)
    free.set()
    assert background.flush(5)
    assert faults.counts() == {"queue full, dropped: more": 2}


@pytest.mark.case("HC-17")
def test_no_secret_of_an_exception_reaches_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Neither the warning nor the debug log, which repeats the text with its stack trace."""
    secret = "sk-lab-EXAMPLE000111.seg2_EXAMPLE-333"  # noqa: S105 - made up, to be looked for
    with caplog.at_level(logging.DEBUG, "waggle"):
        Faults().note("the tool", OSError(f"curl -H 'X-Token: {secret}' failed"))
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG"]
    assert secret not in caplog.text


FORK = """
import os, sys, threading
from pathlib import Path
from waggle import Call, Manager, Route
from waggle.background import Background, Faults
from waggle.routes import RouteStep

log = Path(sys.argv[1])
def write(text):
    with log.open("a") as file:
        file.write(text + chr(10))

background, inside, free = Background(Faults()), threading.Event(), threading.Event()
background.submit("hold", lambda: (inside.set(), free.wait(10)))
inside.wait(10)
for number in range(3):
    background.submit("write", lambda number=number: write(f"parent {number}"))

read = RouteStep("read", {"path": "x"})
manager = Manager(routes=[Route("r", (read, RouteStep("read", {"path": "y"}), RouteStep("read", {"path": "z"})))])
session = manager.session("s")
locks = [session._lock, session._speculation._lock, manager._lock, manager._faults._lock]
for lock in locks:
    lock.acquire()  # as another thread of the parent might at the moment of the fork
child = os.fork()
if child == 0:
    background.submit("write", lambda: write("child"))
    session.observe(Call("read", {"path": "x"}), "")
    session.observe(Call("read", {"path": "y"}), "")
    fold = manager.session("s").follow(lambda tool, args: "text")
    done = background.flush(5) and fold is not None and manager.faults() == {}
    os._exit(0 if done else 1)
for lock in locks:
    lock.release()
status = os.waitpid(child, 0)[1]
free.set()
background.flush(5)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_is_held_up_by_no_lock_and_writes_nothing_twice(tmp_path: Path) -> None:
    """A lock that another thread holds at that moment stays locked in the child; the parent's queue is the parent's."""
    log = tmp_path / "log"
    subprocess.run([sys.executable, "-c", FORK, str(log)], cwd=ROOT, check=True, timeout=30)
    assert sorted(log.read_text().splitlines()) == ["child", "parent 0", "parent 1", "parent 2"]

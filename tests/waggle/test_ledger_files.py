"""A ledger under many writers, and under death at any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.waggle.ledger_support import records
from waggle.compaction import compact_ledger
from waggle.files import is_leftover
from waggle.ledger import Ledger, LedgerCheck, LedgerEntry, check_ledger, read_ledger

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


# --- many at once -----------------------------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from waggle.ledger import Ledger, LedgerEntry

writer, count, pad = sys.argv[2], int(sys.argv[3]), "x" * int(sys.argv[4])
stop = Path(sys.argv[5]) if sys.argv[5:] else None
ledger = Ledger(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
number = 0
while number < count or (stop and not stop.exists() and number < 3000):
    ledger.append(LedgerEntry(f"{writer}-{number}-{pad}", 1, 1))
    number += 1
print(number, flush=True)
"""

COMPACTER = """
import sys
from pathlib import Path
from waggle.compaction import compact_ledger
from waggle.ledger import Ledger, LedgerEntry, read_ledger

path = Path(sys.argv[1])
ledger = Ledger(path)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(12):
    ledger.append(LedgerEntry("gone"))
    compact_ledger(path, lambda: [name for name in read_ledger(path) if name != "gone"])
Path(sys.argv[2]).touch()
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def together(processes: list[subprocess.Popen[str]]) -> None:
    """Let all start at one moment."""
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()


def ended(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out


def in_order(path: Path, counts: list[int]) -> bool:
    """So many records of each writer, each once, and in the writer's order."""
    seen: dict[str, list[int]] = {}
    for record in records(path):
        writer, number, _ = str(record["name"]).split("-")
        seen.setdefault(writer, []).append(int(number))
    return seen == {str(writer): list(range(count)) for writer, count in enumerate(counts)}


@pytest.mark.case("HC-05")
def test_eight_processes_append_and_a_reader_never_sees_less_than_before(path: Path) -> None:
    """1,600 records of 20 kB."""
    writers = [start(WRITER, path, number, 200, 20_000) for number in range(8)]
    together(writers)
    seen = 0
    while any(writer.poll() is None for writer in writers):
        now = len(read_ledger(path))
        assert now >= seen
        seen = now
    assert in_order(path, [int(ended(writer)) for writer in writers])
    assert check_ledger(path) == LedgerCheck(1600)


@pytest.mark.case("HC-05")
def test_eight_processes_append_while_another_compacts_and_no_line_is_lost(path: Path, tmp_path: Path) -> None:
    """Twelve compactions, the writers at work until the last: none drops what came in while it read and wrote."""
    writers = [start(WRITER, path, number, 20, 50, tmp_path / "stop") for number in range(8)]
    compacter = start(COMPACTER, path, tmp_path / "stop")
    together([compacter, *writers])
    counts = [int(ended(writer)) for writer in writers]
    ended(compacter)
    assert "gone" not in read_ledger(path)
    assert in_order(path, counts)
    assert check_ledger(path) == LedgerCheck(sum(counts))


@pytest.mark.case("HC-05")
def test_threads_of_one_process_append_without_losing_a_line(path: Path) -> None:
    ledger = Ledger(path)

    def work(writer: int) -> None:
        for number in range(100):
            ledger.append(LedgerEntry(f"{writer}-{number}-", 1, 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert in_order(path, [100] * 8)


# --- death at any moment ----------------------------------------------------------------------------------------------

VICTIMS = """
import os, sys
from pathlib import Path
from waggle.compaction import compact_ledger
from waggle.ledger import Ledger, LedgerEntry, read_ledger

path, what = Path(sys.argv[1]), sys.argv[2]
ledger = Ledger(path)
ledger.append(LedgerEntry("gone"))

def say(text):
    os.write(1, f"{text}\\n".encode())  # in one piece: two processes say something

def work(death):
    number = 0
    while True:
        ledger.append(LedgerEntry(f"{death}-{number}-" + "x" * 5000, 1, 1))
        say(f"{death}-{number}")
        number += 1
        if what == "compact" and number % 2 == 0:
            ledger.append(LedgerEntry("gone"))
            compact_ledger(path, lambda: [name for name in read_ledger(path) if name != "gone"])

for line in sys.stdin:
    victim = os.fork()
    if victim == 0:
        work(line.strip())
    say(f"victim {victim}")
    os.waitpid(victim, 0)
    say("dead")
"""


def kill_one(nursery: subprocess.Popen[str], death: int, draw: random.Random) -> set[str]:
    """Have a writer started, kill it at a random moment after a few records, return what it acknowledged."""
    assert nursery.stdin
    assert nursery.stdout
    nursery.stdin.write(f"{death}\n")
    nursery.stdin.flush()
    wanted = draw.randint(1, 6)
    victim = 0
    lines: set[str] = set()
    while len(lines) < wanted or not victim:
        line = nursery.stdout.readline().strip()
        if line.startswith("victim"):
            victim = int(line.split()[1])
        else:
            lines.add(line)
    time.sleep(draw.uniform(0, 0.004))  # the moment of death; nothing is waited for
    os.kill(victim, signal.SIGKILL)
    while (line := nursery.stdout.readline().strip()) != "dead":
        lines.add(line)
    return lines


@pytest.mark.case("HC-06")
@pytest.mark.parametrize("what", ["append", "compact"])
def test_nothing_acknowledged_is_lost_to_forty_deaths_at_random_moments(path: Path, what: str) -> None:
    """Each child says of each record that it is in, and is killed at a moment that has nothing to do with that."""
    acknowledged: set[str] = set()

    def in_file() -> set[str]:
        return {name.removesuffix("-" + "x" * 5000) for name in read_ledger(path)}

    def die_often(nursery_number: int) -> None:
        draw = random.Random(nursery_number)  # noqa: S311 - moments to die at, not secrets
        with start(VICTIMS, path, what) as nursery:
            for death in range(20):
                acknowledged.update(kill_one(nursery, 100 * nursery_number + death, draw))

    with ThreadPoolExecutor(2) as pool:  # so that one is at work where the other dies
        list(pool.map(die_often, (1, 2)))
    assert len(acknowledged) >= 40
    assert acknowledged <= in_file()
    assert all(stat.uses == 1 for name, stat in read_ledger(path).items() if name != "gone")
    assert len(check_ledger(path).bad_lines) <= 40
    compact_ledger(path, read_ledger(path))
    assert check_ledger(path).skipped == 0
    assert acknowledged <= in_file()
    left = {entry.name for entry in path.parent.iterdir()} - {path.name, f"{path.name}.lock"}
    assert all(map(is_leftover, left))

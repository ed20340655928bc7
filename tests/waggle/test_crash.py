"""A process killed at random moments while it promotes or curates: nothing acknowledged is lost, every file reads."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from waggle import Scope, Store, read_ledger
from waggle.files import is_leftover, remove_leftovers

if TYPE_CHECKING:
    from pathlib import Path

CHILD = """
import sys
from datetime import datetime, timedelta, UTC
from pathlib import Path
from waggle import Ledger, LedgerEntry, Route, Scope, Store, curate
from waggle.routes import RouteStep, named

base, what, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
project = Store(base / "p" / "skills", base / "p" / "ledger.jsonl")
user = Store(base / "u" / "skills", base / "u" / "ledger.jsonl", Scope.USER)
now = datetime(2026, 6, 1, tzinfo=UTC)
print("ready", flush=True)
n = seed * 1000
while True:
    n += 1
    steps = tuple(RouteStep("read", {"path": f"{n}/{part}"}) for part in "abc")
    route = named(Route("", steps, (), count=3, support=1, learned_at=now if n % 2 else now - timedelta(days=99)))
    name = project.promote(route).name
    Ledger(project.ledger_path).append(LedgerEntry(name, 1, 1))
    print("kept" if n % 2 else "old", name, flush=True)
    if what == "gc" and n % 5 == 0:
        curate(project, user, now=now)
    elif what == "same":
        project.promote(route)
"""


@pytest.mark.case("HC-06")
@pytest.mark.parametrize("what", ["promote", "same", "gc"])
def test_a_store_survives_its_writers_death_at_any_moment(tmp_path: Path, what: str) -> None:
    """Twelve deaths, each after one to five promotions: what was reported is there and reads, its ledger line too."""
    draw = random.Random(what)  # noqa: S311 - moments to die at, repeatable
    acknowledged: set[str] = set()
    for death in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path), what, str(death)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            lines = [child.stdout.readline() for _ in range(draw.randint(1, 5))]
            time.sleep(draw.uniform(0.0, 0.03))  # the moment of death, not a wait for anything
            os.kill(child.pid, signal.SIGKILL)
            lines += child.stdout.read().splitlines(keepends=True)
        acknowledged |= {line.split()[1] for line in lines if line.endswith("\n") and line.startswith("kept")}
    store = Store(tmp_path / "p" / "skills", tmp_path / "p" / "ledger.jsonl")
    listing = store.contents()
    assert listing.invalid == ()
    assert acknowledged <= {route.name for route in listing.routes}
    assert acknowledged <= set(read_ledger(store.ledger_path))
    for route in listing.routes:
        assert not store.is_edited(route)
    assert len(acknowledged) >= 12
    later = datetime.now(UTC) + timedelta(days=1)
    remove_leftovers(tmp_path, now=later)
    assert not [path for path in tmp_path.rglob("*") if is_leftover(path.name)]


PROMOTE = """
import sys
from pathlib import Path
from waggle import Ledger, LedgerEntry, Route, Store
from waggle.routes import RouteStep, named

base = Path(sys.argv[1])
store = Store(base / "skills", base / "ledger.jsonl")
route = named(Route("", tuple(RouteStep("read", {"path": p}) for p in "abc"), (), count=3, support=1))
print("ready", flush=True)
sys.stdin.readline()
promotion = store.promote(route)
if promotion.status == "created":
    Ledger(store.ledger_path).append(LedgerEntry(promotion.name, 3, event="promoted"))
print(promotion.status, flush=True)
"""


@pytest.mark.case("HC-07")
def test_two_promotions_at_one_moment_give_one_skill_and_add_their_support(tmp_path: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", PROMOTE, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for _ in range(4)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    statuses = []
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        out, _ = child.communicate(timeout=20)
        statuses.append(out.strip())
    assert sorted(statuses) == ["created", "known", "known", "known"]
    (route,) = Store(tmp_path / "skills", tmp_path / "ledger.jsonl", Scope.PROJECT).contents().routes
    assert (route.count, route.support) == (12, 4)
    lines = (tmp_path / "ledger.jsonl").read_text().splitlines()
    assert len([line for line in lines if "promoted" in line]) == 1


@pytest.mark.case("HC-06")
@pytest.mark.parametrize("moment", ["half written", "before the rename"])
def test_a_rewrite_that_dies_leaves_the_old_file_whole(tmp_path: Path, moment: str) -> None:
    """The old file byte for byte, with its mode; the leftover is no skill, and goes once it is old."""
    code = f"""
import os, signal, sys
from pathlib import Path
from waggle import files
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if {moment!r} == "half written":
    write = os.write
    files.os.write = lambda fd, data: (write(fd, bytes(data)[: len(data) // 2]), die())[0]
else:
    Path.replace = die
files.replace(Path(sys.argv[1]), b"new" * 700)
"""
    target = tmp_path / "skills" / "x.md"
    target.parent.mkdir()
    target.write_bytes(b"old" * 700)
    target.chmod(0o640)
    done = subprocess.run([sys.executable, "-c", code, str(target)], cwd=ROOT, timeout=20, check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old" * 700
    assert target.stat().st_mode & 0o777 == 0o640
    assert len([p for p in target.parent.iterdir() if is_leftover(p.name)]) == 1
    assert Store(target.parent, tmp_path / "l").names() == {"x"}
    remove_leftovers(tmp_path, now=datetime.now(UTC))
    assert len(list(target.parent.iterdir())) == 2
    remove_leftovers(tmp_path, now=datetime.now(UTC) + timedelta(hours=2))
    assert [p.name for p in target.parent.iterdir()] == ["x.md"]

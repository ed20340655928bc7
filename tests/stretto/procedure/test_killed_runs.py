"""The command ``stretto-procedure``, killed while a change is being made, and taken up again: with a real server."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from stretto.procedure import graph
from stretto.procedure.file import dump_procedure

SECONDS = 60
COMMAND = Path(sys.executable).with_name("stretto-procedure")
SERVER = Path(__file__).with_name("ledger_server.py")


def posting(*entries: str, server: str = "") -> graph.Procedure:
    """A procedure that posts each entry, one after the other."""
    nodes = {
        f"ledger.post#{number}": graph.ToolNode(
            layer=number,
            app="ledger",
            action="post",
            tool="post",
            server=server,
            effect="irreversible",
            args={"$.entry": graph.Binding(value=graph.Constant(value=entry))},
        )
        for number, entry in enumerate(entries)
    }
    names = list(nodes)
    edges = [graph.Edge(first=first, then=then, kind="effect") for first, then in pairwise(names)]
    return graph.Procedure(name="post", nodes=dict(nodes), edges=edges, compiled=graph.Compiled(version="1"))


def started(here: Path, *more: str) -> subprocess.Popen[str]:
    words = [str(COMMAND), "--procedure", "p.json", *more, "--", sys.executable, str(SERVER), str(here / "book")]
    return subprocess.Popen(words, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ran(here: Path, *more: str) -> tuple[int, str]:
    process = started(here, *more)
    out, err = process.communicate(timeout=SECONDS)
    assert out, err
    return process.returncode, out


def booked(here: Path) -> list[str]:
    book = here / "book"
    return book.read_text(encoding="utf-8").split() if book.exists() else []


def test_a_run_that_is_killed_while_it_changes_something_never_changes_it_twice(tmp_path: Path) -> None:
    pytest.importorskip("mcp.server", reason="needs the MCP SDK")
    (tmp_path / "p.json").write_bytes(dump_procedure(posting("first", "second", "third")))
    (tmp_path / "hangs").touch()
    killed = started(tmp_path, "--journal", "run.jsonl")
    end = time.monotonic() + SECONDS
    while len(booked(tmp_path)) < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    killed.kill()
    (tmp_path / "hangs").unlink()
    killed.communicate(timeout=SECONDS)  # until its server has ended too

    code, said = ran(tmp_path, "--journal", "run.jsonl")
    assert (code, said.splitlines()[0]) == (1, "hand_back")
    assert "in_doubt" in said
    assert booked(tmp_path) == ["first", "second"]

    code, said = ran(tmp_path, "--journal", "run.jsonl", "--made", "ledger.post#1=posted second")
    assert (code, said.splitlines()[0]) == (0, "resolved")
    assert booked(tmp_path) == ["first", "second", "third"]

    again = started(tmp_path, "--journal", "run.jsonl")
    assert "the run has come to its end" in again.communicate(timeout=SECONDS)[1]
    assert booked(tmp_path) == ["first", "second", "third"]


def test_a_server_without_a_name_is_the_only_one_that_the_procedure_names(tmp_path: Path) -> None:
    pytest.importorskip("mcp.server", reason="needs the MCP SDK")
    procedure = posting("first", server="books")
    stale = procedure.model_copy(update={"contracts": {"books/post": graph.Contract(input="0" * 16)}})
    (tmp_path / "p.json").write_bytes(dump_procedure(stale))
    process = started(tmp_path)
    assert "tool books/post has changed since: its input" in process.communicate(timeout=SECONDS)[1]
    assert booked(tmp_path) == []

    (tmp_path / "p.json").write_bytes(dump_procedure(procedure))
    assert ran(tmp_path)[0] == 0
    assert booked(tmp_path) == ["first"]

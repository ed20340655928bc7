"""An episode that is written as a session log is read back as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.sessions.corpus import open_corpus
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, Usage, User
from stretto.sessions.log import Entry, Header, read_log
from stretto.sessions.log_dump import dump_log
from stretto.sessions.manifest import Manifest, ToolDoc
from stretto.sessions.turns import infer
from tests.strategies import json_objects, texts
from tests.stretto.sessions.logs_support import answer, call, cancelled, said
from waggle import jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.sessions.log import Sender
    from waggle.jsonvalue import JsonObject, JsonValue


def back(episode: Episode, manifest: Manifest | None = None) -> tuple[Episode, Manifest]:
    """Written and read."""
    header, *lines = [jsonvalue.loads(line) for line in dump_log(episode, manifest).splitlines()]
    assert isinstance(header, dict)
    name, domain, agent, start = (header[key] for key in ("session", "domain", "agent_model", "started_unix_ms"))
    assert isinstance(name, str)
    assert isinstance(domain, str)
    assert isinstance(agent, str)
    assert isinstance(start, int)
    entries = [
        Entry(line["t_ms"], line["from"], line["message"])  # type: ignore[arg-type] # as it was written
        for line in lines
        if isinstance(line, dict)
    ]
    return infer(Header(name, start, domain=domain, agent_model=agent), entries, reward=episode.reward)


# --- from a log --------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 250, 500, 501, 1000]),
        st.sampled_from(["client"] * 4 + ["answer"] * 4 + ["proxy", "cancel", "user", "assistant"]),
        st.integers(0, 6),
        st.sampled_from(["W1", "W2", "W1W2", "W", ""]),
    ),
    max_size=30,
)


def entries_of(steps: list[tuple[int, str, int, str]]) -> list[Entry]:
    """Lines of a session in which everything happens, ids used again included."""
    entries: list[Entry] = []
    now = 0
    for number, (wait, action, choice, value) in enumerate(steps):
        now += wait
        if action in ("client", "proxy"):
            sender: Sender = "proxy" if action == "proxy" else "client"
            name: JsonValue = f"stretto-{number}" if sender == "proxy" else choice if choice < 2 else number
            entries.append(call(now, name, "get", sender, v=value))
        elif action in ("answer", "cancel"):
            sent = [entry.message for entry in entries if isinstance(entry.message, dict)]
            pending = [message["id"] for message in sent if message.get("method") == "tools/call"]
            if pending:
                chosen = pending[-1 - choice % len(pending)]
                entries.append(cancelled(now, chosen) if action == "cancel" else answer(now, chosen, value))
        else:
            entries.append(said(now, action, value))
    return entries


@given(STEPS)
def test_an_episode_of_any_log_is_read_back_the_same(steps: list[tuple[int, str, int, str]]) -> None:
    episode, _ = infer(Header("s", 77, domain="shop", agent_model="gpt"), entries_of(steps), reward=0.25)
    assert back(episode)[0] == episode


@given(st.lists(st.tuples(json_objects(), texts(), st.booleans()), max_size=4), texts())
def test_values_and_texts_of_every_kind_are_read_back_the_same(
    calls: list[tuple[JsonObject, str, bool]], text: str
) -> None:
    names = [f"c{number}" for number in range(len(calls))]
    made = tuple(ToolCall(name, "get", one[0]) for name, one in zip(names, calls, strict=True))
    results = [ToolResult(name, "get", error, content) for name, (_, content, error) in zip(names, calls, strict=True)]
    turn = [Assistant(None, made)] if made else []
    episode = Episode("s", (User(text), *turn, *reversed(results), Assistant(text or "x")), agent_model="a")
    assert repr(back(episode)[0]) == repr(episode)


def test_the_file_is_a_session_log(tmp_path: Path) -> None:
    episode, _ = infer(Header("s", 5), [call(0, 1, "a"), answer(1, 1)])
    (tmp_path / "s.jsonl").write_bytes(dump_log(episode))
    assert infer(*read_log(tmp_path / "s.jsonl"))[0] == episode


def test_what_a_log_has_no_place_for_is_left_out() -> None:
    written = Episode(
        "s",
        (
            Assistant(""),
            Assistant("thinking", (ToolCall("1", "a", None),), Usage(1, 2)),
            ToolResult("1", "a", error=False, content="x"),
        ),
        task_id="t",
        trial=3,
    )
    assert back(written)[0] == replace(
        written,
        task_id="",
        trial=0,
        events=(Assistant(None, (ToolCall("1", "a", {}),)), written.events[2]),
    )


# --- listings ----------------------------------------------------------------------------------------------

NAMES = st.text("abc_", min_size=1, max_size=4)
WORDS = st.lists(st.text("xyzé.", min_size=1, max_size=5), max_size=3).map(" ".join)
KINDS = st.sampled_from(["string", "integer", "string|null", "any", "array"])
CONTRACTS = st.dictionaries(NAMES, st.tuples(KINDS, st.booleans()), max_size=4)


@given(
    st.dictionaries(
        NAMES, st.tuples(st.sampled_from(["read", "write", "generic"]), WORDS, CONTRACTS, WORDS), max_size=5
    )
)
def test_a_manifest_is_read_back_the_same(tools: dict[str, tuple[str, str, dict[str, tuple[str, bool]], str]]) -> None:
    docs: dict[str, ToolDoc] = {}
    for name, (_, summary, takes, said_of_args) in tools.items():
        args = dict.fromkeys(takes, said_of_args) if said_of_args else {}
        if summary or args:
            docs[name] = ToolDoc(summary, args)
    manifest = Manifest(
        "shop",
        {name: kind for name, (kind, *_) in tools.items()},  # type: ignore[misc] # kinds
        docs,
        {
            name: ", ".join(sorted(f"{arg}:{kind}{'!' * needed}" for arg, (kind, needed) in takes.items()))
            for name, (_, _, takes, _) in tools.items()
        },
    )
    assert back(Episode("s", domain="shop"), manifest)[1] == manifest


# --- the shared sessions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tools-retail", "tools-airline-v2", "tools-dojo"])
def test_shared_sessions_survive_as_logs(shared_traces: Path, name: str) -> None:
    for recorded in open_corpus(shared_traces / f"{name}.jsonl.gz"):
        episode = recorded.episode
        found, manifest = back(episode, recorded.manifest)
        spoken = tuple(
            Assistant(None, event.calls) if isinstance(event, Assistant) and event.calls else event
            for event in episode.events
            if not isinstance(event, Assistant) or event.calls or event.text
        )
        assert found == replace(episode, events=spoken, task_id="", trial=0)
        assert manifest == recorded.manifest

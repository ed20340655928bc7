"""What serving is made of: turns told live, the conversation's file, answers that are held, pages of a listing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from stretto.proxy.context import Conversation, Said
from stretto.proxy.serving.held import Holder
from stretto.proxy.serving.listed import ListedTools
from stretto.proxy.serving.pending import HostCall, Listing, OwnCalls, Requests
from stretto.proxy.serving.turns import LiveTurns
from stretto.sessions.episode import Assistant
from stretto.sessions.log import Entry, Header
from stretto.sessions.manifest import Manifest
from stretto.sessions.turns import infer
from tests.stretto.proxy.proxy_support import LISTED, call, returned
from waggle.background import Faults

if TYPE_CHECKING:
    from pathlib import Path

# --- turns ----------------------------------------------------------------------------------------------------------

TEXTS = st.sampled_from(["a", "user_7", "12", "", "c7@x", "user_7 c7@x", "zone"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["call", "call", "answer", "cancel", "user", "reply"]), TEXTS, st.integers(0, 400)),
    max_size=20,
)


@given(STEPS)
def test_turns_told_live_are_those_that_the_record_gives(steps: list[tuple[str, str, int]]) -> None:
    turns = LiveTurns()
    entries: list[Entry] = []
    begun: list[list[str]] = []
    waiting: list[str] = []
    now = 0
    for number, (step, text, gap) in enumerate(steps):
        now += gap
        if step == "call":
            entries.append(Entry(now, "client", call(str(number), "tool", {"x": text})))
            if turns.call(str(number), {"x": text}, now / 1000):
                begun.append([])
            begun[-1].append(str(number))
            waiting.append(str(number))
        elif step in ("user", "reply"):
            role = "user" if step == "user" else "assistant"
            entries.append(Entry(now, "context", {"role": role, "content": text}))
            turns.said(text, speaks=step == "user" or bool(text))
        elif waiting and step == "answer":
            entries.append(Entry(now, "server", returned(waiting[0], text)))
            turns.returned(text)
            turns.answered(waiting.pop(0), now / 1000)
        elif waiting:
            params: Any = {"requestId": waiting[-1]}
            entries.append(Entry(now, "client", {"method": "notifications/cancelled", "params": params}))
            turns.dropped(waiting.pop())
    episode, _ = infer(Header("s"), entries)
    calls = [event.calls for event in episode.events if isinstance(event, Assistant) and event.calls]
    assert begun == [[item.id for item in turn] for turn in calls]


# --- the conversation -----------------------------------------------------------------------------------------------


def test_a_conversation_is_read_from_its_start_whole_lines_only(tmp_path: Path) -> None:
    path, faults = tmp_path / "c.jsonl", Faults()
    conversation = Conversation(path, faults)
    assert conversation.news() == []
    path.write_bytes(b'{"role":"user","content":"one"}\n\n{"role":"assistant","cont')
    assert conversation.news() == [Said("user", "one")]
    with path.open("ab") as file:
        file.write(b'ent":"two"}\nnot JSON\n{"role":"user"}\n{"role":"tool","content":"three"}\n')
    assert conversation.news() == [Said("assistant", "two"), Said("tool", "three")]
    assert conversation.news() == []
    assert list(faults.counts()) == [f"the conversation {path} has a line that is no role and content"]


def test_a_conversation_that_cannot_be_read_is_reported_and_says_nothing(tmp_path: Path) -> None:
    faults = Faults()
    assert Conversation(tmp_path, faults).news() == []
    assert list(faults.counts()) == [f"the conversation {tmp_path} cannot be read"]


# --- what is held ---------------------------------------------------------------------------------------------------


def test_an_answer_is_released_once_whoever_comes_first() -> None:
    sent: list[tuple[bytes, bool]] = []
    released = threading.Event()

    def send(raw: bytes, own: bool) -> None:  # noqa: FBT001 - as the holder calls it
        sent.append((raw, own))
        released.set()

    holder = Holder(send, 0.05)
    first = holder.hold(b"a")
    assert first is not None
    assert holder.hold(b"b") is None
    assert holder.release(first, b"A")
    assert not holder.release(first, b"A")
    for _ in range(3):  # the watch releases it when nobody does
        released.clear()
        late = holder.hold(b"c")
        assert late is not None
        assert released.wait(5)
        assert not holder.take(late)
    last = holder.hold(b"d")
    holder.close()
    assert last is not None
    assert not holder.release(last, b"D")
    assert holder.hold(b"e") is None
    assert sent == [(b"A", True), *[(b"c", False)] * 3, (b"d", False)]


# --- requests, own calls, listings ----------------------------------------------------------------------------------


def test_requests_are_known_by_the_json_of_their_ids() -> None:
    requests = Requests()
    new, before = requests.add(1, call(1, "a"), alone=True)
    assert isinstance(new, HostCall)
    assert (new.plain, before) == (True, None)
    other, before = requests.add("1", call("1", "b", _meta={"progressToken": 1}), alone=False)
    assert isinstance(other, HostCall)
    assert (other.plain, other.meta, before) == (False, {}, None)
    assert requests.tools == {"a", "b"}
    again, before = requests.add(1, {"id": 1, "method": "tools/list"}, alone=True)
    assert again == Listing(first=True)
    assert before is new
    assert requests.take(1) == again
    assert requests.take(1) is None
    assert requests


def test_an_own_call_keeps_its_id_when_it_is_given_up_or_answered() -> None:
    own = OwnCalls()
    assert own.add("get_user") == "stretto-0"
    assert own
    assert own.tool("stretto-0") == "get_user"
    assert own.tools == {"get_user"}
    own.given_up("stretto-0")
    assert not own
    assert own.due == {"stretto-0"}
    own.answered("stretto-0")
    assert (own.due, own.owner("stretto-0"), own.owner("stretto-1"), own.owner(0)) == (set(), "stretto-0", None, None)
    own.forget("stretto-0")
    assert own.owner("stretto-0") is None
    assert own.add("get_user") == "stretto-1"


def test_a_walk_that_began_before_a_change_does_not_count_as_a_listing_after_it() -> None:
    listed = ListedTools(Manifest("shop", {"get_user": "read", "get_order": "read"}))
    assert listed.page({"tools": LISTED[:1], "nextCursor": "2"}, first=True).tools == {
        "find_user": "read",
        "get_user": "read",
        "get_order": "read",
    }
    stale: list[bool] = []
    listed.changed()
    stale.append(listed.stale)
    listed.page({"tools": LISTED[1:]}, first=False)
    stale.append(listed.stale)
    listed.page({"tools": LISTED[:1], "nextCursor": "2"}, first=True)
    stale.append(listed.stale)
    manifest = listed.page({"tools": LISTED[:2]}, first=False)
    stale.append(listed.stale)
    assert stale == [True, True, True, False]
    assert manifest.tools == {"find_user": "read", "get_user": "read"}

"""Hard cases of learning: what stands in the files is odd, and the flow is still the right one."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, cast

import pytest

from stretto import LearnOptions, learn, open_corpus
from stretto.bindings.model import Slot, Source
from stretto.flow.file import dump_flow, read_flow, write_flow
from stretto.flow.model import Provenance
from stretto.sessions.corpus import Recorded
from stretto.sessions.log import Header
from stretto.sessions.manifest import Manifest
from tests.stretto.cases.support_cases import PLAIN, Made, Serving, learned, trace
from tests.stretto.episodes import called, episode
from tests.stretto.sessions.logs_support import answer, call, listing, log_bytes, save_log
from waggle import Result, jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stretto.errors import SessionLogError
    from stretto.sessions.corpus import Corpus
    from waggle.jsonvalue import JsonObject

READS: JsonObject = {"readOnlyHint": True}
LISTED: list[JsonObject] = [{"name": name, "annotations": READS} for name in ("search", "open")]


def searches(number: int, *, retried: bool = False) -> bytes:
    """A session of `search` and `open`; retried, the first `open` fails and is made again."""
    path = f"/a/{number}.md"
    tries: list[Made] = [("open", {"path": path}, "timed out", False)] * retried
    tries += [("open", {"path": path}, "text", True)]
    hits = jsonvalue.dumps({"hits": [path]}).decode()
    return trace(f"s{number}", ("search", {"q": f"q{number}"}, hits, True), *tries)


# --- success and retries -----------------------------------------------------------------------------------------


@pytest.mark.case("HC-12")
def test_a_retry_adds_nothing_to_what_it_repeats(tmp_path: Path) -> None:
    """Five sessions of search and open are five, in three of which the first open failed.

    The failed attempt is seen for what it was, a site of its own, and nothing is looked up there: a lookup never passes
    a value that was passed before, so that no flow can learn to repeat a call.
    """
    sessions = b"".join(searches(number, retried=number < 3) for number in range(5))
    (tmp_path / "s.jsonl").write_bytes(sessions)
    flow = learned(tmp_path / "s.jsonl")
    assert flow.sites.next["search", False] == {"open": 5}
    serving = Serving(flow, lambda tool, args: Result("text"))
    found = Result('{"hits": ["/a/9.md"]}')
    assert serving.call("search", {"q": "q9"}, found) == [("open", {"path": "/a/9.md"})]
    failing = Serving(flow, lambda tool, args: Result("timed out", ok=False))
    assert failing.call("search", {"q": "q9"}, found) == [("open", {"path": "/a/9.md"})]
    assert failing.call("open", {"path": "/a/8.md"}, Result("timed out", ok=False)) == []


@pytest.mark.case("HC-12")
def test_nothing_is_learned_from_sessions_that_failed(tmp_path: Path) -> None:
    """And nothing says that a tool does not work: a flow holds what followed what, and no tool is shut out."""
    good = b"".join(searches(number) for number in range(5))
    login: Made = ("login", {"user": "ada"}, "timed out", False)
    bad = b"".join(trace(f"bad {number}", login, login, login, success=False) for number in range(2))
    for name, sessions in (("good.jsonl", good), ("all.jsonl", good + bad)):
        (tmp_path / name).write_bytes(sessions)
    flow, alone = learned(tmp_path / "all.jsonl"), learned(tmp_path / "good.jsonl")
    assert "login" not in flow.bindings.args
    assert not any(site[0] == "login" for site in flow.sites.next)
    assert (flow.sites.next, flow.bindings) == (alone.sites.next, alone.bindings)
    assert flow.provenance.habit_episodes == 5


@pytest.mark.case("HC-12")
def test_ten_copies_of_one_session_count_once(tmp_path: Path) -> None:
    others = b"".join(searches(number) for number in range(1, 5))
    for name, sessions in (("once.jsonl", searches(0) + others), ("copied.jsonl", searches(0) * 10 + others)):
        (tmp_path / name).write_bytes(sessions)
    problems: list[SessionLogError] = []
    copied = open_corpus(tmp_path / "copied.jsonl", on_problem=problems.append)
    flow = learn(copied, PLAIN, provenance=Provenance("0"))
    assert dump_flow(flow) == dump_flow(learned(tmp_path / "once.jsonl"))
    assert "holds the session 's0' once more" in str(problems[0])


@pytest.mark.case("HC-12")
def test_copies_of_a_session_log_count_once_whatever_they_are_called(tmp_path: Path) -> None:
    lines = [*listing(0, 0, {"name": "clock", "annotations": READS}), call(1, 1, "clock"), answer(2, 1, "12:00")]
    for copy in range(10):
        (tmp_path / f"copy {copy}.jsonl").write_bytes(log_bytes(Header("one session", 1000), lines))
    problems: list[SessionLogError] = []
    assert len(list(open_corpus(tmp_path, on_problem=problems.append))) == 1
    assert len(problems) == 9


@pytest.mark.case("HC-12")
def test_forty_polls_are_one_lookup_at_most(tmp_path: Path) -> None:
    """A lookup without arguments is made once a session; the agent's own polls are left to it."""
    polls: list[Made] = [("poll", {}, "busy", True)] * 40
    (tmp_path / "s.jsonl").write_bytes(b"".join(trace(f"s{number}", *polls) for number in range(3)))
    flow = learned(tmp_path / "s.jsonl")
    serving = Serving(flow, lambda tool, args: Result("busy"))
    assert [serving.call("poll", {}, Result("busy")) for _ in range(5)] == [[]] * 5
    assert set(serving.said) == {"poll: already looked up"}


# --- texts and numbers -------------------------------------------------------------------------------------------


@pytest.mark.case("HC-01")
def test_integers_beyond_64_bits_are_learned_as_they_are(tmp_path: Path) -> None:
    """As a constant, which a lookup passes on; two that differ in the last digit are two values."""
    numbers = [2**64, 2**64 + 1]
    for number in numbers:
        made: list[Made] = [("list", {}, "[]", True), ("read", {"limit": number}, "[]", True)]
        (tmp_path / f"{number}.jsonl").write_bytes(b"".join(trace(f"s{n}", *made) for n in range(6)))
        flow = learned(tmp_path / f"{number}.jsonl", LearnOptions(constants=True, features=False, alpha=1.0))
        write_flow(tmp_path / "f.json", flow)
        again = read_flow(tmp_path / "f.json")
        assert again.bindings.constants == {Slot("read", "limit"): number}
        serving = Serving(again, lambda tool, args: Result("[]"))
        assert serving.call("list", {}, Result("[]")) == [("read", {"limit": number})]


@pytest.mark.case("HC-02")
@pytest.mark.case("HC-03")
@pytest.mark.parametrize("odd", ["caf\udce9", "a\u2028b\u2029c\u0085d\x0be\x0cf\r\ng", "\U0001f600"])
def test_odd_characters_are_bound_and_written_as_they_are(odd: str, tmp_path: Path) -> None:
    """A value with them goes from a result to a lookup, and a path with them through the flow's file."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(4):
        value = f"{odd}{number}"
        found = jsonvalue.dumps({odd: value}).decode()
        save_log(
            logs,
            f"s{number}",
            *listing(0, 0, *LISTED),
            call(1, 1, "search", q=f"q{number}"),
            answer(2, 1, found),
            call(1000, 2, "open", path=value),
            answer(1001, 2, "text"),
        )
    flow = learned(logs)
    write_flow(tmp_path / "f.json", flow)
    (tmp_path / "f.json").read_bytes().decode("utf-8")
    again = read_flow(tmp_path / "f.json")
    source = Source("search", f"$.{odd}")
    assert again.bindings.sources[Slot("open", "path")].found == {source: 4}
    serving = Serving(again, lambda tool, args: Result("text"))
    found = jsonvalue.dumps({odd: f"{odd}9"}).decode()
    assert serving.call("search", {"q": "q9"}, Result(found)) == [("open", {"path": f"{odd}9"})]


@pytest.mark.case("HC-04")
def test_a_log_cut_in_its_last_line_teaches_what_the_lines_before_teach(tmp_path: Path) -> None:
    lines = [
        *listing(0, 0, *LISTED),
        call(1, 1, "search", q="x"),
        answer(2, 1, '"/a.md"'),
        call(900, 2, "open", path="/a.md"),
    ]
    whole, last = log_bytes(Header("s", 1000), lines), log_bytes(Header("s", 1000), [answer(990, 2, "text")])
    last = last[last.index(b"\n") + 1 :]
    expected = None
    for cut in range(0, len(last) - 1, 7):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(whole + last[:cut])
        flow = dump_flow(learned(path))
        expected = expected or flow
        assert flow == expected


# --- arguments, sizes, order -------------------------------------------------------------------------------------


@pytest.mark.case("HC-08")
def test_only_texts_and_lists_of_texts_are_traced_and_nothing_raises(tmp_path: Path) -> None:
    """Arguments of every JSON kind; a call with one that cannot be found is left to the agent."""
    kinds: JsonObject = {"none": None, "list": [], "object": {}, "text": "", "zero": 0, "false": False}
    deep: JsonObject = {**kinds, "deep": [{"a": [[1], {}]}], "real": 0.1, "ids": ["a1", "b2"]}
    sessions = b"".join(
        trace(f"s{number}", ("find", {}, '{"ids": ["a1", "b2"]}', True), ("read", deep, "ok", True))
        for number in range(5)
    )
    (tmp_path / "s.jsonl").write_bytes(sessions)
    flow = learned(tmp_path / "s.jsonl")
    assert {slot.argument for slot in flow.bindings.sources} == {"text"}
    assert {slot.argument for slot in flow.bindings.lists} == {"ids"}
    serving = Serving(flow, lambda tool, args: Result("ok"))
    assert serving.call("find", {}, Result('{"ids": ["c3"]}')) == []
    assert serving.said == ["read: `deep` never took a string in training"]


class Streamed:
    """So many sessions with a result of 500 kB each, made when they are asked for."""

    conventions = ""
    manifest = Manifest("d", {"find": "read", "read": "read"})

    def __init__(self, sessions: int) -> None:
        self._sessions = sessions

    def __iter__(self) -> Iterator[Recorded]:
        for number in range(self._sessions):
            big: JsonObject = {"id": f"id-{number}", "text": "x" * 500_000}
            made = episode(called("find", {}, big), called("read", {"id": big["id"]}, "ok"), name=f"s{number}")
            yield Recorded(made, self.manifest)


@pytest.mark.case("HC-09")
def test_of_a_large_result_nothing_is_held_when_its_session_has_been_counted() -> None:
    def peak(sessions: int) -> int:
        tracemalloc.start()
        flow = learn(cast("Corpus", Streamed(sessions)), PLAIN, provenance=Provenance("0"))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert flow.sites.next["find", False] == {"read": sessions}
        assert len(dump_flow(flow)) < 20_000
        return most

    assert peak(12) < peak(4) * 1.2


@pytest.mark.case("HC-11")
def test_no_value_of_a_result_is_traced_to_a_call_of_its_own_turn(tmp_path: Path) -> None:
    """Two calls of one turn, the second with the value that the first returns, which the agent cannot have seen."""
    calls: list[Made] = [("find", {}, '"id-1"', True), ("read", {"id": "id-1"}, "ok", True)]
    together = b"".join(trace(f"s{number}", *calls, turns=[0, 0]) for number in range(5))
    apart = b"".join(trace(f"s{number}", *calls) for number in range(5))
    for name, sessions, found in (("together", together, {}), ("apart", apart, {Source("find", "$"): 5})):
        (tmp_path / f"{name}.jsonl").write_bytes(sessions)
        flow = learned(tmp_path / f"{name}.jsonl")
        assert flow.bindings.sources[Slot("read", "id")].found == found

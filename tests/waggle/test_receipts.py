"""Receipts: each answer occurs where its reason holds, and what would be made live is what is said to be made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.waggle.recorded import route, trace
from waggle import ManagerConfig, Param, Result, Route, ToolTable
from waggle.evaluate import Library, learn
from waggle.manager import Manager
from waggle.reach.routes import counts_of, target_key
from waggle.reach.table import ReachTable
from waggle.receipts import Answer, Occurrence, occurrences, why_not
from waggle.routes import Disabled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waggle.traces import Trace

TOOLS = ToolTable()
WRITE = ("write", {"path": "a.py", "content": "x"})
LS = ("ls", {"path": "src"})
A, B = (("read", {"path": p}) for p in ("a.py", "b.py"))
MINED = route(LS, A, B)


def grep(number: int, *lines: int) -> tuple[str, dict[str, Any], str]:
    """A search that prints lines of one file."""
    found = "\n".join(f"src/f{number}.py:{line}:def p{number}" for line in lines or (number + 40,))
    return ("grep", {"pattern": f"p{number}", "path": "src"}, found)


def around(number: int, line: int | None = None) -> tuple[str, dict[str, Any]]:
    """A read of forty lines around a line of its file, by default the one that `grep` prints."""
    return ("read", {"path": f"src/f{number}.py", "offset": (line or number + 40) - 10, "limit": 40})


def habit(number: int) -> Trace:
    """A session that searches, reads around what was found, and writes."""
    return trace([grep(number)], [around(number)], [WRITE], session=f"s{number}")


def followed(traces: Sequence[Trace], text: str) -> tuple[Route, Library]:
    """The one reach route that these sessions teach and whose target has this text in it."""
    library = learn(traces, ManagerConfig())
    (found,) = [one for one in library.routes if one.after and text in target_key(one.after)]
    return found, library


@pytest.fixture(scope="module")
def around_line() -> tuple[Route, Library]:
    return followed([habit(number) for number in range(6)], '"around":"line"')


def table_of(one: Route, library: Library, threshold: float | None = 0.3) -> ReachTable:
    table = ReachTable(threshold, library.counts)
    if one.after:
        table.allow(one.after.site, target_key(one.after), one.name, counts_of(one.after))
    return table


def answers(one: Route, session: Trace, library: Library, threshold: float | None = 0.3) -> list[Answer]:
    told = why_not(one, session, TOOLS, table_of(one, library, threshold))
    assert [each.call for each in told] == list(range(len(session.steps)))
    assert all(each.detail for each in told)
    return [each.answer for each in told]


# --- why ------------------------------------------------------------------------------------------------------


def test_an_occurrence_agrees_when_the_agent_then_read_what_the_route_names(
    around_line: tuple[Route, Library],
) -> None:
    sessions = [
        habit(9),
        trace([grep(9)], [around(8)], [WRITE], session="other-file"),
        trace([grep(9)], [WRITE], [around(9)], session="after-a-write"),
        trace([grep(9)], [A], [around(9)], session="second-read"),
        trace([grep(9)], [around(9, 1400)], session="far-away"),
        trace([grep(9)], session="nothing-more"),
        trace([LS], [A], session="no-search"),
    ]
    assert occurrences(around_line[0], sessions, TOOLS) == [
        Occurrence("s9", 0, "src/f9.py:49", "src/f9.py:39-78", agreed=True),
        Occurrence("other-file", 0, "src/f9.py:49", "src/f8.py:38-77", agreed=False),
        Occurrence("after-a-write", 0, "src/f9.py:49", "", agreed=False),
        Occurrence("second-read", 0, "src/f9.py:49", "src/f9.py:39-78", agreed=True),
        Occurrence("far-away", 0, "src/f9.py:49", "src/f9.py:1390-1429", agreed=False),
        Occurrence("nothing-more", 0, "src/f9.py:49", "", agreed=False),
    ]


def test_an_occurrence_at_which_the_result_names_nothing_disagrees() -> None:
    sessions = [trace([grep(n, n + 40, n + 400)], [around(n, n + 400)], [WRITE], session=f"s{n}") for n in range(6)]
    second, _ = followed(sessions, '"nth":1')
    (one,) = occurrences(second, [habit(9)], TOOLS)
    assert (one.would_read, one.agreed) == ("", False)


def test_a_failed_read_and_a_call_of_another_tool_are_not_what_the_route_names(
    around_line: tuple[Route, Library],
) -> None:
    tool, args = around(9)
    failed = trace([grep(9)], [(tool, {**args, "fails": "yes"})], session="failed")
    other = trace([grep(9)], [("Read", {"file_path": "src/f9.py"})], session="other")
    assert [(one.read, one.agreed) for one in occurrences(around_line[0], [failed, other], TOOLS)] == [("", False)] * 2


def test_a_read_whose_values_are_all_fixed_agrees_when_the_very_same_was_read() -> None:
    def session(path: str, name: str) -> Trace:
        write = ("write", {"path": name, "content": "x"})  # no session is another one over again
        return trace([LS], [("knowledge_search", {"query": path})], [write], session=name)

    one, _ = followed([session("conventions", f"s{n}") for n in range(6)], "knowledge_search")
    found = occurrences(one, [session("conventions", "a"), session("else", "b")], TOOLS)
    told = [(each.session, each.would_read, each.read, each.agreed) for each in found]
    assert told == [("a", "conventions", "conventions", True), ("b", "conventions", "else", False)]


def test_a_mined_route_has_no_occurrences_to_list() -> None:
    with pytest.raises(ValueError, match="repeats the same calls"):
        occurrences(MINED, [], TOOLS)


# --- why not: a route that follows a kind of call -------------------------------------------------------------


def test_it_fires_after_the_call_that_it_follows_and_matches_no_other(around_line: tuple[Route, Library]) -> None:
    one, library = around_line
    told = why_not(one, habit(9), TOOLS, table_of(one, library))
    assert [each.answer for each in told] == [Answer.FIRES, Answer.NO_MATCH, Answer.NO_MATCH]
    assert told[0].detail.endswith("src/f9.py:49")
    assert told[1].detail.startswith("this was a read of a part of a file, it follows a search")


def test_it_does_not_fire_when_its_chance_is_too_small(around_line: tuple[Route, Library]) -> None:
    one, library = around_line
    told = why_not(one, habit(9), TOOLS, table_of(one, library, 0.99))
    assert told[0].answer is Answer.UNLIKELY
    assert told[0].detail.endswith(", and must be 99%")
    never = replace(library.counts, reached={}, seen=library.counts.seen)
    bare = ReachTable(0.3, never)
    assert one.after
    bare.allow(one.after.site, target_key(one.after), one.name)
    assert why_not(one, habit(9), TOOLS, bare)[0].answer is Answer.UNLIKELY


def test_by_tokens_it_fires_when_the_context_to_be_saved_outweighs_the_detour(
    around_line: tuple[Route, Library],
) -> None:
    one, library = around_line
    long = ("search", {"pattern": "q"}, "x" * 200_000)
    early, late = (trace([*before, grep(9)], *[[A]] * 3) for before in ([], [long]))
    assert answers(one, early, library, None)[0] is Answer.UNLIKELY
    assert answers(one, late, library, None)[1] is Answer.FIRES


def test_it_does_not_fire_for_what_is_known_since_the_last_write(around_line: tuple[Route, Library]) -> None:
    one, library = around_line
    whole = ("read", {"path": "src/f9.py"})
    assert answers(one, trace([whole], [grep(9)], [WRITE], [grep(9)]), library) == [
        Answer.NO_MATCH,
        Answer.KNOWN,
        Answer.NO_MATCH,
        Answer.FIRES,
    ]
    assert answers(one, trace([grep(9)], [grep(9)]), library) == [Answer.FIRES, Answer.KNOWN]  # by its own lookup
    near = ("read", {"path": "src/f9.py", "offset": 45, "limit": 20})
    assert answers(one, trace([near], [grep(9)]), library)[1] is Answer.KNOWN  # the line, and what follows it so far


def test_it_does_not_fire_when_the_result_names_no_value_for_a_parameter() -> None:
    sessions = [trace([grep(n, n + 40, n + 400)], [around(n, n + 400)], [WRITE], session=f"s{n}") for n in range(6)]
    second, library = followed(sessions, '"nth":1')
    both = trace([grep(9, 49, 409)], [WRITE], [grep(9)])
    assert answers(second, both, library) == [Answer.FIRES, Answer.NO_MATCH, Answer.OPEN]


def test_it_does_not_fire_for_a_path_that_would_be_an_option_of_the_command() -> None:
    def shell(name: str, number: int) -> Trace:
        search = ("bash", {"command": f"grep -rn p{number} src"}, f"{name}:{number + 40}:def")
        read = ("bash", {"command": f"sed -n {number + 30},{number + 70}p {name}"})
        return trace([search], [read], [WRITE], session=f"s{number}")

    one, library = followed([shell(f"src/f{n}.py", n) for n in range(6)], '"around":"line"')
    assert answers(one, shell("src/f9.py", 9), library)[0] is Answer.FIRES
    option = trace([("bash", {"command": "grep -rn p9 ."}, "-i.py:49:def")])
    (told,) = why_not(one, option, TOOLS, table_of(one, library))
    assert (told.answer, told.detail) == (Answer.OPEN, "the value cannot be said in a command")


def test_a_route_that_is_switched_off_or_not_followed_says_so_at_every_call(
    around_line: tuple[Route, Library],
) -> None:
    one, library = around_line
    off = replace(one, disabled=Disabled(None, "failed 3 times"))
    told = why_not(off, habit(9), TOOLS, table_of(one, library))
    assert {(each.answer, each.detail) for each in told} == {(Answer.DISABLED, "failed 3 times")}
    assert {each.answer for each in why_not(one, habit(9), TOOLS, ReachTable(0.3, library.counts))} == {Answer.DISABLED}


@pytest.mark.parametrize("threshold", [0.3, 0.6, None])
def test_what_is_said_to_fire_is_what_a_manager_looks_up(
    around_line: tuple[Route, Library], threshold: float | None
) -> None:
    """Live, with the same library, following after each call of sessions of every kind."""
    one, library = around_line
    whole = ("read", {"path": "src/f9.py"})
    sessions = [
        habit(9),
        trace([grep(9)], [grep(9)], [WRITE], [grep(9)], [around(9)], [grep(9)]),
        trace([whole], [grep(9)], [grep(8)], [grep(8, 100)]),
        trace([("search", {"pattern": "q"}, "x" * 100_000)], [grep(9)], [A], [grep(7)]),
    ]
    for session in sessions:
        manager = Manager(ManagerConfig(learn=False, threshold=threshold), routes=[one], counts=library.counts)
        live: list[bool] = []
        for step in session.steps:
            assert step.result
            manager.observe(step.call, step.result)
            live.append(manager.follow(lambda *_: Result("text")) is not None)
        assert [answer is Answer.FIRES for answer in answers(one, session, library, threshold)] == live


# --- why not: a mined route -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param([LS, A, B], [Answer.NO_MATCH, Answer.FIRES, Answer.NO_MATCH], id="its leading calls"),
        pytest.param([LS, B, A], [Answer.NO_MATCH] * 3, id="another call between"),
        pytest.param([LS, WRITE, A], [Answer.NO_MATCH, Answer.NO_MATCH, Answer.STALE], id="a write between"),
        pytest.param(
            [LS, A, LS, A], [Answer.NO_MATCH, Answer.FIRES, Answer.NO_MATCH, Answer.KNOWN], id="followed already"
        ),
        pytest.param([B, LS, A], [Answer.NO_MATCH, Answer.NO_MATCH, Answer.KNOWN], id="read already"),
        pytest.param(
            [LS, A, WRITE, LS, A],
            [Answer.NO_MATCH, Answer.FIRES, Answer.NO_MATCH, Answer.NO_MATCH, Answer.FIRES],
            id="again after a write",
        ),
        pytest.param(
            [LS, ("read", {"path": "a.py", "fails": "x"})], [Answer.NO_MATCH, Answer.FAILED], id="a failed call"
        ),
    ],
)
def test_a_mined_route_fires_after_its_leading_calls_and_else_says_what_was_wrong(
    calls: list[tuple[Any, ...]], expected: list[Answer]
) -> None:
    assert answers(MINED, trace(*[[call] for call in calls]), Library()) == expected


def test_a_mined_route_whose_values_after_its_leading_calls_vary_never_fires() -> None:
    one = route(LS, ("grep", {"pattern": None}))
    wild = replace(one, params=(Param(1, "pattern"),))
    told = why_not(wild, trace([LS], [grep(9)]), TOOLS, ReachTable(0.3))
    assert [each.answer for each in told] == [Answer.OPEN, Answer.OPEN]


def test_paths_of_the_project_are_those_of_the_sessions_directory() -> None:
    inside = route(LS, ("read", {"path": {"$project": "a.py"}}), ("read", {"path": {"$project": "b.py"}}))
    calls = [LS, ("read", {"path": "/w/app/a.py"})]
    assert answers(inside, trace(*[[call] for call in calls], cwd="/w/app"), Library())[1] is Answer.FIRES
    assert answers(inside, trace(*[[call] for call in calls], cwd="/w/other"), Library())[1] is Answer.NO_MATCH


def test_the_limits_of_a_session_are_reasons_too(around_line: tuple[Route, Library]) -> None:
    one, library = around_line
    table = table_of(one, library)
    for config, answer in (
        (ManagerConfig(lookups_per_session=0), Answer.CAPPED),
        (ManagerConfig(control_share=1.0), Answer.HELD),
    ):
        assert why_not(one, habit(9), TOOLS, table, config)[0].answer is answer
    told = why_not(one, habit(9), TOOLS, table, ManagerConfig(control_share=0.2))
    assert told[0].answer is Answer.FIRES
    assert told[0].detail.endswith("held back in 20% of cases")

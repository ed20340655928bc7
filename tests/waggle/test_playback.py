"""Replaying a recorded session: what counts as saved, as used, as a detour, and what it costs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.waggle.recorded import route, trace
from waggle import Call, ManagerConfig, Result, Route, ToolTable
from waggle.evaluate import Library, replay_trace
from waggle.playback import Means, Score, directory_of, means_of
from waggle.traces import TraceBuilder
from waggle.traces.cut import cut_text

if TYPE_CHECKING:
    from waggle.traces import Trace

TOOLS = ToolTable()
LS = ("ls", {"path": "src"})
A, B, C = (("read", {"path": p}) for p in ("a.py", "b.py", "c.py"))
WRITE = ("write", {"path": "a.py", "content": "x"})
MEANS = Means({"": 10.0}, {}, {})


def lines(first: int, count: int, path: str = "b.py") -> tuple[str, dict[str, Any]]:
    """A read of so many lines."""
    return ("read", {"path": path, "offset": first, "limit": count})


def score(one: Trace, *routes: Route, means: Means = MEANS, **knobs: Any) -> Score:
    return replay_trace(one, Library(routes), ManagerConfig(**knobs), TOOLS, means)


# --- saved, used, detour --------------------------------------------------------------------------------------


def test_a_turn_whose_calls_were_all_answered_is_saved() -> None:
    got = score(trace([LS], [A], [B], [C]), route(LS, A, B, C))
    assert (got.turns, got.saved, got.lookups, got.used, got.detours) == (4, 2, 2, 2, 0)
    assert list(got.fired.values()) == [2]


def test_a_turn_with_one_call_unanswered_is_not_saved_though_the_lookup_is_used() -> None:
    got = score(trace([LS], [A], [B, C]), route(LS, A, B))
    assert (got.saved, got.lookups, got.used) == (0, 1, 1)


def test_a_lookup_the_agent_never_asks_for_is_a_detour() -> None:
    got = score(trace([LS], [A], [C], [C]), route(LS, A, B))
    assert (got.saved, got.lookups, got.used, got.detours) == (0, 1, 0, 1)
    assert got.tokens_spent == 10 * 2  # its mean length, in each of the two turns left


def test_a_lookup_asked_for_only_after_a_write_is_stale_and_a_detour() -> None:
    got = score(trace([LS], [A], [WRITE], [B]), route(LS, A, B))
    assert (got.saved, got.used, got.detours) == (0, 0, 1)


def test_a_call_of_the_same_turn_cannot_be_answered_any_more() -> None:
    got = score(trace([LS], [A, B], [C]), route(LS, A, B))
    assert (got.saved, got.lookups) == (0, 0)  # b.py had been read by the time the strategies were asked


def test_a_recorded_failure_answers_nothing() -> None:
    failing = ("read", {"path": "b.py", "fails": "yes"})
    got = score(trace([LS], [A], [failing], [C]), route(LS, A, failing))
    assert (got.saved, got.used) == (0, 0)


def test_a_call_that_the_agent_repeats_of_itself_is_no_saving() -> None:
    """It had the answer without us and asked again all the same."""
    got = score(trace([LS], [A], [C], [C], [C]), route(LS, A, B))
    assert (got.saved, got.used) == (0, 0)
    part = score(trace([B], [LS], [A], [lines(5, 10)]), route(LS, A, lines(1, 50)))
    assert (part.saved, part.lookups) == (0, 0)


def test_one_lookup_answers_one_call_once() -> None:
    """As recorded, the agent asked again for what it had just read; so it would have with the lookup's answer."""
    got = score(trace([LS], [A], [B], [B]), route(LS, A, B))
    assert (got.saved, got.used) == (1, 1)


def test_arguments_that_were_cut_in_the_recording_are_never_called_again() -> None:
    one = trace([LS], [A], [B], [C])
    cut = replace(one, steps=tuple(replace(s, args_cut=s.call.args == B[1]) for s in one.steps))
    got = score(cut, route(LS, A, B))
    assert (got.saved, got.used, got.detours) == (0, 0, 1)


# --- by what a lookup covers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "saved"),
    [
        pytest.param(lines(60, 31), 1, id="inside"),
        pytest.param(lines(40, 81), 1, id="the same"),
        pytest.param(lines(40, 82), 0, id="a line more"),
        pytest.param(lines(39, 10), 0, id="begins before"),
        pytest.param(lines(60, 31, "./b.py"), 1, id="the file spelled otherwise"),
        pytest.param(lines(60, 31, "c.py"), 0, id="another file"),
        pytest.param(("read", {"path": "b.py"}), 0, id="all of it"),
    ],
)
def test_a_lookup_answers_what_it_covers(asked: tuple[str, dict[str, Any]], saved: int) -> None:
    got = score(trace([LS], [A], [asked]), route(LS, A, lines(40, 81)))
    assert (got.saved, got.lookups, got.used) == (saved, 1, saved)


def test_without_containment_a_lookup_answers_only_the_very_same_call() -> None:
    inside = trace([LS], [A], [lines(60, 31)])
    same = trace([LS], [A], [lines(40, 81)])
    followed = route(LS, A, lines(40, 81))
    assert [score(one, followed, containment=False).saved for one in (inside, same)] == [0, 1]


def test_several_lookups_answer_together_what_none_covers_alone() -> None:
    got = score(trace([LS], [A], [lines(60, 41)]), route(LS, A, lines(40, 41), lines(81, 40)))
    assert (got.saved, got.lookups, got.used) == (1, 2, 2)
    gap = score(trace([LS], [A], [lines(60, 41)]), route(LS, A, lines(40, 40), lines(81, 40)))
    assert (gap.saved, gap.lookups, gap.used) == (0, 2, 0)


def test_a_lookup_completes_what_the_agent_has_read_itself() -> None:
    got = score(trace([lines(1, 50)], [LS], [A], [lines(30, 51)]), route(LS, A, lines(51, 50)))
    assert (got.saved, got.lookups, got.used) == (1, 1, 1)


def test_a_lookup_of_a_shell_command_answers_what_it_covers() -> None:
    calls = [("bash", {"command": text}) for text in ("ls src", "cat a.py", "sed -n 40,120p b.py")]
    asked = ("bash", {"command": "sed -n '60,90p' ./b.py"})
    one = trace([calls[0]], [calls[1]], [asked])
    followed = replace(
        route(
            ("bash", {"path": "src"}), ("bash", {"path": "a.py"}), ("bash", {"path": "b.py", "first": 40, "last": 120})
        ),
        name="shell",
    )
    forms = ("ls {path}", "cat {path}", "sed -n {first},{last}p {path}")
    followed = replace(
        followed, steps=tuple(replace(step, form=form) for step, form in zip(followed.steps, forms, strict=True))
    )
    assert (score(one, followed).saved, score(one, followed).used) == (1, 1)


def test_a_file_longer_than_the_host_shows_is_known_no_further_than_that() -> None:
    """4,000 characters of lines of 10 tokens are 100 lines; what "all of it" shows beyond them nobody saw."""
    means = Means({"": 10.0}, {"read": 10.0}, {"read": 4000})
    whole = route(LS, A, B)
    asked = {"near": lines(20, 30), "far": lines(500, 30), "whole": B, "long": lines(1, 900)}
    got = {name: score(trace([LS], [A], [call]), whole, means=means).saved for name, call in asked.items()}
    assert got == {"near": 1, "far": 0, "whole": 1, "long": 1}  # of more lines than fit it asks for all that is shown
    assert score(trace([LS], [A], [lines(500, 30)]), whole).saved == 1  # where no limit was seen, there is none


# --- tokens ---------------------------------------------------------------------------------------------------


def test_a_saved_turn_spares_its_context_and_its_calls_in_every_turn_after_it() -> None:
    one = trace([LS], [A], [B], [C])
    got = score(one, route(LS, A, B))
    call = [len(f'{{"path":"{p}"}}') // 4 for p in ("src", "a.py", "b.py")]
    result = [len(f"text of {p}" * 4) // 4 for p in ("src", "a.py")]
    assert got.tokens_saved == call[0] + call[1] + sum(result) + call[2] * 1
    assert got.tokens_spent == 0


def test_what_a_used_lookup_shows_beyond_what_was_asked_is_charged_in_every_turn_after_it() -> None:
    means = Means({"": 10.0}, {"read": 8.0}, {})
    asked = (*lines(60, 10), "x" * 400)
    got = score(trace([LS], [A], [asked], [C]), route(LS, A, lines(41, 100)), means=means)
    assert (got.used, got.tokens_spent) == (1, (100 * 8 - 100) * 2)
    two = score(trace([LS], [A], [asked], [(*lines(80, 10), "x" * 400)]), route(LS, A, lines(41, 100)), means=means)
    assert (two.saved, two.used, two.tokens_spent) == (2, 1, (100 * 8 - 200) * 2)


def test_a_detour_of_a_range_costs_its_lines() -> None:
    means = Means({"": 10.0}, {"read": 8.0}, {})
    got = score(trace([LS], [A], [C], [C]), route(LS, A, lines(41, 100)), means=means)
    assert (got.detours, got.tokens_spent) == (1, 100 * 8 * 2)


def test_the_ceiling_counts_reads_whose_arguments_stood_in_earlier_results() -> None:
    one = trace(
        [("ls", {"path": "src"}, "a.py\nline 12\n")],
        [("read", {"path": "a.py", "limit": 12}, "text")],
        [("read", {"path": "a.py", "limit": 1}, "text")],
        [("write", {"path": "a.py"}, "ok")],
    )
    got = score(one, route(LS, A, B))
    assert (got.turns, got.ceiling) == (4, 1)


# --- what a trace says ----------------------------------------------------------------------------------------


def test_mean_lengths_come_from_successful_reads_alone() -> None:
    one = trace([LS], [("read", {"path": "x", "fails": "y"})], [WRITE])
    assert means_of([one], TOOLS) == Means({"ls": 11.0, "": 11.0}, {}, {"ls": 44})


def test_lines_are_as_long_as_in_the_files_read_and_a_cut_result_counts_in_full() -> None:
    cut = cut_text("y" * 400, 80)
    one = trace([("read", {"path": "a"}, "x" * 39 + "\n" + "x" * 39 + "\n")], [("search", {"pattern": "p"}, cut)])
    means = means_of([one], TOOLS)
    assert means.line_tokens == {"read": 10.0}
    assert means.longest["read"] == 80
    assert 400 <= means.longest["search"] < 400 + len(cut) - 80 + 4  # the mark itself counts, too


@pytest.mark.parametrize(
    ("calls", "cwd", "directory"),
    [
        pytest.param([("read", {"path": "/w/a/x.py"}, "")], "/recorded", "/recorded", id="as recorded"),
        pytest.param(
            [("grep", {"pattern": "p"}, "src/x.py:3:p\nsrc/y.py:4:p"), ("read", {"path": "/w/app/src/x.py"}, "")],
            None,
            "/w/app",
            id="a path in full and in short",
        ),
        pytest.param(
            [
                ("grep", {"pattern": "p"}, "src/x.py:3:p\nsrc/y.py:4:p\nlib/z.py:5:p"),
                ("read", {"path": "/w/app/src/x.py"}, ""),
                ("read", {"path": "/w/app/src/y.py"}, ""),
                ("read", {"path": "/other/lib/z.py"}, ""),
            ],
            None,
            "/w/app",
            id="what most agree on",
        ),
        pytest.param([("read", {"path": "/w/app/src/x.py"}, "src/q.py:1:no")], None, "", id="nothing tells"),
        pytest.param([("ls", {"path": "."}, "x.py")], None, "", id="a bare name tells nothing"),
    ],
)
def test_where_relative_paths_count_from_is_recorded_or_follows_from_the_paths(
    calls: list[tuple[Any, ...]], cwd: str | None, directory: str
) -> None:
    assert directory_of(trace(*[[call] for call in calls], cwd=cwd)) == directory


def test_a_call_without_a_recorded_result_answers_nothing_and_is_not_answered() -> None:
    builder = TraceBuilder()
    for number, (tool, args) in enumerate((LS, A, B)):
        builder.call(Call(tool, args, id=str(number)), number)
        if number < 2:
            builder.result(str(number), Result("text"))
    got = score(builder.build(session="s", agent="a", source="x"), route(LS, A, B))
    assert (got.turns, got.saved, got.used, got.detours) == (3, 0, 0, 1)
    assert math.isfinite(got.tokens_spent)

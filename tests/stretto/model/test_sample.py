"""The sample: which episodes it holds, that the samples of parts make the sample of the whole, and what it keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto._defaults import SAMPLE_CHARS
from stretto.model.alphabet import Step, StepOutcome, Vocabulary, steps_of, symbol
from stretto.model.features import EMPTY, FeatureMap, Field
from stretto.model.sample import FOLDS, Choice, Sample, choices_of, fold_of
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult
from tests.stretto.episodes import called, episode, replied, said, together


def sampled(sessions: list[Episode], size: int) -> Sample:
    sample = Sample(size)
    for session in sessions:
        sample.add(session, steps_of(session))
    return sample


SESSIONS = st.lists(
    st.builds(
        lambda name, content: episode(called("look", {}, content), name=name),
        st.text(max_size=1) | st.sampled_from(["s1", "s2", "s3"]),
        st.integers(0, 3),
    ),
    max_size=12,
)


@given(SESSIONS, st.integers(0, 12), st.integers(0, 12), st.integers(1, 5))
def test_samples_of_parts_merged_are_the_sample_of_the_whole(
    sessions: list[Episode], one: int, other: int, size: int
) -> None:
    """Three parts; ids may repeat."""
    first, second = sorted((one, other))
    merged = sampled(sessions[:first], size)
    merged.merge(sampled(sessions[first:second], size))
    merged.merge(sampled(sessions[second:], size))
    assert merged.episodes == sampled(sessions, size).episodes


@given(SESSIONS, st.integers(1, 5))
def test_which_sessions_are_held_does_not_depend_on_their_order_but_their_order_is_kept(
    sessions: list[Episode], size: int
) -> None:
    unique = list({session.id: session for session in sessions}.values())
    there, back = sampled(unique, size).episodes, sampled(unique[::-1], size).episodes
    assert there == back[::-1]
    assert len(there) == min(size, len(unique))


def test_up_to_its_size_it_holds_everything() -> None:
    sessions = [episode(called("look", {}, n), name=f"s{n}", task=f"t{n % 2}") for n in range(20)]
    held = sampled(sessions, 20).episodes
    assert [each.id for each in held] == [session.id for session in sessions]
    assert [each.task for each in held] == [session.task for session in sessions]


def test_of_outputs_only_those_that_may_be_json_are_held() -> None:
    session = episode(called("a", {}, '{"x": 1}'), called("a", {}, "Order not found", error=True), replied())
    (held,) = sampled([session], 1).episodes
    assert held.steps == (
        Step("a", StepOutcome.OK, '{"x": 1}'),
        Step("a", StepOutcome.ERROR),
        Step(None, StepOutcome.ENDED),
    )


@pytest.mark.case("HC-09")
def test_what_is_held_of_a_session_is_bounded() -> None:
    """An output that no longer fits is left out; later ones that fit are not."""
    large = f'"{"x" * (SAMPLE_CHARS - 10)}"'
    session = episode(called("a", {}, large), called("a", {}, large), called("a", {}, "[1]"))
    (held,) = sampled([session], 1).episodes
    assert [step.content for step in held.steps] == [large, None, "[1]"]


def test_symbols_have_the_features_of_outputs() -> None:
    session = episode(called("a", {}, {"x": "y"}), called("b", {}, {"x": "y"}), replied())
    features = FeatureMap({"a": (Field("Scalar", "x"),)}, {("a", ("y",)): 5})
    sample, vocabulary = sampled([session], 1), Vocabulary(["a", "b"])
    assert sample.symbols(vocabulary, features) == [[symbol(1, 0, 5), symbol(2, 0), symbol(0, StepOutcome.ENDED)]]
    assert sample.symbols(vocabulary, EMPTY) == [[symbol(1, 0), symbol(2, 0), symbol(0, StepOutcome.ENDED)]]


def test_folds_are_the_same_in_every_process_and_all_of_them_are_used() -> None:
    assert [fold_of(task) for task in ("", "1", "task-7", "\udcff")] == [1, 0, 0, 2]
    assert {fold_of(str(task)) for task in range(100)} == set(range(FOLDS))


def test_the_agent_chooses_when_all_answers_of_its_turn_are_in() -> None:
    session = episode(
        said("hi"),
        called("a", {}, "x"),
        together(("b", {}, "x"), ("c", {}, "x")),
        replied(),
        said("more"),
        called("d", {}, "x"),
        said("stop"),
        called("e", {}, "x"),
    )
    assert choices_of(session) == (Choice(-1, 0, "b"), Choice(1, 2, None), Choice(3, 4, None))


def turn(*ids: str) -> Assistant:
    return Assistant(calls=tuple(ToolCall(each, each, {}) for each in ids))


def result(name: str) -> ToolResult:
    return ToolResult(name, name, error=False, content="x")


@pytest.mark.case("HC-11")
def test_of_parallel_calls_the_one_that_returned_last_is_the_last_step_and_running_ones_are_no_history() -> None:
    """Results come out of order; `d` has none before the agent goes on, and its late one is no point to choose at."""
    events = (turn("a"), result("a"), turn("b", "c", "d"), result("c"), result("b"), turn("e"), result("d"), replied())
    assert choices_of(Episode("s", events)) == (Choice(-1, 0, "b"), Choice(2, 1, "e"))


@pytest.mark.parametrize("own", ["stretto-1", "shop::stretto-12"])
def test_a_lookup_of_a_served_flow_is_no_choice_of_the_agent(own: str) -> None:
    looked_up = Assistant(calls=(ToolCall(own, "b", {}),))
    session = Episode(
        "s", (turn("a"), result("a"), looked_up, ToolResult(own, "b", error=False, content="x"), turn("c"))
    )
    assert choices_of(session) == (Choice(0, 1, "c"),)

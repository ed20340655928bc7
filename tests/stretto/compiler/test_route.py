"""Requests are routed by three gates, and never to a procedure, or with an input, that they are not for."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.compiler.calibration import calibrate
from stretto.compiler.compiling import Compilation, compile_traces
from stretto.compiler.embed import dot, similarity, unit
from stretto.compiler.input_reader import SlotReader, checked
from stretto.compiler.requests import dump_requests, index_of, load_requests, member_parts, requests_of
from stretto.compiler.route import Candidate, Gate, Routed, Router, Verdict
from stretto.compiler.settings import CompilerSettings
from stretto.compiler.slots import Shaped, Slot, covers, tokens
from stretto.errors import ProcedureError
from stretto.procedure.contracts import listed_contract
from stretto.procedure.file import digest_of
from stretto.procedure.graph import HumanNode, InputSpec
from tests.conftest import ROOT
from tests.strategies import texts
from tests.stretto.compiler.route_set import Labelled, candidates, labelled
from tests.stretto.compiler.stories import SHOP, refunds

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from waggle.jsonvalue import JsonValue


@cache
def refunding() -> Compilation:
    settings = CompilerSettings(support_floor=3, constant_min=3)
    return compile_traces("refund", [story.trace for story in refunds()], SHOP, settings)


def candidate(**more: Any) -> Candidate:
    made = refunding()
    assert made.procedure is not None
    procedure = made.procedure.model_copy(update=more)
    return Candidate(procedure, index_of(made).model_copy(update={"procedure": digest_of(procedure)}))


def routed(request: str, *known: Candidate, **more: Any) -> Routed:
    options = {"has_secret": lambda _: True, "person": False, **more}
    return Router(known or (candidate(),)).route(request, **options)


def says(found: Routed, gate: Gate) -> str:
    return "; ".join(text for which, text in found.reasons if which is gate)


# --- the cases ----------------------------------------------------------------------------------------------------


@pytest.mark.case("TC-57")
@pytest.mark.parametrize(
    "request_", ["Refund order A-8001 for per@example.com", "refund  order A-8001 for per@example.com!"]
)
def test_a_request_with_a_members_words_is_routed_with_the_inputs_as_it_spells_them(request_: str) -> None:
    found = routed(request_)
    assert (found.verdict, found.procedure, found.failed) == (Verdict.ROUTE, "refund", None)
    assert found.inputs == {"order_id": "A-8001", "to": "per@example.com"}
    assert found.reasons == ()
    assert found.similarity == pytest.approx(1)
    assert found.threshold == 0.80


@pytest.mark.case("TC-57")
@pytest.mark.parametrize(
    ("request_", "gate", "why"),
    [
        ("Do not refund order A-8001 for per@example.com", Gate.WORDS, "extra words: do not"),
        ("Refund order A-8001", Gate.READINESS, "input to is missing"),
        ("Refund orders A-8001 and A-8002 for per@example.com", Gate.WORDS, "a value is left over: code, code"),
        ("Refund orders A-8001 and A-8002 for per@example.com", Gate.WORDS, "orders"),
        ("Please refund order A-8001 for per@example.com", Gate.WORDS, "extra words: please"),
    ],
)
def test_a_request_that_is_like_a_member_and_fails_a_gate_is_suggested_and_says_why(
    request_: str, gate: Gate, why: str
) -> None:
    found = routed(request_)
    assert found.verdict is Verdict.SUGGEST
    assert found.similarity >= 0.80
    assert why in says(found, gate)


@pytest.mark.case("TC-58")
def test_the_threshold_is_above_every_other_intents_requests_or_routing_is_off() -> None:
    on = calibrate([0.91, 0.88, 0.93], [0.79, 0.20], floor=0.80, margin=0.05)
    assert on.threshold == pytest.approx(0.84)
    assert (on.lowest, on.separable) == (0.88, True)
    off = calibrate([0.91, 0.88, 0.93], [0.86], floor=0.80, margin=0.05)
    assert off.threshold == pytest.approx(0.91)
    assert not off.separable
    assert calibrate([1.0], [], floor=0.80, margin=0.05).threshold == 0.80
    assert not calibrate([], [], floor=0.80, margin=0.05).separable


@pytest.mark.case("TC-58")
def test_a_procedure_whose_requests_are_like_another_intents_is_only_suggested() -> None:
    known = candidate()
    other = requests_of("returns", [("Refund order A-1111 for ida@example.com", {})] * 3)
    options: dict[str, Any] = {"has_secret": lambda _: True, "person": False}
    router = Router([known], others=[other])
    assert not router.calibrations["refund"].separable
    found = router.route("Refund order A-8001 for per@example.com", **options)
    assert (found.verdict, found.failed) == (Verdict.SUGGEST, Gate.SIMILARITY)
    assert "not_separable" in says(found, Gate.SIMILARITY)


# --- zero wrong routes ----------------------------------------------------------------------------------------------


def outcome(router: Router, asked: Labelled) -> str:
    found = router.route(asked.request, has_secret=lambda _: True, person=False)
    right = found.procedure == asked.procedure and dict(found.inputs) == asked.inputs
    return str(found.verdict) if found.verdict is not Verdict.ROUTE or right else "wrong"


@pytest.mark.parametrize("relaxed", [False, True])
def test_no_request_that_is_held_out_is_routed_wrongly(relaxed: bool) -> None:  # noqa: FBT001 - a parameter
    """`docs/procedures-review.md` has these counts."""
    router = Router(candidates(), relaxed=relaxed)
    held_out = [asked for asked in labelled() if asked.held_out]
    assert len({asked.request for asked in held_out}) >= 300
    found = Counter((asked.kind, outcome(router, asked)) for asked in held_out)
    assert found == {
        ("member", "route"): 63,
        ("same", "route"): 60,
        ("paraphrase", "suggest"): 33,
        ("paraphrase", "fallback"): 33,
        ("not_it", "suggest"): 126,
        ("not_it", "fallback"): 30,
        ("other", "suggest"): 6,
        ("other", "fallback"): 24,
    }


def test_without_the_gate_of_words_many_would_be_routed_wrongly() -> None:
    """`docs/procedures-review.md` has this count."""
    router, wrong = Router(candidates()), 0
    for asked in labelled():
        found = router.route(asked.request, has_secret=lambda _: True, person=False)
        others = [gate for gate, _ in found.reasons if gate is not Gate.WORDS]
        right = found.procedure == asked.procedure and dict(found.inputs) == asked.inputs
        wrong += asked.held_out and not others and not right
    assert wrong == 96


def test_what_may_be_looked_at_is_not_routed_wrongly_either() -> None:
    router = Router(candidates())
    found = Counter(outcome(router, asked) for asked in labelled() if not asked.held_out)
    assert found["wrong"] == 0
    assert found["route"] == 60


@given(st.sampled_from(["not", "never", "don't", "half", "no", "or", "❌", "if", "¬", "every"]), st.integers(0, 8))
def test_one_more_word_anywhere_keeps_a_request_from_being_routed(word: str, at: int) -> None:
    words = ["Refund", "order", "A-8001", "for", "per@example.com"]
    words.insert(min(at, len(words)), word)
    assert routed(" ".join(words)).verdict is not Verdict.ROUTE


@given(st.permutations(["Transfer", "50", "from", "ACC-1", "to", "ACC-2"]))
def test_only_the_order_of_a_member_is_routed_so_that_nothing_goes_the_wrong_way(words: list[str]) -> None:
    found = Router(candidates()).route(" ".join(words), has_secret=lambda _: True, person=False)
    if found.verdict is Verdict.ROUTE:
        assert " ".join(words) in ("Transfer 50 from ACC-1 to ACC-2", "Transfer 50 from ACC-2 to ACC-1")
        assert found.inputs == {"amount": 50, "source": words[3], "target": words[5]}


@given(texts())
def test_no_text_makes_the_router_fail_and_what_it_reads_was_said(text: str) -> None:
    found = routed(text)
    assert all(str(value) in text for value in found.inputs.values())
    assert found.verdict is Verdict.FALLBACK or found.similarity >= 0.80


# --- readiness ------------------------------------------------------------------------------------------------------

GOOD = "Refund order A-8001 for per@example.com"


def test_a_secret_that_is_not_there_stands_in_the_way() -> None:
    found = routed(GOOD, has_secret=lambda _: False)
    assert (found.verdict, found.failed) == (Verdict.SUGGEST, Gate.READINESS)
    assert says(found, Gate.READINESS) == "secret shop.login.password is not there"


def test_a_question_for_a_person_needs_a_person() -> None:
    known = candidate()
    ask = HumanNode(layer=2, asks="Go on?", about="shop.refund#0")
    asking = candidate(nodes={**known.procedure.nodes, "ask": ask})
    assert says(routed(GOOD, asking), Gate.READINESS) == "it asks a person, and there is nobody to ask"
    assert routed(GOOD, asking, person=True).verdict is Verdict.ROUTE


def test_a_procedure_whose_tools_have_changed_is_not_routed_to() -> None:
    tool: dict[str, Any] = {"name": "shop.refund", "inputSchema": {"type": "object", "properties": {"a": {}}}}
    known = candidate(contracts={"/shop.refund": listed_contract(tool)})
    tool["inputSchema"]["required"] = ["a"]
    now = {f"/{node.tool}": listed_contract(tool) for _, node in known.procedure.tools()}
    found = routed(GOOD, known, contracts=now)
    assert (found.verdict, found.failed) == (Verdict.SUGGEST, Gate.READINESS)
    assert "tool shop.refund has changed since" in says(found, Gate.READINESS)


def test_a_request_that_another_intent_is_asked_for_with_as_well_is_not_routed() -> None:
    """Where nothing could be cancelled, the reason is no input; where something was, it is one."""
    asked = [(f"Please cancel order A-80{number}1: no longer needed", f"A-80{number}1") for number in range(5)]
    look = refunding().procedure
    assert look is not None
    look = look.model_copy(update={"name": "look", "inputs": {"order_id": look.inputs["order_id"]}})
    known = Candidate(look, requests_of("look", [(said, {"order_id": o}) for said, o in asked], digest_of(look)))
    cancel = requests_of("cancel", [(said, {"order_id": o, "why": "no longer needed"}) for said, o in asked])
    request = "Please cancel order A-9001: no longer needed"
    assert routed(request, known).verdict is Verdict.ROUTE
    found = Router([known], others=[cancel]).route(request, has_secret=lambda _: True, person=False)
    assert (found.verdict, found.failed) == (Verdict.SUGGEST, Gate.WORDS)
    assert says(found, Gate.WORDS) == "it is a request of cancel, too"


@pytest.mark.parametrize(
    ("parts", "request_", "may"),
    [
        (("cancel", Slot("order")), "Cancel A-1!", True),
        (("cancel", Slot("order")), "Cancel my order A-1", True),
        (("cancel", Slot("order")), "Cancel", False),
        (("cancel", Slot("order"), "now"), "cancel A-1", False),
        (("cancel", Shaped("code")), "cancel A-1", True),
        (("cancel", Shaped("code")), "cancel it", False),
        ((Slot("text"),), "anything", False),
        ((), "", False),
        (("cancel", Slot("text")), "cancel " + "x " * 9, False),
    ],
)
def test_parts_cover_a_request_with_their_words_and_anything_short_in_their_slots(
    parts: tuple[Any, ...],
    request_: str,
    may: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert covers(parts, tokens(request_)) is may


def test_a_procedure_with_values_of_one_tenant_is_routed_to_for_nobody_else() -> None:
    known = candidate(scope={"tenant": "acme"})
    for scope in (None, {}, {"tenant": "other"}, {"user": "acme"}):
        found = routed(GOOD, known, scope=scope)
        assert (found.verdict, found.failed) == (Verdict.SUGGEST, Gate.READINESS)
        assert "it is for tenant acme alone" in says(found, Gate.READINESS)
    assert routed(GOOD, known, scope={"tenant": "acme", "user": "ida"}).verdict is Verdict.ROUTE


def test_a_procedure_with_effects_that_has_ways_nobody_has_seen_is_not_routed_to() -> None:
    known = candidate()
    compiled = known.procedure.compiled.model_copy(update={"unseen": 0.21})
    assert "0.21, above 0.20" in says(routed(GOOD, candidate(compiled=compiled)), Gate.READINESS)
    compiled = known.procedure.compiled.model_copy(update={"unseen": 0.20})
    assert routed(GOOD, candidate(compiled=compiled)).verdict is Verdict.ROUTE


def test_requests_of_another_version_of_the_procedure_do_not_count() -> None:
    known = candidate()
    old = Candidate(known.procedure, known.requests.model_copy(update={"procedure": "0" * 32}))
    assert says(routed(GOOD, old), Gate.READINESS) == "the requests are those of another version of the procedure"


def test_words_in_another_order_are_taken_by_reads_alone_and_only_when_that_is_asked_for() -> None:
    options: dict[str, Any] = {"has_secret": lambda _: True, "person": False}
    for relaxed in (False, True):
        router = Router(candidates(), relaxed=relaxed)
        read = router.route("order A-8001: where is", **options)
        assert read.verdict is (Verdict.ROUTE if relaxed else Verdict.SUGGEST)
        read = router.route("where is my order A-8001", **options)
        assert read.verdict is Verdict.SUGGEST
        changing = router.route("order A-8001 cancel", **options)
        assert changing.verdict is Verdict.SUGGEST


# --- inputs ---------------------------------------------------------------------------------------------------------


class Scripted:
    """A reader that answers what it is told to."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def read(self, request: str, inputs: Mapping[str, InputSpec]) -> Mapping[str, JsonValue]:
        return self.answers


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"order_id": "A-9999", "to": "per@example.com"}, "order_id was read as what the request does not say"),
        ({"order_id": 8001, "to": "per@example.com"}, "order_id has to be of type string"),
        ({"order_id": "A-8001", "to": "order"}, "to does not look like the email"),
        ({"order_id": "A-8001", "to": "per@example.com", "more": "x"}, "there is no input more"),
        ({"order_id": "A-8001"}, "input to is missing"),
    ],
)
def test_what_a_reader_answers_is_checked_against_the_inputs_and_the_request(answers: Any, why: str) -> None:
    found = Router([candidate()], reader=Scripted(**answers)).route(GOOD, has_secret=lambda _: True, person=False)
    assert found.verdict is Verdict.SUGGEST
    assert why in says(found, Gate.READINESS)


def test_a_reader_that_answers_what_was_said_is_believed() -> None:
    reader = Scripted(order_id="A-8001", to="per@example.com")
    found = Router([candidate()], reader=reader).route(GOOD, has_secret=lambda _: True, person=False)
    assert found.verdict is Verdict.ROUTE


def test_two_tokens_of_one_shape_are_told_apart_by_the_words_before_them_or_not_at_all() -> None:
    router = Router(candidates())
    options: dict[str, Any] = {"has_secret": lambda _: True, "person": False}
    moved = router.route("Move 50 from account ACC-1 to account ACC-2", **options)
    assert (moved.verdict, dict(moved.inputs)) == (
        Verdict.ROUTE,
        {"amount": 50, "source": "ACC-1", "target": "ACC-2"},
    )
    assert router.route("Transfer 50 ACC-1 ACC-2", **options).inputs == {"amount": 50}
    swapped = router.route("Transfer 50 to ACC-2 from ACC-1", **options)
    assert swapped.inputs == {"amount": 50, "source": "ACC-1", "target": "ACC-2"}
    assert swapped.verdict is Verdict.SUGGEST


def test_text_in_quotation_marks_is_one_value_and_keeps_its_spelling() -> None:
    found = Router(candidates()).route(
        'leave per@example.com the note "Call  ME, {back}!"', has_secret=lambda _: True, person=False
    )
    assert found.inputs["note"] == "Call  ME, {back}!"
    assert found.verdict is Verdict.ROUTE


def test_tokens_lose_punctuation_at_their_ends_and_nothing_inside() -> None:
    assert [token.text for token in tokens("(A-1), <a.b@c.de>! #W12; don't ... 2026-01-02. -5")] == [
        "A-1",
        "a.b@c.de",
        "#W12",
        "don't",
        "2026-01-02",
        "-5",
    ]


def test_a_value_that_no_schema_allows_is_refused_whatever_says_it() -> None:
    inputs = {"n": InputSpec(type="integer"), "many": InputSpec(type="string", many=True)}
    read = checked("take 5 of a and b", inputs, {"n": 5, "many": ["a", "b"]})
    assert read.values == {"n": 5, "many": ["a", "b"]}
    assert checked("take 5", inputs, {"n": True, "many": "5"}).values == {}


def test_a_text_without_a_shape_is_read_where_it_is_one_that_several_members_had() -> None:
    reasons = ["no longer needed", "needed", "ordered by mistake"]
    members = [
        (f"Close A-{n}, it was {reasons[n % 3]}", {"order": f"A-{n}", "reason": reasons[n % 3]}) for n in range(9)
    ]
    requests = requests_of("close", [*members, ("Close A-1, it was Nina", {"order": "A-1", "reason": "Nina"})])
    assert requests.values == {"reason": sorted(reasons)}
    inputs = {"order": InputSpec(type="string", pattern="code"), "reason": InputSpec(type="string")}
    reader = SlotReader([member.read for member in requests.members], requests.values)
    assert reader.read("Close A-8, it was No Longer needed.", inputs) == {"order": "A-8", "reason": "no longer needed"}
    assert reader.read("Close A-8, it was a joke, do not", inputs) == {"order": "A-8"}
    assert reader.read("Close A-8, it was needed, ordered by mistake", inputs) == {"order": "A-8"}


# --- the file -------------------------------------------------------------------------------------------------------


def test_the_file_of_requests_holds_words_and_no_value_and_no_secret() -> None:
    inputs = {"order_id": "A-5531"}
    request = "Refund A-5531 of nina@example.com, key sk-ant-REDACTED"
    parts = member_parts(request, inputs)
    assert parts[:4] == ("refund", Slot("order_id"), "of", Shaped("email"))
    text = dump_requests(requests_of("refund", [(request, inputs)])).decode()
    assert not any(secret in text for secret in ("5531", "nina", "AAAA"))


def test_the_example_of_a_file_of_requests_is_what_is_written() -> None:
    document = (ROOT / "docs" / "file-formats.md").read_text(encoding="utf-8")
    assert f"```json\n{dump_requests(index_of(refunding())).decode()}```" in document


@given(st.lists(st.tuples(texts(), st.dictionaries(st.sampled_from(["a", "b"]), texts())), max_size=5), st.randoms())
def test_the_file_of_requests_is_the_same_in_any_order_and_is_read_as_it_was(
    members: list[tuple[str, dict[str, Any]]], rng: random.Random
) -> None:
    made = requests_of("x", members)
    mixed = list(members)
    rng.shuffle(mixed)
    assert dump_requests(requests_of("x", mixed)) == dump_requests(made)
    assert load_requests(dump_requests(made)) == made


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[", "is no JSON"),
        ("[]", "$"),
        ('{"stretto_requests": 2, "name": "x"}', "$.stretto_requests"),
        ('{"stretto_requests": 1, "name": "x", "more": 1}', "$.more"),
        ('{"stretto_requests": 1, "name": "x", "members": [{"parts": [], "traces": 0}]}', "$.members[0].traces"),
    ],
)
def test_a_file_that_is_none_says_where(text: str, where: str) -> None:
    with pytest.raises(ProcedureError, match=r"f\.json: ") as caught:
        load_requests(text.encode(), "f.json")
    assert where in str(caught.value)


VECTORS = st.dictionaries(st.text(max_size=3), st.integers(-50, 50).map(lambda number: number / 10))


@given(VECTORS, VECTORS)
def test_the_product_of_unit_vectors_is_the_similarity(one: dict[str, float], other: dict[str, float]) -> None:
    assert dot(unit(one), unit(other)) == pytest.approx(similarity(one, other), abs=1e-9)


def test_a_vector_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        unit([float("nan")])

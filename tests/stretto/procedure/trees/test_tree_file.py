from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import ProcedureError
from stretto.procedure.file import load_any, load_procedure, read_any
from stretto.procedure.trees.actions import say_action
from stretto.procedure.trees.file import dump_trees, trees_from_json, trees_to_json, write_trees
from stretto.procedure.trees.model import Check, Leaf, Provenance, Split, TreeProcedure
from tests.conftest import ROOT
from waggle import jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.procedure.trees.model import Node

EXCERPT = ROOT / "tests" / "stretto" / "data" / "telecom.excerpt.procedure.json"

MINIMAL: dict[str, Any] = {
    "stretto_procedure": 1,
    "domain": "shop",
    "trees": {"start": {"calls": [["stop", 1]]}},
    "fallback": {"calls": []},
}

texts = st.text(min_size=1, max_size=8)
names = st.from_regex(r"[a-z_.]{1,8}", fullmatch=True)
counts = st.integers(0, 1000)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
actions = st.builds(say_action, names, st.dictionaries(texts, json_values, max_size=2)) | st.just("stop")
leaves = st.builds(Leaf, st.lists(st.tuples(actions, counts), max_size=3).map(tuple))
nodes: st.SearchStrategy[Node] = st.recursive(leaves, lambda inner: st.builds(Split, texts, inner, inner), max_leaves=6)


@st.composite
def procedures(draw: st.DrawFn) -> TreeProcedure:
    reads = draw(st.lists(names, min_size=1, max_size=3).map(tuple))
    checks = st.builds(Check, texts, st.sampled_from(reads), st.lists(texts).map(tuple), st.lists(texts).map(tuple))
    return TreeProcedure(
        domain=draw(st.text(max_size=5)),
        provenance=Provenance(draw(st.lists(texts, max_size=2).map(tuple)), draw(counts)),
        symbolic=False,
        trees=draw(st.dictionaries(st.text(max_size=5), nodes, max_size=3)),
        fallback=draw(nodes),
        reads=reads,
        vocab=draw(st.lists(texts, max_size=3).map(tuple)),
        checks=draw(st.lists(checks, max_size=2).map(tuple)),
        handoff="person",
        handoff_arguments=draw(st.dictionaries(texts, json_values, max_size=2)),
        max_calls=draw(st.integers(1, 99)),
    )


def test_a_file_of_the_original_is_read_whole() -> None:
    procedure = read_any(EXCERPT)
    assert isinstance(procedure, TreeProcedure)
    assert (procedure.handoff, procedure.max_calls, procedure.symbolic) == ("transfer_to_human_agents", 50, True)
    assert procedure.provenance == Provenance(("gpt-4.1-2025-04-14", "o4-mini-2025-04-16"), 74)
    assert procedure.leaf("resume_line!", ()).calls == (("reset_apn_settings", 1), ("run_speed_test", 1), ("stop", 1))
    signal = {"reseat_sim_card:status bar=📵 no signal", "called check_network_status"}
    assert procedure.leaf("reseat_sim_card", signal).calls[0] == ("check_sim_status", 31)
    assert procedure.leaf("never seen", ()) == procedure.fallback
    assert [check.probe for check in procedure.checks] == ["can_send_mms", "run_speed_test", "check_status_bar"]


def test_a_file_of_the_original_is_written_back_byte_for_byte() -> None:
    procedure = read_any(EXCERPT)
    assert isinstance(procedure, TreeProcedure)
    assert dump_trees(procedure) == EXCERPT.read_bytes()


@given(procedures())
def test_what_is_written_is_read_back(procedure: TreeProcedure) -> None:
    again = load_any(dump_trees(procedure))
    assert again == procedure
    assert isinstance(again, TreeProcedure)
    assert dump_trees(again) == dump_trees(procedure)


def test_what_may_be_left_out_has_the_originals_defaults(tmp_path: Path) -> None:
    procedure = trees_from_json(MINIMAL)
    assert (procedure.max_calls, procedure.stop, procedure.handoff, procedure.symbolic) == (50, "stop", "", False)
    write_trees(tmp_path / "p.json", procedure)
    assert read_any(tmp_path / "p.json") == procedure
    assert trees_to_json(procedure)["handoff"] is None


def nested(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {"calls": []}
    for _ in range(depth):
        node = {"feature": "f", "yes": node, "no": {"calls": []}}
    return node


@pytest.mark.parametrize(
    ("change", "at", "says"),
    [
        pytest.param({"domain": 3}, "$.domain", "text", id="another-type"),
        pytest.param({"max_calls": 0}, "$.max_calls", "greater", id="out-of-range"),
        pytest.param({"max_calls": True}, "$.max_calls", "whole number", id="true-is-no-number"),
        pytest.param({"extra": 1}, "$.extra", "unknown field", id="unknown-field"),
        pytest.param({"vocab": ["a", 1]}, "$.vocab[1]", "text", id="inside-a-list"),
        pytest.param({"trees": {"a b": []}}, '$.trees["a b"]', "object", id="a-site-that-is-no-word"),
        pytest.param({"trees": {"s": {"feature": "f", "yes": {"calls": []}}}}, "$.trees.s.no", "missing", id="half"),
        pytest.param({"fallback": {"calls": [], "feature": "f"}}, "$.fallback.feature", "unknown", id="both"),
        pytest.param({"fallback": {"feature": 1, "yes": {}, "no": {}}}, "$.fallback.feature", "text", id="feature"),
        pytest.param({"fallback": {"calls": {}}}, "$.fallback.calls", "list", id="calls-no-list"),
        pytest.param({"fallback": {"calls": [["a"]]}}, "$.fallback.calls[0]", "how often", id="no-count"),
        pytest.param({"fallback": {"calls": [["a", -1]]}}, "$.fallback.calls[0]", "how often", id="negative"),
        pytest.param({"fallback": {"calls": [["a", True]]}}, "$.fallback.calls[0]", "how often", id="true"),
        pytest.param({"fallback": {"calls": [["a{", 1]]}}, "$.fallback.calls[0][0]", "no JSON", id="torn-arguments"),
        pytest.param({"fallback": {"calls": [["{}", 1]]}}, "$.fallback.calls[0][0]", "tool", id="no-tool"),
        pytest.param({"fallback": nested(200)}, "$.fallback" + ".yes" * 101, "100 questions", id="too-deep"),
        pytest.param(
            {"fallback": {"calls": [[f'a{{"x": {"[" * 300}{"]" * 300}}}', 1]]}},
            "$.fallback.calls[0][0]",
            "deep",
            id="deep",
        ),
        pytest.param(
            {"handoff": "h", "handoff_arguments": {"x": nested(300)}},
            "$.handoff_arguments",
            "deep",
            id="deep-arguments",
        ),
        pytest.param({"handoff_arguments": {"a": 1}}, "$.handoff_arguments", "no handoff", id="no-handoff"),
        pytest.param(
            {"checks": [{"phrase": "p", "probe": "pay"}]},
            "$.checks[0].probe",
            "not among reads",
            id="a-check-that-writes",
        ),
        pytest.param(
            {"symbolic": True, "fallback": {"calls": [[r'a{"x": "@ticket(\\d{3})+$"}', 1]]}},
            "$.fallback.calls[0][0]",
            "literal characters",
            id="a-regular-expression",
        ),
        pytest.param(
            {"symbolic": True, "fallback": {"calls": [['a{"x": "@t$[*].y?{\\"s\\": 1}"}', 1]]}},
            "$.fallback.calls[0][0]",
            "neither a text",
            id="a-condition-that-is-none",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(change: dict[str, Any], at: str, says: str) -> None:
    with pytest.raises(ProcedureError, match=says) as caught:
        load_any(jsonvalue.dumps({**MINIMAL, **change}), "p.json")
    assert (caught.value.path, caught.value.at) == ("p.json", at)


@pytest.mark.parametrize(
    "data", [b"", b"[1]", b"{}", b'{"stretto_procedure": 3}', b"\xff", b'{"stretto_procedure": true}']
)
def test_what_is_no_procedure_of_either_kind_is_one_error(data: bytes) -> None:
    with pytest.raises(ProcedureError):
        load_any(data)


def test_where_a_compiled_procedure_is_needed_a_tree_procedure_is_refused() -> None:
    with pytest.raises(ProcedureError, match="tree procedure"):
        load_procedure(EXCERPT.read_bytes())


def test_the_deepest_tree_that_is_read_is_written_too() -> None:
    procedure = load_any(jsonvalue.dumps({**MINIMAL, "fallback": nested(100)}))
    assert isinstance(procedure, TreeProcedure)
    assert load_any(dump_trees(procedure)) == procedure


def test_a_file_that_is_not_there_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ProcedureError, match="cannot be read") as caught:
        read_any(tmp_path / "none.json")
    assert caught.value.path == str(tmp_path / "none.json")

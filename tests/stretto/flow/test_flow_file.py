"""The flow file: the original's come out as they went in, ours say their version, and nothing ill-fitting passes."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stretto.errors import FlowError
from stretto.flow.file import dump_flow, flow_from_json, flow_to_json, flow_version, read_flow, write_flow
from stretto.flow.model import Gate
from stretto.flow.program import STANDARD, encode
from stretto.model.counts import Tally
from tests.stretto.flow.flow_support import DATA, PUBLISHED, full_flow, plain, published
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# --- round trips ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_flow_is_written_as_it_was_read(name: str) -> None:
    """More than equal JSON: the same bytes, since fields stand in the original's order and floats are the shortest."""
    data = (DATA / PUBLISHED[name]).read_bytes()
    assert dump_flow(published(name)) == data
    assert flow_to_json(published(name)) == json.loads(data)


def test_the_habit_of_a_published_flow_gives_the_published_numbers() -> None:
    """Section 3.3: after the e-mail lookup and the user, the order has 0.560370; after two orders, 0.591905."""
    habit = published("retail-5").habit
    assert habit.base.probability((65536, 147456), 7) == pytest.approx(0.450700, abs=1e-6)
    assert habit.probability((65536, 147456), 7) == pytest.approx(0.560370, abs=1e-6)
    assert habit.probability((114688, 114688), 7) == pytest.approx(0.591905, abs=1e-6)
    assert habit.probability((114688, 114688), 8) == pytest.approx(0.160800, abs=1e-6)
    assert habit.probability((8192, 65536), 9) == pytest.approx(0.5213, abs=1e-4)


@pytest.mark.parametrize("flow", [full_flow(), plain(full_flow()), replace(full_flow(), arbiter=None)])
def test_what_is_written_is_read_back_as_the_same_flow(flow: Any) -> None:
    back = flow_from_json(jsonvalue.loads(dump_flow(flow)))
    assert back.vocabulary.tools == flow.vocabulary.tools
    assert replace(back, vocabulary=flow.vocabulary) == flow
    assert dump_flow(back) == dump_flow(flow)


def test_the_order_in_which_things_were_counted_does_not_show(tmp_path: Path) -> None:
    flow = full_flow()
    turned = full_flow()
    for holder in (turned.bindings, turned.sites):
        for name in holder.__slots__:
            value = getattr(holder, name)
            if isinstance(value, dict):
                setattr(holder, name, dict(reversed(value.items())))
    for level in turned.habit.base.levels:
        for key in list(level):
            level[key] = Tally(level[key].total, dict(reversed(level.pop(key).by_action.items())))
    write_flow(tmp_path / "a.flow.json", turned)
    assert (tmp_path / "a.flow.json").read_bytes() == dump_flow(flow)
    assert b"\n" not in dump_flow(flow)
    assert read_flow(tmp_path / "a.flow.json").manifest == flow.manifest


def test_whole_counts_are_written_as_floats_whether_they_were_counted_or_read() -> None:
    flow = full_flow()
    flow.habit.base.levels[0][()].total = 15
    assert b'"total":15.0' in dump_flow(flow)


@pytest.mark.case("HC-02")
def test_names_with_lone_surrogates_and_large_constants_survive() -> None:
    """A flow must be readable whatever its sessions held; the file stays valid UTF-8."""
    flow = full_flow()
    flow.bindings.agreed["\ud800"] = ((0, 0), (0, 0))
    data = dump_flow(flow)
    data.decode("utf-8")
    back = flow_from_json(jsonvalue.loads(data))
    assert "\ud800" in back.bindings.agreed
    assert back.bindings.constants == flow.bindings.constants


# --- versions -------------------------------------------------------------------------------------------------


def set_field(field: str, value: object) -> Callable[[Any], None]:
    holder, _, name = field.rpartition(".")

    def change(flow: Any) -> None:
        setattr(getattr(flow, holder) if holder else flow, name, value)

    return change


@pytest.mark.parametrize(
    ("field", "version"),
    [
        ("bindings.named_other", 2),
        ("bindings.described_read", 2),
        ("bindings.site_sources", 2),
        ("bindings.lists", 2),
        ("bindings.bare", 2),
        ("bindings.constants", 2),
        ("thresholds", 2),
        ("bindings.derived", 3),
        ("bindings.spoken", 3),
        ("bindings.records", 3),
        ("bindings.agreed_derived", 3),
        ("bindings.agreed_spoken", 3),
        ("bindings.agreed_record", 3),
        ("uses", 3),
    ],
)
def test_a_field_raises_the_version_and_is_refused_in_an_older_file(field: str, version: int) -> None:
    """The original's rule: one field of a version that is not empty, and older builds must refuse the file."""
    flow, full = plain(full_flow()), full_flow()
    assert flow_version(flow) == 1
    value = full
    for name in field.split("."):
        value = getattr(value, name)
    set_field(field, value)(flow)
    assert flow_version(flow) == version
    content = flow_to_json(flow)
    assert content["stretto_flow"] == version
    flow_from_json(content)
    for older in range(1, version):
        with pytest.raises(FlowError, match=f"a field of version {version}") as caught:
            flow_from_json({**content, "stretto_flow": older})
        assert caught.value.at == f"$.{field}"


def test_a_gate_raises_the_version_and_reach_contracts_promotion_and_program_do_not() -> None:
    flow = plain(full_flow())
    assert flow.reach
    assert flow.promoted
    assert flow.manifest.contracts
    assert flow.program != STANDARD
    assert flow_version(flow) == 1
    assert flow_version(replace(flow, surprise=Gate(5, 2.0))) == 2


def test_an_empty_field_of_a_later_version_is_no_fault_and_null_is_absent() -> None:
    content: Any = flow_to_json(published("retail-5"))
    content["bindings"] |= {"lists": [], "constants": None, "derived": []}
    content |= {"map": None, "thresholds": {}, "reach": None, "program": None, "promoted": None, "predicates": None}
    assert dump_flow(flow_from_json(content)) == dump_flow(published("retail-5"))


@pytest.mark.parametrize("version", [0, 4, "1", 1.0, True, None, [1]])
def test_an_unsupported_version_is_refused_before_all_else_and_names_the_supported(version: object) -> None:
    with pytest.raises(FlowError, match="1, 2 and 3") as caught:
        flow_from_json({"stretto_flow": version, "nonsense": 1})  # type: ignore[dict-item]  # wrong on purpose
    assert caught.value.at == "$.stretto_flow"


def test_the_standard_run_is_what_a_file_without_a_program_has_and_may_be_written_out() -> None:
    content: Any = flow_to_json(published("retail-5"))
    assert flow_from_json(content).program == STANDARD
    content["program"] = encode(STANDARD)
    assert dump_flow(flow_from_json(content)) == dump_flow(published("retail-5"))


# --- faults ---------------------------------------------------------------------------------------------------


def put(path: str, value: object) -> Callable[[Any], None]:
    """A change of the full flow's content: what stands at a path, as Python would write it."""

    def change(content: Any) -> None:
        exec(f"content{path} = value", {"content": content, "value": value})  # noqa: S102 - our own paths

    return change


FULL: Any = flow_to_json(full_flow())

FAULTS = [
    ("['habit']['base']['alpha']", 0.0, "$.habit.base.alpha"),
    ("['habit']['base']['alpha']", math.nan, "$.habit.base.alpha"),
    ("['habit']['base']['alpha']", True, "$.habit.base.alpha"),
    ("['habit']['beta']", -1.0, "$.habit.beta"),
    ("['habit']['base']['order']", 3, "$.habit.base.order"),
    ("['habit']['base']['vocab_size']", 9, "$.habit.base.vocab_size"),
    ("['habit']['base']['levels'][1][0][1]['total']", -1.0, "$.habit.base.levels[1][0][1].total"),
    ("['habit']['base']['levels'][1][0][1]['total']", 0.5, "$.habit.base.levels[1][0][1].by_action[0][1]"),
    ("['habit']['base']['levels'][1][0][1]['total']", "3", "$.habit.base.levels[1][0][1].total"),
    ("['habit']['base']['levels'][1][0][0]", [], "$.habit.base.levels[1][0][0]"),
    ("['habit']['base']['levels'][1][0][0]", [1, 2], "$.habit.base.levels[1][0][0]"),
    ("['habit']['base']['levels'][1][0][0]", [2**31], "$.habit.base.levels[1][0][0][0]"),
    ("['habit']['base']['levels'][1][0]", [[1]], "$.habit.base.levels[1][0][1]"),
    ("['habit']['base']['levels'][0][0][1]['by_action'][0][0]", 99, "$.habit.base.levels[0][0][1].by_action[0][0]"),
    ("['habit']['base']['levels'][0][0][1]['by_action'][1][0]", 0, "$.habit.base.levels[0][0][1].by_action[1][0]"),
    ("['habit']['base']['levels']", [], "$.habit.base.levels"),
    ("['habit']['top'][0][0][1]", [1], "$.habit.top[0][0][1]"),
    ("['reach']['levels'][0][0][1]['by_action'][0][1]", 1e9, "$.reach.levels[0][0][1].by_action[0][1]"),
    ("['vocab'][0]", {"Tool": "a"}, "$.vocab[0]"),
    ("['vocab'][2]", {"Tool": "a"}, "$.vocab[2]"),
    ("['vocab'][2]", {"Tool": "find"}, "$.vocab[2]"),
    ("['vocab'][2]", "get", "$.vocab[2]"),
    ("['manifest']['tools']['get']", "Read", "$.manifest.tools.get"),
    ("['manifest']['tools']['get']", "write", "$.sites.reads[1]"),
    ("['manifest']['tools']", {}, "$.sites.reads[0]"),
    ("['sites']['reads'][1]", "find", "$.sites.reads[1]"),
    ("['sites']['reads']", ["find"], "$.sites.next[0][1].get"),
    ("['sites']['next'][0][1]['write']", 1, "$.sites.next[0][1].write"),
    ("['sites']['next'][0][0]", ["nobody", False], "$.sites.next[0][0][0]"),
    ("['sites']['next'][0][0]", ["find", 0], "$.sites.next[0][0][1]"),
    ("['sites']['next'][1][0]", ["find", False], "$.sites.next[1][0]"),
    ("['thresholds']['nobody']", 0.5, "$.thresholds.nobody"),
    ("['thresholds']['get']", -0.1, "$.thresholds.get"),
    ("['promoted']['sites']['get (failed)']", None, '$.promoted.sites["get (failed)"]'),
    ("['promoted']['sites']['get']['promoted']", "yes", "$.promoted.sites.get.promoted"),
    ("['bindings']['args']['get'][1]['id']", 10, "$.bindings.args.get[1].id"),
    ("['bindings']['agreed']['get'][0]", [7, 6], "$.bindings.agreed.get[0][0]"),
    ("['bindings']['named_other']['get']", [5, 4], "$.bindings.named_other.get[0]"),
    ("['bindings']['sources'][1][1]['found'][0][1]", 10, "$.bindings.sources[1][1].found[0][1]"),
    ("['bindings']['sources'][1][0]", ["find", "name"], "$.bindings.sources[1][0]"),
    ("['bindings']['bare']['list']", 6, "$.bindings.bare.list"),
    ("['bindings']['bare']['nobody']", 0, "$.bindings.bare.nobody"),
    ("['bindings']['derived'][0][1]['found'][0][0][1]", "$[*]", "$.bindings.derived[0][1].found[0][0][1]"),
    ("['bindings']['spoken'][0][1]['shapes'][0][1]", 7, "$.bindings.spoken[0][1].shapes[0][1]"),
    ("['bindings']['site_sources'][0]['site']", 1, "$.bindings.site_sources[0].site"),
    ("['uses'][1]", FULL["uses"][0], "$.uses[1]"),
    (
        "['bindings']['site_sources'][1]",
        FULL["bindings"]["site_sources"][0],
        "$.bindings.site_sources[1]",
    ),
    ("['bindings']['constants'][0][1]", math.nan, "$.bindings.constants[0][1]"),
    ("['map']['fields']['get'][0]", "status", "$.map.fields.get[0]"),
    ("['uses'][0]['used']", 5, "$.uses[0].used"),
    ("['uses'][0]['companions']", 2, "$.uses[0].companions"),
    ("['uses'][0]['pick']", "some", "$.uses[0].pick"),
    ("['map']['fields']['get'][0]", {"Scalar": "a", "Len": "b"}, "$.map.fields.get[0]"),
    ("['map']['ids'][0][1]", 0, "$.map.ids[0][1]"),
    ("['map']['ids'][0][0][1]", ["open"], "$.map.ids[0][0][1]"),
    ("['folds'][0]['weights']", [1.0], "$.folds[0].weights"),
    ("['folds']", [], "$.folds"),
    ("['weighed'][0]['favors']", {"lookup": 1}, "$.weighed[0].favors"),
    ("['program']['ret']['name']", "secret", "$.program.ret.name"),
    ("['program']", {}, "$.program.fugue_program"),
    ("['surprise']['window']", 0, "$.surprise.window"),
    ("['provenance']['compiled_unix_ms']", 2**53, "$.provenance.compiled_unix_ms"),
    ("['provenance']['habit_episodes']", 10**40, "$.provenance.habit_episodes"),
    ("['provenance']['half life\\n']", 20, '$.provenance["half life\\n"]'),
    ("['extra']", 1, "$.extra"),
    ("['habit']", None, "$.habit"),
    ("['bindings']['constants'][0][1]", json.loads("[" * 60 + "]" * 60), "$.bindings.constants[0][1]"),
]


@pytest.mark.parametrize(("where", "value", "at"), FAULTS)
def test_a_field_that_does_not_fit_is_one_error_that_says_where(where: str, value: object, at: str) -> None:
    content = copy.deepcopy(flow_to_json(full_flow()))
    put(where, value)(content)
    with pytest.raises(FlowError) as caught:
        flow_from_json(content, "shop.flow.json")
    assert caught.value.at == at
    assert caught.value.path == "shop.flow.json"
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("field", ["provenance", "vocab", "manifest", "habit", "sites", "bindings"])
def test_a_missing_field_is_named(field: str) -> None:
    content = flow_to_json(full_flow())
    del content[field]
    with pytest.raises(FlowError, match="missing") as caught:
        flow_from_json(content)
    assert caught.value.at == f"$.{field}"


@pytest.mark.case("HC-28")
@pytest.mark.parametrize("kind", ["write", "generic", None])
def test_an_edited_file_cannot_make_a_flow_look_up_what_its_manifest_does_not_call_a_read(kind: str | None) -> None:
    content: Any = flow_to_json(full_flow())
    content["sites"]["reads"] = sorted([*content["sites"]["reads"], "erase"])
    content["sites"]["next"][0][1]["erase"] = 9
    content["vocab"].insert(1, {"Tool": "erase"})
    if kind:
        content["manifest"]["tools"]["erase"] = kind
    for counts in (content["habit"]["base"], content["reach"]):
        counts["vocab_size"] += 1
    with pytest.raises(FlowError, match="'erase' is not a read of the manifest"):
        flow_from_json(content)


# --- files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "is no JSON"),
        (b"{", "is no JSON"),
        (b"[]", "expected an object"),
        (b'{"stretto_flow": NaN}', "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b'{"stretto_flow": 1}', "missing"),
    ],
)
def test_a_file_that_is_no_flow_is_one_error_that_names_it(tmp_path: Path, data: bytes, match: str) -> None:
    path = tmp_path / "bad.flow.json"
    path.write_bytes(data)
    with pytest.raises(FlowError, match=match) as caught:
        read_flow(path)
    assert caught.value.path == str(path)


def test_a_missing_file_and_a_directory_are_the_same_kind_of_error(tmp_path: Path) -> None:
    with pytest.raises(FlowError, match=r"cannot be read: No such file"):
        read_flow(tmp_path / "none.flow.json")
    with pytest.raises(FlowError, match=r"directory"):
        read_flow(tmp_path)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "bom.flow.json"
    path.write_bytes(b"\xef\xbb\xbf" + dump_flow(full_flow()) + b"\r\n")
    assert dump_flow(read_flow(path)) == dump_flow(full_flow())

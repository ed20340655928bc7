"""Whatever a flow file holds, reading it gives a flow that can be served and shown, or one error that says where."""

from __future__ import annotations

import copy
import json
import math
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import FlowError
from stretto.flow.chances import Chances, ToolNumbers
from stretto.flow.file import dump_flow, flow_from_json, flow_to_json, read_flow
from stretto.flow.interpreter import Inputs, simulate
from stretto.review.diff import diff
from stretto.review.diff_page import diff_page
from stretto.review.show import show
from stretto.review.show_page import show_page
from tests.strategies import json_values
from tests.stretto.flow.flow_support import PUBLISHED, full_flow, published
from waggle import jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from waggle.jsonvalue import JsonValue

CONTENTS = [flow_to_json(full_flow()), *(flow_to_json(published(name)) for name in PUBLISHED)]

#: What has broken readers of such files: other types, numbers at the edges, half a character, deep nesting.
ODD = st.one_of(
    json_values(),
    st.sampled_from(
        [
            *(None, True, False, 0, 1, -1, 2**31, 2**32 - 1, 2**53, 2**63, 10**400, 0.5, -0.0, 1e308, 5e-324),
            *(math.nan, math.inf, -math.inf, "", "\ud800", "\0", "{}", "a" * 5000, [], {}, [[]], [[], []], {"": {}}),
            *(json.loads("[" * depth + "]" * depth) for depth in (5, 60, 900)),
            *({"op": "var", "name": "x"}, {"stmt": "break"}, {"Tool": "x"}, ["get", "id"], [["get", "id"], {}]),
        ]
    ),
)


def parts(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a value: what holds it, and its key or index there."""
    found = []
    left = [value]
    while left:
        holder = left.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        found += [(holder, key) for key in keys]
        left += [holder[key] for key in keys if isinstance(holder[key], dict | list)]
    return found


@st.composite
def changed(draw: st.DrawFn) -> JsonValue:
    """A flow file's content in which one to three places were replaced, left out, said twice or renamed."""
    content = copy.deepcopy(draw(st.sampled_from(CONTENTS)))
    for _ in range(draw(st.integers(1, 3))):
        places = parts(content)
        if not places:
            break
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        match draw(st.sampled_from(["replace", "replace", "delete", "repeat", "rename", "swap"])):
            case "delete":
                del holder[key]
            case "repeat" if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case "rename" if isinstance(holder, dict):
                holder[draw(st.text(max_size=5))] = holder.pop(key)
            case "swap":
                other, place = places[draw(st.integers(0, len(places) - 1))]
                holder[key] = copy.deepcopy(other[place])
            case _:
                holder[key] = copy.deepcopy(draw(ODD))
    return content


def is_clear(error: FlowError) -> None:
    assert error.at.startswith("$")
    assert str(error).isprintable()
    assert len(str(error)) < 1000


def use(content: JsonValue) -> None:
    """Read it; what can be read can be written, simulated, shown and compared without a fault."""
    try:
        flow = flow_from_json(content, "a.flow.json")
    except FlowError as error:
        is_clear(error)
        return
    data = dump_flow(flow)
    assert dump_flow(flow_from_json(jsonvalue.loads(data))) == data
    for tool in flow.manifest.tools:
        for failed in (False, True):
            assert all(flow.manifest.kind(lookup) == "read" for lookup in flow.sites.options((tool, failed)))
    call = ToolNumbers(flow).number(next(iter(flow.sites.reads), "none"))
    try:
        simulate(flow.program, Inputs(call, call_failed=False, max_lookups=8), Chances(flow), Random(1))  # noqa: S311 - seeded
    except FlowError as error:
        is_clear(error)
    show_page(show(flow))
    diff_page(diff(published("retail-5"), flow))


@given(changed())
def test_a_changed_flow_is_read_or_refused_and_never_breaks_the_reader(content: JsonValue) -> None:
    use(content)


@given(json_values())
def test_any_json_value_is_refused(content: JsonValue) -> None:
    use(content)


@given(st.binary(max_size=200) | st.tuples(st.integers(0, 13_000), st.binary(max_size=4)))
def test_any_bytes_and_any_cut_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, made: bytes | tuple[int, bytes]
) -> None:
    """Arbitrary bytes; and a real file in which some bytes were written over, or that ends early."""
    real = dump_flow(published("retail-5"))
    data = made if isinstance(made, bytes) else real[: made[0]] + made[1] + real[made[0] + len(made[1]) :]
    path: Path = tmp_path_factory.getbasetemp() / "fuzz.flow.json"
    for each in (data, real[: made[0]] if isinstance(made, tuple) else data):
        path.write_bytes(each)
        try:
            flow = read_flow(path)
        except FlowError as error:
            is_clear(error)
        else:
            assert dump_flow(flow)

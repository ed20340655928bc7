"""The file formats of stretto: the document's examples are what is really written, and every field is explained."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from stretto.flow.file import flow_from_json, flow_to_json
from stretto.flow.schema import BindingsForm, FlowForm
from stretto.flow.versions import later_fields
from stretto.proxy.guards import guards_from_data
from tests.conftest import ROOT
from tests.flow_examples import flow_bytes, large_flow, stretto_files
from waggle import jsonvalue

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonValue

FILES = stretto_files()
TEXT = (ROOT / "docs" / "file-formats.md").read_text(encoding="utf-8")


def keys(value: JsonValue, *, depth: int) -> set[str]:
    """Keys of an object, and of the objects in it down to a depth."""
    found: set[str] = set()
    if isinstance(value, dict):
        found |= set(value)
        value = list(value.values())
    if isinstance(value, list) and depth:
        for inner in value:
            found |= keys(inner, depth=depth - 1)
    return found


@pytest.mark.parametrize("name", FILES)
def test_the_example_is_what_is_really_written(name: str) -> None:
    assert FILES[name].rstrip("\n") in TEXT


def test_every_field_of_a_flow_file_is_explained() -> None:
    fields = {*FlowForm.model_fields, *BindingsForm.model_fields}
    shown = jsonvalue.loads(FILES["more of a flow"])
    assert isinstance(shown, dict)
    for name, depth in (("predicates", 1), ("folds", 2), ("surprise", 0), ("uses", 1)):
        fields |= keys(shown[name], depth=depth)
    promoted = shown["promoted"]
    assert isinstance(promoted, dict)
    fields |= keys(promoted["bar"], depth=0)
    assert not sorted(name for name in fields if f"`{name}`" not in TEXT)


@pytest.mark.parametrize("name", ["session log", "flow log"])
def test_every_field_of_a_line_of_a_log_is_explained(name: str) -> None:
    found: set[str] = set()
    for line in FILES[name].splitlines():
        value = jsonvalue.loads(line)
        assert isinstance(value, dict)
        found |= set(value) | (keys(value["run"], depth=0) if "run" in value else set())
    assert not sorted(field for field in found if f"`{field}`" not in TEXT)


def test_the_flow_with_everything_is_one_that_is_read() -> None:
    read = flow_from_json(jsonvalue.loads(flow_bytes()))
    assert flow_to_json(read) == flow_to_json(large_flow())
    for version, path in later_fields(read):
        row = next(line for line in TEXT.splitlines() if f"`{path.rpartition('.')[2]}`" in line and line[:1] == "|")
        assert f"| {version} |" in row or f"(version {version})" in row


def test_the_example_of_guards_is_read() -> None:
    text = TEXT.split("## Guards", 1)[1].split("```toml\n", 1)[1].split("```", 1)[0]
    guards = guards_from_data(tomllib.loads(text))
    assert guards.listens
    assert guards.tools == {"cancel_order"}

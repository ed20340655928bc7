"""Procedure files: what is wrong with one is one error, with its place in the file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import ProcedureError
from stretto.procedure import graph
from stretto.procedure.file import dump_procedure, load_any, load_procedure, read_any, read_to_check
from stretto.procedure.graph import Procedure
from tests.conftest import ROOT
from tests.strategies import json_values
from tests.stretto.compiler.stories import refunds
from tests.stretto.procedure.test_engine import compiled

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonValue

REFUND = compiled(refunds())
WRITTEN = dump_procedure(REFUND)
STEP = "shop.refund#0"


def changed(*keys: str | int, to: Any) -> bytes:
    """The file with one value changed; ``...`` takes it out."""
    value = json.loads(WRITTEN)
    node = value
    for key in keys[:-1]:
        node = node[key]
    if to is ...:
        del node[keys[-1]]
    else:
        node[keys[-1]] = to
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("keys", "to", "at", "says"),
    [
        (("name",), 3, "$.name", "expected a text"),
        (("name",), ..., "$.name", "missing"),
        (("more",), 1, "$.more", "unknown field"),
        (("nodes",), [], "$.nodes", "expected an object"),
        (("nodes", STEP), [], f'$.nodes["{STEP}"]', "expected an object"),
        (("nodes", STEP, "type"), "shell", f'$.nodes["{STEP}"]', "does not match any of the expected tags"),
        (("nodes", STEP, "effect"), "none", f'$.nodes["{STEP}"].effect', "expected 'read'"),
        (("nodes", STEP, "layer"), True, f'$.nodes["{STEP}"].layer', "expected a whole number"),
        (("nodes", STEP, "args", "$.amount", "value"), 1, f'$.nodes["{STEP}"].args["$.amount"].value', "expected an"),
        (("nodes", STEP, "args", "$.amount", "optional"), 0, f'$.nodes["{STEP}"].args["$.amount"].optional', "true or"),
        (("edges", 1, "kind"), "why", "$.edges[1].kind", "expected 'data'"),
        (("stretto_procedure",), 3, "$.stretto_procedure", "expected 2"),
        (("compiled", "support"), 10**9, "$.digest", "changed after it was compiled"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_place(
    keys: tuple[str | int, ...], to: Any, at: str, says: str
) -> None:
    with pytest.raises(ProcedureError, match=says) as caught:
        load_any(changed(*keys, to=to), "p.json")
    assert (caught.value.path, caught.value.at) == ("p.json", at)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000])
def test_a_file_that_is_no_json_is_one_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(data)
    for read in (read_any, read_to_check):
        with pytest.raises(ProcedureError, match=r"p\.json: is no JSON"):
            read(path)
        with pytest.raises(ProcedureError, match=r"none\.json: cannot be read"):
            read(tmp_path / "none.json")


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(b"\xef\xbb\xbf" + WRITTEN)
    assert read_any(path) == load_procedure(WRITTEN)


@given(json_values(), st.data())
def test_a_file_with_any_value_anywhere_is_a_procedure_or_one_error(to: JsonValue, data: st.DataObject) -> None:
    node: Any = json.loads(WRITTEN)
    keys: list[str | int] = []
    while isinstance(node, dict | list) and node and (not keys or data.draw(st.booleans())):
        inner: Any = dict(enumerate(node)) if isinstance(node, list) else node
        keys.append(data.draw(st.sampled_from(sorted(inner))))
        node = inner[keys[-1]]
    try:
        found = load_any(changed(*keys, to=to), "p.json")
    except ProcedureError as error:
        assert str(error).startswith("p.json: ")  # noqa: PT017 - either is right
        assert error.at.startswith("$")  # noqa: PT017 - as above
    else:
        assert isinstance(found, Procedure)


def test_the_documentation_names_every_field_of_the_file() -> None:
    text = (ROOT / "docs" / "file-formats.md").read_text(encoding="utf-8")
    section = text.partition("\n## Procedures\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", section))
    forms = [form for name in graph.__all__ if isinstance(form := getattr(graph, name), type)]
    assert len(forms) > 20
    fields = {field for form in forms for field in getattr(form, "model_fields", {})}
    assert fields - named == set()

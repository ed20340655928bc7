"""Transforms: what packages add to them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from stretto.compiler.binding import BindingClass
from stretto.compiler.compiling import compile_traces
from stretto.compiler.schemas import Tools
from stretto.compiler.settings import CompilerSettings
from stretto.errors import UsageError
from stretto.procedure import graph
from stretto.procedure.transforms import GROUP, registry, transform, transformed
from tests.stretto.compiler.stories import Story

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCE = """
from stretto.procedure.transforms import Registered

def turned(value):
    return "-".join(reversed(value.split("-")))

TURNED = Registered("turned", turned)
TWICE = Registered("lower", turned)
NONE = turned
"""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    registry.cache_clear()
    yield
    registry.cache_clear()
    sys.modules.pop("turning", None)


def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Install a package that adds a transform, as pip lays it out."""
    about = tmp_path / "turning-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: turning\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\nturned = turning:{what}\n", encoding="utf-8")
    (tmp_path / "turning.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


def test_a_package_adds_a_transform_that_the_compiler_finds_and_a_run_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, monkeypatch, "TURNED")
    assert transform("turned", "2026-03-01") == "01-03-2026"
    stories = []
    for number in range(4):
        story = Story("Book the next date", id=f"d{number}")
        story.call("calendar.next", {}, {"day": f"2026-03-1{number}"})
        stories.append(story.call("cart.add", {"date": f"1{number}-03-2026"}, {"ok": True}))
    settings = CompilerSettings(support_floor=3)
    made = compile_traces("book", [story.trace for story in stories], Tools(), settings)
    assert made.analysis is not None
    assert made.analysis.bindings["cart.add#0", "$.date"].kind is BindingClass.TRANSFORM
    assert made.procedure is not None
    (node,) = (each for each in made.procedure.nodes.values() if isinstance(each, graph.TransformNode))
    assert node.name == "turned"


def test_what_a_packages_transform_fails_on_is_outside_of_its_domain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, monkeypatch, "TURNED")
    assert transform("turned", 7) is None
    assert "turned" not in dict(transformed(True))


@pytest.mark.parametrize(
    ("what", "says"), [("NONE", "has to be a Registered"), ("TWICE", "there is a transform lower already")]
)
def test_what_is_no_transform_or_has_the_name_of_another_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, says: str
) -> None:
    installed(tmp_path, monkeypatch, what)
    with pytest.raises(UsageError, match=says):
        registry()

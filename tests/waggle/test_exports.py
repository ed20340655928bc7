"""Whatever a route holds, its skill is one that every host can read, and says what a model needs."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import skills_ref.validator
import strictyaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.strategies import json_objects, texts
from tests.test_docs import example_reach, example_route
from tests.waggle.store_support import AT
from waggle import Param, Route, Store, ToolTable, frontmatter, skilltext
from waggle.exports import apply_exports, plan_exports
from waggle.routes import Disabled, RouteStep, named
from waggle.skillfile import render_skill

#: Names that some system cannot have, or has for something else.
_UNSAFE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?|.*[. ]", re.IGNORECASE)


@st.composite
def routes(draw: st.DrawFn) -> Route:
    """Routes with any text in every place that a tool, a person or a server can fill."""
    steps = draw(
        st.lists(
            st.builds(RouteStep, texts() | st.sampled_from(["Read", "bash", "mcp__x__y"]), json_objects(), texts()),
            min_size=1,
            max_size=4,
        )
    )
    params = [Param(index, key) for index, step in enumerate(steps) for key in step.args if draw(st.booleans())]
    return named(
        Route("", tuple(steps), tuple(sorted(params)), count=draw(st.integers(0, 9)), support=1, learned_at=AT)
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(routes(), st.sampled_from(["link", "copy"]))
@example(named(Route("", (RouteStep("---", {"---": "a --- b"}), RouteStep("x", {"y": "----\n---\n"})))), "copy")
def test_whatever_a_route_holds_its_exported_skill_is_valid(route: Route, form: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        store = Store(Path(place) / ".waggle" / "skills", Path(place) / "ledger.jsonl")
        store.promote(route)
        to = Path(place) / ".claude" / "skills"
        (done,) = apply_exports(plan_exports(store, to, form="link" if form == "link" else "copy"))
        assert (done.status, done.form) == ("new", form)
        assert skills_ref.validator.validate(done.to) == []
        assert [each.status for each in plan_exports(store, to)] == ["unchanged"]
        text = (done.to / "SKILL.md").read_text(encoding="utf-8")
        assert (done.to.name, len(done.to.name) <= 64) == (route.name, True)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", done.to.name)
        assert not _UNSAFE.fullmatch(done.to.name)
        read = strictyaml.load(text.split("---", 2)[1]).data
        assert read == frontmatter.read(done.to, text).values


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")), min_size=1))
def test_every_reader_takes_front_matter_for_the_same_texts(values: dict[str, str]) -> None:
    text = frontmatter.render({"description": "x", "metadata": values})
    assert "---" not in text[4:-5]
    assert frontmatter.read(Path("x"), text).values == {"description": "x", "metadata": values}


@pytest.mark.parametrize("private", ["\uf77f", "\ue000", "\U000f0000"])
def test_characters_for_private_use_are_read_as_themselves_also_beside_control_characters(private: str) -> None:
    text = f'---\na: "{private}"\nb: "\\u{ord(private):04x}"\nc: \x7f\x01\n---\n'
    if ord(private) > 0xFFFF:
        text = text.replace(f"\\u{ord(private):04x}", f"\\U{ord(private):08x}")
    assert frontmatter.read(Path("x"), text).values == {"a": private, "b": private, "c": "\x7f\x01"}


@given(routes())
def test_a_description_says_what_and_when_within_its_bounds(route: Route) -> None:
    text = skilltext.describe(route)
    assert text == " ".join(text.split(" "))
    assert text.isprintable()
    assert len(text) <= 1024
    assert "Use when" in text
    assert text.startswith(skilltext.about(route))
    assert text.endswith("Only reads.")


@pytest.mark.parametrize("route", [example_route(), example_reach()], ids=["run", "reach"])
def test_the_text_answers_when_what_and_what_comes_back_in_this_order(route: Route) -> None:
    text = render_skill(route, has_script=route.after is None)
    found = [text.find(f"## {title}") for title in ("When to use", "Lookup", "What it returns")]
    assert found == sorted(found)
    assert -1 not in found
    assert len(text.splitlines()) < 500


def test_parameters_come_with_a_call_in_which_they_stand() -> None:
    text = render_skill(example_route(), has_script=True)
    assert 'For example: `Grep` with `{"path":"src","pattern":"<pattern>"}`.' in text
    assert "run.sh PATTERN`" in text


def test_a_shell_command_is_shown_as_it_is_typed() -> None:
    steps = []
    for command in ("rg -n PORT src", "cd web && sed -n 1,80p app.ts"):
        form, values = ToolTable().spoken("bash", {"command": command})
        assert form
        steps.append(RouteStep("bash", values, form))
    text = render_skill(named(Route("", tuple(steps))), has_script=False)
    assert "1. `bash`: `rg -n PORT src`\n2. `bash`: `cd web && sed -n 1,80p app.ts`\n" in text
    (key,) = [key for key, value in steps[0].args.items() if value == "PORT"]
    opened = named(Route("", tuple(steps), (Param(0, key),)))
    assert f"1. `bash`: `rg -n {{{key}}} {{path}}`, where\n" in render_skill(opened, has_script=False)


def test_a_value_too_long_for_a_model_to_read_is_cut_and_says_so() -> None:
    text = render_skill(named(Route("", (RouteStep("Read", {"file_path": "x" * 5000}),))), has_script=False)
    assert "4,000 more characters, which `route.json` has" in text
    assert len(text) < 3000


def test_a_route_that_is_switched_off_says_so_first() -> None:
    off = replace(example_route(), disabled=Disabled(AT, "failed 3 times"))
    text = render_skill(off, has_script=False)
    assert 0 < text.find("**Switched off since 2026-03-01") < text.find("## When to use")

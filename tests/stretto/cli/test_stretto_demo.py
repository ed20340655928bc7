"""The second part of the demo: flows of the shipped sessions, what they look up, and what that saves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from click.testing import CliRunner

import stretto
from stretto.cli.app import cli
from stretto.cli.demo import Demo, demo_json, demo_text, run_demo
from stretto.cli.demo_procedures import compile_shipped, procedures_text
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonObject

README = ROOT / "README.md"
_SHOWN = re.compile(r"^```console\n\$ stretto demo\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Twice:
    """The demo, run by the command and once more.

    Attributes:
        printed: by the command.
        flows: the files it wrote, by name, without the time in them.
        again: the second run.
        procedures: what the second run says of procedures.
        flows_again: as `flows`.
    """

    printed: str
    flows: dict[str, bytes]
    again: Demo
    procedures: str
    flows_again: dict[str, bytes]


def written() -> dict[str, bytes]:
    return {
        path.name: re.sub(rb'"compiled_unix_ms":\d+', b"", path.read_bytes())
        for path in sorted(Path("demo-flows").iterdir())
    }


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twice]:
    """Both runs, in one directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("demo"))
        done = CliRunner().invoke(cli, ["demo"], catch_exceptions=False)
        assert done.exit_code == 0
        flows = written()
        to = Path("demo-flows")
        again = run_demo(ROOT / "examples" / "flows", to)
        procedures = procedures_text(*compile_shipped(ROOT / "examples", to), to)
        yield Twice(done.stdout, flows, again, procedures, written())


def test_the_readme_shows_what_the_demo_prints(twice: Twice, request: pytest.FixtureRequest) -> None:
    """``pytest --update-golden`` writes it anew."""
    if request.config.getoption("--update-golden"):
        text = README.read_text(encoding="utf-8")
        shown = f"```console\n$ stretto demo\n{twice.printed}```"
        README.write_text(_SHOWN.sub(lambda _: shown, text), encoding="utf-8", newline="\n")
    assert _SHOWN.findall(README.read_text(encoding="utf-8")) == [twice.printed]


def test_it_is_safe_to_repeat_and_writes_the_same_flows_but_for_the_time(twice: Twice) -> None:
    assert twice.printed == f"{demo_text(twice.again)}\n\n{twice.procedures}\n"
    assert sorted(twice.flows) == ["airline.flow.json", "cancel-last-order.procedure.json", "retail.flow.json"]
    assert twice.flows_again == twice.flows


def test_one_intent_becomes_a_procedure_and_one_is_refused(twice: Twice) -> None:
    assert "cancel-last-order: compiled, from" in twice.printed
    assert "modify-order-items: refused" in twice.printed


def test_what_it_tells_programs_is_what_it_tells_people(twice: Twice) -> None:
    for domain, told in demo_json(twice.again).items():
        best = cast("dict[str, dict[str, JsonObject]]", told)["results"]["everything"]
        assert cast("int", best["turns_saved"]) > 0
        assert f"- {domain}: {best['turns_saved']:,} of {best['turns']:,} turns saved" in twice.printed


def test_without_the_shipped_sessions_it_says_what_to_do_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretto, "__file__", str(tmp_path / "stretto" / "__init__.py"))
    done = CliRunner().invoke(cli, ["demo", "--to", str(tmp_path / "to")], catch_exceptions=False)
    assert done.exit_code == 2
    assert "run it from a checkout of the repository" in done.stderr
    assert not (tmp_path / "to").exists()

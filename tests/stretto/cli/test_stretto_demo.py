"""The second part of the demo: flows of the shipped sessions, what they look up, and what that saves."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from click.testing import CliRunner

import stretto
from stretto.cli.app import cli
from stretto.cli.demo import demo_text, run_demo
from stretto.flow.file import dump_flow, read_flow
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SESSIONS = ROOT / "examples" / "flows"
README = ROOT / "README.md"
_SHOWN = re.compile(r"^```console\n\$ stretto demo\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_readme_shows_what_the_demo_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """``pytest --update-golden`` writes it anew."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["demo"], catch_exceptions=False)
    assert done.exit_code == 0
    if request.config.getoption("--update-golden"):
        text = README.read_text(encoding="utf-8")
        shown = f"```console\n$ stretto demo\n{done.stdout}```"
        README.write_text(_SHOWN.sub(lambda _: shown, text), encoding="utf-8", newline="\n")
    assert _SHOWN.findall(README.read_text(encoding="utf-8")) == [done.stdout]
    for domain in ("airline", "retail"):
        assert read_flow(tmp_path / "demo-flows" / f"{domain}.flow.json").manifest.domain == domain


def test_it_is_safe_to_repeat_and_writes_the_same_flows_but_for_the_time(tmp_path: Path) -> None:
    texts, flows = [], []
    for _ in range(2):
        found = run_demo(SESSIONS, tmp_path)
        texts.append(demo_text(found))
        written = [read_flow(each.path) for each in found.flows]
        flows.append([re.sub(rb'"compiled_unix_ms":\d+', b"", dump_flow(flow)) for flow in written])
    assert texts[0] == texts[1]
    assert flows[0] == flows[1]


def test_what_it_tells_programs_is_what_it_tells_people(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["demo", "--json", "--to", str(tmp_path)], catch_exceptions=False)
    told = json.loads(done.stdout)
    (shown,) = _SHOWN.findall(README.read_text(encoding="utf-8"))
    for domain, one in told.items():
        best = one["results"]["everything"]
        assert best["turns_saved"] > 0
        assert f"- {domain}: {best['turns_saved']:,} of {best['turns']:,} turns saved" in shown


def test_without_the_shipped_sessions_it_says_what_to_do_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretto, "__file__", str(tmp_path / "stretto" / "__init__.py"))
    done = CliRunner().invoke(cli, ["demo", "--to", str(tmp_path / "to")], catch_exceptions=False)
    assert done.exit_code == 2
    assert "run it from a checkout of the repository" in done.stderr
    assert not (tmp_path / "to").exists()

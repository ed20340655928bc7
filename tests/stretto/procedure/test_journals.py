"""The journal of a run: cut short anywhere it never repeats a change; and where several runs stopped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stretto.errors import RunError
from stretto.procedure.escalations import count_runs
from stretto.procedure.exchange import Done
from stretto.procedure.file import digest_of
from stretto.procedure.journal import open_journal, read_events
from stretto.procedure.running import Verdict
from tests.stretto.cli.stretto_cli_support import ran, refused
from tests.stretto.compiler.stories import refunds
from tests.stretto.procedure.test_engine import INPUTS, Shop, compiled, play, refund_shop

if TYPE_CHECKING:
    from pathlib import Path

PROCEDURE = compiled(refunds())
DIGEST = digest_of(PROCEDURE)


def journalled(path: Path, shop: Shop) -> str:
    """Run once more with a journal; how it ended."""
    ran_ = play(PROCEDURE, shop, journal=open_journal(path, DIGEST, INPUTS))
    return ran_.escalation.reason if ran_.escalation is not None else str(ran_.verdict)


def begun(journal: bytes) -> set[str]:
    """The tools that a journal says were begun, and that change something."""
    lines = [json.loads(line) for line in journal.split(b"\n")[:-1] if line.endswith(b"}")]
    return {line["tool"] for line in lines if line.get("effect") == "irreversible"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_a_journal_whose_writing_broke_off_anywhere_twice_never_repeats_a_change(
    tmp_path: Path, cuts: tuple[float, float]
) -> None:
    path = tmp_path / "run.jsonl"
    path.unlink(missing_ok=True)
    journalled(path, refund_shop())
    before = path.read_bytes().index(b"\n") + 1
    for cut in cuts:
        whole = path.read_bytes()
        left = whole[: before + int(cut * (len(whole) - before))]
        path.write_bytes(left)
        shop, ended = refund_shop(), b'"ended":"finished"}' in left
        if not ended:
            journalled(path, shop)
        assert not begun(left) & set(shop.names())
        before = len(left)


def test_a_line_that_was_cut_short_is_passed_over_also_when_others_follow_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    shop = refund_shop(refund=Done(ok=False, output="closed"))
    assert journalled(path, shop) == "call_failed"
    with path.open("ab") as file:
        file.write(b'{"begin":"shop.refund#0","tool":"sho')
    assert journalled(path, shop) == "call_failed"
    shop.answers["refund"] = {"refund_id": "rf_1"}
    assert journalled(path, shop) == str(Verdict.RESOLVED)
    with pytest.raises(RunError, match="come to its end"):
        open_journal(path, DIGEST, INPUTS)


def test_a_whole_line_that_is_no_json_leaves_the_run_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journalled(path, refund_shop(refund=Done(ok=False, output="closed")))
    path.write_bytes(path.read_bytes().replace(b'"begin"', b"'begin'"))
    with pytest.raises(RunError, match="line 2 is no JSON"):
        open_journal(path, DIGEST, INPUTS)


def test_runs_that_stopped_are_counted_by_node_and_reason(tmp_path: Path) -> None:
    for number, refund in enumerate(["closed", "closed", "busy", None]):
        shop = refund_shop() if refund is None else refund_shop(refund=Done(ok=False, output=refund))
        journalled(tmp_path / f"{number}.jsonl", shop)
    journalled(tmp_path / "0.jsonl", refund_shop(refund=Done(ok=False, output="closed")))  # taken up, and stopped again
    found = count_runs(read_events(path) for path in sorted(tmp_path.iterdir()) if path.suffix == ".jsonl")
    assert (found.total, found.finished) == (4, 1)
    (stopped,) = found.escalated
    assert (stopped.procedure, stopped.node, stopped.reason, stopped.runs) == (
        DIGEST,
        "shop.refund#0",
        "call_failed",
        3,
    )
    assert stopped.observed == ("shop.refund: closed", "shop.refund: busy")
    told = json.loads(ran("procedure", "escalations", "--json", tmp_path))
    assert told["escalations"][0]["runs"] == 3
    text = ran("procedure", "escalations", tmp_path)
    assert text.startswith("4 runs, 1 came to their end")
    assert "shop.refund: busy" in text


def test_what_a_stop_met_is_kept_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    journalled(path, refund_shop(refund=Done(ok=False, output=f"bad key {secret}")))
    assert secret not in path.read_text(encoding="utf-8")


def test_what_is_no_journal_is_told(tmp_path: Path) -> None:
    assert "has no journal" in refused("procedure", "escalations", tmp_path)
    assert "is not there" in refused("procedure", "escalations", tmp_path / "x.jsonl")
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    assert "it is no journal of a run" in refused("procedure", "escalations", tmp_path)

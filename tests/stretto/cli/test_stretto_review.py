"""Reading, comparing and checking flows: ``flow-show``, ``flow-diff``, ``audit``, ``promote``, ``drift``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stretto.flow.file import read_flow, write_flow
from stretto.review.diff import diff
from stretto.review.diff_page import diff_page
from stretto.review.show import show
from stretto.review.show_page import show_page
from tests.stretto.cli.stretto_cli_support import (
    COLD_START,
    RETAIL_5,
    RETAIL_10,
    files_of,
    ran,
    ran_json,
    refused,
    run,
    sessions,
    written_logs,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_flow_is_shown_as_its_page() -> None:
    flow = read_flow(RETAIL_5)
    assert ran("flow-show", RETAIL_5) == show_page(show(flow))
    assert ran("flow-show", RETAIL_5, "--threshold", "0.7") == show_page(show(flow, 0.7))
    shown = ran_json("flow-show", RETAIL_5)
    assert (shown["domain"], shown["version"], shown["default_decider"]) == ("retail", 1, "habit")


def test_a_comparison_exits_with_1_when_there_is_something_to_review() -> None:
    """Section 12.3: four items from the published flow of five sessions to that of ten."""
    assert ran("flow-diff", RETAIL_5, RETAIL_10, code=1) == diff_page(diff(read_flow(RETAIL_5), read_flow(RETAIL_10)))
    told = ran_json("flow-diff", RETAIL_5, RETAIL_10, code=1)
    assert sum(change["review"] for change in told["changes"]) == 4
    assert ran("flow-diff", RETAIL_5, RETAIL_5) == "# Changes of flow `retail`\n\nNothing changed.\n"
    assert ran("flow-diff", RETAIL_5, RETAIL_10, "--tolerance", "1", "--threshold", "0.9", code=1)


def test_a_flow_that_cannot_be_read_is_2_with_its_place(here: Path) -> None:
    (here / "old.json").write_text('{"stretto_flow": 1}')
    (here / "new.json").write_text('{"stretto_flow": 9}')
    assert refused("flow-diff", "old.json", RETAIL_5).startswith("old.json: ")
    assert " @ $" in refused("flow-diff", RETAIL_5, "new.json")
    assert refused("flow-show", "gone.json") == "gone.json: cannot be read: No such file or directory @ $"
    assert refused("flow-show", here).startswith(f"{here}: ")


# --- against sessions -----------------------------------------------------------------------------------------


def test_an_audit_measures_how_well_a_flow_foresees_the_agent(shop_flow: Path, logs: Path) -> None:
    told = ran_json("audit", "--flow", shop_flow, "--sessions", logs)
    assert (told["decider"], told["episodes"]) == ("habit", 12)
    assert told["overall"]["agreement"] > 0.5
    page = ran("audit", "--flow", shop_flow, "--sessions", logs, "--decider", "reach")
    assert page.startswith("# Audit\n\n12 sessions, asked with `reach`.\n")


def test_a_flow_with_an_arbiter_needs_somebody_to_ask(logs: Path) -> None:
    given = ("--flow", COLD_START, "--sessions", logs)
    assert "the decider arbiter needs an oracle" in refused("audit", *given)
    assert "--oracle-cache goes with --oracle replay" in refused("audit", *given, "--oracle-cache", "c")
    assert "give --oracle-cache" in refused("audit", *given, "--oracle", "replay")
    assert ran("audit", *given, "--oracle", "mock").startswith("# Audit")


def test_a_decider_the_flow_cannot_serve_is_said(logs: Path) -> None:
    assert "has no reach counts" in refused("replay", "--flow", RETAIL_5, "--sessions", logs, "--decider", "reach")


def test_a_promotion_is_written_and_reported(shop_flow: Path, logs: Path, here: Path) -> None:
    page = ran("promote", "--flow", shop_flow, "--sessions", logs, "--out", "p.json", "--report", "p.md")
    assert (here / "p.md").read_text() == page
    promoted = read_flow(here / "p.json").promoted
    assert promoted
    assert promoted.sites["get_user"].promoted
    told = ran_json("promote", "--flow", shop_flow, "--sessions", logs, "--out", "p.json", "--min-tasks", "99")
    assert not any(site["promoted"] for site in told["sites"].values())
    assert told["bar"]["min_tasks"] == 99


def test_a_report_replaces_no_file_unless_forced(shop_flow: Path, logs: Path, here: Path) -> None:
    (here / "p.md").write_text("mine")
    given = ("promote", "--flow", shop_flow, "--sessions", logs, "--out", "p.json", "--report", "p.md")
    assert refused(*given) == "p.md: is there; --force replaces it"
    assert list(files_of(here)) == ["p.md"]
    result = run(*given, "--force", "--dry-run")
    assert [line.split(",")[0] for line in result.stderr.splitlines()] == ["would write p.json", "would write p.md"]
    assert files_of(here) == {"p.md": b"mine"}


def test_drift_exits_with_1_while_the_alarm_sounds(shop_flow: Path, here: Path) -> None:
    """Twenty sessions as learned, then an agent that calls everything in another order."""
    steady = [*sessions(), *sessions()]
    usual = [each for number, each in enumerate(steady) if number % 12 < 10][:14]
    from dataclasses import replace

    from tests.stretto.episodes import called, episode, replied

    renamed = [replace(each, id=f"a{number:02}") for number, each in enumerate(usual)]
    strange = [
        episode(
            called("get_order", {"order": "#W1"}, {"id": "#W1"}),
            called("find_user", {"email": "x"}, "u1"),
            called("get_order", {"order": "#W2"}, {"id": "#W2"}),
            called("find_user", {"email": "y"}, "u2"),
            replied(),
            name=f"b{number:02}",
        )
        for number in range(10)
    ]
    quiet = written_logs(here / "quiet", renamed)
    assert ran("drift", "--flow", shop_flow, "--sessions", quiet).startswith("# Drift\n\nThe alarm does not sound.")
    changed = written_logs(here / "changed", [*renamed, *strange][:21])
    told = ran_json("drift", "--flow", shop_flow, "--sessions", changed, code=1)
    assert told["sounding"]
    assert told["alarms"][0]["changed"].startswith("b")


def test_drift_is_drawn_where_that_is_asked_for(shop_flow: Path, logs: Path, here: Path) -> None:
    pytest.importorskip("matplotlib")
    ran("drift", "--flow", shop_flow, "--sessions", logs, "--picture", "d.svg")
    assert (here / "d.svg").read_bytes().startswith(b"<?xml")
    assert "a picture is written as .svg or .png" in refused(
        "drift", "--flow", shop_flow, "--sessions", logs, "--picture", "d.pdf"
    )


@pytest.mark.case("HC-02")
def test_names_that_no_terminal_can_show_are_escaped(here: Path) -> None:
    """A half of a surrogate pair and an escape sequence, in a flow's domain."""
    flow = read_flow(RETAIL_5)
    from dataclasses import replace

    flow.manifest = replace(flow.manifest, domain="shop\ud83d\x1b[31m")
    write_flow(here / "f.json", flow)
    page = ran("flow-show", "f.json")
    assert "\x1b" not in page
    assert ran_json("flow-show", "f.json")["domain"] == "shop\ud83d\x1b[31m"

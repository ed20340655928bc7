"""Measuring on recorded sessions: ``replay``, ``ceiling``, ``costs``, ``learn-curve``, ``evaluate``, ``search``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from stretto.flow.file import read_flow
from tests.stretto.cli.stretto_cli_support import RETAIL_5, files_of, ran, ran_json, refused, run

if TYPE_CHECKING:
    from pathlib import Path


# --- replay ---------------------------------------------------------------------------------------------------


def test_a_replay_counts_what_a_flow_would_have_saved(shop_flow: Path, logs: Path) -> None:
    told = ran_json("replay", "--flow", shop_flow, "--sessions", logs)
    (result,) = told["results"].values()
    assert list(told["results"]) == ["reach"]
    assert result["episodes"] == 12
    assert result["turns_saved"] > 12
    assert result["calibration"]["count"] > 0
    assert told["threshold"] == 0.3


def test_deciders_stand_side_by_side(shop_flow: Path, logs: Path) -> None:
    page = ran("replay", "--flow", shop_flow, "--sessions", logs, "--decider", "reach", "--decider", "habit")
    assert "|  | `reach` | `habit` |" in page
    assert "## Calibration of the score against use" in page


@pytest.mark.parametrize(
    ("options", "lookups"),
    [
        pytest.param(["--threshold", "1"], 0, id="never-sure-enough"),
        pytest.param(["--per-call", "0"], 0, id="none-after-a-call"),
        pytest.param(["--per-session", "1"], 12, id="one-a-session"),
    ],
)
def test_thresholds_and_caps_hold(shop_flow: Path, logs: Path, options: list[str], lookups: int) -> None:
    told = ran_json("replay", "--flow", shop_flow, "--sessions", logs, *options)
    assert told["results"]["reach"]["lookups"] == lookups


def test_plain_leaves_out_what_the_original_has_not(shop_flow: Path, logs: Path) -> None:
    plain = ran_json("replay", "--flow", shop_flow, "--sessions", logs, "--plain", "--threshold", "0")
    assert set(plain["results"]["reach"]["sources"]) <= {"source", "list", "constant", "bare"}
    assert plain["plain"] is True


def test_intervals_resample_customers_where_that_is_asked_for(shop_flow: Path, here: Path, logs: Path) -> None:
    """Six users had the sessions of the shop; none of them is named by a `user_id`, which is what makes a customer."""
    for spelled in ("--by", "--units"):
        told = ran_json("replay", "--flow", shop_flow, "--sessions", logs, spelled, "customer")
        assert (told["by"], told["results"]["reach"]["units"]) == ("customer", 12)


def test_a_replay_is_drawn_and_drawn_again(shop_flow: Path, logs: Path, here: Path) -> None:
    pytest.importorskip("matplotlib")
    given = ("replay", "--flow", shop_flow, "--sessions", logs, "--decider", "habit", "--picture")
    ran(*given, "r.svg")
    drawn = (here / "r.svg").read_bytes()
    ran(*given, "r.svg")
    assert (here / "r.svg").read_bytes() == drawn
    ran(*given, "r.png")
    assert (here / "r.png").read_bytes().startswith(b"\x89PNG")
    result = run(*given, "x.png", "--dry-run")
    assert result.stderr.startswith("would write x.png")
    assert list(files_of(here)) == ["r.png", "r.svg"]


# --- ceiling, costs -------------------------------------------------------------------------------------------


def test_the_ceiling_is_counted_by_domain(logs: Path, benchmark_results: Path) -> None:
    told = ran_json("ceiling", "--sessions", logs)
    assert list(told["domains"]) == ["shop"]
    assert told["domains"]["shop"]["ceiling"]["value"] > 0.3
    assert ran("ceiling", "--results", benchmark_results).startswith("# Ceiling\n\n|  | sessions | turns |")


def test_domains_are_also_put_together(here: Path, logs: Path) -> None:
    place = here / "both"
    place.mkdir()
    for path in logs.iterdir():
        text = path.read_text()
        (place / path.name).write_text(text)
        other = text.replace('"domain":"shop"', '"domain":"store"').replace(f'"{path.stem}"', f'"x{path.stem}"')
        (place / f"x{path.name}").write_text(other)
    told = ran_json("ceiling", "--sessions", place)["domains"]
    assert [told[name]["sessions"] for name in ("shop", "store", "all")] == [12, 12, 24]


def test_costs_say_from_which_chance_on_a_lookup_pays(logs: Path) -> None:
    told = ran_json("costs", "--sessions", logs)["overall"]
    assert told["theta"] == pytest.approx(told["delta"] / (told["beta"] + told["delta"]))
    longer = ran_json("costs", "--sessions", logs, "--prompt-tokens", "1000")["overall"]
    assert longer["beta"] == pytest.approx(told["beta"] + 1000)
    assert ran("costs", "--sessions", logs).startswith("# Costs")


# --- learn-curve ----------------------------------------------------------------------------------------------


def test_a_learning_curve_has_a_point_a_size_and_one_for_all(logs: Path, here: Path) -> None:
    pytest.importorskip("matplotlib")
    given = ("learn-curve", "--sessions", logs, "--sizes", "4,2,99", "--orders", "2")
    told = ran_json(*given, "--picture", "c.svg")
    assert [point["size"] for point in told["curves"]["shop"]] == [2, 4, None]
    assert (here / "c.svg").read_bytes().startswith(b"<?xml")
    assert ran(*given) == ran(*given)
    by_agent = ran_json(*given, "--per-agent", "--no-uses")
    assert list(by_agent["curves"]) == ["shop agent-1"]


def test_a_group_without_anything_to_replay_has_no_curve(logs: Path, here: Path) -> None:
    (here / "split.json").write_text(json.dumps({"train": [f"s{number:02}" for number in range(12)], "test": []}))
    result = run("learn-curve", "--sessions", logs, "--train-tasks", "split.json")
    assert result.exit_code == 0
    assert result.stderr == "shop: there is no session to replay, so there is no curve\n"


def test_sizes_are_numbers_from_1_on(logs: Path) -> None:
    for sizes in ("0,10", "ten", ""):
        result = run("learn-curve", "--sessions", logs, "--sizes", sizes)
        assert result.exit_code == 2
        assert "is no list of numbers from 1 on" in result.stderr


# --- evaluate -------------------------------------------------------------------------------------------------


def decision(taken: str | None, *, explored: bool) -> dict[str, Any]:
    option = {"tool": "get_order", "p": 0.8, "habit": 0.6, "binding": 0.9, "arguments": {}}
    policy = {
        "decider": "habit",
        "threshold": 0.3,
        "epsilon": 0.5,
        "explored": explored,
        "greedy": "get_order",
        "propensity": 0.5,
        "options": [option],
    }
    acts = {"action": "lookup", "tool": taken} if taken else {"action": "hand_back", "reason": "explored"}
    return {**acts, "site": "get_user", "policy": policy, "labels": [{"used": 1, "detour": 0, "turn": 1}]}


def test_other_thresholds_are_estimated_from_logged_decisions(here: Path) -> None:
    lines = [decision("get_order" if number % 2 else None, explored=not number % 2) for number in range(40)]
    (here / "s.flow.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = ran_json("evaluate", "s.flow.jsonl", "--target", "now=habit@0.3", "--target", "never=habit@0.9")
    now, never = told["targets"]
    assert now["total"]["direct"]["value"]["turns"] == 40
    assert never["total"]["lookups"] == 0
    assert ran("evaluate", "s.flow.jsonl", "--target", "now=habit@0.3", "--min-ess", "99").startswith("# Evaluation")
    assert "a target is NAME=DECIDER@THRESHOLD" in refused("evaluate", "s.flow.jsonl", "--target", "x")
    (here / "bad.flow.jsonl").write_text("{}\n[]\n")
    assert refused("evaluate", "bad.flow.jsonl", "--target", "a=habit@1").startswith("bad.flow.jsonl:2: ")


def test_what_a_replay_decided_can_be_evaluated(shop_flow: Path, logs: Path, here: Path) -> None:
    given = ("replay", "--flow", shop_flow, "--sessions", logs, "--explore", "0.5", "--decisions", "d.jsonl")
    ran(*given)
    first = (here / "d.jsonl").read_bytes()
    assert "--force" in refused(*given)
    ran(*given, "--force")
    assert (here / "d.jsonl").read_bytes() == first  # the same draws
    lines = [json.loads(line) for line in first.splitlines()]
    assert all(len(line["labels"]) == len(line["policy"]["options"]) for line in lines)
    told = ran_json("evaluate", "d.jsonl", "--target", "as=reach@0.3", "--min-ess", "1")
    assert told["targets"][0]["total"]["direct"]["value"]["used"] > 0


# --- search ---------------------------------------------------------------------------------------------------

FEW = ("--population", "2", "--generations", "1", "--decider", "habit")


def test_a_search_scores_by_replay_and_writes_what_is_picked(shop_flow: Path, logs: Path, here: Path) -> None:
    told = ran_json("search", "--flow", shop_flow, "--sessions", logs, *FEW, "--pick", "1", "--out", "s.json")
    assert len(told["tried"]) in (2, 3, 4)
    assert read_flow(here / "s.json").thresholds == told["front"][0]["thresholds"]
    (here / "front.json").write_text(json.dumps(told))
    again = ran_json("search", "--flow", shop_flow, "--sessions", logs, "--rescore", "front.json")
    assert [one["check"] for one in again["tried"]] == [one["check"] for one in told["front"]]
    assert (
        "there is no --pick 99"
        in run("search", "--flow", shop_flow, "--sessions", logs, *FEW, "--pick", "99", "--out", "s.json").stderr
    )


def test_a_search_scores_by_a_command(shop_flow: Path, here: Path) -> None:
    counts = {"turns": 9, "turns_saved": 1, "detours": 0, "episodes": 3, "episodes_with_detour": 0}
    code = f"print('CHECK', {json.dumps(json.dumps(counts))})"
    told = ran_json("search", "--flow", shop_flow, *FEW, "--work", "work", "--", sys.executable, "-c", code)
    assert told["tried"][0]["check"]["turns"] == 9
    assert (here / "work" / "0000" / "candidate.flow.json").is_file()
    said = refused("search", "--flow", shop_flow, *FEW, "--", sys.executable, "-c", "raise SystemExit(3)")
    assert "ended with 3" in said


def test_what_a_search_needs_is_said(shop_flow: Path, logs: Path) -> None:
    assert "--pick and --out go together" in refused("search", "--flow", shop_flow, "--sessions", logs, "--pick", "1")
    assert "give one of them" in refused("search", "--flow", shop_flow, "--sessions", logs, "--", "true")
    assert run("search", "--flow", shop_flow).exit_code == 2
    assert "the flow can be served with" in refused(
        "search", "--flow", RETAIL_5, "--sessions", logs, "--decider", "reach"
    )


def test_a_search_is_drawn(shop_flow: Path, logs: Path, here: Path) -> None:
    pytest.importorskip("matplotlib")
    ran("search", "--flow", shop_flow, "--sessions", logs, *FEW, "--picture", "s.svg")
    assert (here / "s.svg").read_bytes().startswith(b"<?xml")

"""The search over thresholds, its scorers, and the front it reports."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stretto.errors import UsageError
from stretto.flow.file import read_flow
from stretto.flow.model import Bar, Promotion, SiteRecord
from stretto.review.check_command import CommandFailed, CommandScorer, check_from_output
from stretto.review.search import (
    GRID,
    OFF,
    Check,
    Searched,
    Setting,
    Tried,
    deciders_of,
    replay_scorer,
    rescore,
    search,
    settings_from_json,
    sites_of,
)
from stretto.review.search_page import search_page
from tests.stretto.episodes import episode, said
from tests.stretto.review.replay_support import cancel, find, order, shop_flow, user, worked_example
from tests.stretto.review.review_support import retail_flow, shown
from waggle import jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Golden


def made_up(setting: Setting) -> Check:
    """A trade-off: the lower the thresholds, the more is saved, and the more detours there are at ``cancel``."""
    open_at = {site: 1 - threshold for site, threshold in setting.thresholds.items() if threshold < OFF}
    saved = round(10 * sum(open_at.values()))
    detours = round(10 * open_at.get("cancel", 0) + 3 * sum(open_at.values()) ** 2)
    return Check(100, saved, detours, min(detours, 9), 9)


def test_the_grid_is_that_of_the_original() -> None:
    assert GRID == (
        0.1,
        0.15,
        0.2,
        0.25,
        0.3,
        0.35,
        0.4,
        0.45,
        0.5,
        0.55,
        0.6,
        0.65,
        0.7,
        0.75,
        0.8,
        0.85,
        0.9,
        0.95,
        2.0,
    )


def test_the_settings_served_now_are_tried_first() -> None:
    found = search(shop_flow(), made_up, population=4, generations=1)
    sites = sites_of(shop_flow())
    assert [one.setting for one in found.tried[:3]] == [
        Setting("reach", dict.fromkeys(sites, 0.3)),
        Setting("habit", dict.fromkeys(sites, 0.3)),
        Setting("habit", dict.fromkeys(sites, 0.9)),
    ]


def test_the_front_holds_what_nothing_beats_and_the_search_repeats_itself() -> None:
    found = search(shop_flow(), made_up)
    again = search(shop_flow(), made_up)
    assert found == again
    assert search(shop_flow(), made_up, seed=26) != found
    front = [one.check for one in found.front]
    assert [check.detours for check in front] == sorted(check.detours for check in front)
    assert [check.turns_saved for check in front] == sorted({check.turns_saved for check in front})
    for one in found.tried:
        assert any(
            better.turns_saved >= one.check.turns_saved and better.detours <= one.check.detours for better in front
        )
    assert any(one.setting.thresholds["cancel"] > 0.9 for one in found.front)
    assert len(found.tried) <= 16 * 11


def test_only_sites_that_are_served_and_offer_something_are_searched() -> None:
    assert sites_of(shop_flow()) == ("cancel", "find_user", "get_order", "get_user")
    record = SiteRecord(1, 1, 1, 1, 1.0, promoted=True)
    promoted = Promotion(Bar(0.3, 0, 0, 0), {"get_user": record, "cancel": replace(record, promoted=False)})
    assert sites_of(replace(shop_flow(), promoted=promoted)) == ("get_user",)


def test_a_search_that_cannot_be_made_says_why() -> None:
    with pytest.raises(UsageError, match="nothing to search"):
        search(replace(shop_flow(), promoted=Promotion(Bar(0, 0, 0, 0), {})), made_up)
    with pytest.raises(UsageError, match="served with habit, not with reach"):
        search(retail_flow(), made_up, deciders=["reach"])
    with pytest.raises(UsageError, match="at least 2"):
        search(shop_flow(), made_up, population=1)
    assert deciders_of(shop_flow()) == ("reach", "habit")


def test_a_setting_changes_its_own_sites_only() -> None:
    flow = replace(shop_flow(), thresholds={"elsewhere": 0.5, "cancel": 0.5})
    assert Setting("habit", {"cancel": OFF}).applied(flow).thresholds == {"elsewhere": 0.5, "cancel": OFF}
    assert flow.thresholds == {"elsewhere": 0.5, "cancel": 0.5}


# --- by replay ---


def test_replay_scores_a_setting_as_served() -> None:
    score = replay_scorer(shop_flow(), [worked_example()])
    assert score(Setting("reach", {})) == Check(6, 2, 1, 1, 1)
    assert score(Setting("reach", dict.fromkeys(sites_of(shop_flow()), OFF))) == Check(6, 0, 0, 0, 1)


def test_a_search_by_replay_finds_a_way_without_the_detour() -> None:
    """After the orders the flow goes on to one nobody asks for; reading the user alone costs nothing."""
    sessions = [worked_example(), episode(said("Hi"), find(), user("#D"), order("#D"), cancel("#D"), name="other")]
    found = search(shop_flow(), replay_scorer(shop_flow(), sessions), population=8, generations=4)
    assert found.front[0].check.detours == 0
    assert found.front[0].check.turns_saved > 0
    assert found.front[-1].check.turns_saved > found.front[0].check.turns_saved


def test_a_front_is_scored_anew_from_its_file() -> None:
    found = search(shop_flow(), made_up, population=6, generations=2)
    settings = settings_from_json(jsonvalue.loads(jsonvalue.dumps(found.as_json())))
    assert settings == tuple(one.setting for one in found.front)
    assert rescore(settings, made_up).tried == found.front


@pytest.mark.parametrize(
    ("value", "where"),
    [
        pytest.param([], r"\$\.front", id="no-object"),
        pytest.param({"front": {}}, r"\$\.front", id="no-list"),
        pytest.param({"front": [{"decider": "habit"}]}, r"\$\.front\[0\]", id="no-thresholds"),
        pytest.param({"front": [{"decider": 1, "thresholds": {}}]}, r"\$\.front\[0\]", id="no-decider"),
        pytest.param(
            {"front": [{"decider": "habit", "thresholds": {"a": True}}]},
            r"\$\.front\[0\]\.thresholds\.a",
            id="threshold-no-number",
        ),
    ],
)
def test_something_else_than_a_front_is_refused_with_its_place(value: Any, where: str) -> None:
    with pytest.raises(UsageError, match=where):
        settings_from_json(value)


# --- by a command ---

COUNTS = '{"turns": 6, "turns_saved": 2, "detours": 1, "episodes_with_detour": 1, "episodes": 1}'
ECHO = """
import json, sys
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
assert sys.argv[1] == "it's $(touch pwned)", sys.argv
flow = json.load(open(options["--flow"], encoding="utf-8"))
print("CHECK is coming")
print("CHECK", json.dumps({"turns": 6, "turns_saved": 2, "detours": int(flow["thresholds"]["cancel"] * 100),
      "episodes_with_detour": 0, "episodes": len(options["--flow-decider"])}))
open(options["--out"] + "/seen", "w").close()
"""


def command(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def test_a_command_gets_the_flow_the_decider_and_a_directory_and_no_shell_sees_them(tmp_path: Path) -> None:
    score = CommandScorer(command(ECHO, "it's $(touch pwned)"), shop_flow(), tmp_path / "o u t")
    assert score(Setting("habit", {"cancel": 0.5})) == Check(6, 2, 50, 0, len("habit"))
    assert score(Setting("reach", {"cancel": OFF})) == Check(6, 2, 200, 0, len("reach"))
    assert sorted(path.name for path in (tmp_path / "o u t").iterdir()) == ["0000", "0001"]
    assert (tmp_path / "o u t" / "0001" / "seen").exists()
    assert read_flow(tmp_path / "o u t" / "0000" / "candidate.flow.json").thresholds == {"cancel": 0.5}


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        pytest.param("print('done')", "printed no line CHECK", id="no-counts"),
        pytest.param("print('CHECK [1]')", "no object", id="no-object"),
        pytest.param("print('CHECK {}')", "the count turns", id="a-count-is-missing"),
        pytest.param("print('CHECK {')", "no JSON", id="no-json"),
        pytest.param("import sys; sys.exit('no such benchmark')", "ended with 1: no such benchmark", id="it-fails"),
        pytest.param("import os; os.abort()", "ended with -", id="it-is-killed"),
    ],
)
def test_a_command_that_does_not_score_is_one_clear_error(tmp_path: Path, code: str, problem: str) -> None:
    with pytest.raises(CommandFailed, match=problem) as caught:
        CommandScorer(command(code), shop_flow(), tmp_path)(Setting("habit", {}))
    assert str(caught.value).startswith(sys.executable)


def test_a_command_that_cannot_be_started_or_is_none(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="cannot be started"):
        CommandScorer([str(tmp_path / "none")], shop_flow(), tmp_path)(Setting("habit", {}))
    with pytest.raises(UsageError, match="give the command"):
        CommandScorer([], shop_flow(), tmp_path)


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    """The grandchild holds the pipe open; it must not hold us."""
    code = (
        "import subprocess, sys, time; "
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)"
    )
    score = CommandScorer(command(code), shop_flow(), tmp_path, timeout_s=0.5)
    with pytest.raises(CommandFailed, match="took longer than"):
        score(Setting("habit", {}))


def test_the_last_line_with_counts_counts() -> None:
    first = COUNTS.replace('"detours": 1', '"detours": 9')
    output = f"noise\nCHECK {first}\nmore\nCHECK {COUNTS}\n".encode()
    assert check_from_output(output) == Check(6, 2, 1, 1, 1)


# --- shown ---


def test_the_page_and_the_json_of_a_search(golden: Golden) -> None:
    found = search(shop_flow(), made_up, population=4, generations=2)
    golden.check("stretto/search.md", search_page(found))
    golden.check("stretto/search.json", shown(found.as_json()))


def test_of_equals_the_front_keeps_what_was_tried_first() -> None:
    check = Check(10, 3, 1, 1, 4)
    found = Searched((Tried(Setting("habit", {"a": 0.3}), check), Tried(Setting("habit", {"a": 0.35}), check)))
    assert [one.setting.thresholds for one in found.front] == [{"a": 0.3}]
    assert Searched(()).front == ()
    assert search_page(Searched(())).startswith("# Search")

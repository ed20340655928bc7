"""Settings: which source counts, what a project's file may not say, and how problems are told."""

from __future__ import annotations

import ast
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from tests.conftest import ROOT
from waggle import ManagerConfig, MineConfig, locate
from waggle.calls import Effect
from waggle.errors import SettingsError
from waggle.settings import (
    MineSettings,
    Settings,
    describe_settings,
    load_settings,
    unknown_variables,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def user_file(own_home: Path) -> Path:
    path = own_home / ".config" / "waggle" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".waggle").mkdir()
    return tmp_path


def problems(root: Path | None = None, **arguments: object) -> list[str]:
    with pytest.raises(ExceptionGroup) as caught:
        load_settings(root, arguments=arguments)
    assert all(isinstance(error, SettingsError) for error in caught.value.exceptions)
    return [str(error) for error in caught.value.exceptions]


def test_the_defaults_are_those_of_a_manager() -> None:
    assert Settings().manager_config() == ManagerConfig()


def test_every_knob_of_a_manager_that_a_user_may_turn_arrives_there() -> None:
    """`rules`, `known_bytes` and `sessions` are for frameworks."""
    settings = Settings(
        mine=MineSettings(min_len=3, max_len=4, k=5, literal=False),
        learn=False,
        replay=False,
        sweep_calls=11,
        ring_steps=12,
        min_prefix=13,
        lookups_per_result=14,
        lookups_per_session=15,
        fold_bytes=16,
        follow_seconds=17.5,
        reach=False,
        across_sessions=False,
        containment=False,
        shell_forms=False,
        threshold=0.18,
        min_sessions=19,
        control_share=0.2,
        telemetry=False,
        seed=21,
    )
    config = settings.manager_config()
    assert config.mine == MineConfig(3, 4, 5, literal=False)
    ours = {knob.name for knob in fields(ManagerConfig)} - {"mine", "rules", "known_bytes", "sessions"}
    assert {name: getattr(config, name) for name in ours} == {name: getattr(settings, name) for name in ours}
    assert all(getattr(config, name) != getattr(ManagerConfig(), name) for name in ours)


def test_the_threshold_is_a_chance_or_the_word_for_the_one_that_is_counted_in_tokens(
    user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text('threshold = "tokens"\n')
    assert load_settings().settings.manager_config().threshold is None
    monkeypatch.setenv("WAGGLE_THRESHOLD", "0.5")
    assert load_settings().settings.manager_config().threshold == 0.5
    monkeypatch.setenv("WAGGLE_THRESHOLD", "tokens")
    assert load_settings().settings.manager_config().threshold is None


@pytest.mark.parametrize("wrong", ["often", "1.5", "-0.1", "nan"])
def test_a_threshold_that_is_no_chance_is_refused_where_it_stands(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAGGLE_THRESHOLD", wrong)
    (found,) = problems()
    assert found.startswith("WAGGLE_THRESHOLD: threshold: expected ")


def test_each_source_counts_more_than_the_one_before(
    user_file: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text("stale_days = 1\nmin_fails = 1\nring_steps = 1\nsweep_calls = 1\n")
    locate.project_config_file(project).write_text("min_fails = 2\nring_steps = 2\nsweep_calls = 2\n")
    monkeypatch.setenv("WAGGLE_RING_STEPS", "3")
    monkeypatch.setenv("WAGGLE_SWEEP_CALLS", "3")
    loaded = load_settings(project, arguments={"sweep_calls": 4})
    names = ("fold_bytes", "stale_days", "min_fails", "ring_steps", "sweep_calls")
    assert [getattr(loaded.settings, name) for name in names] == [32768, 1, 2, 3, 4]
    assert [loaded.sources[name] for name in names] == [
        "default",
        f"user file {user_file}",
        f"project file {locate.project_config_file(project)}",
        "environment WAGGLE_RING_STEPS",
        "argument",
    ]


def test_every_setting_has_a_row_with_its_unit_and_source() -> None:
    rows = list(load_settings().rows())
    assert [row[0] for row in rows] == [name for name, *_ in describe_settings()]
    assert ("mine.k", 3, "occurrences", "default") in rows
    assert ("tools_allow", [], "tool names", "default") in rows
    assert all(about for _, _, about, _ in describe_settings())


def test_a_table_may_be_spread_over_the_sources(
    user_file: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text("[mine]\nmax_len = 9\n")
    locate.project_config_file(project).write_text("[mine]\nmin_len = 8\n")
    monkeypatch.setenv("WAGGLE_MINE_K", "7")
    assert load_settings(project).settings.mine == MineSettings(min_len=8, max_len=9, k=7)


def test_all_problems_of_a_file_are_told_at_once_with_file_and_key(user_file: Path) -> None:
    user_file.write_text(
        'stale_days = "14"\nsweep_calls = 0\nlearn = 1\ntools_alow = ["x"]\nlocation = "here"\ntools_deny = [""]\n'
        "follow_seconds = inf\n[mine]\nk = true\nkk = 3\n"
    )
    assert sorted(problems()) == [
        f"{user_file}: follow_seconds: expected a finite number, not inf",
        f"{user_file}: learn: expected a valid boolean, not 1",
        f"{user_file}: location: expected 'tree' or 'home', not 'here'",
        f"{user_file}: mine.k: expected a valid integer, not True",
        f"{user_file}: mine.kk: there is no such setting; did you mean mine.k?",
        f"{user_file}: stale_days: expected a valid integer, not '14'",
        f"{user_file}: sweep_calls: expected at least 1, not 0",
        f"{user_file}: tools_alow: there is no such setting; did you mean tools_allow?",
        f"{user_file}: tools_deny.0: expected a text that is not empty",
    ]


def test_problems_of_several_sources_are_told_together(
    user_file: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text("mine = 3\n")
    locate.project_config_file(project).write_text("x = ]\n")
    monkeypatch.setenv("WAGGLE_LEARN", "no")
    first, second, third, fourth = problems(project, min_fails=0)
    assert first == f"{user_file}: mine: expected a table, [mine]"
    assert second.startswith(f"{locate.project_config_file(project)}: is not TOML: ")
    assert "line 1" in second
    assert third == "WAGGLE_LEARN: learn: expected a valid boolean, not 'no'"
    assert fourth == "arguments: min_fails: expected at least 1, not 0"


def test_the_shortest_route_may_not_be_longer_than_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two variables are judged together, in whatever order they are read."""
    monkeypatch.setenv("WAGGLE_MINE_MIN_LEN", "7")
    assert problems() == ["environment: mine: min_len is 7 and may be at most max_len, 6"]
    monkeypatch.setenv("WAGGLE_MINE_MAX_LEN", "7")
    assert load_settings().settings.mine.min_len == 7


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"learn = true # \xff", "is not UTF-8: byte 15 cannot be read", id="not-utf-8"),
        pytest.param(b"# " + b"x" * 1024 * 1024, "is larger than the 1,048,576 bytes that are read", id="too-large"),
        pytest.param(None, "is not a file but a directory, pipe or device", id="a-directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_problem(user_file: Path, content: bytes | None, problem: str) -> None:
    if content is None:
        user_file.mkdir()
    else:
        user_file.write_bytes(content)
    assert problems() == [f"{user_file}: {problem}"]


@pytest.mark.case("HC-13")
def test_a_byte_order_mark_and_crlf_are_accepted(user_file: Path) -> None:
    user_file.write_bytes(b"\xef\xbb\xbfstale_days = 3\r\nlocation = 'home'\r\n")
    settings = load_settings().settings
    assert (settings.stale_days, settings.location) == (3, "home")


# --- what guards the user -------------------------------------------------------------------------------------


def test_a_project_cannot_vouch_for_a_tool(user_file: Path, project: Path) -> None:
    user_file.write_text('tools_allow = ["mine"]\n')
    file = locate.project_config_file(project)
    file.write_text('tools_allow = ["rm"]\n')
    (problem,) = problems(project)
    assert problem.startswith(f"{file}: tools_allow: a project cannot vouch for tools; put it in your own file")


def test_nobody_takes_back_a_tool_that_another_source_distrusts(
    user_file: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text('tools_deny = ["Read"]\ntools_allow = ["query"]\n')
    locate.project_config_file(project).write_text('tools_deny = ["query"]\n')
    monkeypatch.setenv("WAGGLE_TOOLS_DENY", "LS, ,Glob")
    loaded = load_settings(project)
    assert loaded.settings.tools_deny == ("Read", "query", "LS", "Glob")
    assert loaded.sources["tools_deny"].split(" + ") == [
        f"user file {user_file}",
        f"project file {locate.project_config_file(project)}",
        "environment WAGGLE_TOOLS_DENY",
    ]
    tools = loaded.settings.tool_table()
    effects = {name: tools.effect(name, {}) for name in ("Read", "query", "LS", "Grep")}
    assert effects == {"Read": Effect.WRITE, "query": Effect.WRITE, "LS": Effect.WRITE, "Grep": Effect.READ}


def test_the_users_word_makes_a_tool_a_read() -> None:
    assert Settings(tools_allow=("query",)).tool_table().effect("query", {}) is Effect.READ


@pytest.mark.parametrize("name", ["learn", "replay", "telemetry"])
def test_a_project_cannot_switch_on_what_the_user_has_switched_off(user_file: Path, project: Path, name: str) -> None:
    locate.project_config_file(project).write_text(f"{name} = true\n")
    assert getattr(load_settings(project).settings, name) is True
    user_file.write_text(f"{name} = false\n")
    file = locate.project_config_file(project)
    assert problems(project) == [f"{file}: {name}: your own file switches it off, and a project cannot switch it on"]


def test_a_project_may_switch_off(project: Path) -> None:
    locate.project_config_file(project).write_text("learn = false\n")
    assert load_settings(project).settings.learn is False


# --- places ---------------------------------------------------------------------------------------------------


def test_a_variable_names_another_users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.toml"
    monkeypatch.setenv("WAGGLE_CONFIG", str(path))
    assert problems() == [f"WAGGLE_CONFIG: there is no file {path}"]
    path.write_text("stale_days = 5\n")
    assert load_settings().settings.stale_days == 5
    monkeypatch.setenv("WAGGLE_CONFIG", "mine.toml")
    assert problems() == ["WAGGLE_CONFIG: 'mine.toml' is not an absolute path"]


@pytest.mark.case("HC-19")
@pytest.mark.parametrize("config_home", [None, "relative/config"])
def test_without_a_home_there_is_no_users_file(config_home: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # what Python does when no home is known
    if config_home:
        monkeypatch.setenv("XDG_CONFIG_HOME", config_home)
    assert locate.user_config_file() is None
    assert load_settings().settings == Settings()


def test_variables_that_mean_nothing_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAGGLE_STALE_DAY", "3")
    monkeypatch.setenv("WAGGLE_HOME", "/x")
    monkeypatch.setenv("WAGGLE_MINE_K", "3")
    assert unknown_variables() == ["WAGGLE_STALE_DAY"]


def test_settings_are_strict_and_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings(stale_days="3")  # type: ignore[arg-type] # that is the point
    with pytest.raises(ValidationError):
        Settings(stale_day=3)  # type: ignore[call-arg] # that is the point
    with pytest.raises(ValidationError):
        Settings().stale_days = 3


def test_no_other_module_imports_pydantic() -> None:
    for path in (ROOT / "waggle").rglob("*.py"):
        names = {
            name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            for name in (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else []
            )
        }
        assert path.name == "settings.py" or "pydantic" not in {name.partition(".")[0] for name in names}, path

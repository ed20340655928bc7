"""The command ``stretto`` as a whole: its documents, what it prints where, and the installed program."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from stretto import _defaults
from stretto.cli import main
from stretto.cli.app import EXIT_CODES, cli
from stretto.cli.json_keys import JSON_KEYS
from stretto.cli.reference import commands as all_commands
from stretto.cli.reference import reference
from tests.conftest import ROOT
from tests.stretto.cli.stretto_cli_support import (
    COLD_START,
    RETAIL_5,
    RETAIL_10,
    command,
    ran_json,
    run,
)
from tests.stretto.cli.test_stretto_measure import decision

if TYPE_CHECKING:
    from collections.abc import Iterable

REFERENCE = ROOT / "docs" / "cli-stretto.md"


# --- documents ------------------------------------------------------------------------------------------------


def commands() -> dict[str, click.Command]:
    return dict(all_commands(cli, click.Context(cli)))


def test_the_reference_is_what_the_commands_say() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    assert text == reference(), "python -m stretto.cli.reference > docs/cli-stretto.md"


def test_every_command_option_and_exit_code_is_documented() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    codes = {value for name, value in vars(_defaults).items() if name.startswith("EXIT_") and isinstance(value, int)}
    assert {code for code, _ in EXIT_CODES} == codes
    assert all(f"| {code} |" in text for code in codes)
    for name, one in commands().items():
        assert f"## stretto {name}\n" in text
        assert one.help
        assert ("as_json" in {param.name for param in one.params}) is (name != "completions")
        for param in one.params:
            assert param.param_type_name == "argument" or getattr(param, "help", None), f"{name} {param.name}"
            assert all(option in text for option in param.opts if option.startswith("-"))


def test_what_the_specification_names_is_there() -> None:
    """Section 12; ``serve`` and what watches a served flow come with the proxy."""
    assert set(commands()) >= {
        *("learn", "compile", "flow-show", "flow-diff", "audit", "promote", "drift", "evaluate", "search", "replay"),
        *("ceiling", "learn-curve", "costs", "redact", "merge", "doctor", "init", "completions"),
    }


def test_what_writes_can_be_tried_first() -> None:
    options = {name: {param.name for param in command.params} for name, command in commands().items()}
    writes = {name for name, has in options.items() if has & {"out", "picture", "report", "writes"}}
    assert writes == {name for name, has in options.items() if "dry_run" in has}


def undocumented(value: Any, keys: Iterable[str], at: str = "") -> set[str]:
    """Paths of a document that no documented path stands for."""
    heads = {key for key in keys if key}
    if ".*" in heads or (not heads and keys and not isinstance(value, (dict, list))):
        return set()
    if isinstance(value, list):
        inner = [key.removeprefix("[]") for key in keys if key.startswith("[]")]
        return {found for each in value for found in undocumented(each, inner, f"{at}[]")} if inner else {at}
    if isinstance(value, dict):
        found: set[str] = set()
        names = {re.split(r"[.\[]", key[1:])[0] for key in keys if key.startswith(".")}
        for name, each in value.items():
            known = name if name in names else next((one for one in names if one.isupper()), None)
            inner = [key[len(known) + 1 :] for key in keys if known and re.match(rf"\.{known}(?=[.\[]|$)", key)]
            found |= undocumented(each, inner, f"{at}.{name}") if inner else {f"{at}.{name}"}
        return found
    return set() if value is None or "" in keys else {at}


def documented(name: str, document: Any) -> None:
    assert not undocumented(document, [f".{key}" for key in JSON_KEYS[name]])


def test_every_key_of_every_json_document_is_documented(
    shop_flow: Path, logs: Path, benchmark_results: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert undocumented({"a": {"b": [{"c": 1}]}, "d": 2}, [".a.b[].x", ".d"]) == {".a.b[].c"}
    flow, given = ("--flow", shop_flow), ("--sessions", logs)
    documented("learn", ran_json("learn", *given, "--out", "f.json", "--surprise", "0.9", "--surprise-window", "2"))
    documented("compile", ran_json("compile", "--results", benchmark_results, "--out", "c.json", "--oracle", "mock"))
    documented("merge", ran_json("merge", shop_flow, *given, "--out", "m.json"))
    documented("promote", ran_json("promote", *flow, *given, "--out", "p.json"))
    for path in (RETAIL_5, COLD_START, shop_flow, "f.json", "c.json", "p.json"):
        documented("flow-show", ran_json("flow-show", path))
    documented("flow-diff", ran_json("flow-diff", RETAIL_5, RETAIL_10, code=1))
    documented("audit", ran_json("audit", *flow, *given))
    documented("drift", ran_json("drift", *flow, *given))
    documented("search", ran_json("search", *flow, *given, "--population", "2", "--generations", "0"))
    documented("replay", ran_json("replay", *flow, *given))
    documented("ceiling", ran_json("ceiling", *given))
    documented("costs", ran_json("costs", *given))
    documented("learn-curve", ran_json("learn-curve", *given, "--sizes", "2", "--orders", "1"))
    Path("s.flow.jsonl").write_text(json.dumps(decision("get_order", explored=False)) + "\n")
    documented("evaluate", ran_json("evaluate", "s.flow.jsonl", "--target", "a=habit@0.3"))
    monkeypatch.setenv("STRETTO_REDACT_SALT", "salt")
    documented("redact", ran_json("redact", *given, "--out", "copies"))
    monkeypatch.setenv("PATH", "")
    documented("doctor", ran_json("doctor"))


# --- the installed command ------------------------------------------------------------------------------------


def started(*args: object, **options: Any) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*command(), *map(str, args)], **{**pipes, **options})


def test_the_installed_command_runs_and_gives_its_exit_codes(here: Path) -> None:
    cases = (
        (["--version"], 0),
        (["flow-diff", RETAIL_5, RETAIL_10], 1),
        (["flow-show", "x"], 2),
        (["nonsense"], 2),
        (["learn", "--sessions", "x", "--out", "y"], 2),
    )
    for args, code in cases:
        process = started(*args)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert bool(out) == (code < 2)
        assert b"Traceback" not in err


@pytest.mark.case("HC-20")
@pytest.mark.parametrize(
    "env",
    [
        pytest.param({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, id="ascii"),
        pytest.param({"PYTHONIOENCODING": "cp1252"}, id="cp1252"),
    ],
)
def test_printing_never_raises_whatever_the_encoding(here: Path, logs: Path, env: dict[str, str]) -> None:
    """The heading of the costs has Greek letters."""
    environment = os.environ | env | {"PYTHONWARNINGS": "error", "PYTHONWARNDEFAULTENCODING": "1"}
    process = started("costs", "--sessions", logs, env=environment)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert rb"\u03b2, tokens a saved turn" in out


def test_a_reader_that_goes_away_is_no_error() -> None:
    """The command ends with the code of its work, quietly."""
    for args, code in ((["flow-show", RETAIL_5], 0), (["flow-diff", RETAIL_5, RETAIL_10], 1), (["--help"], 1)):
        reader, writer = os.pipe()
        os.close(reader)
        process = started(*args, stdout=writer)
        os.close(writer)
        err = process.communicate(timeout=60)[1]
        assert err == b""
        assert process.returncode == code


def test_a_closed_standard_output_is_no_error() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" flow-show "$1" >&-', *command(), str(RETAIL_5)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_one_line() -> None:
    with Path("/dev/full").open("wb") as nowhere:
        process = started("flow-show", RETAIL_5, stdout=nowhere)
        err = process.communicate(timeout=60)[1]
    assert process.returncode == _defaults.EXIT_STORE
    assert err == b"standard output: No space left on device\n"


def test_the_entry_point_returns_the_exit_code(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def code(*args: str) -> int:
        monkeypatch.setattr(sys, "argv", ["stretto", *args])
        return main()

    assert (code("flow-show", str(RETAIL_5)), code("flow-show", "x"), code("nonsense")) == (0, 2, 2)

    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("stretto.cli.app.run", interrupted)
    assert code("doctor") == _defaults.EXIT_INTERRUPTED


def test_a_bug_of_ours_is_not_passed_off_as_the_users_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("stretto.cli.reviewing.read_flow", broken)
    with pytest.raises(ZeroDivisionError):
        run("flow-show", RETAIL_5)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_ends_with_130_leaves_nothing_running_and_no_stack_trace(shop_flow: Path, tmp_path: Path) -> None:
    """While a search waits for the command that scores a setting."""
    os.mkfifo(tmp_path / "begun")
    waits = f"import time; open({str(tmp_path / 'begun')!r}, 'w').write('x'); time.sleep(600)"
    process = started("search", "--flow", shop_flow, "--", sys.executable, "-c", waits)
    assert (tmp_path / "begun").read_text() == "x"  # opens when the command has opened it, too
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == _defaults.EXIT_INTERRUPTED
    assert (out, err) == (b"", b"stopped\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")
def test_a_terminal_gets_a_progress_bar_on_standard_error_only(here: Path, logs: Path) -> None:
    import pty

    parent, child = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80"}
    process = started("learn", "--sessions", logs, "--out", "f.json", stderr=child, env=env)
    out, _ = process.communicate(timeout=60)
    os.close(child)
    seen = b""
    try:
        while chunk := os.read(parent, 65536):
            seen += chunk
    except OSError:  # how a terminal without a writer ends
        pass
    finally:
        os.close(parent)
    assert b"sessions" in seen
    assert out == b"shop: 12 of 12 sessions, 5 tools, f.json\n"

"""The command as a whole: its documents, what it prints where, and the installed program."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from tests.conftest import ROOT
from tests.waggle.cli.support import LOAD, Home, command, ran_json, route, run, snapshot, some_traces
from waggle import (
    Ledger,
    LedgerEntry,
    _defaults,
    _render,
)
from waggle.cli import main
from waggle.cli.app import EXIT_CODES, cli
from waggle.cli.demo import demo_json, run_demo
from waggle.cli.reference import JSON_KEYS, reference

# --- documents ------------------------------------------------------------------------------------------------


def commands() -> dict[str, click.Command]:
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command}


def test_the_reference_is_what_the_commands_say() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert text == reference(), "python -m waggle.cli.reference > docs/cli.md"


def test_every_command_option_and_exit_code_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    codes = {value for name, value in vars(_defaults).items() if name.startswith("EXIT_") and isinstance(value, int)}
    assert {code for code, _ in EXIT_CODES} == codes
    assert all(f"| {code} |" in text for code in codes)
    read = {"demo", "ls", "show", "why", "why-not", "replay", "stats", "verify", "doctor", "config"}
    assert set(commands()) == {*read, "mine", "gc", "export", "init", "serve"}
    for name, one in commands().items():
        assert f"## waggle {name}\n" in text
        assert one.help
        assert name == "serve" or {"as_json"} <= {param.name for param in one.params}
        for param in one.params:
            assert param.param_type_name == "argument" or getattr(param, "help", None), f"{name} {param.name}"
            assert all(option in text for option in param.opts if option.startswith("-"))


def test_what_writes_or_deletes_can_be_tried_first() -> None:
    dry = {name for name, command in commands().items() if "dry_run" in {param.name for param in command.params}}
    assert dry == {"mine", "gc", "export"}


def paths(value: Any, prefix: str = "") -> set[str]:
    """Paths of all values in a document, the way the reference writes them."""
    if isinstance(value, dict):
        found = {path for key, inner in value.items() for path in paths(inner, f"{prefix}.{key}")}
        return found or {prefix.lstrip(".")}
    if isinstance(value, list):
        return {path for inner in value for path in paths(inner, f"{prefix}[]")}
    return {prefix.lstrip(".")}


def documented(command: str, document: Any) -> None:
    keys = set(JSON_KEYS[command])
    found = {re.sub(r"(\.rules|^settings|^values)\.(mine\.\w+|\w+)", r"\1.NAME", path) for path in paths(document)}
    found = {re.sub(r"^route\..*", "route", re.sub(r"(\.fired)\..*", r"\1", path)) for path in found}
    assert found <= keys, found - keys
    optional = {"skills[].reason", "invalid[]", "problems[]", "result", "fired"}
    assert {key for key in keys - found if key not in optional} == set()


def with_effect(home: Home) -> None:
    """Records of every kind that ``stats`` shows."""
    Ledger(home.project.ledger_path).append_many(
        [
            LedgerEntry(LOAD.name, event="used", strategy="routes"),
            *(LedgerEntry(LOAD.name, event="window", held=held, session="0123abcd") for held in (True, False)),
        ]
    )


def test_every_key_of_every_json_document_is_documented(full: Home, sessions: Path) -> None:
    (full.project.directory / "x.md").write_text("---\n")
    documented("ls", ran_json("ls"))
    documented("show", ran_json("show", LOAD.name))
    documented("mine", ran_json("mine", sessions, "--dry-run"))
    documented("replay", ran_json("replay", sessions))
    (after,) = [
        each["name"] for each in ran_json("mine", sessions)["skills"] if each["name"].startswith("read-after-lines")
    ]
    documented("why", ran_json("why", after, sessions))
    documented("why-not", ran_json("why-not", after, sessions))
    with_effect(full)
    documented("stats", ran_json("stats"))
    documented("export", ran_json("export", "--to", "out", "--dry-run"))
    documented("verify", ran_json("verify", code=1))
    documented("doctor", ran_json("doctor"))
    documented("config", ran_json("config"))
    documented("gc", ran_json("gc"))
    documented("demo", demo_json(run_demo(some_traces(), full.root / "demo")))


# --- printing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain é 日本 → 👨‍👩", "plain é 日本 → 👨‍👩", id="readable"),
        pytest.param("\x1b[31mred\x07", "\\x1b[31mred\\x07", id="escape-sequence"),
        pytest.param("a\tb\nc\rd", "a\\tb\\nc\\rd", id="line-ends"),
        pytest.param("\x9b2J\x7f\x00", "\\x9b2J\\x7f\\x00", id="c1-controls"),
        pytest.param("\udcff\ud83d", "\\udcff\\ud83d", id="lone-surrogates"),
        pytest.param("\u2028\u202e\u2066", "\\u2028\\u202e\\u2066", id="separators-and-direction"),
    ],
)
def test_text_is_escaped_where_a_terminal_would_obey_it(text: str, shown: str) -> None:
    assert _render.plain(text) == shown


def test_a_table_keeps_its_cells_on_their_lines_and_reads_no_markup() -> None:
    columns = (_render.Column("a"), _render.Column("n", number=True))
    text = _render.table(columns, [["[bold]x[/bold] :smile:", "1"], ["日本\n[/x]", "1,000"]])
    assert text.split("\n") == ["a" + " " * 27 + "n", "[bold]x[/bold] :smile:      1", "日本\\n[/x]              1,000"]
    assert _render.table(columns, []) == ""


def test_only_the_last_column_is_folded_so_that_names_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waggle._render._width", lambda: 30)
    columns = (_render.Column("name"), _render.Column("what it does"))
    lines = _render.table(columns, [["n" * 40, "one two three four five six seven"]]).split("\n")
    assert lines == [
        "name" + " " * 38 + "what it does",
        "n" * 40 + "  one two three four five",
        " " * 42 + "six seven",
    ]


def test_a_json_document_is_ascii_and_exact(capsys: pytest.CaptureFixture[str]) -> None:
    value: dict[str, Any] = {"z": "é\u2028\udcff👩\x7f", "a": [10**40, None, 0.1]}
    _render.document(value)
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == value
    assert list(json.loads(printed)) == ["z", "a"]


# --- the installed command ------------------------------------------------------------------------------------


def started(*args: object, **options: Any) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*command(), *map(str, args)], **{**pipes, **options})


def test_the_installed_command_runs_and_gives_its_exit_codes(home: Home) -> None:
    for args, code in ((["--version"], 0), (["show", "x"], 3), (["nonsense"], 2)):
        process = started(*args)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert bool(out) == (args == ["--version"])
        assert b"Traceback" not in err


@pytest.mark.case("HC-20")
@pytest.mark.parametrize(
    "env",
    [
        pytest.param({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, id="ascii"),
        pytest.param({"PYTHONIOENCODING": "cp1252"}, id="cp1252"),
    ],
)
def test_printing_never_raises_whatever_the_encoding(home: Home, env: dict[str, str]) -> None:
    """What cannot be shown is escaped; files hold the same bytes, and JSON is ASCII."""
    odd = route(("Grep", {"pattern": "→ é 日本", "path": "src"}), ("Read", {"file_path": "日本.md"}))
    home.project.promote(odd)
    (home.project.directory / "日本.md").write_text("---\nname: é→\n", encoding="utf-8")
    environment = os.environ | env | {"PYTHONWARNINGS": "error", "PYTHONWARNDEFAULTENCODING": "1"}
    before = snapshot(home.root)
    encoding = "ascii" if "LC_ALL" in env else "cp1252"
    for args, code in ((["show", odd.name], 0), (["verify"], 1), (["ls", "--json"], 0)):
        process = started(*args, env=environment)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert b"Traceback" not in err
        text = out.decode(encoding)
        if "--json" in args:
            assert out.isascii()
            json.loads(text)
        elif "show" in args:
            assert "\\u2192" in text
            assert "\\u65e5\\u672c" in text
            assert ("é" in text) is (encoding == "cp1252")
    assert snapshot(home.root) == before


def test_a_reader_that_goes_away_is_no_error(full: Home) -> None:
    """The command ends with the code of its work, quietly."""
    for args in (["show", LOAD.name], ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        process = started(*args, stdout=writer)
        os.close(writer)
        err = process.communicate(timeout=60)[1]
        assert err == b""
        assert process.returncode == (1 if args == ["--help"] else 0)


def test_a_closed_standard_output_is_no_error(full: Home) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" ls >&-', *command()], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_one_line(full: Home) -> None:
    for args in (["ls"], ["--help"]):
        with Path("/dev/full").open("wb") as nowhere:
            process = started(*args, stdout=nowhere)
            err = process.communicate(timeout=60)[1]
        assert process.returncode == _defaults.EXIT_STORE
        assert err.endswith(b"No space left on device\n")
        assert err.count(b"\n") == 1


def test_the_entry_point_returns_the_exit_code(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def code(*args: str) -> int:
        monkeypatch.setattr(sys, "argv", ["waggle", *args])
        return main()

    assert (code("ls"), code("show", "x"), code("nonsense"), code("ls", "--user", "--scope", "project")) == (0, 3, 2, 2)

    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("waggle.cli.app.run", interrupted)
    assert code("ls") == _defaults.EXIT_INTERRUPTED


def test_a_bug_of_ours_is_not_passed_off_as_the_users_mistake(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ExceptionGroup("bugs", [ZeroDivisionError()])

    monkeypatch.setattr("waggle.cli.place.load_settings", broken)
    with pytest.raises(ExceptionGroup):
        run("ls")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_ends_with_130_and_without_a_stack_trace(home: Home, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "live")
    process = started("mine", tmp_path / "live")
    with (tmp_path / "live").open("wb"):  # opens when the command has opened it, too
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == _defaults.EXIT_INTERRUPTED
    assert (out, err) == (b"", b"stopped\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")
@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_gets_a_progress_bar_on_standard_error_only(home: Home, sessions: Path, colour: bool) -> None:  # noqa: FBT001 - a case
    import pty

    parent, child = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80"} | ({} if colour else {"NO_COLOR": "1"})
    process = started("mine", sessions, stderr=child, env=env)
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
    assert b"mining" in seen
    assert (re.search(rb"\x1b\[[0-9;]*3[0-9][0-9;]*m", seen) is not None) is colour
    assert out.startswith(b"status")
    assert b"\x1b" not in out

"""The commands ``intents`` and ``compile-procedure``: what they write, what they print, what they keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stretto.procedure.file import read_procedure
from tests.stretto.cli.stretto_cli_support import ran, refused, run
from tests.stretto.cli.test_stretto_command import documented

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stretto.procedure.graph import Procedure

TOOLS = """
stretto_tools = 1
[tools.get_order]
effect = "read"
[tools.refund]
effect = "irreversible"
[tools.tag]
effect = "write"
"""


def session(number: int, *, tags: bool = False, told: bool = True) -> dict[str, Any]:
    """A session in which an order is refunded, and tagged if it has a tag."""
    order, payment = f"A-77{number}1", f"pay_{number}xyz"
    found = {"id": order, "payment_id": payment, "tags": ["rush"] if tags and told else []}
    events: list[dict[str, Any]] = [{"type": "user", "text": f"Please refund order {order}"}]

    def call(tool: str, output: Any, **args: Any) -> None:
        turn = sum(each["type"] == "call" for each in events)
        events.append({"type": "call", "id": f"c{len(events)}", "turn": turn, "tool": tool, "args": args})
        content = json.dumps(output)
        events.append({"type": "result", "id": f"c{len(events) - 1}", "ok": True, "content": content})

    call("get_order", found, order_id=order)
    if tags:
        call("tag", {"ok": True}, order_id=order)
    call("refund", {"refund_id": f"rf_{number}"}, payment_id=payment)
    events.append({"type": "assistant", "text": "It is refunded."})
    return {
        "session": f"s{number}",
        "source": "test",
        "agent": "scripted",
        "domain": "shop",
        "task": f"t{number}",
        "success": True,
        "tools": {"get_order": {"kind": "read"}, "refund": {"kind": "write"}, "tag": {"kind": "write"}},
        "events": events,
    }


def recorded(here: Path, sessions: Iterable[dict[str, Any]]) -> tuple[object, ...]:
    """A file of sessions, and what is said of the tools: the first words of a command."""
    (here / "sessions.jsonl").write_text("".join(json.dumps(each) + "\n" for each in sessions), encoding="utf-8")
    (here / "tools.toml").write_text(TOOLS, encoding="utf-8")
    return here / "sessions.jsonl", "--tools", here / "tools.toml"


@pytest.fixture
def six(here: Path) -> tuple[object, ...]:
    return recorded(here, map(session, range(6)))


def compiled(*words: object, code: int = 0) -> Any:
    """The document of ``compile-procedure``, whose keys are all documented."""
    told = json.loads(ran("compile-procedure", "--json", *words, "--out", "out", code=code))
    documented("compile-procedure", told)
    return told


def test_an_intent_is_found_and_compiled_into_a_file_with_its_requests_beside_it(six: tuple[object, ...]) -> None:
    found = json.loads(ran("intents", "--json", *six))
    documented("intents", found)
    (intent,) = found["intents"]
    assert (intent["sessions"], intent["supported"], intent["effects"]) == (6, True, ["tools.refund"])
    assert len(intent["farthest"]) == 2
    told = compiled(*six, "--requests")
    (made,) = told["intents"]
    assert (made["outcome"], made["steps"], made["parent"]) == ("compiled", 2, "")
    assert made["calls"] == {"observed": 12, "cold": 12, "warm": 12}
    procedure = read_procedure(Path(made["out"]))
    assert [name for name, _ in procedure.tools()] == ["tools.get_order#0", "tools.refund#0"]
    assert sorted(path.name for path in Path("out").iterdir()) == [
        f"{made['name']}.procedure.json",
        f"{made['name']}.requests.json",
    ]


def test_a_dry_run_writes_nothing(six: tuple[object, ...]) -> None:
    assert compiled(*six, "--dry-run", "--requests")["dry_run"] is True
    assert not Path("out").exists()


def versions() -> tuple[Procedure, list[Path]]:
    """The procedure that is there, and those whose place it took."""
    (path,) = Path("out").glob("*.procedure.json")
    return read_procedure(path), sorted(Path("out").glob("superseded/*"))


def test_a_new_version_names_the_one_whose_place_it_takes_which_stays_readable(
    here: Path, six: tuple[object, ...]
) -> None:
    compiled(*six, "--requests")
    first, old = versions()
    assert old == []
    assert "is there; --force replaces it" in refused("compile-procedure", *six, "--out", "out")

    compiled(*six, "--requests", "--force")
    assert versions() == (first, [])  # nothing has changed

    more = recorded(here, map(session, range(7)))
    name = compiled(*more, "--requests", "--force")["intents"][0]["parent"]
    second, (kept,) = versions()
    assert second.parent == name == first.digest
    assert read_procedure(kept) == first
    text = ran("compile-procedure", *recorded(here, map(session, range(8))), "--out", "out", "--force", "--requests")
    assert "takes the place of out/superseded/" in text
    assert len(versions()[1]) == 2
    said = ran("procedure", "route", "--procedures", "out", "Please refund order A-9001")
    assert said.startswith("route: ")


@pytest.mark.parametrize("changed", [False, True], ids=["no procedure", "changed by hand"])
def test_what_is_in_the_place_of_a_procedure_is_kept_too_whatever_it_is(
    six: tuple[object, ...],
    changed: bool,  # noqa: FBT001 - a parameter
) -> None:
    compiled(*six)
    (path,) = Path("out").glob("*.procedure.json")
    notes = path.read_text(encoding="utf-8").replace("get_order", "get_ordre") if changed else "notes"
    path.write_text(notes, encoding="utf-8")
    assert "is there; --force replaces it" in refused("compile-procedure", *six, "--out", "out")
    assert compiled(*six, "--force")["intents"][0]["parent"] == ""
    _, (kept,) = versions()
    assert kept.read_text(encoding="utf-8") == notes


def test_a_joined_action_is_compiled_where_something_tells_when_it_is_made(here: Path) -> None:
    given = recorded(here, (session(number, tags=number < 3) for number in range(8)))
    told = compiled(*given, "--join", "tools.tag")
    assert [each["outcome"] for each in told["intents"]] == ["compiled"]
    untold = recorded(here, (session(number, tags=number < 3, told=False) for number in range(8)))
    told = json.loads(ran("compile-procedure", "--json", *untold, "--join", "tools.tag", "--out", "other", code=1))
    assert told["refused"] == {"open_branch": 1}
    assert not Path("other").exists()


def test_a_manifest_is_the_users_own_word_of_what_tools_do(here: Path, six: tuple[object, ...]) -> None:
    sessions = six[0]
    said = {"domain": "shop", "tools": {"get_order": "read", "refund": "write"}}
    (here / "manifest.json").write_text(json.dumps(said), encoding="utf-8")
    (unknown,) = compiled(sessions, "--dry-run")["intents"]
    assert {reason["code"] for reason in unknown["reasons"]} == {"undeclared_effect"}
    (known,) = compiled(sessions, "--manifest", here / "manifest.json", "--dry-run")["intents"]
    assert (known["outcome"], known["reasons"]) == ("compiled", [])


def test_an_intent_that_is_not_there_is_told_with_those_that_are(six: tuple[object, ...]) -> None:
    said = run("compile-procedure", *six, "--out", "out", "--intent", "nothing")
    assert said.exit_code == 2
    assert "there is no intent nothing with enough sessions; there are: " in said.stderr


def test_sessions_of_which_nothing_is_left_are_refused_with_that_as_the_reason(here: Path) -> None:
    reads = [{**each, "events": each["events"][:3]} for each in map(session, range(6))]
    (made,) = compiled(*recorded(here, reads), code=1)["intents"]
    assert (made["outcome"], made["reasons"]) == ("refused", [])
    assert made["warnings"] == [
        "nothing of it changes anything, or is in an answer: there is nothing to make a procedure of"
    ]


def test_a_warning_of_the_compiler_stands_in_the_file_and_on_the_page(here: Path) -> None:
    same = [{**session(1), "session": f"s{number}"} for number in range(6)]
    for number, each in enumerate(same):
        answer = {"type": "assistant", "text": f"It is paid with pay_1xyz, as I said {number} times."}
        each["events"] = [*each["events"][:3], answer]
    (made,) = compiled(*recorded(here, same))["intents"]
    assert made["warnings"][0].startswith("no_variation: ")
    procedure, _ = versions()
    assert procedure.compiled.warnings == made["warnings"]
    assert "no_variation" in ran("procedure", "show", made["out"])

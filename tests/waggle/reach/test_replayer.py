"""What is proposed after a call, and what is better left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.waggle.reach.support import ROOT, TOOLS, count, edit, grep, read, sh, step
from waggle import Result
from waggle.extents import Extents
from waggle.reach.learner import ReachLearner
from waggle.reach.replayer import ReachReplayer, ReachStudent
from waggle.reach.table import ReachTable

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonValue
    from waggle.replay import Lookup

Calls = list[tuple[tuple[str, dict[str, "JsonValue"]], str]]


def table(*sessions: Calls, threshold: float | None = 0.3) -> ReachTable:
    """Everything that these sessions reached may be followed."""
    found = ReachTable(threshold)
    for part in count(*sessions):
        found.add(part)
    for target, site in list(found.counts.sessions):
        found.allow(site, target, f"{site} -> {target}")
    return found


def proposed(found: ReachTable, *calls: tuple[tuple[str, dict[str, JsonValue]], str], ok: bool = True) -> list[Lookup]:
    """What is proposed after the last of these calls."""
    replayer = ReachReplayer(found, Extents(TOOLS, ROOT))
    made: list[Lookup] = []
    for seq, ((tool, args), text) in enumerate(calls):
        made.clear()
        replayer.observe(step(seq, tool, args, ok=ok), Result(text, ok=ok))
        while lookup := replayer.propose():
            made.append(lookup)
            replayer.settle(lookup, Result("…"))
    return made


def narrow(number: int, hits: str = "src/a.py:100: x") -> Calls:
    first = hits.partition(":")[0]
    return [(grep(f"q{number}"), hits), (read(f"/repo/{first}", 90, 60), "x\n" * 60), (edit(), "")]


NARROW = [narrow(number) for number in range(12)]


def test_the_lines_around_a_match_are_read_as_the_agent_reads_them() -> None:
    (lookup,) = proposed(table(*NARROW), (grep("new"), "lib/my file.py:500: new"))
    assert (lookup.tool, lookup.args) == ("Read", {"file_path": "/repo/lib/my file.py", "offset": 490, "limit": 71})
    assert lookup.strategy == "reach"
    assert lookup.chance is not None
    assert 0.3 < lookup.chance < 1


def test_an_agent_with_a_shell_gets_the_command_it_would_have_written() -> None:
    sessions: list[Calls] = [
        [
            (sh(f"grep -n q{n} src/a.py"), "100:x"),
            (sh("nl -ba src/a.py | sed -n '90,150p'"), "x\n" * 60),
            (sh("python fix.py"), ""),
        ]
        for n in range(12)
    ]
    (lookup,) = proposed(table(*sessions), (sh("grep -n new 'lib/my file.py'"), "500:new"))
    assert lookup.args == {"command": "nl -ba '/repo/lib/my file.py' | sed -n 490,560p"}


def test_a_path_that_would_be_an_option_is_left_alone() -> None:
    sessions: list[Calls] = [
        [(sh(f"grep -rn q{n} ."), "src/a.py:100:x"), (sh("sed -n 90,150p src/a.py"), "x\n" * 60), (edit(), "")]
        for n in range(12)
    ]
    found = table(*sessions)
    replayer = ReachReplayer(found, Extents(TOOLS))  # no directory: paths stay as they are printed
    tool, args = sh("grep -rn new .")
    for text, number in (("src/b.py:5:x", 1), ("-rf.py:5:x", 0)):
        replayer.observe(step(0, tool, args), Result(text))
        lookups = []
        while lookup := replayer.propose():
            lookups.append(lookup)
        assert len(lookups) == number, text


def test_of_two_files_of_one_name_the_one_that_was_printed_first_is_read() -> None:
    (lookup,) = proposed(table(*NARROW), (grep("new"), "tests/a.py:5: new"))
    assert lookup.args["file_path"] == "/repo/tests/a.py"


def test_after_a_search_with_a_thousand_matches_nothing_is_read_when_nobody_did() -> None:
    many = "\n".join(f"src/f{n}.py:{n}: x" for n in range(1, 1001))
    idle: list[Calls] = [[(grep(f"w{n}"), many), (edit(), "")] for n in range(30)]
    found = table(*NARROW, *idle)
    assert proposed(found, (grep("new"), many)) == []
    assert len(proposed(found, (grep("new"), "src/b.py:3: new"))) == 1


def test_the_end_of_a_file_of_100_000_lines_is_read_around_the_match_and_never_whole() -> None:
    (lookup,) = proposed(table(*NARROW), (grep("new"), "gen/big.py:99990: new"))
    assert lookup.args == {"file_path": "/repo/gen/big.py", "offset": 99980, "limit": 71}


def test_what_is_known_since_the_last_write_is_not_read_again_and_after_a_write_it_is() -> None:
    found = table(*NARROW)
    search = (grep("new"), "src/b.py:100: new")
    around = (read("/repo/src/b.py", 95, 30), "x")
    assert len(proposed(found, search)) == 1
    assert proposed(found, around, search) == []
    assert proposed(found, search, search) == []
    assert len(proposed(found, around, (edit(), ""), search)) == 1


def test_what_a_read_file_quotes_of_another_tools_output_is_no_match() -> None:
    found = table(*NARROW)
    assert proposed(found, (read("/repo/log.txt"), "src/b.py:100: new")) == []


def test_a_result_that_the_host_has_cut_offers_no_torn_line() -> None:
    replayer = ReachReplayer(table(*NARROW), Extents(TOOLS, ROOT))
    tool, args = grep("new")
    replayer.observe(step(0, tool, args), Result("src/b.py:1", cut=True))
    assert replayer.propose() is None


def test_a_failed_search_is_another_site() -> None:
    assert proposed(table(*NARROW), (grep("new"), "src/b.py:100: new"), ok=False) == []


def test_of_one_file_one_range_is_read_for_one_result() -> None:
    both: list[Calls] = [
        [
            (grep(f"q{n}"), "src/a.py:100: x\nsrc/a.py:400: x"),
            (read("/repo/src/a.py", 90, 60), "x\n" * 60),
            (read("/repo/src/a.py", 390, 60), "x\n" * 60),
            (edit(), ""),
        ]
        for n in range(12)
    ]
    lookups = proposed(table(*both), (grep("new"), "src/b.py:100: x\nsrc/b.py:400: x"))
    assert len([lookup for lookup in lookups if lookup.args["file_path"] == "/repo/src/b.py"]) == 1


def test_records_are_looked_up_by_where_their_ids_stood() -> None:
    sessions: list[Calls] = [
        [
            (("mcp__shop__get_user", {"id": f"u{n}"}), f'{{"orders": ["W{n}", "V{n}"]}}'),
            (("mcp__shop__get_order", {"order_id": f"W{n}"}), "{}"),
            (("mcp__shop__cancel", {"order_id": f"W{n}"}), "ok"),
        ]
        for n in range(12)
    ]
    tools = TOOLS
    tools.allow("mcp__shop__get_user", "mcp__shop__get_order")
    lookups = proposed(table(*sessions), (("mcp__shop__get_user", {"id": "u99"}), '{"orders": ["W99", "V99"]}'))
    assert [(lookup.tool, lookup.args) for lookup in lookups] == [("mcp__shop__get_order", {"order_id": "W99"})]


def test_by_tokens_the_same_lookup_pays_late_in_a_session_and_not_at_its_start() -> None:
    found = table(*NARROW, threshold=None)
    search = (grep("new"), "src/b.py:100: new")
    long = (read("/repo/other.py"), "x" * 40_000)
    assert proposed(found, search) == []
    assert len(proposed(found, long, search)) == 1


def test_a_lookup_that_was_used_is_counted_for_its_site_when_the_agent_did_not_ask_again() -> None:
    extents = Extents(TOOLS, ROOT)
    student = ReachStudent(ReachLearner(extents))
    replayer = ReachReplayer(table(*NARROW), extents, student)
    search, change = step(0, *grep("new")), step(1, *edit("/repo/src/b.py"))
    found = Result("src/b.py:100: new")
    replayer.observe(search, found)
    student.observe(search, found)
    lookup = replayer.propose()
    assert lookup is not None
    replayer.settle(lookup, Result("…"))
    replayer.settled(lookup, used=True)
    student.observe(change, Result(""))
    counts = student.close()
    (target,) = [key for key in counts.reached if '"around":"line"' in key]
    assert counts.total(target, "search | lines of one file") == 1

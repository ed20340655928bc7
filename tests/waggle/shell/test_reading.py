"""A read-only command as form, values and what it shows; and back, with other values, to a command that is as safe."""

from __future__ import annotations

import re
import string
import subprocess
import sys
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.waggle.shell.generated import commands, from_the_table, seeded
from tests.waggle.shell.test_grammar import recorded_commands
from waggle.shell import Piece, Script, judge, parse, reading, written
from waggle.shell.commands import COMMANDS
from waggle.shell.git import _SUBCOMMANDS
from waggle.shell.syntax import LENGTH_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.shell import Reading


def read(command: str) -> Reading:
    found = reading(command)
    assert found is not None, command
    return found


def parsed(command: str) -> Script:
    script = parse(command)
    assert isinstance(script, Script), command
    return script


def lines(path: str, first: int = 1, last: float = inf, *, numbered: bool = False) -> Piece:
    return Piece("lines", path, first, last, numbered)


def search(path: str = "") -> Piece:
    return Piece("search", path)


FORMS: dict[str, tuple[str, JsonObject]] = {
    "cat a b": ("cat {path} {path2}", {"path": "a", "path2": "b"}),
    "cat  'my file'  # look": ("cat {path}", {"path": "my file"}),
    "cat - a": ("cat - {path}", {"path": "a"}),
    "nl -ba f | sed -n '60,80p'": ("nl -ba {path} | sed -n {first},{last}p", {"path": "f", "first": 60, "last": 80}),
    "sed -n '10p' f": ("sed -n {first}p {path}", {"first": 10, "path": "f"}),
    "sed -n '10,+5p' f": ("sed -n {first},+{count}p {path}", {"first": 10, "count": 5, "path": "f"}),
    "sed -n '10,$p' f": ("sed -n '{first},$p' {path}", {"first": 10, "path": "f"}),
    "sed -n '1,5p;10,20p' f": (
        "sed -n '{first},{last}p;{first2},{last2}p' {path}",
        {"first": 1, "last": 5, "first2": 10, "last2": 20, "path": "f"},
    ),
    "sed -n -e 1,2p -e 5p f": (
        "sed -n -e {first},{last}p -e {first2}p {path}",
        {"first": 1, "last": 2, "first2": 5, "path": "f"},
    ),
    "sed -n 007,9p f": ("sed -n 007,{last}p {path}", {"last": 9, "path": "f"}),
    "sed 's/a 1/b/' f": ("sed 's/a 1/b/' {path}", {"path": "f"}),
    "awk 'NR>=10 && NR<=20' f": ("awk 'NR>={first} && NR<={last}' {path}", {"first": 10, "last": 20, "path": "f"}),
    "awk 'NR<5{print}' f": ("awk 'NR<{last}{print}' {path}", {"last": 5, "path": "f"}),
    "awk '/x/' v=1 f": ("awk /x/ v=1 {path}", {"path": "f"}),
    "head -n 50 f": ("head -n {count} {path}", {"count": 50, "path": "f"}),
    "head -50 f": ("head -{count} {path}", {"count": 50, "path": "f"}),
    "head --lines=050 f": ("head --lines=050 {path}", {"path": "f"}),
    "tail -n +100 f": ("tail -n +{first} {path}", {"first": 100, "path": "f"}),
    "tail -n+100 f": ("tail -n+{first} {path}", {"first": 100, "path": "f"}),
    "tail -20 f": ("tail -{count} {path}", {"count": 20, "path": "f"}),
    "cd /src && grep -rn 'a b' lib --include='*.py' | head -20": (
        "cd {dir} && grep -rn {pattern} {path} '--include=*.py' | head -{count}",
        {"dir": "/src", "pattern": "a b", "path": "lib", "count": 20},
    ),
    "grep -nA5 -B 2 --context=3 -m1 -e -x -e y f": (
        "grep -nA{after} -B {before} --context={context} -m{count} -e {pattern} -e {pattern2} {path}",
        {"after": 5, "before": 2, "context": 3, "count": 1, "pattern": "-x", "pattern2": "y", "path": "f"},
    ),
    "grep -e A5 -A5 -5 f": (
        "grep -e {pattern} -A{after} -{context} {path}",
        {"pattern": "A5", "after": 5, "context": 5, "path": "f"},
    ),
    "grep -ex f": ("grep -ex {path}", {"path": "f"}),
    "grep -f words f": ("grep -f words {path}", {"path": "f"}),
    "rg --files src": ("rg --files {path}", {"path": "src"}),
    "git grep -n foo HEAD -- a": ("git grep -n {pattern} HEAD -- {path}", {"pattern": "foo", "path": "a"}),
    "git -C x log -5 -U3 main -- a.py": (
        "git -C x log -{count} -U{context} main -- {path}",
        {"count": 5, "context": 3, "path": "a.py"},
    ),
    "git diff HEAD~2": ("git diff HEAD~2", {}),
    "find src ! -name '*.py' -maxdepth 2 \\( -path x \\)": (
        "find {path} '!' -name {name} -maxdepth {depth} '(' -path {name2} ')'",
        {"path": "src", "name": "*.py", "depth": 2, "name2": "x"},
    ),
    "find . -exec grep -n foo {} + -quit": (
        "find {path} -exec grep -n {pattern} {} + -quit",
        {"path": ".", "pattern": "foo"},
    ),
    "timeout 5 timeout 4 cat a": ("timeout 5 timeout 4 cat {path}", {"path": "a"}),
    "find . | xargs -I% grep -n 'a b' % c": (
        "find {path} | xargs -I% grep -n {pattern} % {path2}",
        {"path": ".", "pattern": "a b", "path2": "c"},
    ),
    "cd -": ("cd -", {}),
    "tree -L 2 --filelimit=9": ("tree -L {depth} --filelimit={filelimit}", {"depth": 2, "filelimit": 9}),
    "ls x 2>/dev/null||echo 'no x';pwd|&cat": (
        "ls {path} 2>/dev/null || echo 'no x'; pwd 2>&1 | cat",
        {"path": "x"},
    ),
    "wc -l < 'my file'": ("wc -l <'my file'", {}),
    "wc -l < '{path}'": ("wc -l <{text}", {"text": "{path}"}),
    "echo '{path}' '{text}' {} {0}": ("echo {text} {text2} {} '{0}'", {"text": "{path}", "text2": "{text}"}),
    "cat '{first}'": ("cat {path}", {"path": "{first}"}),
    "ls *.py src/?": ("ls *.py src/?", {}),
    "ls ~ ~/src": ("ls ~ ~/src", {}),
}


@pytest.mark.parametrize("command", FORMS)
def test_form_holds_the_values_by_their_names(command: str) -> None:
    form, args = FORMS[command]
    found = read(command)
    assert (found.form, found.args, list(found.args)) == (form, args, list(args))


SHOWN: dict[str, list[Piece]] = {
    "cat f": [lines("f")],
    "cat a b": [lines("a"), lines("b")],
    "cat -n f": [lines("f", numbered=True)],
    "nl -ba f": [lines("f", numbered=True)],
    "nl --body-numbering=a -w4 f": [lines("f", numbered=True)],
    "grep -n '' f": [lines("f", numbered=True)],
    "head -n 50 f": [lines("f", 1, 50)],
    "head -50 f": [lines("f", 1, 50)],
    "head f g": [lines("f", 1, 10), lines("g", 1, 10)],
    "tail -n +100 f": [lines("f", 100)],
    "sed -n '10,20p' f": [lines("f", 10, 20)],
    "sed -n '10p' f": [lines("f", 10, 10)],
    "sed -n '10,+5p' f": [lines("f", 10, 15)],
    "sed -n '10,$p' f": [lines("f", 10)],
    "sed -n '20,10p' f": [lines("f", 20, 20)],
    "sed -n '10,20p;1,5p' f": [lines("f", 1, 5), lines("f", 10, 20)],
    "awk 'NR>=10 && NR<=20' f": [lines("f", 10, 20)],
    "awk 'NR>9&&NR<21{print}' f": [lines("f", 10, 20)],
    "awk 'NR==10,NR==20 {print $0}' f": [lines("f", 10, 20)],
    "awk 'NR==7' f": [lines("f", 7, 7)],
    "awk 'NR>=10 && NR<=20 {print NR\": \"$0}' f": [lines("f", 10, 20, numbered=True)],
    "cat f | head -50": [lines("f", 1, 50)],
    "cat f 2>&1 | cat": [lines("f")],
    "nl -ba f | sed -n '60,80p'": [lines("f", 60, 80, numbered=True)],
    "cat -n f | sed -n '1,20p' | head -5": [lines("f", 1, 5, numbered=True)],
    "sed -n '10,500p' f | head -100": [lines("f", 10, 109)],
    "tail -n +100 f | head -50": [lines("f", 100, 149)],
    "head -50 f | tail -n +20": [lines("f", 20, 50)],
    "sed -n '1,5p;10,20p' f | head -8": [lines("f", 1, 5), lines("f", 10, 12)],
    "sed -n '1,5p;10,20p' f | sed -n '3,4p;6,9p'": [lines("f", 3, 4), lines("f", 10, 13)],
    "timeout 5 cat f | head -3": [lines("f", 1, 3)],
    # where
    "cd /src && cat lib/../a ./b /c": [lines("/src/a"), lines("/src/b"), lines("/c")],
    "cd a; cd b && ls; cat ../x": [Piece("list", "a/b"), lines("a/x")],
    "cd ..\ngrep -rn x": [search("..")],
    "git -C a -C b status": [Piece("status", "a/b")],
    # searches
    "grep -n x f": [search("f")],
    "grep -n x f g": [search()],
    "grep -rn x .": [search()],
    "rg x": [search()],
    "git grep x -- src": [search("src")],
    "find src -name '*.py' -exec grep -l x {} +": [search("src")],
    "find src -name '*.py' | xargs grep -l x | head": [search("src")],
    "grep -rn x src | grep -v y | wc -l": [search("src")],
    "cat f | grep x | head -5": [search("f")],
    "nl -ba f | grep -A 3 x": [search("f")],
    # lists and states
    "ls": [Piece("list", "")],
    "ls -la src/ | head -5": [Piece("list", "src")],
    "find src -name '*.py' | head": [Piece("list", "src")],
    "rg --files src": [Piece("list", "src")],
    "git ls-files src": [Piece("list", "src")],
    "tree -L 2": [Piece("list", "")],
    "git status && git diff -- a; git log | head -5": [
        Piece("status", ""),
        Piece("status", "a"),
        Piece("status", ""),
    ],
    "wc -l f": [Piece("status", "f")],
    # scripts
    "echo '--- a'; cat a; printf '\\n' && cat b 2>/dev/null": [lines("a"), lines("b")],
    "cat a || echo 'no a'": [lines("a")],
    "ls build 2>/dev/null || true": [Piece("list", "build")],
}


@pytest.mark.parametrize("command", SHOWN)
def test_what_is_shown_is_told(command: str) -> None:
    assert list(read(command).pieces) == SHOWN[command]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("tail -n 20 f", id="the-last-lines-have-no-known-numbers"),
        pytest.param("head -50 f | tail -20", id="nor-have-they-in-a-pipe"),
        pytest.param("head -n -5 f", id="all-but-the-last"),
        pytest.param("head -c 50 f", id="bytes"),
        pytest.param("nl f", id="only-some-lines-numbered"),
        pytest.param("nl -ba -v 5 f", id="numbered-from-elsewhere"),
        pytest.param("nl -ba a b", id="numbered-through-several-files"),
        pytest.param("cat -A f", id="characters-replaced"),
        pytest.param("sed -n '10,20p' a b", id="one-count-for-several-files"),
        pytest.param("sed -n '1,10p;5p' f", id="a-line-twice"),
        pytest.param("sed '10,20p' f", id="sed-that-prints-all"),
        pytest.param("sed -n '/a/,5p' f", id="range-by-pattern"),
        pytest.param("sed -n 0,5p f", id="no-such-line"),
        pytest.param("awk 'NR>=20 && NR<=10' f", id="no-line"),
        pytest.param("awk 'NR==20,NR==10' f", id="range-that-does-not-end-there"),
        pytest.param("awk 'NR==5\n{print}' f", id="two-awk-rules"),
        pytest.param("awk '/x/' f", id="awk-by-pattern"),
        pytest.param("cat a b | head -5", id="length-of-the-first-file-unknown"),
        pytest.param("head -3 a a | tail -n +2", id="headings-between-files"),
        pytest.param("sed -n 5,9p f | cat -n", id="numbers-of-the-pipe"),
        pytest.param("cat f | sort", id="sorted"),
        pytest.param("cat f | wc -l", id="counted"),
        pytest.param("ls | grep x", id="list-searched"),
        pytest.param("cat a | cat b", id="second-member-reads-a-file"),
        pytest.param("cat", id="what-is-typed"),
        pytest.param("cat -", id="standard-input"),
        pytest.param("grep x", id="search-in-what-is-typed"),
        pytest.param("cat < f", id="input-redirected"),
        pytest.param("cat f > /dev/null", id="output-thrown-away"),
        pytest.param("cat f >&2", id="output-elsewhere"),
        pytest.param("cat *.py", id="names-only-the-shell-knows"),
        pytest.param("cat '' f", id="no-name"),
        pytest.param("cd && ls", id="home"),
        pytest.param("cd - && ls", id="back"),
        pytest.param("cd ~/x && ls", id="folder-only-the-shell-knows"),
        pytest.param("cd a | ls", id="cd-in-a-pipeline"),
        pytest.param("ls a || cd b; ls", id="cd-that-may-not-run"),
        pytest.param("grep x f && cd b; cat g", id="cd-behind-what-may-fail"),
        pytest.param("cat a || cat b", id="alternative-that-may-not-run"),
        pytest.param("cat f; date", id="one-part-not-understood"),
        pytest.param("find . -exec cat {} +", id="find-runs-something-else"),
    ],
)
def test_what_is_not_surely_understood_shows_nothing(command: str) -> None:
    assert read(command).pieces == ()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("rm a", id="a-write"),
        pytest.param("cat 'a", id="not-parsed"),
        pytest.param("cat $(rm a)", id="substitution"),
        pytest.param("", id="nothing"),
        pytest.param(f"cat {'a' * LENGTH_LIMIT}", id="too-long"),
        pytest.param('cat "$HOME/x"', id="quotes-of-a-variable-unknown"),
        pytest.param("ls '*'*", id="quotes-of-a-star-unknown"),
        pytest.param("ls '='*", id="quote-that-matters"),
        pytest.param("ls {a,b}", id="list"),
        pytest.param("echo " + "\\'" * 2000, id="too-long-when-quoted"),
        pytest.param("[ -f a ] |& cat", id="both-streams-of-a-condition"),
    ],
)
def test_what_cannot_be_written_again_has_no_reading(command: str) -> None:
    assert reading(command) is None


def check_round_trip(command: str) -> Reading | None:
    """Read a command: what has a reading must come back the same, and what does not read must have none."""
    found = reading(command)
    if found is not None:
        assert judge(command).reads, command
        again = written(found.form, found.args)
        assert parse(again) == parse(command)
        assert reading(again) == found
    return found


def readings(texts: Iterable[str]) -> tuple[list[Reading], int]:
    """The readings of those that have one, and how many of them read at all."""
    found = [(check_round_trip(text), judge(text).reads) for text in texts]
    return [each for each, _ in found if each], sum(reads for _, reads in found)


def test_every_shipped_read_comes_back_and_nearly_all_have_a_reading() -> None:
    found, reads = readings(set(recorded_commands(ROOT / "examples" / "sessions")))
    assert len(found) > 0.98 * reads > 500


def test_every_recorded_read_comes_back_and_nearly_all_have_a_reading(shared_traces: Path) -> None:
    """Of 10,500 different reads, 14 have none, and 94 % of the rest show something known."""
    found, reads = readings(set(recorded_commands(shared_traces)))
    assert len(found) > 0.99 * reads > 9_000
    assert sum(bool(each.pieces) for each in found) > 0.9 * len(found)


def test_generated_reads_come_back() -> None:
    found, reads = readings(commands(seed=20, count=6_000))
    assert len(found) > 0.8 * reads > 500


def test_reads_with_any_listed_options_come_back() -> None:
    """Also the rare ones, attached and apart: an option's number is found in the word that it stands in."""
    choice = seeded(21)
    rows = [(name, each.options) for name, each in COMMANDS.items() if each.options]
    rows += [(f"git {name}", options) for name, (options, _) in _SUBCOMMANDS.items()]
    texts = [from_the_table(choice, *row) for row in rows for _ in range(40)]
    found, reads = readings(texts)
    assert len(found) == reads > 1_000


#: Values that mean something to a shell or a tool come up often.
VALUES = (
    st.sampled_from(["-rf", "--", "-", "-e", "--include=x", "$(rm a)", "`rm a`", "a'b", 'a"b', "a\nb", "a b", "*", "~"])
    | st.sampled_from(["~/x", "", "{}", "(", "!", ")", ",", "-delete", "-exec", ";", "{path}", "{print}", "x=1", "5"])
    | st.sampled_from(["07", "a;b", "|", "#a", "!!", "a~b", "=a", "a=~", "a:~b", "/inet/tcp/0/h/1", "/dev/tcp/h/1"])
    | st.sampled_from(["+5", "[", "]", "^a", "%", "\\", "é", "if", "a\\"])
    | st.text(st.sampled_from(string.punctuation + " \n\tab01"), max_size=8)
    | st.text(st.characters(codec="utf-8"), max_size=6)
)
NUMBERS = st.integers(0, 10**6) | st.integers(0, 10**30)
COMMANDS_WITH_SLOTS = sorted({*FORMS, *SHOWN, "grep -- x f", "cat -- f", "rg -e x f", "head -n 3 -- f"})


def slots_of(found: Reading) -> dict[str, tuple[int, int, int]]:
    """Where each text slot's word stands: pipeline, command, word. Found by what changes with another value."""
    before = words_of(written(found.form, found.args))
    places = {}
    for name, value in found.args.items():
        if isinstance(value, str):
            other = "{sentinel}" if name.startswith("text") else "sentinel"  # a text slot holds what looks like a slot
            after = words_of(written(found.form, {**found.args, name: other}))
            changed = [key for key, text in after.items() if before[key] != text]
            if not changed and name.startswith("text"):  # it is where input comes from, and no word
                continue
            (place,) = changed
            assert (before[place], after[place]) == (value, other)
            places[name] = place
    return places


def words_of(command: str) -> dict[tuple[int, int, int], str]:
    return {
        (line, member, place): word.text
        for line, pipeline in enumerate(parsed(command).pipelines)
        for member, each in enumerate(pipeline)
        for place, word in enumerate(each.argv)
    }


def digits_out(text: str) -> str:
    return re.sub(r"[0-9]+", "0", text)


def test_a_text_that_looks_like_another_slot_takes_its_own_place_alone() -> None:
    found = read("echo '{path}' '{text}' {}")
    assert written(found.form, {**found.args, "text2": "{path}"}) == "echo '{path}' '{path}' {}"


@pytest.mark.case("HC-16")
@given(st.sampled_from(COMMANDS_WITH_SLOTS), st.data())
def test_other_values_are_refused_or_stand_alone_in_their_place(command: str, data: st.DataObject) -> None:
    found = read(command)
    places = slots_of(found)
    args: JsonObject = {
        name: data.draw(NUMBERS if isinstance(value, int) else VALUES, label=name)
        if (isinstance(value, int) or name in places) and data.draw(st.booleans())
        else value
        for name, value in found.args.items()
    }
    try:
        made = written(found.form, args)
    except ValueError:
        return
    assert judge(made).reads
    before, after = words_of(command), words_of(made)
    assert before.keys() == after.keys()
    for name, place in places.items():
        assert after[place] == args[name]
    for key in before.keys() - places.values():
        assert digits_out(before[key]) == digits_out(after[key])
    assert read(made).args == args
    assert [each.redirections for line in parsed(made).pipelines for each in line] == [
        each.redirections for line in parsed(command).pipelines for each in line
    ]
    assert parsed(made).connectors == parsed(command).connectors


@given(
    st.sampled_from(["cat f", "cat -- f", "grep x f", "grep -e x f", "find f -name x", "cd f", "sed -n 1p f"]), VALUES
)
def test_an_ordinary_value_is_never_refused(command: str, value: str) -> None:
    assume(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", value))
    assume(value[:1] not in ("-", "(", ")", "!", ",") or "--" in command)
    assume(value != "-")
    found = read(command)
    (name,) = {"path", "dir"} & found.args.keys()
    assert read(written(found.form, {**found.args, name: value})).args[name] == value


@given(st.lists(st.sampled_from([*"{}abpt12_ '\"$*", "{path}", "{first}", "{text}", "{print}"]), max_size=8))
def test_text_that_looks_like_a_slot_is_not_taken_for_one(parts: list[str]) -> None:
    text = "".join(parts)
    quoted = "'" + text.replace("'", "'\\''") + "'"
    for command in (f"echo {quoted} x", f"cat < ./{quoted}", f"awk /x/ {quoted}", f"grep --include={quoted} x f"):
        assert bool(check_round_trip(command)) == judge(command).reads


@pytest.mark.parametrize(
    ("command", "args"),
    [
        pytest.param("grep x f", {"pattern": "-rf", "path": "f"}, id="pattern-like-an-option"),
        pytest.param("cat f", {"path": "-n"}, id="path-like-an-option"),
        pytest.param("cat f", {"path": "-"}, id="path-that-is-standard-input"),
        pytest.param("find f -name x", {"path": "-delete", "name": "x"}, id="path-like-a-test"),
        pytest.param("find f -name x", {"path": "(", "name": "x"}, id="path-like-a-parenthesis"),
        pytest.param("find f -name x", {"path": "!", "name": "x"}, id="path-like-a-negation"),
        pytest.param("find f -name x", {"path": "f", "name": "-delete"}, id="name-like-a-test"),
        pytest.param("awk '/x/' f", {"path": "NR=3"}, id="path-that-assigns"),
        pytest.param("cat f", {"path": "a\0b"}, id="nul"),
        pytest.param("cat f", {"path": "a\x1bb"}, id="control-character"),
        pytest.param("cat f", {"path": "a" * LENGTH_LIMIT}, id="too-long"),
        pytest.param("cat f", {}, id="missing"),
        pytest.param("cat f", {"path": "f", "path2": "g"}, id="unknown"),
        pytest.param("cat f", {"path": 5}, id="number-for-a-text"),
        pytest.param("cat f", {"path": None}, id="nothing-for-a-text"),
        pytest.param("cat f", {"path": ["f"]}, id="list-for-a-text"),
        pytest.param("head -5 f", {"count": "5", "path": "f"}, id="text-for-a-number"),
        pytest.param("head -5 f", {"count": -5, "path": "f"}, id="below-0"),
        pytest.param("head -1 f", {"count": True, "path": "f"}, id="true-for-1"),
        pytest.param("head -5 f", {"count": 5.0, "path": "f"}, id="float"),
        pytest.param("head -5 f", {"count": 10**5000, "path": "f"}, id="endless-number"),
        pytest.param("sed -n '5,$p' f", {"first": "1p' a; rm b; echo '", "path": "f"}, id="out-of-the-quotes"),
        pytest.param("echo '{path}'", {"text": "plain"}, id="literal-no-more"),
    ],
)
def test_unfit_values_are_refused(command: str, args: dict[str, JsonValue]) -> None:
    with pytest.raises(ValueError, match=r"."):
        written(read(command).form, args)


@pytest.mark.parametrize("form", ["rm {path}", "cat {path} > b", "cat {path}; rm b", "cat  {path}", "cat f"])
def test_a_form_that_no_read_has_is_refused(form: str) -> None:
    """Forms come from files that people edit: what is no form of a read never becomes a command."""
    with pytest.raises(ValueError, match="do not make"):
        written(form, {"path": "f"})


def test_values_may_come_from_any_mapping() -> None:
    assert written("head -{count} {path}", MappingProxyType({"count": 7, "path": "a b"})) == "head -7 'a b'"


def test_a_written_command_has_quotes_only_where_it_needs_them() -> None:
    assert written("grep -n {pattern} {path}", {"pattern": "def f", "path": "src/a.py"}) == "grep -n 'def f' src/a.py"


def test_deep_nesting_is_read_without_recursion() -> None:
    command = "timeout 5 " * 400 + "cat f"
    assert read(command).pieces == (lines("f"),)
    assert check_round_trip(command)


def test_the_function_is_not_hidden_by_its_module() -> None:
    """They have one name: importing the module for another of its names must not put it in the function's place."""
    code = (
        "from waggle.shell import Piece; from waggle.shell import quote, reading; print(reading('ls').form, quote('a'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "ls 'a'\n"

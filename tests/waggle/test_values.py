from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects, json_values, texts
from waggle import jsonvalue
from waggle._defaults import CONTENT_CHARS
from waggle.calls import Result, Step
from waggle.named import NamedFile, files_in
from waggle.traces import cut_text, read_traces
from waggle.transforms import TRANSFORMS, Transform
from waggle.values import Content, Place, ValueIndex, apply, origins_in, read_path, read_result, show_path

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonObject, JsonValue


def named(text: str) -> dict[str, tuple[int, ...]]:
    return {file.path: file.lines for file in files_in(text)}


def content(text: str = "", **args: JsonValue) -> Content:
    return Content(args, Result(text))


def same(one: JsonValue, other: JsonValue) -> bool:
    return type(one) is type(other) and jsonvalue.canonical(one) == jsonvalue.canonical(other)


def leaves(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list) else [value]


# --- paths ------------------------------------------------------------------------------------------------------


@given(st.lists(texts() | st.from_regex(r"[a-z]{1,5}", fullmatch=True) | st.integers(0, 10**30)).map(tuple))
def test_a_path_reads_back_as_it_was_written(path: tuple[str | int, ...]) -> None:
    assert read_path(show_path(path)) == path


@pytest.mark.parametrize("text", ["a", ".", "..a", "[x]", "[-1]", "[01]", '["a]', r'["\q"]', '["a\n"]', ".a ", "[1]]"])
def test_a_wrong_path_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        read_path(text)


# --- results ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("/n/a.md\n/n/b.md\n", ["/n/a.md", "/n/b.md"], id="lines"),
        pytest.param("  a \r\n\n\t\n b", ["a", "b"], id="trimmed-without-empty-ones"),
        pytest.param("user_7", "user_7", id="one-line"),
        pytest.param("\n user 7 \n", "\n user 7 \n", id="one-line-is-the-whole-text"),
        pytest.param("", "", id="nothing"),
        pytest.param("12345", 12345, id="number"),
        pytest.param(' {"a": [1]}\n', {"a": [1]}, id="object"),
        pytest.param('"a"', "a", id="string"),
        pytest.param("NaN\nx", ["NaN", "x"], id="no-json"),
        pytest.param("[1] first\n[2] second", ["[1] first", "[2] second"], id="begins-like-json"),
        pytest.param("a\u2028b\nc", ["a\u2028b", "c"], id="a-line-ends-at-a-line-feed"),
        pytest.param("[" * 5000, "[" * 5000, id="nested-too-deeply"),
    ],
)
def test_a_text_is_read_as_json_or_else_as_lines(text: str, value: JsonValue) -> None:
    assert same(content(text).result, value)


def test_the_structured_answer_comes_before_the_text() -> None:
    assert Content({}, Result("[1]", value={"a": 2})).result == {"a": 2}


def test_a_failed_result_offers_no_values_but_the_files_its_text_names() -> None:
    failed = Content({}, Result("src/main.go:12:5: undefined: x\nuser_7\n", ok=False))
    assert failed.result is None
    assert failed.places("user_7") == []
    assert failed.files == (NamedFile("src/main.go", (12,)),)


@pytest.mark.parametrize("tail", ["src/long/na", "src/long/na\n[... 70 more characters cut from this trace ...]"])
def test_a_result_that_the_host_cut_offers_no_torn_line(tail: str) -> None:
    cut = Content({}, Result(f"src/a.py\nsrc/b.py\nsrc/c.py\n{tail}", cut=True))
    assert cut.result in (["src/a.py", "src/b.py"], ["src/a.py", "src/b.py", "src/c.py"])
    assert {file.path for file in cut.files} <= {"src/a.py", "src/b.py", "src/c.py"}


def test_a_cut_number_is_no_number() -> None:
    assert Content({}, Result("12345", cut=True)).result == []
    assert Content({}, Result(cut_text("12345" * 9, 7), cut=True)).result == []


def test_nothing_is_read_beyond_the_bound_and_no_line_is_torn_by_it() -> None:
    """A generated file of 100,000 lines."""
    lines = [f"value_{number:06}" for number in range(100_000)]
    long = content("\n".join(lines))
    assert long.result == lines[: CONTENT_CHARS // 13]
    assert len(long.text) <= CONTENT_CHARS
    assert content("x" * 2 * CONTENT_CHARS).result == []
    assert Content({}, Result("a\nb", value=["y" * CONTENT_CHARS])).result == ["a", "b"]


# --- places -----------------------------------------------------------------------------------------------------


def test_all_places_of_a_value_are_given_arguments_first_then_in_document_order() -> None:
    both = content('{"z": ["v"], "b": {"c": "v", "a": "v"}, "a": "v"}', y="v", x="v")
    assert list(map(str, both.places("v"))) == [
        "args.x",
        "args.y",
        "result.a",
        "result.b.a",
        "result.b.c",
        "result.z[0]",
    ]


def test_equal_results_have_equal_places_whatever_the_order_of_their_keys() -> None:
    assert content('{"a": 1, "b": 1}').places(1) == content('{"b": 1, "a": 1}').places(1)


def test_numbers_texts_and_flags_are_never_taken_for_each_other() -> None:
    one = content('{"int": 1, "float": 1.0, "text": "1", "flag": true, "zero": 0.0, "minus": -0.0}')
    assert [list(map(str, one.places(value))) for value in (1, 1.0, "1", True, 0.0, -0.0)] == [
        ["result.int"],
        ["result.float"],
        ["result.text"],
        [],
        ["result.zero"],
        ["result.minus"],
    ]


@pytest.mark.parametrize("value", [None, True, False, "", [], {}, ["a"], {"a": "b"}])
def test_what_identifies_nothing_has_no_origin(value: JsonValue) -> None:
    index = ValueIndex()
    index.add(Step(0, "t", {"a": value, "b": [value]}), Result(value={"c": value}))
    assert index.origins(value) == []


@pytest.mark.parametrize(
    "place",
    [
        Place("args", ("b",)),
        Place("args", (0,)),
        Place("result", (2,)),
        Place("result", (-1,)),
        Place("result", (0, "x")),
        Place("files", (0,)),
        Place("files", (-1, "path")),
        Place("files", (0, "lines", 1)),
        Place("files", (0, "lines", -1)),
        Place("files", (7, "path")),
    ],
    ids=str,
)
def test_where_there_is_no_value_there_is_none(place: Place) -> None:
    assert content("a.py:1:x\nb", a="v").at(place) is None


# --- origins ----------------------------------------------------------------------------------------------------


def results() -> st.SearchStrategy[Result]:
    lines = st.lists(_WORDS | st.sampled_from(["src/a.py:12:x", "12:x", "./a b/c d.py", "-7", "1.5"]), max_size=5)
    text = lines.map("\n".join) | json_values().map(lambda value: jsonvalue.dumps(value).decode()) | texts()
    return st.builds(Result, text) | st.builds(lambda value: Result(value=value), json_values())


_WORDS = st.from_regex(r"[A-Za-z0-9_./: -]{1,12}", fullmatch=True)
_CHANGES = [Transform(), *map(Transform, TRANSFORMS)]
_CHANGES += [Transform("affix", "/repo/", ""), Transform("affix", "", "_test.py"), Transform("affix", "<", ">")]


@given(json_objects() | st.dictionaries(_WORDS, _WORDS, max_size=3), results(), st.data())
def test_every_origin_of_a_value_gives_exactly_that_value(
    args: JsonObject, result: Result, data: st.DataObject
) -> None:
    """A binding never invents a value: copies, and everything that a transform makes of what is there."""
    index = ValueIndex()
    there = index.add(Step(0, "t", args), result)
    values = [*leaves(dict(args)), *leaves(there.result), *(file.path for file in there.files), data.draw(_WORDS)]
    source = data.draw(st.sampled_from(values))
    asked = data.draw(st.sampled_from(_CHANGES))(source)
    origins = index.origins(asked)
    for origin in origins:
        assert same(apply(origin.place, origin.transform, there), asked)
    if (
        same(asked, source)
        and not isinstance(asked, (bool, list, dict, type(None)))
        and asked != ""
        and source in values[:-1]
    ):
        assert origins


@pytest.mark.parametrize(
    ("result", "value", "place", "transform"),
    [
        ("src/Main.py", "Main.py", "result", Transform("basename")),
        ("src/Main.py", "src", "result", Transform("dirname")),
        ("src/Main.py", "Main", "result", Transform("stem")),
        ("src/Main.py", ".py", "result", Transform("extension")),
        ("src/Main.py", "src/main.py", "result", Transform("lower")),
        ("user_7", "USER_7", "result", Transform("upper")),
        ('["  x  "]', "x", "result[0]", Transform("strip")),
        ("route: x", "route", "result", Transform("before-colon")),
        ("[17]", "17", "result[0]", Transform("to-text")),
        ("[1.5]", "1.5", "result[0]", Transform("to-text")),
        ('["17"]', 17, "result[0]", Transform("to-number")),
        ('["1.5"]', 1.5, "result[0]", Transform("to-number")),
        ("user_7", "/home/user_7/notes", "result", Transform("affix", "/home/", "/notes")),
        ("a b/c d.py", "/repo/a b/c d.py", "result", Transform("affix", "/repo/", "")),
        ("/a b/c d", "/a b/c d/setup.cfg", "result", Transform("affix", "", "/setup.cfg")),
    ],
)
def test_a_value_that_was_made_of_another_is_found(
    result: str, value: JsonValue, place: str, transform: Transform
) -> None:
    origins = list(origins_in(value, 0, content(result)))
    assert (place, transform) in [(str(origin.place), origin.transform) for origin in origins]


@pytest.mark.parametrize(("result", "value"), [('["007"]', 7), ('["1.50"]', 1.5), ('["-0"]', 0), ("[true]", "True")])
def test_a_text_that_no_number_is_written_as_is_no_number(result: str, value: JsonValue) -> None:
    assert list(origins_in(value, 0, content(result))) == []


def test_where_a_copy_is_no_transform_is_looked_for() -> None:
    both = content('["src/a.py", "a.py"]')
    assert [(str(origin.place), origin.transform.name) for origin in origins_in("a.py", 0, both)] == [
        ("result[1]", "copy")
    ]


def test_a_transform_is_given_for_every_place_of_its_source() -> None:
    both = content('["src/a.py"]', path="src/a.py")
    assert [str(origin.place) for origin in origins_in("a.py", 0, both)][:2] == ["args.path", "result[0]"]


@pytest.mark.parametrize(
    ("transform", "value", "made"),
    [
        (Transform("plus", number=-2), 5, 3),
        (Transform("plus", number=1), True, None),
        (Transform("plus", number=1), "5", None),
        (Transform("inner", "Order ", " made"), "Order 17 made", "17"),
        (Transform("inner", "ab", "ab"), "ab", None),
        (Transform("inner", "ab", "bc"), "abc", None),
        (Transform("inner", "x"), "abc", None),
        (Transform("affix", "Invoice ", ".pdf"), 17, "Invoice 17.pdf"),
        (Transform("affix", "a"), True, None),
        (Transform("to-text"), True, None),
        (Transform("basename"), 7, None),
        (Transform("basename"), "src/", None),
        (Transform("before-colon"), "no colon", None),
    ],
)
def test_outside_its_domain_a_transform_gives_nothing(transform: Transform, value: JsonValue, made: JsonValue) -> None:
    assert same(transform(value), made)


def test_an_unknown_transform_is_refused() -> None:
    with pytest.raises(ValueError, match="no such transform: 'guess'"):
        Transform("guess")


def test_transforms_speak_for_themselves() -> None:
    spoken = [str(Transform("affix", "/repo/")), str(Transform("inner", "a", "b")), str(Transform("plus", number=-3))]
    assert spoken == ["with '/repo/' added", "without 'a' and 'b'", "minus 3"]
    assert str(Transform("stem")) == "its name without extension"


def test_later_calls_come_first_and_those_not_yet_made_are_left_out() -> None:
    index = ValueIndex()
    for seq in range(3):
        index.add(Step(seq, "t", {}), Result("user_7"))
    assert [origin.seq for origin in index.origins("user_7", before=2)] == [1, 0]


def test_an_index_is_bounded_by_calls_and_by_characters() -> None:
    """10,000 calls; one that is too large by itself is not held, and does not drive out the others for long."""
    index = ValueIndex(steps=10, chars=1000)
    for seq in range(10_000):
        index.add(Step(seq, "t", {"id": f"value_{seq}"}), Result("x" * (seq % 200)))
        assert len(index) <= 10
        assert sum(held.size for _, held in index.contents()) <= 1000
    assert index.origins("value_9999")
    assert index.origins("value_9") == []
    index.add(Step(10_000, "t", {}), Result("y" * 5000))
    assert len(index) == 0


def test_an_index_holds_no_text_beyond_the_bound() -> None:
    text = "line\n" * CONTENT_CHARS
    before = sys.getrefcount(text)
    index = ValueIndex()
    index.add(Step(0, "t", {}), Result(text))
    assert sys.getrefcount(text) == before


def test_deep_values_are_walked_without_recursion() -> None:
    deep: JsonValue = "leaf"
    for _ in range(5000):
        deep = [deep]
    place = Content({}, Result(value=deep)).places("leaf")[0]
    assert len(place.path) == 5000


# --- the files that a text names --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "files"),
    [
        pytest.param(
            "src/a.py:12:x = 1\nsrc/b.py:3:y\nsrc/a.py:40:z", {"src/a.py": (12, 40), "src/b.py": (3,)}, id="grep-n"
        ),
        pytest.param("a.py:12\nb/c.go:7\n", {"a.py": (12,), "b/c.go": (7,)}, id="path-and-number"),
        pytest.param("src/a.py:    def f():\nb.py:def g():", {"src/a.py": (), "b.py": ()}, id="grep"),
        pytest.param("12:def f():\n40:    x\n", {"": (12, 40)}, id="grep-n-in-one-file"),
        pytest.param("12-x\n13:y.z = 1\n14-a/b.c\n--\n40:x", {"": (13, 40)}, id="context-in-one-file"),
        pytest.param("./a.py\n./b/c.tar.gz\n/abs/d.py\nMakefile\n.gitignore\nnotes.md\r\nb/.env", None, id="listing"),
        pytest.param("Found 2 files\nsrc/a.py\nsrc/b.py", {"src/a.py": (), "src/b.py": ()}, id="count-in-front"),
        pytest.param(
            "<returncode>0</returncode>\n<output>\nsrc/a.py:12:x\n</output>", {"src/a.py": (12,)}, id="wrapped-output"
        ),
        pytest.param("./a b/c d.py\n./e.py", {"./a b/c d.py": (), "./e.py": ()}, id="blanks-in-a-listing"),
        pytest.param("e.py\na b/c d.py", {"e.py": (), "a b/c d.py": ()}, id="blanks-below-another"),
        pytest.param(
            "My Docs/a.py:12:text\n./x y/b.py:z", {"My Docs/a.py": (12,), "./x y/b.py": ()}, id="blanks-in-a-search"
        ),
        pytest.param(
            "src/a.py-11-x.y = 1\nsrc/a.py-12-  z:\nsrc/b.py:13:hit\n./c d.py-14-from q/x.y\n--\nsrc/a.py:9:hit",
            {"src/b.py": (13,), "src/a.py": (9,)},
            id="context-names-nothing-and-moves-nothing",
        ),
        pytest.param(
            "src/a.py\n12:x\n13-y\n14:z\n\nsrc/b.py\n3:x", {"src/a.py": (12, 14), "src/b.py": (3,)}, id="rg-heading"
        ),
        pytest.param(
            'Traceback (most recent call last):\n  File "/x y/a.py", line 7, in f\n    g()\n  File "<string>", line 1',
            {"/x y/a.py": (7,)},
            id="python-traceback",
        ),
        pytest.param("error[E0425]: no x\n  --> src/main.rs:12:5\n   |\n12 | x", {"src/main.rs": (12,)}, id="rustc"),
        pytest.param(
            "    at f (/r/a.ts:12:5)\n    at /r/b.js:3:1\n    at async Promise.all (index 0)\n"
            "    at g (file:///r/c.mjs:4:2)\n \u276f src/d.test.ts:9:3\n    at node:internal/x:1:2",
            {"/r/a.ts": (12,), "/r/b.js": (3,), "/r/c.mjs": (4,), "src/d.test.ts": (9,)},
            id="node-jest-vitest",
        ),
        pytest.param(
            "./x.go:12:5: undefined: y\n--- FAIL: TestA (0.00s)\n    foo_test.go:31: bad\n    attr_test.go:5: x",
            {"./x.go": (12,), "foo_test.go": (31,), "attr_test.go": (5,)},
            id="go",
        ),
        pytest.param(
            "src/app/[id]/(group)/page.tsx(12,5): error TS2322: x", {"src/app/[id]/(group)/page.tsx": (12,)}, id="tsc"
        ),
        pytest.param(
            "tests/a.py:9: AssertionError\nFAILED tests/b.py::test_x - boom",
            {"tests/a.py": (9,), "tests/b.py": ()},
            id="pytest",
        ),
        pytest.param(
            "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n+++ b/My Docs/y.py\t\n+++ /dev/null",
            {"x.py": (), "My Docs/y.py": ()},
            id="git-diff",
        ),
        pytest.param(
            "On branch main\n\tmodified:   src/a.py\n\trenamed:    b.py -> c d.py\n\tnew.py",
            {"src/a.py": (), "c d.py": (), "new.py": ()},
            id="git-status",
        ),
        pytest.param(
            " M src/a.py\nMM b.py\n?? c.py\n?? dir/\nR  d.py -> e.py\nA\tf.py",
            {"src/a.py": (), "b.py": (), "c.py": (), "e.py": (), "f.py": ()},
            id="git-status-short",
        ),
        pytest.param(
            " src/a.py | 12 ++--\n .../deep/b.py | 2 +\n img.png | Bin 0 -> 9 bytes\n 3 files changed",
            {"src/a.py": (), "img.png": ()},
            id="git-stat",
        ),
        pytest.param("\x1b[35ma.py\x1b[0m:\x1b[32m12\x1b[0m:x", {"a.py": (12,)}, id="colours"),
        pytest.param(
            "Makefile:3:all:\nmise/lint/check:4:x", {"Makefile": (3,), "mise/lint/check": (4,)}, id="no-extension"
        ),
        pytest.param(
            "/mod/git@v6.0.0-20260324-77ab/x.go:47:y",
            {"/mod/git@v6.0.0-20260324-77ab/x.go": (47,)},
            id="version-in-the-path",
        ),
        pytest.param(
            "a/b.go:26\nc.go:7\n\nFound 33 total occurrences across 2 files.", {"a/b.go": (), "c.go": ()}, id="counts"
        ),
        pytest.param("a.py:0\nb.py:2", {"b.py": (2,)}, id="no-line-is-0"),
        pytest.param("src/a.py:1:x\n12:y.z", {"src/a.py": (1,)}, id="lines-of-no-file-beside-files"),
    ],
)
def test_every_usual_form_names_its_files(text: str, files: dict[str, tuple[int, ...]] | None) -> None:
    assert named(text) == (dict.fromkeys(text.split(), ()) if files is None else files)
    assert list(named(text)) == list(files or text.split())


@pytest.mark.parametrize(
    "text",
    [
        "-rw-r--r-- 1 root root 123 Jan  1 12:34 foo.py\n-rw-r--r-- 1 root root 123 Jan  1  2024 foo.py",
        "12:34:56 started\n12:34 x\n2026-01-01T12:34:56 a.b",
        "https://example.org/a/b.html\nhttps://example.org:80/a.py:3: x\nsee http://a.b/c.py",
        "key: value\napp.name: demo\nimage.tag: v1.2\n  nested.key: a.b\nsetup.cfg: the settings",
        "This is prose, e.g. about a.py and b.go.\nIt ends here.\nPlease look at src/a.py\nError in src/a.py:12: x",
        '  "see src/a.py:12"\n> src/a.py:12: quoted\n* src/a.py:3 in a list',
        "    self.value = other.thing\nimport os.path\nfrom a.b import c\nreturn x.y\n\treturn o.h\n\tfmt.Println(a.b)",
        "x = a.py\nlogging.info: text\nself.assertEqual(a, b)\nnp.sum(12,3)\nfoo.bar\nif a.b:",
        "// src/a.py\n# src/a.py:12: x\n/* a.c */",
        ".\n..\n.:\n./\nsrc/\n/\n...\n",
        "SKIPPED [1] a.py:2: x\ngrep: build/a.pyc: binary file matches",
        "data:" + "x/y.z" * 200,
    ],
)
def test_what_only_looks_like_a_file_names_none(text: str) -> None:
    assert named(text) == {}


def test_a_search_with_many_matches_is_read_whole_and_in_order() -> None:
    text = "\n".join(f"src/m{number % 100}.py:{number + 1}:x" for number in range(1000))
    assert len(named(text)) == 100
    assert named(text)["src/m7.py"] == tuple(range(8, 1001, 100))
    assert content(text).places(108) == [Place("files", (7, "lines", 1))]


@given(texts() | st.lists(_WORDS, max_size=6).map("\n".join))
def test_every_path_and_number_that_is_named_stands_in_the_text(text: str) -> None:
    for path, lines in named(text).items():
        assert path in text
        assert all(str(line) in text for line in lines)


def test_real_results_name_only_files_that_look_like_files(shared_traces: Path) -> None:
    """Every path that recorded searches name is printed there; of those with hits, nine of ten name one."""
    searches = silent = 0
    for trace in read_traces(shared_traces / "coding-claude-code-git-sync.jsonl.gz"):
        for step in trace.steps:
            if step.call.tool != "Grep" or step.result is None or not step.result.ok:
                continue
            if step.result.text.startswith("No "):
                continue
            searches += 1
            files = files_in(step.result.text)
            silent += not files
            assert all(file.path in step.result.text for file in files)
    assert searches > 20
    assert silent * 10 <= searches


def test_a_result_is_read_as_json_else_as_lines_else_as_it_is() -> None:
    assert read_result("/n/a.md\n/n/b.md\n") == ["/n/a.md", "/n/b.md"]
    assert read_result("user_7") == "user_7"
    assert read_result(" one line ") == " one line "
    assert read_result("12345") == 12345
    assert read_result('{"a": [1]}') == {"a": [1]}
    assert read_result("[not json") == "[not json"

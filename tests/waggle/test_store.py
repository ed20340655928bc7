"""Stores: what is written, what is read back, what a person's edits survive, and what is never followed or lost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import skills_ref.validator
from hypothesis import given
from hypothesis import strategies as st

from tests.waggle.store_support import AT, GOLDEN, LOOK, OPEN, route
from waggle import (
    Call,
    Candidate,
    Manager,
    ManagerConfig,
    Param,
    Route,
    Scope,
    Step,
    Store,
    frontmatter,
    load_routes,
    locate,
    project_store,
    singlefile,
    skillfile,
    user_store,
)
from waggle.errors import InvalidSkillName, SkillFileError
from waggle.redact import MASK
from waggle.routes import Disabled, inside_project, route_from
from waggle.store import Status

# --- the files of a skill --------------------------------------------------------------------------------------


def test_a_promoted_route_is_a_skill_the_reference_validator_accepts(store: Store) -> None:
    for one in (LOOK, OPEN):
        assert store.promote(one).status is Status.CREATED
        folder = store.path_of(one.name)
        assert skills_ref.validator.validate(folder) == []
        assert sorted(path.relative_to(folder).as_posix() for path in store.files_of(one.name)) == [
            "SKILL.md",
            "route.json",
            "scripts/run.sh",
        ]


def test_what_is_written_is_read_back(store: Store) -> None:
    for one in (LOOK, OPEN):
        store.promote(one)
    assert sorted(store.contents().routes, key=lambda r: r.name) == sorted([LOOK, OPEN], key=lambda r: r.name)
    assert store.contents().invalid == ()


def test_writing_the_same_route_again_changes_no_byte_but_the_counts(store: Store) -> None:
    store.promote(LOOK)
    skill = store.path_of(LOOK.name) / "SKILL.md"
    before = skill.read_text()
    assert store.promote(LOOK).status is Status.KNOWN
    assert skill.read_text() == before.replace("Seen 3 times in 1 session", "Seen 6 times in 2 sessions")
    assert skillfile.render_skill(LOOK, has_script=True) == before


def test_a_persons_prose_and_keys_survive_when_counts_are_added(store: Store) -> None:
    store.promote(LOOK)
    skill = store.path_of(LOOK.name) / "SKILL.md"
    text = skill.read_text().replace("---\n\n# ", "license: MIT\n---\n\nRead this first.\n\n# ") + "\nAnd this last.\n"
    skill.write_text(text)
    assert store.promote(LOOK).status is Status.KNOWN
    after = skill.read_text()
    assert "license: MIT" in after
    assert "Read this first." in after
    assert after.endswith("And this last.\n")
    assert "Seen 6 times in 2 sessions" in after
    assert store.is_edited(LOOK)


@pytest.mark.case("HC-07")
def test_an_edit_inside_the_generated_part_stays_and_is_reported(store: Store) -> None:
    store.promote(LOOK)
    skill = store.path_of(LOOK.name) / "SKILL.md"
    edited = skill.read_text().replace("## Lookups", "## First look here, in this order")
    skill.write_text(edited)
    assert store.promote(LOOK).status is Status.EDITED
    assert skill.read_text() == edited


@pytest.mark.case("HC-07")
def test_a_route_a_person_changed_is_never_overwritten(store: Store) -> None:
    store.promote(LOOK)
    path = store.path_of(LOOK.name) / "route.json"
    changed = path.read_text().replace("src/main.py", "src/other.py")
    path.write_text(changed)
    assert store.promote(LOOK).status is Status.EDITED
    assert path.read_text() == changed


@pytest.mark.case("HC-13")
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_make_no_difference(store: Store, ends: str, bom: str) -> None:
    """LF, CRLF, each with and without a BOM: the same skill, and rewriting does not double the line ends."""
    store.promote(LOOK)
    skill = store.path_of(LOOK.name) / "SKILL.md"
    plain = skill.read_text()
    skill.write_bytes((bom + plain.replace("\n", ends)).encode())
    assert not frontmatter.read(skill, skill.read_bytes().decode()).body.endswith("\r")
    values = frontmatter.read(skill, skill.read_bytes().decode()).values
    assert values == frontmatter.read(skill, plain).values
    assert store.promote(LOOK).status is Status.KNOWN
    assert skill.read_bytes().decode() == bom + plain.replace("3 times in 1 session", "6 times in 2 sessions").replace(
        "\n", ends
    )


@pytest.mark.case("HC-13")
def test_front_matter_may_end_without_a_line_end(tmp_path: Path) -> None:
    found = frontmatter.read(tmp_path / "SKILL.md", '---\r\nname: "x"\r\n---')
    assert (found.values, found.body) == ({"name": "x"}, "")


# --- HC-14: broken files are reported, never dropped ------------------------------------------------------------

BROKEN = {
    "unquoted": ("---\nname: x\ndescription: List PRs: then merge\nroute:\n- tool: ls\n---\n", 3, "quoted"),
    "tab": ("---\nname: x\nroute:\n\t- tool: ls\n---\n", 4, "spaces"),
    "no-end": ("---\nname: x\n", 1, "no end"),
    "twice": ("---\nname: x\nname: y\n---\n", 3, "twice"),
    "not-a-list": ("---\nname: x\nroute: ls\n---\n", None, "list of steps"),
    "empty": ("", 1, "missing"),
    "args-not-a-map": ("---\nroute:\n- tool: ls\n  args: x\n---\n", None, "route[0]"),
}


@pytest.mark.case("HC-14")
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_listed_with_its_line_and_hides_no_other(store: Store, kind: str) -> None:
    text, line, words = BROKEN[kind]
    store.promote(LOOK)
    (store.directory / "broken.md").write_text(text)
    listing = store.contents()
    assert [r.name for r in listing.routes] == [LOOK.name]
    (problem,) = listing.invalid
    assert (problem.path.name, problem.line) == ("broken.md", line)
    assert words in problem.problem


@pytest.mark.case("HC-14")
def test_a_directory_named_like_a_file_and_a_huge_file_are_listed(store: Store) -> None:
    store.promote(LOOK)
    (store.directory / "x.md").mkdir()
    (store.directory / "huge.md").write_text("---\n" + "a" * 10_000_000)
    assert {p.path.name for p in store.contents().invalid} == {"x.md", "huge.md"}
    assert [r.name for r in load_routes(store)] == [LOOK.name]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"waggle_route": 0}, "$.waggle_route"),
        ({"waggle_route": 3}, "$.waggle_route"),
        ({"waggle_route": True}, "$.waggle_route"),
        ({"steps": "x"}, "$.steps"),
        ({"steps": []}, "$.params"),
        ({"steps": [{"tool": 1, "args": {}}]}, "$.steps[0].tool"),
        ({"steps": [{"tool": "ls"}]}, "$.steps[0].args"),
        ({"params": [{"step": -1, "key": "a"}]}, "$.params[0].step"),
        ({"params": [{"step": 9, "key": "a", "name": "a"}]}, "$.params"),
        ({"steps": [{"tool": "ls", "args": {"p": {"$param": "p"}}}]}, "$.steps[0].args.p"),
        ({"seen": {"occurrences": True}}, "$.seen.occurrences"),
        ({"scope": "world"}, "$.scope"),
        ({"learned_at": "yesterday"}, "$.learned_at"),
        ({"learned_at": "2026-01-01T00:00:00"}, "$.learned_at"),
        ({"disabled": []}, "$.disabled"),
        ({"name": 7}, "$.name"),
        ({"after": []}, "$.after"),
        ({"after": {"target": {}, "counts": {}}}, "$.after.site"),
        ({"after": {"site": "search", "target": {}, "counts": {}}}, "$.after.target"),
        (
            {"after": {"site": "search", "target": {"tool": "ls", "form": "", "args": {}}, "counts": {}}},
            "$.after.counts",
        ),
    ],
)
def test_a_route_file_that_is_wrong_gives_one_error_with_its_place(change: dict[str, Any], where: str) -> None:
    fields = json.loads(skillfile.render_route(LOOK)) | change
    with pytest.raises(SkillFileError, match=r"route\.json") as caught:
        skillfile.parse_route(Path("route.json"), json.dumps(fields).encode())
    assert caught.value.problem.endswith(f"@ {where}")


def test_a_field_of_a_newer_writer_is_ignored() -> None:
    fields = json.loads(skillfile.render_route(LOOK)) | {"later": 1}
    assert skillfile.parse_route(Path("route.json"), json.dumps(fields).encode()) == LOOK


# --- HC-15: names ----------------------------------------------------------------------------------------------


@pytest.mark.case("HC-15")
@pytest.mark.parametrize(
    "name",
    ["../../x", "/etc/x", "a/b", "a\\b", "..", ".", "", "C:x", "a\x00b", "a\nb", "-rf", "x" * 300, ".hidden", "Ä"],
)
def test_a_name_that_is_no_skill_name_is_refused_and_nothing_is_written(store: Store, name: str) -> None:
    with pytest.raises(InvalidSkillName):
        store.promote(Route(name, LOOK.steps))
    with pytest.raises(InvalidSkillName):
        store.read(name)
    assert list(store.directory.parent.rglob("*.json")) == []


@pytest.mark.case("HC-15")
def test_a_link_out_of_the_store_is_not_followed(store: Store, tmp_path: Path) -> None:
    store.promote(LOOK)
    outside = tmp_path / "outside"
    store.path_of(LOOK.name).rename(outside)
    store.path_of(LOOK.name).symlink_to(outside)
    assert store.contents().routes == ()
    assert "link" in store.contents().invalid[0].problem


@pytest.mark.case("HC-15")
def test_a_route_whose_name_differs_from_its_folder_is_reported(store: Store) -> None:
    store.promote(LOOK)
    store.path_of(LOOK.name).rename(store.directory / "renamed")
    assert "renamed" in store.contents().invalid[0].problem


words = st.text(min_size=0, max_size=30)


@pytest.mark.case("HC-15")
@given(st.lists(st.tuples(st.sampled_from(["read", "mcp__a__B c", "日本"]), words), min_size=2, max_size=6))
def test_a_generated_name_is_legal_and_differs_for_different_routes(steps: list[tuple[str, str]]) -> None:
    from waggle.routes import check_skill_name

    one = route(*((tool, {"path": path}) for tool, path in steps))
    other = route(*((tool, {"path": path + "x"}) for tool, path in steps))
    assert check_skill_name(one.name) == one.name
    assert one.name != other.name


# --- any value survives ----------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.case("HC-14")
@given(st.lists(st.dictionaries(st.text(min_size=1, max_size=8), st.text(), max_size=3), min_size=1, max_size=3))
def test_any_text_survives_in_every_file_of_a_skill(args: list[dict[str, str]]) -> None:
    one = route(*(("read", a) for a in args))
    assert skillfile.parse_route(Path("r"), skillfile.render_route(one).encode("utf-8", "surrogatepass")) == one
    text = skillfile.render_skill(one, has_script=False)
    assert frontmatter.read(Path("s"), text).values["name"] == one.name
    more = replace(one, count=99, support=7)
    part, new = (skillfile.generated_part(r, has_script=False) for r in (one, more))
    assert skillfile.with_generated_part(text, more, has_script=False) == text.replace(part, new)
    assert skillfile.is_as_generated(text, more, has_script=False)


@given(json_values)
def test_any_json_value_survives_in_route_json(value: Any) -> None:
    one = route(("read", {"v": value}), ("read", {"v": "x"}))
    again = skillfile.parse_route(Path("r"), skillfile.render_route(one).encode())
    assert again.fingerprint == one.fingerprint
    assert repr(again.steps) == repr(one.steps)


@given(st.text(), st.text(min_size=1))
def test_single_file_scalars_survive(value: str, key: str) -> None:
    one = route(("read", {"path": value.lstrip("-"), key: value}), ("ls", {}))
    text = singlefile.render(one)
    if "\0" in value or "path" not in one.steps[0].args:
        return
    if text is not None:
        again = singlefile.parse(Path("w.md"), text)
        assert again is not None
        if not any(str(v).startswith("$") for v in one.steps[0].args.values()):
            assert again.steps == one.steps


# --- project paths and secrets ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("/repo/src/a.py", {"$project": "src/a.py"}),
        ("/repo", {"$project": "."}),
        ("/repository/a", "/repository/a"),
        ("/repo/../etc", "/repo/../etc"),
        ("/repo//a", "/repo//a"),
        ("/repo/", "/repo/"),
        ("src/a.py", "src/a.py"),
        (7, 7),
    ],
)
def test_a_path_inside_the_project_is_stored_relative_to_it(value: Any, expected: Any) -> None:
    assert inside_project(value, "/repo") == expected


def test_a_route_learned_in_one_clone_fires_in_another(tmp_path: Path) -> None:
    def clone(name: str) -> Path:
        root = tmp_path / name
        (root / ".git").mkdir(parents=True)
        return root

    def look_around(manager: Manager, root: Path) -> None:
        for path in ("a.py", "b.py", "c.py"):
            manager.observe(Call("Read", {"file_path": str(root / path)}), "x")
        manager.observe(Call("Edit", {"file_path": str(root / "a.py")}), "ok")

    one, two = clone("one"), clone("two")
    with Manager.for_project(one, config=ManagerConfig(sweep_calls=1)) as manager:
        for _ in range(3):
            look_around(manager, one)
    assert str(tmp_path) not in "".join(p.read_text() for p in (one / ".waggle/skills").rglob("*") if p.is_file())
    (one / ".waggle" / "skills").rename(two / ".waggle-skills")
    (two / ".waggle").mkdir()
    (two / ".waggle-skills").rename(two / ".waggle" / "skills")
    with Manager.for_project(two) as manager:
        for path in ("a.py", "b.py"):
            manager.observe(Call("Read", {"file_path": str(two / path)}), "x")
        fold = manager.follow(lambda tool, args: f"{tool} {args}")
    assert fold is not None
    assert [(one.tool, one.args) for one in fold.lookups] == [("Read", {"file_path": str(two / "c.py")})]


@pytest.mark.case("HC-17")
def test_an_argument_with_a_secret_becomes_a_parameter_and_reaches_no_file(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    secret = "sk-lab-EXAMPLE000111.seg2_EXAMPLE-333"  # noqa: S105 - made up, to be looked for
    with Manager.for_project(tmp_path, config=ManagerConfig(sweep_calls=1)) as manager:
        for _ in range(4):
            manager.observe(Call("Grep", {"pattern": "a", "path": "src"}), secret)
            manager.observe(Call("Read", {"file_path": "x", "apiKey": secret}), secret)
            manager.observe(Call("Read", {"file_path": "b"}), secret)
            manager.observe(Call("Read", {"file_path": "c"}), secret)
            manager.observe(Call("Edit", {"file_path": "x"}), secret)
    (found,) = [r for r in load_routes(project_store(locate.find_project(tmp_path))) if len(r.steps) == 4]
    assert Param(1, "apiKey") in found.params
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()


@pytest.mark.case("HC-17")
def test_a_mask_in_a_recorded_call_becomes_a_parameter_and_is_never_sent_to_a_tool() -> None:
    """A host may have masked its own records before they were mined."""
    seen = tuple(Step(n, "read", {"path": f"{n}", "header": f"X-Token: {MASK}"}) for n in range(2))
    assert route_from(Candidate(seen, 3)).params == (Param(0, "header"), Param(1, "header"))


# --- where stores are ------------------------------------------------------------------------------------------


def test_skills_lie_in_the_project_and_the_users_in_the_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAGGLE_HOME", str(tmp_path / "data"))
    (tmp_path / "p" / ".git").mkdir(parents=True)
    project = locate.find_project(tmp_path / "p")
    tree, home = project_store(project), project_store(project, location="home")
    assert (tree.directory, tree.ledger_path) == (
        tmp_path / "p/.waggle/skills",
        tmp_path / "p/.waggle/ledger.jsonl",
    )
    assert home.directory == tmp_path / "data" / "proj" / project.key / "skills"
    assert home.ledger_path == home.directory.parent / "ledger.jsonl"
    assert (user_store().directory, user_store().scope) == (tmp_path / "data/skills", Scope.USER)


def test_records_of_this_machine_are_kept_out_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    project_store(locate.find_project(tmp_path)).promote(LOOK)
    ignored = (tmp_path / ".waggle" / ".gitignore").read_text().split()
    assert {"ledger.jsonl", "*.lock"} <= set(ignored)


def test_a_missing_directory_is_an_empty_store(store: Store) -> None:
    assert (load_routes(store), store.metas(), store.names()) == ([], [], set())


def test_a_directory_that_cannot_be_read_is_not_an_empty_store(store: Store) -> None:
    store.directory.write_text("a file")
    with pytest.raises(OSError, match="skills"):
        store.contents()


# --- the original's files --------------------------------------------------------------------------------------


def test_the_originals_files_load_with_their_steps_and_parameters(tmp_path: Path) -> None:
    old = Store(GOLDEN / "store_agent", tmp_path / "ledger.jsonl", form="file")
    listing = old.contents()
    assert (len(listing.routes), listing.invalid) == (26, ())
    for one in listing.routes:
        script = singlefile.original_script(one)
        assert script is not None
        assert singlefile.original_name(script) == one.name
    assert sum(one.fires_from(2, wildcards_count=True) is not None for one in listing.routes) == 7
    assert sum(len(one.steps) > 2 for one in listing.routes) == 18


def front_matter(text: str) -> str:
    return text.partition("\n---\n")[0]


@pytest.mark.parametrize("stream", ["agent", "periodic", "distinct_values", "distinct_shapes"])
def test_with_the_originals_rules_a_manager_writes_the_originals_files(tmp_path: Path, stream: str) -> None:
    """10,000 calls, a look every 8: the same file names, and for the agent stream the same front matter."""
    from benchmarks import streams

    store = Store(tmp_path / "skills", tmp_path / "ledger.jsonl", form="file")
    with Manager(ManagerConfig.original(), store=store) as manager:
        for call in getattr(streams, stream)(10_000):
            manager.observe(Call(call["tool"], call["args"], reads=not call["mutates"]), "x")
    expected = json.loads((GOLDEN / f"observe_{stream}.json").read_text())["files"]
    assert sorted(path.name for path in store.directory.glob("*.md")) == sorted(expected or [])
    if stream == "agent":
        for name in expected:
            written, original = (store.directory / name).read_text(), (GOLDEN / "store_agent" / name).read_text()
            assert front_matter(written) == front_matter(original)


@pytest.mark.parametrize(
    ("steps", "script"),
    [
        ([("search", {"pattern": "foo", "path": "src"})], "grep -rn 'foo' 'src'"),
        ([("read", {"path": "a.go"})], "cat 'a.go'"),
        ([("ls", {})], "ls ."),
        ([("glob", {"pattern": "*.go", "path": "src"})], "find 'src' -name '*.go'"),
        ([("bash", {"command": "ls"})], None),
        ([("teleport", {"path": "x"})], None),
        ([("read", {})], None),
        ([("ls", {"path": "a"}), ("read", {"path": "b"})], "ls 'a'; cat 'b'"),
        ([("glob", {"pattern": "zzz", "path": "-delete"})], None),
        ([("search", {"pattern": "->"})], None),
    ],
)
def test_scripts_are_the_originals_except_where_a_value_would_be_an_option(
    steps: list[tuple[str, dict[str, str]]], script: str | None
) -> None:
    assert singlefile.original_script(route(*steps)) == script


def test_known_answers_for_names() -> None:
    assert singlefile.original_name("ls 'a'; cat 'b'; cat 'c'") == "wag_d3b36dfe5d"
    assert singlefile.original_name("cat 'a'; ls .") == "wag_1391db32ca"
    assert singlefile.original_name('ls "$1"; cat "$2"') == "wag_fd4ae6c2c4"


def test_switching_off_a_single_file_keeps_what_a_person_added(tmp_path: Path) -> None:
    store = Store(tmp_path / "skills", tmp_path / "l", form="file")
    name = store.promote(LOOK).name
    path = store.path_of(name)
    path.write_text(
        path.read_text().replace("type: exec", "type: exec\nowner: ada") + "\ndisabled: no, said a person\n"
    )
    assert store.disable(name, "failed", AT)
    assert not store.disable(name, "failed", AT)
    assert "owner: ada" in path.read_text()
    assert path.read_text().endswith("disabled: no, said a person\n")
    (one,) = store.contents().routes
    assert isinstance(one.disabled, Disabled)
    assert load_routes(store) == []

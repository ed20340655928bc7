"""Skills where agents look for them: linked or copied, checked, removed; and what is not ours stays as it is."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import skills_ref.validator

from tests.waggle.cli.support import BAD, LIST, LOAD, NOW, OLD, TWIN, Home, edit, ran, ran_json, run, snapshot
from waggle import Route, Store, _defaults, exports, files, frontmatter, skillfile
from waggle.routes import RouteStep

ALL = {LOAD.name, LIST.name, OLD.name, BAD.name, TWIN.name}


def told(*args: object, code: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ran_json("export", *args, code=code)["skills"]
    return found


def statuses(*args: object, code: int = 0) -> dict[str, str]:
    return {each["name"]: each["status"] for each in told(*args, code=code)}


def assert_valid(folder: Path) -> None:
    for each in sorted(folder.iterdir()):
        assert skills_ref.validator.validate(each) == [], each


# --- where, and how -------------------------------------------------------------------------------------------


def test_a_projects_skills_are_linked_into_both_folders_where_its_agents_look(full: Home) -> None:
    found = told()
    folders = [full.root / name for name in (".claude/skills", ".agents/skills")]
    assert [(each["to"], each["status"], each["form"]) for each in found] == [
        (str(folder / name), "new", "link") for folder in folders for name in sorted(ALL)
    ]
    for folder in folders:
        assert_valid(folder)
        assert os.readlink(folder / LOAD.name) == f"../../.waggle/skills/{LOAD.name}"  # noqa: PTH115 - as it is written
    assert set(statuses().values()) == {"unchanged"}


def test_links_hold_where_the_tree_is_moved_to(full: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran("export")
    ran("export", "--copy", "--to", "elsewhere")
    moved = tmp_path / "moved"
    monkeypatch.chdir(tmp_path)
    full.root.rename(moved)
    monkeypatch.chdir(moved)
    assert set(statuses("--check").values()) == {"current"}
    assert set(statuses("--check", "--to", "elsewhere").values()) == {"current"}


def test_the_users_skills_go_to_the_users_folders(full: Home) -> None:
    assert statuses("--user") == {LIST.name: "new"}
    for name in (".claude", ".agents"):
        folder = Path.home() / name / "skills"
        assert_valid(folder)
        assert (folder / LIST.name).resolve() == full.user.directory / LIST.name
    assert not (full.root / ".claude").exists()


@pytest.mark.parametrize("place", ["claude", "agents", "some/where"])
def test_one_place_is_enough(full: Home, place: str) -> None:
    folder = full.root / exports.HOSTS.get(place, place)
    assert {each["to"] for each in told("--to", place)} == {str(folder / name) for name in ALL}
    assert_valid(folder)


def test_outside_of_the_tree_and_on_demand_skills_are_copied_whole(full: Home, tmp_path: Path) -> None:
    for to, more in ((tmp_path / "far", ()), (full.root / "near", ("--copy",))):
        assert {each["form"] for each in told("--to", to, *more)} == {"copy"}
        assert_valid(to)
        source = full.project.directory / LOAD.name
        for path in full.project.files_of(LOAD.name):
            copied = (to / LOAD.name / path.relative_to(source)).read_bytes()
            assert path.name == "SKILL.md" or copied == path.read_bytes()
        text = (to / LOAD.name / "SKILL.md").read_text()
        assert frontmatter.read(to, text).body == frontmatter.read(to, (source / "SKILL.md").read_text()).body
    assert str(tmp_path) not in (full.root / "near" / LOAD.name / "SKILL.md").read_text()


def test_a_copy_tells_nothing_of_the_machine_where_the_store_is_the_users(
    full: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAGGLE_LOCATION", "home")
    store = Store(full.user.directory.parent / "proj" / "0123456789abcdef" / "skills", full.project.ledger_path)
    store.promote(LOAD)
    done = exports.apply_exports(exports.plan_exports(store, full.root / ".claude" / "skills"))
    assert [each.form for each in done] == ["copy"]
    text = (done[0].to / "SKILL.md").read_text()
    assert f'waggle-from: "$WAGGLE_HOME/proj/0123456789abcdef/skills/{LOAD.name}"' in text
    assert [each.status for each in exports.plan_exports(store, full.root / ".claude" / "skills")] == ["unchanged"]


def test_one_form_takes_the_place_of_the_other(full: Home) -> None:
    for form in ("link", "copy", "link"):
        found = told(f"--{form}", "--to", "claude", LOAD.name)
        assert [(each["form"], each["status"] in ("new", "updated")) for each in found] == [(form, True)]
        assert (full.root / ".claude/skills" / LOAD.name).is_symlink() is (form == "link")
        assert_valid(full.root / ".claude/skills")
        assert [path.name for path in (full.root / ".claude/skills").iterdir()] == [LOAD.name]


def test_where_links_cannot_be_made_skills_are_copied(full: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows without the right to; a copy that is right stays one from then on."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(1314, "a required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    assert {each["form"] for each in told("--to", "claude")} == {"copy"}
    assert_valid(full.root / ".claude/skills")
    assert set(statuses("--check", "--to", "claude").values()) == {"current"}


def test_a_folder_that_is_a_link_to_the_other_gets_skills_once(full: Home) -> None:
    (full.root / ".claude").mkdir()
    (full.root / ".agents" / "skills").mkdir(parents=True)
    (full.root / ".claude" / "skills").symlink_to("../.agents/skills")
    assert {Path(each["to"]).parent.parent.name for each in told()} == {".agents"}


@pytest.mark.case("HC-15")
def test_a_link_of_the_project_leads_no_export_out_of_it(full: Home, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (full.root / ".claude").symlink_to(tmp_path / "out")
    result = run("export")
    assert result.exit_code == _defaults.EXIT_STORE
    assert "leads out of" in result.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_the_store_is_no_place_to_export_to(full: Home) -> None:
    result = run("export", "--to", full.project.directory)
    assert result.exit_code == _defaults.EXIT_STORE
    assert "name the folder where an agent looks" in result.stderr


# --- what is exported -----------------------------------------------------------------------------------------


def test_nothing_is_written_when_only_asked(full: Home) -> None:
    before = snapshot(full.root)
    assert set(statuses("--dry-run").values()) == {"new"}
    assert set(statuses("--check", code=1).values()) == {"missing"}
    assert snapshot(full.root) == before
    assert not (full.root / ".claude").exists()


def test_what_is_switched_off_or_no_folder_is_left_out_and_refused_when_it_is_named(full: Home) -> None:
    full.project.disable(BAD.name, "failed", NOW)
    old = replace(full.project, form="file").promote(Route("", tuple(RouteStep("ls", {"path": p}) for p in "ab")))
    found = statuses("--to", "claude")
    assert {name: status for name, status in found.items() if status != "new"} == dict.fromkeys(
        (BAD.name, old.name), "skipped"
    )
    assert not os.path.lexists(full.root / ".claude/skills" / BAD.name)
    assert statuses("--to", "claude", BAD.name, code=1) == {BAD.name: "refused"}
    assert statuses("--to", "claude", old.name, code=1) == {old.name: "refused"}
    assert run("export", "nothing").exit_code == _defaults.EXIT_SKILL
    assert "skipped" in statuses("--to", "claude", "--check").values()


@pytest.mark.case("HC-15")
def test_a_skill_that_cannot_be_read_hides_no_other_and_no_link_leads_out_of_it(full: Home, tmp_path: Path) -> None:
    """A skill may come with a stranger's repository."""
    (tmp_path / "secret").write_text("s3cret")
    (full.project.directory / LOAD.name / "notes.md").symlink_to(tmp_path / "secret")
    (full.project.directory / OLD.name / "SKILL.md").write_bytes(b"---\nname: x\n---\n\xff")
    (full.project.directory / TWIN.name / "SKILL.md").unlink()
    found = {each["name"]: each for each in told("--to", "claude", "--copy", code=1)}
    assert {name: each["status"] for name, each in found.items()} == {
        LIST.name: "new",
        BAD.name: "new",
        **dict.fromkeys((LOAD.name, OLD.name, TWIN.name), "refused"),
    }
    assert "leads out of" in found[LOAD.name]["reason"]
    assert "byte 16" in found[OLD.name]["reason"]
    assert "SKILL.md is missing" in found[TWIN.name]["reason"]
    assert {path.name for path in (full.root / ".claude/skills").iterdir()} == {LIST.name, BAD.name}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("description:", "model: opus\ndescription:"),
        ("description:", "allowed-tools: [Read, Grep]\ndescription:"),
        ("metadata:\n", 'metadata:\n  "waggle-from": "../mine"\n'),
        ('name: "', 'name: "other-'),
        ("metadata:", "compatibility: |\n  " + "long " * 200 + "\nmetadata:"),
        ("---\n", "---\n# a note\n"),
    ],
    ids=["key-of-one-host", "list", "our-own-key", "other-name", "too-long", "comment"],
)
def test_what_a_person_made_of_the_front_matter_is_exported_as_the_standard_asks(
    full: Home, old: str, new: str
) -> None:
    path = full.project.directory / LOAD.name / "SKILL.md"
    text = path.read_text()
    path.write_text(text.replace(old, new, 1).replace("\n# Grep", "\nRead this first.\n\n# Grep", 1))
    (found,) = told("--to", "claude", "--link", LOAD.name)
    assert (found["form"], found["status"]) == ("copy", "new")
    assert_valid(full.root / ".claude/skills")
    copied = (full.root / ".claude/skills" / LOAD.name / "SKILL.md").read_text()
    assert "Read this first." in copied
    if "model" in new:
        assert '  model: "opus"' in copied
    if "allowed" in new:
        assert 'allowed-tools: "Read Grep"' in copied
    assert set(statuses("--check", "--to", "claude", LOAD.name).values()) == {"current"}


@pytest.mark.parametrize("description", ["''", "'   '", '"' + "x" * 2000 + '"', '"a --- b"', '"a\\nb: c"', "[a, b]"])
def test_any_description_that_a_person_writes_is_exported_within_bounds(full: Home, description: str) -> None:
    path = full.project.directory / LOAD.name / "SKILL.md"
    lines = path.read_text().split("\n")
    lines[2] = f"description: {description}"
    path.write_text("\n".join(lines))
    assert {each["form"] for each in told("--to", "claude", LOAD.name)} <= {"copy", "link"}
    assert_valid(full.root / ".claude/skills")


# --- what is stale --------------------------------------------------------------------------------------------


def test_check_tells_what_is_missing_behind_edited_and_stale_and_export_brings_it_up_to_date(full: Home) -> None:
    ran("export", "--to", "claude", "--copy")
    folder = full.root / ".claude/skills"
    assert set(statuses("--check", "--to", "claude").values()) == {"current"}
    shutil.rmtree(folder / LIST.name)
    edit(full.project.directory / LOAD.name / "SKILL.md", "It has no parameters", "Beware")
    edit(folder / OLD.name / "SKILL.md", "It has no parameters", "Mine now")
    full.project.disable(BAD.name, "failed 3 times", NOW)
    full.project.remove(TWIN.name)
    before = snapshot(full.root)
    expected = {
        LIST.name: "missing",
        LOAD.name: "behind",
        OLD.name: "refused",
        BAD.name: "stale",
        TWIN.name: "stale",
    }
    assert statuses("--check", "--copy", "--to", "claude", code=1) == expected
    assert snapshot(full.root) == before
    for name, status in expected.items():
        if status != "missing":
            assert statuses("--check", "--copy", "--to", "claude", name, code=1) == {name: status}
    now = statuses("--copy", "--to", "claude", code=1)
    assert now == expected | {LIST.name: "new", LOAD.name: "updated"}
    assert "Beware" in (folder / LOAD.name / "SKILL.md").read_text()
    assert "Mine now" in (folder / OLD.name / "SKILL.md").read_text()
    assert (folder / BAD.name).exists()
    pruned = statuses("--copy", "--prune", "--to", "claude", code=1)
    assert pruned == {
        **now,
        **dict.fromkeys((LIST.name, LOAD.name), "unchanged"),
        **dict.fromkeys((BAD.name, TWIN.name), "removed"),
    }
    assert {path.name for path in folder.iterdir()} == {LIST.name, LOAD.name, OLD.name}


@pytest.mark.parametrize("change", ["file-added", "file-changed", "link-out", "digest"])
def test_a_copy_that_a_person_edited_is_neither_replaced_nor_removed(full: Home, tmp_path: Path, change: str) -> None:
    ran("export", "--to", "claude", "--copy", LOAD.name)
    folder = full.root / ".claude/skills" / LOAD.name
    if change == "file-added":
        (folder / "notes.md").write_text("mine")
    elif change == "file-changed":
        (folder / "scripts" / "run.sh").write_text("mine")
    elif change == "link-out":
        (folder / "notes.md").symlink_to(tmp_path)
        (folder / "secret.md").symlink_to(full.root.parent / "x")
        (full.root.parent / "x").write_text("x")
    else:
        edit(folder / "SKILL.md", 'waggle-exported: "', 'waggle-exported: "0')
    before = snapshot(folder)
    assert statuses("--to", "claude", "--copy", LOAD.name, code=1) == {LOAD.name: "refused"}
    full.project.remove(LOAD.name)
    assert statuses("--to", "claude", "--prune", LOAD.name, code=1) == {LOAD.name: "refused"}
    assert snapshot(folder) == before


def test_a_link_whose_skill_is_gone_is_stale_and_removed_alone(full: Home) -> None:
    ran("export", "--to", "claude")
    full.project.remove(LOAD.name)
    assert statuses("--check", "--to", "claude", LOAD.name, code=1) == {LOAD.name: "stale"}
    ran("export", "--prune", "--to", "claude")
    left = {path.name for path in (full.root / ".claude/skills").iterdir()}
    assert left == ALL - {LOAD.name}
    assert LIST.name in {path.name for path in full.project.directory.iterdir()}


def test_what_another_project_exported_to_the_same_folder_is_not_ours(full: Home, tmp_path: Path) -> None:
    to = tmp_path / "shared"
    other = Store(tmp_path / "other" / "skills", tmp_path / "other" / "ledger.jsonl")
    other.promote(LOAD)
    exports.apply_exports(exports.plan_exports(other, to))
    full.project.remove(LOAD.name)
    ran("export", "--prune", "--to", to)
    assert [each.status for each in exports.plan_exports(other, to)] == ["unchanged"]


# --- what is not ours -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["skill", "file", "link", "dangling-link", "unmarked-copy", "broken"])
@pytest.mark.parametrize("form", ["--link", "--copy"])
def test_a_persons_own_skill_of_the_same_name_is_never_touched(
    full: Home, tmp_path: Path, kind: str, form: str
) -> None:
    folder = full.root / ".claude/skills"
    folder.mkdir(parents=True)
    theirs = folder / LOAD.name
    if kind == "file":
        theirs.write_text("mine")
    elif kind == "link":
        theirs.symlink_to(tmp_path)
    elif kind == "dangling-link":
        theirs.symlink_to("../../.waggle/skills/another")
    elif kind == "unmarked-copy":
        shutil.copytree(full.project.directory / LOAD.name, theirs)
    else:
        theirs.mkdir()
        (theirs / "SKILL.md").write_text("---\nname: [" if kind == "broken" else "mine")
    before = snapshot(folder)
    (found,) = told("--to", "claude", form, LOAD.name)
    chosen = Path(found["to"])
    assert chosen.parent == folder
    assert chosen.name.endswith("-waggle")
    assert (found["form"], found["status"]) == ("copy", "new")
    assert "taken" in found["reason"]
    assert skills_ref.validator.validate(chosen) == []
    assert frontmatter.read(chosen, (chosen / "SKILL.md").read_text()).values["name"] == chosen.name
    assert {path: data for path, data in snapshot(folder).items() if not path.startswith(str(chosen))} == before
    assert theirs.is_symlink() is kind.endswith("link")
    assert statuses("--check", "--to", "claude", LOAD.name) == {LOAD.name: "current"}
    full.project.remove(LOAD.name)
    assert statuses("--prune", "--to", "claude", LOAD.name) == {LOAD.name: "removed"}
    assert os.path.lexists(theirs)
    assert not chosen.exists()


def test_a_second_export_of_one_skill_is_stale(full: Home) -> None:
    """A person's skill stood in its place once, or two branches were merged."""
    folder = full.root / ".claude/skills"
    (folder / LOAD.name).mkdir(parents=True)
    ran("export", "--to", "claude", LOAD.name)
    (folder / LOAD.name).rmdir()
    (folder / LOAD.name).symlink_to(f"../../.waggle/skills/{LOAD.name}")
    found = told("--to", "claude", "--prune", LOAD.name)
    assert [each["status"] for each in found] == ["unchanged", "removed"]
    assert [path.name for path in folder.iterdir()] == [LOAD.name]


def test_an_exported_skill_is_refreshed_through_no_link(full: Home, tmp_path: Path) -> None:
    ran("export", "--copy", "--to", "claude", LOAD.name)
    (tmp_path / "victim").write_text("whole")
    text = full.root / ".claude/skills" / LOAD.name / "SKILL.md"
    text.unlink()
    text.symlink_to(tmp_path / "victim")
    run("export", "--copy", "--to", "claude", LOAD.name)
    assert (tmp_path / "victim").read_text() == "whole"
    assert text.is_symlink()


@pytest.mark.parametrize("name", ["con", "com1", "My_Skill", "x-", "a--b", "ä", "x" * 80])
def test_a_name_that_some_system_or_host_does_not_take_is_exported_under_one_that_all_take(
    full: Home, name: str
) -> None:
    files.new_directory(
        full.project.directory / name,
        {
            "route.json": skillfile.render_route(replace(LOAD, name=name)).encode(),
            "SKILL.md": skillfile.render_skill(replace(LOAD, name=name), has_script=False).encode(),
        },
    )
    (found,) = told("--to", "claude", name)
    assert found["form"] == "copy"
    assert_valid(full.root / ".claude/skills")
    assert Path(found["to"]).name.isascii()
    assert Path(found["to"]).name not in {"con", "com1"}
    assert statuses("--check", "--to", "claude", name) == {name: "current"}


# --- whole or not at all --------------------------------------------------------------------------------------


def test_a_copy_that_cannot_be_replaced_is_the_old_one_whole(full: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ran("export", "--copy", "--to", "claude", LOAD.name)
    folder = full.root / ".claude/skills"
    edit(full.project.directory / LOAD.name / "SKILL.md", "It has no parameters", "Beware")
    before = snapshot(folder)
    moved = Path.replace

    def refuse(self: Path, target: Path) -> Path:
        if (
            Path(target).name == LOAD.name
            and (self / "SKILL.md").exists()
            and "Beware" in (self / "SKILL.md").read_text()
        ):
            raise OSError(5, "the disk has gone")
        return moved(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    result = run("export", "--copy", "--to", "claude", LOAD.name)
    assert result.exit_code == _defaults.EXIT_STORE
    assert snapshot(folder) == before
    assert [path.name for path in folder.iterdir()] == [LOAD.name]

"""What a call is as a site, and which files its result names."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.waggle.reach.support import grep, read, seen, sh
from waggle.reach.sites import Site


@pytest.mark.parametrize(
    ("call", "text", "site"),
    [
        (grep("x"), "src/a.py:12: x", Site("search", "lines of one file", "1 files, 1 lines")),
        (grep("x"), "src/a.py:12: x\nsrc/b.py:3: x", Site("search", "lines of files", "2-3 files, 2-3 lines")),
        (grep("x"), "No matches found", Site("search", "no file")),
        (sh("grep -n x src/a.py"), "3:x\n9:x", Site("search", "lines of the searched file", "1 files, 2-3 lines")),
        (sh("grep -rl x src"), "src/a.py\nsrc/b.py", Site("search", "names of files", "2-3 files, 0 lines")),
        (sh("find . -name '*.py'"), "./src/a.py", Site("list", "names of one file", "1 files, 0 lines")),
        (read("/repo/a.py", 10, 30), "x", Site("lines", "a part of a file", "up to 40 lines")),
        (read("/repo/a.py"), "see b.py:12: for more", Site("lines", "a whole file")),
        (sh("git diff > patch.txt"), "", Site("bash: git diff", "no file")),
        (sh("cd /repo && go test ./..."), "ok", Site("bash: go test", "no file")),
        (("get_user", {"id": 1}), '{"name": "x"}', Site("get_user", "no file")),
    ],
)
def test_a_site_says_what_was_called_and_what_its_result_names(call: Any, text: str, site: Site) -> None:
    tool, args = call
    assert seen(tool, args, text).site == site


def test_a_failed_call_is_another_site() -> None:
    tool, args = sh("python run.py")
    assert seen(tool, args, 'File "/repo/a.py", line 3, in f', ok=False).site.call == "bash: python (failed)"


def test_finer_levels_of_a_site_begin_with_the_coarser_ones() -> None:
    levels = seen(*grep("def x"), "src/a.py:12: def x").site.levels()
    assert len(levels) == 2
    assert all(fine.startswith(f"{coarse} |") for coarse, fine in pairwise(levels))


def test_what_a_read_file_quotes_names_no_file() -> None:
    assert seen(*read("/repo/log.txt"), "src/a.py:12: error").named == {}
    assert set(seen(*sh("go build"), "src/a.go:12:5: error", ok=False).named) == {"/repo/src/a.go"}


def test_two_files_of_one_name_are_two_files() -> None:
    named = seen(*grep("x"), "src/a.py:1: x\ntests/a.py:2: x").named
    assert {path: where for path, where in named.items() if where[1] == ""} == {
        "/repo/src/a.py": (0, ""),
        "/repo/tests/a.py": (1, ""),
    }


def test_a_path_with_spaces_and_a_cut_result_are_read_as_far_as_they_go() -> None:
    named = seen(*grep("x"), "src/my file.py:7: x\nsrc/b.py:9: x").named
    assert list(named)[:2] == ["/repo/src/my file.py", "/repo/src/b.py"]


def test_relative_paths_count_from_the_folder_of_a_cd() -> None:
    named = seen(*sh("cd src && grep -rn x ."), "./a.py:1:x").named
    assert "/repo/src/a.py" in named
    assert named["/repo/src/a.py"] == (0, "dir")


def test_of_a_thousand_matches_only_the_first_files_are_looked_at() -> None:
    text = "\n".join(f"src/f{n}.py:{n}: x" for n in range(1, 1001))
    one = seen(*grep("x"), text)
    assert one.site == Site("search", "lines of files", "more than 10 files, more than 10 lines")
    assert len([path for path in one.named if path.startswith("/repo/src/f") and one.named[path][1] == ""]) == 50

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import SessionLogError
from stretto.sessions import importing
from stretto.sessions.importing import CallIds, Misfit, complaining, read_import

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_decompressed_by_its_content_and_loses_its_byte_order_mark(tmp_path: Path) -> None:
    for name, data in {
        "plain.json": b"[1]",
        "packed.json": gzip.compress(b"[1]"),
        "marked.json": b"\xef\xbb\xbf[1]",
        "both.gz": gzip.compress(b"\xef\xbb\xbf[1]"),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert read_import(tmp_path / name) == b"[1]"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(gzip.compress(b"[1]" * 999)[:-9], "the compressed file is damaged", id="cut-off"),
        pytest.param(gzip.compress(b"[1]")[:12] + b"\xff" * 9, "the compressed file is damaged", id="no-deflate"),
        pytest.param(gzip.compress(b"[1]") + b"rest", "the compressed file is damaged", id="something-behind-it"),
    ],
)
def test_a_damaged_archive_is_one_clear_error(tmp_path: Path, data: bytes, problem: str) -> None:
    (tmp_path / "x.gz").write_bytes(data)
    with pytest.raises(SessionLogError, match=problem) as caught:
        read_import(tmp_path / "x.gz")
    assert caught.value.path == str(tmp_path / "x.gz")


def test_a_missing_file_and_a_directory_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(SessionLogError, match="there is no such file"):
        read_import(tmp_path / "nothing")
    with pytest.raises(SessionLogError, match="directory"):
        read_import(tmp_path)


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small archive may hold any amount; it is never unpacked further than the limit."""
    monkeypatch.setattr(importing, "IMPORT_BYTES", 1000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"0" * 100_000))
    (tmp_path / "large").write_bytes(b"0" * 1001)
    for name in ("bomb.gz", "large"):
        with pytest.raises(SessionLogError, match="1,000 bytes"):
            read_import(tmp_path / name)


def test_complaints_name_the_file_the_line_and_what_was_found() -> None:
    with (
        pytest.raises(SessionLogError, match=r"^x.json:3: \$\.a: expected a list, found a text$"),
        complaining("x.json", 3),
    ):
        raise Misfit("$.a", "a list", "secret")
    with pytest.raises(SessionLogError, match="nested too deeply"), complaining("x.json"):
        raise RecursionError


@given(st.lists(st.sampled_from(["", "a", "a#2", "a#3", "b", "a#2#2"])))
def test_no_two_calls_have_one_id(wanted: list[str]) -> None:
    ids = CallIds()
    given_out = [ids.new(name) for name in wanted]
    assert len(set(given_out)) == len(given_out)
    assert given_out[:1] == wanted[:1]


def test_an_id_that_is_free_is_kept() -> None:
    ids = CallIds()
    assert [ids.new(name) for name in ("a", "b", "a", "a", "b")] == ["a", "b", "a#2", "a#3", "b#2"]

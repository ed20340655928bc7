"""Pictures: the same numbers give the same bytes, and without matplotlib there is one clear sentence."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from stretto.errors import UsageError
from stretto.review.drift import Drift, drift
from stretto.review.figures import draw_drift, draw_front
from stretto.review.search import Check, Searched, Setting, Tried
from tests.stretto.episodes import episode, replied
from tests.stretto.review.review_support import retail_flow, sessions

if TYPE_CHECKING:
    from collections.abc import Callable


def drifting() -> bytes:
    return draw_drift(drift(retail_flow(), [*sessions(), episode(replied())]))  # the last has no values


def front(kind: str = "svg") -> bytes:
    tried = [
        Tried(Setting("habit", {}), Check(10, saved, detours, 1, 4)) for saved, detours in ((3, 1), (4, 5), (1, 4))
    ]
    return draw_front(Searched(tuple(tried)), kind=kind)


@pytest.mark.parametrize("draw", [drifting, front])
def test_the_same_numbers_give_the_same_picture(draw: Callable[[], bytes]) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `results`")
    picture = draw()
    assert picture == draw()
    assert b"<svg" in picture


def test_a_picture_can_be_made_of_dots() -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `results`")
    assert front("png").startswith(b"\x89PNG")


def test_words_stay_words_in_the_picture() -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `results`")
    assert b">surprise, nats<" in drifting()
    assert b">turns saved<" in front()


def test_nothing_seen_can_be_drawn() -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `results`")
    assert draw_drift(Drift((), (), ()))
    assert draw_front(Searched(()))


def test_an_unknown_format_and_a_missing_matplotlib_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="svg or png"):
        front("gif")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match="pip install"):
        front()

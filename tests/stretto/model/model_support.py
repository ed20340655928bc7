"""The published retail flow's counts, and episodes as symbols, for tests of the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from stretto.model.alphabet import StepOutcome, symbol
from stretto.model.counts import Backoff, Habit, Successions, Tally

DATA = Path(__file__).parent.parent / "data"


def published_habit() -> Habit:
    """The habit of the original's flow of five retail sessions; 7, 8 and 9 are order, product and user details."""
    habit = json.loads((DATA / "retail-5-sessions.flow.json").read_text(encoding="utf-8"))["habit"]
    base = habit["base"]
    levels = [{tuple(key): _tally(counts) for key, counts in level} for level in base["levels"]]
    top = {(group, tuple(key)): _tally(counts) for (group, key), counts in habit["top"]}
    return Habit(Backoff(base["alpha"], base["vocab_size"], levels), habit["beta"], top)


def _tally(counts: dict[str, Any]) -> Tally:
    return Tally(counts["total"], dict(counts["by_action"]))


#: Actions that the made episodes have: replies, four tools, of which 4 writes, and the unseen one.
VOCAB_SIZE = 6
WRITES = {4}


def episodes(max_size: int = 6) -> st.SearchStrategy[list[list[int]]]:
    """Episodes, each as the symbols of its steps."""
    steps = st.builds(symbol, st.integers(0, VOCAB_SIZE - 1), st.sampled_from(StepOutcome), st.integers(0, 2))
    return st.lists(st.lists(steps, max_size=8), max_size=max_size)


def counted(sessions: list[list[int]]) -> Successions:
    """Episodes, counted."""
    successions = Successions()
    for symbols in sessions:
        successions.add(symbols, WRITES)
    return successions

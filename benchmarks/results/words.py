"""The text of the page that holds whatever the numbers are: how it was made, and what is assumed."""

from __future__ import annotations

from typing import Final

from benchmarks.results.jobs import CURVE_BLOCK, FOLDS
from benchmarks.results.rows import DEFAULT
from benchmarks.results.study import CURVE_ORDERS

__all__ = ["ABLATION", "BY_GROUP", "COMMANDS", "CURVE", "FLOOR", "INTRODUCTION", "METHOD", "SKILLS"]

INTRODUCTION: Final = """\
What waggle saves on recorded sessions of coding agents, and what it costs. Every number, and every sentence about one,
is written by one command, which takes about half an hour on two cores:

    python -m benchmarks.results --markdown docs/results.md --svg docs/learning-curve.svg

This page was made from {collection}: {sessions}.
A plain clone has a part of them in `examples/sessions`, on which the same command gives other numbers. `--json FILE`
writes all of them, unrounded. Nothing depends on the clock, nor on chance without a seed."""

METHOD: Final = f"""\
## How it is measured

- A *group* is one agent in one repository: what is learned in it is replayed in it.
- The tasks of a group are shuffled with a seed and dealt into {FOLDS} folds, or one a task where there are fewer. Each
  fold is replayed with a library learned from the others, so every session is replayed once and no task is learned and
  measured. This is the headline. Learning on the first half of the tasks and replaying the rest, as `waggle replay`
  does, stands beside it: there less is learned, and less is measured.
- A *turn* is an assistant message that calls tools. The agent is taken to act as recorded. A turn is *saved* when
  lookups made since its last write answer all of its calls, alone or together with what it has read itself. A lookup
  answers what it covers: a longer range answers a shorter one. It can answer only turns after the one it was made in.
- A lookup that answers nothing before the next write is a *detour*; *precision* is the share of the others.
- The results of lookups are not recorded. One that covers the agent's own next read is taken to give what that read
  gave; of any other nothing is known but its length: its lines times the tokens of a line, or the tool's mean. No
  answer is longer than the longest that the host let through in the sessions learned on.
- *Tokens saved*: for each saved turn, the context it would have read again, and its calls in every turn after it.
  *Tokens spent*: for each detour, its result in every turn after it; for each used lookup, likewise, what it shows
  beyond the calls that it answers. Cached input counts like any other, so both are larger than a bill would show.
- The *ceiling* counts turns after the first whose calls all read, with the value of every argument present in earlier
  results. It is a yardstick, not a bound: some of those no rule could foresee, and a habit of fixed calls is beyond it.
- Where a recording does not name the session's directory, it is inferred from the paths in it. A host knows it.
- Intervals are 95 %, from resampling tasks.
- θ is the chance from which on a lookup is made. With *θ\\* by tokens* it is made when what a saved turn is worth
  outweighs what a detour costs at that point of the session. *θ\\* counted* is one number, δ / (β + δ), from the
  sessions learned on: β is the mean context at a turn that only reads, with its calls in every turn after it; δ is the
  mean result of a read times the mean number of turns left after one. Routes are promoted by the same θ (for θ\\* by
  tokens, by a chance of a half), so each row has a library of its own."""

BY_GROUP: Final = """\
The first rows add one part after another: the original's rule, habits with bound values learned within one session,
answers by containment, shell commands as reads, counts across sessions. The last rows are all of it at other
thresholds."""

FLOOR: Final = """\
The rule to beat: after a search, a fixed number of lines around the first line of the first file, read when the share
of such reads after such a search reaches θ in other sessions. It goes through the same replayer and the same playback;
only what it may look up is fixed. At θ = 0 it reads after every search that names a line."""

ABLATION: Final = f"""\
The default rules (θ = {DEFAULT.config.threshold}) with one part left out at a time, all groups together. The
difference is between the same sessions replayed with the part and without it; where its interval holds 0, no effect
is shown. Without containment neither the library nor the playback lets one answer stand for another call. Without
promotion across sessions a habit must be seen often enough within one session; its chance is still counted over all."""

CURVE: Final = f"""\
What is saved on the next {CURVE_BLOCK} sessions (fewer where no more are left) when the first n were learned, with
the default rules: {CURVE_ORDERS} seeded orders together, for the groups with most turns. Share of turns, and its
interval."""

COMMANDS: Final = """\
A command *reads* when it provably does; it has a *form* when it can be written again exactly from its form and values;
it is *understood* when all it shows is a range of a file, a search, a listing or a state. Everything else is a write.
The second table says what the refused ones are refused for, so that the next useful form is known."""

SKILLS: Final = """\
Those of which most lookups were used on sessions held out, each replayed alone. The files are as they are written when
all sessions of the group are learned."""

"""The text of the page that holds whatever the numbers are: how it was made, and what is assumed."""

from __future__ import annotations

from typing import Final

from benchmarks.flows.jobs import PUBLISHED_BETA
from benchmarks.flows.sessions import CODING_EVERY, FOLDS
from stretto._defaults import CURVE_ORDERS, THRESHOLD

__all__ = [
    "ABLATION",
    "ALIKE",
    "BATCHERS",
    "CALIBRATION",
    "CODING",
    "COSTS",
    "CURVE",
    "DISCUSSION",
    "DOMAINS",
    "FANOUT",
    "FRONTIER",
    "INTRODUCTION",
    "METHOD",
    "SUCCEEDED",
    "SYSTEMS",
    "TOGETHER",
]

INTRODUCTION: Final = """\
What flows save on recorded sessions of agents that use tools: airline and retail customers, office work, files, travel,
and coding. Every number, and every sentence about one, is written by one command, which takes about ten minutes on
two cores:

    python -m benchmarks.flows --markdown docs/results-flows.md --svg docs --beside docs/results.md

This page was made from {collection}: {sessions}.
A plain clone has a part of them in `examples/flows`, on which the same command gives other numbers. `--json FILE`
writes all of them, unrounded. Nothing depends on the clock, nor on chance without a seed. What waggle's routes save on
coding agents is in [results.md](results.md)."""

METHOD: Final = f"""\
## How it is measured

- A flow is learned in one domain from all of its agents, and replayed in that domain. **Only successful sessions are
  learned from**, by the benchmark's own verdict; all sessions are replayed, failed ones too.
- Sessions of one task are never on both sides of a split, nor are sessions about one customer: airline and retail are
  split by `user_id`, over both versions of airline at once. These groups are dealt into {FOLDS} folds, or one a group
  where there are fewer. Each fold is replayed with what was learned from the others, so every session is replayed once.
- A **turn** is every message of the agent, replies to the user included, a scripted greeting left out. The agent is
  taken to act as recorded. A turn is **saved** when lookups answer all of its calls. A lookup answers one call, which
  must be the very same, and which it has the result of: made before the agent's next write, or unchanged by it.
- A lookup that answers nothing is a **detour**. From a record, savings are exact or too low and detours too few: a flow
  that goes astray is shown stand-ins, not what would have led it further. The original found 55 to 72 % of the detours
  of a live run in this way.
- The **ceiling** counts turns whose calls all read, with every value present in earlier results after the last write.
  It is a yardstick and no bound: a value from the user's words, a constant or a habit can be outside of it.
- **Tokens net** is context saved less context spent, over all context read: for each saved turn what it would have
  read, and its calls in every turn after it; for each detour its result in every turn after it.
- Intervals are 95 %, from resampling the groups that are not split. Differences are of the same resamples.
- θ is the score from which on a lookup is made: {THRESHOLD} if nothing else is said, the original's own number. With
  **θ\\*** it is δ / (β + δ), counted on the sessions learned from: β is the context of a turn in the ceiling, δ a
  result in every turn after it. Where nothing can be counted, θ\\* is {THRESHOLD}.
- These recordings have no tokens, so context is estimated at four bytes a token. That misses the system prompt and the
  tools' descriptions, which every turn reads. Their length is taken to be **{{prompt}} tokens** everywhere: with it, β
  of our retail sessions is {PUBLISHED_BETA:,}, which the original counted in the same benchmark from recorded tokens.
  In other domains the prompt may be longer or shorter; the table of costs says what that would change."""

SYSTEMS: Final = """\
`habit` and `reach` are the original's two deciders, with its own bindings. What this project adds to `reach`: values
that are *derived* from earlier ones or taken together from one record, values from *the user's words*, *both*, and
scores counted from *uses*. All systems of a fold are replays of the same two flows: one learned with code features, as
the original does and as is our default, and one without. The last row is what is learned and served by default. Where
one of the original's deciders is shown alone, it has the flow of the two with which it saves more turns in total."""

DOMAINS: Final = """\
In each cell: turns saved, their share of all turns, and detours a session, with intervals; a dash where no lookup was
made. *Learned from* is the mean over the folds. The `class` domains were written by students for τ²-bench: a few tools,
one agent, short sessions."""

COSTS: Final = """\
β and δ in tokens, and θ\\* with the prompt that is assumed, with none, with half of it, and with twice as much."""

FRONTIER: Final = """\
All domains together, at falling thresholds. A system is better where it is above and to the left."""

ALIKE: Final = """\
Thresholds are not alike: one system's 0.5 may be another's 0.4. At as many detours as the original's `reach` makes,
ours saves, on the straight line between its own two nearest thresholds:"""

CALIBRATION: Final = f"""\
Each score of a lookup that was weighed, at θ = {THRESHOLD}, against whether the agent made that very call itself before
its next write. *ECE* is the mean distance between a score and the share that came true, in ten bins; *Brier* the mean
squared distance; *AUC* how well scores rank. For `habit` and `reach` the score is the chance of the tool times that of
its arguments. For ours it is the chance by uses, before calls that share a turn are counted. Resampling adds noise, and
noise adds to ECE, so its interval lies a little too high."""

SUCCEEDED: Final = """\
Flows are learned from sessions that succeeded. The same scores in sessions that did, and in those that failed:"""

CURVE: Final = f"""\
Turns saved on the sessions of each fold when the first n of the others were learned, in {CURVE_ORDERS} random orders,
and when all of them were. *10 to all* is what is saved with ten sessions over what is saved with all of them. An
agent that has ten successful sessions or fewer on some side of a split has no curve."""

FANOUT: Final = f"""\
A turn *starts* a list when it passes one of several values that stand beside each other in an earlier result, none of
which was passed before, and *continues* it when one was: each order of a user, each line of a customer; θ is
{THRESHOLD}. Likewise for lookups; of those, the share that was used."""

BATCHERS: Final = """\
A turn of several calls is saved only when all of them are answered. Agents that make such turns, those with most of
them first:"""

TOGETHER: Final = f"""\
Through one `waggle.Manager`, which asks its routes first and the flow after them, on the same sessions, all at θ =
{THRESHOLD}. Routes are learned from the same sessions as the flow. A failed lookup is not shown to the agent and counts
as a detour, so the flow by itself may differ a little from the tables above."""

ABLATION: Final = f"""\
The default with one part left out at a time, all domains together, θ = {THRESHOLD}. The differences are between the
same sessions with the part and without it: where an interval holds 0, no effect is shown."""

CODING: Final = f"""\
Every {CODING_EVERY}rd session of Claude Code, by repository. Shell commands are neither reads nor writes to a flow, so
they are never looked up; agents that have nothing but a shell are left out, since there a flow could do nothing."""

DISCUSSION: Final = """\
## What to make of it

- **More turns at no more detours.** Over the original's `reach` the gain in turns is certain and that in detours is
  not. It comes from counting uses: the same lookups, scored by what became of them. Derived values and the user's
  words without it save about as many turns more, and cost half as many detours again; scored by uses, most of those
  lookups are not made, and what they bring is little. Arguments from one record bring nothing in these domains.
- **Not where few detours are allowed.** Below about 0.3 a session, ours saves if anything fewer turns than `reach` at a
  higher threshold: its highest scores promise a little too much.
- **Code features** cost the original's `reach` turns on these sessions, and make no difference to ours.
- **Beside the original's figures.** Retail is there, with fewer detours. Airline is not, and cannot be: what the
  original saved in τ-bench's airline is more than the ceiling of our sessions. Of the ceiling, it is about the same
  share as the original's in τ²-bench. AgentDojo is far below: these are sessions of one small model, half of
  whose runs failed, so there are 4 to 30 to learn from, and its answers are YAML and prose. What there is to save is
  nearly all in its slack suite.
- **Calibration.** `reach` says better than `habit` what will be used, in total as in the original's figures; in the
  first version of airline no difference is shown, and in AgentDojo, with few lookups, it says it worse. By uses, scores
  are better calibrated than those of `reach` in retail, AgentDojo and BFCL, and worse in airline, most of all in
  sessions that failed: only successes are learned from, so a session that goes astray is promised too much. An agent
  that often fails gets more detours than its flow expects.
- **Ten sessions are enough in retail, and not in airline.** There ours needs more sessions than `reach`, since it
  counts more: with ten of them it saves no more turns.
- **Lists.** Later elements of a list are saved more often than the first. Most agents that make several calls in a
  turn gain most in those turns, since these are the reads of a list; `reach` is as good at them.
- **Routes and flows do not add up on these agents.** Routes, asked first, save half as many turns as the flow, with
  more detours, and the flow would have saved most of these as well. They add something where a flow finds nothing to
  bind from, in BFCL and AgentDojo. With coding agents it is the other way round: there is next to nothing that a flow
  looks up. Routes too save little by the rule of this page, that a lookup answers only the very same call; what a
  longer range of a file answers is counted in [results.md](results.md).
- **With care.** The constants inside the additions were chosen on these recordings, if on other splits of them, so the
  gain may be smaller elsewhere. The customers are simulated, and BFCL's sessions are reference solutions. Airline has
  no more than 23 groups of customers, hence its wide intervals. The length of the prompt is an assumption that θ\\*
  hangs on."""

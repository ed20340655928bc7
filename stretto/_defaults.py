"""Every number of stretto that a user might want to change, with its unit and its reason."""

from __future__ import annotations

from typing import Final

#: Score from which on a lookup is made, 0 to 1: the chance of the tool times that of its arguments. Measured live, a saved
#: turn is worth 6,000 input tokens and a detour costs 2,530: 2,530 / (6,000 + 2,530).
THRESHOLD: Final = 0.3

#: Results of a session that values are looked for in, the latest first. As many as waggle's ring keeps steps: a decision
#: costs the same however long the session is.
OUTPUTS_HELD: Final = 200

#: What a site must show to be promoted: share of its lookups that were used, the lower end of that share's 90 % interval,
#: and distinct tasks with a lookup. 3 of 3 pass, 2 of 2 and 7 of 10 do not.
PROMOTE_MIN_USED: Final = 0.7
PROMOTE_MIN_LOWER: Final = 0.5
PROMOTE_MIN_TASKS: Final = 3

#: Effective sample, in decisions, below which estimates by weights are refused: fewer are one or two lucky draws.
MIN_ESS: Final = 10.0

#: The search over thresholds: settings kept a generation, generations, and the seed of its draws. 16 times 10 is what a
#: replay of some hundred sessions a setting allows within minutes.
SEARCH_POPULATION: Final = 16
SEARCH_GENERATIONS: Final = 10
SEARCH_SEED: Final = 25

#: Seconds after which a command that scores one setting is ended.
SEARCH_TIMEOUT_S: Final = 3600.0

#: Share of a tool's calls that must pass an argument before a lookup passes it, 0 to 1. The original's.
REQUIRED_SHARE: Final = 0.9

#: Largest results file or export of spans that is read, bytes, decompressed. Such a file is held whole, and its values
#: take several times its size in memory.
IMPORT_BYTES: Final = 1 << 30

#: Largest Python file whose decorators are looked at, bytes. One written by hand has a tenth of it at most.
TOOLS_BYTES: Final = 4 << 20

#: Lookups after one result, and in one session; further ones are left to the agent. The original's.
LOOKUPS_PER_CALL: Final = 8
LOOKUPS_PER_SESSION: Final = 40

#: Questions an arbiter may ask its oracle in one session. The original's.
QUESTIONS_PER_SESSION: Final = 300

#: What an oracle is shown of a session: so many of the latest results, and so many characters of each text.
ORACLE_RESULTS: Final = 20
ORACLE_TEXT_CHARS: Final = 4_000

#: Characters of a session that is counted while it goes on; what comes later in it is not counted. A session of τ-bench
#: has 20,000.
COUNTED_CHARS: Final = 4_000_000

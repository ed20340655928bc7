"""Every number a user might want to change, with its unit and its reason. No other module holds one."""

from typing import Final

# --- recording ---------------------------------------------------------------------------------------------

#: Steps a session's ring keeps. The original's window: long enough for an afternoon's habit, small enough
#: that a copy of it costs microseconds.
RING_STEPS: Final = 200

#: Calls that may be running at once before the oldest is taken for lost, in calls. A model emits up to about a
#: dozen calls in one message; one that has not ended after this many others began will not order the rest.
PENDING_CALLS: Final = 64

# --- mining ------------------------------------------------------------------------------------------------

#: Shortest and longest route, in steps. Two steps are the least that can be called a habit; beyond six the
#: original found only copies of shorter ones.
MIN_ROUTE_STEPS: Final = 2
MAX_ROUTE_STEPS: Final = 6

#: Occurrences that do not overlap before a run of calls is a route.
MIN_OCCURRENCES: Final = 2

#: Occurrences before a manager promotes. On the seeded agent stream, what was promoted after two was right in 64 % of
#: the times it fired, after three in 98 %.
PROMOTE_OCCURRENCES: Final = 3

#: Calls between two looks at what has been mined.
SWEEP_CALLS: Final = 8

# --- replay ------------------------------------------------------------------------------------------------

#: Leading steps that must match before the rest of a route is run. Below two nearly every call would match.
MIN_PREFIX_STEPS: Final = 2

#: Lookups after one result, and in one session. Eight covers the longest route and a fan-out over a short list;
#: forty is what a session's context can take at a few hundred tokens each.
LOOKUPS_PER_RESULT: Final = 8
LOOKUPS_PER_SESSION: Final = 40

#: Longest text folded into one result, bytes of UTF-8. About 8,000 tokens: four files of ordinary size.
FOLD_BYTES: Final = 32 * 1024

#: Results kept in a session so that a known lookup need not be made again, bytes of UTF-8.
KNOWN_RESULT_BYTES: Final = 1024 * 1024

#: Longest time one ``follow`` may hold the agent's result, seconds. A file read takes milliseconds; a host that
#: reads over a network can raise it.
FOLLOW_SECONDS: Final = 5.0

#: Bytes of text that count as one token, the original's rule of thumb.
BYTES_PER_TOKEN: Final = 4

# --- tracing values ----------------------------------------------------------------------------------------

#: Text of one result that is searched for values, characters. A search for a common word prints about 100 kB; what
#: stands beyond 128 kB no agent reads, let alone copies from.
CONTENT_CHARS: Final = 128 * 1024

#: Calls of a session whose values are held. Nearly all values come from the last ten; forty leaves room for parallel
#: calls.
VALUE_STEPS: Final = 40

# --- reach -------------------------------------------------------------------------------------------------

#: Weight of the coarser level when the chance of a finer one is counted, in occurrences (the weight of the back-off).
REACH_PRIOR: Final = 8.0

#: Chance from which on a lookup is made. Measured live, a saved turn is worth 6,000 input tokens and a detour costs
#: 2,530: θ = 2,530 / (6,000 + 2,530).
REACH_THRESHOLD: Final = 0.3

#: What the lines of a detour count, against a read of the agent's own, when a range is chosen: a tenth. With nothing,
#: the longest range would always be the best; with all, only ranges that are too short.
LINE_COST: Final = 0.1

#: Sessions in which a habit must occur before it is promoted, or the occurrences `ManagerConfig.mine` asks for in one.
MIN_SESSIONS: Final = 2

#: Habits counted in one project, in targets. A coding project has a few thousand; a target is about 300 bytes.
REACH_TARGETS: Final = 20_000

#: Sessions counted before curation forgets what was read in only one of them.
RARE_AFTER_SESSIONS: Final = 50

#: Sessions remembered so that one is not counted twice, in fingerprints of 16 characters.
REACH_DIGESTS: Final = 10_000

# --- files -------------------------------------------------------------------------------------------------

#: Longest wait for another process's lock, seconds. Nothing holds one longer than a write takes.
LOCK_SECONDS: Final = 10.0

#: Work queued for the disk before new work is dropped and counted, in items. A sweep queues one.
QUEUE_ITEMS: Final = 10_000

#: Longest wait at the end of the process for what is queued, seconds. A few writes take milliseconds.
EXIT_FLUSH_SECONDS: Final = 2.0

#: Conversations a manager keeps apart before the one unused for longest is closed. Each is about 100 kB,
#: and up to 2 MB where results are long.
SESSIONS: Final = 1000

#: Largest skill file that is read, bytes. The format's own limit is 5,000 tokens of body.
SKILL_FILE_BYTES: Final = 1024 * 1024

#: Longest ledger line that is read as a record, bytes. Ours are about 150.
LEDGER_LINE_BYTES: Final = 1024 * 1024

#: Longest line of a recorded session that is read, bytes. A session is one line; the longest we know are about 1 MB,
#: and a longer line than this is some other file, which must not fill the memory.
TRACE_LINE_BYTES: Final = 256 * 1024 * 1024

#: Age after which a temporary file is taken for the leftover of a crash, seconds.
LEFTOVER_SECONDS: Final = 3600.0

# --- curation ----------------------------------------------------------------------------------------------

#: Days without a use after which a route is pruned, counted from when it was learned or last switched off.
STALE_DAYS: Final = 14

#: Failures without one success before a route is switched off.
MIN_FAILS: Final = 3

#: Settled lookups since a route was learned or switched on before the share used can switch it off, and the share, 0 to
#: 1, below which it does. A route at the threshold at which routes fire, three in ten lookups used, comes to that by
#: bad luck with a probability of 0.8 %, however often one looks; were 20 lookups enough, of 2.9 %. One that is used
#: three times in a hundred is switched off with 94 % at once, and sooner or later always.
MIN_SETTLED: Final = 30
MIN_USED_SHARE: Final = 0.1

#: Projects that must hold a route before it is copied to the user's store.
PROMOTE_PROJECTS: Final = 2

#: Projects remembered for that, in roots. More than a person works on; each is looked into by every ``gc``.
KNOWN_PROJECTS: Final = 300

# --- hooks -------------------------------------------------------------------------------------------------

#: Longest addition to a result by a hook, characters, and bytes so that it never is longer. Claude Code puts what is
#: longer than 10,000 into a file; the specification asks for less than 9,000.
HOOK_FOLD_CHARS: Final = 8900

#: Longest time the lookups after one call may take in a hook, seconds; the host is told to wait for five.
HOOK_FOLLOW_SECONDS: Final = 2.0

#: Text kept on disk of one result, characters. A search and a file of ordinary length are shorter.
HOOK_RESULT_CHARS: Final = 32 * 1024

#: Longest journal of a session, bytes; then its later half is kept. About a thousand calls.
HOOK_JOURNAL_BYTES: Final = 4 * 1024 * 1024

#: Seconds without an event after which the keeper ends: half an hour.
HOOK_IDLE_SECONDS: Final = 1800.0

#: Seconds without an event after which a session counts as ended: two days, as a person may come back the day after.
HOOK_STALE_SECONDS: Final = 172_800.0

#: Seconds between two looks for such sessions: six hours; a server may run for weeks.
HOOK_SETTLE_SECONDS: Final = 21_600.0

#: Where `waggle serve` listens, unless told otherwise. No registered service has this port.
HOOK_ADDRESS: Final = "127.0.0.1:8377"

#: Projects held in memory at once. Each is a few megabytes.
HOOK_PROJECTS: Final = 16

# --- effect ------------------------------------------------------------------------------------------------

#: Sessions with folds, and as many without, before the difference between them gets an interval. On simulated sessions
#: without an effect, intervals from two a side claimed one in 27 % of the times, from three or four in 16 %, from five
#: to seven in 9 %, from twelve and more in 8 %.
EFFECT_SESSIONS: Final = 5

# --- measuring ---------------------------------------------------------------------------------------------

#: Resamples behind an interval. A thousand put its ends within about a tenth of its width.
BOOTSTRAP_ROUNDS: Final = 1000

# --- exit codes of the command line ------------------------------------------------------------------------

EXIT_OK: Final = 0
EXIT_PROBLEMS: Final = 1  #: the command ran and found something wrong (``verify``, ``doctor``)
EXIT_USAGE: Final = 2  #: the command line or a setting is wrong
EXIT_SKILL: Final = 3  #: a skill cannot be read or does not exist
EXIT_STORE: Final = 4  #: no place to write, or the lock was not had in time
EXIT_LEDGER: Final = 5  #: the ledger is damaged
EXIT_TRACE: Final = 6  #: a trace cannot be read
EXIT_INTERRUPTED: Final = 130  #: stopped with Ctrl-C

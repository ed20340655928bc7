"""Every number of stretto that a user might want to change, with its unit and its reason."""

from __future__ import annotations

from typing import Final

#: Score from which on a lookup is made, 0 to 1: the chance of the tool times that of its arguments. Measured live, a
#: saved turn is worth 6,000 input tokens and a detour costs 2,530: 2,530 / (6,000 + 2,530).
THRESHOLD: Final = 0.3

#: Results of a session that values are looked for in, the latest first. As many as waggle's ring keeps steps: a
#: decision costs the same however long the session is.
OUTPUTS_HELD: Final = 200

#: What a site must show to be promoted: share of its lookups that were used, the lower end of that share's 90 %
#: interval, and distinct tasks with a lookup. 3 of 3 pass, 2 of 2 and 7 of 10 do not.
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

#: Sessions of which the concentration, the features and the gate are computed; all of them up to here. The
#: concentration of 512 is known to about 8 %, which moves no probability of the shipped retail flow by more than 0.02.
SAMPLE_EPISODES: Final = 512

#: Characters of JSON outputs held for each of them; 512 sessions are 64 MiB at most. One of τ-bench has 7,000.
SAMPLE_CHARS: Final = 128 * 1024

#: Longest time after a turn's last answer in which a call still joins the turn, ms. In 285 recorded sessions of coding
#: agents, later calls of a turn came a median of 218 ms after it, and a new turn never sooner than 850 ms.
TURN_GAP_MS: Final = 500

#: Largest line of a session log that is written, bytes. Texts beyond it are cut, with their length and digest noted; a
#: result of 1 MB is more than any agent reads.
LOG_RECORD_BYTES: Final = 1024 * 1024

#: Sessions that are held between two passes over a corpus, bytes of their files, texts or logs. A larger corpus is read
#: again in every pass; in memory the values take about three times as much.
CORPUS_CACHE_BYTES: Final = 32 * 1024 * 1024

#: Sessions that must hold a value for it to stay in a redacted copy. The original's.
KEEP_SHARED: Final = 3

#: Change of a share, a chance or a weight from which on a comparison of two flows lists it, 0 to 1. The original's.
DIFF_TOLERANCE: Final = 0.05

#: Largest manifest file that is read, bytes. A tool takes about 1 kB with its descriptions.
MANIFEST_BYTES: Final = 16 * 1024 * 1024

#: Largest file of rewards that is read, bytes: a million sessions.
REWARDS_BYTES: Final = 64 * 1024 * 1024

#: Points of a learning curve, sessions learned from; all of them is always the last. Those of the original's tables.
CURVE_SIZES: Final = (10, 30, 100)

#: Random orders the sessions of a learning curve are put in, as many as the original's.
CURVE_ORDERS: Final = 3

#: Share of the tasks a learning curve is learned from; the others are replayed.
CURVE_LEARN_SHARE: Final = 0.5

#: Dollars an oracle may cost while an arbiter is fitted. The original's.
ORACLE_BUDGET: Final = 1.0

#: Seconds a server may take until it has listed its tools, when ``doctor`` starts it. One that is fetched by a package
#: manager first takes 10.
SERVER_SECONDS: Final = 30.0

# --- exit codes of the command line: 0 to 2 as the original's, the others as waggle's --------------------------------

EXIT_OK: Final = 0
EXIT_PROBLEMS: Final = 1  #: the command ran and found something (``flow-diff``, ``drift``, ``doctor``)
EXIT_USAGE: Final = 2  #: what was given cannot be used: the command line, a flow, a recorded session
EXIT_STORE: Final = 4  #: a place cannot be written
EXIT_INTERRUPTED: Final = 130  #: stopped with Ctrl-C

#: Sessions whose runs are rehearsed, those with the smallest hashes of their ids. A rehearsal costs a few milliseconds
#: a session, several times all other learning; its counts are shares, which 128 sessions give to a few hundredths.
REHEARSED_SESSIONS: Final = 128

#: Values traced at a site before the site's own order of sources is used. The original's.
SITE_VALUES: Final = 5

#: Longest line that the proxy shows to what looks at lines (recording, serving), bytes. A longer one passes unseen: it
#: would be held whole, and no agent reads a result of 64 MiB.
PROXY_LINE_BYTES: Final = 64 * 1024 * 1024

#: Lines on their way into a session log, bytes. What comes while the disk is so far behind is not recorded.
RECORD_QUEUE_BYTES: Final = 64 * 1024 * 1024

#: Longest wait at a session's end for lines on their way into its log, seconds. 10,000 calls take a few.
RECORD_FLUSH_S: Final = 10.0

#: Minutes after which a session of a host over HTTP ends in which nothing has crossed. The original's.
LISTEN_IDLE_MINUTES: Final = 240.0

#: Longest time for which the proxy holds an answer while it looks things up, seconds. The turn that it saves takes a
#: model several; a lookup in a database or of files takes milliseconds, and what takes longer is left to the agent.
HELD_SECONDS: Final = 1.0

#: Longest time for one lookup, seconds. The original's; it counts where an answer may be held for longer.
LOOKUP_SECONDS: Final = 60.0

#: Calls in one commit. More are no unit that anybody has looked at, and their results are too long to be read.
COMMIT_CALLS: Final = 50

#: Steps whose mean surprise the gate looks at, unless the flow or the user says otherwise. The original's.
SURPRISE_WINDOW: Final = 5

#: Largest file of a procedure that is read. One of a thousand traces with all its evidence takes some megabytes.
PROCEDURE_BYTES: Final = 64 * 1024 * 1024

#: Largest file of an adviser's answers that is read. An answer takes some hundred bytes.
ANSWERS_BYTES: Final = 64 * 1024 * 1024

#: Calls of one run of a tree procedure at most, where its file says no other number. The original's.
TREE_MAX_CALLS: Final = 50

#: Deepest decision tree that is fitted. The deepest of the original's own file that we know is 6 or 7; the depth that
#: cross-validation picks is seldom more.
TREE_DEPTH: Final = 12

#: Fewest decisions on either side of a split. No leaf below a split of the original's file has fewer.
TREE_LEAF: Final = 5

#: Parts that tasks are put in to choose the depth of a tree.
TREE_FOLDS: Final = 5

#: Fewest cases of a leaf that may be sure. The original's.
TREE_SURE_CASES: Final = 10

#: Shares of tickets between which a word of them may be asked for. The original's: a rarer one names a case, a more
#: frequent one tells none apart.
TREE_WORD_SHARES: Final = (0.05, 0.95)

#: Deepest node of a tree that is read. A tree of that depth could tell 2^100 states apart.
TREE_DEEPEST: Final = 100

#: Largest file of an intent's requests that is read. A thousand requests take some hundred kilobytes.
REQUESTS_BYTES: Final = 16 * 1024 * 1024

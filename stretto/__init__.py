"""stretto: flows, learned from an agent's recorded sessions by counting.

A flow says which read-only call an agent usually makes next and where its arguments come from. `learn` makes one from
`open_corpus`, `show` and `diff` are for its reviewer, `replay_all` measures it, and `flow_strategy` lets it act inside
an agent, through `waggle.Manager`. The names below are the public ones; each is imported when it is first used, so that
importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waggle._lazy import lazy

if TYPE_CHECKING:
    from stretto.counting import LiveCounts
    from stretto.errors import FlowError, SessionLogError, StrettoError, UsageError
    from stretto.flow.file import read_flow, write_flow
    from stretto.flow.model import Flow, Provenance
    from stretto.learning import LearnOptions, learn, learn_counts, merge, plan_of_flow
    from stretto.replayer import flow_strategy, hint_tools
    from stretto.review.audit import audit
    from stretto.review.diff import diff
    from stretto.review.drift import drift
    from stretto.review.promote import promote
    from stretto.review.replay import replay, replay_all
    from stretto.review.show import show
    from stretto.review.summary import summary
    from stretto.sessions.corpus import Corpus, Recorded, open_corpus
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Manifest
    from stretto.sessions.redact import redact

__version__ = "0.1.0"

_HOMES = {
    "counting": ("LiveCounts",),
    "errors": ("FlowError", "SessionLogError", "StrettoError", "UsageError"),
    "flow.file": ("read_flow", "write_flow"),
    "flow.model": ("Flow", "Provenance"),
    "learning": ("LearnOptions", "learn", "learn_counts", "merge", "plan_of_flow"),
    "replayer": ("flow_strategy", "hint_tools"),
    "review.audit": ("audit",),
    "review.diff": ("diff",),
    "review.drift": ("drift",),
    "review.promote": ("promote",),
    "review.replay": ("replay", "replay_all"),
    "review.show": ("show",),
    "review.summary": ("summary",),
    "sessions.corpus": ("Corpus", "Recorded", "open_corpus"),
    "sessions.episode": ("Episode",),
    "sessions.manifest": ("Manifest",),
    "sessions.redact": ("redact",),
}
__all__ = [
    "Corpus",
    "Episode",
    "Flow",
    "FlowError",
    "LearnOptions",
    "LiveCounts",
    "Manifest",
    "Provenance",
    "Recorded",
    "SessionLogError",
    "StrettoError",
    "UsageError",
    "audit",
    "diff",
    "drift",
    "flow_strategy",
    "hint_tools",
    "learn",
    "learn_counts",
    "merge",
    "open_corpus",
    "plan_of_flow",
    "promote",
    "read_flow",
    "redact",
    "replay",
    "replay_all",
    "show",
    "summary",
    "write_flow",
]


__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""From solo sessions to a tree procedure. Pure: the same sessions in any order give the same procedure.

Successful sessions are taken for demonstrations of what to do. At each place one decision tree is grown over the states
in which something was done there, as deep as is best for tasks that it has not seen; its leaves are what was done, by
count. That is the original's way; `FitOptions` has what else there is. A tree has no place for a secret: whatever reads
as one goes into no procedure.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING

from stretto._defaults import TREE_MAX_CALLS, TREE_SURE_CASES, TREE_WORD_SHARES
from stretto.errors import UsageError
from stretto.procedure.trees.actions import mapped, read_action
from stretto.procedure.trees.demonstrations import decisions, demonstrated, is_solo, ticket_of
from stretto.procedure.trees.growing import Growing, Row, choose_depth, counted, cut, voted
from stretto.procedure.trees.model import STOP, Leaf, Provenance, Split, TreeProcedure
from stretto.procedure.trees.state import words
from stretto.procedure.trees.symbols import read_symbol
from waggle.redact import MASK, is_masked, redact_text, redact_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stretto.procedure.trees.demonstrations import Decision
    from stretto.procedure.trees.model import Check, Node
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonValue

__all__ = ["FitOptions", "Fitted", "fit_trees", "self_train"]


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How a tree procedure is fitted.

    Attributes:
        sources: names of what the sessions come from, for its provenance.
        symbolic: whether identifiers stand as where they came from; without it, only what is the same in all tickets
            can be learned.
        max_calls: calls of one run at most.
        handoff: the tool that passes to a person; empty for none.
        handoff_arguments: of that tool: those of the sessions are texts for people, and are not learned.
        checks: how outcomes are looked at. Nothing in a session says what its user looks at, so they are given.
        sure: share of a leaf's cases that one action has to have, of `TREE_SURE_CASES` or more, for it to be done at
            all; else the run stops there and is handed back. None does the most frequent one that can be done.
        sure_reads: whether reads have to be sure as well, as the original's. Without it an unsure leaf still reads:
            agents differ in what they look at first, which harms nobody, and seldom in what they change.
        bag: trees that vote on what questions should tell apart, see `stretto.procedure.trees.growing.voted`; 0 for
            none.
        seed: of the trees that vote.
    """

    sources: tuple[str, ...] = ()
    symbolic: bool = True
    max_calls: int = TREE_MAX_CALLS
    handoff: str = ""
    handoff_arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    sure: float | None = None
    sure_reads: bool = True
    bag: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was fitted.

    Attributes:
        procedure: the procedure.
        sessions: that it was fitted on, sorted by task and id.
        decisions: of them.
        actions: different ones.
        left_out: how many sessions do not serve, by why: ``failed``; ``not solo``, nobody spoke before the first call
            or somebody after it; ``secret``, a call has one as an argument; ``not sayable``, a call reads as no action.
        depths: of the tree at each site, as it was chosen.
    """

    procedure: TreeProcedure
    sessions: tuple[Episode, ...]
    decisions: int
    actions: int
    left_out: Mapping[str, int]
    depths: Mapping[str, int]


def fit_trees(sessions: Iterable[Episode], manifest: Manifest, options: FitOptions | None = None) -> Fitted:
    """Fit a tree procedure.

    Cost: a few seconds for ten thousand decisions, and linear in them; memory, the sessions and their states.

    Args:
        sessions: recorded ones; those that failed, or in which the user spoke after the first call, are left out.
        manifest: says which tools read; all others are taken to change something.
        options: None for the original's.

    Raises:
        UsageError: no session serves, or an option is out of its range.
    """
    options = options or FitOptions()
    _check(options, manifest)
    served, left_out = _serving(sessions)
    called = {call.tool for episode in served for call in demonstrated(episode)}
    reads = tuple(sorted((called | {check.probe for check in options.checks}) & {*manifest.reads}))
    vocab = _vocabulary({ticket_of(episode) for episode in served})
    stop = STOP
    while stop in called:
        stop = f"_{stop}"
    rows: dict[str, list[Row]] = {}
    fitted: list[Episode] = []
    for episode in served:
        try:
            taken = [*_decisions(episode, options, vocab, reads, stop)]
        except ValueError:  # an argument that reads as a symbol, or a tool whose name has a brace
            left_out["not sayable"] += 1
            continue
        if any(_holds_secret(each.action, symbolic=options.symbolic) for each in taken):
            left_out["secret"] += 1
            continue
        fitted.append(episode)
        for each in taken:
            features = frozenset(feature for feature in each.features if not _says_secret(feature))
            rows.setdefault(each.site, []).append(Row(features, each.action, episode.task))
    if not fitted:
        reasons = ", ".join(f"{count} {why}" for why, count in sorted(left_out.items())) or "there is none"
        raise UsageError(
            f"no session serves to fit trees: {reasons}; one serves that reached its goal, and in which nobody spoke "
            "after the first call"
        )
    growings = {site: Growing(found) for site, found in sorted(rows.items())}
    depths = {site: choose_depth(growing) for site, growing in growings.items()}
    every = Counter(row.action for found in rows.values() for row in found)
    guard = _Guard(options, frozenset(reads), stop)
    procedure = TreeProcedure(
        domain=manifest.domain or min(episode.domain for episode in fitted),
        provenance=Provenance(options.sources, len({episode.task for episode in fitted})),
        symbolic=options.symbolic,
        trees={site: guard.guarded(_tree(growing, depths[site], options)) for site, growing in growings.items()},
        fallback=guard.guarded(Leaf(counted(every))),
        reads=reads,
        vocab=vocab,
        checks=options.checks,
        handoff=options.handoff,
        handoff_arguments=dict(options.handoff_arguments),
        max_calls=options.max_calls,
        stop=stop,
    )
    fitted.sort(key=lambda episode: (episode.task, episode.id))
    return Fitted(procedure, tuple(fitted), every.total(), len(every), dict(sorted(left_out.items())), depths)


def self_train(
    sessions: Sequence[Episode],
    manifest: Manifest,
    options: FitOptions | None = None,
    *,
    practise: Callable[[TreeProcedure], Iterable[Episode]],
    rounds: int,
) -> Fitted:
    """Fit a procedure, let it practise, and fit it again on what was recorded and on its own successes.

    Of each task the shortest success counts, the first by id of equals. A procedure's own runs are more alike than an
    agent's, and trees are learned from demonstrations that agree.

    Args:
        sessions: as `fit_trees`.
        manifest: as `fit_trees`.
        options: as `fit_trees`.
        practise: runs a procedure where nothing is harmed, and gives its runs as sessions with their task, and with a
            full reward for those that are known to have succeeded.
        rounds: how often; with 0 this is `fit_trees`.

    Raises:
        UsageError: as `fit_trees`.
    """
    fitted = fit_trees(sessions, manifest, options)
    kept: dict[str, tuple[int, str, Episode]] = {}
    for _ in range(rounds):
        for run in practise(fitted.procedure):
            if run.succeeded:
                made = (len(demonstrated(run)), run.id, run)
                kept[run.task] = min(kept.get(run.task, made), made, key=lambda each: each[:2])
        fitted = fit_trees([*sessions, *(run for _, _, run in kept.values())], manifest, options)
    return fitted


def _check(options: FitOptions, manifest: Manifest) -> None:
    if options.sure is not None and not 0 < options.sure <= 1:
        raise UsageError(f"sure is a share, above 0 and at most 1, not {options.sure}")
    if options.bag < 0 or options.max_calls < 1:
        raise UsageError("bag is 0 or more, and max_calls 1 or more")
    if options.handoff_arguments and not options.handoff:
        raise UsageError("there is no handoff that takes handoff_arguments")
    for check in options.checks:
        if manifest.kind(check.probe) != "read":
            raise UsageError(f"{check.probe} is not known to be a read, and a check changes nothing")


def _serving(sessions: Iterable[Episode]) -> tuple[list[Episode], Counter[str]]:
    served: list[Episode] = []
    left_out: Counter[str] = Counter()
    for episode in sessions:
        if not episode.succeeded:
            left_out["failed"] += 1
        elif not is_solo(episode):
            left_out["not solo"] += 1
        elif any(not isinstance(call.arguments, dict | None) for turn in episode.turns() for call in turn.calls):
            left_out["not sayable"] += 1
        else:
            served.append(episode)
    return served, left_out


def _decisions(
    episode: Episode, options: FitOptions, vocab: tuple[str, ...], reads: tuple[str, ...], stop: str
) -> Iterable[Decision]:
    return decisions(
        episode,
        vocab=frozenset(vocab),
        reads=frozenset(reads),
        symbolic=options.symbolic,
        handoff=options.handoff,
        stop=stop,
    )


@lru_cache(maxsize=4096)
def _holds_secret(action: str, *, symbolic: bool) -> bool:
    """Whether an argument has a secret in it, or the place of one, as itself."""
    arguments = dict(read_action(action, symbolic=symbolic).arguments)
    plain = mapped(arguments, lambda _, text: "" if symbolic and read_symbol(text) is not None else text)
    return is_masked(plain) or redact_value(plain) != plain


@lru_cache(maxsize=65536)
def _says_secret(feature: str) -> bool:
    # Actions that were made have been looked at, and name the places of secrets.
    return not feature.startswith("made ") and (is_masked(feature) or redact_text(feature) != feature)


def _vocabulary(tickets: set[str]) -> tuple[str, ...]:
    """Words and pairs in a share of the tickets neither small nor large; a ticket of several sessions counts once."""
    plain = [redact_text(ticket).replace(MASK, "") for ticket in tickets]
    counts = Counter(word for ticket in plain for word in set(words(ticket)))
    least, most = (share * len(tickets) for share in TREE_WORD_SHARES)
    return tuple(sorted(word for word, count in counts.items() if least <= count <= most))


def _tree(growing: Growing, depth: int, options: FitOptions) -> Node:
    if options.bag:
        growing = Growing(growing.rows, voted(growing, depth, trees=options.bag, seed=options.seed))
    return cut(growing.tree(depth=depth), depth)


@dataclass(frozen=True)
class _Guard:
    """Takes out of leaves what is not sure enough to be done."""

    options: FitOptions
    reads: frozenset[str]
    stop: str

    def guarded(self, node: Node) -> Node:
        if self.options.sure is None:
            return node
        if isinstance(node, Split):
            return Split(node.feature, self.guarded(node.yes), self.guarded(node.no))
        (action, count), cases = node.calls[0], sum(count for _, count in node.calls)
        if cases >= TREE_SURE_CASES and count >= self.options.sure * cases:
            return Leaf(((action, count),))
        reads = [] if self.options.sure_reads else [*takewhile(lambda call: call[0] != self.stop, node.calls)]
        kept = tuple(call for call in reads if self._reads(call[0]))
        return Leaf((*kept, (self.stop, cases - sum(count for _, count in kept))))

    def _reads(self, action: str) -> bool:
        return read_action(action, symbolic=self.options.symbolic).tool in self.reads

"""What a reviewer should know of a tree procedure, and its page; see `stretto.procedure.trees`. Pure.

More simply than a compiled procedure: a tree has no arguments with evidence, only actions with counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stretto.procedure.trees.actions import read_action
from stretto.procedure.trees.model import Leaf, Split
from stretto.review.document import Data, Heading, Items, Paragraph, Table, joined
from stretto.review.page import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stretto.procedure.trees.model import Node, TreeProcedure
    from stretto.review.document import Block, Line
    from waggle.jsonvalue import JsonObject

__all__ = ["SiteShown", "TreesShown", "actions_of", "show_trees", "tools_of", "trees_json", "trees_page"]

_FALLBACK: Final = "any other"
_TOP: Final = 5  # actions and features of a site that the page lists


@dataclass(frozen=True, slots=True)
class SiteShown:
    """What is decided after one call.

    Attributes:
        site: after what; `stretto.procedure.trees.model.START` at the beginning, ``any other`` for the fallback.
        questions: asked on the longest way through its tree.
        features: that are asked for, sorted.
        actions: that may be done there, with how often they were, most first.
    """

    site: str
    questions: int
    features: tuple[str, ...]
    actions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class TreesShown:
    """A tree procedure as a reviewer sees it; sites and tools sorted by name."""

    procedure: TreeProcedure
    sites: tuple[SiteShown, ...]
    reads: tuple[str, ...]
    changes: tuple[str, ...]


def actions_of(node: Node) -> dict[str, int]:
    """The actions of a tree, with how often each was taken, over all leaves."""
    found: dict[str, int] = {}
    for leaf, _ in _leaves(node):
        for action, number in leaf.calls:
            found[action] = found.get(action, 0) + number
    return found


def _leaves(node: Node) -> Iterator[tuple[Leaf, int]]:
    """The leaves of a tree with their depths."""
    todo: list[tuple[Node, int]] = [(node, 0)]
    while todo:
        each, depth = todo.pop()
        if isinstance(each, Leaf):
            yield each, depth
        else:
            todo += [(each.no, depth + 1), (each.yes, depth + 1)]


def _features(node: Node) -> Iterator[str]:
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, Split):
            yield each.feature
            todo += [each.no, each.yes]


def tools_of(procedure: TreeProcedure) -> set[str]:
    """The tools that a tree procedure may call."""
    nodes = [*procedure.trees.values(), procedure.fallback]
    actions = {action for node in nodes for action in actions_of(node)} - {procedure.stop}
    handoff = {procedure.handoff} if procedure.handoff else set[str]()
    probes = {check.probe for check in procedure.checks}
    return {read_action(each, symbolic=procedure.symbolic).tool for each in actions} | handoff | probes


def show_trees(procedure: TreeProcedure) -> TreesShown:
    """Everything a reviewer is shown of a tree procedure."""
    tools = tools_of(procedure)
    sites = [*sorted(procedure.trees.items()), (_FALLBACK, procedure.fallback)]
    return TreesShown(
        procedure,
        tuple(_site(site, node) for site, node in sites),
        tuple(sorted(tools & set(procedure.reads))),
        tuple(sorted(tools - set(procedure.reads))),
    )


def _site(site: str, node: Node) -> SiteShown:
    actions = sorted(actions_of(node).items(), key=lambda each: (-each[1], each[0]))
    deepest = max(depth for _, depth in _leaves(node))
    return SiteShown(site, deepest, tuple(sorted(set(_features(node)))), tuple(actions))


def trees_json(shown: TreesShown) -> JsonObject:
    """The same as JSON."""
    procedure = shown.procedure
    return {
        "kind": "trees",
        "name": procedure.domain,
        "symbolic": procedure.symbolic,
        "max_calls": procedure.max_calls,
        "stop": procedure.stop,
        "handoff": procedure.handoff,
        "reads": [*shown.reads],
        "changes": [*shown.changes],
        "sites": [
            {
                "site": each.site,
                "questions": each.questions,
                "features": [*each.features],
                "actions": [{"action": action, "times": times} for action, times in each.actions],
            }
            for each in shown.sites
        ],
        "checks": [
            {
                "phrase": each.phrase,
                "probe": each.probe,
                "contains": [*each.contains],
                "lacks": [*each.lacks],
            }
            for each in procedure.checks
        ],
        "sources": [*procedure.provenance.sources],
        "training_tasks": procedure.provenance.training_tasks,
    }


def trees_page(shown: TreesShown) -> list[Block]:
    """The blocks of the page."""
    procedure = shown.procedure
    tasks = count(procedure.provenance.training_tasks, "task")
    after: Line = (", hands over with ", Data(procedure.handoff)) if procedure.handoff else ()
    return [
        Heading(1, ("Tree procedure ", Data(procedure.domain))),
        Paragraph((f"Fitted on {tasks}", *_of(procedure.provenance.sources), ". It decides after each call.")),
        Paragraph((f"{procedure.max_calls:,} calls of one run at most", *after, ".")),
        Heading(2, ("Tools",)),
        Items(
            (
                (("changes, as far as is known: ", *_names(shown.changes)), ()),
                (("reads: ", *_names(shown.reads)), ()),
            )
        ),
        Heading(2, ("Decisions",)),
        Table(
            ("after", "questions", "asked for", "what is done there, how often it was"),
            tuple(((Data(each.site),), (str(each.questions),), _asked(each), _actions(each)) for each in shown.sites),
        ),
        *_checks(procedure),
    ]


def _of(sources: Iterable[str]) -> Line:
    names = _names(sources, "")
    return (" of ", *names) if names else ()


def _names(names: Iterable[str], without: str = "none") -> Line:
    return joined((Data(each),) for each in names) or ((without,) if without else ())


def _asked(site: SiteShown) -> Line:
    return _first(joined((Data(feature),) for feature in site.features[:_TOP]), len(site.features)) or ("nothing",)


def _actions(site: SiteShown) -> Line:
    return _first(joined((Data(action), f" {number:,}") for action, number in site.actions[:_TOP]), len(site.actions))


def _first(listed: Line, whole: int) -> Line:
    return (*listed, f", and {whole - _TOP} more") if whole > _TOP else listed


def _checks(procedure: TreeProcedure) -> Iterator[Block]:
    if procedure.checks:
        yield Heading(2, ("Checks of the outcome",))
        yield Table(
            ("tickets with", "looks with", "has to say", "must not say"),
            tuple(
                ((Data(each.phrase),), (Data(each.probe),), _names(each.contains), _names(each.lacks))
                for each in procedure.checks
            ),
        )

"""Giving a flow an arbiter: every decision of the agents is put to an oracle, and its weights are fitted on them.

Recorded sessions are walked as they would have been served (`stretto.review.walk`): wherever all answers of a turn were
in and the flow had lookups to choose from, the oracle is asked what the agent will do next, and the agent's own next
step is the truth. The habit that an arbiter weighs beside the oracle is counted without the fold of tasks the session
belongs to, or it would look better than it is. Pure, as far as the oracle is. Not responsible for the fit
(`stretto.deciders.fit`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stretto.deciders.arbiter import request_for, told_by
from stretto.deciders.fit import Case, fit_folds
from stretto.deciders.habit import habit_prior
from stretto.deciders.model import HAND_BACK
from stretto.errors import OracleError, UsageError
from stretto.flow.model import Arbiter
from stretto.model.alphabet import steps_of
from stretto.model.counts import Successions
from stretto.model.sample import FOLDS, fold_of
from stretto.review.walk import Walker, next_step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stretto.deciders.oracle import Oracle
    from stretto.flow.model import Flow, Predicate
    from stretto.model.counts import Habit
    from stretto.sessions.corpus import Recorded
    from stretto.sessions.episode import Episode

__all__ = ["Trained", "cases_of", "held_out_habits", "with_arbiter"]


@dataclass(frozen=True, slots=True)
class Trained:
    """A flow that got an arbiter.

    Attributes:
        flow: the flow with it.
        cases: decisions it was fitted on.
        unanswered: decisions the oracle had no answer to.
        first_problem: why the first of these got none; empty when all were answered.
    """

    flow: Flow
    cases: int
    unanswered: int
    first_problem: str = ""


def with_arbiter(
    flow: Flow,
    sessions: Iterable[Recorded],
    oracle: Oracle,
    *,
    model: str,
    predicates: Sequence[Predicate] = (),
    held_out: bool = True,
) -> Trained:
    """Fit an arbiter for a flow.

    Args:
        flow: what was learned from the same sessions; one it has is replaced.
        sessions: gone through twice; those that did not succeed are passed over.
        oracle: asked once a decision.
        model: whom it asks, as its vendor names it.
        predicates: yes/no questions that are asked and weighed.
        held_out: judge each fold of tasks by weights fitted on the others; off for a flow that serves other tasks.

    Raises:
        UsageError: there is no decision that was answered.
    """
    arbiter = Arbiter(tuple(predicates), tuple(predicates), (), model)
    habits = held_out_habits(flow, (recorded.episode for recorded in sessions))
    cases: list[Case] = []
    unanswered: list[OracleError] = []
    for recorded in sessions:
        episode = recorded.episode
        if not episode.succeeded:
            continue
        for case in cases_of(replace(flow, habit=habits[fold_of(episode.task)]), episode, arbiter, oracle):
            if isinstance(case, Case):
                cases.append(case)
            else:
                unanswered.append(case)
    why = str(unanswered[0]) if unanswered else ""
    if not cases:
        raise UsageError(f"there is no decision to fit an arbiter on{': ' if why else ''}{why}")
    fitted = replace(arbiter, folds=fit_folds(cases, predicates, held_out=held_out))
    made = replace(flow.provenance, arbiter_cases=len(cases))
    return Trained(replace(flow, arbiter=fitted, provenance=made), len(cases), len(unanswered), why)


def held_out_habits(flow: Flow, episodes: Iterable[Episode]) -> list[Habit]:
    """For each fold of tasks, the habit of the sessions that are not in it, with the flow's alphabet and concentration.

    Args:
        flow: what was learned.
        episodes: the sessions; streamed.
    """
    folds = [Successions() for _ in range(FOLDS)]
    for episode in episodes:
        if episode.succeeded:
            symbols = [flow.symbol(step.tool, step.outcome, step.content) for step in steps_of(episode)]
            folds[fold_of(episode.task)].add(symbols, ())
    habits: list[Habit] = []
    for held in range(FOLDS):
        others = Successions()
        for fold, counts in enumerate(folds):
            if fold != held:
                others.merge(counts)
        habits.append(others.habit(flow.habit.base.alpha, flow.vocabulary.size))
    return habits


def cases_of(flow: Flow, episode: Episode, arbiter: Arbiter, oracle: Oracle) -> Iterator[Case | OracleError]:
    """The decisions of one session at which the flow has lookups to choose from, in order.

    Args:
        flow: its habit must not know the session.
        episode: the session.
        arbiter: what is asked.
        oracle: whom.

    Yields:
        What was asked and what the agent did; the error where there was no answer, or no complete one.
    """
    for point in Walker(flow, "habit").points(episode):
        step = next_step(episode.events, point.index)
        situation = point.situation()
        site = situation.site
        options = flow.sites.options(site) if site else ()
        if step is None or step.own or site is None or not options:
            continue
        try:
            reply = oracle.ask(request_for(arbiter, flow.manifest, situation.session, site, options))
            told = told_by(reply.answers, options, arbiter.weighed)
        except OracleError as error:
            yield error
            continue
        prior = habit_prior(flow, situation.history, options)
        yield Case(episode.task, site, prior, told, _taken(flow, step.tool, options))


def _taken(flow: Flow, tool: str | None, options: Sequence[str]) -> str | None:
    """The option that a step is; None for a lookup that is not offered. All else is handing back."""
    if tool in options:
        return tool
    return None if tool is not None and flow.manifest.kind(tool) == "read" else HAND_BACK

"""The decider ``arbiter``: the habit and a model's answers, weighed by what was fitted.

Each option gets ``exp(w · x)``, normalised, times how often the agent's step was among the site's options. The features
``x`` of an option, in the order of the weights: the log of the habit's probability; the log of the model's, asked once
for all options; the same from the split question (go on at all, then with which); 1 for handing back; for each weighed
predicate the log-odds of its yes, on the options it favours; and on the model's own pick alone the log-odds that its
pick at this site is the agent's. Not responsible for fitting (`stretto.deciders.fit`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from stretto._defaults import ORACLE_RESULTS, ORACLE_TEXT_CHARS
from stretto.deciders.choose import likeliest
from stretto.deciders.habit import habit_prior
from stretto.deciders.model import HAND_BACK, Decision, HandBack
from stretto.deciders.oracle import Question, Request
from stretto.errors import BadFlow, OracleError
from stretto.flow.model import site_name
from stretto.model.sample import fold_of
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.deciders.oracle import Answers, Oracle
    from stretto.flow.model import Arbiter, Favors, Flow, Fold, Predicate, Site
    from stretto.live import LiveSession, Situation
    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonObject

__all__ = ["ArbiterDecider", "Told", "coverage", "features", "reliability", "request_for", "told_by", "weigh"]

#: Probabilities are kept this far from 0 and 1 before their logarithm is taken.
_CLIP: Final = 1e-4

#: Decisions that the overall share is worth beside those of one site.
_PRIOR_DECISIONS: Final = 10

_YES_NO: Final = (("yes", ""), ("no", ""))


@dataclass(frozen=True, slots=True)
class Told:
    """What a model answered, as probabilities.

    Attributes:
        single: by option, asked once.
        split: by option, from going on at all and then with which.
        yes: by predicate.
    """

    single: Mapping[str, float]
    split: Mapping[str, float]
    yes: Mapping[str, float]

    @property
    def pick(self) -> str:
        """The model's own pick: the likeliest option, the first of equals."""
        return max(self.single, key=self.single.__getitem__)


# --- what is asked ----------------------------------------------------------------------------------------------------


def request_for(
    arbiter: Arbiter, manifest: Manifest, session: LiveSession, site: Site, options: Sequence[str]
) -> Request:
    """All that is asked about one decision: which option, split in two, and the predicates.

    Args:
        arbiter: its model and its weighed predicates.
        manifest: what the lookups are for.
        session: what was said, and the latest results, are shown to the model, bounded in number and length.
        site: of the call that returned.
        options: the lookups, by name.
    """
    meanings = [(tool, manifest.docs[tool].summary if tool in manifest.docs else "") for tool in options]
    after = f"The agent's call of {site[0]} has just {'failed' if site[1] else 'returned'}."
    questions = (
        Question("next", f"{after} What does it do next?", (*meanings, (HAND_BACK, "anything but these lookups"))),
        Question("go_on", f"{after} Is one of these lookups what it does next? {', '.join(options)}", _YES_NO),
        Question("which", f"{after} If it makes one of these lookups next, which?", tuple(meanings)),
        *(
            Question(f"predicate {each.id}", each.question, (("yes", each.yes), ("no", each.no)))
            for each in arbiter.weighed
        ),
    )
    return Request(arbiter.model, _conversation(session), questions)


def _conversation(session: LiveSession) -> tuple[str, ...]:
    """What the user said, then the latest results in the order of arrival, one JSON text each."""
    values = session.values
    said: list[JsonObject] = [{"user": text[:ORACLE_TEXT_CHARS]} for text in values.messages]
    latest = list(islice(values.outputs(), ORACLE_RESULTS))
    results: list[JsonObject] = [
        {"call": output.tool, "arguments": dict(output.arguments or {}), "result": output.text[:ORACLE_TEXT_CHARS]}
        for output in reversed(latest)
    ]
    return tuple(jsonvalue.dumps(event).decode() for event in (*said, *results))


def told_by(answers: Answers, options: Sequence[str], predicates: Sequence[Predicate]) -> Told:
    """Read a model's answers.

    Args:
        answers: to the questions of `request_for`. Probabilities of one question are normalised.
        options: the lookups, by name.
        predicates: the weighed ones.

    Raises:
        OracleError: an answer is missing or no probability.
    """
    go_on = _shares(answers, "go_on", ("yes", "no"))["yes"]
    which = _shares(answers, "which", options)
    split = {tool: go_on * which[tool] for tool in options} | {HAND_BACK: 1 - go_on}
    yes = {each.id: _shares(answers, f"predicate {each.id}", ("yes", "no"))["yes"] for each in predicates}
    return Told(_shares(answers, "next", (*options, HAND_BACK)), split, yes)


def _shares(answers: Answers, question: str, expected: Sequence[str]) -> dict[str, float]:
    told = answers.get(question, {})
    weights = {answer: told.get(answer, math.nan) for answer in expected}
    total = math.fsum(weights.values())
    if not (math.isfinite(total) and total > 0 and min(weights.values()) >= 0):
        raise OracleError(f"no probabilities for {question!r}")
    return {answer: weight / total for answer, weight in weights.items()}


# --- how it is weighed ------------------------------------------------------------------------------------------------


def reliability(fold: Fold, site: str) -> float:
    """How often the model's pick at a site was the agent's step, drawn to the overall share; 0 to 1."""
    decisions, agreed, _ = fold.sites.get(site, (0, 0, 0))
    return (agreed + _PRIOR_DECISIONS * fold.agree) / (decisions + _PRIOR_DECISIONS)


def coverage(fold: Fold, site: str) -> float:
    """How often the agent's step at a site was among the options, drawn to the overall share; 0 to 1."""
    decisions, _, covered = fold.sites.get(site, (0, 0, 0))
    return (covered + _PRIOR_DECISIONS * fold.cover) / (decisions + _PRIOR_DECISIONS)


def features(
    prior: Mapping[str, float], told: Told, predicates: Sequence[Predicate], tool: str, reliable: float
) -> dict[str, tuple[float, ...]]:
    """The features of each option, in the order of the weights: 5 and one for each predicate.

    Args:
        prior: the habit over the options, `HAND_BACK` included (`stretto.deciders.habit.habit_prior`).
        told: what the model answered.
        predicates: the weighed ones.
        tool: that just returned.
        reliable: see `reliability`.
    """
    odds = [(each.favors, _log_odds(told.yes[each.id])) for each in predicates]
    pick = told.pick
    return {
        option: (
            math.log(_clipped(chance)),
            math.log(_clipped(told.single[option])),
            math.log(_clipped(told.split[option])),
            float(option == HAND_BACK),
            *(odd if _favored(favors, option, tool) else 0.0 for favors, odd in odds),
            _log_odds(reliable) if option == pick else 0.0,
        )
        for option, chance in prior.items()
    }


def _favored(favors: Favors, option: str, tool: str) -> bool:
    if not isinstance(favors, str):
        return favors.get("lookup") == option
    if option == HAND_BACK:
        return favors == "hand_back"
    return favors == "any_lookup" or (favors == "same_lookup" and option == tool)


def _clipped(probability: float) -> float:
    return min(max(probability, _CLIP), 1 - _CLIP)


def _log_odds(probability: float) -> float:
    clipped = _clipped(probability)
    return math.log(clipped / (1 - clipped))


def weigh(rows: Mapping[str, Sequence[float]], weights: Sequence[float]) -> dict[str, float]:
    """Each option's share of ``exp(w · x)``; they sum to 1."""
    scores = {
        option: math.fsum(weight * x for weight, x in zip(weights, row, strict=True)) for option, row in rows.items()
    }
    largest = max(scores.values())
    odds = {option: math.exp(score - largest) for option, score in scores.items()}
    total = math.fsum(odds.values())
    return {option: odd / total for option, odd in odds.items()}


# --- the decider ------------------------------------------------------------------------------------------------------


class ArbiterDecider:
    """Takes the option that is likeliest by the fitted weights, if it is a lookup.

    Args:
        oracle: whom to ask, once a decision.
        task: of the session; it decides which fold's weights are used, so that none is judged by weights it was fitted
            on.
    """

    name = "arbiter"

    def __init__(self, oracle: Oracle, *, task: str = "") -> None:
        self._oracle = oracle
        self._task = task

    def decide(
        self, flow: Flow, situation: Situation, site: Site, options: Sequence[str], threshold: float
    ) -> Decision:
        """See `stretto.deciders.model.Decider.decide`."""
        arbiter = flow.arbiter
        if arbiter is None:
            raise BadFlow("the flow has no arbiter: learn it with one, or use reach or habit")
        fold = arbiter.folds[fold_of(self._task)]
        request = request_for(arbiter, flow.manifest, situation.session, site, options)
        try:
            answers = self._oracle.ask(request).answers
        except OracleError as error:
            failed = HandBack.ORACLE_FAILED
            return Decision(site, reason=failed, said=failed.say(detail=str(error)), key=request.key)
        try:
            told = told_by(answers, options, arbiter.weighed)
        except OracleError:
            incomplete = HandBack.ORACLE_INCOMPLETE
            return Decision(site, reason=incomplete, said=incomplete.value, key=request.key)
        name = site_name(site)
        prior = habit_prior(flow, situation.history, options)
        rows = features(prior, told, arbiter.weighed, site[0], reliability(fold, name))
        covered = coverage(fold, name)
        probs = {option: covered * share for option, share in weigh(rows, fold.weights).items()}
        decision = likeliest(site, probs, situation.bind, threshold)
        return replace(decision, oracle=told.single, predicates=told.yes, key=request.key)

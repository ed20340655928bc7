"""What other deciders and thresholds would have done on logged decisions, estimated from what was done.

A decision that was logged with exploration says how likely each action was. With labels, which say what became of each
option, that is enough to weigh what was taken up to what another target would take. Four estimates stand beside each
other: the labels of the target's own options (*direct*, which trusts labels of lookups nobody made), inverse propensity
weights (*IPS*), the same normalised (*SNIPS*), and weights around a model (*DR*, doubly robust).

Pure. Not responsible for reading logs (`stretto.review.logged`).

Source: Dudík, Langford and Li, "Doubly Robust Policy Evaluation and Learning" (2011); Swaminathan and Joachims, "The
Self-Normalized Estimator for Counterfactual Learning" (2015).
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto._defaults import MIN_ESS
from stretto.errors import UsageError
from stretto.review.logged import Measures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stretto.review.logged import Decisions, Logged, Option
    from waggle.jsonvalue import JsonObject

__all__ = ["Comparison", "Estimate", "Standing", "Target", "TargetResult", "act", "evaluate", "target_from_text"]

#: Of a lookup of which nothing is known.
_UNKNOWN: Final = Measures(1, 0, 1, 0)


# --- targets --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """A way to decide: ``arbiter``, which stands for the decider that was logged, its own name, or ``habit``."""

    name: str
    decider: str
    threshold: float


def target_from_text(text: str) -> Target:
    """Read ``NAME=DECIDER@THRESHOLD``.

    Raises:
        UsageError: it is not of this form, or its threshold is no number of at least 0.
    """
    name, named, rest = text.partition("=")
    decider, at, threshold = rest.partition("@")
    try:
        value = float(threshold)
    except ValueError:
        value = math.nan
    if not (name and named and at and value >= 0) or decider not in ("arbiter", "habit", "reach"):
        raise UsageError(
            f"a target is NAME=DECIDER@THRESHOLD with arbiter (the one that was logged), habit or reach, such as "
            f"careful=habit@0.5, not {text!r}"
        )
    return Target(name, decider, value)


def act(decision: Logged, target: Target) -> Option | None:
    """What a target looks up; None when it hands back.

    Raises:
        UsageError: it needs probabilities that were not logged.
    """
    if target.decider == "habit":
        return _best_first(decision.options, target.threshold, lambda option: option.habit)
    if target.decider not in ("arbiter", decision.decider):
        raise UsageError(
            f"{target.name}: the log has no probabilities of {target.decider}, it was made with {decision.decider}"
        )
    if decision.decider != "reach":
        return _best_first(decision.options, target.threshold, lambda option: option.p)
    scores = [(o.p * o.binding, o) for o in decision.options if o.binding is not None and o.p >= target.threshold]
    score, best = max(scores, key=lambda pair: pair[0], default=(-1.0, None))
    return best if score >= target.threshold else None


def _best_first(options: Sequence[Option], threshold: float, weigh: Callable[[Option], float]) -> Option | None:
    best = max(options, key=weigh, default=None)
    if best is None or best.binding is None or weigh(best) < threshold:
        return None
    return best if weigh(best) * best.binding >= threshold else None


# --- estimates ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimate:
    """A sum over decisions, and its standard error from the spread of the terms; None for fewer than two terms."""

    value: Measures
    error: Measures | None

    def as_json(self) -> JsonObject:
        """By measure, unrounded."""
        return {"value": self.value._asdict(), "error": self.error._asdict() if self.error else None}


@dataclass(frozen=True, slots=True)
class Standing:
    """What a target comes to at one site, or at all.

    Attributes:
        decisions: logged there.
        lookups: decisions in which the target looks something up.
        matched: of these, those in which the same was taken.
        unsupported: of these, those whose lookup the logging policy could not have made.
        ess: effective sample size, ``(sum w)^2 / sum w^2``.
        direct: from the labels of the target's options.
        ips: from weights; this and the next two are None when the effective sample is too small.
        snips: from weights that are normalised.
        dr: from weights around a model.
    """

    decisions: int
    lookups: int
    matched: int
    unsupported: int
    ess: float
    direct: Estimate
    ips: Estimate | None
    snips: Estimate | None
    dr: Estimate | None

    def as_json(self) -> JsonObject:
        """All of it, unrounded."""
        estimates = {"direct": self.direct, "ips": self.ips, "snips": self.snips, "dr": self.dr}
        return {
            "decisions": self.decisions,
            "lookups": self.lookups,
            "matched": self.matched,
            "unsupported": self.unsupported,
            "ess": self.ess,
            **{name: estimate.as_json() if estimate else None for name, estimate in estimates.items()},
        }


@dataclass(frozen=True, slots=True)
class TargetResult:
    """What one target comes to: in total, and by site name, sorted."""

    target: Target
    total: Standing
    sites: Mapping[str, Standing]

    def as_json(self) -> JsonObject:
        """All of it, unrounded."""
        return {
            "name": self.target.name,
            "decider": self.target.decider,
            "threshold": self.target.threshold,
            "total": self.total.as_json(),
            "sites": {site: standing.as_json() for site, standing in self.sites.items()},
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """All targets on the same decisions.

    Attributes:
        decisions: evaluated.
        left_out: logged without a policy or without labels.
        min_ess: effective sample below which weighted estimates are refused.
        targets: in the order asked.
    """

    decisions: int
    left_out: int
    min_ess: float
    targets: tuple[TargetResult, ...]

    def as_json(self) -> JsonObject:
        """All of it, unrounded."""
        return {
            "decisions": self.decisions,
            "left_out": self.left_out,
            "min_ess": self.min_ess,
            "targets": [result.as_json() for result in self.targets],
        }


class _Term(NamedTuple):
    """One decision in which the target looks something up."""

    label: Measures  # of the target's option
    weight: float
    model: Measures  # what is expected of the target's option
    supported: bool


def evaluate(decisions: Decisions, targets: Sequence[Target], *, min_ess: float = MIN_ESS) -> Comparison:
    """Estimate what targets would have done.

    Handing back scores 0 on all measures. In total IPS, DR and direct sum the sites; SNIPS normalises over all.

    Args:
        decisions: from `read_decisions`.
        targets: what to compare.
        min_ess: effective sample size below which the weighted estimates are refused, in decisions.

    Raises:
        UsageError: a target needs probabilities that were not logged.
    """
    expected = _model(decisions.usable)
    results = tuple(_result(decisions.usable, target, expected, min_ess) for target in targets)
    return Comparison(len(decisions.usable), decisions.left_out, min_ess, results)


def _result(
    decisions: Sequence[Logged], target: Target, expected: Callable[[str, str], Measures], min_ess: float
) -> TargetResult:
    terms: dict[str, list[_Term]] = {site: [] for site in sorted({decision.site for decision in decisions})}
    counted: defaultdict[str, int] = defaultdict(int)
    for decision in decisions:
        counted[decision.site] += 1
        option = act(decision, target)
        if option is not None:
            weight = 1 / decision.propensity if option.tool == decision.taken else 0.0
            model = expected(decision.site, option.tool)
            terms[decision.site].append(_Term(option.label, weight, model, decision.chance_of(option.tool) > 0))
    together = [term for site in terms.values() for term in site]
    return TargetResult(
        target,
        _standing(len(decisions), together, min_ess),
        {site: _standing(counted[site], some, min_ess) for site, some in terms.items()},
    )


def _standing(decisions: int, terms: Sequence[_Term], min_ess: float) -> Standing:
    weights = sum(term.weight for term in terms)
    squares = sum(term.weight**2 for term in terms)
    ess = weights**2 / squares if squares else 0.0
    ips = snips = dr = None
    if ess >= min_ess and ess > 0:
        ips = _summed([_scaled(term.label, term.weight) for term in terms])
        dr = _summed([_doubly_robust(term) for term in terms])
        snips = _normalised(terms, ips, weights)
    return Standing(
        decisions=decisions,
        lookups=len(terms),
        matched=sum(term.weight > 0 for term in terms),
        unsupported=sum(not term.supported for term in terms),
        ess=ess,
        direct=_summed([term.label for term in terms]),
        ips=ips,
        snips=snips,
        dr=dr,
    )


def _normalised(terms: Sequence[_Term], ips: Estimate, weights: float) -> Estimate:
    """``IPS * lookups / sum of weights``; its error is that of the ratio, from the terms' distance to it."""
    scale = len(terms) / weights
    value = _scaled(ips.value, scale)
    mean = _scaled(value, 1 / len(terms))
    off = [_scaled(_minus(term.label, mean), term.weight * scale) for term in terms]
    return Estimate(value, _summed(off).error)


def _doubly_robust(term: _Term) -> Measures:
    correction = _scaled(_minus(term.label, term.model), term.weight)
    return Measures(*map(sum, zip(term.model, correction, strict=True)))


def _minus(one: Measures, other: Measures) -> Measures:
    return Measures(*(mine - theirs for mine, theirs in zip(one, other, strict=True)))


def _scaled(measures: Measures, factor: float) -> Measures:
    return Measures(*(factor * value for value in measures))


def _summed(terms: Sequence[Measures]) -> Estimate:
    columns = list(zip(*terms, strict=True)) or [()] * len(_UNKNOWN)
    value = Measures(*map(math.fsum, columns))
    many = len(terms)
    if many < 2:  # noqa: PLR2004 - one term has no spread
        return Estimate(value, None)
    spreads = (math.fsum((x - total / many) ** 2 for x in column) for column, total in zip(columns, value, strict=True))
    return Estimate(value, Measures(*(math.sqrt(many / (many - 1) * spread) for spread in spreads)))


def _model(decisions: Iterable[Logged]) -> Callable[[str, str], Measures]:
    """What to expect of a lookup: the mean of those taken of this tool at the site, else anywhere."""
    taken: defaultdict[tuple[str | None, str], list[Measures]] = defaultdict(list)
    for decision in decisions:
        option = decision.option(decision.taken) if decision.taken is not None else None
        if option is not None:
            taken[decision.site, option.tool].append(option.label)
            taken[None, option.tool].append(option.label)
    means = {key: _scaled(_summed(labels).value, 1 / len(labels)) for key, labels in taken.items()}
    return lambda site, tool: means.get((site, tool)) or means.get((None, tool), _UNKNOWN)

"""The rules by which weighed lookups become a decision; each compares a score with a threshold.

`best_that_binds` and `likeliest` are the original's, whose score is probability times chance: the one looks at every
likely lookup, the other at one. `best_by_uses` scores by what was counted of uses. Not responsible for the
probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from stretto.bindings.model import Bound
from stretto.deciders.model import HAND_BACK, Decision, HandBack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from stretto.bindings.model import Unbound
    from stretto.flow.model import Site

    Bind: TypeAlias = Callable[[str], Bound | Unbound]

__all__ = ["best_by_uses", "best_that_binds", "likeliest"]


def best_that_binds(site: Site, probs: Mapping[str, float], bind: Bind, threshold: float) -> Decision:
    """Of the lookups whose probability reaches the threshold and that bind, take the one with the largest score.

    Args:
        site: for the decision.
        probs: probability by option, lookups in name order; the first of equals wins.
        bind: fills a lookup's arguments.
        threshold: which the score must reach, too.
    """
    likely = [tool for tool, prob in probs.items() if tool != HAND_BACK and prob >= threshold]
    best: tuple[float, int, Bound] | None = None
    unbound: dict[str, Unbound] = {}
    # The likeliest first: no chance is above 1, so what is less likely than the best score need not be bound.
    for place in sorted(range(len(likely)), key=lambda place: -probs[likely[place]]):
        prob = probs[likely[place]]
        if best and prob < best[0]:
            break
        found = bind(likely[place])
        if not isinstance(found, Bound):
            unbound[likely[place]] = found
        elif best is None or (prob * found.chance, -place) > (best[0], -best[1]):
            best = (prob * found.chance, place, found)
    if best:
        return _judged(site, probs, likely[best[1]], best[2], threshold)
    if unbound:  # then all were tried
        return _unbound(site, probs, likely[-1], unbound[likely[-1]])
    return Decision(site, reason=HandBack.NONE_LIKELY, said=HandBack.NONE_LIKELY.value, probs=probs)


def best_by_uses(
    site: Site, probs: Mapping[str, float], scored: Iterable[tuple[float, str, Bound]], threshold: float
) -> Decision:
    """Take the lookup with the largest score by uses, if it reaches the threshold.

    Args:
        site: for the decision.
        probs: probability by option.
        scored: score, lookup and arguments; the first of equals wins.
        threshold: which the score must reach.
    """
    best: tuple[float, str, Bound] | None = None
    for one in scored:
        if best is None or one[0] > best[0]:
            best = one
    if best is None:
        return Decision(site, reason=HandBack.NONE_LIKELY, said=HandBack.NONE_LIKELY.value, probs=probs)
    score, tool, bound = best
    if score >= threshold:
        return Decision(site, tool, bound, probs=probs, prob=probs[tool], binding=bound.chance, by_uses=score)
    said = HandBack.SELDOM_USED.say(tool=tool, p=f"{score:.2f}", threshold=_spoken(threshold))
    return Decision(site, tool, bound, HandBack.SELDOM_USED, said, probs, probs[tool], bound.chance, by_uses=score)


def likeliest(site: Site, probs: Mapping[str, float], bind: Bind, threshold: float) -> Decision:
    """Take the lookup with the largest probability, or none: the second is never tried.

    Arguments are as those of `best_that_binds`.
    """
    tool = max((option for option in probs if option != HAND_BACK), key=probs.__getitem__)
    if probs[tool] < threshold:
        said = HandBack.UNLIKELY.say(tool=tool, p=f"{probs[tool]:.2f}", threshold=_spoken(threshold))
        return Decision(site, tool, reason=HandBack.UNLIKELY, said=said, probs=probs, prob=probs[tool])
    found = bind(tool)
    if isinstance(found, Bound):
        return _judged(site, probs, tool, found, threshold)
    return _unbound(site, probs, tool, found)


def _judged(site: Site, probs: Mapping[str, float], tool: str, bound: Bound, threshold: float) -> Decision:
    prob, chance = probs[tool], bound.chance
    if prob * chance >= threshold:
        return Decision(site, tool, bound, probs=probs, prob=prob, binding=chance)
    said = HandBack.UNSURE.say(tool=tool, p=f"{prob:.2f}", chance=f"{chance:.2f}", threshold=_spoken(threshold))
    return Decision(site, tool, bound, HandBack.UNSURE, said, probs, prob, chance)


def _unbound(site: Site, probs: Mapping[str, float], tool: str, found: Unbound) -> Decision:
    reason = HandBack(found.reason.value)
    return Decision(site, tool, reason=reason, said=found.said, probs=probs, prob=probs[tool])


def _spoken(threshold: float) -> str:
    """A threshold as people give it: ``0.3``, ``1``, ``inf``."""
    return repr(float(threshold)).removesuffix(".0")

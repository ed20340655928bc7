"""A search for thresholds: one for each site, and the decider, against turns saved and detours made.

Each setting is scored by whoever is given: `replay_scorer` replays recorded sessions, `stretto.review.check_command`
runs a command. What is found fits the sessions it was scored on; `rescore` tries a front on others. Pure, as far as the
scorer is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto._defaults import SEARCH_GENERATIONS, SEARCH_POPULATION, SEARCH_SEED, THRESHOLD
from stretto.errors import UsageError
from stretto.flow.model import site_name
from stretto.review.nsga import dominates, evolve
from stretto.review.replay import replay_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stretto.flow.model import Flow
    from stretto.review.nsga import Genome, Objectives
    from stretto.sessions.episode import Episode
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["GRID", "OFF", "Check", "Scorer", "Searched", "Setting", "Tried", "deciders_of", "replay_scorer", "rescore"]
__all__ += ["search", "settings_from_json", "sites_of"]

#: A threshold that switches a site off.
OFF: Final = 2.0

#: The thresholds that are tried, 0.10, 0.15, … 0.95 and off.
GRID: Final = (*(round(0.05 * step, 2) for step in range(2, 20)), OFF)

#: Settings that are tried first, where the flow has the decider: as served, and a habit that hardly ever acts.
_SEEDS: Final = (("arbiter", THRESHOLD), ("reach", THRESHOLD), ("habit", THRESHOLD), ("habit", 0.9))


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to serve a flow.

    Attributes:
        decider: its name.
        thresholds: by site name, sorted.
    """

    decider: str
    thresholds: Mapping[str, float]

    def applied(self, flow: Flow) -> Flow:
        """The flow with these thresholds; those of other sites are kept."""
        return replace(flow, thresholds={**flow.thresholds, **self.thresholds})

    def as_json(self) -> JsonObject:
        """Decider and thresholds."""
        return {"decider": self.decider, "thresholds": dict(self.thresholds)}


@dataclass(frozen=True, slots=True)
class Check:
    """What a setting did on some sessions, as counts."""

    turns: int
    turns_saved: int
    detours: int
    episodes_with_detour: int
    episodes: int

    def as_json(self) -> JsonObject:
        """By name."""
        return asdict(self)


Scorer: TypeAlias = "Callable[[Setting], Check]"


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting and what it did."""

    setting: Setting
    check: Check

    @property
    def objectives(self) -> Objectives:
        """Turns saved, turned round, and detours: both are to be small."""
        return (-self.check.turns_saved, self.check.detours)

    def as_json(self) -> JsonObject:
        """The setting and its counts."""
        return {**self.setting.as_json(), "check": self.check.as_json()}


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search found.

    Attributes:
        tried: every setting scored, in order.
    """

    tried: tuple[Tried, ...]

    @property
    def front(self) -> tuple[Tried, ...]:
        """The settings that no other beats, fewest detours first; of equals the one that was tried first."""
        best: dict[Objectives, Tried] = {}
        for one in self.tried:
            if not any(dominates(other.objectives, one.objectives) for other in self.tried):
                best.setdefault(one.objectives, one)
        return tuple(sorted(best.values(), key=lambda one: one.check.detours))

    def as_json(self) -> JsonObject:
        """The front, and everything that was tried."""
        return {"front": [one.as_json() for one in self.front], "tried": [one.as_json() for one in self.tried]}


def sites_of(flow: Flow) -> tuple[str, ...]:
    """Names of the sites whose thresholds can matter: those that are served and offer a lookup, sorted."""
    promoted = flow.promoted.sites if flow.promoted else None
    names = (site_name(site) for site in flow.sites.next if flow.sites.options(site))
    return tuple(sorted(name for name in names if promoted is None or (name in promoted and promoted[name].promoted)))


def deciders_of(flow: Flow) -> tuple[str, ...]:
    """Names of the deciders that the flow can be served with."""
    there = {"arbiter": flow.arbiter is not None, "reach": flow.reach is not None, "habit": True}
    return tuple(name for name, can in there.items() if can)


def search(
    flow: Flow,
    score: Scorer,
    *,
    deciders: Sequence[str] | None = None,
    population: int = SEARCH_POPULATION,
    generations: int = SEARCH_GENERATIONS,
    seed: int = SEARCH_SEED,
) -> Searched:
    """Search for settings that save more turns with fewer detours.

    Args:
        flow: what was learned.
        score: tries a setting; asked once for each, at most ``population * (generations + 1)`` times.
        deciders: names to choose from; None for all the flow can be served with.
        population: settings kept a generation, at least 2.
        generations: rounds of as many new ones.
        seed: of all draws; the same seed and scores give the same result.

    Raises:
        UsageError: no site offers a lookup, the flow cannot be served with a decider, or a number is too small.
    """
    sites, there = sites_of(flow), deciders_of(flow)
    names = there if deciders is None else tuple(dict.fromkeys(deciders))
    if not sites:
        raise UsageError("there is nothing to search: no site of the flow that is served offers a lookup")
    if not names or not set(names) <= set(there):
        raise UsageError(f"the flow can be served with {', '.join(there)}, not with {', '.join(names) or 'nothing'}")
    if population < 2 or generations < 0:  # noqa: PLR2004 - fewer have nobody to mix with
        raise UsageError("a search keeps at least 2 settings, and its generations are not negative")
    tried: list[Tried] = []

    def tries(genome: Genome) -> Objectives:
        setting = Setting(names[genome[0]], {site: GRID[gene] for site, gene in zip(sites, genome[1:], strict=True)})
        tried.append(Tried(setting, score(setting)))
        return tried[-1].objectives

    seeds = [(names.index(name), *[GRID.index(threshold)] * len(sites)) for name, threshold in _SEEDS if name in names]
    sizes = (len(names), *[len(GRID)] * len(sites))
    evolve(sizes, tries, seeds=seeds, population=population, generations=generations, seed=seed)
    return Searched(tuple(tried))


def rescore(settings: Iterable[Setting], score: Scorer) -> Searched:
    """Try settings that an earlier search found, on other sessions or in another way; in their order."""
    return Searched(tuple(Tried(setting, score(setting)) for setting in settings))


def replay_scorer(flow: Flow, episodes: Iterable[Episode]) -> Scorer:
    """A scorer that replays recorded sessions; see `stretto.review.replay`.

    Args:
        flow: what was learned.
        episodes: recorded sessions; held, since they are gone through once for each setting.
    """
    held = tuple(episodes)

    def score(setting: Setting) -> Check:
        scores = list(replay_all(setting.applied(flow), held, decider=setting.decider))
        return Check(
            turns=sum(one.turns for one in scores),
            turns_saved=sum(one.saved for one in scores),
            detours=sum(one.detours for one in scores),
            episodes_with_detour=sum(one.detours > 0 for one in scores),
            episodes=len(scores),
        )

    return score


def settings_from_json(value: JsonValue) -> tuple[Setting, ...]:
    """Read the front of a search from what `Searched.as_json` gave.

    Raises:
        UsageError: it is something else; the text says where.
    """
    front = value.get("front") if isinstance(value, dict) else None
    if not isinstance(front, list):
        raise UsageError("the front of a search is an object with a list of settings @ $.front")
    return tuple(_setting(one, f"$.front[{place}]") for place, one in enumerate(front))


def _setting(value: JsonValue, at: str) -> Setting:
    decider = value.get("decider") if isinstance(value, dict) else None
    thresholds = value.get("thresholds") if isinstance(value, dict) else None
    if not isinstance(decider, str) or not isinstance(thresholds, dict):
        raise UsageError(f"a setting has a decider and thresholds @ {at}")
    found: dict[str, float] = {}
    for site, threshold in sorted(thresholds.items()):
        if not isinstance(threshold, (int, float)) or isinstance(threshold, bool) or threshold < 0:
            raise UsageError(f"a threshold is a number of at least 0 @ {at}.thresholds.{site}")
        found[site] = float(threshold)
    return Setting(decider, found)

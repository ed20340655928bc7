"""The recorded sessions that are measured: by domain, with what must not be split, in folds.

Coding sessions are those of Claude Code, by repository, and only a sample of them. Not responsible for what is learned
from them (`benchmarks.flows.systems`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from stretto.flow.model import Provenance
from stretto.learning import learn
from stretto.review.split import folds, units
from stretto.sessions.corpus import Corpus, Recorded
from stretto.sessions.manifest import Manifest
from stretto.sessions.traces import episode_of, manifest_of
from waggle.evaluate import group_of
from waggle.traces import read_traces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from stretto.flow.model import Flow
    from stretto.learning import LearnOptions
    from stretto.review.split import Fold
    from stretto.sessions.episode import Episode
    from stretto.sessions.sources import OnBytes

__all__ = ["Collection", "Domain", "learned"]

#: Files of coding sessions that have tools that read; what agents with nothing but a shell call is never looked up.
_CODING: Final = re.compile(r"coding-claude-code-.*\.jsonl(\.gz)?")
_OTHER_CODING: Final = "coding-"

#: Of the sessions of a repository, every so many is measured: coding sessions are long, and have little to save.
CODING_EVERY: Final = 3

FOLDS: Final = 5
#: Fewer groups than this cannot be split.
_LEAST_GROUPS: Final = 2

#: Domains that are small and alike are also shown together.
FAMILIES: Final = {"bfcl": "BFCL", "class": "class", "dojo": "AgentDojo"}


@dataclass(frozen=True)
class Domain:
    """The sessions of one domain.

    Attributes:
        name: as recorded; of coding sessions, host and repository.
        recorded: N sessions, in the order of the files.
        units: by session id, the group that stands on one side of a split, and that intervals resample.
    """

    name: str
    recorded: tuple[Recorded, ...]
    units: Mapping[str, str]

    @property
    def family(self) -> str:
        """What it is shown together with; its own name where that is nothing."""
        return FAMILIES.get(self.name.partition("-")[0], self.name)

    @cached_property
    def episodes(self) -> list[Episode]:
        """The sessions."""
        return [one.episode for one in self.recorded]

    @cached_property
    def manifest(self) -> Manifest:
        """The tools of all of them, as a host would list them."""
        listed = Manifest(self.name)
        for one in self.recorded:
            listed = listed.updated(one.manifest)
        return listed

    @property
    def agents(self) -> list[str]:
        """Agents, by name."""
        return sorted({episode.agent_model for episode in self.episodes})

    @cached_property
    def folds(self) -> list[Fold]:
        """Five splits, or one a group where there are fewer; every session is replayed in one of them."""
        return self.split(self.episodes)

    def split(self, episodes: Sequence[Episode]) -> list[Fold]:
        """Splits of some of its sessions; none where they are all of one group."""
        groups = len({self.units[episode.id] for episode in episodes})
        return [] if groups < _LEAST_GROUPS else folds(episodes, min(FOLDS, groups), groups=self.units)

    def of(self, agent: str) -> Domain:
        """The sessions of one agent."""
        own = tuple(one for one in self.recorded if one.episode.agent_model == agent)
        return Domain(self.name, own, self.units)

    @property
    def is_measured(self) -> bool:
        """Whether it can be split so that there is always something to learn from."""
        return bool(self.folds) and all(any(each.succeeded for each in fold.learn) for fold in self.folds)


class Collection:
    """All that is measured.

    Args:
        folder: of recorded sessions; ``coding-*`` files hold coding sessions, all others sessions with tools.

    Attributes:
        tools: domains of sessions with tools, by name.
        coding: repositories of coding sessions, by name; a sample of each.
        left_out: domains that cannot be split.
    """

    def __init__(self, folder: Path) -> None:
        tools: defaultdict[str, list[Recorded]] = defaultdict(list)
        coding: defaultdict[str, list[Recorded]] = defaultdict(list)
        for file in sorted(folder.glob("*.jsonl*")):
            if file.name.startswith(_OTHER_CODING) and not _CODING.fullmatch(file.name):
                continue
            for trace in read_traces(file):
                recorded = Recorded(episode_of(trace), manifest_of(trace))
                if _CODING.fullmatch(file.name):
                    coding[group_of(trace)].append(recorded)
                else:
                    tools[recorded.episode.domain].append(recorded)
        # Of all domains at once: versions of a domain share their customers.
        together = units(one.episode for name in sorted(tools) for one in tools[name])
        every = _domains({name: (sessions, together) for name, sessions in tools.items()})
        self.tools = {name: domain for name, domain in every.items() if domain.is_measured}
        self.left_out = sorted(every.keys() - self.tools.keys())
        sample = {name: sessions[::CODING_EVERY] for name, sessions in coding.items()}
        found = _domains({name: (some, units(one.episode for one in some)) for name, some in sample.items()})
        self.coding = {name: domain for name, domain in found.items() if domain.is_measured}

    def __getitem__(self, name: str) -> Domain:
        return self.tools[name] if name in self.tools else self.coding[name]


def _domains(found: Mapping[str, tuple[Sequence[Recorded], Mapping[str, str]]]) -> dict[str, Domain]:
    return {name: Domain(name, tuple(sessions), of) for name, (sessions, of) in sorted(found.items())}


class _Chosen:
    """Some sessions as a `stretto.sessions.sources.Source`; they are held already, so they take no memory."""

    conventions: Final = ""
    files: Final = ()

    def __init__(self, sessions: Iterable[Recorded]) -> None:
        self._sessions = tuple(sessions)

    def read(self, on_bytes: OnBytes | None) -> Iterator[tuple[Recorded, int]]:
        """See `Source.read`."""
        del on_bytes
        return ((one, 0) for one in self._sessions)


def learned(domain: Domain, episodes: Iterable[Episode], options: LearnOptions) -> Flow:
    """Learn a flow from those of some sessions of a domain that succeeded, in the order given."""
    by_id = {one.episode.id: one for one in domain.recorded}
    chosen = _Chosen(by_id[episode.id] for episode in episodes if episode.succeeded)
    return learn(Corpus(chosen, manifest=domain.manifest), options, provenance=Provenance("0"))

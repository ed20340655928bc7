"""Recorded sessions of agents that use tools, as traces by domain."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto.compiler.reading import read_recorded
from stretto.compiler.schemas import Tools
from stretto.sessions.corpus import open_corpus

if TYPE_CHECKING:
    from stretto.compiler.model import Trace

__all__ = ["FULL", "SHIPPED", "Domain", "read_domains", "read_sessions"]

_ROOT: Final = Path(__file__).resolve().parent.parent.parent

#: The full collection of recorded sessions, which a plain clone does not have, and the sessions that are shipped.
FULL, SHIPPED = _ROOT.parent / "shared" / "data" / "traces", _ROOT / "examples" / "flows"


@dataclass
class Domain:
    """The traces of one domain: of sessions that reached their goal.

    Attributes:
        name: of it.
        traces: sorted by id.
        tools: what is known of the actions.
        sessions: how many there were, those that were left out included.
    """

    name: str
    traces: list[Trace] = field(default_factory=list)
    tools: Tools = field(default_factory=Tools)
    sessions: int = 0


def read_domains(folder: Path) -> list[Domain]:
    """All domains of the tool sessions in a folder, sorted by name; effects as the recordings say."""
    found: defaultdict[str, Domain] = defaultdict(lambda: Domain(""))
    for path in _files(folder):
        recorded = list(open_corpus(path))
        reading = read_recorded(recorded, trust=True)
        for each in recorded:
            found[each.episode.domain].sessions += 1
        for trace in reading.traces:
            found[str(trace.meta["domain"])].traces.append(trace)
    for name, domain in found.items():
        domain.name = name
        domain.traces.sort(key=lambda trace: trace.id)
    return [found[name] for name in sorted(found)]


def read_sessions(folder: Path) -> list[Trace]:
    """All tool sessions in a folder as traces, whatever came of them, sorted by id; effects as the recordings say."""
    recorded = [each for path in _files(folder) for each in open_corpus(path)]
    return list(read_recorded(recorded, trust=True, failed=True).traces)


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.jsonl*")) if not path.name.startswith("coding-")]

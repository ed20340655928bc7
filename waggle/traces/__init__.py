"""Recorded sessions of agents: read from files, held as values, written in one format.

`read_traces` reads what is there, `Trace` is one session, `dump_trace` writes it.
"""

from waggle.traces.canonical import dump_trace
from waggle.traces.coverage import Coverage
from waggle.traces.cut import cut_text, split_cut
from waggle.traces.formats import FORMATS
from waggle.traces.model import Ended, Event, Kind, Message, Started, Trace, TraceBuilder, TraceStep
from waggle.traces.read import read_traces, trace_files

__all__ = [
    "FORMATS",
    "Coverage",
    "Ended",
    "Event",
    "Kind",
    "Message",
    "Started",
    "Trace",
    "TraceBuilder",
    "TraceStep",
    "cut_text",
    "dump_trace",
    "read_traces",
    "split_cut",
    "trace_files",
]

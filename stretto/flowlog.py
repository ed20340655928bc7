"""The flow log: every decision with what was weighed, and every run with how much it surprised; one JSON object a line.

Not responsible for deciding. Lines are made on the session's thread and written by another; secrets in arguments are
masked before they reach the disk.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.errors import SessionLogError
from stretto.flow.model import site_name
from waggle import files, jsonvalue
from waggle._fork import renew_in_children
from waggle.background import Background, Faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from stretto.deciders.model import Decision
    from stretto.flow.model import Site
    from waggle.jsonvalue import JsonObject

__all__ = ["FlowLog", "RunSite", "decision_line", "read_flow_log", "run_line"]

_LONGEST_LINE: Final = 16 * 2**20  # bytes; with exploration a line holds the arguments of every lookup weighed


class RunSite(NamedTuple):
    """One value of a run.

    Attributes:
        address: ``decide#0``, ``outcome#0``, ``decide#1``, …
        value: of a decision the number of the option, 0 for handing back; of an outcome whether the lookup succeeded.
        logp: of an outcome the log of its chance; 0 for a decision.
    """

    address: str
    value: int | bool
    logp: float


def decision_line(
    decision: Decision,
    *,
    after: str,
    address: str,
    ms: float,
    policy: JsonObject | None = None,
    shadow: bool = False,
    withheld: str = "",
) -> JsonObject:
    """One decision as the log holds it.

    Args:
        decision: what was decided.
        after: id of the agent's call the run follows.
        address: ``decide#i``, with the number of the decision within its run.
        ms: time it took to decide, milliseconds.
        policy: how likely the action was, with exploration.
        shadow: nothing is looked up, whatever is decided.
        withheld: why the lookup that was chosen is not made; empty when it is.
    """
    line: JsonObject = {"action": "lookup" if decision.looks_up else "hand_back"}
    if decision.looks_up:
        line["tool"] = decision.tool
        line["arguments"] = decision.bound.arguments if decision.bound else {}
    else:
        line["reason"] = decision.said
    line |= {
        "site": site_name(decision.site) if decision.site else None,
        "probs": dict(decision.probs),
        "prob": decision.prob,
        "binding": decision.binding,
        "oracle": dict(decision.oracle),
        "predicates": dict(decision.predicates),
        "key": decision.key,
    }
    if decision.by_uses is not None:
        line["by_uses"] = decision.by_uses
    if policy is not None:
        line["policy"] = policy
    line |= {"after": after, "address": address, "ms": ms}
    if shadow:
        line["shadow"] = True
    if withheld:
        line["withheld"] = withheld
    return line


def run_line(after: str, call: Site, max_lookups: int, sites: Sequence[RunSite]) -> JsonObject:
    """One run as the log holds it.

    Args:
        after: id of the agent's call the run follows.
        call: that call's site.
        max_lookups: the most the run might have made.
        sites: in order; their surprise is minus the sum of what was drawn, in nats.
    """
    tool, failed = call
    surprise = 0.0 - math.fsum(site.logp for site in sites)  # never -0.0
    return {
        "after": after,
        "run": {
            "call": tool,
            "failed": failed,
            "max_lookups": max_lookups,
            "sites": [[site.address, site.value, site.logp] for site in sites],
            "surprise": surprise,
        },
    }


class FlowLog:
    """Writes a flow log; an instance is what `stretto.speculator.Speculator` calls with each line. Never raises there.

    Args:
        path: the file, ``<session>.flow.jsonl`` beside the session's log; made with its directory by the first line.

    Attributes:
        faults: what could not be written, by kind.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.faults = Faults()
        self._background = Background(self.faults)
        self._waiting: deque[JsonObject] = deque()
        renew_in_children(self)

    def renew(self) -> None:
        """See `waggle._fork.Renewable`: what waits is the parent's to write."""
        self._waiting.clear()

    def __call__(self, line: JsonObject) -> None:
        """Take a line; it is written soon, in order."""
        self._waiting.append(line)
        if not self._background.submit(f"the flow log {self.path} cannot be written", self._write):
            self._waiting.pop()  # the disk does not keep up; it is counted

    def _write(self) -> None:
        lines: list[bytes] = []
        while self._waiting:
            lines.append(jsonvalue.dumps(_masked(self._waiting.popleft())))
        files.append_lines(self.path, lines)

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until every line taken is in the file; False when the time ran out."""
        return self._background.flush(timeout_s)


def _masked(line: JsonObject) -> JsonObject:
    """The line without the secrets in its arguments. What stands elsewhere are names of tools, and numbers."""
    from waggle.redact import redact_value  # noqa: PLC0415 - needed by the writing thread alone

    masked = dict(line)
    if "arguments" in masked:
        masked["arguments"] = redact_value(masked["arguments"])
    policy = masked.get("policy")
    if isinstance(policy, dict) and isinstance(options := policy.get("options"), list):
        shown = [
            {**option, "arguments": redact_value(option.get("arguments"))} if isinstance(option, dict) else option
            for option in options
        ]
        masked["policy"] = {**policy, "options": shown}
    return masked


def read_flow_log(path: Path) -> Iterator[JsonObject]:
    """Read the lines of a flow log, decisions and runs, in order, in memory that does not grow with the file.

    Blank lines are skipped, and so is a last line that a crash has cut.

    Raises:
        SessionLogError: the file cannot be read, or a line is no JSON object.
    """
    number = 0
    try:
        for block in files.read_blocks(path, longest=_LONGEST_LINE):
            for line in block.lines:
                number += 1
                if not line.strip():
                    continue
                try:
                    value = jsonvalue.loads(line)
                except ValueError as error:
                    if not block.ended:
                        return
                    raise SessionLogError(str(path), number, f"no JSON: {error}") from None
                if not isinstance(value, dict):
                    raise SessionLogError(str(path), number, "expected an object, a decision or a run")
                yield value
    except OSError as error:
        raise SessionLogError(str(path), None, f"cannot be read: {error.strerror or error}") from error

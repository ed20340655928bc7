"""The demo's second part: one intent that is compiled into a procedure, and one that is refused, with the reasons.

Sessions are parted by what they changed alone, so that nothing beside the package is needed; `stretto intents` does
more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import stretto
from stretto.compiler.compiling import compile_traces
from stretto.compiler.declared import read_declared
from stretto.compiler.emit import Origin
from stretto.compiler.paper import Result
from stretto.compiler.reading import read_recorded
from stretto.compiler.settings import CompilerSettings
from stretto.compiler.subclusters import divide
from stretto.procedure.file import write_procedure
from stretto.sessions.corpus import open_corpus

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.compiler.compiling import Compilation
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["compile_shipped", "procedures_json", "procedures_text"]

#: What the refused sessions changed, and how the files are called.
_REFUSED: Final = ("tools.modify_pending_order_items",)
_REASONS: Final = 3  # that are shown


def compile_shipped(examples: Path, to: Path) -> tuple[Compilation, Compilation]:
    """Compile both, and write the procedure.

    Args:
        examples: the folder of the shipped examples.
        to: where the procedure is written.
    """
    shop = read_recorded(
        open_corpus(examples / "procedures" / "shop.jsonl"), read_declared(examples / "shop-tools.toml")
    )
    origin = Origin("cancel-last-order", version=stretto.__version__, contracts=shop.contracts)
    made = compile_traces("cancel-last-order", shop.traces, shop.tools, CompilerSettings(), origin=origin)
    if made.procedure is not None:
        write_procedure(to / "cancel-last-order.procedure.json", made.procedure)
    retail = read_recorded(open_corpus(examples / "flows" / "retail-learn.jsonl.gz"), trust=True)
    part = next(each for each in divide([retail.traces]) if each.signature == _REFUSED)
    chosen = [trace for trace in retail.traces if trace.id in part.traces]
    refused = compile_traces("modify-order-items", chosen, retail.tools, replace(CompilerSettings(), support_floor=5))
    return made, refused


def procedures_text(made: Compilation, refused: Compilation, place: Path) -> str:
    """What became of both, for people."""
    steps = " → ".join(name for name, _ in made.procedure.tools()) if made.procedure is not None else ""
    left = [each.result for each in made.left_out]
    settle = refused.refusal.would_settle if refused.refusal is not None else ()
    salvage = refused.refusal.salvage if refused.refusal is not None else ()
    return "\n".join(
        [
            "Where a task is always the same, sessions become a procedure that does it without a model:",
            "",
            f"- {made.name}: {made.outcome}, from {len(made.traces)} sessions: {steps}",
            f"  made without each of them: {', '.join(f'{left.count(result)} {result}' for result in Result)}",
            f"  {place / 'cancel-last-order.procedure.json'}",
            f"- {refused.name}: {refused.outcome}, of {len(refused.traces)} sessions",
            *(f"  {each.code}: {each.step} {each.path}: {each.says}" for each in refused.reasons[:_REASONS]),
            *(f"  would settle it: {each}" for each in settle[:1]),
            f"  could be compiled alone: {' → '.join(salvage)}",
        ]
    )


def procedures_json(made: Compilation, refused: Compilation) -> list[JsonValue]:
    """The same as JSON."""
    found: list[JsonValue] = []
    for each in (made, refused):
        codes: list[JsonValue] = [*sorted({str(reason.code) for reason in each.reasons})]
        about: JsonObject = {"name": each.name, "sessions": len(each.traces), "outcome": str(each.outcome)}
        found.append({**about, "reasons": codes})
    return found

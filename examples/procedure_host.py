"""A host that runs a procedure itself: ``python examples/procedure_host.py [EMAIL]``.

The procedure is compiled here, from the recorded sessions in ``examples/procedures``; a host would read its file. The
tools are the demo shop's, called in this process; `drive` hands each call over and hears what came of it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.compiler.compiling import compile_traces
from stretto.compiler.declared import read_declared
from stretto.compiler.reading import read_recorded
from stretto.compiler.settings import CompilerSettings
from stretto.procedure.running import course, done_of, drive
from stretto.proxy.demo_shop import Shop
from stretto.sessions.corpus import open_corpus

if TYPE_CHECKING:
    from stretto.procedure.exchange import Done, Make

HERE = Path(__file__).parent


def main(email: str) -> int:
    """Cancel the order that a customer has placed last."""
    read = read_recorded(open_corpus(HERE / "procedures" / "shop.jsonl"), read_declared(HERE / "shop-tools.toml"))
    made = compile_traces("cancel", read.traces[:8], read.tools, CompilerSettings())
    if made.procedure is None:
        print("refused:", *(reason.says for reason in made.reasons), sep="\n  ")
        return 1
    shop = Shop()

    def call(make: Make) -> Done:
        result = shop.call(make.tool, make.args)
        content = result["content"]
        text = str(content[0]["text"]) if isinstance(content, list) and isinstance(content[0], dict) else ""
        return done_of(text, ok=result.get("isError") is not True)

    running = course(made.procedure, {"email": email, "reason": "no longer needed"}, secret=str)
    ran = drive(running, call)
    for step, done in ran.calls:
        print(f"{step.tool} {step.args}: {'ok' if done.ok else done.output}")
    print(ran.verdict, ran.outputs, ran.escalation or "")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or ["john.backus@example.com"]))

"""Measure the compiler, and write the page: ``python -m benchmarks.compiler``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.compiler.page import page
from benchmarks.compiler.sessions import FULL, SHIPPED, read_domains, read_sessions
from benchmarks.compiler.study import PARTS, study
from benchmarks.trees import recorded

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for, and write it."""
    options = _options(arguments)
    print(f"reading the sessions in {options.traces.name} …", file=sys.stderr)
    domains = read_domains(options.traces)
    if not domains:
        sys.exit(f"no sessions to measure in {options.traces}")
    print("measuring …", file=sys.stderr)
    sessions = read_sessions(options.traces) if "groups" in options.only else []
    trees = recorded(options.traces) if "trees" in options.only else ()
    found = study(domains, options.only, sessions=sessions, trees=trees, every=options.every, sizes=options.sizes)
    text = page(found, _named(options.traces))
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8", newline="\n")
    else:
        print(text)
    if options.json:
        options.json.write_text(json.dumps(found.numbers(), indent=1) + "\n", encoding="utf-8")
    return 0


def _named(folder: Path) -> str:
    if folder.resolve() == SHIPPED:
        return "the clone, `examples/flows`; the full collection is not there"
    return "the full collection" if (folder / "tools-airline-v2.jsonl.gz").exists() else "another folder"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiler", description=__doc__)
    default = FULL if FULL.is_dir() else SHIPPED
    parser.add_argument(
        "--traces", type=Path, default=default, help="folder of recorded sessions (*.jsonl, *.jsonl.gz)"
    )
    parser.add_argument("--markdown", type=Path, help="write the page here; default: print it")
    parser.add_argument("--json", type=Path, help="write the numbers here, unrounded")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts of the page; default: all")
    parser.add_argument("--every", type=int, default=1, help="of the generated combinations, one of so many")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[250, 500, 1000, 2000], help="traces that are compiled for their costs"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

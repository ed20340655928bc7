"""Measure what flows save on recorded sessions, and write the page: ``python -m benchmarks.flows``."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.flows.headline import with_headline
from benchmarks.flows.jobs import Workplace
from benchmarks.flows.numbers import numbers
from benchmarks.flows.page import page
from benchmarks.flows.study import PARTS, Study
from benchmarks.flows.words import DISCUSSION
from benchmarks.kept import keeping, work_through

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT: Final = Path(__file__).resolve().parent.parent.parent
#: The full collection of recorded sessions, which a plain clone does not have, and the sessions that are shipped.
_FULL, _SHIPPED = _ROOT.parent / "shared" / "data" / "traces", _ROOT / "examples" / "flows"
_NAMES: Final = {_FULL.resolve(): "the full collection", _SHIPPED: "the shipped sessions, `examples/flows`"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for, and write it."""
    options = _options(arguments)
    drawn = {"frontier", "curve"} & {*options.only}
    if (options.svg or options.png) and not drawn:
        sys.exit("there is nothing to draw: measure the frontier or the learning curve too (--only frontier curve)")
    with keeping(options.keep) as kept:
        print(f"reading the sessions in {options.traces.name} …", file=sys.stderr)
        opened = partial(Workplace, options.traces, kept)
        study = Study(opened(), options.only)
        if not study.tools and not study.coding:
            sys.exit(f"no sessions to measure in {options.traces}")
        work_through("learning and replaying", study.jobs(), study.place, opened, options.workers)
        print("resampling and writing …", file=sys.stderr)
        folder = options.traces.resolve()
        discussion = DISCUSSION if folder == _FULL.resolve() else ""
        text = page(study, _NAMES.get(folder, "other sessions than the shipped ones"), discussion)
        if options.markdown:
            options.markdown.write_text(text, encoding="utf-8", newline="\n")
        else:
            print(text)
        if options.beside:
            beside = with_headline(options.beside.read_text(encoding="utf-8"), text)
            options.beside.write_text(beside, encoding="utf-8", newline="\n")
        if options.json:
            options.json.write_text(json.dumps(numbers(study), indent=1) + "\n", encoding="utf-8")
        for kind in ("svg", "png"):
            if folder := getattr(options, kind):
                _draw(study, folder, kind)
    return 0


def _draw(study: Study, folder: Path, kind: str) -> None:
    from benchmarks.flows.pictures import draw_curves, draw_frontier  # noqa: PLC0415 - a plain clone has no matplotlib

    for part, name, draw in (
        ("frontier", "flows-frontier", draw_frontier),
        ("curve", "flows-learning-curve", draw_curves),
    ):
        if part in study.only:
            (folder / f"{name}.{kind}").write_bytes(draw(study, kind))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flows", description=__doc__)
    default = _FULL if _FULL.is_dir() else _SHIPPED
    parser.add_argument(
        "--traces", type=Path, default=default, help="folder of recorded sessions (*.jsonl, *.jsonl.gz)"
    )
    parser.add_argument("--markdown", type=Path, help="write the page here; default: print it")
    parser.add_argument("--beside", type=Path, help="put the headline into this page of all results")
    parser.add_argument("--svg", type=Path, help="draw the pictures into this folder (needs the extra `results`)")
    parser.add_argument("--png", type=Path, help="the same as PNG")
    parser.add_argument("--json", type=Path, help="write the numbers here, unrounded")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts of the page; default: all")
    parser.add_argument("--workers", type=int, default=2, help="processes; default: 2")
    parser.add_argument(
        "--keep",
        type=Path,
        help="keep what is measured in this folder and go on from there; empty it when code or sessions have changed",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

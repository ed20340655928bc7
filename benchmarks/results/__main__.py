"""Measure what the library saves on recorded sessions, and write the page: ``python -m benchmarks.results``."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.flows.headline import FLOWS, HEADING, PAGE, section_of, with_headline, with_section
from benchmarks.kept import keeping, work_through
from benchmarks.results.hook import HEADING as HOOK
from benchmarks.results.jobs import Workplace
from benchmarks.results.page import page, results_json
from benchmarks.results.study import PARTS, Study

if TYPE_CHECKING:
    from collections.abc import Sequence


_ROOT: Final = Path(__file__).resolve().parent.parent.parent
#: The full collection of recorded sessions, which a plain clone does not have, and the sessions that are shipped.
_FULL, _SHIPPED = _ROOT.parent / "shared" / "data" / "traces", _ROOT / "examples" / "sessions"
_NAMES: Final = {_FULL.resolve(): "the full collection", _SHIPPED: "the shipped sessions, `examples/sessions`"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for, and write it."""
    options = _options(arguments)
    if options.svg and "curve" not in options.only:
        sys.exit("--svg draws the learning curve: measure it too (--only curve)")
    with keeping(options.keep) as kept:
        print(f"reading the sessions in {options.traces.name} …", file=sys.stderr)
        opened = partial(Workplace, options.traces, kept)
        study = Study(opened(), options.only)
        if not study.groups:
            sys.exit(f"no coding-*.jsonl sessions in {options.traces}")
        work_through("learning", study.lessons(), study.place, opened, options.workers)
        work_through("replaying", study.jobs(), study.place, opened, options.workers)
        if "skills" in study.only:
            alone = study.skill_jobs(study.candidates())
            work_through("routes alone", alone, study.place, opened, options.workers)
        text = page(study, _NAMES.get(options.traces.resolve(), "other sessions than the shipped ones"))
        if options.markdown:
            flows = options.markdown.with_name(PAGE)
            if flows.exists():
                text = with_headline(text, flows.read_text(encoding="utf-8"))
            before = options.markdown.read_text(encoding="utf-8") if options.markdown.exists() else ""
            if hook := section_of(before, HOOK):
                text = with_section(text, hook, after=(HEADING, FLOWS))  # measured by a command of its own
            options.markdown.write_text(text, encoding="utf-8", newline="\n")
        else:
            print(text)
        if options.json:
            options.json.write_text(json.dumps(results_json(study), indent=1) + "\n", encoding="utf-8")
        if options.svg:
            from benchmarks.results.curve import draw  # noqa: PLC0415 - a plain clone has no matplotlib

            draw({group: study.curve(group) for group in study.curve_groups()}, options.svg)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description=__doc__)
    default = _FULL if _FULL.is_dir() else _SHIPPED
    parser.add_argument("--traces", type=Path, default=default, help="folder of recorded sessions (coding-*.jsonl.gz)")
    parser.add_argument("--markdown", type=Path, help="write the page here; default: print it")
    parser.add_argument("--svg", type=Path, help="draw the learning curve here (needs the extra `results`)")
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

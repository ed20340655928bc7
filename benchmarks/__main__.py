"""Run the benchmarks: ``python -m benchmarks [TOPIC…] [--json | --markdown]``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict

from benchmarks.timing import YARDSTICK_S, Row, best, yardstick
from benchmarks.topics import TOPICS


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits are enough of a noisy number


def _cells(row: Row) -> list[str]:
    bar = "" if row.bar is None else f"{'≤' if row.value <= row.bar else '**over**'} {_figure(row.bar)}"
    ratio = "" if row.ratio is None else f"{_figure(row.ratio)} times"
    return [row.topic, f"{_figure(row.value)} {row.unit}", bar, ratio, row.beside]


def main() -> int:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("topic", nargs="*", choices=[[], *TOPICS], help="default: all")
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--markdown", action="store_true", help="a Markdown table")
    options = parser.parse_args()
    speed = best(yardstick)
    about = f"Python {platform.python_version()}, {os.cpu_count()} cores, a million additions in {speed * 1e3:.0f} ms"
    if options.markdown:
        print(f"{about} ({YARDSTICK_S * 1e3:.0f} ms when it is quiet).\n")
        print("| what | measured | bar | ratio | to |\n|---|---|---|---|---|")
    elif not options.json:
        print(about)
    for name in options.topic or TOPICS:
        print(f"{name} …", file=sys.stderr)
        for row in TOPICS[name]():
            if options.json:
                print(json.dumps(asdict(row)), flush=True)
            elif options.markdown:
                print(f"| {' | '.join(_cells(row))} |", flush=True)
            else:
                topic, value, bar, ratio, beside = _cells(row)
                print(f"{topic:48} {value:>18} {bar:>10} {ratio:>8} {beside}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

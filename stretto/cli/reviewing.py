"""Commands that read flows alone: ``flow-show``, ``flow-diff``."""

from __future__ import annotations

from pathlib import Path

import click

from stretto._defaults import DIFF_TOLERANCE, EXIT_OK, EXIT_PROBLEMS
from stretto.cli import options
from stretto.flow.file import read_flow
from stretto.review.changes import diff_json
from stretto.review.diff import diff
from stretto.review.diff_page import diff_page
from stretto.review.show import show, show_json
from stretto.review.show_page import show_page
from waggle import _render

__all__ = ["flow_diff", "flow_show"]

_FLOW = click.Path(path_type=Path)


@click.command("flow-show")
@click.argument("path", type=_FLOW, metavar="FLOW")
@options.threshold
@options.as_json
def flow_show(*, path: Path, threshold: float, as_json: bool) -> int:
    """Show a flow to its reviewer.

    Which tools read, what may be looked up after which call and from what evidence, where arguments come from, and what
    the flow would do. As Markdown.
    """
    shown = show(read_flow(path), threshold)
    if as_json:
        _render.document(show_json(shown))
    else:
        _render.out(show_page(shown).removesuffix("\n"))
    return EXIT_OK


@click.command("flow-diff")
@click.argument("old", type=_FLOW, metavar="OLD")
@click.argument("new", type=_FLOW, metavar="NEW")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=DIFF_TOLERANCE,
    metavar="CHANGE",
    help=f"Change of a share, a chance or a weight from which on it is listed, 0 to 1. Default: {DIFF_TOLERANCE}.",
)
@options.threshold
@options.as_json
def flow_diff(*, old: Path, new: Path, tolerance: float, threshold: float, as_json: bool) -> int:
    """Compare two versions of a flow.

    What must be reviewed stands first: whatever lets the new version do what the old one could not. The exit code is 1
    when there is something to review, 0 when there is nothing, and 2 when a flow cannot be read.
    """
    compared = diff(read_flow(old), read_flow(new), tolerance=tolerance, threshold=threshold)
    if as_json:
        _render.document(diff_json(compared))
    else:
        _render.out(diff_page(compared).removesuffix("\n"))
    return EXIT_PROBLEMS if compared.needs_review else EXIT_OK

"""What the pages of reviews say in the same words: names, shares, verdicts, and where values come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.bindings.derive import describe
from stretto.review.shown import Verdict
from waggle import jsonvalue
from waggle.markdown import code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.review.shown import SiteVerdict, SourceShown

__all__ = ["SOURCE_KINDS", "name", "number", "percent", "place_said", "source_said", "verdict_said"]

#: What a reader should know of the kinds of sources that the original has not.
SOURCE_KINDS: Final[Mapping[str, str]] = {
    "derived": (
        "*derived*: the value is made of one in an earlier call by a fixed rule, such as a prefix put before it. The"
        " rule is said after the place; `$` is what the call returned, `@` what it passed."
    ),
    "record": "*record*: all arguments are taken from one record of an earlier result.",
    "spoken": (
        "*user's words*: the value is the only one not passed yet in what the user wrote that looks like this. `9{n}`"
        " are n digits, `X{n}` n letters and digits, `a` letters; all else stands for itself."
    ),
}


def name(text: str) -> str:
    """A name or value as code that stays in a cell of a table; as JSON where it holds a bar or what cannot be seen."""
    if "|" in text or not text.isprintable():
        # In a cell a bar ends it, and a backslash before it does not help after another backslash.
        text = jsonvalue.canonical(text).decode().replace("|", "\\u007c").replace("\x7f", "\\u007f")
    return code(text)


def percent(share: float) -> str:
    """A share of 0 to 1 in whole percent, halves to the even neighbour."""
    return f"{share:.0%}"


def number(value: float) -> str:
    """A count, without decimals where it has none."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def verdict_said(one: SiteVerdict) -> str:
    """A verdict in words, with the numbers it comes from."""
    if one.lookup is None:
        return f"**{one.verdict}**"
    if one.chance is None:
        return f"**{one.verdict}**: {name(one.lookup)} has an argument without a source"
    said = f"**{one.verdict}**: {name(one.lookup)} {one.share:.2f} x {one.chance:.2f} = {one.share * one.chance:.2f}"
    if one.score != one.share * one.chance:
        said += f", by uses {one.score:.2f}"
    return f"{said}, below {one.threshold:g}" if one.verdict is Verdict.HANDS_BACK else said


def source_said(source: SourceShown) -> str:
    """Where a value comes from, in words, and how often it did."""
    return f"{place_said(source.kind, source.tool, source.path)} ({source.count} of {source.values})"


def place_said(kind: str, tool: str | None, path: str) -> str:
    """Where a value comes from, in words; see `SourceShown`."""
    match kind:
        case "spoken":
            return f"*user's words* like {name(path)}"
        case "derived" | "record":
            return f"*{kind}* from {name(tool or '')}: {name(describe(path))}"
        case "list":
            return f"the whole list of {name(tool or '')} at {name(path)}"
        case _:
            return f"{name(tool or '')} at {name(path)}"

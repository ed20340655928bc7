"""What a skill file says of its route, in words that a person reviews and a model acts on.

Four questions are answered, in this order: what is looked up, when, with which values, and what comes back. Pure: the
same route gives the same words. Not responsible for the file around them (`waggle.skillfile`).
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue
from waggle._defaults import MIN_PREFIX_STEPS
from waggle.markdown import code
from waggle.miner import Param
from waggle.routes import in_checkout, param_names, text_of
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonValue
    from waggle.routes import After, Route, RouteStep

__all__ = ["about", "body", "counted", "describe", "title"]

_LONGEST: Final = 1024  #: characters of a description, by the Agent Skills standard


def title(route: Route) -> str:
    """The steps in a few words each: the tool or the command, and what it is mostly called with."""
    if route.after:
        return _title_after(route.after, route.steps[0])
    steps: list[str] = []
    for index, step in enumerate(route.steps):
        known = [value for key, value in step.args.items() if Param(index, key) not in route.params]
        if command := _command(route, index):
            steps.append(_words(command))
            continue
        texts = [_words(text_of(value)) for value in known]
        what = _words(step.form.partition("{")[0]) or _words(step.tool) or "tool"
        steps.append(f"{what} {max(texts, key=len, default='')}".strip())
    return ", ".join(steps)


def _title_after(after: After, step: RouteStep) -> str:
    target = after.target
    what = _words(step.form.replace("{", "").replace("}", "") or step.tool) or "the same"
    if isinstance(target.get("file"), int):
        what = {"whole": "read the whole file", "end": "read on"}.get(
            str(target.get("around")), "read the lines around it"
        )
    return f"After {_plain_site(after)}, {what}"


def _plain_site(after: After) -> str:
    """What was just seen, in words reduced to what is safe in a heading."""
    from waggle.reach.spoken import spoken_site  # noqa: PLC0415 - a store without reach routes needs none of it

    return re.sub(r"[^\w ./*:,()-]+", "", re.sub(r"-{2,}", "-", spoken_site(after.site)))[:120].strip()


def _words(text: str) -> str:
    """A name or value reduced to what is safe in a heading, a description and front matter, at most 40 characters."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^\w./*-]+", " ", text)).strip(" -")[-40:].strip(" -")


def about(route: Route) -> str:
    """What a route does, in one sentence, or two where it has parameters; without the last full stop."""
    if route.after:
        return f"{title(route)[:560]}: what agents in this project read there before their next change"
    params = ", ".join(_words(name) for name in param_names(route.params))
    takes = f". Takes {params[:160]}" if params.strip(", ") else ""
    return f"{len(route.steps)} lookups that go together in this project: {title(route)[:560]}{takes}"


def describe(route: Route) -> str:
    """What a route does and when to use it, in at most 1,024 characters of plain words."""
    if route.after:
        when = f"Use when {_plain_site(route.after)} has just answered, and the read is not in its result yet."
    else:
        when = "Use when about to make the first of them, or when what they show is needed; all at once, not in turns."
    return f"{about(route)}. {when} Only reads."[:_LONGEST]


def counted(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


# --- the body of a run of lookups ------------------------------------------------------------------------------


def body(route: Route, *, has_script: bool) -> list[str]:
    """The lines of the text: when, what, with which values, and what comes back."""
    return _after_body(route, route.after) if route.after else _run_body(route, has_script=has_script)


def _run_body(route: Route, *, has_script: bool) -> list[str]:
    names = dict(zip(route.params, param_names(route.params), strict=True))
    lines = [
        "## When to use",
        "",
        _WHEN,
        "",
        _replayed(route),
        "",
        "## Lookups",
        "",
    ]
    for index, step in enumerate(route.steps):
        command = _command(route, index)
        lines.append(f"{index + 1}. {code(step.tool)}{f': {_shown(command)}' if command else _form(step)}")
        for key in () if command else sorted(step.args):
            param = Param(index, key)
            shown = f"the parameter {code(names[param])}" if param in names else _value(step.args[key])
            lines.append(f"   - {code(key)}: {shown}")
    lines += ["", "## Parameters", ""]
    for param, name in names.items():
        where = f"{code(param.key)} of lookup {param.step + 1}"
        lines.append(f"- {code(name)}: {where}; it varied each time, so take it from your task.")
        lines.append(f"  For example: {_example(route, param.step)}")
    if not names:
        lines.append("It has no parameters: every value was the same each time.")
    lines += ["", "## What it returns", ""]
    lines += [f"{index + 1}. {_returned(step)}" for index, step in enumerate(route.steps)]
    if has_script:
        arguments = "".join(f" {_words(name).replace(' ', '_').upper() or 'VALUE'}" for name in names.values())
        lines += [
            "",
            "## From a shell",
            "",
            f"In the project's directory: `bash SKILL/scripts/run.sh{arguments}`, where SKILL is this file's folder.",
            "It prints what the lookups return, one after the other.",
        ]
    sessions = f" in {counted(route.support, 'session')}" if route.support else ""
    seen = f"Seen {counted(route.count, 'time')}{sessions} when it was learned."
    return [*lines, "", seen if route.count else "How often it was seen is not known."]


def _replayed(route: Route) -> str:
    first = route.fires_from(MIN_PREFIX_STEPS)
    if first is None:
        return "It is not replayed by itself: what comes last is not known from what comes first."
    more = len(route.steps) - first
    rest = f"lookup {first + 1} is" if more == 1 else f"lookups {first + 1} to {len(route.steps)} are"
    return f"Where waggle runs with the agent, {rest} made as soon as lookups 1 to {first} were, {_FOLDED}"


_WHEN: Final = (
    "When you are about to make lookup 1, or need what these lookups show. Make all of them in one turn where your "
    "tools can be called side by side; they only read."
)
_FOLDED: Final = "and added to the result in a `<waggle-fold>`. What stands there need not be asked for again."


def _form(step: RouteStep) -> str:
    """How a shell command goes whose values are given one by one."""
    return f": {code(step.form)}, where" if step.form else ""


def _command(route: Route, index: int) -> str:
    """A shell command in full; empty for any other call, and where values of it vary."""
    step = route.steps[index]
    if not step.form or any(param.step == index for param in route.params):
        return ""
    args = {key: in_checkout(value, None) for key, value in step.args.items()}
    try:
        said = _known_tools().said(step.tool, step.form, args)
    except ValueError:
        return ""
    return next((value for value in said.values() if isinstance(value, str)), "")


def _value(value: JsonValue) -> str:
    if isinstance(value, dict) and len(value) == 1 and isinstance(path := value.get("$project"), str):
        return f"{code(path)} in the project"
    return _shown(value if isinstance(value, str) and value else jsonvalue.dumps(value).decode())


def _shown(text: str) -> str:
    if len(text) <= _LONGEST_VALUE:
        return code(text)
    return f"{code(text[:_LONGEST_VALUE])} and {len(text) - _LONGEST_VALUE:,} more characters, which `route.json` has"


_LONGEST_VALUE: Final = 1000  #: characters that are shown: a model reads the text whole


def _example(route: Route, index: int) -> str:
    """One call with placeholders for what varies, as the tool takes it."""
    step = route.steps[index]
    names = dict(zip(route.params, param_names(route.params), strict=True))
    args: dict[str, JsonValue] = {
        key: f"<{names[Param(index, key)]}>" if Param(index, key) in names else in_checkout(step.args[key], None)
        for key in sorted(step.args)
    }
    text = jsonvalue.dumps(args).decode()
    return f"{code(step.tool)} with {code(text)}." if len(text) <= _LONGEST_VALUE else "see the lookup."


def _returned(step: RouteStep) -> str:
    """What comes back of one lookup."""
    if step.form or _known_tools().spec(step.tool).command:
        return f"{code(step.tool)}: what the command prints."
    return f"{code(step.tool)}: {_RETURNS.get(_known_tools().spec(step.tool).kind, 'its answer')}."


_RETURNS: Final = {
    "lines": "the text of the file, or of the lines asked for",
    "search": "the lines that match, or the files that hold them",
    "list": "names of files",
    "status": "the state of the file",
}


@functools.cache
def _known_tools() -> ToolTable:
    """What everybody knows of tools; what one user says of theirs must not change a file that others share."""
    return ToolTable()


# --- the body of a read that follows a kind of call ------------------------------------------------------------


def _after_body(route: Route, after: After) -> list[str]:
    from waggle.reach.routes import counts_of, target_key  # noqa: PLC0415 - as in `_plain_site`
    from waggle.reach.spoken import evidence, spoken_range, spoken_site, spoken_target  # noqa: PLC0415 - as above
    from waggle.reach.targets import read_target  # noqa: PLC0415 - as above

    step = route.steps[0]
    site = spoken_site(after.site)
    key = target_key(after)
    lines = [
        "## When to use",
        "",
        f"When {site} has just answered, and before your next change. It only reads.",
        "",
        f"Where waggle runs with the agent, it is read ahead if the chance is large enough, {_FOLDED}",
        "",
        "## Lookup",
        "",
        f"**After** {site}, this is read:",
        "",
        f"- {code(step.tool)}{_form(step)}",
        *(f"   - {code(name)}: {source}" for name, source in spoken_target(read_target(key))),
        "",
        "## What it returns",
        "",
        _returned(step),
    ]
    rows = evidence(counts_of(after), key, after.site)
    if rows and spoken_range(rows[0].choice):
        lines[-1] += " How many lines agents read stands in the table."
    if rows:
        sessions = counted(route.support, "session")
        times, read = rows[0].times, rows[0].read
        lines += [
            "",
            f"**Why:** of {counted(times, 'time')}, in {sessions}, agents read it {read} times before a change.",
            "",
            "| where | times | then read | chance | lines |",
            "|---|---|---|---|---|",
        ]
        for row in rows[:_ROWS]:
            chance = f"{100 * row.choice.chance:.0f} %" if row.choice.worth > 0 else "too small"
            lines.append(
                f"| {row.details or 'all'} | {row.times} | {row.read} | {chance} | {spoken_range(row.choice) or '-'} |"
            )
        if len(rows) > _ROWS:
            lines += ["", f"{counted(len(rows) - _ROWS, 'rarer place')} not shown; all are in `route.json`."]
    return lines


_ROWS: Final = 8  # places of a habit that are shown

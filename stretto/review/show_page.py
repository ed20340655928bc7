"""The review of a flow as a Markdown page.

Names, paths and values come from tools and are data: each stands in code that it cannot end, on its line and in its
cell. Not responsible for what it says: that is `stretto.review.show`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from stretto.review.page import count, table
from stretto.review.words import SOURCE_KINDS, name, number, percent, source_said, verdict_said
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stretto.bindings.model import Agreed
    from stretto.flow.model import Fold
    from stretto.review.shown import ArgumentShown, BindingShown, FlowShown, SiteShown, SourceShown

__all__ = ["show_page"]


def show_page(shown: FlowShown) -> str:
    """The page, with a line end; the same data gives the same page."""
    sections = [
        _title(shown),
        f"## Tools\n\n{_tools(shown)}",
        f"## Run\n\n{_run(shown)}",
        f"## Sites\n\n{_sites(shown)}",
        _promotion(shown),
        f"## Bindings\n\n{_bindings(shown)}",
        _constants(shown),
        _orders(shown),
        _uses(shown),
        _contracts(shown),
        _features(shown),
        _arbiter(shown),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(name, names)) or "none"


def _title(shown: FlowShown) -> str:
    made = shown.provenance
    written = f"{datetime.fromtimestamp(made.compiled_unix_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    learned = f"- Learned from {count(made.habit_episodes, 'successful session')} of {_names(made.sources)}."
    lines = [f"# Flow {name(shown.domain)}", "", learned]
    lines.append(f"- Written by stretto {name(made.stretto)} on {written}, file version {shown.version}.")
    decider = f"- Decider unless another is named: `{shown.default_decider}`."
    lines.append(f"{decider} A lookup is made from a score of {shown.threshold:g} on.")
    if made.conventions:
        lines.append(f"- Spans were read by {name(made.conventions)}.")
    if shown.every_read:
        lines.append("- **Every read may be looked up at every site**, not only what followed there in training.")
    lines += [f"- At {name(site)} the threshold is {value:g}." for site, value in shown.thresholds.items()]
    if shown.gate:
        lines.append(
            f"- It leaves a session alone whose mean surprise over {shown.gate.window} steps passes"
            f" {shown.gate.threshold:.2f} nats."
        )
    return "\n".join(lines)


def _tools(shown: FlowShown) -> str:
    return (
        "Only tools that read are ever looked up. What a tool does is its server's word: check it first.\n\n"
        f"- Read: {_names(shown.reads)}\n- Write: {_names(shown.writes)}\n- Neither: {_names(shown.neither)}"
    )


def _run(shown: FlowShown) -> str:
    if shown.standard_program:
        said = "After each call of the agent, the standard run:"
    else:
        said = (
            "**This is not the standard run.** It is code that runs after each call of the agent; read it line by line:"
        )
    return f"{said}\n\n```text\n{shown.program}\n```"


# --- sites ----------------------------------------------------------------------------------------------------


def _sites(shown: FlowShown) -> str:
    if not shown.sites:
        return "None: this flow looks nothing up."
    reach = any(site.reach for site in shown.sites)
    head = ["After", "May look up", "What the agent did next", "Habit", *(["Reach"] if reach else [])]
    rows = [_site(site, reach=reach) for site in shown.sites]
    said = "`respond` is a message to the user. Verdicts pool all histories: share x chance of the arguments = score."
    return f"{said}\n\n{table(head, rows, words=len(head))}"


def _site(site: SiteShown, *, reach: bool) -> list[str]:
    lookups = ", ".join(f"{name(tool)} ({times})" for tool, times in site.lookups.items())
    steps = ", ".join(f"{name(one.step)} {percent(one.share)}" for one in site.next)
    followed = f"{steps} of {number(site.total)}" if site.next else "not seen"
    verdicts = [site.habit, site.reach] if reach else [site.habit]
    return [name(site.site), lookups or "nothing", followed, *(verdict_said(one) if one else "" for one in verdicts)]


def _promotion(shown: FlowShown) -> str:
    if not shown.promotion:
        return ""
    bar = shown.promotion.bar
    head = ["Site", "Verdict", "Decisions", "Lookups", "Used", "Lower end", "Tasks"]
    rows = [
        [
            name(site),
            "promoted" if one.promoted else "not promoted",
            str(one.decisions),
            str(one.lookups),
            str(one.used),
            f"{one.lower:.3f}",
            str(one.tasks),
        ]
        for site, one in shown.promotion.sites.items()
    ]
    said = (
        f"The flow acts only at promoted sites. At a threshold of {bar.threshold:g} a site needs"
        f" {percent(bar.min_used)} of its lookups used, {bar.min_lower:g} as the lower end of that share's interval,"
        f" and lookups in {count(bar.min_tasks, 'task')}."
    )
    return f"## Promotion\n\n{said}\n\n{table(head, rows, words=2)}"


# --- arguments ------------------------------------------------------------------------------------------------


def _bindings(shown: FlowShown) -> str:
    if not shown.bindings:
        return "No lookup was called in training."
    named = any(one.named_other for one in shown.bindings)
    described = any(one.described_read for one in shown.bindings)
    head = [
        "Lookup",
        "Argument",
        "Bound from",
        "Chance not mentioned, mentioned",
        *(["Another was named"] if named else []),
        *(["The described one was read"] if described else []),
    ]
    rows = [row for one in shown.bindings for row in _binding_rows(one, named=named, described=described)]
    parts = [table(head, rows, words=len(head))]
    kinds = {source.kind for one in shown.bindings for source in _all_sources(one)}
    legend = [f"- {said}" for kind, said in SOURCE_KINDS.items() if kind in kinds]
    if legend:
        parts.append("Kinds of sources that the original has not:\n\n" + "\n".join(legend))
    return "\n\n".join(parts)


def _all_sources(one: BindingShown) -> Iterable[SourceShown]:
    return (*(source for argument in one.arguments for source in argument.sources), *one.records)


def _binding_rows(one: BindingShown, *, named: bool, described: bool) -> Iterable[list[str]]:
    after = [_pick(one.named_other)] if named else []
    after += [_pick(one.described_read)] if described else []
    if one.bare is not None:
        yield [name(one.lookup), "none", "called without arguments", f"{one.bare:.2f}", *after]
    for argument in one.arguments:
        yield [name(one.lookup), name(argument.argument), _argument(argument), _binding_said(one), *after]
    if one.records:
        together = "; ".join(map(source_said, one.records))
        yield [name(one.lookup), "all together", together, _apart(one.apart, "record"), *after]


def _argument(argument: ArgumentShown) -> str:
    if argument.constant:
        return "a constant"
    return "; ".join(map(source_said, argument.sources)) or "nothing"


def _binding_said(one: BindingShown) -> str:
    """The chances of a lookup's arguments, those of its own kinds of sources after the others."""
    said = [_agreed(one.agreed)]
    kinds = {source.kind for argument in one.arguments for source in argument.sources}
    said += [_apart(one.apart, kind) for kind in ("derived", "spoken") if kind in kinds]
    return "; ".join(said)


def _apart(apart: Mapping[str, Agreed], kind: str) -> str:
    label = "user's words" if kind == "spoken" else kind
    return f"*{label}* {_agreed(apart.get(kind, ((0, 0), (0, 0))))}"


def _agreed(agreed: Agreed) -> str:
    return ", ".join(f"{(hits + 1) / (tries + 2):.2f} ({hits}/{tries})" for hits, tries in agreed)


def _pick(counts: tuple[int, int, float] | None) -> str:
    return f"{counts[2]:.2f} ({counts[0]}/{counts[1]})" if counts else ""


def _constants(shown: FlowShown) -> str:
    rows = [
        [name(one.lookup), name(one.argument), name(jsonvalue.dumps(one.value).decode())] for one in shown.constants
    ]
    return f"## Constants\n\n{table(['Lookup', 'Argument', 'Always'], rows, words=3)}" if rows else ""


def _orders(shown: FlowShown) -> str:
    rows = [
        [
            name(one.lookup),
            name(one.argument),
            name(one.site),
            "; ".join(f"{name(tool)} at {name(path)} ({values})" for tool, path, values in one.sources),
        ]
        for one in shown.orders
    ]
    head = ["Lookup", "Argument", "After", "Sources, first to last"]
    return f"## Sources by site\n\n{table(head, rows, words=4)}" if rows else ""


def _uses(shown: FlowShown) -> str:
    rows = [
        [
            name(one.site),
            name(one.lookup),
            name(one.kind),
            one.pick,
            str(one.stage),
            f"{percent(one.used / one.weighed) if one.weighed else '-'} of {one.weighed:,}",
            f"{one.calls:.1f}" if one.used else "-",
        ]
        for one in shown.uses
    ]
    said = (
        "Of the times a lookup could have been made, after so many others in the same run, how often the agent made it"
        " itself before its next write, and how many calls the turns had in which it did. The original does not count"
        " this."
    )
    head = ["After", "Lookup", "Arguments", "User mentioned", "Made before", "Used", "Calls a turn"]
    return f"## Uses\n\n{said}\n\n{table(head, rows, words=4)}" if rows else ""


# --- the rest -------------------------------------------------------------------------------------------------


def _contracts(shown: FlowShown) -> str:
    rows = [[name(tool), name(contract)] for tool, contract in shown.contracts.items()]
    said = "A tool whose server lists other inputs is not looked up. `!` marks what must be passed."
    return f"## Pinned inputs\n\n{said}\n\n{table(['Tool', 'Inputs'], rows, words=2)}" if rows else ""


def _features(shown: FlowShown) -> str:
    rows = []
    for tool, fields in sorted(shown.features.fields.items()):
        said = ", ".join(
            f"length of {name(one.path or '$')}" if one.kind == "Len" else name(one.path) for one in fields
        )
        rows.append([name(tool), said, str(sum(owner == tool for owner, _ in shown.features.ids))])
    said = "Steps differ by these parts of what a tool returned. The file holds their values word for word."
    head = ["Tool", "Parts", "Combinations"]
    return f"## Code features\n\n{said}\n\n{table(head, rows, words=2)}" if rows else ""


def _arbiter(shown: FlowShown) -> str:
    arbiter = shown.arbiter
    if not arbiter:
        return ""
    asked = [*arbiter.predicates, *(one for one in arbiter.weighed if one not in arbiter.predicates)]
    fitted = f"fitted on {count(shown.provenance.arbiter_cases, 'decision')} in {count(len(arbiter.folds), 'fold')}"
    parts = [f"It asks the model {name(arbiter.model)} before a lookup, and was {fitted}."]
    rows = [
        [
            name(one.id),
            name(one.favors if isinstance(one.favors, str) else one.favors["lookup"]),
            "yes" if one in arbiter.weighed else "no",
            name(one.question),
            name(one.yes),
            name(one.no),
        ]
        for one in asked
    ]
    if rows:
        parts.append(table(["Predicate", "Favors", "Weighed", "Question", "Yes", "No"], rows, words=6))
    distinct = [fold for place, fold in enumerate(arbiter.folds) if fold not in arbiter.folds[:place]]
    parts.append("\n".join(map(_fold, distinct)))
    return "## Arbiter\n\n" + "\n\n".join(parts)


def _fold(fold: Fold) -> str:
    weights = ", ".join(f"{weight:.3f}" for weight in fold.weights)
    agreed = f"the model agreed with the agent in {percent(fold.agree)}, its options covered {percent(fold.cover)}"
    return f"- Weights {weights}; {agreed}."

"""What a procedure's parts say, in words: where a value comes from, when a step is made, how often. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.procedure import atoms
from stretto.procedure.graph import (
    Constant,
    Copied,
    DecisionNode,
    HumanNode,
    Injected,
    Input,
    ModelNode,
    Secret,
    Source,
    TransformNode,
)
from stretto.review.document import Data, joined
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stretto.procedure.graph import Binding, InjectedValue, Procedure, Repeat, Select, ToolNode
    from stretto.review.document import Line
    from waggle.jsonvalue import JsonValue

__all__ = [
    "BASES",
    "EFFECTS",
    "WHY_ASKED",
    "exit_said",
    "fixed",
    "known",
    "looked_at",
    "origin",
    "place",
    "repeat_said",
    "value",
    "values",
    "way_said",
]

#: What an effect means.
EFFECTS: Final[Mapping[str, str]] = {
    "read": "reads",
    "auth": "logs in",
    "write": "changes, and can be undone",
    "irreversible": "changes for good",
    "unknown": "nobody has said what it does",
}

#: Why a person is asked, by `stretto.compiler.abstain.Code`.
WHY_ASKED: Final[Mapping[str, str]] = {
    "choice": "it is one of a few, and nothing in the traces tells which",
    "doubtful_source": "where the value comes from is likely and not proven",
    "undeclared_effect": "nobody has said what the step does",
    "free_text": "it is a text for a person",
}

#: What a copy rests on, by `stretto.compiler.evidence.Basis`.
BASES: Final[Mapping[str, str]] = {
    "exclusion": "no other origin in its trace",
    "cross_trace": "traces refute every other origin",
    "session": "the last login of the same application",
    "inferred": "schemas only: nobody saw the value",
}

_COUNTS: Final = {"0": "no element", "1": "one element", "many": "several elements"}
_SHOWN: Final = 200  #: characters of a value that are shown; a text may be as long as a letter


def known(words: Mapping[str, str], word: str) -> Line:
    """What a word of ours means; one that we do not know is data."""
    return (words[word],) if word in words else (Data(word),) if word else ()


def value(given: JsonValue) -> Data:
    """A value as its JSON, the end of a long one left out."""
    text = jsonvalue.dumps(given).decode("utf-8", "surrogatepass")
    return Data(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def values(given: Iterable[JsonValue]) -> Line:
    """Values, one after the other."""
    return joined((value(each),) for each in given) or ("none",)


def place(source: Source) -> Line:
    """A place in the output of a step, and which element it is in."""
    return (Data(source.path), " of ", Data(source.node), *_element(source.select))


def _element(select: Select | None) -> Line:
    if select is None:
        return ()
    if select.kind == "where" and select.equal is not None:
        return (", of the one element whose ", Data(select.field), " is ", *_equal(select))
    return (
        {
            "only": ", of the only element",
            "each": ", of each element in order",
            "first": ", of the first element",
            "last": ", of the last element",
        }.get(select.kind, ", of one element"),
    )


def _equal(select: Select) -> Line:
    equal = select.equal
    if equal is None:
        return ()
    if equal.constant is not None:
        return values(equal.constant)
    if equal.argument is not None:
        return ("what ", Data(equal.argument[0]), " was called with as ", Data(equal.argument[1]))
    return ("input ", Data(equal.input or ""))


def origin(procedure: Procedure, binding: Binding) -> Line:
    """Where an argument comes from."""
    found = _origin(procedure, binding)
    return (*found, "; left out where that is not there") if binding.optional else found


def _origin(procedure: Procedure, binding: Binding) -> Line:  # noqa: PLR0911 - one case a kind
    match binding.value:
        case Constant(value=given):
            return ("always ", value(given))
        case Injected(injected=name):
            there = procedure.injected.get(name)
            return ("fixed: ", Data(name), *((", ", value(there.value)) if there is not None else ()))
        case Secret(secret=secret):
            return ("secret ", Data(secret), ", looked up when it runs")
        case Input(input=name):
            many = name in procedure.inputs and procedure.inputs[name].many
            return ("each of input " if many else "input ", Data(name))
        case Copied(sources=[source]):
            return place(source)
        case Copied(sources=sources):
            return (*joined(map(place, sources), " and "), ", which have to agree")
        case other:
            return _made_by(procedure, other.node)


def fixed(given: InjectedValue) -> Line:
    """What a fixed value is, for how long, and how it is read anew."""
    again = given.refresh
    then: Line = ("; then the run is handed back",)
    if again is not None:
        then = ("; then read anew with ", Data(again.tool), " ", value(again.args))
    seen = (" after ", Data(given.observed)) if given.observed else (", and it is not known when it was seen")
    days = f", for {given.days:g} days" if given.observed else ""
    return (value(given.value), ", ", Data(given.path), " of ", Data(given.tool), days, *seen, *then)


def _made_by(procedure: Procedure, name: str) -> Line:
    node = procedure.nodes.get(name)
    match node:
        case TransformNode(name="template"):
            before = ("the text ", value(node.before), " and ") if node.before else ()
            after = (" and the text ", value(node.after)) if node.after else ()
            return (*before, *looked_at(node.of), *after)
        case TransformNode():
            return (Data(node.name), " of ", *looked_at(node.of))
        case HumanNode():
            return ("what a person answers to ", Data(name))
        case ModelNode():
            return ("what a model answers to ", Data(name))
        case _:
            return ("what comes of ", Data(name))


def looked_at(of: Source | Input) -> Line:
    """What a transform or a decision takes."""
    return ("input ", Data(of.input)) if isinstance(of, Input) else place(of)


def exit_said(decision: DecisionNode, exit_: str) -> Line:
    """What has to be the case for an exit of a decision."""
    of, seen = looked_at(decision.of), decision.exits.get(exit_, [])
    match decision.predicate:
        case "count":
            return (*of, " has ", " or ".join(_COUNTS.get(str(each), "another number of elements") for each in seen))
        case "present":
            return (*of, " is there" if True in seen else " is not there")
        case "interval":
            return (*of, " is in ", Data(f"[{', '.join(map(atoms.shown, seen))}]"))
        case _:
            return (*of, " is ", *joined(((value(each),) for each in seen), " or "))


def way_said(procedure: Procedure, when: Iterable[Iterable[tuple[str, str]]]) -> Line:
    """When a step is made; empty for always."""
    ways = [joined((_condition(procedure, fork, exit_) for fork, exit_ in way), " and ") for way in when]
    return joined(ways, "; or when ")


def _condition(procedure: Procedure, fork: str, exit_: str) -> Line:
    node = procedure.nodes.get(fork)
    if isinstance(node, DecisionNode):
        return exit_said(node, exit_)
    who = "a person" if isinstance(node, HumanNode) else "a model"
    return (f"{who} chooses ", Data(exit_), " at ", Data(fork))


def repeat_said(node: ToolNode) -> Line:
    """How often a step is made; empty for once."""
    repeat = node.repeat
    if repeat is None:
        return ()
    most = f", {repeat.most:,} times at most"
    if repeat.kind == "each":
        return ("once for each ", Data(repeat.path), most)
    if repeat.kind == "until":
        return _polled(repeat, most)
    if repeat.kind == "cursor":
        return (Data(repeat.path), f": page after page, as long as the one before names a next one{most}")
    start = values(repeat.start) if repeat.start else ("the start",)
    return (Data(repeat.path), ": page after page, from ", *start, f" on in steps of {repeat.step}{most}")


def _polled(repeat: Repeat, most: str) -> Line:
    goes_on = (", goes on at ", *values(repeat.goes_on)) if repeat.goes_on else ()
    return (
        "again until ",
        Data(repeat.watch),
        " is ",
        *values(repeat.ends),
        *goes_on,
        ", stops at anything else",
        most,
    )

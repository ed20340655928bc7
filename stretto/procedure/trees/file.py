"""The file of a tree procedure, ``stretto_procedure: 1``: one JSON object as the original writes it, read strictly.

A file that the original wrote is written back as it was, byte for byte, as long as it names every field. Reading from
the disk is `stretto.procedure.file.read_any`'s, which gives either kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from stretto._defaults import TREE_DEEPEST, TREE_MAX_CALLS
from stretto.contents import field_path
from stretto.errors import ProcedureError
from stretto.forms import Form, first_fault
from stretto.procedure.trees.actions import read_action
from stretto.procedure.trees.model import STOP, VERSION, Check, Leaf, Provenance, Split, TreeProcedure
from stretto.procedure.trees.symbols import spaced
from waggle import files, jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.procedure.trees.model import Node
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["checks_from_json", "dump_trees", "trees_from_json", "trees_to_json", "write_trees"]

_INDENT: Final = 1
_LARGEST: Final = 2**53  # the largest whole number that every reader of JSON keeps exact

_Count = Annotated[int, Field(ge=0, le=_LARGEST)]
_Text = Annotated[str, Field(min_length=1)]


class ProvenanceForm(Form):
    """Where a procedure comes from."""

    sources: list[str] = Field(default_factory=list)
    training_tasks: _Count = 0


class CheckForm(Form):
    """How an outcome is looked at."""

    phrase: _Text
    probe: _Text
    contains: list[str] = Field(default_factory=list)
    lacks: list[str] = Field(default_factory=list)


class TreesForm(Form):
    """The file, but for the nodes of trees, which are read by hand: they may be deeper than a form can be."""

    stretto_procedure: Literal[1]
    domain: str
    provenance: ProvenanceForm = ProvenanceForm()
    symbolic: bool = False
    max_calls: Annotated[int, Field(ge=1, le=_LARGEST)] = TREE_MAX_CALLS
    stop: _Text = STOP
    handoff: str | None = None
    handoff_arguments: dict[str, Any] | None = None
    reads: list[_Text] = Field(default_factory=list)
    vocab: list[_Text] = Field(default_factory=list)
    trees: dict[str, Any]
    fallback: Any
    checks: list[CheckForm] = Field(default_factory=list)


class _Fault(Exception):
    def __init__(self, at: tuple[str | int, ...], problem: str) -> None:
        super().__init__(at, problem)
        self.at = at
        self.problem = problem


def trees_from_json(value: JsonValue, path: str = "") -> TreeProcedure:
    """A tree procedure from its JSON value.

    Args:
        value: the file's content.
        path: the file, named in errors.

    Raises:
        ProcedureError: a field is missing, unknown or not what it should be, a tree is too deep or has an action that
            is none, or a check would call a tool that changes something; it names the JSON path.
    """
    try:
        return _procedure(TreesForm.model_validate(value))
    except ValidationError as error:
        raise ProcedureError(path, *first_fault(error, value)) from None
    except _Fault as fault:
        raise ProcedureError(path, field_path(fault.at), fault.problem) from None


def _procedure(form: TreesForm) -> TreeProcedure:
    reader = _Nodes(form.stop, symbolic=form.symbolic)
    for number, check in enumerate(form.checks):
        if check.probe not in form.reads:
            raise _Fault(("checks", number, "probe"), f"{check.probe} is not among reads, and a check changes nothing")
    if form.handoff_arguments and not form.handoff:
        raise _Fault(("handoff_arguments",), "there is no handoff that takes them")
    try:
        spaced(form.handoff_arguments)
    except ValueError as error:
        raise _Fault(("handoff_arguments",), str(error)) from None
    return TreeProcedure(
        form.domain,
        Provenance(tuple(form.provenance.sources), form.provenance.training_tasks),
        form.symbolic,
        {site: reader.node(tree, ("trees", site)) for site, tree in form.trees.items()},
        reader.node(form.fallback, ("fallback",)),
        tuple(form.reads),
        tuple(form.vocab),
        tuple(map(_check, form.checks)),
        form.handoff or "",
        form.handoff_arguments or {},
        form.max_calls,
        form.stop,
    )


def checks_from_json(value: JsonValue, path: str = "") -> tuple[Check, ...]:
    """Checks of outcomes from a list, as a tree procedure has it in ``checks``; raises as `trees_from_json`."""
    try:
        return tuple(map(_check, TypeAdapter(list[CheckForm]).validate_python(value)))
    except ValidationError as error:
        raise ProcedureError(path, *first_fault(error, value)) from None


def _check(form: CheckForm) -> Check:
    return Check(form.phrase, form.probe, tuple(form.contains), tuple(form.lacks))


class _Nodes:
    def __init__(self, stop: str, *, symbolic: bool) -> None:
        self._stop = stop
        self._symbolic = symbolic

    def node(self, value: JsonValue, at: tuple[str | int, ...], depth: int = 0) -> Node:
        if depth > TREE_DEEPEST:
            raise _Fault(at, f"a tree is at most {TREE_DEEPEST} questions deep")
        if not isinstance(value, dict):
            raise _Fault(at, "expected an object")
        names = ("calls",) if "calls" in value else ("feature", "yes", "no")
        if unknown := sorted(set(value) - set(names)):
            raise _Fault((*at, unknown[0]), f"unknown field; a node has feature, yes and no, or calls; here {names[0]}")
        if missing := [name for name in names if name not in value]:
            raise _Fault((*at, missing[0]), "missing; a node has feature, yes and no, or calls")
        if "calls" in value:
            return self._leaf(value["calls"], (*at, "calls"))
        feature = value["feature"]
        if not isinstance(feature, str):
            raise _Fault((*at, "feature"), "expected a text")
        return Split(
            feature,
            self.node(value["yes"], (*at, "yes"), depth + 1),
            self.node(value["no"], (*at, "no"), depth + 1),
        )

    def _leaf(self, value: JsonValue, at: tuple[str | int, ...]) -> Leaf:
        if not isinstance(value, list):
            raise _Fault(at, "expected a list")
        return Leaf(tuple(self._action(each, (*at, number)) for number, each in enumerate(value)))

    def _action(self, value: JsonValue, at: tuple[str | int, ...]) -> tuple[str, int]:
        match value:
            case [str() as text, int() as count] if not isinstance(count, bool) and 0 <= count <= _LARGEST:
                if text != self._stop:
                    try:
                        read_action(text, symbolic=self._symbolic)
                    except ValueError as error:
                        raise _Fault((*at, 0), str(error)) from None
                return text, count
            case _:
                raise _Fault(at, "expected an action and how often it was taken")


def trees_to_json(procedure: TreeProcedure) -> JsonObject:
    """A tree procedure as its file holds it: every field, in the original's order; sites sorted."""
    return {
        "stretto_procedure": VERSION,
        "domain": procedure.domain,
        "provenance": {
            "sources": list(procedure.provenance.sources),
            "training_tasks": procedure.provenance.training_tasks,
        },
        "symbolic": procedure.symbolic,
        "max_calls": procedure.max_calls,
        "stop": procedure.stop,
        "handoff": procedure.handoff or None,
        "handoff_arguments": dict(procedure.handoff_arguments),
        "reads": list(procedure.reads),
        "vocab": list(procedure.vocab),
        "trees": {site: _node_to_json(tree) for site, tree in sorted(procedure.trees.items())},
        "fallback": _node_to_json(procedure.fallback),
        "checks": [
            {"phrase": each.phrase, "probe": each.probe, "contains": list(each.contains), "lacks": list(each.lacks)}
            for each in procedure.checks
        ],
    }


def _node_to_json(node: Node) -> JsonObject:
    if isinstance(node, Split):
        return {"feature": node.feature, "yes": _node_to_json(node.yes), "no": _node_to_json(node.no)}
    return {"calls": [[action, count] for action, count in node.calls]}


def dump_trees(procedure: TreeProcedure) -> bytes:
    """The file of a tree procedure; the same procedure gives the same bytes."""
    return jsonvalue.pretty(trees_to_json(procedure), indent=_INDENT).encode()


def write_trees(path: Path, procedure: TreeProcedure) -> None:
    """Write a tree procedure's file, whole or not at all.

    Raises:
        StoreUnavailable: the disk does not take it.
    """
    files.replace(path, dump_trees(procedure))

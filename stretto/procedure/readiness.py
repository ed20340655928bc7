"""Whether a procedure may be started: what is asked before its first step. Pure.

Inputs are checked against what the procedure declares; tools against their contracts, so that a procedure that was
compiled for another server stops before it has done anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.procedure.contracts import changed_parts, contract_key
from stretto.procedure.graph import Contract, HumanNode, Secret, ToolNode
from stretto.procedure.shapes import fits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from stretto.procedure.graph import Contract, InputSpec, Procedure
    from waggle.jsonvalue import JsonValue

__all__ = ["input_faults", "missing_inputs", "not_ready", "stale"]


def not_ready(
    procedure: Procedure,
    inputs: Mapping[str, JsonValue],
    *,
    has_secret: Callable[[str], bool],
    person: bool,
    contracts: Mapping[str, Contract] | None = None,
    scope: Mapping[str, str] | None = None,
) -> list[str]:
    """Why a procedure may not be started with these inputs; empty when it may.

    Args:
        procedure: it.
        inputs: by name.
        has_secret: whether a secret of a name is there.
        person: whether a person can be asked.
        contracts: of the tools that are there now, by ``server/tool``; None where they are not known.
        scope: for whom the run is, by kind; a procedure with values that hold for one tenant alone runs for no other.
    """
    found = [*_of_inputs(procedure, inputs), *_of_scope(procedure, scope or {})]
    secrets = {
        binding.value.secret
        for _, node in procedure.tools()
        for binding in node.args.values()
        if isinstance(binding.value, Secret)
    }
    found += [f"secret {name} is not there" for name in sorted(secrets) if not has_secret(name)]
    if not person and any(isinstance(node, HumanNode) for node in procedure.nodes.values()):
        found.append("it asks a person, and there is nobody to ask")
    if contracts is not None:
        found += stale(procedure, contracts)
    return found


def _of_scope(procedure: Procedure, scope: Mapping[str, str]) -> Iterator[str]:
    for kind, name in sorted(procedure.scope.items()):
        if kind not in scope:
            yield f"it is for {kind} {name} alone, and it is not said which {kind} this is for"
        elif scope[kind] != name:
            yield f"it is for {kind} {name} alone, and this is for {kind} {scope[kind]}"


def missing_inputs(procedure: Procedure, inputs: Mapping[str, JsonValue]) -> list[str]:
    """The names of the inputs that have to be given and are not, sorted."""
    return sorted(name for name, spec in procedure.inputs.items() if name not in inputs and not spec.optional)


def _of_inputs(procedure: Procedure, inputs: Mapping[str, JsonValue]) -> Iterator[str]:
    for name in missing_inputs(procedure, inputs):
        yield f"input {name} is missing"
    for name, value in sorted(inputs.items()):
        yield from input_faults(name, value, procedure.inputs)


def input_faults(name: str, value: JsonValue, inputs: Mapping[str, InputSpec]) -> Iterator[str]:
    """Why a value cannot be that of an input; nothing when it can."""
    spec = inputs.get(name)
    if spec is None:
        yield f"there is no input {name}; there are: {', '.join(sorted(inputs)) or 'none'}"
    else:
        yield from _of_input(name, value, spec)


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _of_input(name: str, value: JsonValue, spec: InputSpec) -> Iterator[str]:
    if spec.many and not isinstance(value, list):
        yield f"input {name} has to be a list"
        return
    for each in value if spec.many and isinstance(value, list) else [value]:
        is_flag = isinstance(each, bool) and spec.type != "boolean"
        if is_flag or not isinstance(each, _TYPES[spec.type]):
            yield f"input {name} has to be of type {spec.type}"
        elif not fits(each, spec.pattern):
            yield f"input {name} does not look like the {spec.pattern} that it always was"


def stale(procedure: Procedure, contracts: Mapping[str, Contract]) -> list[str]:
    """How the tools of a procedure differ from what they were; empty when they do not, as far as that was known.

    Args:
        procedure: it.
        contracts: of the tools that are there now, by ``server/tool``.
    """
    found = []
    used = {contract_key(node.server, node.tool) for node in procedure.nodes.values() if isinstance(node, ToolNode)}
    for name in sorted(used):
        now, then = contracts.get(name), procedure.contracts.get(name)
        if now is None:
            found.append(f"tool {name.removeprefix('/')} is not there")
        elif then is not None:
            changed = changed_parts(then, now)
            if changed:
                found.append(f"tool {name.removeprefix('/')} has changed since: its {' and '.join(changed)}")
    return found

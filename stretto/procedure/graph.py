"""The procedure: a typed graph of calls, decisions and questions, as it stands in its file, field by field.

Strict: what is not named here is an error, and no value is turned into another type. Values are data: none is ever
evaluated, put into a text twice, or used as a path on a disk. Not responsible for how fields fit together
(`stretto.procedure.checks`), nor for running (`stretto.procedure.engine`).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from stretto.forms import Form

__all__ = [
    "VERSION",
    "AdviserNote",
    "Binding",
    "Compiled",
    "Constant",
    "Contract",
    "Copied",
    "DecisionNode",
    "Doubt",
    "Edge",
    "Equal",
    "EvidenceNote",
    "FromNode",
    "HumanNode",
    "Injected",
    "InjectedValue",
    "Input",
    "InputSpec",
    "ModelNode",
    "Node",
    "Output",
    "Procedure",
    "Question",
    "Refresh",
    "Repeat",
    "Secret",
    "Select",
    "Source",
    "ToolNode",
    "TransformNode",
    "Way",
]

#: The number of this form in ``stretto_procedure``; 1 is the tree form of the original (`stretto.procedure.trees`).
VERSION: Final = 2

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class InputSpec(Form):
    """What is asked of whoever starts the procedure.

    Attributes:
        type: of the value, as JSON Schema names it.
        many: whether it is a list of such values, one a call of a step that goes over it.
        pattern: name of the shape that all values had (`stretto.procedure.shapes`); empty for none.
        optional: whether it may be left out.
    """

    type: Literal["string", "integer", "number", "boolean", "array", "object", "null"]
    many: bool = False
    pattern: str = ""
    optional: bool = False


class Equal(Form):
    """What a field of the chosen element is equal to; one of the three is given."""

    input: str | None = None
    constant: list[Any] | None = None
    argument: tuple[str, str] | None = Field(default=None, strict=False)


class Select(Form):
    """Which element of a list is taken; see `stretto.compiler.binding.SelectionKind`."""

    kind: Literal["where", "only", "each", "first", "last"]
    field: str = "$"
    equal: Equal | None = None


class Source(Form):
    """A place in the output of an earlier step: its node, a path, and which element where the path has ``[*]``."""

    node: Name
    path: str
    select: Select | None = None


class Constant(Form):
    """A value that never changes."""

    kind: Literal["constant"] = "constant"
    value: Any = None


class Secret(Form):
    """A value that is looked up by its name when the procedure runs, and stands nowhere."""

    kind: Literal["secret"] = "secret"
    secret: Name


class Injected(Form):
    """A value that was fixed when the procedure was compiled; see `InjectedValue`."""

    kind: Literal["injected"] = "injected"
    injected: Name


class Input(Form):
    """A value that whoever starts the procedure gives; each of them, where the step goes over a list of them."""

    kind: Literal["input"] = "input"
    input: Name


class Copied(Form):
    """A value of an earlier output; of several, which have to agree."""

    kind: Literal["copy"] = "copy"
    sources: Annotated[list[Source], Field(min_length=1)]


class FromNode(Form):
    """What a transform made, or a person or a model answered."""

    kind: Literal["node"] = "node"
    node: Name


class Binding(Form):
    """Where one argument comes from.

    Attributes:
        value: where from.
        optional: whether the argument is left out where its source is absent.
        support: traces in which the argument was there.
        basis: what the edge behind it rests on; empty for none.
    """

    value: Annotated[Constant | Secret | Injected | Input | Copied | FromNode, Field(discriminator="kind")]
    optional: bool = False
    support: Count = 0
    basis: str = ""


class Repeat(Form):
    """How a step is made several times; see `stretto.compiler.binding.RepeatKind`."""

    kind: Literal["each", "page", "cursor", "until"]
    path: str = ""
    start: list[Any] = Field(default_factory=list)
    step: int = 0
    cursor: str = ""
    watch: str = ""
    ends: list[Any] = Field(default_factory=list)
    goes_on: list[Any] = Field(default_factory=list)
    most: Annotated[int, Field(ge=1)] = 1000


#: Exits of decisions, all of which have to be taken: pairs of a decision's node and an exit.
Way = list[Annotated[tuple[str, str], Field(strict=False)]]


class Placed(Form):
    """What all nodes have in common.

    Attributes:
        layer: nodes of one layer that only read may run side by side; layers run in order.
        when: ways that lead to it, any of which does; empty for a node that is always reached.
    """

    layer: Count
    when: list[Way] = Field(default_factory=list)


class ToolNode(Placed):
    """One call, or one repeated call.

    Attributes:
        app: canonical name of the application.
        action: canonical name of what is called.
        tool: the tool's name at its server.
        server: the server's name; empty where there is one.
        effect: see `stretto.compiler.model.Effect`.
        args: by exact path.
        repeat: how it is made several times.
    """

    type: Literal["tool"] = "tool"
    app: Name
    action: Name
    tool: Name
    server: str = ""
    effect: Literal["read", "auth", "write", "irreversible", "unknown"]
    args: dict[str, Binding] = Field(default_factory=dict)
    repeat: Repeat | None = None


class TransformNode(Placed):
    """One registered pure function of one value; see `stretto.procedure.transforms`."""

    type: Literal["transform"] = "transform"
    name: Name
    version: Count = 1
    of: Annotated[Source | Input, Field(union_mode="left_to_right")]
    before: str = ""
    after: str = ""


class DecisionNode(Placed):
    """Picks an exit by a guard; a value that no exit has was never seen, and stops the run.

    Attributes:
        predicate: what is looked at.
        of: where.
        exits: the values seen at each exit; for ``interval``, the smallest and the largest.
        seen: traces that took each exit.
    """

    type: Literal["decision"] = "decision"
    predicate: Literal["count", "present", "equals", "interval"]
    of: Annotated[Source | Input, Field(union_mode="left_to_right")]
    exits: dict[str, list[Any]]
    seen: dict[str, Count] = Field(default_factory=dict)


class Question(Placed):
    """A question that has to be answered before the run goes on.

    Attributes:
        asks: the question, for people.
        about: node of the step that waits for it.
        path: of the argument that the answer fills; empty where the answer is yes or no.
        exits: names of the ways of which one is chosen; empty where the question is about an argument.
        candidates: values of which one is the answer.
        choices: a list of which one is the answer.
        shows: what whoever answers may see.
        answer: JSON type of an answer that is not among candidates; empty where it has to be one of them.
    """

    asks: str
    about: str
    path: str = ""
    exits: list[str] = Field(default_factory=list)
    candidates: list[Any] = Field(default_factory=list)
    choices: Source | None = None
    shows: list[Source] = Field(default_factory=list)
    answer: str = ""


class HumanNode(Question):
    """A question for a person; without one, the run stops.

    Attributes:
        code: why a person is asked, see `stretto.compiler.abstain.Code`.
        deadline_s: seconds until the run stops without an answer; 0 for none.
    """

    type: Literal["human"] = "human"
    code: str = ""
    deadline_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0


class ModelNode(Question):
    """A closed question for a model, which sees what is shown and gets no tools; without one, the run stops."""

    type: Literal["llm"] = "llm"


Node = Annotated[ToolNode | TransformNode | DecisionNode | HumanNode | ModelNode, Field(discriminator="type")]


class Edge(Form):
    """Why one node comes before another.

    Attributes:
        first: the node that comes first.
        then: the other.
        kind: ``data``: a value; ``effect``: what one changes the other may see; ``asks``: its answer is waited for.
        verdict: of a value's edge, see `stretto.compiler.evidence.Verdict`.
        evidence: numbers of the notes that speak for it.
        implied: whether others imply it, so that it is kept for its evidence alone.
        arbitrary: whether traces disagreed on the order.
    """

    first: Name
    then: Name
    kind: Literal["data", "effect", "asks"]
    verdict: Literal["strong", "conditional", "suspected", ""] = ""
    evidence: list[Count] = Field(default_factory=list)
    implied: bool = False
    arbitrary: bool = False


class EvidenceNote(Form):
    """Why an argument is said to come from a call, in one trace; see `stretto.compiler.evidence.Evidence`.

    Attributes:
        trace: number of the trace in `Compiled.traces`.
        argument: exact path in the consumer's arguments.
        place: exact path in the producer's output.
        match: ``exact``, or a transform's name.
        basis: what the verdict rests on.
        value: type and length of the value, without the value.
        looked_at: for each other origin, how many texts, fields or calls were searched.
        found: what spoke against it.
    """

    trace: Count
    argument: str
    place: str
    match: str
    basis: str
    value: str
    looked_at: dict[str, Count] = Field(default_factory=dict)
    found: list[str] = Field(default_factory=list)


class Contract(Form):
    """What a tool was when the procedure was compiled: digests of schemas and annotations; empty where not known."""

    input: str = ""
    output: str = ""
    annotations: str = ""


class Refresh(Form):
    """The read that yields an injected value anew.

    Attributes:
        tool: its name at its server.
        server: the server's name; empty where there is one.
        args: its arguments, always these.
    """

    tool: Name
    server: str = ""
    args: dict[str, Any] = Field(default_factory=dict)


class InjectedValue(Form):
    """A stable value that was fixed when the procedure was compiled, so that what finds it is not called.

    Attributes:
        value: it.
        tool: what it came from, as ``server/tool``.
        path: exact path in that tool's output.
        contract: what that tool was.
        observed: when it was last seen in a trace, ISO 8601 in UTC; empty where that is not known, and it is never
            used as it is.
        days: how long it may be used after that.
        refresh: how it is read anew; None where it cannot be, so that a run that would need it is handed back.
    """

    value: Any
    tool: Name
    path: str
    contract: Contract = Field(default_factory=Contract)
    observed: str = ""
    days: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    refresh: Refresh | None = None


class Branch(Form):
    """One set of steps that traces took."""

    steps: list[Name]
    traces: Count


class Doubt(Form):
    """Why an adviser doubts that one step needs what another gives, so that the edge is only suspected."""

    first: Name
    then: Name
    says: str


class AdviserNote(Form):
    """Whom the compiler asked for proposals, and what of it stood. For people: its texts are data.

    Attributes:
        name: of the adviser.
        version: of it.
        title: what it calls the procedure; empty for nothing.
        proposed: guards and transforms that it proposed, in words.
        doubts: sorted.
    """

    name: Name
    version: Name
    title: str = ""
    proposed: list[str] = Field(default_factory=list)
    doubts: list[Doubt] = Field(default_factory=list)


class Compiled(Form):
    """Where a procedure comes from.

    Attributes:
        version: of the compiler.
        embedder: that found the cluster.
        traces: digests of the traces' ids.
        agents: what agents recorded them.
        support: distinct traces.
        since: when the first of them began, ISO 8601 in UTC; empty where it is not known of all.
        until: when the last of them began.
        calls: calls in the traces, by label.
        branches: the sets of steps, the most frequent first.
        unseen: estimated chance that the next run takes a way that nobody has seen (Good and Turing): the share of
            the ways that were seen once.
        warnings: for people.
        settings: the compiler's.
        adviser: whom the compiler asked; None where nobody was, and then it is not in the file.
    """

    version: str
    embedder: str = ""
    traces: list[str] = Field(default_factory=list)
    agents: list[str] = Field(default_factory=list)
    support: Count = 0
    since: str = ""
    until: str = ""
    calls: dict[str, Count] = Field(default_factory=dict)
    branches: list[Branch] = Field(default_factory=list)
    unseen: Share = 1.0
    warnings: list[str] = Field(default_factory=list)
    settings: dict[str, Any] = Field(default_factory=dict)
    adviser: AdviserNote | None = None


class Output(Form):
    """A value that the traces' answers used."""

    name: Name
    source: Source


class Procedure(Form):
    """A compiled procedure.

    Attributes:
        stretto_procedure: `VERSION`.
        name: of it.
        summary: what it does, for people.
        parent: digest of the one that it takes the place of; empty for none.
        scope: for whom its injected values hold, by kind: ``user``, ``tenant``, ``project``.
        inputs: by name.
        injected: stable values that were fixed when it was compiled, by name.
        outputs: what it gives.
        nodes: by their names: a step's key for a tool.
        edges: why which comes first.
        evidence: what edges rest on.
        contracts: of the tools, by ``server/tool``.
        forbidden_at_runtime: tools, by ``server/tool``, that are never called, since their values are fixed.
        compiled: where it comes from.
        digest: of all the rest.
    """

    stretto_procedure: Literal[2] = VERSION
    name: Name
    summary: str = ""
    parent: str = ""
    scope: dict[Name, Name] = Field(default_factory=dict)
    inputs: dict[str, InputSpec] = Field(default_factory=dict)
    injected: dict[Name, InjectedValue] = Field(default_factory=dict)
    outputs: list[Output] = Field(default_factory=list)
    nodes: dict[str, Node] = Field(default_factory=dict)
    edges: list[Edge] = Field(default_factory=list)
    evidence: list[EvidenceNote] = Field(default_factory=list)
    contracts: dict[str, Contract] = Field(default_factory=dict)
    forbidden_at_runtime: list[str] = Field(default_factory=list)
    compiled: Compiled
    digest: str = ""

    def tools(self) -> list[tuple[str, ToolNode]]:
        """The nodes that call a tool, with their names, in order."""
        found = [(name, node) for name, node in self.nodes.items() if isinstance(node, ToolNode)]
        return sorted(found, key=lambda each: (each[1].layer, each[0]))

    def changes(self) -> bool:
        """Whether any step changes anything, as far as is known."""
        return any(node.effect not in ("read", "auth") for _, node in self.tools())

"""What a new version of a procedure may do that the old one could not comes first, and is to be reviewed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.procedure import graph
from stretto.procedure.file import read_any
from stretto.procedure.trees.model import Check, Leaf, TreeProcedure
from stretto.review.document import as_markdown
from stretto.review.procedure_changes import ProcedureDiff, changes_json, changes_page
from stretto.review.procedure_diff import diff_procedures
from stretto.review.procedure_shown import text_of
from stretto.review.trees_diff import diff_trees
from tests.conftest import ROOT
from tests.stretto.review.procedures_support import hostile, looked_up, refund, with_argument, with_node, without

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = graph.Source(node="shop.get_order#0", path="$.id")
ASK = "mail.send_template#0.template ?"


def kinds(compared: ProcedureDiff, *, review: bool = True) -> set[str]:
    return {change.kind for change in compared.changes if change.review is review}


def said(compared: ProcedureDiff) -> str:
    return "\n".join(text_of(change.said) for change in compared.changes)


def compiled(**more: Any) -> graph.Procedure:
    return refund().model_copy(update={"compiled": refund().compiled.model_copy(update=more)})


def added(procedure: graph.Procedure, name: str, **more: Any) -> graph.Procedure:
    node: dict[str, Any] = {"layer": 9, "app": "x", "action": "y", "tool": "x.y", "effect": "read", **more}
    return procedure.model_copy(update={"nodes": {**procedure.nodes, name: graph.ToolNode(**node)}})


def asking(**more: Any) -> graph.Procedure:
    return with_node(looked_up(), ASK, **more)


REFUND = "shop.refund#0"

#: What changed, the old and the new version, and the kind of change; each is to be reviewed.
CASES: list[tuple[str, Callable[[], tuple[graph.Procedure, graph.Procedure]], str, str]] = [
    (
        "a new tool",
        lambda: (refund(), added(refund(), "x.y#0")),
        "step_added",
        "calls a tool that was not called before",
    ),
    ("a known tool once more", lambda: (refund(), added(refund(), "x#1", tool="shop.login")), "step_added", "is new"),
    (
        "another effect",
        lambda: (refund(), with_node(refund(), REFUND, effect="write")),
        "effect",
        "effect irreversible -> write",
    ),
    ("another tool", lambda: (refund(), with_node(refund(), REFUND, tool="pay")), "tool", "/shop.refund -> /pay"),
    (
        "another source",
        lambda: (refund(), with_argument(refund(), REFUND, "$.amount", graph.Copied(sources=[SOURCE]))),
        "source",
        "$.total of shop.get_order#0 -> $.id of shop.get_order#0",
    ),
    (
        "another argument",
        lambda: (refund(), with_argument(refund(), REFUND, "$.force", graph.Input(input="to"))),
        "argument_added",
        "$.force: input to (new)",
    ),
    (
        "another constant",
        lambda: (
            refund(),
            with_argument(refund(), "mail.send_template#0", "$.template", graph.Constant(value="refund_no")),
        ),
        "constant",
        'always "refund_ok" -> always "refund_no"',
    ),
    (
        "a long constant that ends otherwise",
        lambda: (
            with_argument(refund(), REFUND, "$.note", graph.Constant(value="x" * 300)),
            with_argument(refund(), REFUND, "$.note", graph.Constant(value="x" * 299 + "y")),
        ),
        "constant",
        "(another)",
    ),
    (
        "another secret of a read",
        lambda: (refund(), with_argument(refund(), "shop.login#0", "$.password", graph.Secret(secret="root"))),  # noqa: S106 - a name
        "constant",
        "secret root",
    ),
    ("a question less", lambda: (looked_up(), without(looked_up(), ASK)), "question_lost", "is no longer asked"),
    (
        "an answer more",
        lambda: (looked_up(), asking(candidates=["not_found", "sorry"])),
        "answers",
        "answered otherwise",
    ),
    ("any answer", lambda: (looked_up(), asking(candidates=[], answer="string")), "answers", "answered otherwise"),
    (
        "a guard less",
        lambda: (looked_up(), with_node(looked_up(), "mail.send_template#0", when=[])),
        "guard_lost",
        "is now always made; before when $.matches of crm.search#0 has no element",
    ),
    (
        "another way to a step",
        lambda: (
            looked_up(),
            with_node(
                looked_up(),
                "mail.send_template#0",
                when=[[("fork1", "mail.send_template#0")], [("fork1", "shop.list_orders#0")]],
            ),
        ),
        "guard",
        "or when",
    ),
    (
        "a wider exit",
        lambda: (
            looked_up(),
            with_node(looked_up(), "fork1", exits={"mail.send_template#0": ["0", "many"], "shop.list_orders#0": ["1"]}),
        ),
        "exit",
        '"many"',
    ),
    (
        "more repeats",
        lambda: (refund(), with_node(refund(), REFUND, repeat=graph.Repeat(kind="each", path="$.amount"))),
        "repeat",
        "once -> once for each $.amount",
    ),
    (
        "another order",
        lambda: (refund(), with_node(with_node(refund(), REFUND, layer=3), "mail.send_template#0", layer=2)),
        "order",
        "mail.send_template#0 now comes before shop.refund#0",
    ),
    (
        "a tool that was forbidden",
        lambda: (refund().model_copy(update={"forbidden_at_runtime": ["/x"]}), refund()),
        "allowed",
        "/x may be called now",
    ),
    (
        "a contract less",
        lambda: (refund().model_copy(update={"contracts": {"/shop.refund": graph.Contract(input="1")}}), refund()),
        "contract_lost",
        "no longer known",
    ),
    (
        "a looser input",
        lambda: (
            refund(),
            refund().model_copy(update={"inputs": {**refund().inputs, "to": graph.InputSpec(type="string")}}),
        ),
        "input",
        "string like email -> string",
    ),
    ("a lower floor", lambda: (refund(), compiled(settings={"router_floor": 0.5})), "setting", "0.8 -> 0.5"),
    (
        "a model that may decide",
        lambda: (refund(), compiled(settings={"allow_model_on_irreversible": True})),
        "setting",
        "false -> true",
    ),
]


@pytest.mark.parametrize(("versions", "kind", "text"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_the_new_one_may_do_that_the_old_one_could_not_is_to_be_reviewed(
    versions: Callable[[], tuple[graph.Procedure, graph.Procedure]], kind: str, text: str
) -> None:
    compared = diff_procedures(*versions())
    assert kind in kinds(compared)
    assert text in said(compared)
    assert compared.needs_review


def test_the_other_direction_of_what_lets_less_through_needs_no_review() -> None:
    assert not diff_procedures(added(refund(), "x.y#0"), refund()).needs_review
    assert not diff_procedures(asking(candidates=["not_found", "sorry"]), looked_up()).needs_review
    assert not diff_procedures(compiled(settings={"router_floor": 0.5}), refund()).needs_review
    assert not diff_procedures(with_node(looked_up(), "mail.send_template#0", when=[]), looked_up()).needs_review
    forbidden = refund().model_copy(update={"forbidden_at_runtime": ["/x"]})
    assert kinds(diff_procedures(refund(), forbidden), review=False) == {"forbidden"}
    assert not diff_procedures(refund(), forbidden).needs_review


def test_a_question_that_a_model_answers_instead_of_a_person_is_to_be_reviewed() -> None:
    node = looked_up().nodes[ASK]
    assert isinstance(node, graph.HumanNode)
    plain = {name: value for name, value in node.model_dump().items() if name not in ("type", "code", "deadline_s")}
    nodes = {**looked_up().nodes, ASK: graph.ModelNode(**plain)}
    compared = diff_procedures(looked_up(), looked_up().model_copy(update={"nodes": nodes}))
    assert "asks" in kinds(compared)


def test_a_decision_is_the_same_whatever_its_number() -> None:
    renamed = {}
    for name, node in looked_up().nodes.items():
        when = [[("fork7", exit_) for _, exit_ in way] for way in node.when]
        renamed["fork7" if name == "fork1" else name] = node.model_copy(update={"when": when})
    assert diff_procedures(looked_up(), looked_up().model_copy(update={"nodes": renamed})).changes == ()


def test_more_support_is_told_and_needs_no_review() -> None:
    compared = diff_procedures(refund(), compiled(support=9, unseen=0.1, warnings=["old agents"]))
    assert kinds(compared, review=False) == {"support", "unseen", "warning"}
    assert as_markdown(changes_page(compared)).startswith(
        "# Changes of procedure `refund`\n\nNothing to review, 3 changes.\n\n## Other changes\n"
    )


def test_what_is_to_be_reviewed_stands_first() -> None:
    new = added(compiled(support=9), "x.y#0")
    compared = diff_procedures(refund(), new)
    page = as_markdown(changes_page(compared))
    assert "**1 change to review**, 1 other." in page
    assert page.index("## To review") < page.index("calls a tool") < page.index("## Other changes")
    told = changes_json(compared)
    assert told["needs_review"] is True


@pytest.mark.parametrize("procedure", [refund, looked_up, lambda: hostile("\n# x`|")])
def test_a_procedure_differs_from_itself_in_nothing(procedure: Callable[[], graph.Procedure]) -> None:
    compared = diff_procedures(procedure(), procedure().model_copy(update={"digest": "x"}))
    assert compared.changes == ()
    assert "Nothing changed." in as_markdown(changes_page(compared))


@given(st.sampled_from(["`", "\n# x", "|", "\x1b[31m", "<!--", "\u202e"]))
def test_texts_of_the_data_end_nothing_on_the_page_of_changes(text: str) -> None:
    page = as_markdown(changes_page(diff_procedures(refund(), hostile(text))))
    plain = as_markdown(changes_page(diff_procedures(refund(), hostile("x"))))
    assert len(page.split("\n")) == len(plain.split("\n"))
    assert all(line.replace("\u200b", "").isprintable() for line in page.split("\n"))


# --- trees ------------------------------------------------------------------------------------------------------------


def trees() -> TreeProcedure:
    given_ = read_any(ROOT / "tests" / "stretto" / "data" / "telecom.excerpt.procedure.json")
    assert isinstance(given_, TreeProcedure)
    return given_


TREES: list[tuple[str, Callable[[TreeProcedure], TreeProcedure], str]] = [
    ("a tool", lambda old: replace(old, fallback=Leaf((("delete_line", 3),))), "tool_added"),
    ("an action", lambda old: replace(old, fallback=Leaf((("get_details_by_id", 3),))), "action_added"),
    ("a read", lambda old: replace(old, reads=(*old.reads, old.handoff)), "read_added"),
    ("more calls", lambda old: replace(old, max_calls=old.max_calls + 1), "max_calls"),
    ("another handoff", lambda old: replace(old, handoff=""), "handoff"),
    ("a check less", lambda old: replace(old, checks=old.checks[1:]), "check_lost"),
]


@pytest.mark.parametrize(("change", "kind"), [case[1:] for case in TREES], ids=[case[0] for case in TREES])
def test_what_new_trees_may_do_that_the_old_could_not_is_to_be_reviewed(
    change: Callable[[TreeProcedure], TreeProcedure], kind: str
) -> None:
    old = replace(trees(), checks=(Check("mms", "can_send_mms", ("can",)), *trees().checks))
    assert kind in kinds(diff_trees(old, change(old)))
    assert diff_trees(old, old).changes == ()


def test_trees_that_do_less_need_no_review() -> None:
    less = replace(trees(), max_calls=1, fallback=Leaf(()), reads=trees().reads[1:])
    assert not diff_trees(trees(), less).needs_review
    assert kinds(diff_trees(trees(), less), review=False) >= {"max_calls", "read_gone"}

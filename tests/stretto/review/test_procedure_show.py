"""A procedure's page and drawings: what they say, and that no text of the data can do anything to them."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.cli.terminal import as_text
from stretto.procedure import graph
from stretto.procedure.file import read_any
from stretto.procedure.trees.model import TreeProcedure
from stretto.review.document import as_markdown
from stretto.review.procedure_graph import Arrow, Drawn, Shape, Vertex, drawn
from stretto.review.procedure_layout import place
from stretto.review.procedure_mermaid import mermaid
from stretto.review.procedure_page import procedure_page
from stretto.review.procedure_show import show_procedure
from stretto.review.procedure_shown import text_of
from stretto.review.procedure_svg import svg
from stretto.review.procedure_words import repeat_said
from stretto.review.trees_show import show_trees, trees_page
from tests.conftest import ROOT, Golden
from tests.stretto.review.procedures_support import hostile, looked_up, refund, with_argument, with_node

SVG = "{http://www.w3.org/2000/svg}"


def page(procedure: graph.Procedure) -> str:
    return as_markdown(procedure_page(show_procedure(procedure)))


def test_the_pages_of_two_procedures_are_as_they_were_looked_at(golden: Golden) -> None:
    golden.check("procedure-refund.md", page(refund()))
    golden.check("procedure-orders.md", page(looked_up()))


def test_the_drawing_of_a_procedure_is_as_it_was_looked_at(golden: Golden) -> None:
    golden.check("procedure-orders.svg", svg(drawn(looked_up()), "Procedure orders"))


def test_a_page_says_what_was_observed_and_never_what_is_required() -> None:
    for procedure in (refund(), looked_up()):
        assert "observed in" in page(procedure)
        assert not re.search(r"\b(required|necessary|mandatory|must)\b", page(procedure), re.IGNORECASE)
    assert "| `$.customer_id` | `$.matches[*].id` of `crm.search#0`, of the only element | observed in 4 of 6" in page(
        looked_up()
    )


def test_every_decision_says_that_anything_else_stops() -> None:
    text = page(looked_up())
    assert text.count("- else: stops") == text.count("Looks at ") == 1
    assert "has no element (observed in 2 of 6 traces): " in text
    assert 'count#59; else#58; stops"}' in text


def test_what_a_step_takes_is_said_in_words() -> None:
    source = graph.Source(node="shop.get_order#0", path="$.a")
    cases = {
        "always `5`": graph.Constant(value=5),
        "secret `k`, looked up when it runs": graph.Secret(secret="k"),  # noqa: S106 - a name
        "input `to`": graph.Input(input="to"),
        "`$.a` of `shop.get_order#0`": graph.Copied(sources=[source]),
        "`$.a` of `shop.get_order#0` and `$.b` of `shop.login#0`, which have to agree": graph.Copied(
            sources=[source, graph.Source(node="shop.login#0", path="$.b")]
        ),
        "of the one element whose `$.id` is input `to`": graph.Copied(
            sources=[
                graph.Source(
                    node="shop.get_order#0",
                    path="$.items[*].sku",
                    select=graph.Select(kind="where", field="$.id", equal=graph.Equal(input="to")),
                )
            ]
        ),
        "`lower` of input `to`": graph.FromNode(node="t"),
    }
    for said, value in cases.items():
        procedure = with_argument(refund(), "shop.refund#0", "$.amount", value)
        transform = graph.TransformNode(layer=0, name="lower", of=graph.Input(input="to"))
        assert said in page(procedure.model_copy(update={"nodes": {**procedure.nodes, "t": transform}}))


@pytest.mark.parametrize(
    ("repeat", "said"),
    [
        (graph.Repeat(kind="each", path="$.sku", most=5), "once for each $.sku, 5 times at most"),
        (
            graph.Repeat(kind="page", path="$.page", start=[1], step=1),
            "$.page: page after page, from 1 on in steps of 1",
        ),
        (graph.Repeat(kind="cursor", path="$.next"), "as long as the one before names a next one"),
        (
            graph.Repeat(kind="until", watch="$.state", ends=["done"], goes_on=["queued"]),
            'again until $.state is "done", goes on at "queued", stops at anything else',
        ),
    ],
)
def test_how_often_a_step_is_made_is_said_in_words(repeat: graph.Repeat, said: str) -> None:
    node = with_node(refund(), "shop.get_order#0", repeat=repeat).nodes["shop.get_order#0"]
    assert isinstance(node, graph.ToolNode)
    assert said in text_of(repeat_said(node))


def test_a_chance_of_something_new_that_is_too_high_is_a_warning_where_something_changes() -> None:
    risky = refund().compiled.model_copy(update={"unseen": 0.3})
    assert "above 20%: it is not routed by itself" in page(refund().model_copy(update={"compiled": risky}))
    assert "not routed by itself" not in page(refund())


def test_a_tree_procedure_has_a_page_too(golden: Golden) -> None:
    given_ = read_any(ROOT / "tests" / "stretto" / "data" / "telecom.excerpt.procedure.json")
    assert isinstance(given_, TreeProcedure)
    golden.check("procedure-trees.md", as_markdown(trees_page(show_trees(given_))))


# --- hostile texts ----------------------------------------------------------------------------------------------------

HOSTILE = [
    "`",
    "``` \n# x",
    "|",
    "\n- x",
    "<script>alert(1)</script>",
    "]]>",
    '"] --> n0["',
    "#quot;",
    "\x1b[31m",
    "\u202e",
    "\x00",
    "*x*",
    "[/red]",
    "{x}",
    "%s",
    "é漢",
    "&amp;",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_the_data_end_nothing_on_a_page(text: str) -> None:
    plain, odd = page(hostile("x")), page(hostile(text))
    heads = [line for line in plain.splitlines() if line.startswith("#")]
    assert len([line for line in odd.split("\n") if line.startswith("#")]) == len(heads)
    assert len(odd.split("\n")) == len(plain.split("\n"))
    assert odd.count("```mermaid") == 1
    for line in odd.split("\n"):
        assert line.isprintable()
        if line.startswith("|"):
            assert _cells(line) in {_cells(other) for other in plain.split("\n") if other.startswith("|")}


def _cells(line: str) -> int:
    return line.count("|")


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_the_data_end_nothing_in_mermaid(text: str) -> None:
    drawing = mermaid(drawn(hostile(text)))
    assert len(drawing.split("\n")) == len(mermaid(drawn(hostile("x"))).split("\n"))
    for line in drawing.split("\n"):
        label = re.search(r'"(.*)"', line)
        assert not label or re.fullmatch(r"(?:\w|[ .,-]|#\d+;|<br/>)*", label[1]), line


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_the_data_end_nothing_in_a_picture(text: str) -> None:
    picture = svg(drawn(hostile(text)), text)
    picture.encode()
    tree = ET.fromstring(picture)  # noqa: S314 - our own
    plain = ET.fromstring(svg(drawn(hostile("x")), "x"))  # noqa: S314 - our own
    assert [each.tag for each in tree.iter()] == [each.tag for each in plain.iter()]
    assert [sorted(each.keys()) for each in tree.iter()] == [sorted(each.keys()) for each in plain.iter()]
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_the_data_are_escaped_for_a_terminal(text: str) -> None:
    shown = as_text(procedure_page(show_procedure(hostile(text))))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\u202e]", shown)


# --- layout -----------------------------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> Drawn:
    shapes: st.SearchStrategy[Shape] = st.sampled_from(["read", "decision"])
    layers = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    vertices = [
        Vertex(f"{layer}.{number}", draw(shapes), (draw(st.text(max_size=30)), "x"), layer)
        for layer, width in enumerate(layers)
        for number in range(width)
    ]
    pairs = [(one, two) for one in vertices for two in vertices if one.layer < two.layer]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=12, unique=True)) if pairs else []
    return Drawn(tuple(vertices), tuple(Arrow(one.name, two.name, "data") for one, two in chosen))


@given(graphs())
def test_no_two_boxes_overlap_every_arrow_goes_down_and_meets_no_box_of_a_layer_between(graph_: Drawn) -> None:
    placed = place(graph_)
    assert {box.vertex.name for box in placed.boxes} == {vertex.name for vertex in graph_.vertices}
    for box in placed.boxes:
        assert box.x - box.width / 2 >= 0
        assert box.x + box.width / 2 <= placed.width
        assert box.y - box.height / 2 >= 0
        assert box.y + box.height / 2 <= placed.height
        for other in placed.boxes:
            if other is not box and other.vertex.layer == box.vertex.layer:
                assert abs(box.x - other.x) >= (box.width + other.width) / 2
    for path in placed.paths:
        heights = [y for _, y in path.points]
        assert heights == sorted(heights)
        for x, y in path.points[1:-1]:
            for box in placed.boxes:
                assert abs(x - box.x) >= box.width / 2 or abs(y - box.y) >= box.height / 2


def test_a_procedure_without_steps_can_be_drawn() -> None:
    empty = graph.Procedure(name="nothing", compiled=graph.Compiled(version="1"))
    assert "start" in svg(drawn(empty), "nothing")
    assert "It only reads" in page(empty)

"""Values that are a transform of earlier ones, and values that only the user wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.bindings.derive import derivations, derived, describe, parse
from stretto.bindings.model import Bound, Slot, Unbound
from stretto.bindings.results import Output
from stretto.bindings.spoken import shape_of, with_shape
from tests.stretto.bindings.test_binding import learned, shown
from tests.stretto.episodes import called, episode, said
from waggle import jsonvalue


@pytest.mark.parametrize(
    ("value", "arguments", "result", "expected"),
    [
        pytest.param(
            "general", {}, "- general\n- random", '$[*] |inner ["- ",""]', id="a line without what is in front"
        ),
        pytest.param("src/a.py", {}, "src/a.py:12:def f()\nsrc/b.py:1:x", "$[*] |before-colon", id="path:line:text"),
        pytest.param("a.py", {}, '{"path": "src/a.py"}', "$.path |basename", id="the last part of a path"),
        pytest.param("/d/a.txt", {"path": "/d"}, '["a.txt"]', '$[*] |join ["@.path","/","$"]', id="folder and name"),
        pytest.param("/d/a.txt", {}, '["a.txt"]', '$[*] |affix ["/d/",""]', id="a fixed folder in front"),
        pytest.param(
            "Ada Lovelace", {}, '[{"f": "Ada", "l": "Lovelace"}]', '$[*] |join [".f"," ",".l"]', id="two fields"
        ),
        pytest.param("SFO", {"origin": "SFO"}, "[]", "@.origin |copy", id="an earlier argument"),
        pytest.param(3, {"page": 2}, "[]", "@.page |plus [1]", id="the next page"),
        pytest.param(7, {}, '{"id": 7}', "$.id |copy", id="a number"),
        pytest.param("7", {}, '{"id": 7}', "$.id |to-text", id="a number as text"),
        pytest.param("www.a.com", {}, "see www.a.com!\nor not", '$[*] |shape ["link"]', id="a link in a text"),
        pytest.param("x1", {}, 'a <b href="x1">\nc', '$[*] |between ["href=\\"","\\""]', id="between two texts"),
    ],
)
def test_a_value_is_traced_to_what_it_was_made_of(
    value: object, arguments: dict[str, object], result: str, expected: str
) -> None:
    output = Output(0, "t", result, arguments)  # type: ignore[arg-type]  # JSON values, spelled in the table
    assert expected in derivations(value, output)  # type: ignore[arg-type]  # as above
    assert value in derived(expected, output)


@given(
    value=st.text("ab-/:. 12", min_size=1, max_size=8),
    arguments=st.dictionaries(st.sampled_from(["p", "q"]), st.text("ab-/1", max_size=5) | st.integers(0, 20)),
    result=st.lists(
        st.text("ab-/:. 12", max_size=12) | st.dictionaries(st.sampled_from(["x", "y"]), st.text("ab12", max_size=5))
    ),
)
def test_whatever_is_found_gives_the_value_and_survives_being_written(
    value: str, arguments: dict[str, object], result: list[object]
) -> None:
    output = Output(0, "t", jsonvalue.dumps(result).decode(), arguments)  # type: ignore[arg-type]  # JSON by construction
    for text in derivations(value, output):
        found = parse(text)
        assert found is not None
        assert str(found) == text
        assert value in derived(text, output)
        assert describe(text)


@pytest.mark.parametrize(
    "text",
    [
        "$",
        "$ |",
        "$ |nothing",
        '$ |inner ["a"]',
        "$ |inner [1,2]",
        '$ |copy ["a"]',
        "x |copy",
        '$ |plus ["1"]',
        "$ |plus [true]",
        "$ |inner [",
        '$ |inner {"a":1}',
    ],
)
def test_what_is_no_derivation_gives_nothing(text: str) -> None:
    assert parse(text) is None
    assert derived(text, Output(0, "t", "[1]")) == ()
    assert describe(text) == text


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ("ada@example.org", "email"),
        ("https://example.org/a?b=1", "link"),
        ("www.example.org", "link"),
        ("#W6619432", "#X{8}"),
        ("mia_li_3668", "a_a_9{4}"),
        ("2024-05-15", "9{4}-9{2}-9{2}"),
        ("EHGLP3", "X{6}"),
        ("general", None),
        ("abc", None),
        ("a b 1", None),
        ("1" * 200, None),
    ],
)
def test_a_shape_says_what_a_value_looks_like(value: str, shape: str | None) -> None:
    assert shape_of(value) == shape


def test_values_of_a_shape_are_found_without_the_punctuation_around_them() -> None:
    assert with_shape("Mine is (EHGLP3), not EHGLP4. EHGLP3!", "X{6}") == ["EHGLP3", "EHGLP4"]


def booked(name: str, *text: str) -> list[object]:
    return [
        said(*text),
        called("get_user", {"user": name}, {"name": name}),
        called("get_trip", {"trip": text[0][-4:]}, "fine"),
    ]


def test_a_value_that_only_the_user_wrote_is_bound_by_its_shape() -> None:
    episodes = [episode(*booked("u", f"my trip is TR{n:02}")) for n in range(4)]  # type: ignore[arg-type]  # events
    bindings, binder = learned(episodes, {"get_user", "get_trip"}, more=True)
    assert bindings.spoken[Slot("get_trip", "trip")].shapes == {"X{4}": 4}
    assert bindings.agreed_spoken["get_trip"] == ((0, 0), (4, 4))
    assert "get_trip" not in bindings.agreed
    one = binder.bind("get_trip", shown(episode(said("trip AB77, please"), called("get_user", {"user": "u"}, "x"))))
    assert isinstance(one, Bound)
    assert (one.arguments, one.chance, one.origins[0].kind) == ({"trip": "AB77"}, 5 / 6, "spoken")
    seen = shown(episode(said("trips AB77 and AB78")))
    assert isinstance(binder.bind("get_trip", seen), Unbound)
    seen.call("get_trip", {"trip": "AB77"})
    left = binder.bind("get_trip", seen)
    assert isinstance(left, Bound)
    assert left.arguments == {"trip": "AB78"}


def test_a_derived_value_is_bound_and_its_chance_is_counted_apart() -> None:
    def channels(*read: str) -> list[object]:
        return [
            called("list_channels", {}, "- general\n- random\n- news"),
            *(called("read_channel", {"channel": name}, "hello") for name in read),
        ]

    episodes = [episode(*channels("general", "random")) for _ in range(3)]  # type: ignore[arg-type]  # events
    bindings, binder = learned(episodes, {"list_channels", "read_channel"}, more=True)
    assert bindings.agreed_derived["read_channel"] == ((6, 6), (0, 0))
    found = binder.bind("read_channel", shown(episode(*channels("general"))))  # type: ignore[arg-type]  # events
    assert isinstance(found, Bound)
    assert (found.arguments, found.chance) == ({"channel": "random"}, 7 / 8)
    assert found.origins[0].kind == "derived"


def test_a_secret_is_neither_a_constant_nor_part_of_a_derivation() -> None:
    """A flow is read and passed on by people; what it says of values must not give a secret away."""
    token = "sk-lab-EXAMPLE000111.seg2_EXAMPLE-333"  # noqa: S105 - what is looked for

    def made(number: int) -> list[object]:
        key = {"api_key": token, "zone": "UTC", "path": f"{token}/f{number}"}
        return [called("list_files", {}, f"f{number}\nother"), called("get_file", key, "text")]

    episodes = [episode(*made(number)) for number in range(6)]  # type: ignore[arg-type]  # events
    bindings, _ = learned(episodes, {"list_files", "get_file"}, constants=True, more=True)
    assert bindings.constants == {Slot("get_file", "zone"): "UTC"}
    assert token not in repr(bindings.derived)

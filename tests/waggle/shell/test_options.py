"""Options are matched strictly, and what they take is told apart as the tools themselves do it."""

from __future__ import annotations

import pytest

from waggle.shell import Reason, Word
from waggle.shell.options import Arguments, Options
from waggle.shell.reasons import Refused

ROW = Options("-nvA:U? -# --color? --include= --all")


def match(*texts: str, tame: bool = False) -> Arguments:
    return ROW.match("tool", [Word(text) for text in texts], tame=tame)


def test_clusters_values_and_operands_are_told_apart() -> None:
    assert match("-nA3", "x", "-U", "-v", "-5", "--include=*.py", "--color", "y", "--", "-z") == Arguments(
        options=(
            ("-n", None),
            ("-A", Word("3")),
            ("-U", None),
            ("-v", None),
            ("-#", Word("5")),
            ("--include", Word("*.py")),
            ("--color", None),
        ),
        operands=(Word("x"), Word("y"), Word("-z")),
    )


def test_value_is_the_next_word_where_it_is_not_attached() -> None:
    found = match("-A", "3", "--include", "*.py", "x")
    assert found.values("-A", "--include") == [Word("3"), Word("*.py")]
    assert found.operands == (Word("x"),)


def test_optional_value_is_never_the_next_word() -> None:
    assert match("-U", "3").operands == (Word("3"),)
    assert match("-U3").values("-U") == [Word("3")]


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["-x"], id="unknown"),
        pytest.param(["-nx"], id="unknown-in-a-cluster"),
        pytest.param(["--al"], id="abbreviated"),
        pytest.param(["--all=1"], id="value-for-a-flag"),
        pytest.param(["-A"], id="no-value"),
        pytest.param(["-A", "-n"], id="value-like-an-option"),
        pytest.param(["x", "-x"], id="behind-an-operand"),
        pytest.param(["-\u0661"], id="digit-of-another-script"),
    ],
)
def test_anything_else_is_refused(texts: list[str]) -> None:
    with pytest.raises(Refused) as caught:
        match(*texts)
    assert caught.value.refusal.reason is Reason.OPTION


def test_first_operand_ends_the_options_of_a_tool_that_does_not_permute() -> None:
    strict = Options("-n", permute=False)
    assert strict.match("tool", [Word("-n"), Word("x"), Word("-y")]).operands == (Word("x"), Word("-y"))


@pytest.mark.parametrize(
    "word",
    [
        pytest.param(Word("*", ""), id="could-be-anything"),
        pytest.param(Word("-*", "-"), id="begins-like-an-option"),
        pytest.param(Word("--in*=x", "--in"), id="name-not-certain"),
        pytest.param(Word("--include*", "--include"), id="name-may-go-on"),
    ],
)
def test_word_that_may_become_an_option_is_refused(word: Word) -> None:
    with pytest.raises(Refused):
        ROW.match("tool", [word])


def test_word_that_cannot_become_an_option_is_an_operand() -> None:
    patterns = [Word("src/*", "src/"), Word("--include=*.py", "--include=")]
    found = ROW.match("tool", patterns)
    assert found.operands == (patterns[0],)
    assert found.values("--include") == [Word("*.py", "")]
    assert ROW.match("tool", [Word("--"), Word("*", "")]).operands == (Word("*", ""),)


def test_a_tame_tool_takes_any_word() -> None:
    anything = Word("*", "")
    assert ROW.match("tool", [anything, Word("-A"), anything], tame=True) == Arguments(
        options=(("-A", anything),), operands=(anything,)
    )

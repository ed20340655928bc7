"""What a command line is made of, in the form that the rest of the library reads."""

from __future__ import annotations

import dataclasses
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from waggle.shell import (
    Reason,
    Redirection,
    Refusal,
    Script,
    SimpleCommand,
    Verdict,
    Word,
    judge,
    parse,
)


def words(source: str) -> list[tuple[str, str | None]]:
    """The words behind ``echo``: text and prefix of each."""
    script = parse(f"echo {source}")
    assert isinstance(script, Script)
    return [(word.text, word.prefix) for word in script.pipelines[0][0].argv[1:]]


def test_a_lookup_between_cd_and_head_keeps_its_structure() -> None:
    assert parse("cd /src && grep -n 'a b' \"c\" 2>/dev/null | head -20; pwd < in") == Script(
        pipelines=(
            (SimpleCommand((Word("cd"), Word("/src"))),),
            (
                SimpleCommand(
                    (Word("grep"), Word("-n"), Word("a b"), Word("c")),
                    (Redirection(operator=">", fd=2, target="/dev/null"),),
                ),
                SimpleCommand((Word("head"), Word("-20"))),
            ),
            (SimpleCommand((Word("pwd"),), (Redirection(operator="<", fd=None, target="in"),)),),
        ),
        connectors=("&&", ";"),
    )


def test_lines_are_statements_and_empty_ones_nothing() -> None:
    script = parse("\n# first\nls a # here\n\n  ls b ||\n\n ls c;\n")
    assert isinstance(script, Script)
    assert [[word.text for word in line[0].argv] for line in script.pipelines] == [
        ["ls", "a"],
        ["ls", "b"],
        ["ls", "c"],
    ]
    assert script.connectors == (";", "||")


def test_errors_sent_down_a_pipe_are_a_redirection() -> None:
    assert parse("ls a |& cat") == parse("ls a 2>&1 | cat")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("a", [("a", None)], id="plain"),
        pytest.param("'a b' \"c d\"", [("a b", None), ("c d", None)], id="quotes"),
        pytest.param("a'b'\"c\"\\d", [("abcd", None)], id="joined"),
        pytest.param("''", [("", None)], id="empty"),
        pytest.param(r'"\$x \" \\ \` \n"', [(r'$x " \ ` \n', None)], id="escapes-in-double-quotes"),
        pytest.param("'\\n'", [("\\n", None)], id="backslash-in-single-quotes"),
        pytest.param('"a\\\nb"', [("ab", None)], id="continued-in-quotes"),
        pytest.param("'a\nb'", [("a\nb", None)], id="line-end-in-quotes"),
        pytest.param(r"\( a\ b \;", [("(", None), ("a b", None), (";", None)], id="escapes"),
        pytest.param("*.py", [("*.py", "")], id="glob"),
        pytest.param("src/*.py", [("src/*.py", "src/")], id="glob-behind-text"),
        pytest.param("'-'*", [("-*", "-")], id="glob-behind-quoted-text"),
        pytest.param("'*' \"?\" \\[a]", [("*", None), ("?", None), ("[a]", None)], id="quoted-globs"),
        pytest.param("a{b,c}", [("a{b,c}", "a")], id="braces"),
        pytest.param("{} {1} x@{0}", [("{}", None), ("{1}", None), ("x@{0}", None)], id="braces-that-stay"),
        pytest.param("~/x HEAD~1", [("~/x", "/"), ("HEAD~1", None)], id="tildes"),
        pytest.param('"a/$x"', [("a/$x", "a/")], id="quoted-variable"),
        pytest.param("a/$x", [("a/$x", "")], id="unquoted-variable-is-split"),
        pytest.param('"$" "a$" "$|"', [("$", None), ("a$", None), ("$|", None)], id="dollars-that-stay"),
        pytest.param("! a!=b", [("!", None), ("a!=b", None)], id="exclamation-marks-that-stay"),
    ],
)
def test_words_are_what_the_shell_passes_on(source: str, expected: list[tuple[str, str | None]]) -> None:
    assert words(source) == expected


def test_refusal_says_why() -> None:
    assert parse("cat a > b") == Refusal(Reason.REDIRECTION, "> b")
    assert parse("FOO=bar cat") == Refusal(Reason.ASSIGNMENT, "FOO=")


def test_records_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Word("a").text = "b"  # type: ignore[misc]  # that it is refused is the point


@given(st.text() | st.text(st.sampled_from("ab -'\"\\$`!*?[]{}()<>|&;#~=\n\t" + string.digits)))
@example("echo \ud800 '\udfff'")
@example("cat " + "'" * 3000)
@example("a" * 5000)
@example("{" * 3000 + "}" * 1000)
def test_any_text_gets_an_answer(text: str) -> None:
    assert isinstance(parse(text), Script | Refusal)
    assert isinstance(judge(text), Verdict)

"""A grammar that somebody else wrote judges what is called a read: it must see the same words, and nothing more."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import orjson
import pytest
import tree_sitter
import tree_sitter_bash

from tests.waggle.shell.generated import commands
from tests.waggle.shell.real import expected_words, literal_reads, needs_bash, words_of_bash
from waggle.shell import Refusal, judge, parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))

#: All that simple commands in pipelines and lists are made of. No substitution, subshell, function, assignment, here
#: document, loop or condition has a place in it; [ … ] is a command to bash and a form of its own to the grammar.
STRUCTURE = {"program", "list", "pipeline", "command", "redirected_statement", "test_command", "comment"}
WORDS = {
    "command_name",
    "word",
    "number",
    "string",
    "string_content",
    "raw_string",
    "concatenation",
    "brace_expression",
}
TESTS = {"unary_expression", "binary_expression", "test_operator", "negated_expression"}
VARIABLES = {"simple_expansion", "expansion", "variable_name", "special_variable_name"}
REDIRECTIONS = {"file_redirect", "file_descriptor"}
ALLOWED = STRUCTURE | WORDS | TESTS | VARIABLES | REDIRECTIONS
TARGETS = re.compile(
    r"[0-9]?(?:>|>>)\s*/dev/null|&>>?\s*/dev/null|[0-9]?>&\s*[12-]|>&\s*/dev/null|[0-9]?<\s*(?!/dev/).+"
)


class MoreThanWordsError(Exception):
    """The grammar sees something beyond simple commands."""


def text_of(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogatepass")


def unquoted(source: str) -> str:
    """One word without its quotes, by the rules of POSIX 2.2."""
    result, at = [], 0
    while at < len(source):
        character = source[at]
        if character == "'":
            end = source.index("'", at + 1)
            result.append(source[at + 1 : end])
            at = end + 1
        elif character == '"':
            at += 1
            while source[at] != '"':
                if source[at] == "\\" and source[at + 1] in '$`"\\\n':
                    result.append(source[at + 1].strip("\n"))
                    at += 2
                else:
                    result.append(source[at])
                    at += 1
            at += 1
        elif character == "\\":
            result.append(source[at + 1].strip("\n"))
            at += 2
        else:
            result.append(character)
            at += 1
    return "".join(result)


def seen_by_the_grammar(command: str) -> list[list[str] | str]:
    """Commands as lists of words, and the operators between them, in order.

    Raises:
        MoreThanWordsError: there is anything else.
    """
    root = PARSER.parse(command.encode("utf-8", "surrogatepass")).root_node
    check_kind(root)
    result: list[list[str] | str] = []
    for child in root.children:
        check_kind(child)
        if child.is_named and child.type != "comment":
            result += [";"] if result else []
            result += flattened(child)
        elif not child.is_named and child.type not in {";", "\n"}:
            raise MoreThanWordsError(child.type)
    return result


def check_kind(node: tree_sitter.Node) -> None:
    if node.is_error or node.is_missing or (node.is_named and node.type not in ALLOWED):
        raise MoreThanWordsError(node.type)


def flattened(node: tree_sitter.Node) -> list[list[str] | str]:
    check_kind(node)
    match node.type:
        case "command" | "test_command":
            return [list(words_of(node))]
        case "list" | "pipeline":
            return [part for child in node.children for part in flattened(child)]
        case "redirected_statement":
            *parts, last = flattened(node.children[0])
            assert isinstance(last, list)
            return [*parts, [*last, *(word for child in node.children[1:] for word in redirected(child))]]
        case "|" | "|&":
            return ["|"]
        case "&&" | "||":
            return [node.type]
        case "comment":
            return []
        case other:
            raise MoreThanWordsError(other)


def redirected(node: tree_sitter.Node) -> Iterator[str]:
    """Check a redirection; the grammar takes arguments that stand behind it for a part of it."""
    check_word(node)
    target = node.child_by_field_name("destination")
    if node.type != "file_redirect" or not target:
        raise MoreThanWordsError(text_of(node))
    source = text_of(node)[: target.end_byte - node.start_byte]
    if not TARGETS.fullmatch(unquoted(source)):
        raise MoreThanWordsError(source)
    for child in node.children:
        if child.start_byte > target.start_byte:
            yield unquoted(text_of(child))


def words_of(node: tree_sitter.Node) -> Iterator[str]:
    for child in node.children:
        if child.type == "file_redirect":
            yield from redirected(child)
        elif child.type in TESTS - {"test_operator"}:
            yield from words_of(child)
        else:
            check_word(child)
            yield unquoted(text_of(child))


def check_word(node: tree_sitter.Node) -> None:
    if (
        node.is_error
        or node.is_missing
        or (node.is_named and node.type not in WORDS | VARIABLES | REDIRECTIONS | TESTS)
    ):
        raise MoreThanWordsError(node.type)
    if node.type == "expansion" and not re.fullmatch(r"\$\{[A-Za-z_]\w*\}", text_of(node)):
        raise MoreThanWordsError(text_of(node))
    for child in node.children:
        check_word(child)


def understood(command: str) -> list[object]:
    """Our own view in the same form."""
    script = parse(command)
    assert not isinstance(script, Refusal)
    result: list[object] = []
    for number, line in enumerate(script.pipelines):
        if number:
            result.append(script.connectors[number - 1])
        for place, each in enumerate(line):
            if place:
                result.append("|")
            result.append([word.text for word in each.argv])
    return result


def agrees(command: str) -> bool:
    """Whether the grammar sees in a read what we see."""
    try:
        return seen_by_the_grammar(command) == understood(command)
    except MoreThanWordsError:
        return False


@needs_bash
def test_every_generated_read_is_the_same_to_the_grammar(tmp_path: Path) -> None:
    """Where the two disagree, bash decides: the grammar has faults of its own.

    Known ones: in a pipeline with a redirection it takes the next line for more arguments, and it loses a backslash
    behind a bracket or a brace.
    """
    reads = [command for command in commands(seed=10, count=12_000) if judge(command).reads]
    assert len(reads) > 2_500
    disputed = [command for command in reads if not agrees(command)]
    assert len(disputed) <= 10
    settled = literal_reads(disputed)
    assert len(settled) == len(disputed)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_bytes(b"")
    for status in (0, 1):
        for (command, script), words in zip(
            settled, words_of_bash(disputed, tmp_path / "folder", status=status), strict=True
        ):
            assert sorted(words) == sorted(expected_words(script, status=status)), command


def test_every_recorded_read_is_the_same_to_the_grammar(shared_traces: Path) -> None:
    recorded = set(recorded_commands(shared_traces))
    reads = [command for command in recorded if judge(command).reads]
    assert len(recorded) > 15_000
    assert len(reads) > 0.35 * len(recorded)
    assert [command for command in reads if not agrees(command)] == []


def recorded_commands(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path) as lines:
            for session in map(orjson.loads, lines):
                for event in session["events"]:
                    if event["type"] == "call" and event["tool"] in {"bash", "Bash"}:
                        command = event["args"].get("command")
                        if isinstance(command, str):
                            yield command


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("cat $(rm a)", id="substitution"),
        pytest.param("cat `rm a`", id="backticks"),
        pytest.param("(cat a)", id="subshell"),
        pytest.param("cat a > b", id="redirection"),
        pytest.param("cat a & cat b", id="background"),
        pytest.param("x=1 cat a", id="assignment"),
        pytest.param("cat <<E\nE", id="here-document"),
        pytest.param("for f in a; do cat $f; done", id="loop"),
        pytest.param("cat <(rm a)", id="process-substitution"),
        pytest.param('cat "${x:=1}"', id="assigning-expansion"),
        pytest.param("cat 'a", id="open-quote"),
    ],
)
def test_the_judge_is_awake(command: str) -> None:
    """The comparison would prove nothing if the grammar's view let such commands pass."""
    with pytest.raises(MoreThanWordsError):
        seen_by_the_grammar(command)

"""YAML front matter of Markdown files: finding it, and reading it with every value as text.

Values are never resolved: ``yes``, ``012`` and ``2024-01-01`` are the texts they look like, since in other readers'
hands they would become something else. Not responsible for what the keys mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from waggle import jsonvalue
from waggle.errors import SkillFileError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["FrontMatter", "Text", "read", "render", "scalar"]

#: What front matter holds: text, and lists and mappings of it.
Text: TypeAlias = "str | list[Text] | dict[str, Text]"

# YAML forbids control characters, yet files of the original hold them. They are read by way of stand-ins: characters
# for private use that the text has neither as they are nor as an escape.
_CONTROLS: Final = frozenset([*range(9), 11, 12, *range(14, 32), *range(127, 133), *range(134, 160)])
_PRIVATE: Final = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE))
_ESCAPE: Final = re.compile(r"\\[uU]([0-9a-fA-F]{4,8})")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A file cut in two.

    Attributes:
        values: the mapping in the front matter.
        body: the text after it, with LF line ends.
    """

    values: dict[str, Text]
    body: str


def read(path: Path, text: str) -> FrontMatter:
    """Read a file's front matter.

    A byte order mark, CRLF line ends and leading blank lines are accepted.

    Args:
        path: named in errors.
        text: the file's text.

    Raises:
        SkillFileError: there is no front matter, it has no end, is not YAML, is no mapping, or has a key twice.
    """
    clean = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lead = len(clean) - len(clean.lstrip())
    first_line = clean[:lead].count("\n") + 1
    lines = clean[lead:].split("\n")
    if not lines[0].startswith("---"):
        raise SkillFileError(path, first_line, "front matter is missing: the file must begin with a line '---'")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            values = _load(path, "\n".join(lines[1:number]), first_line)
            return FrontMatter(values, "\n".join(lines[number + 1 :]))
    raise SkillFileError(path, first_line, "front matter has no end: a second line '---' is missing")


# What a YAML reader refuses, or takes for a line end, when it stands for itself between double quotes.
_ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]|(?<=--)-")


def scalar(text: str) -> str:
    """One YAML scalar, on one line, that every YAML reader takes for this text: a JSON string.

    Three hyphens never stand in it, since some readers look for the end of front matter in the middle of lines, too.
    """
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", jsonvalue.dumps(text).decode())


def render(values: Mapping[str, str | Mapping[str, str]]) -> str:
    """Write front matter, its two lines of hyphens included, that every reader takes alike: nothing but text, quoted.

    Args:
        values: by key, in the order in which they are written; an empty mapping is left out, since it cannot be said.
    """
    lines: list[str] = []
    for key, value in values.items():
        if isinstance(value, str):
            lines.append(f"{_key(key)}: {scalar(value)}")
        elif value:
            lines.append(f"{_key(key)}:")
            lines += [f"  {_key(inner)}: {scalar(text)}" for inner, text in value.items()]
    return "\n".join(["---", *lines, "---", ""])


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else scalar(key)


_PLAIN_KEY = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


def _load(path: Path, text: str, before: int) -> dict[str, Text]:
    from ruamel.yaml import YAML  # noqa: PLC0415 - 20 ms, and routes are loaded without it
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415 - as above

    stand_ins = _stand_ins(text)
    try:
        node = YAML(pure=True).compose(text.translate(stand_ins))
    except MarkedYAMLError as error:
        line = before + error.problem_mark.line + 1 if error.problem_mark else None
        raise SkillFileError(path, line, _advice(text, error)) from None
    except YAMLError as error:
        raise SkillFileError(path, None, f"not YAML: {str(error).splitlines()[0]}") from None
    if node is None:
        return {}
    values = _plain(path, node, before, {stand_in: code for code, stand_in in stand_ins.items()})
    if not isinstance(values, dict):
        raise SkillFileError(path, before + 1, "front matter must be a mapping, 'key: value' on each line")
    return values


def _stand_ins(text: str) -> dict[int, int]:
    """What each forbidden character of a text is read as: code points that the text does not have otherwise."""
    held = set(map(ord, text))
    forbidden = sorted(held & _CONTROLS)
    if not forbidden:
        return {}
    for found in _ESCAPE.finditer(text):
        held |= {int(found[1], 16), int(found[1][:4], 16)}  # eight digits, or four with others behind them
    free = (code for code in chain(*_PRIVATE) if code not in held)
    return dict(zip(forbidden, free, strict=False))


def _advice(text: str, error: Any) -> str:
    """What is wrong, and what would be right where that can be told."""
    mark = error.problem_mark
    lines = text.split("\n")
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    if "\t" in line:
        return "indent with spaces, not with a tab"
    key, found, value = line.partition(": ")
    if found and ": " in value:
        return f"{key.strip()} must be quoted, it contains ': '"
    return f"not YAML: {error.problem or error.context}"


def _plain(path: Path, node: Any, before: int, restored: Mapping[int, int]) -> Text:
    match node.id:
        case "mapping":
            found: dict[str, Text] = {}
            for key_node, value_node in node.value:
                key = _plain(path, key_node, before, restored)
                line = before + key_node.start_mark.line + 1
                if not isinstance(key, str):
                    raise SkillFileError(path, line, "a key must be text")
                if key in found:
                    raise SkillFileError(path, line, f"the key {key!r} stands twice")
                found[key] = _plain(path, value_node, before, restored)
            return found
        case "sequence":
            return [_plain(path, item, before, restored) for item in node.value]
        case _:
            return cast("str", node.value).translate(restored)

"""A route as a shell script a person or an agent can run.

Replay never uses it: a route is replayed through the host's own tools. Every value reaches its command as one argument,
byte for byte, and a value that looks like an option stays a value: patterns follow ``-e``, paths follow ``--`` or are
given a leading ``./``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waggle.routes import in_checkout, param_names
from waggle.shell import quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from waggle.jsonvalue import JsonValue
    from waggle.routes import Route
    from waggle.tools import ToolTable

__all__ = ["run_script"]


class _Refused(Exception):
    """An argument has no translation."""


class _Arguments:
    """The arguments of one step, as shell words; remembers which were asked for."""

    def __init__(self, args: dict[str, JsonValue], words: dict[str, str]) -> None:
        self._args = args
        self._words = words  # of parameters: the variable's expansion
        self._left = set(args)

    def text(self, name: str) -> str | None:
        """The argument as one shell word, or None when the call does not have it."""
        if name not in self._args:
            return None
        self._left.discard(name)
        if name in self._words:
            return self._words[name]
        value = in_checkout(self._args[name], None)
        if not isinstance(value, str):
            raise _Refused
        return quote(value)

    def path(self, name: str) -> str:
        """The argument as a path that cannot be taken for an option; the current directory when there is none."""
        if name not in self._args:
            return "."
        if name in self._words:
            self._left.discard(name)
            return self._words[name]  # made safe at the top of the script
        value = in_checkout(self._args[name], None)
        word = self.text(name)
        if not isinstance(value, str) or word is None or not value:
            raise _Refused
        return word if value[0] in "/." else quote(f"./{value}")

    def number(self, name: str) -> int | None:
        """The argument as a whole number that is not negative, or None when the call does not have it."""
        if name not in self._args:
            return None
        value = self._args[name]
        self._left.discard(name)
        if name in self._words or type(value) is not int or value < 0:
            raise _Refused
        return value

    def flag(self, name: str) -> bool:
        """Whether the argument is given and true."""
        value = self._args.get(name, False)
        self._left.discard(name)
        if name in self._words or not isinstance(value, bool):
            raise _Refused
        return value

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        """The argument, one of a few words."""
        value = self._args.get(name, default)
        self._left.discard(name)
        if name in self._words or not isinstance(value, str) or value not in allowed:
            raise _Refused
        return value

    def finished(self, command: str) -> str:
        """The command, unless an argument was not looked at: its meaning would be lost."""
        if self._left:
            raise _Refused
        return command


def _cat(args: _Arguments, path: str) -> str:
    file, first, count = args.path(path), args.number("offset"), args.number("limit")
    if first is None and count is None:
        return f"cat -- {file}"
    start = max(first or 1, 1)
    end = "$" if count is None else str(start + max(count, 1) - 1)
    return f"sed -n -e '{start},{end}p' -- {file}"


def _grep(args: _Arguments, path: str) -> str:
    pattern = args.text("pattern")
    if pattern is None:
        raise _Refused
    return f"grep -rnE -e {pattern} -- {args.path(path)}"


def _rg(args: _Arguments, path: str) -> str:
    pattern = args.text("pattern")
    if pattern is None:
        raise _Refused
    mode = args.choice("output_mode", "files_with_matches", ("content", "files_with_matches", "count"))
    options = {"content": [], "files_with_matches": ["-l"], "count": ["-c"]}[mode]
    if args.flag("-n"):
        options.append("-n")
    if args.flag("-i"):
        options.append("-i")
    if args.flag("multiline"):
        options.append("-U --multiline-dotall")
    for context in ("-A", "-B", "-C"):
        if (lines := args.number(context)) is not None:
            options.append(f"{context} {lines}")
    for name, option in (("glob", "-g"), ("type", "-t")):
        if (value := args.text(name)) is not None:
            options.append(f"{option} {value}")
    limit = args.number("head_limit")
    command = " ".join(["rg", *options, f"-e {pattern}", "--", args.path(path)])
    return command if not limit else f"{command} | head -n {limit}"


def _ls(args: _Arguments, path: str) -> str:
    return f"ls -- {args.path(path)}"


def _find(args: _Arguments, path: str) -> str:
    pattern = args.text("pattern")
    if pattern is None or "**" in pattern or "/" in pattern:  # a glob over folders, which -name never matches
        raise _Refused
    return f"find {args.path(path)} -name {pattern}"


def _rg_files(args: _Arguments, path: str) -> str:
    pattern = args.text("pattern")
    if pattern is None:
        raise _Refused
    return f"rg --files -g {pattern} -- {args.path(path)}"


_FORMS: dict[str, Callable[[_Arguments, str], str]] = {
    "cat": _cat,
    "grep": _grep,
    "rg": _rg,
    "ls": _ls,
    "find": _find,
    "rg-files": _rg_files,
}


def run_script(route: Route, tools: ToolTable) -> str | None:
    """Write a route as a bash script, its parameters as ``$1``, ``$2``, … in the order of `Route.params`.

    Returns:
        The script, or None when a step has no shell form, an argument has no translation, or a value holds a NUL byte.
    """
    try:
        commands = [_command(route, index, tools) for index in range(len(route.steps))]
    except (_Refused, ValueError):
        return None
    names = param_names(route.params)
    lines = ["#!/usr/bin/env bash", f"# Route {route.name}. Run it in the project's directory.", "set -u"]
    if names:
        usage = quote(f"usage: run.sh {' '.join(name.upper() for name in names)}")  # names are data too
        lines.append(f'[ "$#" -eq {len(names)} ] || {{ printf "%s\\n" {usage} >&2; exit 2; }}')
    for number, param in enumerate(route.params, 1):
        lines.append(f'p{number}="${{{number}}}"')
        if param.key in tools.spec(route.steps[param.step].tool).paths:
            lines.append(f'case "$p{number}" in [/.]*) ;; *) p{number}="./$p{number}" ;; esac')
    return "\n".join([*lines, *commands, ""])


def _command(route: Route, index: int, tools: ToolTable) -> str:
    step = route.steps[index]
    spec = tools.spec(step.tool)
    words = {param.key: f'"$p{number}"' for number, param in enumerate(route.params, 1) if param.step == index}
    if spec.script == "command":
        args = {} if words else tools.said(step.tool, step.form, step.args)
        text = args.get(spec.command)
        if set(args) != {spec.command} or not isinstance(text, str) or not tools.may_repeat(step.tool, args):
            raise _Refused
        return f"(\n{text}\n)"  # on lines of its own, so that a comment at its end does not swallow the bracket
    if spec.script not in _FORMS or not spec.paths:
        raise _Refused
    arguments = _Arguments(step.args, words)
    return arguments.finished(_FORMS[spec.script](arguments, spec.paths[0]))

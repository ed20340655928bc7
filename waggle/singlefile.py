"""The original's form of a stored route: one Markdown file with YAML front matter, named after a shell script.

Written so that files and names agree with the original's, and read so that its files keep working. The script in such a
file is a name and a description; nothing here or elsewhere runs it.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from waggle import frontmatter
from waggle.errors import SkillFileError
from waggle.miner import Param
from waggle.routes import Disabled, Route, RouteStep, Scope, param_names
from waggle.shell import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from waggle.jsonvalue import JsonObject

__all__ = ["original_name", "original_script", "parse", "render"]

_PLACEHOLDER = re.compile(r"\$([1-9][0-9]*)")


class _Steps(Protocol):
    """What `original_script` needs of a candidate or a route."""

    @property
    def steps(self) -> Sequence[_StepLike]: ...
    @property
    def params(self) -> Sequence[Param]: ...


class _StepLike(Protocol):
    @property
    def tool(self) -> str: ...
    @property
    def args(self) -> Mapping[str, object]: ...


def original_script(route: _Steps) -> str | None:
    """Write a route as the original does: commands joined with ``; ``, parameters as ``"$1"``.

    Returns:
        The script, or None when the original could not translate a step, or when a value would be taken for an option,
        which the original overlooks.
    """
    numbers = {param: number for number, param in enumerate(route.params, 1)}
    commands: list[str] = []
    for index, step in enumerate(route.steps):

        def word(name: str, *, step: _StepLike = step, index: int = index) -> str | None:
            if name not in step.args:
                return None
            if number := numbers.get(Param(index, name)):
                return f'"${number}"'
            value = step.args[name]
            return None if not isinstance(value, str) or value.startswith("-") or "\0" in value else quote(value)

        command = _translate(step, word)
        if command is None:
            return None
        commands.append(command)
    return "; ".join(commands) or None


def _translate(step: _StepLike, word: Callable[[str], str | None]) -> str | None:
    path = word("path") if "path" in step.args else "."
    pattern = word("pattern")
    match step.tool:
        case "ls" if path:
            return f"ls {path}"
        case "read" if path and "path" in step.args:
            return f"cat {path}"
        case "search" if path and pattern:
            return f"grep -rn {pattern} {path}"
        case "glob" if path and pattern:
            return f"find {path} -name {pattern}"
        case _:
            return None


def original_name(script: str) -> str:
    """Name a script as the original does: ``wag_`` and ten hex digits of its SHA-256."""
    return f"wag_{sha256(script.encode()).hexdigest()[:10]}"


def render(route: Route) -> str | None:
    """Write a route as one file of the original's form; None when it has no script."""
    script = original_script(route)
    if script is None:
        return None
    names = param_names(route.params)
    about = " -> ".join(step.tool for step in route.steps) + (f" ({', '.join(names)})" if names else "")
    numbers = {param: f"${number}" for number, param in enumerate(route.params, 1)}
    lines = [
        "---",
        f"name: {_scalar(original_name(script))}",
        "type: exec",
        f"description: {_scalar(f'waggle: {about}')}",
    ]
    lines += ["tools:", "- bash", "origin: waggle", f"scope: {route.scope}"]
    if names:
        lines += ["params:", *(f"- {_scalar(name)}" for name in names)]
    lines += ["exec:", "- bash", "- -c", f"- {_scalar(script)}", "uses: 0", "yield: 0"]
    if route.disabled:
        lines.append("disabled: true")
    lines.append("route:")
    for index, step in enumerate(route.steps):
        lines.append(f"- tool: {_scalar(step.tool)}")
        if step.args:
            lines.append("  args:")
            for key in sorted(step.args):
                value = numbers.get(Param(index, key), step.args[key])
                lines.append(f"    {_scalar(key)}: {_scalar(str(value))}")
    why = f"Switched off: {route.disabled.reason}" if route.disabled else "A route that agents repeat in this project."
    return "\n".join([*lines, "---", why, ""])


_BARE = re.compile(r"[A-Za-z$./_][\w$./*;\"'<> -]*[\w\"'*/.]|[A-Za-z$.]")
_SPECIAL = re.compile(r"(?i)(true|false|null|yes|no|on|off|y|n|~|\.nan|[-+]?\.inf)$")


def _scalar(text: str) -> str:
    """One YAML scalar on one line that every YAML reader takes for this text."""
    if _BARE.fullmatch(text) and not _SPECIAL.match(text):
        return text
    return frontmatter.scalar(text)


def parse(path: Path, text: str) -> Route | None:
    """Read a route from a file of the original's form, leniently as the original does.

    Returns:
        The route, or None when the file is a skill of another kind (it has no ``route``).

    Raises:
        SkillFileError: the front matter or the route cannot be read.
    """
    values = frontmatter.read(path, text).values
    listed = values.get("route")
    if not listed:
        return None
    if not isinstance(listed, list):
        raise SkillFileError(path, None, "route must be a list of steps")
    steps: list[RouteStep] = []
    numbered: list[tuple[int, Param]] = []
    for index, entry in enumerate(listed):
        tool = entry.get("tool") if isinstance(entry, dict) else None
        args = entry.get("args", {}) if isinstance(entry, dict) else {}
        if not isinstance(tool, str) or not isinstance(args, dict):
            raise SkillFileError(path, None, f"route[{index}] must have a tool, and args that are a mapping")
        kept: JsonObject = {}
        for key, value in args.items():
            if not isinstance(value, str):
                raise SkillFileError(path, None, f"route[{index}].args.{key} must be text")
            if placeholder := _PLACEHOLDER.fullmatch(value):
                numbered.append((int(placeholder[1]), Param(index, key)))
            kept[key] = None if placeholder else value
        steps.append(RouteStep(tool, kept))
    name, scope = values.get("name"), values.get("scope")
    return Route(
        name if isinstance(name, str) and name else path.stem,
        tuple(steps),
        tuple(sorted(param for _, param in numbered)),
        Scope(scope) if scope in set(Scope) else Scope.PROJECT,
        disabled=Disabled(None, "switched off in the file") if values.get("disabled") == "true" else None,
    )


def with_disabled(text: str) -> str:
    """Set ``disabled: true`` in a file's front matter and leave everything else as it is."""
    end = re.compile(r"(?m)^---\s*$").search(text, text.index("---") + 3)
    if end is None:
        return text
    head, rest = text[: end.start()], text[end.start() :]
    head, found = re.subn(r"(?m)^disabled:[^\r\n]*", "disabled: true", head, count=1)
    return head + ("" if found else "disabled: true\r\n" if "\r\n" in head else "disabled: true\n") + rest

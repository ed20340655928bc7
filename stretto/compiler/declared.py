"""What the user says of tools, as a small file says it: effects, names, secrets, schemas.

A file is TOML, or JSON with the same keys. A tool is named as recordings name it, with its server before ``::`` where
several servers have one of that name::

    stretto_tools = 1

    [tools.get_order]
    effect = "read"                # read, auth, write, irreversible; without it: unknown, which is taken for the worst
    app = "shop"                   # its canonical name is shop.order
    action = "order"

    [tools.login]
    effect = "auth"
    secrets = ["password"]         # arguments that hold credentials: never written anywhere
    [tools.login.input]            # JSON Schema of the arguments
    required = ["user", "password"]
    [tools.login.output]           # and of the output
    properties.token = {type = "string"}

    [tools.refund]
    effect = "irreversible"
    sessions = ["token"]           # arguments that hold what a login yields
    policy = true                  # the task must make this call, whatever uses it

    [tools.show_tool]
    effect = "read"
    discovery = true               # only looks up documentation

    [[inject]]                     # a stable value that procedures hold, so that they do not call what finds it
    tool = "get_team"
    path = "$.team_id"             # in its output
    scope = {tenant = "acme"}      # for whom it holds: user, tenant, project
    days = 30                      # how long it is used after it was last observed; this is the default

    [[links]]                      # a field and an argument that mean the same, though their names do not say so
    output = ["shop.order", "$.pid"]
    argument = ["shop.refund", "$.payment_id"]

Not responsible for recordings (`stretto.compiler.reading`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from stretto.contents import field_path, read_written
from stretto.errors import ToolsError
from stretto.forms import Form, first_fault
from waggle import jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Declared", "DeclaredTool", "declared_from_data", "read_declared"]

_FILE_BYTES: Final = 16 << 20  #: largest file that is read; the schemas of a thousand tools have a tenth of it

#: What faults of a field's form are called here.
_SAID: Final = {
    "model_type": "expected a table",
    "dict_type": "expected a table",
}

_Name = Annotated[str, Field(min_length=1)]
_Place = tuple[_Name, Annotated[str, Field(pattern=r"^\$")]]


class DeclaredTool(Form):
    """One tool.

    Attributes:
        effect: what it does; None where the user does not say.
        app: canonical name of its application; goes with `action`.
        action: canonical name of what it does there.
        discovery: whether it only looks up documentation or schemas.
        policy: whether a task must make its calls, whatever uses them.
        secrets: names of arguments that hold credentials.
        sessions: names of arguments that hold what a login yields.
        input: JSON Schema of its arguments.
        output: JSON Schema of its output.
    """

    effect: Literal["read", "auth", "write", "irreversible", "unknown"] | None = None
    app: _Name | None = None
    action: _Name | None = None
    discovery: bool = False
    policy: bool = False
    secrets: tuple[_Name, ...] = Field(default=(), strict=False)
    sessions: tuple[_Name, ...] = Field(default=(), strict=False)
    input: dict[str, Any] | None = None
    output: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _named_whole(self) -> Self:
        if (self.app is None) != (self.action is None):
            raise ValueError("expected both app and action, or neither")
        return self


class _Link(Form):
    output: _Place = Field(strict=False)
    argument: _Place = Field(strict=False)


class DeclaredInjection(Form):
    """A stable value that procedures hold; see `stretto.compiler.injecting.Injection`."""

    tool: _Name
    path: Annotated[str, Field(pattern=r"^\$")]
    scope: dict[Literal["user", "tenant", "project"], _Name] = Field(min_length=1)
    days: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 30


class Declared(Form):
    """All that the user says of tools.

    Attributes:
        stretto_tools: the version of the form, 1.
        tools: by name, as recordings have it, or as ``server::name``.
        inject: stable values that procedures hold, in any order.
        links: a field of an output and an argument that mean the same, each as ``app.action`` and path.
    """

    stretto_tools: Literal[1] = 1
    tools: dict[_Name, DeclaredTool] = Field(default_factory=dict)
    inject: tuple[DeclaredInjection, ...] = Field(default=(), strict=False)
    links: tuple[_Link, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _of_one_scope(self) -> Self:
        names: dict[str, str] = {}
        for each in self.inject:
            for kind, name in each.scope.items():
                if names.setdefault(kind, name) != name:
                    raise ValueError(f"expected one {kind} in all of inject, and there are {names[kind]} and {name}")
        return self

    def name_of(self, recorded: str, server: str, name: str) -> str | None:
        """The name under which a tool is declared; None where it is not.

        Args:
            recorded: its name in the recording.
            server: its server's name; empty where none is named.
            name: its name there.
        """
        return next((each for each in (recorded, f"{server}::{name}", name) if each in self.tools), None)


class _File(Declared):
    stretto_tools: Literal[1]


def read_declared(path: Path) -> Declared:
    """Read a file of declarations: TOML, or JSON where its name ends in ``.json``.

    Raises:
        ToolsError: it cannot be read, or a field is not what it should be; the error has the JSON path.
    """
    return declared_from_data(read_written(path, _FILE_BYTES, ToolsError), str(path))


def declared_from_data(content: object, path: str = "") -> Declared:
    """Make declarations of what a file holds.

    Args:
        content: of the file.
        path: of the file, for the error.

    Raises:
        ToolsError: a field is not what it should be.
    """
    try:
        declared = _File.model_validate(content)
    except ValidationError as error:
        raise ToolsError(path, *first_fault(error, content, _SAID)) from None
    for name, tool in declared.tools.items():
        for word, schema in (("input", tool.input), ("output", tool.output)):
            try:
                jsonvalue.canonical(schema)
            except (TypeError, ValueError):  # TOML has dates and times, and nan
                raise ToolsError(path, field_path(["tools", name, word]), "expected a JSON Schema") from None
    return declared

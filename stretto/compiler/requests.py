"""The requests of an intent, in a file of their own beside its procedure, by which new requests are routed to it.

A procedure's file holds no user text; this one holds the words of its requests, without the values that were inputs and
without any other value that has the shape of one. Of an input without a shape, such as a reason, it holds the values
that several traces had: they are read, and nothing else is. What looked like a secret is masked.

`index_of` makes one of what was compiled; one of a refused intent only says what requests are *not* of any other
procedure.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field, ValidationError

from stretto._defaults import KEEP_SHARED, REQUESTS_BYTES
from stretto.compiler.inputs import find_inputs, inputs_of
from stretto.compiler.slots import Shaped, Slot, parts_of, placed, tokens
from stretto.contents import read_bytes, read_json
from stretto.errors import ProcedureError
from stretto.forms import Form, first_fault
from stretto.procedure.atoms import said
from stretto.procedure.file import digest_of
from stretto.procedure.shapes import shape_of
from waggle import jsonvalue
from waggle.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from stretto.compiler.compiling import Compilation
    from stretto.compiler.slots import Part
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "SUFFIX",
    "VERSION",
    "Member",
    "Requests",
    "dump_requests",
    "index_of",
    "load_requests",
    "member_parts",
    "read_requests",
    "requests_of",
]

#: The number of the form, in ``stretto_requests``.
VERSION: Final = 1

#: How the name of such a file ends.
SUFFIX: Final = ".requests.json"

_Name = Annotated[str, Field(min_length=1, max_length=200)]


class SlotForm(Form):
    """A place of an input's value."""

    slot: _Name
    quoted: bool = False


class ShapeForm(Form):
    """A place of another value, by its shape."""

    shape: _Name


class Member(Form):
    """Requests that are alike but for their values.

    Attributes:
        parts: words, folded, and what stands in the place of values.
        traces: that had such a request.
    """

    parts: list[str | SlotForm | ShapeForm]
    traces: Annotated[int, Field(ge=1)] = 1

    @property
    def read(self) -> tuple[Part, ...]:
        """The parts as `stretto.compiler.slots` has them."""
        return tuple(_part(each) for each in self.parts)

    @property
    def text(self) -> str:
        """Its words, without any value: what is compared."""
        return " ".join(each for each in self.parts if isinstance(each, str))


def _part(form: str | SlotForm | ShapeForm) -> Part:
    if isinstance(form, SlotForm):
        return Slot(form.slot, form.quoted)
    return Shaped(form.shape) if isinstance(form, ShapeForm) else form


class Requests(Form):
    """The requests of one intent.

    Attributes:
        stretto_requests: `VERSION`.
        name: of the intent.
        procedure: digest of the procedure that was compiled of it; empty where none was.
        members: sorted by their parts.
        values: of inputs without a shape, by name: those that `stretto._defaults.KEEP_SHARED` traces or more had.
    """

    stretto_requests: Literal[1] = VERSION
    name: _Name
    procedure: str = ""
    members: list[Member] = Field(default_factory=list)
    values: dict[str, list[str]] = Field(default_factory=dict)


def member_parts(request: str, inputs: Mapping[str, JsonValue]) -> tuple[Part, ...]:
    """A request as parts; what looks like a secret is masked.

    Args:
        request: what a user said.
        inputs: what its trace showed the inputs to be.
    """
    given = tokens(redact_text(request).encode("utf-8", "replace").decode())  # half a character is none
    return parts_of(given, placed(given, inputs))


def requests_of(name: str, members: Iterable[tuple[str, Mapping[str, JsonValue]]], procedure: str = "") -> Requests:
    """The requests of an intent; the same in any order.

    Args:
        name: of the intent.
        members: requests with the inputs that their traces showed.
        procedure: digest of the procedure; empty for none.
    """
    given = list(members)
    counts = Counter(member_parts(request, inputs) for request, inputs in given)
    found = [Member(parts=[_form(part) for part in parts], traces=number) for parts, number in counts.items()]
    return Requests(
        name=name,
        procedure=procedure,
        members=sorted(found, key=lambda each: jsonvalue.canonical(each.model_dump(mode="json"))),
        values=_values(given),
    )


def _values(members: Iterable[tuple[str, Mapping[str, JsonValue]]]) -> dict[str, list[str]]:
    """The values without a shape that several requests said, by input, sorted."""
    counts = Counter(
        (name, value)
        for request, inputs in members
        for name, value in inputs.items()
        if isinstance(value, str) and not shape_of(value) and said(value, request) and redact_text(value) == value
    )
    found: dict[str, list[str]] = {}
    for (name, value), number in sorted(counts.items()):
        if number >= KEEP_SHARED:
            found.setdefault(name, []).append(value)
    return found


def _form(part: Part) -> str | SlotForm | ShapeForm:
    if isinstance(part, Slot):
        return SlotForm(slot=part.name, quoted=part.quoted)
    return ShapeForm(shape=part.shape) if isinstance(part, Shaped) else part


def index_of(made: Compilation) -> Requests:
    """The requests of an intent that was compiled, or refused."""
    digest = digest_of(made.procedure) if made.procedure is not None else ""
    if made.analysis is None:
        return requests_of(made.name, ((trace.request, {}) for trace in made.traces), digest)
    inputs, analysis = find_inputs(made.analysis), made.analysis
    members = ((run.trace.request, inputs_of(inputs, analysis, run)) for run in analysis.runs)
    return requests_of(made.name, members, digest)


# --- files ----------------------------------------------------------------------------------------------------------


def dump_requests(requests: Requests) -> bytes:
    """The file of an intent's requests: indented JSON, a member a few lines."""
    value: JsonObject = requests.model_dump(mode="json")
    return jsonvalue.pretty(value).encode()


def read_requests(path: Path) -> Requests:
    """Read a file of requests.

    Raises:
        ProcedureError: it cannot be read, or is none; the error says where.
    """
    return load_requests(read_bytes(path, REQUESTS_BYTES, ProcedureError), str(path))


def load_requests(data: bytes, path: str = "") -> Requests:
    """The requests of the bytes of their file.

    Raises:
        ProcedureError: as `read_requests`.
    """
    value = read_json(data, path, ProcedureError)
    try:
        return Requests.model_validate(value)
    except ValidationError as error:
        raise ProcedureError(path, *first_fault(error, value)) from None

"""A ticket for a compiled procedure: its inputs, where the ticket is one that the procedure is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.cli.intents import SUFFIX as PROCEDURES
from stretto.compiler.requests import SUFFIX, read_requests
from stretto.compiler.route import Candidate, Gate, Router
from stretto.errors import UsageError
from stretto.procedure.file import digest_of

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.procedure.graph import Procedure
    from waggle.jsonvalue import JsonValue

__all__ = ["inputs_of_ticket"]


def inputs_of_ticket(path: Path, procedure: Procedure, ticket: str) -> dict[str, JsonValue]:
    """The inputs that a ticket says.

    It has to be like the requests that the procedure was compiled from, and to have the words of one of them: a ticket
    that asks for the opposite has the same values.

    Args:
        path: of the procedure; its requests lie beside it.
        procedure: it.
        ticket: what is asked.

    Raises:
        UsageError: there are no requests of this version, or the ticket is not like them.
        ProcedureError: the file of requests is none.
    """
    place = path.with_name(path.name.removesuffix(PROCEDURES).removesuffix(".json") + SUFFIX)
    if not place.exists():
        raise UsageError(
            f"{path}: --ticket is read by the requests it was compiled from, and there is no {place.name} beside it: "
            "compile with --requests, or give --input"
        )
    requests = read_requests(place)
    if requests.procedure != digest_of(procedure):
        raise UsageError(f"{place}: its requests are those of another version of the procedure; give --input")
    router = Router([Candidate(procedure, requests)])
    found = router.route(ticket, has_secret=lambda _: True, person=True, scope=procedure.scope)
    against = [says for gate, says in found.reasons if gate is not Gate.READINESS]
    if against:
        raise UsageError(f"{path}: the ticket is not one that it is for: {'; '.join(against)}; or give --input")
    return dict(found.inputs)

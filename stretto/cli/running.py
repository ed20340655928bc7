"""The command ``stretto-procedure``: runs a procedure against MCP servers, without a model.

Standard output has what came of it; questions, progress and notes go to standard error. Not responsible for running
(`stretto.procedure.running`), nor for the servers (`stretto.procedure.servers`).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import stretto
from stretto._defaults import EXIT_INTERRUPTED, EXIT_OK, EXIT_PROBLEMS, EXIT_STORE, EXIT_USAGE
from stretto.cli.given_servers import given_servers
from stretto.cli.given_values import pair, values
from stretto.cli.scoping import SCOPE
from stretto.compiler.reading import raw_tool
from stretto.errors import UsageError
from stretto.procedure.file import digest_of, read_any
from stretto.procedure.freshness import freshness
from stretto.procedure.graph import Procedure
from stretto.procedure.journal import NoJournal, open_journal
from stretto.procedure.person import TerminalPerson
from stretto.procedure.readiness import not_ready, stale
from stretto.procedure.running import Ran, Verdict, adrive, course, tree_course
from stretto.procedure.secrets import variable_of
from stretto.procedure.servers import open_servers
from stretto.procedure.state import servers_of
from waggle import _render, jsonvalue
from waggle.errors import WaggleError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from stretto.procedure.exchange import Done, Make, Reply, Request
    from stretto.procedure.servers import Server, Servers
    from stretto.procedure.trees.model import TreeProcedure
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["main"]

_NAME: Final = "stretto-procedure"
_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked for.

    Attributes:
        path: of the procedure's file.
        procedure: it, of either kind.
        inputs: by name.
        ticket: what a tree procedure is given.
        servers: that it runs against.
        secrets: the variables that hold secrets, by the secrets' names.
        journal: of the run; None for none.
        person: who is asked; None for nobody.
        not_made: calls of the journal that somebody has found not to have been made.
        made: those that somebody has found to have been made, with what they returned.
        changed: whether it may run although tools have changed.
        seconds: longest wait for one call.
        scope: for whom it runs, by kind.
        opened: the journal, once it is.
    """

    path: Path
    procedure: Procedure | TreeProcedure
    inputs: dict[str, JsonValue]
    ticket: str
    servers: tuple[Server, ...]
    secrets: dict[str, str] = field(default_factory=dict)
    journal: Path | None = None
    person: TerminalPerson | None = None
    not_made: tuple[str, ...] = ()
    made: dict[str, JsonValue] = field(default_factory=dict)
    changed: bool = False
    seconds: float = _SECONDS
    scope: dict[str, str] = field(default_factory=dict)
    opened: list[NoJournal] = field(default_factory=list)

    def secret(self, name: str) -> str:
        """A secret, from the environment.

        Raises:
            UsageError: it is not there.
        """
        variable = self.secrets.get(name, variable_of(name))
        value = os.environ.get(variable)
        if value is None:
            raise UsageError(f"secret {name} is not there: set {variable}, or name another with --secret")
        return value

    def check(self) -> None:
        """Look whether it may run, as far as that is known without its servers; opens the journal.

        Raises:
            UsageError: it may not.
            RunError: the journal cannot be taken up.
        """
        if isinstance(self.procedure, Procedure):
            found = not_ready(
                self.procedure,
                self.inputs,
                has_secret=self.has_secret,
                person=self.person is not None,
                scope=self.scope,
            )
            if found:
                raise UsageError(f"{self.path}: not ready: {'; '.join(found)}")
            self.opened.append(self._journal(digest_of(self.procedure), self.inputs))
        else:
            if not self.ticket:
                raise UsageError(f"{self.path}: a tree procedure needs --ticket")
            self.opened.append(self._journal(self.procedure.domain, {"ticket": self.ticket}))

    def _journal(self, digest: str, inputs: dict[str, JsonValue]) -> NoJournal:
        if self.journal is None:
            return NoJournal()
        return open_journal(self.journal, digest, inputs, not_made=self.not_made, made=self.made)

    def changes(self, servers: Servers) -> list[str]:
        """How the servers' tools differ from those that the procedure was compiled for."""
        if self.changed or not isinstance(self.procedure, Procedure):
            return []
        return stale(self.procedure, servers.contracts)

    def course(self, servers: Servers) -> Generator[Request, Reply, Ran]:
        """The run."""
        if isinstance(self.procedure, Procedure):
            fresh = freshness(self.procedure, datetime.now(UTC), servers.contracts)
            return course(self.procedure, self.inputs, self.secret, self.opened[0], fresh)
        return tree_course(self.procedure, self.ticket, self.opened[0])

    def has_secret(self, name: str) -> bool:
        """Whether a secret is there."""
        return self.secrets.get(name, variable_of(name)) in os.environ


@click.command(_NAME, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--procedure", "path", type=click.Path(path_type=Path), required=True, metavar="FILE", help="The procedure."
)
@click.option(
    "--input", "given", multiple=True, metavar="NAME=VALUE", help="An input; JSON where it is no text. Once for each."
)
@click.option("--inputs", type=click.Path(path_type=Path), metavar="FILE", help="Inputs, as a JSON object.")
@click.option(
    "--ticket",
    default="",
    metavar="TEXT",
    help="What is asked. A compiled procedure takes its inputs from it, where it has the words of a request that the "
    "procedure was compiled from.",
)
@click.option(
    "--server",
    "more",
    multiple=True,
    metavar="[NAME=]URL",
    help="A server over HTTP; with a name where there are several.",
)
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="NAME=VARIABLE",
    help="The environment's variable that holds a secret.",
)
@click.option(
    "--journal",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep a journal, and take up the run that it is of: no change is made twice.",
)
@click.option(
    "--made",
    multiple=True,
    metavar="CALL=OUTPUT",
    help="A call that an earlier attempt began, and that you have found to have been made, with what it returned.",
)
@click.option(
    "--not-made",
    multiple=True,
    metavar="CALL",
    help="A call that an earlier attempt began, and that you have found not to have been made: it is made again.",
)
@click.option(
    "--no-person", is_flag=True, help="Ask nobody: a question stops the run. Default: whoever is at the terminal."
)
@click.option("--changed", is_flag=True, help="Run although tools have changed since it was compiled.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=_SECONDS,
    metavar="S",
    help="Longest wait for one call, seconds.",
)
@SCOPE
@click.option(
    "--dry-run", is_flag=True, help="Only say whether it may run: nothing is called but the servers' listings."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.version_option(stretto.__version__, prog_name=_NAME, message="%(prog)s %(version)s")
@click.argument("command", nargs=-1, metavar="[-- SERVER [ARG...]]")
def _command(
    *,
    path: Path,
    given: tuple[str, ...],
    inputs: Path | None,
    ticket: str,
    more: tuple[str, ...],
    secrets: tuple[str, ...],
    journal: Path | None,
    made: tuple[str, ...],
    not_made: tuple[str, ...],
    no_person: bool,
    changed: bool,
    timeout: float,
    scope: dict[str, str],
    dry_run: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Run a procedure against MCP servers, without a model.

    After -- stands the command that starts a server over stdio; --server names others over HTTP. The run stops where
    it meets what was never seen when the procedure was compiled, and says what was done. The exit code is 0 when it
    came to its end, 1 when somebody has to go on from there.
    """
    procedure = read_any(path)
    asked = _Asked(
        path,
        procedure,
        {**_ticket_inputs(path, procedure, ticket), **_file_inputs(inputs), **values(given, "--input")},
        ticket,
        _servers(command, more, procedure),
        dict(pair(each, "--secret") for each in secrets),
        journal,
        None if no_person else TerminalPerson(),
        not_made,
        values(made, "--made"),
        changed,
        timeout,
        scope,
    )
    ran = asyncio.run(_run(asked, dry_run=dry_run))
    if ran is None:
        _render.out("it may run") if not as_json else _render.document({"ready": True})
        return EXIT_OK
    if as_json:
        _render.document(_ran_json(ran))
    else:
        _render.out(_ran_text(ran))
    return EXIT_PROBLEMS if ran.verdict is Verdict.HAND_BACK else EXIT_OK


async def _run(asked: _Asked, *, dry_run: bool) -> Ran | None:
    """Run it; None when it was only asked whether it may.

    Raises:
        UsageError: it may not run. Nothing is raised while servers are open, since their client would hide it.
    """
    asked.check()
    ran: Ran | None = None
    async with open_servers(asked.servers, seconds=asked.seconds) as servers:
        found = asked.changes(servers)
        if not found and not dry_run:
            ran = await adrive(asked.course(servers), _told(servers), person=asked.person)
    if found:
        raise UsageError(f"{asked.path}: not ready: {'; '.join(found)}; --changed runs it nevertheless")
    return ran


def _told(servers: Servers) -> Any:
    """Makes calls, and says which on standard error."""

    async def call(make: Make) -> Done:
        _render.note(f"{make.tool} {json.dumps(make.args) if not make.changes else '(changes something)'}"[:_LINE])
        return await servers.call(_at_server(make, servers))

    return call


def _at_server(make: Make, servers: Servers) -> Make:
    """A call of a tree, which names tools as recordings do, with the server where an agent had several."""
    raw = raw_tool(make.tool)
    listed = {key.partition("/")[2] for key in servers.contracts}
    if make.server or not raw.server or make.tool in listed:
        return make
    return replace(make, server=raw.server, tool=raw.name)


_LINE: Final = 200


def _ticket_inputs(path: Path, procedure: Procedure | TreeProcedure, ticket: str) -> dict[str, JsonValue]:
    if not ticket or not isinstance(procedure, Procedure):
        return {}
    from stretto.cli.tickets import inputs_of_ticket  # noqa: PLC0415 - the router is only needed for this

    return inputs_of_ticket(path, procedure, ticket)


def _file_inputs(path: Path | None) -> JsonObject:
    if path is None:
        return {}
    try:
        value = jsonvalue.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"--inputs {path}: cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"--inputs {path}: expected an object @ $")
    return value


def _servers(command: tuple[str, ...], more: Sequence[str], procedure: Procedure | TreeProcedure) -> tuple[Server, ...]:
    found = given_servers(command, more, servers_of(procedure) if isinstance(procedure, Procedure) else ())
    if not found:
        raise click.UsageError("there is no server: give its command after --, or its URL with --server")
    return found


def _ran_json(ran: Ran) -> JsonObject:
    stopped = ran.escalation
    return {
        "verdict": str(ran.verdict),
        "outputs": ran.outputs,
        "calls": [
            {"step": make.node, "tool": make.tool, "ok": done.ok, "changes": make.changes} for make, done in ran.calls
        ],
        "escalation": None
        if stopped is None
        else {"step": stopped.node, "reason": stopped.reason, "observed": stopped.observed},
        "check": None if ran.check is None else {"probe": ran.check[0], "text": ran.check[1]},
    }


def _ran_text(ran: Ran) -> str:
    lines = [str(ran.verdict)]
    lines += [_render.plain(f"  {name}: {jsonvalue.dumps(value).decode()}") for name, value in ran.outputs.items()]
    if ran.escalation is not None:
        lines.append(
            _render.plain(f"stopped at {ran.escalation.node}: {ran.escalation.reason}: {ran.escalation.observed}")
        )
    elif ran.check is not None:
        lines.append(_render.plain(f"checked with {ran.check[0]}: {' '.join(ran.check[1].split())[:_LINE]}"))
    elif ran.verdict is Verdict.HAND_BACK:
        lines.append("nothing was there to check it with")
    if ran.verdict is Verdict.HAND_BACK:
        done = [make.tool for make, each in ran.calls if each.ok]
        lines.append("done before: " + (", ".join(done) or "nothing"))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    try:
        code = _command.main(args=arguments, prog_name=_NAME, standalone_mode=False)
        return code if isinstance(code, int) else EXIT_OK
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except (WaggleError, OSError) as error:
        _render.note(f"{_NAME}: {error}")
        return EXIT_STORE if isinstance(error, OSError) else EXIT_USAGE
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())

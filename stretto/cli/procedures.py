"""The commands ``procedure show|diff|check``: what a procedure is, what a new version may do, whether it still holds.

Not responsible for running one, nor for routing requests to one (`stretto.cli.routing`).
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from stretto._defaults import EXIT_OK, EXIT_PROBLEMS, SERVER_SECONDS
from stretto.cli import options
from stretto.cli.escalating import escalations
from stretto.cli.given_servers import given_servers
from stretto.cli.jsonfile import read_json
from stretto.cli.routing import route
from stretto.cli.terminal import as_text
from stretto.cli.writing import write
from stretto.errors import UsageError
from stretto.procedure.file import read_any, read_to_check
from stretto.procedure.freshness import Freshness, freshness
from stretto.procedure.graph import Procedure
from stretto.procedure.servers import Server, open_servers
from stretto.procedure.state import Compared, State, compare, contracts_of, servers_of
from stretto.review.document import as_markdown
from stretto.review.procedure_changes import changes_json, changes_page
from stretto.review.procedure_diff import diff_procedures
from stretto.review.procedure_graph import drawn
from stretto.review.procedure_mermaid import mermaid
from stretto.review.procedure_page import procedure_page
from stretto.review.procedure_show import show_procedure
from stretto.review.procedure_shown import shown_json
from stretto.review.procedure_svg import svg
from stretto.review.trees_diff import diff_trees
from stretto.review.trees_show import show_trees, trees_json, trees_page
from waggle import _render
from waggle.errors import WaggleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.procedure.graph import Contract
    from stretto.procedure.trees.model import TreeProcedure
    from stretto.review.document import Block
    from waggle.jsonvalue import JsonObject

__all__ = ["procedure"]

_FILE: Final = click.Path(path_type=Path)
Either: TypeAlias = "Procedure | TreeProcedure"


@click.group("procedure")
def procedure() -> None:
    """Read, compare, check and choose procedures: files that `compile-procedure` wrote, or trees."""


procedure.add_command(escalations)
procedure.add_command(route)


@procedure.command("show")
@click.argument("path", type=_FILE, metavar="FILE")
@click.option("--markdown", is_flag=True, help="Print the page as Markdown, with its graph as Mermaid.")
@click.option("--mermaid", "only_graph", is_flag=True, help="Print only the graph, as Mermaid.")
@click.option("--svg", "picture", type=_FILE, metavar="FILE", help="Draw the graph, too: FILE, which is replaced.")
@options.dry_run
@options.as_json
def show(*, path: Path, markdown: bool, only_graph: bool, picture: Path | None, dry_run: bool, as_json: bool) -> int:
    """Show a procedure to its reviewer.

    What it changes, what it asks for, each step in order with its effect and where every argument comes from, what it
    decides and asks, and what all of that rests on: observed in n of m traces. Only a compiled procedure has a graph.
    """
    if sum((markdown, only_graph, as_json)) > 1:
        raise click.UsageError("--markdown, --mermaid and --json are three ways to print it: give one of them")
    given = read_any(path)
    if not isinstance(given, Procedure) and (only_graph or picture is not None):
        raise UsageError(f"{path}: a tree procedure has no graph that can be drawn")
    if isinstance(given, Procedure) and picture is not None:
        write(picture, svg(drawn(given), f"Procedure {given.name}").encode(), dry_run=dry_run)
    if as_json:
        _render.document(_shown_json(given))
    elif isinstance(given, Procedure) and only_graph:
        _render.out(mermaid(drawn(given)).removesuffix("\n"))
    else:
        page = _page(given)
        _render.out(as_markdown(page).removesuffix("\n") if markdown else as_text(page))
    return EXIT_OK


def _shown_json(given: Either) -> JsonObject:
    return shown_json(show_procedure(given)) if isinstance(given, Procedure) else trees_json(show_trees(given))


def _page(given: Either) -> list[Block]:
    return procedure_page(show_procedure(given)) if isinstance(given, Procedure) else trees_page(show_trees(given))


@procedure.command("diff")
@click.argument("old", type=_FILE, metavar="OLD")
@click.argument("new", type=_FILE, metavar="NEW")
@click.option("--markdown", is_flag=True, help="Print the page as Markdown.")
@options.as_json
def diff(*, old: Path, new: Path, markdown: bool, as_json: bool) -> int:
    """Compare two versions of a procedure.

    What must be reviewed stands first: whatever the new version may do that the old one could not, or does with less
    care: new tools and effects, other sources of what it changes things with, questions and guards that are gone,
    other constants. The exit code is 1 when there is something to review, 0 when there is nothing, and 2 when a
    procedure cannot be read.
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json are two ways to print it: give one of them")
    before, after = read_any(old), read_any(new)
    if isinstance(before, Procedure) and isinstance(after, Procedure):
        compared = diff_procedures(before, after)
    elif not isinstance(before, Procedure) and not isinstance(after, Procedure):
        compared = diff_trees(before, after)
    else:
        raise UsageError(f"{new}: it is of another kind than {old}: a compiled procedure and trees have nothing alike")
    if as_json:
        _render.document(changes_json(compared))
    else:
        page = changes_page(compared)
        _render.out(as_markdown(page).removesuffix("\n") if markdown else as_text(page))
    return EXIT_PROBLEMS if compared.needs_review else EXIT_OK


@procedure.command("check")
@click.argument("path", type=_FILE, metavar="FILE")
@click.option("--tools", type=_FILE, metavar="FILE", help="What a server answered to tools/list, as JSON.")
@click.option(
    "--server",
    "more",
    multiple=True,
    metavar="[NAME=]URL",
    help="A server over HTTP, with a name where several are used.",
)
@options.as_json
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- SERVER...]")
def check(*, path: Path, tools: Path | None, more: tuple[str, ...], as_json: bool, command: tuple[str, ...]) -> int:
    """Check a procedure: whether it fits together, is what was compiled, and whether its tools still are.

    The tools are those of --tools, or of servers, which are started (SERVER, the command of one) or called (--server)
    and asked for their list. The state is `active` when they are what they were, else `stale`; `unknown` where nothing
    was compared. The exit code is 1 when something is wrong or stale. A tree procedure says nothing of its tools.
    """
    given, problems = read_to_check(path)
    servers = given_servers(command, more, servers_of(given) if isinstance(given, Procedure) else ())
    if tools is not None and servers:
        raise click.UsageError("--tools says what a server would: give one of the two")
    compared, fresh = Compared(State.UNKNOWN), {}
    if isinstance(given, Procedure):
        there = _contracts(given, tools, servers)
        compared, fresh = compare(given, there), freshness(given, datetime.now(UTC), there)
    elif tools is not None or servers:
        raise UsageError(f"{path}: a tree procedure does not say what its tools were")
    if as_json:
        _render.document(
            {
                "kind": "graph" if isinstance(given, Procedure) else "trees",
                "digest": given.digest if isinstance(given, Procedure) else "",
                "problems": list(problems),
                "state": str(compared.state),
                "stale": list(compared.stale),
                "unknown": list(compared.unknown),
                "fixed": {name: str(what) for name, what in fresh.items()},
            }
        )
    else:
        _render.out(_checked_text(given, problems, compared, fresh))
    return EXIT_PROBLEMS if problems or compared.state is State.STALE else EXIT_OK


_FRESH: Final = {
    Freshness.FRESH: "may be used",
    Freshness.REFRESH: "is read anew by a run",
    Freshness.LOST: "may not be used, and nothing reads it anew: a run is handed back",
}


def _checked_text(given: Either, problems: Sequence[str], compared: Compared, fresh: Mapping[str, Freshness]) -> str:
    lines = [f"problem: {_render.plain(each)}" for each in problems] or ["it fits together"]
    if isinstance(given, Procedure):
        lines += [] if given.digest else ["note: it has no digest, so that no change of the file is noticed"]
        said = {State.ACTIVE: "its tools are what they were", State.UNKNOWN: "its tools were not looked at"}
        lines.append(f"{compared.state}: {said.get(compared.state, 'it is not started as it is')}")
        lines += [f"stale: {_render.plain(each)}" for each in compared.stale]
        lines += [f"fixed: {_render.plain(name)} {_FRESH[what]}" for name, what in fresh.items()]
        lines += [f"note: it is not known what {_render.plain(each)} was" for each in compared.unknown]
    return "\n".join(lines)


def _contracts(given: Procedure, tools: Path | None, servers: Sequence[Server]) -> dict[str, Contract] | None:
    """The contracts of the tools that are there; a listing is that of the only server that the procedure names."""
    if tools is not None:
        names = servers_of(given)
        try:
            return contracts_of(read_json(tools), names[0] if len(names) == 1 else "")
        except ValueError as error:
            raise UsageError(str(error) if isinstance(error, WaggleError) else f"{tools}: {error}") from None
    return asyncio.run(_listed(servers)) if servers else None


async def _listed(servers: Sequence[Server]) -> dict[str, Contract]:
    what = ", ".join(" ".join(server.command) or server.url for server in servers)
    try:
        async with asyncio.timeout(SERVER_SECONDS), open_servers(servers) as opened:
            return dict(opened.contracts)
    except WaggleError:
        raise
    except TimeoutError:
        raise UsageError(f"{what}: has not listed its tools within {SERVER_SECONDS:g} s") from None
    except Exception as error:  # noqa: BLE001 - what a server does wrong reaches us in many classes, and in groups
        raise UsageError(f"{what}: cannot be asked for its tools: {_innermost(error)}") from None


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(str(error).split()) or type(error).__name__

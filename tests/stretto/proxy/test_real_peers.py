"""The proxy in front of servers that nobody here wrote: the official client hears the same with it and without it.

Those for Python come with the development extra. Those for Node are installed once, into pytest's cache; where that
cannot be, their tests are skipped and say why.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest

import stretto
from stretto.sessions.episode import ToolResult
from tests.conftest import ROOT
from tests.stretto.proxy.mcp_peers import (
    ANY,
    HANDSHAKE,
    PROXY,
    Peer,
    Step,
    WebPeer,
    abandoned,
    converse,
    differences,
    elicited,
    free_port,
    roots,
    sampled,
    serving,
    together,
    tool,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.stretto.proxy.mcp_peers import Talk

#: What a client of the handshake's era may still say, and the SDK discourages.
pytestmark = [
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
    pytest.mark.timeout(240),
]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

#: What any client may ask of any server; the answer may be that it cannot.
ASKED_OF_ALL = (
    Step("progress of mine", lambda talk: talk.client.send_progress_notification("no-token", 0.5, 1.0, "half")),
    Step("tools", lambda talk: talk.client.list_tools()),
    Step("no such page", lambda talk: talk.client.list_tools(cursor="no such page")),
    Step("resources", lambda talk: talk.client.list_resources()),
    Step("templates", lambda talk: talk.client.list_resource_templates()),
    Step("prompts", lambda talk: talk.client.list_prompts()),
    Step("no such tool", lambda talk: talk.client.call_tool("no such tool", {})),
    Step("no such prompt", lambda talk: talk.client.get_prompt("no such prompt")),
    Step("no such resource", lambda talk: talk.client.read_resource("demo://nowhere")),
    Step("ping", lambda talk: talk.client.send_ping()),
    Step("level", lambda talk: talk.client.set_logging_level("warning")),
    Step("subscribe", lambda talk: talk.client.subscribe_resource("demo://resource/static/document/features.md")),
    Step("unsubscribe", lambda talk: talk.client.unsubscribe_resource("demo://resource/static/document/features.md")),
)


ROOTS_CHANGED = Step("roots changed", lambda talk: talk.client.send_roots_list_changed())


@dataclass(frozen=True)
class World:
    """A server, the directory it works in, what a client asks of it, and what that client can do."""

    peer: Peer
    lay: Callable[[], None]
    steps: Sequence[Step]
    client: dict[str, Any]


def peer(*command: str, **env: str) -> Peer:
    """A server whose environment is the same behind the proxy as without it."""
    return Peer(command, {"PYTHONPATH": str(ROOT), **env})


def npx(place: Path, name: str, *arguments: str) -> Peer:
    """One of Node's servers, started as hosts start them."""
    return peer("npx", "--prefix", str(place), "--no", "--", name, *arguments)


def time_world(_tmp_path: Path, _request: pytest.FixtureRequest) -> World:
    """The server that tells the time."""
    steps = (
        tool("get_current_time", timezone="Europe/Warsaw"),
        tool("get_current_time", timezone="Nowhere/Nothing"),
        tool("get_current_time"),
        tool("get_current_time", timezone=7),
        tool("convert_time", source_timezone="UTC", time="12:30", target_timezone="Asia/Kathmandu"),
        tool("convert_time", source_timezone="UTC", time="25:99", target_timezone="Asia/Kathmandu"),
        Step("at once", lambda talk: together(*(_now(talk, zone) for zone in ("UTC", "Asia/Tokyo", "nowhere") * 10))),
    )
    server = peer(sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC")
    return World(server, lambda: None, (*steps, ROOTS_CHANGED), {})


async def _now(talk: Talk, zone: str) -> Any:
    return await talk.client.call_tool("get_current_time", {"timezone": zone})


def git_world(tmp_path: Path, _request: pytest.FixtureRequest) -> World:
    """The server that works on a repository."""
    repo = tmp_path / "repo"
    at = {
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=repo, env={**os.environ, **at}, check=True, capture_output=True)

    def lay() -> None:
        (tmp_path / "gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n", encoding="utf-8")
        shutil.rmtree(repo, ignore_errors=True)
        repo.mkdir()
        git("init", "--quiet", "--initial-branch=main")
        (repo / "poem.txt").write_text("roses are red\nviolets are blue\n", encoding="utf-8")
        git("add", "poem.txt")
        git("commit", "--quiet", "--message", "begin")
        (repo / "poem.txt").write_text("roses are red\nviolets are violet: ü ✓\n", encoding="utf-8")

    here = str(repo)
    steps = (
        tool("git_status", repo_path=here),
        tool("git_log", repo_path=here),
        tool("git_diff_unstaged", repo_path=here),
        tool("git_add", repo_path=here, files=["poem.txt"]),
        tool("git_diff_staged", repo_path=here),
        tool("git_reset", repo_path=here),
        tool("git_add", repo_path=here, files=["poem.txt"]),
        tool("git_commit", repo_path=here, message="correct a colour"),
        tool("git_show", repo_path=here, revision="HEAD"),
        tool("git_show", repo_path=here, revision="HEAD:poem.txt"),
        tool("git_create_branch", repo_path=here, branch_name="draft"),
        tool("git_checkout", repo_path=here, branch_name="draft"),
        tool("git_branch", repo_path=here, branch_type="local"),
        tool("git_diff", repo_path=here, target="main~1"),
        tool("git_log", repo_path=here, max_count=1),
        tool("git_checkout", repo_path=here, branch_name="nowhere"),
        tool("git_show", repo_path=here, revision="nothing"),
        tool("git_status", repo_path=str(tmp_path)),
        tool("git_add", repo_path=here, files=[]),
    )
    return World(
        peer(sys.executable, "-m", "mcp_server_git", "--repository", here, **at), lay, (*steps, ROOTS_CHANGED), {}
    )


def files_world(tmp_path: Path, request: pytest.FixtureRequest) -> World:
    """The server that reads and writes files."""
    place = tmp_path / "files"

    def lay() -> None:
        shutil.rmtree(place, ignore_errors=True)
        (place / "notes" / "old").mkdir(parents=True)
        (place / "notes" / "todo.txt").write_text("milk\nbread\nlamp: ü ✓\n", encoding="utf-8")
        (place / "notes" / "old" / "done.txt").write_text("kettle\n", encoding="utf-8")
        (place / "pixel.png").write_bytes(PIXEL)
        (place / "large.txt").write_text("a line of a large file\n" * 10_000, encoding="utf-8")

    def at(name: str) -> str:
        return str(place / name)

    todo = at("notes/todo.txt")
    steps = (
        tool("list_allowed_directories"),
        tool("list_directory", path=str(place)),
        tool("list_directory_with_sizes", path=str(place), sortBy="size"),
        tool("directory_tree", path=str(place), excludePatterns=["old"]),
        tool("search_files", path=str(place), pattern="**/*.txt"),
        tool("read_text_file", path=todo),
        tool("read_text_file", path=todo, head=1),
        tool("read_file", path=todo, tail=1),
        tool("read_text_file", path=at("large.txt")),
        tool("read_media_file", path=at("pixel.png")),
        tool("read_multiple_files", paths=[todo, at("notes/old/done.txt"), at("none.txt")]),
        tool("write_file", path=at("new.txt"), content="new\n" * 30_000),
        tool("edit_file", path=todo, edits=[{"oldText": "bread", "newText": "cake"}], dryRun=True),
        tool("edit_file", path=todo, edits=[{"oldText": "bread", "newText": "cake"}]),
        tool("edit_file", path=todo, edits=[{"oldText": "not there", "newText": "cake"}]),
        tool("create_directory", path=at("made/deep")),
        tool("move_file", source=at("new.txt"), destination=at("made/deep/new.txt")),
        tool("directory_tree", path=str(place)),
        tool("get_file_info", path=at("notes")),
        tool("read_text_file", path=str(tmp_path / "gitconfig")),
        tool("read_text_file", path=at("none.txt")),
        tool("read_text_file"),
        Step(
            "at once",
            lambda talk: together(*(talk.client.call_tool("read_text_file", {"path": todo}) for _ in range(30))),
        ),
    )
    client = {"list_roots_callback": roots(place / "notes", place)}
    installed: Path = request.getfixturevalue("node_peers")
    return World(npx(installed, "mcp-server-filesystem", str(place)), lay, (*steps, ROOTS_CHANGED), client)


def everything_world(tmp_path: Path, request: pytest.FixtureRequest) -> World:
    """The server that has everything the protocol knows."""
    pixel = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    document = "demo://resource/static/document/features.md"
    log = "notifications/message"  # of the client's roots: after 350 ms, and after each change
    steps = (
        Step("roots were read", lambda talk: talk.ears.until(log, 1)),
        tool("echo", message="hello: ü ✓ \u2028 \U0001f600"),
        tool("echo", message="x" * 1_000_000),
        tool("echo"),
        tool("get-sum", a=1, b=2.5),
        tool("get-sum", a="one", b=2),
        tool("get-env"),
        tool("get-tiny-image"),
        *(tool("get-annotated-message", messageType=kind, includeImage=True) for kind in ("error", "success", "debug")),
        tool("get-resource-links", count=3),
        tool("get-resource-reference", resourceType="Text", resourceId=1),
        tool("get-resource-reference", resourceType="Blob", resourceId=2),
        tool("get-structured-content", location="Chicago"),
        tool("get-structured-content", location="Atlantis"),
        tool("gzip-file-as-resource", name="pixel.gz", data=pixel, outputType="resource"),
        tool("get-roots-list"),
        tool("trigger-sampling-request", prompt="who?", maxTokens=10),
        tool("trigger-elicitation-request"),
        tool("trigger-url-elicitation", url="https://example.com/", elicitationId="one"),
        tool("simulate-research-query", topic="bees"),
        Step(
            "long, with progress",
            lambda talk: talk.client.call_tool(
                "trigger-long-running-operation", {"duration": 0.4, "steps": 4}, progress_callback=talk.progressed
            ),
        ),
        Step("given up", lambda talk: abandoned(talk, "trigger-long-running-operation", {"duration": 2}, 0.3)),
        Step(
            "timed out",
            lambda talk: talk.client.call_tool(
                "trigger-long-running-operation", {"duration": 0.6, "steps": 1}, read_timeout_seconds=0.2
            ),
        ),
        Step("both at once", lambda talk: together(*(_echo(talk, number) for number in range(100)))),
        Step("document", lambda talk: talk.client.read_resource(document)),
        Step("text", lambda talk: talk.client.read_resource("demo://resource/dynamic/text/7")),
        Step("blob", lambda talk: talk.client.read_resource("demo://resource/dynamic/blob/8")),
        Step("simple", lambda talk: talk.client.get_prompt("simple-prompt")),
        Step("arguments", lambda talk: talk.client.get_prompt("args-prompt", {"city": "Lviv", "state": "ü"})),
        Step("incomplete", lambda talk: talk.client.get_prompt("args-prompt")),
        Step(
            "embedded",
            lambda talk: talk.client.get_prompt("resource-prompt", {"resourceType": "Text", "resourceId": "1"}),
        ),
        Step(
            "completion of a prompt",
            lambda talk: talk.client.complete(
                types.PromptReference(type="ref/prompt", name="completable-prompt"),
                {"name": "department", "value": "E"},
            ),
        ),
        Step(
            "completion of a resource",
            lambda talk: talk.client.complete(
                types.ResourceTemplateReference(type="ref/resource", uri="demo://resource/dynamic/text/{resourceId}"),
                {"name": "resourceId", "value": "1"},
            ),
        ),
    )
    read_again = Step("roots were read again", lambda talk: talk.ears.until(log, 2))
    client = {
        "sampling_callback": sampled,
        "elicitation_callback": elicited,
        "list_roots_callback": roots(tmp_path),
    }
    installed: Path = request.getfixturevalue("node_peers")
    return World(npx(installed, "mcp-server-everything"), lambda: None, (*steps, ROOTS_CHANGED, read_again), client)


async def _echo(talk: Talk, number: int) -> Any:
    return await talk.client.call_tool("echo", {"message": f"number {number}"})


@pytest.mark.parametrize("mode", [HANDSHAKE, ANY])
@pytest.mark.parametrize("world_of", [time_world, git_world, files_world, everything_world])
def test_a_client_hears_the_same_from_a_real_server_with_and_without_the_proxy(
    world_of: Callable[[Path, pytest.FixtureRequest], World], mode: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The proxy only passes on in one era, and records in the other."""
    world = world_of(tmp_path, request)
    recorded = tmp_path / "recorded"

    def heard(server: Peer) -> list[Any]:
        world.lay()
        return converse(server, [*world.steps, *ASKED_OF_ALL], mode=mode, errlog=tmp_path / "stderr", **world.client)

    alone = heard(world.peer)
    options = () if mode == HANDSHAKE else ("--record", str(recorded))
    assert differences(alone, heard(world.peer.behind(*options))) == []
    if options:
        _check_recording(recorded, {item[0]: item[1] for item in alone})


@pytest.mark.parametrize("mode", [HANDSHAKE, ANY])
@pytest.mark.parametrize("world_of", [time_world, git_world, files_world, everything_world])
def test_a_client_over_http_hears_from_a_server_of_standard_input_what_others_hear(
    world_of: Callable[[Path, pytest.FixtureRequest], World], mode: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    world = world_of(tmp_path, request)
    recorded = tmp_path / "recorded"

    def heard(server: Peer) -> list[Any]:
        world.lay()
        return converse(server, [*world.steps, *ASKED_OF_ALL], mode=mode, errlog=tmp_path / "stderr", **world.client)

    alone = heard(world.peer)
    listening = world.peer.behind("--record", str(recorded), "--listen", "0")
    assert differences(alone, heard(WebPeer(listening.command, listening.env, listening.cwd))) == []
    _check_recording(recorded, {item[0]: item[1] for item in alone})


@pytest.mark.parametrize("mode", [HANDSHAKE, ANY])
@pytest.mark.parametrize("listens", [False, True])
def test_a_client_hears_the_same_from_a_real_server_over_http_with_and_without_the_proxy(
    mode: str, *, listens: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The client itself speaks over HTTP or over standard input and output."""
    world = everything_world(tmp_path, request)
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    server = WebPeer((*world.peer.command, "streamableHttp"), {**world.peer.env, "PORT": str(port)}, url=url)
    recorded = tmp_path / "recorded"
    options = ["--record", str(recorded), "--upstream", url]
    front = WebPeer((*PROXY, "--listen", "0", *options), world.peer.env) if listens else peer(*PROXY, *options)

    def heard(one: Peer) -> list[Any]:
        return converse(one, [*world.steps, *ASKED_OF_ALL], mode=mode, errlog=tmp_path / "stderr", **world.client)

    with serving(server, tmp_path / "server"):
        alone = heard(WebPeer((), url=url))
        assert differences(alone, heard(front)) == []
    _check_recording(recorded, {item[0]: item[1] for item in alone})


def _check_recording(place: Path, said: dict[str, Any]) -> None:
    """The recording has the tools that the client was told of, and the calls of it that went well."""
    (recorded,) = stretto.open_corpus(place)
    assert set(recorded.manifest.tools) == {tool["name"] for tool in said["tools"]["tools"]}
    results = [event for event in recorded.episode.events if isinstance(event, ToolResult)]
    made = {event.name for event in results if not event.error}
    assert made >= {name.split(" {")[0] for name, outcome in said.items() if _went_well(name, outcome)}


def _went_well(name: str, outcome: Any) -> bool:
    return name.endswith("}") and "content" in outcome and not outcome.get("isError", False)

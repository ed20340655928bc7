"""The kinds of τ-bench's tools are read from source text that is never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import ManifestError
from stretto.sessions.manifest import Manifest
from stretto.sessions.tau import kind_by_name, named_manifest, tau_manifest

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = r'''
"""Tools."""
import nothing_that_exists
raise SystemExit("it was run")

class Tools:
    def helper(self): ...

    @is_tool(ToolType.READ)
    # @is_tool(ToolType.WRITE)
    def get_order(self, order_id: str) -> str:
        """
        Text that looks like code:
        @is_tool(ToolType.WRITE)
        def get_order
        """
        return "\d"

    @is_tool(ToolType.WRITE)
    @another
    def cancel(self): ...

    @is_tool(ToolType.GENERIC)
    def calculate(self): ...

    @is_tool(ToolType.THINK)
    async def think(self): ...

    @is_tool()
    def find(self): ...

    @toolkit.is_tool(tool_type=toolkit.ToolType.WRITE, mutates_state=False)
    def hand_over(self): ...

    @is_tool(ToolType.READ, mutates_state=True)
    def get_unread(self): ...

    @is_discoverable_tool(ToolType.READ)
    def get_hidden(self): ...

    @property
    def not_a_tool(self): ...
'''


def domain(root: Path, place: str = "src/tau2/domains/shop", **sources: str) -> Path:
    folder = root / place
    folder.mkdir(parents=True)
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return root


def test_kinds_are_those_of_the_decorators(tmp_path: Path) -> None:
    assert tau_manifest(domain(tmp_path, tools=TOOLS), "shop") == Manifest(
        "shop",
        {
            "calculate": "generic",
            "cancel": "write",
            "find": "read",
            "get_hidden": "read",
            "get_order": "read",
            "get_unread": "write",
            "hand_over": "write",
            "think": "generic",
        },
    )


@pytest.mark.parametrize("place", ["src/tau2/domains/shop", "tau2/domains/shop", "domains/shop"])
def test_a_checkout_its_src_and_the_package_all_do(tmp_path: Path, place: str) -> None:
    assert tau_manifest(domain(tmp_path, place, tools=TOOLS), "shop").reads == ("find", "get_hidden", "get_order")


def test_solo_runs_have_the_customers_tools_too_and_the_agents_own_win(tmp_path: Path) -> None:
    theirs = "@is_tool(ToolType.WRITE)\ndef reboot(self): ...\n@is_tool(ToolType.WRITE)\ndef find(self): ...\n"
    root = domain(tmp_path, tools=TOOLS, user_tools=theirs)
    assert "reboot" not in tau_manifest(root, "shop").tools
    solo = tau_manifest(root, "shop", solo=True)
    assert (solo.kind("reboot"), solo.kind("find")) == ("write", "read")
    assert tau_manifest(domain(tmp_path / "b", tools=TOOLS), "shop", solo=True).kind("find") == "read"


@pytest.mark.parametrize("name", ["bakery", "../../../shop", "", "a\0b", "/etc"])
def test_a_domain_that_is_not_there_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(ManifestError, match="there is no domain"):
        tau_manifest(domain(tmp_path, tools=TOOLS), name)


@pytest.mark.parametrize("text", ["def (", "\0", "(" * 5000, "x = " + "-" * 100_000 + "1"])
def test_a_file_that_is_no_python_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(ManifestError, match="cannot be parsed as Python"):
        tau_manifest(domain(tmp_path, tools=text), "shop")


@given(st.text(max_size=60))
def test_no_source_text_ends_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root = tmp_path_factory.mktemp("tau2")
    try:
        tau_manifest(domain(root, tools=text.encode("utf-8", "replace").decode()), "shop")
    except ManifestError as error:
        assert error.path.endswith("tools.py")  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        *(("get_order_details", "read"), ("search_direct_flight", "read"), ("list_all_airports", "read")),
        *(("find_user_id_by_email", "read"), ("calculate", "generic"), ("think", "generic")),
        *(("transfer_to_human_agents", "generic"), ("cancel_reservation", "write"), ("getaway", "write")),
    ],
)
def test_without_a_checkout_the_name_tells_the_kind(tool: str, kind: str) -> None:
    assert kind_by_name(tool) == kind


def test_a_manifest_by_name_is_sorted_and_has_each_tool_once() -> None:
    assert list(named_manifest(["think", "get_b", "get_a", "get_b"], "shop").tools) == ["get_a", "get_b", "think"]

"""Runs each framework's tests against its current release, in an environment of its own: their needs conflict.

``python -m tests.integrations.run [NAME...]``; see ``--help``. Prints a line for each framework as it is done, and
exits with 1 if any that could be installed failed. An environment is kept for as long as what it is made from does not
change; the tests run on this checkout, whichever one made the environment. uv makes them, from where pip would install.

Not responsible for the tests: ``test_NAME.py`` beside this file.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from tests.runs import ROOT, install, ran, tried

HERE: Final = Path(__file__).resolve().parent


class Framework(NamedTuple):
    """What one framework's tests need.

    Attributes:
        packages: as uv takes them; the first is the one whose version is told.
        tests: what the tests are called, where that is not, or not only, the framework's name.
    """

    packages: tuple[str, ...]
    tests: tuple[str, ...] = ()


#: Every framework that has an adapter, the slowest first. Two majors of ``mcp`` cannot live in one environment.
FRAMEWORKS: Final[dict[str, Framework]] = {
    "mcp_client": Framework(("mcp>=2.3",)),
    "google_adk": Framework(("google-adk>=2.13",)),
    "mcp1_client": Framework(("mcp>=1.24,<2",)),
    "openai_agents": Framework(("openai-agents>=0.24",)),
    "fastmcp": Framework(("fastmcp>=4.2",)),
    "langchain": Framework(
        ("langchain>=1.5", "langgraph>=1.2", "langchain-mcp-adapters>=0.3"), ("langchain", "langgraph_mcp")
    ),
    "pydantic_ai": Framework(("pydantic-ai-slim[mcp]>=2.68",)),
    "smolagents": Framework(("smolagents>=1.26",)),
    "agent_framework": Framework(("agent-framework-core>=1.23",)),
    "strands": Framework(("strands-agents>=1.62",)),
}

#: What every environment has beside the framework and this project.
COMMON: Final = ("hypothesis>=6.100", "pytest>=8", "pytest-timeout>=2.3")

#: Frameworks warn of what is theirs to mend; everything else is as in the other tests.
PYTEST: Final = ("-q", "-o", "filterwarnings=default", "-p", "no:cacheprovider", "--timeout", "120")


#: Settings of pip that say where packages come from, by uv's names, the older ones: a newer one that is set there wins.
FROM_PIP: Final = {
    "cert": "SSL_CERT_FILE",
    "constraint": "UV_CONSTRAINT",
    "extra-index-url": "UV_EXTRA_INDEX_URL",
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_INDEX_URL",
}


def main() -> int:
    """Run the tests of the frameworks asked for; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FRAMEWORKS)}; all by default")
    parser.add_argument("--cache", type=Path, default=ROOT / ".integrations", help="where environments are kept")
    parser.add_argument(
        "--jobs", type=int, default=4, help="environments at a time (default: 4): mostly they wait for the network"
    )
    parser.add_argument("--seconds", type=float, default=480, help="for each installation and each test run")
    options = parser.parse_args()
    if importlib.util.find_spec("uv") is None:
        parser.error("uv is not installed here; it comes with the extra `dev`")
    names = options.names or list(FRAMEWORKS)
    if unknown := set(names) - set(FRAMEWORKS):
        parser.error(f"no such framework: {', '.join(sorted(unknown))}; there are {', '.join(FRAMEWORKS)}")
    with ThreadPoolExecutor(max(options.jobs, 1)) as pool:
        done = pool.map(lambda name: _tried(name, options.cache, options.seconds), names)
        return 0 if all([*done]) else 1


def _tried(name: str, cache: Path, seconds: float) -> bool:
    """Install and test one framework and say what came of it; False only if its tests failed."""
    tests = [str(HERE / f"test_{test}.py") for test in FRAMEWORKS[name].tests or (name,)]
    python = cache / name / "bin" / "python"

    def prepare() -> str:
        _install(name, cache / name, seconds)
        return _version(python, name)

    run = [str(python), "-m", "pytest", *PYTEST, *tests]
    return tried(name, prepare, lambda: ran(run, seconds, **_compiled_in(cache / name)))


def _install(name: str, place: Path, seconds: float) -> None:
    """Make a framework's environment where there is none or where it is an old one."""
    python, stamp = place / "bin" / "python", place / "installed"
    wanted = [*COMMON, *FRAMEWORKS[name].packages]
    made_from = "\n".join([sys.version, *wanted, (ROOT / "pyproject.toml").read_text(encoding="utf-8")])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == made_from:
        return
    shutil.rmtree(place, ignore_errors=True)
    uv = [sys.executable, "-m", "uv", "--quiet"]
    packages = [*uv, "pip", "install", "--python", str(python), "-e", str(ROOT), *wanted]
    for command in ([*uv, "venv", "--python", sys.executable, str(place)], packages):
        install(command, seconds, **uv_settings(_pip_settings()))
    stamp.write_text(made_from, encoding="utf-8")


def _compiled_in(place: Path) -> dict[str, str]:
    """Keep what Python compiles there, for all that a test starts, and not beside the sources of this checkout."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(place / "bytecode")}


def _pip_settings() -> str:
    """What ``pip config list`` says here; nothing where there is no pip."""
    ok, said = ran([sys.executable, "-m", "pip", "config", "list"], 60)
    return said if ok else ""


def uv_settings(listed: str) -> dict[str, str]:
    """Tell uv, which reads no settings of pip, where pip would install from.

    Args:
        listed: what ``pip config list`` says, a setting a line.

    Returns:
        Environment variables, without those that are set already.
    """
    found: dict[str, str] = {}
    for scope in ("global.", "install.", ":env:."):  # the later one counts
        for line in listed.splitlines():
            name, _, value = line.removeprefix(scope).partition("=")
            if line.startswith(scope) and name in FROM_PIP:
                found[FROM_PIP[name]] = ("," if name == "find-links" else " ").join(ast.literal_eval(value).split())
    if "UV_EXTRA_INDEX_URL" in found:
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # as pip does: no index is better than another
    return {name: value for name, value in found.items() if name not in os.environ}


def _version(python: Path, name: str) -> str:
    package = re.split(r"[\[<>=]", FRAMEWORKS[name].packages[0])[0]
    ask = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run(
        [str(python), "-c", ask], check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

"""Runs each framework's tests against its current release, in an environment of its own: their needs conflict.

``python tests/integrations/run.py [NAME...]``; see ``--help``. Prints a line for each framework as it is done, and
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
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent


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


class _FailedError(Exception):
    """A framework cannot be installed; what uv says."""


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
    begun = time.monotonic()
    try:
        python = _installed(name, cache, seconds)
        version = _version(python, name)
    except (_FailedError, OSError, subprocess.SubprocessError) as error:
        print(f"{name}: cannot be installed: {_end(str(error))}", flush=True)
        return True
    installed = time.monotonic()
    tests = [str(HERE / f"test_{test}.py") for test in FRAMEWORKS[name].tests or (name,)]
    ok, said = _ran([str(python), "-m", "pytest", *PYTEST, *tests], seconds, **_compiled_in(cache / name))
    took = f"{installed - begun:.0f} s to install, {time.monotonic() - installed:.0f} s to test"
    print(f"{name} {version}: {'passed' if ok else 'failed'} ({_summed(said)}; {took})", flush=True)
    if not ok:
        print(said, flush=True)
    return ok


def _installed(name: str, cache: Path, seconds: float) -> Path:
    """The interpreter of a framework's environment, which is made where there is none or where it is an old one."""
    place = cache / name
    python, stamp = place / "bin" / "python", place / "installed"
    wanted = [*COMMON, *FRAMEWORKS[name].packages]
    made_from = "\n".join([sys.version, *wanted, (ROOT / "pyproject.toml").read_text(encoding="utf-8")])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == made_from:
        return python
    shutil.rmtree(place, ignore_errors=True)
    uv = [sys.executable, "-m", "uv", "--quiet"]
    install = [*uv, "pip", "install", "--python", str(python), "-e", str(ROOT), *wanted]
    for command in ([*uv, "venv", "--python", sys.executable, str(place)], install):
        ok, said = _ran(command, seconds, **uv_settings(_pip_settings()))
        if not ok:
            raise _FailedError(said)
    stamp.write_text(made_from, encoding="utf-8")
    return python


def _compiled_in(place: Path) -> dict[str, str]:
    """Keep what Python compiles there, for all that a test starts, and not beside the sources of this checkout."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(place / "bytecode")}


def _pip_settings() -> str:
    """What ``pip config list`` says here; nothing where there is no pip."""
    ok, said = _ran([sys.executable, "-m", "pip", "config", "list"], 60)
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


def _ran(command: list[str], seconds: float, **variables: str) -> tuple[bool, str]:
    """Whether a command succeeded within its time, and all that it printed."""
    own = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"took longer than {seconds:.0f} s"
    return done.returncode == 0, done.stdout


def _summed(said: str) -> str:
    """The line in which pytest counts, which warnings may follow."""
    counts = [line for line in said.splitlines() if re.search(r"\d (passed|failed|error)", line)]
    return _end(counts[-1] if counts else said)


def _end(said: str) -> str:
    """The last line that says something, without its decoration."""
    lines = [line.strip("= ") for line in said.splitlines() if line.strip("= ")]
    return lines[-1][-200:] if lines else "nothing was said"


if __name__ == "__main__":
    sys.exit(main())

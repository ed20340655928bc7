"""Runs the tests that need the real Claude Code, in an environment of their own: the program is 400 MB.

``python -m tests.claude_code.run``; see ``--help``. Prints one line: name, version, what came of it. Exits with 1 if
the tests failed, not where it cannot be installed. The program is the one that the package ``claude-agent-sdk``
bundles; nothing is asked of the network but the package index. The environment is kept for as long as what it is made
from does not change; the tests run on this checkout, whichever one made the environment.

Not responsible for the tests: ``test_*.py`` beside this file.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.runs import ROOT, NotInstalledError, environment, install, ran, tried

HERE: Final = Path(__file__).resolve().parent

#: What the environment has beside this project. From this release on the program is known to do what the tests expect.
PACKAGES: Final = ("claude-agent-sdk>=0.2.189", "hypothesis>=6.100", "pytest>=8", "pytest-timeout>=2.3")
PYTEST: Final = ("-q", "-p", "no:cacheprovider", "--timeout", "300")
VERSIONS: Final = (
    "import importlib.metadata as m, subprocess; from tests.claude_code.agent import binary; "
    "said = subprocess.run([binary(), '--version'], capture_output=True, text=True, check=True).stdout; "
    "print(m.version('claude-agent-sdk'), f'(Claude Code {said.split()[0]})')"
)


def main() -> int:
    """Install, test, and say what came of it; 1 if the tests failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=ROOT / ".integrations", help="where the environment is kept")
    parser.add_argument("--seconds", type=float, default=900, help="for the installation, and for the tests")
    parser.add_argument("--record", action="store_true", help="record anew what the ordinary tests read, test nothing")
    options = parser.parse_args()
    python = options.cache / "claude_code" / "bin" / "python"

    def prepare() -> str:
        _install(python, options.seconds)
        ok, version = ran([str(python), "-c", VERSIONS], 60)
        if not ok:
            raise NotInstalledError(version)
        return version.strip()

    if options.record:
        prepare()
        recording = [str(python), "-m", "tests.claude_code.record"]
        return subprocess.run(recording, cwd=ROOT, env=environment(), check=False).returncode
    tests = [str(path) for path in sorted(HERE.glob("test_*.py"))]
    run = [str(python), "-m", "pytest", *PYTEST, *tests]
    return 0 if tried("claude-agent-sdk", prepare, lambda: ran(run, options.seconds)) else 1


def _install(python: Path, seconds: float) -> None:
    """Make the environment where there is none or an old one."""
    place = python.parent.parent
    stamp = place / "installed"
    made_from = "\n".join([sys.version, *PACKAGES, (ROOT / "pyproject.toml").read_text(encoding="utf-8")])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == made_from:
        return
    shutil.rmtree(place, ignore_errors=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", str(place)], [*pip, "-e", f"{ROOT}[http]", *PACKAGES]):
        install(command, seconds)
    stamp.write_text(made_from, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

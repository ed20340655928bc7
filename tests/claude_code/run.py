"""Runs the tests that need the real Claude Code, in an environment of their own: the program is 400 MB.

``python tests/claude_code/run.py``; see ``--help``. Prints one line: name, version, what came of it. Exits with 1 if
the tests failed, not where it cannot be installed. The program is the one that the package ``claude-agent-sdk``
bundles; nothing is asked of the network but the package index. The environment is kept for as long as what it is made
from does not change; the tests run on this checkout, whichever one made the environment.

Not responsible for the tests: ``test_*.py`` beside this file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent

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
    begun = time.monotonic()
    python = options.cache / "claude_code" / "bin" / "python"
    ok, said = _installed(python, options.seconds)
    ok, version = _ran([str(python), "-c", VERSIONS], 60) if ok else (False, said)
    if not ok:
        print(f"claude-agent-sdk: cannot be installed: {_end(version)}", flush=True)
        return 0
    if options.record:
        return subprocess.run([python, "-m", "tests.claude_code.record"], cwd=ROOT, env=_env(), check=False).returncode
    installed = time.monotonic()
    tests = [str(path) for path in sorted(HERE.glob("test_*.py"))]
    ok, said = _ran([str(python), "-m", "pytest", *PYTEST, *tests], options.seconds)
    took = f"{installed - begun:.0f} s to install, {time.monotonic() - installed:.0f} s to test"
    print(f"claude-agent-sdk {version.strip()}: {'passed' if ok else 'failed'} ({_end(said)}; {took})", flush=True)
    if not ok:
        print(said, flush=True)
    return 0 if ok else 1


def _installed(python: Path, seconds: float) -> tuple[bool, str]:
    """Whether the environment is there, which is made where there is none or an old one; and what was said."""
    place = python.parent.parent
    stamp = place / "installed"
    made_from = "\n".join([sys.version, *PACKAGES, (ROOT / "pyproject.toml").read_text(encoding="utf-8")])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == made_from:
        return True, ""
    shutil.rmtree(place, ignore_errors=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", str(place)], [*pip, "-e", f"{ROOT}[http]", *PACKAGES]):
        ok, said = _ran(command, seconds)
        if not ok:
            return False, said
    stamp.write_text(made_from, encoding="utf-8")
    return True, ""


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def _ran(command: list[str], seconds: float) -> tuple[bool, str]:
    """Whether a command succeeded within its time, and all that it printed."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=_env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, f"{command[0]}: {error}"
    return done.returncode == 0, done.stdout


def _end(said: str) -> str:
    """The last line that says something, without its decoration."""
    lines = [line.strip("= ") for line in said.splitlines() if line.strip("= ")]
    return lines[-1][-200:] if lines else "nothing was said"


if __name__ == "__main__":
    sys.exit(main())

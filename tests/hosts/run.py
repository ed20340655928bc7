"""Runs the tests of the command-line hosts against their real binaries, which npm installs.

``python tests/hosts/run.py [NAME...]``; see ``--help``. Prints a line for each host as it is done, and exits with 1 if
any that could be installed failed. No model is asked: the binaries talk to a scripted endpoint of this machine. A host
is installed once; ``--latest`` installs it anew.

Not responsible for the tests: ``test_NAME.py`` beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent


class Binary(NamedTuple):
    """Where a host's binary comes from.

    Attributes:
        package: as npm takes it.
        command: in the package's directory of commands.
    """

    package: str
    command: str


#: The hosts whose binary can be had. Cursor cannot: it needs an account.
HOSTS: Final[dict[str, Binary]] = {
    "codex": Binary("@openai/codex", "codex"),
    "gemini_cli": Binary("@google/gemini-cli", "gemini"),
}

PYTEST: Final = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout", "300")


def main() -> int:
    """Run the tests of the hosts asked for; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(HOSTS)}; all by default")
    parser.add_argument("--cache", type=Path, default=ROOT / ".hosts", help="where binaries are kept")
    parser.add_argument("--latest", action="store_true", help="install the current release")
    parser.add_argument("--update", action="store_true", help="keep the events that were seen for the other tests")
    parser.add_argument("--seconds", type=float, default=600, help="for each installation and each test run")
    options = parser.parse_args()
    names = options.names or list(HOSTS)
    if unknown := set(names) - set(HOSTS):
        parser.error(f"no such host: {', '.join(sorted(unknown))}; there are {', '.join(HOSTS)}")
    passed = [_tried(name, options) for name in names]
    return 0 if all(passed) else 1


def _tried(name: str, options: argparse.Namespace) -> bool:
    """Install and test one host and say what came of it; False only if its tests failed."""
    begun = time.monotonic()
    try:
        place, version = _installed(name, options)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        print(f"{name}: cannot be installed: {_end(str(error))}", flush=True)
        return True
    installed = time.monotonic()
    environment = {
        "HOST_TEST_BINARY": str(place / "node_modules" / ".bin" / HOSTS[name].command),
        "HOST_TEST_VERSION": version,
        "HOST_TEST_UPDATE": "1" if options.update else "",
    }
    tests = [sys.executable, "-m", "pytest", *PYTEST, str(HERE / f"test_{name}.py")]
    ok, said = _ran(tests, options.seconds, environment)
    took = f"{installed - begun:.0f} s to install, {time.monotonic() - installed:.0f} s to test"
    print(f"{name} {version}: {'passed' if ok else 'failed'} ({_end(said)}; {took})", flush=True)
    if not ok:
        print(said, flush=True)
    return ok


def _installed(name: str, options: argparse.Namespace) -> tuple[Path, str]:
    """The directory that a host is installed in, and its version.

    Raises:
        ValueError: npm is not there, or cannot install it; says why.
    """
    place = (options.cache / name).resolve()
    about = place / "node_modules" / HOSTS[name].package / "package.json"
    if options.latest or not about.is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise ValueError("npm is not installed")
        place.mkdir(parents=True, exist_ok=True)
        install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), f"{HOSTS[name].package}@latest"]
        ok, said = _ran(install, options.seconds, {})
        if not ok:
            raise ValueError(said)
    return place, str(json.loads(about.read_text(encoding="utf-8"))["version"])


def _ran(command: list[str], seconds: float, environment: dict[str, str]) -> tuple[bool, str]:
    """Whether a command succeeded within its time, and all that it printed."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environment},
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


def _end(said: str) -> str:
    """The last line that says something, without its decoration."""
    lines = [line.strip("= ") for line in said.splitlines() if line.strip("= ")]
    return lines[-1][-200:] if lines else "nothing was said"


if __name__ == "__main__":
    sys.exit(main())

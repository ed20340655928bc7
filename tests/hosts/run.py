"""Runs the tests of the command-line hosts against their real binaries, which npm installs.

``python -m tests.hosts.run [NAME...]``; see ``--help``. Prints a line for each host as it is done, and exits with 1 if
any that could be installed failed. No model is asked: the binaries talk to a scripted endpoint of this machine. A host
is installed once; ``--latest`` installs it anew.

Not responsible for the tests: ``test_NAME.py`` beside this file.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Final, NamedTuple

from tests.runs import ROOT, NotInstalledError, install, ran, tried

HERE: Final = Path(__file__).resolve().parent


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
    place = (options.cache / name).resolve()
    tests = [sys.executable, "-m", "pytest", *PYTEST, str(HERE / f"test_{name}.py")]
    return tried(
        name,
        lambda: _installed(name, place, options),
        lambda: ran(
            tests,
            options.seconds,
            HOST_TEST_BINARY=str(place / "node_modules" / ".bin" / HOSTS[name].command),
            HOST_TEST_VERSION=_version(name, place),
            HOST_TEST_UPDATE="1" if options.update else "",
        ),
    )


def _installed(name: str, place: Path, options: argparse.Namespace) -> str:
    """The version of a host, which is installed where it is not there.

    Raises:
        NotInstalledError: npm is not there, or cannot install it; says why.
    """
    if options.latest or not _about(name, place).is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise NotInstalledError("npm is not installed")
        place.mkdir(parents=True, exist_ok=True)
        package = f"{HOSTS[name].package}@latest"
        install([npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), package], options.seconds)
    return _version(name, place)


def _about(name: str, place: Path) -> Path:
    return place / "node_modules" / HOSTS[name].package / "package.json"


def _version(name: str, place: Path) -> str:
    return str(json.loads(_about(name, place).read_text(encoding="utf-8"))["version"])


if __name__ == "__main__":
    sys.exit(main())

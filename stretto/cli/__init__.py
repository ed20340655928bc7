"""The command ``stretto``: parses, calls one function of the library, prints what it returns.

Not responsible for any rule; everything a command does can be imported. The commands are in the modules beside this
one, a module a group; what they print passes through `waggle._render`.
"""

from __future__ import annotations

from stretto._defaults import EXIT_INTERRUPTED

__all__ = ["main"]


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        from stretto.cli.app import run  # noqa: PLC0415 - so that Ctrl-C while everything is imported is a clean end too

        return run()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED

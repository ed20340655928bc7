"""What ``waggle doctor`` looks at: one check a line, each with what to do when it is not well."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from typing import TYPE_CHECKING

from waggle import locate
from waggle.cli.checks import Check
from waggle.cli.demo import shipped_sessions
from waggle.cli.hookchecks import hook_checks
from waggle.cli.place import counted
from waggle.errors import TraceError, WaggleError
from waggle.ledger import check_ledger
from waggle.settings import Settings, load_settings, unknown_variables
from waggle.store import project_store, user_store
from waggle.traces import trace_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from waggle.locate import Project
    from waggle.store import Store

__all__ = ["dependencies", "diagnose"]

_DISTRIBUTION = "waggle-stretto"


def diagnose(directory: Path) -> Iterator[Check]:
    """Look at everything a user may have to put right, one thing after another; never raises for what is wrong."""
    yield Check("python", "ok", f"{platform.python_version()} on {platform.system()}")
    yield from dependencies()
    project: Project | None = None
    try:
        project = locate.find_project(directory)
        yield Check("project", "ok", f"{project.root} (identity {project.identity})")
    except WaggleError as error:
        yield Check("project", "problem", str(error), "name another directory with --project")
    settings, checks = _settings(project.root if project else None)
    yield from checks
    if project:
        yield from _store("project store", lambda: project_store(project, location=settings.location))
    yield from _store("user store", user_store)
    if project:
        yield from hook_checks(project.root)
    yield _examples()


def dependencies() -> Iterator[Check]:
    """Look whether everything the distribution needs is installed."""
    try:
        needed = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield Check("dependencies", "note", f"{_DISTRIBUTION} is not installed", "install it: pip install -e .")
        return
    names = [re.split(r"[^\w.-]", line)[0] for line in needed if "extra ==" not in line]
    versions = {name: _version(name) for name in sorted(names)}
    shown = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    missing = [name for name, version in versions.items() if not version]
    if missing:
        yield Check("dependencies", "problem", f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    else:
        yield Check("dependencies", "ok", shown)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _settings(root: Path | None) -> tuple[Settings, list[Check]]:
    checks: list[Check] = []
    settings = Settings()
    try:
        settings = load_settings(root).settings
        paths = [locate.user_config_file(), locate.project_config_file(root) if root else None]
        read = [str(path) for path in paths if path and path.is_file()]
        checks.append(Check("settings", "ok", ", ".join(read) or "defaults; there is no settings file"))
    except ExceptionGroup as group:
        checks += [Check("settings", "problem", str(error), "correct it there") for error in group.exceptions]
    checks += [
        Check("settings", "note", f"{name} is set and means nothing here", "correct its spelling, or unset it")
        for name in unknown_variables()
    ]
    return settings, checks


def _store(name: str, make: Callable[[], Store]) -> Iterator[Check]:
    try:
        store = make()
    except WaggleError as error:
        yield Check(name, "problem", str(error), "set WAGGLE_HOME to a directory that can be written")
        return
    place = next(path for path in (store.directory, *store.directory.parents) if os.path.lexists(path))
    try:
        count = len(store.contents().routes)
    except OSError as error:
        yield Check(name, "problem", f"{store.directory}: {error.strerror or error}", "make it readable")
    else:
        if not place.is_dir():
            yield Check(name, "problem", f"{place} is not a directory", "move it away")
        elif os.access(place, os.W_OK | os.X_OK):
            yield Check(name, "ok", f"{store.directory}, {counted(count, 'skill')}, can be written")
        else:
            yield Check(
                name, "problem", f"{place} cannot be written", "make it writable, or set location or WAGGLE_HOME"
            )
    yield _ledger(f"{name}'s ledger", store.ledger_path)


def _ledger(name: str, path: Path) -> Check:
    try:
        check = check_ledger(path)
    except (OSError, ValueError) as error:
        return Check(name, "problem", f"{path}: {getattr(error, 'strerror', None) or error}", "make it readable")
    if check.bad_lines:
        damaged = counted(len(check.bad_lines), "damaged line")
        return Check(name, "problem", f"{path}: {damaged}", "`waggle verify` shows them")
    return Check(name, "ok", f"{path}, {counted(check.records, 'record')}" if path.exists() else "there is none yet")


def _examples() -> Check:
    try:
        folder = shipped_sessions()
        return Check("demo sessions", "ok", f"{folder}, {len(trace_files(folder))} files")
    except TraceError as error:
        return Check("demo sessions", "note", error.path, error.problem)

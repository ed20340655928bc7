"""Where a command works: the project, its settings, its stores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from waggle import _render, locate
from waggle.errors import StoreUnavailable, WaggleError
from waggle.ledger import read_ledger
from waggle.routes import Scope
from waggle.settings import load_settings
from waggle.store import project_store, user_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from waggle.jsonvalue import JsonValue
    from waggle.ledger import Stat
    from waggle.locate import Project
    from waggle.settings import LoadedSettings, Settings
    from waggle.store import Store
    from waggle.tools import ToolTable

__all__ = ["Place", "counted", "open_place", "stats_of", "texts"]


@dataclass(frozen=True, slots=True)
class Place:
    """One project as a command sees it.

    Attributes:
        project: root and identity.
        spelled_root: the root as the user spelled it, for paths that are stored relative to it.
        loaded: the settings and their sources.
        tools: the tools as these settings describe them.
    """

    project: Project
    spelled_root: str
    loaded: LoadedSettings
    tools: ToolTable

    @property
    def settings(self) -> Settings:
        """The settings that apply here."""
        return self.loaded.settings

    def store(self, scope: Scope) -> Store:
        """The project's store or the user's.

        Raises:
            StoreUnavailable: the user has no home directory.
            SettingsError: ``WAGGLE_HOME`` is a relative path.
        """
        if scope is Scope.USER:
            return user_store(tools=self.tools)
        return project_store(self.project, location=self.settings.location, tools=self.tools)

    def stores(self, scope: Scope | None) -> list[Store]:
        """One store, or without a scope both, the project's first.

        Raises:
            StoreUnavailable: as in `store`; where both are meant, the user's is then left out with a note.
        """
        if scope is not None:
            return [self.store(scope)]
        found = [self.store(Scope.PROJECT)]
        try:
            found.append(self.store(Scope.USER))
        except WaggleError as error:
            _render.note(f"{error} (the user's skills are left out)")
        return found

    def remember(self) -> None:
        """Let ``gc`` find this project from others, when it looks for skills that several projects hold."""
        try:
            locate.remember_project(locate.user_data_dir(), self.project.main_root)
        except (WaggleError, OSError) as error:
            _render.note(f"{error} (this project's skills are not compared with other projects')")


def open_place(directory: Path, *, arguments: Mapping[str, object] | None = None) -> Place:
    """Find the project that a directory lies in and read its settings.

    Args:
        directory: in the project.
        arguments: settings given on the command line.

    Raises:
        StoreUnavailable: the directory does not exist.
        ExceptionGroup: of `SettingsError`.
    """
    project = locate.find_project(directory)
    loaded = load_settings(project.root, arguments=arguments)
    spelled = os.path.abspath(directory)  # noqa: PTH100 - as the user spells it: links must stay
    root = spelled if os.path.realpath(spelled) == str(project.root) else str(project.root)
    return Place(project, root, loaded, loaded.settings.tool_table())


def counted(number: int, noun: str) -> str:
    """A number with its noun, which ends in s unless the number is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def texts(problems: Iterable[Exception]) -> list[JsonValue]:
    """Problems as JSON: one text each."""
    return [str(problem) for problem in problems]


def stats_of(store: Store) -> dict[str, Stat]:
    """What the store's ledger adds up to, by name.

    Raises:
        StoreUnavailable: the ledger is there and cannot be read.
    """
    try:
        return read_ledger(store.ledger_path)
    except StoreUnavailable:
        raise
    except OSError as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise StoreUnavailable(store.ledger_path, f"cannot be read: {problem}", "repair or move it") from error

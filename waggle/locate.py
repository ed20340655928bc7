"""Where things are: a project and its identity, the user's data and configuration, known projects. No subprocess runs.

A *project* is the nearest directory at or above the start that has a ``.git``, else the nearest that has a ``.waggle``,
else the start itself. Files of a project lie under its `Project.root`; in a linked git worktree that is the worktree,
so that each checkout shows its own skills. A repository inside another one, a submodule too, is its own project.

What is counted belongs to the *identity*, which all checkouts of one project share: worktrees, clones, and every
spelling of a path. It is

1. the address of the remote ``origin``, as ``host/path``: credentials, a trailing ``.git``, the usual port and the
   difference between https, ssh and ``git@host:path`` play no part. Where ``origin`` is a directory, it is that
   repository's own identity;
2. without an ``origin``, the real path of the main worktree, `Project.main_root`.

Only the repository's own configuration is read: no included file, and no rewriting of addresses by the user's.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from waggle import files, jsonvalue
from waggle._defaults import KNOWN_PROJECTS
from waggle.errors import SettingsError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "VARIABLES",
    "Project",
    "find_project",
    "is_configured",
    "is_marked",
    "known_projects",
    "project_config_file",
    "remember_project",
    "user_config_file",
    "user_data_dir",
]

#: Environment variables that say where things are; any other ``WAGGLE_`` variable is a setting.
VARIABLES: Final = frozenset({"WAGGLE_CONFIG", "WAGGLE_HOME"})

_MARKERS: Final = (".git", ".waggle")  #: what a project's root has, one of them; the first is looked for first

_FILE_BYTES: Final = 1024 * 1024  #: largest file that is read here; git's own and ours have a few kB
_ORIGIN_HOPS: Final = 5  #: clones of clones that are followed; a longer chain, or a circle, ends at a path
_WEB_PORTS: Final = {"http": 80, "https": 443}

_SECTION: Final = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)"\s*)?\]')
_VALUE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"?|([^"#;]+)|[#;].*')
_HELPER: Final = re.compile(r"\w+::")  # a remote helper's address, ``ext::…``
_SCP: Final = re.compile(r"(?:[^/@]*@)?(\[[^\]/]+\]|[^:/]+):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Project:
    """A project, as `find_project` sees it.

    Attributes:
        root: real path of the checkout; its files lie under it.
        main_root: real path of the main worktree: the same as `root`, except in a linked worktree.
        identity: what all checkouts of the project have in common; see the module's text.
    """

    root: Path
    main_root: Path
    identity: str

    @property
    def key(self) -> str:
        """The identity as a directory's name: 16 hex digits of its SHA-256."""
        return hashlib.sha256(self.identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def find_project(start: Path | str) -> Project:
    """Find the project that a directory, or a file, lies in.

    Raises:
        StoreUnavailable: the start, or the working directory it is relative to, does not exist.
    """
    here = _existing(Path(start))
    for marker in _MARKERS:
        for root in (here, *here.parents):
            if os.path.exists(root / marker):  # noqa: PTH110 - False where a directory above may not be looked into
                return _project_at(root)
    return Project(here, here, str(here))


def is_marked(root: Path) -> bool:
    """Whether a directory says that it is a project's; the root of a project that was found nowhere does not."""
    return any(os.path.exists(root / marker) for marker in _MARKERS)  # noqa: PTH110 - as in `find_project`


def _project_at(root: Path) -> Project:
    main_root, identity = root, str(root)
    with suppress(OSError, RuntimeError, ValueError):  # no permission; links that go in a circle; a NUL in a path
        if repository := _repository_at(root):
            main_root, identity = repository.main_root, str(repository.main_root)
            identity = _identity(repository, _ORIGIN_HOPS)
    return Project(root, main_root, identity)


def _existing(start: Path) -> Path:
    try:
        here = start.resolve()
        if here.exists():
            return here if here.is_dir() else here.parent
    except FileNotFoundError:  # on asking what a relative path is relative to
        raise StoreUnavailable(
            None, "the working directory has been deleted", "change to a directory that exists"
        ) from None
    except (OSError, RuntimeError) as error:  # no permission; links that go in a circle
        raise StoreUnavailable(start, str(error), "name a directory that can be read") from error
    raise StoreUnavailable(here, "no such directory", "name one that exists")


# --- git ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Repository:
    main_root: Path
    git: Path  # the directory with the configuration that all worktrees share


def _repository_at(root: Path) -> _Repository | None:
    """The repository checked out at exactly this directory, or the bare one that it is."""
    dot_git = root / ".git"
    if dot_git.is_dir():
        return _Repository(root, dot_git)
    if dot_git.is_file():
        git = _pointed_to(dot_git, "gitdir:")
        if git is None:
            return None
        common = _pointed_to(git / "commondir", "")
        if common is None:
            return _Repository(root, git)  # a submodule, or a main worktree with its repository elsewhere
        return _Repository(_main_worktree(common) or root, common)
    if (root / "HEAD").is_file() and (root / "objects").is_dir():
        return _Repository(root, root)
    return None


def _main_worktree(git: Path) -> Path | None:
    main = git.parent if git.name == ".git" else git  # a bare repository has no worktree but itself
    worktree = _setting(git, "core.worktree")  # a submodule's repository lies in that of the project around it
    if worktree:
        main = (git / worktree).resolve()
    return main if main.is_dir() else None


def _pointed_to(path: Path, prefix: str) -> Path | None:
    text = _text(path).partition("\n")[0].strip()
    target = text.removeprefix(prefix).strip()
    if not target or not text.startswith(prefix):
        return None
    return (path.parent / target).resolve()


def _text(path: Path) -> str:
    with suppress(OSError, ValueError):
        return files.read_bytes(path, limit=_FILE_BYTES).decode("utf-8", "surrogateescape")
    return ""


def _setting(git: Path, name: str) -> str | None:
    return next((value for key, value in _settings(_text(git / "config")) if key == name), None)


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Settings of a git configuration, in order, as ``section.subsection.key`` and value."""
    section = ""
    for line in re.sub(r"\\\r?\n", "", text).split("\n"):
        rest = line.strip()
        if header := _SECTION.match(rest):
            name, subsection = header.groups()
            section = name.lower() if subsection is None else f"{name.lower()}.{subsection}"
            rest = rest[header.end() :].strip()
        key, equals, value = rest.partition("=")
        if equals:
            plain = "".join(part[1] or part[2] or "" for part in _VALUE.finditer(value))
            yield f"{section}.{key.strip().lower()}", plain.strip()


def _identity(repository: _Repository, hops: int) -> str:
    origin = _setting(repository.git, "remote.origin.url")
    if not origin:
        return str(repository.main_root)
    address = _address(origin)
    if address:
        return address
    path = Path(unquote(urlsplit(origin).path)) if origin.startswith("file:") else Path(origin)
    target = (repository.main_root / path).resolve()
    for candidate in (target, target.with_name(f"{target.name}.git")):
        if hops and (other := _repository_at(candidate)):
            return _identity(other, hops - 1)
    return str(target)


def _address(url: str) -> str | None:
    """A remote's address as ``host/path``; None when it is a directory."""
    url = _HELPER.sub("", url.strip(), count=1)
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:  # malformed, yet the same text in every clone
            return url.rpartition("@")[2]
        # Only a web server's port tells it from another on that host; ssh is often moved for no such reason.
        if port and port != _WEB_PORTS.get(parts.scheme, port):
            host = f"{host}:{port}"
        path = parts.path
    elif (scp := _SCP.fullmatch(url)) and not (os.name == "nt" and len(scp[1]) == 1):
        host, path = scp[1].strip("[]").lower(), scp[2]
    else:
        return None
    if not host:
        return None
    path = re.sub("/+", "/", unquote(path)).strip("/").removesuffix(".git").strip("/")
    return f"{host}/{path}"


# --- the user's data ---------------------------------------------------------------------------------------


def user_data_dir(program: str = "waggle") -> Path:
    """Directory of what belongs to the user and to no project. It is not made here.

    ``WAGGLE_HOME`` when that is set and not empty, else the platform's place: on Linux ``waggle`` in
    ``XDG_DATA_HOME``, or in ``~/.local/share``. A relative ``XDG_DATA_HOME`` is ignored, as its specification asks.

    Args:
        program: whose; it names the directory and, in capitals, the variable.

    Raises:
        SettingsError: the variable is a relative path.
        StoreUnavailable: the user has no home directory.
    """
    variable = f"{program.upper()}_HOME"
    home = os.environ.get(variable)
    if home:
        if not Path(home).is_absolute():
            raise SettingsError(variable, f"{home!r} is not an absolute path")
        return Path(home)
    import platformdirs  # noqa: PLC0415 - costs more than the rest of `import waggle`

    with suppress(RuntimeError):  # platformdirs found no home either
        path = platformdirs.user_data_path(program, appauthor=False)
        if path.is_absolute():  # never a directory called ``~`` below the working directory
            return path
    raise StoreUnavailable(
        None, "no home directory is known for this user", f"set {variable} to a directory that can be written"
    )


def known_projects(user_dir: Path) -> list[Path]:
    """Roots of the projects remembered so far, sorted; they may be gone. A file that cannot be read holds none."""
    with suppress(OSError, ValueError):
        return sorted(Path(root) for root in _read_projects(user_dir / "projects.json"))
    return []


def remember_project(user_dir: Path, root: Path) -> None:
    """Add a project to those that skills are promoted across. One that is known costs no write.

    Beyond the limit, projects that no longer exist are forgotten first, then those remembered longest.

    Raises:
        StoreLocked: another process kept the lock for too long.
        StoreUnavailable: the file cannot be written, or holds something else; it is left alone then.
        OSError: it cannot be read.
    """
    path = user_dir / "projects.json"
    try:
        if str(root) in _read_projects(path):
            return
        with files.lock(path):
            roots = [*_read_projects(path), str(root)]
            if len(roots) > KNOWN_PROJECTS:
                roots = [known for known in roots if os.path.isdir(known)][-KNOWN_PROJECTS:]  # noqa: PTH112 - as above
            files.replace(path, jsonvalue.dumps({"version": 1, "projects": list(dict.fromkeys(roots))}) + b"\n")
    except ValueError as error:
        raise StoreUnavailable(path, f"is no list of projects ({error})", "repair it or delete it") from None


def _read_projects(path: Path) -> list[str]:
    """Roots in the order in which they were remembered.

    Raises:
        ValueError: the file holds something else, or is of a later version.
        OSError: it cannot be read.
    """
    try:
        content = jsonvalue.loads(files.read_bytes(path, limit=_FILE_BYTES))
    except FileNotFoundError:
        return []
    match content:
        case {"version": 1, "projects": [*roots]}:
            return [root for root in roots if isinstance(root, str)]
    raise ValueError("version 1 and a list of paths are expected")


# --- configuration ----------------------------------------------------------------------------------------


def user_config_file() -> Path | None:
    """The user's file, which need not exist; None where the user has no home.

    Raises:
        SettingsError: ``WAGGLE_CONFIG`` is a relative path.
    """
    named = os.environ.get("WAGGLE_CONFIG")
    if named:
        if not Path(named).is_absolute():
            raise SettingsError("WAGGLE_CONFIG", f"{named!r} is not an absolute path")
        return Path(named)
    import platformdirs  # noqa: PLC0415 - not needed where the variable is set

    with suppress(RuntimeError):  # no home
        directory = platformdirs.user_config_path("waggle", appauthor=False)
        if directory.is_absolute():  # never a directory called ``~`` below the working directory
            return directory / "config.toml"
    return None


def project_config_file(root: Path) -> Path:
    """The file of the project with this root; it need not exist."""
    return root / ".waggle" / "config.toml"


def is_configured(root: Path) -> bool:
    """Whether there is any setting to read: a file, or a variable.

    Raises:
        SettingsError: ``WAGGLE_CONFIG`` is a relative path.
    """
    if any(name.startswith("WAGGLE_") and name not in VARIABLES for name in os.environ):
        return True
    return any(path is not None and path.exists() for path in (user_config_file(), project_config_file(root)))

"""Answers events: whichever way they come, and whoever sends them, one conversation is one session of one manager.

What must stay true: an event that was taken in is in the session's journal, unless the disk does not take it, which is
counted and logged once; a conversation whose session is not held any more is taken up from there. What a conversation
teaches is counted once: at its end, or when nothing was heard of it for long.

Not responsible for how events come (`keeper`), nor for what they mean (`hosts`).
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from waggle import locate
from waggle._defaults import HOOK_FOLD_CHARS, HOOK_FOLLOW_SECONDS, HOOK_PROJECTS, HOOK_STALE_SECONDS, SESSIONS
from waggle.background import Faults
from waggle.config import ManagerConfig
from waggle.errors import WaggleError
from waggle.hook.hosts import NAMES, host_named
from waggle.hook.hosts.host import answer, read_event
from waggle.hook.journal import Journal, journals
from waggle.hook.lookups import HookTools, Lookups
from waggle.manager import Manager
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from waggle.calls import Call
    from waggle.hook.hosts.host import Event, Host
    from waggle.session import Session

__all__ = ["Desk"]

_log = logging.getLogger("waggle.hook")

_IDS: Final = 256  # latest calls of a conversation that are told from those reported twice


class _Memory:
    """A project's manager, made from its settings and its store as they are now, and what may be read there."""

    def __init__(self, root: Path) -> None:
        config, table = ManagerConfig(), ToolTable()
        if locate.is_configured(root):
            from waggle.settings import load_settings  # noqa: PLC0415 - pydantic, where nothing is set, is not needed

            settings = load_settings(root).settings
            config, table = settings.manager_config(), settings.tool_table()
        config = replace(
            config,
            fold_bytes=min(config.fold_bytes, HOOK_FOLD_CHARS),
            follow_seconds=min(config.follow_seconds, HOOK_FOLLOW_SECONDS),
        )
        self.tools = HookTools(table, [spec for name in NAMES for spec in host_named(name).tools])
        self.manager = Manager.for_project(root, config=config, tools=self.tools)
        self._root = root
        self._lookups: dict[str, Lookups] = {}

    def lookups(self, host: Host) -> Lookups:
        """The lookups of a host; what its settings deny is read when it is first heard of."""
        found = self._lookups.get(host.name)
        if found is None:
            found = self._lookups[host.name] = Lookups(host, self._root)
        return found


class _Conversation:
    """One conversation of a project: its session, its journal, and the calls it has reported."""

    def __init__(self, memory: _Memory, session: Session, journal: Journal) -> None:
        self.memory = memory
        self.session = session
        self.journal = journal
        self.lock = threading.Lock()  # calls are journalled and observed in one order
        self._ids: OrderedDict[str, None] = OrderedDict()

    def is_new(self, call: Call) -> bool:
        """Whether a call was not reported before: a host may run a hook twice, and a hook may try twice."""
        if call.id is None:
            return True
        if call.id in self._ids:
            return False
        self._ids[call.id] = None
        if len(self._ids) > _IDS:
            self._ids.popitem(last=False)
        return True


class _Project:
    """One project's conversations, each with the memory that was made when it began."""

    def __init__(self, root: Path, sessions: Path, faults: Faults) -> None:
        self._root = root
        self._sessions = sessions
        self._faults = faults
        self._seen = _stamp(root)
        self.memory = _Memory(root)
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()
        self._lock = threading.Lock()

    def conversation(self, name: str, cwd: str) -> _Conversation:
        """A conversation; one that is not held is taken up from its journal, with the skills that are there now."""
        with self._lock:
            found = self._conversations.get(name)
            if found is None:
                if (now := _stamp(self._root)) != self._seen:  # somebody has changed a skill or a setting
                    self._seen, self.memory = now, _Memory(self._root)
                directory = cwd or str(self._root)
                found = _Conversation(
                    self.memory,
                    self.memory.manager.session(name, directory=directory),
                    Journal.of(self._sessions, str(self._root), name, directory),
                )
                for call, result in found.journal.read():
                    found.is_new(call)
                    found.session.observe(call, result)
                self._conversations[name] = found
                if len(self._conversations) > SESSIONS:
                    self._conversations.popitem(last=False)
                _log.info("%s: session %s", self._root, name)
            self._conversations.move_to_end(name)
            return found

    def take(self, host: Host, event: Event, *, follow: bool) -> str:
        """Take in an event of a host; gives what is added to the result."""
        if event.call is None:
            self.conversation(event.conversation, event.cwd)  # its journal may be all there is of it
            self.end(event.conversation)
            return ""
        conversation, call = self.conversation(event.conversation, event.cwd), event.call
        with conversation.lock:
            if not conversation.is_new(call):
                return ""
            try:
                conversation.journal.append(call, event.result)
            except (WaggleError, OSError) as error:
                self._faults.note("a call could not be put into its session's journal", error)
            conversation.session.observe(call, event.result)
        if not (follow and event.follows):
            return ""
        lookups = conversation.memory.lookups(host)
        with conversation.memory.tools.following(lookups, event.cwd):
            fold = conversation.session.follow(lambda tool, args: lookups.run(tool, args, event.cwd))
        if fold:
            made = ", ".join(lookup.tool for lookup in fold.lookups)
            _log.info("%s: %s rode in the result of %s", self._root, made, call.tool)
        return fold.text.lstrip("\n") if fold else ""

    def end(self, name: str) -> None:
        """End a conversation and those of its sub-agents: what they taught is counted, and their journals go."""
        with self._lock:
            names = [each for each in self._conversations if each == name or each.startswith(f"{name}/")]
            ended = [self._conversations.pop(each) for each in names]
        for conversation in ended:
            with conversation.lock:
                conversation.memory.manager.end(conversation.session.name)
            if not conversation.memory.manager.flush(_FLUSH_SECONDS):
                continue  # the journal stays, and is counted later
            with suppress(OSError):
                conversation.journal.remove()
            _log.info("%s: session %s has ended, and is counted", self._root, conversation.session.name)


class Desk:
    """Answers the events of all hosts, for all projects of a user. Thread-safe.

    Args:
        place: the private directory; the sessions are in it.
    """

    def __init__(self, place: Path) -> None:
        self._sessions = place / "sessions"
        self._projects: OrderedDict[str, _Project] = OrderedDict()
        self._begun: OrderedDict[str, str] = OrderedDict()  # where sessions were first heard of
        self._lock = threading.Lock()
        self._faults = Faults()

    def answer(self, host: str, project: str, data: bytes, *, follow: bool = True) -> bytes:
        """Take in one event, and give what the host is to be told; empty for nothing. Never raises.

        Args:
            host: one of `waggle.hook.hosts.NAMES`.
            project: the directory that the hook was started for; empty for the one that the session's first event
                names, since an agent may change to another.
            data: the event, as the host wrote it.
            follow: False when nobody waits for the answer.
        """
        try:
            speaker = host_named(host)
            event = read_event(speaker, data, project)
            if event is None:
                return b""
            root = event.root if project else self._beginning(event)
            return answer(speaker, event, self._project(root).take(speaker, event, follow=follow))
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self._faults.note("an event could not be answered", error)
            return b""

    def _beginning(self, event: Event) -> str:
        """The directory that the first event of a session named."""
        session = event.conversation.partition("/")[0]
        with self._lock:
            if event.root:
                self._begun.setdefault(session, event.root)
            if len(self._begun) > SESSIONS:
                self._begun.popitem(last=False)
            return self._begun.get(session, "")

    def _project(self, directory: str) -> _Project:
        if not os.path.isabs(directory):  # noqa: PTH117 - a host's text
            raise ValueError("the event names no working directory @ $.cwd")
        with self._lock:
            root = str(locate.find_project(directory).root)
            found = self._projects.get(root)
            if found is None:
                found = self._projects[root] = _Project(Path(root), self._sessions, self._faults)
                if len(self._projects) > HOOK_PROJECTS:
                    self._projects.popitem(last=False)[1].memory.manager.flush(_FLUSH_SECONDS)
            self._projects.move_to_end(root)
            return found

    def settle_stale(self, *, unused_s: float = HOOK_STALE_SECONDS) -> int:
        """Count what was never ended: conversations of which nothing was heard for so long; gives their number."""
        settled = 0
        for journal, about in journals(self._sessions, unused_s=unused_s):
            root, name, cwd = (str(about[key]) for key in ("root", "conversation", "cwd"))
            try:
                project = self._project(root)
            except WaggleError:  # the project is gone, and what was learned there is of no use
                journal.remove()
                continue
            project.conversation(name, cwd)
            project.end(name)
            settled += 1
        return settled

    def faults(self) -> dict[str, int]:
        """What went wrong so far, by kind, the managers' included."""
        found = self._faults.counts()
        with self._lock:
            for project in self._projects.values():
                for kind, count in project.memory.manager.faults().items():
                    found[kind] = found.get(kind, 0) + count
        return found

    def close(self) -> None:
        """Write what is not written. Conversations are not ended: they are taken up again from their journals."""
        with self._lock:
            for project in self._projects.values():
                project.memory.manager.flush(_FLUSH_SECONDS)


def _stamp(root: Path) -> tuple[tuple[str, int], ...]:
    """What tells whether the skills, or the settings, are as they were: their files and when each was changed."""
    skills = root / ".waggle" / "skills"
    paths = [*skills.glob("*/route.json"), *skills.glob("*/SKILL.md"), *skills.glob("*.md")]
    paths += [locate.project_config_file(root), *(path for name in NAMES for path in host_named(name).watched(root))]
    if user := locate.user_config_file():
        paths.append(user)
    found = []
    for path in paths:
        with suppress(OSError):
            found.append((str(path), path.stat().st_mtime_ns))
    return tuple(sorted(found))


_FLUSH_SECONDS: Final = 3.0

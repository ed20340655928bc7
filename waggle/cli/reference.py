"""Writes ``docs/cli.md`` from the commands themselves: ``python -m waggle.cli.reference > docs/cli.md``."""

from __future__ import annotations

import inspect
import re
import sys
from typing import TYPE_CHECKING, Final

import click

from waggle import jsonvalue
from waggle.cli.app import EXIT_CODES, cli
from waggle.receipts import Answer
from waggle.settings import describe_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["JSON_KEYS", "codes_section", "command_section", "paragraphs", "reference"]

_RULE_KEYS: Final = {
    "learned_on": "sessions learned on",
    "replayed": "sessions replayed",
    "turns": "turns in them",
    "ceiling": "turns that could be saved at all",
    "routes": "routes learned",
    "saved": "turns saved",
    "saved_share": "the same as a share of the turns, 0 to 1",
    "saved_low": "lower end of its 95 % interval",
    "saved_high": "upper end",
    "lookups": "lookups made",
    "used": "lookups that answered a call",
    "precision": "used / lookups; null without lookups",
    "detours": "lookups - used",
    "detours_per_session": "detours / replayed",
    "tokens_saved": "tokens saved",
    "tokens_spent": "tokens spent",
    "fired": "lookups by route name",
}
_RECORDED: Final = {
    "recorded.calls": "calls in the recordings",
    "recorded.with_arguments": "of these, with whole arguments; the others are never made again",
    "recorded.with_results": "of these, with a result or an error; nothing can be bound from the others",
    "recorded.shortened": "of those with a result, with one that is incomplete",
}

_RESULTS: Final = {
    "rules[].name": "a column of the table",
    "rules[].title": "its heading",
    "groups[].group": "agent and repository; the last group is `total`",
    **{f"groups[].rules.NAME.{key}": about for key, about in _RULE_KEYS.items()},
}

_SETTLED_KEYS: Final = {
    "used": "lookups that the agent would have asked for before its next write",
    "detours": "lookups that it never asked for",
    "tokens_saved": "tokens that the used ones saved",
    "tokens_spent": "tokens that the detours cost",
    "held_used": "lookups held back that the agent asked for itself",
    "held_detours": "lookups held back that it never asked for",
}
_RATE_KEYS: Final = {
    **_SETTLED_KEYS,
    "precision": "used / (used + detours); null while nothing is settled",
    "held_precision": "the same of the lookups held back",
}
_SIDE_KEYS: Final = {
    "sessions": "conversations with such a window",
    "windows": "results after which a lookup was due",
    "calls": "calls the agent made from them to its next write",
    "mean_calls": "calls / windows; null without windows",
}

#: What ``--json`` prints, by command: the path of each value, and what it is. These keys are stable.
JSON_KEYS: Final[dict[str, dict[str, str]]] = {
    "demo": {
        "sessions": "sessions read",
        **_RESULTS,
        "libraries[].rule": "name of the rule",
        "libraries[].group": "agent and repository",
        "libraries[].folder": "where its skills lie",
        "libraries[].skills[]": "their names, in the order they were learned",
        "shown": "path of the skill shown; null when none was learned",
    },
    "mine": {
        "dry_run": "whether nothing was written",
        "sessions": "sessions read",
        "store": "folder of the skills",
        "skills[].name": "the skill",
        "skills[].status": "`new`, `known` or `edited`",
        "skills[].steps": "lookups in it",
        "skills[].seen": "occurrences when it was learned",
        "skills[].sessions": "sessions they were in",
        **_RECORDED,
        "problems[]": "what of the recordings was left out, `path:line: problem`",
    },
    "replay": {
        "learn_share": "share of the tasks learned on; null with `--learn`",
        "left_out": "sessions to learn on whose task is replayed",
        **_RESULTS,
        **_RECORDED,
        "problems[]": "what of the recordings was left out, `path:line: problem`",
    },
    "ls": {
        "skills[].name": "the skill",
        "skills[].scope": "`project` or `user`",
        "skills[].uses": "replays that gave something",
        "skills[].yield": "tokens they gave",
        "skills[].fails": "replays that gave nothing",
        **{f"skills[].{key}": about for key, about in _SETTLED_KEYS.items()},
        "skills[].seen": "occurrences when it was learned",
        "skills[].sessions": "sessions they were in",
        "skills[].disabled": "why it is switched off; null when it is not",
        "skills[].description": "what it does and when to use it",
        "skills[].path": "its folder",
        "invalid[]": "what could not be read, `path:line: problem`",
    },
    "show": {
        "route": "the content of `route.json`",
        "ledger.uses": "replays that gave something",
        "ledger.yield": "tokens they gave",
        "ledger.fails": "replays that gave nothing",
        "ledger.last_used": "latest use, UTC, or null",
        "ledger.last_failed": "latest failure, or null",
        "ledger.last_promoted": "when it became a skill, or null",
        "ledger.last_demoted": "when it was switched off, or null",
        **{f"ledger.{key}": about for key, about in _SETTLED_KEYS.items()},
        "ledger.last_settled": "when a lookup was last settled, or null",
        "files[]": "paths of its files",
        "skill": "the text of `SKILL.md`",
    },
    "why": {
        "name": "the skill",
        "occurrences": "occurrences when it was learned",
        "sessions": "sessions they were in",
        "after": "the kind of call that it follows, in words; this and the next two only where it follows one",
        "values.NAME": "where the value of this argument comes from, in words; `lines`: which lines of the file",
        "evidence[].where": "what narrows the kind of call down; empty for all of it",
        "evidence[].times": "times such a call gave something to read",
        "evidence[].read": "times the agent then read it, before its next write",
        "evidence[].chance": "the chance that is counted from both, 0 to 1",
        "evidence[].made": "whether that is enough for the lookup to be made",
        "evidence[].lines": "lines that are looked up, in words; empty without a range",
        "listed[].session": "with TRACE: the session of an occurrence",
        "listed[].call": "its call, counted from 0",
        "listed[].names": "what the route names there; empty for nothing",
        "listed[].read": "what the agent read, before its next write; empty for nothing of the kind",
        "listed[].agreed": "whether it read what the route names",
        "problems[]": "what of the recordings was left out, `path:line: problem`",
    },
    "why-not": {
        "name": "the skill",
        "answers[].session": "the session",
        "answers[].call": "the call, counted from 0",
        "answers[].answer": "what the route did after it: " + ", ".join(f"`{answer.value}`" for answer in Answer),
        "answers[].detail": "the same in words, with the numbers",
        "problems[]": "what of the recordings was left out, `path:line: problem`",
    },
    "stats": {
        "effect.sessions": "conversations with a window of either kind",
        **{f"effect.with_folds.{key}": about for key, about in _SIDE_KEYS.items()},
        **{f"effect.held_back.{key}": f"the same where it was held back: {key}" for key in _SIDE_KEYS},
        "effect.saved": "calls a window less with folds than without; null when a side is empty",
        "effect.saved_low": "lower end of its 95 % interval; null with too few sessions",
        "effect.saved_high": "upper end",
        "effect.sentence": "what that comes to, for people",
        "strategies[].strategy": "who replayed; null when the record does not say",
        **{f"strategies[].{key}": about for key, about in _RATE_KEYS.items()},
        "skills[].strategy": "who replayed",
        "skills[].name": "the skill, or whatever the strategy replays; those that saved most come first",
        **{f"skills[].{key}": about for key, about in _RATE_KEYS.items()},
    },
    "export": {
        "check": "whether it was only looked what is there",
        "dry_run": "whether nothing was written",
        "to[]": "the folders",
        "skills[].name": "the skill",
        "skills[].status": "`new`, `updated`, `unchanged`, `stale`, `removed`, `skipped` or `refused`; with `--check` "
        "`missing`, `behind`, `current`, `stale`, `skipped` or `refused`",
        "skills[].form": "`link` or `copy`; empty where nothing is written",
        "skills[].to": "its folder, or link, there",
        "skills[].reason": "why it is updated, stale, skipped or refused, or has another name there; else empty",
    },
    "gc": {
        "dry_run": "whether nothing was changed",
        "actions[].action": "`gc` (a duplicate goes), `demote`, `prune`, `promote`, or `keep` (what a person edited)",
        "actions[].scope": "`project` or `user`",
        "actions[].name": "the skill",
        "actions[].reason": "why",
        "invalid[]": "what could not be read, `path:line: problem`",
        "result": "null with `--dry-run`, else:",
        "result.removed_project": "duplicates deleted",
        "result.removed_user": "the same in the user's store",
        "result.pruned_project": "unused skills deleted",
        "result.pruned_user": "the same in the user's store",
        "result.demoted": "skills switched off",
        "result.promoted": "skills copied to the user's store",
        "result.ledger_lines_dropped": "lines that belonged to no skill",
        "result.reads_forgotten": "reads that were counted once in many sessions, and are not counted any more",
    },
    "config": {
        "user_file": "path of the user's file, whether it is there or not; null without a home",
        "project_file": "path of the project's file",
        "settings.NAME.value": "the value",
        "settings.NAME.unit": "its unit, or empty",
        "settings.NAME.source": "where it came from",
        "settings.NAME.about": "what it means",
    },
    "verify": {
        "skills": "skills looked at",
        "problems": "findings that are no notes",
        "findings[].path": "the file",
        "findings[].line": "the line, or null",
        "findings[].kind": "`problem`, `corrupt` (a ledger line that is no record) or `note`",
        "findings[].problem": "what is wrong, and what to do",
    },
    "init": {
        "path": "the settings file",
        "missing[]": "events after which the hook was not run before; none when it was in place",
        "written": "whether the file was written",
        "backup": "where the former file is; null when none was replaced",
    },
    "doctor": {
        "healthy": "whether there is no problem",
        "checks[].check": "what was looked at",
        "checks[].state": "`ok`, `note` or `problem`",
        "checks[].found": "what was seen",
        "checks[].remedy": "what to do; empty when all is well",
    },
}


def reference() -> str:
    """The page: conventions, exit codes, settings, then every command with its arguments, options and JSON keys."""
    lines = ["# The command line", "", "<!-- generated: python -m waggle.cli.reference > docs/cli.md -->", ""]
    lines += [paragraphs(cli.help), "", _CONVENTIONS, *codes_section(EXIT_CODES), *_settings()]
    context = click.Context(cli)
    for name in cli.list_commands(context):
        if command := cli.get_command(context, name):
            lines += command_section("waggle", name, command, JSON_KEYS.get(name, {}))
    return "\n".join(lines)


_CONVENTIONS: Final = """\
What a command found goes to standard output, everything else (progress, notes, errors) to standard error, one line a
problem: `path:line: problem`. Text for people may change; the keys of `--json` do not. Times are UTC, paths are as the
system spells them. Nothing is coloured but the progress bar, which only a terminal gets and which heeds `NO_COLOR`.
A reader that goes away early (`waggle ls | head`) is no error.
"""

_SETTINGS: Final = """\
Each source counts more than the one before: the defaults; the user's file, `waggle/config.toml` in the user's
configuration directory or what `WAGGLE_CONFIG` names; the project's file, `.waggle/config.toml`; a variable, `WAGGLE_`
and the name in capitals (`WAGGLE_STALE_DAYS`, `WAGGLE_MINE_K`; lists with commas); an option of the command. The two
lists of tools add up over the sources. A project's file cannot set `tools_allow`, and cannot switch on `learn` or
`replay` when the user's file has switched it off. In a file, `mine.k` is `k` in the table `[mine]`.
"""


def codes_section(codes: Sequence[tuple[int, str]]) -> Iterator[str]:
    """The lines on a program's exit codes."""
    yield from ("## Exit codes", "", "| code | meaning |", "|---|---|")
    yield from (f"| {code} | {about} |" for code, about in codes)
    yield ""


def _settings() -> Iterator[str]:
    yield from ("## Settings", "", _SETTINGS, "| setting | default | unit | meaning |", "|---|---|---|---|")
    for name, unit, about, default in describe_settings():
        shown = jsonvalue.dumps(jsonvalue.to_json(default)[0]).decode()
        yield f"| `{name}` | `{shown}` | {unit} | {about} |"
    yield ""


def command_section(program: str, name: str, command: click.Command, keys: Mapping[str, str]) -> Iterator[str]:
    """The lines on one command.

    Args:
        program: that has it.
        name: of the command.
        command: the command.
        keys: what its ``--json`` prints: the path of each value, and what it is; empty without that option.
    """
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    given = " ".join([program, name, "[OPTIONS]", *(each.metavar or (each.name or "").upper() for each in arguments)])
    yield from (f"## {program} {name}", "", "```", given, "```", "", paragraphs(command.help), "")
    yield from ("| option | meaning |", "|---|---|")
    for option in command.params:
        if isinstance(option, click.Option):
            spelled = " ".join([", ".join(option.opts), *([option.metavar.strip("[]")] if option.metavar else [])])
            yield f"| `{_cell(spelled)}` | {_cell(option.help or '')} |"
    if keys:
        yield from ("", "`--json` prints:", "", "| key | value |", "|---|---|")
        yield from (f"| `{key}` | {about} |" for key, about in keys.items())
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def paragraphs(text: str | None) -> str:
    """A command's help as Markdown, one line a paragraph."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(text or "")).replace("*", "\\*")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # it is a file here
    sys.stdout.write(reference())

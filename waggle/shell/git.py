"""The git subcommands, and the options of each, that only read.

Reading here is reading for a person: that ``git status`` may store fresher file times in the index is no change. What a
user's own configuration makes git run while it reads (a pager, an external diff, a file system monitor) is that user's
choice; options that would make it run something (``-c``, ``--ext-diff``, ``grep -O``) are on no list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from waggle.shell.options import Arguments, Options, Runs
from waggle.shell.reasons import Reason, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from waggle.shell.words import Word

__all__ = ["check_git"]

#: One subcommand: its harmless options, and what must hold for the rest of its arguments.
_Reader: TypeAlias = "tuple[Options, Callable[[Arguments], bool]]"

_GLOBAL = Options("-C:P --no-pager --no-optional-locks --literal-pathspecs --version", permute=False)

_DIFF: Final = (
    "-abcmpRrstuwWzB?C?DG:l:M?S:U: --abbrev? --binary --cc --check --color? --color-words? --compact-summary "
    "--diff-algorithm= --diff-filter= --dirstat? --dst-prefix= --exit-code --find-copies? --find-copies-harder "
    "--find-object= --find-renames? --full-index --function-context --histogram --ignore-all-space "
    "--ignore-blank-lines --ignore-space-at-eol --ignore-space-change --ignore-submodules? --inter-hunk-context= "
    "--irreversible-delete --minimal --name-only --name-status --no-color --no-ext-diff --no-indent-heuristic "
    "--no-patch --no-prefix --no-renames --no-textconv --numstat --patch --patch-with-raw --patch-with-stat "
    "--patience --pickaxe-all --pickaxe-regex --quiet --raw --relative? --shortstat --src-prefix= --stat? "
    "--stat-count= --stat-width= --submodule? --summary --text --unified= --word-diff? --word-diff-regex="
)
_LOG: Final = (
    f"{_DIFF} -giEFPn:L: -# --abbrev-commit --after= --all --all-match --ancestry-path --author= "
    "--author-date-order --basic-regexp --before= --boundary --branches? --cherry --cherry-mark --cherry-pick "
    "--children --clear-decorations --committer= --count --date= --date-order --decorate? --dense --do-walk "
    "--encoding= --exclude= --extended-regexp --first-parent --fixed-strings --follow --format= --full-diff "
    "--full-history --glob= --graph --grep= --invert-grep --left-only --left-right --log-size --max-count= "
    "--max-parents= --merge --merges --min-parents= --no-abbrev-commit --no-decorate --no-max-parents --no-merges "
    "--no-min-parents --no-notes --no-walk? --not --notes? --oneline --parents --perl-regexp --pretty? "
    "--regexp-ignore-case --relative-date --remotes? --reverse --right-only --root --show-linear-break? --show-pulls "
    "--simplify-by-decoration --simplify-merges --since= --skip= --source --sparse --tags? --topo-order --until= "
    "--walk-reflogs"
)
_LISTING: Final = (
    "--color? --column? --contains? --format= --ignore-case --merged? --no-color --no-column --no-contains? "
    "--no-merged? --omit-empty --points-at= --sort="
)
#: With one of these, ``branch`` and ``tag`` list whatever else there is; without, an operand is a name to create.
_FILTERS: Final = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--list")


def _anything(_: Arguments) -> bool:
    return True


def _nothing(arguments: Arguments) -> bool:
    return not arguments.operands


def _lists(arguments: Arguments) -> bool:
    return _nothing(arguments) or arguments.has(*_FILTERS)


def _lists_tags(arguments: Arguments) -> bool:
    return _lists(arguments) or arguments.has("-l")  # for branches, -l once meant to create one with a log


def _asks_config(arguments: Arguments) -> bool:
    """A name alone is looked up, and set with a value behind it. Without a dot it is a newer git's verb (``edit``)."""
    if arguments.has("--get", "--get-all", "--get-regexp", "--list", "-l"):
        return True
    return _asks_one(arguments) and any("." in word.text for word in arguments.operands)


def _asks_one(arguments: Arguments) -> bool:
    return len(arguments.operands) == 1 and arguments.operands[0].prefix is None


def _asks_object(arguments: Arguments) -> bool:
    if arguments.has("-t", "-s", "-p", "-e", "--batch", "--batch-check"):
        return True
    return bool(arguments.operands) and arguments.operands[0].text in ("blob", "tree", "commit", "tag")


def _stays_local(arguments: Arguments) -> bool:
    return _nothing(arguments) or arguments.has("-n")


def _reader(row: str, holds: Callable[[Arguments], bool] = _anything) -> _Reader:
    return Options(row), holds


#: By the first word behind ``git``, or the first two.
_SUBCOMMANDS: Final[Mapping[str, _Reader]] = {
    "blame": _reader(
        "-bcefnpstwC?L:lM?S: --abbrev= --color-by-age --color-lines --date= --first-parent --ignore-rev= "
        "--ignore-revs-file= --incremental --line-porcelain --minimal --porcelain --reverse --root --show-email "
        "--show-name --show-number --show-stats --since="
    ),
    "branch": _reader(
        f"{_LISTING} -ailrv --abbrev? --all --list --no-abbrev --remotes --show-current --verbose", _lists
    ),
    "cat-file": _reader("-espt --batch? --batch-all-objects --batch-check? --buffer", _asks_object),
    "check-ignore": _reader("-nqvz --no-index --non-matching --quiet --stdin --verbose"),
    "config": _reader(
        "-f:lz --bool --file= --get --get-all --get-regexp --global --includes --int --list --local --name-only --null "
        "--path --show-origin --show-scope --system --type= --worktree",
        _asks_config,
    ),
    "count-objects": _reader("-Hv --human-readable --verbose"),
    # Without --dirty, which rewrites the index even when told to take no optional locks.
    "describe": _reader(
        "--abbrev? --all --always --candidates= --contains --exact-match --exclude= --first-parent --long --match= "
        "--tags"
    ),
    "diff": _reader(f"{_DIFF} --cached --merge-base --no-index --staged"),
    "diff-tree": _reader(f"{_LOG} --no-commit-id --stdin"),
    "for-each-ref": _reader(f"{_LISTING} --count= --exclude="),
    "grep": _reader(
        "-acEFGhHiIlLnopPqrvwWzA:B:C:e:f:m: -# --after-context= --all-match --and --before-context= --break --cached "
        "--color? --column --context= --count --exclude-standard --extended-regexp --files-with-matches "
        "--files-without-match --fixed-strings --full-name --function-context --heading --ignore-case --invert-match "
        "--line-number --max-count= --max-depth= --name-only --no-color --no-exclude-standard --no-index "
        "--no-recursive --not --null --only-matching --or --perl-regexp --quiet --recursive --show-function --text "
        "--untracked --word-regexp"
    ),
    "log": _reader(_LOG),
    "ls-files": _reader(
        "-cdfikmostuvzx:X: --abbrev? --cached --deduplicate --deleted --directory --eol --error-unmatch --exclude= "
        "--exclude-from= --exclude-standard --full-name --ignored --killed --modified --no-empty-directory --others "
        "--recurse-submodules --stage --unmerged --with-tree="
    ),
    "ls-tree": _reader(
        "-dlrtz --abbrev? --format= --full-name --full-tree --long --name-only --name-status --object-only"
    ),
    "merge-base": _reader("-a --all --fork-point --independent --is-ancestor --octopus"),
    "name-rev": _reader("--all --always --exclude= --name-only --no-undefined --refs= --tags"),
    "reflog": _reader(_LOG, _nothing),
    "reflog show": _reader(_LOG),
    "remote": _reader("-v --verbose", _nothing),
    "remote get-url": _reader("--all --push"),
    "remote show": _reader("-n", _stays_local),
    "rev-list": _reader(f"{_LOG} --disk-usage? --header --no-commit-header --no-object-names --objects --timestamp"),
    "rev-parse": _reader(
        "-q --abbrev-ref? --absolute-git-dir --all --branches? --git-common-dir --git-dir --git-path= --glob= "
        "--is-bare-repository --is-inside-git-dir --is-inside-work-tree --path-format= --quiet --remotes? --short? "
        "--show-cdup --show-prefix --show-superproject-working-tree --show-toplevel --symbolic --symbolic-full-name "
        "--tags? --verify"
    ),
    "shortlog": _reader(f"{_LOG} -ens --committer --email --group= --numbered --summary"),
    "show": _reader(_LOG),
    "show-ref": _reader("-dqs --abbrev? --branches --dereference --hash? --head --heads --quiet --tags --verify"),
    "stash list": _reader(_LOG),
    "stash show": _reader(_LOG),
    "status": _reader(
        "-bsvzu? --ahead-behind --branch --column? --find-renames? --ignore-submodules? --ignored? --long "
        "--no-ahead-behind --no-column --no-renames --null --porcelain? --renames --short --show-stash "
        "--untracked-files? --verbose"
    ),
    "symbolic-ref": _reader("-q --no-recurse --quiet --recurse --short", _asks_one),
    "tag": _reader(f"{_LISTING} -iln? --list", _lists_tags),
    "worktree list": _reader("-vz --porcelain --verbose"),
}

#: ``%G…`` and ``%(signature)`` verify signatures, for which git starts another program that keeps files of its own.
_VERIFIES = re.compile(r"%G|signature")


def check_git(arguments: Arguments) -> Runs:
    """Check the words behind ``git``, which runs nothing else.

    Raises:
        Refused: it is not known to be a read.
    """
    before = _GLOBAL.match("git", arguments.operands)
    if not before.operands:
        if not before.has("--version"):
            raise Refused(Reason.SUBCOMMAND, "git")
        return ()
    first, *rest = before.operands
    if rest and (reader := _SUBCOMMANDS.get(f"{first.text} {rest[0].text}")):
        _check(f"git {first.text} {rest[0].text}", reader, rest[1:])
    elif reader := _SUBCOMMANDS.get(first.text):
        _check(f"git {first.text}", reader, rest)
    else:
        raise Refused(Reason.SUBCOMMAND, f"git {first.text}")
    return ()


def _check(name: str, reader: _Reader, words: Sequence[Word]) -> None:
    options, holds = reader
    arguments = options.match(name, words)
    if any(_VERIFIES.search(value.text) for value in arguments.values("--format", "--pretty", "--sort")):
        raise Refused(Reason.OPTION, f"{name} --format")
    if not holds(arguments):
        raise Refused(Reason.OPERAND, name)

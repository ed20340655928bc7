"""The commands that only read, one entry each: harmless options, and what must hold for the operands.

A name stands for the standard tool of that name, in GNU's, BSD's and busybox's version; an option is listed when it is
harmless in all that have it. What a person made of a name (an alias, a function, another program earlier on the search
path) is beyond what a command line can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from waggle.shell.checks import (
    check_awk,
    check_bracket,
    check_command,
    check_date,
    check_find,
    check_printf,
    check_sed,
    check_test,
    check_timeout,
    check_xargs,
    single_operand,
)
from waggle.shell.git import check_git
from waggle.shell.options import Arguments, Options, Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["COMMANDS", "Command"]


class Command(NamedTuple):
    """What is known about one command.

    Attributes:
        options: its harmless options; None when `check` reads the words itself or every word is harmless.
        tame: no option of it can write, run a program or name an output. Then a word that the shell replaces may
            become anything.
        check: looks at the rest, refuses what could write, and gives the commands that this one runs.
    """

    options: Options | None = None
    tame: bool = False
    check: Callable[[Arguments], Runs] | None = None


_GREP: Final = Options(
    "-abcEFGhHiIlLnoPqrRsTuUvwxyzA:B:C:d:D:e:f:m: -# --after-context= --basic-regexp --before-context= --binary "
    "--binary-files= --byte-offset --color? --colour? --context= --count --dereference-recursive --devices= "
    "--directories= --exclude-dir= --exclude-from= --exclude= --extended-regexp --file= --files-with-matches "
    "--files-without-match --fixed-strings --ignore-case --include= --initial-tab --invert-match --label= "
    "--line-buffered --line-number --line-regexp --max-count= --no-filename --no-ignore-case --no-messages --null "
    "--null-data --only-matching --perl-regexp --quiet --recursive --regexp= --silent --text --with-filename "
    "--word-regexp"
)
_HASH: Final = "-bctwz --binary --check --ignore-missing --quiet --status --strict --tag --text --warn --zero"
_ANYTHING: Final = Command(tame=True)


def _tame(row: str) -> Command:
    return Command(Options(row), tame=True)


def _checked(row: str, check: Callable[[Arguments], Runs] | None = None, *, permute: bool = True) -> Command:
    return Command(Options(row, permute=permute), check=check)


COMMANDS: Final[Mapping[str, Command]] = {
    ":": _ANYTHING,
    "[": Command(check=check_bracket),
    "awk": _checked("-F:v:", check_awk, permute=False),
    "basename": _tame("-as:z --multiple --suffix= --zero"),
    "cat": _tame("-AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-nonprinting --show-tabs"),
    # It moves where the next command looks, and changes nothing there.
    "cd": _tame("-LPe"),
    "cksum": _tame("-a: --algorithm= --check"),
    "cmp": _tame("-bhilsn: --bytes= --print-bytes --quiet --silent --verbose"),
    "column": _tame("-etxc:N:o:s: --output-separator= --separator= --table"),
    "comm": _tame("-123iz --check-order --nocheck-order --output-delimiter= --total --zero-terminated"),
    "command": _checked("-pvV", check_command, permute=False),
    "cut": _tame("-nszb:c:d:f: --bytes= --characters= --complement --delimiter= --fields= --only-delimited"),
    "date": _checked("-Ru --rfc-email --universal --utc", check_date),
    "df": _checked("-ahHiklPT --all --human-readable --inodes --portability --print-type --si --total"),
    "diff": _tame(
        "-abBdeEiNnpqrstTwyZc?C:F:I:u?U:W:x: --brief --color? --context? --exclude= --expand-tabs --ignore-all-space "
        "--ignore-blank-lines --ignore-case --ignore-matching-lines= --ignore-space-change --ignore-trailing-space "
        "--label= --minimal --new-file --normal --recursive --report-identical-files --show-c-function --side-by-side "
        "--strip-trailing-cr --suppress-common-lines --text --unified? --width="
    ),
    "dirname": _tame("-z --zero"),
    "du": _tame(
        "-0abcDhHkLlmPsSxd:t:X: --all --apparent-size --block-size= --bytes --exclude= --human-readable --max-depth= "
        "--null --one-file-system --si --summarize --time? --total"
    ),
    "echo": _ANYTHING,
    "egrep": Command(_GREP, tame=True),
    "expand": _tame("-it: --initial --tabs="),
    "false": _ANYTHING,
    "fgrep": Command(_GREP, tame=True),
    "file": _checked("-bhiIkLN0 --brief --dereference --mime --mime-encoding --mime-type --no-dereference --no-pad"),
    "find": Command(check=check_find),
    "fold": _tame("-bsw: --bytes --spaces --width="),
    "git": Command(check=check_git),
    "grep": Command(_GREP, tame=True),
    "head": _tame("-qvzc:n: -# --bytes= --lines= --quiet --silent --verbose --zero-terminated"),
    "hexdump": _tame("-bcCdovxe:f:n:s: --canonical --length= --no-squeezing --skip="),
    "jq": _checked(
        "-aceCjMnrRsSf: --arg= --argjson= --args --ascii-output --color-output --compact-output --exit-status "
        "--from-file= --indent= --join-output --jsonargs --monochrome-output --null-input --raw-input --raw-output "
        "--rawfile= --slurp --slurpfile= --sort-keys --stream --tab"
    ),
    "ls": _tame(
        "-1@aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvWxXZI:T:w: --all --almost-all --author --block-size= --classify? --color? "
        "--directory --file-type --format= --full-time --group-directories-first --hide= --human-readable --ignore= "
        "--ignore-backups --indicator-style= --inode --literal --no-group --numeric-uid-gid --quote-name --recursive "
        "--reverse --si --size --sort= --time-style= --time="
    ),
    "md5sum": _tame(_HASH),
    "nl": _tame(
        "-pb:d:f:h:i:l:n:s:v:w: --body-numbering= --line-increment= --number-format= --number-separator= "
        "--number-width= --starting-line-number="
    ),
    "od": _tame(
        "-abcdfhilosvxA:j:N:S:t:w? --address-radix= --format= --output-duplicates --read-bytes= --skip-bytes= --width?"
    ),
    "paste": _tame("-szd: --delimiters= --serial --zero-terminated"),
    "printf": Command(check=check_printf),
    "pwd": _tame("-LP"),
    "readlink": _tame("-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline"),
    "realpath": _tame(
        "-eLmPqsz --canonicalize-existing --canonicalize-missing --logical --no-symlinks --physical --quiet "
        "--relative-base= --relative-to= --strip --zero"
    ),
    "rev": _tame("-0"),
    "rg": _checked(
        "-0abcFhHiIlLnNopPqsSuUvwxzA:B:C:d:e:E:f:g:j:m:M:r:t:T: --after-context= --before-context= --byte-offset "
        "--case-sensitive --color= --column --context= --count --count-matches --encoding= --file= --files "
        "--files-with-matches --files-without-match --fixed-strings --follow --glob= --heading --hidden --iglob= "
        "--ignore-case --invert-match --json --line-number --line-regexp --max-columns= --max-count= --max-depth= "
        "--max-filesize= --multiline --multiline-dotall --no-config --no-filename --no-heading --no-ignore "
        "--no-ignore-vcs --no-line-number --no-messages --null --only-matching --passthru --pcre2 --quiet --regexp= "
        "--replace= --smart-case --sort= --sortr= --stats --text --threads= --trim --type-list --type-not= --type= "
        "--unrestricted --vimgrep --with-filename --word-regexp"
    ),
    "sed": _checked(
        "-Enrsuze: --expression= --null-data --posix --quiet --regexp-extended --separate --silent --unbuffered",
        check_sed,
    ),
    "seq": _tame("-wf:s: --equal-width --format= --separator="),
    "sha1sum": _tame(_HASH),
    "sha256sum": _tame(_HASH),
    "sha512sum": _tame(_HASH),
    "shasum": _tame(f"{_HASH} -a: --algorithm="),
    "sort": _checked(
        "-bcCdfghiMmnRrsuVzk:S:t: --buffer-size= --check? --dictionary-order --field-separator= --general-numeric-sort "
        "--human-numeric-sort --ignore-case --ignore-leading-blanks --key= --merge --month-sort --numeric-sort "
        "--parallel= --random-sort --reverse --stable --unique --version-sort --zero-terminated"
    ),
    "stat": _tame("-fFlLnqrsxtc: --dereference --file-system --format= --printf= --terse"),
    "strings": _tame("-afn:t: -# --all --bytes= --print-file-name --radix="),
    "tac": _tame("-brs: --before --regex --separator="),
    # Without -f: it never ends.
    "tail": _tame("-qrvzc:n: -# --bytes= --lines= --quiet --silent --verbose --zero-terminated"),
    "test": Command(check=check_test),
    "timeout": _checked(
        "-vk:s: --foreground --kill-after= --preserve-status --signal= --verbose", check_timeout, permute=False
    ),
    "tr": _tame("-cCdstu --complement --delete --squeeze-repeats --truncate-set1"),
    # Without -o and -R: both write a file.
    "tree": _checked(
        "-aACdDfFghilnNpqQrsStuUvxXJI:L:P: --charset= --dirsfirst --du --filelimit= --gitignore --matchdirs --noreport "
        "--prune --sort="
    ),
    "true": _ANYTHING,
    "type": _tame("-afpPtw"),
    "uniq": _checked(
        "-cdDiuzf:s:w: --all-repeated? --check-chars= --count --group? --ignore-case --repeated --skip-chars= "
        "--skip-fields= --unique --zero-terminated",
        single_operand("uniq"),
        permute=False,
    ),
    "wc": _tame("-cLlmw --bytes --chars --lines --max-line-length --words"),
    "which": _tame("-as --all"),
    "xargs": _checked(
        "-0rtxd:E:I:L:n:P:s: --delimiter= --max-args= --max-lines= --max-procs= --no-run-if-empty --null --verbose",
        check_xargs,
        permute=False,
    ),
    # Without -r, which patches what its second operand names.
    "xxd": _checked("-abeEipuc:g:l:o:s:", single_operand("xxd"), permute=False),
}

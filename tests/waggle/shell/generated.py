"""Shell commands made from a seed: harmless ones, hostile ones, and harmless ones with a few characters changed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from waggle.shell.options import Options

FILES = (
    "a.txt",
    "b.py",
    "src/c.py",
    "'my file'",
    '"my file"',
    "my\\ file",
    "./-i",
    "src",
    ".",
    "README.md",
    "~",
    "missing",
)
GLOBS = ("*.py", "src/*.py", "*", "?.txt", "[ab]*", "{a,b}.txt", "./*", "-*", "*i*", '"$HOME"', "$HOME", "~/x")
SIMPLE = (
    "cat {f}",
    "head -n {n} {f}",
    "tail -{n} {f}",
    "sed -n '{n},+{n}p' {f}",
    'sed -n "/def/,/return/p" {f}',
    "sed 's/a/b/g; 3q' {f}",
    "grep -rn {w} {f}",
    "grep -A{n} -e {w} {f} {f}",
    "find {f} -name {w} -type f",
    "find . -maxdepth {n} -exec grep -l {w} {{}} +",
    "find . -name '*.py' -exec sed -n {n}p {{}} \\;",
    "ls -la {f}",
    "wc -l {f} {f}",
    "sort -k{n} -u {f}",
    "uniq -c {f}",
    "nl -ba {f}",
    "cut -c1-{n} {f}",
    "echo {w} {w}",
    "printf '%s\\n' {w} {w}",
    "awk 'NR>{n} && /a/ {{print NR\": \"$0}}' {f}",
    "git log --oneline -{n} -- {f}",
    "git diff --stat {f}",
    "git status --short",
    "git show HEAD:{f}",
    "git branch -a",
    "git tag -l",
    "git grep -n {w}",
    "xxd -l {n} {f}",
    "diff -u {f} {f}",
    "[ -f {f} ]",
    "stat {f}",
    "cd {f}",
    "pwd",
    "true",
    "timeout 5 cat {f}",
    "find . -name '*.txt' | xargs grep -l {w}",
    "find . -name '*.txt' -print0 | xargs -0 cat",
    "ls | xargs -n1 -I% echo %",
    "file -b {f}",
    "tr a b < a.txt",
    "sha256sum {f}",
    "jq . {f}",
)
HOSTILE = (
    "touch pwned",
    "rm a.txt",
    "echo x > pwned",
    "sed -i 1d {f}",
    "sed -n 'w pwned' {f}",
    "sed 's/a/b/w pwned' {f}",
    "sed '1e touch pwned' {f}",
    "sort -o pwned {f}",
    "sort --outp=pwned {f}",
    "sort {g}",
    "sed -n 1p {g}",
    "uniq a.txt pwned",
    "uniq {g}",
    "xxd a.txt pwned",
    "find . -delete",
    "find {g} -type f",
    "find . -fprint pwned",
    "find . -exec touch pwned \\;",
    "find . | xargs touch",
    "ls | xargs sort",
    "awk '{{print > \"pwned\"}}' a.txt",
    "git branch pwned",
    "git tag pwned",
    "git stash",
    "git diff --output=pwned",
    "git log {g}",
    "git config user.name pwned",
    "git -c core.pager='touch pwned' log",
    "cat {g}",
    "grep a {g}",
    "ls {g}",
    "printf -v x y",
    "`touch pwned`",
    "$(touch pwned)",
    'echo "$(touch pwned)"',
    "cat <(touch pwned)",
    "cat <<E\nx\nE",
    "(touch pwned)",
    "{{ touch pwned; }}",
    "x=1 cat a.txt",
    "tee pwned",
    "file -C -m a.txt",
    "cat a.txt >> pwned",
    "touch pwned &",
)
WORDS = (
    "def",
    "'a b'",
    '"a b"',
    "a\\ b",
    '"a\\"b"',
    "'$(x)'",
    '"foo$"',
    "x\\|y",
    "''",
    '"it\'s"',
    "a'b'\"c\"",
    "--",
    "-e",
    "#x",
    "a#b",
)
REDIRECTIONS = (
    "",
    "",
    "",
    "",
    " 2>/dev/null",
    " 2>&1",
    " >/dev/null",
    " &>/dev/null",
    " < a.txt",
    " >pwned",
    " 2>>pwned",
    " >&2",
)
JOINTS = (" | ", " && ", "; ", " || ", "\n", "|", "&&", ";", " |& ", " & ", " # c\n", " \\\n | ")
SPECIALS = (
    *"'\"\\$`|&;<>(){}[]*?~#!=\n\t -%",
    *("\\\n", "$(", "$'", '$"', "${", "&&", "||", ">>", "<<", ">&", " #", "\u00a0", "\r"),
)
#: Pieces of sed scripts and awk programs that name a file or run a command in some orders, and do not in others.
SED_PIECES = (
    *(
        "1",
        "2",
        "$",
        "/a/",
        "/[/]/",
        ",",
        "+1",
        "~2",
        "!",
        "I",
        ";",
        ";",
        "\n",
        " ",
        "{",
        "}",
        "\\",
        "[",
        "]",
        "/",
        "#",
    ),
    *("p", "d", "h", "G", "n", "N", "q", "=", "l 3", "w out", "W out", "w", "e touch out", "e", "r a.txt", "a\\"),
    *("s/a/b/", "s,a,b,g", "y/a/b/", "s/a/b/w out", "s/a/touch out/e", "\\,a,"),
)
AWK_PIECES = (
    *(
        "NR",
        "$0",
        "x",
        "2",
        '"out"',
        '"touch out"',
        "/a/",
        "/[/]/",
        ">",
        ">=",
        "<",
        "&&",
        "||",
        "!",
        "~",
        "=",
        "/",
        "|",
    ),
    *(
        "{",
        "}",
        "(",
        ")",
        ",",
        ";",
        "\n",
        " ",
        " ",
        "#",
        "@",
        "\\",
        "BEGIN",
        "print",
        "print $1",
        "printf",
        "if (x)",
        "else",
    ),
    *("getline", "system(", "system", "close("),
)


#: Values and operands: files, revisions, names to create, numbers, keys.
VALUES = (
    "a.txt",
    "b.py",
    "src",
    "new",
    "HEAD",
    "main",
    "topic",
    "v1",
    "1",
    "2",
    "user.name",
    "list",
    "show",
    "origin",
    ".",
)


def seeded(seed: int) -> random.Random:
    """Randomness that is the same on every run."""
    return random.Random(seed)  # noqa: S311 - nothing is kept secret by it


def simple(choice: random.Random, *, hostile: float = 0.0) -> str:
    """One command; hostile with the given chance."""
    template = choice.choice(HOSTILE if choice.random() < hostile else SIMPLE)
    pieces = []
    for number, part in enumerate(template.replace("{{", "\1").replace("}}", "\2").split("{")):
        if number:
            kind, part = part[0], part[2:]  # noqa: PLW2901 - the placeholder's letter and brace are replaced
            values = {"f": FILES, "g": GLOBS, "w": WORDS, "n": ("1", "2", "10")}[kind]
            pieces.append(choice.choice(values))
        pieces.append(part)
    return "".join(pieces).replace("\1", "{").replace("\2", "}")


def line(choice: random.Random, *, hostile: float = 0.0) -> str:
    """One to four commands with redirections, joined in all ways."""
    text = simple(choice, hostile=hostile) + choice.choice(REDIRECTIONS)
    while choice.random() < 0.4:
        text += choice.choice(JOINTS) + simple(choice, hostile=hostile) + choice.choice(REDIRECTIONS)
    return text


def changed(choice: random.Random, text: str) -> str:
    """The text with one to three characters inserted, removed or replaced by ones that mean something to a shell."""
    for _ in range(choice.randint(1, 3)):
        at = choice.randint(0, len(text))
        text = text[:at] + choice.choice((*SPECIALS, "")) + text[at + choice.randint(0, 1) :]
    return text


def commands(seed: int, count: int) -> Iterator[str]:
    """Commands of all kinds in equal parts, the same for the same seed."""
    choice = seeded(seed)
    for number in range(count):
        text = line(choice, hostile=(0.0, 0.3, 0.0)[number % 3])
        yield changed(choice, text) if number % 3 else text


def programs(pieces: tuple[str, ...], accepts: Callable[[str], bool], *, seed: int, count: int) -> list[str]:
    """Different programs made of random pieces, until enough were accepted."""
    choice = seeded(seed)
    result: dict[str, None] = {}
    while len(result) < count:
        program = "".join(choice.choices(pieces, k=choice.randint(1, 7)))
        if accepts(program):
            result[program] = None
    return list(result)


def from_the_table(choice: random.Random, name: str, options: Options) -> str:
    """A command made of options that its table row lists, with values and operands of every kind."""
    words = [name]
    for option in choice.choices(sorted(options.kinds), k=choice.randint(0, 3)):
        value = choice.choice(VALUES)
        spelled = f"-{choice.randint(1, 9)}" if option == "-#" else option
        words.append({"flag": spelled, "value": f"{spelled} {value}"}.get(options.kinds[option], spelled))
        if options.kinds[option] == "attached" and choice.random() < 0.5:
            words[-1] += f"={value}" if option.startswith("--") else value
    return " ".join([*words, *choice.choices(VALUES, k=choice.randint(0, 3))])

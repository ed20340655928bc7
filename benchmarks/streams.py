"""Seeded streams of calls and ledger records: the same ones on which the original's answers were recorded.

All chance comes from one generator, SplitMix64, so that a stream is the same in every language. Each function draws its
numbers in a fixed order, which is part of the stream: a draw more or less, and everything after it is another stream.
"""

# ruff: noqa: PLR2004 - shares in percent and in thousandths are what defines a stream

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD: Final = (1 << 64) - 1  # arithmetic is modulo 2**64


class StreamCall(TypedDict):
    """One call of a stream."""

    tool: str
    args: dict[str, str]
    mutates: bool
    est_tokens: int


class SplitMix64:
    """The generator of Steele, Lea and Flood: a counter, and a mixing of its bits."""

    def __init__(self, seed: int) -> None:
        """Start at a seed of up to 64 bits."""
        self._state = seed & _WORD

    def next(self) -> int:
        """64 random bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _WORD
        bits = self._state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _WORD
        return bits ^ (bits >> 31)

    def below(self, bound: int) -> int:
        """A number from 0 up to but not including `bound`."""
        return self.next() % bound


# --- an agent at work ---------------------------------------------------------------------------------------

_FOLDERS: Final = (
    *("cmd", "internal/loop", "internal/tools", "internal/llm", "internal/config"),
    *("pkg/api", "pkg/util", "docs", "scripts", "test"),
)
_FILES: Final = tuple(f"{_FOLDERS[number % 10]}/f{number:03}.go" for number in range(120))
_SYMBOLS: Final = tuple(f"Sym{number:03}" for number in range(80))
_GLOBS: Final = ("*.go", "*_test.go", "*.md", "*.yaml", "Makefile")
_CHANGING: Final = frozenset({"bash", "edit", "write"})
_COMMANDS: Final = ("go test ./...", "go build ./...", "git status", "git diff", "golangci-lint run")


def _call(tool: str, /, **args: str) -> StreamCall:
    return {"tool": tool, "args": args, "mutates": tool in _CHANGING, "est_tokens": 100}


_HABITS: Final = (
    (_call("ls", path="."), _call("read", path="README.md"), _call("read", path="go.mod")),
    (_call("search", pattern="func main", path="cmd"), _call("read", path=_FILES[0])),
    (
        _call("glob", pattern="*_test.go", path="internal/loop"),
        *(_call("read", path=_FILES[number]) for number in (1, 11, 21)),
    ),
    (
        _call("ls", path="internal/config"),
        _call("read", path=_FILES[4]),
        _call("search", pattern="Sym004", path="internal"),
    ),
    (_call("search", pattern="TODO"), _call("read", path=_FILES[7])),
    (
        _call("ls", path="internal/tools"),
        _call("search", pattern="Registry", path="internal/tools"),
        *(_call("read", path=_FILES[number]) for number in (2, 12, 22)),
    ),
)


def agent(n: int, seed: int = 42) -> list[StreamCall]:
    """An agent at work: 30 % of its calls belong to six habits of two to five calls, the others are random.

    Of the random ones 45 % read a file, 20 % search, 8 % list, 7 % match names; 20 % change something.
    """
    random = SplitMix64(seed)
    stream: list[StreamCall] = []
    while len(stream) < n:
        calls = _HABITS[random.below(6)] if random.below(1000) < 119 else (_random_call(random),)
        stream += [{**call, "args": dict(call["args"]), "est_tokens": 50 + random.below(1500)} for call in calls]
    return stream[:n]


def agent_eval(n: int) -> list[StreamCall]:
    """The same agent on another day: to replay on what was learned from `agent`."""
    return agent(n, seed=43)


def _random_call(random: SplitMix64) -> StreamCall:
    kind = random.below(100)
    args: dict[str, str]
    if kind < 45:
        args = {"path": _FILES[random.below(120)]}
        if random.below(4) == 0:
            args |= {"offset": str(1 + 50 * random.below(20)), "limit": "100"}
        return _call("read", **args)
    if kind < 65:
        args = {"pattern": _SYMBOLS[random.below(80)]}
        if random.below(10) < 6:
            args["path"] = _FOLDERS[random.below(10)]
        if random.below(5) == 0:
            args["glob"] = "*.go"
        return _call("search", **args)
    if kind < 73:
        return _call("ls", path=_FOLDERS[random.below(10)]) if random.below(10) < 8 else _call("ls")
    if kind < 80:
        args = {"pattern": _GLOBS[random.below(5)]}
        if random.below(2) == 0:
            args["path"] = _FOLDERS[random.below(10)]
        return _call("glob", **args)
    return _random_change(random, kind)


def _random_change(random: SplitMix64, kind: int) -> StreamCall:
    if kind < 92:
        return _call("bash", command=_COMMANDS[random.below(5)])
    path = _FILES[random.below(120)]
    if kind < 98:
        return _call("edit", path=path, old_string="a", new_string="b")
    return _call("write", path=path, content="x")


# --- streams of one kind ------------------------------------------------------------------------------------


def periodic(n: int) -> list[StreamCall]:
    """One route of five calls, over and over: every window repeats, every rotation is a candidate."""
    route = (
        _call("ls", path="internal"),
        _call("search", pattern="Sym001", path="internal"),
        _call("read", path="internal/loop/f001.go"),
        _call("read", path="internal/llm/f003.go"),
        _call("glob", pattern="*.go", path="pkg"),
    )
    return [{**route[i % 5], "args": dict(route[i % 5]["args"])} for i in range(n)]


def distinct_values(n: int, seed: int = 7) -> list[StreamCall]:
    """Four shapes in random order, no value twice: every repetition is one of shapes alone."""
    random = SplitMix64(seed)
    stream = []
    for i in range(n):
        calls = (
            _call("read", path=f"u/{i:05}.go"),
            _call("search", pattern=f"U{i:05}", path=f"u/{i:05}"),
            _call("ls", path=f"u/d{i:05}"),
            _call("glob", pattern=f"*{i:05}*", path=f"u/{i:05}"),
        )
        stream.append(calls[random.below(4)])
    return stream


def distinct_shapes(n: int) -> list[StreamCall]:
    """No tool twice: nothing repeats at all."""
    return [_call(f"tool{i:05}", a=str(i)) for i in range(n)]


# --- a ledger -----------------------------------------------------------------------------------------------


def ledger(n: int, seed: int = 99) -> Iterator[dict[str, object]]:
    """Records of 500 names as the original wrote them; one in ten is a failure."""
    random = SplitMix64(seed)
    for _ in range(n):
        record: dict[str, object] = {"name": f"wag_{random.below(500):010x}", "steps": 1 + random.below(4)}
        if random.below(10) == 0:
            record |= {"yield": 0, "fail": True}
        else:
            record["yield"] = random.below(5000)
        yield record

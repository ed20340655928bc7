"""Make ``data/bfcl.jsonl.gz``: executed reference solutions of BFCL, and what depends on what, by intervening.

Runs in an environment that has the package ``bfcl-eval`` (and ``mpmath``), neither of which is needed to read what it
makes::

    pip install --no-deps bfcl-eval==2026.3.23 && pip install mpmath
    python -m benchmarks.compiler.make_bfcl bfcl.jsonl.gz  # in the clone; some minutes

For each of the 200 tasks of ``multi_turn_base`` the reference calls are made in the package's own environments: in the
task's world, and in others (`bfcl_worlds.py` says what varies), of which the first `_KEPT` that come out as the task's
own and differ from one another are the several traces. There a value that was judged to come from a call comes from it
again: it is what the same thing is called there, or what stands in the same place; where the call does not show it, the
world is given up. **What is true** is decided for every argument value that an earlier call's output shows, and that
this call was not given itself:

1. ``user``: the user said it before; no edge.
2. ``known``: the agent knew it; no edge. It was passed before any call had shown it; or the user says its name, a
   directory of the package has the code for that, and nothing was looked up there (Microsoft is MSFT).
3. ``unneeded``: with the value swapped for another of its kind, the call gives the same result and leaves the same
   state; no edge.
4. ``proven``: in a world in which the producer shows something else, the call succeeds with that, and fails with the
   original value. ``refuted``, no edge, where it is the other way round; or where in some world the producer does not
   show what another candidate shows, the call succeeds with that, and never the other way round: it can be withheld.
5. Where no world tells, and one call alone shows the value, withholding that output leaves nothing that has it:
   ``only`` where the call is refused with any other value or text of `_DISTINCT` characters is passed; of a number or
   a short text that any value could have stood in for it was read in the requests that it comes from there: ``read``.
6. ``open``: several calls show it, and no world tells them apart; counted neither way.
"""

from __future__ import annotations

import ast
import copy
import gzip
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.compiler.bfcl_package import World, lines, said, tools
from benchmarks.compiler.bfcl_values import Place, Scalar, atoms, others, put, shows, there
from benchmarks.compiler.bfcl_worlds import TRIES, Names, Variation, parts

_KEPT = 11
_DISTINCT = 12

#: Kinds of pairs that no intervention decides, since the consumers take any value; that the argument comes from the
#: producer was read in the requests.
_READ = json.loads((Path(__file__).parent / "data" / "bfcl-read.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Made:
    """One call of a reference solution, with what was before and after it."""

    number: int
    action: str
    args: dict[str, Any]
    text: str
    ok: bool
    output: Any
    before: World
    after: World

    def again(self, args: dict[str, Any]) -> tuple[bool, bool]:
        """Make it with other arguments: whether it succeeds, and whether it comes to the same."""
        world = copy.deepcopy(self.before)
        ok, output = world.call(self.action, args)
        return ok, (ok, output) == (self.ok, self.output) and world.like(self.after)


@dataclass
class Elsewhere:
    """Another world of the same task, as far as it got."""

    world: World
    names: Names
    alive: bool = True
    calls: list[dict[str, Any]] = field(default_factory=list)

    def shown(self, producer: int, value: Scalar, places: list[Place]) -> Scalar:
        """What a call shows here of what it showed in the task's world; None where that is not there."""
        output = self.calls[producer]["output"]
        same = self.names.here(str(value))
        if isinstance(value, str) and shows(output, same):
            return same
        found = (there(place, output, value, same) for place in places)
        return next((each for each in found if each is not None), None)

    def takes(self, action: str, args: dict[str, Any]) -> bool:
        """Whether a call succeeds here; nothing comes of it."""
        return copy.deepcopy(self.world).call(action, args)[0]


#: What a value of a call comes from: the calls that show it, any of which will do, and where.
Sources: TypeAlias = dict[str, dict[int, list[Place]]]


class Task:
    """One task on its way through all of its worlds."""

    def __init__(self, task: dict[str, Any], turns: list[list[str]]) -> None:
        self.task = task
        self.texts = ["\n".join(each["content"] for each in turn) for turn in task["question"]]
        self.plan = [(number, *_parsed(text)) for number, turn in enumerate(turns) for text in turn]
        self.truth: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        everything = "\n".join(self.texts)
        stay = frozenset(each.lower() for text in [everything, *self._own()] for each in parts(text))
        varied = [Variation(task, everything, stay, seed) for seed in range(TRIES)]
        self.others = [Elsewhere(world, each.names) for each in varied if (world := each.world()) is not None]

    def _own(self) -> list[str]:
        """What the reference knows by itself: texts that it passes before a call has shown them, and codes of names."""
        world = World.of(self.task)
        known: list[str] = []
        outputs: list[Any] = []
        asked = []
        for _, action, positional, given in self.plan:
            args = world.bound(action, positional, given)
            values = [each for _, each in atoms(args) if each is not None]
            known += [str(each) for each in values if not any(shows(output, each) for output in outputs)]
            outputs.append(world.call(action, args)[1])
            asked += [(action, each) for each in values]
        found = world.codes("\n".join(self.texts))
        return known + [code for code, lookup in found.items() if lookup not in asked]

    def run(self) -> dict[str, Any]:
        """Execute, intervene, and say what was found."""
        world = World.of(self.task)
        for turn, action, positional, given in self.plan:
            args = world.bound(action, positional, given)
            before = copy.deepcopy(world)
            ok, output = world.call(action, args)
            text = "\n".join(self.texts[: turn + 1])
            made = Made(len(self.calls), action, args, text, ok, output, before, world)
            sources = self._sources(made) if ok else {}
            told = {"args": args, "output": output, "ok": ok}
            app = world.find(action)[0]
            self.calls.append({"turn": turn, "app": app, "action": action, **told, "changes": not before.like(world)})
            for other in self.others:
                if other.alive:
                    self._follow(other, made, sources)
        found = [self.calls]
        for other in self.others:
            if other.alive and len(found) <= _KEPT:
                again = [{**base, **here} for base, here in zip(self.calls, other.calls, strict=True)]
                if all(again != each for each in found):
                    found.append(again)
        return {"task": self.task["id"], "texts": self.texts, "runs": found, "truth": self.truth}

    @staticmethod
    def _follow(other: Elsewhere, made: Made, sources: Sources) -> None:
        """Make a call in another world: what came from a call comes from it there, if it is to be had."""
        args = made.args
        for path, producers in sources.items():
            value = dict(atoms(made.args))[path]
            found = [other.shown(number, value, places) for number, places in producers.items()]
            shown = [each for each in found if each is not None]
            if not shown or any(each != shown[0] for each in shown):
                other.alive = False
                return
            args = put(args, path, shown[0])
        ok, output = other.world.call(made.action, args)
        other.alive = ok == made.ok
        other.calls.append({"args": args, "output": output, "ok": ok})

    def _sources(self, made: Made) -> Sources:
        """Judge each argument; give where the values come from that other worlds have to follow."""
        follow = {}
        for path, value in atoms(made.args):
            if value is None or isinstance(value, bool) or value in ("", [], {}):
                continue
            shown = {
                number: places
                for number, call in enumerate(self.calls)
                if call["ok"]
                and (places := shows(call["output"], value))
                and all(each != value for _, each in atoms(call["args"]))
            }
            how, producers = self._judged(made, path, value, shown)
            self._note(producers, made, path, how)
            if producers and how in ("proven", "only", "read", "open"):
                follow[path] = {number: shown[number] for number in producers}
        return follow

    def _judged(self, made: Made, path: str, value: Scalar, shown: dict[int, list[Place]]) -> tuple[str, list[int]]:
        """What holds of a value, and of which of the calls that show it; of others it is noted here."""
        if not shown or said(value, made.text):
            return "user", list(shown)
        known = self._known(made, value)
        if known is not None:
            self._note([number for number in shown if number > known], made, path, "known")
            shown = {number: places for number, places in shown.items() if number < known}
        if not shown:
            return "known", []
        tried = [put(made.args, path, each) for number in shown for each in others(value, self.calls[number]["output"])]
        came = [made.again(args) for args in tried]
        if all(same for _, same in came):
            return "unneeded", list(shown)
        refused = not any(ok for ok, _ in came)
        told = self._told(made, path, value, shown)
        if not refused:  # it takes what it is given: that it took the original one says nothing
            told = {number: each if each == "proven" else "" for number, each in told.items()}
        proven = [number for number in told if told[number] == "proven"]
        left = proven or [number for number in told if told[number] != "refuted"]
        left = self._not_withheld(made, path, value, {number: shown[number] for number in left})
        self._note([number for number in told if number not in left], made, path, "refuted")
        if len(left) > 1:
            return "open", left
        return "proven" if proven or not left else self._concluded(made, path, value, left[0], refused=refused), left

    def _concluded(self, made: Made, path: str, value: Scalar, producer: int, *, refused: bool) -> str:
        """What holds of a value that one call alone shows, where no world tells."""
        if refused or (isinstance(value, str) and len(value) >= _DISTINCT):
            return "only"
        kind = f"{self.calls[producer]['action']} -> {made.action} {path[2:].partition('[')[0]}"
        if kind not in _READ:
            sys.exit(f"{self.task['id']}: nobody has read whether {value!r} comes from there: {kind}")
        return "read"

    def _known(self, made: Made, value: Scalar) -> int | None:
        """The first call by which the agent knew a value that no call had shown before; None where it did not.

        -1 where the user names it, and it was not looked up.
        """
        lookup = made.before.codes(made.text).get(value) if isinstance(value, str) else None
        if lookup is not None:
            asked = [(call["action"], each) for call in self.calls for _, each in atoms(call["args"])]
            if lookup not in asked:
                return -1
        for number, call in enumerate(self.calls):
            if call["ok"] and any(each == value for _, each in atoms(call["args"])):
                shown = any(shows(earlier["output"], value) for earlier in self.calls[:number])
                return None if shown else number
        return None

    def _note(self, producers: list[int], made: Made, path: str, how: str) -> None:
        self.truth += [{"producer": each, "consumer": made.number, "path": path, "how": how} for each in producers]

    def _told(self, made: Made, path: str, value: Scalar, shown: dict[int, list[Place]]) -> dict[int, str]:
        """What the worlds say in which a producer shows another value, by producer: proven, refuted, or nothing."""
        told = dict.fromkeys(shown, "")
        for other in self.others:
            for number, places in shown.items() if other.alive else ():
                here = other.shown(number, value, places)
                if here is None or here == value or told[number] == "refuted":
                    continue
                with_shown, with_value = (
                    other.takes(made.action, put(made.args, path, each)) for each in (here, value)
                )
                if with_shown != with_value:
                    told[number] = "proven" if with_shown else "refuted"
        return told

    def _not_withheld(self, made: Made, path: str, value: Scalar, shown: dict[int, list[Place]]) -> list[int]:
        """Of several calls that show a value, those without which no world could do."""
        spared: set[tuple[int, int]] = set()
        for other in self.others if len(shown) > 1 else ():
            if other.alive:
                here = {number: other.shown(number, value, places) for number, places in shown.items()}
                having = [
                    number
                    for number, each in here.items()
                    if each is not None and other.takes(made.action, put(made.args, path, each))
                ]
                spared |= {(without, number) for without in here if here[without] is None for number in having}
        return [
            number
            for number in shown
            if not any(without == number and (having, without) not in spared for without, having in spared)
        ]


def _parsed(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)  # noqa: S101 - so the reference is written
    assert isinstance(node.func, ast.Name)  # noqa: S101 - so the reference is written
    return (
        node.func.id,
        [ast.literal_eval(each) for each in node.args],
        {str(each.arg): ast.literal_eval(each.value) for each in node.keywords},
    )


def _schemas() -> dict[str, Any]:
    """What the tools' descriptions say of values: defaults, and values that are listed."""
    found = {}
    for name, tool in tools().items():
        kept = {
            argument: {key: each[key] for key in ("default", "enum") if key in each}
            for argument, each in tool["parameters"]["properties"].items()
        }
        found[name] = {argument: each for argument, each in kept.items() if each}
    return {name: each for name, each in sorted(found.items()) if each}


def main() -> None:
    """Write all tasks."""
    turns = {each["id"]: each["ground_truth"] for each in lines("possible_answer/BFCL_v4_multi_turn_base.json")}
    rows = [Task(task, turns[task["id"]]).run() for task in lines("BFCL_v4_multi_turn_base.json")]
    head = {
        "source": "PyPI bfcl-eval 2026.3.23, BFCL_v4_multi_turn_base",
        "licence": "Apache-2.0",
        "schemas": _schemas(),
    }
    text = "".join(json.dumps(row, separators=(",", ":"), sort_keys=True) + "\n" for row in (head, *rows))
    Path(sys.argv[1]).write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()

"""Make ``data/bfcl.jsonl.gz``: executed reference solutions of BFCL, and what depends on what, by intervening.

Runs by itself in an environment that has the package ``bfcl-eval`` (and ``mpmath``), none of which is needed to read
what it makes::

    pip install --no-deps bfcl-eval==2026.3.23 && pip install mpmath
    python make_bfcl.py bfcl.jsonl.gz

For each of the 200 tasks of ``multi_turn_base`` the reference calls are made in the package's own environments: in the
task's world, and in up to `_WORLDS` further worlds whose numbers and random seeds are others, wherever the user does
not say them. **What is true** is decided for every argument value that an earlier call's output shows, and that this
call was not given itself:

1. *needed*: with the value swapped for another of its kind, the call fails, or gives another result or
   leaves another state than the reference does. A value that never makes a difference makes no edge.
2. *source*: in a world in which the producer shows another value, the call with that value succeeds where the original
   value fails: ``proven``. Where it is the other way round, it is no source: ``refuted``.
3. *elsewhere*: a value that the user said before is the user's: no edge, whatever shows it as well.
4. Where no world tells, and one call alone shows the value, withholding that output leaves nothing that has it:
   ``only`` where the call is refused with any other value or text of `_DISTINCT` characters is passed; a number or a
   short text that any value could have stood in for was read, and `_READ` says what it is: ``read``.
5. A value that an earlier call was given, and that nothing had shown before, the agent knew: ``known``, no edge.
6. Where several calls show it, and no world tells them apart, it is ``open``: counted neither way.
"""

from __future__ import annotations

import ast
import copy
import gzip
import importlib
import inspect
import json
import random
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import bfcl_eval  # type: ignore[import-not-found]  # in an environment of its own
from bfcl_eval.constants.executable_backend_config import (  # type: ignore[import-not-found]  # the same
    CLASS_FILE_PATH_MAPPING,
    STATELESS_CLASSES,
)

#: A value that is no list and no object; None among them.
Scalar: TypeAlias = Any

_WORLDS = 4
_TRIES = 24
_DISTINCT = 12
_DATA = Path(bfcl_eval.__file__).parent / "data"
_DOCS = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}

#: Kinds of pairs that no intervention decides: whether the consumer's argument comes from the producer, as read in the
#: requests. The consumers take any value.
_READ = json.loads((Path(__file__).parent / "data" / "bfcl-read.json").read_text(encoding="utf-8"))


class World:
    """The environments of one task, to be called."""

    def __init__(self, task: dict[str, Any], config: dict[str, Any]) -> None:
        self.parts: dict[str, Any] = {}
        for name in task["involved_classes"]:
            part = getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[name]), name)()
            if name not in STATELESS_CLASSES:
                part._load_scenario(copy.deepcopy(config.get(name, {})), long_context=False)  # noqa: SLF001 - as the package does
            self.parts[name] = part

    def find(self, action: str) -> tuple[str, Any]:
        """The environment that has an action, and the method."""
        return next((name, getattr(part, action)) for name, part in self.parts.items() if hasattr(part, action))

    def call(self, action: str, args: dict[str, Any]) -> tuple[bool, Any]:
        """Make a call: whether it succeeded, and its result as JSON."""
        try:
            result = self.find(action)[1](**copy.deepcopy(args))
        except Exception as error:  # noqa: BLE001 - whatever an environment raises, the call failed
            return False, {"error": f"{type(error).__name__}: {error}"}
        try:
            result = json.loads(json.dumps(result))
        except (TypeError, ValueError):
            result = str(result)
        return not (isinstance(result, dict) and "error" in result), result

    def like(self, other: World) -> bool:
        """Whether the state is the same, as the package compares it."""
        return all(
            _public(part) == _public(other.parts[name])
            for name, part in self.parts.items()
            if _public(part) is not None
        )


def _public(part: Any) -> Any:
    return {name: value for name, value in vars(part).items() if not name.startswith("_")}


def atoms(value: Any, path: str = "$") -> list[tuple[str, Any]]:
    """The scalars of a value with their paths."""
    if isinstance(value, dict):
        return [each for name in sorted(value) for each in atoms(value[name], f"{path}.{name}")]
    if isinstance(value, list | tuple):
        return [each for number, item in enumerate(value) for each in atoms(item, f"{path}[{number}]")]
    return [(path, value)]


def read(value: Any, path: str) -> Any:
    """The scalar at a path; None where there is none."""
    return dict(atoms(value)).get(path)


def put(args: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The same arguments with another value at a path."""
    made = copy.deepcopy(args)
    node: Any = made
    steps = [int(index) if index else name for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", path)]
    for step in steps[:-1]:
        node = node[step]
    node[steps[-1]] = value
    return made


def said(value: Any, text: str) -> bool:
    """Whether a text holds a value as a whole token, in any case; 3.0 is said by 3."""
    texts = [str(value)] + ([str(int(value))] if isinstance(value, float) and value == int(value) else [])
    return any(re.search(rf"(?<!\w){re.escape(each.lower())}(?!\w)", text.lower()) for each in texts)


def shows(output: Any, value: Any) -> list[str | None]:
    """Where an output shows a value: paths, or None for inside of a text."""
    exact = [
        path
        for path, each in atoms(output)
        if each == value
        and isinstance(each, bool) == isinstance(value, bool)
        and isinstance(each, str) == isinstance(value, str)
    ]
    if exact:
        return list(exact)
    if isinstance(value, str) and any(value == ", ".join(each) for each in lists(output)):
        return [None]
    inside = any(isinstance(each, str) and said(value, each) for _, each in atoms(output))
    number = isinstance(value, str) and any(
        not isinstance(each, str | bool) and str(each) == value for _, each in atoms(output)
    )
    return [None] if inside or number else []


def lists(value: Any) -> list[list[str]]:
    """The lists of two texts or more in a value."""
    if isinstance(value, dict):
        return [each for item in value.values() for each in lists(item)]
    if isinstance(value, list):
        whole = [value] if len(value) > 1 and all(isinstance(each, str) for each in value) else []
        return [*whole, *(each for item in value for each in lists(item))]
    return []


def others(value: Any, output: Any) -> list[Any]:
    """Values of the same kind as another: some of the same output, and some that nobody has."""
    same = [each for _, each in atoms(output) if type(each) is type(value) and each != value][:3]
    if isinstance(value, str):
        return [*same, f"no-{value[::-1]}-"]
    return [*same, value * 3 + 7919, value // 3 if isinstance(value, int) else value * 0.3]


def varied(task: dict[str, Any], text: str, seed: int) -> dict[str, Any]:
    """The task's initial state with other numbers, where the user does not say them."""
    draw = random.Random(f"{task['id']} {seed}")
    share = 0.9 - 0.035 * seed

    def walk(value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {key: walk(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [walk(each, name) for each in value]
        if isinstance(value, bool) or not isinstance(value, int | float) or said(value, text):
            return value
        if draw.random() > share and name != "random_seed":
            return value
        return value + draw.randrange(1, 90) if isinstance(value, int) else round(value * draw.uniform(0.9, 1.2), 2)

    found = {name: walk(value, name) for name, value in task["initial_config"].items()}
    for name in task["involved_classes"]:
        if isinstance(found.get(name, {}), dict):
            found.setdefault(name, {}).setdefault("random_seed", 1000 + seed)
    return found


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
    alive: bool = True
    calls: list[dict[str, Any]] = field(default_factory=list)


class Task:
    """One task on its way through all of its worlds."""

    def __init__(self, task: dict[str, Any], turns: list[list[str]]) -> None:
        self.task = task
        self.texts = ["\n".join(each["content"] for each in turn) for turn in task["question"]]
        self.plan = [(number, *_parsed(text)) for number, turn in enumerate(turns) for text in turn]
        everything = "\n".join(self.texts)
        self.others = [Elsewhere(World(task, varied(task, everything, seed))) for seed in range(_TRIES)]
        self.truth: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []

    def run(self) -> dict[str, Any]:
        """Execute, intervene, and say what was found."""
        world = World(self.task, self.task["initial_config"])
        for turn, action, positional, named in self.plan:
            app, method = world.find(action)
            args = json.loads(json.dumps(dict(inspect.signature(method).bind(*positional, **named).arguments)))
            before = copy.deepcopy(world)
            ok, output = world.call(action, args)
            text = "\n".join(self.texts[: turn + 1])
            made = Made(len(self.calls), action, args, text, ok, output, before, world)
            sources = self._sources(made) if ok else {}
            told = {"args": args, "output": output, "ok": ok}
            self.calls.append({"turn": turn, "app": app, "action": action, **told, "changes": not before.like(world)})
            for other in self.others:
                self._follow(other, made, sources)
        found = [self.calls]
        for other in self.others:
            if other.alive and len(found) <= _WORLDS:
                again = [{**base, **here} for base, here in zip(self.calls, other.calls, strict=True)]
                if all(again != each for each in found):
                    found.append(again)
        return {"task": self.task["id"], "texts": self.texts, "runs": found, "truth": self.truth}

    def _follow(self, other: Elsewhere, made: Made, sources: dict[str, tuple[int, str]]) -> None:
        """Make a call in another world: what came from a call comes from it there."""
        if not other.alive:
            return
        args = made.args
        for path, (producer, place) in sources.items():
            value = read(other.calls[producer]["output"], place)
            if value is not None:
                args = put(args, path, value)
        ok, output = other.world.call(made.action, args)
        other.alive = ok == made.ok
        other.calls.append({"args": args, "output": output, "ok": ok})

    def _sources(self, made: Made) -> dict[str, tuple[int, str]]:
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
            place = next((each for each in shown[producers[0]] if each), None) if producers else None
            if place and how in ("proven", "only", "read"):
                follow[path] = (producers[0], place)
        return follow

    def _judged(
        self, made: Made, path: str, value: Scalar, shown: dict[int, list[str | None]]
    ) -> tuple[str, list[int]]:
        """What holds of a value, and of which of the calls that show it; of others it is noted here."""
        if not shown or said(value, made.text):
            return "user", list(shown)
        known = self._known(value)
        if known is not None:
            self._note([number for number in shown if number > known], made, path, "known")
            shown = {number: places for number, places in shown.items() if number < known}
        tried = [put(made.args, path, each) for number in shown for each in others(value, self.calls[number]["output"])]
        came = [made.again(args) for args in tried]
        if all(same for _, same in came):
            return "unneeded", list(shown)
        refused = not any(ok for ok, _ in came)
        told = {number: self._told(made, path, value, number, places) for number, places in shown.items()}
        if not refused:  # it takes what it is given: that it took the original one says nothing
            told = {number: each if each == "proven" else "" for number, each in told.items()}
        proven = [number for number in told if told[number] == "proven"]
        left = proven or [number for number in told if told[number] != "refuted"]
        self._note([number for number in told if number not in left], made, path, "refuted")
        if len(left) > 1:
            return "open", left
        if proven or not left:
            return "proven", left
        if refused or (isinstance(value, str) and len(value) >= _DISTINCT):
            return "only", left
        kind = f"{self.calls[left[0]]['action']} -> {made.action} {path[2:].partition('[')[0]}"
        exception = f"{kind} @ {self.task['id']}"
        return "read" if _READ[exception if exception in _READ else kind] else "coincidence", left

    def _known(self, value: Scalar) -> int | None:
        """The first call that was given a value which no call had shown before; None without one."""
        for number, call in enumerate(self.calls):
            if call["ok"] and any(each == value for _, each in atoms(call["args"])):
                shown = any(shows(earlier["output"], value) for earlier in self.calls[:number])
                return None if shown else number
        return None

    def _note(self, producers: list[int], made: Made, path: str, how: str) -> None:
        self.truth += [{"producer": each, "consumer": made.number, "path": path, "how": how} for each in producers]

    def _told(self, made: Made, path: str, value: Scalar, producer: int, places: list[str | None]) -> str:
        """What the worlds say in which the producer shows another value: proven, refuted, or nothing."""
        told = ""
        for other in self.others:
            for place in places if other.alive else ():
                shown = read(other.calls[producer]["output"], place) if place else None
                if shown is None or shown == value or type(shown) is not type(value):
                    continue
                with_shown, with_value = (
                    copy.deepcopy(other.world).call(made.action, put(made.args, path, each))[0]
                    for each in (shown, value)
                )
                if with_value and not with_shown:
                    return "refuted"
                if with_shown and not with_value:
                    told = "proven"
        return told


def _parsed(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)  # noqa: S101 - so the reference is written
    assert isinstance(node.func, ast.Name)  # noqa: S101 - so the reference is written
    return (
        node.func.id,
        [ast.literal_eval(each) for each in node.args],
        {str(each.arg): ast.literal_eval(each.value) for each in node.keywords},
    )


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_DATA / name).read_text(encoding="utf-8").splitlines()]


def _schemas() -> dict[str, Any]:
    """What the tools' descriptions say of values: defaults, and values that are listed."""
    found = {}
    for app, name in _DOCS.items():
        for tool in _lines(f"multi_turn_func_doc/{name}.json"):
            kept = {
                argument: {key: each[key] for key in ("default", "enum") if key in each}
                for argument, each in tool["parameters"]["properties"].items()
            }
            found[f"{app}.{tool['name']}"] = {argument: each for argument, each in kept.items() if each}
    return {name: each for name, each in sorted(found.items()) if each}


def main() -> None:
    """Write all tasks."""
    turns = {each["id"]: each["ground_truth"] for each in _lines("possible_answer/BFCL_v4_multi_turn_base.json")}
    rows = [Task(task, turns[task["id"]]).run() for task in _lines("BFCL_v4_multi_turn_base.json")]
    head = {
        "source": "PyPI bfcl-eval 2026.3.23, BFCL_v4_multi_turn_base",
        "licence": "Apache-2.0",
        "schemas": _schemas(),
    }
    lines = "".join(json.dumps(row, separators=(",", ":"), sort_keys=True) + "\n" for row in (head, *rows))
    Path(sys.argv[1]).write_bytes(gzip.compress(lines.encode(), mtime=0))


if __name__ == "__main__":
    main()

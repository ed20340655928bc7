"""A phone company that exists only here: tickets, an expert who resolves them, and its state, to tell what was done.

Made so that all of a tree procedure has something to do: identifiers from the ticket and from results, one of several
lines, one of several bills, questions about results, a hand-over, a check. What is right is known for every ticket.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final, cast

from stretto.procedure.exchange import Done
from stretto.procedure.trees.fitting import FitOptions
from stretto.procedure.trees.model import Check
from stretto.procedure.trees.running import play_trees
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, User
from stretto.sessions.manifest import Kind, Manifest
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from stretto.procedure.exchange import Calls, Reply
    from stretto.procedure.trees.model import TreeProcedure
    from stretto.procedure.trees.running import TreeEnding
    from stretto.sessions.episode import Event
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["MANIFEST", "OPTIONS", "Run", "World", "demonstrations", "practise", "run_in"]

_READS: Final = ("check_status", "get_bills", "get_customer", "get_line")
_WRITES: Final = ("enable_roaming", "pay_bill", "refuel", "resume_line", "transfer")
_KINDS: Final[dict[str, Kind]] = {**dict.fromkeys(_READS, "read"), **dict.fromkeys(_WRITES, "write")}

MANIFEST: Final = Manifest("phone", dict(sorted(_KINDS.items())))
OPTIONS: Final = FitOptions(
    sources=("generated",),
    handoff="transfer",
    handoff_arguments={"summary": "A person is needed."},
    checks=(Check("works again", "check_status", ("signal: good", "data: on"), ()),),
)

_TROUBLES: Final = {
    "suspended": "There is no service at all on the phone",
    "ended": "There is no service at all on the phone",
    "roaming": "I am travelling abroad and the phone finds no network",
    "empty": "Mobile data stopped working and pages do not load",
}
_FRAMES: Final = (
    "My number is {number}. {trouble}. Please see to it that it works again.",
    "{trouble}! I call from {number} usually. It is done when the phone works again.",
    "Hello, {trouble}. The number is {number}, and I want that it works again today.",
)


@dataclass
class World:
    """The company as one ticket finds it.

    Args:
        task: number of the ticket; the same number is the same ticket and the same world.
    """

    task: int
    written: list[tuple[str, JsonObject]] = field(default_factory=list)

    def __post_init__(self) -> None:
        random = Random(self.task)
        self.trouble = random.choice(sorted(_TROUBLES))
        first = random.randrange(1000, 8000)
        self.customer = f"C{first}"
        self.lines: dict[str, JsonObject] = {}
        for number in range(random.choice((1, 2, 2, 3))):
            line = f"L{first + number}"
            self.lines[line] = {
                "line_id": line,
                "phone_number": f"555-{random.randrange(100, 999)}-{first + number}",
                "status": "active",
                "roaming": True,
                "data": "enough",
            }
        self.line = random.choice(sorted(self.lines))
        self.bills: list[JsonObject] = [
            {"bill_id": f"B{first}{number}", "status": "paid"} for number in range(random.choice((1, 2, 3)))
        ]
        self.frame = random.choice(_FRAMES)
        changes: dict[str, JsonObject] = {
            "suspended": {"status": "suspended"},
            "ended": {"status": "ended"},
            "roaming": {"roaming": False},
            "empty": {"data": "none"},
        }
        self.lines[self.line].update(changes[self.trouble])
        if self.trouble == "suspended":
            random.choice(self.bills)["status"] = "overdue"

    @property
    def ticket(self) -> str:
        """What the customer wants."""
        return self.frame.format(number=self.lines[self.line]["phone_number"], trouble=_TROUBLES[self.trouble])

    def call(self, tool: str, arguments: JsonObject) -> Done:
        """Make a call; what cannot be done fails and changes nothing."""
        if tool in _WRITES:
            self.written.append((tool, arguments))
        output = self._write(tool, arguments) if tool in _WRITES else self._read(tool, arguments)
        return Done(ok=True, output=output) if output is not None else Done(ok=False, output="Error: not possible")

    def _read(self, tool: str, arguments: JsonObject) -> JsonValue:
        output: JsonValue = None
        match tool:
            case "get_customer":
                known = any(each["phone_number"] == arguments.get("phone_number") for each in self.lines.values())
                output = {"customer_id": self.customer, "line_ids": [*sorted(self.lines)]} if known else None
            case "get_line":
                line = self.lines.get(str(arguments.get("line_id")))
                output = None if line is None else dict(line)
            case "get_bills" if arguments.get("customer_id") == self.customer:
                output = [dict(bill) for bill in self.bills]
            case "check_status":
                state = self.lines[self.line]
                signal = "good" if state["status"] == "active" and state["roaming"] else "none"
                output = f"Signal: {signal}\nData: {'on' if state['data'] == 'enough' else 'off'}"
        return output

    def _write(self, tool: str, arguments: JsonObject) -> str | None:
        output: str | None = None
        line = self.lines.get(str(arguments.get("line_id")))
        match tool:
            case "enable_roaming" if line:
                line["roaming"], output = True, "Roaming enabled."
            case "refuel" if line:
                line["data"], output = "enough", "Data refuelled."
            case "resume_line" if line and line["status"] == "suspended" and self._is_paid():
                line["status"], output = "active", "Line resumed."
            case "pay_bill":
                for bill in self.bills:
                    if bill["bill_id"] == arguments.get("bill_id") and bill["status"] == "overdue":
                        bill["status"], output = "paid", "Bill paid."
            case "transfer":
                output = "A person will call."
        return output

    def _is_paid(self) -> bool:
        return all(bill["status"] == "paid" for bill in self.bills)


def _expert(world: World, random: Random) -> Iterator[tuple[str, JsonObject]]:
    """What an expert does, with the looks around that experts differ in."""
    if random.random() < 0.3:  # noqa: PLR2004 - a habit of some
        yield "check_status", {}
    yield "get_customer", {"phone_number": world.lines[world.line]["phone_number"]}
    for line in sorted(world.lines):
        yield "get_line", {"line_id": line}
        if line == world.line:
            break
    if world.trouble == "suspended":
        yield "get_bills", {"customer_id": world.customer}
        overdue = next(bill for bill in world.bills if bill["status"] == "overdue")
        yield "pay_bill", {"bill_id": overdue["bill_id"]}
        yield "resume_line", {"line_id": world.line}
    elif world.trouble == "ended":
        yield "transfer", {"summary": f"The contract of {world.line} has ended."}
        return
    elif world.trouble == "roaming":
        yield "enable_roaming", {"line_id": world.line}
    else:
        yield "refuel", {"line_id": world.line, "gb": 2}
    if random.random() < 0.8:  # noqa: PLR2004 - a habit of most
        yield "check_status", {}


def demonstrations(tasks: Iterable[int], *, trials: int) -> list[Episode]:
    """The expert's sessions: so many of each task."""
    return [_demonstration(task, trial) for task in tasks for trial in range(trials)]


def _demonstration(task: int, trial: int) -> Episode:
    world = World(task)
    calls = [(call, world.call(*call)) for call in _expert(world, Random(task * 1000 + trial))]
    return _episode(world, calls, f"task-{task:04}-{trial}", succeeded=True)


def _episode(
    world: World, calls: Iterable[tuple[tuple[str, JsonObject], Done]], name: str, *, succeeded: bool
) -> Episode:
    events: list[Event] = [User(world.ticket)]
    for number, ((tool, arguments), done) in enumerate(calls):
        call = f"c{number}"
        content = done.output if isinstance(done.output, str) else jsonvalue.dumps(done.output).decode()
        events += [
            Assistant(calls=(ToolCall(call, tool, cast("JsonValue", arguments)),)),
            ToolResult(call, tool, error=not done.ok, content=content),
        ]
    task = f"task-{world.task:04}"
    return Episode(name, tuple(events), task_id=task, domain="phone", reward=float(succeeded))


@dataclass(frozen=True)
class Run:
    """A procedure's run in the world.

    Attributes:
        ending: of the run.
        passed: whether it wrote exactly what the expert writes.
        wrong: whether it wrote anything that the expert does not write.
        episode: the run as a session, which counts as a success where the procedure's own check says so, or where it
            passed to a person.
    """

    ending: TreeEnding
    passed: bool
    wrong: bool
    episode: Episode


def run_in(procedure: TreeProcedure, task: int, chance: Random | None = None, name: str = "run") -> Run:
    """Run a procedure on a task."""
    world = World(task)
    ending = _played(play_trees(procedure, world.ticket, chance=chance), world)
    expert = World(task)
    for call in _expert(expert, Random(0)):
        expert.call(*call)
    right, written = ([_said(call) for call in one.written] for one in (expert, world))
    calls = [((make.tool, make.args), done) for make, done in ending.made]
    succeeded = ending.verdict != "hand_back"
    episode = _episode(world, calls, f"{name}-{task:04}", succeeded=succeeded)
    return Run(ending, written == right, not set(written) <= set(right), episode)


def _played(play: Generator[Calls, Reply, TreeEnding], world: World) -> TreeEnding:
    try:
        request = next(play)
        while True:
            request = play.send([world.call(make.tool, make.args) for make in request.makes])
    except StopIteration as stop:
        ending: TreeEnding = stop.value
        return ending


def _said(call: tuple[str, JsonObject]) -> tuple[str, bytes]:
    tool, arguments = call
    return tool, b"" if tool == "transfer" else jsonvalue.canonical(arguments)


def practise(procedure: TreeProcedure, tasks: Iterable[int], *, rollouts: int) -> Iterator[Episode]:
    """A procedure's runs: as it stands, and with its leaves' actions drawn by their counts."""
    for task in tasks:
        yield run_in(procedure, task, name="own").episode
        for number in range(rollouts):
            yield run_in(procedure, task, Random(task * 100 + number), f"drawn-{number}").episode

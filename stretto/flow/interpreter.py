"""One small interpreter for the program of a flow: it serves it, simulates it and scores it.

A run stops at each draw and asks for a value, so that whoever drives it may decide, call a tool, or wait. Runs are
bounded: in steps, in the size of numbers, and lists hold no lists. Not responsible for what the distributions are
(`stretto.flow.chances`).
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from stretto.errors import FlowError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from random import Random

    from stretto.flow.program import Node, Program

__all__ = ["Choice", "Distributions", "Draw", "Inputs", "Run", "Value", "run", "score", "simulate"]

#: Statements and operations of one run. The standard run needs about 20 for each lookup.
STEP_LIMIT: Final = 100_000
_INT_BITS: Final = 63

Scalar: TypeAlias = bool | int | float
Value: TypeAlias = "Scalar | tuple[Scalar, ...]"


class Inputs(NamedTuple):
    """What a run is given.

    Attributes:
        call: number of the tool that returned (`stretto.flow.chances`).
        call_failed: whether it failed.
        max_lookups: the most lookups it may make.
    """

    call: int
    call_failed: bool
    max_lookups: int


class Draw(NamedTuple):
    """A value the run asks for.

    Attributes:
        address: ``decide#0``, ``outcome#0``, …; each once a run.
        dist: ``Decide`` or ``Outcome``.
        args: its arguments.
        given: the value, where the program knows it and only its probability is asked for; else None.
    """

    address: str
    dist: str
    args: tuple[Value, ...]
    given: Scalar | None = None


class Choice(NamedTuple):
    """A value that was drawn, and the logarithm of its probability; 0 for one that was decided, not drawn."""

    address: str
    value: Scalar
    logp: float


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a run.

    Attributes:
        value: of the program.
        choices: in the order drawn.
        logp: sum of the choices' and of the program's own weights, in nats, 0 or less for the standard run.
    """

    value: Value
    choices: tuple[Choice, ...]
    logp: float

    @property
    def surprise(self) -> float:
        """Minus the log-probability of all that was drawn, in nats."""
        return 0.0 - math.fsum(choice.logp for choice in self.choices)  # never -0.0


class Distributions(Protocol):
    """What a program draws from."""

    def distribution(self, name: str, args: Sequence[Value]) -> Mapping[Scalar, float]:
        """The values there are, each with its probability; they sum to 1.

        Raises:
            FlowError: the arguments are not what the distribution takes.
        """
        ...


def run(program: Program, inputs: Inputs) -> Generator[Draw, tuple[Scalar, float], Run]:
    """Run a program step by step.

    Args:
        program: as `stretto.flow.program.decode` gave it.
        inputs: its data.

    Yields:
        Each draw; to be sent its value and the logarithm of its probability.

    Returns:
        The run, as the value of the generator.

    Raises:
        FlowError: the program did what has no meaning (a sum of truth values, an index out of range, an address drawn
            twice, a division by 0) or took more than 100,000 steps.
    """
    machine = _Machine(inputs)
    yield from machine.block(program.body)
    return Run(machine.evaluate(program.ret), tuple(machine.choices), machine.weight + machine.drawn)


def simulate(program: Program, inputs: Inputs, chances: Distributions, random: Random) -> Run:
    """Run a program with every value drawn; the same seed gives the same run.

    Raises:
        FlowError: as `run`.
    """

    def draw(_: Draw, chances: Mapping[Scalar, float]) -> Scalar:
        return random.choices(list(chances), list(chances.values()))[0]

    return _driven(program, inputs, chances, draw)


def score(program: Program, inputs: Inputs, chances: Distributions, values: Mapping[str, Scalar]) -> Run:
    """Run a program along recorded values.

    Args:
        program: as `run` takes it.
        inputs: as `run` takes them.
        chances: what it draws from.
        values: by address.

    Returns:
        The run; its `logp` is the values' log-probability, minus infinity for a value that cannot be drawn.

    Raises:
        FlowError: as `run`; a value is missing; or one is for an address the run never came to.
    """

    def recorded(draw: Draw, _: Mapping[Scalar, float]) -> Scalar:
        value = values.get(draw.address)
        if value is None:
            raise _fault(f"no value for {draw.address}")
        return _scalar(value)

    result = _driven(program, inputs, chances, recorded)
    left = sorted(set(values) - {choice.address for choice in result.choices})
    if left:
        raise _fault(f"the run never came to {left[0]}")
    return result


def _driven(
    program: Program,
    inputs: Inputs,
    chances: Distributions,
    decide: Callable[[Draw, Mapping[Scalar, float]], Scalar],
) -> Run:
    running = run(program, inputs)
    try:
        draw = next(running)
        while True:
            known = chances.distribution(draw.dist, draw.args)
            value = decide(draw, known) if draw.given is None else draw.given
            chance = known.get(value, 0.0)
            draw = running.send((value, math.log(chance) if chance > 0 else -math.inf))
    except StopIteration as done:
        result: Run = done.value
        return result


def _fault(problem: str) -> FlowError:
    return FlowError("", "$.program", problem)


class _Machine:
    """The state of one run."""

    def __init__(self, inputs: Inputs) -> None:
        self.names: dict[str, Value] = dict(inputs._asdict())
        self.choices: list[Choice] = []
        self.seen: set[str] = set()
        self.drawn = 0.0
        self.weight = 0.0
        self.left = STEP_LIMIT

    def block(self, block: Sequence[Node]) -> Generator[Draw, tuple[Scalar, float], bool]:
        """Run statements in order; whether they ended with a break."""
        for node in block:
            self._step()
            match node:
                case {"stmt": "let" | "assign", "var": var, "value": value}:
                    self.names[var] = self.evaluate(value)
                case {"stmt": "sample", "var": var}:
                    self.names[var] = yield from self._draw(node, None)
                case {"stmt": "observe", "value": value}:
                    yield from self._draw(node, _scalar(self.evaluate(value)))
                case {"stmt": "factor", "logw": weight}:
                    self.weight += _number(self.evaluate(weight))
                case {"stmt": "for"}:
                    yield from self._loop(node)
                case {"stmt": "if", "cond": cond, "then": then}:
                    chosen = then if _truth(self.evaluate(cond)) else node.get("else", ())
                    if (yield from self.block(chosen)):
                        return True
                case _:
                    return True
        return False

    def _loop(self, node: Node) -> Generator[Draw, tuple[Scalar, float], None]:
        for number in range(_whole(self.evaluate(node["start"])), _whole(self.evaluate(node["end"]))):
            self.names[node["var"]] = number
            self._step()
            if (yield from self.block(node["body"])):
                return

    def _draw(self, node: Node, given: Scalar | None) -> Generator[Draw, tuple[Scalar, float], Scalar]:
        address: str = node["addr"]["name"]
        if "index" in node["addr"]:
            address += f"#{_whole(self.evaluate(node['addr']['index']))}"
        if address in self.seen:
            raise _fault(f"{address} is drawn twice")
        self.seen.add(address)
        args = tuple(map(self.evaluate, node["dist"]["args"]))
        value, logp = yield Draw(address, node["dist"]["name"], args, given)
        self.drawn += logp
        if given is None:
            self.choices.append(Choice(address, _scalar(value), logp))
        return value

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _fault(f"more than {STEP_LIMIT:,} steps")

    def evaluate(self, node: Node) -> Value:  # noqa: C901, PLR0911 - one case an operation
        """The value of an expression."""
        self._step()
        match node:
            case {"op": "f64" | "int" | "bool", "value": value}:
                literal: Scalar = value
                return literal
            case {"op": "var", "name": name}:
                return self.names[name]
            case {"op": "array", "items": items}:
                return tuple(_scalar(self.evaluate(item)) for item in items)
            case {"op": "index", "array": array, "index": index}:
                return self._item(_items(self.evaluate(array)), _whole(self.evaluate(index)))
            case {"op": "len", "array": array}:
                return len(_items(self.evaluate(array)))
            case {"op": "not", "arg": arg}:
                return not _truth(self.evaluate(arg))
            case {"op": "neg", "arg": arg}:
                return _bounded(-_number(self.evaluate(arg)))
            case {"op": "and", "lhs": lhs, "rhs": rhs}:
                return _truth(self.evaluate(lhs)) and _truth(self.evaluate(rhs))
            case {"op": "or", "lhs": lhs, "rhs": rhs}:
                return _truth(self.evaluate(lhs)) or _truth(self.evaluate(rhs))
            case {"op": "eq" | "ne" as op, "lhs": lhs, "rhs": rhs}:
                return self._equal(self.evaluate(lhs), self.evaluate(rhs)) is (op == "eq")
        return self._arithmetic(node["op"], _number(self.evaluate(node["lhs"])), _number(self.evaluate(node["rhs"])))

    @staticmethod
    def _item(items: tuple[Scalar, ...], index: int) -> Scalar:
        if not 0 <= index < len(items):
            raise _fault(f"index {index} of a list of {len(items)}")
        return items[index]

    @staticmethod
    def _equal(left: Value, right: Value) -> bool:
        if isinstance(left, tuple) or isinstance(right, tuple) or isinstance(left, bool) is not isinstance(right, bool):
            raise _fault("== and != take two numbers or two truth values")
        return left == right

    @staticmethod
    def _arithmetic(op: str, left: float, right: float) -> Scalar:
        if op == "div" and right == 0:
            raise _fault("division by 0")
        result: Scalar = _ARITHMETIC[op](left, right)
        return result if isinstance(result, bool) else _bounded(result)


_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _bounded(number: float) -> float:
    """Integers of 64 bits and finite floats: no run makes a number that takes long to compute with."""
    if number.bit_length() > _INT_BITS if isinstance(number, int) else not math.isfinite(number):
        raise _fault("a number became too large")
    return number


def _scalar(value: Value) -> Scalar:
    if not isinstance(value, bool | int | float):
        raise _fault("expected a number or a truth value")
    return value


def _items(value: Value) -> tuple[Scalar, ...]:
    if not isinstance(value, tuple):
        raise _fault("expected a list")
    return value


def _number(value: Value) -> float:
    if isinstance(value, bool | tuple):
        raise _fault("expected a number")
    return value


def _whole(value: Value) -> int:
    if type(value) is not int:
        raise _fault("expected a whole number")
    return value


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise _fault("expected a truth value")
    return value

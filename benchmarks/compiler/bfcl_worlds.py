"""The worlds in which a task of BFCL is executed: its own, and others that were varied in advance.

A user of the compiler has many traces of one intent: the user asks for the same, and the world differs. What differs
follows from what sort of thing a value is, never from a task's id or from what the rule says of it. It was fixed before
these worlds were measured, by one who knew what the rule missed and got wrong in worlds whose numbers alone differed.
In each further world, with a share that falls from world to world, so that some differ in nearly everything and some in
little:

- **numbers** of the initial state, and of the tables in the package's code (prices, fares, distances, exchange rates),
  are others; so are the seeds of what the environments draw;
- **names** are others, the same one everywhere in that world: the words and the numbers that file names, contents,
  users and keys of the initial state are made of, and the codes (capitals and digits: stocks, airports, zip codes) of
  the initial state and of the tables in the code. A code is as long as it was, a word may be longer or shorter;
- **members** of a list of texts and of a table of records, and lines of a text of several, are left out, one in four,
  whether or not the user names them. The others keep their order.

Numbers and names stay that the user says, or that the reference passes without any call having shown them: its own
knowledge. So does a code whose name the user says, as a directory of the package has it (Microsoft is MSFT), and which
the reference does not look up; what the package's code has words for (states, options, names of fields); what looks
like a date; and what calculates.

Initial states and tables are changed before the package's own code runs on them; no result is rewritten. A world in
which a call of the reference does not come out as in the task's own (success, or refusal) is given up.

Two things were put right after a look at what the rule made of these worlds: at first what the user names was never
left out of a list, and a counter stayed that happened to be as large as the number of some record.
"""

from __future__ import annotations

import ast
import random
import re
import types
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from benchmarks.compiler.bfcl_package import World, environment, has_state, said, source, tools

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Further worlds that are tried for a task.
TRIES: Final = 48

#: What names are made of; and what looks like a date, a time or a version, which stays.
_PARTS: Final = re.compile(r"\d+(?:[-/.:]\d+)+|[A-Za-z]+|\d+")
_CODE: Final = re.compile(r"[A-Z0-9]{2,}")
_LEFT_OUT: Final = 0.25
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def parts(text: str) -> list[str]:
    """What the names in a text are made of, in its order."""
    return _PARTS.findall(text)


@cache
def _codes(app: str) -> frozenset[str]:
    """What the codes in an environment's code are made of: capitals and digits, in displays and comparisons."""
    kinds = ast.Dict | ast.List | ast.Tuple | ast.Compare
    return frozenset(
        part
        for node in ast.walk(ast.parse(source(app)))
        if isinstance(node, kinds)
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and _CODE.fullmatch(each.value)
        for part in parts(each.value)
    )


@cache
def _words(app: str) -> frozenset[str]:
    """What an environment has words for: those of its code, and the names of fields."""
    fields = [
        name
        for tool, told in tools().items()
        if tool.startswith(f"{app}.")
        for part in ("parameters", "response")
        for name in told.get(part, {}).get("properties", {})
    ]
    code = {each.lower() for each in parts(source(app)) if not each.isdigit() and not each.isupper()}
    return frozenset(code | {each.lower() for name in fields for each in parts(name)})


class Names:
    """How one world calls what the task's own calls otherwise. The same part has the same name everywhere in it."""

    def __init__(self, apps: Iterable[str], stay: frozenset[str], draw: random.Random, share: float) -> None:
        self._draw = draw
        self._share = share
        self._codes = frozenset[str]().union(*(_codes(app) for app in apps))
        self._stay = stay | frozenset[str]().union(*(_words(app) for app in apps))
        self._found: dict[str, str] = {}
        self._taken = set(self._stay) | {each.lower() for each in self._codes}

    def of(self, text: str, *, is_code: bool = False) -> str:
        """What a text reads here.

        Args:
            text: of the initial state, or made of such texts.
            is_code: whether it stands in the package's code, of which the codes alone are names.
        """
        return _PARTS.sub(lambda found: self._part(found[0], is_code=is_code), text)

    def here(self, text: str) -> str:
        """What a text that came up on the way reads here: the parts of it that have another name."""
        return _PARTS.sub(lambda found: self._cased(found[0], self._found.get(found[0].lower(), "")), text)

    def _part(self, part: str, *, is_code: bool) -> str:
        name = part.lower()
        is_name = part.isdigit() or (part.isalpha() and len(part) > 1)
        if name in self._stay or not is_name or (is_code and part not in self._codes):
            return part
        if name not in self._found:
            self._found[name] = self._other(part) if self._draw.random() < self._share else name
        return self._cased(part, self._found[name])

    @staticmethod
    def _cased(part: str, name: str) -> str:
        if not name:
            return part
        if part.isupper():
            return name.upper()
        return name.capitalize() if part[0].isupper() else name

    def _other(self, part: str) -> str:
        """Another name of the same sort, that nothing has yet."""
        length = len(part)
        while True:
            if part.isdigit():
                made = "".join(self._draw.choice("0123456789") for _ in range(length - 1 or 1))
                made = (self._draw.choice("123456789") if part[0] != "0" or length == 1 else "0") + made
            elif part.isupper():
                made = "".join(self._draw.choice(_LETTERS) for _ in range(length))
            else:
                made = "".join(self._draw.choice(_LETTERS) for _ in range(max(3, length + self._draw.randrange(-2, 3))))
            if made not in self._taken:
                self._taken.add(made)
                return made


class Variation:
    """What one further world has otherwise than a task's own."""

    def __init__(self, task: dict[str, Any], text: str, stay: frozenset[str], seed: int) -> None:
        """Fix it.

        Args:
            task: it.
            text: all that the user says.
            stay: parts of names that stay.
            seed: of the world.
        """
        self._draw = random.Random(f"{task['id']} {seed}")
        self._share = 0.9 - 0.8 * seed / TRIES
        self._text = text
        self._seed = seed
        self._task = task
        self.names = Names(task["involved_classes"], stay, self._draw, self._share)

    def _config(self) -> dict[str, Any]:
        """The initial state."""
        found = {name: self._walk(value, "") for name, value in self._task["initial_config"].items()}
        for name in self._task["involved_classes"]:
            if isinstance(found.get(name, {}), dict):
                found.setdefault(name, {}).setdefault("random_seed", 1000 + self._seed)
        return found

    def _walk(self, value: Any, name: str, own: str = "") -> Any:
        """A part of the initial state, by the name of its field, and by the number that its record is kept under."""
        if isinstance(value, dict):
            kept = [key for key in value if not (_is_table(value) and self.leaves_out())]
            return {self.names.of(key): self._walk(value[key], key, key if key.isdigit() else own) for key in kept}
        if isinstance(value, list):
            texts = all(isinstance(each, str) for each in value)
            return [self._walk(each, name, own) for each in value if not (texts and self.leaves_out())]
        if isinstance(value, str):
            rows = value.split("\n")
            return self.names.of("\n".join(each for each in rows if len(rows) == 1 or not self.leaves_out()))
        if isinstance(value, int) and str(value) == own:
            return int(self.names.of(own))
        return self.number(value, is_seed=name == "random_seed")

    def number(self, value: Any, *, is_seed: bool = False) -> Any:
        """Another number, where the user does not say it; whatever is no number stays."""
        if isinstance(value, bool) or not isinstance(value, int | float) or said(value, self._text):
            return value
        if self._draw.random() > self._share and not is_seed:
            return value
        if isinstance(value, int):
            return value + self._draw.randrange(1, 90)
        return round(value * self._draw.uniform(0.9, 1.2), 2)

    def leaves_out(self) -> bool:
        """Whether a list, a table or a text goes without its next member."""
        return self._draw.random() < _LEFT_OUT

    def _varied(self, app: str) -> Any:
        """The class of an environment, its tables varied."""
        module = types.ModuleType(app)
        tree = _Tables(self).visit(ast.parse(source(app)))
        exec(compile(tree, app, "exec"), module.__dict__)  # noqa: S102 - the package's own code, other constants in it
        return getattr(module, app)

    def world(self) -> World | None:
        """The world; None where the environments do not load it."""
        apps = self._task["involved_classes"]
        try:
            return World(
                self._config(), {app: self._varied(app) if has_state(app) else environment(app) for app in apps}
            )
        except Exception:  # noqa: BLE001 - whatever an environment raises, this is no world of its own
            return None


def _is_table(value: dict[str, Any]) -> bool:
    """Whether an object has records of one form as its values, two or more."""
    records = [each for each in value.values() if isinstance(each, dict)]
    shapes = {() if "type" in each else tuple(sorted(each)) for each in records}
    return len(records) == len(value) > 1 and len(shapes) == 1


class _Tables(ast.NodeTransformer):
    """Changes codes wherever they stand, and numbers and lists of texts in displays that are assigned or returned."""

    def __init__(self, variation: Variation) -> None:
        self._variation = variation

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str):
            node.value = self._variation.names.of(node.value, is_code=True)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return self.generic_visit(self._varied(node))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return self.generic_visit(self._varied(node))

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if isinstance(node.value, ast.List):
            self._display(node.value)
        return self.generic_visit(node)

    def _varied(self, node: Any) -> Any:
        if isinstance(node.value, ast.Dict | ast.List):
            self._display(node.value)
        return node

    def _display(self, node: ast.expr) -> None:
        if isinstance(node, ast.Dict):
            for each in node.values:
                if isinstance(each, ast.Constant):
                    each.value = self._variation.number(each.value)
                else:
                    self._display(each)
        elif isinstance(node, ast.List):
            if node.elts and all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in node.elts):
                node.elts = [each for each in node.elts if not self._variation.leaves_out()]
            for each in node.elts:
                self._display(each)

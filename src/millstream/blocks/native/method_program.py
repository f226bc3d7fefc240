"""The program of a routine whose blocks are methods in Python: events in a loop, methods inside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from millstream.blocks.foreign import SELF, Foreign, Form, PythonClass
from millstream.blocks.layout import BEGUN, Layout
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.native.frontier import Parameter
from millstream.blocks.native.kinds import NotNative, Reason, array_type
from millstream.blocks.native.methods import ZERO, Method, Typed
from millstream.blocks.native.statements import Refused
from millstream.blocks.routine import Block, Routine

RUNTIME = Path(__file__).with_name("method_runtime.py")
BUILT_IN = ("abs", "min", "max", "float", "int")


@dataclass(frozen=True)
class MethodProgram:
    """The source of a program, what it is handed, and how many rows an event gives at most."""

    source: str
    takes: tuple[Parameter, ...]
    most: int


def code_of(routine: Routine) -> PythonClass | None:
    """The class whose methods are the blocks of a routine, if they are."""
    found = next(routine.statements(), None)
    return found.of if isinstance(found, Foreign) else None


@lru_cache(maxsize=256)
def method_program(
    routine: Routine, ending: Ending, frame: Frame | None, wanted: bool
) -> MethodProgram:
    """Raises `Refused` if the class has no native form."""
    code = code_of(routine)
    assert code is not None
    try:
        return _Writing(routine, code, ending, wanted).whole(Layout(routine, frame))
    except NotNative as error:
        raise Refused(Reason(f"class {code.name}", str(error))) from None


class _Writing:
    def __init__(self, routine: Routine, code: PythonClass, ending: Ending, wanted: bool) -> None:
        if code.text is None:
            raise NotNative("its source cannot be read")
        if code.sees_window:
            raise NotNative("it looks at the window")
        other = next((s for s in code.states if s.form is not Form.VALUE), None)
        if other is not None:
            raise NotNative(f'what "{other.name}" holds is no single number')
        self.routine, self.ending, self.wanted = routine, ending, wanted
        module = ast.parse(code.text)
        self.node = _class_in(module, code.name)
        self.methods = {n.name: n for n in self.node.body if isinstance(n, ast.FunctionDef)}
        self.constants = _constants(module)
        self.own_constants = _class_constants(self.node)
        self.shadowed = frozenset(_names_of(module)) - {self.node.name}
        values = next(t.columns for t in routine.tables if t.name == SELF)
        self.slots: dict[str, Typed] = {
            name: (f"c{j}", number_type(name, kind)) for j, (name, kind) in enumerate(values)
        }
        self.takes = [number_type(name, kind) for name, kind in routine.arguments]
        self.returns = [number_type(name, kind) for name, kind in routine.returns]
        self.begins = self._begins()

    def _begins(self) -> list[str]:
        """What slots are before the first method: every attribute has a value, or gets one."""
        first = self.routine.initialize[0]
        assert isinstance(first, Foreign)
        body = self.methods[first.method].body if first.method in self.methods else []
        given = {t.attr for s in body for t in _targets(s) if isinstance(t, ast.Attribute)}
        found = []
        for name, (_, kind) in self.slots.items():
            value = self.own_constants.get(name)
            if value is None and not (first.method == "initialize" and name in given):
                raise NotNative(f'attribute "{name}" may have no value')
            if value is not None and isinstance(value, bool) != (kind == "np.bool_"):
                raise NotNative(f'attribute "{name}" begins with another type')
            if isinstance(value, float) and kind == "np.int64":
                raise NotNative(f'attribute "{name}" begins with another type')
            found.append(ZERO[kind] if value is None else repr(value))
        return found

    def whole(self, layout: Layout) -> MethodProgram:
        functions = [line for label in self._labels() for line in self._function(label)]
        most = max(
            len(self.routine.initialize), len(self.routine.iterate), len(self.routine.expire or ())
        ) + len(self.routine.terminate or ())
        takes = [Parameter(n, "np.int64", n) for n in ("event", "starts")]
        takes.append(Parameter("arrivals", "int", "arrivals"))
        takes += [Parameter("wanted", "np.bool_", "wanted")] if self.wanted else []
        for j, kind in enumerate(self.takes):
            takes.append(Parameter(f"a{j}", kind, "argument", (j,)))
        takes.append(Parameter("s_begun", "np.bool_", "slot", (BEGUN,)))
        for code, kind in self.slots.values():
            takes.append(Parameter(f"s_{code}", kind, "slot", (f"t0.{code}",)))
        helpers = RUNTIME.read_text().partition("\n\n\n@njit")
        source = "\n".join(
            [
                "import math", "", "import numpy as np", "from numba import njit", "",
                "LARGE = 9007199254740992", "", "",
                f"@njit{helpers[2]}", "", *functions, *self._run(takes, most),
            ]
        )  # fmt: skip
        return MethodProgram(source + "\n", tuple(takes), most)

    def _labels(self) -> list[str]:
        return list(
            dict.fromkeys(s.method for s in self.routine.statements() if isinstance(s, Foreign))
        )

    def _function(self, label: str) -> list[str]:
        if label not in self.methods:
            raise NotNative(f"{label} is not a method of the class itself")
        node = self.methods[label]
        if node.decorator_list:
            raise NotNative(f"{label} has a decorator")
        own, *names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        arguments = {n: (f"a{j}", kind) for j, (n, kind) in enumerate(zip(names, self.takes))}
        if not self._takes(label):
            arguments = {}
        method = Method(
            self.slots,
            arguments,
            self.returns,
            self.constants,
            self.own_constants,
            self.shadowed,
            own,
        )
        return method.write(f"{label}_", node.body, [code for code, _ in arguments.values()])

    def _takes(self, label: str) -> bool:
        statements = [s for s in self.routine.statements() if isinstance(s, Foreign)]
        return next(s.takes for s in statements if s.method == label)

    def _run(self, takes: list[Parameter], most: int) -> Iterator[str]:
        slots = [code for code, _ in self.slots.values()]
        yield f"def run({', '.join(p.name for p in takes)}):"
        yield "    r = 0"
        yield f"    r_event = np.empty(len(event) * {most}, np.int64)"
        for j, kind in enumerate(self.returns):
            yield f"    r_c{j} = np.empty(len(event) * {most}, {kind})"
        yield "    for g in range(len(starts) - 1):"
        yield "        begun, last = s_begun[g], -1"
        for code in slots:
            yield f"        {code} = s_{code}[g]"
        yield "        for k in range(starts[g], starts[g + 1]):"
        yield "            e = event[k]"
        yield f"            counts = {'wanted[e]' if self.wanted else 'True'}"
        yield "            if e < arrivals:"
        yield "                last = e"
        yield "                if not begun:"
        for code, value in zip(slots, self.begins):
            yield f"                    {code} = {value}"
        yield from self._calls(self.routine.initialize, "e", 20)
        yield "                    begun = True"
        yield "                else:"
        yield from self._calls(self.routine.iterate, "e", 20)
        if self.ending in (Ending.EACH, Ending.WANTED):
            yield f"                if {'counts' if self.ending is Ending.WANTED else 'True'}:"
            yield from self._calls(self.routine.terminate or (), "e", 20)
        yield "            elif begun:"
        yield from self._calls(self.routine.expire or (), "e", 16)
        if self.ending is Ending.LAST:
            yield "        if last >= 0:"
            yield f"            counts = {'wanted[last]' if self.wanted else 'True'}"
            yield from self._calls(self.routine.terminate or (), "last", 12)
            yield "        begun = False"
        yield "        s_begun[g] = begun"
        for code in slots:
            yield f"        s_{code}[g] = {code}"
        yield f"    return ({', '.join(['r', 'r_event', *self._columns()])},)"

    def _columns(self) -> list[str]:
        return [f"r_c{j}" for j in range(len(self.returns))]

    def _calls(self, block: Block, event: str, indent: int) -> Iterator[str]:
        space = " " * indent
        yield f"{space}pass"
        slots = [code for code, _ in self.slots.values()]
        for statement in block:
            assert isinstance(statement, Foreign)
            given = [f"a{j}[{event}]" for j in range(len(self.takes))] if statement.takes else []
            row = [f"b{j}" for j in range(len(self.returns))]
            called = f"{statement.method}_({', '.join([*slots, *given])})"
            yield f"{space}({', '.join(['there', *row, *slots])},) = {called}"
            yield f"{space}if there and counts:"
            yield f"{space}    r_event[r] = {event}"
            for column, value in zip(self._columns(), row):
                yield f"{space}    {column}[r] = {value}"
            yield f"{space}    r += 1"


def number_type(name: str, kind: object) -> str:
    found = array_type(kind)  # type: ignore[arg-type]
    if str(kind) not in ("int64", "double", "bool"):
        raise NotNative(f'"{name}" is no number')
    return found


def _class_in(module: ast.Module, name: str) -> ast.ClassDef:
    wanted = name.rpartition(".")[2]
    found = [n for n in ast.walk(module) if isinstance(n, ast.ClassDef) and n.name == wanted]
    if len(found) != 1:
        raise NotNative("its source cannot be told from others")
    node = found[0]
    plain = all(isinstance(d, ast.Name) and d.id == "dataclass" for d in node.decorator_list)
    hooks = [n.name for n in node.body if isinstance(n, ast.FunctionDef) and n.name[:2] == "__"]
    if node.bases or node.keywords or not plain or hooks:
        raise NotNative("it is more than attributes and methods")
    return node


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return [statement.target]
    return []


def _number(node: ast.expr | None) -> bool | int | float | None:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
    return None


def _constants(module: ast.Module) -> dict[str, int | float]:
    """Numbers that a module gives a name, once and for all."""
    found: dict[str, int | float] = {}
    for statement in module.body:
        for target in _targets(statement):
            value = _number(getattr(statement, "value", None))
            if isinstance(target, ast.Name) and value is not None:
                found[target.id] = value
    stored = [n.id for n in ast.walk(module) if isinstance(n, ast.Name) and _is_stored(n)]
    return {name: value for name, value in found.items() if stored.count(name) == 1}


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _class_constants(node: ast.ClassDef) -> dict[str, int | float]:
    found = {}
    for statement in node.body:
        for target in _targets(statement):
            value = _number(getattr(statement, "value", None))
            if isinstance(target, ast.Name) and value is not None:
                found[target.id] = value
    return found


def _names_of(module: ast.Module) -> Iterator[str]:
    """Names that a module gives another meaning than native code takes them to have."""
    imported = False
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                imported |= any(n.name == "math" and n.asname in (None, "math") for n in names)
                yield from (n.asname for n in names if n.asname and n.name != n.asname)
            case ast.ImportFrom(names=names):
                yield from (n.asname or n.name for n in names)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.Global() | ast.Nonlocal():
                raise NotNative("it has global names")
    if not imported:
        yield "math"

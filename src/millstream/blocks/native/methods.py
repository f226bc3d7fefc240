"""Methods in Python as native code: numbers in, numbers out, under generated names."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from millstream.blocks.native.kinds import NotNative

WHOLE, REAL, TRUTH = "np.int64", "np.float64", "np.bool_"
ZERO = {WHOLE: "0", REAL: "0.0", TRUTH: "False"}
SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
WHOLE_WAYS = {
    ast.Add: "added", ast.Sub: "less", ast.Mult: "times", ast.FloorDiv: "divided", ast.Mod: "rest",
}  # fmt: skip
REAL_WAYS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
MATHS = {"sqrt": REAL, "exp": REAL, "log": REAL, "fabs": REAL, "floor": WHOLE, "ceil": WHOLE}

Typed = tuple[str, str]
"""The code of a value, and its type."""


@dataclass
class Method:
    """Writes one method as a function of slots and arguments.

    It gives whether there is a row, the columns of the row, and the slots. Where native code could
    differ from Python it raises, and the step is carried out by Python: numbers that are too large,
    division by zero, arguments outside of a function's domain. `constants` are numbers by name,
    `modules` says whether `math` is that module; `own` is what the method calls its instance.
    """

    slots: dict[str, Typed]
    arguments: dict[str, Typed]
    returns: Sequence[str]
    constants: dict[str, int | float]
    class_constants: dict[str, int | float]
    shadowed: frozenset[str]
    own: str
    locals: dict[str, Typed] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    widened: bool = True

    def write(self, name: str, body: Sequence[ast.stmt], takes: Sequence[str]) -> list[str]:
        """The function; written again while the type of a local value turns out to be wider."""
        while self.widened:
            self.widened, self.lines = False, []
            open_end = self._block(body, "    ", set())
            if open_end is not None:
                self.lines.append(f"    return {self._given(None)}")
        slots = [code for code, _ in self.slots.values()]
        head = f"def {name}({', '.join([*slots, *takes])}):"
        return ["@njit(error_model='numpy', inline='always')", head, *self.lines, "", ""]

    def _given(self, row: Sequence[str] | None) -> str:
        columns = row or [ZERO[kind] for kind in self.returns]
        slots = [code for code, _ in self.slots.values()]
        return f"({', '.join([str(row is not None), *columns, *slots])},)"

    def _block(self, body: Sequence[ast.stmt], indent: str, known: set[str]) -> set[str] | None:
        """Write statements; the local names known after them, None if all ways have returned."""
        for statement in body:
            match statement:
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    self.lines.append(f"{indent}pass")
                case ast.Assign(targets=targets, value=value):
                    given = self._value(value, known)
                    if len(targets) > 1:
                        self.lines.append(f"{indent}held = {given[0]}")
                        given = "held", given[1]
                    for target in targets:
                        self._assign(target, given, indent, known)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._assign(target, self._value(value, known), indent, known)
                case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op, value=of):
                    before = self._value(_read(target), known)
                    after = self._binary(op, before, self._value(of, known))
                    self._assign(target, after, indent, known)
                case ast.If(test=test, body=yes, orelse=no):
                    self.lines.append(f"{indent}if {self._truth(test, known)}:")
                    first = self._block(yes, indent + "    ", set(known))
                    self.lines.append(f"{indent}else:")
                    second = self._block([*no, ast.Pass()], indent + "    ", set(known))
                    if first is None and second is None:
                        return None
                    ways = [way for way in (first, second) if way is not None]
                    known |= set.intersection(*ways)
                case ast.Return(value=value):
                    self._return(value, indent, known)
                    return None
                case _:
                    raise NotNative(f"{_word(statement)} has no native form")
        return known

    def _return(self, value: ast.expr | None, indent: str, known: set[str]) -> None:
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            self.lines.append(f"{indent}return {self._given(None)}")
            return
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        if len(parts) != len(self.returns):
            raise NotNative("what is returned has another number of columns")
        row = [fitted(self._value(p, known), kind) for p, kind in zip(parts, self.returns)]
        self.lines.append(f"{indent}return {self._given(row)}")

    def _assign(self, target: ast.expr, given: Typed, indent: str, known: set[str]) -> None:
        match target:
            case ast.Attribute(value=ast.Name(id=own), attr=name) if own == self.own:
                if name not in self.slots:
                    raise NotNative("an attribute is set that is not kept")
                code, kind = self.slots[name]
                self.lines.append(f"{indent}{code} = {fitted(given, kind)}")
            case ast.Name(id=name):
                if name in self.arguments or name == self.own:
                    raise NotNative("an argument is given another value")
                code, kind = self.locals.setdefault(name, (f"v{len(self.locals)}", given[1]))
                wide = _wider(kind, given[1])
                if wide != kind:
                    self.locals[name], self.widened = (code, wide), True
                known.add(name)
                self.lines.append(f"{indent}{code} = {fitted(given, wide)}")
            case _:
                raise NotNative("a value is put where native code cannot put it")

    def _value(self, node: ast.expr, known: set[str]) -> Typed:
        match node:
            case ast.Constant(value=value) if isinstance(value, bool | int | float):
                return _constant(value)
            case ast.Name(id=name) if name in self.arguments:
                return self.arguments[name]
            case ast.Name(id=name) if name in known:
                return self.locals[name]
            case ast.Name(id=name) if name in self.constants and name not in self.locals:
                return _constant(self.constants[name])
            case ast.Attribute(value=ast.Name(id=own), attr=name) if own == self.own:
                if name in self.slots:
                    return self.slots[name]
                if name in self.class_constants:
                    return _constant(self.class_constants[name])
                raise NotNative("an attribute is read that is no number")
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._value(left, known), self._value(right, known))
            case ast.UnaryOp(op=ast.USub(), operand=of):
                code, kind = self._number(of, known)
                return (f"(-{code})" if kind == REAL else f"less(0, {code})"), kind
            case ast.UnaryOp(op=ast.Not(), operand=of):
                return f"(not {self._truth(of, known)})", TRUTH
            case ast.BoolOp(op=op, values=values):
                parts = [self._value(value, known) for value in values]
                if any(kind != TRUTH for _, kind in parts):
                    raise NotNative("and, or of numbers have no native form")
                word = " and " if isinstance(op, ast.And) else " or "
                return f"({word.join(code for code, _ in parts)})", TRUTH
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._compared([left, *others], ops, known), TRUTH
            case ast.IfExp(test=test, body=yes, orelse=no):
                first, second = self._value(yes, known), self._value(no, known)
                kind = _wider(first[1], second[1])
                condition = self._truth(test, known)
                return f"({fitted(first, kind)} if {condition} else {fitted(second, kind)})", kind
            case ast.Call(func=function, args=arguments, keywords=[]):
                return self._call(function, [self._number(one, known) for one in arguments])
        raise NotNative(f"{_word(node)} has no native form")

    def _number(self, node: ast.expr, known: set[str]) -> Typed:
        found = self._value(node, known)
        if found[1] == TRUTH:
            raise NotNative("a bool stands where a number is meant")
        return found

    def _truth(self, node: ast.expr, known: set[str]) -> str:
        code, kind = self._value(node, known)
        return code if kind == TRUTH else f"({code} != 0)"

    def _binary(self, op: ast.operator, left: Typed, right: Typed) -> Typed:
        if TRUTH in (left[1], right[1]):
            raise NotNative("a bool stands where a number is meant")
        if isinstance(op, ast.Div):
            return f"over({fitted(left, REAL)}, {fitted(right, REAL)})", REAL
        if left[1] == right[1] == WHOLE and type(op) in WHOLE_WAYS:
            return f"{WHOLE_WAYS[type(op)]}({left[0]}, {right[0]})", WHOLE
        if type(op) in REAL_WAYS:
            return f"({fitted(left, REAL)} {REAL_WAYS[type(op)]} {fitted(right, REAL)})", REAL
        raise NotNative(f"{type(op).__name__} of such numbers has no native form")

    def _compared(
        self, parts: Sequence[ast.expr], ops: Sequence[ast.cmpop], known: set[str]
    ) -> str:
        values = [self._value(part, known) for part in parts]
        found = []
        for left, op, right in zip(values, ops, values[1:]):
            if type(op) not in SIGNS or (TRUTH in (left[1], right[1]) and left[1] != right[1]):
                raise NotNative(f"{type(op).__name__} of such values has no native form")
            kind = _wider(left[1], right[1])
            found.append(f"{fitted(left, kind)} {SIGNS[type(op)]} {fitted(right, kind)}")
        return f"({' and '.join(found)})"

    def _call(self, function: ast.expr, given: list[Typed]) -> Typed:
        match function:
            case ast.Name(id=name) if name in self.shadowed or name in self.locals:
                pass
            case ast.Name(id="abs") if len(given) == 1:
                code, kind = given[0]
                return (f"abs({code})" if kind == REAL else f"size({code})"), kind
            case ast.Name(id="min" | "max" as name) if len(given) == 2:
                kind = _wider(given[0][1], given[1][1])
                both = ", ".join(fitted(one, kind) for one in given)
                return f"{'least' if name == 'min' else 'most'}({both})", kind
            case ast.Name(id="float") if len(given) == 1:
                return fitted(given[0], REAL), REAL
            case ast.Name(id="int") if len(given) == 1:
                code, kind = given[0]
                return (code if kind == WHOLE else f"whole({code})"), WHOLE
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if (
                name in MATHS and "math" not in self.shadowed and len(given) == 1
            ):
                return f"m_{name}({fitted(given[0], REAL)})", MATHS[name]
        raise NotNative("a call has no native form")


def fitted(given: Typed, kind: str) -> str:
    """The code of a value as one of a type."""
    if given[1] == kind:
        return given[0]
    if (given[1], kind) == (WHOLE, REAL):
        return f"real({given[0]})"
    raise NotNative("a value has another type than what is declared")


def _wider(one: str, other: str) -> str:
    if one == other:
        return one
    if TRUTH in (one, other):
        raise NotNative("a value is a bool here and a number there")
    return REAL


def _constant(value: bool | int | float) -> Typed:
    if isinstance(value, bool):
        return repr(value), TRUTH
    if isinstance(value, int):
        if abs(value) >= 2**62:
            raise NotNative("a whole number is too large")
        return repr(value), WHOLE
    if value != value or value in (float("inf"), float("-inf")):
        raise NotNative("a number is not finite")
    return repr(value), REAL


def _read(target: ast.Name | ast.Attribute) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return ast.Attribute(target.value, target.attr, ast.Load())


def _word(node: ast.AST) -> str:
    return f"{type(node).__name__} in line {getattr(node, 'lineno', 0)}"

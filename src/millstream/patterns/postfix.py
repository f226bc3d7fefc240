"""Conditions over several tuples as postfix code, and the native function that evaluates it.

Patterns are data: one function, compiled once, evaluates the conditions of all of them. Values are
64-bit words: integers, times and truth values as they are, doubles by their bits, texts and
decimals by their rank among those that are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa

from millstream.algebra.expressions import Call, Case, Cast, Column, Expression, Literal
from millstream.algebra.types import BOOLEAN, DATE, DOUBLE, INTEGER, INTERVAL, STRING, TIMESTAMP
from millstream.columns.native import inlined, native

DEPTH = 64
"""So many values may wait on the stack."""


class Op(IntEnum):
    """Operations: those on whole numbers, then the same on doubles."""

    LOAD = 0
    TALLY = 1
    CONSTANT = 2
    ADD = 3
    SUBTRACT = 4
    MULTIPLY = 5
    DIV = 6
    MODULO = 7
    NEGATE = 8
    ABS = 9
    LESS = 10
    LESS_EQUAL = 11
    EQUAL = 12
    DIFFERENT = 13
    FLOAT_ADD = 14
    FLOAT_SUBTRACT = 15
    FLOAT_MULTIPLY = 16
    FLOAT_DIVIDE = 17
    FLOAT_NEGATE = 18
    FLOAT_ABS = 19
    FLOAT_LESS = 20
    FLOAT_LESS_EQUAL = 21
    FLOAT_EQUAL = 22
    FLOAT_DIFFERENT = 23
    AND = 24
    OR = 25
    NOT = 26
    IS_NULL = 27
    COALESCE = 28
    CHOOSE = 29
    TO_FLOAT = 30
    TRUNCATE = 31


WORDS = (INTEGER, TIMESTAMP, INTERVAL, BOOLEAN, DATE)
"""Types whose values are words as they are."""


class NotPostfix(Exception):
    """A condition that cannot be tested while a pattern is searched; `part` is what keeps it."""

    def __init__(self, part: Expression) -> None:
        super().__init__(str(part))
        self.part = part


@dataclass(frozen=True)
class Code:
    """Conditions as code: that of condition k is `code[bounds[k]:bounds[k + 1]]`; none is true."""

    code: np.ndarray
    bounds: np.ndarray

    @staticmethod
    def of(
        conditions: Sequence[Expression],
        loads: Mapping[str, tuple[int, int]],
        tallies: Mapping[str, int],
    ) -> Code:
        """Code for conditions over columns of which `loads` names register and column of the
        arrays, and `tallies` the number of a tally."""
        lines: list[tuple[int, int, int]] = []
        bounds = [0]
        for condition in conditions:
            if not (isinstance(condition, Literal) and condition.value is True):
                _write(condition, loads, tallies, lines)
            bounds.append(len(lines))
        code = np.array(lines, np.int64).reshape(len(lines), 3)
        return Code(code, np.array(bounds, np.int64))


def is_ranked(kind: pa.DataType) -> bool:
    """Whether values of a type are words by their rank."""
    return kind == STRING or pa.types.is_decimal(kind)


_COMPARISONS = {"<": (Op.LESS, False), "<=": (Op.LESS_EQUAL, False)}
_COMPARISONS |= {">": (Op.LESS, True), ">=": (Op.LESS_EQUAL, True)}
_COMPARISONS |= {"=": (Op.EQUAL, False), "<>": (Op.DIFFERENT, False)}
_ARITHMETIC = {"+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "neg": Op.NEGATE, "abs": Op.ABS}
_FLOATS = {
    Op.ADD: Op.FLOAT_ADD,
    Op.SUBTRACT: Op.FLOAT_SUBTRACT,
    Op.MULTIPLY: Op.FLOAT_MULTIPLY,
    Op.NEGATE: Op.FLOAT_NEGATE,
    Op.ABS: Op.FLOAT_ABS,
    Op.LESS: Op.FLOAT_LESS,
    Op.LESS_EQUAL: Op.FLOAT_LESS_EQUAL,
    Op.EQUAL: Op.FLOAT_EQUAL,
    Op.DIFFERENT: Op.FLOAT_DIFFERENT,
}
_WHOLE = {"div": Op.DIV, "%": Op.MODULO}
_LOGIC = {"and": Op.AND, "or": Op.OR}
Lines = list[tuple[int, int, int]]


def _write(
    value: Expression,
    loads: Mapping[str, tuple[int, int]],
    tallies: Mapping[str, int],
    lines: Lines,
) -> None:
    def write(part: Expression) -> None:
        _write(part, loads, tallies, lines)

    def then(op: Op, a: int = 0, b: int = 0) -> None:
        lines.append((int(op), a, b))

    match value:
        case Column(name=name) if name in tallies:
            if is_ranked(value.type):
                raise NotPostfix(value)
            then(Op.TALLY, tallies[name])
        case Column(name=name):
            then(Op.LOAD, *loads[name])
        case Literal():
            then(Op.CONSTANT, int(value.value is not None), _word(value))
        case Cast(argument=argument, type=kind):
            write(argument)
            _cast(value, argument.type, kind, then)
        case Case(branches=branches, default=default):
            write(default)
            for condition, chosen in reversed(branches):
                write(chosen)
                write(condition)
                then(Op.CHOOSE)
        case Call():
            _call(value, write, then)
        case _:
            raise NotPostfix(value)


def _call(call: Call, write: Callable[[Expression], None], then: Callable[..., None]) -> None:
    name, given = call.function, call.arguments
    kind = given[0].type
    if name in _COMPARISONS and (kind in WORDS or kind == DOUBLE or is_ranked(kind)):
        op, swapped = _COMPARISONS[name]
        for part in given[::-1] if swapped else given:
            write(part)
        then(_FLOATS[op] if kind == DOUBLE else op)
    elif name in _ARITHMETIC and call.type in (*WORDS, DOUBLE):
        if any(g.type == DATE or is_ranked(g.type) for g in given):
            raise NotPostfix(call)
        for part in given:
            write(part)
        op = _ARITHMETIC[name]
        then(_FLOATS[op] if call.type == DOUBLE else op)
    elif name == "/" and call.type == DOUBLE:
        for part in given:
            write(part)
        then(Op.FLOAT_DIVIDE)
    elif name in _WHOLE and all(g.type == INTEGER for g in given):
        for part in given:
            write(part)
        then(_WHOLE[name])
    elif name in _LOGIC:
        write(given[0])
        for part in given[1:]:
            write(part)
            then(_LOGIC[name])
    elif name == "not":
        write(given[0])
        then(Op.NOT)
    elif name == "is_null":
        write(given[0])
        then(Op.IS_NULL)
    elif name == "coalesce":
        write(given[-1])
        for part in reversed(given[:-1]):
            write(part)
            then(Op.COALESCE)
    else:
        raise NotPostfix(call)


def _cast(cast: Cast, have: pa.DataType, want: pa.DataType, then: Callable[..., None]) -> None:
    if have == INTEGER and want == DOUBLE:
        then(Op.TO_FLOAT)
    elif have == DOUBLE and want == INTEGER:
        then(Op.TRUNCATE)
    elif not (have in (TIMESTAMP, INTERVAL) and want == INTEGER):
        raise NotPostfix(cast)


def _word(literal: Literal) -> int:
    if literal.value is None:
        return 0
    if literal.type == DOUBLE:
        return int(np.float64(literal.value).view(np.int64))
    if literal.type not in WORDS:
        raise NotPostfix(literal)
    scalar = pa.scalar(literal.value, literal.type)
    return int(scalar.value) if literal.type not in (INTEGER, BOOLEAN) else int(scalar.as_py())


@native
def holds(
    code, start, stop, registers, values, known, tallies, tallies_known, stack, stack_known
) -> bool:
    """Whether a condition is true. Registers name rows; −1 is no tuple, whose values are NULL.

    Long because every operation is a branch of one loop.
    """
    if start == stop:
        return True
    floats = stack.view(np.float64)
    top = -1
    for at in range(start, stop):
        op = code[at, 0]
        if op == 0:
            row, column = registers[code[at, 1]], code[at, 2]
            top += 1
            stack_known[top] = row >= 0 and known[column, row]
            stack[top] = values[column, row] if stack_known[top] else 0
        elif op == 1:
            top += 1
            stack[top] = tallies[code[at, 1]]
            stack_known[top] = tallies_known[code[at, 1]]
        elif op == 2:
            top += 1
            stack[top] = code[at, 2]
            stack_known[top] = code[at, 1] == 1
        elif op == 24 or op == 25:
            # of three values: false and anything is false, true or anything is true
            top -= 1
            wins = 0 if op == 24 else 1
            left = stack_known[top] and stack[top] == wins
            right = stack_known[top + 1] and stack[top + 1] == wins
            both = stack_known[top] and stack_known[top + 1]
            stack[top] = wins if left or right else 1 - wins
            stack_known[top] = left or right or both
        elif op == 26:
            stack[top] = 1 - stack[top]
        elif op == 27:
            stack[top] = 0 if stack_known[top] else 1
            stack_known[top] = True
        elif op == 28:
            top -= 1
            if stack_known[top + 1]:
                stack[top] = stack[top + 1]
                stack_known[top] = True
        elif op == 29:
            top -= 2
            if stack_known[top + 2] and stack[top + 2] == 1:
                stack[top] = stack[top + 1]
                stack_known[top] = stack_known[top + 1]
        elif op == 8:
            stack_known[top] = stack_known[top] and stack[top] != -(2**63)
            stack[top] = -stack[top]
        elif op == 9:
            stack_known[top] = stack_known[top] and stack[top] != -(2**63)
            stack[top] = abs(stack[top])
        elif op == 18:
            floats[top] = -floats[top]
        elif op == 19:
            floats[top] = abs(floats[top])
        elif op == 30:
            floats[top] = np.float64(stack[top])
        elif op == 31:
            number = np.trunc(floats[top])
            stack_known[top] = stack_known[top] and abs(number) < 2.0**63
            stack[top] = np.int64(number) if stack_known[top] else 0
        else:
            top -= 1
            if not (stack_known[top] and stack_known[top + 1]):
                stack_known[top] = False
                continue
            if op < 14:
                _on_words(op, stack, stack_known, top)
            else:
                _on_floats(op, floats, stack, stack_known, top)
    return stack_known[0] and stack[0] == 1


@inlined
def _on_words(op, stack, stack_known, top):
    a, b = stack[top], stack[top + 1]
    if op == 3:
        total = a + b
        stack_known[top] = (a >= 0) != (b >= 0) or (total >= 0) == (a >= 0)
        stack[top] = total
    elif op == 4:
        total = a - b
        stack_known[top] = (a >= 0) == (b >= 0) or (total >= 0) == (a >= 0)
        stack[top] = total
    elif op == 5:
        fits = abs(np.float64(a) * np.float64(b)) < 9.2e18
        stack_known[top] = fits
        stack[top] = a * b if fits else 0
    elif op == 6 or op == 7:
        stack_known[top] = b != 0 and not (op == 6 and b == -1 and a == -(2**63))
        if stack_known[top]:
            quotient = abs(a) // abs(b)
            quotient = quotient if (a >= 0) == (b >= 0) else -quotient
            stack[top] = quotient if op == 6 else a - quotient * b
    elif op == 10:
        stack[top] = 1 if a < b else 0
    elif op == 11:
        stack[top] = 1 if a <= b else 0
    elif op == 12:
        stack[top] = 1 if a == b else 0
    else:
        stack[top] = 1 if a != b else 0


@inlined
def _on_floats(op, floats, stack, stack_known, top):
    a, b = floats[top], floats[top + 1]
    if op == 14:
        floats[top] = a + b
    elif op == 15:
        floats[top] = a - b
    elif op == 16:
        floats[top] = a * b
    elif op == 17:
        stack_known[top] = b != 0.0
        floats[top] = a / b if b != 0.0 else 0.0
    elif op == 20:
        stack[top] = 1 if a < b else 0
    elif op == 21:
        stack[top] = 1 if a <= b else 0
    elif op == 22:
        stack[top] = 1 if a == b else 0
    else:
        stack[top] = 1 if a != b else 0

"""Functions, casts and CASE as closures."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa

from millstream.algebra.evaluate import evaluate
from millstream.algebra.expressions import Call, Case, Cast, Column, Expression, Literal
from millstream.algebra.types import BOOLEAN, DATE, DOUBLE, INTEGER, INTERVAL, STRING, TIMESTAMP
from millstream.blocks.general.fast import Fast, Slow, fast, fast_cast
from millstream.blocks.general.scope import Code, Frame, Scope
from millstream.blocks.general.values import from_arrow, key_of, literal, to_arrow

PLAIN = (INTEGER, STRING, BOOLEAN, TIMESTAMP, DATE, INTERVAL)
"""Types whose values are the same to every function when they are equal."""

KEPT = 4096


def call(expression: Call, scope: Scope) -> Code:
    special = _SPECIAL.get(expression.function)
    if special is not None and (code := special(expression, scope)) is not None:
        return code
    types = [a.type for a in expression.arguments]
    slow = _kernel(Call(expression.function, _columns(types), expression.type), types)
    quick = fast(expression.function, types, expression.type)
    if quick is None:
        codes = scope.codes(expression.arguments)
        return lambda f: slow(*[code(f) for code in codes])
    return _strict(_guarded(quick, slow), expression.arguments, scope)


def cast(expression: Cast, scope: Scope) -> Code:
    have = expression.argument.type
    slow = _kernel(Cast(_columns([have])[0], expression.type), [have])
    quick = fast_cast(have, expression.type)
    if quick is None:
        code = scope.code(expression.argument)
        return lambda f: slow(code(f))
    return _strict(_guarded(quick, slow), (expression.argument,), scope)


def case(expression: Case, scope: Scope) -> Code:
    branches = [(scope.code(c), scope.code(v)) for c, v in expression.branches]
    default = scope.code(expression.default)

    def run(f: Frame) -> Any:
        for condition, value in branches:
            if condition(f):
                return value(f)
        return default(f)

    return run


def comparing(operator: str, kind: pa.DataType) -> Callable[[Any, Any], Any]:
    """A comparison of two values that may be NULL."""
    slow = _kernel(Call(operator, _columns([kind, kind]), BOOLEAN), [kind, kind])
    quick = fast(operator, [kind, kind], BOOLEAN)
    if quick is None:
        return slow
    known = quick
    return lambda a, b: None if a is None or b is None else known(a, b)


def _columns(types: list[pa.DataType]) -> tuple[Column, ...]:
    return tuple(Column(f"a{i}", kind) for i, kind in enumerate(types))


def _kernel(expression: Expression, types: list[pa.DataType]) -> Callable[..., Any]:
    """What the Arrow kernel gives for single values."""
    schema = pa.schema([(f"a{i}", kind) for i, kind in enumerate(types)])

    def run(*values: Any) -> Any:
        arrays = [to_arrow([value], kind) for value, kind in zip(values, types)]
        rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
        return from_arrow(evaluate(expression, rows, 1))[0]

    return lru_cache(KEPT)(run) if all(kind in PLAIN for kind in types) else run


def _guarded(quick: Fast, slow: Callable[..., Any]) -> Fast:
    """The fast function, if it never answers `Slow`, or else with the kernel behind it."""
    if not (getattr(quick, "__module__", None) or "").endswith("general.fast"):
        return quick
    if "Slow" not in quick.__code__.co_names:  # type: ignore[attr-defined]
        return quick

    def run(*values: Any) -> Any:
        try:
            return quick(*values)
        except Slow:
            return slow(*values)

    return run


def _strict(function: Fast, arguments: tuple[Expression, ...], scope: Scope) -> Code:
    """A function of values none of which is NULL."""
    match arguments:
        case (one,):
            return _of_one(function, scope.code(one))
        case (left, Literal(value=value, type=kind)) if value is not None:
            return _of_one_and_constant(function, scope.code(left), literal(value, kind))
        case (left, right):
            return _of_two(function, scope.code(left), scope.code(right))
    codes = scope.codes(arguments)

    def run(f: Frame) -> Any:
        values = [code(f) for code in codes]
        return None if None in values else function(*values)

    return run


def _of_one(function: Fast, argument: Code) -> Code:
    def run(f: Frame) -> Any:
        a = argument(f)
        return None if a is None else function(a)

    return run


def _of_one_and_constant(function: Fast, argument: Code, constant: Any) -> Code:
    def run(f: Frame) -> Any:
        a = argument(f)
        return None if a is None else function(a, constant)

    return run


def _of_two(function: Fast, left: Code, right: Code) -> Code:
    def run(f: Frame) -> Any:
        a = left(f)
        if a is None:
            return None
        b = right(f)
        return None if b is None else function(a, b)

    return run


def _and(expression: Call, scope: Scope) -> Code:
    left, right = scope.codes(expression.arguments)

    def run(f: Frame) -> Any:
        a = left(f)
        if a is False:
            return False
        b = right(f)
        return b if a else (False if b is False else None)

    return run


def _or(expression: Call, scope: Scope) -> Code:
    left, right = scope.codes(expression.arguments)

    def run(f: Frame) -> Any:
        a = left(f)
        if a:
            return True
        b = right(f)
        return b if a is False else (True if b else None)

    return run


def _is_null(expression: Call, scope: Scope) -> Code:
    code = scope.code(expression.arguments[0])
    return lambda f: code(f) is None


def _coalesce(expression: Call, scope: Scope) -> Code:
    codes = scope.codes(expression.arguments)

    def run(f: Frame) -> Any:
        for code in codes:
            if (value := code(f)) is not None:
                return value
        return None

    return run


def _nullif(expression: Call, scope: Scope) -> Code:
    left, right = scope.codes(expression.arguments)
    equal = comparing("=", expression.arguments[0].type)

    def run(f: Frame) -> Any:
        a = left(f)
        return None if a is None or equal(a, right(f)) else a

    return run


def _distinct_from(expression: Call, scope: Scope) -> Code:
    left, right = scope.codes(expression.arguments)
    equal = comparing("=", expression.arguments[0].type)

    def run(f: Frame) -> bool:
        a, b = left(f), right(f)
        return b is not None if a is None else not equal(a, b)

    return run


def _choosing(choose: Callable[[list[Any]], Any]) -> Callable[[Call, Scope], Code | None]:
    def made(expression: Call, scope: Scope) -> Code | None:
        if expression.type == DOUBLE or key_of(expression.type) is not None:
            return None
        if pa.types.is_null(expression.type):
            return None
        codes = scope.codes(expression.arguments)

        def run(f: Frame) -> Any:
            known = [value for code in codes if (value := code(f)) is not None]
            return choose(known) if known else None

        return run

    return made


_SPECIAL: dict[str, Callable[[Call, Scope], Code | None]] = {
    "and": _and,
    "or": _or,
    "is_null": _is_null,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "distinct_from": _distinct_from,
    "greatest": _choosing(max),
    "least": _choosing(min),
}
"""Functions that see NULLs."""

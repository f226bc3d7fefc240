"""Expressions as code."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence

from millstream.algebra.expressions import Call, Case, Cast, Expression, Literal
from millstream.algebra.types import BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP
from millstream.blocks.leaves import (
    Among,
    Argument,
    Exists,
    Field,
    Oldest,
    Quantified,
    Result,
    Scalar,
    SqlCode,
)
from millstream.blocks.native.functions import FUNCTIONS, LEAST, cast, compare
from millstream.blocks.native.kinds import NotNative, Value, both, holds, zero
from millstream.blocks.native.place import Place
from millstream.blocks.queries import Select, Values
from millstream.blocks.walking import parts_of

_EPOCH = dt.datetime(1970, 1, 1)


def value_of(place: Place, expression: Expression) -> Value:
    """The code of an expression; what must be computed before it is written here."""
    if expression in place.known:
        return place.known[expression]
    match expression:
        case Literal():
            return literal(place, expression)
        case Argument(name=name, depth=depth):
            return place.scope.around(depth).arguments[name]
        case Field(label=label, name=name):
            return place.fields[label, name]
        case Result(call=call, name=name):
            return place.results[call, name]
        case SqlCode():
            return Value(place.scope.sqlcode or "0")
        case Oldest(name=name):
            if place.scope.oldest is None:
                raise NotNative("oldest() is not at hand")
            return place.scope.oldest(name)
        case Cast(argument=argument, type=kind):
            return cast(place, value_of(place, argument), argument.type, kind)
        case Case():
            return _case(place, expression)
        case Call(function="and" | "or", arguments=(_, right)) if _is_long(right):
            return _lazy(place, expression)
        case Call(function=name, arguments=arguments):
            if name not in FUNCTIONS:
                raise NotNative(f"the function {name} has no native form")
            if any(a.type != arguments[0].type for a in arguments) and name in ("=", "<>"):
                raise NotNative("a comparison of different types has no native form")
            return FUNCTIONS[name](place, expression, [value_of(place, a) for a in arguments])
    return _subquery(place, expression)


def literal(place: Place, given: Literal) -> Value:
    """A literal: texts are handed in, numbers are printed from what they are."""
    found, kind = given.value, given.type
    if found is None:
        return Value(zero(kind), "False")
    if kind == STRING:
        return Value(place.program.text(str(found)))
    if kind == BOOLEAN:
        return Value(str(bool(found)))
    if kind == DOUBLE:
        real = float(found)
        if math.isfinite(real):
            return Value(repr(real))
        return Value("np.nan" if math.isnan(real) else "np.inf" if real > 0 else "(-np.inf)")
    if kind == TIMESTAMP and isinstance(found, dt.datetime):
        found = (found.replace(tzinfo=None) - _EPOCH) // dt.timedelta(microseconds=1)
    elif kind == DATE and isinstance(found, dt.date):
        found = (found - _EPOCH.date()).days
    elif isinstance(found, dt.timedelta):
        found = found // dt.timedelta(microseconds=1)
    zero(kind)
    return Value(LEAST if int(found) == -(2**63) else repr(int(found)))


def _is_long(expression: Expression) -> bool:
    """Whether it takes loops to compute it."""
    return any(isinstance(part, (Select, Values)) for part in parts_of(expression))


def _lazy(place: Place, call: Call) -> Value:
    """AND and OR whose right side takes long: it is computed only where it matters."""
    w = place.w
    left, right = call.arguments
    first = w.fixed(value_of(place, left))
    found, valid = w.name(), w.name()
    open_ended = first.code if call.function == "and" else f"not {first.code}"
    w.line(f"{found} = {first.code}")
    w.line(f"{valid} = {first.valid or 'True'}")
    with w.block(f"if {open_ended} or not {valid}"):
        second = w.fixed(value_of(place, right))
        both_sides = FUNCTIONS[call.function](place, call, [first, second])
        w.line(f"{found}, {valid} = {both_sides.code}, {both_sides.valid or 'True'}")
    return Value(found, valid)


def _case(place: Place, case: Case) -> Value:
    w = place.w
    found, valid = w.name(), w.name()
    mark, depth = len(w.lines), w.depth
    unknown = _branches(place, case, 0, found, valid)
    w.insert(mark, depth, f"{found} = {zero(case.type)}")
    if unknown:
        w.insert(mark, depth, f"{valid} = True")
        return Value(found, valid)
    w.lines[:] = [line for line in w.lines if line.strip() != f"{valid} = True"]
    return Value(found)


def _branches(place: Place, case: Case, at: int, found: str, valid: str) -> bool:
    """Write the branches from a number on; whether one of them may be NULL."""
    w = place.w

    def put(expression: Expression) -> bool:
        value = value_of(place, expression)
        w.line(f"{found} = {value.code}")
        w.line(f"{valid} = {value.valid or 'True'}")
        return value.valid is not None

    if at == len(case.branches):
        return put(case.default)
    condition, value = case.branches[at]
    with w.block(f"if {holds(value_of(place, condition))}"):
        unknown = put(value)
    with w.block("else"):
        return _branches(place, case, at + 1, found, valid) | unknown


def _subquery(place: Place, expression: Expression) -> Value:
    from millstream.blocks.native.selects import first_value, whether_any, write_query

    match expression:
        case Scalar(query=query):
            return first_value(place, query)
        case Exists(query=query):
            return whether_any(place, query)
        case Among(value=value, query=query):
            operator, every, kind = "=", False, value.type
        case Quantified(operator=operator, every=every, value=value, query=query):
            kind = value.type
        case _:
            raise NotNative("this expression has no native form")
    w = place.w
    left = w.fixed(value_of(place, value))
    decided, unknown = w.name(), w.name()
    w.line(f"{decided} = False")
    w.line(f"{unknown} = False")

    def look(inside: Place, row: Sequence[Value]) -> None:
        found = compare(inside, operator, kind, left, row[0])
        known = both(found.valid, f"not {found.code}" if every else found.code)
        if found.valid is not None:
            with w.block(f"if not {found.valid}"):
                w.line(f"{unknown} = True")
        with w.block(f"if {known}"):
            w.line(f"{decided} = True")

    write_query(place, query, look, decided)
    return Value(f"(not {decided})" if every else decided, f"({decided} or not {unknown})")

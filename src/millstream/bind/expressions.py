"""Scalar expressions: from the syntax tree to typed ones over the columns of a scope."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from millstream.aggregates.builtin import ALIASES as AGGREGATE_ALIASES
from millstream.aggregates.builtin import NAMES as AGGREGATES
from millstream.algebra.evaluate import cast
from millstream.algebra.expressions import Call, Case, Cast, Column, Expression, Literal, walk
from millstream.algebra.functions import CONSTANT_ARGUMENTS, FUNCTIONS
from millstream.algebra.types import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    common_type,
    is_numeric,
    is_temporal,
    type_from_text,
    type_name,
)
from millstream.bind.scope import Scope
from millstream.errors import MillstreamError, closest
from millstream.lang import interval_of, name_place_of, place_of

OPERATORS: dict[type, str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "div", exp.Mod: "%",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "and", exp.Or: "or", exp.Like: "like", exp.DPipe: "concat",
}
ALIASES = {
    "char_length": "length", "character_length": "length", "len": "length", "substr": "substring",
    "mid": "substring", "ceiling": "ceil", "pow": "power", "ucase": "upper", "lcase": "lower",
    "ifnull": "coalesce", "nvl": "coalesce", "log": "ln", "truncate": "trunc", "mod": "%",
    "startswith": "starts_with", "endswith": "ends_with", "dayofmonth": "day", "date": "to_date",
    "weekofyear": "week", "dow": "dayofweek", "doy": "dayofyear", "signum": "sign",
    "timestamp_trunc": "date_trunc",
}
CLOCKS = ("current_timestamp", "current_date", "now", "localtimestamp")


@dataclass
class Expressions:
    """Binds expressions of one query; `aggregate` takes aggregate calls where they may stand."""

    scope: Scope
    text: str
    aggregate: Callable[[exp.Expr, str, list[exp.Expr]], Expression] | None = None

    def bind(self, node: exp.Expr) -> Expression:
        """The typed expression; errors point at the part of the text they are about."""
        try:
            return self._bind(node)
        except MillstreamError as error:
            raise error.at(place_of(node, self.text)) from None

    def condition(self, node: exp.Expr, clause: str) -> Expression:
        """An expression that is true or false, for WHERE, HAVING and ON."""
        bound = self.bind(node)
        if bound.type == NULL:
            return Literal(None, BOOLEAN)
        if bound.type != BOOLEAN:
            raise MillstreamError(
                f"{clause} needs a condition, and this is a {type_name(bound.type)}",
                place_of(node, self.text),
                hint="Compare it with something, for example with = or >.",
            )
        return bound

    def _bind(self, node: exp.Expr) -> Expression:
        match node:
            case exp.Paren():
                return self.bind(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Literal():
                return _literal(node)
            case exp.Null():
                return Literal(None, NULL)
            case exp.Boolean():
                return Literal(bool(node.this), BOOLEAN)
            case exp.Interval():
                micros = interval_of(node).amount
                return Literal(dt.timedelta(microseconds=micros), INTERVAL)
            case exp.Neg():
                return self._negated(self.bind(node.this))
            case exp.Not():
                return self._call("not", [self.bind(node.this)], node)
            case exp.Is():
                return self._is(node)
            case exp.Between():
                return self._between(node)
            case exp.In():
                return self._in(node)
            case exp.ILike():
                sides = [self._call("lower", [self.bind(n)], node) for n in (node.this, node.expression)]
                return self._call("like", sides, node)
            case exp.Case():
                return self._case(node)
            case exp.Cast() | exp.TryCast():
                return self._cast(node)
            case exp.Extract():
                return self._call(_part_name(node.this.name), [self.bind(node.expression)], node)
            case exp.Anonymous():
                return self._named(node)
            case exp.And() | exp.Or():
                return self._chain(node)
            case exp.Binary() if type(node) in OPERATORS:
                sides = [self.bind(node.this), self.bind(node.expression)]
                return self._call(OPERATORS[type(node)], sides, node)
            case exp.Subquery() | exp.Exists() | exp.All() | exp.Any():
                raise MillstreamError(
                    "a subquery in an expression is not supported yet",
                    hint="Put the subquery in FROM, or name it with CREATE VIEW.",
                )
            case exp.Star():
                raise MillstreamError("* cannot stand here", hint="Name a column.")
        raise MillstreamError(f"{node.key.upper()} is not supported in an expression")

    def _chain(self, node: exp.Expr) -> Expression:
        """AND and OR, however many there are, without deep recursion."""
        kind, parts, stack = type(node), [], [node]
        while stack:
            part = stack.pop()
            if type(part) is kind:
                stack += [part.expression, part.this]
            else:
                parts.append(self.bind(part))
        result = parts[0]
        for part in parts[1:]:
            result = self._call(OPERATORS[kind], [result, part], node)
        return result

    def _column(self, node: exp.Column) -> Expression:
        name, table = node.name, node.table or None
        if isinstance(node.this, exp.Star):
            raise MillstreamError("* cannot stand here", hint="Name a column.")
        quoted = node.this.meta.get("double_quoted") and not table
        if quoted and self.scope.find(name) is None:
            return Literal(name, STRING)
        try:
            return self.scope.resolve(name, table)
        except MillstreamError as error:
            raise error.at(name_place_of(node, self.text)) from None

    def _negated(self, value: Expression) -> Expression:
        if isinstance(value, Literal) and is_numeric(value.type):
            return Literal(-value.value, value.type)
        return self._call("neg", [value], None)

    def _is(self, node: exp.Is) -> Expression:
        value, right = self.bind(node.this), node.expression
        if isinstance(right, exp.Null):
            return Call("is_null", (value,), BOOLEAN)
        if isinstance(right, exp.Boolean):
            flag = Literal(bool(right.this), BOOLEAN)
            return self._call("coalesce", [self._call("=", [value, flag], node),
                                           Literal(False, BOOLEAN)], node)
        raise MillstreamError("IS takes NULL, TRUE or FALSE")

    def _between(self, node: exp.Between) -> Expression:
        value = self.bind(node.this)
        low = self._call(">=", [value, self.bind(node.args["low"])], node)
        high = self._call("<=", [value, self.bind(node.args["high"])], node)
        return Call("and", (low, high), BOOLEAN)

    def _in(self, node: exp.In) -> Expression:
        if node.args.get("query") is not None:
            raise MillstreamError(
                "IN with a subquery is not supported yet", hint="List the values: x IN (1, 2)."
            )
        value = self.bind(node.this)
        tests = [self._call("=", [value, self.bind(e)], node) for e in node.expressions]
        result = tests[0]
        for test in tests[1:]:
            result = Call("or", (result, test), BOOLEAN)
        return result

    def _case(self, node: exp.Case) -> Expression:
        subject = self.bind(node.this) if node.this else None
        conditions, values = [], []
        for branch in node.args["ifs"]:
            if subject is None:
                conditions.append(self.condition(branch.this, "WHEN"))
            else:
                conditions.append(self._call("=", [subject, self.bind(branch.this)], branch))
            values.append(self.bind(branch.args["true"]))
        default = node.args.get("default")
        values.append(self.bind(default) if default is not None else Literal(None, NULL))
        kind = self._common(values, "the values of CASE")
        values = [coerce(v, kind) for v in values]
        return Case(tuple(zip(conditions, values)), values[-1], kind)

    def _cast(self, node: exp.Expr) -> Expression:
        kind = type_from_text(node.args["to"].name)
        if kind is None:
            raise MillstreamError(f'type "{node.args["to"].name}" does not exist')
        value = self.bind(node.this)
        result = coerce(value, kind)
        if isinstance(value, Literal) and value.value is not None and (
            isinstance(result, Literal) and result.value is None
        ):
            raise MillstreamError(f'"{value.value}" is not a {type_name(kind)}')
        return result

    def _named(self, node: exp.Anonymous) -> Expression:
        name = str(node.this).lower()
        aggregate = AGGREGATE_ALIASES.get(name, name)
        if aggregate in AGGREGATES:
            return self._aggregate(node, aggregate)
        if name in CLOCKS:
            raise MillstreamError(
                f"{name} is not supported in an expression",
                name_place_of(node, self.text),
                hint="Order the stream by current_time, and use windows.",
            )
        arguments = [self.bind(a) for a in node.expressions]
        if name in ("if", "iff") and len(arguments) == 3:
            return self._if(arguments, node)
        if name == "instr" and len(arguments) == 2:
            name, arguments = "position", arguments[::-1]
        return self._call(ALIASES.get(name, name), arguments, node)

    def _if(self, arguments: list[Expression], node: exp.Expr) -> Expression:
        condition = arguments[0]
        if condition.type != BOOLEAN:
            raise MillstreamError(f"if needs a condition, and this is a {type_name(condition.type)}")
        kind = self._common(arguments[1:], "the values of if")
        yes, no = (coerce(a, kind) for a in arguments[1:])
        return Case(((condition, yes),), no, kind)

    def _aggregate(self, node: exp.Anonymous, name: str) -> Expression:
        if self.aggregate is None:
            raise MillstreamError(
                f"aggregate {name} cannot stand here",
                name_place_of(node, self.text),
                hint="Aggregates stand in the select list and in HAVING; "
                "WHERE is applied to single rows.",
            )
        return self.aggregate(node, name, list(node.expressions))

    def _common(self, values: list[Expression], what: str) -> pa.DataType:
        kind = values[0].type
        for value in values[1:]:
            joined = common_type(kind, value.type)
            if joined is None:
                raise MillstreamError(
                    f"{what} have no common type: {type_name(kind)} and {type_name(value.type)}",
                    hint="CAST one of them.",
                )
            kind = joined
        return STRING if kind == NULL else kind

    def _call(self, name: str, arguments: list[Expression], node: exp.Expr | None) -> Expression:
        function = FUNCTIONS.get(name)
        if function is None:
            near = closest(name, [*FUNCTIONS, *ALIASES, *AGGREGATES])
            raise MillstreamError(
                f'function "{name}" does not exist',
                name_place_of(node, self.text) if node is not None else None,
                hint=f'Did you mean "{near}"?' if near else "The language reference lists them all.",
            )
        if name == "concat":
            arguments = [coerce(a, STRING) for a in arguments]
        arguments = _read_texts(arguments)
        signature = function.sign([a.type for a in arguments])
        if signature is None:
            have = ", ".join(type_name(a.type) for a in arguments) or "nothing"
            raise MillstreamError(
                f"{name} does not take {have}", hint=f"It is written {function.usage}."
            )
        for position in CONSTANT_ARGUMENTS.get(name, ()):
            if position < len(arguments) and any(
                isinstance(e, Column) for e in walk(arguments[position])
            ):
                raise MillstreamError(
                    f"argument {position + 1} of {name} must be a constant",
                    hint=f"It is written {function.usage}.",
                )
        wanted, result = signature
        if name == "date_trunc":
            _check_unit(arguments[0])
        return Call(name, tuple(coerce(a, t) for a, t in zip(arguments, wanted)), result)


def coerce(value: Expression, kind: pa.DataType) -> Expression:
    """The value as another type; constants are converted at once."""
    if value.type == kind:
        return value
    if isinstance(value, Literal):
        converted = cast(pa.array([value.value], value.type), kind)[0].as_py()
        return Literal(converted, kind)
    return Cast(value, kind)


def _read_texts(arguments: list[Expression]) -> list[Expression]:
    """String constants beside a time or number are read as one: ts > '2024-01-01'."""
    if len(arguments) != 2:
        return arguments
    for i, other in ((0, 1), (1, 0)):
        text, kind = arguments[i], arguments[other].type
        if not (isinstance(text, Literal) and text.type == STRING and text.value is not None):
            continue
        if is_temporal(kind) or is_numeric(kind):
            wanted = TIMESTAMP if is_temporal(kind) else DOUBLE if kind == DOUBLE else kind
            read = coerce(text, wanted)
            if isinstance(read, Literal) and read.value is None:
                raise MillstreamError(f"'{text.value}' is not a {type_name(wanted)}")
            arguments = list(arguments)
            arguments[i] = read
    return arguments


def _literal(node: exp.Literal) -> Expression:
    if node.is_string:
        return Literal(node.this, STRING)
    if node.this.isdigit():
        number = int(node.this)
        if number >= 2**63:
            raise MillstreamError(f"{node.this} is too large for a bigint")
        return Literal(number, INTEGER)
    return Literal(float(node.this), DOUBLE)


def _part_name(part: str) -> str:
    return ALIASES.get(part.lower(), part.lower())


def _check_unit(unit: Expression) -> None:
    units = ("year", "quarter", "month", "week", "day", "hour", "minute", "second",
             "millisecond", "microsecond")
    value: Any = unit.value if isinstance(unit, Literal) else None
    if not isinstance(value, str) or value.lower() not in units:
        raise MillstreamError(
            f"date_trunc does not know the unit {value!r}",
            hint=f"Units are {', '.join(units)}.",
        )



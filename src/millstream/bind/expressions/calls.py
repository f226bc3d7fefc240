"""Calls of functions: the arguments are cast to the types that the function takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from millstream.algebra.expressions import Call, Expression, Literal
from millstream.algebra.functions import CONSTANT_ARGUMENTS, FUNCTIONS
from millstream.algebra.types import (
    DOUBLE,
    INTEGER,
    NULL,
    STRING,
    TIMESTAMP,
    common_type,
    is_numeric,
    is_temporal,
    type_name,
)
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.messages import a, check_zone, misfit
from millstream.bind.expressions.vocabulary import EXAMPLES, READING, UNITS, ZONES
from millstream.errors import MillstreamError, Notice, Place, closest
from millstream.lang import place_of

EXACT = Notice(
    "the quotient of two integers is exact: 7 / 2 is 3.5",
    "Write div to truncate: 7 div 2 is 3.",
)
"""Elsewhere such a quotient is truncated, and (a / 2) * 2 = a holds for even numbers only."""


@dataclass(frozen=True)
class Calls:
    """Makes calls of functions from bound arguments; errors point into `text`."""

    text: str
    notices: list[Notice] = field(default_factory=list)

    def apply(
        self, name: str, arguments: list[Expression], written: Sequence[exp.Expr]
    ) -> Expression:
        """A call of a function, its arguments cast to the types it asks for."""
        function = FUNCTIONS[name]
        if name in ("concat", "concat_ws"):
            arguments = [coerce(argument, STRING) for argument in arguments]
        if name in READING:
            arguments = self._read_texts(arguments, written)
        signature = function.sign([argument.type for argument in arguments])
        if signature is None:
            raise misfit(name, arguments, self._odd_one(name, arguments, written))
        for position in CONSTANT_ARGUMENTS.get(name, ()):
            self._check_constant(name, arguments[position], written[position])
        if name in ZONES and isinstance(arguments[1], Literal):
            check_zone(arguments[1], place_of(written[1], self.text))
        if name == "/" and all(argument.type == INTEGER for argument in arguments):
            self.notices.append(EXACT)
        wanted, result = signature
        return Call(name, tuple(coerce(v, kind) for v, kind in zip(arguments, wanted)), result)

    def read(self, value: Literal, kind: pa.DataType, node: exp.Expr) -> Literal:
        """A constant as another type; an error when it cannot be."""
        read = coerce(value, kind)
        assert isinstance(read, Literal)
        if read.value is None:
            raise MillstreamError(
                f"{type_name(value.type)} {value} cannot be read as {a(kind)}",
                place_of(node, self.text),
                hint=f"Write for example {EXAMPLES[kind]}." if kind in EXAMPLES else None,
            )
        return read

    def common(
        self, values: list[Expression], written: Sequence[exp.Expr], what: str
    ) -> pa.DataType:
        """The type that values have in common; an error points at the first that has not."""
        kind = values[0].type
        for value, node in zip(values[1:], written[1:]):
            joined = common_type(kind, value.type)
            if joined is None:
                raise MillstreamError(
                    f"{what} have no common type: {type_name(kind)} and {type_name(value.type)}",
                    place_of(node, self.text),
                    hint=f"CAST it to {type_name(kind)}, or the others.",
                )
            kind = joined
        return STRING if kind == NULL else kind

    def _odd_one(
        self, name: str, arguments: list[Expression], written: Sequence[exp.Expr]
    ) -> Place | None:
        """The place of the one argument of a function that is of a wrong type."""
        if not name[0].isalpha():
            return None
        kinds = [argument.type for argument in arguments]
        odd = [
            i
            for i in range(len(kinds))
            if FUNCTIONS[name].sign([*kinds[:i], NULL, *kinds[i + 1 :]]) is not None
        ]
        return place_of(written[odd[0]], self.text) if len(odd) == 1 else None

    def _check_constant(self, name: str, value: Expression, node: exp.Expr) -> None:
        place = place_of(node, self.text)
        if not isinstance(value, Literal):
            raise MillstreamError(
                f'this argument of function "{name}" must be a constant',
                place,
                hint=f"Write {FUNCTIONS[name].usage}.",
            )
        if name == "date_trunc":
            self.unit(value, node, UNITS)
        elif value.value is not None:
            try:
                pc.match_substring_regex(pa.array([""]), value.value)
            except pa.ArrowInvalid:
                raise MillstreamError(f"{value} is not a regular expression", place) from None

    def unit(self, value: Expression, node: exp.Expr, units: Sequence[str]) -> str:
        """The unit of time that a constant names, without the s at its end."""
        unit = str(value.value).lower() if isinstance(value, Literal) else ""
        unit = unit if unit in units else unit.removesuffix("s")
        if unit not in units:
            near = closest(unit, tuple(units))
            raise MillstreamError(
                f"unit {value} does not exist",
                place_of(node, self.text),
                hint=f"Did you mean '{near}'?" if near else f"Write one of {', '.join(units)}.",
            )
        return unit

    def _read_texts(
        self, arguments: list[Expression], written: Sequence[exp.Expr]
    ) -> list[Expression]:
        """String constants beside times or numbers, read as what stands beside them."""
        kinds = [v.type for v in arguments if is_temporal(v.type) or is_numeric(v.type)]
        if not kinds:
            return arguments
        kind = TIMESTAMP if is_temporal(kinds[0]) else kinds[0]
        kind = DOUBLE if kind == INTEGER and DOUBLE in kinds else kind
        return [
            self._read_beside(v, kind, node) if isinstance(v, Literal) and v.type == STRING else v
            for v, node in zip(arguments, written)
        ]

    def _read_beside(self, value: Literal, kind: pa.DataType, node: exp.Expr) -> Literal:
        """Text as a number, with a fraction if it has one, or as a time."""
        if value.value is None:
            return value
        for wanted in (kind, DOUBLE) if is_numeric(kind) else (kind,):
            read = coerce(value, wanted)
            if isinstance(read, Literal) and read.value is not None:
                return read
        return self.read(value, kind, node)

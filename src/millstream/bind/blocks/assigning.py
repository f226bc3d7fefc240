"""Values as the types that were declared: of columns, of arguments and of what is returned."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.expressions import Expression, Literal
from millstream.algebra.types import INTEGER, NULL, STRING, is_numeric, is_temporal, type_name
from millstream.bind.blocks.body import Shared
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.messages import a
from millstream.errors import MillstreamError
from millstream.lang import place_of


def assigned(
    value: Expression, kind: pa.DataType, what: str, node: exp.Expr, shared: Shared
) -> Expression:
    """A value as the declared type of something; an error if it is of another sort.

    Numbers become other numbers, and times other times; constants must lose nothing.
    """
    place = place_of(node, shared.text)
    if value.type in (kind, NULL):
        return coerce(value, kind)
    if not _fits(value, kind):
        raise MillstreamError(
            f"{what} is {a(kind)}, and this is {a(value.type)}",
            place,
            hint=f"Write CAST(… AS {type_name(kind)}), or declare it as {type_name(value.type)}.",
        )
    made = coerce(value, kind)
    if isinstance(value, Literal) and isinstance(made, Literal):
        lost = kind == INTEGER and is_numeric(value.type) and made.value != value.value
        if value.value is not None and (made.value is None or lost):
            raise MillstreamError(f"{value} cannot be read as {a(kind)}, the type of {what}", place)
        return made
    if kind == INTEGER and is_numeric(value.type):
        shared.tell(
            f"{what} is a bigint: what is behind the point of a number put there is lost",
            f"Declare it as {type_name(value.type)}.",
        )
    return made


def _fits(value: Expression, kind: pa.DataType) -> bool:
    have = value.type
    if isinstance(value, Literal) and have == STRING:
        return is_numeric(kind) or is_temporal(kind)
    return (is_numeric(have) and is_numeric(kind)) or (is_temporal(have) and is_temporal(kind))

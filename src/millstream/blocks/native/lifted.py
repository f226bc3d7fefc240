"""What a program does not compute itself: functions without a native form, of arguments alone.

They are computed for all tuples of a step before the loop, as columns, by the kernels that the
general machine asks as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millstream.algebra.evaluate import evaluate
from millstream.algebra.expressions import Call, Cast, Column, Expression, Literal
from millstream.algebra.types import STRING
from millstream.blocks.layout import Layout
from millstream.blocks.leaves import Argument
from millstream.blocks.native.functions import FUNCTIONS
from millstream.blocks.native.kinds import NotNative, array_type
from millstream.blocks.walking import parts_of


def lifted(layout: Layout) -> tuple[Expression, ...]:
    """The expressions of a routine that are handed to its program as columns, the largest ones.

    Where the machine holds `inwindow` itself, EXPIRE is about tuples of earlier steps, whose
    columns are not at hand.
    """
    routine = layout.routine
    expire = () if layout.held else routine.expire or ()
    blocks = (routine.initialize, routine.iterate, routine.terminate or (), expire)
    begins = tuple(table.begins for table in routine.tables)
    found = dict.fromkeys(p for p in parts_of((*begins, *blocks)) if _is_lifted(p))
    inner = {part for one in found for part in list(parts_of(one))[1:]}
    return tuple(one for one in found if one not in inner)


def _is_lifted(part: object) -> bool:
    match part:
        case Call(function=name):
            native = name in FUNCTIONS
        case Cast(argument=argument, type=kind):
            native = STRING not in (argument.type, kind)
        case _:
            return False
    return not native and _is_of_tuples(part) and _has_array(part)


def _is_of_tuples(expression: Expression) -> bool:
    """Whether it looks at the arguments of the routine itself, and at nothing else."""
    leaves = [p for p in parts_of(expression) if not isinstance(p, (Call, Cast, Literal))]
    return bool(leaves) and all(isinstance(p, Argument) and not p.depth for p in leaves)


def _has_array(expression: Expression) -> bool:
    try:
        array_type(expression.type)
    except NotNative:
        return False
    return True


def columns(
    expressions: Sequence[Expression], names: Sequence[str], arguments: Sequence[pa.Array]
) -> tuple[pa.Array, ...]:
    """Expressions of arguments, for every tuple."""
    if not expressions:
        return ()
    rows = pa.RecordBatch.from_arrays(list(arguments), names=list(names))
    return tuple(evaluate(_over_columns(e), rows, rows.num_rows) for e in expressions)


def _over_columns(expression: Expression) -> Expression:
    match expression:
        case Argument(name=name, type=kind):
            return Column(name, kind)
        case Call(function=function, arguments=arguments, type=kind):
            return Call(function, tuple(map(_over_columns, arguments)), kind)
        case Cast(argument=argument, type=kind):
            return Cast(_over_columns(argument), kind)
    return expression

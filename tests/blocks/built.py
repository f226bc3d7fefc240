"""Short ways to write checked trees down, and the routines of the paper."""

from __future__ import annotations

from millstream.aggregates.builtin import builtin
from millstream.algebra.expressions import Call, Cast, Expression, Literal
from millstream.algebra.types import BOOLEAN, DOUBLE, INTEGER, STRING
from millstream.blocks.leaves import Argument, Exists, Field, Oldest, Result
from millstream.blocks.queries import Called, Local, Query, RoutineName, Select, Source, Values
from millstream.blocks.routine import (
    INWINDOW,
    RETURN,
    Delete,
    Insert,
    LocalTable,
    Routine,
    Statement,
    Update,
    with_calls,
)

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def lit(value) -> Literal:
    kinds = {bool: BOOLEAN, int: INTEGER, float: DOUBLE, str: STRING}
    return Literal(value, kinds[type(value)])


def op(name: str, *arguments: Expression) -> Call:
    boolean = name in (*COMPARISONS, "and", "or", "not", "is_null", "distinct_from")
    return Call(name, arguments, BOOLEAN if boolean else arguments[0].type)


def real(value: Expression) -> Expression:
    return value if value.type == DOUBLE else Cast(value, DOUBLE)


def over(left: Expression, right: Expression) -> Call:
    return op("/", real(left), real(right))


def source(label: int, table, columns, **more) -> Source:
    return Source(label, Local(table) if isinstance(table, str) else table, columns, **more)


def col(of: Source | tuple, name: str) -> Field:
    """A column of a source, or of (label, columns)."""
    label, columns = (of.label, of.columns) if isinstance(of, Source) else of
    return Field(label, name, dict(columns)[name])


def select(sources, *outputs: Expression, **more) -> Select:
    sources = (sources,) if isinstance(sources, Source) else tuple(sources)
    return Select(sources, tuple((f"c{i}", v) for i, v in enumerate(outputs)), **more)


def values(*row: Expression, where: Expression | None = None) -> Values:
    columns = tuple((f"c{i}", v.type) for i, v in enumerate(row))
    return Values(columns, (row,), where)


def give(query: Query) -> Statement:
    return Insert(RETURN, query)


STATE = (("tsum", DOUBLE), ("cnt", INTEGER))
NEXT = Argument("next", DOUBLE)
IN = (("wnext", DOUBLE),)
_S = source(1, "state", STATE)
_TABLE = LocalTable("state", STATE)
_ROW = (0, STATE)
_MEAN = give(select(_S, over(col(_S, "tsum"), col(_S, "cnt"))))
_FIRST = Insert("state", values(NEXT, lit(1)))
_MORE = Update(
    "state",
    0,
    (
        ("tsum", op("+", col(_ROW, "tsum"), NEXT)),
        ("cnt", op("+", col(_ROW, "cnt"), lit(1))),
    ),
)
_REAL = ((("next", DOUBLE),), (("v", DOUBLE),))

AVERAGE = Routine(  # Example 7
    "avg", *_REAL, (_TABLE,), initialize=(_FIRST,), iterate=(_MORE,), terminate=(_MEAN,)
)
DECAY = Routine(  # Example 8
    "decay_online_avg",
    *_REAL,
    (_TABLE,),
    initialize=(_FIRST, give(values(NEXT))),
    iterate=(
        Update(
            "state",
            0,
            (
                (
                    "tsum",
                    op("+", op("*", lit(0.9), col(_ROW, "tsum")), op("*", lit(1.1), NEXT)),
                ),
                ("cnt", op("+", col(_ROW, "cnt"), lit(1))),
            ),
        ),
        _MEAN,
    ),
)
CUMULATIVE = Routine(  # Example 10
    "cum_avg",
    *_REAL,
    (_TABLE,),
    initialize=(_FIRST, _MEAN),
    iterate=(_MORE, _MEAN),
    terminate=(),
)
_W = source(1, INWINDOW, IN)
_BASE = Called(RoutineName("avg"), (col(_W, "wnext"),), (("v", DOUBLE),))
_NAIVE = (give(select(_W, Result(0, "v", DOUBLE), keys=(), calls=(_BASE,))),)
NAIVE = with_calls(  # Example 11
    Routine("avg", *_REAL, initialize=_NAIVE, iterate=_NAIVE, is_window=True, inwindow=IN),
    {"avg": AVERAGE},
)
_LESS = Update(
    "state",
    0,
    (
        ("cnt", op("-", col(_ROW, "cnt"), lit(1))),
        ("tsum", op("-", col(_ROW, "tsum"), Oldest("wnext", DOUBLE))),
    ),
)
DELTA = Routine(  # Example 12
    "myavg",
    *_REAL,
    (_TABLE,),
    initialize=(_FIRST, give(values(NEXT))),
    iterate=(_MORE, _MEAN),
    expire=(_LESS,),
    is_window=True,
    inwindow=IN,
)
_WINDOW_ROW = (0, IN)
_OLDER = Delete(INWINDOW, 0, op("<", col(_WINDOW_ROW, "wnext"), NEXT))
_OLDEST = give(values(Oldest("wnext", DOUBLE)))
MAXIMUM = Routine(  # Example 13, with `<`
    "max",
    *_REAL,
    initialize=(give(values(NEXT)),),
    iterate=(_OLDER, _OLDEST),
    expire=(),
    is_window=True,
    inwindow=IN,
)
ACTIVE_MAXIMUM = Routine(  # Example 16, with `<`
    "max",
    *_REAL,
    initialize=(give(values(NEXT)),),
    iterate=(_OLDER,),
    expire=(_OLDEST,),
    is_window=True,
    is_algebraic=True,
    inwindow=IN,
)
_TAG = (("tagid", STRING), ("tagtype", STRING), ("tagtime", INTEGER))
_SEEN = (("tid", STRING), ("ttype", STRING), ("ttime", INTEGER))
_TAGTYPE = Argument("tagtype", STRING)
_PEOPLE = source(1, INWINDOW, _SEEN)
_GUARDED = Exists(
    select(_PEOPLE, col(_PEOPLE, "tid"), where=op("=", col(_PEOPLE, "ttype"), lit("ap")))
)
_ITEM = op("=", col((0, _SEEN), "ttype"), lit("item"))
_ARRIVED = (
    Delete(INWINDOW, 0, op("and", op("=", _TAGTYPE, lit("ap")), _ITEM)),
    Delete(
        INWINDOW,
        0,
        op("and", op("and", op("=", _TAGTYPE, lit("item")), _ITEM), _GUARDED),
    ),
)
ALARM = Routine(  # Example 18
    "item_alarm",
    _TAG,
    (("alarm", STRING),),
    initialize=_ARRIVED,
    iterate=_ARRIVED,
    expire=(
        give(
            values(
                lit("larceny alarm"),
                where=op("and", op("=", _TAGTYPE, lit("item")), op("not", _GUARDED)),
            )
        ),
    ),
    is_window=True,
    inwindow=_SEEN,
)


def called(name: str, *arguments: Expression, **more) -> Called:
    """A call of a built-in aggregate."""
    function = builtin(name)
    kind = function.result(arguments[0].type if arguments else None)
    return Called(function, arguments, (("v", kind),), **more)

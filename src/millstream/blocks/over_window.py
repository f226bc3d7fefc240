"""A window version of an aggregate that has none: the base version, computed anew."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType

from millstream.blocks.leaves import Field, Result
from millstream.blocks.queries import Called, Local, RoutineName, Select, Source
from millstream.blocks.routine import INWINDOW, RETURN, Insert, Routine


@lru_cache(maxsize=1024)
def over_window(base: Routine) -> Routine:
    """The window version that feeds the base version all tuples of the window, for every tuple.

        WINDOW AGGREGATE f(x) { TABLE inwindow(x); INITIALIZE: ITERATE: {
            INSERT INTO RETURN SELECT f(x) FROM inwindow; } }

    It gives what the base version returns while the newest tuple is fed, and by TERMINATE.
    """
    columns = tuple((f"c{i}", kind) for i, (_, kind) in enumerate(base.arguments))
    call = Called(
        RoutineName(base.name),
        tuple(Field(0, name, kind) for name, kind in columns),
        base.returns,
        newest=True,
    )
    outputs = tuple((name, Result(0, name, kind)) for name, kind in base.returns)
    query = Select((Source(0, Local(INWINDOW), columns),), outputs, keys=(), calls=(call,))
    block = (Insert(RETURN, query),)
    return Routine(
        base.name,
        base.arguments,
        base.returns,
        initialize=block,
        iterate=block,
        is_window=True,
        inwindow=columns,
        calls=MappingProxyType({**base.calls, base.name: base}),
        text=base.text,
    )

"""Routines that follow from others by rewriting: the window version of a base aggregate."""

from __future__ import annotations

from functools import lru_cache

from millstream.blocks.leaves import Field, Result
from millstream.blocks.queries import Called, Local, RoutineName, Select, Source
from millstream.blocks.routine import INWINDOW, RETURN, Insert, Routine, with_calls


@lru_cache(maxsize=1024)
def over_window(base: Routine) -> Routine:
    """The window version that computes a base version anew over the window, for every tuple.

        WINDOW AGGREGATE f(x) {
          TABLE inwindow(x);
          INITIALIZE : ITERATE : { INSERT INTO RETURN SELECT f(x) FROM inwindow; }
        }

    Of what the base version returns, that counts which it returns while the newest tuple is fed,
    and by TERMINATE.
    """
    source = Source(0, Local(INWINDOW), base.arguments)
    arguments = tuple(Field(0, name, kind) for name, kind in base.arguments)
    key = base.name.lower()
    call = Called(RoutineName(key), arguments, base.returns, newest=True)
    outputs = tuple((name, Result(0, name, kind)) for name, kind in base.returns)
    anew = Insert(RETURN, Select((source,), outputs, keys=(), calls=(call,)))
    made = Routine(
        base.name,
        base.arguments,
        base.returns,
        initialize=(anew,),
        iterate=(anew,),
        is_window=True,
        inwindow=base.arguments,
        text=base.text,
    )
    return with_calls(made, {**base.calls, key: base})

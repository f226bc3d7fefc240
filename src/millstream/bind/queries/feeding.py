"""How calls of aggregates of one's own are served on a stream: the boxes of Figure 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

import pyarrow as pa

from millstream.algebra.expressions import Column, Expression, conjunction
from millstream.algebra.frame import Units
from millstream.algebra.node import Node, transform, walk
from millstream.bind.expressions.own_messages import no_expiry, not_relational
from millstream.bind.queries.items import Outputs
from millstream.bind.queries.owns import Asked, Owns, column_name
from millstream.bind.subqueries.correlation import same
from millstream.blocks.derived import over_window
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.routine import Routine
from millstream.operators import (
    Feed,
    Filter,
    GroupBy,
    Join,
    Lateral,
    Over,
    Project,
    Range,
    Recomputed,
    Rows,
)
from millstream.operators.fed import FedCall
from millstream.operators.project import handed_on


@dataclass(frozen=True)
class Served:
    """How a call is served: the routine that runs, in which window, and the slots that it keeps."""

    routine: Routine
    frame: Frame | None = None
    ending: Ending = Ending.NEVER
    slide: int | None = None
    by_rows: bool = True
    restarts: bool = False


def served(asked: Asked) -> Served:
    """Box 1: an unbounded window, or none; box 3: a tumble; boxes 2 and 5: the window version, or
    the base version computed anew. Box 4, panes, is found over all calls (`panes`)."""
    base, window = asked.versions.base, asked.versions.window
    frame = None if asked.window is None else asked.window.frame
    slide = None if frame is None else frame.slide
    by_rows = frame is None or slide is None or frame.units is Units.ROWS
    if frame is None or frame.unbounded:
        if base is None:
            assert window is not None
            return Served(window, Frame(), Ending.NEVER, slide, by_rows)
        ending = Ending.EACH if base.is_blocking else Ending.NEVER
        return Served(base, None, ending, slide, by_rows)
    bounds = Frame(frame.rows, frame.length, frame.active)
    if base is not None and frame.rows is not None and slide is not None and slide >= frame.rows:
        ending = Ending.WANTED if base.is_blocking else Ending.NEVER
        return Served(base, bounds, ending, slide, True, restarts=True)
    if window is None:
        assert base is not None
        window = over_window(base)
    return Served(window, bounds, Ending.NEVER, slide, by_rows)


def fed(owns: Owns, stream: Node, keys: Outputs) -> Node:
    """The stream with the results of all calls; `keys` are those of GROUP BY."""
    for asked, number in owns.asked.items():
        frame = None if asked.window is None else asked.window.frame
        if frame is not None and frame.active and asked.versions.window is None:
            raise no_expiry(asked.routine).at(owns.places[number])
    if owns.overs.windows:
        stream = transform(owns.overs.plan(stream), _every_row)
    values = [value for _, value in keys]
    for asked in owns.asked:
        values += [*asked.arguments, *(asked.window.partition if asked.window else ())]
    stream, names = _computed(stream, values)
    groups = tuple(dict.fromkeys(names[value] for _, value in keys))
    calls = [_call(asked, number, names, groups) for asked, number in owns.asked.items()]
    if (panes := _panes(list(owns.asked), calls)) is not None:
        inner, outer = panes
        return Feed(tuple(outer), Feed(tuple(inner), stream))
    return Feed(tuple(calls), stream)


def _every_row(node: Node) -> Node:
    """Over for every row: which rows yield is for Feed to say."""
    return replace(node, frame=replace(node.frame, slide=None)) if isinstance(node, Over) else node


def recomputed(owns: Owns, plan: Node, keys: Outputs) -> Node:
    """The groups of a relation with what the calls give for each.

    Over windows, a call gives what it returns while the newest row is fed. Where rows leave out of
    order, a version for windows is fed those that are left, as if none had left.
    """
    values: dict[Expression, str] = {value: name for name, value in keys}
    by_expire = in_order(plan) and all(returns_on_expire(asked) for asked in owns.asked)
    for asked, number in owns.asked.items():
        if asked.versions.base is None and not returns_on_expire(asked):
            raise not_relational(asked.routine).at(owns.places[number])
        for value in asked.arguments:
            values.setdefault(value, f"#arg{len(values)}")
    calls = []
    for asked, number in owns.asked.items():
        base, window = asked.versions.base, asked.versions.window
        routine = window if by_expire or base is None else base
        assert routine is not None
        names = tuple(column_name(number, i) for i in range(len(routine.returns)))
        arguments = tuple(values[value] for value in asked.arguments)
        ending = Ending.NEVER if routine.is_window else Ending.LAST
        calls.append(FedCall(names, routine, arguments, ending=ending))
    below = Project(tuple((name, value) for value, name in values.items()), plan)
    newest = not by_expire and any(node.is_window for node in walk(plan))
    return Recomputed(tuple(name for name, _ in keys), tuple(calls), newest, by_expire, below)


def returns_on_expire(asked: Asked) -> bool:
    """Whether its window version says what a group has when a row leaves."""
    window = asked.versions.window
    return window is not None and window.returns_on_expire


def in_order(plan: Node) -> bool:
    """Whether rows leave in the order in which they came: those of one window over a stream."""
    match plan:
        case Filter() | Project() | Lateral():
            return in_order(plan.input)
        case Rows():
            return not plan.partition_by and plan.slide == 1
    return isinstance(plan, Range)


def beside_groups_of(own: Node, grouped: GroupBy) -> Node:
    """What calls of one's own give for the groups of a relation, beside the built-in aggregates
    of the same groups."""
    names = {name: f"#in{i}" for i, name in enumerate(grouped.keys)}
    outputs = [(names.get(f.name, f.name), Column(f.name, f.type)) for f in grouped.schema]
    kinds = {name: grouped.schema.field(name).type for name in names}
    condition = conjunction(
        [
            same(Column(name, kinds[name]), Column(there, kinds[name]))
            for name, there in names.items()
        ]
    )
    both = Join(condition, own, Project(tuple(outputs), grouped))
    kept = [field for field in both.schema if field.name not in names.values()]
    return Project(handed_on(pa.schema(kept)), both)


def _computed(stream: Node, values: Sequence[Expression]) -> tuple[Node, dict[Expression, str]]:
    """The stream with a column for every value, and the names of these columns."""
    names: dict[Expression, str] = {}
    for value in values:
        own = isinstance(value, Column)
        names.setdefault(value, value.name if isinstance(value, Column) else f"#fed{len(names)}")
        assert own or names[value].startswith("#fed")
    made = tuple((name, v) for v, name in names.items() if not isinstance(v, Column))
    if made:
        stream = Project((*handed_on(stream.schema), *made), stream)
    return stream, names


def _call(
    asked: Asked, number: int, names: dict[Expression, str], groups: tuple[str, ...]
) -> FedCall:
    how = served(asked)
    partition = groups
    if asked.window is not None:
        partition = tuple(dict.fromkeys(names[value] for value in asked.window.partition))
    return FedCall(
        tuple(column_name(number, i) for i in range(len(how.routine.returns))),
        how.routine,
        tuple(names[value] for value in asked.arguments),
        partition,
        how.frame,
        how.ending,
        how.slide,
        how.by_rows,
        how.restarts,
    )


def _panes(
    asked: Sequence[Asked], calls: Sequence[FedCall]
) -> tuple[list[FedCall], list[FedCall]] | None:
    """Box 4: the base versions on tumbles of the greatest common divisor of window and slide, whose
    results the window versions are fed. All calls must have the same window."""
    windows = {one.window for one in asked}
    window = next(iter(windows))
    if len(windows) != 1 or window is None:
        return None
    rows, slide = window.frame.rows, window.frame.slide
    if rows is None or slide is None or slide >= rows or (size := gcd(rows, slide)) == 1:
        return None
    if not all(is_composable(one) for one in asked):
        return None
    inner, outer = [], []
    for one, call in zip(asked, calls):
        base = one.versions.base
        assert base is not None
        names = tuple(f"{name}p" for name in call.names)
        ending = Ending.WANTED if base.is_blocking else Ending.NEVER
        inner.append(
            replace(
                call,
                names=names,
                routine=base,
                frame=Frame(rows=size),
                ending=ending,
                slide=size,
                restarts=True,
            )
        )
        every = slide // size
        outer.append(
            replace(
                call,
                arguments=names,
                frame=Frame(rows=rows // size),
                slide=every if every > 1 else None,
            )
        )
    return inner, outer


def is_composable(asked: Asked) -> bool:
    """Whether results of the base version can be fed to the window version: it is ALGEBRAIC, and
    the types agree."""
    base, window = asked.versions.base, asked.versions.window
    if base is None or window is None or not (base.is_algebraic or window.is_algebraic):
        return False
    gives, takes = [k for _, k in base.returns], [k for _, k in window.arguments]
    return gives == takes

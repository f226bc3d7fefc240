"""The most rows that operators keep, in words.

Long because every operator has its words here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.algebra.by_operator import entry_for
from millstream.algebra.lengths import in_unit
from millstream.algebra.node import Node, walk
from millstream.algebra.state_parts import Extent, StatePart
from millstream.algebra.time import Domain
from millstream.operators import (
    Active,
    AntiJoin,
    Begin,
    Coalesce,
    Copies,
    Dated,
    DeltaStar,
    Distinct,
    Dstream,
    Elements,
    Exchange,
    Feed,
    Fill,
    Filter,
    GroupBy,
    Hop,
    Instants,
    Intersect,
    Istream,
    Join,
    Lateral,
    LookupJoin,
    Match,
    Merge,
    Minus,
    Missed,
    NonRetroactiveJoin,
    Now,
    NowView,
    Over,
    Panes,
    Partial,
    PartialTopK,
    Project,
    Range,
    RangeSlide,
    Recomputed,
    Rematch,
    Retime,
    Retract,
    Rows,
    Rstream,
    Scan,
    SemiJoin,
    Session,
    SingleJoin,
    SkewSplit,
    Stamp,
    Stored,
    Sync,
    SyncAt,
    TableScan,
    Tagged,
    Tagger,
    Ticks,
    TopK,
    Unbounded,
    UnionAll,
    Within,
)
from millstream.operators.fed import FedCall
from millstream.operators.rows import EVER


def bound(node: Node, kept: StatePart) -> str:
    """The most that a part of an operator's state holds; `none: …` when nothing bounds it."""
    below = node.inputs[kept.side] if node.inputs else node
    match kept.extent:
        case Extent.ROWS:
            return content(below) or "none: grows with every row"
        case Extent.ENDING:
            if not below.lifetime.ends_known:
                return "nothing: no row has a known end"
            return _ending(below) or "none: grows with every row"
        case Extent.VALUES:
            return _each("value", below)
        case Extent.COLLECTED:
            there = content(below)
            return f"values of {there}" if there else "none: grows with every new value"
        case Extent.GROUPS:
            keys = node.required_distribution
            return _each(_and(keys), below) if keys else "one row"
        case Extent.OWN:
            return _own(node) or "none: grows with every row"
        case Extent.BETWEEN:
            return _between(node)
        case Extent.SLIDE:
            assert isinstance(node, RangeSlide | Hop | Over)
            return f"rows of {length_words(_waits(node), node)}"
        case Extent.FRAMES:
            assert isinstance(node, Over | Panes)
            return _panes(node) if isinstance(node, Panes) else _frames(node)
        case Extent.PARTITIONS:
            assert isinstance(node, Rows | Session | Over | Panes)
            return _partitions(node)
        case Extent.GAP:
            assert isinstance(node, Session)
            return f"{_rows_of(node.input)} in the last {length_words(node.gap, node)}"
        case Extent.AHEAD:
            return "rows whose time lies ahead"
        case Extent.WINDOW:
            assert isinstance(node, Feed)
            return _fed_window(node, node.call_of(kept.part))
        case Extent.INSTANCES:
            assert isinstance(node, Feed)
            keys = node.call_of(kept.part).partition_by
            return f"none: grows with every new {_and(keys)}" if keys else "one instance"
        case Extent.ATTEMPTS:
            assert isinstance(node, Match)
            return _attempts(node)
        case Extent.ATTEMPTED:
            assert isinstance(node, Match)
            return _attempted(node)
        case Extent.OPEN:
            return "rows of instants that are not final yet"
        case Extent.ONE:
            return "one row"


def content(node: Node) -> str | None:
    """The rows that are in a relation at one instant, in words; None when they only become more."""
    if not node.lifetime.bounded:
        return None
    return entry_for(node, CONTENTS, "CONTENTS of plan/bounds.py")(node)


def length_words(length: int, node: Node) -> str:
    """A length of time in the units of the streams below a node."""
    domain = node.time_domain
    if domain is not Domain.TIMESTAMP:
        unit = "arrival" if domain is Domain.ARRIVAL else "instant"
        return f"{length:,} {unit}{'' if length == 1 else 's'}"
    amount, unit = in_unit(length)
    return f"{amount:,} {unit}"


def _ending(node: Node) -> str | None:
    """The rows of a relation that have a known end."""
    if isinstance(node, UnionAll):
        ending = [n for n in node.inputs if n.lifetime.ends_known]
        return " and ".join(dict.fromkeys(_ending(n) or "" for n in ending))
    if node.row_by_row or node.moves_rows:
        return _ending(node.inputs[0])
    return content(node)


def _each(what: str, below: Node) -> str:
    there = content(below)
    if there == "one row":
        return there
    return f"one row per {what} of {there}" if there else f"none: grows with every new {what}"


def _values(there: str | None) -> str:
    return there if there == "one row" else f"different {there}"


def _own(node: Node) -> str | None:
    """What an operator keeps of its own rows; of windows, with rows that are still to enter."""
    if isinstance(node, Session):
        return _last_sessions(node)
    return _last_rows(node) if isinstance(node, Rows) else content(node)


def _waits(node: RangeSlide | Hop | Over) -> int:
    """How long a row is kept until it has come in for the last time."""
    if isinstance(node, Over):
        return node.frame.slide or 0
    return node.slide if isinstance(node, RangeSlide) else max(node.length, node.every)


def _between(node: Node) -> str:
    """What waits for the next point."""
    wait = node.points.longest_wait if isinstance(node, Sync) else None
    there = content(node.inputs[0])
    if wait is None:
        most = f": at most {there}, twice" if there else ", without a bound"
        return f"what changes between two points{most}"
    return f"what changes in {length_words(wait, node)}"


def _last_sessions(node: Session) -> str:
    rows = f"{_rows_of(node.input)} in the last 2 sessions"
    if not node.partition_by:
        return rows
    return f"none: {rows} per {_and(node.partition_by)}, and ever more of these"


def _last_rows(node: Rows) -> str:
    """What a window by count holds, with rows that are still to enter."""
    rows = _rows_of(node.input)
    within = "" if node.length is None else f" in the last {length_words(node.length, node)}"
    if node.count >= EVER:
        return f"{rows}{within}" if within else f"at most {node.slide:,} {rows} that wait"
    slide = f" and {node.slide:,} that wait" if node.slide > 1 else ""
    most = f"at most {node.count:,} {rows}{within}{slide}"
    if not node.partition_by:
        return most
    each = f"{most} per {_and(node.partition_by)}"
    return each if within else f"none: {each}, and ever more of these"


def _parts(node: Node) -> list[str]:
    """What the inputs of joins above each other hold, one of which may have no bound."""
    if isinstance(node, Join):
        return [part for child in node.inputs for part in _parts(child)]
    if node.row_by_row or node.moves_rows:
        return _parts(node.inputs[0])
    return [content(node) or f"all {_rows_of(node)}"]


def _rows_of(node: Node) -> str:
    """`rows of` the streams below; just rows where they are made of others."""
    below = list(walk(node))
    if not all(n.stateless or n.moves_rows for n in below):
        return "rows"
    return f"rows of {_and(list(dict.fromkeys(n.stream for n in below if isinstance(n, Scan))))}"


def _and(names: Sequence[str]) -> str:
    return ", ".join(names)


def _frames(node: Over) -> str:
    """The rows that the frames of all partitions hold together."""
    rows = _rows_of(node.input)
    if node.frame.rows is None:
        return f"{rows} in the last {length_words(node.frame.length or 0, node)}"
    most = f"at most {node.frame.rows:,} {rows}"
    if not node.partition_by:
        return most
    return f"none: {most} per {_and(node.partition_by)}, and ever more of these"


def _panes(node: Panes) -> str:
    """The panes that the frames of all partitions hold together."""
    most = f"at most {node.count:,} panes of {node.size:,} {_rows_of(node.input)}"
    if not node.partition_by:
        return most
    return f"none: {most} per {_and(node.partition_by)}, and ever more of these"


def _partitions(node: Rows | Session | Over | Panes) -> str:
    if not node.partition_by:
        return "one row"
    keys = _and(node.partition_by)
    if isinstance(node, Over | Panes):
        if node.frame.length is None:
            return f"none: grows with every new {keys}"
        return f"one row per {keys} in the last {length_words(node.frame.length, node)}"
    if isinstance(node, Session) or node.length is None or node.slide > 1:
        return f"none: grows with every new {keys}"
    return f"one row per {keys} in the last {length_words(node.length, node)}"


def _attempts(node: Match) -> str:
    if not node.partition_by:
        return "one row"
    return f"one row per {_and(node.partition_by)} with an attempt that is not decided"


def _attempted(node: Match) -> str:
    """The rows that attempts can still need."""
    each = f" per {_and(node.partition_by)}" if node.partition_by else ""
    return f"the rows of one attempt{each}"


def _fed_window(node: Feed, call: FedCall) -> str:
    """The tuples in the window of a call."""
    frame, rows = call.frame, _rows_of(node.input)
    assert frame is not None
    if frame.length is not None:
        return f"{rows} in the last {length_words(frame.length, node)}"
    if not call.partition_by:
        return f"at most {frame.rows:,} {rows}"
    keys = _and(call.partition_by)
    return f"none: at most {frame.rows:,} {rows} per {keys}, and ever more of these"


def _elements(node: Node) -> str:
    return "elements"


def _below(node: Node) -> str | None:
    """As the first input; the elements of a stream, where it gives these."""
    return "elements" if node.is_stream else content(node.inputs[0])


def _first(node: Node) -> str | None:
    return content(node.inputs[0])


def _now(node: Now) -> str:
    return f"{_rows_of(node.input)} at one instant"


def _range(node: Range) -> str:
    return f"{_rows_of(node.input)} in the last {length_words(node.length, node)}"


def _within(node: Within) -> str | None:
    """With a length after the instant of each row, those that came so long ago; or those of which
    the condition knows the end."""
    lengths = [length for length in node.lengths if length is not None]
    there = content(node.input)
    if there is None and lengths:
        most = max(0, max(lengths) - 1)
        return f"{_rows_of(node.input)} in the last {length_words(most, node)}"
    return there or f"{_rows_of(node.input)} of which Now has not passed the end"


def _unbounded(node: Unbounded | Copies) -> None:
    return None


def _range_slide(node: RangeSlide) -> str | None:
    if node.length is None:
        return None
    return f"{_rows_of(node.input)} in the last {length_words(node.length + node.slide, node)}"


def _rows(node: Rows) -> str:
    return _last_rows(node).removeprefix("none: ")


def _hop(node: Hop) -> str:
    return f"{_rows_of(node.input)} in {length_words(node.length, node)}"


def _session(node: Session) -> str:
    each = f" per {_and(node.partition_by)}" if node.partition_by else ""
    return f"{_rows_of(node.input)} in the last session{each}"


def _group_by(node: GroupBy) -> str:
    if not node.keys:
        return "one row"
    return f"one row per {_and(node.keys)} of {content(node.input)}"


def _distinct(node: Distinct | DeltaStar) -> str:
    return _values(content(node.input))


def _beside_function(node: Lateral) -> str:
    below = "elements" if node.is_stream else content(node.input)
    return f"{below} with the rows of function {node.routine.name}"


def _beside_table(node: LookupJoin | NonRetroactiveJoin) -> str:
    if node.is_stream:
        return "elements with their rows of the table"
    return f"{content(node.inputs[0])} with their rows of the table"


def _top_k(node: TopK) -> str | None:
    if node.limit is None:
        return content(node.input)
    each = f" per {_and(node.partition_by)}" if node.partition_by else ""
    return f"at most {node.limit:,} rows{each}"


def _tagger(node: Tagger) -> str:
    return f"one row per {_and(node.keys)}"


def _table_scan(node: TableScan) -> str:
    count = f"{node.table.rows.num_rows:,} " if node.is_static else ""
    return f"the {count}rows of table {node.table.name}"


def _join(node: Join) -> str:
    parts = _parts(node)
    many = "pairs" if len(parts) == 2 else "combinations"
    return f"{many} of {', '.join(parts[:-1])} and {parts[-1]}"


def _union_all(node: UnionAll) -> str:
    return " and ".join(_each_side(node))


def _intersect(node: Intersect) -> str:
    return " or ".join(_each_side(node))


def _each_side(node: Node) -> list[str]:
    return list(dict.fromkeys(content(n) or f"all {_rows_of(n)}" for n in node.inputs))


CONTENTS: dict[type[Node], Callable[[Any], str | None]] = {
    Scan: _elements,
    Ticks: _elements,
    Instants: _elements,
    Stamp: _below,
    Retime: _elements,
    Missed: _elements,
    Fill: _elements,
    Merge: _elements,
    Now: _now,
    Range: _range,
    Unbounded: _unbounded,
    RangeSlide: _range_slide,
    Rows: _rows,
    Hop: _hop,
    Session: _session,
    Over: _elements,
    Match: _elements,
    Panes: _elements,
    Sync: _below,
    NowView: _elements,
    Within: _within,
    SyncAt: _first,
    Filter: _below,
    Project: _below,
    LookupJoin: _beside_table,
    Lateral: _beside_function,
    TableScan: _table_scan,
    Tagger: _tagger,
    Copies: _unbounded,
    Dated: _below,
    NonRetroactiveJoin: _beside_table,
    Join: _join,
    SingleJoin: _below,
    SemiJoin: _below,
    AntiJoin: _below,
    UnionAll: _union_all,
    Intersect: _intersect,
    Minus: _below,
    Distinct: _distinct,
    DeltaStar: _distinct,
    Coalesce: _below,
    TopK: _top_k,
    PartialTopK: _below,
    Partial: _below,
    GroupBy: _group_by,
    Feed: _elements,
    Recomputed: _below,
    Rematch: _below,
    Istream: _elements,
    Dstream: _elements,
    Active: _elements,
    Rstream: _elements,
    Elements: _elements,
    Tagged: _elements,
    Stored: _below,
    Exchange: _below,
    Retract: _below,
    SkewSplit: _below,
    Begin: _below,
}
"""For every operator, the rows in its output at one instant, in words; None when they only become
more."""

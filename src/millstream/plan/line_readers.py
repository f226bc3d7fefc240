"""For every operator, how the words of its line of plan text are read.

Long because there are that many operators, each with a reader of a few lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import TRUE, Column, Expression, conjunction, conjuncts
from millstream.algebra.frame import Frame, Units
from millstream.algebra.node import BROADCAST, Node, one_bucket
from millstream.algebra.now import now_of
from millstream.algebra.points import tick_of
from millstream.catalog import Catalog, Stream, Table
from millstream.errors import MillstreamError
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
from millstream.operators.rows import EVER
from millstream.plan.calls import call_of
from millstream.plan.expression_text import Tokens, length_of, parse_expression
from millstream.plan.feed_lines import feed_line, lateral_line, recomputed_line
from millstream.plan.match_lines import match_line, rematch_line
from millstream.plan.points_lines import now_view_line, points_line, read_points

Reader = Callable[..., Node]
"""From the words after an operator's name, the catalog and the inputs to the node."""


def _plain(operator: type[Node]) -> Reader:
    """An operator that has no words: its inputs are all there is to it."""

    def read(tokens: Tokens, catalog: Catalog, *inputs: Node) -> Node:
        made: Any = operator
        return made(*inputs)

    return read


def _scan(tokens: Tokens, catalog: Catalog) -> Scan:
    """A scan of all columns, or of those in parentheses."""
    stream = catalog.find(tokens.name())
    if isinstance(stream, Table) and stream.changes is not None:
        stream = stream.changes
    if not isinstance(stream, Stream):
        raise MillstreamError(f'"{stream.name}" is not a declared stream')
    whole = stream.scan()
    if not tokens.has("("):
        return whole
    names = () if tokens.next == ")" else tokens.names()
    tokens.expect(")")
    kinds = dict(stream.columns)
    scan = replace(whole, columns=tuple((n, kinds[n]) for n in names))
    if not tokens.has("where"):
        return scan
    return replace(scan, tests=tuple(conjuncts(parse_expression(tokens, scan.schema))))


def _filter(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    return Filter(parse_expression(tokens, below.schema), below)


def _within(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    now = now_of(below.time_domain)
    condition = parse_expression(tokens, below.schema.append(pa.field(now.name, now.type)))
    times = tokens.names() if tokens.has("by") else ()
    points = read_points(tokens, tick_of(below.time_domain)) if tokens.has("at") else None
    return Within(condition, times, below, points)


def _project(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    def output() -> tuple[str, Expression]:
        value = parse_expression(tokens, below.schema)
        if isinstance(value, Column) and tokens.next.lower() != "as":
            return value.name, value
        tokens.expect("as")
        return tokens.name(), value

    return Project(tokens.listed(output) if tokens.next else (), below)


def _range(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    return Range(length_of(tokens), below)


def _range_slide(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    length = None if tokens.has("Unbounded") else length_of(tokens)
    tokens.expect("Slide")
    return RangeSlide(length, length_of(tokens), below)


def _rows(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    partition: tuple[str, ...] = ()
    if tokens.has("Partition"):
        tokens.expect("By")
        partition = tokens.names()
    count = EVER if tokens.has("Unbounded") else int(tokens.take())
    length = length_of(tokens) if tokens.has("Range") else None
    slide = int(tokens.take()) if tokens.has("Slide") else 1
    return Rows(count, partition, length, slide, below)


def _hop(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    length = length_of(tokens)
    tokens.expect("Every")
    every = length_of(tokens)
    return Hop(length, every, length_of(tokens) if tokens.has("Offset") else 0, below)


def _retimed(operator: type[Retime] | type[Missed]) -> Reader:
    def read(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
        tokens.expect("by")
        order = tokens.name()
        return operator(order, int(tokens.take()) if tokens.has("times") else 1, below)

    return read


def _fill(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    side = int(tokens.take()) - 1
    tokens.expect("above")
    bits = int(tokens.take())
    tokens.expect("bits")
    return Fill(side, bits, below)


def _session(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    partition: tuple[str, ...] = ()
    if tokens.has("Partition"):
        tokens.expect("By")
        partition = tokens.names()
    return Session(partition, length_of(tokens), below)


def _table_scan(tokens: Tokens, catalog: Catalog, below: Node | None = None) -> Node:
    table = _table(tokens, catalog)
    before = tokens.has("non")
    if before:
        tokens.expect("retroactive")
    since = tokens.names() if tokens.has("since") else ()
    return TableScan(table.content, table.key, below, since, before)


def _tagger(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    keys = tokens.names()
    op = tokens.name() if tokens.has("by") else None
    return Tagger(keys, op, tokens.has("checked"), below)


def _copies(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    tokens.expect("by")
    return Copies(tokens.name(), below)


def _table(tokens: Tokens, catalog: Catalog) -> Table:
    table = catalog.find(tokens.name())
    if not isinstance(table, Table):
        raise MillstreamError(f'"{table.name}" is not a table')
    return table


def _lookup_join(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    outer = tokens.has("left")
    table = _table(tokens, catalog)
    tokens.expect("(")
    names = tokens.names()
    tokens.expect(")")
    tokens.expect("on")
    keys: list[tuple[str, str]] = []
    rest: list[Expression] = []
    bare = LookupJoin(table.content, names, (), (), TRUE, outer, below)
    more = not tokens.has("everything")
    while more:
        if not rest and tokens.next != "(" and tokens.second == "=":
            left = tokens.name()
            tokens.expect("=")
            keys.append((left, tokens.name()))
        else:
            rest.append(parse_expression(tokens, bare.schema))
        more = tokens.has("and")
    left_keys, right_keys = tuple(a for a, _ in keys), tuple(b for _, b in keys)
    return LookupJoin(table.content, names, left_keys, right_keys, conjunction(rest), outer, below)


def _non_retroactive_join(tokens: Tokens, catalog: Catalog, left: Node, right: Node) -> Node:
    outer = tokens.has("left")
    tokens.expect("on")
    if tokens.has("everything"):
        return NonRetroactiveJoin(TRUE, outer, left, right)
    both = pa.schema([*left.schema, *right.schema])
    return NonRetroactiveJoin(parse_expression(tokens, both), outer, left, right)


def _joined(operator: type[Join | SingleJoin | SemiJoin | AntiJoin]) -> Reader:
    def read(tokens: Tokens, catalog: Catalog, left: Node, right: Node) -> Node:
        if tokens.found == ["everything"] and tokens.has("everything"):
            return operator(TRUE, left, right)
        both = pa.schema([*left.schema, *right.schema])
        return operator(parse_expression(tokens, both), left, right)

    return read


def _first_rows(operator: type[TopK]) -> Reader:
    def read(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
        limit = None if tokens.has("all") or tokens.has("none") else int(tokens.take())
        offset = int(tokens.take()) if tokens.has("offset") else 0
        tokens.expect("by")
        is_ordered = tokens.second in ("desc", "nulls")
        ordered = tokens.listed(lambda: _ordered(tokens)) if is_ordered else ()
        partition = tokens.names() if tokens.has("per") else ()
        return operator(ordered, limit, offset, partition, below)

    return read


def _ordered(tokens: Tokens) -> tuple[str, bool, bool]:
    name, descending = tokens.name(), tokens.has("desc")
    tokens.expect("nulls")
    first = tokens.has("first")
    if not first:
        tokens.expect("last")
    return name, descending, first


def _over(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    return Over(*_frames(tokens, catalog, below), below)


def _panes(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    return Panes(*_frames(tokens, catalog, below), below)


def _frames(
    tokens: Tokens, catalog: Catalog, below: Node
) -> tuple[tuple[str, ...], Frame, tuple[AggregateCall, ...]]:
    partition: tuple[str, ...] = ()
    if tokens.has("Partition"):
        tokens.expect("By")
        partition = tokens.names()
    units = Units.ROWS if tokens.has("Rows") else Units.RANGE
    if units is Units.RANGE:
        tokens.expect("Range")
    preceding = None if tokens.has("Unbounded") else _amount(tokens, units)
    tokens.expect("Preceding")
    slide = _amount(tokens, units) if tokens.has("Slide") else None
    frame = Frame(units, preceding, slide, tokens.has("Active"))
    tokens.expect(":")
    calls = tuple(tokens.listed(lambda: call_of(tokens, catalog, below))) if tokens.next else ()
    return partition, frame, calls


def _amount(tokens: Tokens, units: Units) -> int:
    """A number of rows, or a length of time."""
    return int(tokens.take()) if units is Units.ROWS else length_of(tokens)


def _group_by(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    keys, calls = _calls(tokens, catalog, below)
    since = tokens.names() if tokens.has("since") else ()
    return GroupBy(keys, calls, below, since)


def _partial(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    return Partial(*_calls(tokens, catalog, below), below)


def _calls(
    tokens: Tokens, catalog: Catalog, below: Node
) -> tuple[tuple[str, ...], tuple[AggregateCall, ...]]:
    """The keys before a colon, and calls of aggregates."""

    grouped = ":" in tokens.found
    keys = tokens.names() if grouped else ()
    if grouped:
        tokens.expect(":")
    calls = tokens.listed(lambda: call_of(tokens, catalog, below)) if tokens.second == "(" else ()
    return keys, calls


def _tagged(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    if tokens.has("by"):
        return Tagged(tokens.names(), below)
    one = tokens.has("one")
    if not one:
        tokens.expect("whole")
    tokens.expect("row" if one else "rows")
    return Tagged(() if one else None, below)


def _exchange(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    if tokens.has("anywhere"):
        return Exchange(None, below)
    if tokens.has("broadcast"):
        return Exchange(BROADCAST, below)
    if tokens.has("by"):
        return Exchange(tokens.names(), below)
    for word in ("to", "one", "bucket"):
        tokens.expect(word)
    return Exchange(one_bucket(below.meaning), below)


def _retract(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    words = []
    while tokens.next:
        words.append(tokens.take())
    return Retract(" ".join(words), below)


def _rstream(tokens: Tokens, catalog: Catalog, below: Node, points: Node | None = None) -> Rstream:
    every = [read_points(tokens, 1)] if tokens.next == "every" else []
    while tokens.has("or"):
        every.append(read_points(tokens, 1))
    begins = tokens.has("begins")
    since = tokens.names() if tokens.has("since") else ()
    return Rstream(tuple(every), begins, below, points, since)


def _begin(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    return Begin(int(tokens.take()), below)


def _instants(tokens: Tokens, catalog: Catalog, below: Node) -> Instants:
    if not tokens.has("of"):
        return Instants(None, 1, below)
    column = tokens.name()
    return Instants(column, int(tokens.take()) if tokens.has("times") else 1, below)


def _skew_split(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    side = tokens.take()
    tokens.expect("of")
    meeting = tokens.take()
    tokens.expect("spreading")
    return SkewSplit(side, meeting, tokens.names(), below)


READERS: dict[type[Node], Reader] = {
    Scan: _scan,
    Ticks: points_line(Ticks),
    Instants: _instants,
    Stamp: _plain(Stamp),
    Retime: _retimed(Retime),
    Missed: _retimed(Missed),
    Fill: _fill,
    Merge: _plain(Merge),
    Now: _plain(Now),
    Range: _range,
    Unbounded: _plain(Unbounded),
    RangeSlide: _range_slide,
    Rows: _rows,
    Hop: _hop,
    Session: _session,
    Over: _over,
    Match: match_line,
    Panes: _panes,
    Sync: points_line(Sync),
    SyncAt: _plain(SyncAt),
    NowView: now_view_line,
    Within: _within,
    Filter: _filter,
    Project: _project,
    LookupJoin: _lookup_join,
    Lateral: lateral_line,
    TableScan: _table_scan,
    Tagger: _tagger,
    Copies: _copies,
    Dated: _plain(Dated),
    NonRetroactiveJoin: _non_retroactive_join,
    Join: _joined(Join),
    SingleJoin: _joined(SingleJoin),
    SemiJoin: _joined(SemiJoin),
    AntiJoin: _joined(AntiJoin),
    UnionAll: _plain(UnionAll),
    Intersect: _plain(Intersect),
    Minus: _plain(Minus),
    Distinct: _plain(Distinct),
    DeltaStar: _plain(DeltaStar),
    Coalesce: _plain(Coalesce),
    TopK: _first_rows(TopK),
    PartialTopK: _first_rows(PartialTopK),
    Partial: _partial,
    GroupBy: _group_by,
    Feed: feed_line,
    Recomputed: recomputed_line,
    Rematch: rematch_line,
    Istream: _plain(Istream),
    Dstream: _plain(Dstream),
    Active: _plain(Active),
    Rstream: _rstream,
    Elements: _plain(Elements),
    Tagged: _tagged,
    Stored: _plain(Stored),
    Exchange: _exchange,
    Retract: _retract,
    SkewSplit: _skew_split,
    Begin: _begin,
}
"""For every operator, how its line of plan text is read."""

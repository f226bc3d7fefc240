"""What a part of a plan computes, as a name that does not depend on how the plan is written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from millstream.algebra.by_operator import entry_for
from millstream.algebra.expressions import Call, Column, Expression
from millstream.algebra.node import Node
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
from millstream.rules.pieces import conditions, substitute

Lineage = Mapping[str, Expression]


@lru_cache(maxsize=20_000)
def name_of(node: Node) -> str:
    """A short name of the rows that a node gives.

    Law: plans that filters, projections, joins and negations make of the same inputs, in any order,
    have one name; so do a plan and the same plan spread over buckets. What was measured of one is
    then known of the others.
    """
    return hashlib.sha256(_form(node).text.encode()).hexdigest()[:16]


def condition_text(condition: Expression, lineage: Lineage) -> str:
    """A condition in the columns of streams and tables, whatever they are called by now."""
    parts = (_turned(substitute(part, lineage)) for part in conditions(condition))
    return " and ".join(sorted(parts)) or "everything"


@lru_cache(maxsize=20_000)
def lineage_of(node: Node) -> Lineage:
    """What the columns of a node were made of, in the columns of streams and tables."""
    return entry_for(node, LINEAGES, "LINEAGES of plan/names.py")(node)


@dataclass(frozen=True)
class _Form:
    """Rows of some inputs, paired, of which all tests are true."""

    inputs: tuple[str, ...]
    tests: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        return f"{sorted(self.inputs)} where {sorted(self.tests)}"

    def tested(self, *tests: str) -> _Form:
        return replace(self, tests=self.tests.union(tests))


@lru_cache(maxsize=20_000)
def _form(node: Node) -> _Form:
    return entry_for(node, FORMS, "FORMS of plan/names.py")(node)


def _tests(condition: Expression, lineage: Lineage) -> list[str]:
    return [_turned(substitute(part, lineage)) for part in conditions(condition)]


def _turned(part: Expression) -> str:
    """A condition as text, an equality in one of its two directions."""
    match part:
        case Call(function="=", arguments=arguments):
            return str(replace(part, arguments=tuple(sorted(arguments, key=str))))
    return str(part)


def _scanned(node: Scan) -> Lineage:
    return {name: Column(f"{node.stream}.{name}", kind) for name, kind in node.columns}


def _clock(node: NowView) -> Lineage:
    return {f.name: Column(f"clock.{f.name}", f.type) for f in node.schema}


def _ticked(node: Ticks) -> Lineage:
    return {f.name: Column(f"clock.{f.name}", f.type) for f in node.schema}


def _projected(node: Project) -> Lineage:
    return {name: substitute(e, lineage_of(node.input)) for name, e in node.outputs}


def _of_table(node: TableScan) -> Lineage:
    return {f.name: Column(f"{node.table.name}.{f.name}", f.type) for f in node.schema}


def _looked_up(node: LookupJoin) -> Lineage:
    there = {
        name: Column(f"{node.table.name}.{f.name}", f.type)
        for name, f in zip(node.names, node.table.rows.schema)
    }
    return {**lineage_of(node.input), **there}


def _paired(node: Join | SingleJoin | NonRetroactiveJoin) -> Lineage:
    return {**lineage_of(node.left), **lineage_of(node.right)}


def _grouped(node: GroupBy) -> Lineage:
    known = lineage_of(node.input)
    made = {c.name: Column(str(replace(c, name="")), c.type) for c in node.calls}
    return {**{key: known[key] for key in node.keys}, **made}


def _by_name(node: Node) -> Lineage:
    """Columns of the first input under the same names; what it has besides it has made."""
    known = lineage_of(node.inputs[0])
    return {f.name: known.get(f.name, Column(f.name, f.type)) for f in node.schema}


def _of_window(node: Hop | Session | Over | Panes | Match | Rematch) -> Lineage:
    """Columns of the stream, and those that this window or pattern gives: no other has the same."""
    known = lineage_of(node.input)
    window = " and ".join(_form(node).inputs)
    return {f.name: known.get(f.name, Column(f"{window}.{f.name}", f.type)) for f in node.schema}


def _stream(node: Scan) -> _Form:
    return _Form((f"stream {node.stream}",))


def _below(node: Any) -> _Form:
    """What changes nothing in the rows, or in their columns only."""
    return _form(node.input)


def _tested(node: Filter) -> _Form:
    return _form(node.input).tested(*_tests(node.condition, lineage_of(node.input)))


def _window(node: Node) -> _Form:
    below = _form(node.inputs[0])
    window = f"{type(node).__name__} {node.words}"
    return replace(below, inputs=tuple(f"{window} of {name}" for name in below.inputs))


def _both(node: Join | SingleJoin) -> _Form:
    left, right = _form(node.left), _form(node.right)
    both = _Form((*left.inputs, *right.inputs), left.tests | right.tests)
    return both.tested(*_tests(node.condition, lineage_of(node)))


def _matched(node: SemiJoin | AntiJoin) -> _Form:
    asked = condition_text(node.condition, {**lineage_of(node.left), **lineage_of(node.right)})
    partners = node.right.input if isinstance(node.right, Distinct) else node.right
    return _form(node.left).tested(f"{type(node).__name__} {asked} in {name_of(partners)}")


def _different(node: Distinct | DeltaStar) -> _Form:
    values = sorted(str(e) for e in lineage_of(node).values())
    return _Form((f"distinct {values} of {name_of(node.input)}",))


def _groups(node: GroupBy) -> _Form:
    values = sorted(str(lineage_of(node.input)[key]) for key in node.keys)
    return _Form((f"groups {values} of {name_of(node.input)}",))


def _by_words(node: Node) -> _Form:
    """Something of its own: its line of plan text over the names of its inputs."""
    inputs = [name_of(child) for child in node.inputs]
    return _Form((f"{type(node).__name__} {node.words} of {inputs}",))


LINEAGES: dict[type[Node], Callable[[Any], Lineage]] = {
    Scan: _scanned,
    Ticks: _ticked,
    Instants: _by_name,
    Stamp: _by_name,
    Retime: _by_name,
    Missed: _by_name,
    Fill: _by_name,
    Merge: _by_name,
    Now: _by_name,
    Range: _by_name,
    Unbounded: _by_name,
    RangeSlide: _by_name,
    Rows: _by_name,
    Hop: _of_window,
    Session: _of_window,
    Over: _of_window,
    Match: _of_window,
    Panes: _of_window,
    Sync: _by_name,
    NowView: _clock,
    Within: _by_name,
    SyncAt: _by_name,
    Filter: _by_name,
    Project: _projected,
    LookupJoin: _looked_up,
    Lateral: _by_name,
    TableScan: _of_table,
    Tagger: _by_name,
    Copies: _by_name,
    Dated: _by_name,
    NonRetroactiveJoin: _paired,
    Join: _paired,
    SingleJoin: _paired,
    SemiJoin: _by_name,
    AntiJoin: _by_name,
    UnionAll: _by_name,
    Intersect: _by_name,
    Minus: _by_name,
    Distinct: _by_name,
    DeltaStar: _by_name,
    Coalesce: _by_name,
    TopK: _by_name,
    PartialTopK: _by_name,
    Partial: _by_name,
    GroupBy: _grouped,
    Feed: _by_name,
    Recomputed: _by_name,
    Rematch: _of_window,
    Istream: _by_name,
    Dstream: _by_name,
    Active: _by_name,
    Rstream: _by_name,
    Elements: _by_name,
    Tagged: _by_name,
    Stored: _by_name,
    Exchange: _by_name,
    Retract: _by_name,
    SkewSplit: _by_name,
    Begin: _by_name,
}
"""For every operator, what its columns were made of."""

FORMS: dict[type[Node], Callable[[Any], _Form]] = {
    Scan: _stream,
    Ticks: _by_words,
    Instants: _by_words,
    Stamp: _by_words,
    Retime: _by_words,
    Missed: _by_words,
    Fill: _by_words,
    Merge: _by_words,
    Now: _window,
    Range: _window,
    Unbounded: _window,
    RangeSlide: _window,
    Rows: _by_words,
    Hop: _window,
    Session: _by_words,
    Over: _by_words,
    Match: _by_words,
    Panes: _by_words,
    Sync: _by_words,
    NowView: _by_words,
    Within: _by_words,
    SyncAt: _by_words,
    Filter: _tested,
    Project: _below,
    LookupJoin: _by_words,
    Lateral: _by_words,
    TableScan: _by_words,
    Tagger: _by_words,
    Copies: _by_words,
    Dated: _by_words,
    NonRetroactiveJoin: _by_words,
    Join: _both,
    SingleJoin: _both,
    SemiJoin: _matched,
    AntiJoin: _matched,
    UnionAll: _by_words,
    Intersect: _by_words,
    Minus: _by_words,
    Distinct: _different,
    DeltaStar: _different,
    Coalesce: _below,
    TopK: _by_words,
    PartialTopK: _by_words,
    Partial: _below,
    GroupBy: _groups,
    Feed: _by_words,
    Recomputed: _by_words,
    Rematch: _by_words,
    Istream: _by_words,
    Dstream: _by_words,
    Active: _by_words,
    Rstream: _by_words,
    Elements: _by_words,
    Tagged: _by_words,
    Stored: _by_words,
    Exchange: _below,
    Retract: _below,
    SkewSplit: _below,
    Begin: _below,
}
"""For every operator, its rows as those of some inputs, paired and tested."""

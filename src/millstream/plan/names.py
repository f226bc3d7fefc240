"""What a part of a plan computes, as a name that does not depend on how the plan is written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from millstream.algebra.expressions import Call, Column, Expression
from millstream.algebra.node import Node
from millstream.operators import (
    AntiJoin,
    Coalesce,
    DeltaStar,
    Distinct,
    Exchange,
    Filter,
    GroupBy,
    Join,
    LookupJoin,
    NonRetroactiveJoin,
    Now,
    Partial,
    Project,
    Range,
    RangeSlide,
    Retract,
    Scan,
    SemiJoin,
    SingleJoin,
    SkewSplit,
    TableScan,
    Unbounded,
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
    match node:
        case Scan(stream=stream, columns=columns):
            return {name: Column(f"{stream}.{name}", kind) for name, kind in columns}
        case Project(outputs=outputs, input=source):
            return {name: substitute(e, lineage_of(source)) for name, e in outputs}
        case TableScan(table=table):
            return {f.name: Column(f"{table.name}.{f.name}", f.type) for f in node.schema}
        case LookupJoin(table=table, names=names, input=source):
            there = {
                name: Column(f"{table.name}.{f.name}", f.type)
                for name, f in zip(names, table.rows.schema)
            }
            return {**lineage_of(source), **there}
        case Join() | SingleJoin() | NonRetroactiveJoin():
            return {**lineage_of(node.left), **lineage_of(node.right)}
        case GroupBy(keys=keys, calls=calls, input=source):
            known = lineage_of(source)
            made = {c.name: Column(str(replace(c, name="")), c.type) for c in calls}
            return {**{key: known[key] for key in keys}, **made}
    known = lineage_of(node.inputs[0]) if node.inputs else {}
    return {f.name: known.get(f.name, Column(f.name, f.type)) for f in node.schema}


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
    match node:
        case Scan(stream=stream):
            return _Form((f"stream {stream}",))
        case Exchange() | SkewSplit() | Retract() | Coalesce() | Partial() | Project():
            return _form(node.input)
        case Filter(condition=condition, input=source):
            return _form(source).tested(*_tests(condition, lineage_of(source)))
        case Now() | Range() | Unbounded() | RangeSlide():
            below = _form(node.input)
            window = f"{type(node).__name__} {node.words}"
            return replace(below, inputs=tuple(f"{window} of {name}" for name in below.inputs))
        case Join() | SingleJoin():
            left, right = _form(node.left), _form(node.right)
            both = _Form((*left.inputs, *right.inputs), left.tests | right.tests)
            return both.tested(*_tests(node.condition, lineage_of(node)))
        case SemiJoin() | AntiJoin():
            asked = condition_text(
                node.condition, {**lineage_of(node.left), **lineage_of(node.right)}
            )
            partners = node.right.input if isinstance(node.right, Distinct) else node.right
            return _form(node.left).tested(f"{type(node).__name__} {asked} in {name_of(partners)}")
        case Distinct() | DeltaStar():
            values = sorted(str(e) for e in lineage_of(node).values())
            return _Form((f"distinct {values} of {name_of(node.input)}",))
        case GroupBy(keys=keys):
            values = sorted(str(lineage_of(node.input)[key]) for key in keys)
            return _Form((f"groups {values} of {name_of(node.input)}",))
    inputs = [name_of(child) for child in node.inputs]
    return _Form((f"{type(node).__name__} {node.words} of {inputs}",))


def _tests(condition: Expression, lineage: Lineage) -> list[str]:
    return [_turned(substitute(part, lineage)) for part in conditions(condition)]


def _turned(part: Expression) -> str:
    """A condition as text, an equality in one of its two directions."""
    match part:
        case Call(function="=", arguments=arguments):
            return str(replace(part, arguments=tuple(sorted(arguments, key=str))))
    return str(part)

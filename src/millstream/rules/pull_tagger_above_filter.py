"""Taggers above filters: keys of rows that nobody wants are not kept."""

from __future__ import annotations

from millstream.algebra.expressions import Case, Column, Expression, Literal, conjunction
from millstream.algebra.node import Node
from millstream.algebra.types import STRING
from millstream.operators import Filter, Project, Tagger
from millstream.operators.filter import filtered
from millstream.operators.project import handed_on
from millstream.rules.pieces import conditions, takes_equals_alike

OP = "#op"
PUTS, DELETES = Literal("+", STRING), Literal("-", STRING)


def pull_tagger_above_filter(node: Node) -> Node | None:
    """Let an element whose row is not wanted delete the row of its key.

        Filter heat > 80           Tagger room by #op
          Tagger room       →        Project (case when heat > 80 then '+' else '-' end) as #op, …
            S                          S

    Sound because at any time the row of a key is that of its last element: it is in the result
    exactly when that element puts a row and the row is wanted, and a delete without a row to
    remove does nothing. To filter S alone would be wrong: the row that a room had before would
    stay when it cools down. Conditions on the key alone are better tested below (see
    push_filter_below_partitions). A tagger that tells of deletes of what is not there needs all
    keys, and a condition that distinguishes 0.0 from -0.0, which the tagger takes for one, must be
    asked of the row it has kept: not these.
    """
    match node:
        case Filter(condition=condition, input=Tagger(checked=False) as tagger):
            parts = conditions(condition)
            mine = [part for part in parts if takes_equals_alike(part)]
            if not mine:
                return None
            pulled = _pulled(tagger, conjunction(mine))
            return filtered([part for part in parts if part not in mine], pulled)
    return None


def _pulled(tagger: Tagger, condition: Expression) -> Node:
    before = PUTS if tagger.op is None else Column(tagger.op, STRING)
    does = Case(((condition, before),), DELETES, STRING)
    rows = handed_on(tagger.input_schema, tagger.schema.names)
    return Tagger(tagger.keys, OP, False, Project(((OP, does), *rows), tagger.input))

"""Subquery flattening: a subquery need not be computed for all values it is asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from millstream.algebra.expressions import Call, Column, Expression, conjunction
from millstream.algebra.node import Node
from millstream.operators import AntiJoin, Distinct, Filter, Join, Project, SemiJoin
from millstream.rules.pieces import conditions, fresh_names, substitute


def flatten_domain(node: Node) -> Node | None:
    """Ask each left row's own value instead of joining with the domain of all values first.

        SemiJoin a is not distinct from d          SemiJoin b < a
          L (a)                                      L (a)
          Project d                          →       R (b)
            Join b < d
              R (b)
              Distinct
                Project a as d
                  L (a)

    Sound because the domain has the value of every left row, at every instant at which the row is
    there: a right row joined with that value exists exactly when one exists that meets the
    condition with the left row itself. The left side may have fewer rows than the domain was made
    of. It takes all columns of the domain to be tied, NULLs to each other; not doubles, of which
    the domain has one zero, and whose NaN is not even equal to itself.
    """
    if not isinstance(node, (SemiJoin, AntiJoin)):
        return None
    for base in _larger(node.left):
        found = _Lifted.of(node.right, base, frozenset(node.left.schema.names))
        if found is not None:
            return _flattened(node, found)
    return None


def _larger(node: Node) -> Iterator[Node]:
    """Plans that have every row of this one, under the same names."""
    yield node
    if isinstance(node, (Filter, SemiJoin, AntiJoin)):
        yield from _larger(node.inputs[0])


@dataclass(frozen=True)
class _Lifted:
    """A plan of which only presence counts, taken apart into rows and what is asked of them.

    `outputs` are its columns, made of the left side's and of the rows', which have fresh names.
    `origins` are those that hand on a column of the domain; `domain` are all columns of it.
    """

    rows: Node
    parts: tuple[Expression, ...]
    outputs: Mapping[str, Expression]
    origins: Mapping[str, str]
    domain: frozenset[str]

    @staticmethod
    def of(node: Node, base: Node, taken: frozenset[str]) -> _Lifted | None:
        match node:
            case Join(condition=condition, left=left, right=right):
                for rows, domain in ((left, right), (right, left)):
                    if (values := _domain_over(base, domain)) is not None:
                        return _Lifted.joined(condition, rows, values, taken)
                return None
            case Distinct() | Filter() | Project():
                found = _Lifted.of(node.input, base, taken)
                return None if found is None else found.below(node)
        return None

    @staticmethod
    def joined(
        condition: Expression, rows: Node, values: Mapping[str, Expression], taken: frozenset[str]
    ) -> _Lifted:
        fresh = fresh_names(rows.schema.names, taken)
        outputs = {f.name: Column(fresh[f.name], f.type) for f in rows.schema} | dict(values)
        renamed = Project(tuple((fresh[f.name], Column(f.name, f.type)) for f in rows.schema), rows)
        parts = tuple(substitute(c, outputs) for c in conditions(condition))
        return _Lifted(renamed, parts, outputs, {n: n for n in values}, frozenset(values))

    def below(self, node: Distinct | Filter | Project) -> _Lifted:
        """The same below one more operator."""
        match node:
            case Filter(condition=condition):
                tests = [substitute(c, self.outputs) for c in conditions(condition)]
                return replace(self, parts=(*self.parts, *tests))
            case Project(outputs=outputs):
                handed = {n: e.name for n, e in outputs if isinstance(e, Column)}
                origins = {n: self.origins[o] for n, o in handed.items() if o in self.origins}
                made = {n: substitute(e, self.outputs) for n, e in outputs}
                return replace(self, outputs=made, origins=origins)
        return self


def _domain_over(base: Node, node: Node) -> Mapping[str, Expression] | None:
    """What the columns of the domain of a plan are there; None if the node is another one."""
    match node:
        case Distinct(input=Project(outputs=outputs, input=source)) if source == base:
            doubles = any(pa.types.is_floating(e.type) for _, e in outputs)
            return None if doubles else dict(outputs)
    return None


def _flattened(node: SemiJoin | AntiJoin, found: _Lifted) -> Node | None:
    parts = conditions(node.condition)
    ties = [c for c in parts if _tied(c, found) is not None]
    if {_tied(c, found) for c in ties} != found.domain:
        return None
    rest = [substitute(c, found.outputs) for c in parts if c not in ties]
    return replace(node, condition=conjunction([*found.parts, *rest]), right=found.rows)


def _tied(part: Expression, found: _Lifted) -> str | None:
    """The column of the domain that a condition wants equal, NULLs too, to what it was made of."""
    match part:
        case Call(function="not", arguments=(Call(function="distinct_from", arguments=(a, b)),)):
            for mine, theirs in ((a, b), (b, a)):
                if isinstance(theirs, Column) and theirs.name in found.origins:
                    column = found.origins[theirs.name]
                    if found.outputs[theirs.name] == mine:
                        return column
    return None

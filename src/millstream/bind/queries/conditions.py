"""The conditions of WHERE and HAVING: plain ones, and the tests that subqueries become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from millstream.algebra.expressions import Expression, conjuncts
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.trees import and_parts, has_query
from millstream.bind.subqueries.in_expressions import Subqueries
from millstream.bind.subqueries.relations import Test


@dataclass(frozen=True)
class Conditions:
    """WHERE or HAVING: plain conditions, and the tests that those with subqueries become."""

    plain: tuple[Expression, ...] = ()
    tests: tuple[Test, ...] = ()

    @staticmethod
    def of(
        clause: exp.Expr,
        called: str,
        expressions: Expressions,
        subqueries: Subqueries,
        split: bool = False,
        steering: Sequence[exp.Expr] = (),
    ) -> Conditions:
        """The conditions of a clause, one by one if they are split or some have subqueries; without
        those that steer the search for a sequence."""
        if not (split or steering or has_query(clause)):
            return Conditions((expressions.condition(clause, called),))
        taken = {id(part) for part in steering}
        parts = [part for part in and_parts(clause) if id(part) not in taken]
        plain = [expressions.condition(part, called) for part in parts if not has_query(part)]
        asked = [part for part in parts if has_query(part)]
        tests = subqueries.tests(asked, expressions, called)
        return Conditions(tuple(c for p in plain for c in conjuncts(p)), tuple(tests))

"""Joins: the entries of FROM put together from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.algebra.expressions import (
    TRUE,
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    conjunction,
    conjuncts,
)
from millstream.algebra.node import Node, transform
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.scope import Member, Scope
from millstream.bind.names.trees import and_parts
from millstream.bind.relations.entries import Entry, Joined, Test
from millstream.bind.relations.join_conditions import JoinConditions
from millstream.bind.relations.placing import merged, placed, renamed
from millstream.bind.relations.predicate_windows import holding, now_here
from millstream.bind.relations.timed_joins import plain_and_timed, timed_join
from millstream.bind.relations.times import check_times
from millstream.blocks.versions import Known
from millstream.catalog import Catalog
from millstream.errors import MillstreamError, Notice
from millstream.lang import place_of
from millstream.operators import (
    AntiJoin,
    Filter,
    Join,
    LookupJoin,
    NonRetroactiveJoin,
    Project,
    SemiJoin,
    TableScan,
    UnionAll,
)
from millstream.operators.project import handed_on


@dataclass(frozen=True)
class Joins:
    """Puts entries together. `where` is looked into for the keys of static tables."""

    text: str
    test: Test
    where: exp.Expr | None = None
    notices: list[Notice] = field(default_factory=list)
    routines: Known = field(default_factory=Known)
    catalog: Catalog = field(default_factory=Catalog)

    @property
    def conditions(self) -> JoinConditions:
        return JoinConditions(self.text, self.notices, self.routines)

    def _conditions_over(self, *plans: Node) -> JoinConditions:
        """Those that may read Now, which is in the time of these plans."""
        timed = next((plan for plan in plans if plan.time_domain is not None), None)
        return replace(self.conditions, now=lambda: now_here(timed, self.catalog))

    def combine(self, entries: list[tuple[exp.Join | None, Entry]]) -> Joined:
        """The entries, each with the join that it stands in, as one plan.

        Static tables at the beginning wait for the first entry that is none.
        """
        kinds = [self._kind(join, entry) for join, entry in entries]
        waiting = 0
        while (
            waiting < len(entries) and entries[waiting][1].is_static and kinds[waiting] == "inner"
        ):
            waiting += 1
        if not 0 < waiting < len(entries) or kinds[waiting] != "inner":
            waiting = 0
        self._check_first(entries[waiting][1], entries)
        if waiting:
            joined = self._looked_up(entries[: waiting + 1])
        else:
            joined = Joined(entries[0][1].relation(), entries[0][1].scope)
        done = waiting + 1
        for kind, (join, entry) in zip(kinds[done:], entries[done:]):
            assert join is not None
            joined = self._add(joined, kind, join, entry)
        return joined

    def _kind(self, join: exp.Join | None, entry: Entry) -> str:
        side, kind = (join.side, join.kind) if join is not None else ("", "")
        if kind in ("SEMI", "ANTI") and side in ("RIGHT", "FULL"):
            raise MillstreamError(
                f"{side} {kind} JOIN does not exist",
                self.conditions.word(side, entry),
                hint=f"Write {kind} JOIN, with the rows to keep on the left.",
            )
        if kind == "OUTER" and not side:
            raise MillstreamError(
                "OUTER JOIN does not say which side is kept",
                self.conditions.word(kind, entry),
                hint="Write LEFT, RIGHT or FULL before it.",
            )
        return kind.lower() if kind in ("SEMI", "ANTI") else side.lower() or "inner"

    def _check_first(self, first: Entry, entries: list[tuple[exp.Join | None, Entry]]) -> None:
        others = [entry for _, entry in entries if entry is not first]
        if first.is_non_retroactive and not all(entry.is_static for entry in others):
            raise MillstreamError(
                f"{first.described} is NON RETROACTIVE and cannot stand first in a join",
                place_of(first.node, self.text),
                detail="Its changes meet only the rows that come after them.",
                hint="Write the stream first, then JOIN and the table.",
            )

    def _looked_up(self, entries: list[tuple[exp.Join | None, Entry]]) -> Joined:
        """Static tables written before a plan: the plan with the tables looked up in it."""
        start = entries[-1][1]
        plan = start.relation()
        tables, taken = list[Scope](), set(plan.schema.names)
        for _, entry in entries[:-1]:
            tables.append(placed(entry.scope, taken))
            taken |= tables[-1].plan_names
        scope, wanted = tables[0], []
        for at, (join, entry) in enumerate(entries[1:], 1):
            assert join is not None
            right = tables[at] if at < len(tables) else start.scope
            binder = self._conditions_over(plan)
            scope, on = binder.between(join, scope, right, entry, "inner")
            wanted.append(on)
        rest, timed = plain_and_timed([c for on in wanted for c in on.conditions])
        seen = start.scope
        for part, (_, entry) in zip(tables, entries[:-1]):
            seen = replace(seen, members=(*seen.members, *part.members))
            there = {*plan.schema.names, *part.plan_names}
            mine = [c for c in rest if columns_of(c) <= there]
            rest = [c for c in rest if c not in mine]
            plan = self._lookup(plan, entry, part.members[0], seen, mine, outer=False)
        plan = holding(timed, plan, self.catalog, self.notices)
        later = [node for on in wanted for node in on.later]
        return Joined(self.test(plan, scope, later) if later else plan, scope)

    def _add(self, joined: Joined, kind: str, join: exp.Join, entry: Entry) -> Joined:
        plan = joined.plan
        if entry.is_non_retroactive and kind not in ("inner", "left"):
            raise MillstreamError(
                f"{entry.described} is NON RETROACTIVE and cannot stand in a {kind.upper()} JOIN",
                place_of(entry.node, self.text),
                detail="Its changes meet only the rows that come after them.",
                hint="Write the stream first, and JOIN or LEFT JOIN.",
            )
        right = placed(entry.scope, set(plan.schema.names))
        binder = self._conditions_over(plan, entry.relation())
        scope, on = binder.between(join, joined.scope, right, entry, kind)
        conditions, timed = plain_and_timed(on.conditions)
        condition = conjunction(conditions)
        if timed and kind != "inner":
            other = renamed(entry.relation(), entry.scope, right)
            plan = self._timed(kind, on.conditions, plan, other, entry)
        elif entry.is_static and kind in ("inner", "left"):
            plan = self._lookup(plan, entry, right.members[0], scope, conditions, kind == "left")
        else:
            other = renamed(entry.relation(), entry.scope, right)
            check_times(plan, other, place_of(entry.node, self.text))
            plan = self._join(kind, condition, plan, other, entry)
        if kind == "inner":
            plan = holding(timed, plan, self.catalog, self.notices)
        if kind in ("right", "full") and on.using:
            plan, scope = merged(plan, scope, joined.scope, right, on.using, kind)
        if on.later:
            plan = self.test(plan, scope, list(on.later))
        return Joined(plan, joined.scope if kind in ("semi", "anti") else scope)

    def _join(
        self, kind: str, condition: Expression, left: Node, right: Node, entry: Entry
    ) -> Node:
        if entry.is_non_retroactive:
            self._check_tuples(left, entry)
            return NonRetroactiveJoin(condition, kind == "left", left, transform(right, _as_before))
        match kind:
            case "semi":
                return SemiJoin(condition, left, right)
            case "anti":
                return AntiJoin(condition, left, right)
        return joined(kind, condition, left, right)

    def _timed(
        self, kind: str, conditions: Sequence[Expression], left: Node, right: Node, entry: Entry
    ) -> Node:
        """A join that is no inner one, and whose condition reads Now."""
        if entry.is_non_retroactive:
            raise MillstreamError(
                f"Now cannot stand in ON of LEFT JOIN with {entry.described}",
                place_of(entry.node, self.text),
                detail="Its rows meet the tuples that come after them, and stay with them.",
                hint="Move the condition to WHERE.",
            )
        check_times(left, right, place_of(entry.node, self.text))
        return timed_join(kind, conditions, left, right, self.catalog, self.notices)

    def _check_tuples(self, left: Node, entry: Entry) -> None:
        """A table that is not retroactive meets tuples of a stream, each at its own instant."""
        if not is_of_one_stream(left):
            raise MillstreamError(
                f"{entry.described} is NON RETROACTIVE and meets the tuples of one stream",
                place_of(entry.node, self.text),
                detail="The rows before it are derived from others, and have no instant of their "
                "own.",
                hint="Join the stream with it first, or in a subquery in FROM.",
            )

    def _lookup(
        self,
        plan: Node,
        entry: Entry,
        member: Member,
        scope: Scope,
        conditions: list[Expression],
        outer: bool,
    ) -> Node:
        table = entry.table
        assert table is not None
        names = tuple(name for _, name, _ in member.columns)
        columns = dict(zip(names, (name for name, _ in table.columns)))
        if not conditions and not outer:
            conditions = self._from_where(scope, columns)
        keys, rest = _equal_keys(conditions, columns, plan)
        return LookupJoin(
            table.content,
            names,
            tuple(a for a, _ in keys),
            tuple(b for _, b in keys),
            conjunction(rest),
            outer,
            plan,
        )

    def _from_where(self, scope: Scope, columns: dict[str, str]) -> list[Expression]:
        """Equalities of WHERE that bind a comma-joined table; WHERE tests them once more."""
        found = []
        for part in and_parts(self.where.this) if self.where is not None else ():
            try:
                bound = Expressions(scope, self.text).bind(part)
            except MillstreamError:
                continue
            found += [c for c in conjuncts(bound) if _key_pair(c, columns) is not None]
        return found


def joined(kind: str, condition: Expression, left: Node, right: Node) -> Node:
    """An inner or outer join: pairs, and rows without a partner beside NULLs."""
    result: Node = Join(condition, left, right)
    if kind in ("left", "full"):
        alone: Node = AntiJoin(condition, left, right)
        result = UnionAll(result, Project((*handed_on(left.schema), *_nulls(right)), alone))
    if kind in ("right", "full"):
        alone = AntiJoin(condition, right, left)
        result = UnionAll(result, Project((*_nulls(left), *handed_on(right.schema)), alone))
    return result


def _nulls(plan: Node) -> list[tuple[str, Expression]]:
    return [(f.name, Literal(None, f.type)) for f in plan.schema]


def _key_pair(condition: Expression, columns: dict[str, str]) -> tuple[str, str] | None:
    """(input column, table column) of an equality between the two, of one type."""
    match condition:
        case Call(function="=", arguments=(Column() as a, Column() as b)) if a.type == b.type:
            if a.name in columns and b.name not in columns:
                a, b = b, a
            if b.name in columns and a.name not in columns:
                return a.name, columns[b.name]
    return None


def _equal_keys(
    conditions: list[Expression], columns: dict[str, str], plan: Node
) -> tuple[list[tuple[str, str]], list[Expression]]:
    keys, rest = [], []
    for condition in conditions:
        pair = _key_pair(condition, columns)
        if pair is not None and pair[0] in plan.schema.names:
            keys.append(pair)
        elif condition != TRUE:
            rest.append(condition)
    return keys, rest


def _as_before(node: Node) -> Node:
    """A table that also emits what was in it just before its first modification."""
    return replace(node, non_retroactive=True) if isinstance(node, TableScan) else node


def is_of_one_stream(node: Node) -> bool:
    """True for rows that are elements of a stream in a window, each by itself."""
    if isinstance(node, (Filter, Project, LookupJoin)):
        return is_of_one_stream(node.input)
    if isinstance(node, NonRetroactiveJoin):
        return is_of_one_stream(node.left)
    return node.is_window

"""Joins: the entries of FROM put together from left to right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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
from millstream.algebra.types import BOOLEAN, common_type
from millstream.bind.constants import coerce
from millstream.bind.expressions import Expressions
from millstream.bind.messages import a
from millstream.bind.scope import Member, Scope
from millstream.bind.times import check_times
from millstream.bind.trees import and_parts, has_query
from millstream.bind.words import find_word
from millstream.catalog import Table
from millstream.errors import MillstreamError, Place
from millstream.lang import name_place_of, place_of
from millstream.operators import (
    AntiJoin,
    Filter,
    Join,
    LookupJoin,
    NonRetroactiveJoin,
    Now,
    Project,
    Range,
    RangeSlide,
    Rows,
    SemiJoin,
    TableScan,
    Unbounded,
    UnionAll,
)
from millstream.operators.project import handed_on

Test = Callable[[Node, Scope, list[exp.Expr]], Node]
"""Keeps the rows of a plan that meet conditions with subqueries."""


@dataclass(frozen=True)
class Entry:
    """One entry of FROM: its names, and its plan with the window applied, or its table.

    `streams` counts the streams with windows in it.
    """

    described: str
    node: exp.Expr
    scope: Scope
    plan: Node | None = None
    table: Table | None = None
    streams: int = 0

    @property
    def is_static(self) -> bool:
        return self.table is not None and self.table.is_static

    @property
    def is_non_retroactive(self) -> bool:
        return self.table is not None and self.table.non_retroactive and not self.is_static

    def relation(self) -> Node:
        if self.plan is not None:
            return self.plan
        assert self.table is not None
        return self.table.relation()


@dataclass(frozen=True)
class Joined:
    """What stands in FROM: a plan and the names it offers."""

    plan: Node
    scope: Scope


@dataclass(frozen=True)
class _On:
    """What a join asks of a pair: conditions, those with subqueries as they are written, and the
    names of columns that it makes one."""

    conditions: tuple[Expression, ...] = ()
    later: tuple[exp.Expr, ...] = ()
    using: tuple[str, ...] = ()


@dataclass(frozen=True)
class Joins:
    """Puts entries together. `where` is looked into for the keys of static tables."""

    text: str
    test: Test
    where: exp.Expr | None = None

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
                self._word(side, entry),
                hint=f"Write {kind} JOIN, with what is to be kept on the left.",
            )
        if kind == "OUTER" and not side:
            raise MillstreamError(
                "OUTER JOIN does not say which side is kept",
                self._word(kind, entry),
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

    def _word(self, word: str, entry: Entry) -> Place | None:
        place = place_of(entry.node, self.text)
        found = find_word(word, self.text, place.start, backwards=True) if place else None
        return found or place

    def _looked_up(self, entries: list[tuple[exp.Join | None, Entry]]) -> Joined:
        """Static tables written before a plan: the plan with the tables looked up in it."""
        start = entries[-1][1]
        plan = start.relation()
        placed, taken = [], set(plan.schema.names)
        for _, entry in entries[:-1]:
            placed.append(_placed(entry.scope, taken))
            taken |= placed[-1].plan_names
        scope, wanted = placed[0], []
        for at, (join, entry) in enumerate(entries[1:], 1):
            assert join is not None
            right = placed[at] if at < len(placed) else start.scope
            scope, on = self._on(join, scope, right, entry, "inner")
            wanted.append(on)
        rest = [c for on in wanted for c in on.conditions]
        seen = start.scope
        for part, (_, entry) in zip(placed, entries[:-1]):
            seen = replace(seen, members=(*seen.members, *part.members))
            there = {*plan.schema.names, *part.plan_names}
            mine = [c for c in rest if columns_of(c) <= there]
            rest = [c for c in rest if c not in mine]
            plan = self._lookup(plan, entry, part.members[0], seen, mine, outer=False)
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
        right = _placed(entry.scope, set(plan.schema.names))
        scope, on = self._on(join, joined.scope, right, entry, kind)
        condition = conjunction(list(on.conditions))
        if entry.is_static and kind in ("inner", "left"):
            conditions = list(on.conditions)
            plan = self._lookup(plan, entry, right.members[0], scope, conditions, kind == "left")
        else:
            other = _renamed(entry.relation(), entry.scope, right)
            check_times(plan, other, place_of(entry.node, self.text))
            plan = self._join(kind, condition, plan, other, entry)
        if kind in ("right", "full") and on.using:
            plan, scope = _merge(plan, scope, joined.scope, right, on.using, kind)
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

    def _check_tuples(self, left: Node, entry: Entry) -> None:
        """A table that is not retroactive meets tuples of a stream, each at its own instant."""
        if not is_of_one_stream(left):
            raise MillstreamError(
                f"{entry.described} is NON RETROACTIVE and meets the tuples of one stream",
                place_of(entry.node, self.text),
                detail="What stands before it is made of others, and has no instant of its own.",
                hint="Join the stream with it first, or in a subquery in FROM.",
            )

    def _on(
        self, join: exp.Join, left: Scope, right: Scope, entry: Entry, kind: str
    ) -> tuple[Scope, _On]:
        """The names of both sides, and what the join asks of a pair."""
        using = join.args.get("using")
        if using and join.method == "NATURAL":
            raise MillstreamError(
                "NATURAL JOIN takes no USING: it joins by all columns of one name",
                place_of(using[0], self.text),
                hint="Leave one of the two out.",
            )
        condition = using[0] if using else join.args.get("on")
        if join.kind == "CROSS" and condition is not None:
            raise MillstreamError(
                "CROSS JOIN takes no condition: it pairs every row with every other",
                place_of(condition, self.text),
                hint="Leave CROSS out, or move the condition to WHERE.",
            )
        using = using or self._natural(join, left, right, entry)
        if using:
            same = tuple(self._same(node, left, right, entry) for node in using)
            names = tuple(node.name.lower() for node in using)
            hidden = tuple(replace(m, merged=m.merged | frozenset(names)) for m in right.members)
            rest = tuple(merged for merged in right.using if merged[0] not in names)
            merged = Scope(hidden, rest)
            return self._both(left, merged, entry), _On(same, (), names)
        scope = self._both(left, right, entry)
        node = join.args.get("on")
        if node is None:
            return scope, _On()
        binder = Expressions(scope, self.text, "ON")
        if not has_query(node):
            return scope, _On(tuple(conjuncts(binder.condition(node, "ON"))))
        parts = and_parts(node)
        later = tuple(part for part in parts if has_query(part))
        if kind != "inner":
            raise MillstreamError(
                f"a subquery cannot stand in ON of {kind.upper()} JOIN",
                place_of(later[0], self.text),
                hint="Join with a subquery in FROM instead, or move the condition to WHERE.",
            )
        plain = [binder.condition(part, "ON") for part in parts if not has_query(part)]
        return scope, _On(tuple(c for p in plain for c in conjuncts(p)), later)

    def _both(self, left: Scope, right: Scope, entry: Entry) -> Scope:
        try:
            return left.joined(right)
        except MillstreamError as error:
            raise error.at(place_of(entry.node, self.text)) from None

    def _natural(
        self, join: exp.Join, left: Scope, right: Scope, entry: Entry
    ) -> list[exp.Identifier]:
        """The columns that NATURAL JOIN stands for: those of one name."""
        if join.method != "NATURAL":
            return []
        if (on := join.args.get("on")) is not None:
            raise MillstreamError(
                "NATURAL JOIN takes no ON: it joins by all columns of one name",
                place_of(on, self.text),
                hint="Leave NATURAL out, or move the condition to WHERE.",
            )
        mine = {name.lower() for name, _ in left.all_columns()}
        shared = [name for name, _ in right.all_columns() if name.lower() in mine]
        if not shared:
            raise MillstreamError(
                f"NATURAL JOIN finds no column that {entry.described} shares with what stands "
                "before it",
                self._word("NATURAL", entry),
                hint="Write JOIN … ON with a condition, or CROSS JOIN.",
            )
        return [exp.to_identifier(name) for name in shared]

    def _same(self, name: exp.Expr, left: Scope, right: Scope, entry: Entry) -> Expression:
        """Equality of two columns of one name, whatever their types are."""
        try:
            mine, theirs = left.resolve(name.name), right.resolve(name.name)
        except MillstreamError as error:
            raise error.at(name_place_of(name, self.text)) from None
        kind = common_type(mine.type, theirs.type)
        if kind is None:
            where = right.members[0].alias or entry.described
            raise MillstreamError(
                f'column "{name.name}" is {a(mine.type)} here and {a(theirs.type)} in "{where}"',
                name_place_of(name, self.text) or place_of(entry.node, self.text),
                hint="Write ON with a CAST.",
            )
        return Call("=", (coerce(mine, kind), coerce(theirs, kind)), BOOLEAN)

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


def _placed(scope: Scope, taken: set[str]) -> Scope:
    """The scope with other names in the plan where they are taken."""
    members, new_names = [], dict[str, str]()
    used = taken | set()
    for member in scope.members:
        columns = []
        for name, plan_name, kind in member.columns:
            new = new_names.get(plan_name, plan_name)
            if plan_name not in new_names:
                if new in taken:
                    new = f"{member.alias}.{name}" if member.alias else f"{name}_"
                while new in used:
                    new += "_"
                used.add(new)
                new_names[plan_name] = new
            columns.append((name, new, kind))
        members.append(replace(member, columns=tuple(columns)))
    using = tuple((n, replace(c, name=new_names.get(c.name, c.name))) for n, c in scope.using)
    return Scope(tuple(members), using)


def _renamed(plan: Node, before: Scope, after: Scope) -> Node:
    """The plan under the names of the scope it was given."""
    names = {
        old: new
        for m, n in zip(before.members, after.members)
        for (_, old, _), (_, new, _) in zip(m.columns, n.columns)
    }
    names |= {old.name: new.name for (_, old), (_, new) in zip(before.using, after.using)}
    if all(old == new for old, new in names.items()):
        return plan
    outputs = [(names.get(f.name, f.name), Column(f.name, f.type)) for f in plan.schema]
    return Project(tuple(outputs), plan)


def _merge(
    plan: Node, scope: Scope, left: Scope, right: Scope, names: tuple[str, ...], kind: str
) -> tuple[Node, Scope]:
    """The columns of USING in an outer join: the right one, or the one of the two that is there."""
    outputs = list(handed_on(plan.schema))
    merged = {}
    for name in names:
        mine, theirs = left.resolve(name), right.resolve(name)
        if kind == "right":
            merged[name] = theirs
            continue
        common = common_type(mine.type, theirs.type)
        assert common is not None
        value = Call("coalesce", (coerce(mine, common), coerce(theirs, common)), common)
        called = f"coalesce({mine.name}, {theirs.name})"
        outputs.append((called, value))
        merged[name] = Column(called, common)
    if kind == "full":
        plan = Project(tuple(outputs), plan)
    return plan, scope.merging(merged)


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
    return isinstance(node, (Now, Range, RangeSlide, Rows, Unbounded))

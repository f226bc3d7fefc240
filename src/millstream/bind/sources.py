"""FROM: what a query reads, as one input with static tables joined to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.algebra.expressions import Call, Column, Expression, conjunction, conjuncts
from millstream.algebra.node import Node
from millstream.algebra.node import walk as walk_plan
from millstream.algebra.time import Domain
from millstream.algebra.types import BOOLEAN, common_type
from millstream.bind.constants import coerce
from millstream.bind.expressions import Expressions
from millstream.bind.messages import a
from millstream.bind.scope import Member, Scope
from millstream.bind.windows import bind_window
from millstream.bind.words import find_word
from millstream.catalog import SIDES, Catalog, Stream, Table, View, kind_of
from millstream.errors import MillstreamError, Notice
from millstream.lang import StreamWindow, name_place_of, place_of
from millstream.operators import Istream, LookupJoin, Scan, Stamp, Unbounded


@dataclass
class Entry:
    """One entry of FROM: a table, or a plan with its window applied."""

    alias: str
    described: str
    node: exp.Expr
    table: Table | None = None
    plan: Node | None = None
    join: exp.Join | None = None


@dataclass
class Sources:
    """Binds the FROM clause of one query. `subquery` binds a query that stands in FROM."""

    catalog: Catalog
    text: str
    subquery: Callable[[exp.Expr], Node]
    stamped: bool = False
    notices: list[Notice] = field(default_factory=list)

    def bind(self, select: exp.Select) -> tuple[Node, Scope, list[Expression]]:
        """The input plan, the names it offers, and conditions from ON still to be tested."""
        clause = select.args.get("from_") or select.args.get("from")
        if clause is None:
            raise MillstreamError(
                "a query needs FROM",
                place_of(select, self.text),
                hint="Name a stream: SELECT … FROM bids.",
            )
        entries = [self._entry(clause.this, None)]
        entries += [self._entry(join.this, join) for join in select.args.get("joins") or []]
        return self._combine(entries, select)

    def _entry(self, node: exp.Expr, join: exp.Join | None) -> Entry:
        try:
            return self._bind_entry(node, join)
        except MillstreamError as error:
            raise error.at(place_of(node, self.text)) from None

    def _bind_entry(self, node: exp.Expr, join: exp.Join | None) -> Entry:
        window = node.args.get("stream_window")
        if not isinstance(node, exp.Table):
            plan = self.subquery(node.this if isinstance(node, exp.Subquery) else node)
            alias, described = node.alias or "", "the subquery"
        else:
            found = self._find(node)
            alias, described = node.alias or found.name, f'{kind_of(found)} "{found.name}"'
            if isinstance(found, Table):
                if window is not None:
                    raise MillstreamError(
                        f"{described} takes no window: windows are for streams",
                        place_of(window, self.text),
                        hint="Leave the window out.",
                    )
                return Entry(alias, described, node, table=found, join=join)
            plan = found.scan() if isinstance(found, Stream) else found.plan
        windowed = self._windowed(plan, window, described, alias, node)
        return Entry(alias, described, node, plan=windowed, join=join)

    def _find(self, node: exp.Table) -> Stream | Table | View:
        if isinstance(node.this, exp.Func):
            raise self._function_in_from(node.this)
        if owner := node.args.get("db"):
            return self._side(owner, node)
        try:
            return self.catalog.find(node.name)
        except MillstreamError as error:
            raise error.at(place_of(node.this, self.text)) from None

    def _side(self, owner: exp.Expr, node: exp.Table) -> Stream:
        """`bids.late` and `bids.errors`: the rows of a stream that came too late or were bad."""
        found = self.catalog.entries.get(owner.name.lower())
        if not isinstance(found, Stream):
            raise self.catalog.missing("stream", owner.name).at(place_of(owner, self.text))
        if node.name.lower() not in SIDES:
            raise MillstreamError(
                f'side stream "{node.name}" of stream "{found.name}" does not exist',
                place_of(node.this, self.text),
                hint=f"Write {found.name}.late or {found.name}.errors.",
            )
        return found.side(node.name.lower())

    def _function_in_from(self, call: exp.Expr) -> MillstreamError:
        name = str(call.this) if isinstance(call, exp.Anonymous) else call.key
        place = place_of(call, self.text)
        if name.upper() in ("R", "ℜ", "ℜ_SYNC"):
            inner = call.expressions[0].name if call.expressions else "bids"
            return MillstreamError(
                f"{name.upper()}(…) in FROM is not supported yet",
                place,
                hint=f"Write the stream with a window: {inner} [Rows 1].",
            )
        return MillstreamError(
            f'function "{name}" cannot stand in FROM',
            place,
            hint="Name a stream, a table or a view.",
        )

    def _windowed(
        self, plan: Node, window: StreamWindow | None, described: str, alias: str, node: exp.Expr
    ) -> Node:
        if window is None and not plan.is_stream:
            return plan
        if not plan.is_stream:
            plan = self._as_stream(plan, described, window)
        domain = domain_of(plan)
        scope = Scope((_member(alias, plan),))
        if self.stamped:
            plan = Stamp(plan)
        if window is None:
            self.notices.append(Notice(f"{described} has no window: [Range Unbounded] is used"))
            return Unbounded(plan)
        return bind_window(window, plan, scope, domain, described, self.text)

    def _as_stream(self, plan: Node, described: str, window: exp.Expr | None) -> Node:
        if plan.monotonic:
            self.notices.append(Notice(f"{described} under a window only grows: Istream is used"))
            return Istream(plan)
        raise MillstreamError(
            f"{described} is a relation, and a window needs a stream",
            place_of(window, self.text) if window is not None else None,
            detail="Its rows can leave again, so it is not clear which of its changes are meant.",
            hint="Leave the window out, or put Istream, Dstream or Rstream around the select list "
            "inside.",
        )

    def _combine(
        self, entries: list[Entry], select: exp.Select
    ) -> tuple[Node, Scope, list[Expression]]:
        inputs = [e for e in entries if e.plan is not None]
        if not inputs:
            raise MillstreamError(
                f"a query over {entries[0].described} alone is not supported yet",
                place_of(entries[0].node, self.text),
                hint="Join it with a stream.",
            )
        if len(inputs) > 1:
            raise MillstreamError(
                f"a join of {inputs[0].described} and {inputs[1].described} is not supported yet",
                place_of(inputs[1].node, self.text),
                detail="In FROM one may be a stream or a view; the others must be tables.",
                hint="Take one of them out of FROM.",
            )
        plan = inputs[0].plan
        assert plan is not None
        members = {id(inputs[0]): self._renamed(_member(inputs[0].alias, plan), inputs[0])}
        scope = Scope(()).with_member(members[id(inputs[0])])
        where = select.args.get("where")
        for entry in entries:
            if entry.table is None:
                self._check_kind(entry, entries)
                continue
            member = self._renamed(_table_member(entry, scope), entry)
            member = self._merged(member, entry, scope)
            members[id(entry)] = member
            try:
                scope = scope.with_member(member)
            except MillstreamError as error:
                raise error.at(place_of(entry.node, self.text)) from None
            plan = self._lookup(plan, entry, member, scope, where)
        ordered = Scope(tuple(members[id(e)] for e in entries))
        later = [
            self._on(e, ordered)
            for e in entries
            if e.table is None and e.join is not None and e.join.args.get("on") is not None
        ]
        return plan, ordered, later

    def _check_kind(self, entry: Entry, entries: list[Entry]) -> None:
        """Tables before the stream must be joined in a way that does not favour them."""
        join = entry.join
        self._check_join(entry)
        if join is not None and (join.side or join.args.get("using")):
            word = f"{join.side} JOIN" if join.side else "USING"
            raise MillstreamError(
                f"{word} with the stream on the right is not supported yet",
                place_of(entry.node, self.text),
                hint="Write the stream first in FROM.",
            )

    def _check_join(self, entry: Entry) -> None:
        """Refuse the joins that are not built yet."""
        join = entry.join
        words = [join.args.get(k) for k in ("method", "side", "kind")] if join is not None else []
        hints = {
            "NATURAL": "Write JOIN … USING with the columns.",
            "SEMI": "Write JOIN; a row with several partners then comes several times.",
            "ANTI": "Write LEFT JOIN, and WHERE a column of the table IS NULL.",
        }
        for word in (w.upper() for w in words if w):
            if word in hints:
                place = place_of(entry.node, self.text)
                found = find_word(word, self.text, place.start, backwards=True) if place else None
                raise MillstreamError(
                    f"{word} JOIN is not supported yet", found or place, hint=hints[word]
                )

    def _renamed(self, member: Member, entry: Entry) -> Member:
        """The member with the names of `alias (a, b)`, and the name behind its alias."""
        called = entry.node.name if isinstance(entry.node, exp.Table) else ""
        alias = entry.node.args.get("alias")
        names = [] if alias is None else alias.args.get("columns") or []
        columns = list(member.columns)
        if len(names) > len(columns):
            raise MillstreamError(
                f'alias "{member.alias}" names {len(names)} columns, and there are {len(columns)}',
                place_of(entry.node.args["alias"], self.text),
                hint="Leave out the names that are too many.",
            )
        for at, name in enumerate(names):
            columns[at] = (name.name, *columns[at][1:])
        return replace(member, columns=tuple(columns), called=called)

    def _merged(self, member: Member, entry: Entry, before: Scope) -> Member:
        """The member with the columns of USING hidden behind those of earlier entries."""
        using = entry.join.args.get("using") if entry.join is not None else None
        for node in using or ():
            for scope in (before, Scope((member,))):
                try:
                    scope.resolve(node.name)
                except MillstreamError as error:
                    raise error.at(name_place_of(node, self.text)) from None
        return replace(member, merged=frozenset(node.name.lower() for node in using or ()))

    def _on(self, entry: Entry, scope: Scope) -> Expression:
        assert entry.join is not None
        return Expressions(scope, self.text, "ON").condition(entry.join.args["on"], "ON")

    def _lookup(
        self, plan: Node, entry: Entry, member: Member, scope: Scope, where: exp.Expr | None
    ) -> Node:
        join, table = entry.join, entry.table
        assert table is not None
        self._check_join(entry)
        side = (join.side or "").upper() if join is not None else ""
        if side in ("RIGHT", "FULL"):
            raise MillstreamError(
                f"{side} JOIN with a table is not supported yet",
                place_of(entry.node, self.text),
                hint="Write the stream first, and LEFT JOIN.",
            )
        on = self._conditions(join, member, scope)
        outer = side == "LEFT"
        if join is None or (not on and not outer):
            on += self._from_where(where, scope, member)
        keys, rest = _equal_keys(on, member, plan)
        return LookupJoin(
            table.content,
            tuple(p for _, p, _ in member.columns),
            tuple(a for a, _ in keys),
            tuple(b for _, b in keys),
            conjunction(rest),
            outer,
            plan,
        )

    def _conditions(self, join: exp.Join | None, member: Member, scope: Scope) -> list[Expression]:
        if join is None:
            return []
        if using := join.args.get("using"):
            before = Scope(tuple(m for m in scope.members if m is not member))
            return [self._same(before.resolve(u.name), member, u) for u in using]
        condition = join.args.get("on")
        if condition is None:
            return []
        return conjuncts(Expressions(scope, self.text, "ON").condition(condition, "ON"))

    def _same(self, left: Column, member: Member, name: exp.Expr) -> Expression:
        """Equality of two columns of one name, whatever their types are."""
        right = Scope((replace(member, merged=frozenset()),)).resolve(name.name)
        kind = common_type(left.type, right.type)
        if kind is None:
            raise MillstreamError(
                f'column "{name.name}" is {a(left.type)} here and {a(right.type)} '
                f'in "{member.alias}"',
                name_place_of(name, self.text),
                hint="Write ON with a CAST.",
            )
        return Call("=", (coerce(left, kind), coerce(right, kind)), BOOLEAN)

    def _from_where(self, where: exp.Expr | None, scope: Scope, member: Member) -> list[Expression]:
        """Equalities of WHERE that bind a comma-joined table; WHERE tests them once more."""
        if where is None:
            return []
        parts = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        found = []
        for part in parts:
            try:
                bound = Expressions(scope, self.text).bind(part)
            except MillstreamError:
                continue
            found += [c for c in conjuncts(bound) if _key_pair(c, member) is not None]
        return found


def domain_of(plan: Node) -> Domain:
    """The time domain of what a plan rests on."""
    return next(n.domain for n in walk_plan(plan) if isinstance(n, Scan))


def _member(alias: str, plan: Node) -> Member:
    columns = [(f.name, f.name, f.type) for f in plan.schema if not f.name.startswith("#")]
    return Member(alias, tuple(columns))


def _table_member(entry: Entry, scope: Scope) -> Member:
    assert entry.table is not None
    taken = scope.plan_names
    columns = []
    for name, kind in entry.table.columns:
        plan_name = name if name not in taken else f"{entry.alias}.{name}"
        while plan_name in taken:
            plan_name += "_"
        taken = taken | {plan_name}
        columns.append((name, plan_name, kind))
    return Member(entry.alias, tuple(columns))


def _key_pair(condition: Expression, member: Member) -> tuple[str, str] | None:
    """(input column, table column) of an equality between the two, of one type."""
    mine = {plan: column for column, plan, _ in member.columns}
    match condition:
        case Call(function="=", arguments=(Column() as a, Column() as b)) if a.type == b.type:
            if a.name in mine and b.name not in mine:
                a, b = b, a
            if b.name in mine and a.name not in mine:
                return a.name, mine[b.name]
    return None


def _equal_keys(
    conditions: list[Expression], member: Member, plan: Node
) -> tuple[list[tuple[str, str]], list[Expression]]:
    keys, rest = [], []
    for condition in conditions:
        pair = _key_pair(condition, member)
        if pair is not None and pair[0] in plan.schema.names:
            keys.append(pair)
        else:
            rest.append(condition)
    return keys, rest

"""FROM inside blocks: local tables, tables of the system, subqueries and table functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.algebra.expressions import Call, Column, Expression, conjunction
from millstream.bind.blocks.body import Body, is_return_name
from millstream.bind.blocks.calls import bind_arguments
from millstream.bind.blocks.scalars import Scalars
from millstream.bind.names.scope import Member, Scope
from millstream.blocks.leaves import Field
from millstream.blocks.queries import (
    Columns,
    Local,
    Query,
    RoutineName,
    Select,
    Source,
    Stored,
    Tabled,
)
from millstream.catalog import Table, kind_of
from millstream.errors import MillstreamError
from millstream.lang import ToStream, name_place_of, place_of

Rows = Local | Stored | Tabled | Query


@dataclass
class From:
    """The entries of one FROM clause, while they are taken one after the other."""

    body: Body
    make: Callable[[Scope, dict[str, Expression]], Scalars]
    label: Callable[[], int]
    query: Callable[[exp.Expr], Query]
    ctes: dict[str, exp.Expr]
    sources: list[Source] = field(default_factory=list)
    scope: Scope = field(default_factory=lambda: Scope(()))
    fields: dict[str, Expression] = field(default_factory=dict)
    conditions: list[Expression] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.body.shared.text

    def take(self, select: exp.Select) -> None:
        """Take the entry of FROM and those joined to it."""
        clause = select.args.get("from_")
        if clause is None:
            return
        self._entry(clause.this, None)
        for join in select.args.get("joins") or ():
            self._entry(join.this, join)

    def scalars(self) -> Scalars:
        """What binds expressions over the entries so far."""
        return self.make(self.scope, self.fields)

    def _entry(self, node: exp.Expr, join: exp.Join | None) -> None:
        side = "" if join is None else (join.args.get("side") or "").upper()
        self._check_join(join, node)
        if side in ("RIGHT", "FULL") and (self.conditions or len(self.sources) > 1):
            self._wrap()
        of, columns, called = self._rows(node)
        label = self.label()
        member = self._member(node, label, columns, called)
        try:
            scope = self.scope.with_member(member)
        except MillstreamError as error:
            raise error.at(place_of(node, self.text)) from None
        left, self.scope = self.scope, scope
        for (_, plan, _), (name, kind) in zip(member.columns, columns):
            self.fields[plan] = Field(label, name, kind)
        on = [] if join is None else self._condition(join, left, member, side)
        if side:
            source = Source(label, of, columns, side.lower(), conjunction(on))
        else:
            source = Source(label, of, columns)
            self.conditions += on
        self.sources.append(source)

    def _check_join(self, join: exp.Join | None, node: exp.Expr) -> None:
        if join is not None and join.kind in ("SEMI", "ANTI"):
            word = "EXISTS" if join.kind == "SEMI" else "NOT EXISTS"
            raise MillstreamError(
                f"{join.kind} JOIN cannot stand in a block",
                place_of(node, self.text),
                hint=f"Write WHERE {word} (SELECT …).",
            )
        if (window := node.args.get("stream_window")) is not None:
            raise MillstreamError(
                "a window in brackets is for streams, and cannot stand in a block",
                place_of(window, self.text) or place_of(node, self.text),
                hint="A WINDOW AGGREGATE reads its window from the table inwindow.",
            )

    def _rows(self, node: exp.Expr) -> tuple[Rows, Columns, str]:
        """What an entry reads, its columns, and its own name."""
        match node:
            case exp.Subquery(this=exp.Table() | exp.Subquery()):
                raise MillstreamError(
                    "joins in parentheses cannot stand in a block",
                    place_of(node, self.text),
                    hint="Write a subquery: (SELECT … FROM a JOIN b …) AS t.",
                )
            case exp.Subquery(this=ToStream()):
                raise MillstreamError(
                    "a stream cannot be made in a block",
                    place_of(node, self.text),
                    hint="Leave the operator out: blocks read tables.",
                )
            case exp.Subquery():
                query = self.query(node.this)
                return query, query.columns, ""
            case exp.Table(this=exp.Anonymous() as call):
                return self._function(call)
            case exp.Table() if (relation := node.args.get("relation_of")) is not None:
                raise MillstreamError(
                    "R(…) cannot stand in a block",
                    place_of(relation, self.text),
                    hint="Blocks read tables: give what is needed as an argument.",
                )
            case exp.Table():
                return self._table(node)
        raise MillstreamError("this cannot stand in FROM", place_of(node, self.text))

    def _function(self, call: exp.Anonymous) -> tuple[Rows, Columns, str]:
        if call.name.lower() == "table":
            match call.expressions:
                case [exp.Anonymous() as inner]:
                    call = inner
                case [exp.Column(this=exp.Identifier() as name)]:
                    return self._table(exp.Table(this=name))
        found = self.body.routine(call.name)
        if found is None or not found.is_function:
            what = f'function "{call.this}" does not exist'
            if found is not None:
                what = f'aggregate "{call.this}" gives values, and cannot stand in FROM'
            raise MillstreamError(
                what,
                name_place_of(call, self.text),
                hint=f"Define FUNCTION {call.this}(…) : (column type, …) {{ … }}.",
            )
        arguments = bind_arguments(found, list(call.expressions), call, self.scalars())
        return Tabled(RoutineName(found.key), arguments), found.returns, found.name

    def _table(self, node: exp.Table) -> tuple[Rows, Columns, str]:
        name = node.name
        place = name_place_of(node, self.text)
        if is_return_name(name):
            raise MillstreamError(
                "RETURN cannot be read: it is where rows are put that the routine gives",
                place,
                hint="Keep what is needed later in a local table.",
            )
        if not node.db and (cte := self.ctes.get(name.lower())) is not None:
            query = self.query(cte)
            return query, query.columns, name
        if not node.db and (found := self.body.table(name)) is not None:
            return found[0], found[1], found[0].name
        return self._stored(f"{node.db}.{name}" if node.db else name, node)

    def _stored(self, name: str, node: exp.Table) -> tuple[Rows, Columns, str]:
        """A table of the system: its rows as they stand."""
        catalog, place = self.body.shared.catalog, name_place_of(node, self.text)
        entry = catalog.entries.get(name.lower())
        if entry is None:
            if name.lower() == "inwindow":
                raise self.body.no_window().at(place)
            raise self.body.no_table(name).at(place)
        if not isinstance(entry, Table):
            raise MillstreamError(
                f'{kind_of(entry)} "{entry.name}" cannot be read in a block',
                place,
                hint="Blocks read local tables and tables that do not change; give what is needed "
                "as an argument.",
            )
        if not entry.is_static:
            raise MillstreamError(
                f'table "{entry.name}" changes during a run, and cannot be read in a block',
                place,
                hint="Join it in the query that calls the routine, and give its columns as "
                "arguments.",
            )
        self.body.shared.reads.setdefault(name.lower())
        content = entry.content
        return Stored(entry.name, content.digest, content.rows), entry.columns, entry.name

    def _member(self, node: exp.Expr, label: int, columns: Columns, called: str) -> Member:
        alias = node.args.get("alias")
        name = alias.name if alias is not None else called
        renamed = [i.name for i in alias.args.get("columns") or ()] if alias is not None else []
        if len(renamed) > len(columns):
            raise MillstreamError(
                f'"{name}" has {len(columns)} columns, and here are {len(renamed)} names',
                place_of(node, self.text),
            )
        names = [*renamed, *(column for column, _ in columns[len(renamed) :])]
        listed = tuple((n, f"#{label}.{c}", kind) for n, (c, kind) in zip(names, columns))
        return Member(name, listed, called=called)

    def _condition(
        self, join: exp.Join, left: Scope, member: Member, side: str
    ) -> list[Expression]:
        """The conditions of a join; USING and NATURAL make two columns one."""
        if (node := join.args.get("on")) is not None:
            scalars = self.scalars()
            scalars.clause = "ON"
            return [scalars.condition(node, "ON")]
        using = [name.name for name in join.args.get("using") or ()]
        if (join.args.get("method") or "").upper() == "NATURAL":
            there = {name.lower() for name in left.names}
            using = [name for name, *_ in member.columns if name.lower() in there]
        return self._merge(using, left, member, side, join) if using else []

    def _merge(
        self, using: list[str], left: Scope, member: Member, side: str, join: exp.Join
    ) -> list[Expression]:
        right, merged = Scope((member,)), dict[str, Column]()
        conditions: list[Expression] = []
        for name in using:
            try:
                columns = [left.resolve(name), right.resolve(name)]
            except MillstreamError as error:
                raise error.at(place_of(join.this, self.text)) from None
            values = [self.fields[column.name] for column in columns]
            scalars = self.scalars()
            equal = scalars.compare("=", values[0], values[1], join.this, join.this)
            conditions.append(equal)
            kept = equal.arguments[1] if side == "RIGHT" else equal.arguments[0]
            if side == "FULL":
                kept = Call("coalesce", equal.arguments, kept.type)
            plan = f"#{self.sources[-1].label}.using.{name.lower()}.{len(self.fields)}"
            self.fields[plan] = kept
            merged[name.lower()] = Column(plan, kept.type)
        last = Member(member.alias, member.columns, frozenset(merged), member.called, member.order)
        self.scope = Scope((*self.scope.members[:-1], last), self.scope.using).merging(merged)
        return conditions

    def _wrap(self) -> None:
        """The entries so far as one: an outer join comes after the conditions of inner ones."""
        label = self.label()
        outputs = tuple((f.name, v) for f, v in self._all_fields())
        where = conjunction(self.conditions) if self.conditions else None
        query = Select(tuple(self.sources), outputs, where)
        for plan, value in list(self.fields.items()):
            self.fields[plan] = Field(label, plan, value.type)
        self.sources, self.conditions = [Source(label, query, query.columns)], []

    def _all_fields(self) -> list[tuple[Column, Expression]]:
        return [(Column(plan, value.type), value) for plan, value in self.fields.items()]

"""FROM: the entries a query reads, each with its window and its names.

Long because there are that many kinds of entries, each with a few lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from millstream.algebra.node import Node, map_inputs
from millstream.algebra.window_columns import hidden_columns
from millstream.bind.names.scope import Member, Scope
from millstream.bind.relations.clock_column import hides_clock, hiding, names_clock, with_clock
from millstream.bind.relations.clock_stream import clock_stream, is_clock
from millstream.bind.relations.entries import Entry, Joined, Test
from millstream.bind.relations.functions_in_from import function_in_from
from millstream.bind.relations.joins import Joins
from millstream.bind.relations.laterals import function_of, with_function
from millstream.bind.relations.past import held_as_of
from millstream.bind.relations.recognize import Recognizing
from millstream.bind.relations.relation_of import (
    no_relation_of,
    reads_arrived,
    relation_of,
    relation_of_tagged,
)
from millstream.bind.relations.sequences import Sequences
from millstream.bind.relations.synchronized import synchronized
from millstream.bind.relations.times import domain_of
from millstream.bind.relations.windows import bind_window
from millstream.catalog import SIDES, Catalog, Filled, Stream, Table, TaggedStream, View, kind_of
from millstream.errors import MillstreamError, Notice
from millstream.lang import RelationOf, StreamWindow, place_of
from millstream.operators import Hop, Istream, Session, Stamp, Unbounded


@dataclass
class Sources:
    """Binds the FROM clause of one query.

    `subquery` binds a query that stands in FROM, `test` conditions of ON with subqueries. When it
    is `stamped`, the elements of a stream that is alone in FROM, or beside tables and views, keep
    their instants and arrivals as columns.
    """

    catalog: Catalog
    text: str
    subquery: Callable[[exp.Expr], Node]
    test: Test
    stamped: bool = False
    has_over: bool = False
    """Whether calls of the query have windows of their own."""
    notices: list[Notice] = field(default_factory=list)
    found: list[Stream | Table | View] = field(default_factory=list)
    """What was found in the catalog under the names in FROM."""
    sequences: Sequences | None = None
    """The sequences in FROM."""
    names_clock: Callable[[str], bool] = lambda alias: False
    """Whether the query names the column `current_time`, of the entry of that alias."""
    reads_arrived: Callable[[exp.Expr, str], bool] = lambda node, alias: True
    """Whether the query reads the column TS of an entry R(…) of FROM with that alias."""

    def bind(self, select: exp.Select) -> Joined | None:
        """The input plan and the names it offers; None without FROM."""
        clause = select.args.get("from_")
        if clause is None:
            return None
        self.names_clock = partial(names_clock, select)
        self.reads_arrived = partial(reads_arrived, select)
        self.sequences = Sequences(select, self.text, self.catalog, self.notices)
        joined = self._joined(clause.this, select, select.args.get("where"))[0]
        return replace(joined, steering=tuple(self.sequences.taken))

    def _joined(
        self, first: exp.Expr, owner: exp.Expr, where: exp.Expr | None
    ) -> tuple[Joined, int]:
        """What stands in one FROM or in parentheses, and how many streams with windows it has."""
        nodes = [(None, first), *((join, join.this) for join in owner.args.get("joins") or ())]
        joined: Joined | None = None
        streams, waiting = 0, list[tuple[exp.Join | None, Entry]]()
        for join, node in nodes:
            if not self._is_function(node):
                waiting.append((join, self._entry(node)))
                continue
            joined, more = self._put_together(joined, waiting, where)
            streams, waiting = streams + more, []
            joined = with_function(joined, node, join, self.catalog.versions, self.text)
        joined, more = self._put_together(joined, waiting, where)
        assert joined is not None
        return joined, streams + more

    def _is_function(self, node: exp.Expr) -> bool:
        """Whether an entry is a table function of one's own."""
        try:
            return function_of(node, self.catalog.versions) is not None
        except MillstreamError as error:
            raise error.at(place_of(node, self.text)) from None

    def _put_together(
        self,
        joined: Joined | None,
        entries: list[tuple[exp.Join | None, Entry]],
        where: exp.Expr | None,
    ) -> tuple[Joined | None, int]:
        """What is there already, with more entries; and how many streams these have."""
        if not entries:
            return joined, 0
        streams = sum(entry.streams for _, entry in entries)
        if self.stamped and streams == 1:
            entries = [(join, _stamped(entry)) for join, entry in entries]
        self._notice_alone([entry for _, entry in entries])
        if joined is not None:
            first = Entry("the entries before it", entries[0][1].node, joined.scope, joined.plan)
            entries = [(None, first), *entries]
        joins = Joins(
            self.text, self.test, where, self.notices, self.catalog.versions, self.catalog
        )
        return joins.combine(entries), streams

    def _notice_alone(self, entries: list[Entry]) -> None:
        """A table that is not retroactive, and meets no stream, is a relation like any other."""
        changing = [entry for entry in entries if not entry.is_static]
        if changing and changing[0].is_non_retroactive:
            self.notices.append(
                Notice(
                    f"{changing[0].described} is NON RETROACTIVE and stands without a stream: "
                    "its changes change results, as those of other tables do",
                    "Join the stream with it, so that each tuple meets the rows that were there "
                    "before it.",
                )
            )

    def _entry(self, node: exp.Expr) -> Entry:
        try:
            return self._bind_entry(node)
        except MillstreamError as error:
            raise error.at(place_of(node, self.text)) from None

    def _bind_entry(self, node: exp.Expr) -> Entry:
        window, order, hidden = node.args.get("stream_window"), "", False
        if isinstance(node, exp.Table):
            found = self._find(node)
            alias, described = node.alias or found.name, f'{kind_of(found)} "{found.name}"'
            relation = node.args.get("relation_of")
            if isinstance(found, Table) and relation is not None:
                raise no_relation_of(found, place_of(relation, self.text))
            if isinstance(found, Table) and node.args.get("recognize") is not None:
                return self._recognized(node, found.relation(), described)
            if isinstance(found, Table) and node.args.get("sequence") is not None:
                plain = Member(alias, tuple((name, name, kind) for name, kind in found.columns))
                return self._sequence(node, found.relation(), plain, described)
            if isinstance(found, Table):
                return self._table(found, node, alias, described, window)
            plan = found.scan() if isinstance(found, Stream) else found.plan
            declared = found.declared if isinstance(found, Filled) else found
            if isinstance(declared, Stream):
                order = declared.order_by or ""
                hidden = hides_clock(declared, plan) and self.names_clock(alias)
                plan = with_clock(declared, plan, hidden)
            if relation is not None:
                return self._relation_of(relation, node, found, plan)
        elif _is_join(node.this):
            return self._parenthesized(node)
        else:
            plan = self.subquery(node.this if isinstance(node, exp.Subquery) else node)
            alias, described = node.alias or "", "the subquery"
        if node.args.get("sequence") is not None:
            if window is not None:
                plan = self._windowed(plan, window, described, alias)
            return self._sequence(
                node, plan, replace(member_of(alias, plan), order=order), described
            )
        if node.args.get("recognize") is not None:
            if window is not None:
                plan = self._windowed(plan, window, described, alias)
            return self._recognized(node, plan, described)
        streams = int(window is not None or plan.is_stream)
        plan = self._windowed(plan, window, described, alias)
        member = replace(member_of(alias, plan), order=order)
        if hidden:
            member = hiding(member, lambda plain: self._renamed(plain, node))
        else:
            member = self._renamed(member, node)
        return Entry(described, node, Scope((member,)), plan, streams=streams)

    def _relation_of(
        self, relation: RelationOf, node: exp.Table, found: Stream | View, plan: Node
    ) -> Entry:
        """R(S), perhaps synchronized: a relation with the column TS."""
        alias, streams = node.alias or found.name, int(plan.is_stream)
        with_arrived = self.reads_arrived(node, alias)
        if isinstance(found, TaggedStream):
            plan = relation_of_tagged(found, with_arrived)
        else:
            plan = relation_of(plan, with_arrived)
        if (sync := relation.sync) is not None:
            name = f"{sync.db}.{sync.name}" if sync.db else sync.name
            self._find(sync)
            place = place_of(sync, self.text)
            plan = synchronized(plan, name, self.catalog, f'"{found.name}"', place)
        described = f"R({node.name})"
        if node.args.get("sequence") is not None:
            return self._sequence(node, plan, member_of(alias, plan), described)
        if node.args.get("recognize") is not None:
            return self._recognized(node, plan, described)
        if (window := node.args.get("stream_window")) is not None:
            plan = self._windowed(plan, window, described, alias)
        member = self._renamed(member_of(alias, plan), node)
        return Entry(described, node, Scope((member,)), plan, streams=streams)

    def _sequence(self, node: exp.Expr, plan: Node, member: Member, described: str) -> Entry:
        """The matches of a pattern in a stream or in a relation."""
        assert self.sequences is not None
        called = node.name if isinstance(node, exp.Table) else ""
        plan, member = self.sequences.bind(node, plan, replace(member, called=called), described)
        described, streams = f"the sequence in {described}", int(plan.is_stream)
        plan = Unbounded(plan) if plan.is_stream else plan
        return Entry(described, node, Scope((member,)), plan, streams=streams)

    def _recognized(self, node: exp.Expr, plan: Node, described: str) -> Entry:
        """The matches of MATCH_RECOGNIZE; the alias before it is that of its input."""
        inner = node.args["recognize"].inner_alias
        alias = node.name if inner is None and isinstance(node, exp.Table) else ""
        member = member_of(alias if inner is None else inner.name, plan)
        binder = Recognizing(node, self.text, self.catalog, self.notices, described)
        plan, member = binder.bind(plan, member)
        described, streams = f"the pattern over {described}", int(plan.is_stream)
        plan = Unbounded(plan) if plan.is_stream else plan
        return Entry(described, node, Scope((self._renamed(member, node),)), plan, streams=streams)

    def _table(
        self,
        table: Table,
        node: exp.Table,
        alias: str,
        described: str,
        window: StreamWindow | None,
    ) -> Entry:
        if window is not None:
            raise MillstreamError(
                f"{described} takes no window: windows are for streams",
                place_of(window, self.text),
                hint="Leave the window out.",
            )
        member = Member(alias, tuple((name, name, kind) for name, kind in table.columns))
        return Entry(described, node, Scope((self._renamed(member, node),)), table=table)

    def _parenthesized(self, node: exp.Expr) -> Entry:
        """A join in parentheses: one plan with several names, or with one alias for all."""
        inner = node.this
        joined, streams = self._joined(inner, inner, None)
        if (window := node.args.get("stream_window")) is not None:
            raise MillstreamError(
                "a join in parentheses takes no window: windows are for streams",
                place_of(window, self.text),
                hint="Put a window after each stream inside.",
            )
        scope = joined.scope
        if node.alias:
            columns = tuple((name, c.name, c.type) for name, c in scope.all_columns())
            scope = Scope((self._renamed(Member(node.alias, columns), node),))
        return Entry("the join in parentheses", node, scope, joined.plan, streams=streams)

    def _find(self, node: exp.Table) -> Stream | Table | View:
        if isinstance(node.this, exp.Func):
            raise function_in_from(node.this, self.catalog, self.text)
        if (instant := node.args.get("as_of")) is not None:
            self.found.append(held_as_of(node, instant, self.catalog, self.text))
            return self.found[-1]
        owner = node.args.get("db")
        if is_clock(node.name, self.catalog):
            return self._clock(owner, node)
        if owner:
            return self._side(owner, node)
        try:
            self.found.append(self.catalog.find(node.name))
        except MillstreamError as error:
            raise error.at(place_of(node.this, self.text)) from None
        return self.found[-1]

    def _clock(self, owner: exp.Expr | None, node: exp.Table) -> View:
        """The stream of ticks of the clock, or of the clock that a stream goes by."""
        try:
            clock, streams = clock_stream(owner.name if owner else None, self.catalog)
        except MillstreamError as error:
            raise error.at(place_of(owner or node.this, self.text)) from None
        self.found += streams
        return clock

    def _side(self, owner: exp.Expr, node: exp.Table) -> Stream | View:
        """`bids.late` and `bids.errors`: the rows of a stream that arrived late or were bad."""
        named = self.catalog.entries.get(owner.name.lower())
        if isinstance(named, Filled):
            self.found.append(named)
            return self._late(named, node)
        found = named.changes if isinstance(named, Table) else named
        if not isinstance(found, Stream):
            raise self.catalog.missing("stream", owner.name).at(place_of(owner, self.text))
        if node.name.lower() not in SIDES:
            raise MillstreamError(
                f'side stream "{node.name}" of stream "{found.name}" does not exist',
                place_of(node.this, self.text),
                hint=f"Write {found.name}.late or {found.name}.errors.",
            )
        assert named is not None
        self.found.append(named)
        return found.side(node.name.lower())

    def _late(self, named: Filled, node: exp.Table) -> View:
        """The rows that were put into a stream after the time that they name."""
        if node.name.lower() == "late" and named.late is not None:
            return View(f"{named.name}.late", named.late, named.text, "stream")
        below = next((name for put in named.puts for name in put.reads), "bids")
        raise MillstreamError(
            f'stream "{named.name}" has no side stream "{node.name}"',
            place_of(node.this, self.text),
            detail="It is filled by queries, and all that they put in is in it.",
            hint=f"Read that of a stream below: {below}.{node.name}.",
        )

    def _windowed(
        self, plan: Node, window: StreamWindow | None, described: str, alias: str
    ) -> Node:
        if window is None and not plan.is_stream:
            return plan
        if not plan.is_stream:
            plan = self._as_stream(plan, described, window)
        scope = Scope((member_of(alias, plan),))
        if window is None:
            if not self.has_over:
                self.notices.append(Notice(f"{described} has no window: [Range Unbounded] is used"))
            return Unbounded(plan)
        bound = bind_window(window, plan, scope, domain_of(plan), described, self.text)
        self._notice_hidden(bound, described)
        return bound

    def _notice_hidden(self, window: Node, described: str) -> None:
        """A column of the stream that has the name of one that the window gives."""
        if not isinstance(window, Hop | Session):
            return
        for name in hidden_columns(window.input_schema):
            self.notices.append(
                Notice(
                    f'{described} has a column "{name}" of its own, which hides that of the window',
                    "Give it another name in a subquery to read both.",
                )
            )

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

    def _renamed(self, member: Member, node: exp.Expr) -> Member:
        """The member with the names of `alias (a, b)`, and the name behind its alias."""
        called = node.name if isinstance(node, exp.Table) else ""
        alias = node.args.get("alias")
        names = [] if alias is None else alias.args.get("columns") or []
        columns = list(member.columns)
        if len(names) > len(columns):
            raise MillstreamError(
                f'alias "{member.alias}" names {len(names)} columns, and there are {len(columns)}',
                place_of(node.args["alias"], self.text),
                hint="Leave out the names that are too many.",
            )
        for at, name in enumerate(names):
            columns[at] = (name.name, *columns[at][1:])
        return replace(member, columns=tuple(columns), called=called)


def member_of(alias: str, plan: Node) -> Member:
    """The columns of a plan under an alias, without the system's own."""
    columns = [(f.name, f.name, f.type) for f in plan.schema if not f.name.startswith("#")]
    return Member(alias, tuple(columns))


def _stamped(entry: Entry) -> Entry:
    """The entry with stamps below its window, if it is a stream."""
    if entry.streams != 1 or entry.plan is None or not entry.plan.inputs[0].is_stream:
        return entry
    return replace(entry, plan=map_inputs(entry.plan, Stamp))


def _is_join(inner: exp.Expr) -> bool:
    """True for names, and joins of names, in parentheses; they are no query."""
    if isinstance(inner, exp.Table):
        return True
    return isinstance(inner, exp.Subquery) and any(
        inner.args.get(part) for part in ("joins", "alias", "stream_window")
    )

"""CREATE STREAM … OVER: the elements of a stream as modifications of a relation."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Call, Case, Column, Expression, Literal
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN, STRING
from millstream.bind.definitions.raw_sources import AFTER, BEFORE
from millstream.bind.names.words import check_result_name
from millstream.bind.relations.clock_column import with_clock
from millstream.bind.relations.relation_of import tagged_relation
from millstream.catalog import Catalog, Filled, Stream, TaggedStream, View, kind_of
from millstream.columns.versions import DELETE
from millstream.errors import MillstreamError, Notice, closest
from millstream.lang import CreateStreamOver, to_sql
from millstream.operators import Project
from millstream.operators.project import handed_on
from millstream.operators.table_scan import SPELLINGS


def bind_tagged(statement: CreateStreamOver, catalog: Catalog) -> TaggedStream:
    """A tagged stream, whose relation follows from its elements and its key."""
    check_result_name(statement.name, "stream", statement.name_place)
    try:
        found = catalog.find(statement.over)
    except MillstreamError as error:
        raise error.at(statement.over_place) from None
    raw, op = _elements(found, statement)
    names = [name for name in raw.schema.names if name != op and not name.startswith("#")]
    keys = None if statement.key is None else _keys(statement, names)
    return TaggedStream(
        statement.name,
        tagged_relation(raw, keys, op, with_arrived=False),
        to_sql(replace(statement, replaces=False)),
        over=found.name,
        keys=keys,
        raw=raw,
        op=op,
    )


def told_of(tagged: TaggedStream) -> list[Notice]:
    """What the author of a tagged stream should know."""
    if tagged.keys is None:
        return []
    keys = ", ".join(tagged.keys)
    notice = Notice(
        f"the row of every {keys} is kept for good",
        "Read the stream where rows are selected: only those that are wanted are kept then.",
    )
    return [notice.about(tagged.name)]


def _elements(found: object, statement: CreateStreamOver) -> tuple[Node, str | None]:
    """The elements of what the stream is over, and the column that says what each of them does."""
    declared = found.declared if isinstance(found, Filled) else found
    if isinstance(found, Stream) and found.changed:
        return _rows_of_records(found), found.raw_op
    if isinstance(found, Stream):
        plan = with_clock(found, found.scan(), False)
        if found.raw_op is not None and statement.key is None:
            plan = _without_time(found, plan)
        return plan, found.raw_op
    if isinstance(found, View) and found.plan.is_stream:
        if not isinstance(declared, Stream):
            return found.plan, None
        plan = with_clock(declared, found.plan, False)
        if declared.raw_op is not None and statement.key is None:
            plan = _without_time(declared, plan)
        return plan, declared.raw_op
    named = f'{kind_of(found)} "{found.name}"'  # type: ignore[arg-type,attr-defined]
    raise MillstreamError(
        f"{named} is a relation, and OVER takes a source or a stream",
        statement.over_place,
        hint=f"Read {named} as it is: its rows have their own changes.",
    )


def _without_time(stream: Stream, plan: Node) -> Node:
    """Rows that are inserted and deleted as a whole: when that happens is no part of them."""
    kept = [name for name in plan.schema.names if name != stream.order_by]
    return plan if len(kept) == len(plan.schema) else Project(handed_on(plan.schema, kept), plan)


def _rows_of_records(stream: Stream) -> Node:
    """The rows that change records are about: as they were, of those that delete, and otherwise as
    they are."""
    kinds, op = dict(stream.columns), stream.raw_op
    assert op is not None
    said = Call("lower", (Call("trim", (Column(op, STRING),), STRING),), STRING)
    deletes: Expression | None = None
    for word in SPELLINGS[DELETE]:
        test = Call("=", (said, Literal(word, STRING)), BOOLEAN)
        deletes = test if deletes is None else Call("or", (deletes, test), BOOLEAN)
    assert deletes is not None
    outputs: list[tuple[str, Expression]] = [(op, Column(op, STRING))]
    for name in stream.changed:
        kind = kinds[AFTER + name]
        before, after = Column(BEFORE + name, kind), Column(AFTER + name, kind)
        outputs.append((name, Case(((deletes, before),), after, kind)))
    return Project(tuple(outputs), stream.scan())


def _keys(statement: CreateStreamOver, names: list[str]) -> tuple[str, ...]:
    assert statement.key is not None
    known, found = {name.lower(): name for name in names}, []
    for wanted in statement.key:
        if wanted.lower() not in known:
            near = closest(wanted, names)
            raise MillstreamError(
                f'column "{wanted}" does not exist in "{statement.over}"',
                statement.key_place,
                hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(names)}.",
            )
        if known[wanted.lower()] in found:
            raise MillstreamError(
                f'column "{wanted}" stands twice in KEY',
                statement.key_place,
                hint="Leave one of them out.",
            )
        found.append(known[wanted.lower()])
    return tuple(found)

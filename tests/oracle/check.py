"""Which specs have one meaning: others are refused, by the language or because it leaves them open.

The generator and the shrinker only make cases that pass.
"""

from .forms import (
    STREAM_OPERATORS,
    conjuncts,
    domain_of,
    form_of,
    is_monotonic,
    is_static,
    is_stream,
    key_of,
    rests_on,
    table_of,
    view_of,
)
from .infer import (
    Catalog,
    arrival_columns,
    catalog_of,
    merged_names,
    own_columns,
    source_columns,
)
from .spec import (
    AnyQuery,
    Col,
    Exists,
    InQuery,
    Quantified,
    Query,
    Scalar,
    Script,
    SetOperation,
    Source,
    SpecError,
    parts_of,
    subqueries_of,
)

BY_TIME = ("first", "last", "string_agg", "array_agg")


def check(script: Script) -> Catalog:
    """The columns of all names of a script that has one meaning."""
    catalog = catalog_of(script)
    for derived in script.derived:
        if derived.kind == "stream" and form_of(script, derived.query) != "stream":
            raise SpecError(f"derived stream {derived.name} has no relation-to-stream operator")
    for _, query in script.named_queries():
        domain_of(script, query)
        form_of(script, query)
        check_query(catalog, query)
    return catalog


def check_query(catalog: Catalog, query: AnyQuery) -> None:
    """A query and all those inside it."""
    check_arrivals(catalog, query)
    for part in parts_of(query):
        if isinstance(part, Query | SetOperation):
            if part is not query and part.output in ("streamed", "complete"):
                raise SpecError("STREAMED and COMPLETE are for outermost queries")
            if part.output == "rstream" and not are_tuples_clear(catalog, part):
                raise SpecError("which of equal rows LIMIT takes decides what Rstream repeats")
        if isinstance(part, Query):
            check_select(catalog, part)
        if isinstance(part, SetOperation):
            for side in (part.left, part.right):
                if side.output is not None:
                    raise SpecError("a side of a set operation is a relation")
        if isinstance(part, InQuery | Exists | Quantified | Scalar):
            check_subquery(part)


def check_arrivals(catalog: Catalog, query: AnyQuery) -> None:
    """Names are told apart by their letters in any case: TS would be ts."""
    parts = list(parts_of(query))
    shown = any(
        arrival_columns(own_columns(source, catalog), source, catalog)
        or not is_stream(catalog.script, source)
        for part in parts
        if isinstance(part, Query)
        for source in part.sources
        if source.sync is not None
    )
    if shown and any(isinstance(part, Col) and part.name == "ts" for part in parts):
        raise SpecError("ts where there is TS")


def check_subquery(part: InQuery | Exists | Quantified | Scalar) -> None:
    if part.query.output is not None:
        raise SpecError("a subquery in an expression is a relation")
    if isinstance(part, Scalar) and not has_one_row(part.query):
        raise SpecError("a scalar subquery has at most one row by its form")


def has_one_row(query: AnyQuery) -> bool:
    """At most one row, whatever the data: a global aggregate, [Rows 1], LIMIT 1."""
    if query.limit == 1:
        return True
    if isinstance(query, SetOperation):
        return False
    if query.is_grouped or not query.sources:
        return not query.group_by
    window = query.window
    return bool(window and window.rows == 1 and not window.partition_by and not query.joins)


def check_select(catalog: Catalog, query: Query) -> None:
    script = catalog.script
    if not query.sources and (query.is_grouped or query.joins or not query.select):
        raise SpecError("without FROM there are only expressions")
    for source in query.sources:
        check_source(catalog, source)
    views = [s for s in query.sources if s.sync is not None and not is_stream(script, s)]
    if views and not query.is_grouped and not query.select:
        raise SpecError("whether the relation of a view has TS is tested elsewhere")
    kinds = {join.kind for join in query.joins}
    if "comma" in kinds and len(kinds) > 1:
        raise SpecError("a comma binds less than JOIN")
    for join in query.joins:
        has_condition = join.condition is not None or bool(join.using)
        if has_condition == (join.kind in ("cross", "comma")):
            raise SpecError(f"a condition is missing or too many at {join.kind} join")
        if any(subqueries_of(join.condition)):
            raise SpecError("a subquery in ON")
    for name in merged_names(query):
        owners = [s for s in query.sources if name in dict(source_columns(s, catalog))]
        using = [join.entry for join in query.joins if name in join.using]
        if owners[1:] != using:
            raise SpecError(f"{name} of USING stands in other sources, too")
    if any(subqueries_of((query.group_by, query.aggregates))):
        raise SpecError("a subquery under GROUP BY or an aggregate")
    if any(a.function in BY_TIME for a in query.aggregates):
        if any(source.sync for source in query.sources):
            raise SpecError("the order of synchronized rows is tested elsewhere")
        streams = [s for s in query.sources if not is_static(script, s)]
        rows = Query(query.source, joins=query.joins, window=query.window, where=query.where)
        if len(streams) != 1 or not is_stream(script, streams[0]) or not has_ties(catalog, rows):
            raise SpecError("first and last need the order of one stream")
    for table in (table_of(script, source.of) for source in query.sources):
        if table is not None and not table.retroactive:
            check_non_retroactive(script, query)


def check_source(catalog: Catalog, source: Source) -> None:
    """A tagged stream is not read, and a relation takes no window, unless it only grows."""
    script, view = catalog.script, view_of(catalog.script, source.of)
    if source.sync is not None:
        check_sync(script, source)
    if view is not None and form_of(script, view) == "tagged":
        raise SpecError(f"{source.of} is a tagged stream")
    if not isinstance(source.of, str):
        if source.alias is None:
            raise SpecError("a query in FROM has an alias")
        needs = source.window is not None and source.of.output not in STREAM_OPERATORS
        if needs and is_monotonic(script, source.of) is not True:
            raise SpecError("a window on a query that does not only grow")
    if source.window is None:
        return
    if not is_stream(script, source):
        raise SpecError(f"{source.name} has a window on a relation")
    if source.window.has_bounds:
        check_bounds(script, source)
    inner = view if isinstance(source.of, str) else source.of
    if source.window.kind == "rows" and inner is not None and not has_ties(catalog, inner):
        raise SpecError("which of equal instants comes last is left open")


def check_sync(script: Script, source: Source) -> None:
    """R(S, sync) is of a name that is no table, and takes no window."""
    known = {sync.name for sync in script.syncs}
    if not isinstance(source.of, str) or source.window is not None or source.sync not in known:
        raise SpecError("what is synchronized is a name without a window, by a sync")
    if table_of(script, source.of) is not None:
        raise SpecError("R of a table")
    if not is_stream(script, source) and is_monotonic(script, view_of(script, source.of)):
        raise SpecError("whether the relation of a view has TS is tested elsewhere")


def check_bounds(script: Script, source: Source) -> None:
    """Slots and sessions are of a time, and slots have a length."""
    window, query = source.window, Query(source.of) if isinstance(source.of, str) else source.of
    if domain_of(script, query) == "latent":
        raise SpecError("a slot or session of a latent stream")
    if window.kind != "session" and not window.range:
        raise SpecError("a slot without a length")
    if (window.kind == "hop") != bool(window.slide):
        raise SpecError("a hop without a slide, or a slide without a hop")


def check_non_retroactive(script: Script, query: Query) -> None:
    """One windowed base stream with a table that does not reach back."""
    first, *others = query.sources
    is_base = any(stream.name == first.of for stream in script.streams)
    slides = first.window is not None and (first.window.slide or first.window.has_bounds)
    kinds = {join.kind for join in query.joins}
    is_base = is_base and first.sync is None
    if len(others) != 1 or not is_base or slides or not kinds <= {"inner", "left"}:
        raise SpecError("a table that is not retroactive joins one stream")


def has_ties(catalog: Catalog, query: AnyQuery) -> bool:
    """Whether the order of rows of one instant is defined.

    Rows that are those of one base stream, filtered and projected, go by arrival; those of
    groups, joins, sets and slots that overlap by their values. A row with a scalar subquery may
    count as either.
    """
    if isinstance(query, SetOperation) or query.distinct or query.is_grouped:
        return True
    if query.limit is not None:
        return False
    script = catalog.script
    changing = [source for source in query.sources if rests_on(script, source)]
    if len(changing) != 1:
        return len(changing) > 1
    plain = all(is_static(script, s) for s in query.sources if s not in changing)
    kinds = {join.kind for join in query.joins}
    is_first = query.sources[0] in changing
    if not plain or kinds & {"right", "full"} or ("left" in kinds and not is_first):
        return False
    inside = [part for part in subqueries_of((query.where, query.select))]
    filters = [part for part in conjuncts(query.where) if isinstance(part, InQuery | Exists)]
    if len(inside) > len(filters):
        return False
    table = table_of(script, changing[0].of)
    inner = view_of(script, changing[0].of) if isinstance(changing[0].of, str) else changing[0].of
    return table is None and (inner is None or has_ties(catalog, inner))


def are_tuples_clear(catalog: Catalog, query: AnyQuery) -> bool:
    """Whether it is defined which tuples a relation has: LIMIT cuts among equal rows."""
    if query.limit is not None and not is_unique(catalog, query):
        return False
    if isinstance(query, SetOperation):
        if query.op != "union" or not query.all:
            return True
        return are_tuples_clear(catalog, query.left) and are_tuples_clear(catalog, query.right)
    if query.distinct:
        return True
    for source in query.sources:
        if not is_stream(catalog.script, source) and table_of(catalog.script, source.of) is None:
            inner = source.of if not isinstance(source.of, str) else None
            inner = inner or view_of(catalog.script, source.of)
            if not are_tuples_clear(catalog, inner):
                return False
    return True


def is_unique(catalog: Catalog, query: AnyQuery) -> bool:
    if isinstance(query, SetOperation):
        return not query.all
    return query.distinct or key_of(catalog, query) is not None

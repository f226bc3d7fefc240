"""Random cases have answers, the oracle's own laws hold on them, and files and shrinking work."""

import csv
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from . import world
from .compare import differences, read_result
from .evaluate import Result, evaluate
from .files import cell_text
from .generate import random_case, shrink, write
from .spec import (
    EPOCH,
    Aggregate,
    Exists,
    InQuery,
    Join,
    Quantified,
    Query,
    Scalar,
    Script,
    SetOperation,
    Window,
    parts_of,
    subqueries_of,
)

SEEDS = range(500)


@pytest.mark.slow
def test_random_cases_have_answers():
    """All evaluate, and most results hold something; every output form occurs."""
    found: Counter[str] = Counter()
    filled: Counter[str] = Counter()
    for seed in SEEDS:
        case = random_case(seed)
        assert case == random_case(seed)
        assert case.to_sql().count(";") >= 2
        results = evaluate(case)
        for name, _ in case.named_queries():
            found[results[name].kind] += 1
            filled[results[name].kind] += any(rows for _, rows in results[name].history)
    assert set(found) == {"stream", "tagged", "relation"}
    assert all(filled[kind] > 0.55 * found[kind] for kind in found)


@pytest.mark.parametrize("seed", range(0, 500, 5))
def test_changes_replayed_give_the_relation(seed):
    """The tagged stream, applied from the beginning, ends in the relation at the last instant."""
    case = random_case(seed)
    for name, result in evaluate(as_complete(case)).items():
        if result.kind == "relation":
            changes = evaluate(as_complete(case))[f"{name}.changes"]
            assert replay(changes) == Counter(result.rows)


def as_complete(case: Script) -> Script:
    """Every query as a relation; a set operation takes no COMPLETE, and stays."""
    queries = (replace(q, output="complete") if isinstance(q, Query) else q for q in case.queries)
    return replace(case, queries=tuple(queries))


def replay(changes: Result) -> Counter:
    if changes.key is None:
        bag: Counter = Counter()
        for op, _, row in changes.rows:
            bag[row] += 1 if op == "+" else -1
        return +bag
    rows: dict[tuple, tuple] = {}
    for op, _, row in changes.rows:
        key = tuple(row[i] for i in changes.key)
        assert (key in rows) == (op != "+")
        rows.pop(key, None)
        if op != "-":
            rows[key] = row
    return Counter(rows.values())


@pytest.mark.parametrize("seed", range(0, 500, 5))
def test_istream_over_unbounded_is_rstream_over_now(seed):
    """CQL 7.2.1, for every select, project and join over a base stream."""
    case = random_case(seed)
    spj = tuple(q for q in case.queries if is_select_project(case, q))
    one = tuple(replace(q, window=Window("unbounded"), output="istream") for q in spj)
    other = tuple(replace(q, window=Window("now"), output="rstream") for q in spj)
    expected = evaluate(Script(case.streams, case.tables, (), one))
    actual = evaluate(Script(case.streams, case.tables, (), other))
    for i in range(1, len(spj) + 1):
        assert expected[f"q{i}"].rows == actual[f"q{i}"].rows


def is_select_project(case: Script, query: Query) -> bool:
    """Over one base stream, and tables that never change beside it."""
    if not isinstance(query, Query) or query.is_grouped or query.distinct or query.limit:
        return False
    if query.window is not None and query.window.has_bounds:  # it may name the columns of these
        return False
    tables = {table.name for table in case.tables if table.is_static}
    joins = all(j.source in tables and j.kind in ("inner", "left", "cross") for j in query.joins)
    is_base = query.source in {stream.name for stream in case.streams}
    return is_base and joins and not any(subqueries_of((query.where, query.select)))


@pytest.mark.parametrize("seed", range(0, 500, 5))
def test_turning_points_are_enough(seed, monkeypatch):
    """Visiting only the instants at which something can change misses nothing."""
    case = random_case(seed)
    expected = {name: result.rows for name, result in evaluate(case).items()}
    monkeypatch.setattr(world, "DENSE", -1)
    assert {name: result.rows for name, result in evaluate(case).items()} == expected


@pytest.mark.parametrize("seed", range(0, 100, 5))
def test_results_survive_files(seed, tmp_path):
    """What is written as the command line writes it reads back as expected."""
    case = random_case(seed)
    write(case, tmp_path)
    for name, result in evaluate(case).items():
        save(tmp_path, name, result)
        assert differences(result, read_result(tmp_path, name, result)) is None


def save(folder, name: str, result: Result) -> None:
    front = {"stream": ["ts"], "tagged": ["op", "ts"]}.get(result.kind, [])
    with open(folder / f"{name}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(front + [column for column, _ in result.columns])
        for row in result.rows:
            *head, cells = row if front else (row,)
            if head and result.domain == "timestamp":
                ts = EPOCH + timedelta(microseconds=head[-1])
                head[-1] = ts.isoformat(timespec="microseconds")
            writer.writerow([*head, *map(cell_text, cells)])


def test_differences_are_told():
    columns = (("n", "bigint"), ("x", "double"))
    expected = Result("stream", columns, ((1, (1, 0.5)), (1, (2, None)), (3, (1, 0.3))), "integer")
    shuffled = [(1, (2, None)), (1, (1, 0.5)), (3, (1, 0.1 + 0.2))]
    assert differences(expected, shuffled) is None
    assert "order of time" in differences(expected, [(3, (1, 0.3)), *expected.rows[:2]])
    assert differences(expected, expected.rows[:2]) == "at 3: missing [(3, (1, 0.3))]"
    assert "unexpected" in differences(expected, [*expected.rows, (3, (1, 0.3))])
    assert differences(expected, [*expected.rows[:2], (3, (1, 0.31))]) is not None


def test_a_sum_that_drifts_may_be_told_again():
    """The sum is 0.3 before and after: a running sum may see it move in the last place."""
    history = ((1, ((0.3,),)), (2, ((0.3,),)))
    expected = Result("stream", (("x", "double"),), ((1, (0.3,)),), "integer", None, history, True)
    drifted = [(1, (0.3,)), (2, (0.1 + 0.2,))]
    assert differences(expected, drifted) is None
    assert differences(replace(expected, may_drift=False), drifted) is not None


def test_shrink_finds_the_heart_of_a_failure():
    """The smallest case with a result row from a window by rows has one row and one query."""

    def fails(case: Script) -> bool:
        results = evaluate(case)
        return any(
            isinstance(query, Query)
            and query.window
            and query.window.kind == "rows"
            and results[name].rows
            for name, query in case.named_queries()
        )

    case = next(c for c in map(random_case, SEEDS) if fails(c) and len(c.derived) == 2)
    small = shrink(case, fails)
    assert fails(small)
    assert sum(len(stream.rows) for stream in small.streams) == 1
    assert len(small.named_queries()) == 1
    assert isinstance(small.named_queries()[0][1], Query)


def constructs(case: Script) -> set[str]:
    """The constructs of a case, by name."""
    found = {"last"} if case.last else set()
    for table in case.tables:
        found.add(f"table by {table.feed}" + ("" if table.retroactive else ", not retroactive"))
        found |= {"key"} if table.key else set()
    for part in parts_of(case):
        match part:
            case Join():
                found.add(f"{part.kind} join")
                found |= {"using"} if part.using else set()
            case SetOperation():
                found.add(part.op + (" all" if part.all else ""))
            case Exists() | InQuery():
                found.add(("not " if part.negated else "") + type(part).__name__)
            case Quantified():
                found.add(part.quantifier)
            case Scalar():
                found.add("scalar")
            case Aggregate():
                found.add(part.function)
            case Query():
                found |= {"distinct"} if part.distinct else set()
                found |= {"having with a subquery"} if any(subqueries_of(part.having)) else set()
                found |= {"item with a subquery"} if any(subqueries_of(part.select)) else set()
                inner = [source for source in part.sources if not isinstance(source.of, str)]
                found |= {"window on a query" if s.window else "query in FROM" for s in inner}
        if isinstance(part, Query | SetOperation) and part.limit:
            found.add("limit")
    return found


@pytest.mark.slow
def test_every_construct_occurs():
    counts = Counter(name for seed in range(900) for name in constructs(random_case(seed)))
    joins = {f"{kind} join" for kind in ("inner", "left", "right", "full", "cross", "comma")}
    sets = {f"{op}{word}" for op in ("union", "intersect", "except") for word in ("", " all")}
    tests = {"Exists", "not Exists", "InQuery", "not InQuery", "ALL", "ANY", "scalar"}
    tables = {"table by rows", "table by changes", "table by statements", "key"}
    tables |= {f"table by {feed}, not retroactive" for feed in ("changes", "statements")}
    others = {"distinct", "limit", "using", "last", "window on a query", "query in FROM"}
    others |= {"having with a subquery", "item with a subquery", "string_agg", "array_agg"}
    rare = {n: counts[n] for n in joins | sets | tests | tables | others if counts[n] < 8}
    assert not rare


def test_a_case_of_every_focus_has_its_construct():
    wanted = {"join": "inner join", "set": "union", "filter": "InQuery", "topk": "limit"}
    wanted |= {"table": "table by changes", "collect": "array_agg", "scalar": "scalar"}
    for focus, construct in wanted.items():
        cases = [random_case(seed, only=focus) for seed in range(20)]
        assert cases == [random_case(seed, only=focus) for seed in range(20)]
        assert any(construct in constructs(case) for case in cases)
    plain = constructs(random_case(3, only="plain"))
    assert not plain & {"union", "InQuery", "limit", "scalar"}


@pytest.mark.parametrize(
    ("focus", "construct"),
    [("outer", "full join"), ("filter", "not InQuery"), ("set", "except"), ("table", "key")],
)
def test_shrink_leaves_what_matters(focus, construct):
    """A case that has a construct and an answer shrinks to little more than that."""

    def fails(case: Script) -> bool:
        if construct not in constructs(case):
            return False
        results = evaluate(case)
        return any(results[name].rows for name, _ in case.named_queries())

    case = next(c for c in (random_case(seed, only=focus) for seed in SEEDS) if fails(c))
    small = shrink(case, fails)
    assert fails(small)
    assert len(small.named_queries()) <= 2
    relations = (*small.streams, *small.tables)
    sizes = [len(r.rows) + len(getattr(r, "changes", ())) for r in relations]
    assert sum(sizes) <= 3
    assert len(small.to_sql()) < 420

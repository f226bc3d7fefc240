"""What is kept of a star, and what a batch looks at, however long stars are and however many."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.changes import Changes
from millstream.algebra.node import walk
from millstream.algebra.time import Span
from millstream.database import Database
from millstream.operators import Match
from millstream.state.chunks import Log, State

STREAM = "CREATE STREAM s (at int, k int, v int) ORDER BY at;\n"
STAR = "FROM s PARTITION BY k AS (*Y, Z) WHERE Y.v >= 0 AND Z.v < 0"


def match_of(select: str, where: str = STAR) -> Match:
    database = Database(".", lambda text: None)
    database.execute(f"{STREAM}SELECT {select} {where};")
    root = next(iter(database.queries.values())).changes_root
    return next(node for node in walk(root) if isinstance(node, Match))


def batch(match: Match, at: np.ndarray, k: np.ndarray, v: np.ndarray) -> Changes:
    columns = {"at": at, "k": k, "v": v}
    rows = pa.record_batch({n: pa.array(columns[n]) for n in match.input_schema.names})
    return Changes.elements(rows, at, at)


def rows_in(state: State) -> int:
    return sum(
        part.rows if isinstance(part, Log) else part.num_rows
        for name, part in state.items()
        if not name.startswith("#")
    )


def steps(match: Match, size: int, count: int, k: int = 1) -> Iterator[tuple[State, Changes]]:
    """Batches of one partition whose star goes on, and a last one that ends it."""
    state: State = {}
    for number in range(count):
        at = np.arange(number * size, (number + 1) * size)
        v = np.where(at == size * count - 1, -1, at % 7)
        changes = batch(match, at, np.full(size, k), v)
        state, out = match.step(state, changes, Span(int(at[0]) - 1, int(at[-1]), 0))
        yield state, out


def test_a_star_of_a_million_rows_keeps_its_ends_and_what_is_counted() -> None:
    match = match_of("FIRST(Y).at AS a, LAST(Y).at AS b, count(*Y) AS n, sum(*Y.v) AS s, Z.at AS c")
    kept, found = [], []
    for state, out in steps(match, 100_000, 10):
        kept.append(rows_in(state))
        found += out.rows.to_pylist()
    assert max(kept) <= 8
    total = sum(at % 7 for at in range(999_999))
    assert [sorted(row.values()) for row in found] == [[0, 1, 999_998, 999_999, 999_999, total]]


def test_of_a_window_of_rows_only_its_rows_are_kept() -> None:
    match = match_of("sum(*Y.v) OVER (ROWS 4 PRECEDING) AS s")
    kept, found = [], []
    for state, out in steps(match, 1_000, 5):
        kept.append(rows_in(state))
        found += out.rows.to_pylist()
    assert max(kept) <= 12
    assert [row["sum(Y.v) over 4"] for row in found] == [sum(at % 7 for at in range(4_994, 4_999))]


@pytest.mark.parametrize("select", ["median(*Y.v) AS m", "count(DISTINCT *Y.v) AS m"])
def test_of_what_no_search_counts_the_rows_of_the_star_are_kept(select: str) -> None:
    match, state = match_of(select), {}
    kept, found = [], 0
    for number in range(60):
        at = np.arange(number * 50, number * 50 + 50)
        v = np.where(at % 200 == 199, -1, at % 7)
        changes = batch(match, at, np.ones(50, np.int64), v)
        state, out = match.step(state, changes, Span(int(at[0]) - 1, int(at[-1]), 0))
        kept.append(rows_in(state))
        found += len(out)
    assert found == 15 and kept[2] >= 150 and max(kept) <= 1_000


def test_the_rows_of_attempts_in_other_partitions_stay_where_they_lie() -> None:
    match, state = match_of("count(*Y) AS n"), {}
    keys = np.arange(10_000)
    changes = batch(match, np.zeros(10_000, np.int64), keys, keys)
    state, _ = match.step(state, changes, Span(-1, 0, 0))
    before = state["rows"].chunks
    changes = batch(match, np.full(100, 1), np.arange(100), np.full(100, 5))
    state, _ = match.step(state, changes, Span(0, 1, 0))
    fresh = [chunk for chunk in state["rows"].chunks if chunk not in before]
    assert 100 <= sum(chunk.rows for chunk in fresh) <= 400

"""Who reads whom: edges that come from binding, and names that stay while they are read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.catalog import Catalog, Reader
from millstream.database import Database
from millstream.errors import MillstreamError

SCRIPT = """
CREATE STREAM s (t int, k int) ORDER BY t;
CREATE STREAM other (t int, k int) ORDER BY t;
CREATE TABLE tab (k int, name string);
"""


def declared() -> Database:
    database = Database(tell=lambda text: None)
    database.execute(SCRIPT)
    return database


READS = {
    "SELECT k FROM s [Now]": {"s"},
    "SELECT k FROM S [Now]": {"s"},
    "SELECT s.k FROM s [Now], other [Now] WHERE s.k = other.k": {"s", "other"},
    "SELECT k FROM s [Now] WHERE k IN (SELECT k FROM tab)": {"s", "tab"},
    "SELECT k FROM (SELECT k FROM s [Now]) x": {"s"},
    "WITH tab AS (SELECT k FROM s [Now]) SELECT k FROM tab": {"s"},
    "WITH s AS (SELECT k FROM s [Now]) SELECT k FROM s": {"s"},
    "WITH x AS (SELECT k FROM other [Now]) SELECT k FROM s [Now] UNION SELECT k FROM x": {
        "s",
        "other",
    },
    "SELECT count(*) FROM s.late": {"s"},
    "SELECT reason FROM other.errors [Now]": {"other"},
    "SELECT other.k FROM s [Now] AS other": {"s"},
    "SELECT k AS tab FROM s [Now] AS tab WHERE 'other' = 'x'": {"s"},
    "SELECT (SELECT count(*) FROM tab) AS n, k FROM s [Now]": {"s", "tab"},
    "s UNION other": {"s", "other"},
    "TABLE s UNION ALL TABLE other": {"s", "other"},
    "(SELECT count(*) FROM s [Now]) * 1.0 / (SELECT count(*) FROM tab)": {"s", "tab"},
    "SELECT s.k FROM s [Now] JOIN tab ON s.k = tab.k": {"s", "tab"},
}


@pytest.mark.parametrize("query", READS)
def test_reads_are_those_that_binding_found(query: str) -> None:
    """A name that is shadowed by WITH, or only an alias or a text, is not read."""
    database = declared()
    database.query(query)
    assert set(database.catalog.reads["q1"]) == READS[query]


def test_a_refusal_names_all_readers_and_the_order_to_drop_them_in() -> None:
    database = declared()
    database.execute(
        "CREATE VIEW v AS SELECT k FROM s [Range 5]; CREATE STREAM d AS SELECT Istream(k) FROM v;"
        "SELECT k FROM s [Now]; SELECT d.k FROM d [Now], tab;"
    )
    with pytest.raises(MillstreamError) as refused:
        database.execute("DROP STREAM s")
    assert refused.value.message == 'stream "s" is used by view "v" and query "q1"'
    assert refused.value.hint == (
        'Drop first what uses it: DROP QUERY "q2", DROP STREAM "d", DROP VIEW "v", DROP QUERY "q1".'
    )
    database.execute("DROP QUERY q2; DROP STREAM d; DROP VIEW v; DROP QUERY q1; DROP STREAM s")
    assert sorted(database.catalog.entries) == ["other", "tab"]
    assert database.catalog.reads == {}


def test_a_view_that_is_dropped_frees_what_it_read() -> None:
    database = declared()
    database.execute("CREATE VIEW v AS SELECT k FROM s [Now]")
    assert database.catalog.readers_of("S") == (Reader("view", "v"),)
    database.drop("v")
    assert database.catalog.readers_of("s") == ()
    database.drop("s")


def test_a_name_that_is_given_again_has_the_readers_of_the_new_one() -> None:
    database = declared()
    database.execute("CREATE VIEW v AS SELECT k FROM s [Now]; SELECT k FROM v; DROP QUERY q1;")
    database.execute("DROP VIEW v; CREATE VIEW v AS SELECT k FROM other [Now];")
    database.drop("s")
    with pytest.raises(MillstreamError, match='"other" is used by view "v"'):
        database.drop("other")


def test_many_readers_are_counted() -> None:
    database = declared()
    database.execute("".join(f"SELECT k FROM s [Range {i}];" for i in range(60)))
    with pytest.raises(MillstreamError) as refused:
        database.drop("s")
    assert 'query "q1", query "q2"' in refused.value.message
    assert refused.value.message.endswith('query "q50" and 10 more')


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.lists(st.sampled_from("abcdexyz"), max_size=4)),
        max_size=20,
    )
)
def test_both_directions_of_edges_agree(steps: list[tuple[str, list[str]]]) -> None:
    """Each step drops the reader if there is one, and registers it anew with other reads."""
    catalog, first = Catalog(), Catalog()
    for name, reads in steps:
        catalog.forget_reads(name)
        catalog.note_reads(Reader("view", name), reads)
        forward = {(reader, read) for reader, names in catalog.reads.items() for read in names}
        back = {(r.name, read) for read in "abcdexyz" for r in catalog.readers_of(read)}
        assert forward == back
        first = first if first.reads else catalog.copy()
    assert len(first.reads) <= 1, "a copy stays as it was"

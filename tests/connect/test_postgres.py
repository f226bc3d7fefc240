"""Tables of PostgreSQL, on a server that the tests start; skipped where there is none."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from connect.postgres import PASSWORD, Server, missing, server
from engine.running import Running
from millstream.connect.postgres.table import PostgresTable
from millstream.connect.statements.appended import read_batches
from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.local.host import LocalHost
from millstream.testing import run_script
from millstream.testing.run import KeptResults

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")

BIDS = """
CREATE STREAM bids (ts timestamp, item int, n int) ORDER BY ts SOURCE 'bids.csv';
"""


@pytest.fixture(scope="module")
def postgres():
    with (
        tempfile.TemporaryDirectory(prefix="millstream-postgres-") as folder,
        server(Path(folder) / "server") as running,
    ):
        yield running


@pytest.fixture
def shop(postgres, tmp_path) -> Server:
    postgres.execute(
        'DROP TABLE IF EXISTS items, "Odd ""name"""',
        "CREATE TABLE items (id int PRIMARY KEY, Name text, price numeric(8,2), seen timestamptz,"
        " since date, fresh boolean, takes interval, weight float8)",
        "INSERT INTO items VALUES"
        " (1, 'red, \"kite\"', 12.50, '2024-05-01 12:00:00+02', '2024-01-31', true, '1 day', 0.1),"
        " (2, '', NULL, NULL, NULL, false, NULL, NULL),"
        " (3, NULL, 9, NULL, NULL, NULL, NULL, 1e300)",
    )
    (tmp_path / "bids.csv").write_text(
        "ts,item,n\n2024-05-01 10:00:00,1,3\n2024-05-01 10:00:05,3,4\n"
    )
    return postgres


def source(server: Server, **options: str) -> str:
    given = ", ".join(f"{name} = '{value}'" for name, value in options.items())
    return f"SOURCE '{server.url}'" + (f" WITH ({given})" if given else "")


def test_values_of_all_types(shop):
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("NAME", pa.string()),
            ("price", pa.decimal128(8, 2)),
            ("seen", pa.timestamp("us")),
            ("since", pa.date32()),
            ("fresh", pa.bool_()),
            ("takes", pa.duration("us")),
            ("weight", pa.float64()),
        ]
    )
    rows, bad = PostgresTable.of(f"{shop.url}?table=items", {}, "x").read(schema)
    assert bad == []
    first, second, third = sorted((list(r.values()) for r in rows.to_pylist()), key=lambda r: r[0])
    assert [str(cell) for cell in first] == [
        "1",
        'red, "kite"',
        "12.50",
        "2024-05-01 10:00:00",
        "2024-01-31",
        "True",
        "1 day, 0:00:00",
        "0.1",
    ]
    assert second == [2, "", None, None, None, False, None, None]
    assert third[1] is None and third[7] == 1e300


def test_read_once_as_a_table_that_does_not_change(shop, tmp_path):
    script = f"""{BIDS}
    CREATE TABLE items (id int, name string, price decimal(8,2)) KEY (id) {source(shop)};
    SELECT name, n * price AS total FROM bids, items WHERE item = id;
    SELECT count(*) AS n FROM items;
    """
    results = run_script(script, tmp_path)
    totals = [(row["name"], str(row["total"])) for row in results["q1"].to_pylist()]
    assert totals == [('red, "kite"', "37.50"), (None, "36.00")]
    assert results["q2"].to_pylist() == [{"n": 3}]


def test_names_are_quoted(shop):
    shop.execute(
        'CREATE TABLE "Odd ""name""" ("the ""key""" int)',
        'INSERT INTO "Odd ""name""" VALUES (7)',
    )
    schema = pa.schema([('the "key"', pa.int64())])
    rows, _ = PostgresTable.of(shop.url, {"table": 'public."Odd ""name"""'}, "x").read(schema)
    assert rows.to_pylist() == [{'the "key"': 7}]
    evil = PostgresTable.of(shop.url, {"table": '"items; DROP TABLE items"'}, "x")
    with pytest.raises(MillstreamError, match="cannot be read"):
        evil.read(schema)
    assert (
        PostgresTable.of(shop.url, {}, "items").read(pa.schema([("id", pa.int64())]))[0].num_rows
        == 3
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "goods"}, 'PostgreSQL table "goods" cannot be read'),
        ({"every": "1 second"}, 'option "every" needs a KEY'),
        ({"every": "soon"}, 'option "every"'),
        ({"tabel": "items"}, 'option "tabel" of a PostgreSQL source does not exist'),
    ],
)
def test_what_is_wrong_is_told_without_the_password(shop, change, message):
    with pytest.raises(MillstreamError) as caught:
        Database().execute(f"CREATE TABLE items (id int) {source(shop, **change)}")
    assert message in caught.value.message
    assert PASSWORD not in caught.value.render()


def test_other_faults(shop):
    def fails(text: str, message: str) -> None:
        with pytest.raises(MillstreamError) as caught:
            Database().execute(text)
        error = caught.value
        assert message in error.message
        assert PASSWORD not in error.render()

    url = shop.url
    fails(f"CREATE TABLE items (nome int) SOURCE '{url}'", 'column "nome" does not exist')
    fails(f"CREATE TABLE items (name int) SOURCE '{url}'", "cannot be read")
    fails(f"CREATE TABLE t (a int) SOURCE '{url.replace('127.0.0.1', '127.0.0.9')}'", "be reached")
    fails(f"CREATE TABLE t (a int) SOURCE '{url.replace(PASSWORD, 'no%zz')}'", "address")
    fails(f"CREATE TABLE t (a int) SOURCE '{url.replace(PASSWORD, 'wrong')}'", "be reached")
    fails(f"CREATE STREAM s (a int) SOURCE '{url}'", "for tables, not for streams")


def test_the_password_is_not_shown(shop, tmp_path):
    told: list[str] = []
    session = Database(base=str(tmp_path), tell=told.append)
    session.execute(
        f"CREATE TABLE items (id int) KEY (id) {source(shop, every='1 hour')};"
        "DESCRIBE items; SHOW; SELECT * FROM items; EXPLAIN PHYSICAL q1;"
    )
    assert PASSWORD not in "\n".join(told)
    assert PASSWORD not in repr(session.catalog.entries)
    import pickle

    assert PASSWORD.encode() not in pickle.dumps(session.job())


def test_changes_are_found_by_key(shop, tmp_path):
    script = f"""
    CREATE TABLE items (id int, name string) KEY (id) {source(shop, every="0.1 seconds")};
    CREATE VIEW names AS SELECT COMPLETE id, name FROM items WHERE id < 9;
    CREATE VIEW changes AS SELECT STREAMED * FROM items;
    """
    run = Running(script, tmp_path, tmp_path / "checkpoint")
    try:
        kite, vase = {"id": 1, "name": 'red, "kite"'}, {"id": 2, "name": ""}
        run.until("names", [kite, vase, {"id": 3, "name": None}])
        shop.execute(
            "UPDATE items SET name = 'lamp' WHERE id = 3",
            "DELETE FROM items WHERE id = 2",
            "INSERT INTO items (id, name) VALUES (4, 'oak chair')",
            "UPDATE items SET price = 1 WHERE id = 1",
        )
        after = [kite, {"id": 3, "name": "lamp"}, {"id": 4, "name": "oak chair"}]
        run.until("names", after)
        told = pa.concat_tables(pa.Table.from_batches([b]) for b in run.kept.parts["changes"])
        ops = [(r["op"], r["id"]) for r in told.to_pylist()]
        assert ops == [("+", 1), ("+", 2), ("+", 3), ("-", 2), ("u", 3), ("+", 4)]
        assert len({row["ts"] for row in told.to_pylist()[3:]}) == 1, "one look, one instant"
    finally:
        run.session.end()


def test_a_table_that_is_dropped_is_read_no_more(shop, tmp_path):
    script = f"CREATE TABLE items (id int) KEY (id) {source(shop, every='0.05 seconds')};"
    run = Running(script + BIDS + "SELECT n FROM bids;", tmp_path, tmp_path / "checkpoint")
    try:
        assert any(thread.name == "millstream-poller" for thread in threading.enumerate())
        run.execute("DROP TABLE items;")
        assert not any(thread.name == "millstream-poller" for thread in threading.enumerate())
    finally:
        run.session.end()


def test_what_was_read_is_on_disk_and_a_run_goes_on_from_it(shop, tmp_path):
    script = f"""
    CREATE TABLE items (id int, name string) KEY (id) {source(shop, every="0.1 seconds")};
    CREATE VIEW names AS SELECT COMPLETE id, name FROM items WHERE id > 2;
    """
    checkpoint = tmp_path / "checkpoint"
    run = Running(script, tmp_path, checkpoint)
    run.until("names", [{"id": 3, "name": None}])
    shop.execute("UPDATE items SET name = 'lamp' WHERE id = 3")
    run.until("names", [{"id": 3, "name": "lamp"}])
    run.session.end()
    written = list(read_batches(checkpoint / "tables" / "items.changes"))
    assert [batch.to_pylist() for _, batch in written] == [
        [{"op": "update", "id": 3, "name": "lamp"}]
    ]
    shop.execute("DELETE FROM items WHERE id = 3", "INSERT INTO items (id) VALUES (5)")
    again = Running(script, tmp_path, checkpoint)
    try:
        again.until("names", [{"id": 5, "name": None}])
        read = list(read_batches(checkpoint / "tables" / "items.changes"))
        assert [b.column(0).to_pylist() for _, b in read[1:]] == [["delete", "insert"]]
    finally:
        again.session.end()


def test_a_server_that_goes_away_is_told_and_asked_again(shop, tmp_path):
    script = f"""
    CREATE TABLE items (id int, name string) KEY (id) {source(shop, every="0.1 seconds")};
    CREATE VIEW names AS SELECT COMPLETE id FROM items WHERE id > 2;
    """
    run = Running(script, tmp_path, tmp_path / "checkpoint")
    try:
        run.until("names", [{"id": 3}])
        shop.control("-m", "immediate", "stop")
        until = time.monotonic() + 30
        while not any(part.num_rows for part in run.kept.parts.get("items.errors", [])):
            assert time.monotonic() < until
            run.host.batch()
        options = f"-p {shop.port} -k {shop.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        shop.control("-l", str(shop.folder / "log"), "-o", options, "start")
        shop.execute("INSERT INTO items (id) VALUES (8)")
        run.until("names", [{"id": 3}, {"id": 8}])
        errors = [row for part in run.kept.parts["items.errors"] for row in part.to_pylist()]
        assert all("cannot be reached" in row["reason"] for row in errors)
        assert PASSWORD not in str(errors)
    finally:
        run.session.end()


def test_a_bounded_run_reads_once_and_joins_with_the_past(shop, tmp_path):
    script = f"""{BIDS}
    CREATE TABLE items (id int, price double) KEY (id) {source(shop, every="1 hour")};
    SELECT Istream(id, n * price AS total) FROM bids, items WHERE item = id;
    """
    session = Database(base=str(tmp_path), tell=lambda text: None)
    session.execute(script)
    session.begin(None, follow=False)
    kept = KeptResults()
    LocalHost(session.job(), session.sources(follow=False), [kept]).run()
    session.end()
    totals = [(row["id"], row["total"]) for row in kept.tables()["q1"].to_pylist()]
    assert totals == [(1, 37.5), (3, 36.0)]

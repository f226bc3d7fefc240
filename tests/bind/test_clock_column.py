"""The column `current_time` of streams that are ordered by the clock, in plans and descriptions."""

from __future__ import annotations

from pathlib import Path

import pytest

from errors.cases import database
from millstream.algebra.node import walk
from millstream.catalog import Filled
from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.operators import Now, Retime, Stamp


def test_it_is_there_where_it_is_named() -> None:
    db = database()
    (named,) = db.execute("SELECT who, l.Current_Time FROM logins l")
    (other,) = db.execute("SELECT * FROM logins")
    assert [field.name for field in named.plan.schema] == ["who", "Current_Time"]
    assert [field.name for field in other.plan.schema] == ["who", "ok"]
    assert not any(isinstance(node, Stamp) for node in walk(other.plan))


def test_a_star_leaves_it_out_beside_its_name() -> None:
    (query,) = database().execute("SELECT *, current_time FROM logins AS l (a)")
    assert [field.name for field in query.plan.schema] == ["a", "ok", "current_time"]


def test_a_declared_column_of_that_name_comes_first() -> None:
    db = database()
    db.execute("CREATE STREAM given (current_time bigint, at timestamp) ORDER BY at")
    (query,) = db.execute("SELECT current_time FROM logins [Now], given [Now]")
    assert str(query.plan.schema.field("current_time").type) == "int64"


def test_two_streams_have_it_both() -> None:
    with pytest.raises(MillstreamError, match='column "current_time" is in "a" and in "b"'):
        database().execute("SELECT current_time FROM logins a, logins b")


def test_it_holds_the_instants_of_the_rows() -> None:
    """Nothing waits for another time, and equal rows are of one instant."""
    db = database()
    db.execute(
        "CREATE STREAM seen (who string, at timestamp) ORDER BY at;"
        "INSERT INTO seen SELECT who, current_time FROM logins"
    )
    (query,) = db.execute("SELECT DISTINCT who, current_time FROM logins")
    assert any(isinstance(node, Now) for node in walk(query.plan))
    (read,) = db.execute("SELECT who FROM seen")
    assert not any(isinstance(node, Retime) for node in walk(read.plan))
    filled = db.catalog.entries["seen"]
    assert isinstance(filled, Filled) and not filled.may_miss


def test_it_stands_where_it_is_declared(tmp_path: Path) -> None:
    (tmp_path / "closed.csv").write_text("item,price\n1,2.5\n")
    db = Database(base=str(tmp_path), tell=lambda text: None)
    db.execute(
        "CREATE STREAM closed (item int, current_time timestamp, price double) "
        "ORDER BY current_time SOURCE 'closed.csv'"
    )
    (query,) = db.execute("SELECT * FROM closed")
    assert [field.name for field in query.plan.schema] == ["item", "current_time", "price"]
    assert "  current_time  timestamp" in db.describe("closed")

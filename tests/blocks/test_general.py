"""What blocks do that random ones seldom show: recursion, failures, writers, indexes, instances."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from blocks.built import called, col, lit, op, select, source, values
from blocks.feeding import Tuple, empty, returned
from blocks.generated import writer
from millstream.algebra.expressions import Cast
from millstream.algebra.types import DOUBLE, INTEGER
from millstream.bind.blocks import routine_from_text
from millstream.blocks.choose import machine_for
from millstream.blocks.general import GeneralMachine
from millstream.blocks.general.library import DEEPEST
from millstream.blocks.general.table import SMALL, Table
from millstream.blocks.leaves import Argument, Field, Result, Scalar, SqlCode
from millstream.blocks.machine import Ending, Fed, Frame
from millstream.blocks.queries import Called, Local, RoutineName, Source, Stored
from millstream.blocks.routine import (
    RETURN,
    Delete,
    Insert,
    LocalTable,
    Routine,
    Update,
    with_calls,
)
from millstream.state.ordered_run import Order

N = Argument("n", INTEGER)
V = (("v", INTEGER),)
ONE_TABLE = (LocalTable("t", V),)


def numbers(*row: int, partition: int = 0) -> list[Tuple]:
    return [Tuple(partition, at, (n,)) for at, n in enumerate(row)]


def of_numbers(*block, tables=(), name="f", **more) -> Routine:
    """A routine of an integer that returns integers, with one block for all tuples."""
    return Routine(name, (("n", INTEGER),), V, tables, block, block, **more)


def rows(machine, tuples, cuts=()):
    return [row for _, _, row in returned(machine, tuples, cuts)]


def counting_down(least: int) -> Routine:
    """Returns its argument, then what it returns for one less."""
    given = Source(9, values(op("-", N, lit(1))), (("c0", INTEGER),))
    again = Called(RoutineName("down"), (col(given, "c0"),), V)
    below = Insert(
        RETURN,
        select(
            given,
            Result(0, "v", INTEGER),
            where=op(">=", col(given, "c0"), lit(least)),
            keys=(),
            calls=(again,),
        ),
    )
    down = of_numbers(Insert(RETURN, values(N)), below, name="down")
    return with_calls(down, {"down": down})


def test_a_routine_may_call_itself():
    machine = GeneralMachine(counting_down(1))
    assert rows(machine, numbers(3, 1)) == [(3,), (2,), (1,), (1,)]


def test_calls_without_end_fail_and_leave_the_instance_as_it_was():
    down = counting_down(1)
    kept = source(0, "t", V)
    routine = of_numbers(
        Insert("t", values(N)),
        Insert(
            RETURN,
            select(kept, Result(0, "v", INTEGER), keys=(), calls=(called("sum", col(kept, "v")),)),
        ),
        *down.initialize,
        tables=ONE_TABLE,
    )
    routine = with_calls(routine, {"down": counting_down(-(2**60))})
    machine = GeneralMachine(routine)
    size = 3
    fed = Fed(
        Order(np.arange(size), np.array([0, size]), np.arange(size), size),
        (pa.array([2, 3, 4]),),
        np.arange(size),
    )
    ran = machine.run(fed, empty(machine), 1)
    assert [f.event for f in ran.failed] == [0, 1, 2] and ran.rows.num_rows == 0
    assert f"more than {DEEPEST} times" in ran.failed[0].reason
    assert ran.after.tables[0].rows.num_rows == 0
    assert ran.after.slots.column("begun").to_pylist() == [False]


def test_a_failed_tuple_changes_neither_tables_nor_window():
    """Calls end for small numbers, and do not for one."""
    down = counting_down(1)
    endless = op("=", N, lit(7))
    given = Source(9, values(N), (("c0", INTEGER),))
    call = Called(RoutineName("down"), (col(given, "c0"),), V)
    trap = Insert(
        "t", select(given, Result(0, "v", INTEGER), where=endless, keys=(), calls=(call,))
    )
    seen = source(1, "inwindow", V)
    kept = source(2, "t", V)
    block = (
        Insert("t", values(N)),
        Update("t", 0, (("v", op("+", Field(0, "v", INTEGER), lit(1))),)),
        trap,
        Insert(RETURN, select(seen, col(seen, "v"))),
        Insert(RETURN, select(kept, op("neg", col(kept, "v")))),
    )
    routine = Routine("f", (("n", INTEGER),), V, ONE_TABLE, block, block, inwindow=V)
    routine = with_calls(replace(routine, is_window=True), {"down": counting_down(-(2**60))})
    assert down.name == "down"
    machine = GeneralMachine(routine, frame=Frame(rows=3))
    with_trap = rows(machine, numbers(1, 7, 2), (2,))
    assert with_trap == [(1,), (-2,), (1,), (2,), (-3,), (-3,)]
    assert with_trap[:2] == rows(machine, numbers(1))


def test_a_statement_sees_tables_as_they_were_although_a_call_in_it_fills_them():
    put = writer("t", V)
    t = source(0, "t", V)
    feed = Called(RoutineName("put"), (col(t, "v"),), V, feeding=())
    fed = select(t, Result(0, "v", INTEGER), keys=(), calls=(feed,))
    counted = select(t, Result(0, "v", INTEGER), keys=(), calls=(called("count"),))
    both = Insert(RETURN, values(Scalar(counted, INTEGER)))
    other = source(4, "t", V)
    twice = select((other, Source(5, fed, V)), op("+", col(other, "v"), Field(5, "v", INTEGER)))
    routine = of_numbers(
        Insert("t", values(N)), Insert(RETURN, twice), both, tables=ONE_TABLE, inner=(put,)
    )
    routine = with_calls(routine, {"put": put})
    # A query in FROM is computed once. It counts one row, and adds one; later three, one by one.
    found = rows(GeneralMachine(routine), numbers(10, 20))
    assert found[:2] == [(11,), (2,)]
    assert found[2:] == [(10 + i,) for i in (3, 4, 5)] + [(10 + i,) for i in (3, 4, 5)] + [
        (20 + i,) for i in (3, 4, 5)
    ] + [(6,)]


def test_sqlcode_is_that_of_the_last_statement_over_steps():
    missed = Update("t", 0, (("v", N),), op("=", Field(0, "v", INTEGER), N))
    put = Insert("t", values(N, where=op("=", SqlCode(), lit(1))))
    routine = of_numbers(Insert(RETURN, values(SqlCode())), missed, put, tables=ONE_TABLE)
    tuples = numbers(5, 5, 6)
    # A row that was put in leaves 0; an update that found one, and nothing put in, leaves 1.
    for cuts in ((), (1,), (1, 2)):
        assert rows(GeneralMachine(routine), tuples, cuts) == [(0,), (0,), (1,)]


@pytest.mark.parametrize("native", [True, False])
def test_sqlcode_is_0_where_tables_begin(native):
    routine = routine_from_text(
        "AGGREGATE f(n int) : int { TABLE t(v int) AS VALUES (sqlcode + n);"
        " INSERT INTO RETURN SELECT v FROM t; }"
    )
    machine = machine_for(routine, Ending.NEVER, Frame(), native)
    assert rows(machine, numbers(4, 5)) == [(4,), (4,)]


def test_a_slot_ends_where_the_result_counts():
    block = (Insert("t", values(N)),)
    t = source(0, "t", V)
    total = select(t, Result(0, "v", INTEGER), keys=(), calls=(called("sum", col(t, "v")),))
    routine = Routine("f", (("n", INTEGER),), V, ONE_TABLE, block, block, (Insert(RETURN, total),))
    machine = GeneralMachine(routine, Ending.WANTED)
    assert returned(machine, numbers(1, 2, 3, 4), (2,), wanted={1, 3}) == [
        (1, False, (3,)),
        (3, False, (10,)),
    ]


def test_stored_tables_are_found_by_equality():
    batch = pa.record_batch(
        {"k": pa.array(range(100)), "price": pa.array([i / 2 for i in range(100)])}
    )
    stored = Source(0, Stored("prices", "x", batch), (("k", INTEGER), ("price", DOUBLE)))
    price = Field(0, "price", DOUBLE)
    found = select(stored, Cast(price, INTEGER), where=op("=", Field(0, "k", INTEGER), N))
    machine = GeneralMachine(of_numbers(Insert(RETURN, found)))
    assert rows(machine, numbers(10, 500, 99)) == [(5,), (49,)]


@pytest.mark.parametrize("seed", range(30))
def test_an_index_finds_what_a_scan_finds(seed):
    rng = random.Random(seed)
    table, plain = Table(), {}
    for _ in range(200):
        match rng.choice(["insert", "insert", "update", "delete"]):
            case "insert":
                row = (rng.choice([None, 0, 1, 2, float("nan")]), rng.random())
                plain[table.next] = row
                table.insert([row])
            case "update" if plain:
                at, row = rng.choice(list(plain)), (rng.randrange(3), 0.0)
                plain[at] = row
                table.update([(at, row)])
            case "delete" if plain:
                at = rng.choice(list(plain))
                del plain[at]
                table.delete([at])
        found = [(at, row) for at, row in table.find(0, 1) if row[0] == 1]
        assert found == [(at, row) for at, row in sorted(plain.items()) if row[0] == 1]
        if len(plain) > SMALL:
            assert not list(table.find(0, None)) and not list(table.find(0, float("nan")))


def test_instances_without_events_are_passed_on():
    t = source(0, "t", V)
    routine = of_numbers(
        Insert("t", values(N)), Insert(RETURN, select(t, col(t, "v"))), tables=ONE_TABLE
    )
    tuples = [Tuple(p, at, (at,)) for at, p in enumerate([0, 1, 2, 1, 1, 0, 2])]
    whole = returned(GeneralMachine(routine), tuples)
    apart = returned(GeneralMachine(routine), tuples, range(1, 7))
    assert sorted(whole) == sorted(apart)


def test_oldest_goes_on_after_deletions():
    w = (("w", INTEGER),)
    label = Source(0, Local("inwindow"), w)
    gone = Delete("inwindow", 0, op("<", col(label, "w"), lit(3)))
    count = select(label, Result(0, "v", INTEGER), keys=(), calls=(called("count"),))
    block = (gone, Insert(RETURN, count))
    routine = Routine("f", (("n", INTEGER),), V, (), block, block, is_window=True, inwindow=w)
    tuples = numbers(1, 5, 2, 7, 1, 1, 1, 9)
    assert rows(GeneralMachine(routine, frame=Frame(rows=3)), tuples, (3, 5)) == [
        (n,) for n in (0, 1, 1, 2, 1, 1, 0, 1)
    ]


NESTED = """
AGGREGATE f(n int) : int {
  TABLE seen(v int);
  TABLE given(v int) AS VALUES (1), (2);
  AGGREGATE put(y int) : int {
    INSERT INTO seen VALUES (y + n);
    INSERT INTO RETURN SELECT count(*) FROM seen;
  }
  INSERT INTO RETURN SELECT put(v) FROM given;
  INSERT INTO RETURN SELECT sum(v) FROM seen;
}
"""
TREE = """
AGGREGATE walk(node int) : int {
  TABLE edges(a int, b int) AS VALUES (1, 2), (1, 3), (2, 4), (4, 5);
  INSERT INTO RETURN VALUES (node);
  INSERT INTO RETURN SELECT walk(b) FROM edges WHERE a = node;
}
"""
LATERAL = """
FUNCTION upto(n int) : (i int) {
  INSERT INTO RETURN SELECT i FROM TABLE(upto(n - 1)) AS u WHERE n > 0;
  INSERT INTO RETURN VALUES (n) WHERE n > 0;
}
AGGREGATE f(n int) : (a int, b int) {
  TABLE t(v int) AS VALUES (1), (n);
  INSERT INTO RETURN SELECT v, i FROM t, TABLE(upto(v)) AS u;
}
"""


@pytest.mark.parametrize(
    "text, given, expected",
    [
        (NESTED, (10, 20), [(1,), (2,), (23,), (3,), (4,), (66,)]),
        (TREE, (1, 4), [(1,), (2,), (4,), (5,), (3,), (4,), (5,)]),
        (LATERAL, (3,), [(1, 1), (3, 1), (3, 2), (3, 3)]),
    ],
)
def test_routines_in_routines(text, given, expected):
    machine = GeneralMachine(routine_from_text(text))
    assert rows(machine, numbers(*given)) == expected

"""The books balance at every instant: the total of all accounts is 0 in every row."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from laws.engine import compare
from millstream.testing import run_script
from oracle.evaluate import evaluate
from oracle.spec import (
    Aggregate,
    Bin,
    Coalesce,
    Col,
    Derived,
    Item,
    Join,
    Lit,
    Query,
    Script,
    StreamSpec,
)
from spark.command import kill, run_here, start
from spark.test_exactly_once import batches_done

HERE = Path(__file__).resolve().parents[2] / "examples" / "transfers"
COLUMNS = ("id", "source", "target", "amount")
SETTINGS = {
    "defaults": {},
    "seven buckets": {"buckets": "7", "batch_rows": "20"},
    "one bucket": {"buckets": "1", "batch_rows": "64"},
    "rules off": {"rules": "off", "batch_rows": "50"},
}
TRANSFERS, ACCOUNTS, BATCH = 1_000_000, 3_000, 125_000


def generator() -> ModuleType:
    """The example's generator as a module."""
    made = importlib.util.spec_from_file_location("transfers_data", HERE / "generate.py")
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def script_over(folder: Path, table: pa.Table, ending: str) -> Path:
    """The example's script in a folder of its own, over other transfers."""
    generator().write(table, folder / f"transfers.{ending}")
    text = (HERE / "balances.sql").read_text()
    script = folder / "balances.sql"
    script.write_text(text.replace("transfers.csv", f"transfers.{ending}"))
    return script


def sums(name: str, column: str) -> Query:
    """The amounts so far by one of the two accounts."""
    select = (Item(Col("account"), "account"), Item(Col(name), name))
    return Query(
        "transfers",
        select,
        group_by=(Item(Col(column), "account"),),
        aggregates=(Aggregate(name, "sum", Col("amount")),),
    )


def spec(rows: tuple) -> Script:
    """The script of the example, query by query."""
    columns = (*((name, "bigint") for name in COLUMNS), ("ts", "timestamp"))
    zero = Lit(0)
    balance = Bin("-", Coalesce((Col("credit"), zero)), Coalesce((Col("debit"), zero)))
    balances = Query(
        "credits",
        (Item(Col("account"), "account"), Item(balance, "balance")),
        joins=(Join("debits", "full", using=("account",)),),
    )
    total = Query(
        "balances",
        (Item(Col("total"), "total"), Item(Col("accounts"), "accounts")),
        aggregates=(Aggregate("total", "sum", Col("balance")), Aggregate("accounts", "count")),
        output="rstream",
    )
    return Script(
        (StreamSpec("transfers", columns, "ts", 10_000_000, rows),),
        derived=(
            Derived("credits", "view", sums("credit", "target")),
            Derived("debits", "view", sums("debit", "source")),
            Derived("balances", "view", balances),
            Derived("total", "view", total),
        ),
    )


def balances_of(table: pa.Table, accounts: int) -> np.ndarray:
    """What every account has in the end, in one go."""
    columns = [table[name].to_numpy() for name in ("source", "target", "amount")]
    source, target, amount = columns
    balance = np.zeros(accounts, np.int64)
    np.add.at(balance, target, amount)
    np.subtract.at(balance, source, amount)
    return balance


@pytest.fixture(scope="module")
def small() -> pa.Table:
    """A few transfers over two minutes, several of them in one second."""
    return generator().transfers(count=300, accounts=20, seconds=120, ticks=1, seed=5)


@pytest.fixture(scope="module")
def expected(small: pa.Table) -> dict:
    return evaluate(spec(tuple(tuple(row.values()) for row in small.to_pylist())))


def test_the_oracle_balances_the_books(small: pa.Table, expected: dict) -> None:
    assert not expected["transfers.late"].rows
    assert any(np.diff(small["ts"].to_numpy()) < np.timedelta64(0)), "in order"
    assert [row[0] for _, row in expected["total"].rows] == [0] * len(set(small["ts"].to_pylist()))
    totals = balances_of(small, 20)
    assert dict(expected["balances"].rows) == dict(enumerate(totals))


@pytest.mark.parametrize("name", SETTINGS)
def test_all_views_equal_the_oracle(
    tmp_path: Path, small: pa.Table, expected: dict, name: str
) -> None:
    script = script_over(tmp_path, small, "csv")
    assert compare(expected, run_script(script.read_text(), tmp_path, SETTINGS[name])) is None


@pytest.mark.slow
def test_one_row_per_batch_gives_the_same(tmp_path: Path, small: pa.Table, expected: dict) -> None:
    script = script_over(tmp_path, small, "csv")
    actual = run_script(script.read_text(), tmp_path, {"batch_rows": "1"})
    assert compare(expected, actual) is None


def test_all_views_survive_restarts(tmp_path: Path, small: pa.Table, expected: dict) -> None:
    script = script_over(tmp_path, small, "csv")
    actual = run_script(script.read_text(), tmp_path, {"batch_rows": "30"}, restart=True)
    assert compare(expected, actual) is None


def test_the_data_is_what_the_generator_writes(tmp_path: Path) -> None:
    generate = generator()
    table = generate.transfers(count=1_000, accounts=40, seconds=200, ticks=1, seed=7)
    generate.write(table, tmp_path / "transfers.csv")
    assert (tmp_path / "transfers.csv").read_bytes() == (HERE / "transfers.csv").read_bytes()


@pytest.mark.spark
@pytest.mark.slow
def test_a_million_transfers_with_a_kill_in_the_middle(spark, tmp_path: Path) -> None:
    """Killed when about half of the batches are done, and started again."""
    table = generator().transfers(TRANSFERS, ACCOUNTS, seconds=200, ticks=1_000, seed=1)
    script, out = script_over(tmp_path, table, "parquet"), tmp_path / "out"
    checkpoint = tmp_path / "checkpoint"
    words = ("run", script, "--out", out, "--checkpoint", checkpoint)
    words = (*words, "--set", f"batch_rows={BATCH}")
    process, until = start(*words), time.monotonic() + 300
    while batches_done(checkpoint) < TRANSFERS // BATCH // 2 and time.monotonic() < until:
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.02)
    kill(process)
    assert 0 < batches_done(checkpoint) < TRANSFERS // BATCH - 1, "not killed in the middle"
    run_here(*words)
    total = pyarrow.csv.read_csv(out / "total.csv")
    assert total.num_rows == len(np.unique(table["ts"].to_numpy()))
    assert len(np.unique(total["ts"].to_numpy())) == total.num_rows
    assert not total["total"].to_numpy().any() and total["total"].null_count == 0
    balances = pyarrow.csv.read_csv(out / "balances.csv")
    assert balances["account"].to_pylist() == list(range(ACCOUNTS))
    assert (balances["balance"].to_numpy() == balances_of(table, ACCOUNTS)).all()
    assert pyarrow.csv.read_csv(out / "transfers.late.csv").num_rows == 0

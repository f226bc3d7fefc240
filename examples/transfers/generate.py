"""Write transfers.csv: money that moves between accounts, out of order by less than ten seconds.

    python generate.py [--transfers 1000] [--accounts 40] [--seconds 200] [--ticks 1] [--seed 7]
                       [--to transfers.csv]

The clock of the bank ticks so many times a second; transfers of one tick have one timestamp.
One account in twenty only sends, one only receives. A name that ends in
.parquet gives a Parquet file. The same options give the same rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

START = np.datetime64("2024-05-01T09:00:00", "us")
SECOND = 1_000_000  # microseconds
SLACK = 10 * SECOND
"""A transfer arrives less than that after its instant."""


def transfers(count: int, accounts: int, seconds: int, ticks: int, seed: int) -> pa.Table:
    """The transfers in the order in which they arrive."""
    chance = np.random.default_rng(seed)
    moments = np.sort(chance.integers(0, seconds * ticks, count)) * (SECOND // ticks)
    arrival = np.argsort(moments + chance.integers(0, SLACK, count), kind="stable")
    few = accounts // 20
    source = chance.integers(0, accounts - few, count)
    target = chance.integers(few, accounts, count)
    amount = chance.integers(1, 100_000, count)
    columns = {
        "id": np.arange(1, count + 1),
        "source": source,
        "target": target,
        "amount": amount,
        "ts": START + moments.astype("timedelta64[us]"),
    }
    return pa.table({name: column[arrival] for name, column in columns.items()})


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        options = pyarrow.csv.WriteOptions(quoting_style="none", quoting_header="none")
        pyarrow.csv.write_csv(table, path, options)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write transfers between accounts.")
    parser.add_argument("--transfers", type=int, default=1_000)
    parser.add_argument("--accounts", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=200)
    parser.add_argument("--ticks", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--to", type=Path, default=Path(__file__).with_name("transfers.csv"))
    asked = parser.parse_args()
    ways = asked.transfers, asked.accounts, asked.seconds, asked.ticks, asked.seed
    write(transfers(*ways), asked.to)


if __name__ == "__main__":
    main()

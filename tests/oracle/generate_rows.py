"""Random streams and tables: ties, gaps, NULLs, equal rows, disorder, late rows."""

from datetime import datetime, timedelta
from random import Random

from .spec import Columns, Row, StreamSpec, TableSpec

SECOND = 1_000_000
START = datetime(2024, 1, 1)
EXACT = (0.25, -3.5, 1.5, 2.0, 0.5, 10.0, -0.75, 0.0)
INEXACT = (*EXACT, 0.1, 0.3, -2.7, 0.1)
WORDS = ("a", "b", "b", "ab", "ba", "Ab")
ODD_WORDS = (*WORDS, "a,b", "it's", 'x "y"', " b")
STEPS = (0, 0, 1, 1, 1, 2, 3, 6)


def random_stream(rng: Random, name: str, domain: str) -> StreamSpec:
    """A stream of up to 40 rows with small values, mostly in order."""
    columns = random_columns(rng, domain)
    unit = SECOND if domain == "timestamp" else 1
    slack = 0 if domain == "latent" or rng.random() < 0.55 else rng.choice((1, 2, 3, 5))
    times = random_times(rng, row_count(rng), slack)
    if domain == "timestamp":
        fraction = rng.choice((0, 0, 0, 500_000))
        times = [None if t is None else seconds_after(t, fraction) for t in times]
    values = random_rows(rng, columns, len(times))
    order_by = None if domain == "latent" else "ts"
    rows = tuple(with_time(columns, row, t) for row, t in zip(values, times))
    return StreamSpec(name, columns, order_by, slack * unit, rows)


def seconds_after(t: int, fraction: int) -> datetime:
    return START + timedelta(seconds=t, microseconds=fraction if t % 3 == 0 else 0)


def random_columns(rng: Random, domain: str) -> Columns:
    """Some of an integer, a double, a string and a boolean column; the time first or last."""
    columns = [("a", rng.choice(("bigint", "bigint", "int"))), ("b", "double"), ("c", "string")]
    if rng.random() < 0.2:
        del columns[rng.randrange(1, 3)]
    if rng.random() < 0.15:
        columns.append(("d", "boolean"))
    time = ("ts", "timestamp" if domain == "timestamp" else rng.choice(("bigint", "bigint", "int")))
    if domain != "latent":
        columns.insert(rng.choice((0, len(columns))), time)
    return tuple(columns)


def row_count(rng: Random) -> int:
    low, high = rng.choices(((0, 0), (1, 1), (2, 8), (8, 20), (20, 40)), (3, 5, 30, 40, 12))[0]
    return rng.randint(low, high)


def random_times(rng: Random, count: int, slack: int) -> list[int | None]:
    """A walk with ties and gaps, disturbed within the slack and, in some streams, beyond it."""
    now = rng.choice((0, 1, 1, 5, 17, -4, 100))
    late_share = rng.choice((0, 0, 0.15))
    null_share = rng.choice((0, 0, 0, 0.05))
    times: list[int | None] = []
    for _ in range(count):
        now += rng.choice(STEPS)
        time: int | None = now
        if slack and rng.random() < 0.4:
            time = now - rng.randint(0, slack)
        if rng.random() < late_share:
            time = now - slack - rng.randint(0, 4)
        times.append(None if rng.random() < null_share else time)
    return times


def with_time(columns: Columns, row: Row, time: object) -> Row:
    return tuple(time if name == "ts" else cell for (name, _), cell in zip(columns, row))


def random_rows(rng: Random, columns: Columns, count: int) -> list[Row]:
    """Rows of small values; some repeat an earlier row."""
    pools = {
        "int": rng.choice(((0, 1, 2), (-3, 0, 1, 2, 5), (1, 2, 3, 4))),
        "double": rng.choice((EXACT, EXACT, EXACT, EXACT, INEXACT)),
        "string": rng.choice((WORDS[:2], WORDS, WORDS, WORDS, ODD_WORDS)),
        "boolean": (True, False),
        "timestamp": (START,),
    }
    pools["bigint"] = pools["int"]
    nulls = rng.choice((0, 0.1, 0.1, 0.25))
    copies = rng.choice((0, 0.15, 0.5))
    rows: list[Row] = []
    for _ in range(count):
        if rows and rng.random() < copies:
            rows.append(rng.choice(rows[-3:]))
            continue
        cells = (None if rng.random() < nulls else rng.choice(pools[type_]) for _, type_ in columns)
        rows.append(tuple(cells))
    return rows


def random_table(rng: Random, name: str) -> TableSpec:
    """A table whose first column is made to be joined on; NULL and repeated keys occur."""
    key_type = rng.choice(("bigint", "bigint", "string"))
    suffix = name[-1]
    columns = ((f"k{suffix}", key_type), (f"v{suffix}", "double"), (f"w{suffix}", "string"))
    columns = columns[: rng.choice((2, 3))]
    return TableSpec(name, columns, tuple(random_rows(rng, columns, rng.choice((0, 1, 3, 4, 6)))))

"""Random streams and tables: ties, gaps, NULLs, equal rows, disorder, late rows."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from .spec import EPOCH, Columns, Row, StreamSpec, TableSpec

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


@dataclass(frozen=True)
class Ground:
    """What the streams and tables of a case have in common, so that they meet."""

    domain: str
    start: int
    pools: dict[str, tuple]
    nulls: float

    @property
    def unit(self) -> int:
        return SECOND if self.domain == "timestamp" else 1


def random_ground(rng: Random) -> Ground:
    pools = {
        "bigint": rng.choice(((1, 2), (0, 1, 2), (1, 2, 3), (-1, 0, 1, 2))),
        "double": rng.choice(((0.5, 1.0, 2.0), (1.0, 2.0), (0.25, 1.0, -0.5), (0.1, 0.3, 1.0))),
        "string": rng.choice((("a", "b"), ("a", "b", "ab"), WORDS)),
        "timestamp": (START,),
    }
    pools["int"] = pools["bigint"]
    domain = rng.choices(("integer", "timestamp"), (85, 15))[0]
    return Ground(domain, rng.choice((0, 1, 1, 5, -3)), pools, rng.choice((0, 0.1, 0.15, 0.3)))


def small_stream(rng: Random, name: str, ground: Ground, most: int) -> StreamSpec:
    """A stream of few rows and few values."""
    columns = [("a", rng.choice(("bigint", "bigint", "bigint", "int"))), ("b", "double")]
    columns += [("c", "string")]
    if rng.random() < 0.25:
        del columns[rng.randrange(1, 3)]
    in_seconds = ground.domain == "timestamp" and rng.random() < 0.4
    time = "timestamp" if ground.domain == "timestamp" and not in_seconds else "bigint"
    columns.insert(rng.choice((0, len(columns))), ("ts", time))
    count = rng.choice((most // 2, most, most, most, rng.randint(0, most)))
    slack = rng.choice((0, 0, 0, 1, 2, 3))
    times: list = small_times(rng, ground.start, count, slack)
    if ground.domain == "timestamp":
        start = int((START - EPOCH).total_seconds())
        times = [start + t if in_seconds else seconds_after(t, 0) for t in times]
    rows = [with_time(tuple(columns), ground_row(rng, ground, columns), t) for t in times]
    return StreamSpec(name, tuple(columns), "ts", slack * ground.unit, tuple(rows), in_seconds)


def small_times(rng: Random, start: int, count: int, slack: int) -> list[int]:
    """A walk with ties and small gaps; some rows come within the slack, few beyond it."""
    now, late_share = start + rng.choice((0, 0, 1, 2)), rng.choice((0, 0, 0.1))
    times = []
    for _ in range(count):
        now += rng.choice((0, 0, 1, 1, 1, 2, 3))
        time = now - (rng.randint(0, slack) if rng.random() < 0.4 else 0)
        times.append(now - slack - rng.randint(1, 3) if rng.random() < late_share else time)
    return times


def ground_row(rng: Random, ground: Ground, columns) -> Row:
    return tuple(
        None if rng.random() < ground.nulls else rng.choice(ground.pools[type_])
        for _, type_ in columns
    )


def small_table(rng: Random, name: str, ground: Ground) -> TableSpec:
    """A table of a few rows that never changes."""
    columns = table_columns(rng, name)
    count = rng.choice((0, 1, 2, 3, 4))
    return TableSpec(name, columns, tuple(ground_row(rng, ground, columns) for _ in range(count)))


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


def table_columns(rng: Random, name: str) -> Columns:
    key_type = rng.choice(("bigint", "bigint", "string"))
    suffix = name[-1]
    columns = ((f"k{suffix}", key_type), (f"v{suffix}", "double"), (f"w{suffix}", "string"))
    return columns[: rng.choice((2, 3))]


def random_table(rng: Random, name: str) -> TableSpec:
    """A table whose first column is made to be joined on; NULL and repeated keys occur."""
    columns = table_columns(rng, name)
    return TableSpec(name, columns, tuple(random_rows(rng, columns, rng.choice((0, 1, 3, 4, 6)))))

"""OVER from its definition: elements one by one, the frame of each looked up in all of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random

COLUMNS = ("ts", "k", "w", "x", "d")
"""The time, two columns to partition by, and two numbers."""


@dataclass(frozen=True)
class Window:
    """`units` is rows or range; `preceding` None has no bound."""

    partition: tuple[str, ...]
    units: str
    preceding: int | None
    slide: int | None = None
    active: bool = False

    @property
    def sql(self) -> str:
        by = f"PARTITION BY {', '.join(self.partition)} " if self.partition else ""
        length = "UNBOUNDED" if self.preceding is None else self.preceding
        slide = f" SLIDE {self.slide}" if self.slide else ""
        active = " ACTIVE EXPIRATION" if self.active else ""
        return f"({by}{self.units.upper()} {length} PRECEDING{slide}{active})"


@dataclass(frozen=True)
class Call:
    """A function over the values of a column, in the order of the elements."""

    function: str
    column: str
    window: Window
    only: bool = False
    """With FILTER (WHERE x > 1)."""

    @property
    def sql(self) -> str:
        inside = f"{self.function}({self.column})"
        if self.function in PARAMETERS:
            inside = f"{self.function}({self.column}, {PARAMETERS[self.function]})"
        if self.function == "count distinct":
            inside = f"count(DISTINCT {self.column})"
        only = " FILTER (WHERE x > 1)" if self.only else ""
        return f"{inside}{only} OVER {self.window.sql}"


PARAMETERS = {"max_by": "d", "quantile": "0.25", "nth_value": "2"}


def frame(rows: list[dict], at: int, window: Window) -> list[dict]:
    """The rows of the partition of row `at` that it sees."""
    mine = [i for i in range(at + 1) if all(rows[i][c] == rows[at][c] for c in window.partition)]
    if window.preceding is None:
        return [rows[i] for i in mine]
    if window.units == "rows":
        return [rows[i] for i in mine[-window.preceding - 1 :]]
    first = rows[at]["ts"] - window.preceding
    return [rows[i] for i in mine if rows[i]["ts"] >= first]


def left_after(rows: list[dict], at: int, window: Window) -> list[dict]:
    """The frame of row `at`'s partition once that row has left: what came later, up to then."""
    assert window.preceding is not None
    end = rows[at]["ts"] + window.preceding + 1
    return [
        row
        for row in rows[at + 1 :]
        if row["ts"] < end and all(row[c] == rows[at][c] for c in window.partition)
    ]


def answer(rows: list[dict], calls: list[Call], last: int) -> list[tuple]:
    """(instant, columns of the element, results) of every element that is given by `last`."""
    slides = next((c.window for c in calls if c.window.slide or c.window.active), None)
    found = []
    for at, row in enumerate(rows):
        instant = row["ts"] if slides is None else yielded_at(rows, at, slides)
        if instant is not None and instant <= last:
            results = tuple(value(c, frame(rows, at, c.window)) for c in calls)
            found.append((instant, *(row[c] for c in COLUMNS), *results))
        if slides is not None and slides.active and slides.preceding is not None:
            end = row["ts"] + slides.preceding + 1
            if end <= last:
                results = tuple(value(c, left_after(rows, at, c.window)) for c in calls)
                found.append((end, *(row[c] for c in COLUMNS), *results))
    return found


def yielded_at(rows: list[dict], at: int, window: Window) -> int | None:
    """When the result of a row is given; None if it is not the last of its slot."""
    if window.slide is None:
        return rows[at]["ts"]
    alike = [
        i for i, row in enumerate(rows) if all(row[c] == rows[at][c] for c in window.partition)
    ]
    if window.units == "rows":
        place = alike.index(at) + 1
        return rows[at]["ts"] if place % window.slide == 0 else None
    end = -(-rows[at]["ts"] // window.slide) * window.slide
    newest = max(i for i in alike if end - window.slide < rows[i]["ts"] <= end)
    return end if newest == at else None


def value(call: Call, rows: list[dict]) -> object:
    """The function over some rows."""
    kept = [r for r in rows if not call.only or (r["x"] is not None and r["x"] > 1)]
    every = [r[call.column] for r in kept] if call.column != "*" else [1] * len(kept)
    there = [v for v in every if v is not None]
    match call.function:
        case "count":
            return len(there)
        case "count distinct":
            return len(set(there))
        case "sum":
            return sum(map(Fraction, there)) if there else None
        case "avg":
            return sum(map(Fraction, there)) / len(there) if there else None
        case "min":
            return min(there, default=None)
        case "max":
            return max(there, default=None)
        case "var_samp":
            return _spread(there) / (len(there) - 1) if len(there) > 1 else None
        case "var_pop":
            return _spread(there) / len(there) if there else None
        case "median":
            return _at(there, Fraction(1, 2))
        case "quantile":
            return _at(there, Fraction(1, 4))
        case "first":
            return every[0] if every else None
        case "last":
            return every[-1] if every else None
        case "nth_value":
            return every[1] if len(every) > 1 else None
        case "max_by":
            pairs = [
                (r["d"], v) for r, v in zip(kept, every) if r["d"] is not None and v is not None
            ]
            return max(pairs)[1] if pairs else None
        case "array_agg":
            return tuple(every) if every else None
        case "string_agg":
            return ",".join(map(str, there)) if there else None
    raise AssertionError(call.function)


def _spread(values: list) -> Fraction:
    mean = sum(map(Fraction, values)) / len(values)
    return sum((Fraction(v) - mean) ** 2 for v in values)


def _at(values: list, share: Fraction) -> Fraction | None:
    if not values:
        return None
    ordered = sorted(map(Fraction, values))
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def placed(rows: list[dict], at: int, partition: tuple[str, ...]) -> dict[str, object]:
    """row_number, rank, dense_rank and lag by one and three of a row."""
    mine = [r for r in rows[: at + 1] if all(r[c] == rows[at][c] for c in partition)]
    earlier = [r for r in mine if r["ts"] < rows[at]["ts"]]
    return {
        "row_number()": len(mine),
        "rank()": len(earlier) + 1,
        "dense_rank()": len({r["ts"] for r in earlier}) + 1,
        "lag(x)": mine[-2]["x"] if len(mine) > 1 else None,
        "lag(d, 3, -1.0)": mine[-4]["d"] if len(mine) > 3 else -1.0,
    }


FUNCTIONS = {
    "x": ("count", "sum", "avg", "min", "max", "var_samp", "median", "first", "last", "array_agg"),
    "d": ("sum", "avg", "min", "max", "var_pop", "quantile", "count distinct", "nth_value"),
    "w": ("count", "min", "max", "string_agg", "max_by", "last", "count distinct"),
    "*": ("count",),
}


def random_window(rng: Random, plain: bool) -> Window:
    partition = rng.choice(((), ("k",), ("k",), ("w",), ("k", "w")))
    units = rng.choice(("rows", "range"))
    bound = rng.choice((0, 1, 2, 3, 5, 9, None))
    if plain:
        return Window(partition, units, bound)
    if rng.random() < 0.4:
        return Window(partition, "range", rng.choice((0, 1, 3, 6)), active=True)
    return Window(partition, units, bound, slide=rng.choice((2, 3, 4, 7)))


def random_calls(rng: Random) -> list[Call]:
    """Calls over several windows, or over one that slides or is active."""
    plain = rng.random() < 0.55
    windows = [random_window(rng, plain) for _ in range(rng.choice((1, 2, 3)) if plain else 1)]
    calls = []
    for _ in range(rng.choice((1, 2, 3, 4))):
        column = rng.choice(("x", "x", "d", "d", "w", "*"))
        function = rng.choice(FUNCTIONS[column])
        calls.append(Call(function, column, rng.choice(windows), rng.random() < 0.2))
    return calls


def random_rows(rng: Random, slack: int) -> list[dict]:
    """Elements as they arrive, at most so much out of order, with ties and NULLs."""
    now, rows = rng.choice((-4, 0, 1, 10)), []
    for _ in range(rng.choice((0, 1, 5, 12, 25, 40))):
        now += rng.choice((0, 0, 1, 1, 2, 5))
        rows.append(
            {
                "ts": now - (rng.randrange(slack + 1) if slack and rng.random() < 0.4 else 0),
                "k": rng.choice((1, 1, 2, 3, None)),
                "w": rng.choice(("a", "b", "b", None)),
                "x": rng.choice((0, 1, 2, 3, 5, None)),
                "d": rng.choice((0.5, 0.25, -3.5, 2.0, 8.0, None)),
            }
        )
    return rows


def admitted(rows: list[dict], slack: int) -> list[dict]:
    """Those that are not late, in the order of time, then of arrival."""
    newest, kept = None, []
    for row in rows:
        if newest is None or row["ts"] >= newest - slack:
            kept.append(row)
        newest = row["ts"] if newest is None else max(newest, row["ts"])
    return sorted(kept, key=lambda row: row["ts"])

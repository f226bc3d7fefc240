"""Road tolls: every view of the example is what the oracle says, whatever must not matter."""

from __future__ import annotations

import importlib.util
import sys
from functools import reduce
from pathlib import Path
from types import ModuleType

import pytest

from laws.engine import compare
from laws.scale import SCALE
from millstream.testing import run_script
from oracle.evaluate import Result, evaluate
from oracle.spec import (
    Aggregate,
    Between,
    Bin,
    Coalesce,
    Col,
    Derived,
    Exists,
    Expr,
    InQuery,
    Item,
    Join,
    Lit,
    Order,
    Query,
    Scalar,
    Script,
    StreamSpec,
    TableSpec,
    Window,
)
from spark.command import run
from spark.running import run_on_spark

HERE = Path(__file__).resolve().parents[2] / "examples" / "linear_road"
SECOND = 1_000_000
SETTINGS = {
    "defaults": {},
    "seven buckets": {"buckets": "7", "batch_rows": "50"},
    "rules off": {"rules": "off", "batch_rows": "100"},
}
REPORTS = ("car", "speed", "road", "lane", "direction", "segment", "position")
PLACE = ("road", "direction", "segment")
COUNT = Aggregate("cars", "count")
Small = tuple[Path, dict[str, Result]]


def col(name: str) -> Col:
    """A column, `e.car` with its source."""
    qualifier, _, rest = name.rpartition(".")
    return Col(rest, qualifier or None)


def items(*names: str) -> tuple[Item, ...]:
    return tuple(Item(col(name), col(name).name) for name in names)


def op(sign: str, left: Expr | str | int, right: Expr | str | int) -> Bin:
    """An operation; a text is a column, a number a literal."""
    return Bin(sign, expression(left), expression(right))


def expression(part: Expr | str | int) -> Expr:
    return col(part) if isinstance(part, str) else Lit(part) if isinstance(part, int) else part


def every(*conditions: Expr) -> Expr:
    return reduce(lambda a, b: Bin("AND", a, b), conditions)


def same_place(one: str, other: str) -> Expr:
    return every(*(op("=", f"{one}.{name}", f"{other}.{name}") for name in PLACE))


def active() -> Query:
    window = Window("rows", rows=1, partition_by=("car",), range=30 * SECOND)
    return Query("reports", items("car", *PLACE, "lane", "position"), window)


def entries() -> Query:
    return Query("active", items("car", *PLACE), output="istream")


def speeds() -> Query:
    mean = Aggregate("speed", "avg", col("speed"))
    window = Window("range", range=300 * SECOND)
    return Query(
        "reports", items(*PLACE, "speed"), window, group_by=items(*PLACE), aggregates=(mean,)
    )


def traffic() -> Query:
    return Query("active", items(*PLACE, "cars"), group_by=items(*PLACE), aggregates=(COUNT,))


def stopped() -> Query:
    kept = ("road", "direction", "lane", "segment", "position")
    least = tuple(Aggregate(name, "min", col(name)) for name in kept)
    most = tuple(Aggregate(f"last_{n}", "max", col(n)) for n in ("position", "lane"))
    stands = every(
        op("=", "cars", 4), op("=", "position", "last_position"), op("=", "lane", "last_lane")
    )
    return Query(
        "reports",
        items("car", *kept),
        Window("rows", rows=4, partition_by=("car",), range=120 * SECOND),
        group_by=items("car"),
        aggregates=(*least, *most, COUNT),
        having=stands,
    )


def accidents() -> Query:
    spot = (*PLACE, "position")
    return Query(
        "stopped",
        items(*spot, "cars"),
        group_by=items(*spot, "lane"),
        aggregates=(COUNT,),
        having=op(">", "cars", 1),
    )


def zones() -> Query:
    first = op("-", "a.segment", op("*", 4, op("-", 1, "a.direction")))
    last = op("+", "a.segment", op("*", 4, "a.direction"))
    near = every(op("=", "s.road", "a.road"), Between(col("s.segment"), first, last))
    return Query(
        "accidents",
        items("a.road", "a.direction", "s.segment"),
        alias="a",
        joins=(Join("segments", "inner", near, alias="s"),),
        distinct=True,
    )


def tolls() -> Query:
    more = op("-", "t.cars", 3)
    toll = op("+", "s.rate", op("*", op("*", 2, more), more))
    own = every(op("=", "s.road", "t.road"), op("=", "s.segment", "t.segment"))
    near = Query("zones", alias="z", where=same_place("z", "t"))
    return Query(
        "traffic",
        (*items("t.road", "t.direction", "t.segment"), Item(toll, "toll")),
        alias="t",
        joins=(
            Join("speeds", "inner", same_place("v", "t"), alias="v"),
            Join("segments", "inner", own, alias="s"),
        ),
        where=every(op("<", "v.speed", 40), op(">", "t.cars", 3), Exists(near, negated=True)),
    )


def charges() -> Query:
    toll = Item(Coalesce((col("t.toll"), Lit(0))), "toll")
    return Query(
        "entries",
        (*items("e.car", "e.road", "e.direction", "e.segment"), toll),
        Window("now"),
        "e",
        joins=(Join("tolls", "left", same_place("t", "e"), alias="t"),),
        output="rstream",
    )


def warnings() -> Query:
    return Query(
        "entries",
        items("e.car", "e.road", "e.direction", "e.segment"),
        Window("now"),
        "e",
        joins=(Join("zones", "comma", alias="z"),),
        where=same_place("z", "e"),
        output="rstream",
    )


def accounts() -> Query:
    sums = (Aggregate("balance", "sum", col("toll")), Aggregate("segments", "count"))
    select = items("car", "balance", "segments")
    return Query("charges", select, group_by=items("car"), aggregates=sums)


def roads() -> Query:
    sums = Aggregate("earned", "sum", col("toll")), Aggregate("cars", "count_distinct", col("car"))
    select = items("road", "earned", "cars")
    return Query("charges", select, group_by=items("road"), aggregates=sums)


def highest() -> Query:
    order = (Order("balance", descending=True),)
    return Query("accounts", items("car", "balance"), order_by=order, limit=3)


def free_riders() -> Query:
    paying = Query("accounts", items("car"), where=op(">", "balance", 0))
    outside = InQuery(col("car"), paying, negated=True)
    return Query("active", items("car", "road", "segment"), where=outside)


def jams() -> Query:
    mean = Aggregate("mean", "avg", col("speed"))
    everywhere = Query(
        "reports", items("mean"), Window("range", range=300 * SECOND), aggregates=(mean,)
    )
    slow = op("<", op("*", 2, "speed"), Scalar(everywhere))
    return Query("speeds", items(*PLACE, "speed"), where=slow, output="streamed")


STREAMS = (entries, charges, warnings)
VIEWS = (active, entries, speeds, traffic, stopped, accidents, zones, tolls)
VIEWS = (*VIEWS, charges, warnings, accounts, roads, highest, free_riders, jams)


def spec(reports: tuple, segments: tuple) -> Script:
    """The script of the example, query by query, over some rows."""
    columns = (("ts", "timestamp"), *((name, "int") for name in REPORTS))
    table = tuple((name, "int") for name in ("road", "segment", "rate"))
    derived = tuple(
        Derived(query.__name__, "stream" if query in STREAMS else "view", query())
        for query in VIEWS
    )
    return Script(
        (StreamSpec("reports", columns, "ts", 0, reports),),
        (TableSpec("segments", table, segments),),
        derived,
    )


def generator() -> ModuleType:
    """The example's generator as a module."""
    made = importlib.util.spec_from_file_location("linear_road_data", HERE / "generate.py")
    module = importlib.util.module_from_spec(made)
    sys.modules[made.name] = module
    made.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Small:
    """The script with a few cars on one road, and what the oracle says of it."""
    folder, generate = tmp_path_factory.mktemp("road"), generator()
    reports = tuple(generate.reports(cars=24, minutes=6, roads=1, accidents=3, seed=31))
    segments = tuple(generate.segments(roads=1))
    generate.write(folder / "reports.csv", generate.COLUMNS, iter(reports))
    generate.write(folder / "segments.csv", ("road", "segment", "rate"), iter(segments))
    (folder / "tolls.sql").write_text((HERE / "tolls.sql").read_text())
    return folder / "tolls.sql", evaluate(spec(reports, segments))


def test_the_data_has_all_that_matters(small: Small) -> None:
    _, expected = small
    for query in VIEWS:
        assert any(rows for _, rows in expected[query.__name__].history), query.__name__
    tolls = {row[4] for _, row in expected["charges"].rows}
    assert 0 in tolls and len(tolls) > 3
    assert any(op == "-" for op, _, _ in expected["zones.changes"].rows)


@pytest.mark.parametrize("name", SETTINGS)
def test_all_views_equal_the_oracle(small: Small, name: str) -> None:
    script, expected = small
    actual = run_script(script.read_text(), script.parent, SETTINGS[name])
    assert compare(expected, actual) is None


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["on", "off"][:SCALE])
def test_one_row_per_batch_gives_the_same(small: Small, rules: str) -> None:
    script, expected = small
    settings = {"batch_rows": "1", "buckets": "2", "rules": rules}
    actual = run_script(script.read_text(), script.parent, settings)
    assert compare(expected, actual) is None


@pytest.mark.slow
def test_restarts_give_the_same(small: Small) -> None:
    script, expected = small
    actual = run_script(script.read_text(), script.parent, {"batch_rows": "20"}, restart=True)
    assert compare(expected, actual) is None


@pytest.mark.spark
@pytest.mark.slow
def test_all_views_equal_the_oracle_on_spark(spark, small: Small) -> None:
    script, expected = small
    actual = run_on_spark(spark, script.read_text(), script.parent, {"batch_rows": "100"})
    assert compare(expected, actual) is None


@pytest.mark.slow
def test_the_script_runs_as_it_stands(tmp_path: Path) -> None:
    run("run", HERE / "tolls.sql", "--out", tmp_path, "--host", "local")
    for query in VIEWS:
        assert (tmp_path / f"{query.__name__}.csv").stat().st_size > 0
    assert len((tmp_path / "accounts.csv").read_text().splitlines()) == 241


def test_the_data_is_what_the_generator_writes(tmp_path: Path, monkeypatch) -> None:
    generate = generator()
    monkeypatch.setattr(sys, "argv", ["generate.py", "--to", str(tmp_path)])
    generate.main()
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (HERE / path.name).read_bytes(), path.name

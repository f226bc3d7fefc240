"""Aggregates that are classes in Python: mistakes in them, and methods that raise."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import millstream
from millstream import MillstreamError, Table
from millstream.blocks.general.python.loading import text_of_class
from millstream.cli.main import app
from millstream.engine.log import read_log
from millstream.files import open_folder
from millstream.operators.failures import SCHEMA

STREAM = "CREATE STREAM bids (ts int, item string, price int) ORDER BY ts SOURCE 'bids.csv';"
BIDS = [(1, "a", 3), (2, "b", 5), (3, "a", 0), (4, "a", 4), (5, "b", 0), (6, "b", 1)]


@pytest.fixture
def db(tmp_path: Path):
    lines = ["ts,item,price", *(",".join(map(str, row)) for row in BIDS)]
    (tmp_path / "bids.csv").write_text("\n".join(lines) + "\n")
    with millstream.connect(host="local", base=str(tmp_path), allow_python=True) as made:
        made.execute(STREAM)
        yield made


def errors_of(db) -> list[dict]:
    """The rows of the error stream."""
    return read_log(open_folder(db._folder).folder("results"), "bids.errors", SCHEMA).to_pylist()


def said(db, statement: str, module: str | None = None) -> str:
    """What is said of a statement, beside a module."""
    if module is not None:
        Path(db.database.base, "made.py").write_text(module)
    with pytest.raises(MillstreamError) as raised:
        db.execute(statement)
    return str(raised.value)


NAMED = "CREATE AGGREGATE f(x int) : int LANGUAGE python AS 'made:Sum';"
CARET = "   1 | CREATE AGGREGATE f(x int) : int LANGUAGE python AS "
ITERATE = "    def iterate(self, x):\n        return x\n"
WRONG = {
    "no module": (
        NAMED.replace("made", "nowhere_here"),
        None,
        'module "nowhere_here" does not exist beside the script, nor is it installed',
        "Put nowhere_here.py into the folder of the script",
    ),
    "no class": (
        NAMED,
        "class Summ:\n" + ITERATE,
        'class "Sum" does not exist in module "made"',
        'Did you mean "Summ"?',
    ),
    "no text": (
        NAMED,
        "class Sum(:\n",
        'module "made" cannot be read: invalid syntax, line 1',
        "Correct made.py.",
    ),
    "an import": (
        NAMED,
        "import not_there_at_all\nclass Sum:\n    def iterate(self, x):\n"
        "        return not_there_at_all.f(x)\n",
        'module "made" of class "Sum" cannot be loaded here: ModuleNotFoundError: '
        "No module named 'not_there_at_all'",
        "Install what it imports on every machine that takes part.",
    ),
    "no method": (
        NAMED,
        "class Sum:\n    def iterrate(self, x):\n        return x\n",
        'class "Sum" has no method "iterate"',
        'Did you mean "iterrate"?',
    ),
    "other arguments": (
        NAMED,
        "class Sum:\n    def iterate(self, x, y):\n        return x\n",
        'iterate of class "Sum" takes 2 arguments, and aggregate "f" has 1',
        "Methods take self, and then every argument of the aggregate.",
    ),
    "what cannot be kept": (
        NAMED,
        "class Sum:\n    seen: set[int]\n" + ITERATE,
        'attribute "seen" of class "Sum" is set[int], which cannot be kept',
        "Values are float, int, str, bool, datetime, date and timedelta; list[…] and dict[…, …] "
        "hold them or tuples of them, and Table(column=type, …) rows.",
    ),
    "not declared": (
        NAMED,
        "class Sum:\n    def iterate(self, x):\n        self.total = x\n",
        'attribute "total" of class "Sum" is not declared',
        "Write its type in the class, for example total: float.",
    ),
    "own beginning": (
        NAMED,
        "class Sum:\n    def __init__(self):\n        pass\n" + ITERATE,
        'class "Sum" has __init__, and its instances are made without it',
        "Give attributes their first values in the class, or in initialize.",
    ),
    "another language": (
        NAMED.replace("python", "cobol"),
        "class Sum:\n" + ITERATE,
        'language "cobol" is not supported',
        "Write LANGUAGE python",
    ),
    "no class named": (
        NAMED.replace("made:Sum", "made"),
        "class Sum:\n" + ITERATE,
        '"made" does not name a class',
        "Write LANGUAGE python AS 'module:Class'.",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_have_a_place_and_a_hint(db, case: str) -> None:
    statement, module, message, hint = WRONG[case]
    found = said(db, statement, module)
    assert found.startswith(message + "\n   1 | CREATE AGGREGATE"), found
    assert f"\nhint: {hint}" in found


def test_scripts_name_classes_only_where_they_may(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text("raise SystemExit('carried out')\n")
    with millstream.connect(host="local", base=str(tmp_path)) as db:
        assert said(db, NAMED) == (
            'aggregate "f" is written in Python, which this run does not allow\n'
            f"{CARET}'made:Sum';\n     |{' ' * 52}^^^^^^^^^^\n"
            "hint: Start it with allow_python, or leave out --no-python, if you trust the script."
        )


class Share:
    """Raises for zero; everything that it keeps would be wrong if some of it stayed."""

    total: int = 0
    seen: list[int]
    times: dict[str, int]
    rows: Table = Table(value=int)

    def iterate(self, x: int) -> float:
        self.total += x
        self.seen.append(x)
        self.seen[0] = x
        self.times[str(x)] = self.times.get(str(x), 0) + 1
        self.times.pop(next(iter(self.times)))
        self.times["n"] = len(self.seen)
        self.rows.insert(x)
        self.rows.update({"value": x}, value=3)
        answer = self.total + len(self.seen) * 100 + self.times["n"] * 1000 + len(self.rows) / 8
        return answer / x * x

    def expire(self, x: int) -> None:
        self.total -= x


@pytest.mark.parametrize("batch", ["1", "2", "100"])
def test_a_method_that_raises_leaves_its_instance_as_it_was(db, batch: str) -> None:
    db.execute(f"SET batch_rows = {batch}")
    db.aggregate("share", Share)
    query = db.query("SELECT item, share(price) AS s FROM bids GROUP BY item")
    db.run()
    values = [(row["item"], row["s"]) for row in query.table().to_pylist()]
    assert values == [
        ("a", 3 + 1100.125),
        ("b", 5 + 1100.125),
        ("a", 7 + 2200.25),
        ("b", 6 + 2200.25),
    ]
    errors = errors_of(db)
    line = Share.iterate.__code__.co_firstlineno + 10
    reason = f'aggregate "share": iterate, line {line}: ZeroDivisionError: float division by zero'
    assert [(row["reason"], row["row"]) for row in errors] == [(reason, "a,0"), (reason, "b,0")]


@pytest.mark.parametrize("batch", ["1", "2", "100"])
def test_what_was_refused_does_not_expire(db, batch: str) -> None:
    db.execute(f"SET batch_rows = {batch}")

    class Wary:
        total: int = 0

        def iterate(self, x: int) -> int:
            self.total += x + 10
            if x == 0:
                raise ValueError("nothing is bid")
            return self.total

        def expire(self, x: int) -> None:
            self.total -= x + 10
            if x == 4:
                raise ValueError("four must stay")

    db.aggregate("wary", Wary)
    query = db.query("SELECT ts AS at, wary(price) OVER (ROWS 1 PRECEDING) AS s FROM bids")
    held = db.query("SELECT ts AS at, wary(price) OVER (ROWS 4 PRECEDING) AS s FROM bids")
    db.run()
    # 3; 3 5; 5 (0); (0) 4; 4 (0), four stays when it leaves; (0) 1
    found = [(row["at"], row["s"]) for row in query.table().to_pylist()]
    assert found == [(1, 13), (2, 28), (4, 14), (6, 25)]
    found = [(row["at"], row["s"]) for row in held.table().to_pylist()]
    assert found == [(1, 13), (2, 28), (4, 42), (6, 40)]
    reasons = [row["reason"].partition(": ")[2] for row in errors_of(db)]
    assert sum("nothing is bid" in reason for reason in reasons) == 4
    assert sum("expire, line" in reason and "four must stay" in reason for reason in reasons) == 1


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("(x, x)", "iterate: 1 column is declared, and it returned 2 values"),
        ("'x'", "iterate: what it returned does not fit: an int is declared, and this is a str"),
        (
            "2**70",
            "iterate: what it returned does not fit: a whole number is too large: it has "
            "more than 64 bits",
        ),
    ],
)
def test_results_of_the_wrong_shape(db, returned: str, reason: str) -> None:
    module = f"class Sum:\n    def iterate(self, x):\n        return {returned}\n"
    Path(db.database.base, "made.py").write_text(module)
    db.execute(NAMED)
    query = db.query("SELECT f(price) AS s FROM bids")
    db.run()
    assert query.table().num_rows == 0
    errors = errors_of(db)
    assert {row["reason"] for row in errors} == {f'aggregate "f": {reason}'}
    assert len(errors) == len(BIDS)


def test_a_decorator_registers_with_types_of_its_own(db) -> None:
    @db.aggregate("spread", arguments={"x": "int"}, returns={"least": int, "greatest": "int"})
    class Spread:
        low: int
        high: int

        def initialize(self, x):
            self.low = self.high = x

        def iterate(self, x):
            self.low, self.high = min(self.low, x), max(self.high, x)

        def terminate(self):
            return self.low, self.high

    query = db.query("SELECT item, spread(price) FROM bids [Range Unbounded] GROUP BY item")
    db.run()
    assert query.table().sort_by("item").to_pylist() == [
        {"item": "a", "least": 0, "greatest": 4},
        {"item": "b", "least": 0, "greatest": 5},
    ]
    assert query.schema.field("least").type == pa.int64()
    with pytest.raises(MillstreamError, match="no class, but a int"):
        db.aggregate("spread", 3)


def test_a_class_that_changes_takes_the_place_of_the_one_before(db) -> None:
    def adding(more: int) -> type:
        given: dict = {}
        exec(
            f"class Plus:\n    def iterate(self, x: int) -> int:\n        return x + {more}\n",
            given,
        )
        return given["Plus"]

    db.aggregate("plus", adding(1))
    query = db.query("SELECT plus(price) AS s FROM bids")
    db.aggregate("plus", adding(2))
    db.run()
    assert [row["s"] for row in query.table().to_pylist()] == [p + 2 for _, _, p in BIDS]


def test_a_class_travels_with_what_it_names_and_without_its_registration() -> None:
    class Db:
        def aggregate(self, given: type) -> type:
            return given

    db = Db()

    @db.aggregate
    class Scaled:
        def iterate(self, x: int) -> int:
            return tripled(x)

    text = text_of_class(Scaled)
    assert text is not None
    given: dict = {}
    exec(text, given)
    assert given["Scaled"]().iterate(5) == 15
    first = Scaled.iterate.__code__.co_firstlineno
    assert given["Scaled"].iterate.__code__.co_firstlineno == first
    assert "STREAM" not in text and "aggregate" not in text


FACTOR = 3


def tripled(x: int) -> int:
    return FACTOR * x


def test_the_command_line_allows_classes_unless_told_not_to(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text("class Sum:\n" + ITERATE)
    script = tmp_path / "script.sql"
    script.write_text(NAMED)
    allowed = CliRunner().invoke(app, ["check", str(script)])
    assert (allowed.exit_code, "no errors" in allowed.output) == (0, True)
    refused = CliRunner().invoke(app, ["check", str(script), "--no-python"])
    assert refused.exit_code == 1
    assert "which this run does not allow" in refused.output


def test_a_changed_class_begins_afresh(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("ts,item,price\n1,a,3\n2,a,5\n")
    counting = (
        "class Sum:\n    total: int = 0\n\n    def iterate(self, x):\n"
        "        self.total += x\n        return self.total\n"
    )
    kept = str(tmp_path / "kept")

    def run(module: str, restart: tuple[str, ...] = ()) -> list[int]:
        (tmp_path / "made.py").write_text(module)
        given = {"host": "local", "base": str(tmp_path), "allow_python": True, "checkpoint": kept}
        with millstream.connect(**given) as db:
            db.execute(STREAM + NAMED)
            query = db.query("SELECT f(price) AS s FROM bids", name="sums")
            db.run(restart=restart)
            return [row["s"] for row in query.table().to_pylist()]

    assert run(counting) == [3, 8]
    with (tmp_path / "bids.csv").open("a") as file:
        file.write("3,a,1\n")
    assert run("# a remark\n" + counting) == [3, 8, 9]
    with pytest.raises(MillstreamError, match="sums"):
        run(counting.replace("+= x", "-= x"))

"""The parking garage: answers that are kept, follow from counting cars, and from no setting."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from examples.answers import EXAMPLES, answers_of, script_of, texts_of
from millstream.testing import run_script
from spark.running import run_on_spark

SCRIPT = script_of("parking")
FOLDER = EXAMPLES / "parking"
SETTINGS = [
    pytest.param({}, id="default"),
    pytest.param({"rules": "off", "batch_rows": "7"}, id="as written"),
    pytest.param({"buckets": "5", "batch_rows": "1"}, id="row by row", marks=pytest.mark.slow),
]
Row = tuple[str, ...]


def read(name: str) -> list[tuple[datetime, Row]]:
    with (FOLDER / name).open(encoding="utf-8") as file:
        return [(datetime.fromisoformat(at), tuple(row)) for at, *row in list(csv.reader(file))[1:]]


ENTRIES, EXITS, DEGREES = read("entries.csv"), read("exits.csv"), read("degrees.csv")
INSTANTS = sorted({at for at, _ in (*ENTRIES, *EXITS, *DEGREES)})


def inside(at: datetime) -> Counter[Row]:
    """The cars that have come more often than they have left."""
    came, left = (Counter(car for t, car in rows if t <= at) for rows in (ENTRIES, EXITS))
    return came - left


def by_kind(at: datetime) -> Counter[Row]:
    kinds = Counter(kind for _, kind in inside(at).elements())
    return Counter((kind, str(cars)) for kind, cars in kinds.items())


def decks(at: datetime) -> dict[str, int]:
    """What each deck's thermometer said last."""
    return {deck: int(degrees) for t, (deck, degrees) in DEGREES if t <= at}


def warmer(than: int) -> Callable[[datetime], Counter[Row]]:
    return lambda at: Counter((deck, str(d)) for deck, d in decks(at).items() if d > than)


def overall(at: datetime) -> Counter[Row]:
    said = [int(degrees) for t, (_, degrees) in DEGREES if t <= at]
    return Counter([(str(len(said)), str(sum(said) / len(said)))]) if said else Counter()


def last_of_five_minutes(at: datetime) -> datetime:
    return at - timedelta(minutes=at.minute % 5, seconds=at.second)


def board(at: datetime) -> Counter[Row]:
    """What the kinds were at the last multiple of five minutes."""
    return by_kind(last_of_five_minutes(at))


MEANINGS: dict[str, tuple[tuple[int, ...], Callable[[datetime], Counter[Row]]]] = {
    "inside": ((0, 1), inside),
    "by_kind": ((0,), by_kind),
    "many": ((0,), lambda at: Counter(r for r in by_kind(at).elements() if int(r[1]) >= 5)),
    "hot": ((0,), warmer(40)),
    "very_hot": ((0,), warmer(55)),
    "overall": ((), overall),
    "board": ((0,), board),
}
"""For every streamed answer the columns of its key, and what it is at an instant."""


def replayed(lines: Iterable[list[str]], key: tuple[int, ...], at: datetime) -> Counter[Row]:
    """What the changes up to an instant make; keyless rows are their own key here, each once."""
    rows: dict[Row, Row] = {}
    for op, ts, *row in lines:
        if datetime.fromisoformat(ts) > at:
            break
        named = tuple(row[i] for i in key)
        assert (op == "+") == (named not in rows)
        if op == "-":
            del rows[named]
        else:
            rows[named] = tuple(row)
    return Counter(rows.values())


@pytest.mark.parametrize("name", MEANINGS)
def test_every_answer_follows_from_the_cars_and_thermometers(name: str) -> None:
    key, meaning = MEANINGS[name]
    lines = list(csv.reader(answers_of("parking")[name].splitlines()))[1:]
    assert lines
    for at in INSTANTS:
        assert replayed(lines, key, at) == meaning(at), f"{name} at {at}"


def test_who_is_parked_has_been_inside_since_then() -> None:
    """TS is the last instant at which the car was not inside and then was."""
    lines = list(csv.reader(answers_of("parking")["parked"].splitlines()))[1:]
    since = {tuple(row): datetime.fromisoformat(ts) for *row, ts in lines}
    assert Counter(since) and set(since) == set(inside(INSTANTS[-1]))
    for car, came in since.items():
        there = [at for at in INSTANTS if inside(at)[car]]
        gaps = [at for at in INSTANTS if not inside(at)[car]]
        assert came == min(at for at in there if not any(gap > at for gap in gaps))


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_answers_are_as_kept(settings: dict[str, str]) -> None:
    results = run_script(SCRIPT.read_text(), SCRIPT.parent, settings)
    assert texts_of(results) == answers_of("parking")


@pytest.mark.slow
def test_the_answers_survive_a_restart_after_every_batch() -> None:
    results = run_script(SCRIPT.read_text(), SCRIPT.parent, {"batch_rows": "9"}, restart=True)
    assert texts_of(results) == answers_of("parking")


@pytest.mark.spark
@pytest.mark.slow
def test_the_answers_on_spark(spark) -> None:
    results = run_on_spark(spark, SCRIPT.read_text(), Path(SCRIPT).parent, {"batch_rows": "30"})
    assert texts_of(results) == answers_of("parking")

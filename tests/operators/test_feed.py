"""Feed against its law: what every tuple gets, however steps are cut."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from millstream.algebra.changes import Changes
from millstream.algebra.time import Domain, Span
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.routine import Routine
from millstream.operators import Feed, Scan
from millstream.operators.fed import FedCall
from operators import feeding as routines
from operators.feeding import SCHEMA, elements

Tuple = tuple[int, str, float]
Row = tuple[int, str, float, float]
SCAN = Scan("bids", tuple((f.name, f.type) for f in SCHEMA), Domain.INTEGER, "")


def feed(*calls: FedCall) -> Feed:
    return Feed(calls, SCAN)


def call(
    routine: Routine,
    frame: Frame | None = None,
    by: tuple[str, ...] = ("item",),
    name: str = "r",
    **more: object,
) -> FedCall:
    return FedCall((name,), routine, ("price",), by, frame, **more)  # type: ignore[arg-type]


def run(node: Feed, tuples: list[Tuple], ends: list[int]) -> list[tuple[object, ...]]:
    """The rows that come out, with their instants, if steps end at these instants."""
    every, state, found, start = elements(tuples), {}, [], -1
    for end in ends:
        span = Span(start, end, 0)
        state, out = node.step(state, every.keep((every.ts > start) & (every.ts <= end)), span)
        assert ((out.ts > start) & (out.ts <= end)).all()
        found += list(zip(out.ts.tolist(), *(c.to_pylist() for c in out.rows.columns)))
        start = end
    return found


def cuts(rng: random.Random, last: int) -> Iterator[list[int]]:
    yield [last]
    yield list(range(last + 1))
    for _ in range(3):
        yield sorted({*rng.sample(range(last), min(last, 4)), last})


def some_tuples(rng: random.Random, count: int = 40) -> list[Tuple]:
    ts = sorted(rng.randrange(60) for _ in range(count))
    return [(t, rng.choice("ab"), float(rng.randrange(9))) for t in ts]


def windows(tuples: list[Tuple], by_item: bool = True) -> Iterator[tuple[int, list[Tuple]]]:
    """For every tuple its number and its partition up to it."""
    seen: dict[str, list[Tuple]] = {}
    for t in tuples:
        mine = seen.setdefault(t[1] if by_item else "", [])
        mine.append(t)
        yield len(mine), list(mine)


def within(frame: Frame, past: list[Tuple]) -> list[Tuple]:
    if frame.rows is not None:
        return past[-frame.rows :]
    if frame.length is not None:
        return [t for t in past if t[0] >= past[-1][0] - frame.length]
    return past


FRAMES = [Frame(rows=1), Frame(rows=4), Frame(length=0), Frame(length=7), Frame()]


@pytest.mark.parametrize("frame", FRAMES, ids=str)
@pytest.mark.parametrize("by", [("item",), ()], ids=str)
@pytest.mark.parametrize(
    ("routine", "fold"),
    [(routines.WINDOWED, sum), (routines.NAIVE, sum), (routines.MAX, max)],
    ids=["expire", "inwindow", "delete"],
)
def test_windows(frame: Frame, by: tuple[str, ...], routine: Routine, fold: object) -> None:
    rng = random.Random(repr((frame, by, routine)))
    for _ in range(5):
        tuples = some_tuples(rng)
        expected = [
            (*past[-1], fold([t[2] for t in within(frame, past)]))  # type: ignore[operator]
            for _, past in windows(tuples, bool(by))
        ]
        for ends in cuts(rng, 70):
            assert run(feed(call(routine, frame, by)), tuples, ends) == expected


def test_base_versions_without_a_window() -> None:
    rng = random.Random(1)
    tuples = some_tuples(rng)
    expected = [(*past[-1], sum(t[2] for t in past)) for _, past in windows(tuples)]
    for ends in cuts(rng, 70):
        assert run(feed(call(routines.RUNNING)), tuples, ends) == expected
        assert run(feed(call(routines.SUM, ending=Ending.EACH)), tuples, ends) == expected


def test_calls_that_return_several_rows_or_none() -> None:
    tuples = [(1, "a", 3.0), (2, "a", 4.0)]
    calls = call(routines.TWICE), call(routines.TWICE, name="s"), call(routines.RUNNING, name="t")
    found = run(feed(*calls), tuples, [5])
    assert sorted(row[3:] for row in found) == [
        (4.0, 4.0, 7.0),
        (4.0, 8.0, 7.0),
        (8.0, 4.0, 7.0),
        (8.0, 8.0, 7.0),
    ]


@pytest.mark.parametrize("slide", [1, 3, 5])
def test_slides_by_rows(slide: int) -> None:
    rng, frame = random.Random(slide), Frame(rows=4)
    tuples = some_tuples(rng)
    expected = [
        (*past[-1], sum(t[2] for t in within(frame, past)))
        for number, past in windows(tuples)
        if number % slide == 0
    ]
    tumbles = call(routines.SUM, frame, slide=slide, ending=Ending.WANTED, restarts=True)
    for ends in cuts(rng, 70):
        assert run(feed(call(routines.WINDOWED, frame, slide=slide)), tuples, ends) == expected
        if slide >= 4:
            assert run(feed(tumbles), tuples, ends) == expected


@pytest.mark.parametrize("slide", [1, 4, 10])
def test_slides_by_time(slide: int) -> None:
    rng, frame = random.Random(slide), Frame(length=6)
    tuples = some_tuples(rng)
    last: dict[tuple[str, int], Row] = {}
    for _, past in windows(tuples):
        end = -(-past[-1][0] // slide) * slide
        value = sum(t[2] for t in within(frame, past))
        last[past[-1][1], end] = (end, past[-1][1], past[-1][2], value)
    for ends in cuts(rng, 70):
        node = feed(call(routines.WINDOWED, frame, slide=slide, by_rows=False))
        assert sorted(run(node, tuples, ends)) == sorted(last.values())


def test_active_expiration_gives_rows_when_tuples_leave() -> None:
    tuples = [(1, "a", 3.0), (2, "a", 4.0), (2, "b", 1.0), (9, "a", 5.0)]
    node = feed(call(routines.ACTIVE, Frame(length=3, active=True)))
    expected = [
        (1, "a", 3.0, 3.0),
        (2, "a", 4.0, 7.0),
        (2, "b", 1.0, 1.0),
        (5, "a", 3.0, 4.0),
        (6, "a", 4.0, 0.0),
        (6, "b", 1.0, 0.0),
        (9, "a", 5.0, 5.0),
    ]
    for ends in cuts(random.Random(1), 12):
        assert run(node, tuples, ends) == expected


def test_many_partitions_are_not_written_again() -> None:
    """A step that brings one partition writes that one."""
    count = 40_000
    tuples = [(i // 1000, f"p{i}", float(i)) for i in range(count)]
    node = feed(call(routines.RUNNING), call(routines.NAIVE, Frame(rows=2), name="s"))
    state, _ = node.step({}, elements(tuples), Span(-1, 40, 0))
    for seq, at in enumerate((41, 42), count):
        before, more = state, replace(elements([(at, "p7", 1.0)]), seq=np.array([seq]))
        state, out = node.step(before, more, Span(at - 1, at, 0))
    assert out.rows.to_pylist() == [{"item": "p7", "price": 1.0, "r": 9.0, "s": 2.0}]
    for name, part in state.items():
        known = {id(chunk) for chunk in before[name].chunks}
        fresh = [chunk for chunk in part.chunks if id(chunk) not in known]
        assert sum(chunk.rows for chunk in fresh) <= 4, name


def test_a_step_without_rows_changes_nothing() -> None:
    node = feed(call(routines.WINDOWED, Frame(rows=3)))
    state, out = node.step({}, Changes.empty(SCHEMA), Span(0, 1, 0))
    assert (state, len(out)) == ({}, 0)


def test_a_node_that_has_run_can_be_sent_to_workers() -> None:
    node, tuples = feed(call(routines.WINDOWED, Frame(rows=3))), some_tuples(random.Random(3))
    expected = run(node, tuples, [70])
    assert run(pickle.loads(pickle.dumps(node)), tuples, [70]) == expected

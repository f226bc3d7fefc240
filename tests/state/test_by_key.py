"""Rows and bags by key against dictionaries, from few to many and back."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

from millstream.state.by_key import BagByKey, RowByKey
from millstream.state.chunks import Log

ROWS = pa.schema([("k", pa.int64()), ("w", pa.string()), ("total", pa.float64())])
BAG = pa.schema([("k", pa.int64()), ("value", pa.string()), ("#count", pa.int64())])


@pytest.fixture(params=[2, 20, 1000])
def much(request, monkeypatch):
    monkeypatch.setattr("millstream.state.by_key.MUCH", request.param)
    monkeypatch.setattr("millstream.state.by_key.RARELY", 0)
    monkeypatch.setattr("millstream.state.by_key.OFTEN", 0)
    monkeypatch.setattr("millstream.state.index.SMALL", 4)
    return request.param


def batch(schema: pa.Schema, rows: list[tuple]) -> pa.RecordBatch:
    columns = list(zip(*rows)) if rows else [()] * len(schema)
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, schema)], schema=schema
    )


def listed(rows: pa.RecordBatch) -> list[tuple]:
    return list(zip(*(c.to_pylist() for c in rows.columns))) if rows.num_rows else []


@pytest.mark.parametrize("seed", range(20))
def test_rows_by_key_are_a_dictionary(much, seed):
    chance, known, part, modes = random.Random(seed), {}, None, set()
    for step in range(40):
        alive = 60 if step < 25 else 2
        keys = [(chance.choice([None, *range(40)]), chance.choice("ab")) for _ in range(12)]
        before = RowByKey(part, ROWS, 2)
        touched = {
            (k, w): t
            for k, w, t in listed(
                before.touched(batch(ROWS, [(*k, 0.0) for k in keys]).select([0, 1]))
            )
        }
        assert all(touched.get(key) == known.get(key) for key in keys)
        assert all(known[key] == total for key, total in touched.items())
        news = {k: chance.random() for k in keys if chance.randrange(60) < alive}
        gone = [k for k in touched if k not in news and (k in keys)]
        now = {**{k: t for k, t in touched.items() if k not in gone}, **news}
        known = {**{k: t for k, t in known.items() if k not in gone}, **news}
        part = before.after(
            batch(ROWS, [(*k, touched[k]) for k in gone]),
            batch(ROWS, [(*k, t) for k, t in now.items()]),
            1,
        )
        modes.add(isinstance(part, Log))
        every = listed(RowByKey(part, ROWS, 2).rows())
        assert len(every) == len(known) and {(k, w): t for k, w, t in every} == known
    assert modes == {False} if much == 1000 else True in modes


@pytest.mark.parametrize("seed", range(20))
def test_bags_by_key_are_counters(much, seed):
    chance, known, part, modes = random.Random(seed), Counter(), None, set()
    for step in range(40):
        keys = chance.sample(range(15), 5)
        bag = BagByKey(part, BAG, 1)
        old = bag.touched(batch(BAG, [(k, None, 0) for k in keys]).select([0]))
        here = Counter({(k, v): n for k, v, n in listed(old)})
        assert len(here) == old.num_rows and all(n > 0 for n in here.values())
        mine = {e: n for e, n in known.items() if e[0] in keys}
        assert all(here[e] == n for e, n in mine.items())
        assert all(known[e] == n for e, n in here.items())
        more = Counter((chance.choice(keys), chance.choice([None, *"abcdefgh"])) for _ in range(9))
        new = (
            here + more
            if step < 20
            else Counter({e: n for e, n in here.items() if e[0] not in keys})
        )
        known = known - here + new
        part = bag.after(old, batch(BAG, [(*e, n) for e, n in new.items()]), 1, False)
        modes.add(isinstance(part, Log))
    assert modes == {False} if much == 1000 else True in modes

"""Orders and meetings of hashes against NumPy's sort and all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from millstream.columns.hashed import hash_order, meetings, numbered, tuple_order

SPREADS = {"few": 3, "some": 50, "many": 2**62}
SIZES = (0, 1, 2, 33, 1000, 20_000)


@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS)
@pytest.mark.parametrize("size", SIZES)
def test_orders_are_those_of_a_stable_sort(size, spread):
    random = np.random.default_rng([size, spread])
    hashes, seq, exp = (random.integers(-n, n, size) for n in (spread, 2, 2))
    order = hash_order(hashes)
    wanted = np.argsort(hashes, kind="stable")
    assert np.array_equal(np.arange(size) if order is None else order, wanted)
    assert np.array_equal(tuple_order(hashes, seq, exp), np.lexsort((exp, seq, hashes)))
    values, places = numbered(hashes)
    assert np.array_equal(values, np.unique(hashes)) and np.array_equal(values[places], hashes)


@pytest.mark.parametrize("known", SIZES[:5])
@pytest.mark.parametrize("needles", SIZES[:5])
def test_meetings_are_all_pairs_of_equal_numbers(known, needles, monkeypatch):
    monkeypatch.setattr("millstream.columns.hashed.MOST_PAIRS", 100)
    random = np.random.default_rng([known, needles])
    mine, theirs = (np.sort(random.integers(0, 400, n)) for n in (known, needles))
    met = [
        pair for blocks in meetings(mine, theirs) for pair in zip(*map(np.ndarray.tolist, blocks))
    ]
    there, needle = np.nonzero(mine[:, None] == theirs[None, :])
    assert sorted(met) == sorted(zip(there.tolist(), needle.tolist()))

"""Loops over rows give the same as plain Python and as machine code."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.identity import identity_of_pair, identity_of_values
from millstream.columns import native as natives
from millstream.columns.keys import buckets_of, factorize, hashes_of
from millstream.columns.native import FEW, Allowance, Native
from millstream.testing.golden import check_golden

GOLDEN = Path(__file__).parents[2] / "golden"

ROWS = 200
RANDOM = np.random.default_rng(7)
WORDS = RANDOM.integers(-(2**63), 2**63 - 1, ROWS)
COLUMNS = (
    pa.array(WORDS),
    pa.array(RANDOM.integers(0, 9, ROWS)),
    pa.array(RANDOM.normal(size=ROWS)),
    pa.array([f"{word}ä" for word in WORDS]),
    pa.array([[1, int(word)] for word in WORDS]),
)


@pytest.fixture
def plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop is compiled, however many rows there are."""

    def call(self: Native, *arguments: object) -> object:
        with np.errstate(all="ignore"):
            return self._function(*arguments)

    monkeypatch.setattr(Native, "__call__", call)


def what_is_kept() -> list[np.ndarray]:
    """Numbers that lie in checkpoints, or say to which bucket a row goes."""
    rows = pa.RecordBatch.from_arrays(list(COLUMNS), names=list("abcde"))
    found = [
        buckets_of(COLUMNS, ROWS, 7),
        identity_of_values(rows, ROWS),
        identity_of_pair(WORDS, WORDS),
    ]
    for column in COLUMNS:
        found += [hashes_of([column], ROWS), *factorize([column], ROWS)]
    return found


def test_hashes_and_identities_are_the_same(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(natives, "allowance", Allowance(0))
    compiled = what_is_kept()
    request.getfixturevalue("plainly")
    for ours, plain in zip(compiled, what_is_kept(), strict=True):
        assert ours.dtype == plain.dtype
        np.testing.assert_array_equal(ours, plain)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(GOLDEN.rglob("*.test")), ids=lambda path: path.stem)
def test_golden_files_give_the_same(path: Path, plainly: None) -> None:
    failures = check_golden(path)
    assert not failures, "\n\n".join(failures)


def test_few_rows_are_not_compiled_until_they_are_many_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(natives, "allowance", Allowance(500))
    doubled = natives.native(_doubled)
    few, many = np.arange(200), np.arange(FEW + 1)
    for compiled in (False, False, False, False, True):
        assert (doubled._compiled is not None) == compiled
        np.testing.assert_array_equal(doubled(few), 2 * few)
    other = natives.native(_doubled)
    monkeypatch.setattr(natives, "allowance", Allowance(500))
    np.testing.assert_array_equal(other(many), 2 * many)
    assert other._compiled is not None


def _doubled(values):  # type: ignore[no-untyped-def]
    out = np.empty(len(values), np.int64)
    for i in range(len(values)):
        out[i] = 2 * values[i]
    return out


def test_a_loop_is_pickled_by_its_name() -> None:
    from millstream.columns.order import is_sorted

    assert pickle.loads(pickle.dumps(is_sorted)) is is_sorted


def test_an_answer_from_few_rows_needs_no_numba(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("ts,item,price\n1,lamp,20\n2,vase,30\n2,lamp,1\n")
    code = (
        "import sys\n"
        "from millstream import connect\n"
        "with connect(host='local', base=sys.argv[1]) as db:\n"
        "    db.execute('''CREATE STREAM bids (ts bigint, item string, price double)\n"
        "      ORDER BY ts SOURCE 'bids.csv';\n"
        "      CREATE VIEW totals AS SELECT item, sum(price) AS total FROM bids GROUP BY item;\n"
        "      CREATE VIEW pairs AS SELECT a.item FROM bids [Range 5] a, totals b\n"
        "      WHERE a.item = b.item AND b.total > 20;''')\n"
        "    db.run()\n"
        "assert 'numba' not in sys.modules, 'use millstream.columns.native for loops over rows'\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)

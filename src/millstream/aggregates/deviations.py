"""Variance and standard deviation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.distinct import with_distinct
from millstream.aggregates.numeric import double_of_number
from millstream.aggregates.running import Running
from millstream.aggregates.totals import squares_of


@dataclass(frozen=True)
class _Deviation:
    """The mean square, or its root, over one less than there are where that is `less`; NULL for
    fewer than one value more than that."""

    less: int
    root: bool

    def __call__(
        self,
        counts: np.ndarray,
        sums: tuple[np.ndarray, ...],
        argument: pa.DataType,
        kind: pa.DataType,
    ) -> pa.Array:
        with np.errstate(all="ignore"):
            mean = sums[0] / (counts - self.less)
            return pa.array(np.sqrt(mean) if self.root else mean, mask=counts < self.less + 1)


def _deviation(
    name: str, meaning: str, less: int, root: bool, aliases: tuple[str, ...] = ()
) -> Aggregate:
    way = Running(squares_of, _Deviation(less, root))
    bare = Aggregate(name, f"{name}(x)", meaning, double_of_number, way, aliases=aliases)
    return with_distinct(bare)


VAR_SAMP = _deviation(
    "var_samp", "variance of a sample; NULL for fewer than 2 values", 1, False, ("variance",)
)
VAR_POP = _deviation("var_pop", "variance of all there is", 0, False)
STDDEV_SAMP = _deviation(
    "stddev_samp",
    "standard deviation of a sample; NULL for fewer than 2",
    1,
    True,
    ("stddev", "std"),
)
STDDEV_POP = _deviation("stddev_pop", "standard deviation of all there is", 0, True)

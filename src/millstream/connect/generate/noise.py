"""Numbers that look random, each a pure function of a seed, a word and a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Noise:
    """SplitMix64 at the place of a number, one stream for each word and seed."""

    seed: int

    def hash(self, numbers: np.ndarray, salt: str) -> np.ndarray:
        begin = _mix(np.uint64(int.from_bytes(salt.encode()[:8].ljust(8), "little")))
        with np.errstate(over="ignore"):
            begin = _mix(begin + np.uint64(self.seed % 2**64))
            return _mix(begin + numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))

    def bits(self, numbers: np.ndarray, salt: str, count: int) -> np.ndarray:
        return self.hash(numbers, salt) >> np.uint64(64 - count)

    def normal(self, numbers: np.ndarray, salt: str) -> np.ndarray:
        """About normal, with mean 0 and deviation 1: the sum of four uniform numbers nearly is."""
        hashes, total = self.hash(numbers, salt), np.zeros(len(numbers))
        for shift in (0, 16, 32, 48):
            total += ((hashes >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.float64)
        return (total / 65536 - 2) * 3**0.5


def _mix(z: Any) -> Any:
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

"""Line ends of CSV text outside quoted cells, as a native loop; only loaded when quotes occur."""

from __future__ import annotations

import numpy as np
from numba import njit

START, PLAIN, QUOTED, CLOSED = 0, 1, 2, 3
_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")


@njit(cache=True)
def line_ends(data: np.ndarray, delimiter: int) -> tuple[np.ndarray, bool]:
    """The places after each line end outside quotes, and whether a quote is open at the end.

    A quote opens a quoted cell only at the cell's start, as Arrow reads it; inside one, two quotes
    are one quote of its text.
    """
    ends = np.empty(np.sum(data == _NEWLINE), np.int64)
    count, state = 0, START
    for i in range(len(data)):
        byte = data[i]
        if state == QUOTED:
            if byte == _QUOTE:
                state = CLOSED
        elif byte == _NEWLINE:
            ends[count] = i + 1
            count += 1
            state = START
        elif byte == delimiter:
            state = START
        elif byte == _QUOTE and state != PLAIN:
            state = QUOTED
        elif byte != _RETURN or state != START:
            state = PLAIN
    return ends[:count], state == QUOTED

"""Line ends of CSV text outside quoted cells, as a native loop; only loaded when quotes occur."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import native

START, PLAIN, QUOTED, CLOSED, STRAY = 0, 1, 2, 3, 4
_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")


@native
def line_ends(data: np.ndarray, delimiter: int, final: bool) -> tuple[np.ndarray, np.ndarray, bool]:
    """The place after each record, which records have a stray quote, and whether a quote is open.

    A quote opens a quoted cell only at the cell's start, as Arrow reads it; inside one, two quotes
    are one quote of its text. A quote is stray when its cell goes over a line end and then does not
    end where its quotes do, or when it is still open at the final end: its record is then one line.
    """
    ends = np.empty(np.sum(data == _NEWLINE) + 1, np.int64)
    stray = np.zeros(len(ends), np.bool_)
    count, state, first, i, spans = 0, START, 0, 0, False
    while i < len(data):
        byte = data[i]
        if state == QUOTED:
            if byte == _QUOTE:
                state = CLOSED
            spans = spans or byte == _NEWLINE
        elif byte == _NEWLINE:
            ends[count], stray[count] = i + 1, state == STRAY
            count += 1
            state, first, spans = START, i + 1, False
        elif state == STRAY or (byte == _RETURN and state != PLAIN):
            pass
        elif byte == delimiter:
            state = START
        elif byte == _QUOTE and state != PLAIN:
            state = QUOTED
        elif state == CLOSED and spans:
            state, i = STRAY, first - 1
        else:
            state = PLAIN
        i += 1
        if i == len(data) and final and state == QUOTED:
            state, i = STRAY, first
    if final and first < len(data):
        ends[count], stray[count] = len(data), state == STRAY
        count += 1
    return ends[:count], stray[:count], state == QUOTED

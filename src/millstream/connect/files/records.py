"""Records in the bytes of a text file: where they end, and how many to take at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from millstream.connect.files.packed import Unfinished, read_range, size_of
from millstream.errors import MillstreamError

MOST_BYTES = 32 << 20
_NEWLINE, _RETURN, _QUOTE = ord("\n"), ord("\r"), ord('"')
STRAY_QUOTE = "a quote is opened and not closed"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Records:
    """The records of some bytes, line ends included; blank lines are none."""

    data: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    stray: np.ndarray | None = None
    open_quote: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    def piece(self, low: int, high: int) -> memoryview:
        """Records low…high as they stand, with the blank lines between them."""
        return self.data.data[self.starts[low] : self.ends[high - 1]]

    def text(self, i: int, most: int | None = None) -> str:
        """One record without its line end; bytes that are not UTF-8 are shown as �."""
        return self.raw(i)[:most].decode("utf-8", "replace")

    def raw(self, i: int) -> bytes:
        return self.piece(i, i + 1).tobytes().rstrip(b"\r\n")


@dataclass(frozen=True)
class Cut:
    """A piece of a file that ends with a record: its end, its records, and why it is refused."""

    end: int
    rows: int
    refused: str | None = None


def find_records(data: np.ndarray, quoting: int | None, final: bool) -> Records:
    """The records of bytes that begin one; `quoting` is the CSV delimiter, None for plain lines.

    When `final`, what follows the last line end is a record too.
    """
    stray, open_quote = None, False
    if quoting is not None and (data == _QUOTE).any():
        from millstream.connect.files.quotes import line_ends

        ends, stray, open_quote = line_ends(data, quoting, final)
    else:
        ends = np.flatnonzero(data == _NEWLINE) + 1
        if final and len(data) > (ends[-1] if len(ends) else 0):
            ends = np.append(ends, len(data))
    if not len(ends):
        return Records(data, ends, ends, open_quote=open_quote)
    starts = np.concatenate([np.zeros(1, ends.dtype), ends[:-1]])
    filled = np.flatnonzero(~_are_blank(data, starts, ends))
    stray = stray[filled] if stray is not None and stray.any() else None
    return Records(data, starts[filled], ends[filled], stray, open_quote)


def _are_blank(data: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    first, second = data[starts], data[np.minimum(starts + 1, len(data) - 1)]
    lone = (second == _NEWLINE) | (ends == starts + 1)
    return (first == _NEWLINE) | ((first == _RETURN) & lone)


def cut_records(
    file: str, start: int, rows: int, quoting: int | None, final: bool, longest: int
) -> Cut | None:
    """The next piece of a file with at most `rows` records; None when no record is complete yet.

    A record longer than `longest` bytes is a piece by itself, found in constant memory. A quote
    that stays open over more than a piece can hold is a stray one: its record is one line. A gzip
    file that is not `final` counts once it is whole.
    """
    try:
        size = size_of(file)
    except Unfinished:
        if final:
            raise
        return None
    if size < start:
        raise MillstreamError(
            f'file "{file}" has become shorter than what was read of it',
            detail=f"{start:,} bytes were read, {size:,} are there.",
            hint="Append to a followed file, or add new files; do not rewrite it.",
        )
    most, want = max(MOST_BYTES, 2 * longest), max(rows, 1) * 64 + 1024
    while start < size:
        length = min(want, most, size - start)
        at_end = final and start + length == size
        records = find_records(read_range(file, start, start + length), quoting, at_end)
        if len(records) >= rows or start + length == size or length == most:
            break
        want = max(length * 2, int(length / max(len(records), 1) * rows * 1.1))
    else:
        return None
    if len(records):
        return _take(records, start, rows, longest)
    return _refuse(file, start, records.data, records.open_quote, at_end or length == most, longest)


def _take(records: Records, start: int, rows: int, longest: int) -> Cut:
    taken = min(rows, len(records))
    long = np.flatnonzero(records.ends[:taken] - records.starts[:taken] > longest)
    if len(long) and long[0] == 0:
        size = int(records.ends[0] - records.starts[0])
        return Cut(start + int(records.ends[0]), 1, _too_long(size, longest))
    taken = int(long[0]) if len(long) else taken
    return Cut(start + int(records.ends[taken - 1]), taken)


def _refuse(
    file: str, start: int, seen: np.ndarray, open_quote: bool, closed: bool, longest: int
) -> Cut | None:
    """No record ends in what was seen: skip blank lines, refuse, or wait for more."""
    blank = _blank_lines(seen)
    if blank:
        return Cut(start + blank, 0)
    if not closed:
        return None
    size = size_of(file)
    end = _line_end(file, start if open_quote else start + len(seen), size)
    if end - start > longest:
        return Cut(end, 1, _too_long(end - start, longest))
    return Cut(end, 1, STRAY_QUOTE)


def _blank_lines(data: np.ndarray) -> int:
    """How many bytes of line ends the data begins with."""
    filled = np.flatnonzero((data != _NEWLINE) & (data != _RETURN))
    lead = data[: filled[0]] if len(filled) else data
    ends = np.flatnonzero(lead == _NEWLINE)
    return int(ends[-1]) + 1 if len(ends) else 0


def _line_end(file: str, start: int, size: int) -> int:
    for low in range(start, size, 1 << 20):
        found = read_range(file, low, low + (1 << 20)).tobytes().find(b"\n")
        if found >= 0:
            return low + found + 1
    return size


def _too_long(size: int, longest: int) -> str:
    return f"the row has {size:,} bytes, more than max_row_bytes = {longest:,}"

"""Formats of times: those of strptime, `%d/%m/%Y %H:%M`, and those of Spark, `dd/MM/yyyy HH:mm`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.reading import Converted, from_text

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
CENTURY = 69
"""Years of two digits from 69 on are of the last century, as strptime has it."""

_TWO = ("month", "day", "hour", "half_hour", "minute", "second")
_PATTERNS = {
    "year": "[0-9]{4}",
    "short_year": "[0-9]{2}",
    "month_name": "[A-Za-z]{3,9}",
    "weekday": "[A-Za-z]{3,9}",
    "fraction": "[0-9]{1,9}",
    "half": "[AaPp][Mm]",
    "zone": "(?:Z|z|UTC|GMT|[-+][0-9]{2}(?::?[0-9]{2})?)",
}
_PERCENT = {
    "Y": ("year",),
    "y": ("short_year",),
    "m": ("month",),
    "d": ("day",),
    "e": ("day",),
    "b": ("month_name",),
    "B": ("month_name",),
    "h": ("month_name",),
    "a": ("weekday",),
    "A": ("weekday",),
    "H": ("hour",),
    "I": ("half_hour",),
    "M": ("minute",),
    "S": ("second",),
    "f": ("fraction",),
    "p": ("half",),
    "z": ("zone",),
    "Z": ("zone",),
    "T": ("hour", ":", "minute", ":", "second"),
    "R": ("hour", ":", "minute"),
    "F": ("year", "-", "month", "-", "day"),
    "D": ("month", "/", "day", "/", "short_year"),
    "%": ("%",),
}
_JAVA = r"'(?P<quoted>(?:[^']|'')*)'|(?P<run>(?P<letter>[A-Za-z])(?P=letter)*)|."
_LETTERS = {
    "d": "day",
    "H": "hour",
    "h": "half_hour",
    "m": "minute",
    "s": "second",
    "S": "fraction",
    "a": "half",
    "E": "weekday",
    "X": "zone",
    "x": "zone",
    "Z": "zone",
}


@dataclass(frozen=True)
class TimeFormat:
    """A format as its pieces: parts of a time by name, and the text between them."""

    pieces: tuple[str, ...]

    @staticmethod
    def of(text: str) -> TimeFormat:
        """The format of a text; ValueError says what of it is not known, or missing."""
        pieces = tuple(_percent_pieces(text) if "%" in text else _letter_pieces(text))
        parts = [piece for piece in pieces if _is_part(piece)]
        if twice := next((part for part in parts if parts.count(part) > 1), None):
            raise ValueError(f"it has two parts for the {twice.replace('_', ' ')}")
        for names in (("year", "short_year"), ("month", "month_name"), ("day",)):
            if not set(names) & set(parts):
                raise ValueError(f"it has no {names[0]}")
        if ("half" in parts) != ("half_hour" in parts):
            raise ValueError("hours up to 12 and AM or PM go together")
        return TimeFormat(pieces)

    def read(self, cells: pa.Array) -> Converted:
        """Texts as timestamps; those with a zone become UTC."""
        found = pc.extract_regex(pc.utf8_trim_whitespace(cells), self._pattern)
        blank = pc.equal(pc.utf8_trim_whitespace(cells), "").fill_null(True)
        read = from_text(self._iso(found), pa.timestamp("us"))
        bad = pc.and_(found.is_null(), pc.invert(blank)).to_numpy(zero_copy_only=False)
        if read.bad is not None:
            bad = bad | read.bad
        return Converted(read.values, np.asarray(bad) if bad.any() else None)

    @cached_property
    def _pattern(self) -> str:
        """Numbers have one or two digits, and two where they touch another number."""
        sources = []
        for i, piece in enumerate(self.pieces):
            if not _is_part(piece):
                sources.append(re.sub(r"\s+", r"\\s+", _quoted(piece)))
                continue
            beside = (*self.pieces[max(i - 1, 0) : i], *self.pieces[i + 1 : i + 2])
            digits = "{2}" if any(map(_is_number, beside)) else "{1,2}"
            source = f"[0-9]{digits}" if piece in _TWO else _PATTERNS[piece]
            sources.append(f"(?P<{piece}>{source})")
        return f"^{''.join(sources)}$"

    def _iso(self, found: pa.StructArray) -> pa.Array:
        """The parts in the order of ISO 8601."""

        def part(name: str, missing: str) -> pa.Array:
            if name not in self.pieces:
                return pa.repeat(pa.scalar(missing), len(found))
            return pc.struct_field(found, name)

        def two(name: str) -> pa.Array:
            return pc.utf8_lpad(part(name, "00"), 2, "0")

        year = part("year", "")
        if "short_year" in self.pieces:
            short = part("short_year", "")
            old = pc.greater_equal(short.cast(pa.int64()), CENTURY)
            year = pc.binary_join_element_wise(pc.if_else(old, "19", "20"), short, "")
        month = two("month")
        if "month_name" in self.pieces:
            month = _month_numbers(part("month_name", ""))
        hour = two("hour")
        if "half" in self.pieces:
            hour = _whole_hours(part("half_hour", ""), part("half", ""))
        date = pc.binary_join_element_wise(year, month, two("day"), "-")
        clock = pc.binary_join_element_wise(hour, two("minute"), two("second"), ":")
        fraction = part("fraction", "0")
        return pc.binary_join_element_wise(date, "T", clock, ".", fraction, part("zone", ""), "")


def _percent_pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for letter, between in re.findall(r"%(.?)|([^%]+)", text):
        if between:
            pieces.append(between)
        elif letter not in _PERCENT:
            raise ValueError(f"%{letter} is not known")
        else:
            pieces += _PERCENT[letter]
    return pieces


def _letter_pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for found in re.finditer(_JAVA, text):
        if found["quoted"] is not None:
            pieces.append(found["quoted"].replace("''", "'") or "'")
        elif found["run"] is None:
            pieces.append(found[0])
        else:
            pieces.append(_letters(found["letter"], len(found["run"]), found["run"]))
    return pieces


def _letters(letter: str, count: int, run: str) -> str:
    """The part that a run of a letter is, in the patterns of Java and Spark."""
    if letter in "yu":
        return "short_year" if count == 2 else "year"
    if letter in "ML":
        return "month_name" if count > 2 else "month"
    if letter == "T" and count == 1:
        return "T"
    if letter not in _LETTERS:
        raise ValueError(f"{run} is not known")
    return _LETTERS[letter]


def _is_part(piece: str) -> bool:
    return piece in _TWO or piece in _PATTERNS


def _is_number(piece: str) -> bool:
    return piece in _TWO or piece in ("year", "short_year", "fraction")


def _quoted(text: str) -> str:
    return re.escape(text).replace(r"\ ", " ")


def _month_numbers(names: pa.Array) -> pa.Array:
    """Months by their first three letters, as numbers; others as 00, which is no month."""
    short = pc.utf8_slice_codeunits(pc.utf8_lower(names), 0, 3)
    numbers = pc.add(pc.index_in(short, pa.array(MONTHS)), 1).fill_null(0)
    texts = pc.utf8_lpad(numbers.cast(pa.string()), 2, "0")
    return pc.if_else(names.is_null(), pa.scalar(None, pa.string()), texts)


def _whole_hours(hours: pa.Array, halves: pa.Array) -> pa.Array:
    """Hours up to 12 with AM or PM as hours of the day; an hour above 12 as 99, which is none."""
    numbers = hours.cast(pa.int64())
    right = pc.and_(pc.greater_equal(numbers, 1), pc.less_equal(numbers, 12))
    noon = pc.multiply(pc.starts_with(pc.utf8_lower(halves), "p").cast(pa.int64()), 12)
    early = pc.if_else(pc.equal(numbers, 12), 0, numbers)
    whole = pc.if_else(right, pc.add(early, noon), 99)
    return pc.utf8_lpad(whole.cast(pa.string()), 2, "0")

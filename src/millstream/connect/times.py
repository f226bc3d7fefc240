"""How timestamps are written in a source: ISO 8601, a count since 1970, or a format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.reading import Converted, from_text, search
from millstream.algebra.spellings import FIRST_MICRO, LAST_MICRO, reader_of
from millstream.connect.casting import from_values, is_text, refusal
from millstream.connect.options import Kind, Option
from millstream.connect.time_formats import TimeFormat
from millstream.errors import MillstreamError, closest

EPOCHS = {"epoch_s": 1_000_000, "epoch_ms": 1_000, "epoch_us": 1}
"""Counts since 1970-01-01, and the microseconds of one."""

NUMBERS = pa.decimal128(28, 9)
_DIGITS = {10: "epoch_s", 13: "epoch_ms", 16: "epoch_us"}
"""How many digits the times of these years have in each."""


@dataclass(frozen=True)
class Times:
    """How timestamps are written: by the micros of one unit, by a format, or as ISO 8601.

    Law: each cell converts, or does not, by itself. Columns of other types are not concerned, nor
    are columns that hold timestamps as such.
    """

    micros: int | None = None
    format: TimeFormat | None = None

    def from_text(self, cells: pa.Array, type: pa.DataType) -> Converted:
        """Text cells as a declared type."""
        if not pa.types.is_timestamp(type):
            return from_text(cells, type)
        if self.format is not None:
            return self.format.read(cells)
        return from_text(cells, type) if self.micros is None else self._counted_text(cells)

    def from_values(self, values: pa.Array, type: pa.DataType) -> Converted:
        """Typed values as a declared type; `ArrowNotImplementedError` for kinds that never fit."""
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if not pa.types.is_timestamp(type):
            return from_values(values, type)
        if is_text(values.type):
            return self.from_text(values.cast(pa.string()), type)
        if self.micros is None or not _is_number(values.type):
            return from_values(values, type)
        try:
            return Converted(self._counted(values))
        except pa.ArrowInvalid:
            return search(values, self._counted)

    def refusal(self, column: str, cell: object, type: pa.DataType) -> str:
        """Why a cell is bad, and what to say of a time that is written otherwise."""
        return refusal(column, cell, type) + self.advice(cell, type)

    def advice(self, cell: object, type: pa.DataType) -> str:
        """What to write in the declaration for a cell that looks like a time of another kind."""
        if not pa.types.is_timestamp(type) or self != ISO:
            return ""
        text = str(cell).strip()
        if re.fullmatch(r"[0-9]+", text) and (unit := _DIGITS.get(len(text))):
            return f"; if it counts from 1970, say WITH (timestamp = '{unit}')"
        if re.match(r"[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2,4}", text):
            return f"; say its format, such as WITH (timestamp = '{EXAMPLE}')"
        return ""

    def _counted_text(self, cells: pa.Array) -> Converted:
        assert self.micros is not None
        try:
            return Converted(self._counted(reader_of(pa.int64())(cells)))
        except pa.ArrowInvalid:
            numbers = from_text(cells, NUMBERS)
            read = search(numbers.values, self._counted)
        if numbers.bad is None or read.bad is None:
            return Converted(read.values, read.bad if numbers.bad is None else numbers.bad)
        return Converted(read.values, numbers.bad | read.bad)

    def _counted(self, numbers: pa.Array) -> pa.Array:
        """Counts as timestamps; fractions of a microsecond are cut off, of doubles rounded."""
        assert self.micros is not None
        if pa.types.is_floating(numbers.type):
            if pc.any(pc.invert(pc.is_finite(numbers))).as_py():
                raise pa.ArrowInvalid("not finite")
            micros = pc.round(pc.multiply(numbers.cast(pa.float64()), float(self.micros)))
        elif pa.types.is_decimal(numbers.type):
            factor = pa.scalar(Decimal(self.micros), pa.decimal128(7, 0))
            micros = pc.floor(pc.multiply(numbers.cast(NUMBERS), factor)).cast(pa.decimal128(38, 0))
        else:
            micros = pc.multiply_checked(numbers.cast(pa.int64()), self.micros)
        micros = micros.cast(pa.int64())
        first, last = pc.min_max(micros).as_py().values()
        if first is not None and (first < FIRST_MICRO or last > LAST_MICRO):
            raise pa.ArrowInvalid("not in the years 1 to 9999")
        return micros.cast(pa.timestamp("us"))


ISO = Times()
EXAMPLE = "%d/%m/%Y %H:%M:%S"


def _is_number(type: pa.DataType) -> bool:
    return pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type)


def _times(text: str) -> Times:
    word = text.strip().lower()
    if word in EPOCHS:
        return Times(EPOCHS[word])
    if word.startswith("epoch") or closest(word, tuple(EPOCHS)):
        raise MillstreamError(
            f'option "timestamp" is "{text}", which does not exist',
            hint=f"Use {', '.join(EPOCHS)}, or a format.",
        )
    try:
        return Times(format=TimeFormat.of(text))
    except ValueError as error:
        raise MillstreamError(
            f'option "timestamp" is "{text}", which is no format: {error}',
            hint=f"Write timestamp = '{EXAMPLE}', or dd/MM/yyyy HH:mm:ss.",
        ) from None


TIMESTAMP_OPTION = Option(
    "timestamp",
    Kind(_times, "not a way to write times"),
    "how timestamps are written: `epoch_s`, `epoch_ms`, `epoch_us`, or a format such as "
    f"`{EXAMPLE}` or `dd/MM/yyyy HH:mm:ss`",
    "epoch_ms",
    otherwise="ISO 8601",
)

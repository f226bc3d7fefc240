"""Options of sources: declared once, and read from there by checks, messages and the manual."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from millstream.algebra.reading import from_text
from millstream.errors import MillstreamError, closest

SMALL = Fraction(1, 1_000_000)
MOST = 10**12


@dataclass(frozen=True)
class Kind:
    """What an option may be: how its text is read, and what to say of a text that is wrong.

    `read` raises ValueError for such a text. `words` are all there are, where they can be listed.
    """

    read: Callable[[str], Any]
    wrong: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """An option: its name, what it may be, and what the manual says about it.

    `default` is the text that holds where none is given; None where leaving it out means something
    else, which `otherwise` says. `example` is a value that is right.
    """

    name: str
    kind: Kind
    meaning: str
    example: str
    default: str | None = None
    otherwise: str = ""


@dataclass(frozen=True)
class Options:
    """The options of one kind of source. `written` is how one is written, with its value."""

    of: str
    declared: tuple[Option, ...]
    word: str = "option"
    written: str = "{} = '{}'"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(option.name for option in self.declared)

    def read(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The values of all options; an error for a name or a value that is not right."""
        for name in given:
            if name not in self.names:
                raise self.missing(name)
        return {option.name: self._value(option, given) for option in self.declared}

    def missing(self, name: str) -> MillstreamError:
        """What to say about a name that none of them has."""
        meant, these = closest(name, self.names), ", ".join(self.names)
        hint = f"{self.of[0].upper()}{self.of[1:]} has {these}." if these else "It has none."
        return MillstreamError(
            f'{self.word} "{name}" of {self.of} does not exist',
            hint=f"Did you mean {meant}?" if meant else hint,
        )

    def _value(self, option: Option, given: Mapping[str, str]) -> Any:
        text = given.get(option.name, option.default)
        if text is None:
            return None
        try:
            return option.kind.read(text)
        except (ValueError, ZeroDivisionError):
            raise MillstreamError(
                f'{self._called(option)} is "{text}", {option.kind.wrong}',
                hint=self._right(option, text),
            ) from None

    def _called(self, option: Option) -> str:
        owner = f" of {self.of}" if self.word == "parameter" else ""
        return f'{self.word} "{option.name}"{owner}'

    def _right(self, option: Option, text: str) -> str:
        if not option.kind.words:
            return f"Write {self.written.format(option.name, option.example)}."
        meant = closest(text.lower(), option.kind.words)
        return f"Did you mean {meant}?" if meant else f"Use {', '.join(option.kind.words)}."


def words(*allowed: str, same: Mapping[str, str] | None = None) -> Kind:
    """One of some words, in any case; `same` are other spellings of them."""

    def read(text: str) -> str:
        word = (same or {}).get(text.lower(), text.lower())
        if word not in allowed:
            raise ValueError(text)
        return word

    return Kind(read, "which does not exist", allowed)


def whole(least: int | None = None, most: int = MOST, wrong: str = "") -> Kind:
    """A whole number in some bounds."""

    def read(text: str) -> int:
        number = int(text)
        if least is not None and not least <= number <= most:
            raise ValueError(text)
        return number

    said = "not a whole number" if most == MOST else f"not a whole number from {least} to {most:,}"
    return Kind(read, wrong or said)


def _fraction(text: str) -> Fraction:
    number = Fraction(text).limit_denominator(1_000_000)
    if not SMALL <= number <= MOST:
        raise ValueError(text)
    return number


def _timestamp(text: str) -> int:
    found = from_text(pa.array([text]), pa.timestamp("us"))
    if found.bad is not None or found.values.null_count:
        raise ValueError(text)
    return int(found.values.cast(pa.int64())[0].as_py())


def _character(text: str) -> str:
    text = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(text) != 1 or not text.isascii() or text in '"\r\n':
        raise ValueError(text)
    return text


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


TEXT = Kind(str, "")
LENGTH = Kind(str, "not a length of time")
"""A length of time: what its units are depends on the stream, so the binder reads it."""

TRUTH = Kind(_truth, "neither true nor false")
CHARACTER = Kind(_character, "not one character")
FRACTION = Kind(_fraction, "not a number above 0")
TIMESTAMP = Kind(_timestamp, "not a timestamp")

OF_STREAMS = Options(
    "a stream",
    (
        Option(
            "ahead",
            LENGTH,
            "a row whose instant is further than that beyond the largest so far is a bad row",
            "1 hour",
            otherwise="any row is taken",
        ),
        Option(
            "idle",
            LENGTH,
            "a source, or a partition, that is silent for so long holds nobody back",
            "10 seconds",
            otherwise="everybody waits",
        ),
        Option(
            "silence",
            words("clock"),
            "when all that a query reads has been silent for longer than `idle`, time goes on by "
            "the clock",
            "clock",
            otherwise="time stands still",
        ),
    ),
)
"""Those of all streams, whatever their source."""

OF_RAW = Options(
    "a registered source",
    (
        Option(
            "changes",
            words("debezium"),
            "its elements are records of changes, with the row `before` and `after`, what was done "
            "(`op`) and when (`ts_ms`)",
            "debezium",
            otherwise="a column `op` says what an element does, or each of them is a row",
        ),
    ),
)
"""Those of REGISTER SOURCE."""

OF_TABLES = Options(
    "a table",
    (
        Option(
            "time",
            words(
                "integer", "timestamp", "current_time", "seconds", "milliseconds", "microseconds"
            ),
            "what the times of its changes are; `seconds`, `milliseconds` and `microseconds` are "
            "integers in the `ts` of its source that count those",
            "integer",
            otherwise="as the changes show",
        ),
    ),
)
"""Those of all tables."""

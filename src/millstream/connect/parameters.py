"""The parameters of a generator's URL, each read with an error that says what would be right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qsl

import pyarrow as pa

from millstream.connect.casting import from_text
from millstream.errors import MillstreamError, closest

SMALL = Fraction(1, 1_000_000)
MOST = 10**12


@dataclass(frozen=True)
class Parameters:
    """What stands behind the `?` of `generate:NAME?…`."""

    generator: str
    given: Mapping[str, str]

    @staticmethod
    def of(generator: str, query: str, known: tuple[str, ...]) -> Parameters:
        given = dict(parse_qsl(query, keep_blank_values=True))
        for parameter in given:
            if parameter not in known:
                meant = closest(parameter, known)
                raise MillstreamError(
                    f'parameter "{parameter}" of generate:{generator} does not exist',
                    hint=f"Did you mean {meant}?" if meant else f"It has {', '.join(known)}.",
                )
        return Parameters(generator, given)

    def whole(
        self, name: str, default: Any, example: int, least: int | None = None, most: int = MOST
    ) -> Any:
        """A whole number, or the default where it is not given."""
        what = "a whole number" if most == MOST else f"a whole number from {least} to {most:,}"
        return self._number(name, default, int, what, example, least, most)

    def fraction(self, name: str, default: Any, example: int) -> Any:
        """A number above 0, exact to a millionth."""
        return self._number(name, default, _fraction, "a number above 0", example, SMALL, MOST)

    def timestamp(self, name: str, default: str) -> int:
        """A timestamp, in microseconds."""
        text = self.given.get(name, default)
        found = from_text(pa.array([text]), pa.timestamp("us"))
        if found.bad is not None or found.values.null_count:
            raise self.refused(name, "not a timestamp", f"Write {name}={default}.")
        return found.values.cast(pa.int64())[0].as_py()

    def one_of(self, name: str, choices: list[str]) -> str | None:
        """One of some words, in any case; None where it is not given."""
        word = self.given.get(name, "").lower()
        if name in self.given and word not in choices:
            meant = closest(word, choices)
            hint = f"Did you mean {meant}?" if meant else f"Use {', '.join(choices)}."
            raise self.refused(name, "which does not exist", hint)
        return word or None

    def refused(self, name: str, why: str, hint: str) -> MillstreamError:
        shown = f'parameter "{name}" of generate:{self.generator} is "{self.given[name]}"'
        return MillstreamError(f"{shown}, {why}", hint=hint)

    def _number(
        self,
        name: str,
        default: Any,
        read: Callable[[str], Any],
        what: str,
        example: int,
        least: Any,
        most: int,
    ) -> Any:
        if name not in self.given:
            return default
        try:
            number = read(self.given[name])
        except (ValueError, ZeroDivisionError):
            number = None
        if number is None or (least is not None and not least <= number <= most):
            raise self.refused(name, f"not {what}", f"Write {name}={example}.")
        return number


def _fraction(text: str) -> Fraction:
    return Fraction(text).limit_denominator(1_000_000)

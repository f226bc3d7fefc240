"""What a person sees when something is wrong: a place, a message, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Place:
    """A piece of a script: `text[start:end]`."""

    text: str
    start: int
    end: int

    @staticmethod
    def covering(*places: Place | None) -> Place | None:
        """The smallest piece that holds all of the places."""
        known = [p for p in places if p is not None]
        if not known:
            return None
        return Place(known[0].text, min(p.start for p in known), max(p.end for p in known))

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1

    def render(self) -> str:
        """Show the line with carets under the piece.

        >>> print(Place("SELECT pric FROM bids", 7, 11).render())
           1 | SELECT pric FROM bids
             |        ^^^^
        """
        first = self.text.rfind("\n", 0, self.start) + 1
        last = self.text.find("\n", first)
        line = _masked(self.text[first : last if last >= 0 else len(self.text)])
        line, offset = _excerpt(line, self.start - first)
        width = max(1, min(self.end - self.start, len(line) - offset))
        number = f"{self.line:>4}"
        pointer = "".join("\t" if c == "\t" else " " for c in line[:offset]) + "^" * width
        return f"{number} | {line}\n     | {pointer}"


class MillstreamError(Exception):
    """Something a user wrote or gave cannot be used; says where, what, and what would be right."""

    def __init__(
        self,
        message: str,
        place: Place | None = None,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.detail = detail
        self.hint = hint

    def at(self, place: Place | None) -> MillstreamError:
        """The same error with a place, unless it has one already."""
        if self.place is None:
            self.place = place
        return self

    def render(self) -> str:
        """The whole message, as the command line prints it."""
        parts = [self.message]
        if self.place is not None:
            parts.append(self.place.render())
        if self.detail:
            parts.append(f"detail: {self.detail}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)

    def __str__(self) -> str:
        return self.render()


@dataclass(frozen=True)
class Notice:
    """Something the author should know, no error: a default, a fresh start, growing state."""

    message: str
    hint: str | None = None
    place: Place | None = None

    def render(self) -> str:
        """In one line.

        >>> print(Notice("this is slow", "Give it a key.", Place("SELECT a", 7, 8)).render())
        this is slow, at line 1, column 8 (hint: Give it a key.)
        """
        place = self.place
        where = "" if place is None else f", at line {place.line}, column {place.column}"
        hint = f" (hint: {self.hint})" if self.hint else ""
        return f"{self.message}{where}{hint}"

    def about(self, name: str) -> Notice:
        return replace(self, message=f"{name}: {self.message}")


def closest(
    word: str, words: list[str] | tuple[str, ...], cutoff: float | None = None
) -> str | None:
    """The known word a misspelt one was probably meant to be.

    >>> closest("pric", ["item", "price"])
    'price'
    """
    from difflib import get_close_matches

    lowered = {w.lower(): w for w in words}
    if cutoff is None:
        cutoff = 0.6 if len(word) <= 4 else 0.7
    matches = get_close_matches(word.lower(), list(lowered), n=1, cutoff=cutoff)
    return lowered[matches[0]] if matches else None


def misspelt(word: str, words: Sequence[str]) -> str | None:
    """The known word that differs from another in at most one of four letters.

    For names that have many neighbours, such as functions: `lag` is not `log`.

    >>> misspelt("lenght", ["length", "left"]), misspelt("lag", ["log"])
    ('length', None)
    """
    most = len(word) // 4
    near = [(_edits(word.lower(), known.lower()), known) for known in words]
    edits, found = min(near, default=(most + 1, ""))
    return found if edits <= most else None


def _edits(one: str, other: str) -> int:
    """How many letters must be put in, left out, changed or swapped to make a word of another."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above, row = row, before, [i]
        for j, there in enumerate(other, 1):
            cost = min(row[-1] + 1, before[j] + 1, before[j - 1] + (letter != there))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == there:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _masked(line: str) -> str:
    """A line without the passwords in its addresses.

    >>> _masked("SOURCE 'postgresql://ann:secret@db/shop'")
    "SOURCE 'postgresql://ann:******@db/shop'"
    """
    return re.sub(
        r"(?<=://)([^\s:@/'\"]*:)([^\s@'\"]+)(?=@)", lambda m: m[1] + "*" * len(m[2]), line
    )


def _excerpt(line: str, offset: int) -> tuple[str, int]:
    """Cut a very long line to the neighbourhood of the offset."""
    if len(line) <= 160:
        return line, offset
    start = max(0, offset - 60)
    cut = line[start : start + 150]
    return ("…" if start else "") + cut, offset - start + (1 if start else 0)

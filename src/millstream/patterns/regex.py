"""The pattern of MATCH_RECOGNIZE as a tree, and as text.

>>> str(regex_of('"A" (B | C)+? {- D{2,} -} PERMUTE(A, B) $'))
'A (B | C)+? {- D{2,} -} permute(A, B) $'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from millstream.algebra.expressions import name_text

_TOKEN = re.compile(
    r"""\s*("(?:[^"]|"")*" | [^\W\d][\w.]* | \{- | -\} | \{ \s* \d* \s* (?:, \s* \d* \s*)? \}
        | [()|*+?^$,] )""",
    re.VERBOSE,
)


class Regex:
    """A part of a pattern."""

    parts: tuple[Regex, ...] = ()


@dataclass(frozen=True)
class Variable(Regex):
    """One row that meets the condition of the variable."""

    name: str

    def __str__(self) -> str:
        quoted = self.name.lower() == "permute"
        return f'"{self.name}"' if quoted else name_text(self.name)


@dataclass(frozen=True)
class Sequence(Regex):
    """The parts, one after the other; without any, the empty pattern."""

    parts: tuple[Regex, ...] = ()

    def __str__(self) -> str:
        inside = [f"({p})" if _is_wide(p) else str(p) for p in self.parts]
        return " ".join(inside) if inside else "()"


@dataclass(frozen=True)
class Choice(Regex):
    """One of the parts, those that come first preferred."""

    parts: tuple[Regex, ...]

    def __str__(self) -> str:
        return " | ".join(f"({p})" if isinstance(p, Choice) else str(p) for p in self.parts)


@dataclass(frozen=True)
class Repeat(Regex):
    """The part again and again: as often as it can be, or as seldom (`reluctant`).

    What goes beyond `low` takes at least one row each time.
    """

    part: Regex
    low: int
    high: int | None
    reluctant: bool = False

    @property
    def parts(self) -> tuple[Regex, ...]:  # type: ignore[override]
        return (self.part,)

    def __str__(self) -> str:
        bare = isinstance(self.part, Variable | Permute | Exclude)
        inside = str(self.part) if bare or self.part == Sequence() else f"({self.part})"
        return inside + self._quantifier + ("?" if self.reluctant else "")

    @property
    def _quantifier(self) -> str:
        known = {(0, None): "*", (1, None): "+", (0, 1): "?"}
        if (self.low, self.high) in known:
            return known[self.low, self.high]
        if self.low == self.high:
            return f"{{{self.low}}}"
        return f"{{{self.low},{'' if self.high is None else self.high}}}"


@dataclass(frozen=True)
class Permute(Regex):
    """The parts in any order: the orders as they are written, the first preferred."""

    parts: tuple[Regex, ...]

    def __str__(self) -> str:
        return f"permute({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Exclude(Regex):
    """Rows that ALL ROWS PER MATCH leaves out."""

    part: Regex

    @property
    def parts(self) -> tuple[Regex, ...]:  # type: ignore[override]
        return (self.part,)

    def __str__(self) -> str:
        return f"{{- {self.part} -}}"


@dataclass(frozen=True)
class Anchor(Regex):
    """The place before the first row of a partition, or after the last one."""

    start: bool

    def __str__(self) -> str:
        return "^" if self.start else "$"


def _is_wide(part: Regex) -> bool:
    return isinstance(part, Choice) or (isinstance(part, Sequence) and bool(part.parts))


def walk(regex: Regex) -> Iterator[Regex]:
    """The pattern and everything in it, from the left."""
    yield regex
    for part in regex.parts:
        yield from walk(part)


def variables_of(regex: Regex) -> tuple[str, ...]:
    """The variables in the order in which they are named first."""
    return tuple(dict.fromkeys(p.name for p in walk(regex) if isinstance(p, Variable)))


def regex_of(text: str) -> Regex:
    """The pattern that a text says.

    Law: `regex_of(str(regex))` is the regex.
    """
    reader = _Reader(text)
    found = reader.choice()
    if reader.next:
        raise ValueError(f'"{reader.next}" is not expected in the pattern "{text}"')
    return found


class _Reader:
    """The tokens of a pattern, taken one after the other."""

    def __init__(self, text: str) -> None:
        self.found: list[str] = []
        self.at, place = 0, 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                raise ValueError(f'the pattern cannot be read at "{text[place:].strip()}"')
            self.found.append(match[1])
            place = match.end()

    @property
    def next(self) -> str:
        return self.found[self.at] if self.at < len(self.found) else ""

    def take(self) -> str:
        token = self.next
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise ValueError(f'"{token}" is expected in the pattern')

    def choice(self) -> Regex:
        parts = [self.sequence()]
        while self.next == "|":
            self.take()
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def sequence(self) -> Regex:
        parts = []
        while self.next not in ("", "|", ")", "-}", ","):
            parts.append(self.repeated())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def repeated(self) -> Regex:
        part = self.single()
        while (bounds := self.bounds()) is not None:
            reluctant = self.next == "?"
            self.at += reluctant
            part = Repeat(part, *bounds, reluctant)
        return part

    def bounds(self) -> tuple[int, int | None] | None:
        known: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if self.next in known:
            return known[self.take()]
        if not self.next.startswith("{") or self.next == "{-":
            return None
        low, comma, high = (part.strip() for part in self.take()[1:-1].partition(","))
        return int(low or 0), int(high) if high else None if comma else int(low)

    def single(self) -> Regex:
        token = self.take()
        if token in ("^", "$"):
            return Anchor(token == "^")
        if token == "(":
            inside = self.choice()
            self.expect(")")
            return inside
        if token == "{-":
            inside = self.choice()
            self.expect("-}")
            return Exclude(inside)
        if token.lower() == "permute" and self.next == "(":
            self.take()
            parts = [self.choice()]
            while self.next == ",":
                self.take()
                parts.append(self.choice())
            self.expect(")")
            return Permute(tuple(parts))
        if token.startswith('"'):
            return Variable(token[1:-1].replace('""', '"'))
        if not re.match(r"[^\W\d]", token):
            raise ValueError(f'"{token}" is not expected in the pattern')
        return Variable(token)

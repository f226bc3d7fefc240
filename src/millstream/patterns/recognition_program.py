"""The pattern of MATCH_RECOGNIZE as a small program, which the search carries out."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from millstream.patterns.regex import (
    Anchor,
    Choice,
    Exclude,
    Permute,
    Regex,
    Repeat,
    Sequence,
    Variable,
    variables_of,
)

TAKE, SPLIT, START, END, DONE = range(5)
"""Operations: take a row for a variable; go on here, or else there; stand before the first row;
stand after the last; the pattern is complete."""

FAIL = -1
"""Where there is no way on."""

HIDDEN = 1 << 8
"""The bit of a label of a row that ALL ROWS PER MATCH leaves out."""

MOST = 20_000
"""So many lines a program may have."""


class TooLarge(Exception):
    """A pattern whose program has more lines than MOST."""


@dataclass(frozen=True, eq=False)
class Program:
    """Lines of operation, and what it is about: TAKE variable, next line, HIDDEN or 0; SPLIT
    preferred line, other line; START and END next line. It begins at line `entry`."""

    lines: np.ndarray
    entry: int

    @staticmethod
    def of(pattern: Regex) -> Program:
        variables = variables_of(pattern)
        writer = _Writer({name: i for i, name in enumerate(variables)})
        done = writer.line(DONE)
        entry = writer.write(pattern, done, done, 0)
        return Program(np.array(writer.lines, np.int64).reshape(-1, 4), entry)

    @cached_property
    def _ways(self) -> list[list[int]]:
        """The lines that may follow each line."""
        found = []
        for op, a, b, _ in self.lines.tolist():
            ways = {TAKE: [b], SPLIT: [a, b], DONE: []}.get(op, [a])
            found.append([way for way in ways if way != FAIL])
        return found

    def reachable(self, lines: Iterable[int]) -> set[int]:
        """These lines, and all that can come after them."""
        found, waiting = set[int](), list(lines)
        while waiting:
            line = waiting.pop()
            if line not in found:
                found.add(line)
                waiting += self._ways[line]
        return found

    def first_takes(self, line: int) -> set[int]:
        """The lines that can take the next row from a line on."""
        found, seen, waiting = set[int](), set[int](), [line]
        while waiting:
            line = waiting.pop()
            if line in seen:
                continue
            seen.add(line)
            if self.lines[line, 0] == TAKE:
                found.add(line)
            else:
                waiting += self._ways[line]
        return found

    def next_takes(self, line: int) -> list[tuple[int, str]]:
        """The lines that can take the next row, or complete the pattern, in the order in which
        they are tried; with the anchors on the way."""
        found, seen = list[tuple[int, str]](), set[tuple[int, str]]()
        waiting = [(line, "")]
        while waiting:
            line, anchors = waiting.pop()
            if (line, anchors) in seen or line == FAIL:
                continue
            seen.add((line, anchors))
            op, a, b, _ = self.lines[line].tolist()
            if op in (TAKE, DONE):
                found.append((line, anchors))
            elif op == SPLIT:
                waiting += [(b, anchors), (a, anchors)]
            else:
                waiting.append((a, f"{anchors}{'^' if op == START else '$'} "))
        return found

    def ends_with(self, variables: Container[int], *, anchors: bool) -> bool:
        """Whether the pattern can be complete with rows of these variables alone; with `anchors`,
        wherever it stands."""
        seen, waiting = set[int](), [self.entry]
        while waiting:
            line = waiting.pop()
            if line in seen:
                continue
            seen.add(line)
            op, a, _, _ = self.lines[line].tolist()
            if op == DONE:
                return True
            if (op != TAKE or a in variables) and (anchors or op not in (START, END)):
                waiting += self._ways[line]
        return False

    def variable(self, line: int) -> int:
        return int(self.lines[line, 1])

    def marks(self, crossing: Iterable[bool]) -> np.ndarray:
        """A number for every line that need not be tried twice at one row; −1 for all others.

        Such a line can be come to in several ways, and no condition behind it depends on which:
        those of the variables that are `crossing` do.
        """
        depends = list(crossing)
        lines = self.lines.tolist()
        behind = _closure(
            self._ways, {i for i, (op, a, _, _) in enumerate(lines) if op == TAKE and depends[a]}
        )
        ways_in = np.zeros(len(lines), np.int64)
        ways_in[self.entry] = 1
        for line in self.reachable([self.entry]):
            for way in self._ways[line]:
                ways_in[way] += 1
        marks = np.full(len(lines), -1, np.int64)
        chosen = [i for i in range(len(lines)) if ways_in[i] > 1 and i not in behind]
        marks[chosen] = np.arange(len(chosen))
        return marks

    @cached_property
    def starters(self) -> int:
        """The variables that a row must meet one of to begin a match, as bits; −1 if a match may
        begin otherwise."""
        seen, waiting, bits = set[int](), [self.entry], 0
        while waiting:
            line = waiting.pop()
            if line in seen:
                continue
            seen.add(line)
            op = self.lines[line, 0]
            if op == TAKE:
                bits |= 1 << self.variable(line)
            elif op == SPLIT:
                waiting += self._ways[line]
            else:
                return -1
        return bits


def _closure(ways: list[list[int]], targets: set[int]) -> set[int]:
    """All lines from which one of some lines can be reached."""
    before: list[list[int]] = [[] for _ in ways]
    for line, follow in enumerate(ways):
        for way in follow:
            before[way].append(line)
    found, waiting = set[int](), list(targets)
    while waiting:
        line = waiting.pop()
        if line not in found:
            found.add(line)
            waiting += before[line]
    return found


class _Writer:
    """Writes a program from its end. A part goes on at line `same` if it has taken no row, and at
    line `moved` if it has: so a loop can see that it has come on."""

    def __init__(self, variables: dict[str, int]) -> None:
        self.variables = variables
        self.lines: list[tuple[int, int, int, int]] = []
        self.known: dict[tuple[Regex, int, int, int], int] = {}

    def line(self, op: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        if len(self.lines) >= MOST:
            raise TooLarge
        self.lines.append((op, a, b, c))
        return len(self.lines) - 1

    def write(self, part: Regex, same: int, moved: int, hidden: int) -> int:
        """The line at which a part begins."""
        key = part, same if can_be_empty(part) else moved, moved, hidden
        if key not in self.known:
            self.known[key] = self._write(*key)
        return self.known[key]

    def _write(self, part: Regex, same: int, moved: int, hidden: int) -> int:
        match part:
            case Variable(name=name):
                return self.line(TAKE, self.variables[name], moved, hidden)
            case Sequence(parts=parts):
                return self._row(parts, same, moved, hidden)
            case Choice(parts=parts):
                return self._first_of([self.write(p, same, moved, hidden) for p in parts])
            case Permute(parts=parts):
                return self._permuted(parts, same, moved, hidden)
            case Exclude(part=inside):
                return self.write(inside, same, moved, HIDDEN)
            case Anchor(start=start):
                return self.line(START if start else END, same)
            case Repeat():
                return self._repeated(part, same, moved, hidden)
        raise TypeError(part)

    def _row(self, parts: Iterable[Regex], same: int, moved: int, hidden: int) -> int:
        for part in reversed(tuple(parts)):
            same, moved = (
                self.write(part, same, moved, hidden),
                self.write(part, moved, moved, hidden),
            )
        return same

    def _first_of(self, lines: list[int]) -> int:
        *others, found = lines
        for line in reversed(others):
            found = self._split(line, found)
        return found

    def _split(self, preferred: int, other: int) -> int:
        if FAIL in (preferred, other):
            return max(preferred, other)
        return self.line(SPLIT, preferred, other)

    def _permuted(self, parts: tuple[Regex, ...], same: int, moved: int, hidden: int) -> int:
        """One order after the other. Where every part has one way only, the rest of an order does
        not depend on how those before it were ordered."""
        if not all(isinstance(part, Variable) for part in parts):
            if len(parts) > 7:
                raise TooLarge
            orders = (self._row(order, same, moved, hidden) for order in permutations(parts))
            return self._first_of(list(orders))
        rest = {frozenset[int](): moved}

        def of(left: frozenset[int]) -> int:
            if left not in rest:
                ways = [self.write(parts[i], *2 * (of(left - {i}),), hidden) for i in sorted(left)]
                rest[left] = self._first_of(ways)
            return rest[left]

        return of(frozenset(range(len(parts))))

    def _repeated(self, part: Repeat, same: int, moved: int, hidden: int) -> int:
        def choose(again: int, out: int) -> int:
            return self._split(out, again) if part.reluctant else self._split(again, out)

        if part.high is None:
            loop = self.line(SPLIT)
            again = self.write(part.part, FAIL, loop, hidden)
            ways = (moved, again) if part.reluctant else (again, moved)
            self.lines[loop] = SPLIT, *ways, 0
            same, moved = loop if same == moved else choose(again, same), loop
        else:
            later = moved
            for _ in range(part.high - part.low):
                again = self.write(part.part, FAIL, later, hidden)
                later, first = choose(again, moved), choose(again, same)
            if part.high > part.low:
                same, moved = first, later
        return self._row([part.part] * part.low, same, moved, hidden)


def can_be_empty(part: Regex) -> bool:
    """Whether a part may take no row."""
    return least_rows(part) == 0


def least_rows(part: Regex) -> int:
    """How many rows a part takes at least."""
    match part:
        case Variable():
            return 1
        case Sequence(parts=parts) | Permute(parts=parts):
            return sum(map(least_rows, parts))
        case Choice(parts=parts):
            return min(map(least_rows, parts))
        case Exclude(part=inside):
            return least_rows(inside)
        case Repeat(part=inside, low=low):
            return low * least_rows(inside)
    return 0

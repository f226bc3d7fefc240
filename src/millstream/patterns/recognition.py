"""MATCH_RECOGNIZE as a value that an operator holds: the pattern, its conditions, its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.algebra.expressions import (
    TRUE,
    Column,
    Expression,
    Literal,
    columns_of,
    name_text,
    rewrite,
)
from millstream.algebra.types import STRING
from millstream.blocks.machine import Failure
from millstream.patterns.classifiers import MATCH_NUMBER, classified, ranked, variable_of
from millstream.patterns.recognition_program import TAKE, Program, least_rows
from millstream.patterns.recognition_results import (
    FINAL,
    Matches,
    cells_read,
    given,
    kind_of_tally,
    measured,
)
from millstream.patterns.recognition_search import (
    BEGIN,
    CLASSIFIER,
    GOING,
    NEXT,
    NUMBER,
    PAST,
    TO_FIRST,
    TO_LAST,
    WORDS,
    recognize,
)
from millstream.patterns.references import Cell, cell_of, unshifted
from millstream.patterns.regex import Anchor, Regex, variables_of, walk
from millstream.patterns.scene import Scene, Tests, with_shifts
from millstream.patterns.search import STEPS
from millstream.patterns.sequence import Found
from millstream.patterns.tallies import Measure, Tally

SKIPS = {"past last": PAST, "next": NEXT, "first": TO_FIRST, "last": TO_LAST}


@dataclass(frozen=True)
class Recognition:
    """A regular expression over the rows of a partition, each of which meets the condition of a
    variable, as MATCH_RECOGNIZE of the standard has it.

    `shows` is "one", "all", "all omit empty" or "all with unmatched"; `skip` "past last", "next",
    "first" or "last", the last two with a variable. A match has at most `within` between its first
    and its last row. `look` and `back` are how many rows results read after the last row of a
    match, and before one; `numbered` says that they have the number of the match.
    """

    pattern: Regex
    defines: tuple[tuple[str, Expression], ...] = ()
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    tallies: tuple[Tally, ...] = ()
    shows: str = "one"
    skip: str = "past last"
    skip_to: str = ""
    within: int | None = None
    look: int = 0
    back: int = 0
    numbered: bool = False
    timeouts = False

    @cached_property
    def variables(self) -> tuple[str, ...]:
        return variables_of(self.pattern)

    @cached_property
    def program(self) -> Program:
        return Program.of(self.pattern)

    def bits(self, variable: str) -> int:
        """The variables that a name stands for: one, those of a subset, or all."""
        if not variable:
            return (1 << len(self.variables)) - 1
        names = dict(self.subsets).get(variable, (variable,))
        return sum(1 << i for i, name in enumerate(self.variables) if name in names)

    @cached_property
    def ranks(self) -> np.ndarray:
        """The place of each variable in the order of their names."""
        return np.argsort(np.argsort(np.array(self.variables)))

    @cached_property
    def conditions(self) -> list[Expression]:
        """The condition of each variable; what it says of the row under test says it of that."""
        asked = dict(self.defines)
        return [self._of_itself(v, asked.get(v, TRUE)) for v in self.variables]

    def _of_itself(self, variable: str, condition: Expression) -> Expression:
        mine = self.variables.index(variable)

        def current(part: Expression) -> Expression | None:
            cell = cell_of(part.name) if isinstance(part, Column) else None
            if cell is None or not cell.is_current or not self.bits(cell.variable) >> mine & 1:
                return None
            return Column(str(Cell(variable, cell.column, shift=cell.shift)), part.type)

        def holds(name: str) -> bool:
            return bool(self.bits(name) >> mine & 1)

        names = {name: self._names(name) for name in classified(condition)}
        plain = ranked(condition, variable, holds, names, dict(zip(self.variables, self.ranks)))
        return rewrite(plain, current)

    def _names(self, variable: str) -> tuple[str, ...]:
        bits = self.bits(variable)
        return tuple(name for i, name in enumerate(self.variables) if bits >> i & 1)

    @cached_property
    def _counted(self) -> tuple[tuple[str, Tally | None], ...]:
        """The numbers that conditions read: aggregates, classifiers, the number of the match."""
        read = frozenset[str]().union(*map(columns_of, self.conditions))
        known = {tally.name: tally for tally in self.tallies}
        return tuple((n, known.get(n)) for n in sorted(read) if cell_of(n) is None)

    @cached_property
    def tests(self) -> Tests:
        """The conditions, and behind the columns that they are made of the arguments of numbers."""
        numbers = {name: i for i, (name, _) in enumerate(self._counted)}
        made = Tests.of(list(zip(self.variables, self.conditions)), tallies=numbers)
        arguments = [
            Column(t.call.arguments[0], t.argument)
            for _, t in self._counted
            if t is not None and t.argument is not None
        ]
        return Tests(made.local, (*made.derived, *arguments), made.places, made.code, made.cross)

    @cached_property
    def _registers(self) -> np.ndarray:
        """The tuples that conditions read: variables, whether from the last, how far, and the
        register of the one before."""
        places = list(self.tests.places)
        for variable, last, nth in self.tests.places:
            for less in range(nth) if last else ():
                if (variable, last, less) not in places:
                    places.append((variable, last, less))
        lines = []
        for variable, last, nth in places:
            before = places.index((variable, last, nth - 1)) if last and nth else -1
            lines.append((self.bits(variable), last, nth, before))
        return np.array(lines, np.int64).reshape(len(lines), 4)

    @cached_property
    def _tally_lines(self) -> np.ndarray:
        lines, column = [], len(self.tests.derived)
        column -= sum(t is not None and t.argument is not None for _, t in self._counted)
        for name, tally in self._counted:
            if tally is None:
                kind = NUMBER if name == MATCH_NUMBER else CLASSIFIER
                lines.append((self.bits(variable_of(name) or ""), kind, -1))
                continue
            counted, has_argument = kind_of_tally(tally), tally.argument is not None
            assert counted is not None
            lines.append((self.bits(tally.element), counted, column if has_argument else -1))
            column += has_argument
        return np.array(lines, np.int64).reshape(len(lines), 3)

    @cached_property
    def _ahead(self) -> np.ndarray:
        """How many rows on each condition looks."""
        return np.array([_furthest(c, max) for c in self.conditions], np.int64)

    @cached_property
    def _lookback(self) -> int:
        return max([self.back, *(-_furthest(c, min) for c in self.conditions)])

    @cached_property
    def _is_numbered(self) -> bool:
        """Whether something counts on from the first row of a partition."""
        anchored = any(isinstance(p, Anchor) and p.start for p in walk(self.pattern))
        return anchored or self.numbered or MATCH_NUMBER in dict(self._counted)

    @cached_property
    def _is_linear(self) -> bool:
        """Whether nothing is searched twice: plain Python may do it for few rows."""
        return self.within is None and not len(self.tests.code.code)

    @cached_property
    def marks(self) -> np.ndarray:
        bounds = self.tests.code.bounds
        return self.program.marks(bounds[:-1] < bounds[1:])

    @cached_property
    def always_skips_to_start(self) -> bool:
        """Whether the variable that is skipped to is that of the first row of every match."""
        program, target = self.program, self.bits(self.skip_to)

        def is_target(line: int) -> bool:
            return bool(target >> program.variable(line) & 1)

        firsts = program.first_takes(program.entry)
        if not firsts or not all(map(is_target, firsts)):
            return False
        after = program.reachable(program.lines[line, 2] for line in firsts)
        takes = [line for line in after if program.lines[line, 0] == TAKE]
        return self.skip == "first" or not any(map(is_target, takes))

    def columns(self, gives: Iterable[str]) -> tuple[frozenset[str], frozenset[tuple[str, int]]]:
        """The columns of rows that are read for some results; none are read some tuples on."""
        names = {unshifted(name)[0] for name in self.tests.row_columns}
        names |= {a for t in self.tallies for a in t.call.arguments}
        return frozenset(names | cells_read(gives)), frozenset()

    @property
    def length(self) -> int:
        return max(1, least_rows(self.pattern))

    @property
    def words_of_state(self) -> int:
        return WORDS

    def find(
        self,
        rows: pa.RecordBatch,
        starts: np.ndarray,
        fresh: np.ndarray,
        position: np.ndarray,
        ts: np.ndarray,
        state: np.ndarray,
        *,
        skips: bool = True,
        steps: int = STEPS,
        closed: bool = False,
        now: int,
        measure: Measure | None = None,
    ) -> Found:
        """Search partitions whose rows lie from `starts[p]` to `starts[p + 1]`, those from
        `fresh[p]` on for the first time. `closed` says that no more rows come."""
        shifts = {unshifted(name) for name in self.tests.row_columns}
        shifted = with_shifts(rows, starts, sorted((n, by) for n, by in shifts if by))
        scene = Scene.of(self.tests, shifted, len(ts))
        state, counters = state.copy(), np.zeros(2, np.int64)
        program = self.program
        run = recognize if self._is_linear else recognize.compiled
        found, path, kept, given_up = run(
            starts,
            fresh,
            position,
            ts,
            scene.mask,
            scene.values,
            scene.known,
            program.lines,
            program.entry,
            program.starters if not self._ahead.any() else -1,
            self.marks,
            self.tests.code.code,
            self.tests.code.bounds,
            self._registers,
            self._tally_lines,
            self._ahead,
            self.ranks,
            -1 if self.within is None else self.within,
            SKIPS[self.skip],
            self.bits(self.skip_to),
            self.look,
            self._lookback,
            self._is_numbered,
            closed,
            steps,
            state,
            counters,
        )
        shown = Matches.of(found, path, rows, starts, ts, self.shows)
        return Found(shown, state, kept, int(counters[1]), 0, given_up)

    def empty_state(self, partitions: int) -> np.ndarray:
        return np.zeros((partitions, WORDS), np.int64)

    def partitions_of(self, matches: Matches) -> np.ndarray:
        return matches.partition

    def decided(self, matches: Matches) -> tuple[np.ndarray, np.ndarray]:
        """The row that decides each result, and the instant."""
        return matches.decider, matches.instant

    def is_going(self, state: np.ndarray) -> np.ndarray:
        return state[:, GOING] == 1

    def first_position(self, state: np.ndarray) -> np.ndarray:
        return state[:, BEGIN]

    def results(
        self,
        matches: Matches,
        rows: pa.RecordBatch,
        gives: Mapping[str, pa.DataType],
        measure: Measure | None = None,
        failed: list[tuple[str, Failure]] | None = None,
    ) -> list[pa.Array]:
        """The values of references in every result."""
        tallies = {tally.name: tally for tally in self.tallies}
        out = []
        for name, kind in gives.items():
            tally = tallies.get(name.removeprefix(FINAL))
            if tally is None or kind_of_tally(tally) is not None:
                out.append(given(self, matches, rows, tallies, name, kind))
                continue
            assert measure is not None
            value, failures = measured(self, matches, rows, tally, name != tally.name, measure)
            out.append(value)
            if failed is not None:
                failed += [failure for failure in failures if failure not in failed]
        return out

    def words(self, length: Callable[[int], str]) -> str:
        """As it stands in the plan text; `length` writes a length of time."""
        words = [f"Pattern {Literal(str(self.pattern), STRING)}"]
        if self.subsets:
            named = (f"{name_text(n)} = {_list(names)}" for n, names in self.subsets)
            words.append(f"with {', '.join(named)}")
        if self.within is not None:
            words.append(f"within {length(self.within)}")
        words.append(f"showing {self.shows}")
        words.append(f"skip {self.skip}{f' {name_text(self.skip_to)}' if self.skip_to else ''}")
        for name, value in (("look", self.look), ("back", self.back)):
            words += [f"{name} {value}"] if value else []
        words += ["numbered"] if self.numbered else []
        if self.tallies:
            words.append(f"counting {', '.join(map(str, self.tallies))}")
        if self.defines:
            words.append(f"where {', '.join(f'{name_text(n)}: {c}' for n, c in self.defines)}")
        return " ".join(words)


def _list(names: tuple[str, ...]) -> str:
    return f"({', '.join(map(name_text, names))})"


def _furthest(condition: Expression, pick: Callable[..., int]) -> int:
    cells = filter(None, map(cell_of, columns_of(condition)))
    return pick([0, *(cell.shift for cell in cells)])

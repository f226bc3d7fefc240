"""Patterns by chance as the search takes them, and a search that is driven step by step."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa

from millstream.aggregates.builtin import BUILTINS
from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import (
    Call,
    Cast,
    Column,
    Expression,
    Literal,
    conjunction,
    name_text,
)
from millstream.algebra.types import BOOLEAN, DOUBLE, INTEGER, STRING
from millstream.patterns.references import Cell as Reference
from millstream.patterns.scene import with_shifts
from millstream.patterns.sequence import REACHED, TIMED_OUT, Element, Sequence
from millstream.patterns.tallies import Tally
from oracle import sequences as oracle
from oracle.generate_sequences import random_rows
from oracle.sequences import Between, Bin, Cell, Const, IsNull, Not

TYPES = {"x": INTEGER, "d": DOUBLE, "w": STRING}
AGGREGATES = {a.name: a for a in BUILTINS}


def sequence_of(pattern: oracle.Pattern) -> Sequence:
    """A pattern as the search takes it."""
    elements, tallies = [], {}
    for element in pattern.elements:
        test = conjunction([typed(c, tallies) for c in pattern.tests(element)])
        final = conjunction([typed(c, tallies) for c in pattern.finals(element)])
        elements.append(Element(element.name, element.star, test, final))
    return Sequence(tuple(elements), tuple(tallies.values()), pattern.within, pattern.timeouts)


def typed(e: oracle.Expr, tallies: dict[str, Tally]) -> Expression:
    match e:
        case Const(bool() as value):
            return Literal(value, BOOLEAN)
        case Const(int() as value):
            return Literal(value, INTEGER)
        case Const(float() as value):
            return Literal(value, DOUBLE)
        case Const(value):
            return Literal(value, STRING)
        case Cell(element, column, way, _, back):
            name = str(Reference(element, column, way != "FIRST", 0, -back))
            return Column(name, TYPES[column])
        case oracle.Tally(function, element, column):
            function = function.removeprefix("c") if function == "ccount" else function
            kind = {"count": INTEGER, "avg": DOUBLE}.get(function) or TYPES[column]
            name = f"{function}({name_text(element)}{'.' + column if column else ''})"
            given = (column,) if column else ()
            call = AggregateCall(name, AGGREGATES[function], given, kind)
            tallies[name] = Tally(element, call, TYPES[column] if column else None)
            return Column(name, kind)
        case Bin(op, left, right):
            sides = alike(typed(left, tallies), typed(right, tallies))
            arithmetic = op in "+-*"
            kind = sides[0].type if arithmetic else BOOLEAN
            return Call(op.lower(), sides, kind)
        case Not(operand):
            return Call("not", (typed(operand, tallies),), BOOLEAN)
        case IsNull(operand, negated):
            null = Call("is_null", (typed(operand, tallies),), BOOLEAN)
            return Call("not", (null,), BOOLEAN) if negated else null
        case Between(operand, low, high):
            return typed(Bin("AND", Bin(">=", operand, low), Bin("<=", operand, high)), tallies)
    raise TypeError(e)


def alike(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    if left.type == right.type:
        return left, right
    return tuple(e if e.type == DOUBLE else Cast(e, DOUBLE) for e in (left, right))


def gives_of(sequence: Sequence) -> dict[str, pa.DataType]:
    """What is read of matches: the first and the last x of every element, and all tallies."""
    cells = [Reference(e.name, "x", last) for e in sequence.elements for last in (False, True)]
    gives = {str(cell): INTEGER for cell in cells}
    gives |= {t.name: t.call.type for t in sequence.tallies}
    return gives | {TIMED_OUT: BOOLEAN, REACHED: INTEGER}


def table_of(sequence: Sequence, rows: list[oracle.Row], gives: dict) -> pa.RecordBatch:
    """The rows of one partition as columns, with those of tuples before."""
    columns = {n: pa.array([r.cells[n] for r in rows], t) for n, t in TYPES.items()}
    _, shifts = sequence.columns(gives)
    batch = pa.RecordBatch.from_pydict(columns)
    return with_shifts(batch, np.array([0, len(rows)]), sorted(shifts))


class Driven:
    """A search over partitions, step by step, as an operator drives it: it keeps rows and words."""

    def __init__(self, sequence: Sequence, partitions: list[list[oracle.Row]], skips: bool) -> None:
        self.sequence, self.skips, self.rows = sequence, skips, partitions
        self.gives = gives_of(sequence)
        self.tables = [table_of(sequence, rows, self.gives) for rows in partitions]
        self.kept = [np.zeros(0, np.int64) for _ in partitions]
        self.upto = [0 for _ in partitions]
        self.state = sequence.empty_state(len(partitions))
        self.found: list[tuple] = []
        self.tests = self.again = 0

    def step(self, upto: list[int], now: int, closed: bool = False) -> None:
        """Search with the rows of each partition up to a place."""
        parts, position, ts, fresh, starts = [], [], [], [], [0]
        for p, rows in enumerate(self.rows):
            at = np.concatenate((self.kept[p], np.arange(self.upto[p], upto[p])))
            parts.append(self.tables[p].take(pa.array(at)))
            position.append(at)
            ts += [rows[i].at for i in at]
            fresh.append(starts[-1] + len(self.kept[p]))
            starts.append(starts[-1] + len(at))
        batch = pa.Table.from_batches(parts).combine_chunks().to_batches()
        rows_now = batch[0] if batch else parts[0]
        place = np.concatenate(position)
        bounds = np.array(starts)
        found = self.sequence.find(
            rows_now, bounds, np.array(fresh), place, np.array(ts, np.int64), self.state,
            skips=self.skips, closed=closed, now=now,
        )  # fmt: skip
        self.state = found.state
        self.tests += found.tests
        self.again += found.again
        results = self.sequence.results(found.matches, rows_now, self.gives)
        for m, line in enumerate(found.matches):
            p = int(line[1])
            decided = (int(line[3]), self.rows[p][place[line[0]]].place if line[0] >= 0 else -1)
            values = tuple(column[m].as_py() for column in results)
            self.found.append((p, decided, values))
        for p in range(len(self.rows)):
            mine = slice(starts[p], starts[p + 1])
            self.kept[p] = position[p][found.kept[mine]]
        self.upto = list(upto)


def expected(
    pattern: oracle.Pattern, partitions: list[list[oracle.Row]], upto: list[int], now: int | None
) -> list[tuple]:
    """What the definition finds in the rows so far."""
    sequence, out = sequence_of(pattern), []
    for p, rows in enumerate(partitions):
        mine = rows[: upto[p]]
        for match in oracle.find(pattern, mine, now):
            taken = {e.name: list(at) for e, at in zip(pattern.elements, match.taken)}
            scene = oracle.Scene(mine, taken)
            values: list[object] = []
            for element in pattern.elements:
                for way in ("FIRST", "LAST"):
                    values.append(oracle.cell(Cell(element.name, "x", way), scene))
            for tally in sequence.tallies:
                column = tally.call.arguments[0] if tally.call.arguments else None
                asked = oracle.Tally(tally.call.function, tally.element, column)
                values.append(oracle.tally(asked, scene))
            out.append((p, match.known, (*values, match.timed_out, match.reached)))
    return out


def random_partitions(rng: Random) -> list[list[oracle.Row]]:
    """Rows of some partitions; instants and places count through all of them."""
    count, rows = rng.choice((1, 1, 2, 3)), random_rows(rng)
    partitions: list[list[oracle.Row]] = [[] for _ in range(count)]
    for row in rows:
        partitions[rng.randrange(count)].append(row)
    return partitions


def random_cuts(rng: Random, partitions: list[list[oracle.Row]]) -> list[tuple[list[int], int]]:
    """Steps: how many rows of each partition there are then, and the instant."""
    rows = sorted((r for p in partitions for r in p), key=lambda r: r.place)
    if not rows:
        return [([0] * len(partitions), 0)]
    size = rng.choice((1, 1, 2, 5, len(rows)))
    ends = [*range(size, len(rows), size), len(rows)]
    cuts = []
    for end in ends:
        upto = [sum(r.place < rows[end - 1].place + 1 for r in p) for p in partitions]
        cuts.append((upto, rows[end - 1].at))
    return [*cuts, (cuts[-1][0], cuts[-1][1] + rng.choice((0, 1, 12)))]

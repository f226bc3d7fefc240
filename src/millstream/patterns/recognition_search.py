"""The search for MATCH_RECOGNIZE: one native machine for all patterns, which backtracks."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import native
from millstream.patterns.postfix import holds
from millstream.patterns.recognition_program import END, HIDDEN, SPLIT, START, TAKE
from millstream.patterns.sequence_search import AVG, AVG_FLOAT, COUNT, _count_in

CLASSIFIER, NUMBER, DISTINCT = 20, 21, 22
"""Kinds of tallies besides those of sequences: the variable of the last row, the number of the
match, and how many different values there are."""

GOING, BEGIN, MATCHES, ASKED, FIRST = range(5)
"""Words of the state of a partition: whether there is any; the position of the row at which the
next attempt begins; how many matches there were; the furthest position that was asked for; the
position of the first row of all."""

WORDS = 5

PAST, NEXT, TO_FIRST, TO_LAST = range(4)
"""Where the search goes on after a match."""

STEPS, SKIP = range(2)
"""Why a match is given up: too many steps, or the search cannot go on as AFTER MATCH says."""

_FAILED, _FOUND, _WAITS, _GIVEN_UP = range(4)
_MARKS = 1 << 27
"""More marks than this are not kept: the bound on steps stands alone."""


@native
def recognize(
    starts,
    fresh,
    position,
    ts,
    mask,
    values,
    known,
    program,
    entry,
    plain_start,
    marks,
    code,
    bounds,
    registers,
    tally,
    ahead,
    ranks,
    within,
    skip,
    skip_to,
    look,
    back,
    numbered,
    closed,
    most,
    state,
    counters,
):
    """Look for matches in partitions whose rows lie from `starts[p]` to `starts[p + 1]`.

    Rows before `fresh[p]` came in earlier steps. `registers` has a line for each tuple that
    conditions read: the variables it is of, as bits, whether it is counted from the last, how far,
    and the register of the one before; `tally` one for each number: variables, kind and column.
    `ahead[v]` is how many rows on the condition of a variable looks, `look` how many MEASURES do,
    `back` how many rows before. `most` tests an attempt may make for each row it has come to.

    After an attempt that is given up, the search goes on at the last row that it has come to: all
    of these together make at most twice `most` tests for each of their rows.

    Gives matches, a line each: partition, first row, number of rows, number, and the row that
    decides it; the labels of their rows, one after the other; the rows to keep; and the first row
    of each attempt that was given up, with the last that it asked for, and why.

    Long because what the machine keeps of an attempt are its local variables.
    """
    wide = 0
    for p in range(len(starts) - 1):
        wide = max(wide, starts[p + 1] - starts[p])
    count, tallies = len(registers), len(tally)
    labels = np.zeros(wide + 1, np.int16)
    places = np.full((wide + 1, count), -1, np.int64)
    seen = np.zeros((wide + 1, count), np.int64)
    amounts = np.zeros((wide + 1, tallies), np.int64)
    numbers = np.zeros((wide + 1, tallies), np.int64)
    words = np.zeros(tallies, np.int64)
    words_known = np.zeros(tallies, np.bool_)
    kinds = 0
    for line in range(len(marks)):
        kinds = max(kinds, marks[line] + 1)
    marking = kinds > 0 and kinds * (wide + 1) <= _MARKS
    tried = np.zeros((wide + 1, kinds) if marking else (1, 1), np.int32)
    epoch = 1
    stack_line = np.empty(64, np.int64)
    stack_row = np.empty(64, np.int64)
    value_stack = np.zeros(64, np.int64)
    value_known = np.zeros(64, np.bool_)
    found = np.empty((64, 5), np.int64)
    matches = 0
    path = np.empty(256, np.int16)
    paths = 0
    given_up, ups = np.empty((16, 3), np.int64), 0
    kept = np.zeros(len(ts), np.bool_)
    for p in range(len(starts) - 1):
        begin, end = starts[p], starts[p + 1]
        start = fresh[p]
        number, asked = 0, begin - 1
        first = position[begin] if end > begin else 0
        if state[p, GOING] == 1:
            start = begin + np.searchsorted(position[begin:end], state[p, BEGIN])
            number, first = state[p, MATCHES], state[p, FIRST]
            asked = begin + np.searchsorted(position[begin:end], state[p, ASKED] + 1) - 1
        epoch += 1
        while start < end:
            if plain_start >= 0 and mask[start] & plain_start == 0:
                asked = max(asked, start)
                start += 1
                continue
            reach, top, line, row, tests = start, 0, entry, start, 0
            outcome = _FAILED
            while True:
                fails = False
                mark = marks[line] if marking else -1
                if mark >= 0:
                    if tried[row - begin, mark] == epoch:
                        fails = True
                    tried[row - begin, mark] = epoch
                if not fails:
                    op = program[line, 0]
                    if op == TAKE:
                        v = program[line, 1]
                        tests += 1
                        reach = max(reach, row)
                        if row >= end and not closed:
                            outcome = _WAITS
                            break
                        if tests > most * (reach - start + 1):
                            outcome = _GIVEN_UP
                            break
                        if row >= end or (within >= 0 and ts[row] - ts[start] > within):
                            fails = True
                        else:
                            reach = max(reach, row + ahead[v])
                            if reach >= end and not closed:
                                outcome = _WAITS
                                break
                            taken = (mask[row] >> v) & 1 == 1
                            if taken and count + tallies > 0:
                                _take(
                                    row - begin, row == start, begin, v, registers, places, seen,
                                    tally, values, known, amounts, numbers, ranks, labels,
                                    start - begin,
                                )  # fmt: skip
                                if bounds[v] < bounds[v + 1]:
                                    _worth(
                                        tally, amounts[row - begin], numbers[row - begin],
                                        number + 1, words, words_known,
                                    )  # fmt: skip
                                    counters[0] += 1
                                    taken = holds(
                                        code, bounds[v], bounds[v + 1], places[row - begin],
                                        values, known, words, words_known, value_stack,
                                        value_known,
                                    )  # fmt: skip
                            elif taken and bounds[v] < bounds[v + 1]:
                                taken = holds(
                                    code, bounds[v], bounds[v + 1], places[row - begin], values,
                                    known, words, words_known, value_stack, value_known,
                                )  # fmt: skip
                            if taken:
                                labels[row - begin] = v | program[line, 3]
                                row += 1
                                line = program[line, 2]
                            fails = not taken
                    elif op == SPLIT:
                        if top == len(stack_line):
                            stack_line = _twice(stack_line)
                            stack_row = _twice(stack_row)
                        stack_line[top], stack_row[top] = program[line, 2], row
                        top += 1
                        line = program[line, 1]
                    elif op == START:
                        fails = row >= end or position[row] != first
                        line = program[line, 1]
                    elif op == END:
                        reach = max(reach, row)
                        if row >= end and not closed:
                            outcome = _WAITS
                            break
                        fails = row < end
                        line = program[line, 1]
                    else:
                        outcome = _FOUND
                        break
                    fails = fails or line < 0
                if fails:
                    if top == 0:
                        break
                    top -= 1
                    line, row = stack_line[top], stack_row[top]
            counters[1] += tests
            if outcome == _WAITS:
                break
            asked = max(asked, reach)
            goes_on = start + 1
            good = True
            if outcome == _FOUND:
                if row > start:
                    goes_on = _after(skip, skip_to, labels, start - begin, row - begin) + begin
                    good = goes_on > start
                    if good:
                        asked = max(asked, row - 1 + look)
                    else:
                        goes_on = start + 1
                if asked >= end and not closed:
                    break
                if good:
                    number += 1
                    if matches == len(found):
                        larger = np.empty((2 * matches, 5), np.int64)
                        larger[:matches] = found
                        found = larger
                    line_of = found[matches]
                    line_of[0], line_of[1], line_of[2] = p, start, row - start
                    line_of[3], line_of[4] = number, min(asked, end - 1)
                    matches += 1
                    while paths + row - start > len(path):
                        path = _twice(path)
                    path[paths : paths + row - start] = labels[start - begin : row - begin]
                    paths += row - start
            if outcome == _GIVEN_UP:
                given_up, ups = _note(given_up, ups, start, min(reach, end - 1), STEPS)
                goes_on = max(start + 1, reach)
            elif outcome == _FOUND and not good:
                given_up, ups = _note(given_up, ups, start, row - 1, SKIP)
            if outcome != _FAILED or within >= 0:
                epoch += 1
            start = goes_on
        going = start < end or (numbered and end > begin)
        state[p, GOING] = 1 if going else 0
        behind = position[end - 1] + 1 if end > begin else 0
        state[p, BEGIN] = 0 if not going else position[start] if start < end else behind
        state[p, MATCHES] = number if going else 0
        state[p, ASKED] = position[min(asked, end - 1)] if going and asked >= begin else -1
        state[p, FIRST] = first if going else 0
        kept[max(begin, start - back) : end] = True
    return found[:matches], path[:paths], kept, given_up[:ups]


@native
def _note(lines, count, start, last, why):
    """The lines with one more; there is room for twice as many when it is full."""
    if count == len(lines):
        larger = np.empty((2 * count, 3), np.int64)
        larger[:count] = lines
        lines = larger
    line = lines[count]
    line[0], line[1], line[2] = start, last, why
    return lines, count + 1


@native
def _twice(array):
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


@native
def _after(skip, skip_to, labels, start, end):
    """Where the search goes on after a match; its first row if the skip leads nowhere else."""
    if skip == PAST:
        return end
    if skip == NEXT:
        return start + 1
    found = start
    for row in range(start, end):
        if (skip_to >> (labels[row] & ~HIDDEN)) & 1 == 1:
            found = row
            if skip == TO_FIRST:
                break
    return found


@native
def _take(
    row, is_first, begin, v, registers, places, seen, tally, values, known, amounts, numbers, ranks,
    labels, start,
):  # fmt: skip
    """What registers and tallies are, once a row is taken for a variable."""
    for r in range(len(registers)):
        mine = (registers[r, 0] >> v) & 1 == 1
        place = -1 if is_first else places[row - 1, r]
        before = 0 if is_first else seen[row - 1, r]
        seen[row, r] = before + 1 if mine else before
        if mine and registers[r, 1] == 0:
            if before == registers[r, 2]:
                place = begin + row
        elif mine and registers[r, 2] == 0:
            place = begin + row
        elif mine:
            place = -1 if is_first else places[row - 1, registers[r, 3]]
        places[row, r] = place
    for t in range(len(tally)):
        amounts[row, t] = 0 if is_first else amounts[row - 1, t]
        numbers[row, t] = 0 if is_first else numbers[row - 1, t]
        if (tally[t, 0] >> v) & 1 == 0:
            continue
        kind = tally[t, 1]
        if kind == CLASSIFIER:
            amounts[row, t] = ranks[v]
            numbers[row, t] = 1
        elif kind == DISTINCT:
            here, there = values[tally[t, 2]], known[tally[t, 2]]
            mine = labels[start:]
            numbers[row, t] += _is_new(mine, tally[t, 0], begin + start, begin + row, here, there)
        elif kind != NUMBER:
            _count_in(kind, tally[t, 2], begin + row, t, values, known, amounts[row], numbers[row])


@native
def _is_new(labels, variables, first, row, values, known):
    """1 if no row of the variables from the first on, before a row, has its value; else 0."""
    if not known[row]:
        return 0
    for other in range(first, row):
        mine = (variables >> (labels[other - first] & ~HIDDEN)) & 1 == 1
        if mine and known[other] and values[other] == values[row]:
            return 0
    return 1


@native
def _worth(tally, amounts, numbers, number, words, words_known):
    """What tallies are worth."""
    floats, results = amounts.view(np.float64), words.view(np.float64)
    for t in range(len(tally)):
        kind, n = tally[t, 1], numbers[t]
        words_known[t] = n > 0 or kind <= COUNT or kind in (NUMBER, DISTINCT)
        if kind <= COUNT or kind == DISTINCT:
            words[t] = n
        elif kind == NUMBER:
            words[t] = number
        elif kind == AVG:
            results[t] = np.float64(amounts[t]) / n if n > 0 else 0.0
        elif kind == AVG_FLOAT:
            results[t] = floats[t] / n if n > 0 else 0.0
        else:
            words[t] = amounts[t]


@native
def running(found, path, variables, kind, column, values, known):
    """An aggregate after every row of some matches, as words and how many values it has."""
    amounts = np.zeros(len(path), np.int64)
    numbers = np.zeros(len(path), np.int64)
    amount, number = np.zeros(1, np.int64), np.zeros(1, np.int64)
    at = 0
    for m in range(len(found)):
        amount[0] = number[0] = 0
        for row in range(found[m, 1], found[m, 1] + found[m, 2]):
            if (variables >> (path[at] & ~HIDDEN)) & 1 == 1:
                if kind == DISTINCT:
                    first = found[m, 1]
                    labels = path[at - row + first : at + 1]
                    number[0] += _is_new(
                        labels, variables, first, row, values[column], known[column]
                    )
                else:
                    _count_in(kind, column, row, 0, values, known, amount, number)
            amounts[at], numbers[at] = amount[0], number[0]
            at += 1
    return amounts, numbers

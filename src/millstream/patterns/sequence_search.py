"""The search for sequences: one native loop over the rows of partitions, for all patterns."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import inlined, native
from millstream.patterns.postfix import holds

TEST, FINAL, END = 0, 1, 2
"""What an attempt fails by: a tuple that an element does not take, a condition on a star that has
ended, or the end of the rows."""

NEXT = 61
"""The bit of a table of restarts that says: one tuple after the start of the attempt."""

SAME = 62
"""The bit that says: at the tuple by which the attempt failed."""

ROWS, COUNT, SUM, SUM_FLOAT, MIN, MAX, MIN_FLOAT, MAX_FLOAT, AVG, AVG_FLOAT = range(10)
"""Kinds of tallies."""

HEAD = 3
"""Words of the state of a partition before those of elements: the element that is looked for,
whether an attempt is going on, and the position of the first row it can begin anew from."""

OUT = 4
"""Words of a match before its registers: the row that decides it, or −1 if time does, its
partition, how many elements it has reached, less than all of them if its time ran out, and the
instant at which it is decided. That is the furthest row that was looked at for it or before it."""

LONG_AGO = -(1 << 63)


def state_words(elements: int, tallies: int) -> int:
    return HEAD + 3 * elements + 2 * tallies


@native
def search(
    starts,
    fresh,
    position,
    ts,
    mask,
    values,
    known,
    stars,
    code,
    bounds,
    tally,
    restarts,
    resumes,
    keeps,
    trims,
    within,
    timeouts,
    closed,
    now,
    state,
    counters,
):
    """Look for matches in partitions whose rows lie from `starts[p]` to `starts[p + 1]`.

    Rows before `fresh[p]` were looked at in earlier steps. `tally` has a line for each tally: its
    element, kind, column and how many rows before the last it is over, or −1 for all. `restarts`
    say, by what an attempt failed and at which element, in which elements the next may begin, as
    bits; `resumes` how many elements of it are known then. `keeps` are the same for an attempt
    that goes on. A match has at most `within` between its ends, unless that is negative; attempts
    whose time is over `now` are given up, and given out under `timeouts`. With `closed`, rows end.
    `counters` counts the tests of rows, and the rows that were looked at again.

    Gives matches, a line of words each: see OUT, then first and last row of every element, how many
    rows each has, and the tallies; the rows to keep; and where those lie that are searched again.
    Long because what it knows of an attempt are its local variables.
    """
    elements, tallies = len(stars), len(tally)
    np.empty(elements, np.int64)
    np.empty(elements, np.int64)
    registers = np.full(2 * elements, -1, np.int64)
    counts = np.zeros(elements, np.int64)
    amounts = np.zeros(tallies, np.int64)
    numbers = np.zeros(tallies, np.int64)
    saved_amounts = np.zeros(tallies, np.int64)
    saved_numbers = np.zeros(tallies, np.int64)
    words = np.zeros(tallies, np.int64)
    words_known = np.zeros(tallies, np.bool_)
    stack = np.zeros(64, np.int64)
    stack_known = np.zeros(64, np.bool_)
    width = OUT + 3 * elements + 2 * tallies
    found = np.empty((64, width), np.int64)
    matches = 0
    kept = np.zeros(len(ts), np.bool_)
    live_from = np.empty(len(starts) - 1, np.int64)
    tests = 0
    again = 0
    for p in range(len(starts) - 1):
        begin, end = starts[p], starts[p + 1]
        j, going = state[p, 0], state[p, 1] == 1
        live = begin + np.searchsorted(position[begin:end], state[p, 2])
        for k in range(elements):
            counts[k] = state[p, HEAD + k]
            registers[2 * k] = registers[2 * k + 1] = -1
            if counts[k] > 0:
                for side in range(2):
                    place = state[p, HEAD + elements + 2 * k + side]
                    row = begin + np.searchsorted(position[begin:end], place)
                    registers[2 * k + side] = row
        for t in range(tallies):
            amounts[t] = state[p, HEAD + 3 * elements + 2 * t]
            numbers[t] = state[p, HEAD + 3 * elements + 2 * t + 1]
        i = fresh[p]
        seen = i
        limit = LONG_AGO
        while True:
            # what happens with this row: 0 it goes on, 1 a match is complete, 2 the attempt failed
            outcome, why = 0, TEST
            late = False
            if going and within >= 0:
                if i < end:
                    late = ts[i] > ts[registers[0]] + within
                elif timeouts:
                    late = now > ts[registers[0]] + within
                if late and timeouts:
                    limit = max(limit, ts[registers[0]] + within + 1)
                elif late:
                    seen = max(seen, i + 1)
            if i >= end and not late and not closed:
                break
            if i >= end and not going:
                break
            if late or i >= end:
                if stars[j] and j == elements - 1 and counts[j] > 0:
                    tests += 1
                    _value_tallies(tally, amounts, numbers, words, words_known)
                    at = elements + j
                    good = holds(
                        code, bounds[at], bounds[at + 1], registers, values, known, words,
                        words_known, stack, stack_known,
                    )  # fmt: skip
                    outcome, why = (1, FINAL) if good else (2, FINAL)
                else:
                    outcome, why = 2, END
                if outcome == 2 and late:
                    if timeouts and why == END:
                        found, matches = _give(
                            found, matches, max(seen, i) - 1, p, j + (1 if counts[j] > 0 else 0),
                            ts, limit, registers, counts, amounts, numbers,
                        )  # fmt: skip
                    why = -1
            else:
                tests += 1
                if i < seen:
                    again += 1
                else:
                    seen = i + 1
                taken = (mask[i] >> j) & 1 == 1
                if taken and bounds[j] == bounds[j + 1]:
                    registers[2 * j + 1] = i
                    if counts[j] == 0:
                        registers[2 * j] = i
                    counts[j] += 1
                    _tally(tally, j, i, registers[2 * j], values, known, amounts, numbers)
                elif taken:
                    before = registers[2 * j + 1]
                    registers[2 * j + 1] = i
                    if counts[j] == 0:
                        registers[2 * j] = i
                    saved_amounts[:] = amounts
                    saved_numbers[:] = numbers
                    _tally(tally, j, i, registers[2 * j], values, known, amounts, numbers)
                    _value_tallies(tally, amounts, numbers, words, words_known)
                    taken = holds(
                        code, bounds[j], bounds[j + 1], registers, values, known, words,
                        words_known, stack, stack_known,
                    )  # fmt: skip
                    if taken:
                        counts[j] += 1
                    else:
                        registers[2 * j + 1] = before
                        if counts[j] == 0:
                            registers[2 * j] = -1
                        amounts[:] = saved_amounts
                        numbers[:] = saved_numbers
                if taken:
                    going = True
                    if not stars[j]:
                        if j == elements - 1:
                            outcome = 1
                        else:
                            j += 1
                    if outcome == 0:
                        i += 1
                elif stars[j] and counts[j] > 0:
                    good = True
                    at = elements + j
                    if bounds[at] < bounds[at + 1]:
                        tests += 1
                        _value_tallies(tally, amounts, numbers, words, words_known)
                        good = holds(
                            code, bounds[at], bounds[at + 1], registers, values, known, words,
                            words_known, stack, stack_known,
                        )  # fmt: skip
                    if not good:
                        outcome, why = 2, FINAL
                    elif j == elements - 1:
                        outcome = 1
                    else:
                        j += 1
                elif not going:
                    i += 1
                else:
                    outcome = 2
            if outcome == 0:
                continue
            if outcome == 1:
                furthest = max(min(i, end - 1) if not late else i - 1, seen - 1)
                found, matches = _give(
                    found, matches, furthest, p, elements, ts, limit,
                    registers, counts, amounts, numbers,
                )  # fmt: skip
                if i < end and not stars[elements - 1]:
                    i += 1
                _reset(registers, counts, amounts, numbers)
                going, j = False, 0
                continue
            i, j = _restart(
                restarts[why, j] if why >= 0 else 1 << NEXT, resumes[max(why, 0), j],
                why >= 0, i, j, live, end, registers, counts, stars,
            )  # fmt: skip
            going = j > 0 or counts[0] > 0
            if not going:
                _reset(registers, counts, amounts, numbers)
        # what is kept for the next step
        state[p, 0], state[p, 1] = j, 1 if going else 0
        floor = end
        if going:
            floor = max(live, _floor(keeps[j], end, registers, counts))
            if trims:
                while floor < end and mask[floor] & 1 == 0:
                    floor += 1
        live_from[p] = floor
        behind = position[end - 1] + 1 if end > begin else 0
        state[p, 2] = position[floor] if floor < end else behind
        for k in range(elements):
            state[p, HEAD + k] = counts[k] if going else 0
            for side in range(2):
                row = registers[2 * k + side]
                there = going and row >= 0
                state[p, HEAD + elements + 2 * k + side] = position[row] if there else -1
                if there:
                    kept[row] = True
        for t in range(tallies):
            state[p, HEAD + 3 * elements + 2 * t] = amounts[t] if going else 0
            state[p, HEAD + 3 * elements + 2 * t + 1] = numbers[t] if going else 0
        _reset(registers, counts, amounts, numbers)
    counters[0] += tests
    counters[1] += again
    return found[:matches], kept, live_from


@inlined
def _reset(registers, counts, amounts, numbers):
    registers[:] = -1
    counts[:] = 0
    amounts[:] = 0
    numbers[:] = 0


@native
def _floor(bits, end, registers, counts):
    """The first row at which another attempt may begin."""
    if bits & (1 << NEXT):
        return registers[0] + 1
    if bits & 1 and counts[0] > 1:
        return registers[0] + 1
    for k in range(1, len(counts)):
        if bits & (1 << k) and counts[k] > 0:
            return registers[2 * k]
    return end


@native
def _restart(bits, resume, here, i, j, live, end, registers, counts, stars):
    """Where the next attempt goes on, and at which element; its registers, if some are known.

    `resume` is the element of this attempt in which the next begins with elements that are known,
    times 64, and their number. `here` says that the attempt failed at row i.
    """
    k, known = resume >> 6, resume & 63
    floor = _floor(bits, end, registers, counts)
    if floor == end and here:
        floor = i if bits & (1 << SAME) else i + 1
    if known > 0 and floor == registers[2 * k] and floor >= live:
        for m in range(known):
            registers[2 * m] = registers[2 * (k + m)]
            registers[2 * m + 1] = registers[2 * (k + m) + 1]
            counts[m] = counts[k + m]
        for m in range(known, len(counts)):
            registers[2 * m] = registers[2 * m + 1] = -1
            counts[m] = 0
        return i, known - 1 if stars[known - 1] else known
    counts[:] = 0
    registers[:] = -1
    return max(floor, live), 0


@native
def _give(found, matches, row, p, reached, ts, limit, registers, counts, amounts, numbers):
    """Note a match, decided by a row or by a limit of time, whichever is later.

    There is room for twice as many when it is full."""
    if matches == len(found):
        larger = np.empty((2 * matches, found.shape[1]), np.int64)
        larger[:matches] = found
        found = larger
    elements, tallies = len(counts), len(amounts)
    line = found[matches]
    by_time = limit > ts[row]
    line[0], line[1], line[2] = -1 if by_time else row, p, reached
    line[3] = limit if by_time else ts[row]
    line[OUT : OUT + 2 * elements] = registers
    line[OUT + 2 * elements : OUT + 3 * elements] = counts
    for t in range(tallies):
        line[OUT + 3 * elements + 2 * t] = amounts[t]
        line[OUT + 3 * elements + 2 * t + 1] = numbers[t]
    return found, matches + 1


@native
def _tally(tally, j, row, start, values, known, amounts, numbers):
    """Count a row of element j in."""
    for t in range(len(tally)):
        if tally[t, 0] != j:
            continue
        frame = tally[t, 3]
        if frame < 0:
            _count_in(tally[t, 1], tally[t, 2], row, t, values, known, amounts, numbers)
        else:
            amounts[t] = numbers[t] = 0
            for r in range(max(start, row - frame), row + 1):
                _count_in(tally[t, 1], tally[t, 2], r, t, values, known, amounts, numbers)


@native
def _count_in(kind, column, row, t, values, known, amounts, numbers):
    if kind == ROWS:
        numbers[t] += 1
        return
    if not known[column, row]:
        return
    word = values[column, row]
    floats = amounts.view(np.float64)
    if kind in (SUM, AVG):
        amounts[t] += word
    elif kind in (SUM_FLOAT, AVG_FLOAT):
        floats[t] += values[column].view(np.float64)[row]
    elif kind in (MIN, MAX):
        if numbers[t] == 0 or (word < amounts[t] if kind == MIN else word > amounts[t]):
            amounts[t] = word
    elif kind in (MIN_FLOAT, MAX_FLOAT):
        number = values[column].view(np.float64)[row]
        if numbers[t] == 0 or (number < floats[t] if kind == MIN_FLOAT else number > floats[t]):
            amounts[t] = word
    numbers[t] += 1


@native
def _value_tallies(tally, amounts, numbers, words, words_known):
    """What tallies are worth now."""
    floats, results = amounts.view(np.float64), words.view(np.float64)
    for t in range(len(tally)):
        kind, n = tally[t, 1], numbers[t]
        words_known[t] = n > 0 or kind <= COUNT
        if kind <= COUNT:
            words[t] = n
        elif kind == AVG:
            results[t] = np.float64(amounts[t]) / n if n > 0 else 0.0
        elif kind == AVG_FLOAT:
            results[t] = floats[t] / n if n > 0 else 0.0
        else:
            words[t] = amounts[t]

"""The search for sequences: one native loop over the rows of partitions, for all patterns.

Long because what the loop calls is of no use elsewhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from millstream.columns.native import inlined, native
from millstream.patterns.postfix import Op, holds

CONDITION, END, TIME = 0, 1, 2
"""Why an attempt fails: by a condition, because rows end, or because its time is over."""

HERE, BEHIND, NEXT = -1, -2, -3
"""Where the next attempt may begin beside the spans of one that failed: at the tuple by which it
failed, behind that one, and one tuple after its start."""

MOVE, KNOWN = 5, 4
"""Words of a move before those of elements, and of each element: the span in which the next attempt
begins; 0, 1 or 2 for its first tuple, the one after or the last; the span at which it goes on, or
HERE; the element that is looked for there; and of how many elements the tuples are known. Of each
of those: the span and tuple they begin at, the span whose last tuple they end with, and whether
there is one tuple only. Then, for each tally, where it comes from (`tables`)."""

SURE = 62
"""The bit of a row's mask that says that no number is negative that conditions multiply."""

ROWS, COUNT, SUM, SUM_FLOAT, MIN, MAX, MIN_FLOAT, MAX_FLOAT, AVG, AVG_FLOAT, LOOKED_UP = range(11)
"""Kinds of tallies. What the search cannot count is looked up."""

HEAD = 4
"""Words of the state of a partition before those of elements: the element that is looked for,
whether an attempt is going on, the position of the first row it can begin anew from, and in how
many spans all rows are sure to have no negative number that conditions multiply."""

OUT = 4
"""Words of a match before its registers: the row that decides it, or −1 if time does, its
partition, how many elements it has reached, less than all of them if its time ran out, and the
instant at which it is decided. That is the furthest row that was looked at for it or before it."""

_GOES_ON, _STOPPED, _FAILED, _COMPLETE = range(4)

LONG_AGO = -(1 << 63)

TALLY = int(Op.TALLY)


def state_words(elements: int, tallies: int) -> int:
    return HEAD + 3 * elements + 2 * tallies


class Known(NamedTuple):
    """What aggregates are that the search cannot count. `line[t, a]` is the line of tally t over a
    span that begins at row a, or −1: `value[lines[k, 1] + r - lines[k, 0]]` is what it is up to row
    r, for so many rows as `lines[k, 2]` says; `used` notes which of them were read."""

    line: Any
    lines: Any
    value: Any
    there: Any
    used: Any


class Rows(NamedTuple):
    """Rows by partition: those of partition p lie from `starts[p]` to `starts[p + 1]`. Then what a
    `Scene` has, and what is known of aggregates."""

    starts: Any
    position: Any
    ts: Any
    mask: Any
    values: Any
    known: Any
    aggregates: Known


class Pattern(NamedTuple):
    """What is looked for. `tally` has a line for each tally: its element, kind and column. A match
    has at most `within` between its ends, unless that is negative; with `timeouts`, attempts whose
    time is over are given out."""

    stars: Any
    code: Any
    bounds: Any
    tally: Any
    within: int
    timeouts: bool


class Skips(NamedTuple):
    """Where the next attempt begins, by why an attempt failed, whether it had tuples of the element
    that it failed at, that element, and how many spans are sure; the rows that one that goes on has
    to leave, by the latter three; with `trims`, only from one on at which an attempt can begin."""

    index: Any
    moves: Any
    floor_index: Any
    floors: Any
    trims: bool


class Attempt(NamedTuple):
    """The first and last row of every element, how many it has, tallies, and room to compute.
    `missing` is what has to be looked up and is not known: the tally, or −1, and the span."""

    registers: Any
    counts: Any
    amounts: Any
    numbers: Any
    saved_amounts: Any
    saved_numbers: Any
    words: Any
    words_known: Any
    stack: Any
    stack_known: Any
    missing: Any


@native
def search(rows, pattern, skips, closed, now, todo, place, state, kept, live_from, counters):
    """Look for matches in the partitions `todo`, with the words of their states, which change.

    Long because it is one loop, whose local variables are what it knows of an attempt.

    Attempts whose time is over at `now` are given up. With `closed`, rows end. `place[p]` is where
    partition p goes on: the row, up to which row all were looked at, and the latest limit of time
    that has passed. `counters` counts the tests of rows, and the rows that were looked at again.

    Gives matches, a line of words each: see OUT, then first and last row of every element, how many
    rows each has, and the tallies; and what is missing, a line for each partition that waits for
    it: the partition, the tally, and the first and last row of the span. Of the others, `kept` are
    registers to keep, and `live_from` says from where on rows are.
    """
    last, tallies = len(pattern.stars) - 1, len(pattern.tally)
    attempt = _attempt(last + 1, tallies)
    found, matches = np.empty((64, OUT + 3 * (last + 1) + 2 * tallies), np.int64), 0
    missing, waiting = np.empty((len(todo), 4), np.int64), 0
    counts, registers = attempt.counts, attempt.registers
    mask, ts, within = rows.mask, rows.ts, pattern.within
    stars, bounds, plain = pattern.stars, pattern.bounds, _plain(pattern)
    index, moves, position = skips.index, skips.moves, rows.position
    tests, again = 0, 0
    for p in todo:
        begin, end = rows.starts[p], rows.starts[p + 1]
        i, seen, limit = place[p, 0], place[p, 1], place[p, 2]
        j, going, live, sure = _take_up(rows, state[p], begin, end, attempt)
        stopped = False
        while True:
            tests_before, again_before, seen_before = tests, again, seen
            late = going and within >= 0 and _is_late(rows, pattern, i, end, now, attempt)
            if i >= end and not late and not (closed and going):
                break
            good = reason = CONDITION
            if late or i >= end:
                if late and pattern.timeouts:
                    limit = max(limit, rows.ts[attempt.registers[0]] + pattern.within + 1)
                elif late:
                    seen = max(seen, i + 1)
                ends = j == last and counts[j] > 0
                tests += ends
                good = ends and _final(rows, pattern, j, attempt)
                if attempt.missing[0] >= 0:
                    break
                reason = TIME if late else CONDITION if ends else END
                if late and pattern.timeouts and not ends:
                    found, matches = _give(
                        found,
                        matches,
                        max(seen, i) - 1,
                        p,
                        j + (counts[j] > 0),
                        rows.ts,
                        limit,
                        attempt,
                    )
            elif plain[j] and not stopped:
                outcome, i, j, going, sure, seen, more, once_more = _run(
                    mask, ts, stars, bounds, plain, within, i, end, j, going, sure, seen,
                    registers, counts,
                )  # fmt: skip
                tests += more
                again += once_more
                if tallies > 0:
                    _number(pattern.tally, counts, attempt.numbers)
                stopped = outcome == _STOPPED
                if outcome == _GOES_ON or stopped:
                    continue
                good = outcome == _COMPLETE
            else:
                stopped = False
                tests += 1
                again += i < seen
                seen = max(seen, i + 1)
                if _takes(rows, pattern, i, j, attempt):
                    going = True
                    sure = sure if (mask[i] >> SURE) & 1 else min(sure, j)
                    good = j == last and not stars[j]
                    if not good:
                        j += not stars[j]
                        i += 1
                        continue
                elif attempt.missing[0] >= 0:
                    break
                elif counts[j] > 0:
                    tests += bounds[last + 1 + j] < bounds[last + 2 + j]
                    good = _final(rows, pattern, j, attempt)
                    if attempt.missing[0] >= 0:
                        break
                    if good and j < last:
                        j += 1
                        continue
                elif not going:
                    i += 1
                    continue
                else:
                    good = False
            if good:
                furthest = max(i - 1 if late else min(i, end - 1), seen - 1)
                found, matches = _give(
                    found, matches, furthest, p, last + 1, rows.ts, limit, attempt
                )
                i += not pattern.stars[last]
                _reset(attempt)
                j, sure = 0, last + 1
            else:
                move, i, j, sure = _restart(
                    mask, position, index, moves, reason, i, end, live, j, sure, registers, counts
                )
                if move >= 0:
                    _take_over(moves[move], pattern.tally, attempt)
                else:
                    _reset(attempt)
            going = j > 0 or counts[0] > 0
        if attempt.missing[0] < 0:
            live_from[p] = _leave(
                rows, skips, state[p], live, begin, end, j, going, sure, kept, attempt
            )
            continue
        # as if the rows ended here: what has to be known is computed, and the search goes on
        tests, again = tests_before, again_before
        place[p, 0], place[p, 1], place[p, 2] = i, seen_before, limit
        missing[waiting, 0] = p
        missing[waiting, 1:] = attempt.missing
        waiting += 1
        attempt.missing[0] = -1
        _leave(rows, skips, state[p], live, begin, i, j, going, sure, kept[:0], attempt)
    counters[0] += tests
    counters[1] += again
    return found[:matches], missing[:waiting]


@native
def _plain(pattern):
    """The elements that look at the row under test and its neighbours only, and count nothing but
    rows."""
    elements = len(pattern.stars)
    found = np.empty(elements, np.bool_)
    for j in range(elements):
        found[j] = pattern.bounds[j] == pattern.bounds[j + 1]
    for t in range(len(pattern.tally)):
        if pattern.tally[t, 1] != ROWS:
            found[pattern.tally[t, 0]] = False
    return found


@native
def _number(tally, counts, numbers):
    """How many rows the elements have that are counted by rows."""
    for t in range(len(tally)):
        if tally[t, 1] == ROWS:
            numbers[t] = counts[tally[t, 0]]


@native
def _run(
    mask, ts, stars, bounds, plain, within, i, end, j, going, sure, seen, registers, counts
):  # fmt: skip
    """Take rows as long as elements are plain: nothing but arrays, which costs the least.

    Gives how it ends: it goes on behind the rows that are there, too late or at an element that is
    not plain; it has stopped at a star of which something is asked when it ends, and the row is
    not yet tested; the attempt has failed by the row; or it is complete. Then where it is, and how
    many tests there were, and of rows that were looked at again.
    """
    last, tests, again = len(counts) - 1, 0, 0
    while i < end and plain[j]:
        if going and within >= 0 and ts[i] > ts[registers[0]] + within:
            break
        if (mask[i] >> j) & 1:
            tests += 1
            again += i < seen
            seen = max(seen, i + 1)
            registers[2 * j + 1] = i
            if counts[j] == 0:
                registers[2 * j] = i
            counts[j] += 1
            going = True
            if not (mask[i] >> SURE) & 1:
                sure = min(sure, j)
            if stars[j]:
                i += 1
            elif j < last:
                i += 1
                j += 1
            else:
                return _COMPLETE, i, j, going, sure, seen, tests, again
            continue
        if counts[j] > 0 and bounds[last + 1 + j] < bounds[last + 2 + j]:
            return _STOPPED, i, j, going, sure, seen, tests, again
        tests += 1
        again += i < seen
        seen = max(seen, i + 1)
        if counts[j] > 0:
            if j == last:
                return _COMPLETE, i, j, going, sure, seen, tests, again
            j += 1
        elif going:
            return _FAILED, i, j, going, sure, seen, tests, again
        else:
            i += 1
    return _GOES_ON, i, j, going, sure, seen, tests, again


@native
def _attempt(elements, tallies):
    return Attempt(
        np.full(2 * elements, -1, np.int64),
        np.zeros(elements, np.int64),
        np.zeros(tallies, np.int64),
        np.zeros(tallies, np.int64),
        np.zeros(tallies, np.int64),
        np.zeros(tallies, np.int64),
        np.zeros(tallies, np.int64),
        np.zeros(tallies, np.bool_),
        np.zeros(64, np.int64),
        np.zeros(64, np.bool_),
        np.full(3, -1, np.int64),
    )


@inlined
def _reset(attempt):
    attempt.registers[:] = -1
    attempt.counts[:] = 0
    attempt.amounts[:] = 0
    attempt.numbers[:] = 0


@native
def _take_up(rows, state, begin, end, attempt):
    """The attempt that the state of a partition tells of, from where on rows are there for another,
    and how many spans are sure."""
    elements = len(attempt.counts)
    position = rows.position[begin:end]
    _reset(attempt)
    for k in range(elements):
        attempt.counts[k] = state[HEAD + k]
        if state[HEAD + k] > 0:
            for side in range(2):
                place = state[HEAD + elements + 2 * k + side]
                attempt.registers[2 * k + side] = begin + np.searchsorted(position, place)
    for t in range(len(attempt.amounts)):
        attempt.amounts[t] = state[HEAD + 3 * elements + 2 * t]
        attempt.numbers[t] = state[HEAD + 3 * elements + 2 * t + 1]
    going = state[1] == 1
    sure = state[3] if going else elements
    return state[0], going, begin + np.searchsorted(position, state[2]), sure


@native
def _leave(rows, skips, state, live, begin, end, j, going, sure, kept, attempt):
    """Note the attempt in the state of its partition; give the first row that is kept with all
    that follow it. Rows that elements begin or end with are kept beside."""
    registers, counts = attempt.registers, attempt.counts
    elements = len(counts)
    floor = end
    if going:
        floor = max(live, _floor(skips, end, j, sure, registers, counts))
        if skips.trims:
            while floor < end and rows.mask[floor] & 1 == 0:
                floor += 1
    behind = rows.position[end - 1] + 1 if end > begin else state[2]
    state[0], state[1], state[3] = j, 1 if going else 0, sure
    state[2] = rows.position[floor] if floor < end else behind
    for k in range(elements):
        state[HEAD + k] = counts[k] if going else 0
        for side in range(2):
            row = registers[2 * k + side]
            there = going and row >= 0
            state[HEAD + elements + 2 * k + side] = rows.position[row] if there else -1
            if there and row < len(kept):
                kept[row] = True
    for t in range(len(attempt.amounts)):
        state[HEAD + 3 * elements + 2 * t] = attempt.amounts[t] if going else 0
        state[HEAD + 3 * elements + 2 * t + 1] = attempt.numbers[t] if going else 0
    return floor


@inlined
def _is_late(rows, pattern, i, end, now, attempt):
    last = rows.ts[attempt.registers[0]] + pattern.within
    return rows.ts[i] > last if i < end else pattern.timeouts and now > last


@native
def _final(rows, pattern, j, attempt):
    """Whether a star that has ended meets what is asked of it then."""
    at = len(pattern.stars) + j
    return pattern.bounds[at] == pattern.bounds[at + 1] or _holds(rows, pattern, at, attempt)


@inlined
def _holds(rows, pattern, at, attempt):
    _value_tallies(
        pattern.tally, attempt.amounts, attempt.numbers, attempt.words, attempt.words_known
    )
    if rows.aggregates.line.shape[1] > 0 and not _look_up(rows, pattern, at, attempt):
        return False
    return holds(
        pattern.code,
        pattern.bounds[at],
        pattern.bounds[at + 1],
        attempt.registers,
        rows.values,
        rows.known,
        attempt.words,
        attempt.words_known,
        attempt.stack,
        attempt.stack_known,
    )


@native
def _look_up(rows, pattern, at, attempt):
    """Look up the tallies that a condition reads and the search cannot count; if one of them is not
    known, note it as missing."""
    aggregates, tally = rows.aggregates, pattern.tally
    for c in range(pattern.bounds[at], pattern.bounds[at + 1]):
        if pattern.code[c, 0] != TALLY or tally[pattern.code[c, 1], 1] != LOOKED_UP:
            continue
        t = pattern.code[c, 1]
        first = attempt.registers[2 * tally[t, 0]]
        last = attempt.registers[2 * tally[t, 0] + 1]
        attempt.words_known[t] = False
        if first < 0:
            continue
        line = aggregates.line[t, first]
        nth = -1 if line < 0 else last - aggregates.lines[line, 0]
        if nth < 0 or nth >= aggregates.lines[line, 2]:
            attempt.missing[0], attempt.missing[1], attempt.missing[2] = t, first, last
            return False
        value = aggregates.lines[line, 1] + nth
        aggregates.used[value] = True
        attempt.words[t] = aggregates.value[value]
        attempt.words_known[t] = aggregates.there[value]
    return True


@inlined
def _takes(rows, pattern, i, j, attempt):
    """Whether an element takes a row; if so, it is counted in."""
    if (rows.mask[i] >> j) & 1 == 0:
        return False
    if pattern.bounds[j] == pattern.bounds[j + 1]:
        _count(rows, pattern, i, j, attempt)
        return True
    return _takes_if(rows, pattern, i, j, attempt)


@inlined
def _count(rows, pattern, i, j, attempt):
    registers = attempt.registers
    registers[2 * j + 1] = i
    if attempt.counts[j] == 0:
        registers[2 * j] = i
    attempt.counts[j] += 1
    if len(attempt.amounts) > 0:
        _tally(pattern.tally, j, i, rows.values, rows.known, attempt.amounts, attempt.numbers)


@native
def _takes_if(rows, pattern, i, j, attempt):
    """The same with conditions that look at other rows, and at aggregates with the row in them."""
    before = attempt.registers[2 * j + 1]
    attempt.saved_amounts[:] = attempt.amounts
    attempt.saved_numbers[:] = attempt.numbers
    _count(rows, pattern, i, j, attempt)
    if _holds(rows, pattern, j, attempt):
        return True
    attempt.counts[j] -= 1
    attempt.registers[2 * j + 1] = before
    if attempt.counts[j] == 0:
        attempt.registers[2 * j] = -1
    attempt.amounts[:] = attempt.saved_amounts
    attempt.numbers[:] = attempt.saved_numbers
    return False


@native
def _floor(skips, end, j, sure, registers, counts):
    """The first row at which another attempt may begin if this one fails."""
    taken = 1 if counts[j] > 0 else 0
    lines = skips.floor_index[taken, j, min(sure, j + taken)]
    for at in range(lines[0], lines[1]):
        span, offset = skips.floors[at]
        if span == NEXT:
            return registers[0] + 1
        if counts[span] > min(offset, 1):
            return _row_of(registers, span, offset)
    return end


@native
def _restart(mask, position, index, moves, reason, i, end, live, j, sure, registers, counts):
    """By which move the next attempt takes over from this one, −1 if it begins anew; where it goes
    on, and at which element, and how many spans of it are sure."""
    elements, taken = len(counts), 1 if counts[j] > 0 else 0
    level = min(sure, j + taken)
    if level == j + taken and reason == CONDITION and i < end:
        level += (mask[i] >> SURE) & 1
    row = i
    for at in range(index[reason, taken, j, level, 0], index[reason, taken, j, level, 1]):
        span, offset = moves[at, 0], moves[at, 1]
        if span == NEXT:
            row = registers[0] + 1
        elif span < 0:
            row = i if span == HERE else min(i + 1, end)
        elif counts[span] > (2 if offset == 1 else 1 if offset == 2 else 0):
            row = _row_of(registers, span, offset)
            goes_on = moves[at, 2]
            if goes_on != NEXT and _is_there(position, registers, live, row, span, offset):
                row = i if goes_on == HERE else registers[2 * goes_on]
                return at, row, moves[at, 3], elements if sure == elements else 0
        else:
            continue
        break
    return -1, max(row, live), 0, elements


@inlined
def _row_of(registers, span, offset):
    return registers[2 * span + 1] if offset == 2 else registers[2 * span] + offset


@inlined
def _is_there(position, registers, live, row, span, offset):
    """Whether a row and those behind it are here; others may lie in its place."""
    return row >= live and (offset != 1 or position[row] == position[registers[2 * span]] + offset)


@native
def _take_over(move, tally, attempt):
    """The rows of an attempt of which those of some elements are known from the one before it."""
    registers, counts = attempt.registers.copy(), attempt.counts.copy()
    amounts, numbers = attempt.amounts.copy(), attempt.numbers.copy()
    _reset(attempt)
    for k in range(move[4]):
        span, offset, upto, single = move[MOVE + KNOWN * k : MOVE + KNOWN * (k + 1)]
        begin = _row_of(registers, span, offset)
        attempt.registers[2 * k] = begin
        attempt.registers[2 * k + 1] = begin if single else registers[2 * upto + 1]
        before = (0, 1, counts[span] - 1)[offset]
        attempt.counts[k] = 1 if single else counts[span : upto + 1].sum() - before
    for t in range(len(amounts)):
        source = move[MOVE + KNOWN * len(counts) + t]
        if source == 1:
            attempt.numbers[t] = attempt.counts[tally[t, 0]]
        elif source > 1:
            attempt.amounts[t] = amounts[source - 2]
            attempt.numbers[t] = numbers[source - 2]


@native
def _give(found, matches, row, p, reached, ts, limit, attempt):
    """Note a match, decided by a row or by a limit of time, whichever is later.

    There is room for twice as many when it is full."""
    if matches == len(found):
        larger = np.empty((2 * matches, found.shape[1]), np.int64)
        larger[:matches] = found
        found = larger
    counts, amounts, numbers = attempt.counts, attempt.amounts, attempt.numbers
    elements, tallies = len(counts), len(amounts)
    line = found[matches]
    by_time = limit > ts[row]
    line[0], line[1], line[2] = -1 if by_time else row, p, reached
    line[3] = limit if by_time else ts[row]
    line[OUT : OUT + 2 * elements] = attempt.registers
    line[OUT + 2 * elements : OUT + 3 * elements] = counts
    for t in range(tallies):
        line[OUT + 3 * elements + 2 * t] = amounts[t]
        line[OUT + 3 * elements + 2 * t + 1] = numbers[t]
    return found, matches + 1


@native
def _tally(tally, j, row, values, known, amounts, numbers):
    """Count a row of element j in."""
    for t in range(len(tally)):
        if tally[t, 0] == j and tally[t, 1] != LOOKED_UP:
            _count_in(tally[t, 1], tally[t, 2], row, t, values, known, amounts, numbers)


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
        if kind == LOOKED_UP:
            continue
        words_known[t] = n > 0 or kind <= COUNT
        if kind <= COUNT:
            words[t] = n
        elif kind == AVG:
            results[t] = np.float64(amounts[t]) / n if n > 0 else 0.0
        elif kind == AVG_FLOAT:
            results[t] = floats[t] / n if n > 0 else 0.0
        else:
            words[t] = amounts[t]

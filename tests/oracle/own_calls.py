"""What calls of aggregates of one's own give, from the definitions: tuple by tuple, every window
looked at anew. Shares no code with the operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Tuple = tuple[int, str, int]
"""An instant, an item and a price."""

Rows = list[tuple]


@dataclass(frozen=True)
class Own:
    """An aggregate: its definition, and what it gives for the prices in a window, of which the
    last is the newest. `left` is what it gives when a tuple leaves, for the prices that are left,
    where it has an EXPIRE block that returns."""

    name: str
    text: str
    gives: Callable[[list[int]], Rows]
    columns: int = 1
    is_blocking: bool = True
    has_base: bool = True
    left: Callable[[list[int]], Rows] | None = None


OWNS = (
    Own(
        "total",
        """ALGEBRAIC AGGREGATE total(x int) : int {
             TABLE s(t int);
             INITIALIZE : { INSERT INTO s VALUES (x); }
             ITERATE : { UPDATE s SET t = t + x; }
             TERMINATE : { INSERT INTO RETURN SELECT t FROM s; }
           }
           WINDOW AGGREGATE total(x int) : int {
             TABLE s(t int);
             TABLE inwindow(v);
             INITIALIZE : { INSERT INTO s VALUES (x); INSERT INTO RETURN VALUES (x); }
             ITERATE : { UPDATE s SET t = t + x; INSERT INTO RETURN SELECT t FROM s; }
             EXPIRE : {
               UPDATE s SET t = t - oldest().v;
               INSERT INTO RETURN SELECT t FROM s; }
           }""",
        lambda prices: [(sum(prices),)],
        left=lambda prices: [(sum(prices),)],
    ),
    Own(
        "ends",
        """AGGREGATE ends(x int) : (lo int, hi int) {
             TABLE seen(v int);
             INITIALIZE : ITERATE : { INSERT INTO seen VALUES (x); }
             TERMINATE : { INSERT INTO RETURN SELECT min(v), max(v) FROM seen; }
           }""",
        lambda prices: [(min(prices), max(prices))],
        columns=2,
    ),
    Own(
        "highest",
        """WINDOW AGGREGATE highest(x int) : int {
             TABLE inwindow(v);
             INITIALIZE : { INSERT INTO RETURN VALUES (x); }
             ITERATE : { DELETE FROM inwindow WHERE v < x;
                         INSERT INTO RETURN VALUES (oldest()); }
             EXPIRE : { }
           }""",
        lambda prices: [(max(prices),)],
        has_base=False,
        left=lambda prices: [],
    ),
    Own(
        "rises",
        """AGGREGATE rises(x int) : (low int, high int) {
             TABLE before(v int);
             INITIALIZE : { INSERT INTO before VALUES (x); }
             ITERATE : {
               INSERT INTO RETURN SELECT v, x FROM before WHERE v < x;
               INSERT INTO RETURN SELECT v, 2 * x FROM before WHERE v + 2 < x;
               UPDATE before SET v = x; }
           }""",
        lambda prices: (
            [
                row
                for row, counts in (
                    ((prices[-2], prices[-1]), prices[-2] < prices[-1]),
                    ((prices[-2], 2 * prices[-1]), prices[-2] + 2 < prices[-1]),
                )
                if counts
            ]
            if len(prices) > 1
            else []
        ),
        columns=2,
        is_blocking=False,
    ),
    Own(
        "kinds",
        """AGGREGATE kinds(x int) : int {
             TABLE seen(v int, n int);
             INITIALIZE : ITERATE : {
               UPDATE seen SET n = n + 1 WHERE v = x;
               INSERT INTO seen VALUES (x, 1) WHERE sqlcode > 0;
               INSERT INTO RETURN SELECT count(*) FROM seen; }
           }""",
        lambda prices: [(len(set(prices)),)],
        is_blocking=False,
    ),
)


@dataclass(frozen=True)
class Over:
    """A window: the partition, a bound in rows or instants, a slide, active expiration. A call
    without bounds whose aggregate is not blocking stands bare, or in groups."""

    partitioned: bool
    rows: int | None = None
    length: int | None = None
    slide: int | None = None
    active: bool = False

    @property
    def text(self) -> str:
        by = "PARTITION BY item " if self.partitioned else ""
        frame = "ROWS UNBOUNDED PRECEDING"
        if self.rows is not None:
            frame = f"ROWS {self.rows - 1} PRECEDING"
        if self.length is not None:
            frame = f"RANGE {self.length} PRECEDING"
        slide = f" SLIDE {self.slide}" if self.slide is not None else ""
        return f"OVER ({by}{frame}{slide}{' ACTIVE EXPIRATION' if self.active else ''})"


def answers(owns: list[Own], over: Over, tuples: list[Tuple]) -> Rows:
    """The rows of a query with calls over one window: the instant, the item, the results."""
    found: Rows = []
    last = tuples[-1][0] if tuples else 0
    for instant, item, prices, gone in moments(over, tuples):
        results: Rows = [()]
        for own in owns:
            if gone:
                given = own.left(prices) if own.left is not None else []
            else:
                given = own.gives(prices)
            results = [(*row, *more) for row in results for more in given]
        found += [(instant, item, *row) for row in results if instant <= last]
    return found


def moments(over: Over, tuples: list[Tuple]) -> Iterator[tuple[int, str, list[int], bool]]:
    """When a row is given: the instant, the item, the prices in the window, and whether a tuple
    has left."""
    past: dict[str, list[Tuple]] = {}
    ends: dict[tuple[str, int], tuple[int, str, list[int], bool]] = {}
    for t in tuples:
        key = t[1] if over.partitioned else ""
        mine = past.setdefault(key, [])
        mine.append(t)
        window = mine
        if over.rows is not None:
            window = mine[-over.rows :]
        if over.length is not None:
            window = [w for w in mine if w[0] >= t[0] - over.length]
        prices = [w[2] for w in window]
        if over.slide is None:
            yield t[0], t[1], prices, False
        elif over.length is None:
            if len(mine) % over.slide == 0:
                yield t[0], t[1], prices, False
        else:
            end = -(-t[0] // over.slide) * over.slide
            ends[key, end] = (end, t[1], prices, False)
    yield from ends.values()
    if over.active:
        assert over.length is not None
        for at, t in enumerate(tuples):
            leaves = t[0] + over.length + 1
            same = [
                w
                for i, w in enumerate(tuples)
                if (not over.partitioned or w[1] == t[1])
                and w[0] < leaves
                and (w[0] + over.length + 1, i) > (leaves, at)
            ]
            yield leaves, t[1], [w[2] for w in same], True


def groups_at(own: Own, length: int | None, rows: int | None, tuples: list[Tuple]) -> Rows:
    """What `Rstream` of the groups of a window gives: at every active instant all groups."""
    if not tuples:
        return []
    first, last = tuples[0][0], tuples[-1][0]
    instants = {t[0] for t in tuples}
    if length is not None:
        instants |= {t[0] + length + 1 for t in tuples}
    found: Rows = []
    for now in sorted(i for i in instants if first <= i <= last):
        there = [t for t in tuples if t[0] <= now]
        if length is not None:
            there = [t for t in there if t[0] >= now - length]
        if rows is not None:
            there = there[-rows:]
        for item in sorted({t[1] for t in there}):
            prices = [t[2] for t in there if t[1] == item]
            found += [(now, item, *row) for row in own.gives(prices)]
    return found

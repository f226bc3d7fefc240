"""Chains of views over streams, tagged streams and synchronized relations, with their meaning.

Every relation has the columns k and v. Its meaning is its content at every instant, computed from
that of its inputs by the words of the language, without anything of the engine.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Row = tuple
Bag = Counter[Row]
Element = tuple[int, str, int | None]
Content = list[Bag]
"""What a relation holds, instant by instant."""

VIEWS = 6
COMPARED = (">", "<", "=", "<>")


@dataclass
class Chain:
    """Elements of two streams, statements over them, and what each name holds."""

    rng: random.Random
    streams: dict[str, list[Element]] = field(default_factory=dict)
    """The elements in the order of time; ties as they arrive."""
    arriving: dict[str, list[Element]] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)
    held: dict[str, Content] = field(default_factory=dict)
    """Of every name that can stand in FROM, rows (k, v)."""
    dated: dict[str, Content] = field(default_factory=dict)
    """Of every name that can stand in R( ), rows (k, v, TS)."""
    points: dict[str, set[int]] = field(default_factory=dict)
    views: list[str] = field(default_factory=list)

    @property
    def instants(self) -> range:
        stamps = [t for rows in self.streams.values() for t, _, _ in rows]
        return range(min(stamps), max(stamps) + 1)

    def write(self, folder: Path) -> str:
        """The script; its files are written beside it."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in self.arriving.items():
            lines = [f"{t},{k},{'' if v is None else v}" for t, k, v in rows]
            (folder / f"{name}.csv").write_text("\n".join(["t,k,v", *lines]) + "\n")
        return "\n".join(self.statements)


def random_chain(seed: int, prefix: str = "", within: range | None = None) -> Chain:
    """Streams, what they modify, syncs, and views on each other, in turns.

    Several stand side by side if their names have a prefix: their elements then come `within` the
    same instants, since those of a run are those of all its streams.
    """
    chain = Chain(random.Random(seed))
    streams = f"{prefix}s", f"{prefix}u"
    for name in streams:
        _add_stream(chain, name, within)
    for name in streams:
        _add_relations(chain, name)
    for number in range(VIEWS):
        if chain.rng.random() < 0.5:
            _add_sync(chain, f"{prefix}y{number}")
        _add_view(chain, f"{prefix}v{number}")
    return chain


def _add_stream(chain: Chain, name: str, within: range | None) -> None:
    rng, at = chain.rng, chain.rng.randint(0, 4)
    rows = []
    for _ in range(rng.randint(4, 12)):
        rows.append((at, rng.choice("abc"), rng.choice((0, 1, 2, 3, 3, None))))
        at += rng.choice((0, 0, 1, 1, 2, 5))
    if within is not None:
        inner = [row for row in rows if row[0] in within]
        rows = [(within[0], "a", 1), *inner, (within[-1], "b", 2)]
    slack = rng.choice((0, 0, 1, 4))
    keys = {i: row[0] + rng.randint(0, slack) for i, row in enumerate(rows)}
    chain.arriving[name] = [rows[i] for i in sorted(keys, key=keys.__getitem__)]
    chain.streams[name] = sorted(chain.arriving[name], key=lambda row: row[0])
    chain.statements.append(
        f"CREATE STREAM {name} (t int, k string, v int) ORDER BY t SLACK {slack} "
        f"SOURCE '{name}.csv';"
    )


def _add_relations(chain: Chain, name: str) -> None:
    """The elements so far, and the latest of each key."""
    rows, key = chain.streams[name], f"{name}k"
    so_far: Content = [Counter(r for r in rows if r[0] <= at) for at in chain.instants]
    latest: Content = [
        Counter({k: (t, k, v) for t, k, v in rows if t <= at}.values()) for at in chain.instants
    ]
    for called, content in ((name, so_far), (key, latest)):
        chain.dated[called] = [mapped(bag, lambda r: (r[1], r[2], r[0])) for bag in content]
    chain.held[key] = [mapped(bag, lambda r: (r[1], r[2])) for bag in latest]
    chain.statements.append(f"CREATE STREAM {key} OVER {name} KEY k;")


def _add_sync(chain: Chain, name: str) -> None:
    rng, every = chain.rng, set(chain.instants)
    kind = rng.choice(("clock", "clock", "event", "both", "view"))
    if kind == "both" and len(chain.points) > 1:
        one, other = rng.sample(sorted(chain.points), 2)
        word = rng.choice(("UNION", "INTERSECT"))
        text = f"SELECT * FROM {one} {word} SELECT * FROM {other}"
        mine, theirs = chain.points[one], chain.points[other]
        found = mine | theirs if word == "UNION" else mine & theirs
        if any(f"VIEW {n} AS SELECT TS" in s for n in (one, other) for s in chain.statements):
            return
    elif kind == "event":
        source, least = rng.choice(sorted(chain.streams)), rng.randint(0, 2)
        text = f"SELECT t FROM {source} WHERE v > {least}"
        found = {t for t, _, v in chain.streams[source] if v is not None and v > least}
    elif kind == "view" and chain.views:
        source, least = rng.choice(chain.views), rng.randint(-1, 2)
        text = f"SELECT TS FROM R({source}) WHERE v > {least}"
        found = {
            at
            for at, bag in zip(chain.instants, chain.dated[source])
            if any(ts == at and v is not None and v > least for _, v, ts in bag)
        }
    else:
        period = rng.randint(1, 5)
        rest = rng.randrange(period)
        text = f"SELECT Timepoint FROM clockStr WHERE Timepoint % {period} = {rest}"
        found = {at for at in every if at % period == rest}
    chain.points[name] = found
    chain.statements.append(f"CREATE VIEW {name} AS {text};")


def _add_view(chain: Chain, name: str) -> None:
    text, content = chain.rng.choice(FORMS)(chain)
    form = chain.rng.choice(("STREAMED", "STREAMED", "COMPLETE"))
    chain.statements.append(f"CREATE {form} VIEW {name} AS {text};")
    chain.held[name] = content
    chain.dated[name] = with_dates(content, chain.instants)
    chain.views.append(name)


def _source(chain: Chain) -> tuple[str, Content]:
    """An entry of FROM with its rows (k, v, TS); those of a name alone have no TS."""
    rng = chain.rng
    if rng.random() < 0.15:
        stream, length = rng.choice(sorted(chain.streams)), rng.randint(0, 4)
        rows = chain.streams[stream]
        return f"{stream} [Range {length}]", [
            Counter((k, v, None) for t, k, v in rows if t <= at <= t + length)
            for at in chain.instants
        ]
    names = [*chain.views[-3:], *chain.views, *chain.dated]
    name = rng.choice(names)
    if chain.points and rng.random() < 0.4:
        sync = rng.choice(sorted(chain.points))
        content = synchronized(chain.dated[name], chain.points[sync], chain.instants)
        return f"R({name}, {sync})", content
    if name in chain.held and rng.random() < 0.3:
        return name, [mapped(bag, lambda r: (r[0], r[1], None)) for bag in chain.dated[name]]
    return f"R({name})", chain.dated[name]


def _pair(row: Row) -> Row:
    return row[:2]


def mapped(bag: Bag, change: Callable[[Row], Row]) -> Bag:
    """The rows of a bag, each changed."""
    found: Bag = Counter()
    for row, count in bag.items():
        found[change(row)] += count
    return found


def kept(bag: Bag, holds: Callable[[Row], bool]) -> Bag:
    """The rows for which a condition holds."""
    return Counter({row: count for row, count in bag.items() if holds(row)})


def synchronized(content: Content, points: set[int], instants: range) -> Content:
    """What a relation was at the last point."""
    found, last = [], Counter[Row]()
    for at, bag in zip(instants, content):
        last = bag if at in points else last
        found.append(last)
    return found


def with_dates(content: Content, instants: range) -> Content:
    """The rows with the instants since which they are there; of equal ones the first leaves
    first."""
    queues: dict[Row, list[int]] = {}
    found = []
    for at, bag in zip(instants, content):
        for row in {*queues, *bag}:
            there = queues.setdefault(row, [])
            more = bag[row] - len(there)
            queues[row] = there + [at] * more if more >= 0 else there[-more:]
        found.append(Counter((*row, ts) for row, there in queues.items() for ts in there))
    return found


def _filtered(chain: Chain) -> tuple[str, Content]:
    source, content = _source(chain)
    sign, constant = chain.rng.choice(COMPARED), chain.rng.randint(0, 3)

    def holds(row: Row) -> bool:
        return (
            row[1] is not None
            and {
                ">": row[1] > constant,
                "<": row[1] < constant,
                "=": row[1] == constant,
                "<>": row[1] != constant,
            }[sign]
        )

    text = f"SELECT k, v FROM {source} WHERE v {sign} {constant}"
    return text, [mapped(kept(bag, holds), _pair) for bag in content]


def _shifted(chain: Chain) -> tuple[str, Content]:
    source, content = _source(chain)
    more = chain.rng.choice((0, 1, 2))

    def change(row: Row) -> Row:
        return row[0], None if row[1] is None else row[1] + more

    return f"SELECT k, v + {more} AS v FROM {source}", [mapped(bag, change) for bag in content]


def _without_values(chain: Chain) -> tuple[str, Content]:
    source, content = _source(chain)
    return f"SELECT k, 1 AS v FROM {source}", [mapped(bag, lambda r: (r[0], 1)) for bag in content]


def _times(chain: Chain) -> tuple[str, Content]:
    while not (found := _source(chain))[0].startswith("R("):
        pass
    source, content = found
    return f"SELECT k, TS AS v FROM {source}", [
        mapped(bag, lambda r: (r[0], r[2])) for bag in content
    ]


def _grouped(chain: Chain) -> tuple[str, Content]:
    source, content = _source(chain)
    call = chain.rng.choice(("count(*)", "count(v)", "sum(v)", "max(v)", "min(v)"))
    least = chain.rng.choice((0, 0, 1))

    def value(values: list[int | None]) -> int | None:
        there = [v for v in values if v is not None]
        if call.startswith("count"):
            return len(values if call == "count(*)" else there)
        how = {"sum(v)": sum, "max(v)": max, "min(v)": min}[call]
        return how(there) if there else None

    def groups(bag: Bag) -> Bag:
        found: dict[object, list[int | None]] = {}
        for row in bag.elements():
            found.setdefault(row[0], []).append(row[1])
        return Counter((k, value(vs)) for k, vs in found.items() if len(vs) > least)

    having = f" HAVING count(*) > {least}" if least else ""
    return f"SELECT k, {call} AS v FROM {source} GROUP BY k{having}", list(map(groups, content))


def _joined(chain: Chain) -> tuple[str, Content]:
    (left, mine), (right, theirs) = _source(chain), _source(chain)

    def pairs(a: Bag, b: Bag) -> Bag:
        found: Bag = Counter()
        for one, n in a.items():
            for other, m in b.items():
                if one[0] == other[0]:
                    v = None if one[1] is None or other[1] is None else one[1] - other[1]
                    found[one[0], v] += n * m
        return found

    text = f"SELECT a.k AS k, a.v - b.v AS v FROM {left} a, {right} b WHERE a.k = b.k"
    return text, [pairs(a, b) for a, b in zip(mine, theirs)]


def _combined(chain: Chain) -> tuple[str, Content]:
    (left, mine), (right, theirs) = _source(chain), _source(chain)
    word = chain.rng.choice(("UNION", "EXCEPT", "INTERSECT"))
    every = chain.rng.random() < 0.5

    def combine(a: Bag, b: Bag) -> Bag:
        a, b = mapped(a, _pair), mapped(b, _pair)
        if not every:
            a, b = Counter(set(a)), Counter(set(b))
        found = {"UNION": a + b, "EXCEPT": a - b, "INTERSECT": a & b}[word]
        return found if every else Counter(set(found))

    text = f"SELECT k, v FROM {left} {word}{' ALL' if every else ''} SELECT k, v FROM {right}"
    return text, [combine(a, b) for a, b in zip(mine, theirs)]


def _semijoined(chain: Chain) -> tuple[str, Content]:
    (left, mine), (right, theirs) = _source(chain), _source(chain)
    negated = chain.rng.random() < 0.5

    def some(a: Bag, b: Bag) -> Bag:
        keys = {row[0] for row in b}
        return mapped(kept(a, lambda row: (row[0] in keys) != negated), _pair)

    text = (
        f"SELECT a.k AS k, a.v AS v FROM {left} a WHERE {'NOT ' if negated else ''}"
        f"EXISTS (SELECT * FROM {right} b WHERE b.k = a.k)"
    )
    return text, [some(a, b) for a, b in zip(mine, theirs)]


def _distinct(chain: Chain) -> tuple[str, Content]:
    source, content = _source(chain)
    return f"SELECT DISTINCT k, v FROM {source}", [
        Counter(set(mapped(bag, _pair))) for bag in content
    ]


FORMS = (
    _filtered,
    _filtered,
    _shifted,
    _without_values,
    _times,
    _grouped,
    _grouped,
    _joined,
    _combined,
    _combined,
    _semijoined,
    _distinct,
)

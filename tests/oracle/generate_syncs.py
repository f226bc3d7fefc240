"""Random cases whose sources are synchronized: generated scripts, with R(name, sync) in FROM."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from random import Random

from .check import check
from .forms import is_stream, view_of
from .generate import random_case
from .infer import catalog_of
from .spec import (
    INTEGERS,
    After,
    Both,
    Events,
    Join,
    Query,
    Script,
    Source,
    SpecError,
    Sync,
    Ticks,
    parts_of,
)

ABOUT = ("plain", "join", "outer", "distinct", "set", "filter", "topk", "table", "nested", "mix")
PERIODS = (1, 2, 2, 3, 3, 4, 5, 6, 7, 10)
SHARE = 0.6
"""Of the names in FROM that could be synchronized, so many are."""


def synchronized_case(seed: int, own_clocks: bool = False) -> Script:
    """A script in which some source is synchronized; `own_clocks` names the stream of each clock,
    so that several scripts can stand side by side."""
    rng = Random(f"sync {seed}")
    while True:
        base = random_case(rng.randrange(10**9), rng.choice(ABOUT))
        if not base.streams or any(s.domain != base.streams[0].domain for s in base.streams):
            continue
        if any(s.order_by is None for s in base.streams):
            continue
        syncs = random_syncs(rng, base, own_clocks)
        case = synchronized(rng, replace(base, syncs=syncs), [s.name for s in syncs])
        if any(isinstance(p, Query | Join) and p.sync for p in parts_of(case)):
            try:
                check(case)
            except SpecError:
                continue
            return case


def random_syncs(rng: Random, script: Script, own_clocks: bool) -> tuple[Sync, ...]:
    found = [Sync("p0", ticks(rng, script, own_clocks)), Sync("p1", ticks(rng, script, own_clocks))]
    stream = rng.choice(script.streams)
    numbers = [(n, t) for n, t in stream.columns if t in INTEGERS and n != "ts"]
    if numbers:
        column, _ = rng.choice(numbers)
        op = rng.choice(("=", "<>", "<", "<=", ">", ">="))
        found.append(Sync("p2", Events(stream.name, column, op, rng.randint(-1, 3))))
    if stream.domain == "integer" and rng.random() < 0.5:
        found.append(Sync("p3", After(stream.name, rng.randint(0, 4))))
    if not any(s.in_seconds for s in script.streams):
        for i in range(rng.randint(0, 2)):
            left, right = rng.choice(found).name, rng.choice(found).name
            found.append(Sync(f"p{4 + i}", Both(rng.choice(("union", "intersect")), left, right)))
    return tuple(found)


def ticks(rng: Random, script: Script, own_clocks: bool) -> Ticks:
    every = rng.choice(PERIODS)
    first = None
    if rng.random() < 0.2:
        first = rng.randint(0, 9)
        first += 1_704_067_200 if script.streams[0].domain == "timestamp" else 0
    own = own_clocks or rng.random() < 0.3
    clock = rng.choice(script.streams).name if own else None
    return Ticks(every, rng.randrange(every), first, clock)


def synchronized(rng: Random, script: Script, names: list[str]) -> Script:
    """The script with some streams and relational views in FROM synchronized."""
    catalog = catalog_of(script)
    streams = {stream.name for stream in script.streams}
    favourite = rng.choice(names)

    def pick() -> str:
        return favourite if rng.random() < 0.4 else rng.choice(names)

    def fits(name: object) -> bool:
        if not isinstance(name, str) or rng.random() > SHARE:
            return False
        view = view_of(script, name)
        return name in streams or (view is not None and name in catalog.named)

    def change(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(change, value))
        if not is_dataclass(value):
            return value
        value = replace(value, **{f.name: change(getattr(value, f.name)) for f in fields(value)})
        if isinstance(value, Query | Join) and fits(value.source):
            of = Source(str(value.source))
            if is_stream(script, of) or view_of(script, of.of) is not None:
                return replace(value, window=None, sync=pick())
        return value

    derived = tuple(replace(d, query=change(d.query)) for d in script.derived)
    return replace(script, derived=derived, queries=change(script.queries))

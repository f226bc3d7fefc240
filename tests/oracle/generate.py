"""Random cases: small scripts that reach into every corner of the language, the same for a seed."""

from dataclasses import replace
from random import Random

from .files import write
from .generate_plain import plain_case
from .generate_queries import Maker
from .generate_rows import Ground, random_ground, small_stream, small_table
from .generate_tables import changing_table
from .shrink import shrink
from .spec import Derived, Script, TableSpec

__all__ = ["FOCUSES", "random_case", "shrink", "write"]

SOME = {
    **{"join": 0.35, "outer": 0.3, "set": 0.2, "distinct": 0.15, "filter": 0.3, "scalar": 0.2},
    **{"correlated": 0.4, "nested": 0.25, "order": 0.3, "topk": 0.15},
    **{"table": 0.3, "past": 0.05, "collect": 0.3, "slots": 0.1},
}
"""How often a query has each of the constructs, where all may occur."""

FOCUSES: dict[str, dict[str, float]] = {
    "plain": {},
    "join": {"join": 1.0},
    "outer": {"join": 1.0, "outer": 0.8},
    "distinct": {"distinct": 0.7, "join": 0.15},
    "set": {"set": 0.9, "distinct": 0.15, "join": 0.1},
    "nested": {"nested": 0.8, "join": 0.3},
    "filter": {"filter": 0.9, "join": 0.2},
    "correlated": {"filter": 0.9, "correlated": 0.9},
    "scalar": {"filter": 0.6, "scalar": 0.9, "join": 0.1},
    "expression": {"expression": 0.8, "scalar": 0.3},
    "topk": {"topk": 0.8, "join": 0.2, "set": 0.15, "nested": 0.2, "distinct": 0.1},
    "table": {"table": 1.0, "join": 0.5, "outer": 0.2, "filter": 0.2},
    "past": {"past": 0.8},
    "collect": {"collect": 0.9, "group": 1.0},
    "order": {"order": 1.0, "join": 0.3},
    "slots": {"slots": 0.9, "join": 0.25, "nested": 0.2, "filter": 0.2, "group": 0.3},
    "mix": SOME,
}
"""What a case can be about: the name of a focus, and how often its queries have each construct."""


def random_case(seed: int, only: str | None = None) -> Script:
    """A script; about a third are plain ones. `only` is one of FOCUSES.

    Of cases that some rule of the language refuses, or whose meaning it leaves open, the next
    one is taken.
    """
    rng = Random(seed if only is None else f"{only} {seed}")
    focus = only or random_focus(rng)
    if focus == "plain":
        return plain_case(rng)
    return focused_case(rng, FOCUSES[focus])


def random_focus(rng: Random) -> str:
    if rng.random() < 0.33:
        return "plain"
    return rng.choice([focus for focus in FOCUSES if focus != "plain"] + ["mix"] * 3)


def focused_case(rng: Random, weights: dict[str, float]) -> Script:
    """Up to four streams of one domain, tables, derived streams and views, and queries."""
    ground = random_ground(rng)
    count = rng.choice((1, 2, 2, 3, 4)) if weights.get("join") else rng.choice((1, 2, 2, 3))
    most = {1: 12, 2: 10, 3: 7, 4: 6}[count]
    streams = tuple(small_stream(rng, name, ground, most) for name in "srpq"[:count])
    tables = random_tables(rng, ground, weights)
    maker = Maker(rng, Script(streams, tables), weights)
    for i in range(rng.choice((0, 0, 1, 1, 2, 3))):
        add_derived(maker, f"d{i + 1}")
    for _ in range(rng.choice((1, 1, 2, 3))):
        add_query(maker)
    return with_order(rng, maker.script) if maker.chance("order") else maker.script


def random_tables(rng: Random, ground: Ground, weights: dict[str, float]) -> tuple[TableSpec, ...]:
    """One that never changes, some that do, and one that does not reach back."""
    tables = [small_table(rng, "t0", ground)] if rng.random() < 0.5 else []
    if rng.random() < weights.get("table", 0.0):
        tables += [changing_table(rng, f"t{i}", ground) for i in range(1, rng.choice((2, 2, 3)))]
    if "past" in weights:
        tables.append(replace(changing_table(rng, "t3", ground), retroactive=False))
    return tuple(tables)


def add_derived(maker: Maker, name: str) -> None:
    def attempt() -> Script:
        kind = maker.rng.choice(("stream", "view", "view"))
        query = maker.outermost(exact=True)
        output = None if query.output in ("streamed", "complete") else query.output
        if kind == "stream" and output is None:
            output = maker.rng.choice(("istream", "istream", "dstream", "rstream"))
        derived = Derived(name, kind, replace(query, output=output))
        return replace(maker.script, derived=(*maker.script.derived, derived))

    maker.settle(attempt)


def add_query(maker: Maker) -> None:
    def attempt() -> Script:
        query = maker.outermost(exact=False)
        return replace(maker.script, queries=(*maker.script.queries, query))

    maker.settle(attempt)


def with_order(rng: Random, script: Script) -> Script:
    """Some views are defined behind the queries that use them."""
    named = [d.name for d in script.derived]
    named += [t.name for t in script.tables if t.feed == "statements"]
    return replace(script, last=tuple(name for name in named if rng.random() < 0.6))

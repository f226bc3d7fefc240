"""Generated cases of tagged streams: elements, keys, and queries over R( ) with their meaning."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from oracle.tagged import (
    DELETES,
    INSERTS,
    UPDATES,
    Bag,
    Element,
    dated,
    frozen,
    keyed,
    replayed,
    unkeyed,
)

VIEWS = """
CREATE STREAMED VIEW hot AS SELECT k, v FROM R(b) WHERE v > 1;
CREATE STREAMED VIEW counts AS SELECT v, count(*) AS n FROM R(hot) GROUP BY v;
CREATE COMPLETE VIEW several AS SELECT v FROM counts WHERE n > 1;
CREATE STREAMED VIEW lately AS SELECT k, v FROM s [Range 3];
"""
Snapshots = list[tuple[int, Bag]]
Held = dict[str, Bag]


def above(value: object, least: int) -> bool:
    """SQL's `value > least`, of which NULL is not true."""
    return isinstance(value, int) and value > least


def grouped(bag: Bag) -> Bag:
    """`SELECT v, count(*) AS n … GROUP BY v`."""
    counts = Counter(row["v"] for row in bag)
    return [{"v": v, "n": n} for v, n in counts.items()]


def picked(bag: Bag, *names: str) -> Bag:
    return [{name: row[name] for name in names} for row in bag]


QUERIES: dict[str, tuple[str, Callable[[Held], Bag]]] = {
    "all_of_it": ("SELECT k, v, TS FROM R(b)", lambda r: picked(r["b"], "k", "v", "TS")),
    "without_time": ("SELECT k, v FROM b", lambda r: picked(r["b"], "k", "v")),
    "wanted": (
        "SELECT k, v FROM R(b) WHERE v > 2 AND k <> 'c'",
        lambda r: [
            row for row in picked(r["b"], "k", "v") if above(row["v"], 2) and row["k"] in "abd"
        ],
    ),
    "wanted_with_time": (
        "SELECT v, TS FROM R(b) WHERE v > 1 AND TS > 4",
        lambda r: [
            row for row in picked(r["b"], "v", "TS") if above(row["v"], 1) and row["TS"] > 4
        ],
    ),
    "view": ("SELECT k, v, TS FROM R(hot)", lambda r: picked(r["hot"], "k", "v", "TS")),
    "view_by_name": ("SELECT v FROM hot", lambda r: picked(r["hot"], "v")),
    "groups": ("SELECT * FROM R(counts)", lambda r: picked(r["counts"], "v", "n", "TS")),
    "third": ("SELECT v, TS FROM R(several)", lambda r: picked(r["several"], "v", "TS")),
    "expanded": (
        "SELECT v FROM (SELECT v, count(*) AS n FROM (SELECT k, v FROM R(b) WHERE v > 1) AS h "
        "GROUP BY v) AS c WHERE n > 1",
        lambda r: picked(r["several"], "v"),
    ),
    "pairs": (
        "SELECT a.k, h.v FROM R(b) a, R(hot) h WHERE a.v < h.v AND a.TS >= h.TS",
        lambda r: [
            {"k": a["k"], "v": h["v"]}
            for a in r["b"]
            for h in r["hot"]
            if a["v"] is not None and a["v"] < h["v"] and a["TS"] >= h["TS"]
        ],
    ),
    "window": ("SELECT k, v, TS FROM R(lately)", lambda r: picked(r["lately"], "k", "v", "TS")),
    "beside_window": (
        "SELECT l.k, h.v FROM lately l, R(hot) h WHERE l.v = h.v",
        lambda r: [
            {"k": one["k"], "v": h["v"]}
            for one in r["lately"]
            for h in r["hot"]
            if one["v"] == h["v"]
        ],
    ),
    "rest": (
        "SELECT k, v FROM R(b) EXCEPT ALL SELECT k, v FROM hot",
        lambda r: [
            dict(row)
            for row in (
                Counter(map(frozen, picked(r["b"], "k", "v")))
                - Counter(map(frozen, picked(r["hot"], "k", "v")))
            ).elements()
        ],
    ),
}


NAMES = ("s", "b", "hot", "counts", "several", "lately", *QUERIES)


@dataclass
class Case:
    """Elements, a key or none, and whether the elements say what they do."""

    elements: list[Element]
    keys: tuple[str, ...] | None
    says: bool
    held: list[tuple[int, Held]] = field(init=False)

    def __post_init__(self) -> None:
        last = max(element.ts for element in self.elements)
        instants = range(min(element.ts for element in self.elements), last + 1)
        base: Snapshots = []
        for at in instants:
            keys, elements = self.keys, self.elements
            base.append((at, unkeyed(elements, at) if keys is None else keyed(elements, keys, at)))
        with_time = list(dated(base)) if self.keys is None else base
        plain = [(at, picked(bag, "k", "v")) for at, bag in base]
        hot = [(at, [row for row in bag if above(row["v"], 1)]) for at, bag in plain]
        counts = [(at, grouped(bag)) for at, bag in hot]
        several = [(at, picked([r for r in bag if above(r["n"], 1)], "v")) for at, bag in counts]
        lately = [(at, [e.row for e in self.elements if e.ts <= at <= e.ts + 3]) for at in instants]
        named = {"hot": hot, "counts": counts, "several": several, "lately": lately}
        views = {name: [bag for _, bag in dated(found)] for name, found in named.items()}
        self.held = [
            (at, {"b": bag} | {name: found[i] for name, found in views.items()})
            for i, (at, bag) in enumerate(with_time)
        ]

    def script(self, folder: Path, suffix: str = "") -> str:
        """The statements of the case, whose names may have a suffix, and its file."""
        op = "char op, " if self.says else ""
        columns = "CREATE STREAM s (t int, op varchar, k varchar, v int)"
        if self.says:
            columns = f"REGISTER SOURCE s (int t, {op}char k, int v)"
        lines = ["t,op,k,v"]
        for e in self.elements:
            cells = (e.ts, e.op or "", e.row["k"], "" if e.row["v"] is None else e.row["v"])
            lines.append(",".join(map(str, cells)))
        (folder / f"s{suffix}.csv").write_text("\n".join(lines) + "\n")
        key = "NULL" if self.keys is None else ", ".join(self.keys)
        base = f"{columns} ORDER BY t SOURCE 's.csv';\nCREATE STREAM b OVER s KEY {key};\n"
        queries = (
            f"CREATE VIEW {name} AS {sql.replace('SELECT', 'SELECT STREAMED', 1)};"
            for name, (sql, _) in QUERIES.items()
            if name != "rest"
        )
        rest = f"CREATE STREAMED VIEW rest AS {QUERIES['rest'][0]};"
        text = base + VIEWS + "\n".join((*queries, rest))
        return re.sub(rf"\b({'|'.join(NAMES)})\b", rf"\1{suffix}", text) if suffix else text


def random_case(seed: int) -> Case:
    rng = random.Random(seed)
    says, keys = rng.random() < 0.5, rng.choice((("k",), ("k",), ("k", "v"), None))
    at, elements = rng.randint(0, 3), []
    for _ in range(rng.randint(4, 16)):
        at += rng.choice((0, 0, 1, 1, 2, 4))
        kinds = rng.choice((INSERTS, INSERTS, UPDATES, DELETES))
        value = rng.choice((1, 2, 2, 3, 4, None))
        row = {"k": rng.choice("abcd"), "v": value}
        elements.append(Element(at, rng.choice(kinds) if says else None, row))
    return Case(elements, keys, says)


Keys = Mapping[str, tuple[str, ...] | None]


def check_results(case: Case, tables: Mapping[str, pa.Table], keys: Keys, suffix: str = "") -> None:
    """Hold the changes of every query, at every instant, against its meaning."""
    for name, (_, meaning) in QUERIES.items():
        called = name + suffix
        found = tables[called].to_pylist() if called in tables else []
        changes = [
            (row["op"], row["ts"], {n: v for i, (n, v) in enumerate(row.items()) if i > 1})
            for row in found
        ]
        for at, held in case.held:
            expected = Counter(map(frozen, meaning(held)))
            assert replayed(changes, keys[called], at) == expected, f"{called} at {at}"

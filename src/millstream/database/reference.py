"""The functions of the language, for people who look one up: SHOW FUNCTIONS, DESCRIBE FUNCTION."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.builtin import BUILTINS
from millstream.aggregates.examples import EXAMPLES
from millstream.algebra.evaluate import evaluate
from millstream.algebra.functions import CONSTANT_ARGUMENTS, FUNCTIONS, Function
from millstream.algebra.meanings import MEANINGS
from millstream.algebra.node import walk
from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    type_name,
)
from millstream.bind import bind_query
from millstream.bind.expressions.vocabulary import ALIASES
from millstream.blocks.routine import Routine
from millstream.catalog import Catalog, Stream
from millstream.connect.cells import plain
from millstream.errors import MillstreamError
from millstream.lang import QueryStatement, parse_script
from millstream.library import LIBRARY, meaning_of, text_of
from millstream.operators import Project

TYPES = (INTEGER, DOUBLE, pa.decimal128(8, 2), STRING, BOOLEAN, TIMESTAMP, DATE, INTERVAL)
ROW = {"name": "'lamp'", "ts": "2024-05-01 10:20:30"}
BIDS = "over bids of 20 for a lamp, 5 for a vase and 35 for a lamp"
NEAR, MOST_NEAR = 0.8, 3
FORMS = {
    "case": "CASE WHEN condition THEN value … [ELSE value] END\n"
    "CASE x WHEN value THEN value … [ELSE value] END\n"
    "  The value of the first condition that is true, or NULL without ELSE.",
    "cast": "CAST(x AS type), x::type\n"
    "  The value in another type; TRY_CAST gives NULL if it is none.",
    "between": "x BETWEEN low AND high\n  Whether low <= x and x <= high.",
    "in": "x IN (value, …), x IN (SELECT …)\n  Whether x is one of these values.",
    "exists": "EXISTS (SELECT …)\n  Whether the query has a row.",
}
"""What is part of the grammar, and no function, though people look it up."""


@dataclass(frozen=True)
class Entry:
    """What is told of a function, an operator or an aggregate."""

    kind: str
    name: str
    usage: str
    meaning: str
    example: str
    aliases: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names it is found by: also the word that it is written with."""
        return tuple(dict.fromkeys((self.name, self.written, *self.aliases)))

    @property
    def written(self) -> str:
        return self.name if self.kind == "operator" else self.usage.partition("(")[0]


def entries() -> tuple[Entry, ...]:
    """All functions, in the order of the manual; aggregates come last, those written in SQL too."""
    built = (*map(_of_function, FUNCTIONS.values()), *map(_of_aggregate, BUILTINS))
    return (*built, *map(_of_shipped, LIBRARY))


def listed(kind: str | None = None, like: str | None = None) -> str:
    """A line for every function, or for those of a kind whose names are like a pattern of LIKE."""
    none = f"no {kind or 'function'} has a name like '{like}'"
    return "\n".join(lines_of(kind, like)) or none


def lines_of(kind: str | None = None, like: str | None = None) -> list[str]:
    """The lines of the list."""
    found = [
        entry
        for entry in entries()
        if (kind is None or entry.kind == kind) and (like is None or is_like(entry.names, like))
    ]
    wide = max((len(entry.usage) for entry in found), default=0)
    return [f"{e.kind:<9}  {e.usage:<{wide}}  {_bare(e.meaning)}".rstrip() for e in found]


def looked_up(name: str) -> str:
    """All that is told of the function of a name, or of the several that share it.

    The name may stand with arguments, as in a query.
    """
    word = name.lower().strip()
    word = word.partition("(")[0].strip() if word.endswith(")") and word[0].isalpha() else word
    found = [entry for entry in entries() if word in entry.names]
    if not found and word in FORMS:
        return FORMS[word]
    if not found:
        raise unknown(name)
    return "\n".join(map(_described, found))


_ALL = "Write SHOW FUNCTIONS, or millstream functions, to see them all."


def unknown(name: str) -> MillstreamError:
    """There is no such function; the hint names those that are near."""
    every = (called for entry in entries() for called in entry.names)
    known = list(dict.fromkeys(called for called in every if called[0].isalpha()))
    word = name.lower()
    near = get_close_matches(word, known, MOST_NEAR, NEAR)
    near += [k for k in known if len(word) > 2 and word in k and k not in near]
    listed = " or ".join(near[:MOST_NEAR])
    hint = f"Did you mean {listed}?" if near else _ALL
    return MillstreamError(f'function "{name}" does not exist', hint=hint)


def marked_usage(function: Function) -> str:
    """How a function is written, constant arguments marked with a star."""
    usage = function.usage
    for place in sorted(CONSTANT_ARGUMENTS.get(function.name, ()), reverse=True):
        names = list(re.finditer(r"[a-z_']+", usage))[1:]
        end = names[place].end()
        usage = usage[:end] + "*" + usage[end:]
    return usage


def gives(function: Function) -> str:
    """The types a function gives, whatever it is given."""
    found: dict[str, None] = {}
    for count in (1, 2, 3):
        for types in product(TYPES, repeat=count):
            if signature := function.sign(types):
                name = type_name(signature[1])
                found["decimal" if name.startswith("decimal") else name] = None
    return "any type" if len(found) >= len(TYPES) else ", ".join(found)


def takes(aggregate: Aggregate) -> str:
    """The types of the values that an aggregate is over."""
    taken = [t for t in TYPES if aggregate.result(t) is not None]
    names = [type_name(t).partition("(")[0] for t in taken]
    return "any type" if len(names) == len(TYPES) else ", ".join(names)


def _of_function(function: Function) -> Entry:
    meaning, example = MEANINGS[function.name]
    kind = "function" if re.match(r"[a-z_0-9]+\(", function.usage) else "operator"
    others = sorted(alias for alias, name in ALIASES.items() if name == function.name)
    return Entry(kind, function.name, function.usage, meaning, example, tuple(others))


def _of_aggregate(aggregate: Aggregate) -> Entry:
    name, usage = aggregate.name, aggregate.usage
    example, value = EXAMPLES[name]
    shown = f"{example} is {value}, {BIDS}"
    return Entry("aggregate", name, usage, aggregate.meaning, shown, aggregate.aliases)


def _of_shipped(name: str) -> Entry:
    usage = f"{name}({', '.join(called for called, _ in LIBRARY[name].any.arguments)})"
    said = re.split(r"[:.;] ?", meaning_of(name))[0]
    return Entry("aggregate", name, usage, said[0].lower() + said[1:], "", ())


def usage_of(routine: Routine) -> str:
    """How a routine is declared: its arguments and what it returns.

    >>> usage_of(LIBRARY["decay_avg"].any)
    'decay_avg(value double, keep double) : double'
    """
    arguments = ", ".join(f"{name} {type_name(kind)}" for name, kind in routine.arguments)
    returns = ", ".join(f"{name} {type_name(kind)}" for name, kind in routine.returns)
    alone = [name for name, _ in routine.returns] == [routine.name] and not routine.is_function
    given = type_name(routine.returns[0][1]) if alone else f"({returns})"
    return f"{routine.name}({arguments}) : {given}"


def _described(entry: Entry) -> str:
    lines = [f"{entry.kind} {entry.usage}", f"  {_bare(entry.meaning)}"]
    if entry.name in LIBRARY:
        definitions = text_of(entry.name).splitlines()
        lines += ["  written in SQL:", *(f"    {line}".rstrip() for line in definitions)]
    elif entry.kind == "aggregate":
        aggregate = next(one for one in BUILTINS if one.name == entry.name)
        lines += [f"  of {takes(aggregate)}", f"  example: {entry.example}"]
    else:
        function = FUNCTIONS[entry.name]
        constant = [p + 1 for p in CONSTANT_ARGUMENTS.get(entry.name, ())]
        lines += [f"  gives {gives(function)}"]
        lines += [f"  argument {place} must be a constant" for place in constant]
        given = [f"{c} is {v}" for c, v in ROW.items() if re.search(rf"\b{c}\b", entry.example)]
        where = f", where {' and '.join(given)}" if given else ""
        lines.append(f"  example: {entry.example} is {value_of(entry.example)}{where}")
    others = ", ".join(name for name in entry.aliases if name != entry.written)
    return "\n".join([*lines, f"  also called {others}"] if others else lines)


def is_like(names: Sequence[str], pattern: str) -> bool:
    """Whether one of the names matches a pattern of LIKE, in any case."""
    return bool(pc.any(pc.match_like(pa.array(names), pattern, ignore_case=True)).as_py())


def _bare(text: str) -> str:
    """A meaning without the marks that the manual has."""
    return text.replace("`", "")


def value_of(example: str) -> str:
    """The value of an example, over the row that the manual names."""
    columns = (("ts", TIMESTAMP), ("name", STRING))
    catalog = Catalog()
    catalog.add(Stream("s", columns, "ts"))
    text = f"SELECT {example} AS value FROM s [Now]"
    (statement,) = parse_script(text)
    assert isinstance(statement, QueryStatement)
    plan = bind_query(statement.query, catalog, text).plan
    values = next(node for node in walk(plan) if isinstance(node, Project)).outputs
    row = pa.RecordBatch.from_pydict(
        {"ts": pa.array([1_714_558_830_000_000]).cast(TIMESTAMP), "name": ["lamp"]}
    )
    found = plain(evaluate(values[0][1], row, 1))
    return str(found.fill_null("NULL")[0].as_py())

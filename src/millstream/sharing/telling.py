"""Who feeds whom, in words: what EXPLAIN SHARING says of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.algebra.node import Node, walk
from millstream.operators import Scan
from millstream.plan.annotate import line_of, shortened
from millstream.sharing.containment import WhyNot, over
from millstream.sharing.rewriting import Rewriting, View, Views, routines_of
from millstream.sharing.skinned import skinned

MOST_PAIRS = 100
"""So many pairs are told of one query; the rest are counted."""

MOST_NAMED = 5
"""So many queries are named that have a part in common; the rest are counted."""

WIDEST = 60


@dataclass(frozen=True)
class Told:
    """A query, as far as others may have to do with it: `plan` is its own plan, `carried` the one
    that is carried out; `over` names the queries it is computed from, `reads` those it names, and
    `common` are the parts that it has in common with others."""

    name: str
    plan: Node
    carried: Node
    over: tuple[str, ...]
    reads: tuple[str, ...]
    common: tuple[Node, ...] = ()


def sharing_of(query: Told, others: Sequence[Told], settings_on: bool) -> str:
    """Everything about one query: what it is computed from, whom it feeds, and why no more."""
    lines = [] if settings_on else ["-- sharing = off: every query is computed by itself"]
    lines += [f"is computed from {name}" for name in query.over]
    lines += [f"feeds {other.name}" for other in others if query.name in other.over]
    lines += [_with_others(part, query, others) for part in query.common]
    at = next((i for i, other in enumerate(others) if other.name == query.name), len(others))
    pairs = [o for o in others[:at] if o.name not in query.over and _streams(o) & _streams(query)]
    lines += [f"{other.name}: {between(query, other)}" for other in pairs[:MOST_PAIRS]]
    if len(pairs) > MOST_PAIRS:
        lines.append(f"and {len(pairs) - MOST_PAIRS:,} more queries over its streams")
    return "\n".join(lines or ["no query before it reads its streams"])


def _with_others(part: Node, query: Told, others: Sequence[Told]) -> str:
    """A part that is computed once for several queries."""
    with_it = [o.name for o in others if part in o.common and o.name != query.name]
    shown = ", ".join(with_it[:MOST_NAMED])
    more = f" and {len(with_it) - MOST_NAMED:,} more" if len(with_it) > MOST_NAMED else ""
    below = part.inputs[0] if part.inputs else part
    words = f"{line_of(part, 0)} over {line_of(below, 0)}"
    return f"has in common with {shown}{more}: {shortened(words, WIDEST)}"


def between(query: Told, other: Told) -> str:
    """Why a query is not computed from another."""
    if other.name.lower() in query.reads:
        return "it is read by its name"
    if other.carried == query.carried:
        return "it computes the same, and is computed once"
    if any(part in other.common for part in query.common):
        return "what both have in common is computed once"
    once = next(_in_common(query.carried, other.carried), None)
    common = f"; both read {shortened(line_of(once, 0), WIDEST)}" if once is not None else ""
    return f"{_why(query, other)}{common}"


def _why(query: Told, other: Told) -> str:
    if not routines_of(other.carried) <= routines_of(query.plan):
        return "it calls aggregates that the query does not"
    form, view = skinned(query.plan), skinned(other.carried)
    found = over(form, view, other.carried)
    if not isinstance(found, WhyNot):
        return "the query is contained in it, but to compute it from there would save nothing"
    views = Views()
    views.add(View(other.name, other.carried))
    rewriting = Rewriting(views, query.name)
    rewriting.rewritten(query.plan)
    if rewriting.used:
        return "a part of the query is contained in it, but to share it would save nothing"
    return found.words


def _in_common(one: Node, other: Node) -> Iterator[Node]:
    """The operators with state that both plans have, the last ones first."""
    theirs = set(walk(other))
    return (n for n in reversed(list(walk(one))) if n in theirs and not n.stateless)


def _streams(query: Told) -> frozenset[str]:
    return frozenset(n.stream for n in walk(query.plan) if isinstance(n, Scan))

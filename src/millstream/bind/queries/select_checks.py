"""What one SELECT cannot have: clauses that do not go together."""

from __future__ import annotations

from sqlglot import exp

from millstream.algebra.expressions import columns_of
from millstream.bind.expressions.over_messages import beside_groups, several_windows
from millstream.bind.expressions.own_messages import beside, beside_active
from millstream.bind.names.trees import has_query
from millstream.bind.queries.grouping import Grouping
from millstream.bind.queries.ordering import Ordering, clause_place
from millstream.bind.queries.overs import Overs
from millstream.bind.queries.owns import Owns
from millstream.bind.subqueries.correlation import Outer
from millstream.errors import MillstreamError
from millstream.lang import place_of


def check_without_from(node: exp.Select, text: str) -> None:
    """Only a list of values stands without FROM."""
    words = {"where": "WHERE", "group": "GROUP BY", "having": "HAVING", "order": "ORDER BY"}
    for key, word in words.items():
        if node.args.get(key) is not None:
            relation = "Put the subqueries in FROM, as (SELECT …) a, and test their columns."
            over = any(map(has_query, node.expressions)) or has_query(node.args[key])
            raise MillstreamError(
                f"a query with {word} needs FROM",
                place_of(node, text),
                hint=relation if over else "Name a stream: SELECT … FROM bids.",
            )


def check_aggregates(grouping: Grouping, outer: Outer | None) -> None:
    """An aggregate of columns of the query around would be one of that query."""
    for call in grouping.calls.values():
        values = [grouping.arguments[n] for n in call.arguments if n in grouping.arguments]
        read = frozenset().union(*map(columns_of, values))
        if outer is not None and read and read <= set(outer.names):
            name = call.aggregate.called
            raise MillstreamError(
                f'aggregate "{name}" takes columns of the query around it only',
                grouping.places[call.name],
                hint="Compute it in a subquery in FROM of that query, or leave it out.",
            )


def check_owns(
    node: exp.Select, owns: Owns, grouping: Grouping, outer: Outer | None, text: str
) -> None:
    """Which calls of aggregates of one's own can stand in one select list."""
    place = next(iter(owns.places.values()))
    routine = next(iter(owns.asked)).routine
    if outer is not None:
        raise MillstreamError(
            f'aggregate "{routine.name}" cannot stand in a subquery that uses columns of the query '
            "around it",
            place,
            hint="Compute it in a subquery in FROM or in a view.",
        )
    windows = [asked.window for asked in owns.asked]
    words = {"group": "GROUP BY", "having": "HAVING"}
    word = next((words[w] for w in words if node.args.get(w)), None)
    if word is not None and (any(windows) or owns.overs.windows):
        raise beside_groups(word).at(place)
    every = {*windows, *owns.overs.windows}
    frames = [w.frame for w in every if w is not None]
    if len(every) > 1 and not all(frame.plain for frame in frames):
        raise several_windows().at(place)
    if owns.overs.windows and any(frame.active for frame in frames):
        raise beside_active(routine).at(place)


def check_alone(owns: Owns, grouping: Grouping) -> None:
    """Fed a stream, aggregates of one's own stand beside no built-in one of a group."""
    if grouping.calls:
        number = next(iter(owns.places))
        routine = next(iter(owns.asked)).routine
        raise beside("a built-in aggregate", routine).at(owns.places[number])


def check_over(
    node: exp.Select, overs: Overs, grouping: Grouping, outer: Outer | None, text: str
) -> None:
    """OVER stands beside no groups, and in no subquery that reads the query around it."""
    overs.check()
    place = next(iter(overs.places.values()), None)
    if outer is not None:
        raise MillstreamError(
            "OVER cannot stand in a subquery that uses columns of the query around it",
            place,
            hint="Compute it in a subquery in FROM or in a view.",
        )
    words = {"group": "GROUP BY", "having": "HAVING"}
    word = next((words[w] for w in words if node.args.get(w)), None)
    if grouping.calls:
        call = next(iter(grouping.calls.values()))
        name = call.aggregate.called
        raise beside_groups(f'aggregate "{name}" without OVER').at(grouping.places[call.name])
    if word is not None:
        raise beside_groups(word).at(clause_place(node, word, text))


def check_ordering(node: exp.Select, ordering: Ordering | None, text: str) -> None:
    """ORDER BY goes with relations, and after DISTINCT with columns of the list."""
    operator = node.args.get("to_stream")
    clause = next((w for w in ("order", "limit", "offset") if node.args.get(w)), None)
    if operator and clause:
        word = "ORDER BY" if clause == "order" else clause.upper()
        called = operator.capitalize()
        raise MillstreamError(
            f"{word} cannot stand in a query that gives a stream",
            clause_place(node, word, text),
            detail="Streams come in the order of time, and have no end.",
            hint=f"Leave it out, or take the first rows of a relation: "
            f"{called}(SELECT … ORDER BY … LIMIT 10).",
        )
    if ordering and ordering.hidden and node.args.get("distinct") is not None:
        key = ordering.hidden[0]
        raise MillstreamError(
            "ORDER BY after DISTINCT takes columns of the select list",
            place_of(key.node, text),
            hint="Add it to the select list, or leave out DISTINCT.",
        )

"""The time that plans rest on: one query counts in one way."""

from __future__ import annotations

from millstream.algebra.node import Node, walk
from millstream.algebra.time import Domain
from millstream.errors import MillstreamError, Place
from millstream.operators import Scan, TableScan


def domain_of(plan: Node) -> Domain:
    """The time domain of the streams below a plan."""
    return next((domain for domain, _ in _clocks(plan)), Domain.INTEGER)


def check_clock(plan: Node, domain: Domain, what: str, place: Place | None) -> None:
    """Refuse to read the time of rows from a column that counts in another way than the rows."""
    for other, name in _clocks(plan):
        if other is not domain:
            raise MillstreamError(
                f"{what} and {name} count time in different ways",
                place,
                detail=f"{_sentence(what)} counts {domain.words}; {name} counts {other.words}.",
                hint="Order both by the same kind of column, or leave out ORDER BY: rows then "
                "keep their own time.",
            )


def check_times(left: Node, right: Node, place: Place | None, merges: bool = False) -> None:
    """Refuse to put two plans together whose streams do not count the same instants.

    What `merges` streams takes several that are ordered by arrival: the n-th row of one meets the
    n-th of the other, as in the partitions of a stream.
    """
    mine, theirs = _clocks(left), _clocks(right)
    for domain, name in mine:
        for other, other_name in theirs:
            if Domain.ARRIVAL in (domain, other):
                if name != other_name and not (merges and domain is other):
                    raise _latent(
                        *((name, other_name) if domain is Domain.ARRIVAL else (other_name, name)),
                        place,
                    )
            elif domain is not other:
                raise MillstreamError(
                    f"{name} and {other_name} count time in different ways",
                    place,
                    detail=f"{_sentence(name)} counts {domain.words}; "
                    f"{other_name} counts {other.words}.",
                    hint="Order both by timestamps (ORDER BY column SECONDS for an integer), "
                    "or write two queries.",
                )


def _clocks(plan: Node) -> list[tuple[Domain, str]]:
    """What the streams and changing tables below a plan count, with their names."""
    nodes = list(walk(plan))
    tables = {node.input: node.table.name for node in nodes if isinstance(node, TableScan)}
    found: dict[tuple[Domain, str], None] = {}
    for node in nodes:
        if isinstance(node, Scan):
            name = f'table "{tables[node]}"' if node in tables else f'stream "{node.stream}"'
            found[node.domain, name] = None
    return list(found)


def _latent(name: str, other: str, place: Place | None) -> MillstreamError:
    return MillstreamError(
        f"{name} has no time that it shares with {other}",
        place,
        detail=f"{_sentence(name)} is ordered by its own arrivals.",
        hint="Declare it with ORDER BY a column or current_time.",
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]

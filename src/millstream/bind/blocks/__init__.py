"""Aggregates and table functions: from their statements to checked trees.

body        what names mean inside a routine
assigning   values as the types that were declared
scalars     scalar expressions inside blocks
calls       calls of aggregates and their arguments
sources     FROM
shapes      the shape of bound queries
selects     one SELECT
queries     set operations and subqueries
statements  INSERT, UPDATE, DELETE, LOAD
routines    whole definitions
"""

from __future__ import annotations

from millstream.bind.blocks.routines import bind_routine
from millstream.blocks.routine import Routine
from millstream.catalog import Catalog
from millstream.lang import CreateRoutine, parse_script

__all__ = ["bind_routine", "routine_from_text", "routines_from_text"]


def routine_from_text(text: str, catalog: Catalog | None = None) -> Routine:
    """The last routine that a script of definitions gives; it may call those before it."""
    return routines_from_text(text, catalog)[-1]


def routines_from_text(text: str, catalog: Catalog | None = None) -> list[Routine]:
    """All routines of a script of definitions, in its order; each may call those before it."""
    known = catalog.copy() if catalog is not None else Catalog()
    found = []
    for statement in parse_script(text):
        assert isinstance(statement, CreateRoutine), "the script holds definitions only"
        found.append(bind_routine(statement, known, text)[0])
        known.put_routine(found[-1])
    return found

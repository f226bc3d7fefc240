"""What the author of a pattern is told that matches never, or always."""

from __future__ import annotations

from millstream.errors import Notice, Place
from millstream.patterns.certainty import certainty_of
from millstream.patterns.search import Search

NEVER = "Change one of its conditions: EXPLAIN MACHINE shows where each of them is tested."
NEVER_ENDS = "Write WITHIN and a length of time after the elements, or an element that ends it."
ALWAYS = "Give it a condition that some rows do not meet."
EMPTY = "Write + in the place of *, or ALL ROWS PER MATCH OMIT EMPTY MATCHES."


def certainties(search: Search, place: Place | None, closed: bool) -> list[Notice]:
    """Notices of what conditions imply of the whole pattern."""
    found = certainty_of(search, closed=closed)
    if found is None:
        return []
    what = "matches wherever the search begins" if found.matches else "never matches"
    hints = {"NO_ROW": EMPTY, "NEVER_ENDS": NEVER_ENDS}
    hint = hints.get(found.why.name, ALWAYS if found.matches else NEVER)
    return [Notice(f"the pattern {what}: {found.reason}", hint, place)]

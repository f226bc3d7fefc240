"""What is said of calls of aggregates of one's own that cannot be carried out."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.algebra.types import type_name
from millstream.blocks.routine import Routine
from millstream.blocks.versions import Versions
from millstream.errors import MillstreamError, Place, closest

EXAMPLE = "OVER (ROWS 99 PRECEDING)"


def kind_of(routine: Routine) -> str:
    return "function" if routine.is_function else "aggregate"


def usage(routine: Routine) -> str:
    """How a routine is called, with the types of its arguments."""
    arguments = ", ".join(f"{name} {type_name(kind)}" for name, kind in routine.arguments)
    return f"{routine.name}({arguments})"


def blocking(routine: Routine, described: str, written: str, grouped: bool) -> MillstreamError:
    """An aggregate that answers after the last tuple, on a stream that has none."""
    by = "the groups of " if grouped else ""
    return MillstreamError(
        f'aggregate "{routine.name}" is blocking and cannot run on {by}the bare {described}',
        detail="It has a TERMINATE block, so its answer comes only after the last tuple.",
        hint=f"Give it a window: {written} {EXAMPLE}.",
    )


def misplaced_own(name: str, clause: str) -> MillstreamError:
    """An aggregate where single rows are looked at."""
    if clause.startswith(("aggregate", "function")):
        hint = "Compute the inner one first, in a subquery in FROM or in a view."
    else:
        hint = "Compute it in a view or a subquery in FROM, and use its column here."
    return MillstreamError(f'aggregate "{name}" cannot stand in {clause}', hint=hint)


def refuse_own(versions: Versions, clause: str, place: Place | None) -> None:
    """A routine where neither aggregates nor rows can stand."""
    if versions.base is not None:
        raise misplaced_own(versions.any.name, clause).at(place)
    if versions.function is not None:
        raise gives_rows(versions.any.name).at(place)


def window_only(routine: Routine) -> MillstreamError:
    return MillstreamError(
        f'aggregate "{routine.name}" has a window version only, and no window stands here',
        hint=f"Give it a window: {routine.name}(…) {EXAMPLE}; or define a base version.",
    )


def several_columns(name: str, columns: Sequence[str]) -> MillstreamError:
    return MillstreamError(
        f'aggregate "{name}" gives {len(columns)} columns where one value must stand',
        hint=f"Name one of them: {name}(…).{columns[0]}; or let it stand alone, "
        f"{name}(…) AS ({', '.join(columns)}).",
    )


def too_many_names(name: str | None, given: int, columns: int) -> MillstreamError:
    if name is None:
        return MillstreamError(
            f"{given} names stand behind an expression that gives one column",
            hint="Names in parentheses are for aggregates that give several columns.",
        )
    gives = "one column" if columns == 1 else f"{columns} columns"
    return MillstreamError(
        f'aggregate "{name}" gives {gives}, and here are {given} names',
        hint="Write a name for each column.",
    )


def no_such_column(name: str, wanted: str, columns: Sequence[str]) -> MillstreamError:
    near = closest(wanted, list(columns))
    return MillstreamError(
        f'the result of aggregate "{name}" has no column "{wanted}"',
        hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(columns)}.",
    )


def wrong_count(routine: Routine, given: int) -> MillstreamError:
    wanted = len(routine.arguments)
    takes = "no arguments" if not wanted else f"{wanted} argument{'' if wanted == 1 else 's'}"
    here = {0: "are none", 1: "is one"}.get(given, f"are {given}")
    return MillstreamError(
        f'{kind_of(routine)} "{routine.name}" takes {takes}, and here {here}',
        hint=f"It is called as {usage(routine)}.",
    )


def wrong_type(routine: Routine, argument: str, wanted: str, given: str) -> MillstreamError:
    return MillstreamError(
        f'argument "{argument}" of {kind_of(routine)} "{routine.name}" is {wanted}, and this is '
        f"{given}",
        hint=f"CAST it to {wanted}.",
    )


def beside(what: str, routine: Routine) -> MillstreamError:
    return MillstreamError(
        f'aggregate "{routine.name}" cannot stand beside {what}',
        detail="It gives any number of rows for what it is fed; the other one gives one.",
        hint="Compute one of them in a view, or write both with OVER.",
    )


def no_function(routine: Routine) -> MillstreamError:
    return MillstreamError(
        f'aggregate "{routine.name}" gives values, and cannot stand in FROM',
        hint=f"Call it in the select list, or define FUNCTION {routine.name}.",
    )


def no_such_function(name: str, known: Sequence[str]) -> MillstreamError:
    near = closest(name, list(known))
    return MillstreamError(
        f'function "{name}" does not exist',
        hint=f'Did you mean "{near}"?' if near else f"Define FUNCTION {name}(…) : (…) {{ … }}.",
    )


def gives_rows(name: str) -> MillstreamError:
    return MillstreamError(
        f'function "{name}" gives rows, not a value',
        hint=f"Write FROM s, TABLE({name}(…)) AS t.",
    )


def not_lateral(routine: Routine) -> MillstreamError:
    return MillstreamError(
        f'function "{routine.name}" stands first in FROM, so its arguments are constants',
        hint=f"Put the stream or table before it: FROM s, TABLE({routine.name}(…)) AS t.",
    )


def not_joined(routine: Routine, word: str) -> MillstreamError:
    return MillstreamError(
        f'function "{routine.name}" cannot stand behind {word}',
        detail="It is called for every row of the entries before it.",
        hint=f"Write FROM s, TABLE({routine.name}(…)) AS t, or LEFT JOIN … ON true.",
    )


def no_expiry(routine: Routine) -> MillstreamError:
    return MillstreamError(
        f'aggregate "{routine.name}" has no window version: a tuple that leaves gives nothing',
        hint=f"Define WINDOW AGGREGATE {routine.name} with an EXPIRE block, or leave out ACTIVE "
        "EXPIRATION.",
    )


def not_relational(routine: Routine) -> MillstreamError:
    return MillstreamError(
        f'aggregate "{routine.name}" cannot follow a relation whose rows leave',
        detail="It has a window version only, which gives nothing when a tuple leaves.",
        hint="It needs a base version, or an EXPIRE block that returns.",
    )


def beside_active(routine: Routine) -> MillstreamError:
    return MillstreamError(
        f'aggregate "{routine.name}" under ACTIVE EXPIRATION stands beside a built-in one',
        hint="Write a view for each of them.",
    )

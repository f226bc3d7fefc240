"""EXPLAIN AGGREGATE: the checked tree of a routine, which machine runs it, and its source."""

from __future__ import annotations

from millstream.blocks.machine import Ending, Frame
from millstream.blocks.native import source_of, why_not
from millstream.blocks.routine import Routine
from millstream.catalog import Catalog, routine_kind
from millstream.database.contents import Contents
from millstream.errors import MillstreamError, closest


def explained_routine(name: str, contents: Contents) -> str:
    """All versions of a name."""
    versions = contents.catalog.versions(name)
    if versions is None:
        raise _unknown(name, contents.catalog)
    routines = (versions.base, versions.window, versions.function)
    return "\n\n".join(_explained(routine) for routine in routines if routine is not None)


def _explained(routine: Routine) -> str:
    ending = Ending.LAST if routine.is_blocking or routine.is_function else Ending.NEVER
    frame = Frame() if routine.is_window else None
    reason = why_not(routine, ending, frame)
    way = "native" if reason is None else f"general path: {reason}"
    answers = "" if routine.is_window or routine.is_function else ", not blocking"
    answers = ", blocking" if routine.is_blocking else answers
    lines = [f"-- {routine_kind(routine)} {routine.name}{answers}, {way}", routine.described]
    return "\n".join([*lines, "", source_of(routine, ending, frame)] if reason is None else lines)


def _unknown(name: str, catalog: Catalog) -> MillstreamError:
    near = closest(name, [versions.any.name for versions in catalog.routines.values()])
    hint = f'Did you mean "{near}"?' if near else "Write SHOW AGGREGATES to see them all."
    return MillstreamError(f'aggregate "{name}" is not one of your own', hint=hint)

"""CREATE AGGREGATE and CREATE FUNCTION: routines by their names, and what they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millstream.bind.blocks import bind_routine
from millstream.bind.names.script_order import defined_name, kind_made
from millstream.bind.names.words import check_name
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.native import Reason, why_not
from millstream.blocks.routine import Routine
from millstream.catalog import Catalog, Reader, routine_key, routine_kind
from millstream.connect.table import TableFiles
from millstream.database.events import Event, NameDefined, NameDropped, Noticed
from millstream.database.python_routines import HandedOver, named_in_script
from millstream.database.replacing import Replacing
from millstream.errors import MillstreamError, Notice
from millstream.lang import CreateForeignAggregate, CreateRoutine, parse_script


def define_routine(
    statement: CreateRoutine | CreateForeignAggregate,
    text: str,
    replacing: Replacing,
    files: TableFiles,
) -> list[Event]:
    """Let a name mean a routine; what reads one that is replaced is to be bound again."""
    if isinstance(statement, CreateForeignAggregate):
        allowed = replacing.contents.allows_python
        return put_routines(statement, named_in_script(statement, files.base, allowed), replacing)
    catalog, key = replacing.contents.catalog, defined_name(statement)
    there = _there(statement, catalog)
    names = replacing.names_for(statement)
    routine, notices, reads = bind_routine(statement, names, text, files)
    events: list[Event] = [Noticed(notice.about(statement.name)) for notice in notices]
    if there is not None and there != routine:
        replacing.begin(statement)
        events.append(NameDropped(routine_kind(there), there.name))
    replacing.waiting.pop(key, None)
    if there != routine:
        events.append(NameDefined(routine_kind(routine), routine.name))
    _keep(routine, reads, catalog)
    return events


def put_routines(
    statement: CreateForeignAggregate, routines: Sequence[Routine], replacing: Replacing
) -> list[Event]:
    """Let a name mean the versions that a class stands for."""
    catalog, events = replacing.contents.catalog, list[Event]()
    for routine in routines:
        one = replace(statement, is_window=routine.is_window)
        check_name(one.name, kind_made(one), one.name_place)
        there = _there(one, catalog)
        if there is not None and there != routine:
            replacing.begin(one)
            events.append(NameDropped(routine_kind(there), there.name))
        replacing.waiting.pop(defined_name(one), None)
        if there != routine:
            events.append(NameDefined(routine_kind(routine), routine.name))
        _keep(routine, (), catalog)
    reasons = (why_not(routine, Ending.NEVER, Frame()) for routine in routines)
    reason = next((reason for reason in reasons if reason is not None), None)
    if reason is not None and any(isinstance(event, NameDefined) for event in events):
        events.append(Noticed(_interpreted(statement.name, reason)))
    return events


def _interpreted(name: str, reason: Reason) -> Notice:
    return Notice(
        f"{name}: its methods are interpreted, since {reason.why}",
        "Classes of numbers alone become machine code.",
    )


def put_anew(given: HandedOver, replacing: Replacing) -> list[Event]:
    """Let a name mean a class that was handed over, and bind again what reads the name."""
    events = put_routines(given.statement, given.routines, replacing)
    replacing.settle()
    return events


def routine_again(reader: Reader, replacing: Replacing, files: TableFiles) -> None:
    """Bind a routine again, because something that it reads was replaced."""
    catalog = replacing.contents.catalog
    known = catalog.routine(reader.key)
    if known is None:
        return
    (statement,) = parse_script(known.text)
    assert isinstance(statement, CreateRoutine)
    routine, _, reads = bind_routine(statement, replacing.names, known.text, files)
    _keep(routine, reads, catalog)


def _keep(routine: Routine, reads: tuple[str, ...], catalog: Catalog) -> None:
    """Hold a routine, and what it reads."""
    reader = Reader(routine_kind(routine), routine.name)
    catalog.put_routine(routine)
    catalog.forget_reads(reader.key)
    catalog.note_reads(reader, reads)


def _there(statement: CreateRoutine | CreateForeignAggregate, catalog: Catalog) -> Routine | None:
    """What a definition replaces; base and window versions are side by side."""
    kind, there = kind_made(statement), catalog.routine(defined_name(statement))
    other = catalog.routine(routine_key("aggregate", statement.name))
    if kind == "window aggregate" and other is not None and other.is_function:
        there = other
    if there is None:
        return None
    made = routine_kind(there)
    if made != kind:
        raise MillstreamError(
            f'{made} "{there.name}" exists already',
            hint=f"Choose another name, or write DROP {made.upper()} {there.name} first.",
        )
    if not statement.replaces:
        raise MillstreamError(
            f'{made} "{there.name}" exists already',
            hint=f"Choose another name, or write CREATE OR REPLACE {made.upper()}.",
        )
    return there

"""The clauses that streams and tables share: columns, options and lengths of time."""

from __future__ import annotations

import re

import pyarrow as pa

from millstream.algebra.time import Domain
from millstream.algebra.types import type_from_text
from millstream.bind.names.words import check_name, find_word
from millstream.bind.relations.windows import length_in
from millstream.catalog import Fields, Stream
from millstream.connect.options import OF_STREAMS
from millstream.connect.registry import option_names, through_spark
from millstream.errors import MillstreamError, Place, closest
from millstream.lang import ColumnDef, CreateStream, CreateTable, interval_from_text

STREAM_OPTIONS = OF_STREAMS.names


def declared_columns(definitions: tuple[ColumnDef, ...]) -> Fields:
    """The columns with their types; no name stands twice."""
    columns: list[tuple[str, pa.DataType]] = []
    for definition in definitions:
        if any(definition.name.lower() == name.lower() for name, _ in columns):
            raise MillstreamError(
                f'column "{definition.name}" is declared twice',
                definition.place,
                hint="Give one of them another name.",
            )
        check_name(definition.name, "column", definition.place)
        kind = type_from_text(definition.type)
        if kind is None:
            raise MillstreamError(f'type "{definition.type}" does not exist', definition.place)
        columns.append((definition.name, kind))
    return tuple(columns)


def options_of(statement: CreateStream | CreateTable) -> dict[str, str]:
    """The options of WITH by their names in lower case; none stands twice."""
    options: dict[str, str] = {}
    for key, value in statement.options:
        if key.lower() in options:
            raise MillstreamError(
                f'option "{key}" is given twice',
                statement.options_place,
                hint="Leave one of them out.",
            )
        options[key.lower()] = value
    return options


def of_elsewhere(option: str, statement: CreateStream | CreateTable) -> str | None:
    """A hint for an option that other systems have: it says where the rows are."""
    if option.split(".")[0] not in ("connector", "kafka_topic", "topic", "value_format", "path"):
        return None
    order = statement.order_by if isinstance(statement, CreateStream) else None
    spark = through_spark(statement.name, order)
    return f"Write SOURCE 'file.csv' or a folder; for a topic give {spark}."


def source_fault(statement: CreateStream | CreateTable, error: MillstreamError) -> Place | None:
    """Which clause an error about a source is about: a column, an option, or the source."""
    match = re.match(r'(column|option) "([^"]*)"', error.message)
    if match and match[1] == "column":
        for column in statement.columns:
            if column.name.lower() == match[2].lower():
                return column.place
    if match and match[1] == "option":
        if statement.options_place and match[2] not in option_names():
            near = closest(match[2], STREAM_OPTIONS)
            error.hint = f"Did you mean {near}?" if near else error.hint
        return option_place(statement, match[2])
    return statement.source_place


def option_place(statement: CreateStream | CreateTable, name: str) -> Place | None:
    """One option of WITH, with its value."""
    place = statement.options_place
    if place is None:
        return statement.source_place
    quoted = re.escape(name)
    pattern = rf"""['"]?\b{quoted}\b['"]?\s*=\s*('(?:[^']|'')*'|"[^"]*"|[^,()]*[^,()\s])"""
    found = re.compile(pattern, re.IGNORECASE).search(place.text, place.start, place.end)
    return Place(place.text, found.start(), found.end()) if found else place


def length_option(
    value: str | None, domain: Domain, name: str, statement: CreateStream | CreateTable
) -> int | None:
    """The length of time that an option gives, in the units of the domain."""
    if value is None:
        return None
    try:
        interval = interval_from_text(value)
        if name == "idle" and interval.unit is None:
            raise MillstreamError(
                f"length {value} has no unit", hint=f"Write a unit, for example '{value} seconds'."
            )
        if interval.amount < 0:
            raise MillstreamError("a length of time cannot be negative")
        return length_in(interval, domain, called(statement), None)
    except MillstreamError as error:
        raise MillstreamError(
            f'option "{name}": {error.message}', option_place(statement, name), hint=error.hint
        ) from None


def silence_option(
    value: str | None, time: Stream, idle: int | None, statement: CreateStream | CreateTable
) -> bool:
    """Whether time goes on by the clock when all are silent."""
    if value is None:
        return False
    wrong = hint = None
    if value.lower() != "clock":
        wrong, hint = f'is "{value}", which does not exist', "Write silence = 'clock'."
    elif idle is None:
        wrong, hint = "needs an idle limit", "Write WITH (idle = '10 seconds', silence = 'clock')."
    elif time.domain is not Domain.TIMESTAMP:
        wrong, hint = f"does not fit: {called(statement)} has no timestamps", "Leave it out."
    if wrong is not None:
        place = option_place(statement, "silence")
        raise MillstreamError(f'option "silence" {wrong}', place, hint=hint)
    return True


def after_word(word: str, place: Place | None) -> Place | None:
    """What follows the word of a clause."""
    if place is None or (found := find_word(word, place.text, place.start)) is None:
        return place
    rest = place.text[found.end : place.end]
    return Place(place.text, place.end - len(rest.lstrip()), place.end)


def called(statement: CreateStream | CreateTable) -> str:
    """What a statement makes, in messages."""
    kind = "stream" if isinstance(statement, CreateStream) else "table"
    return f'{kind} "{statement.name}"'

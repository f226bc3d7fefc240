"""Aggregates that are classes in Python: named by a script, or handed over by a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from millstream.algebra.types import type_from_text, type_name
from millstream.bind.blocks.classes import Head, routines_of
from millstream.blocks.foreign import PythonClass
from millstream.blocks.general.python.finding import class_named
from millstream.blocks.general.python.kinds import ANNOTATIONS
from millstream.blocks.general.python.loading import remember, text_of_class
from millstream.blocks.queries import Columns
from millstream.blocks.routine import Routine
from millstream.errors import MillstreamError, Place, closest
from millstream.lang import ColumnDef, CreateForeignAggregate, to_sql

Types = str | type | Mapping[str, str | type]


@dataclass(frozen=True)
class HandedOver:
    """The versions that a class stands for, and the statement that would define them."""

    statement: CreateForeignAggregate
    routines: tuple[Routine, ...]


def named_in_script(
    statement: CreateForeignAggregate, folder: str, allowed: bool
) -> tuple[Routine, ...]:
    """The versions that a statement defines, by a class from the folder or installed."""
    if statement.language != "python":
        raise MillstreamError(
            f'language "{statement.language}" is not supported',
            statement.of_place,
            hint="Write LANGUAGE python, or blocks: AGGREGATE f(…) : type { … }.",
        )
    if not allowed:
        raise MillstreamError(
            f'aggregate "{statement.name}" is written in Python, which this run does not allow',
            statement.of_place,
            hint="Start it with allow_python, or leave out --no-python, if you trust the script.",
        )
    try:
        given, code = class_named(statement.of, folder)
        return routines_of(given, code, _head(statement))
    except MillstreamError as error:
        raise error.at(statement.of_place) from None


def _head(statement: CreateForeignAggregate) -> Head:
    return Head(
        statement.name,
        _columns(statement.arguments),
        _columns(statement.returns),
        statement.is_window,
        statement.is_algebraic,
        to_sql(replace(statement, replaces=False)),
    )


def _columns(columns: tuple[ColumnDef, ...]) -> Columns:
    return tuple((column.name, _type(column.type, column.place)) for column in columns)


def _type(text: str, place: Place | None = None) -> pa.DataType:
    kind = type_from_text(text)
    if kind is None:
        raise MillstreamError(
            f'type "{text}" does not exist', place, hint="Write for example double or string."
        )
    return kind


def handed_over(
    name: str, given: type, arguments: Mapping[str, str | type] | None, returns: Types | None
) -> HandedOver:
    """A class under a name, with types by name where annotations do not say them."""
    if not isinstance(given, type):
        raise MillstreamError(
            f'aggregate "{name}" is no class, but a {type(given).__name__}',
            hint="Give a class with a method iterate.",
        )
    code = PythonClass(given.__module__, given.__qualname__, text_of_class(given))
    takes = None if arguments is None else _given(arguments)
    gives = None if returns is None else _given(_named(name, returns))
    made = routines_of(given, code, Head(name, takes, gives))
    for routine in made:
        remember(next(routine.statements()).of, given)  # type: ignore[union-attr]
    statement = _statement(name, code, made[0])
    text = to_sql(replace(statement, replaces=False))
    return HandedOver(statement, tuple(replace(routine, text=text) for routine in made))


def _named(name: str, returns: Types) -> Mapping[str, str | type]:
    return returns if isinstance(returns, Mapping) else {name: returns}


def _given(types: Mapping[str, str | type]) -> Columns:
    found = []
    for name, kind in types.items():
        if isinstance(kind, str):
            found.append((name, _type(kind)))
        elif kind in ANNOTATIONS:
            found.append((name, ANNOTATIONS[kind]))
        else:
            known = [one.__name__ for one in ANNOTATIONS]
            near = closest(str(getattr(kind, "__name__", kind)), known)
            raise MillstreamError(
                f'the type of "{name}" cannot be {getattr(kind, "__name__", kind)}',
                hint=f"Write {near or 'float'}, or the name of a type such as 'double'.",
            )
    return tuple(found)


def _statement(name: str, code: PythonClass, routine: Routine) -> CreateForeignAggregate:
    place = Place("", 0, 0)

    def columns(given: Columns) -> tuple[ColumnDef, ...]:
        return tuple(ColumnDef(name=n, type=type_name(kind), place=place) for n, kind in given)

    alone = [n for n, _ in routine.returns] == [name]
    return CreateForeignAggregate(
        name=name,
        replaces=True,
        arguments=columns(routine.arguments),
        returns=columns(routine.returns),
        gives_columns=not alone,
        is_window=routine.is_window,
        language="python",
        of=f"{code.module}:{code.name}",
        of_place=place,
        place=place,
        name_place=place,
    )

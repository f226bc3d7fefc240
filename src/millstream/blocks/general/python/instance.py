"""Instances of classes: their attributes during a step, and as rows between steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from millstream.blocks.foreign import SELF, Form, PythonClass, State
from millstream.blocks.general.python.collections import KeptDict, KeptList
from millstream.blocks.general.python.kinds import Change, Unfit, fitting, rows_in, rows_out
from millstream.blocks.general.python.loading import class_of
from millstream.blocks.general.python.tables import InWindow, KeptTable
from millstream.blocks.general.scope import WINDOW, Frame, Shape
from millstream.blocks.general.table import Table as StoredTable
from millstream.blocks.general.values import Row
from millstream.blocks.routine import Routine


class Live:
    """The row of values of an instance, as the attributes of an object of its class.

    It stands in the place of the table `SELF` from the first method that runs in a step.
    """

    def __init__(self, spec: Spec, frame: Frame, stored: StoredTable) -> None:
        self.spec, self.journal = spec, stored.journal
        self.object: Any = object.__new__(spec.type)
        row = next(iter(stored.rows.values()), None)
        values = spec.begins() if row is None else spec.seen(row)
        attributes: dict[str, Any] = self.object.__dict__
        self.values = attributes
        attributes.update(zip(spec.names, values))
        for slot, state in spec.others:
            attributes[state.name] = frame[slot] = _kept(state, frame[slot], spec, row is None)
            if state.form is Form.TABLE:
                frame[slot] = attributes[state.name]._stored
        if spec.code.sees_window and frame[WINDOW] is not None:
            window = InWindow(frame[WINDOW], spec.arguments)
            attributes["inwindow"], attributes["oldest"] = window, window.oldest
        self.fixed = {k: v for k, v in attributes.items() if k not in spec.names}

    @property
    def rows(self) -> dict[int, Row]:
        return {0: tuple(self.spec.held([self.values[name] for name in self.spec.names]))}

    def put_back(self, at: int, before: Any) -> None:
        self.values.clear()
        self.values.update(zip(self.spec.names, before))
        self.values.update(self.fixed)

    def in_order(self) -> None: ...

    def remember(self) -> None:
        if self.journal is not None:
            before = tuple([self.values[name] for name in self.spec.names])
            self.journal.append((self, 0, before))  # type: ignore[arg-type]

    def settle(self) -> None:
        """See that every attribute is what it was declared to be."""
        values, fixed = self.values, self.fixed
        for name, fits in self.spec.checks:
            if (value := values[name]) is not None:
                try:
                    values[name] = fits(value)
                except Unfit as error:
                    raise Unfit(f'attribute "{name}": {error}') from None
        for name, kept in fixed.items():
            if (value := values.get(name)) is not kept:
                if not isinstance(kept, KeptList | KeptDict) or value is None:
                    raise Unfit(f'attribute "{name}" cannot be replaced')
                kept.replace(value)
                values[name] = kept
        if len(values) != len(fixed) + len(self.spec.names):
            more = next(n for n in values if n not in fixed and n not in self.spec.names)
            raise Unfit(f'attribute "{more}" is not declared in the class, and would not be kept')


class Spec:
    """What is known of the instances of a routine."""

    def __init__(self, routine: Routine, code: PythonClass, shape: Shape) -> None:
        self.code, self.type = code, class_of(code)
        self.arguments = routine.arguments
        values = next(t.columns for t in routine.tables if t.name == SELF)
        kinds = [kind for _, kind in values]
        self.names = [name for name, _ in values]
        self.seen, self.held = rows_in(kinds), rows_out(kinds)
        self.checks = [(name, fitting(kind)) for name, kind in values]
        self.others = [
            (shape.tables[s.name].slot, s) for s in code.states if s.form is not Form.VALUE
        ]

    def begins(self) -> list[Any]:
        """The values that a new instance has."""
        found = []
        for name, fits in self.checks:
            value = self.default(name)
            found.append(None if value is None else fits(value))
        return found

    def default(self, name: str) -> Any:
        """What the class gives an attribute; None for nothing."""
        fields = getattr(self.type, "__dataclass_fields__", {})
        made = fields[name].default_factory if name in fields else dataclasses.MISSING
        return getattr(self.type, name, None) if made is dataclasses.MISSING else made()


def _kept(state: State, stored: StoredTable, spec: Spec, is_new: bool) -> Any:
    """What an attribute that is no single value holds."""
    if state.form is Form.TABLE:
        return KeptTable(stored, state.columns)
    kinds, width = [kind for _, kind in state.columns], state.keys
    fits = [fitting(kind) for kind in kinds]
    seen, out = rows_in(kinds), rows_out(kinds)
    rows = [seen(row) for row in stored.rows.values()]
    default = spec.default(state.name) if is_new else None
    if state.form is Form.LIST:
        one = _element(fits)
        values = [one(v) for v in default] if default else [_one(row) for row in rows]
        return KeptList(values, one, lambda v: out(_row(v, len(kinds))), stored.journal)
    key, value = _element(fits[:width]), _element(fits[width:])
    entries = [(_one(row[:width]), _one(row[width:])) for row in rows]
    if default:
        entries = [(key(k), value(v)) for k, v in default.items()]

    def held(entry: tuple[Any, Any]) -> Row:
        return out((*_row(entry[0], width), *_row(entry[1], len(kinds) - width)))

    return KeptDict(entries, key, value, held, stored.journal)


def _row(element: Any, width: int) -> Row:
    return (element,) if width == 1 or element is None else element


def _one(row: Sequence[Any]) -> Any:
    return row[0] if len(row) == 1 else tuple(row)


def _element(fits: Sequence[Change]) -> Change:
    """Takes an element: a value, or a tuple of several."""
    if len(fits) == 1:
        return fits[0]  # None is an element, too

    def several(value: Any) -> Row:
        if not isinstance(value, tuple) or len(value) != len(fits):
            raise Unfit(f"a tuple of {len(fits)} values is declared")
        return tuple([fit(part) for fit, part in zip(fits, value)])

    return several

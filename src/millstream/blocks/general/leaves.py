"""Leaves as closures: literals, arguments, columns of rows, oldest(), sqlcode."""

from __future__ import annotations

from millstream.algebra.expressions import Literal
from millstream.blocks.general import values
from millstream.blocks.general.scope import SQLCODE, WINDOW, Code, Frame, Scope, frame_at
from millstream.blocks.leaves import Argument, Field, Oldest, Result, SqlCode


def literal(leaf: Literal, scope: Scope) -> Code:
    value = values.literal(leaf.value, leaf.type)
    return lambda f: value


def argument(leaf: Argument, scope: Scope) -> Code:
    slot = scope.shape.up(leaf.depth).arguments[leaf.name]
    if leaf.depth == 0:
        return lambda f: f[slot]
    around = frame_at(leaf.depth)
    return lambda f: around(f)[slot]


def field(leaf: Field, scope: Scope) -> Code:
    place = scope.places.fields[leaf.label]
    slot, index = place.slot, place.index(leaf.name)
    return lambda f: f[slot][index]


def result(leaf: Result, scope: Scope) -> Code:
    place = scope.calls[leaf.call]
    slot, index = place.slot, place.index(leaf.name)
    return lambda f: f[slot][index]


def oldest(leaf: Oldest, scope: Scope) -> Code:
    routine = scope.shape.routine
    index = scope.shape.tables["inwindow"].index(leaf.name)
    if scope.expiring:
        slot = scope.shape.arguments[routine.arguments[index][0]]
        return lambda f: f[slot]

    def run(f: Frame) -> object:
        window = f[WINDOW]
        at = window.oldest()
        return None if at is None else window.rows[at][index]

    return run


def sqlcode(leaf: SqlCode, scope: Scope) -> Code:
    return lambda f: f[SQLCODE]

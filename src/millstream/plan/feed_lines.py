"""How the words of Feed are read from plan text: calls of routines, which the catalog knows."""

from __future__ import annotations

from millstream.algebra.node import Node
from millstream.blocks.derived import over_window
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.routine import Routine
from millstream.catalog import Catalog
from millstream.errors import MillstreamError
from millstream.operators import Feed, Lateral, Recomputed
from millstream.operators.fed import ENDINGS, FedCall
from millstream.plan.expression_text import Tokens, length_of


def feed_line(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    """Calls between commas."""
    return Feed(tokens.listed(lambda: _call(tokens, catalog)), below)


def recomputed_line(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    """Keys before a colon, and calls."""
    by_expire, newest = tokens.has("maintained"), tokens.has("newest")
    keys: tuple[str, ...] = ()
    if tokens.has("by"):
        keys = tokens.names()
        tokens.expect(":")
    return Recomputed(keys, tokens.listed(lambda: _call(tokens, catalog)), newest, by_expire, below)


def lateral_line(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    """A function with its arguments, and the names of its columns."""
    outer = tokens.has("left")
    routine = routine_of(tokens.name(), catalog)
    arguments = _arguments(tokens)
    tokens.expect("as")
    tokens.expect("(")
    names = tokens.names()
    tokens.expect(")")
    return Lateral(routine, arguments, names, outer, below)


def _arguments(tokens: Tokens) -> tuple[str, ...]:
    tokens.expect("(")
    arguments = () if tokens.has("*") else tokens.names()
    tokens.expect(")")
    return arguments


def _call(tokens: Tokens, catalog: Catalog) -> FedCall:
    routine = routine_of(tokens.name(), catalog)
    arguments = _arguments(tokens)
    partition_by = tokens.names() if tokens.has("per") else ()
    frame = _frame(tokens)
    slide, by_rows = None, True
    if tokens.has("slide"):
        by_rows = tokens.has("rows")
        slide = length_of(tokens)
    restarts, ending = tokens.has("restarts"), _ending(tokens)
    tokens.expect("as")
    tokens.expect("(")
    names = tokens.names()
    tokens.expect(")")
    return FedCall(names, routine, arguments, partition_by, frame, ending, slide, by_rows, restarts)


def routine_of(name: str, catalog: Catalog) -> Routine:
    """The routine of a name and digest: one that plans call, or one that is defined."""
    versions = catalog.versions(name.partition("#")[0])
    known = dict(catalog.called)
    if versions is not None:
        found = [versions.base, versions.window, versions.function]
        found += [over_window(versions.base)] if versions.base is not None else []
        known.update((repr(routine), routine) for routine in found if routine is not None)
    if name not in known:
        raise MillstreamError(f'routine "{name}" is not known')
    return known[name]


def _frame(tokens: Tokens) -> Frame | None:
    if tokens.has("unbounded"):
        return Frame()
    if tokens.has("rows"):
        return Frame(rows=int(tokens.take()))
    if not tokens.has("range"):
        return None
    length = length_of(tokens)
    return Frame(length=length, active=tokens.has("active"))


def _ending(tokens: Tokens) -> Ending:
    return next((ending for ending, word in ENDINGS.items() if tokens.has(word)), Ending.NEVER)

"""The entries of FROM, and the plan that they become together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from millstream.algebra.node import Node
from millstream.bind.names.scope import Scope
from millstream.catalog import Table

Test = Callable[[Node, Scope, list[exp.Expr]], Node]
"""Keeps the rows of a plan that meet conditions with subqueries."""


@dataclass(frozen=True)
class Entry:
    """One entry of FROM: its names, and its plan with the window applied, or its table.

    `streams` counts the streams with windows in it.
    """

    described: str
    node: exp.Expr
    scope: Scope
    plan: Node | None = None
    table: Table | None = None
    streams: int = 0

    @property
    def is_static(self) -> bool:
        return self.table is not None and self.table.is_static

    @property
    def is_non_retroactive(self) -> bool:
        return self.table is not None and self.table.non_retroactive and not self.is_static

    def relation(self) -> Node:
        if self.plan is not None:
            return self.plan
        assert self.table is not None
        return self.table.relation()


@dataclass(frozen=True)
class Joined:
    """What stands in FROM: a plan and the names it offers."""

    plan: Node
    scope: Scope
    steering: tuple[exp.Expr, ...] = ()
    """The conditions of WHERE that steer the search for a sequence: its matches meet them."""

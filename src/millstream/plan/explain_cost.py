"""EXPLAIN COST: the plans that were compared, and what each operator of the chosen one costs."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.plan.alternatives import GAIN, Alternative, Chooser, cheapest
from millstream.plan.annotate import SHORTEST, line_of, outline, shortened
from millstream.plan.cost import STRATEGIES, Costs, cost_of
from millstream.plan.row_rates import size
from millstream.plan.statistics import Statistics
from millstream.settings import Settings

HEADING = ("rate", "back", "rows", "cost", "")


def cost_text(
    root: Node,
    views: Iterable[Node],
    running: Set[Node],
    statistics: Statistics,
    domain: Domain,
    settings: Settings,
) -> str:
    """All that the optimizer knows about the cost of a query."""
    unit = Unit.of(domain)
    plan, compared = _chosen(root, tuple(views), running, statistics, settings, unit)
    lines = [f"-- {unit.words}", *compared, "-- the same plan under other strategies:"]
    for name in STRATEGIES:
        mark = "  <- set" if name == settings.strategy else ""
        lines.append(f"--   {unit.cost(cost_of(plan, statistics, name)):>12}  {name}{mark}")
    return "\n".join([*lines, *_table(Costs.of(plan, statistics, settings.strategy), unit)])


def _chosen(
    root: Node,
    views: tuple[Node, ...],
    running: Set[Node],
    statistics: Statistics,
    settings: Settings,
    unit: Unit,
) -> tuple[Node, list[str]]:
    """The plan that is carried out, and how it was chosen."""
    if settings.rules == "off":
        return root, ["-- rules = off: it is carried out as it is written"]
    if settings.rules == "fixed":
        plan = Chooser(most=1).optimized(root, views)
        return plan, ["-- rules = fixed: it was not compared with others"]
    chooser = Chooser(running, statistics)
    plan = chooser.optimized(root, views)
    lines = []
    for part, found in chooser.looked_at.items():
        if len(found) > 1:
            lines += _compared(found, chooser.made[part], unit)
    return plan, lines or ["-- there is one plan to choose from"]


@dataclass(frozen=True)
class Unit:
    """How numbers for an instant are shown: for every second where instants are microseconds."""

    words: str
    instants: float
    nanoseconds: float

    @staticmethod
    def of(domain: Domain) -> Unit:
        if domain is Domain.TIMESTAMP:
            words = "cost: microseconds of one core for every second; rate, back: rows a second"
            return Unit(words, 1e6, 1e3)
        every = "arrival" if domain is Domain.ARRIVAL else "instant"
        words = f"cost: nanoseconds of one core for every {every}; rate, back: rows an {every}"
        return Unit(words, 1.0, 1.0)

    def cost(self, nanoseconds: float) -> str:
        return number(nanoseconds * self.instants / self.nanoseconds)

    def rate(self, rows: float) -> str:
        return number(rows * self.instants)


def number(value: float) -> str:
    """Three figures of a number.

    >>> number(1234567.0), number(12.34), number(0.01234), number(0.0)
    ('1,230,000', '12.3', '0.0123', '0')
    """
    short = float(f"{value:.3g}")
    return f"{short:,.0f}" if short >= 100 or short == int(short) else f"{short:g}"


def _compared(found: list[Alternative], chosen: tuple[str, ...], unit: Unit) -> list[str]:
    """The plans of one part, the cheapest first, and the rules that lead to each."""
    lines = [f"-- {len(found)} plans were compared, each with emitting its changes:"]
    for one in sorted(found, key=lambda one: one.cost):
        mark = "  <- chosen" if one.steps == tuple(chosen) else ""
        lines.append(f"--   {unit.cost(one.cost):>12}  {one.rules}{mark}")
    cheaper, written = min(found, key=lambda one: one.cost), found[0]
    if cheaper is not written and cheapest(found) is written and not chosen:
        lines.append(f"--   one that saves less than {1 - GAIN:.0%} is not taken")
    return lines


def _table(costs: Costs, unit: Unit) -> list[str]:
    """The plan as it is carried out: rows that come, are retracted and are there; and the cost."""
    rows = []
    for depth, node in outline(costs.plan):
        rates_of = costs.rates.rates_of(node)
        rows.append(
            (
                shortened(line_of(node, depth), SHORTEST),
                unit.rate(rates_of.rate),
                unit.rate(rates_of.back),
                number(size(rates_of)) if not node.is_stream else "",
                unit.cost(costs.cost(node)),
                "measured" if costs.rates.is_measured(node) else "guessed",
            )
        )
    table = [("", *HEADING), *rows]
    widths = [max(len(row[i]) for row in table) for i in range(5)]
    return [
        "  ".join(
            [f"{row[0]:<{widths[0]}}", *(f"{row[i]:>{widths[i]}}" for i in range(1, 5)), row[5]]
        ).rstrip()
        for row in table
    ]

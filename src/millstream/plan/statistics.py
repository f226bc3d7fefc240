"""What is known of the rows of plans from runs: rates, sizes, and shares of rows that pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millstream.algebra.node import Node
from millstream.operators import AntiJoin, DeltaStar, Distinct, Filter, Join, SemiJoin
from millstream.plan.names import condition_text, lineage_of, name_of


@dataclass(frozen=True)
class RowRates:
    """The rows of a node: how many come and are taken back in an instant, and how many are there.

    `size` is None where it was not counted; `steps` is how many batches there were for an instant.
    """

    rate: float
    back: float
    size: float | None
    steps: float = 0.0


@dataclass(frozen=True)
class Statistics:
    """Flows by the names of what is computed, and shares of rows by the condition they pass."""

    rates: Mapping[str, RowRates] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(nodes: Iterable[Node], rates: Mapping[str, RowRates]) -> Statistics:
        """What the measured flows say of conditions, beside the nodes they were measured at."""
        shares: dict[str, float] = {}
        for node in nodes:
            key, share = share_key(node), _share(node, rates)
            if key is not None and share is not None:
                shares[key] = share
        return Statistics(rates, shares)


NOTHING = Statistics()


def share_key(node: Node) -> str | None:
    """The name under which a node tells what share of its rows it lets pass."""
    match node:
        case Filter(condition=condition, input=source):
            return f"filter {condition_text(condition, lineage_of(source))}"
        case Join(condition=condition):
            return f"join {condition_text(condition, lineage_of(node))}"
        case (
            SemiJoin(condition=condition, left=left, right=right)
            | AntiJoin(condition=condition, left=left, right=right)
        ):
            known = {**lineage_of(left), **lineage_of(right)}
            return f"{type(node).__name__} {condition_text(condition, known)}"
        case Distinct() | DeltaStar():
            return f"distinct {sorted(str(e) for e in lineage_of(node).values())}"
    return None


def _share(node: Node, rates: Mapping[str, RowRates]) -> float | None:
    """Of a filter rows out for rows in, of a join results for pairs, else size for size."""
    out = rates.get(name_of(node))
    found = [rates.get(name_of(child)) for child in node.inputs]
    below = [rates for rates in found if rates is not None]
    if out is None or len(below) < len(found) or not below:
        return None
    sizes = [rates.size for rates in (out, *below)]
    match node, sizes:
        case Filter(), _:
            return _ratio(out.rate, below[0].rate)
        case Join(), [_, float(left), float(right)]:
            return _ratio(out.rate, below[0].rate * right + below[1].rate * left)
        case ((SemiJoin() | AntiJoin() | Distinct() | DeltaStar()), [float(made), float(of), *_]):
            return _ratio(made, of)
    return None


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None

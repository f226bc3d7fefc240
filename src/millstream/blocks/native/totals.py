"""The built-in aggregates over rows of a query: count, sum, avg, min, max."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate
from millstream.algebra.types import DOUBLE
from millstream.blocks.native.kinds import NotNative, Value, array_type, zero
from millstream.blocks.native.place import Place, compares_by_order
from millstream.blocks.queries import Called

_KNOWN = ("count", "sum", "avg", "min", "max")


@dataclass(frozen=True)
class Total:
    """Names that move along with the rows of a query."""

    call: Called
    names: tuple[str, ...]

    @property
    def function(self) -> str:
        assert isinstance(self.call.function, Aggregate)
        return self.call.function.name

    @property
    def kind(self) -> pa.DataType:
        return self.call.arguments[0].type

    def add(self, place: Place, values: Sequence[Value]) -> None:
        w = place.w
        count, *_ = self.names
        value = w.fixed(values[0]) if values else Value("0")
        with w.when(value.valid or "True"):
            if self.function in ("sum", "avg"):
                self._add_up(place, value)
            elif self.function in ("min", "max"):
                self._extreme(place, value)
            w.line(f"{count} += 1")

    def _add_up(self, place: Place, value: Value) -> None:
        w = place.w
        _, high, low, *odd = self.names
        if self.kind != DOUBLE:
            w.line(f"{high} += {value.code} >> 32")
            w.line(f"{low} += {value.code} & 0xFFFFFFFF")
            return
        with w.block(f"if math.isfinite({value.code})"):
            w.line(f"{high}, {low} = pair({high}, {low}, {value.code})")
        for name, test in zip(odd, ("{0} != {0}", "{0} > 0", "{0} < 0")):
            with w.block(f"elif {test.format(value.code)}"):
                w.line(f"{name} += 1")

    def _extreme(self, place: Place, value: Value) -> None:
        w = place.w
        count, best = self.names
        x = value.code
        larger = self.function == "max"
        better = f"{x} > {best}" if larger else f"{x} < {best}"
        if self.kind == DOUBLE:  # NaN is the greatest
            odd, other = (x, best) if larger else (best, x)
            better += f" or ({odd} != {odd} and {other} == {other})"
        with w.block(f"if {count} == 0 or {better}"):
            w.line(f"{best} = {x}")

    def finish(self, place: Place) -> Value:
        w = place.w
        count, *rest = self.names
        if self.function == "count":
            return Value(count)
        some = f"{count} > 0"
        if self.function in ("min", "max"):
            return w.fixed(Value(rest[0], some))
        real = self.kind == DOUBLE
        if self.function == "avg":
            code = f"{'total' if real else 'wide_total'}({', '.join(rest)}) / {count}"
            return w.fixed(Value(code, some))
        if real:
            return w.fixed(Value(f"total({', '.join(rest)})", some))
        found, fits = w.name(), w.name()
        w.line(f"{found}, {fits} = whole_total({rest[0]}, {rest[1]})")
        return w.fixed(Value(found, f"({some} and {fits})"))


def total_of(place: Place, call: Called) -> Total:
    """Write the beginning of an aggregate of a query."""
    function = call.function
    assert isinstance(function, Aggregate)
    extreme = function.name in ("min", "max")
    if function.name not in _KNOWN or (call.distinct and not extreme):
        raise NotNative(f"the aggregate {function.called} has no native form")
    w = place.w
    starts = ["0"]
    if call.arguments:
        kind = call.arguments[0].type
        array_type(kind)
        if extreme:
            compares_by_order(place, kind)
            starts += [zero(kind)]
        elif function.name != "count":
            starts += ["0.0", "0.0", "0", "0", "0"] if kind == DOUBLE else ["0", "0"]
    names = tuple(w.name() for _ in starts)
    for name, start in zip(names, starts):
        w.line(f"{name} = {start}")
    return Total(call, names)

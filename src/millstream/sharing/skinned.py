"""The form in which queries are compared: inputs, conditions on them, what is computed, and when.

Filters and projections are pulled above everything that treats rows one by one, so that what is
left below them is the same for queries that differ in nothing else. Points are pulled above
everything that gives nothing of nothing and does not look at the times of rows, where all inputs
have the same. Columns of the inputs are called `0.room`, `1.price`: by the number of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import (
    TRUE,
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    rewrite,
)
from millstream.algebra.node import Node, map_inputs
from millstream.operators import (
    AntiJoin,
    Distinct,
    Filter,
    GroupBy,
    Istream,
    Join,
    Now,
    Project,
    Range,
    RangeSlide,
    SemiJoin,
    Sync,
    SyncAt,
    Unbounded,
)
from millstream.operators.filter import filtered
from millstream.operators.project import Outputs, handed_on
from millstream.rules.contained_points import Clock, contains
from millstream.rules.pieces import conditions as conditions_of
from millstream.rules.pieces import substitute, takes_equals_alike
from millstream.rules.whole import Whole
from millstream.sharing.clocks import both_clocks, clock_of, synced, unslid

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


@dataclass(frozen=True)
class Skinned:
    """Rows of all inputs, paired, that meet all conditions, and what is computed of them.

    With a `clock`, the whole is what it was at the last of its points, and empty before the first.
    """

    inputs: tuple[Node, ...]
    conditions: tuple[Expression, ...]
    outputs: Outputs
    clock: Clock | None = None

    @cached_property
    def values(self) -> dict[str, Expression]:
        return dict(self.outputs)

    def where(self, conditions: Iterable[Expression]) -> Skinned:
        """The same with some more conditions on its outputs."""
        more = (turned(substitute(c, self.values)) for c in conditions)
        return replace(self, conditions=tuple(dict.fromkeys((*self.conditions, *more))))

    def select(self, outputs: Outputs) -> Skinned:
        """The same with other outputs, computed from these."""
        made = tuple((name, substitute(e, self.values)) for name, e in outputs)
        return replace(self, outputs=made)

    @property
    def at_any_time(self) -> Skinned:
        """The same without a clock: each input changes at its points."""
        if self.clock is None:
            return self
        inputs = tuple(synced(self.clock, one) for one in self.inputs)
        return replace(self, inputs=inputs, clock=None)


def of_input(number: int, name: str) -> str:
    """What a column of an input is called."""
    return f"{number}.{name}"


@lru_cache(maxsize=50_000)
def skinned(node: Node) -> Skinned:
    """The form of a plan: `built(skinned(plan))` gives the same rows."""
    match node:
        case Project(outputs=outputs, input=below):
            return skinned(below).select(outputs)
        case Filter(condition=condition, input=below):
            return skinned(below).where(conditions_of(condition))
        case RangeSlide() if (parts := unslid(node)) is not None:
            return at(parts[0], skinned(parts[1])) or _plain(map_inputs(node, normal))
        case Sync() | SyncAt():
            clock, below = clock_of(node)
            return at(clock, skinned(below)) or _plain(map_inputs(node, normal))
        case Now() | Range() | RangeSlide() | Unbounded():
            stream = skinned(node.input).at_any_time
            if len(stream.inputs) == 1:
                window = map_inputs(node, lambda _: stream.inputs[0])
                return replace(stream, inputs=(window,))
        case Join(condition=condition, left=left, right=right):
            return _paired(skinned(left), skinned(right)).where(conditions_of(condition))
        case Istream(input=below) if below.monotonic:
            return _over_all(skinned(below).at_any_time, Istream)
        case Istream(input=below):
            return _over_values(skinned(below).at_any_time, Istream)
        case Distinct(input=below):
            return _over_values(skinned(below), Distinct)
        case SemiJoin() | AntiJoin():
            return _beside(node, skinned(node.left), skinned(node.right))
        case GroupBy():
            return _grouped(node)
        case Whole():
            return _plain(node)
    return _plain(map_inputs(node, normal))


def at(clock: Clock, form: Skinned) -> Skinned | None:
    """A form that changes at the points of a clock; None where it has points of its own that do
    not go together with these."""
    match form.inputs:
        case (GroupBy(keys=()) as groups,):
            form = replace(form, inputs=(_from_any_time(clock, groups),))
    found = both_clocks(clock, form.clock)
    return None if found is None else replace(form, clock=found)


@lru_cache(maxsize=50_000)
def normal(node: Node) -> Node:
    """The plan in the form in which equal queries are equal."""
    return built(skinned(node))


def built(form: Skinned) -> Node:
    """The plan of a form."""
    form = form.at_any_time
    conditions = tuple(sorted(form.conditions, key=str))
    if len(form.inputs) == 1:
        names = {of_input(0, f.name): Column(f.name, f.type) for f in form.inputs[0].schema}
        below = filtered([substitute(c, names) for c in conditions], form.inputs[0])
        return _projected(tuple((n, substitute(e, names)) for n, e in form.outputs), below)
    return _projected(form.outputs, filtered(conditions, joined(form.inputs)))


def joined(inputs: tuple[Node, ...]) -> Node:
    """All pairs of rows of the inputs."""
    whole: Node | None = None
    for number, one in enumerate(inputs):
        outputs = tuple((of_input(number, f.name), Column(f.name, f.type)) for f in one.schema)
        named = Project(outputs, one)
        whole = named if whole is None else Join(TRUE, whole, named)
    assert whole is not None
    return whole


def _projected(outputs: Outputs, node: Node) -> Node:
    return node if outputs in ((), handed_on(node.schema)) else Project(outputs, node)


def _plain(node: Node) -> Skinned:
    """A plan that is an input as a whole."""
    outputs = tuple((f.name, Column(of_input(0, f.name), f.type)) for f in node.schema)
    return Skinned((node,), (), outputs)


def _from_any_time(clock: Clock, groups: GroupBy) -> GroupBy:
    """The one group of rows that change at the points at which it is looked at, as that of rows
    that change at any time. It is there before the first point, but not looked at."""
    below = skinned(groups.input)
    if groups.depends_on_order or below.clock is None or not contains(below.clock, clock):
        return groups
    return replace(groups, input=built(replace(below, clock=None)))


def _paired(left: Skinned, right: Skinned) -> Skinned:
    """The inputs of both; those of the right side have other numbers."""
    clock = left.clock
    if clock != right.clock:
        left, right, clock = left.at_any_time, right.at_any_time, None
    shift = len(left.inputs)
    conditions = (*left.conditions, *(_shifted(c, shift) for c in right.conditions))
    outputs = (*left.outputs, *((n, _shifted(e, shift)) for n, e in right.outputs))
    return Skinned((*left.inputs, *right.inputs), conditions, outputs, clock)


def _shifted(expression: Expression, by: int) -> Expression:
    def shifted(part: Expression) -> Expression | None:
        if not isinstance(part, Column):
            return None
        number, _, name = part.name.partition(".")
        return Column(of_input(int(number) + by, name), part.type)

    return rewrite(expression, shifted)


def _over_all(form: Skinned, make: Callable[[Node], Node]) -> Skinned:
    """An operator that takes rows one by one, below filters and projections."""
    if len(form.inputs) == 1:
        return replace(form, inputs=(make(form.inputs[0]),))
    one = make(joined(form.inputs))
    names = {f.name: Column(of_input(0, f.name), f.type) for f in one.schema}
    conditions = tuple(substitute(c, names) for c in form.conditions)
    return Skinned((one,), conditions, tuple((n, substitute(e, names)) for n, e in form.outputs))


def _over_values(form: Skinned, make: Callable[[Node], Node]) -> Skinned:
    """An operator that goes by values, below the filters that look at these alone."""
    values = _different(e for _, e in form.outputs)
    names = {repr(e): f"v{number}" for number, e in enumerate(values)}
    lifted, kept = _parted(form.conditions, values)
    inner = Skinned(form.inputs, tuple(kept), tuple(zip(names.values(), values)))
    one = replace(_plain(make(built(inner))), clock=form.clock)
    outputs = tuple((n, Column(names[repr(e)], e.type)) for n, e in form.outputs)
    return one.select(outputs).where(_renamed(lifted, form.outputs))


def _beside(node: SemiJoin | AntiJoin, left: Skinned, right: Skinned) -> Skinned:
    """Rows that have a partner, or none: what is asked of them may be asked before or after."""
    clock = left.clock
    if clock != right.clock:
        left, right, clock = left.at_any_time, right.at_any_time, None
    left, right = replace(left, clock=None), replace(right, clock=None)
    inner = built(replace(left, conditions=()))
    one = replace(node, left=inner, right=built(right))
    lifted = [c for c in left.conditions if expressed(c, left.outputs) is not None]
    kept = [c for c in left.conditions if expressed(c, left.outputs) is None]
    if kept:
        one = replace(node, left=built(replace(left, conditions=tuple(kept))), right=one.right)
    return replace(_plain(one), clock=clock).where(_renamed(lifted, left.outputs))


def _grouped(node: GroupBy) -> Skinned:
    """Groups, below the filters on what they are made by."""
    below = skinned(node.input)
    if not node.keys or node.depends_on_order:
        below = below.at_any_time
    values = below.values
    keys = _different(values[key] for key in node.keys)
    lifted, kept = _parted(below.conditions, keys) if keys else ([], list(below.conditions))
    names = {repr(e): f"k{number}" for number, e in enumerate(keys)}
    arguments = _different(values[a] for call in node.calls for a in call.arguments)
    given = {repr(e): f"a{number}" for number, e in enumerate(arguments)}
    calls: dict[str, AggregateCall] = {}
    made: dict[str, str] = {}
    for call in node.calls:
        bare = replace(call, arguments=tuple(given[repr(values[a])] for a in call.arguments))
        made[call.name] = called(bare)
        calls[called(bare)] = replace(bare, name=called(bare))
    outputs = (*zip(names.values(), keys), *zip(given.values(), arguments))
    inner = built(Skinned(below.inputs, tuple(kept), outputs))
    in_order = tuple(calls[name] for name in sorted(calls))
    groups = GroupBy(tuple(names.values()), in_order, inner, node.since)
    one = replace(_plain(groups), clock=below.clock)
    of_keys = tuple((k, Column(names[repr(values[k])], values[k].type)) for k in node.keys)
    of_calls = tuple((c.name, Column(made[c.name], c.type)) for c in node.calls)
    return one.select((*of_keys, *of_calls)).where(
        _renamed(lifted, tuple((k, values[k]) for k in node.keys))
    )


def called(call: AggregateCall) -> str:
    """The name of a call by what it computes."""
    return str(replace(call, name="")).removesuffix(' as ""')


def turned(condition: Expression) -> Expression:
    """The condition as all that are written in another order are: constants on the right."""
    match condition:
        case Call(function=name, arguments=(left, right)) if name in _TURNED:
            first, second = ((isinstance(e, Literal), repr(e)) for e in (left, right))
            if first > second:
                return replace(condition, function=_TURNED[name], arguments=(right, left))
        case Call(function="and" | "or" as name, arguments=(_, _)):
            parts = sorted({repr(p): p for p in map(turned, _parts(condition, name))}.items())
            whole = parts[0][1]
            for _, part in parts[1:]:
                whole = replace(condition, arguments=(whole, part))
            return whole
    return condition


def _parts(condition: Expression, name: str) -> Iterator[Expression]:
    """What a chain of ANDs, or of ORs, puts together."""
    if isinstance(condition, Call) and condition.function == name:
        for argument in condition.arguments:
            yield from _parts(argument, name)
    else:
        yield condition


def _different(expressions: Iterable[Expression]) -> list[Expression]:
    """Each expression once, in an order of their own."""
    return [e for _, e in sorted({repr(e): e for e in expressions}.items())]


def _parted(
    conditions: Iterable[Expression], values: list[Expression]
) -> tuple[list[Expression], list[Expression]]:
    """The conditions on these values alone, and the rest."""
    outputs = tuple((str(number), e) for number, e in enumerate(values))
    lifted: list[Expression] = []
    kept: list[Expression] = []
    for condition in conditions:
        seen = expressed(condition, outputs)
        sure = seen is not None and takes_equals_alike(seen) and columns_of(seen)
        (lifted if sure else kept).append(condition)
    return lifted, kept


def _renamed(conditions: Iterable[Expression], outputs: Outputs) -> list[Expression]:
    """Conditions in terms of outputs; each can be expressed so."""
    found = [expressed(condition, outputs) for condition in conditions]
    return [condition for condition in found if condition is not None]


def expressed(expression: Expression, outputs: Outputs) -> Expression | None:
    """The expression as computed from outputs; None where these do not tell it."""
    return expressed_by(expression, {repr(e): Column(n, e.type) for n, e in reversed(outputs)})


def expressed_by(expression: Expression, known: Mapping[str, Expression]) -> Expression | None:
    """The expression with all that is known, by its text, put in place; None where a column is
    left. Texts tell 0.0 from -0.0, which are equal."""

    def put(part: Expression) -> Expression | None:
        if isinstance(part, Literal):
            return None
        there = known.get(repr(part))
        if there is None and isinstance(part, Column):
            raise _Unknown
        return there

    try:
        return rewrite(expression, put)
    except _Unknown:
        return None


class _Unknown(Exception):
    """A column that is not known."""

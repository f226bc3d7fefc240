"""What several rules share: conditions taken apart and put together, columns replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from millstream.algebra.expressions import (
    TRUE,
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    conjunction,
    conjuncts,
    rewrite,
    walk,
)
from millstream.algebra.node import Node, map_inputs
from millstream.algebra.types import BOOLEAN
from millstream.operators import (
    AntiJoin,
    Distinct,
    Filter,
    Intersect,
    Join,
    Minus,
    Project,
    SemiJoin,
)

Columns = list[tuple[str, Expression]]
"""Names and what is computed under each of them."""

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
FEW_CALLS = 4
"""Expressions of at most this many calls may be computed twice to let a filter sink."""


def conditions(condition: Expression) -> list[Expression]:
    """The conjuncts of a condition that can be anything but true."""
    return [c for c in conjuncts(condition) if c != TRUE]


def parted(
    parts: Iterable[Expression], names: Iterable[str]
) -> tuple[list[Expression], list[Expression]]:
    """The conditions that read no other columns than these, and the rest."""
    known = frozenset(names)
    mine: list[Expression] = []
    rest: list[Expression] = []
    for part in parts:
        (mine if columns_of(part) <= known else rest).append(part)
    return mine, rest


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression with columns replaced by what stands for them."""
    return rewrite(expression, lambda e: values.get(e.name) if isinstance(e, Column) else None)


def with_left(node: Node, left: Node) -> Node:
    """The node with another first input."""
    first = node.inputs[0]
    return map_inputs(node, lambda child: left if child is first else child)


def fresh_names(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """For every name one that is not taken: itself where it can be."""
    known, fresh = frozenset(taken), dict[str, str]()
    for name in names:
        new = name
        while new in known or new in fresh.values():
            new = f"#{new.lstrip('#')}_{len(fresh)}"
        fresh[name] = new
    return fresh


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """The node with its columns under other names; itself if they are the same."""
    if all(names[name] == name for name in node.schema.names):
        return node
    return Project(tuple((names[f.name], Column(f.name, f.type)) for f in node.schema), node)


def keyed_by_columns(
    condition: Expression, left: Node, right: Node
) -> tuple[Expression, Node, Node] | None:
    """A condition between two inputs whose equalities are between columns, and the inputs with
    these columns added; None where no equality is between expressions of the two sides."""
    parts: list[Expression] = []
    added: tuple[Columns, Columns] = [], []
    names = frozenset(left.schema.names), frozenset(right.schema.names)
    for part in conjuncts(condition):
        sides = _sides_of(part, names)
        if sides is None:
            parts.append(part)
            continue
        columns = []
        for side, expression in zip(added, sides):
            if not isinstance(expression, Column):
                taken = {*names[0], *names[1], *(name for one in added for name, _ in one)}
                (name,) = fresh_names(["#key"], taken).values()
                side.append((name, expression))
                expression = Column(name, expression.type)
            columns.append(expression)
        parts.append(Call("=", tuple(columns), part.type))
    if not any(added):
        return None
    return conjunction(parts), _with(left, added[0]), _with(right, added[1])


def _sides_of(
    part: Expression, names: tuple[frozenset[str], frozenset[str]]
) -> tuple[Expression, Expression] | None:
    """The expressions that an equality compares, the left side's first; None for other conditions,
    and where columns are compared, or booleans: two values are no key."""
    match part:
        case Call(function="=", arguments=(a, b)) if a.type == b.type != BOOLEAN:
            if isinstance(a, Column) and isinstance(b, Column):
                return None
            of_a, of_b = columns_of(a), columns_of(b)
            if of_a and of_b and of_a <= names[0] and of_b <= names[1]:
                return a, b
            if of_a and of_b and of_a <= names[1] and of_b <= names[0]:
                return b, a
    return None


def _with(node: Node, more: Columns) -> Node:
    """The node with some more columns."""
    if not more:
        return node
    own = tuple((f.name, Column(f.name, f.type)) for f in node.schema)
    return Project((*own, *more), node)


def only(schema: pa.Schema, node: Node) -> Node:
    """The node without the columns that a schema does not have."""
    if node.schema.names == schema.names:
        return node
    return Project(tuple((f.name, Column(f.name, f.type)) for f in schema), node)


def is_by_value(node: Node) -> bool:
    """Whether rows are known by their values alone: no two are equal, and one that goes and comes
    back at the same instant has stayed."""
    match node:
        case Distinct():
            return True
        case Filter() | Minus() | Intersect() | SemiJoin() | AntiJoin():
            return is_by_value(node.inputs[0])
        case Join(left=left, right=right):
            return is_by_value(left) and is_by_value(right)
        case Project(input=source):
            return keeps_all_columns(node) and is_by_value(source)
    return False


def keeps_all_columns(node: Project) -> bool:
    """Whether a projection computes nothing and leaves nothing out: other rows stay other rows."""
    kept = {e.name for _, e in node.outputs if isinstance(e, Column)}
    return moves_columns_only(node) and kept == set(node.input.schema.names)


def moves_columns_only(node: Project) -> bool:
    """Whether a projection computes nothing: it leaves out, renames and repeats columns."""
    return all(isinstance(e, Column) for _, e in node.outputs)


def is_cheap(expression: Expression) -> bool:
    """Whether computing the expression once more is hardly felt."""
    inner = [e for e in walk(expression) if not isinstance(e, (Column, Literal))]
    return len(inner) <= FEW_CALLS and all(
        isinstance(e, Call) and not e.function[0].isalpha() for e in inner
    )


def takes_equals_alike(condition: Expression) -> bool:
    """Whether rows that are equal as groups are (0.0 and -0.0) all meet the condition or none does.

    A number that is only compared is safe; its text, for one, is not.
    """
    match condition:
        case Call(function=name, arguments=arguments) if name in COMPARISONS or name == "is_null":
            return all(isinstance(a, (Column, Literal)) or _without_doubles(a) for a in arguments)
        case Call(function="and" | "or" | "not", arguments=arguments):
            return all(takes_equals_alike(a) for a in arguments)
    return _without_doubles(condition)


def _without_doubles(expression: Expression) -> bool:
    return not any(isinstance(e, Column) and pa.types.is_floating(e.type) for e in walk(expression))

"""Names of columns in the plan of a join: each stands once, whatever the two sides call theirs."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Call, Column
from millstream.algebra.node import Node
from millstream.algebra.types import common_type
from millstream.bind.expressions.constants import coerce
from millstream.bind.names.scope import Scope
from millstream.operators import Project
from millstream.operators.project import handed_on


def placed(scope: Scope, taken: set[str]) -> Scope:
    """The scope with other names in the plan where they are taken."""
    members, new_names = [], dict[str, str]()
    used = taken | set()
    for member in scope.members:
        columns = []
        for name, plan_name, kind in member.columns:
            new = new_names.get(plan_name, plan_name)
            if plan_name not in new_names:
                if new in taken:
                    new = f"{member.alias}.{name}" if member.alias else f"{name}_"
                while new in used:
                    new += "_"
                used.add(new)
                new_names[plan_name] = new
            columns.append((name, new, kind))
        members.append(replace(member, columns=tuple(columns)))
    using = tuple((n, replace(c, name=new_names.get(c.name, c.name))) for n, c in scope.using)
    return Scope(tuple(members), using)


def renamed(plan: Node, before: Scope, after: Scope) -> Node:
    """The plan under the names of the scope it was given."""
    names = {
        old: new
        for m, n in zip(before.members, after.members)
        for (_, old, _), (_, new, _) in zip(m.columns, n.columns)
    }
    names |= {old.name: new.name for (_, old), (_, new) in zip(before.using, after.using)}
    if all(old == new for old, new in names.items()):
        return plan
    outputs = [(names.get(f.name, f.name), Column(f.name, f.type)) for f in plan.schema]
    return Project(tuple(outputs), plan)


def merged(
    plan: Node, scope: Scope, left: Scope, right: Scope, names: tuple[str, ...], kind: str
) -> tuple[Node, Scope]:
    """The columns of USING in an outer join: the right one, or the one of the two that is there."""
    outputs = list(handed_on(plan.schema))
    merged = {}
    for name in names:
        mine, theirs = left.resolve(name), right.resolve(name)
        if kind == "right":
            merged[name] = theirs
            continue
        common = common_type(mine.type, theirs.type)
        assert common is not None
        value = Call("coalesce", (coerce(mine, common), coerce(theirs, common)), common)
        called = f"coalesce({mine.name}, {theirs.name})"
        outputs.append((called, value))
        merged[name] = Column(called, common)
    if kind == "full":
        plan = Project(tuple(outputs), plan)
    return plan, scope.merging(merged)

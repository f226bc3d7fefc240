"""Table functions in FROM: `TABLE(f(x)) AS t`, whose arguments may name the entries before it."""

from __future__ import annotations

import hashlib

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.evaluate import evaluate
from millstream.algebra.expressions import Column, Expression
from millstream.bind.expressions.own_arguments import own_arguments
from millstream.bind.expressions.own_messages import no_function, not_joined, not_lateral
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.scope import Member, Scope
from millstream.bind.relations.entries import Joined
from millstream.bind.relations.placing import placed
from millstream.blocks.routine import Routine
from millstream.blocks.versions import Known
from millstream.errors import MillstreamError
from millstream.lang import name_place_of, place_of, to_sql
from millstream.operators import Filter, Lateral, Project, StaticTable, TableScan
from millstream.operators.lateral import called
from millstream.operators.project import handed_on


def function_of(node: exp.Expr, routines: Known) -> tuple[exp.Anonymous, Routine] | None:
    """The call in an entry of FROM and its function, with TABLE( ) around it or without."""
    call = node.this if isinstance(node, exp.Table) else None
    if not isinstance(call, exp.Anonymous):
        return None
    wrapped = call.name.lower() == "table"
    if wrapped and len(call.expressions) == 1 and isinstance(call.expressions[0], exp.Anonymous):
        call = call.expressions[0]
    versions = routines(call.name)
    if versions is None or versions.function is None:
        if versions is not None and versions.is_aggregate:
            raise no_function(versions.any)
        return None
    return call, versions.function


def with_function(
    joined: Joined | None, node: exp.Expr, join: exp.Join | None, routines: Known, text: str
) -> Joined:
    """The entries so far, each row with the rows of the function."""
    found = function_of(node, routines)
    assert found is not None
    call, routine = found
    place = name_place_of(call, text)
    scope = Scope(()) if joined is None else joined.scope
    inside = Expressions(scope, text, f'function "{routine.name}"', routines=routines)
    if joined is None and any(part.find(exp.Column) for part in call.expressions):
        raise not_lateral(routine).at(place)
    arguments = own_arguments(routine, call, call.expressions, inside)
    alias = node.alias or routine.name
    if joined is None:
        return _alone(routine, arguments, _member(node, alias, routine, text), call, text)
    new = placed(Scope((_member(node, alias, routine, text),)), set(joined.plan.schema.names))
    plan, made = joined.plan, dict[str, Expression]()
    names = []
    for value in arguments:
        name = value.name if isinstance(value, Column) else f"#given{len(plan.schema)}{len(made)}"
        names.append(name)
        if not isinstance(value, Column):
            made[name] = value
    if made:
        plan = Project((*handed_on(plan.schema), *made.items()), plan)
    side = "" if join is None else (join.side or "").upper()
    kind = "" if join is None else (join.kind or "").upper()
    if side in ("RIGHT", "FULL") or kind in ("SEMI", "ANTI"):
        raise not_joined(routine, f"{side or kind} JOIN").at(place)
    columns = tuple(plan_name for _, plan_name, _ in new.members[0].columns)
    plan = Lateral(routine, tuple(names), columns, side == "LEFT", plan)
    scope = scope.joined(new)
    on = None if join is None else join.args.get("on")
    if join is not None and join.args.get("using"):
        raise not_joined(routine, "USING").at(place)
    if on is not None and not (isinstance(on, exp.Boolean) and on.this):
        if side == "LEFT":
            raise not_joined(routine, "LEFT JOIN with a condition").at(place_of(on, text))
        over = Expressions(scope, text, "ON", routines=routines)
        plan = Filter(over.condition(on, "ON"), plan)
    return Joined(plan, scope)


def _member(node: exp.Expr, alias: str, routine: Routine, text: str) -> Member:
    """The columns of the function, under the names of `t (a, b)` if there are any."""
    written = node.args.get("alias")
    names = [] if written is None else [n.name for n in written.args.get("columns") or ()]
    if len(names) > len(routine.returns):
        raise MillstreamError(
            f'alias "{alias}" names {len(names)} columns, and there are {len(routine.returns)}',
            None if written is None else place_of(written, text),
            hint="Leave out the names that are too many.",
        )
    shown = [*names, *(name for name, _ in routine.returns[len(names) :])]
    columns = [(name, name, kind) for name, (_, kind) in zip(shown, routine.returns)]
    return Member(alias, tuple(columns), called=routine.name)


def _alone(
    routine: Routine, arguments: tuple[Expression, ...], member: Member, call: exp.Expr, text: str
) -> Joined:
    """A function of constants, which stands first: its rows are known now."""
    one = pa.RecordBatch.from_arrays([pa.nulls(1)], ["#"])
    values = tuple(evaluate(value, one, 1) for value in arguments)
    _, rows, failed = called(routine, values, 1)
    if failed:
        raise MillstreamError(failed[0].reason, place_of(call, text))
    rows = pa.RecordBatch.from_arrays(
        rows.columns, schema=pa.schema([(name, kind) for name, _, kind in member.columns])
    )
    known = f"{routine!r} {', '.join(map(str, arguments))}"
    digest = hashlib.sha256(known.encode()).hexdigest()[:16]
    table = StaticTable(f"{routine.name}({to_sql(call)})", digest, rows)
    return Joined(TableScan(table, ()), Scope((member,)))

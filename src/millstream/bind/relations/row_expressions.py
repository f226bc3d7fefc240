"""Expressions over the rows of a match: `A.x`, `PREV(LAST(A.x, 2))`, `FINAL sum(U.x)`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import Column, Expression
from millstream.algebra.types import INTEGER, STRING
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.own_arguments import own_arguments
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.relations.element_aggregates import column_of
from millstream.blocks.routine import Routine
from millstream.errors import MillstreamError, closest
from millstream.lang import Tense, name_place_of, place_of, to_sql
from millstream.patterns.classifiers import MATCH_NUMBER, classifier
from millstream.patterns.recognition_results import FINAL
from millstream.patterns.references import Cell
from millstream.patterns.tallies import OwnCall, Tally

STEPS = ("prev", "next")
ENDS = ("first", "last")
FARTHEST = 1_000_000


@dataclass(frozen=True)
class Variables:
    """The variables of a pattern and its subsets, found in any case."""

    names: tuple[str, ...]

    def find(self, name: str) -> str | None:
        return next((n for n in self.names if n.lower() == name.lower()), None)

    def known(self, name: str, node: exp.Expr, text: str) -> str:
        """The name as it is spelt in the pattern."""
        found = self.find(name)
        if found is None:
            near = closest(name, list(self.names))
            raise MillstreamError(
                f'pattern variable "{name}" does not exist',
                place_of(node, text),
                hint=f'Did you mean "{near}"?' if near else f"There are {', '.join(self.names)}.",
            )
        return found


@dataclass
class Collected:
    """What expressions count, and the arguments that are computed below the pattern."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    arguments: dict[str, Expression] = field(default_factory=dict)

    def argument(self, value: Expression) -> str:
        """The column that a value is computed in."""
        if isinstance(value, Column):
            return value.name
        return next((n for n, v in self.arguments.items() if v == value), None) or self._new(value)

    def _new(self, value: Expression) -> str:
        name = f"#arg{len(self.arguments)}"
        self.arguments[name] = value
        return name


@dataclass(frozen=True)
class At:
    """Which row a column is read from: of its variable the last or first, how far from there, and
    how many rows on. An argument of an aggregate is `plain`: it is read from each row."""

    last: bool = True
    nth: int = 0
    shift: int = 0
    is_end: bool = False
    is_step: bool = False
    plain: bool = False


@dataclass
class RowExpressions(Expressions):
    """Binds the expressions of MEASURES and of DEFINE.

    `whole` says that the rows of a match are shown one by one, so that FINAL differs from RUNNING.
    """

    variables: Variables = Variables(())
    collected: Collected = field(default_factory=Collected)
    whole: bool = False
    at: At = At()
    final: bool = False
    read: list[str] = field(default_factory=list)
    """The variables of the columns that were read."""

    @property
    def in_define(self) -> bool:
        return self.clause == "DEFINE"

    def _bind(self, node: exp.Expr) -> Expression:
        match node:
            case Tense():
                return self._tense(node)
            case exp.Anonymous() if node.name.lower() in (*STEPS, *ENDS):
                return self._navigated(node, node.name.lower())
            case exp.Anonymous() if node.name.lower() == "classifier":
                return self._classifier(node)
            case exp.Anonymous() if node.name.lower() == "match_number":
                if node.expressions:
                    raise MillstreamError(
                        'function "match_number" takes nothing', hint="Write MATCH_NUMBER()."
                    )
                return Column(MATCH_NUMBER, INTEGER)
        call = node.this if isinstance(node, exp.Dot) else node
        if isinstance(call, exp.Anonymous) and (own := self._own(call.name)) is not None:
            return self._own_aggregate(own, call, node)
        return super()._bind(node)

    def _own(self, name: str) -> Routine | None:
        """The aggregate of one's own that a name means; one with a window version only hides no
        built-in aggregate."""
        versions = self.routines(name)
        if versions is None or not versions.is_aggregate:
            return None
        if versions.base is None and self.aggregates(name) is not None:
            return None
        return versions.base or versions.window

    def _own_aggregate(self, own: Routine, call: exp.Anonymous, node: exp.Expr) -> Expression:
        """`f(A.x, A.y)`, or a column of what it returns."""
        if self.at != At():
            raise self._inside_of_another(own.name, call)
        inside = replace(self, at=At(plain=True), read=[])
        star = _star(list(call.expressions))
        given: list[exp.Expr] = [] if star is not None else list(call.expressions)
        values = own_arguments(own, call, given, inside)
        self._refuse_mixed(inside.read, own.name, call)
        variable = next(iter(inside.read), "")
        if star is not None and star.table:
            variable = self.variables.known(star.table, star, self.text)
        column = node.expression if isinstance(node, exp.Dot) else None
        at = column_of(own, call, column, self.text)
        columns = tuple(self.collected.argument(value) for value in values)
        name = f"{own.name}({', '.join(to_sql(n) for n in call.expressions) or '*'})"
        name += "" if column is None else f".{own.returns[at][0]}"
        return self._tallied(Tally(variable, OwnCall(name, own, columns, at)))

    def _inside_of_another(self, called: str, node: exp.Anonymous) -> MillstreamError:
        return MillstreamError(
            f'aggregate "{called}" cannot stand inside of another call over rows',
            name_place_of(node, self.text),
            hint="Write it beside the other.",
        )

    def _tense(self, node: Tense) -> Expression:
        word, inner = "FINAL" if node.final else "RUNNING", node.this
        name = inner.name.lower() if isinstance(inner, exp.Anonymous) else ""
        known = self.aggregates(name) is not None or self._own(name) is not None
        if name not in (*ENDS, "classifier") and not known:
            shown = inner.sql() if isinstance(inner, exp.Column) else "A.x"
            raise MillstreamError(
                f"{word} stands before FIRST, LAST and aggregates",
                hint=f"Write {word} LAST({shown}), and PREV and NEXT around it.",
            )
        if self.in_define and node.final:
            raise MillstreamError(
                "FINAL cannot stand in DEFINE",
                detail="A condition is tested before it is known how the match ends.",
                hint="Leave it out.",
            )
        return replace(self, final=node.final and self.whole).bind(inner)

    def _navigated(self, node: exp.Anonymous, name: str) -> Expression:
        given, is_end = list(node.expressions), name in ENDS
        called = name.upper()
        if not 1 <= len(given) <= 2 or isinstance(given[0], exp.Star):
            raise MillstreamError(
                f"{called} takes a value and how many rows", hint=f"Write {called}(A.x, 2)."
            )
        if self.at.plain:
            raise MillstreamError(
                f"{called} cannot stand inside of an aggregate",
                hint="Compute it in DEFINE or MEASURES beside the aggregate.",
            )
        if self.at.is_end or (self.at.is_step and not is_end):
            around = "FIRST or LAST" if is_end else "PREV, NEXT, FIRST or LAST"
            raise MillstreamError(
                f"{called} cannot stand inside of {around}",
                hint="Write PREV(LAST(A.x, 2), 3): FIRST and LAST stand inside.",
            )
        by = self._offset(given[1], called) if given[1:] else (0 if is_end else 1)
        if is_end:
            at = replace(self.at, last=name == "last", nth=by, is_end=True)
        else:
            at = replace(self.at, shift=-by if name == "prev" else by, is_step=True)
        inside = replace(self, at=at, read=[])
        found = inside.bind(given[0])
        if not inside.read:
            raise MillstreamError(
                f"{called} takes a value that is read from a row",
                place_of(given[0], self.text),
                hint=f"Write {called}(A.x) with a column.",
            )
        self._refuse_mixed(inside.read, called, given[0])
        self.read += inside.read
        return found

    def _refuse_mixed(self, read: list[str], called: str, node: exp.Expr) -> None:
        if len(set(read)) > 1:
            first, second = (name or "all rows" for name in dict.fromkeys(read))
            raise MillstreamError(
                f"{called} takes the rows of one variable, and here are those of {first} and "
                f"{second}",
                place_of(node, self.text),
                hint="Write it once for each variable.",
            )

    def _offset(self, node: exp.Expr, called: str) -> int:
        if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
            return min(int(node.this), FARTHEST)
        raise MillstreamError(
            f"how many rows {called} goes is a whole number that stands there",
            place_of(node, self.text),
            hint=f"Write for example {called}(A.x, 2).",
        )

    def _classifier(self, node: exp.Anonymous) -> Expression:
        match node.expressions:
            case []:
                variable = ""
            case [exp.Column(name=name) as column] if not column.table:
                variable = self.variables.known(name, column, self.text)
            case _:
                raise MillstreamError(
                    "CLASSIFIER takes a pattern variable, or nothing", hint="Write CLASSIFIER()."
                )
        return Column(self._tensed(classifier(variable)), STRING)

    def _tensed(self, name: str) -> str:
        return FINAL + name if self.final else name

    def _column(self, node: exp.Column) -> Expression:
        if isinstance(node.this, exp.Star) or node.args.get("db"):
            return super()._column(node)
        variable = ""
        if node.table:
            variable = self.variables.known(node.table, node.args["table"], self.text)
        try:
            column = self.scope.resolve(node.name)
        except MillstreamError as error:
            raise error.at(name_place_of(node, self.text)) from None
        self.read.append(variable)
        if self.at.plain:
            return column
        cell = Cell(variable, column.name, self.at.last, self.at.nth, self.at.shift)
        return Column(self._tensed(str(cell)), column.type)

    def _aggregate(self, node: exp.Anonymous, called: Aggregate) -> Expression:
        if self.at.plain or self.at != At():
            raise self._inside_of_another(called.called, node)
        inside = replace(self, at=At(plain=True), read=[])
        given, once = list(node.expressions), called
        if given and isinstance(given[0], exp.Distinct):
            given = [*given[0].expressions, *given[1:]]
            once = called.of_distinct() or called
        columns: tuple[str, ...] = ()
        kind, parameter = called.result(INTEGER), None
        star = _star(given)
        if star is not None:
            variable = "" if not star.table else self.variables.known(star.table, star, self.text)
            if called.arity.least > 0:
                raise MillstreamError(
                    f'aggregate "{called.called}" does not take *',
                    hint=f"Write {called.called}(A.x) with a column.",
                )
        else:
            values = [inside.bind(n) for n in given]
            self._refuse_mixed(inside.read, called.called, node)
            variable = next(iter(inside.read), "")
            if once.parameter is not None:
                read = [getattr(v, "value", None) for v in values[1:]]
                parameter = once.parameter.default
                if read:
                    parameter = once.parameter.read(read[0], values[1].type)
                values = values[:1]
            if not once.arity.least <= len(values) <= max(once.arity.most, 1) or not values:
                raise MillstreamError(
                    f'aggregate "{called.called}" does not take {len(values)} arguments',
                    name_place_of(node, self.text),
                    hint=f"Write {called.called}(A.x).",
                )
            if once.argument is not None:
                values[0] = coerce(values[0], once.argument)
            kind = once.result(values[0].type)
            columns = tuple(self.collected.argument(value) for value in values)
        if kind is None:
            raise MillstreamError(
                f'aggregate "{called.called}" cannot take {to_sql(given[0])}',
                place_of(given[0], self.text),
            )
        inside_text = ", ".join(to_sql(n) for n in given) or "*"
        call = AggregateCall(f"{once.name}({inside_text})", once, columns, kind, parameter)
        argument = values[0].type if columns else None
        return self._tallied(Tally(variable, call, argument))

    def _tallied(self, tally: Tally) -> Expression:
        named, number = tally, 1
        while self.collected.tallies.setdefault(named.name, named) != named:
            number += 1
            named = replace(tally, call=replace(tally.call, name=f"{tally.name} {number}"))
        return Column(self._tensed(named.name), named.call.type)


def _star(given: list[exp.Expr]) -> exp.Column | None:
    """`*` or `A.*` as the only argument, or no argument: the rows themselves."""
    match given:
        case [] | [exp.Star()]:
            return exp.column("*")
        case [exp.Column(this=exp.Star()) as column]:
            return column
    return None

"""MATCH_RECOGNIZE in FROM: its clauses become a search, and what it gives becomes columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.expressions import Case, Column, Expression, Literal, walk
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN
from millstream.bind.names.scope import Member, Scope
from millstream.bind.relations.certainties import certainties
from millstream.bind.relations.row_expressions import Collected, RowExpressions, Variables
from millstream.bind.relations.row_order import in_order, limit_in
from millstream.catalog import Catalog
from millstream.errors import MillstreamError, Notice, closest
from millstream.lang import (
    MatchPattern,
    PatternAnchor,
    PatternChoice,
    PatternExclude,
    PatternPermute,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    name_place_of,
    place_of,
)
from millstream.operators import Match, Project, Rematch
from millstream.operators.project import handed_on
from millstream.patterns.classifiers import MATCH_NUMBER
from millstream.patterns.postfix import NotPostfix
from millstream.patterns.recognition import Recognition
from millstream.patterns.recognition_program import TooLarge
from millstream.patterns.recognition_results import FINAL, MATCHED, kind_of_tally, row_column
from millstream.patterns.references import cell_of
from millstream.patterns.regex import (
    Anchor,
    Choice,
    Exclude,
    Permute,
    Regex,
    Repeat,
    Sequence,
    Variable,
    variables_of,
)
from millstream.patterns.regex import (
    walk as parts_of,
)
from millstream.patterns.scene import MOST

Outputs = tuple[tuple[str, Expression], ...]


@dataclass
class Recognizing:
    """Binds one MATCH_RECOGNIZE over a stream or a relation."""

    node: exp.Expr
    text: str
    catalog: Catalog
    notices: list[Notice]
    described: str

    @property
    def pattern(self) -> MatchPattern:
        found: MatchPattern = self.node.args["recognize"]
        return found

    def bind(self, plan: Node, member: Member) -> tuple[Node, Member]:
        """The matches, and the names they offer."""
        pattern, scope = self.pattern, Scope((member,))
        keys = tuple(self._column(c, scope) for c in pattern.partition_by)
        order = tuple(self._column(item.this, scope) for item in pattern.order_by)
        down = tuple(n for n, item in zip(order, pattern.order_by) if item.args.get("desc"))
        places = (
            place_of(pattern, self.text),
            place_of(pattern.order_by[0], self.text) if order else None,
        )
        plan = in_order(
            plan, order, bool(down), "ORDER BY", self.described, places, self.catalog, self.notices
        )
        regex = self._regex(pattern.pattern)
        variables = self._variables(regex)
        subsets = self._subsets(variables)
        names = Variables((*variables.names, *(name for name, _ in subsets)))
        collected = Collected()
        inside = RowExpressions(
            scope,
            self.text,
            notices=self.notices,
            aggregates=self.catalog.aggregate,
            routines=self.catalog.versions,
            variables=names,
            collected=collected,
            whole=pattern.rows != "one",
        )
        inside.aggregate = None
        defines = self._defines(variables, subsets, inside)
        measures = self._measures(inside)
        read = {e.name: e.type for _, m in measures for e in walk(m) if isinstance(e, Column)}
        shifts = [cell.shift for name in read if (cell := cell_of(name.removeprefix(FINAL)))]
        skip_to = ""
        if pattern.skip_to is not None:
            skip_to = names.known(pattern.skip_to.name, pattern.skip_to, self.text)
        search = Recognition(
            regex,
            defines,
            subsets,
            tuple(collected.tallies.values()),
            pattern.rows,
            pattern.skip,
            skip_to,
            self._within(plan, order),
            max([0, *shifts]),
            max([0, *(-by for by in shifts)]),
            MATCH_NUMBER in read,
        )
        self._check(search, plan)
        outputs, gives = self._outputs(plan, keys, order, measures, read)
        below = self._with_arguments(plan, collected)
        found: Node = Match(keys, search, gives, below)
        if not plan.is_stream:
            found = Rematch(keys, order, search, gives, below, down)
        columns = tuple((name, name, value.type) for name, value in outputs)
        return Project(outputs, found), replace(
            member, alias=self.node.alias or "", columns=columns
        )

    # clauses

    def _column(self, node: exp.Expr, scope: Scope) -> str:
        try:
            return scope.resolve(node.name, node.text("table") or None).name
        except MillstreamError as error:
            raise error.at(name_place_of(node, self.text)) from None

    def _within(self, plan: Node, order: tuple[str, ...]) -> int | None:
        """The limit in the unit of time: that of the stream, or of the column that orders rows."""
        if self.pattern.within is None:
            return None
        written = self.pattern.order_by
        descends = bool(written and written[0].args.get("desc"))
        places = (
            place_of(self.pattern, self.text),
            place_of(written[0], self.text) if written else None,
        )
        return limit_in(
            self.pattern.within, plan, order, descends, "ORDER BY", self.described, places
        )

    def _regex(self, node: exp.Expr) -> Regex:
        match node:
            case PatternVariable():
                return Variable(node.this.name)
            case PatternSequence():
                return Sequence(self._parts(node))
            case PatternChoice():
                return Choice(self._parts(node))
            case PatternPermute():
                return Permute(self._parts(node))
            case PatternRepeat(this=part):
                low, high = node.args["low"], node.args.get("high")
                return Repeat(self._regex(part), low, high, bool(node.args.get("reluctant")))
            case PatternExclude(this=part):
                return Exclude(self._regex(part))
            case PatternAnchor():
                return Anchor(node.start)
        raise TypeError(node)

    def _parts(self, node: exp.Expr) -> tuple[Regex, ...]:
        return tuple(self._regex(part) for part in node.expressions)

    def _variables(self, regex: Regex) -> Variables:
        names = variables_of(regex)
        if len(names) > MOST:
            raise MillstreamError(
                f"a pattern has at most {MOST} variables, and this one has {len(names)}",
                place_of(self.pattern.pattern, self.text),
                hint="Give variables with the same condition one name.",
            )
        return Variables(names)

    def _subsets(self, variables: Variables) -> tuple[tuple[str, tuple[str, ...]], ...]:
        found: dict[str, tuple[str, ...]] = {}
        for subset in self.pattern.subsets:
            name = subset.this.name
            if variables.find(name) or Variables(tuple(found)).find(name):
                raise MillstreamError(
                    f'the name "{name}" is taken: a subset has a name of its own',
                    place_of(subset.this, self.text),
                    hint="Give the subset another name.",
                )
            found[name] = tuple(
                variables.known(part.name, part, self.text) for part in subset.expressions
            )
        return tuple(found.items())

    def _defines(
        self,
        variables: Variables,
        subsets: Iterable[tuple[str, tuple[str, ...]]],
        inside: RowExpressions,
    ) -> tuple[tuple[str, Expression], ...]:
        found: dict[str, Expression] = {}
        for define in self.pattern.defines:
            written = define.args["alias"]
            name = variables.find(written.name)
            if name is None:
                raise self._undefinable(written, variables, subsets)
            if name in found:
                raise MillstreamError(
                    f'variable "{name}" is defined twice',
                    place_of(written, self.text),
                    hint="Put the conditions together with AND.",
                )
            bound = replace(inside, clause="DEFINE", whole=False).condition(define.this, "DEFINE")
            for part in walk(bound):
                self._refuse_uncounted(part, inside, define)
            found[name] = bound
        return tuple(found.items())

    def _refuse_uncounted(
        self, part: Expression, inside: RowExpressions, define: exp.Alias
    ) -> None:
        tally = inside.collected.tallies.get(part.name) if isinstance(part, Column) else None
        if tally is not None and kind_of_tally(tally) is None:
            raise MillstreamError(
                f'aggregate "{tally.call.function}" cannot be tested while a pattern is searched',
                place_of(define.this, self.text),
                hint="In DEFINE stand count, sum, avg, min and max of numbers; all aggregates in "
                "MEASURES.",
            )

    def _undefinable(
        self,
        written: exp.Expr,
        variables: Variables,
        subsets: Iterable[tuple[str, tuple[str, ...]]],
    ) -> MillstreamError:
        name = written.name
        if Variables(tuple(n for n, _ in subsets)).find(name):
            return MillstreamError(
                f'"{name}" is a subset, and has no condition of its own',
                place_of(written, self.text),
                hint="Define its variables.",
            )
        near = closest(name, list(variables.names))
        return MillstreamError(
            f'variable "{name}" is defined, and does not stand in PATTERN',
            place_of(written, self.text),
            hint=f'Did you mean "{near}"?' if near else "Put it into PATTERN, or leave it out.",
        )

    def _measures(self, inside: RowExpressions) -> Outputs:
        found: dict[str, Expression] = {}
        for measure in self.pattern.measures:
            if any(measure.alias.lower() == name.lower() for name in found):
                raise MillstreamError(
                    f'measure "{measure.alias}" stands twice',
                    name_place_of(measure, self.text),
                    hint="Give one of them another name.",
                )
            found[measure.alias] = replace(inside, clause="MEASURES").bind(measure.this)
        return tuple(found.items())

    # what comes out

    def _outputs(
        self,
        plan: Node,
        keys: tuple[str, ...],
        order: tuple[str, ...],
        measures: Outputs,
        read: dict[str, pa.DataType],
    ) -> tuple[Outputs, tuple[tuple[str, pa.DataType], ...]]:
        """The columns of the entry, in the order of the standard, and what they are made of."""
        shows = self.pattern.rows
        names = [name for name in plan.schema.names if not name.startswith("#")]
        plain = [n for n in (*order, *names) if n not in keys] if shows != "one" else []
        plain = list(dict.fromkeys(plain))
        self._refuse_names_twice([*keys, *plain])
        of_rows = {n: Column(row_column(n), plan.schema.field(n).type) for n in plain}
        gives = dict(read)
        gives |= {value.name: value.type for value in of_rows.values()}
        if shows == "all with unmatched":
            gives[MATCHED] = BOOLEAN
            measures = tuple((name, _of_matches(value)) for name, value in measures)
        first = [(n, of_rows[n]) for n in plain if n in order]
        rest = [(n, of_rows[n]) for n in plain if n not in order]
        outputs = (*handed_on(plan.schema, keys), *first, *measures, *rest)
        return outputs, tuple(gives.items())

    def _refuse_names_twice(self, columns: list[str]) -> None:
        for measure in self.pattern.measures:
            if any(measure.alias.lower() == name.lower() for name in columns):
                raise MillstreamError(
                    f'measure "{measure.alias}" has the name of a column that stands beside it',
                    name_place_of(measure, self.text),
                    hint="Give the measure another name.",
                )

    def _with_arguments(self, plan: Node, collected: Collected) -> Node:
        if not collected.arguments:
            return plan
        whole = handed_on(plan.schema, plan.schema.names)
        return Project((*whole, *collected.arguments.items()), plan)

    # what is refused

    def _check(self, search: Recognition, plan: Node) -> None:
        try:
            _ = search.program, search.tests
        except NotPostfix as error:
            raise MillstreamError(
                f"{error.part} cannot be computed of several rows while a pattern is searched",
                place_of(self.pattern, self.text),
                hint="Compare values that are computed of one row each.",
            ) from None
        except TooLarge:
            raise MillstreamError(
                "the pattern is too large",
                place_of(self.pattern.pattern, self.text),
                detail="Repetitions with bounds and PERMUTE are written out.",
                hint="Lower the bounds, or write A+ and count(A.*) in DEFINE.",
            ) from None
        place = place_of(self.pattern.pattern, self.text)
        self.notices += certainties(search, place, closed=not plan.is_stream)
        self._check_skip(search)
        self._check_exclusion(search)
        if plan.is_stream:
            self._check_stream(search)

    def _check_skip(self, search: Recognition) -> None:
        if search.skip not in ("first", "last") or not search.always_skips_to_start:
            return
        assert self.pattern.skip_to is not None
        raise MillstreamError(
            f'every match begins with "{search.skip_to}", and the search cannot go on there',
            place_of(self.pattern.skip_to, self.text),
            hint="Write AFTER MATCH SKIP TO NEXT ROW, or the name of a later variable.",
        )

    def _check_exclusion(self, search: Recognition) -> None:
        left_out = self.pattern.pattern.find(PatternExclude)
        if left_out is None or search.shows != "all with unmatched":
            return
        raise MillstreamError(
            "WITH UNMATCHED ROWS shows all rows, and the pattern leaves some out",
            place_of(left_out, self.text),
            hint="Leave out {- and -}, and choose rows by CLASSIFIER() in a query around it.",
        )

    def _check_stream(self, search: Recognition) -> None:
        if search.shows == "all with unmatched":
            raise MillstreamError(
                f"WITH UNMATCHED ROWS is for tables, and {self.described} is a stream",
                place_of(self.pattern, self.text),
                hint="Leave it out, or write ALL ROWS PER MATCH.",
            )
        if any(isinstance(p, Anchor) and not p.start for p in parts_of(search.pattern)):
            self.notices.append(
                Notice(
                    f"$ in the pattern waits for the end of {self.described}, which a stream does "
                    "not have",
                    "Leave it out, or store the rows in a table.",
                )
            )


def _of_matches(value: Expression) -> Expression:
    """A measure of a row that may be in no match."""
    return Case(((Column(MATCHED, BOOLEAN), value),), Literal(None, value.type), value.type)

"""Queries back to canonical text."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generator import Generator as SqlGenerator

from millstream.lang.nodes import (
    MatchPattern,
    OverFrame,
    PatternAnchor,
    PatternChoice,
    PatternExclude,
    PatternPermute,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    Previous,
    RelationOf,
    SequenceElement,
    SequencePattern,
    StarOf,
    StreamWindow,
    SubsetOf,
    Tense,
    ToStream,
    TypeName,
)

_LISTS = {"partition_by": "PARTITION BY", "order_by": "ORDER BY", "measures": "MEASURES"}
_ROWS_PER_MATCH = {
    "one": "ONE ROW PER MATCH",
    "all": "ALL ROWS PER MATCH",
    "all omit empty": "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "all with unmatched": "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
}
_SKIPS = {
    "past last": "PAST LAST ROW",
    "next": "TO NEXT ROW",
    "first": "TO FIRST ",
    "last": "TO LAST ",
}


class Generator(SqlGenerator):
    """Prints a syntax tree so that parsing the text gives an equal tree."""

    TRANSFORMS: ClassVar = {
        **SqlGenerator.TRANSFORMS,
        OverFrame: lambda self, node: self.overframe_sql(node),
        StreamWindow: lambda self, node: self.streamwindow_sql(node),
        ToStream: lambda self, node: self.tostream_sql(node),
        SequencePattern: lambda self, node: self.sequencepattern_sql(node),
        SequenceElement: lambda self, node: ("*" if node.star else "") + self.sql(node, "this"),
        StarOf: lambda self, node: "*" + ".".join(self.parts_sql(node)),
        Previous: lambda self, node: f"{self.sql(node, 'this')}.previous",
        TypeName: lambda self, node: node.name,
        RelationOf: lambda self, node: "",
        MatchPattern: lambda self, node: self.matchpattern_sql(node),
        SubsetOf: lambda self, node: self.subsetof_sql(node),
        Tense: lambda self, node: f"{'FINAL' if node.final else 'RUNNING'} {self.sql(node.this)}",
        PatternVariable: lambda self, node: self.sql(node, "this"),
        PatternSequence: lambda self, node: self._pattern_parts(node, " ") or "()",
        PatternChoice: lambda self, node: self._pattern_parts(node, " | "),
        PatternRepeat: lambda self, node: self.patternrepeat_sql(node),
        PatternPermute: lambda self, node: f"PERMUTE({self.expressions(node, flat=True)})",
        PatternExclude: lambda self, node: f"{{- {self.sql(node, 'this')} -}}",
        PatternAnchor: lambda self, node: "^" if node.start else "$",
    }

    def select_sql(self, expression: exp.Select) -> str:
        items = self.expressions(expression, flat=True)
        distinct = "DISTINCT " if expression.args.get("distinct") else ""
        form = f"{expression.args['form'].upper()} " if expression.args.get("form") else ""
        if operator := expression.args.get("to_stream"):
            head = f"SELECT {operator.upper()}({distinct}{items})"
        else:
            head = f"SELECT {form}{distinct}{items}"
        sql = self.query_modifiers(expression, head, self.sql(expression, "from_"))
        return self.prepend_ctes(expression, sql)

    def table_sql(self, expression: exp.Table, sep: str = " AS ") -> str:
        name = self.table_parts(expression)
        if (relation := expression.args.get("relation_of")) is not None:
            name = f"R({name}{', ' + self.sql(relation.sync) if relation.sync else ''})"
        return self._windowed(expression, name) + self._joins(expression)

    def subquery_sql(self, expression: exp.Subquery, sep: str = " AS ") -> str:
        head = self._windowed(expression, f"({self.sql(expression, 'this')})")
        return self.prepend_ctes(expression, self.query_modifiers(expression, head))

    def tostream_sql(self, expression: ToStream) -> str:
        return f"{expression.operator.upper()}({self.sql(expression, 'this')})"

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        name = self.sql(expression, "this")
        return f"{name}({self.expressions(expression, flat=True)})"

    def streamwindow_sql(self, expression: StreamWindow) -> str:
        words = []
        if expression.partition_by:
            words.append(f"PARTITION BY {self.expressions(expression, 'partition_by', flat=True)}")
        if expression.kind == "now":
            words.append("NOW")
        elif expression.kind == "unbounded":
            words.append(
                "ROWS UNBOUNDED" if isinstance(expression.slide, int) else "RANGE UNBOUNDED"
            )
        if expression.rows is not None:
            words.append(f"ROWS {expression.rows}")
        if expression.range is not None:
            word = "RANGE" if expression.kind in ("range", "rows") else expression.kind.upper()
            words.append(f"{word} {expression.range}")
        if expression.slide is not None:
            word = "EVERY" if expression.kind == "hop" else "SLIDE"
            words.append(f"{word} {expression.slide}")
        if expression.offset is not None:
            words.append(f"OFFSET {expression.offset}")
        return f"[{' '.join(words)}]"

    def sequencepattern_sql(self, expression: SequencePattern) -> str:
        words = [
            f"{clause} {self.expressions(expression, key, flat=True)}"
            for clause, key in (("PARTITION BY", "partition_by"), ("SEQUENCE BY", "sequence_by"))
            if expression.args.get(key)
        ]
        words.append(f"AS ({self.expressions(expression, 'elements', flat=True)})")
        return " ".join([*words, *self._within(expression)])

    def matchpattern_sql(self, expression: MatchPattern) -> str:
        lists = {key: self.expressions(expression, key, flat=True) for key in _LISTS}
        defines = ", ".join(
            f"{self.sql(define, 'alias')} AS {self.sql(define, 'this')}"
            for define in expression.defines
        )
        words = [f"{clause} {lists[key]}" for key, clause in _LISTS.items() if lists[key]]
        shown = _ROWS_PER_MATCH[expression.rows]
        skip = _SKIPS[expression.skip] + self.sql(expression, "skip_to")
        pattern = f"PATTERN ({self.sql(expression, 'pattern')})".replace("(())", "()")
        words += [shown, f"AFTER MATCH SKIP {skip}", pattern]
        words += self._within(expression)
        if expression.subsets:
            words.append(f"SUBSET {self.expressions(expression, 'subsets', flat=True)}")
        if defines:
            words.append(f"DEFINE {defines}")
        return f"MATCH_RECOGNIZE ({' '.join(words)})"

    def subsetof_sql(self, expression: SubsetOf) -> str:
        return f"{self.sql(expression, 'this')} = ({self.expressions(expression, flat=True)})"

    def patternrepeat_sql(self, expression: PatternRepeat) -> str:
        low, high = expression.args["low"], expression.args.get("high")
        known = {(0, None): "*", (1, None): "+", (0, 1): "?"}
        count = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
        sign = known.get((low, high), count) + ("?" if expression.args.get("reluctant") else "")
        return self._pattern_bracketed(expression.this, PatternRepeat, PatternAnchor) + sign

    def _pattern_parts(self, expression: exp.Expr, between: str) -> str:
        inside = () if isinstance(expression, PatternChoice) else (PatternSequence,)
        return between.join(self._pattern_bracketed(p, *inside) for p in expression.expressions)

    def _pattern_bracketed(self, part: exp.Expr, *kinds: type[exp.Expr]) -> str:
        sql = self.sql(part)
        wide = isinstance(part, (PatternChoice, *kinds))
        if isinstance(part, PatternSequence) and PatternRepeat in kinds:
            wide = bool(part.expressions)
        if isinstance(part, PatternSequence) and not part.expressions:
            wide = False
        return f"({sql})" if wide else sql

    def parts_sql(self, expression: StarOf) -> list[str]:
        return [part for key in ("this", "column") if (part := self.sql(expression, key))]

    def intdiv_sql(self, expression: exp.IntDiv) -> str:
        return self.binary(expression, "DIV")

    def window_sql(self, expression: exp.Window) -> str:
        this, name = self.sql(expression, "this"), self.sql(expression, "alias")
        if name:
            return f"{this} OVER {name}"
        parts = [self.partition_by_sql(expression)]
        if order := expression.args.get("order"):
            parts.append(self.order_sql(order, flat=True).strip())
        parts.append(self.sql(expression, "spec"))
        body = " ".join(part for part in parts if part)
        return f"{this} {'AS' if expression.arg_key == 'windows' else 'OVER'} ({body})"

    def overframe_sql(self, expression: OverFrame) -> str:
        length = "UNBOUNDED" if expression.length is None else str(expression.length)
        words = [expression.kind.upper(), length, "PRECEDING"]
        if expression.slide is not None:
            words.append(f"SLIDE {expression.slide}")
        if expression.active:
            words.append("ACTIVE EXPIRATION")
        return " ".join(words)

    def identifier_sql(self, expression: exp.Identifier) -> str:
        if not expression.quoted:
            return expression.name
        quote = '"' if expression.meta.get("double_quoted") else "`"
        return quote + expression.name.replace(quote, quote * 2) + quote

    def literal_sql(self, expression: exp.Literal) -> str:
        text = expression.this
        return "'" + text.replace("'", "''") + "'" if expression.is_string else text

    def _windowed(self, expression: exp.Expr, sql: str) -> str:
        before_all = ("as_of", " AS OF "), ("stream_window", " ")
        parts = [*before_all, ("alias", " AS "), ("sequence", " ")]
        if (pattern := expression.args.get("recognize")) is not None:
            inner = self.sql(pattern, "inner_alias")
            behind = f" AS {inner} " if inner else " "
            parts = [*before_all, ("recognize", behind), ("alias", " AS ")]
        for key, before in parts:
            if part := self.sql(expression, key):
                sql += before + part
        return sql

    def _within(self, expression: SequencePattern | MatchPattern) -> list[str]:
        limit = [] if expression.within is None else [f"WITHIN {expression.within}"]
        return [*limit, "WITH TIMEOUTS"] if expression.args.get("timeouts") else limit

    def _joins(self, expression: exp.Expr) -> str:
        return self.expressions(expression, key="joins", sep="", flat=True)


def text_of(node: exp.Expr, dialect: Any) -> str:
    """The canonical text of a query or expression."""
    return dialect.generate(node, comments=False, normalize_functions=False)

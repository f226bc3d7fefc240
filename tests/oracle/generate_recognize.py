"""Random MATCH_RECOGNIZE over few values, so that patterns match often."""

from __future__ import annotations

from random import Random

from . import recognize as r

VARIABLES = ("A", "B", "C", "D")
COLUMNS = ("n", "m")
AGGREGATES = ("count", "sum", "avg", "min", "max")


class Generator:
    """Queries over rows `(ts, k, n, m)`; n and m are small numbers or NULL."""

    def __init__(self, rng: Random, table: bool = False) -> None:
        self.rng = rng
        self.table = table
        self.names = list(VARIABLES[: rng.randint(1, 4)])
        self.subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def query(self) -> r.Recognize:
        rng = self.rng
        while True:
            pattern = self.pattern(rng.randint(0, 3))
            variables = r.variables_of(pattern)
            if variables or rng.random() < 0.05:
                break
        self.names = list(variables)
        if len(variables) > 1 and rng.random() < 0.4:
            self.subsets = (("U", tuple(rng.sample(variables, rng.randint(1, len(variables))))),)
        defines = tuple((v, self.condition(v)) for v in variables if rng.random() < 0.85)
        skip, skip_to = self.skip()
        outputs = [None, "one", "one", "all", "all", "show", "omit"]
        # rows that are left out cannot be shown as unmatched
        if self.table and not r.leaves_out(pattern):
            outputs += ["unmatched", "unmatched"]
        return r.Recognize(
            pattern,
            ("k",) if rng.random() < 0.7 else (),
            measures=tuple((f"m{i}", self.measure()) for i in range(rng.randint(1, 4))),
            output=rng.choice(outputs),
            skip=skip,
            skip_to=skip_to,
            within=rng.randint(1, 6) if rng.random() < 0.2 else None,
            subsets=self.subsets,
            defines=defines,
        )

    def skip(self) -> tuple[str | None, str]:
        skip = self.rng.choice([None, "past", "next", "next", "first", "last", "to"])
        if skip not in ("first", "last", "to") or not self.names:
            return (None if skip in ("first", "last", "to") else skip), ""
        return skip, self.name()

    def name(self) -> str:
        """A variable or a subset."""
        return self.rng.choice([*self.names, *(name for name, _ in self.subsets)])

    # patterns

    def pattern(self, depth: int) -> r.Pattern:
        rng = self.rng
        if depth == 0:
            roll = rng.random()
            if roll < 0.03:
                return r.Seq()
            if roll < 0.06:
                return r.Anchor(rng.random() < 0.5)
            return r.Var(rng.choice(self.names))
        kind = rng.choice(["seq", "seq", "seq", "choice", "repeat", "repeat", "permute", "exclude"])
        if kind == "seq":
            return r.Seq(tuple(self.pattern(depth - 1) for _ in range(rng.randint(2, 3))))
        if kind == "choice":
            return r.Choice(tuple(self.pattern(depth - 1) for _ in range(rng.randint(2, 3))))
        if kind == "permute":
            return r.Permute(tuple(self.pattern(depth - 1) for _ in range(rng.randint(2, 3))))
        if kind == "exclude":
            return r.Exclude(self.pattern(depth - 1))
        low = rng.choice([0, 0, 1, 1, 2])
        high = rng.choice([None, None, max(low, 1), low + 1, low + 2])
        return r.Repeat(self.pattern(depth - 1), low, high, rng.random() < 0.3)

    # expressions

    def condition(self, variable: str) -> r.Expr:
        rng = self.rng
        roll = rng.random()
        if roll < 0.15:
            return r.Bin(
                rng.choice(["AND", "OR"]), self.condition(variable), self.condition(variable)
            )
        if roll < 0.2:
            return r.Not(self.condition(variable))
        if roll < 0.25:
            return r.IsNull(self.value(variable))
        if roll < 0.31:
            return self.about_classifier()
        op = rng.choice(["<", "<=", ">", ">=", "=", "<>"])
        left = self.own(variable) if rng.random() < 0.6 else self.value(variable)
        right = r.Lit(rng.randint(0, 4)) if rng.random() < 0.55 else self.value(variable)
        return r.Bin(op, left, right)

    def about_classifier(self) -> r.Expr:
        rng = self.rng
        left = r.Classifier(rng.choice(["", self.name()]))
        if rng.random() < 0.3:
            return r.Bin(rng.choice(["=", "<", "<>"]), left, r.Classifier(self.name()))
        return r.Bin(rng.choice(["=", "<>"]), left, r.Lit(rng.choice(["A", "B", "Z"])))

    def own(self, variable: str) -> r.Expr:
        return r.Nav(r.Col(self.column()), self.rng.choice(["", variable]))

    def column(self) -> str:
        return self.rng.choice(COLUMNS)

    def value(self, variable: str) -> r.Expr:
        rng = self.rng
        roll = rng.random()
        if roll < 0.7:
            return self.navigation()
        if roll < 0.85:
            return self.aggregate()
        if roll < 0.9:
            return r.MatchNumber()
        return r.Bin(rng.choice(["+", "-", "*"]), self.navigation(), r.Lit(rng.randint(1, 3)))

    def navigation(self, tense: bool = False) -> r.Nav:
        rng = self.rng
        inner: r.Expr = r.Col(self.column())
        if rng.random() < 0.15:
            inner = r.Bin(rng.choice(["+", "-"]), inner, r.Col(self.column()))
        first = rng.choice([None, None, True, False])
        offset = rng.choice([0, 0, 1, 2]) if first is not None else 0
        shift = rng.choice([0, 0, 0, -1, -1, -2, 1])
        final = rng.choice([None, True, False]) if tense and first is not None else None
        return r.Nav(
            inner,
            rng.choice(["", self.name()] if self.names else [""]),
            first,
            offset,
            shift,
            final,
        )

    def aggregate(self, tense: bool = False) -> r.Agg:
        rng = self.rng
        function = rng.choice([*AGGREGATES, "count distinct"])
        argument: r.Expr | None = r.Col(self.column())
        if function == "count" and rng.random() < 0.6:
            argument = None
        elif rng.random() < 0.2:
            argument = r.Bin("+", r.Col("n"), r.Col("m"))
        final = rng.choice([None, True, False]) if tense else None
        variable = rng.choice(["", self.name()] if self.names else [""])
        return r.Agg(function, variable, argument, final)

    def measure(self) -> r.Expr:
        rng = self.rng
        roll = rng.random()
        if roll < 0.15:
            variable = self.name() if self.names and rng.random() < 0.5 else ""
            return r.Classifier(variable, rng.choice([None, True, False]))
        if roll < 0.25:
            return r.MatchNumber()
        if roll < 0.55:
            return self.aggregate(tense=True)
        if roll < 0.65:
            return r.Bin(rng.choice(["+", "-", "*"]), self.navigation(True), self.aggregate(True))
        return self.navigation(tense=True)


def rows_of(rng: Random, count: int) -> r.Rows:
    """Rows in the order of time; some at one instant."""
    found: r.Rows = []
    ts = 0
    for _ in range(count):
        ts += rng.choice([0, 1, 1, 1, 2])
        values = [rng.choice([None, 0, 1, 2, 3, 3]) if rng.random() < 0.9 else 4 for _ in COLUMNS]
        found.append({"ts": ts, "k": rng.choice([1, 1, 2]), **dict(zip(COLUMNS, values))})
    return found


def shuffled(rng: Random, rows: r.Rows, slack: int) -> r.Rows:
    """The rows as they may arrive: some late by no more than the slack, or a little more."""
    if not slack:
        return rows
    keyed = [(row["ts"] + rng.randint(0, slack + 1), i, row) for i, row in enumerate(rows)]  # type: ignore[operator]
    return [row for _, _, row in sorted(keyed, key=lambda one: one[:2])]

"""Random scalar expressions over columns of known types."""

from random import Random

from .spec import (
    Between,
    Bin,
    Case,
    Coalesce,
    Col,
    Columns,
    Expr,
    Func,
    InList,
    IsNull,
    Like,
    Lit,
    Not,
)

INTEGERS = (-1, 0, 1, 2, 2, 3)
DOUBLES = (0.25, -0.5, 1.5, 2.0)
WORDS = ("a", "b", "ab", "ba", "Ab")
PATTERNS = ("a%", "%b", "_a%", "%", "b_", "A%")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def column(rng: Random, columns: Columns, *types: str) -> Col | None:
    """A column of one of the types; a dotted name is a qualified one."""
    fitting = [name for name, type_ in columns if type_ in types]
    if not fitting:
        return None
    return as_column(rng.choice(fitting))


def as_column(dotted: str) -> Col:
    qualifier, _, name = dotted.rpartition(".")
    return Col(name, qualifier or None)


def number(rng: Random, columns: Columns, depth: int = 1) -> Expr:
    """A numeric expression; its doubles are exact as long as the columns' are."""
    leaf = column(rng, columns, "int", "bigint", "double")
    if leaf is None:
        return Lit(rng.choice(INTEGERS))
    if depth == 0 or rng.random() < 0.3:
        return leaf
    match rng.randrange(8):
        case 0 | 1:
            return Bin(rng.choice("+-*"), leaf, number(rng, columns, depth - 1))
        case 2:
            return Bin(rng.choice("+-*"), leaf, Lit(rng.choice(INTEGERS + DOUBLES)))
        case 3:
            return Bin("/", leaf, Lit(rng.choice((0, 2, 4, -2))))
        case 4:
            return Bin("%", leaf, Lit(rng.choice((0, 2, 3, -3))))
        case 5:
            return Func("abs", leaf)
        case 6:
            return Coalesce((leaf, Lit(rng.choice(INTEGERS))))
    return Case(((condition(rng, columns, 0), leaf),), rng.choice((None, Lit(1), Lit(0.5))))


def text(rng: Random, columns: Columns) -> Expr:
    """A string expression."""
    leaf = column(rng, columns, "string")
    if leaf is None:
        return Lit(rng.choice(WORDS))
    match rng.randrange(5):
        case 0:
            return Func(rng.choice(("upper", "lower")), leaf)
        case 1:
            return Coalesce((leaf, Lit(rng.choice(WORDS))))
    return leaf


def literal(rng: Random, type_: str) -> Lit:
    pools = {"bigint": INTEGERS, "double": DOUBLES, "string": WORDS, "boolean": (True, False)}
    return Lit(rng.choice(pools[type_]))


def scalar(rng: Random, columns: Columns) -> Expr:
    """An expression for a select list, of any type."""
    match rng.randrange(8):
        case 0 | 1 | 2 | 3:
            return number(rng, columns, 2)
        case 4 | 5:
            return text(rng, columns)
        case 6:
            return Func("length", text(rng, columns))
    return condition(rng, columns, 0)


def condition(rng: Random, columns: Columns, depth: int = 1) -> Expr:
    """A condition that is neither always true nor always false, if it can be helped."""
    if depth and rng.random() < 0.35:
        parts = condition(rng, columns, depth - 1), condition(rng, columns, depth - 1)
        return Bin(rng.choice(("AND", "OR", "OR")), *parts)
    if depth and rng.random() < 0.1:
        return Not(condition(rng, columns, depth - 1))
    words = column(rng, columns, "string")
    flag = column(rng, columns, "boolean")
    if flag and rng.random() < 0.2:
        return flag
    has_numbers = column(rng, columns, "int", "bigint", "double") is not None
    if words and (rng.random() < 0.35 or not has_numbers):
        return word_condition(rng, words, columns)
    return number_condition(rng, number(rng, columns, depth))


def word_condition(rng: Random, words: Col, columns: Columns) -> Expr:
    match rng.randrange(5):
        case 0:
            return Like(words, rng.choice(PATTERNS))
        case 1:
            return InList(words, tuple(Lit(w) for w in rng.sample((*WORDS, None), 3)))
        case 2:
            return IsNull(words, negated=rng.random() < 0.7)
        case 3:
            return Bin("=", Func("length", words), Lit(rng.choice((1, 2))))
    return Bin(rng.choice(COMPARISONS), text(rng, columns), Lit(rng.choice(WORDS)))


def number_condition(rng: Random, x: Expr) -> Expr:
    match rng.randrange(7):
        case 0:
            return IsNull(x, negated=rng.random() < 0.7)
        case 1:
            return Between(x, Lit(rng.choice((-1, 0, 1))), Lit(rng.choice((2, 3, 5))))
        case 2:
            return InList(x, tuple(Lit(v) for v in rng.sample((0, 1, 2, 3, None), 3)))
    return Bin(rng.choice(COMPARISONS), x, Lit(rng.choice(INTEGERS)))

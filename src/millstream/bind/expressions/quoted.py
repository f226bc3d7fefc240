"""Words in double quotes: names, and beside text columns strings that old scripts write so."""

from __future__ import annotations

from sqlglot import exp

from millstream.algebra.expressions import Expression, Literal, walk
from millstream.algebra.types import STRING
from millstream.bind.names.scope import Scope, with_names_around
from millstream.errors import MillstreamError, Notice, closest

COMPARING = {"=", "<>", "<", "<=", ">", ">=", "distinct_from", "like", "regexp_like"}
"""Functions that compare their arguments with each other."""


def lone_word(node: exp.Expr) -> exp.Column | None:
    """The name that stands alone in an expression, without a table before it."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column) and not node.table and isinstance(node.this, exp.Identifier):
        return node
    return None


def is_double_quoted(node: exp.Column) -> bool:
    return bool(node.this.meta.get("double_quoted"))


def reads_text(value: Expression) -> bool:
    """Whether a value is a string that depends on text columns."""
    leaves = (part for part in walk(value) if not part.children and not isinstance(part, Literal))
    return value.type == STRING and any(leaf.type == STRING for leaf in leaves)


def taken_as_string(word: str, scope: Scope) -> Notice:
    """What the author should know when a word in double quotes is a string."""
    near = closest(word, scope.names)
    hint = f"Write {as_string(word)}: double quotes are for names."
    if near is not None:
        hint = f'Write {as_string(word)} for a string, or "{near}" for the column.'
    return Notice(
        f'no column is called "{word}": it is taken as the string {as_string(word)}', hint
    )


def no_column(node: exp.Column, scope: Scope) -> MillstreamError:
    """A word that is no column, and may have been meant as a string."""
    scope = with_names_around(scope, node)
    near = closest(node.name, scope.names)
    try:
        scope.resolve(node.name)
    except MillstreamError as error:
        if near is not None and not is_double_quoted(node):
            return error
        if near is not None:
            error.hint = f'Did you mean "{near}"? A string is written {as_string(node.name)}.'
        elif scope.names:
            names = (error.hint or "").removeprefix("Write ")
            error.hint = f"Write {as_string(node.name)} for a string, or {names}"
        else:
            error.hint = f"Write {as_string(node.name)} for a string."
        return error
    raise AssertionError("the word is a column")


def as_string(word: str) -> str:
    """
    >>> as_string("ann's")
    "'ann''s'"
    """
    escaped = word.replace("'", "''")
    return f"'{escaped}'"

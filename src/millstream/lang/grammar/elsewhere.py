"""Clauses of other systems: what they are called in messages, and what to write here instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from sqlglot.tokens import Token, TokenType

UNFOLD = "Give every element of the list a row of its own in the source."
"""What to do where other systems unfold lists."""
_CLOSES = (TokenType.R_PAREN, TokenType.ORDER_BY)


@dataclass(frozen=True)
class Words:
    """The tokens of a statement around a clause, which begins at `at`."""

    tokens: list[Token]
    at: int
    sql: str

    @property
    def source(self) -> str:
        """The name after FROM, as the author wrote it."""
        return self._after(TokenType.FROM, "s")

    @property
    def before(self) -> str:
        """The word before the clause."""
        return self.tokens[self.at - 1].text if self.at else ""

    def word(self, ahead: int, default: str) -> str:
        """A word of the clause or behind it."""
        place = self.at + ahead
        return self.tokens[place].text if place < len(self.tokens) else default

    def list_after(self, kind: TokenType, default: str) -> str:
        """What stands behind a keyword of the clause, up to ORDER BY or a parenthesis."""
        found = self._find(kind)
        if found is None:
            return default
        end = found + 1
        while end < len(self.tokens) and self.tokens[end].token_type not in _CLOSES:
            end += 1
        return self.text(found + 1, end) or default

    @property
    def select_list(self) -> str:
        """The select list, if it is short."""
        kinds = [token.token_type for token in self.tokens]
        if TokenType.SELECT not in kinds or TokenType.FROM not in kinds:
            return "…"
        said = self.text(kinds.index(TokenType.SELECT) + 1, kinds.index(TokenType.FROM))
        return said if 0 < len(said) <= 50 else "…"

    def joined(self) -> list[tuple[str, str]]:
        """The names on both sides of a join, with their aliases."""
        found = []
        for place, token in enumerate(self.tokens):
            if token.token_type in (TokenType.FROM, TokenType.JOIN) and place < self.at:
                name, alias = (t.text for t in (*self.tokens, token, token)[place + 1 : place + 3])
                is_alias = place + 2 < self.at and self.tokens[place + 2].token_type in _NAMES
                found.append((name, alias if is_alias else ""))
        return found

    def _after(self, kind: TokenType, default: str) -> str:
        kinds = [token.token_type for token in self.tokens[:-1]]
        return self.tokens[kinds.index(kind) + 1].text if kind in kinds else default

    def _find(self, kind: TokenType) -> int | None:
        places = range(self.at, len(self.tokens))
        return next((p for p in places if self.tokens[p].token_type == kind), None)

    def text(self, first: int, end: int) -> str:
        """What the author wrote from one token to another."""
        if first >= end:
            return ""
        return self.sql[self.tokens[first].start : self.tokens[end - 1].end + 1]


_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)


@dataclass(frozen=True)
class Clause:
    """A clause that the language does not have; `yet` if it is to come."""

    words: str
    hint: str | Callable[[Words], str]
    yet: bool = False

    @property
    def message(self) -> str:
        return f"{self.words} is not part of the language{' yet' if self.yet else ''}"

    def advice(self, around: Words) -> str:
        return self.hint if isinstance(self.hint, str) else self.hint(around)


def first_rows(source: str, partition: str, order: str) -> str:
    """What to write for the first rows of every group, which others number."""
    if not partition:
        return f"Write ORDER BY {order} LIMIT 10 for the first rows, or FROM {source} [Rows 10]."
    by, *rest = order.split()
    way = "max" if rest and rest[0].upper() == "DESC" else "min"
    return (
        f"For the first row of each write SELECT {partition}, {way}({by}), {way}_by(x, {by}) … "
        f"GROUP BY {partition}; for the latest, FROM {source} [Partition By {partition} Rows 1]."
    )


def without_stream(listed: str) -> str:
    """What to write for SELECT STREAM and a list."""
    said = listed[6:].strip() if listed.upper().startswith("STREAM ") else listed
    return f"Write SELECT {said} for rows as they come, SELECT STREAMED {said} for every change."


def _qualify(around: Words) -> str:
    partition = around.list_after(TokenType.PARTITION_BY, "")
    return first_rows(around.source, partition, around.list_after(TokenType.ORDER_BY, "…"))


def _changes(around: Words) -> str:
    if [token.text.upper() for token in around.tokens[:2]] == ["CREATE", "STREAM"]:
        return "Leave it out: a stream emits its rows as they come."
    return f"Write SELECT STREAMED {around.select_list}: it emits every change."


def _within(around: Words) -> str:
    window = f"[Range {around.word(1, '1')} {around.word(2, 'Hour').capitalize()}]"
    sides = [f"{name} {window} {alias}".strip() for name, alias in around.joined()]
    return f"Give both sides a window: FROM {' JOIN '.join(sides)} ON …"


def _as_of(around: Words) -> str:
    if len(around.joined()) < 2:
        listed = around.select_list
        return (
            "Leave it out: a result holds at every instant, and "
            f"SELECT STREAMED {listed} says when it changes."
        )
    return (
        f"Leave it out, and declare the table with NON RETROACTIVE: every row then meets "
        f"{around.before} as it was at its time."
    )


def _latest(around: Words) -> str:
    other = around.word(2, "b") if around.word(1, "").upper() == "JOIN" else "b"
    return (
        f"Join with the latest row of each key: FROM {around.source} [Now] JOIN {other} "
        f"[Partition By key Rows 1] ON …"
    )


def _pivot(around: Words) -> str:
    """The aggregate of the first column that PIVOT makes."""
    words = [token.text.upper() for token in around.tokens]
    try:
        by = words.index("FOR", around.at)
        value = words.index("IN", by) + 2
    except ValueError:
        return "Write an aggregate for each column: sum(a) FILTER (WHERE b = 'x')."
    called, column = around.text(around.at + 2, by), around.text(by + 1, value - 2)
    first = around.text(value, value + 1)
    return f"Write an aggregate for each column: {called} FILTER (WHERE {column} = {first})."


def _lateral(around: Words) -> str:
    if around.word(1, "").upper() in ("VIEW", "TABLE", "UNNEST", "FLATTEN"):
        return UNFOLD
    return "Write a subquery in the select list, or join with one and compare in ON."


CLAUSES = (
    Clause("EMIT CHANGES", _changes),
    Clause("EMIT FINAL", "Leave it out: every answer that is emitted is final."),
    Clause("EMIT ON", "Leave it out: [Tumble …] and the like emit a window once it is complete."),
    Clause("QUALIFY", _qualify, yet=True),
    Clause("LATERAL", _lateral, yet=True),
    Clause("ASOF JOIN", _latest, yet=True),
    Clause("ASOF LEFT", _latest, yet=True),
    Clause("ARRAY JOIN", UNFOLD),
    Clause("SIMILAR TO", "Write RLIKE, with a regular expression."),
    Clause("FOR UPDATE", "Leave it out: a query locks nothing."),
    Clause("CROSS APPLY", _lateral),
    Clause("OUTER APPLY", _lateral),
    Clause("WITHIN", _within),
    Clause("FOR SYSTEM_TIME", _as_of),
    Clause("FOR TIMESTAMP AS OF", _as_of),
    Clause("FOR VERSION AS OF", _as_of),
    Clause("TIMESTAMP AS OF", _as_of),
    Clause("VERSION AS OF", _as_of),
    Clause("AS OF", _as_of),
    Clause("FINAL", "Leave it out: a row replaces the one of its KEY, and every answer is final."),
    Clause("FETCH FIRST", lambda around: f"Write LIMIT {around.word(2, '3')}."),
    Clause("FETCH NEXT", lambda around: f"Write LIMIT {around.word(2, '3')}."),
    Clause("MINUS", "Write EXCEPT."),
    Clause("DISTRIBUTE BY", "Leave it out: the plan spreads rows as its operators need them."),
    Clause("CLUSTER BY", "Leave it out: the plan spreads rows as its operators need them."),
    Clause("SORT BY", "Write ORDER BY with LIMIT, or leave it out."),
    Clause("GROUPING SETS", "Write one query for each level, with UNION ALL between them."),
    Clause("ON CONFLICT", "Leave it out: a row replaces the one of its KEY."),
    Clause("ON DUPLICATE", "Leave it out: a row replaces the one of its KEY."),
    Clause("RETURNING", "Leave it out, and read the table with a query."),
    Clause("PIVOT", _pivot, yet=True),
    Clause("UNPIVOT", "Write one query for each column, with UNION ALL between them.", yet=True),
    Clause("TABLESAMPLE", "Leave it out.", yet=True),
    Clause("VALUES", "Put the rows into a table: CREATE TABLE, then INSERT.", yet=True),
    Clause(
        "WINDOW",
        lambda around: f"Put a window after the stream: FROM {around.source} [Rows 100].",
        yet=True,
    ),
)
LONGEST = max(len(clause.words.split()) for clause in CLAUSES)
IN_STATEMENTS = {"RETURNING": ("INSERT", "UPDATE", "DELETE")}
"""Words that are names in all other statements."""
FOLLOWED = {
    "WITHIN": (TokenType.NUMBER,),
    "MINUS": (TokenType.SELECT,),
    "AS OF": (TokenType.NUMBER, TokenType.STRING, TokenType.VAR),
}
"""Words that are names unless one of these follows."""
BEHIND_NAMES = ("AS OF", "TIMESTAMP AS OF", "VERSION AS OF", "FINAL")
"""Words that are names unless they stand behind one; an alias that is used is a name, too."""


def clause_at(around: Words) -> Clause | None:
    """The clause that begins at a place; one word alone must stand without quotes."""
    there = around.tokens[around.at : around.at + LONGEST + 1]
    if not there or there[0].token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return None
    words = [token.text.upper() for token in there]
    for clause in CLAUSES:
        wanted = clause.words.split()
        if wanted != words[: len(wanted)]:
            continue
        begins = around.tokens[0].text.upper()
        if begins not in IN_STATEMENTS.get(clause.words, (begins,)):
            continue
        if clause.words == "WINDOW" and _names_window(there):
            continue
        if clause.words in BEHIND_NAMES and not _is_behind_name(around):
            continue
        after = there[len(wanted)].token_type if there[len(wanted) :] else None
        if after in FOLLOWED.get(clause.words, (after,)):
            return clause
    return None


def _names_window(there: list[Token]) -> bool:
    """Whether the clause gives a window of OVER a name: `WINDOW w AS (…)`."""
    return len(there) > 2 and there[2].token_type == TokenType.ALIAS


def _is_behind_name(around: Words) -> bool:
    """Whether a word stands behind a name, and is no alias that columns are named with."""
    word = around.tokens[around.at].text.upper()
    is_used = any(
        token.text.upper() == word and after.token_type == TokenType.DOT
        for token, after in pairwise(around.tokens)
    )
    before = around.tokens[around.at - 1].token_type if around.at else None
    return before in (*_NAMES, TokenType.R_BRACKET, TokenType.R_PAREN) and not is_used

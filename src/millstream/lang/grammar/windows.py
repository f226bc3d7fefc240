"""Windows in brackets: `[Now]`, `[Range 5 Minutes]`, `[Rows 3 Slide 1]`, `[Tumble 1 Hour]`."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError, closest
from millstream.lang.grammar.core import Core
from millstream.lang.interval import LONGEST, Interval, interval_of, interval_of_parts
from millstream.lang.nodes import StreamWindow

OPENINGS = ("Now", "Range", "Rows", "Partition By", "Unbounded", "Tumble", "Hop", "Session")
CLAUSE_KINDS = {"TUMBLING": "Tumble", "HOPPING": "Hop", "SESSION": "Session"}
LENGTH_IN_CLAUSE = re.compile(r"\d+\s+[A-Za-z]+")
"""Windows behind the word WINDOW, as ksqlDB writes them, and the lengths in them."""

_UNBRACKETED = {"SLACK": "SLACK 5 Seconds", "WITHIN": "WITHIN 10 Minutes"}
"""Words before a length of time outside of brackets."""
EXAMPLE = "Write for example [Range 5 Minutes], [Rows 100] or [Now]."


class Windows(Core):
    """Stream to relation, as CQL writes it."""

    def _parse_stream_window(self) -> StreamWindow | None:
        if not self._match(TokenType.L_BRACKET):
            return None
        first = self._prev
        args = self._parse_window_body()
        if not self._match(TokenType.R_BRACKET):
            words = ("Range", "Rows", "Slide", "Preceding", "Every", "Offset")
            near = closest(self._curr.text, words) if self._curr else None
            known = near is None or near.lower() == self._curr.text.lower()
            self.expect('"]"', hint=None if known else f"Did you mean {near}?")
        window = self.expression(StreamWindow(**args))
        window.meta["span"] = (first.start, self._prev.end + 1)
        return window

    def refuse_window_clause(self, stream: str) -> None:
        """Stop at `WINDOW TUMBLING (SIZE 5 MINUTES)`, and show the same window in brackets."""
        kind = self._next.text.upper() if self._next else ""
        if self._curr.text.upper() != "WINDOW" or kind not in CLAUSE_KINDS:
            return
        first = self._curr
        while self._curr and self._curr.token_type not in (TokenType.R_PAREN, TokenType.SEMICOLON):
            self._advance()
        written = self.sql[first.start : self._prev.end + 1]
        length, every = (*LENGTH_IN_CLAUSE.findall(written), "5 Minutes", "1 Minute")[:2]
        every = f" Every {every.title()}" if kind == "HOPPING" else ""
        window = f"[{CLAUSE_KINDS[kind]} {length.title()}{every}]"
        self.guarded(
            MillstreamError(
                f"a window by {kind} is written in brackets after its stream",
                hint=f"Write FROM {stream or 's'} {window}.",
            ),
            first,
            self._curr or self._prev,
        )

    def _parse_window_body(self) -> dict[str, Any]:
        if self._match_text_seq("NOW"):
            return {"kind": "now", **self._parse_slide_by_time()}
        if self._match_text_seq("UNBOUNDED"):
            return self._parse_unbounded(by_rows=None)
        if self._match(TokenType.PARTITION_BY):
            return self._parse_partitioned()
        if self._match(TokenType.RANGE):
            if self._match_text_seq("UNBOUNDED"):
                return self._parse_unbounded(by_rows=False)
            return self._parse_range_window()
        if self._match(TokenType.ROWS):
            if self._match_text_seq("UNBOUNDED"):
                return self._parse_unbounded(by_rows=True)
            return self._parse_rows_window(self._parse_count("Rows"), None)
        if self._match_text_seq("TUMBLE"):
            return self._parse_tumble()
        if self._match_text_seq("HOP"):
            return self._parse_hop()
        if self._match_text_seq("SESSION"):
            return self._parse_session()
        if not self._curr or self._curr.token_type == TokenType.R_BRACKET:
            self.expect("a window", hint=EXAMPLE)
        near = closest(self._curr.text, OPENINGS)
        self.fail(
            f"a window cannot begin with {self.written(self._curr)}",
            hint=f"Did you mean {near}?" if near else EXAMPLE,
        )

    def _parse_unbounded(self, by_rows: bool | None) -> dict[str, Any]:
        self._match_text_seq("PRECEDING")
        slide = self._parse_slide_by_rows() if by_rows else self._parse_slide_by_time()
        return {"kind": "unbounded", **slide}

    def _parse_range_window(self) -> dict[str, Any]:
        length = self.read_length("Range")
        self._match_text_seq("PRECEDING")
        if self._match(TokenType.ROWS):
            return self._parse_rows_window(self._parse_count("Rows"), length)
        return {"kind": "range", "range": length, **self._parse_slide_by_time()}

    def _parse_rows_window(self, rows: int, length: Interval | None) -> dict[str, Any]:
        self._match_text_seq("PRECEDING")
        if length is None and self._match(TokenType.RANGE):
            length = self.read_length("Range")
            self._match_text_seq("PRECEDING")
        return {"kind": "rows", "rows": rows, "range": length, **self._parse_slide_by_rows()}

    def _parse_partitioned(self) -> dict[str, Any]:
        first = self._curr
        columns = self._parse_csv(self._parse_column)
        odd = next((c for c in columns if not isinstance(c, exp.Column) or c.is_star), None)
        if not columns or odd is not None:
            error = MillstreamError(
                "a window is partitioned by columns",
                hint="Compute the value in a subquery, and partition by its name.",
            )
            self.guarded(error, first, self._prev if columns else first)
        length = None
        if self._match(TokenType.RANGE):
            length = self.read_length("Range")
            self._match_text_seq("PRECEDING")
        names = ", ".join(column.sql() for column in columns)
        if length is None and self._match_text_seq("SESSION"):
            return {**self._parse_session(), "partition_by": columns}
        if self._curr and self._curr.text.upper() in ("TUMBLE", "HOP"):
            self.fail(
                "a window by slots takes no Partition By",
                hint=f"Leave it out, and write GROUP BY {names}, window_start, window_end.",
            )
        if not self._match(TokenType.ROWS):
            self.expect(
                f"{'Rows' if length else 'Rows or Session'} in a partitioned window",
                hint=f"Write [Partition By {names} Rows 5], or leave Partition By out.",
            )
        window = self._parse_rows_window(self._parse_count("Rows"), length)
        return {**window, "partition_by": columns}

    def _parse_tumble(self) -> dict[str, Any]:
        length = self._some_length("Tumble")
        if self._curr and self._curr.text.upper() in ("SLIDE", "EVERY"):
            self.fail(
                f"a window by Tumble takes no {self._curr.text}",
                hint=f"Write [Hop {_as_read(length)} Every …] for slots that overlap.",
            )
        return {"kind": "tumble", "range": length, **self._parse_slot_offset()}

    def _parse_hop(self) -> dict[str, Any]:
        length = self._some_length("Hop")
        if not self._match_text_seq("EVERY"):
            self.expect(
                "Every in a window by Hop",
                hint=f"Say how often: [Hop {_as_read(length)} Every …].",
            )
        every = self._some_length("Every")
        return {"kind": "hop", "range": length, "slide": every, **self._parse_slot_offset()}

    def _parse_session(self) -> dict[str, Any]:
        return {"kind": "session", "range": self.read_length("Session")}

    def _parse_slot_offset(self) -> dict[str, Any]:
        return {"offset": self.read_length("Offset")} if self._match_text_seq("OFFSET") else {}

    def _some_length(self, word: str) -> Interval:
        """A length that is not 0."""
        first, length = self._curr, self.read_length(word)
        if not length.amount:
            error = MillstreamError(
                f"the length after {word} cannot be 0", hint=f"Write for example {word} 5 Minutes."
            )
            self.guarded(error, first, self._prev)
        return length

    def _parse_count(self, word: str) -> int:
        token = self._signed_number(f"a number of rows after {word}", f"[{word} 100]")
        if not token.text.isdigit() or not 0 < int(token.text) <= LONGEST:
            self.fail(
                f"{word} takes a whole number of at least 1, not {token.text}",
                token,
                hint=f"Write for example {word} 100.",
            )
        return int(token.text)

    def _parse_slide_by_rows(self) -> dict[str, Any]:
        if not self._match_text_seq("SLIDE"):
            return {}
        count = self._parse_count("Slide")
        if self._curr.token_type == TokenType.VAR:
            self.fail(
                "a window by rows slides by a number of rows, not by time",
                hint=f"Write Slide {count}, or a window by Range.",
            )
        return {"slide": count}

    def _parse_slide_by_time(self) -> dict[str, Any]:
        if not self._match_text_seq("SLIDE"):
            return {}
        first = self._curr
        slide = self.read_length("Slide")
        if not slide.amount:
            self.guarded(
                MillstreamError("a window cannot slide by 0", hint="Leave Slide out."),
                first,
                self._prev,
            )
        return {"slide": slide}

    def read_length(self, word: str) -> Interval:
        """Take a length of time: `1 Hour 30 Minutes`, `INTERVAL '5' MINUTE`, or a bare number."""
        first = self._curr
        interval: Any = self._parse_interval()
        if interval is not None:
            length = self._try_here(lambda: interval_of(interval), first)
        else:
            length = self._parse_plain_length(word)
        if length.amount < 0:
            self.fail("a length of time cannot be negative", first)
        return length

    def _parse_plain_length(self, word: str) -> Interval:
        example = _UNBRACKETED.get(word, f"[{word} 5 Minutes]")
        number = self._signed_number(f"a length of time after {word}", example)
        if not self._at_unit():
            return self._bare(number)
        parts, last = [], self._curr
        while True:
            unit = self._curr
            self._advance()
            self._check_part(number, unit)
            parts.append((number.text, unit.text))
            if self._curr.token_type != TokenType.NUMBER:
                break
            number = self._curr
            self._advance()
            if not self._at_unit():
                self.expect("a unit of time", hint="Write for example 1 Hour 30 Minutes.")
            last = self._curr
        return self._try_here(lambda: interval_of_parts(parts), last)

    def _check_part(self, number: Token, unit: Token) -> None:
        try:
            interval_of_parts([(number.text, unit.text)])
        except InvalidOperation:
            self.fail(f'"{number.text}" is not a number', number)
        except MillstreamError as error:
            unit_is_wrong = error.message.startswith(("unit", "a month", "a quarter", "a year"))
            self.guarded(error, unit if unit_is_wrong else number, unit)

    def _bare(self, number: Token) -> Interval:
        if not number.text.isdigit() or int(number.text) > LONGEST:
            self.fail(
                f"{number.text} without a unit is not a length of time",
                number,
                hint=f"Add a unit: {number.text} seconds."
                if Decimal(number.text) >= 0 and len(number.text) < 12
                else None,
            )
        return Interval(int(number.text), None)

    def _at_unit(self) -> bool:
        return self._curr.token_type == TokenType.VAR and self._curr.text.upper() not in (
            "SLIDE",
            "EVERY",
            "OFFSET",
            "PRECEDING",
            "SOURCE",
            "SLACK",
            "KEY",
            "NON",
            "SUBSET",
            "DEFINE",
        )

    def _signed_number(self, what: str, example: str) -> Token:
        """Take a number; a minus sign becomes part of it, for the message."""
        first = self._curr
        minus = self._match(TokenType.DASH)
        if not self._match(TokenType.NUMBER):
            self.expect(what, hint=f"Write for example {example}.")
        if minus:
            error = MillstreamError(
                f"expected {what} but found -{self._prev.text}", hint="Remove the minus sign."
            )
            self.guarded(error, first, self._prev)
        return self._prev


def _as_read(length: Interval) -> str:
    """A length in a message: `5 Minutes`."""
    return str(length).title()

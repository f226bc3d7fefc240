"""OVER: the window of a call, `OVER (PARTITION BY a ROWS 9 PRECEDING SLIDE 5)`, and WINDOW."""

from __future__ import annotations

from typing import Any, NoReturn

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError, Place
from millstream.lang.grammar.core import Core
from millstream.lang.grammar.faults import SyntaxFault
from millstream.lang.interval import LONGEST, Interval
from millstream.lang.nodes import OverFrame, StreamWindow

_UNITS = {TokenType.ROWS: "rows", TokenType.RANGE: "range"}
EXAMPLE = "Write for example ROWS 9 PRECEDING or RANGE 5 MINUTES PRECEDING."
PAST_ONLY = "A frame goes from a row before to the current row: ROWS 9 PRECEDING."


class Overs(Core):
    """Calls over windows: `exp.Window`, whose `spec` is an `OverFrame`."""

    def at_window_clause(self) -> bool:
        """Whether `WINDOW name AS (` comes next."""
        after = self._tokens[self._index + 2 : self._index + 3]
        return (
            self._curr.token_type == TokenType.VAR
            and self._curr.text.upper() == "WINDOW"
            and bool(after)
            and after[0].token_type == TokenType.ALIAS
        )

    def read_window_clause(self) -> list[exp.Expr]:
        """Take `WINDOW w AS (…), v AS (…)`."""
        self._advance()
        return self._parse_csv(self._named_window)

    def read_over(self, call: exp.Expr) -> exp.Window:
        """Take what follows OVER: the name of a window, or one in parentheses."""
        if self._curr.token_type == TokenType.VAR:
            name = self._identifier_expression(self.read_name())
            return self.expression(exp.Window(this=call, alias=name))
        if not self._match(TokenType.L_PAREN):
            self.expect('"(" after OVER')
        return self._window_body(call)

    def read_window_of_table(self, table: exp.Table) -> StreamWindow:
        """Take the window of `TABLE(s OVER (…))`, as one in brackets: ROWS 9 PRECEDING are
        [Rows 10]."""
        if not self._match(TokenType.L_PAREN):
            self.expect('"(" after OVER')
        window = self._window_body(table)
        frame = window.args.get("spec")
        span = window.meta["window_span"]
        if frame is None or window.args.get("order") is not None or frame.active:
            what = "needs a frame" if frame is None else "takes a frame, and no more"
            error = MillstreamError(
                f"TABLE(… OVER …) {what}", hint="Write TABLE(s OVER (RANGE 5 MINUTES PRECEDING))."
            )
            raise SyntaxFault(error.at(Place(self.sql, *span)))
        args: dict[str, Any] = {"kind": frame.kind, "slide": frame.slide}
        if frame.length is None:
            args = {"kind": "unbounded", "slide": frame.slide}
        elif frame.kind == "range":
            args["range"] = frame.length
        else:
            args["rows"] = frame.length + 1
            args["partition_by"] = window.args.get("partition_by") or None
        found = self.expression(StreamWindow(**{k: v for k, v in args.items() if v is not None}))
        found.meta["span"] = span
        return found

    def _named_window(self) -> exp.Window:
        name = self._identifier_expression(self.read_name("the name of a window"))
        if not self._match(TokenType.ALIAS):
            self.expect("AS", hint="Write WINDOW w AS (ROWS 9 PRECEDING).")
        if not self._match(TokenType.L_PAREN):
            self.expect('"("')
        return self._window_body(name)

    def _window_body(self, this: exp.Expr) -> exp.Window:
        """Take the window, after its opening parenthesis."""
        first = self._prev
        partition = self._parse_partition_by()
        order = self._parse_order()
        frame = self._frame()
        if not self._match(TokenType.R_PAREN):
            hint = None if frame is not None else EXAMPLE
            self.expect('")" after the window', hint=hint)
        window = self.expression(
            exp.Window(this=this, partition_by=partition, order=order, spec=frame)
        )
        window.meta["window_span"] = (first.start, self._prev.end + 1)
        return window

    def _frame(self) -> OverFrame | None:
        first = self._curr
        if first and first.text.upper() == "GROUPS":
            self.fail("a window by GROUPS is not part of the language", hint=EXAMPLE)
        units = _UNITS.get(first.token_type) if first else None
        if units is None:
            self._refuse_lone_slide()
            return None
        self._advance()
        between = self._match(TokenType.BETWEEN)
        length = self._frame_start(units, first)
        if between:
            self._frame_end()
        if self._curr and self._curr.text.upper() == "EXCLUDE":
            self.fail("EXCLUDE is not part of the language", hint="Leave it out.")
        frame = self.expression(OverFrame(kind=units, length=length, **self._frame_steps(units)))
        frame.meta["span"] = (first.start, self._prev.end + 1)
        return frame

    def _frame_start(self, units: str, first: Token) -> Interval | int | None:
        """How many rows before the current one, or how long before it; None without a bound."""
        if self._match_text_seq("UNBOUNDED"):
            self._preceding(first)
            return None
        if self._match_text_seq("CURRENT", "ROW"):
            return 0 if units == "rows" else Interval(0, None)
        length = self._number_of_rows() if units == "rows" else self.read_length("RANGE")
        self._preceding(first)
        return length

    def _number_of_rows(self) -> int:
        token = self._curr
        if not self._match(TokenType.NUMBER):
            self.expect("a number of rows after ROWS", hint="Write for example ROWS 9 PRECEDING.")
        if not token.text.isdigit() or int(token.text) > LONGEST:
            self.fail(
                f"ROWS takes a whole number, not {token.text}",
                token,
                hint="Write for example ROWS 9 PRECEDING.",
            )
        return int(token.text)

    def _preceding(self, first: Token) -> None:
        if self._curr and self._curr.text.upper() == "FOLLOWING":
            self._refuse_following()
        if not self._match_text_seq("PRECEDING"):
            self.expect(f"PRECEDING after {first.text.upper()}", hint=EXAMPLE)

    def _frame_end(self) -> None:
        if not self._match(TokenType.AND):
            self.expect("AND", hint="Write BETWEEN 9 PRECEDING AND CURRENT ROW.")
        first = self._curr
        if self._match_text_seq("CURRENT", "ROW"):
            return
        while self._curr and self._curr.text.upper() not in ("PRECEDING", "FOLLOWING", ")"):
            self._advance()
        if self._curr and self._curr.text.upper() == "FOLLOWING":
            self._refuse_following()
        self.fail("a frame ends at the current row", first, hint=PAST_ONLY)

    def _refuse_following(self) -> NoReturn:
        self.fail(
            "a row of a stream cannot see rows that follow it",
            hint=PAST_ONLY,
        )

    def _frame_steps(self, units: str) -> dict[str, Any]:
        """Take SLIDE or ACTIVE EXPIRATION."""
        first = self._curr
        if self._match_text_seq("ACTIVE", "EXPIRATION"):
            if units == "rows":
                self.fail(
                    "ACTIVE EXPIRATION is for windows by RANGE",
                    first,
                    hint="Rows leave a window by ROWS only when others arrive: leave it out, "
                    "or write RANGE 5 MINUTES PRECEDING.",
                )
            return {"active": True}
        if not self._match_text_seq("SLIDE"):
            return {}
        slide = self._slide_by_rows() if units == "rows" else self.read_length("SLIDE")
        if not (slide if isinstance(slide, int) else slide.amount):
            self.fail("a window cannot slide by 0", self._prev, hint="Leave SLIDE out.")
        return {"slide": slide}

    def _slide_by_rows(self) -> int:
        count = self._number_of_rows()
        if self._curr.token_type == TokenType.VAR:
            self.fail(
                "a window by ROWS slides by a number of rows, not by time",
                hint=f"Write SLIDE {count}, or a window by RANGE.",
            )
        return count

    def _refuse_lone_slide(self) -> None:
        if self._curr and self._curr.text.upper() in ("SLIDE", "ACTIVE"):
            self.fail(
                f"{self._curr.text.upper()} follows a frame",
                hint="Write for example ROWS 9 PRECEDING SLIDE 5.",
            )

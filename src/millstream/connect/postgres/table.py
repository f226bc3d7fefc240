"""Tables in PostgreSQL, read whole: every value as text, by the server's own COPY."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.csv

from millstream.algebra.reading import from_text
from millstream.connect.casting import refusal
from millstream.connect.options import LENGTH, TEXT, Option, Options
from millstream.errors import MillstreamError, closest

SCHEMES = ("postgresql", "postgres")
OPTIONS = Options(
    "a PostgreSQL source",
    (
        Option(
            "table",
            TEXT,
            "the table or view there, with its schema",
            "shop.items",
            otherwise="the name of the table here",
        ),
        Option(
            "every",
            LENGTH,
            "how often it is read again while the run goes on",
            "10 seconds",
            otherwise="read once",
        ),
    ),
)
_PART = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')
_EXPRESSIONS = {
    pa.timestamp("us"): "CAST({} AS timestamp)::text",
    pa.duration("us"): "EXTRACT(EPOCH FROM {})::text",
}
"""How a column is asked for as text; others are cast to it as they are."""


@dataclass(frozen=True)
class PostgresTable:
    """A table or view of a PostgreSQL server.

    Names go into SQL as quoted identifiers only. `url` may hold a password: nothing prints it.
    """

    url: str
    path: tuple[str, ...]

    def __repr__(self) -> str:
        return f"PostgresTable({self.shown})"

    @staticmethod
    def of(url: str, options: Mapping[str, str], name: str) -> PostgresTable:
        """The table that a SOURCE names: `?table=` or the option `table`, else its own name."""
        OPTIONS.read(options)
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True)
        named = [value for key, value in given if key == "table"]
        text = options.get("table") or (named[0] if named else f'"{name}"')
        path = tuple(a.replace('""', '"') or b for a, b in _PART.findall(text))
        if not path or len(path) > 3:
            raise MillstreamError(
                f'option "table" is "{text}", not the name of a table',
                hint="Write table = 'items', or 'shop.items' with its schema.",
            )
        rest = urlencode([(key, value) for key, value in given if key != "table"])
        return PostgresTable(parts._replace(query=rest).geturl(), path)

    @property
    def shown(self) -> str:
        """Its name, without how to get there."""
        return ".".join(self.path)

    def read(self, schema: pa.Schema) -> tuple[pa.RecordBatch, list[tuple[str, str]]]:
        """The rows that can be read as the schema; the others as (reason, row)."""
        texts = self._texts(schema)
        done = [from_text(column, kind) for column, kind in zip(texts.columns, schema.types)]
        marks = [(i, c.bad) for i, c in enumerate(done) if c.bad is not None]
        rows = pa.RecordBatch.from_arrays([c.values for c in done], schema=schema)
        if not marks:
            return rows, []
        wrong = np.logical_or.reduce([mask for _, mask in marks])
        bad = []
        for place in np.flatnonzero(wrong):
            column = next(i for i, mask in marks if mask[place])
            cell = texts.column(column)[int(place)].as_py()
            reason = refusal(schema.names[column], cell, schema.types[column])
            row = texts.slice(int(place), 1).to_pylist()[0].values()
            bad.append((reason, ",".join("" if cell is None else cell for cell in row)))
        return rows.filter(pa.array(~wrong)), bad

    def _texts(self, schema: pa.Schema) -> pa.RecordBatch:
        psycopg = _driver()
        try:
            with psycopg.connect(self.url, connect_timeout=10) as connection:
                connection.read_only = True
                connection.execute("SET TIME ZONE 'UTC'")
                data = self._copied(connection, schema)
        except psycopg.OperationalError as error:
            raise self._unreachable(str(error)) from None
        except psycopg.Error as error:
            if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
                raise MillstreamError(
                    "the address of the PostgreSQL server cannot be read",
                    hint="Write postgresql://user@host:port/database?table=name.",
                ) from None
            raise self._refused(str(error)) from None
        return _read_csv(data, schema.names)

    def _copied(self, connection: Any, schema: pa.Schema) -> bytes:
        from psycopg import sql

        table = sql.Identifier(*self.path)
        described = connection.execute(
            sql.SQL("SELECT * FROM {} LIMIT 0").format(table)
        ).description
        names = [column.name for column in described or ()]
        items = [
            sql.SQL(_EXPRESSIONS.get(field.type, "({})::text")).format(
                sql.Identifier(self._column(field.name, names))
            )
            for field in schema
        ]
        query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT csv)")
        with (
            connection.cursor() as cursor,
            cursor.copy(query.format(sql.SQL(", ").join(items), table)) as copy,
        ):
            return b"".join(bytes(block) for block in copy)

    def _column(self, name: str, names: list[str]) -> str:
        for there in (name, *(n for n in names if n.lower() == name.lower())):
            if there in names:
                return there
        meant = closest(name, names)
        raise MillstreamError(
            f'column "{name}" does not exist in PostgreSQL table "{self.shown}"',
            hint=f"Did you mean {meant}?" if meant else f"It has {', '.join(names)[:500]}.",
        )

    def _unreachable(self, reason: str) -> MillstreamError:
        return MillstreamError(
            f'PostgreSQL table "{self.shown}" cannot be reached',
            detail=_sentence(reason),
            hint="See that the server runs, and that the address and the user are right.",
        )

    def _refused(self, reason: str) -> MillstreamError:
        return MillstreamError(
            f'PostgreSQL table "{self.shown}" cannot be read', detail=_sentence(reason)
        )


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MillstreamError(
            'PostgreSQL cannot be read: the package "psycopg" is not installed',
            hint="Install it: pip install 'millstream[postgres]'.",
        ) from None
    return psycopg


def _read_csv(data: bytes, names: list[str]) -> pa.RecordBatch:
    schema = pa.schema([(name, pa.string()) for name in names])
    if not data:
        return pa.RecordBatch.from_arrays([pa.array([], pa.string()) for _ in names], schema=schema)
    keys = [str(i) for i in range(len(names))]
    table = pyarrow.csv.read_csv(
        pa.BufferReader(data),
        pyarrow.csv.ReadOptions(
            use_threads=False, column_names=keys, block_size=max(len(data) + 1, 1 << 20)
        ),
        pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        pyarrow.csv.ConvertOptions(
            column_types={key: pa.string() for key in keys},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    columns = [column.combine_chunks() for column in table.columns]
    whole = [c if isinstance(c, pa.Array) else pa.concat_arrays(c.chunks) for c in columns]
    return pa.RecordBatch.from_arrays(whole, schema=schema)


def _sentence(text: str) -> str:
    """The first line of a server's message, as a sentence."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "it said nothing")
    return f"{line[0].upper()}{line[1:]}".rstrip(".") + "."

"""Words that begin statements elsewhere, and what to write here instead."""

from __future__ import annotations

from millstream.errors import MillstreamError
from millstream.lang.grammar.grammar import Grammar

NOT_YET = {
    "MERGE": "Write INSERT: a row replaces the one of its KEY.",
    "VALUES": "Write SELECT.",
    "VIEW": "Write CREATE VIEW.",
}
NEVER = {
    "ALTER": "Write CREATE OR REPLACE with the new declaration.",
    "ANALYZE": "Leave it out: a running job measures its streams itself.",
    "BEGIN": "Leave it out: a script is carried out as a whole or not at all.",
    "CACHE": "Leave it out: what queries have in common is computed once.",
    "CALL": "",
    "COMMIT": "Leave it out: a script is carried out as a whole or not at all.",
    "COPY": "Name the file in the declaration: CREATE TABLE … SOURCE 'file.csv'.",
    "DECLARE": "Leave it out: there are no variables.",
    "EXECUTE": "Leave it out: all queries of a script run as one job.",
    "EXPORT": "Write millstream run SCRIPT --out DIR: every query has a file there.",
    "GO": "End statements with semicolons.",
    "GRANT": "",
    "IMPORT": "Name the file in the declaration: CREATE TABLE … SOURCE 'file.csv'.",
    "LOCK": "",
    "OPTIMIZE": "Leave it out.",
    "PRAGMA": "Write SET name = value.",
    "PREPARE": "",
    "PRINT": "Write SELECT * FROM {name}.",
    "REFRESH": "Leave it out: every view is kept up to date.",
    "RENAME": "",
    "REPLACE": "Write CREATE OR REPLACE, or INSERT: a row replaces the one of its KEY.",
    "REVOKE": "",
    "ROLLBACK": "Leave it out: a script is carried out as a whole or not at all.",
    "START": "",
    "SUBSCRIBE": "Write SELECT STREAMED * FROM {name}: it emits every change.",
    "TAIL": "Write SELECT STREAMED * FROM {name}: it emits every change.",
    "TERMINATE": "Write DROP QUERY {name}.",
    "TRUNCATE": "For a table write DELETE FROM {name}; rows of a stream leave with its window: "
    "{name} [Range 1 Hour].",
    "USE": "Leave it out: there is one database.",
    "VACUUM": "Leave it out.",
}
"""What begins a statement elsewhere; {name} is the name it is about."""

CREATIONS = {
    "MATERIALIZED": "Write CREATE VIEW {name} AS …: every view is kept up to date.",
    "DYNAMIC": "Write CREATE VIEW {name} AS …: every view is kept up to date.",
    "STREAMING": "Write CREATE VIEW {name} AS …: every view is kept up to date.",
    "CONTINUOUS": "Write CREATE VIEW {name} AS …: every view is kept up to date.",
    "LIVE": "Write CREATE VIEW {name} AS …: every view is kept up to date.",
    "TEMP": "Leave TEMP out.",
    "TEMPORARY": "Leave TEMPORARY out.",
    "EXTERNAL": "Write CREATE TABLE {name} (columns) SOURCE 'file.csv'.",
    "SOURCE": "Write CREATE STREAM {name} (columns) ORDER BY time SOURCE 'file.csv'.",
    "SINK": "Leave it out: millstream run --out DIR writes a file for every query.",
    "CONNECTION": "Leave it out: SOURCE names where a stream comes from.",
    "CONNECTOR": "Leave it out: SOURCE names where a stream comes from.",
    "INDEX": "Leave it out: operators keep the indexes they need.",
    "UNIQUE": "Write KEY (column) in CREATE TABLE.",
    "DATABASE": "Leave it out: there is one database.",
    "SCHEMA": "Leave it out: there is one database.",
    "CATALOG": "Leave it out: there is one database.",
    "TYPE": "Use one of the types that there are.",
}
"""What CREATE makes elsewhere; {name} is its name."""
_KINDS = ("VIEW", "TABLE", "STREAM", "CONNECTOR", "INDEX", "FUNCTION", "LIVE", "QUERY")


def refuse_creation(parser: Grammar) -> None:
    """Stop after CREATE at what the language does not make."""
    first = parser.current
    word = first.text.upper() if first else ""
    if word not in CREATIONS:
        return
    parser.advance()
    last = parser.previous
    while parser.take_word(*_KINDS):
        last = parser.previous
    parser.take_words("IF", "NOT", "EXISTS")
    name = parser.current.text if parser.current else "name"
    made = " ".join(dict.fromkeys((word, last.text.upper())))
    error = MillstreamError(
        f"CREATE {made} is not part of the language", hint=CREATIONS[word].format(name=name)
    )
    parser.guarded(error, first, last)

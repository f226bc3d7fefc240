"""Words that begin statements elsewhere, and what to write here instead."""

from __future__ import annotations

NOT_YET = {
    "MERGE": "Write INSERT: a row replaces the one of its KEY.",
    "REGISTER": "Write CREATE STREAM name (columns) SOURCE '…'.",
    "AGGREGATE": "Use one of the built-in aggregates.",
    "VALUES": "Write SELECT.",
    "TABLE": "Write CREATE TABLE, or TABLE and the name of a table.",
    "VIEW": "Write CREATE VIEW.",
}
NEVER = [
    "ALTER",
    "ANALYZE",
    "BEGIN",
    "CACHE",
    "CALL",
    "COMMIT",
    "COPY",
    "EXECUTE",
    "EXPORT",
    "GRANT",
    "IMPORT",
    "LOAD",
    "LOCK",
    "OPTIMIZE",
    "PRAGMA",
    "PREPARE",
    "RENAME",
    "REPLACE",
    "REVOKE",
    "ROLLBACK",
    "START",
    "TRUNCATE",
    "USE",
    "VACUUM",
]

"""Definitions: from statements to catalog entries.

`clauses` reads what streams and tables share (columns, options, lengths of time), `streams` binds
CREATE STREAM, `filled` INSERT INTO streams, `named_queries` views and streams that are defined by
queries.
"""

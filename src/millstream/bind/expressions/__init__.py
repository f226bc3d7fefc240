"""Scalar expressions: names and types, from the syntax tree to `algebra/expressions.py`.

`vocabulary` has the words, `constants` reads literals, `patterns` LIKE with ESCAPE, `messages` says
what does not fit, `quoted` what a word in double quotes is, `calls` applies functions, and
`scalars` binds one expression over the columns of a scope. Aggregates and subqueries inside an
expression are handed to whoever binds the query (`queries/grouping.py`, `subqueries/`).
"""

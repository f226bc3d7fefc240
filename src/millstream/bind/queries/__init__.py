"""One query: SELECT and its clauses, and what binds a query with all queries in it.

In the order of their meaning: FROM and WHERE (`relations/`, `subqueries/`), `keys` and `grouping`
for GROUP BY, HAVING and aggregates, `items` for the select list, `ordering` for ORDER BY and LIMIT.
`select` puts the clauses of one SELECT on top of each other, `single` knows which plans have at
most one row. `query` binds whole queries; `beginnings` sets the instant from which on tables and
totals of a query have rows.
"""

"""Subqueries in expressions, as relations beside the plan.

`correlation` finds the columns of the query around that a subquery uses, and puts a hole into its
plan for them; `membership` makes conditions of IN and NOT IN, `in_expressions` hidden columns of
IN, EXISTS, ANY, ALL and scalar subqueries anywhere else; `relations` joins them to the plan of the
query around, and fills the hole with the values found there.
"""

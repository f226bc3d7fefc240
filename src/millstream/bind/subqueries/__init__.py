"""Subqueries in expressions, as relations beside the plan.

`correlation` finds the columns of the query around that a subquery uses, and puts a hole into its
plan for them; `in_expressions` makes IN, EXISTS, ANY, ALL and scalar subqueries of it; `relations`
joins the result to the plan of the query around, and fills the hole with the values found there.
"""

"""What a script calls things: before any query is bound.

`script_order` puts definitions before the statements that use them; `scope` holds the columns that
a query can name; `words` finds keywords in the text and refuses names that cannot be given; `trees`
answers questions about syntax trees, such as which subqueries a condition holds.
"""

"""Queries and expressions: what overrides sqlglot's parser.

`faults` says what is wrong, `core` reads names and types and has the words in which statements are
read. Around the core lie the parts of a query, side by side: `calls`, `literals`, `expressions`;
`windows`; `selects` and `queries`; `sources`; `bare` queries. `grammar` puts them together.
"""

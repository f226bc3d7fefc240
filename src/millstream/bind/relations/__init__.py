"""FROM and set operations: the relations that a query reads, put together.

`sources` finds each entry (`entries`) by its name and puts its window (`windows`) around it;
`joins` combines the entries from left to right, with what a pair must meet (`join_conditions`) and
one name for every column (`placing`); `set_operations` combines whole queries; `times` refuses
entries that count time in different ways.
"""

"""FROM and set operations: the relations that a query reads, put together.

`sources` finds each entry by its name and puts its window (`windows`) around it; `joins` combines
the entries from left to right; `set_operations` combines whole queries; `times` refuses entries
that count time in different ways. `single` knows which plans have at most one row, `beginnings`
from which instant on tables and totals have rows.
"""

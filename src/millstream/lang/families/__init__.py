"""The statements of the language, by families.

A family is one file: functions that read its statements, functions that write them, and the table
of both. It stands in `FAMILIES` (`all_statements.py`); nothing else lists statements. `columns` and
`clauses` read what several statements of CREATE share, `refused` are words of other systems.
"""

"""Tables: their first rows, and the changes that statements make.

`declared` binds CREATE TABLE, `modifications` INSERT, UPDATE and DELETE, and `histories` keeps the
changes of every table, by time.
"""

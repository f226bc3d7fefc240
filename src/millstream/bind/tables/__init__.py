"""Tables: what they begin with, and what statements do to them.

`declared` binds CREATE TABLE, `modifications` INSERT, UPDATE and DELETE, and `histories` keeps what
has changed in which table, and when.
"""

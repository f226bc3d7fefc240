"""Sequence patterns: what they read, how conditions are tested, and the searches.

The folders and files, in the order of imports: what conditions read of tuples (`references`), the
conditions that are tested while a pattern is searched (`postfix`), the rows as the search sees them
(`scene`), which conditions imply or exclude each other (`implications`), and the searches.
"""

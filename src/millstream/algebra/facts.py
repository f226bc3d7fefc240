"""Facts about operators that are one of several: what `Node` says with them is in node.py."""

from __future__ import annotations

from enum import Enum


class Arrival(Enum):
    """What an operator does with the arrival numbers of its input rows."""

    USED = "it goes by their order, or knows rows by them"
    PASSED = "it hands them on, and does not look at them"
    IGNORED = "its output does not depend on them"


class Probe(Enum):
    """What an operator does with the rows of one input for each row of the other."""

    NONE = "it does not look for partners"
    TESTS = "it looks whether there are partners, and makes no rows of them"
    PAIRS = "it makes a row of every two partners"


Columns = frozenset[str]
"""Names of columns of one node."""

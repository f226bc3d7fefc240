"""The tables that have an entry for every operator, and what to write for one that is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millstream.algebra.node import Node
from millstream.plan.bounds import CONTENTS
from millstream.plan.cost import COSTS
from millstream.plan.line_readers import READERS
from millstream.plan.memory import GROWING
from millstream.plan.names import FORMS, LINEAGES
from millstream.plan.row_rates import GUESSES
from millstream.plan.statistics import SHARES
from millstream.rules.sizes import SIZES


@dataclass(frozen=True)
class OperatorTable:
    """A table by operators: its name, the file it is in, and what an entry says."""

    name: str
    file: str
    says: str
    entries: Mapping[type[Node], object]

    def complaints(self, operators: Iterable[type[Node]]) -> list[str]:
        """What is missing, and what is there of operators that do not exist."""
        known = tuple(operators)
        missing = [operator for operator in known if operator not in self.entries]
        unknown = [operator for operator in self.entries if operator not in known]
        return [
            *(
                f"{operator.__name__} is not in {self.name} of {self.file}: write {self.says}"
                for operator in missing
            ),
            *(
                f"{operator.__name__} is in {self.name} of {self.file} and not in OPERATORS"
                for operator in unknown
            ),
        ]


TABLES = (
    OperatorTable(
        "READERS",
        "plan/line_readers.py",
        "how its words are read, or _plain(…) if it has none",
        READERS,
    ),
    OperatorTable("SIZES", "rules/sizes.py", "how many rows it holds at an instant, about", SIZES),
    OperatorTable(
        "GUESSES", "plan/row_rates.py", "the rows it gives, from those of its inputs", GUESSES
    ),
    OperatorTable("COSTS", "plan/cost.py", "what it costs, from the rows that it gets", COSTS),
    OperatorTable(
        "SHARES", "plan/statistics.py", "the share of rows it lets pass, or None", SHARES
    ),
    OperatorTable(
        "LINEAGES",
        "plan/names.py",
        "what its columns are made of, or _by_name if it hands them on",
        LINEAGES,
    ),
    OperatorTable(
        "FORMS",
        "plan/names.py",
        "_below if its rows are those of its input, or _by_words if they are others",
        FORMS,
    ),
    OperatorTable(
        "CONTENTS", "plan/bounds.py", "in words, the rows in it at one instant", CONTENTS
    ),
    OperatorTable(
        "GROWING",
        "plan/memory.py",
        "a notice about state without a bound, or _nothing if there is none",
        GROWING,
    ),
)


def complaints_about_facts(operators: Iterable[type[Node]]) -> list[str]:
    """Facts that have no answer that is safe for every operator, and that one does not give."""
    return [
        f"{operator.__name__} has no method `lives`: write how its rows live, with a function of "
        "algebra/lifetime.py"
        for operator in operators
        if operator.lives is Node.lives
    ]

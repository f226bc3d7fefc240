"""Classes in another language whose methods are the blocks of a routine."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from millstream.blocks.queries import Columns

SELF = "self"
"""The table whose one row are the values that an instance keeps."""

NONE, ONE, MANY = 0, 1, 2


class Form(Enum):
    """How what an attribute holds lies in a table."""

    VALUE = "value"
    """A column of `SELF`."""
    LIST = "list"
    DICT = "dict"
    TABLE = "table"


@dataclass(frozen=True)
class State:
    """An attribute that an instance keeps. A dict has columns for its keys (`keys` of them), and
    then for its values."""

    name: str
    form: Form
    columns: Columns
    keys: int = 0

    def __str__(self) -> str:
        kinds = ", ".join(f"{name} {kind}" for name, kind in self.columns)
        return f"{self.name} {self.form.value}({kinds})"


@dataclass(frozen=True)
class PythonClass:
    """A class in Python: where it comes from, and what its instances keep.

    `text` has the lines of its module that it needs, at their places, the others empty; None where
    they cannot be read. With `imported`, it is imported by its name; else `text` is carried out,
    and what that imports may lie in `folder`. `sees_window` says whether it looks at `inwindow` or
    `oldest()`.
    """

    module: str
    name: str
    text: str | None = field(repr=False)
    imported: bool = False
    folder: str | None = None
    states: tuple[State, ...] = ()
    sees_window: bool = False

    @cached_property
    def digest(self) -> str:
        """A short name of its code: comments and empty lines do not count."""
        code = "" if self.text is None else ast.unparse(ast.parse(self.text))
        parts = [self.name, code, *map(str, self.states)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return f"{self.module}:{self.name}#{self.digest}"


@dataclass(frozen=True)
class Foreign:
    """A method runs; it returns no row, one at most, or many (`gives`). It is handed the arguments
    if it `takes` them."""

    of: PythonClass
    method: str
    takes: bool
    gives: int

    def __str__(self) -> str:
        rows = ("no row", "one row at most", "rows")[self.gives]
        return f"python {self.of}.{self.method}, which gives {rows}"

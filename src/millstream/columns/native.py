"""Loops over rows, as machine code once there are rows to speak of.

Numba takes a third of a second to import and to load what it has compiled. So a process begins with
the loops as they are written: few rows go through them as plain Python, and the answers are the
same. When a call has many rows, or the small calls before it had many together, loops are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any

import numpy as np

FEW = 256
"""A call with so many array elements may still be plain Python."""


class Allowance:
    """The array elements that this process may still look at in plain Python."""

    def __init__(self, left: int) -> None:
        self.left = left

    def covers(self, elements: int) -> bool:
        if elements > FEW or self.left <= 0:
            return False
        self.left -= elements
        return True


allowance = Allowance(8_192)
_compiling = RLock()


class Native:
    """A function of arrays and numbers, compiled by Numba at the first call that is worth it.

    Other compiled functions may call it: Numba sees it as what it is compiled to.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function, self._options = function, options
        self._compiled: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self._compiled is not None:
            return self._compiled(*arguments)
        if allowance.covers(sum(map(_elements, arguments))):
            with np.errstate(all="ignore"):  # machine code says nothing of an overflow either
                return self._function(*arguments)
        return self.compiled(*arguments)

    @property
    def compiled(self) -> Any:
        if self._compiled is None:
            from numba import njit

            with _compiling:
                if self._compiled is None:
                    self._compiled = njit(**self._options)(self._function)
        return self._compiled

    def __getattr__(self, name: str) -> Any:
        """What Numba asks of a function that it finds in another one."""
        if name in ("_numba_type_", "targetoptions", "py_func"):
            return getattr(self.compiled, name)
        raise AttributeError(name)

    def __reduce__(self) -> str:
        return self._function.__qualname__


def native(function: Callable[..., Any]) -> Native:
    """A loop over rows, which other threads need not wait for."""
    return Native(function, {"cache": True, "nogil": True})


def inlined(function: Callable[..., Any]) -> Native:
    """A part of such loops, put in where it is called."""
    return Native(function, {"cache": True, "inline": "always"})


def _elements(argument: Any) -> int:
    if isinstance(argument, np.ndarray):
        return argument.size
    return sum(map(_elements, argument)) if isinstance(argument, tuple) else 0

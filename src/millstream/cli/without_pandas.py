"""Arrow without pandas, which it would import to look at the first list that it makes an array of.

A command has no pandas objects, and pandas is a quarter of what a small run on the local host does.
Arrow imports it all the same when it is asked for a pandas object.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType


class _Hidden:
    """Finds no pandas."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


def hide_pandas() -> None:
    """Let Arrow look for pandas now, and not find it."""
    if "pandas" in sys.modules or "pyarrow" in sys.modules:
        return
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(hidden)

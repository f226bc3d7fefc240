"""Memory: columns that were freed are used again by the batch that follows."""

from __future__ import annotations

import ctypes
import os
from functools import cache

import pyarrow as pa

TRIM, TOP_PAD, MMAP, ARENAS = -1, -2, -3, -8
"""The numbers of the settings of the C library's `mallopt`."""

KEPT, AHEAD, LARGEST = 2**29, 2**26, 2**30
"""Bytes that stay with the process when they are free, that are asked for at a time, and of a
column that is still taken from them."""


@cache
def reuse_memory() -> bool:
    """Keep freed memory instead of asking the system for it page by page, for every batch anew;
    threads share it, and so do NumPy and Arrow. Tells whether the C library can be asked for that.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    if os.environ.get("ARROW_DEFAULT_MEMORY_POOL", "system") == "system":
        pa.set_memory_pool(pa.system_memory_pool())
    settings = ((TRIM, KEPT), (TOP_PAD, AHEAD), (MMAP, LARGEST), (ARENAS, 1))
    return all([mallopt(setting, value) for setting, value in settings])

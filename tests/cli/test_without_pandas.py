"""Commands do without pandas, and Arrow has it when it is asked for it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from millstream.cli.without_pandas import hide_pandas

hide_pandas()
import pyarrow as pa

batch = pa.table({"a": [1, None], "b": ["x", "y"]})
assert "pandas" not in sys.modules
assert batch.to_pandas().b.tolist() == ["x", "y"] and "pandas" in sys.modules
"""


def test_arrow_finds_pandas_only_when_it_needs_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

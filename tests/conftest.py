"""Shared by all tests: where the oracle is found, and generated cases that stay the same.

Set MILLSTREAM_RANDOM=1 to let Hypothesis look for new cases.
"""

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("steady", derandomize=True, deadline=None)
if not os.environ.get("MILLSTREAM_RANDOM"):
    settings.load_profile("steady")

os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
"""Spark's Java processes are many and live for seconds: they are not worth compiling well."""

"""Shared by all tests: where the oracle is found, and generated cases that stay the same.

Set MILLSTREAM_RANDOM=1 to let Hypothesis look for new cases.
"""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("steady", derandomize=True, deadline=None)
if not os.environ.get("MILLSTREAM_RANDOM"):
    settings.load_profile("steady")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need Spark share one session: they go to one process, and begin first."""
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
